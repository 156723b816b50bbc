"""From a log to a record: looked over, mended where that is safe, and brought to the joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter, percentile_filter

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, IdentificationWarning, NothingUsableError, check
from armdyn.identification.log import DERIVATIVES, Log, Record, shifted
from armdyn.identification.log_files import by_number, words_of
from armdyn.model import ModelError
from armdyn.names import one_line
from armdyn.remarks import Remark, warn
from armdyn.robot import Robot
from armdyn.robot.assembly import Related
from armdyn.robot.joints import joint_name, joint_units, revolute_joints
from armdyn.tables import Column

# ------------------------------------------------------------------------------------------------------------
# What in a record looks wrong although it can be computed with: units, signs, channels that say nothing.


FARTHEST = {True: 15.0, False: 10.0}  # rad for joints that turn, m for those that slide
SLOWEST, FASTEST = 5.0, 1e5  # Hz, of logs of moving arms
RATIO = 1.5  # of measured derivatives to those of the positions, or its inverse
QUANTA = 3.0  # smallest steps that most steps are at most, for a note on the encoder,
STOPS = 0.01  # and how often, as a share of the steps, the joint seems to rest for one sample


def warnings_about(robot: Robot, record: Record) -> Iterator[str]:
    """What looks wrong, one sentence each."""
    yield from _units(robot, record)
    yield from _derivatives(robot, record)


def _units(robot: Robot, record: Record) -> Iterator[str]:
    if record.rate < SLOWEST or record.rate > FASTEST:
        unit = "milliseconds" if record.rate < SLOWEST else "seconds"
        yield f"the rate is {record.rate:.3g} Hz; are the times in {unit}? Then give units={{'t': …}}"
    turning = revolute_joints(robot)
    far = np.abs(record.q).max(0)
    for j in range(record.n):
        if far[j] > FARTHEST[bool(turning[j])]:
            found = f"{joint_name(robot, j)} is at up to {far[j]:.3g} {joint_units(robot, j).position}"
            unit = "degrees" if turning[j] else "millimetres"
            yield f"{found}; are these {unit}? Then give units={{'q': …}}"


def _derivatives(robot: Robot, record: Record) -> Iterator[str]:
    """Measured derivatives that are not those of the positions: a unit, a sign or an order is wrong."""
    chain = [("q", record.q), ("qd", record.qd), ("qdd", record.qdd)]
    for (_, x), (name, given) in pairwise(chain):
        if x is None or given is None:
            continue
        slopes = np.concatenate([np.gradient(x[part], record.t[part], axis=0) for part in record.segments])
        for j in range(record.n):
            a, b = slopes[:, j], given[:, j]
            if not a.any() or not b.any() or abs(a @ b) < 0.8 * np.linalg.norm(a) * np.linalg.norm(b):
                continue  # too noisy to tell, or rows that are no motion
            ratio = (a @ b) / (a @ a)
            if not 1 / RATIO < ratio < RATIO:
                found = f"{name} of {joint_name(robot, j)} is {ratio:.3g} times the derivative"
                yield f"{found}; is its unit or sign wrong?"


def dead_channels(robot: Robot, record: Record) -> Iterator[str]:
    """Torques that never change while their joints move, one sentence each."""
    for j in range(robot.n):
        if j in robot.drives.loose:  # no torque acts on the link of an elastic joint
            continue
        tau = record.tau[record.usable[:, j], j]
        if len(tau) and np.ptp(record.q[:, j]) > 0 and np.ptp(tau) == 0:
            unit = joint_units(robot, j)
            found = f"the {unit.effort} of {joint_name(robot, j)} is {tau[0]:.3g} {unit.torque} throughout"
            yield f"{found}: a dead channel?"


def notes_about(robot: Robot, record: Record, noisy: np.ndarray) -> Iterator[str]:
    """What is no fault but good to know: joints that do not move, coarse encoders."""
    still = [j for j in range(record.n) if not np.ptp(record.q[:, j])]
    if still:
        for what, some in (
            ("the position never changes", [j for j in still if not noisy[j]]),
            (
                "the position shows noise and no motion; taken as standing still",
                [j for j in still if noisy[j]],
            ),
        ):
            if some:
                yield f"{', '.join(joint_name(robot, j) for j in some)}: {what}"
    for j in range(record.n):
        steps = np.abs(np.diff(record.q[:, j]))
        if not steps.any():
            continue
        quantum = float(steps[steps > 0].min())
        levels = steps[steps > 0] / quantum
        between = ((steps[1:-1] == 0) & (steps[:-2] > 0) & (steps[2:] > 0)).sum()  # rests of one sample
        whole = (np.abs(levels - np.rint(levels)) < 0.01).mean() > 0.99
        if between > STOPS * len(levels) and whole and np.percentile(levels, 80) <= QUANTA:
            unit = joint_units(robot, j).position
            found = f"{joint_name(robot, j)}: the encoder has steps of {quantum:.3g} {unit}"
            yield f"{found}, about as large as the motion in a sample"


# ------------------------------------------------------------------------------------------------------------
# Rows and columns: stretches of them, and how notes name them.


_MOST = 3  # numbers that are listed
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")


def runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """Stretches of True, as start and stop."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def rows_text(rows: Sequence[int] | np.ndarray) -> str:
    """ "row 7", "rows 7 and 9", "rows 7, 9, 12 and 35 others"; those in a row as "rows 7 to 20"."""
    rows = [int(row) for row in rows]
    if len(rows) == 1:
        return f"row {rows[0]}"
    if len(rows) > 2 and rows[-1] - rows[0] == len(rows) - 1:
        return f"rows {rows[0]} to {rows[-1]}"
    if len(rows) <= _MOST:
        return f"rows {', '.join(map(str, rows[:-1]))} and {rows[-1]}"
    return f"rows {', '.join(map(str, rows[:_MOST]))} and {counted(len(rows) - _MOST, 'other')}"


def counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def column_text(channel: str, column: int) -> str:
    """How messages call a column: the channel and the joint or motor, counted from one; fx … mz."""
    if channel == "wrench":
        return f"{WRENCH[column]} of the wrench"
    return f"{channel} of {'motor' if 'motor' in channel or channel == 'current' else 'joint'} {column + 1}"


# ------------------------------------------------------------------------------------------------------------
# Time stamps: missing, repeated, running back, jittering; rows that repeat the one before.


MOST_MISSING = 0.1  # share of rows without a time above which a log is refused
MOST_REPEATED = 0.02  # share of rows that repeat a time with other values above which a log is refused
BRIDGED = 0.01  # s, and at least three samples: shorter gaps are only missing samples
GAP = 1.6  # steps: a longer one says that samples are missing
BURSTS = 20  # median steps per sample between long gaps: more say that stamps come in bursts
JITTER = 0.02  # RMS of the steps about their median, relative, from which on it is told
RESTART = 0.2  # share of the duration: time that goes back to before this begins again
SMOOTHER = 0.5  # held rows are treated only where that at least halves the jumps in speed


@dataclass
class Kept:
    """Rows of a log that are kept while it is looked over, and what was noticed."""

    log: Log
    rows: np.ndarray  # (kept,) indices into the log
    t: np.ndarray  # (kept,)
    doubtful: np.ndarray  # (kept,) bool: which of two rows at one instant holds is not known
    filled: np.ndarray  # (kept,) bool: a position or derivative of the row is interpolated
    breaks: np.ndarray  # (kept,) bool: a new segment begins
    notes: list[str]

    @staticmethod
    def of(log: Log) -> Kept:
        """All rows."""
        none = np.zeros(len(log), bool)
        return Kept(log, np.arange(len(log)), log.t, none, none.copy(), none.copy(), [])

    def keep(self, kept: np.ndarray) -> None:
        """Leave out all others."""
        for name in ("rows", "t", "doubtful", "filled", "breaks"):
            setattr(self, name, getattr(self, name)[kept])

    def where(self, chosen: Any) -> str:
        """Some of the rows, as messages call them."""
        return rows_text(self.rows[chosen] + self.log.first)

    def refusal(self, text: str) -> IdentificationError:
        return IdentificationError(f"{self.log.name}: {text}")


def look_at_times(log: Log) -> Kept:
    """Increasing times. What cannot be put right is refused with its row."""
    found = Kept.of(log)
    values = np.column_stack([without_infinities(getattr(log, name)) for name in log.channels[1:]])
    _without_times(found)
    _refuse_running_back(found)
    _without_repeated(found, values)
    if len(found.t) < 4:
        raise found.refusal(f"{counted(len(found.t), 'sample')} with times of their own; four are needed")
    _refuse_bursts(found)
    _held_rows(found, values)
    _tell_jitter(found)
    return found


def without_infinities(x: np.ndarray) -> np.ndarray:
    """NaN for all that is no number, so that differences are quiet."""
    return x if np.isfinite(x).all() else np.where(np.isfinite(x), x, np.nan)


def _without_times(found: Kept) -> None:
    known = np.isfinite(found.t)
    if known.all():
        return
    what = f"{found.where(~known)}: the time is not a number"
    if (~known).sum() > MOST_MISSING * len(found.log):
        raise found.refusal(f"{what}; so many rows cannot be left out")
    found.notes.append(f"{what}; left out")
    found.keep(known)


def _refuse_running_back(found: Kept) -> None:
    back = np.flatnonzero(np.diff(found.t) < 0)
    if not len(back):
        return
    i = int(back[0]) + 1
    before, after = found.t[i - 1], found.t[i]
    what = f"{found.where([i])}: the time goes back from {before:.9g} s to {after:.9g} s"
    rest = found.t[i:]
    restarts = (
        after <= found.t[0] + RESTART * (before - found.t[0]) and len(rest) > 1 and (rest >= after).all()
    )
    if restarts or (len(back) == 1 and len(rest) > 3 and rest[-1] < before):
        raise found.refusal(
            f"{what}: these look like two recordings in one log; cut it there, as log.split() does"
        )
    raise found.refusal(
        f"{what}: which samples follow each other is not known; put the rows in order, or leave wrong "
        "ones out"
    )


def _without_repeated(found: Kept, values: np.ndarray) -> None:
    """Leave out all but the first of several rows at one instant."""
    again = np.concatenate([[False], np.diff(found.t) == 0])
    if not again.any():
        return
    start = np.maximum.accumulate(np.where(again, 0, np.arange(len(again))))  # the first row at the instant
    same = values[found.rows] == values[found.rows[start]]
    same |= np.isnan(values[found.rows]) & np.isnan(values[found.rows[start]])
    differs = again & ~same.all(1)
    alike = again & ~differs
    if alike.any():
        found.notes.append(f"{found.where(alike)}: the same time and values as the row before; left out")
    if differs.any():
        time = found.t[differs][0]
        what = f"{found.where(differs)}: the time of the row before, {time:.9g} s, but other values"
        if differs.sum() > MOST_REPEATED * len(found.log):
            raise found.refusal(
                f"{what}; the clock is too coarse for the sampling. If the samples are evenly "
                "spaced, give t = arange(N) / rate"
            )
        found.notes.append(f"{what}; the first row is kept, its torques are not used")
        found.doubtful[start[differs]] = True
    found.keep(~again)


def _refuse_bursts(found: Kept) -> None:
    """Samples that were stamped when a buffer was emptied: nothing says when they were taken."""
    steps = np.diff(found.t)
    step = float(np.median(steps))
    near = steps[steps <= (bridged(step) + 1) * step]
    if near.mean() > BURSTS * step:
        raise found.refusal(
            f"the time stamps come in bursts: half of the steps are up to {1e3 * step:.3g} ms, "
            f"and the average is {1e3 * near.mean():.3g} ms. If the samples are evenly spaced, give "
            "t = arange(N) / rate"
        )


