"""Errors about studies, and this folder's checks."""

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks


class StudyError(ArmdynError):
    """A study that cannot be run, read or judged; the message says what, where, and what is allowed."""


check = Checks(StudyError)
