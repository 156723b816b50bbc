"""Low-pass filters without delay, and derivatives, on even grids."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt

from armdyn.identification.errors import IdentificationError

ORDER = 4  # of the Butterworth filter, which runs forth and back: at the cut-off it halves the amplitude
_LEAST = 1e-6  # of the rate: filters with a lower cut-off are only rounding
_SETTLES = 9  # the signal is continued by this many 1/cut-off beyond each end, turned about it

# Differences of fourth order at the first two instants; those at the last two mirror them.
_FIRST = np.array([[-25, 48, -36, 16, -3], [-3, -10, 18, -6, 1]]) / 12


def low_pass(x: np.ndarray, cutoff: float | None, rate: float) -> np.ndarray:
    """x (K, …) through a Butterworth low-pass with this cut-off [Hz], forth and back along the first axis.

    None, and a cut-off that is not below half the rate, leave x as it is.
    """
    if cutoff is None or 2 * cutoff >= 0.99 * rate:
        return x
    if cutoff < _LEAST * rate:
        raise IdentificationError(
            f"cutoff: found {cutoff:g} Hz; {_LEAST * rate:g} Hz or more is allowed at {rate:g} samples per s"
        )
    flat = x.reshape(len(x), -1)
    sections = butter(ORDER, cutoff, fs=rate, output="sos")
    padding = min(len(x) - 1, int(np.ceil(_SETTLES * rate / cutoff)))
    return np.asarray(sosfiltfilt(sections, flat, axis=0, padlen=padding)).reshape(x.shape)


def derivative(x: np.ndarray, rate: float) -> np.ndarray:
    """dx/dt (K, …) by differences of fourth order; of second order for fewer than six instants."""
    if len(x) < 6:
        return np.asarray(np.gradient(x, 1 / rate, axis=0, edge_order=2))
    found = np.empty_like(x)
    found[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / 12
    for k in (0, 1):
        found[k] = np.tensordot(_FIRST[k], x[:5], 1)
        found[-1 - k] = -np.tensordot(_FIRST[k], x[-1:-6:-1], 1)
    return found * rate
