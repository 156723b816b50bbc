"""A log as samples to fit: positions without noise, their derivatives, and which torques may enter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import welch

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.record import Record
from armdyn.identification.signals.kinematics import Kinematics, kinematics
from armdyn.robot import Robot

SLOW = 0.02  # of a joint's greatest speed: below, the direction of its friction is not sure
STILL = 1e-3  # rad/s or m/s: a joint that is never faster does not move
FLOOR = 30.0  # times the noise's spectrum: what is above is motion
LOWEST, SHARE = 2.0, 0.2  # Hz, and of the rate: the range of a cut-off that is chosen
ENDS = 2.0  # periods of the cut-off at the ends of a segment, which are left out
LEAST_SAMPLES = 20


BLOCK = 10_000  # samples whose rows are in memory at a time


@dataclass(frozen=True)
class Samples:
    """A record with its kinematics; `usable` (samples, n) is without slow and saturated samples."""

    record: Record
    motion: Kinematics
    usable: np.ndarray
    cutoff: float | None  # Hz

    @property
    def blocks(self) -> list[slice]:
        """All samples, some thousands at a time."""
        return [slice(i, i + BLOCK) for i in range(0, len(self.record.t), BLOCK)]

    def at(self, part: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, q̇, q̈ of some samples."""
        return self.motion.q[part], self.motion.qd[part], self.motion.qdd[part]


def samples_of(robot: Robot, log: Any, cutoff: float | None, name: str, rest: bool = False) -> Samples:
    """The samples of a log; `rest` keeps those in which a joint that moves is slow."""
    record = log.at_joints(robot) if hasattr(log, "at_joints") else log
    if not isinstance(record, Record):
        raise IdentificationError(f"{name}: expected a Log, found {type(log).__name__}")
    if record.n != robot.n:
        raise IdentificationError(
            f"{name}: it has {record.n} joints, but {robot.name} has {robot.n} coordinates"
        )
    if len(record.t) < LEAST_SAMPLES:
        found = f"found {len(record.t)}"
        raise IdentificationError(f"{name}: at least {LEAST_SAMPLES} samples are needed, {found}")
    if cutoff is not None:
        cutoff = check.positive("cutoff", cutoff)
    elif record.qd is None or record.qdd is None:
        cutoff = chosen_cutoff(record)
    motion = kinematics(record, cutoff)
    usable = record.usable if rest else record.usable & _sliding(motion.qd)
    if cutoff is not None and (record.qd is None or record.qdd is None):
        usable = usable & _settled(record, cutoff)[:, None]
    if not usable.any():
        raise IdentificationError(
            f"{name}: no sample is left of {len(record.t)}: the log is too short or at rest"
        )
    return Samples(record, motion, usable, cutoff)


def chosen_cutoff(record: Record) -> float | None:
    """Twice the highest frequency at which the positions' spectrum stands out of the noise [Hz]."""
    longest = max(record.segments, key=lambda part: part.stop - part.start)
    q, rate = record.q[longest], record.rate
    if len(q) < 64:
        return None
    window = min(len(q), max(64, int(8 * rate)))
    f, power = welch(np.diff(q, axis=0), rate, nperseg=min(window, len(q) - 1), axis=0)
    moving = np.ptp(q, axis=0) > 0
    if not moving.any():
        return None
    floor = np.median(power[f > rate / 4], axis=0) / np.maximum(np.sin(np.pi * 3 / 8) ** 2, 1e-9)
    noise = floor * np.sin(np.pi * f / rate)[:, None] ** 2  # white noise, after the difference
    stands_out = (power > FLOOR * noise + 1e-12 * power.max(axis=0))[:, moving].any(axis=1)
    return float(np.clip(2 * f[stands_out].max(initial=0.0), LOWEST, SHARE * rate))


def _settled(record: Record, cutoff: float) -> np.ndarray:
    """Where the filter knows what was before and after: not at the ends of a segment."""
    found = np.zeros(len(record.t), bool)
    for part in record.segments:
        t = record.t[part]
        found[part] = (t >= t[0] + ENDS / cutoff) & (t <= t[-1] - ENDS / cutoff)
    return found


def _sliding(qd: np.ndarray) -> np.ndarray:
    """Where the direction of a joint's friction is sure; of a joint that does not move, everywhere."""
    fastest = np.abs(qd).max(axis=0, initial=0.0)
    return np.asarray((np.abs(qd) >= SLOW * fastest) | (fastest < STILL))