# ---- rows that repeat the one before -----------------------------------------------------------------------


def _held_rows(found: Kept, values: np.ndarray) -> None:
    """Rows in which every channel repeats the row before while the arm moves: no sample was taken.

    Either a sample is missing, and the next one is where it should be; or what was recorded comes from a
    slower clock than the stamps, and all others are late by a little. The smoother motion of the two holds.
    """
    q = without_infinities(getattr(found.log, found.log.positions))[found.rows]
    held = _held(q, values[found.rows])
    if not held.any():
        return
    what = f"{found.where(held)}: all channels repeat the row before while the arm moves"
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
    found.keep(kept)
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


def _tell_jitter(found: Kept) -> None:
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


def segments(found: Kept) -> tuple[slice, ...]:
    """Rows between long gaps and breaks."""
    steps = np.diff(found.t)
    step = float(np.median(steps))
    missing = np.rint(steps / step).astype(int) - 1
    missing[steps < GAP * step] = 0
    long = missing > bridged(step)
    short = (missing > 0) & ~long
    if short.any():
        where = found.where(np.flatnonzero(short))
        found.notes.append(f"{counted(int(missing[short].sum()), 'sample')} missing after {where}; bridged")
    if long.any():
        gaps = steps[long]
        where = found.where(np.flatnonzero(long))
        span = f"{gaps.min():.3g} s" if len(gaps) == 1 else f"{gaps.min():.3g} to {gaps.max():.3g} s"
        found.notes.append(
            f"{counted(len(gaps), 'gap')} of {span} after {where}; what lies between is treated apart"
        )
    edges = np.flatnonzero(long | found.breaks[1:]) + 1
    return tuple(slice(a, b) for a, b in pairwise([0, *edges.tolist(), len(found.t)]))


# ------------------------------------------------------------------------------------------------------------
# Positions: missing values, wrapped angles, spikes and jumps.


TURN = 2 * np.pi
WINDOW = 25  # steps around one that tell how fast the joint moves there
JUMP = 10.0  # times the steps around: no motion does that in one step
WIDEST = 3  # samples of a spike
RETURN = 0.3  # share of its height to which a spike returns
QUIET = 0.5  # rad: only where most steps are smaller, a step of 2π is a wrapped angle


def fill_missing(found: Kept, channel: str, x: np.ndarray) -> None:
    """Interpolate, in place, what is missing of a channel (kept, columns)."""
    for j, column in enumerate(x.T):
        bad = ~np.isfinite(column)
        if not bad.any():
            continue
        name = column_text(channel, j)
        if (~bad).sum() < 4:
            raise found.refusal(f"{name}: there are hardly any numbers")
        x[:, j] = fill(found.t, column, bad)
        found.filled |= bad
        found.notes.append(
            f"{name}: no number in {found.where(bad)}; interpolated, the torques there are not used"
        )


def lost_rows(x: np.ndarray, most: int) -> np.ndarray:
    """(samples,) bool: rows where a value is missing that cannot be filled.

    More than `most` missing values in a row cannot be filled, nor can those at the ends.
    """
    lost = np.zeros(len(x), bool)
    for column in ~np.isfinite(x).T:
        for start, stop in runs(column):
            if stop - start > most or start == 0 or stop == len(column):
                lost[start:stop] = True
    return lost


