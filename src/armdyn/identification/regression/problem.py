"""The least-squares problem of a fit, and torques as a fit predicts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.columns import Columns
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Piece
from armdyn.identification.regression.states import States, effective_cutoff, states
from armdyn.identification.regression.template import Template
from armdyn.identification.signals.filters import low_pass
from armdyn.identification.signals.kinematics import Kinematics, on_grid
from armdyn.identification.signals.stretch import stretches

# Periods of the cut-off at the ends of a segment in which predictions do not count. A fit drops half of that
# (`states.py`): it needs its samples, while an error must not be one of the filter.
_SETTLING = 1.0
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
        return states(piece.record, piece.samples, self.cutoff, allowed=piece.allowed)

    def regressors(self, part: States) -> Iterator[tuple[np.ndarray, States]]:
        """Y as the low-pass shows it, some of the states at a time."""
        for start, stop in part.blocks:
            yield part.seen_between(self.columns, start, stop), part.between(start, stop)

    @on_one_thread
    def factors(self, piece: Piece) -> Factors | None:
        """Of a piece; None where none of its samples may enter the fit."""
        found: Factors | None = None
        for part in self.parts(piece):
            for start, stop in part.blocks:
                use = part.use[start:stop]
                if use.any():
                    Y = part.seen_between(self.columns, start, stop)
                    some = Factors.of(Y, part.tau[start:stop], use)
                    found = some if found is None else found + some
        return found

    def seen_torques(self, part: States, x: np.ndarray) -> np.ndarray:
        """Y x (M, n) as the low-pass shows it, at all states of a part."""
        return part.seen(self._unseen(part.motion, x))

    def torques(self, record: Record, x: np.ndarray) -> np.ndarray:
        """(samples of the record, n) for parameters x, filtered as in the fit."""
        found = np.zeros_like(record.q)
        for stretch in stretches(record):
            motion = on_grid(record, stretch, effective_cutoff(record, self.cutoff))
            tau = low_pass(self._unseen(motion, x), effective_cutoff(record, self.cutoff), stretch.rate)
            found[stretch.part] = stretch.sampled(tau)
        return found

    def settled(self, record: Record) -> np.ndarray:
        """(samples, 1) bool: where the filter knows what came before and after, not at a segment's ends.

        A log that is all ends counts as a whole.
        """
        found = np.ones((len(record.t), 1), bool)
        cutoff = effective_cutoff(record, self.cutoff)
        if cutoff is None:
            return found
        for part in record.segments:
            t = record.t[part]
            found[part, 0] = (t >= t[0] + _SETTLING / cutoff) & (t <= t[-1] - _SETTLING / cutoff)
        return found if found.any() else ~found

    def _unseen(self, motion: Kinematics, x: np.ndarray) -> np.ndarray:
        """Y x without the filter, (K, n)."""
        blocks = []
        for start in range(0, len(motion.q), _ROWS):
            part = slice(start, start + _ROWS)
            some = Kinematics(motion.q[part], motion.qd[part], motion.qdd[part])
            blocks.append(self.columns(some) @ x)
        return np.concatenate(blocks)
