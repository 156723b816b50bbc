"""Positions without noise, and their derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.logs.record import Record
from armdyn.identification.signals.filters import derivative, low_pass
from armdyn.identification.signals.stretch import Stretch, stretches

_AT_REST = 1e-9  # of a joint's greatest speed
_ROUNDING = 1e-13  # of a position, per sample


@dataclass(frozen=True)
class Kinematics:
    """Positions, velocities and accelerations, (samples, n) each; rad or m, and per s and s²."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def kinematics(record: Record, cutoff: float | None = None) -> Kinematics:
    """Of a record: low-passed at `cutoff` [Hz] without delay and differentiated, segment by segment.

    Accelerations that the log has are exact or measured with care: then all is used as it is. Velocities that
    it has are low-passed like positions. A segment of fewer than four samples rests in this account.
    """
    q, qd, qdd = record.q.copy(), np.zeros_like(record.q), np.zeros_like(record.q)
    for stretch in stretches(record):
        found = on_grid(record, stretch, cutoff)
        for whole, x in ((q, found.q), (qd, found.qd), (qdd, found.qdd)):
            whole[stretch.part] = stretch.sampled(x)
    return Kinematics(q, qd, qdd)


def on_grid(record: Record, stretch: Stretch, cutoff: float | None) -> Kinematics:
    """The same at the instants of a stretch's grid, (K, n) each."""
    q = stretch.gridded(record.q)
    qd = None if record.qd is None else stretch.gridded(record.qd)
    rate, measured = stretch.rate, q
    if record.qdd is not None:
        qd = _resting(derivative(q, rate), q, rate) if qd is None else qd
        return Kinematics(q, qd, stretch.gridded(record.qdd))
    q = low_pass(q, cutoff, rate)
    qd = _resting(derivative(q, rate), q, rate) if qd is None else low_pass(qd, cutoff, rate)
    return at_rest(measured, Kinematics(q, qd, derivative(qd, rate)))


def _resting(qd: np.ndarray, q: np.ndarray, rate: float) -> np.ndarray:
    """Velocities without those that are only rounding: a joint at rest has no direction of friction."""
    rounding = _ROUNDING * rate * (1 + np.abs(q).max(axis=0))
    return np.where(np.abs(qd) <= np.maximum(rounding, _AT_REST * np.abs(qd).max(axis=0)), 0.0, qd)


def at_rest(measured: np.ndarray, motion: Kinematics) -> Kinematics:
    """The motion, joints that never move exactly at rest: rounding errors would have a direction."""
    still = np.ptp(measured, axis=0) == 0
    if not still.any():
        return motion
    qd, qdd = np.where(still, 0.0, motion.qd), np.where(still, 0.0, motion.qdd)
    return Kinematics(np.where(still, measured, motion.q), qd, qdd)
