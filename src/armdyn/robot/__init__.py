"""The front door: a robot and its numeric functions."""

from armdyn.dynamics import BaseMotion
from armdyn.robot.drives import Drives, ShaftLimits
from armdyn.robot.robot import Robot

__all__ = ["BaseMotion", "Drives", "Robot", "ShaftLimits"]
