"""The checks of `robot/checks.py` with this folder's error."""

from armdyn.motion.errors import MotionError
from armdyn.robot.checks import Checks

check = Checks(MotionError)
