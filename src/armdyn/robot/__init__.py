"""The front door: a robot and its numeric functions."""

from armdyn.robot.robot import BaseMotion, Robot

__all__ = ["BaseMotion", "Robot"]
