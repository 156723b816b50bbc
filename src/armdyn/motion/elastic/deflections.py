"""The deflection δ = θ − q of a damped transmission: D δ̇ + K δ = N along a motion of the links.

This first-order equation is stable, and its solution follows N after a few times D/K. Over one interval N is
taken as the quintic through values and two derivatives at both ends; of that the solution is exact, for any
D/K.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss

_ENDS = (  # the quintics on [0, 1] with one of: value, slope, second derivative at 0, the same at 1
    Polynomial([1, 0, 0, -10, 15, -6]),
    Polynomial([0, 1, 0, -6, 8, -3]),
    Polynomial([0, 0, 0.5, -1.5, 1.5, -0.5]),
    Polynomial([0, 0, 0, 10, -15, 6]),
    Polynomial([0, 0, 0, -4, 7, -3]),
    Polynomial([0, 0, 0, 0.5, -1, 0.5]),
)
_SLOW = 4.0  # of an interval over D/K: beyond it, the solution that has forgotten its start is computed
_PLACES, _WEIGHTS = leggauss(12)


def instants(duration: float, knots: np.ndarray, step: float, times: np.ndarray) -> np.ndarray:
    """Where the deflection is computed: every `step`, at knots, and closely after these for short D/K."""
    count = int(np.ceil(duration / step))
    breaks = np.concatenate([[0.0], knots])
    found = [np.linspace(0.0, duration, count + 1), knots]
    for time in times[times < 4 * step]:
        after = np.arange(1, 121) * (time / 4)
        found.append((breaks[:, None] + after[after < step]).ravel())
    every = np.unique(np.concatenate(found))
    every = every[every <= duration]
    apart = np.append(np.diff(every) > 1e-12 * duration, True)
    return np.asarray(every[apart | np.isin(every, breaks)])


def follow(t: np.ndarray, time: float, first: list[np.ndarray], last: list[np.ndarray]) -> np.ndarray:
    """δ (m + 1,) at instants t of time·δ̇ + δ = N/K, at rest in the beginning: δ̇ = 0.

    `first` are value, slope and second derivative of N/K (m,) where the m intervals begin, `last` those where
    they end.
    """
    h = np.diff(t)
    gained = np.zeros(len(h))
    powers = [h**0, h, h * h]
    for weight, x, power in zip(_weights(h / time), [*first, *last], powers * 2, strict=True):
        gained += weight * power * x
    decay = np.exp(-h / time)
    found = np.empty(len(t))
    found[0] = first[0][0]
    for i in range(len(h)):
        found[i + 1] = decay[i] * found[i] + gained[i]
    return found


def _weights(z: np.ndarray) -> list[np.ndarray]:
    """z ∫ e^(−z (1 − u)) H(u) du over [0, 1] for the six quintics H."""
    found = []
    u = (1 + _PLACES) / 2
    fading = z[:, None] * np.exp(-z[:, None] * (1 - u)) * _WEIGHTS / 2
    slow = np.maximum(z, _SLOW)
    for quintic in _ENDS:
        # p − e^(−z) p(0) with p + p'/z = H.
        exact = sum((-1 / slow) ** k * (_at(quintic, k, 1)) for k in range(6))
        start = sum((-1 / slow) ** k * (_at(quintic, k, 0)) for k in range(6))
        found.append(np.where(z < _SLOW, fading @ quintic(u), exact - np.exp(-slow) * start))
    return found


def _at(p: Polynomial, order: int, u: float) -> float:
    """A derivative of a polynomial."""
    return float((p.deriv(order) if order else p)(u))
