"""Torques: missing values, spikes, saturation, channels that say nothing."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter1d, median_filter

from armdyn.identification.logs.wording import column_text, counted, rows_text, runs

MEDIAN = 7  # samples: spikes of up to three stand out against it, steps do not
ABOVE_NOISE = 6.0  # times the 95th percentile of what stands out anywhere
ABOVE_SIGNAL = 0.25  # of the span of the signal without spikes: smaller ones do no harm
ALONE = 0.3  # of a spike's height: nothing else around stands out so much
MOST_SPIKES = 0.02  # share of samples above which they are the signal's nature
FLAT = 3  # equal samples in a row at the extreme value that are a flat top
FLAT_COUNT = 5  # such samples altogether
QUANTA = 3  # levels below the extreme one, which a signal that is not cut off visits as long


def look_at_torques(
    channel: str, t: np.ndarray, x: np.ndarray, moving: np.ndarray, rows: np.ndarray, notes: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Torques (samples, columns) without holes, and which of them were measured and may be used."""
    x = x.copy()
    usable = np.isfinite(x)
    for j in range(x.shape[1]):
        name, known = column_text(channel, j), usable[:, j]
        if not known.all():
            notes.append(_missing_text(name, rows, known))
        if not known.any():
            x[:, j] = 0.0
            continue
        x[:, j] = _filled(t, x[:, j], ~known)
        spiked = spikes(x[:, j]) & known
        if spiked.any():
            many = len(runs(spiked))
            notes.append(
                f"{name}: {counted(many, 'spike')} at {rows_text(rows[spiked])}; not used, and "
                "interpolated for the filters"
            )
            x[:, j] = _filled(t, x[:, j], spiked | ~known)
        flat = saturated(x[:, j], known & ~spiked, moving)
        if flat.any():
            notes.append(
                f"{name}: {counted(int(flat.sum()), 'sample')} cut off at {_levels(x[flat, j])}, "
                f"from row {rows[flat][0]} on; not used"
            )
        usable[:, j] &= ~spiked & ~flat
    return x, usable


def _missing_text(name: str, rows: np.ndarray, known: np.ndarray) -> str:
    if not known.any():
        return f"{name}: there is no number in the whole log; not used"
    return f"{name}: no number in {rows_text(rows[~known])}; not used"


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
    if not least or not high.any() or high.mean() > MOST_SPIKES:
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
    step = np.unique(np.abs(np.diff(np.unique(x[known]))))
    if not len(step):
        return found
    repeats = np.concatenate([[False], (np.diff(x) == 0)])
    repeats = (repeats | np.concatenate([repeats[1:], [False]])) & known & moving
    extremes = [level for level in (x[known].max(), x[known].min()) if level]
    at_extremes = repeats & np.isin(x, extremes)
    quantum = max(float(step[0]), 1e-3 * float(np.ptp(x[known])))
    for level in extremes:
        top = known & moving & (x == level)
        flat = np.zeros(len(x), bool)
        for start, stop in runs(top):
            flat[start:stop] = stop - start >= FLAT
        below = known & (np.abs(x - level) <= (QUANTA + 0.5) * quantum) & (x != level)
        if flat.sum() >= FLAT_COUNT and flat.sum() > QUANTA * below.sum():
            found |= flat
    if (repeats & ~at_extremes).sum() > 0.5 * found.sum():
        return np.zeros(len(x), bool)
    return found


def moving(q: np.ndarray) -> np.ndarray:
    """(samples,) bool: whether any joint moves just there."""
    steps = (np.diff(q, axis=0) != 0).any(1)
    there = np.concatenate([steps, [False]]) | np.concatenate([[False], steps])
    return np.asarray(maximum_filter1d(there.astype(int), 3) > 0)
