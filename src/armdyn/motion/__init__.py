"""Trajectories, and what their timing costs: profiles, paths of the tip, scaling to limits, least time."""
