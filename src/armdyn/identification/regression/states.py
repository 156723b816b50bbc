"""What of a log enters a fit: states and torques on an even grid, as dense as the filter makes worthwhile.

The regressor's columns are filtered with the same cut-off as the positions, because drives and loggers smooth
torques, too. The torques themselves keep what they have, but for what the thinning would fold down: so
errors with different cut-offs compare, and what a cut-off takes away that the torques have counts against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.ndimage import minimum_filter1d

from armdyn.identification.logs.record import Record
from armdyn.identification.signals.filters import low_pass
from armdyn.identification.signals.kinematics import Kinematics, on_grid
from armdyn.identification.signals.stretch import Stretch, stretches

TAIL = 8  # periods of the cut-off after which 1e-8 is left of what the filter saw
DENSE = 16  # instants per period of the cut-off: more of them say nothing new
_ROWS = 4_000  # instants whose regressor is in memory at a time
_ROUNDING = 1e-6  # rates that differ by rounding are thinned alike
_SETTLING = 0.5  # periods of the cut-off at both ends of a stretch in which the filter is not trusted


@dataclass(frozen=True)
class States:
    """M instants of one stretch of a log, evenly spaced."""

    motion: Kinematics  # (M, n) each
    tau: np.ndarray  # (M, n)
    use: np.ndarray  # (M, n) bool: what may enter the fit
    rate: float  # instants per second
    cutoff: float | None  # Hz

    def __len__(self) -> int:
        return len(self.tau)

    def seen(self, x: np.ndarray) -> np.ndarray:
        """A regressor or torques (M, …) as the low-pass shows them.

        Most columns of a regressor may be zero, because a joint feels only the links beyond it: they stay so.
        """
        flat = x.reshape(len(x), -1)
        alive = flat.any(0)
        if self.cutoff is None or alive.all():
            return low_pass(x, self.cutoff, self.rate)
        found = np.zeros_like(flat)
        found[:, alive] = low_pass(flat[:, alive], self.cutoff, self.rate)
        return found.reshape(x.shape)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Start and stop of blocks whose regressors fit in memory."""
        rows = max(_ROWS, 4 * self._overlap)
        return [(start, min(start + rows, len(self))) for start in range(0, len(self), rows)]

    def seen_between(self, f: Callable[[Kinematics], np.ndarray], start: int, stop: int) -> np.ndarray:
        """f (M, …) of the motion, at some of the instants, as the low-pass shows it."""
        first, last = max(start - self._overlap, 0), min(stop + self._overlap, len(self))
        wide = self.between(first, last)
        return self.seen(f(wide.motion))[start - first : stop - first]

    @property
    def _overlap(self) -> int:
        """Instants beside a block that its filtered values depend on."""
        return 0 if self.cutoff is None else int(np.ceil(TAIL * self.rate / self.cutoff))

    def between(self, start: int, stop: int) -> States:
        """Some of the instants."""
        part = slice(start, stop)
        motion = Kinematics(self.motion.q[part], self.motion.qd[part], self.motion.qdd[part])
        return replace(self, motion=motion, tau=self.tau[part], use=self.use[part])


Motion: TypeAlias = Callable[[Record, Stretch, float | None], Kinematics]


def states(
    record: Record,
    samples: np.ndarray,
    cutoff: float | None,
    fastest: float | None = None,
    allowed: np.ndarray | None = None,
    motion: Motion = on_grid,
) -> Iterator[States]:
    """The stretches of a record; `samples` (samples,) bool says what may enter the fit.

    The instants are as dense as a cut-off of `fastest` [Hz] asks for, by default the cut-off itself. Of a
    block of a longer log, `samples` are the block's own ones, and `allowed` those which may enter the fit
    with this block or with its neighbours. `motion` says how positions are made into kinematics.
    """
    own = samples[:, None]
    use = record.usable & (own if allowed is None else allowed[:, None])
    for stretch in stretches(record):
        if (use & own)[stretch.part].any():
            yield _states(record, stretch, use, own, cutoff, fastest or cutoff, motion)


def effective_cutoff(record: Record, cutoff: float | None) -> float | None:
    """None where the log has accelerations: then nothing is filtered."""
    return None if record.qdd is not None else cutoff


def _states(
    record: Record,
    stretch: Stretch,
    use: np.ndarray,
    own: np.ndarray,
    cutoff: float | None,
    fastest: float | None,
    motion_of: Motion,
) -> States:
    cutoff = effective_cutoff(record, cutoff)
    motion = motion_of(record, stretch, cutoff)
    tau, used, rate = stretch.gridded(record.tau), use[stretch.nearest], stretch.rate
    own = own[stretch.nearest]
    if cutoff is None or fastest is None:
        return States(motion, tau, used & own, rate, cutoff)
    edge = min(int(np.ceil(_SETTLING * rate / cutoff)), len(tau) // 4)
    used[:edge] = used[len(tau) - edge :] = False
    thin = max(1, int(rate / (DENSE * fastest) + _ROUNDING))
    if thin > 1:
        tau = low_pass(tau, 0.4 * rate / thin, rate)
        used = minimum_filter1d(used, 2 * thin + 1, axis=0)
    # By the rows of the file: blocks of it take the same instants as the whole.
    first = int(record.rows[stretch.part.start]) + record.first
    at = slice((thin // 2 - first) % thin, None, thin)
    motion = Kinematics(motion.q[at], motion.qd[at], motion.qdd[at])
    return States(motion, tau[at], (used & own)[at], rate / thin, cutoff)
