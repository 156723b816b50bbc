"""The front door: a robot and its numeric functions.

Order: derivatives, functions, related, loops/, arm, base_parameters, joints, drives, in_c, wrenches, robot,
checks, friction.
"""

from armdyn.dynamics import BaseMotion
from armdyn.robot.drives import Drives, ShaftLimits
from armdyn.robot.robot import Robot

__all__ = ["BaseMotion", "Drives", "Robot", "ShaftLimits"]
