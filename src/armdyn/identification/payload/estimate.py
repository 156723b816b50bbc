"""Least squares for a body of ten parameters among others that nobody asks for.

y = X e + Z η + noise, per channel (a joint, or an axis of a sensor), with X (samples, channels, 10). Channels
have noise of their own size, found from their residuals. The noise of a channel may be correlated in time:
standard errors count by how much. What the samples do not show is found by the size of standard errors, in
units of what bodies of the mass found have, and set to what a point mass has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.model.inertia import ENTRIES, steiner

PASSES = 4
RANK = 1e-10  # of the greatest singular value of the nuisance, columns of length one
ARM = 0.1  # m: the size of a payload, for what counts as shown
SHOWN = 0.5  # the largest standard error of what is shown, in units of mass, mass · ARM, mass · ARM²


@dataclass(frozen=True)
class Rows:
    """What one log says."""

    X: np.ndarray  # (samples, channels, 10)
    Z: np.ndarray  # (samples, channels, k)
    y: np.ndarray  # (samples, channels)
    usable: np.ndarray  # (samples, channels)


@dataclass(frozen=True)
class Estimate:
    """The ten parameters about the frame's origin, their covariance, and what is behind them."""

    entries: np.ndarray  # (10,)
    covariance: np.ndarray  # (10, 10)
    information: np.ndarray  # (r, 10): of what is shown, its square is the inverse covariance
    not_shown: tuple[str, ...]  # of ENTRIES
    residual: np.ndarray  # (channels,) RMS
    without: np.ndarray  # (channels,) RMS without the payload
    others: np.ndarray  # (k,)


def estimate(logs: Sequence[Rows], origin: np.ndarray, basis: np.ndarray) -> Estimate:
    """Fit e = origin + basis θ; `basis` (10, r) is the identity where nothing is known."""
    channels = logs[0].y.shape[1]
    factors = [_factor([_channel(rows, c, origin, basis) for rows in logs]) for c in range(channels)]
    weights, theta, eta = np.ones(channels), np.zeros(basis.shape[1]), np.zeros(0)
    size = basis.shape[1]
    information = np.zeros((0, size))
    for _ in range(PASSES):
        whole = np.concatenate([w * F for w, (F, _) in zip(weights, factors, strict=True)])
        theta, eta, information = _solved(whole, size)
        weights = np.array([1 / _rms(F, count, theta, eta, size) for F, count in factors])
    stretch = [_correlation(logs, c, origin + basis @ theta, eta) for c in range(channels)]
    weights = weights / np.sqrt(stretch)
    whole = np.concatenate([w * F for w, (F, _) in zip(weights, factors, strict=True)])
    theta, eta, information = _solved(whole, size)
    return _shown(logs, origin, basis, theta, eta, information)


