"""Least squares for a body of ten parameters among others that nobody asks for.

y = X e + Z η + noise, per channel (a joint, or an axis of a sensor), with X (samples, channels, 10). Channels
have noise of their own size, found from their residuals. The noise of a channel may be correlated in time:
standard errors count by how much. What the samples do not show is found by the size of standard errors, in
units of what bodies of the mass found have, and set to what a point mass has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armdyn.identification.estimation.worth import repetition
from armdyn.model.inertia import ENTRIES, steiner

PASSES = 4
RANK = 1e-10  # of the greatest singular value of the nuisance, columns of length one
ARM = 0.1  # m: the size of a payload, for what counts as shown
SHOWN = 0.5  # the largest standard error of what is shown, in units of mass, mass · ARM, mass · ARM²
UNITS = np.array([1.0] + [ARM] * 3 + [ARM**2] * 6)  # of the ten entries, per mass


@dataclass(frozen=True)
class Rows:
    """What some samples of a log say."""

    X: np.ndarray  # (samples, channels, 10)
    Z: np.ndarray  # (samples, channels, k)
    y: np.ndarray  # (samples, channels)
    usable: np.ndarray  # (samples, channels)


Block: TypeAlias = Callable[[], Rows]  # made when needed: a long log need not be in memory as rows


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


def estimate(blocks: Sequence[Block], origin: np.ndarray, basis: np.ndarray) -> Estimate:
    """Fit e = origin + basis θ to all blocks; `basis` (10, r) is the identity where nothing is known."""
    factors = _factors(blocks, origin, basis)
    channels, size = len(factors), basis.shape[1]
    weights, theta, eta = np.ones(channels), np.zeros(size), np.zeros(0)
    information = np.zeros((0, size))
    for _ in range(PASSES):
        whole = np.concatenate([w * F for w, (F, _) in zip(weights, factors, strict=True)])
        theta, eta, information = _solved(whole, size)
        weights = np.array([1 / _rms(F, count, theta, eta, size) for F, count in factors])
    weights = weights / np.sqrt(_repetition(blocks, origin + basis @ theta, eta))
    whole = np.concatenate([w * F for w, (F, _) in zip(weights, factors, strict=True)])
    theta, eta, information = _solved(whole, size)
    return _shown(blocks, origin, basis, theta, eta, information)


def _factors(blocks: Sequence[Block], origin: np.ndarray, basis: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """For each channel the triangular factor of [Z | X basis | y − X origin], and the number of its rows."""
    found: list[tuple[np.ndarray, int]] = []
    for block in blocks:
        rows = block()
        for c in range(rows.y.shape[1]):
            use = rows.usable[:, c]
            X = rows.X[use, c]
            new = np.column_stack([rows.Z[use, c], X @ basis, rows.y[use, c] - X @ origin])
            if len(found) <= c:
                found.append((np.zeros((0, new.shape[1])), 0))
            F, count = found[c]
            whole = np.concatenate([F, new])
            if len(whole) > whole.shape[1]:
                whole = np.asarray(np.linalg.qr(whole, mode="r"))
            found[c] = (whole, count + len(new))
    return found


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


def _repetition(blocks: Sequence[Block], entries: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """(channels,) how many samples count as one."""
    residuals, use = [], []
    for block in blocks:
        rows = block()
        residuals.append(rows.y - rows.X @ entries - rows.Z @ eta)
        use.append(rows.usable)
    return repetition(residuals, use)


def _sizes_left(
    blocks: Sequence[Block], entries: np.ndarray, eta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(channels,) RMS of what is left to explain, and of what there is to explain without the payload."""
    sums: list[np.ndarray] = []
    for block in blocks:
        rows = block()
        for c in range(rows.y.shape[1]):
            left, all_ = _residual(rows, c, entries, eta), rows.y[rows.usable[:, c], c]
            new = np.array([left @ left, all_ @ all_, len(left)])
            if len(sums) <= c:
                sums.append(np.zeros(3))
            sums[c] = sums[c] + new
    left, before, count = np.array(sums).T
    return np.sqrt(left / np.maximum(count, 1)), np.sqrt(before / np.maximum(count, 1))


def _shown(
    blocks: Sequence[Block],
    origin: np.ndarray,
    basis: np.ndarray,
    theta: np.ndarray,
    eta: np.ndarray,
    information: np.ndarray,
) -> Estimate:
    """The estimate with what is not shown left as a point mass has it."""
    mass = max(abs(float((origin + basis @ theta)[0])), 0.1)
    sizes = mass * UNITS
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
    entries = origin + basis @ theta
    residual, without = _sizes_left(blocks, entries, eta)
    return Estimate(
        entries,
        covariance,
        (values[shown, None] * kept.T / scale) @ np.linalg.pinv(basis),
        not_shown(covariance, mass),
        residual,
        without,
        eta,
    )


def not_shown(covariance: np.ndarray, mass: float) -> tuple[str, ...]:
    """The entries of a body of this mass whose standard errors are too large to say anything."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return tuple(
        name for name, error, unit in zip(ENTRIES, errors, UNITS, strict=True) if error > SHOWN * mass * unit
    )


def _point(entries: np.ndarray) -> np.ndarray:
    """What stands for what is not shown: no first moment, and the tensor of a point with those found."""
    m, x, y, z = (float(v) for v in entries[:4])
    tensor = steiner(1 / m, (x, y, z)) if abs(m) > 1e-9 else (0.0,) * 6
    return np.array([m, 0.0, 0.0, 0.0, *tensor])
