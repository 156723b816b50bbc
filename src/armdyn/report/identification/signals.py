"""What the filters did to a log: its signals before and after, over time and over frequency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import welch

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.states import effective_cutoff, states
from armdyn.identification.signals.kinematics import on_grid
from armdyn.identification.signals.stretch import Stretch, stretches
from armdyn.report.errors import ReportError
from armdyn.robot.joints import joint_units

_PERIODS = 12  # of the cut-off that are shown
_LEAST = 2.0  # s
_PER_E = 40  # points of a spectrum for frequencies that differ by a factor of e


@dataclass(frozen=True)
class Signal:
    """A signal of one joint before and after the filters, over all of a stretch."""

    name: str
    unit: str
    t: np.ndarray
    raw: np.ndarray
    filtered_t: np.ndarray
    filtered: np.ndarray


@dataclass(frozen=True)
class SignalsFinding:
    """Position, velocity, acceleration and torque of a joint, and the stretch of time worth a look."""

    joint: int
    signals: tuple[Signal, ...]
    window: tuple[float, float]  # s
    cutoff: float | None  # Hz
    log: str


def signals(fit: Fit, log: Log, joint: int | None = None) -> SignalsFinding:
    """Of the longest stretch of a log; of the joint that accelerates most, where none is named."""
    record = log.at_joints(fit.described)
    found = stretches(record)
    if not found:
        raise ReportError(f"log '{log.name}': no stretch has four samples or more")
    stretch = max(found, key=lambda x: x.part.stop - x.part.start)
    cutoff = effective_cutoff(record, fit.model.problem.cutoff)
    raw, smooth = (on_grid(record, stretch, c) for c in (None, cutoff))
    if joint is None:
        joint = int(smooth.qdd.std(0).argmax())
    elif not 0 <= joint < record.n:
        raise ReportError(f"joint: found {joint}; allowed: 0 to {record.n - 1}")
    j, t, units = joint, stretch.grid, joint_units(fit.described, joint)
    names = ("position", "velocity", "acceleration")
    pairs = (raw.q, smooth.q), (raw.qd, smooth.qd), (raw.qdd, smooth.qdd)
    shown = [
        Signal(name, unit, t, a[:, j], t, b[:, j])
        for name, unit, (a, b) in zip(names, units, pairs, strict=False)
    ]
    at, tau = _torque(fit, record, stretch)
    shown.append(Signal(units.effort, units.torque, t, stretch.gridded(record.tau)[:, j], at, tau[:, j]))
    return SignalsFinding(j, tuple(shown), _window(t, smooth.qdd[:, j], cutoff), cutoff, log.name)


def _torque(fit: Fit, record: Record, stretch: Stretch) -> tuple[np.ndarray, np.ndarray]:
    """Times and torques as they enter the fit."""
    inside = np.zeros(len(record.t), bool)
    inside[stretch.part] = True
    parts = list(states(record, inside, fit.model.problem.cutoff))
    if not parts:
        return stretch.grid, stretch.gridded(record.tau)
    thin = max(1, round(stretch.rate / parts[0].rate))
    return stretch.grid[thin // 2 :: thin], parts[0].tau


def _window(t: np.ndarray, acceleration: np.ndarray, cutoff: float | None) -> tuple[float, float]:
    """Around the greatest acceleration that is not at an end."""
    length = min(max(_LEAST, _PERIODS / cutoff if cutoff else 0.0), float(t[-1] - t[0]))
    inside = (t >= t[0] + length / 2) & (t <= t[-1] - length / 2)
    middle = (
        float(t[np.where(inside, np.abs(acceleration), -1.0).argmax()]) if inside.any() else float(t.mean())
    )
    start = min(max(middle - length / 2, float(t[0])), float(t[-1]) - length)
    return start, start + length


def spectrum(t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes per √Hz by Welch's method, averaged where they are dense on paper."""
    rate = (len(t) - 1) / (t[-1] - t[0])
    f, power = welch(x, rate, nperseg=min(len(x), max(256, int(4 * rate))))
    f, power = f[1:], power[1:]
    step = np.floor(np.log(f / f[0]) * _PER_E)
    starts = np.flatnonzero(np.diff(step, prepend=-1.0))
    counts = np.diff(starts, append=len(f))
    return np.add.reduceat(f, starts) / counts, np.sqrt(np.add.reduceat(power, starts) / counts)
