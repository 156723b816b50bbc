"""Errors about motions, and this folder's checks."""

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks


class MotionError(ArmdynError):
    """A motion that cannot be made or cannot be executed; the message says what, where and when."""


class MotionWarning(UserWarning):
    """A motion that is used as given but looks like a mistake."""


check = Checks(MotionError)
