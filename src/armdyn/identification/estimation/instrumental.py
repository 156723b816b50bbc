"""Instrumental variables: estimates that noise in the positions does not pull toward zero.

Least squares solves YᵀY π = Yᵀτ. Noise in Y makes YᵀY too large, so that estimates come out too small. With
instruments Z that follow the true motion but not its noise, ZᵀY π = Zᵀτ has no such error.

Instruments that are given (`instruments=`) are noise-free motions at the samples of the logs: the motion of
the model, simulated under the robot's controller and references (Janot, Vandanjon and Gautier, 2014), or the
references themselves. A log does not hold controller and references. Without them, each sample of the
positions serves one side only: Y₁ from every other sample, Y₂ from those between, both seen through the same
filter. White noise of the one is independent of that of the other, so that each is the other's instrument:
(Y₁ᵀY₂ + Y₂ᵀY₁) π = (Y₁ + Y₂)ᵀ τ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Piece, Source
from armdyn.identification.regression.problem import Problem
from armdyn.identification.regression.solve import RANK
from armdyn.identification.regression.states import Motion, States, states
from armdyn.identification.signals.filters import derivative, low_pass
from armdyn.identification.signals.kinematics import Kinematics, at_rest, on_grid
from armdyn.identification.signals.stretch import Stretch
from armdyn.robot import Robot

WIDER = 3.0  # times the cut-off of least squares: noise costs variance here and no bias, smoothing bias
LEAST = 0.1  # of a direction's moment: if noise is more than the rest, instruments are too weak for it


@dataclass(frozen=True)
class Moments:
    """Of each joint's rows: ZᵀY (p, p), Zᵀτ (p,) and ZᵀZ (p, p)."""

    ZY: np.ndarray  # (n, p, p)
    Ztau: np.ndarray  # (n, p)
    ZZ: np.ndarray  # (n, p, p)

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.ZY + other.ZY, self.Ztau + other.Ztau, self.ZZ + other.ZZ)


@dataclass(frozen=True)
class Half:
    """The motion from every other sample of the grid, from `first` on, at all instants of the grid."""

    first: int

    def __call__(self, record: Record, stretch: Stretch, cutoff: float | None) -> Kinematics:
        if cutoff is None or len(stretch.grid) < 16:
            return on_grid(record, stretch, cutoff)
        q = low_pass(self._half(stretch, record.q), cutoff, stretch.rate)
        if record.qd is None:
            qd = derivative(q, stretch.rate)
        else:
            qd = low_pass(self._half(stretch, record.qd), cutoff, stretch.rate)
        return at_rest(stretch.gridded(record.q), Kinematics(q, qd, derivative(qd, stretch.rate)))

    def _half(self, stretch: Stretch, x: np.ndarray) -> np.ndarray:
        some = slice(self.first, None, 2)
        return np.asarray(CubicSpline(stretch.grid[some], stretch.gridded(x)[some])(stretch.grid))


@dataclass(frozen=True)
class Given:
    """The motion of the instruments (N, n) that belong to the log of a record."""

    log: Log

    def __call__(self, record: Record, stretch: Stretch, cutoff: float | None) -> Kinematics:
        def rows(x: np.ndarray | None) -> np.ndarray | None:
            return None if x is None else x[record.rows]

        assert self.log.q is not None
        own = replace(record, q=self.log.q[record.rows], qd=rows(self.log.qd), qdd=rows(self.log.qdd))
        return on_grid(own, stretch, cutoff)


@dataclass(frozen=True)
class Crossing:
    """The moments of a piece; picklable."""

    problem: Problem
    given: Given | None

    def __call__(self, piece: Piece) -> Moments | None:
        found: Moments | None = None
        for rows in self._rows(piece):
            some = self._moments(*rows)
            found = some if found is None else found + some
        return found

    def _rows(self, piece: Piece) -> Iterator[tuple[np.ndarray, np.ndarray, States]]:
        first: Motion = Half(0) if self.given is None else on_grid
        second: Motion = Half(1) if self.given is None else self.given
        record, samples, cutoff = piece.record, piece.samples, self.problem.cutoff
        one = states(record, samples, cutoff, allowed=piece.allowed, motion=first)
        two = states(record, samples, cutoff, allowed=piece.allowed, motion=second)
        for a, b in zip(one, two, strict=True):
            pairs = zip(self.problem.regressors(a), self.problem.regressors(b), strict=True)
            for (Y, some), (Z, _) in pairs:
                yield Y, Z, some

    def _moments(self, Y: np.ndarray, Z: np.ndarray, some: States) -> Moments:
        ZY, Ztau, ZZ = [], [], []
        for j in range(some.tau.shape[1]):
            at = some.use[:, j]
            y, z, tau = Y[at, j], Z[at, j], some.tau[at, j]
            crossed = z.T @ y
            if self.given is None:
                crossed, z = (crossed + crossed.T) / 2, (y + z) / 2
            ZY.append(crossed)
            Ztau.append(z.T @ tau)
            ZZ.append(z.T @ z)
        return Moments(np.array(ZY), np.array(Ztau), np.array(ZZ))


