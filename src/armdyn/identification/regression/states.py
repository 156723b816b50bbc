"""What of a log enters a fit: states and torques on an even grid, as dense as the filter makes worthwhile.

Regressor and torque are compared as the low-pass shows them: the regressor's columns are filtered with the
same cut-off as the positions, because drives and loggers smooth torques, too. Then τ = Y π holds for filtered
quantities as it did before.
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

_DENSE = 16  # instants per period of the cut-off: more of them say nothing new
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
        """A regressor or torques (M, …) as the low-pass shows them."""
        return low_pass(x, self.cutoff, self.rate)

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
    motion: Motion = on_grid,
) -> Iterator[States]:
    """The stretches of a record; `samples` (samples,) bool says what may enter the fit.

    The instants are as dense as a cut-off of `fastest` [Hz] asks for, by default the cut-off itself. `motion`
    says how positions are made into kinematics.
    """
    use = record.usable & samples[:, None]
    for stretch in stretches(record):
        if use[stretch.part].any():
            yield _states(record, stretch, use, cutoff, fastest or cutoff, motion)


def effective_cutoff(record: Record, cutoff: float | None) -> float | None:
    """None where the log has accelerations: then nothing is filtered."""
    return None if record.qdd is not None else cutoff


def _states(
    record: Record,
    stretch: Stretch,
    use: np.ndarray,
    cutoff: float | None,
    fastest: float | None,
    motion_of: Motion,
) -> States:
    cutoff = effective_cutoff(record, cutoff)
    motion = motion_of(record, stretch, cutoff)
    tau, used, rate = stretch.gridded(record.tau), use[stretch.nearest], stretch.rate
    if cutoff is None or fastest is None:
        return States(motion, tau, used, rate, cutoff)
    edge = min(int(np.ceil(_SETTLING * rate / cutoff)), len(tau) // 4)
    used[:edge] = used[len(tau) - edge :] = False
    thin = max(1, int(rate / (_DENSE * fastest)))
    if thin > 1:
        tau = low_pass(tau, 0.4 * rate / thin, rate)
        used = minimum_filter1d(used, 2 * thin + 1, axis=0)
    at = slice(thin // 2, None, thin)
    motion = Kinematics(motion.q[at], motion.qd[at], motion.qdd[at])
    return States(motion, tau[at], used[at], rate / thin, cutoff)
