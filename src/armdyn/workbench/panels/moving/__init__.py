"""What moves: motions, curves over time, simulations, recorded data."""
