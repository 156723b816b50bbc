"""Time stamps: missing, repeated, running back, jittering; rows that repeat the one before."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.wording import counted, rows_text, runs

MOST_MISSING = 0.1  # share of rows without a time above which a log is refused
MOST_REPEATED = 0.02  # share of rows that repeat a time with other values above which a log is refused
BRIDGED = 0.01  # s, and at least three samples: shorter gaps are only missing samples
GAP = 1.6  # steps: a longer one says that samples are missing
BURSTS = 20  # median steps per sample between long gaps: more say that stamps come in bursts
JITTER = 0.02  # RMS of the steps about their median, relative, from which on it is told
RESTART = 0.2  # share of the duration: time that goes back to before this begins again
SMOOTHER = 0.5  # held rows are treated only where that at least halves the jumps in speed


@dataclass
class Times:
    """Rows of a log that are kept, their times, and what was noticed."""

    rows: np.ndarray  # (kept,) indices into the log
    t: np.ndarray  # (kept,)
    doubtful: np.ndarray  # (kept,) bool: which of two rows at one instant holds is not known
    notes: list[str]


def look_at_times(log: Log) -> Times:
    """Increasing times. What cannot be put right is refused with its row."""
    found = Times(np.arange(len(log)), log.t, np.zeros(len(log), bool), [])
    values = np.column_stack([without_infinities(getattr(log, name)) for name in log.channels[1:]])
    _without_times(log, found)
    _refuse_running_back(log, found)
    _without_repeated(log, found, values)
    if len(found.t) < 4:
        raise IdentificationError(
            f"{log.name}: {counted(len(found.t), 'sample')} with times of their own; four are needed"
        )
    _refuse_bursts(log, found)
    _held_rows(log, found, values)
    _tell_jitter(found)
    return found


def without_infinities(x: np.ndarray) -> np.ndarray:
    """NaN for all that is no number, so that differences are quiet."""
    return x if np.isfinite(x).all() else np.where(np.isfinite(x), x, np.nan)


def _keep(found: Times, kept: np.ndarray) -> None:
    found.rows, found.t, found.doubtful = found.rows[kept], found.t[kept], found.doubtful[kept]


def _without_times(log: Log, found: Times) -> None:
    known = np.isfinite(found.t)
    if known.all():
        return
    missing = found.rows[~known] + log.first
    what = f"{rows_text(missing)}: the time is not a number"
    if len(missing) > MOST_MISSING * len(log):
        raise IdentificationError(f"{log.name}: {what}; so many rows cannot be left out")
    found.notes.append(f"{what}; left out")
    _keep(found, known)


def _refuse_running_back(log: Log, found: Times) -> None:
    back = np.flatnonzero(np.diff(found.t) < 0)
    if not len(back):
        return
    i = int(back[0]) + 1
    before, after = found.t[i - 1], found.t[i]
    row = found.rows[i] + log.first
    what = f"{log.name}: row {row}: the time goes back from {before:.9g} s to {after:.9g} s"
    rest = found.t[i:]
    restarts = (
        after <= found.t[0] + RESTART * (before - found.t[0]) and len(rest) > 1 and (rest >= after).all()
    )
    if restarts or (len(back) == 1 and len(rest) > 3 and rest[-1] < before):
        raise IdentificationError(
            f"{what}: these look like two recordings in one log; log.split() separates them"
        )
    raise IdentificationError(
        f"{what}: which samples follow each other is not known; put the rows in order, or leave wrong "
        "ones out"
    )


def _without_repeated(log: Log, found: Times, values: np.ndarray) -> None:
    """Leave out all but the first of several rows at one instant."""
    again = np.concatenate([[False], np.diff(found.t) == 0])
    if not again.any():
        return
    start = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))  # the first row at the instant
    same = values[found.rows] == values[found.rows[start]]
    same |= np.isnan(values[found.rows]) & np.isnan(values[found.rows[start]])
    differs = again & ~same.all(1)
    alike = found.rows[again & ~differs] + log.first
    if len(alike):
        found.notes.append(f"{rows_text(alike)}: the same time and values as the row before; left out")
    if differs.any():
        rows = found.rows[differs] + log.first
        what = f"{rows_text(rows)}: the time of the row before, {found.t[differs][0]:.9g} s, but other values"
        if len(rows) > MOST_REPEATED * len(log):
            raise IdentificationError(
                f"{log.name}: {what}; the clock is too coarse for the sampling. If the samples are evenly "
                "spaced, give t = arange(N) / rate"
            )
        found.notes.append(f"{what}; the first row is kept, its torques are not used")
        found.doubtful[start[differs]] = True
    _keep(found, ~again)


def _refuse_bursts(log: Log, found: Times) -> None:
    """Samples that were stamped when a buffer was emptied: nothing says when they were taken."""
    steps = np.diff(found.t)
    step = float(np.median(steps))
    near = steps[steps <= (bridged(step) + 1) * step]
    if near.mean() > BURSTS * step:
        raise IdentificationError(
            f"{log.name}: the time stamps come in bursts: half of the steps are up to {1e3 * step:.3g} ms, "
            f"and the average is {1e3 * near.mean():.3g} ms. If the samples are evenly spaced, give "
            "t = arange(N) / rate"
        )


# ---- rows that repeat the one before -----------------------------------------------------------------------


def _held_rows(log: Log, found: Times, values: np.ndarray) -> None:
    """Rows in which every channel repeats the row before while the arm moves: no sample was taken.

    Either a sample is missing, and the next one is where it should be; or what was recorded comes from a
    slower clock than the stamps, and all others are late by a little. The smoother motion of the two holds.
    """
    q = without_infinities(getattr(log, log.positions))[found.rows]
    held = _held(q, values[found.rows])
    if not held.any():
        return
    rows = found.rows[held] + log.first
    what = f"{rows_text(rows)}: all channels repeat the row before while the arm moves"
    kept = ~held
    stamps = found.t[kept]
    even = np.polyval(np.polyfit(np.arange(len(stamps)), stamps, 1), np.arange(len(stamps)))
    choices = {"stamps": stamps}
    if np.abs(even - stamps).max() <= 1.5 * np.median(np.diff(found.t)) and held.sum() > 1:
        choices["even"] = even
    near = _near(held)
    before = _roughness(found.t, q, near)
    rough = {name: _roughness(t, q[kept], near[kept]) for name, t in choices.items()}
    best = min(rough, key=lambda name: rough[name])
    if not rough[best] <= SMOOTHER * before:
        found.notes.append(f"{what}; kept as they are")
        return
    if best == "stamps":
        found.notes.append(f"{what}: samples are missing there; left out")
    else:
        period, stamped = even[1] - even[0], np.median(np.diff(found.t))
        found.notes.append(
            f"{what}, and the next row does not catch up: the samples were taken every "
            f"{1e3 * period:.4g} ms, not every {1e3 * stamped:.4g} ms as stamped; "
            "the repeats are left out and the others evenly spaced"
        )
    _keep(found, kept)
    found.t = choices[best]


def _held(q: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(kept,) bool: all values repeat, and some joint moves by several of its smallest steps around."""
    held = np.zeros(len(q), bool)
    held[1:] = (values[1:] == values[:-1]).all(1)
    held[:3] = held[-2:] = False
    if not held.any():
        return held
    steps = np.abs(np.diff(q, axis=0))
    moved = np.where(steps > 0, steps, np.inf)
    quantum = moved.min(0)
    for start, stop in runs(held):
        around = np.minimum(steps[start - 2], steps[stop - 1])  # into the row before, and out of the last
        held[start:stop] = (np.isfinite(quantum) & (around > 3 * quantum)).any()
    return held


