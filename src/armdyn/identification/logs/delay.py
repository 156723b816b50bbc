"""A constant delay between positions and torques: found with the robot's model, and taken out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.signal import butter, sosfiltfilt

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.record import Record
from armdyn.identification.signals.kinematics import kinematics
from armdyn.robot import Robot

MOST = 0.1  # s: longer delays are not looked for
ROWS = 10_000  # samples that are enough
BETTER = 0.02  # of the misfit: what taking a delay out has to gain to be worth it
RANK = 1e-7  # of the largest singular value: smaller ones say nothing
CUTOFF = 20.0  # Hz, of the low-pass that both positions and torques get


@dataclass(frozen=True)
class Delay:
    """By how much torques were recorded later than positions, and how well the model fits with it."""

    seconds: float
    samples: float  # the same in samples
    before: float  # ‖τ − Yπ̂‖/‖τ‖ of a least-squares fit, torques by joint scaled to their noise
    after: float  # the same with the delay taken out
    at_end: bool  # the best is at the end of the range that was looked at

    @property
    def clear(self) -> bool:
        """Whether there is a delay of half a sample or more, without which the model fits better."""
        return not self.at_end and abs(self.samples) >= 0.5 and self.after < (1 - BETTER) * self.before

    def __str__(self) -> str:
        fits = f"the model then fits to {100 * self.after:.2f} % instead of {100 * self.before:.2f} %"
        return f"the torques are {1e3 * self.seconds:.3g} ms ({self.samples:.2f} samples) late: {fits}"


@on_one_thread
def estimate_delay(robot: Robot, log: Log, most: float = MOST) -> Delay:
    """The delay of the torques with which the robot's model, its parameters fitted, fits best.

    `most` [s]: what is looked at, before and after. Positions and torques are low-passed alike, at 20 Hz or
    an eighth of the sampling rate, and positions differentiated, unless the log has derivatives.
    A model that lacks something (rotors, friction) may fit better with a delay that is none.
    """
    check.positive_time("most", most)
    record = log.at_joints(robot)
    with check.computable():
        return delay_of(robot, record, most)


def delay_of(robot: Robot, record: Record, most: float = MOST) -> Delay:
    """`estimate_delay` of a record."""
    step = 1 / record.rate
    reach = max(2, int(np.ceil(most / step)))
    rows = _inner_rows(record, reach)
    if len(rows) * record.n < 4 * len(robot.parameters):
        raise IdentificationError(f"{record.name}: too short to find a delay of up to {most:g} s in it")
    cutoff = min(CUTOFF, record.rate / 8)
    smooth = _low_passed(record, cutoff)
    Q, weights = _space(robot, record, smooth, rows, cutoff)

    def misfit(delay: float) -> float:
        at = record.t[rows] + delay
        tau = np.column_stack([np.interp(at, record.t, column) for column in smooth.T])
        y = (tau * weights).T.ravel()
        return float(np.linalg.norm(y - Q @ (Q.T @ y)) / np.linalg.norm(y))

    coarse = np.linspace(-reach, reach, min(2 * reach + 1, 81)) * step
    values = [misfit(delay) for delay in coarse]
    k = int(np.argmin(values))
    if k in (0, len(coarse) - 1):
        return Delay(float(coarse[k]), float(coarse[k] / step), misfit(0.0), values[k], at_end=True)
    best = minimize_scalar(misfit, bounds=(coarse[k - 1], coarse[k + 1]), method="bounded")
    seconds = float(best.x)
    return Delay(seconds, seconds / step, misfit(0.0), float(best.fun), at_end=False)


def _inner_rows(record: Record, reach: int) -> np.ndarray:
    """Rows all of whose torques within reach are of the same segment and may be used; not too many."""
    inner = []
    for part in record.segments:
        bad = np.logical_not(np.all(record.usable[part], axis=1))
        near = (
            np.convolve(bad, np.ones(2 * reach + 1), "same") > 0.5 if len(bad) > 2 * reach + 1 else bad | True
        )
        ends = np.arange(len(bad))
        inside = (ends >= reach) & (ends < len(bad) - reach)
        inner.append(part.start + np.flatnonzero(inside & ~near))
    rows = np.concatenate(inner)
    return rows[:: max(1, len(rows) // ROWS)]


def _low_passed(record: Record, cutoff: float) -> np.ndarray:
    tau, sos = record.tau.copy(), butter(4, cutoff, fs=record.rate, output="sos")
    for part in record.segments:
        padding = min(part.stop - part.start - 1, int(record.rate / cutoff))
        tau[part] = sosfiltfilt(sos, tau[part], axis=0, padlen=padding)
    return tau


def _space(
    robot: Robot, record: Record, torques: np.ndarray, rows: np.ndarray, cutoff: float
) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal base of what the model can say at these rows, (joint by joint, ·), and weights (n,)."""
    found = kinematics(record, cutoff)
    Y = robot.regressor(found.q[rows], found.qd[rows], found.qdd[rows])
    tau = torques[rows]
    weights = np.ones(record.n)
    for _ in range(2):  # first all joints alike, then by their misfit
        A = (Y * weights[:, None]).transpose(1, 0, 2).reshape(-1, Y.shape[-1])
        size = np.linalg.norm(A, axis=0)
        A = A[:, size > 0] / size[size > 0]
        squares, V = np.linalg.eigh(A.T @ A)
        large = squares > RANK * squares[-1]
        Q = A @ (V[:, large] / np.sqrt(squares[large]))
        y = (tau * weights).T.ravel()
        misfit = (y - Q @ (Q.T @ y)).reshape(record.n, -1).std(1) / weights
        floor = 1e-6 * max(float(np.abs(tau).max()), 1e-12)
        last, weights = weights, 1 / np.maximum(misfit, floor)
    return np.asarray(Q), last


def shifted(record: Record, delay: float) -> Record:
    """Torques as they were `delay` seconds later, linear between samples; not used where there are none."""
    tau, usable = record.tau.copy(), np.zeros_like(record.usable)
    for part in record.segments:
        t = record.t[part]
        at = t + delay
        k = np.clip(np.searchsorted(t, at, "right") - 1, 0, len(t) - 2)
        inside = (at >= t[0]) & (at <= t[-1])
        for j in range(record.n):
            good = record.usable[part, j]
            tau[part, j] = np.interp(at, t, record.tau[part, j])
            usable[part, j] = inside & good[k] & good[k + 1]
    note = f"the torques were recorded {1e3 * delay:.4g} ms after the positions; this was taken out"
    return replace(record, tau=tau, usable=usable, notes=(*record.notes, note))
