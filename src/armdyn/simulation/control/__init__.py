"""What drives an arm: torques, controllers and their targets."""
