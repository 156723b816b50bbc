"""The same path in least time."""
