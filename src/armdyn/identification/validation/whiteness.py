"""Are residuals white noise? Their autocorrelation, and the test of Ljung and Box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

LAGS = 20
_LEVEL = 0.01  # a smaller probability says that residuals are not white
_SLIGHT = 0.1  # autocorrelations up to this say little, however sure they are


def lagged_products(residual: np.ndarray, use: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ r_i r_{i+k} over pairs that are both used, and how many, for k = 0 … LAGS: (LAGS + 1, n) each."""
    r = np.where(use, residual, 0.0)
    products = np.zeros((LAGS + 1, r.shape[1]))
    pairs = np.zeros_like(products)
    for k in range(min(LAGS + 1, len(r))):
        products[k] = np.einsum("ij,ij->j", r[: len(r) - k], r[k:])
        pairs[k] = (use[: len(r) - k] & use[k:]).sum(0)
    return products, pairs


@dataclass(frozen=True)
class Whiteness:
    """Of one joint's residuals. `correlations` (LAGS,) are those of samples 1, 2, … apart."""

    correlations: np.ndarray
    statistic: float  # of Ljung and Box, Q = N(N + 2) Σ ρ_k²/(N − k)
    probability: float  # of a Q at least this large if the residuals were white

    @staticmethod
    def of(products: np.ndarray, pairs: np.ndarray) -> Whiteness:
        """From lagged products and pairs, (LAGS + 1,) each."""
        N = float(pairs[0])
        if N == 0 or products[0] <= 0:
            return Whiteness(np.zeros(LAGS), 0.0, 1.0)
        known = pairs[1:] > 0
        rho = np.where(known, products[1:] / np.maximum(pairs[1:], 1) / (products[0] / N), 0.0)
        Q = (N + 2) * float(np.sum(np.where(known, rho**2 * pairs[1:] / N, 0.0)))
        return Whiteness(rho, Q, float(chi2.sf(Q, max(int(known.sum()), 1))))

    @property
    def verdict(self) -> str:
        """ "white", "nearly white" (clearly not, but hardly) or "not white"."""
        if self.probability >= _LEVEL:
            return "white"
        return "nearly white" if float(np.abs(self.correlations).max()) < _SLIGHT else "not white"
