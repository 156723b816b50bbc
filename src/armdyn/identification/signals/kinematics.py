"""Positions without noise, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt

from armdyn.identification.logs.record import Record


@dataclass(frozen=True)
class Kinematics:
    """Filtered positions, velocities and accelerations, (samples, n) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def kinematics(record: Record, cutoff: float | None = None) -> Kinematics:
    """Zero-phase low-pass at `cutoff` [Hz] and central differences, segment by segment.

    Velocities and accelerations that the log has are used as they are.
    """
    q, qd, qdd = record.q.copy(), np.empty_like(record.q), np.empty_like(record.q)
    for part in record.segments:
        t = record.t[part]
        if cutoff is not None and 2 * cutoff < record.rate:
            sos = butter(4, cutoff, fs=record.rate, output="sos")
            q[part] = sosfiltfilt(sos, q[part], axis=0)
        qd[part] = np.gradient(q[part], t, axis=0) if record.qd is None else record.qd[part]
        qdd[part] = np.gradient(qd[part], t, axis=0) if record.qdd is None else record.qdd[part]
    return Kinematics(q, qd, qdd)
