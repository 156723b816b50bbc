"""What estimates are worth: standard errors that know how alike neighbouring residuals are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from armdyn.identification.estimation.methods import Estimate

_SIGNIFICANT = 3.0  # standard deviations of the autocorrelation of white noise
_LAGS = 0.1  # of a stretch: the longest lag


def repetition(residuals: Sequence[np.ndarray], use: Sequence[np.ndarray]) -> np.ndarray:
    """(n,) how many samples say as much as one independent sample would: 1 for white noise.

    1 + 2 Σ ρ_k over the lags up to the first whose autocorrelation ρ_k is not clearly above zero. Samples
    that are not used count as zero.
    """
    n = residuals[0].shape[1]
    found = np.ones(n)
    for j in range(n):
        series = [np.where(u[:, j], r[:, j], 0.0) for r, u in zip(residuals, use, strict=True)]
        counts = sum(int(u[:, j].sum()) for u in use)
        power = sum(float(x @ x) for x in series)
        if counts < 16 or power == 0:
            continue
        clear = _SIGNIFICANT / np.sqrt(counts)
        rho = _products(series, max(2, int(_LAGS * max(len(x) for x in series)))) / power
        found[j] += 2 * rho[: np.argmax(np.append(rho, -np.inf) < clear)].sum()
    return found


def _products(series: Sequence[np.ndarray], lags: int) -> np.ndarray:
    """Σ x_i x_{i+k} for k = 1 … lags − 1, over all series; by Fourier transforms, since lags may be many."""
    found = np.zeros(lags)
    for x in series:
        size = next_fast_len(len(x) + min(lags, len(x)), real=True)
        some = min(lags, len(x))
        found[:some] += irfft(np.square(np.abs(rfft(x, size))), size)[:some]
    return found[1:]


def covariance(found: Estimate, repeats: np.ndarray) -> np.ndarray:
    """(p, p) of the estimates: Σ_j repeats_j noise_j² gain_j (Z_jᵀZ_j) gain_jᵀ."""
    parts = zip(found.gains, found.moments, found.noise, repeats, strict=True)
    return np.asarray(sum(r * s**2 * (G @ M @ G.T) for G, M, s, r in parts))
