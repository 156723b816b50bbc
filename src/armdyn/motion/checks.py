"""The checks of `robot/checks.py` with this folder's error."""

from armdyn.motion.errors import MotionError
from armdyn.robot.checks import Checks

check = Checks(MotionError)
computable = check.computable
number = check.number
numbers = check.numbers
one_of = check.one_of
per_joint = check.per_joint
point = check.point
pose = check.pose
positive_time = check.positive_time
posture = check.posture
rotation = check.rotation
whole_number = check.whole_number
