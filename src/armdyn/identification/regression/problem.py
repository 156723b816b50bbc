"""The least-squares problem of a fit, and torques as a fit predicts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.identification.logs.record import Record
from armdyn.identification.regression.columns import Columns
from armdyn.identification.regression.factor import Factors, merged
from armdyn.identification.regression.pieces import Piece
from armdyn.identification.regression.states import States, effective_cutoff, states
from armdyn.identification.regression.template import Template
from armdyn.identification.signals.filters import low_pass
from armdyn.identification.signals.kinematics import Kinematics, on_grid
from armdyn.identification.signals.stretch import stretches

_ROWS = 4_000  # states whose regressor is in memory at a time


@dataclass(frozen=True)
class Problem:
    """What the columns of the regressor are and through which filter they are seen; picklable."""

    template: Template
    width: np.ndarray  # (E,) of the sign near zero speed, per surface [rad/s or m/s]
    cutoff: float | None  # Hz

    @cached_property
    def columns(self) -> Columns:
        return Columns(self.template, self.width)

    def parts(self, piece: Piece) -> Iterator[States]:
        return states(piece.record, piece.samples, self.cutoff)

    def regressors(self, part: States) -> Iterator[tuple[np.ndarray, States]]:
        """Y as the low-pass shows it, some of the states at a time."""
        for start, stop in part.blocks:
            yield part.seen_between(self.columns, start, stop), part.between(start, stop)

    def factors(self, piece: Piece) -> Factors | None:
        """Of a piece; None where none of its samples may enter the fit."""
        found = [
            Factors.of(Y, some.tau, some.use)
            for part in self.parts(piece)
            for Y, some in self.regressors(part)
        ]
        return merged(found) if found else None

    def torques(self, record: Record, x: np.ndarray) -> np.ndarray:
        """(samples of the record, n) for parameters x, filtered as in the fit."""
        found = np.zeros_like(record.q)
        for stretch in stretches(record):
            motion = on_grid(record, stretch, effective_cutoff(record, self.cutoff))
            tau = low_pass(self._unseen(motion, x), effective_cutoff(record, self.cutoff), stretch.rate)
            found[stretch.part] = stretch.sampled(tau)
        return found

    def _unseen(self, motion: Kinematics, x: np.ndarray) -> np.ndarray:
        """Y x without the filter, (K, n)."""
        blocks = []
        for start in range(0, len(motion.q), _ROWS):
            part = slice(start, start + _ROWS)
            some = Kinematics(motion.q[part], motion.qd[part], motion.qdd[part])
            blocks.append(self.columns(some) @ x)
        return np.concatenate(blocks)
