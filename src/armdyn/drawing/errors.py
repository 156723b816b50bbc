"""What can go wrong in drawing and writing."""

from __future__ import annotations

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks


class ReportError(ArmdynError):
    """A report or a picture that cannot be made."""


check = Checks(ReportError)
