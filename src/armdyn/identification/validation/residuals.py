"""Residuals of each joint, gathered piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.validation.comparison import Comparison
from armdyn.identification.validation.whiteness import LAGS, Whiteness, lagged_products


@dataclass(frozen=True)
class Instant:
    """Where a residual is greatest."""

    residual: float  # N m or N
    time: float  # s, of the log
    log: str


@dataclass(frozen=True)
class JointResiduals:
    """What a fit leaves unexplained at one joint."""

    samples: int
    rms: float  # N m or N
    torque_rms: float  # of the measured torque
    mean: float  # N m or N
    worst: Instant
    whiteness: Whiteness

    @property
    def relative(self) -> float:
        """The residual's part of the torque, by their root mean squares."""
        return self.rms / self.torque_rms if self.torque_rms else float("nan")


class Gathered:
    """Sums over pieces, from which the residuals of n joints follow."""

    def __init__(self, n: int) -> None:
        self.count = np.zeros(n)
        self.total = np.zeros(n)
        self.torques = np.zeros(n)  # squares
        self.products = np.zeros((LAGS + 1, n))
        self.pairs = np.zeros((LAGS + 1, n))
        self.worst = [Instant(0.0, 0.0, "")] * n

    def add(self, found: Comparison) -> None:
        residual, use, tau = found.residual, found.use, found.record.tau
        self.count += use.sum(0)
        self.total += np.where(use, residual, 0.0).sum(0)
        self.torques += np.square(np.where(use, tau, 0.0)).sum(0)
        for part in found.record.segments:
            products, pairs = lagged_products(residual[part], use[part])
            self.products += products
            self.pairs += pairs
        sizes = np.where(use, np.abs(residual), -1.0)
        for j, i in enumerate(sizes.argmax(0)):
            if sizes[i, j] > abs(self.worst[j].residual):
                self.worst[j] = Instant(float(residual[i, j]), float(found.record.t[i]), found.name)

    @property
    def error(self) -> float:
        """‖τ − τ̂‖/‖τ‖ over all joints."""
        size = self.torques.sum()
        return float(np.sqrt(self.products[0].sum() / size)) if size else float("nan")

    def joints(self) -> tuple[JointResiduals, ...]:
        found = []
        for j, count in enumerate(np.maximum(self.count, 1)):
            found.append(
                JointResiduals(
                    samples=int(self.count[j]),
                    rms=float(np.sqrt(self.products[0, j] / count)),
                    torque_rms=float(np.sqrt(self.torques[j] / count)),
                    mean=float(self.total[j] / count),
                    worst=self.worst[j],
                    whiteness=Whiteness.of(self.products[:, j], self.pairs[:, j]),
                )
            )
        return tuple(found)
