"""The same path at another speed: timing laws, and scaling to limits."""
