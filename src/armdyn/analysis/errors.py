"""Errors about what an analysis is given, and this folder's checks of it."""

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks


class AnalysisError(ArmdynError):
    """Something given to an analysis is wrong, or the robot lacks what it needs."""


check = Checks(AnalysisError)
