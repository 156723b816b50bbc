"""Positions: missing values, wrapped angles, spikes and jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import percentile_filter

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.times import GAP
from armdyn.identification.logs.wording import column_text, counted, rows_text, runs

TURN = 2 * np.pi
WINDOW = 25  # steps around one that tell how fast the joint moves there
JUMP = 10.0  # times the steps around: no motion does that in one step
WIDEST = 3  # samples of a spike
RETURN = 0.3  # share of its height to which a spike returns
QUIET = 0.5  # rad: only where most steps are smaller, a step of 2π is a wrapped angle


@dataclass
class Positions:
    """One channel (samples, columns) on its way to being whole; `rows` are those of the file."""

    channel: str
    x: np.ndarray
    rows: np.ndarray
    filled: np.ndarray  # (samples,) bool: a value of the row is interpolated
    breaks: np.ndarray  # (samples,) bool: a new segment begins
    notes: list[str]

    def fill_missing(self, t: np.ndarray) -> None:
        for j, column in enumerate(self.x.T):
            bad = ~np.isfinite(column)
            if not bad.any():
                continue
            if (~bad).sum() < 4:
                raise IdentificationError(f"{column_text(self.channel, j)}: there are hardly any numbers")
            self.x[:, j] = fill(t, column, bad)
            self.filled |= bad
            name, where = column_text(self.channel, j), rows_text(self.rows[bad])
            self.notes.append(f"{name}: no number in {where}; interpolated, the torques there are not used")


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


def look_at_positions(t: np.ndarray, found: Positions, turning: np.ndarray) -> bool:
    """Mend a channel in place; `turning` (columns,) are those that measure angles.

    Returns whether whole turns were taken out.
    """
    found.fill_missing(t)
    apart = np.diff(t) > GAP * np.median(np.diff(t))  # steps over missing samples are not those of a motion
    turned = False
    for j in range(found.x.shape[1]):
        if turning[j]:
            turned |= _unwrap(found, j, apart)
        _spikes_and_jumps(t, found, j, apart)
    return turned


def _unwrap(found: Positions, j: int, apart: np.ndarray) -> bool:
    steps = np.diff(found.x[:, j])
    size = np.abs(steps)
    if not (size > 4).any() or np.median(size) > QUIET or (size > 4).mean() > 0.2:
        return False  # no jumps, or no motion at all, or one too fast to be told from wrapping
    turns = np.rint(steps / TURN)
    near = JUMP * _around(size) + 3 * size[size > 0].min() + 1e-6
    wrapped = (size > 4) & (np.abs(steps - turns * TURN) < near)
    if not wrapped.any():
        return False
    if found.channel == "motor_position" and apart.any():
        row = found.rows[:-1][apart][0]
        raise IdentificationError(
            f"{column_text(found.channel, j)} jumps by whole turns, and samples are missing after row "
            f"{row}: how many turns the motor made there is not known"
        )
    found.x[1:, j] -= TURN * np.cumsum(np.where(wrapped, turns, 0))
    where = rows_text(found.rows[1:][wrapped])
    found.notes.append(f"{column_text(found.channel, j)}: jumps by whole turns at {where}; taken out")
    return True


def _spikes_and_jumps(t: np.ndarray, found: Positions, j: int, apart: np.ndarray) -> None:
    x = found.x[:, j]
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
    name = column_text(found.channel, j)
    if bad.any():
        found.x[:, j] = fill(t, x, bad)
        found.filled |= bad
        found.notes.append(
            f"{name}: {counted(len(runs(bad)), 'spike')} at {rows_text(found.rows[bad])}; interpolated, "
            "the torques there are not used"
        )
    if alone:
        size = np.abs(x[alone] - x[np.array(alone) - 1]).max()
        found.breaks[alone] = True
        found.notes.append(
            f"{name}: jumps by up to {size:.3g} at {rows_text(found.rows[alone])}, which no motion does; "
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