@dataclass(frozen=True)
class Instrumental:
    """Estimates x (p,), and the gain (p, p) by which noise gives gain Σ_j Z_jᵀ e_j / scale_j²."""

    x: np.ndarray
    gain: np.ndarray
    moments: Moments
    weak: int  # directions in which noise outweighs what the instruments show


def with_instruments(
    robot: Robot,
    logs: Sequence[Source],
    problem: Problem,
    given: Sequence[Given] | None,
    factors: Factors,
    scale: np.ndarray,
    free: np.ndarray,
) -> Instrumental:
    """Rows divided by the joints' `scale` (n,); directions that least squares does not show stay as known."""
    found = []
    for i, log in enumerate(logs):
        work = Crossing(problem, given[i] if given else None)
        found += [x for piece in log.pieces(robot, problem.cutoff) if (x := work(piece)) is not None]
    moments, prior = sum(found[1:], found[0]), problem.template.prior
    by = 1 / np.square(scale)
    ZY, Ztau = np.tensordot(by, moments.ZY, 1), by @ moments.Ztau
    basis = _basis(factors.weighted(scale)[:, : len(prior)], free)
    inner = basis.T @ ZY @ basis  # the unit matrix, were there no noise
    inverse, weak = _inverse(inner)
    gain = basis @ inverse @ basis.T
    return Instrumental(prior + gain @ (Ztau - ZY @ prior), gain, moments, weak)


def _basis(A: np.ndarray, free: np.ndarray) -> np.ndarray:
    """(p, r): what A determines, each direction of a size that A makes 1."""
    lengths = np.sqrt(np.square(A[:, free]).sum(0))
    D = np.where(lengths > 0, lengths, 1.0)
    _, s, Vt = np.linalg.svd(A[:, free] / D, full_matrices=False)
    kept = s > max(RANK * s.max(initial=0.0), 1e-300)
    found = np.zeros((len(free), int(kept.sum())))
    found[free] = (Vt[kept] / s[kept, None]).T / D[:, None]
    return found


def _inverse(inner: np.ndarray) -> tuple[np.ndarray, int]:
    """Of what should be nearly the unit matrix; directions with less than `LEAST` left count as `LEAST`."""
    U, s, Vt = np.linalg.svd(inner)
    # A symmetric matrix has −s where an eigenvalue is negative: noise is then more than all there is.
    signs = np.where(np.einsum("ij,ji->i", Vt, U) < 0, -1.0, 1.0)
    weak = (signs * s) < LEAST
    U = U * np.where(weak, signs, 1.0)
    return (Vt.T / np.where(weak, LEAST, s)) @ U.T, int(weak.sum())


def check_instruments(instruments: Any, logs: Sequence[Source]) -> list[Given] | None:
    """One log of noise-free motion for each log, at the same instants."""
    if instruments is None:
        return None
    found = [instruments] if isinstance(instruments, Log) else instruments
    if not isinstance(found, Sequence) or len(found) != len(logs):
        raise IdentificationError(f"instruments: expected {len(logs)}, one Log for each log")
    for k, (motion, source) in enumerate(zip(found, logs, strict=True)):
        if not isinstance(source.log, Log):
            raise IdentificationError("instruments: possible for logs in memory; read the file with Log.load")
        if not isinstance(motion, Log) or motion.q is None:
            raise IdentificationError(f"instruments: expected a Log with q, found {type(motion).__name__}")
        same = motion.q.shape == (len(source.log), source.log.n)
        if not same or not np.allclose(motion.t, source.log.t, rtol=0, atol=1e-6):
            raise IdentificationError(f"instruments: number {k + 1} is not at the instants of its log")
        for name in ("q", "qd", "qdd"):
            x = getattr(motion, name)
            if x is not None and not np.isfinite(x).all():
                raise IdentificationError(f"instruments: number {k + 1}: {name} has NaN or infinity")
    return [Given(motion) for motion in found]