def _near(held: np.ndarray) -> np.ndarray:
    near = held.copy()
    for shift in (-2, -1, 1, 2):
        near |= np.roll(held, shift)
    return near


def _roughness(t: np.ndarray, q: np.ndarray, near: np.ndarray) -> float:
    """Mean jump of the speed, in units of the speed, at the rows named."""
    speed = np.diff(q, axis=0) / np.diff(t)[:, None]
    scale = np.abs(speed).mean(0)
    jumps = np.abs(np.diff(speed, axis=0))[:, scale > 0] / scale[scale > 0]
    return float(np.nanmean(jumps[near[1:-1]]))


# ---- steps in time -----------------------------------------------------------------------------------------


def _tell_jitter(found: Times) -> None:
    steps = np.diff(found.t)
    step = float(np.median(steps))
    ordinary = steps[steps < GAP * step]
    jitter = float(np.sqrt(np.mean((ordinary / step - 1) ** 2)))
    if jitter > JITTER:
        low, high = 1e3 * ordinary.min(), 1e3 * ordinary.max()
        found.notes.append(
            f"the time stamps jitter: steps of {low:.4g} to {high:.4g} ms about {1e3 * step:.4g} ms; "
            "used as they are"
        )
    fine = float(np.spacing(np.abs(found.t).max()))
    if fine > 1e-3 * step:
        found.notes.append(f"the times are so large that floats tell only steps of {fine:.2g} s apart")


def bridged(step: float) -> int:
    """How many samples may be missing in a segment."""
    return max(3, int(BRIDGED / step))


def segments(t: np.ndarray, breaks: np.ndarray, notes: list[str], rows: np.ndarray) -> list[slice]:
    """Stretches between long gaps and breaks; `breaks` (samples,) says where a new one has to begin."""
    steps = np.diff(t)
    step = float(np.median(steps))
    missing = np.rint(steps / step).astype(int) - 1
    missing[steps < GAP * step] = 0
    long = missing > bridged(step)
    short = (missing > 0) & ~long
    if short.any():
        where = rows_text(rows[:-1][short])
        notes.append(f"{counted(int(missing[short].sum()), 'sample')} missing after {where}; bridged")
    if long.any():
        gaps = steps[long]
        where = rows_text(rows[:-1][long])
        span = f"{gaps.min():.3g} s" if len(gaps) == 1 else f"{gaps.min():.3g} to {gaps.max():.3g} s"
        notes.append(
            f"{counted(len(gaps), 'gap')} of {span} after {where}; what lies between is treated apart"
        )
    edges = np.flatnonzero(long | breaks[1:]) + 1
    ends = [0, *edges.tolist(), len(t)]
    return [slice(a, b) for a, b in pairwise(ends)]
