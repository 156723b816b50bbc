"""A cut-off for filters, from what was recorded of the positions alone."""

from __future__ import annotations

import numpy as np
from scipy.signal import welch

from armdyn.identification.logs.record import Record

_ABOVE = 30.0  # times the noise's spectrum: what is above is motion
_LOWEST, _SHARE = 2.0, 0.2  # Hz, and of the rate: the range of the cut-off


def cutoff_of_motion(record: Record) -> float | None:
    """Twice the highest frequency at which the positions' spectrum stands out of the noise [Hz].

    None where the longest segment is too short for a spectrum, or at rest.
    """
    longest = max(record.segments, key=lambda part: part.stop - part.start)
    q, rate = record.q[longest], record.rate
    moving = np.ptp(q, axis=0) > 0
    if len(q) < 64 or not moving.any():
        return None
    window = min(len(q) - 1, max(64, int(8 * rate)))
    f, power = welch(np.diff(q[:, moving], axis=0), rate, nperseg=window, axis=0)
    # White noise has this spectrum after the difference; its level is that of the upper half, where
    # sin² is sin²(3π/8) in the middle.
    level = np.median(power[f > rate / 4], axis=0) / np.sin(np.pi * 3 / 8) ** 2
    noise = level * np.sin(np.pi * f / rate)[:, None] ** 2
    stands_out = (power > _ABOVE * noise + 1e-12 * power.max(axis=0)).any(axis=1)
    return float(np.clip(2 * f[stands_out].max(initial=0.0), _LOWEST, _SHARE * rate))