def _channel(rows: Rows, c: int, origin: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """[Z | X basis | y − X origin] of the samples of a channel that may enter."""
    use = rows.usable[:, c]
    X = rows.X[use, c]
    return np.column_stack([rows.Z[use, c], X @ basis, rows.y[use, c] - X @ origin])


def _factor(parts: list[np.ndarray]) -> tuple[np.ndarray, int]:
    """The triangular factor of rows, and their number."""
    whole = np.concatenate(parts)
    count = len(whole)
    return (np.asarray(np.linalg.qr(whole, mode="r")) if count > whole.shape[1] else whole), count


def _solved(whole: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ, the least η beside it, and the rows that say something about θ whatever η is."""
    Z, X, y = whole[:, : -size - 1], whole[:, -size - 1 : -1], whole[:, -1]
    lengths = np.linalg.norm(Z, axis=0)
    scaled = Z / np.where(lengths > 0, lengths, 1.0)
    U, values, Vt = np.linalg.svd(scaled, full_matrices=False)
    rank = int((values > RANK * values.max(initial=0.0)).sum()) if values.size else 0
    U, values, Vt = U[:, :rank], values[:rank], Vt[:rank]
    rest, left = X - U @ (U.T @ X), y - U @ (U.T @ y)
    information = np.asarray(np.linalg.qr(rest, mode="r"))
    theta = np.linalg.lstsq(rest, left, rcond=RANK)[0]
    eta = Vt.T @ ((U.T @ (y - X @ theta)) / values) / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(theta), np.asarray(eta), information


def _rms(F: np.ndarray, count: int, theta: np.ndarray, eta: np.ndarray, size: int) -> float:
    residual = F[:, -1] - F[:, -size - 1 : -1] @ theta - F[:, : -size - 1] @ eta
    return max(
        float(np.sqrt(np.square(residual).sum() / max(count, 1))),
        1e-12 * (1 + float(np.abs(F).max(initial=0.0))),
    )


def _residual(rows: Rows, c: int, entries: np.ndarray, eta: np.ndarray) -> np.ndarray:
    use = rows.usable[:, c]
    return np.asarray(rows.y[use, c] - rows.X[use, c] @ entries - rows.Z[use, c] @ eta)


def _correlation(logs: Sequence[Rows], c: int, entries: np.ndarray, eta: np.ndarray) -> float:
    """How many samples count as one: 1 + 2 Σ ρ_k up to the first ρ_k that is not positive."""
    total, weight = 0.0, 0
    for rows in logs:
        r = _residual(rows, c, entries, eta)
        if len(r) < 2 or not r.any():
            continue
        spectrum = np.fft.rfft(r, 2 * len(r))
        rho = np.fft.irfft(np.abs(spectrum) ** 2)[: len(r)]
        rho = rho / rho[0]
        end = int(np.argmax(rho <= 0.05)) or len(rho)
        total += (1 + 2 * float(rho[1:end].sum())) * len(r)
        weight += len(r)
    return max(total / weight, 1.0) if weight else 1.0


def _shown(
    logs: Sequence[Rows],
    origin: np.ndarray,
    basis: np.ndarray,
    theta: np.ndarray,
    eta: np.ndarray,
    information: np.ndarray,
) -> Estimate:
    """The estimate with what is not shown left as a point mass has it."""
    mass = max(abs(float((origin + basis @ theta)[0])), 0.1)
    sizes = mass * np.array([1.0] + [ARM] * 3 + [ARM**2] * 6)
    scale = np.maximum(np.abs(basis.T @ sizes), 1e-12)  # of θ, which is entries of e or their multiples
    values, axes = np.linalg.svd(information * scale)[1:]
    values = np.concatenate([values, np.zeros(len(axes) - len(values))])
    shown = values * SHOWN > 1.0
    hidden = axes[~shown].T
    theta = theta.copy()
    for _ in range(10):  # the moments of a point mass depend on the mass and the centre found
        entries = origin + basis @ theta
        wanted = np.linalg.lstsq(basis, _point(entries) - origin, rcond=None)[0]
        theta = theta + scale * (hidden @ (hidden.T @ ((wanted - theta) / scale)))
    kept = axes[shown].T
    # what is not shown may be off by as much as bodies of this mass differ: one unit
    spread = basis @ (scale[:, None] * np.column_stack([kept / values[shown], hidden]))
    covariance = spread @ spread.T
    unseen = np.sqrt(np.diag(covariance)) > SHOWN * sizes
    entries = origin + basis @ theta
    channels = range(logs[0].y.shape[1])

    def rms(e: np.ndarray, eta: np.ndarray) -> np.ndarray:
        parts = [np.concatenate([_residual(rows, c, e, eta) for rows in logs]) for c in channels]
        return np.array([np.sqrt(np.square(r).mean()) if r.size else 0.0 for r in parts])

    return Estimate(
        entries,
        covariance,
        (values[shown, None] * kept.T / scale) @ np.linalg.pinv(basis),
        tuple(name for name, is_hidden in zip(ENTRIES, unseen, strict=True) if is_hidden),
        rms(entries, eta),
        rms(np.zeros(len(entries)), 0 * eta),
        eta,
    )


def _point(entries: np.ndarray) -> np.ndarray:
    """What stands for what is not shown: no first moment, and the tensor of a point with those found."""
    m, x, y, z = (float(v) for v in entries[:4])
    tensor = steiner(1 / m, (x, y, z)) if abs(m) > 1e-9 else (0.0,) * 6
    return np.array([m, 0.0, 0.0, 0.0, *tensor])
