"""What estimates are worth: standard errors that know how alike neighbouring residuals are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from armdyn.identification.estimation.methods import Estimate

_SIGNIFICANT = 3.0  # standard deviations of the autocorrelation of white noise
_LAGS = 0.1  # of a stretch: the longest lag
_LEFT = 0.25  # of the slow noise: residuals keep at least this much


def repetition(residuals: Sequence[np.ndarray], use: Sequence[np.ndarray], parameters: int = 0) -> np.ndarray:
    """(n,) how many samples say as much as one independent sample would: 1 for white noise.

    1 + 2 Σ ρ_k over the lags up to the first whose autocorrelation ρ_k is not clearly above zero, and what a
    decay at the same rate adds beyond it. Samples that are not used count as zero. Estimates of `parameters`
    follow slow noise, which residuals then lack: of L lags, each is too small by about (2 L + 1) times the
    joint's share of the parameters per sample.
    """
    n = residuals[0].shape[1]
    found = np.ones(n)
    for j in range(n):
        series = [np.where(u[:, j], r[:, j], 0.0) for r, u in zip(residuals, use, strict=True)]
        count = sum(int(u[:, j].sum()) for u in use)
        rho = _correlation(series, count)
        if len(rho):
            decay = rho[-1] ** (1 / len(rho))
            tail = rho[-1] * decay / (1 - decay) if decay < 1 else 0.0
            lost = (2 * len(rho) + 1) * parameters / n / count
            found[j] = (1 + 2 * (rho.sum() + tail)) / max(1 - lost, _LEFT)
    return found


def _correlation(series: Sequence[np.ndarray], count: int) -> np.ndarray:
    """ρ_1, ρ_2, … as long as they are clearly above zero."""
    power = sum(float(x @ x) for x in series)
    if count < 16 or power == 0:
        return np.zeros(0)
    clear = _SIGNIFICANT / np.sqrt(count)
    rho = _products(series, max(2, int(_LAGS * max(len(x) for x in series)))) / power
    return np.asarray(rho[: np.argmax(np.append(rho, -np.inf) < clear)])


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
