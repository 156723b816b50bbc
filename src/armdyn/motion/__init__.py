"""Trajectories, and what their timing costs: profiles, paths of the tip, scaling to limits, least time."""

from armdyn.motion.errors import MotionError
from armdyn.motion.inverse_kinematics import inverse_kinematics
from armdyn.motion.trajectory import Trajectory

__all__ = ["MotionError", "Trajectory", "inverse_kinematics"]
