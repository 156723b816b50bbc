"""Exact equations in other coordinates, other parameters and other programs."""