def fill(t: np.ndarray, x: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """A column with cubics over bad stretches, fitted to as many good values on each side, at least two."""
    x = x.copy()
    good = np.flatnonzero(~bad)
    for start, stop in runs(bad):
        k, width = int(np.searchsorted(good, start)), max(2, stop - start)
        near = good[max(0, k - width) : k + width]
        middle, span = t[near].mean(), max(float(np.ptp(t[near])), 1e-300)
        fitted = np.polyfit((t[near] - middle) / span, x[near], min(3, len(near) - 1))
        x[start:stop] = np.polyval(fitted, (t[start:stop] - middle) / span)
    return x


def look_at_positions(found: Kept, channel: str, x: np.ndarray, turning: np.ndarray) -> bool:
    """Mend positions (kept, columns) in place; `turning` (columns,) are those that measure angles.

    Returns whether whole turns were taken out.
    """
    fill_missing(found, channel, x)
    steps = np.diff(found.t)
    apart = steps > GAP * np.median(steps)  # steps over missing samples are not those of a motion
    turned = False
    for j in range(x.shape[1]):
        if turning[j]:
            turned |= _unwrap(found, channel, x, j, apart)
        _spikes_and_jumps(found, column_text(channel, j), x[:, j], apart)
    return turned


def _unwrap(found: Kept, channel: str, x: np.ndarray, j: int, apart: np.ndarray) -> bool:
    steps = np.diff(x[:, j])
    size = np.abs(steps)
    if not (size > 4).any() or np.median(size) > QUIET or (size > 4).mean() > 0.2:
        return False  # no jumps, or no motion at all, or one too fast to be told from wrapping
    turns = np.rint(steps / TURN)
    near = JUMP * _around(size) + 3 * size[size > 0].min() + 1e-6
    wrapped = (size > 4) & (np.abs(steps - turns * TURN) < near)
    if not wrapped.any():
        return False
    name = column_text(channel, j)
    if channel == "motor_position" and apart.any():
        raise found.refusal(
            f"{name} jumps by whole turns, and samples are missing after {found.where([apart.argmax()])}: "
            "how many turns the motor made there is not known"
        )
    x[1:, j] -= TURN * np.cumsum(np.where(wrapped, turns, 0))
    where = found.where(np.flatnonzero(wrapped) + 1)
    found.notes.append(f"{name}: jumps by whole turns at {where}; taken out")
    return True


def _spikes_and_jumps(found: Kept, name: str, x: np.ndarray, apart: np.ndarray) -> None:
    """Interpolate spikes of a column x (kept,) in place, and cut the log at jumps."""
    jumps = _jumps(x, apart)
    bad = np.zeros(len(x), bool)
    alone = []
    k = 0
    while k < len(jumps):
        i, step = jumps[k], x[jumps[k] + 1] - x[jumps[k]]
        back = [m for m in jumps[k + 1 :] if m <= i + WIDEST and abs(x[m + 1] - x[i]) <= RETURN * abs(step)]
        if back:
            bad[i + 1 : back[0] + 1] = True
            k = jumps.index(back[0])
        else:
            alone.append(i + 1)
        k += 1
    if bad.any():
        x[:] = fill(found.t, x, bad)
        found.filled |= bad
        found.notes.append(
            f"{name}: {counted(len(runs(bad)), 'spike')} at {found.where(bad)}; interpolated, "
            "the torques there are not used"
        )
    if alone:
        size = np.abs(x[alone] - x[np.array(alone) - 1]).max()
        found.breaks[alone] = True
        found.notes.append(
            f"{name}: jumps by up to {size:.3g} at {found.where(alone)}, which no motion does; "
            "the log is cut there"
        )


def _around(size: np.ndarray) -> np.ndarray:
    """How large most steps around each one are."""
    return np.asarray(percentile_filter(size, 80, WINDOW, mode="nearest"))


def _jumps(x: np.ndarray, apart: np.ndarray) -> list[int]:
    """Steps i, from x[i] to x[i + 1], that no motion makes.

    Such a step is far above those around it, above nearly all of the log, and not one of several in one
    direction, as those of a short motion are.
    """
    steps = np.where(apart, 0.0, np.diff(x))
    size = np.abs(steps)
    if not size.any() or len(size) < WINDOW:
        return []
    around = _around(size)
    quantum = size[size > 0].min()
    least = max(3 * float(np.percentile(size, 90)), JUMP * float(quantum))
    large = (size > JUMP * around) & (size > least)
    found = []
    for i in np.flatnonzero(large).tolist():
        beside = [k for k in (i - 1, i + 1) if 0 <= k < len(size)]
        if all(size[k] < RETURN * size[i] or steps[k] * steps[i] < 0 for k in beside):
            found.append(i)
    return found


# ------------------------------------------------------------------------------------------------------------
# Torques, and a wrench: missing values, spikes, saturation, channels that say nothing.


MEDIAN = 7  # samples: spikes of up to three stand out against it, steps do not
ABOVE_NOISE = 6.0  # times the 95th percentile of what stands out anywhere
ABOVE_SIGNAL = 0.25  # of the span of the signal without spikes: smaller ones do no harm
ALONE = 0.3  # of a spike's height: nothing else around stands out so much
MOST_SPIKES = 0.02  # share of samples above which they are the signal's nature
FLAT = 3  # equal samples in a row at the extreme value that are a flat top
FLAT_COUNT = 5  # such samples altogether
LEVELS_BELOW = 3  # levels below the extreme one, which a signal that is not cut off visits as long


def look_at_torques(
    found: Kept, channel: str, x: np.ndarray, moving: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Torques (kept, columns) without holes, and which of them were measured and may be used."""
    x, notes = x.copy(), found.notes
    usable = np.isfinite(x)
    for j in range(x.shape[1]):
        name, known = column_text(channel, j), usable[:, j]
        if not known.any():
            notes.append(f"{name}: there is no number in the whole log; not used")
            x[:, j] = 0.0
            continue
        if not known.all():
            notes.append(f"{name}: no number in {found.where(~known)}; not used")
        x[:, j] = _filled(found.t, x[:, j], ~known)
        spiked = spikes(x[:, j]) & known
        if spiked.mean() > MOST_SPIKES:
            count = counted(int(spiked.sum()), "sample")
            notes.append(f"{name}: {count} far from those around, too many for spikes; used as they are")
            spiked[:] = False
        if spiked.any():
            count = counted(len(runs(spiked)), "spike")
            notes.append(
                f"{name}: {count} at {found.where(spiked)}; not used, and interpolated for the filters"
            )
            x[:, j] = _filled(found.t, x[:, j], spiked | ~known)
        flat = saturated(x[:, j], known & ~spiked, moving)
        if flat.any():
            notes.append(
                f"{name}: {counted(int(flat.sum()), 'sample')} cut off at {_levels(x[flat, j])}, "
                f"from {found.where([flat.argmax()])} on; not used"
            )
        usable[:, j] &= ~spiked & ~flat
    return x, usable


def look_at_wrench(found: Kept, x: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A wrench (kept, 6) without holes, and the rows (kept,) in which all of it may be used."""
    h, usable = look_at_torques(found, "wrench", x, moving)
    for j, column in enumerate(h.T):
        name = column_text("wrench", j)
        if not np.isfinite(x[:, j]).any():
            raise NothingUsableError(
                f"{found.log.name}: {name}: there is no number in the whole log; it is 0 where nothing acts"
            )
        if column[0] and not np.ptp(column):
            found.notes.append(f"{name}: {column[0]:.4g} throughout")
    return h, np.asarray(usable.all(axis=1))


def _levels(values: np.ndarray) -> str:
    return " and ".join(f"{value:.4g}" for value in np.unique(values))


def _filled(t: np.ndarray, x: np.ndarray, bad: np.ndarray) -> np.ndarray:
    return np.where(bad, np.interp(t, t[~bad], x[~bad]), x) if bad.any() else x


def spikes(x: np.ndarray) -> np.ndarray:
    """(samples,) bool: up to three samples that stand out against both sides, alone and high.

    Steps, as dry friction makes them at reversals, do not stand out against a median; noise, and oscillations
    as fast as the sampling, do so everywhere.
    """
    none = np.zeros(len(x), bool)
    if len(x) < 2 * MEDIAN:
        return none
    middle = median_filter(x, MEDIAN, mode="nearest")
    out = np.abs(x - middle)
    least = max(ABOVE_NOISE * float(np.percentile(out, 95)), ABOVE_SIGNAL * float(np.ptp(middle)))
    high = out > least
    if not least or not high.any():
        return none
    found = none.copy()
    for start, stop in runs(high):
        a, b = max(0, start - MEDIAN), min(len(x), stop + MEDIAN)
        height = out[start:stop].max()
        around = np.concatenate([out[a : max(a, start - 1)], out[min(b, stop + 1) : b]])
        inside = start >= MEDIAN // 2 and stop <= len(x) - MEDIAN // 2
        if inside and stop - start <= MEDIAN // 2 and (around < ALONE * height).all():
            found[start:stop] = True
            for beside in (start - 1, stop):
                found[beside] |= out[beside] > 0.5 * least
    return found


def saturated(x: np.ndarray, known: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """(samples,) bool: flat tops at the largest or the smallest value while the arm moves.

    A signal with as many flat stretches at other values is made of steps; one that is recorded in coarse
    levels stays about as long on the levels below the highest.
    """
    found = np.zeros(len(x), bool)
    if not known.any() or np.ptp(x[known]) == 0:
        return found
    extremes = [float(level) for level in (x[known].max(), x[known].min()) if level]
    tops = {level: known & moving & (x == level) for level in extremes}
    tops = {level: top for level, top in tops.items() if _flat(top) >= FLAT_COUNT}
    if not tops:
        return found
    quantum = max(float(np.diff(np.unique(x[known])).min()), 1e-3 * float(np.ptp(x[known])))
    for level, top in tops.items():
        below = known & (np.abs(x - level) <= (LEVELS_BELOW + 0.5) * quantum) & (x != level)
        if _flat(top) > LEVELS_BELOW * below.sum():
            found |= top  # also the samples that are there by themselves, as noise makes them
    repeats = np.concatenate([[False], np.diff(x) == 0])
    repeats = (repeats | np.concatenate([repeats[1:], [False]])) & known & moving & ~np.isin(x, extremes)
    return found if repeats.sum() <= 0.5 * found.sum() else np.zeros(len(x), bool)


def _flat(top: np.ndarray) -> int:
    """Samples in flat stretches."""
    return sum(stop - start for start, stop in runs(top) if stop - start >= FLAT)


MOVED = 1e-3  # rad or m: farther than sensors wander at rest,
SEEN = 1e-6  # and what a motion without noise must exceed
UNLIKE = 1.5  # squares of changes over those about the mean: noise has 2, a motion hardly anything
FLICKER = 4.0  # steps of an encoder within which a position is one place


def seen_to_move(q: np.ndarray) -> np.ndarray:
    """(n,) bool: joints that are seen to move in q (samples, n).

    What differs from sample to sample is noise: of a motion, neighbouring samples are more alike than distant
    ones. A joint that stays within `MOVED` also has to go farther than `SEEN` and than some encoder steps.
    """
    if len(q) < 2:
        return np.zeros(q.shape[1], bool)
    changes, travel = np.abs(np.diff(q, axis=0)), np.ptp(q, axis=0)
    unlike = np.square(changes).sum(0) / np.maximum(np.square(q - q.mean(0)).sum(0), 1e-300)  # 2 of noise
    far = travel > SEEN
    if len(q) > WINDOW:
        far &= travel > FLICKER * np.where(changes > 0, changes, np.inf).min(0)
    return np.asarray((travel > MOVED) & (unlike < UNLIKE) | far & (unlike < 1))


def _without_noise_at_rest(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """q (samples, n) in which joints that stand still are in one place; and (n,) bool, which had noise."""
    noisy = ~seen_to_move(q) & (np.ptp(q, axis=0) > 0)
    return np.where(noisy, np.median(q, axis=0), q) if noisy.any() else q, noisy


def moving(q: np.ndarray) -> np.ndarray:
    """(samples,) bool: whether any joint moves just there."""
    steps = (np.diff(q, axis=0) != 0).any(1)
    there = np.concatenate([steps, [False]]) | np.concatenate([[False], steps])
    return np.asarray(maximum_filter1d(there.astype(int), 3) > 0)


# ------------------------------------------------------------------------------------------------------------
# From what was recorded to a robot's coordinates: motors, torque constants, joints that follow others.


RELATION = 0.02  # of a joint's travel, and at least 1e-3 rad or m: how far it may be from where others put it
ROWS = 10_000  # samples whose Jacobians are in memory at a time


def by_names(log: Log, robot: Robot) -> Log:
    """The log, columns that are named after the robot's joints in the order of the joints.

    Names that fit only in part are refused where the joints they name stand in another place.
    """
    changed: dict[str, Any] = {}
    kinds, labels, remarks = dict(log.kinds), dict(log.labels), list(log.remarks)
    for channel, names in log.labels.items():
        joints = robot.coordinates if len(names) == robot.n else robot.joints
        order = _order_by_names(log, channel, names, joints) if len(names) == len(joints) else None
        if order is None:
            continue
        changed[channel] = getattr(log, channel)[:, order]
        labels[channel] = tuple(names[i] for i in order)
        if kinds.get(channel):
            kinds[channel] = tuple(kinds[channel][i] for i in order)
        text = f"{channel}: the columns are named after the joints, and taken in the joints' order"
        remarks.append(Remark(f"{text}: {', '.join(one_line(name) for name in labels[channel])}"))
    if not changed:
        return log
    others = [
        x for x in log.channels[1:] if x != "wrench" and x not in changed and not _has_names(log, x, robot)
    ]
    if others:
        text = f"{', '.join(changed)} stood in another order than the joints, which their names showed; "
        text += f"{', '.join(others)} has no such names: is it in the order of the joints?"
        remarks.append(Remark(text, "warning", log.name))
    return replace(log, **changed, kinds=kinds, labels=labels, remarks=tuple(remarks))


def _order_by_names(log: Log, channel: str, names: Sequence[str], joints: Sequence[str]) -> list[int] | None:
    """Which column is each joint's; None where they are in order, or not named after joints."""
    named = [_joint_named(name, joints) for name in names]
    if all(j is None or j == i for i, j in enumerate(named)):
        return None
    known = [j for j in named if j is not None]
    if len(set(known)) == len(joints):
        return [named.index(j) for j in range(len(joints))]
    if None in named:
        wrong = f"'{one_line(names[named.index(None)])}' names none of them"
    else:
        j = next(j for j in known if known.count(j) > 1)
        first, second = [one_line(names[i]) for i, k in enumerate(named) if k == j][:2]
        wrong = f"'{first}' and '{second}' both name '{joints[j]}'"
    raise IdentificationError(
        f"{log.name}: columns: {channel}: some are named after joints, in another order than theirs, but "
        f"{wrong}; the joints are {', '.join(joints)}: name the columns one by one, in this order"
    )


def _joint_named(name: str, joints: Sequence[str]) -> int | None:
    """The joint whose name is in that of a column, the longest one; None where none is, or two are."""
    words, found = words_of(name), dict[int, int]()
    for j, joint in enumerate(joints):
        own = words_of(joint)
        spans = [words[k : k + len(own)] for k in range(len(words) - len(own) + 1)]
        if own in spans and not all(word.isdecimal() for word in own):
            found[j] = len(own)
    longest = [j for j, size in found.items() if size == max(found.values())]
    return longest[0] if len(longest) == 1 else None


def _has_names(log: Log, channel: str, robot: Robot) -> bool:
    """Whether the columns of a channel are named after joints, or numbered as they are."""
    columns = [Column(name, 1) for name in log.labels.get(channel, ())]
    joints = robot.coordinates if len(columns) == robot.n else robot.joints
    named = [_joint_named(column.name, joints) for column in columns]
    return bool(columns) and (None not in named or by_number(columns[::-1]) == columns)


@dataclass(frozen=True)
class Linear:
    """Coordinates x = A y + b of what was recorded, y."""

    A: np.ndarray  # (n, columns)
    b: np.ndarray  # (n,)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y @ self.A.T + self.b)

    def known(self, y: np.ndarray) -> np.ndarray:
        """Coordinates of y with holes: NaN only where a coordinate is made of what is missing."""
        there = np.isfinite(y)
        return np.where(self.usable(there), self(np.where(there, y, 0.0)), np.nan)

    def derivative(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y @ self.A.T)

    def usable(self, mask: np.ndarray) -> np.ndarray:
        """Whether all that a coordinate is made of may be used; zeros in A need nothing."""
        return np.asarray((~mask).astype(int) @ (self.A != 0).T.astype(int) == 0)


def positions_map(log: Log, robot: Robot) -> Linear:
    """From the log's positions to q (7.22): q = K⁻¹ θ_m + zeros."""
    _check_elastic(log, robot)
    zeros = np.zeros(robot.n) if log.joint_zeros is None else log.joint_zeros
    if len(zeros) != robot.n:
        raise IdentificationError(f"joint_zeros: expected ({robot.n},), one for each joint of the robot")
    if log.positions == "q":
        linear = _coordinates(log, robot)
        return Linear(linear.A, linear.b + zeros)
    K, shift = transmission(log, robot)
    _check_width(log, "motor_position", len(K))
    inverse = np.linalg.inv(K)
    return Linear(inverse, zeros - inverse @ shift)


def torques_map(log: Log, robot: Robot) -> Linear:
    """From the log's torques to those of the coordinates: Kᵀ τ_m, and Sᵀ τ for all joints."""
    _check_elastic(log, robot)
    if log.torques == "tau":
        width = log.tau.shape[1] if log.tau is not None else 0
        if width == robot.n:
            return Linear(np.eye(robot.n), np.zeros(robot.n))
        if robot.model.loops:  # torques at joints that follow depend on where the tree was cut
            _check_width(log, "tau", robot.n)
        related = Related.of(robot.model)
        _check_width(log, "tau", robot.n, len(related.S))
        return Linear(related.S.T, np.zeros(robot.n))
    K, _ = transmission(log, robot)
    _check_width(log, log.torques, len(K))
    if log.torques == "current":
        K = constants(log, robot)[:, None] * K
    return Linear(K.T, np.zeros(robot.n))


def derivatives_map(log: Log, robot: Robot) -> Linear:
    """From q̇ or q̈ of the joints to those of the coordinates."""
    linear = _coordinates(log, robot, "qd" if log.qd is not None else "qdd")
    return Linear(linear.A, np.zeros(robot.n))


def transmission(log: Log, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """K (motors, n) and a shift with θ_m = K q + shift: the log's own, or that of the robot's motors."""
    if log.transmission is not None:
        if len(log.transmission) != robot.n:
            size = len(log.transmission)
            raise IdentificationError(
                f"transmission: expected ({robot.n}, {robot.n}), found ({size}, {size})"
            )
        return log.transmission, np.zeros(robot.n)
    real = np.array(robot.drives.geared)
    n = robot.n - len(robot.model.elastic)  # torques act on as many coordinates
    if real.sum() != n:
        raise IdentificationError(
            f"{log.name}: '{robot.name}' has motors at {real.sum()} of its {n} joints; give transmission="
        )
    K, shift = robot.transmission[real], robot.drives.shift[real]
    if np.linalg.matrix_rank(K) < n:
        raise IdentificationError(
            f"{log.name}: the motors of '{robot.name}' do not tell where its joints are"
        )
    return K, shift


def constants(log: Log, robot: Robot) -> np.ndarray:
    """Torque constants (motors,) [N m/A]."""
    if log.torque_constant is not None:
        return log.torque_constant
    found = robot.drives.torque_constant[list(robot.drives.geared)]
    if len(found) != robot.n - len(robot.model.elastic):
        raise IdentificationError(f"{log.name}: currents need torque constants: give torque_constant=")
    if (found == 1).all():
        text = f"all torque constants of '{robot.name}' are 1 N m/A, which is what they are where "
        text += "a description does not give them; where they differ, give torque_constant="
        warn([Remark(text, "warning", log.name)], IdentificationWarning, 6)
    return found


def _check_elastic(log: Log, robot: Robot) -> None:
    """Refuse logs that do not say where both the links and the motors of elastic joints are."""
    if not robot.model.elastic:
        return
    found = {"q": log.q, "tau": log.tau if log.torques == "tau" else None}
    widths = {name: x.shape[1] for name, x in found.items() if x is not None}
    wrong = [name for name, width in widths.items() if width != robot.n]
    if log.positions != "q" or wrong:
        given = f"{wrong[0]} with {widths[wrong[0]]} columns" if wrong else log.positions
        raise IdentificationError(
            f"{log.name}: '{robot.name}' has elastic joints: q (and tau, if not motor_torque or current) "
            f"needs {robot.n} columns, the links and then the motors of elastic joints at the joint's side "
            f"({', '.join(robot.coordinates)}); found {given}. robot.with_rigid_joints() takes one position "
            "for each joint"
        )


def _coordinates(log: Log, robot: Robot, channel: str = "q") -> Linear:
    values = getattr(log, channel)
    if values.shape[1] == robot.n:
        return Linear(np.eye(robot.n), np.zeros(robot.n))
    joints = len(robot.joints)
    _check_width(log, channel, robot.n, joints)
    chosen = list(robot.model.dependence.independent)
    if robot.model.loops:
        chosen = [robot.model.moving.index(link) for link in robot.model.coordinates]
    A = np.zeros((robot.n, joints))
    A[range(robot.n), chosen] = 1
    if channel == "q":
        _check_relations(log, robot, values, chosen)
    return Linear(A, np.zeros(robot.n))


def _check_relations(log: Log, robot: Robot, q: np.ndarray, chosen: list[int]) -> None:
    """Refuse joints that are not where the others put them."""
    known = np.isfinite(q).all(1)
    if not known.any():
        return
    off = np.abs(q[known] - _followed(log, robot, q[known][:, chosen]))
    if robot.model.loops:  # whole turns are not counted by all sensors
        turns = np.array([link.joint == "revolute" for link in robot.model.moving])
        off = np.where(turns, np.abs((off + np.pi) % (2 * np.pi) - np.pi), off)
    allowed = np.maximum(1e-3, RELATION * np.ptp(q[known], axis=0))
    worst = np.unravel_index(int(np.argmax(off / allowed)), off.shape)
    row, j = int(np.flatnonzero(known)[worst[0]]), int(worst[1])
    if off[worst] > allowed[j]:
        raise IdentificationError(
            f"{log.name}: row {row + log.first}: joint '{robot.joints[j]}' is {off[worst]:.3g} away from "
            f"where the joints that it follows put it; {allowed[j]:.3g} is allowed"
        )


def _followed(log: Log, robot: Robot, q: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(robot.joint_positions(q))
    except ModelError as problem:
        raise IdentificationError(f"{log.name}: {problem}") from None


def _check_width(log: Log, channel: str, *allowed: int) -> None:
    found = getattr(log, channel).shape[1]
    if found not in allowed:
        widths = " or ".join(str(size) for size in dict.fromkeys(allowed))
        raise IdentificationError(
            f"{log.name}: {channel}: expected {widths} columns for this robot, found {found}"
        )


def check_kinds(log: Log, robot: Robot) -> None:
    """Refuse degrees for joints that slide, and the like."""
    for channel in ("q", "qd", "qdd", "tau"):
        kinds = log.kinds.get(channel, ())
        joints = robot.model.coordinates if len(kinds) == robot.n else robot.model.moving
        for j, (kind, link) in enumerate(zip(kinds, joints, strict=False)):
            if kind and kind != link.joint:
                name = joint_name(robot, j) if len(kinds) == robot.n else f"joint '{link.joint_label}'"
                raise IdentificationError(
                    f"{log.name}: units: {channel}: {name} is {link.joint}, but the unit is for {kind} ones"
                )


def contact_torques(robot: Robot, q: np.ndarray, h: np.ndarray, frame: str) -> np.ndarray:
    """Jᵀ h_e (samples, n), what a wrench (samples, 6) in the axes of the world or of the tip needs."""
    found = np.empty_like(q)
    for start in range(0, len(q), ROWS):
        some = slice(start, start + ROWS)
        force = h[some]
        if frame == "tip":
            R = robot.pose(q[some])[:, :3, :3]
            force = (R[:, None] @ force.reshape(-1, 2, 3, 1)).reshape(-1, 6)
        found[some] = np.einsum("kij,ki->kj", robot.jacobian(q[some]), force)
    return found


# ------------------------------------------------------------------------------------------------------------
# From a log to a record: looked over, mended where that is safe, and brought to the joints.


GREATEST = 1e50  # in SI units, and one over it for torques: beyond, squares of sums overflow
SHORTEST = 8  # samples of a segment that is kept
_SENSOR = Linear(np.eye(6), np.zeros(6))  # readings as they are


def look_over(log: Log, robot: Robot, delay: float | str = 0.0, sensor: bool = False) -> Record:
    """`Log.at_joints`; with `sensor`, the wrench (samples, 6) stands in the place of the torques."""
    check.robot(robot)
    if not sensor and not log.torques:
        raise IdentificationError(
            f"{log.name}: it has a wrench, but no torques (tau, motor_torque or current); "
            "payload_from_sensor finds from it what is beyond the sensor"
        )
    with check.computable():
        named = by_names(log, robot)
        warn(named.remarks[len(log.remarks) :], IdentificationWarning, 3)
        record = _look_over(named, robot, delay, sensor)
        arrays = (record.q, record.qd, record.qdd, record.tau, record.contact)
        known = [x for x in arrays if x is not None]
        if not all(np.abs(x).max(initial=0.0) <= GREATEST for x in known):
            raise OverflowError
        if 0 < np.abs(record.tau).max(initial=0.0) < 1 / GREATEST:
            raise OverflowError
        return record


def _look_over(log: Log, robot: Robot, delay: float | str, sensor: bool) -> Record:
    check_kinds(log, robot)
    channel = "wrench" if sensor else log.torques
    to_q, to_tau = positions_map(log, robot), _SENSOR if sensor else torques_map(log, robot)
    found = look_at_times(log)
    channels = _without_lost_rows(found)
    positions = channels[log.positions]
    turned = look_at_positions(found, log.positions, positions, _turning(log, robot, positions.shape[1]))
    derivatives = {name: channels[name] for name in DERIVATIVES if name in channels}
    for name, x in derivatives.items():
        fill_missing(found, name, x)
        derivatives[name] = derivatives_map(log, robot).derivative(x)
    y, used = look_at_torques(found, channel, channels[channel], moving(positions))
    used &= ~(found.doubtful | found.filled)[:, None]
    q, tau, contact, felt = to_q(positions), to_tau(y), None, np.ones(len(y), bool)
    if log.wrench is not None and not sensor:
        h, felt = look_at_wrench(found, channels["wrench"], moving(positions))
        contact = contact_torques(robot, q, h, log.wrench_frame)
    _refuse_without_torques(log, channel, tau, used & felt[:, None])
    q, noisy = (q, np.zeros(robot.n, bool)) if derivatives else _without_noise_at_rest(q)
    record = Record(
        t=found.t,
        q=q,
        tau=tau,
        usable=to_tau.usable(used) & felt[:, None],
        segments=segments(found),
        rows=found.rows,
        own=(found.rows >= log.rows.start) & (found.rows < log.rows.stop),
        size=len(log),
        qd=derivatives.get("qd"),
        qdd=derivatives.get("qdd"),
        remarks=(*log.remarks, *map(Remark, found.notes)),
        name=log.name,
        filled=found.filled,
        first=log.first,
        turned=turned,
        contact=contact,
    )
    record = _without_short_segments(record)
    texts = [*warnings_about(robot, record), *([] if sensor else dead_channels(robot, record))]
    doubts = [Remark(text, "warning", log.name) for text in texts]
    warn(doubts, IdentificationWarning, 4)
    notes = map(Remark, notes_about(robot, record, noisy))
    record = _aligned(robot, replace(record, remarks=(*record.remarks, *notes, *doubts)), delay)
    felt = felt[np.isin(found.rows, record.rows)]  # torques of other instants may be here now
    return replace(record, usable=record.usable & felt[:, None])


def _without_lost_rows(found: Kept) -> dict[str, np.ndarray]:
    """Channels by name, without rows whose positions or derivatives cannot be interpolated."""
    log = found.log
    channels = {name: without_infinities(getattr(log, name))[found.rows] for name in log.channels[1:]}
    states = [log.positions, *(name for name in DERIVATIVES if name in channels)]
    most = bridged(float(np.median(np.diff(found.t))))
    lost = np.zeros(len(found.rows), bool)
    for name in states:
        lost |= lost_rows(channels[name], most)
    if lost.any():
        what = f"{' or '.join(states)}: no numbers in {found.where(lost)}"
        found.notes.append(f"{what}, too many in a row to interpolate; left out")
    if (~lost).sum() < 4:
        rows = counted(int((~lost).sum()), "row")
        raise NothingUsableError(f"{log.name}: {rows} with positions; four are needed")
    found.keep(~lost)
    return {name: x[~lost] for name, x in channels.items()}


def _turning(log: Log, robot: Robot, width: int) -> np.ndarray:
    """(columns,) bool: which positions are angles."""
    if log.positions == "motor_position":
        return np.ones(width, bool)
    if width == robot.n:
        return revolute_joints(robot)
    return np.array([link.joint == "revolute" for link in robot.model.moving])


def _refuse_without_torques(log: Log, channel: str, tau: np.ndarray, used: np.ndarray) -> None:
    what = "reading" if channel == "wrench" else "torque"
    if not used.any():
        raise NothingUsableError(f"{log.name}: {channel}: no {what} in the log can be used")
    if not tau.any():
        raise NothingUsableError(f"{log.name}: {channel}: all {what}s are zero")


def _without_short_segments(record: Record) -> Record:
    """Leave out segments in which nothing can be differentiated."""
    shortest = SHORTEST if record.qd is None or record.qdd is None else 1
    long = [part for part in record.segments if part.stop - part.start >= shortest]
    if len(long) == len(record.segments):
        return record
    if not long:
        most = max(part.stop - part.start for part in record.segments)
        raise NothingUsableError(
            f"{record.name}: the longest stretch without a gap has {counted(most, 'sample')}; "
            f"{SHORTEST} are needed"
        )
    kept = np.concatenate([np.arange(part.start, part.stop) for part in long])
    rows = np.setdiff1d(record.rows, record.rows[kept]) + record.first
    ends = np.cumsum([part.stop - part.start for part in long]).tolist()
    parts = tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))
    note = f"{rows_text(rows)}: stretches of less than {SHORTEST} samples between gaps; left out"
    return replace(record.at(kept, parts), remarks=(*record.remarks, Remark(note)))


def _aligned(robot: Robot, record: Record, delay: float | str) -> Record:
    if isinstance(delay, str):
        from armdyn.identification.mistakes import delay_of

        check.one_of("delay", delay, "estimate")
        found = delay_of(robot, record)
        if not found.clear:
            return replace(record, remarks=(*record.remarks, Remark(f"{found}; not taken out")))
        return shifted(record, found.seconds)
    seconds = check.number("delay", delay)
    if not np.isfinite(seconds):
        raise IdentificationError(
            f"delay: found {shown(delay)}; a number of seconds or 'estimate' is expected"
        )
    return shifted(record, seconds) if seconds else record
