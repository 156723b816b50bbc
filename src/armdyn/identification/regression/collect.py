"""The triangular factors of all logs, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.identification.errors import IdentificationError
from armdyn.identification.regression.factor import Factors, merged
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.problem import Problem
from armdyn.robot import Robot


def collect(robot: Robot, logs: Sequence[Source], problem: Problem) -> Factors:
    """What least squares needs of these logs."""
    found = [problem.factors(piece) for log in logs for piece in log.pieces(robot)]
    some = [x for x in found if x is not None]
    if not some:
        raise IdentificationError("no sample is left for the fit")
    return merged(some)
