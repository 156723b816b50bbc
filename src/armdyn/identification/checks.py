"""The checks of `robot/checks.py` with this folder's error."""

from armdyn.identification.errors import IdentificationError
from armdyn.robot.checks import Checks

check = Checks(IdentificationError)
