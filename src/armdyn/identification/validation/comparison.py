"""Measured and predicted torques side by side, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.identification.logs.record import Record
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.problem import Problem
from armdyn.identification.signals.kinematics import Kinematics, kinematics
from armdyn.robot import Robot


@dataclass(frozen=True)
class Comparison:
    """A piece of a log at the joints, M samples, and what a fit predicts there."""

    name: str
    record: Record
    motion: Kinematics  # (M, n) each, filtered as in the fit
    predicted: np.ndarray  # (M, n) N m or N
    use: np.ndarray  # (M, n) bool: torques measured and asked for, not where the filter is unsettled

    @property
    def residual(self) -> np.ndarray:
        """(M, n) measured minus predicted."""
        return np.asarray(self.record.tau - self.predicted)


def comparisons(
    robot: Robot, problem: Problem, x: np.ndarray, logs: Sequence[Source]
) -> Iterator[Comparison]:
    """Of all pieces of these logs, for parameters x (p,)."""
    for source in logs:
        for piece in source.pieces(robot, problem.cutoff):
            record = piece.record
            use = record.usable & piece.samples[:, None] & problem.settled(record)
            if use.any():
                motion = kinematics(record, problem.cutoff)
                yield Comparison(source.name, record, motion, problem.torques(record, x), use)
