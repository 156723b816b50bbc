"""How far from predictions measured torques lie: residuals by speed, and how much estimates can be trusted.

The half width h of an interval has two parts, h² = r² + z² v.

r is what residuals of the training data were at this speed of the joint: noise, and friction that the
model has not. Near zero speed it is no less than the friction that holds a joint at rest; where a joint turns
back, or starts and stops, no less than a part of it, for the filter hides how long the joint stood.

v is the variance that comes with the parameters, as the row y of the regressor sees it. White noise leaves
y (AᵀA)⁻¹ yᵀ, were the model right; A are the weighted rows of the training data. Where it is not, or noise is
slow, estimates depend on the motion that they were made from: data of high speeds say another friction than
data of low ones. So the training data are halved in many ways, by time, direction, speed, torque, position
and acceleration of the joint, and by pairs of these; d is half the difference between the estimates of both
halves, as far as it is linear. Were all noise, d would have the covariance of the estimates. What a model
lacks shows in some of the ways: v is ten times the mean of (y d)², and no less than white noise leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from armdyn.identification.log import Record
from armdyn.identification.methods import tukey
from armdyn.identification.regression import Problem
from armdyn.identification.signals import Kinematics, States, kinematics, low_pass
from armdyn.model.friction import TERMS, Sliding

_GREATEST = 0.999  # the share of samples that stay below what is called the greatest speed
_EDGES = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5])  # of a joint's greatest speed: between classes
_CENTRES = np.array([0.0, 0.015, 0.035, 0.075, 0.15, 0.35, 0.75])
_ENOUGH = 50  # residuals of a class that say how they are distributed
_LEVELS = np.array([0.3, 0.5, 0.68, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995])
_ROWS = 4_000  # states whose regressor is in memory at a time
_SIDES = 6  # time, direction, speed, torque, acceleration, position
_RESTS = 0.02  # of the greatest speed: so slow a joint seems behind the filter that has come to rest
_HOLDS = 1.25  # times the friction next to zero speed: what may hold a joint that has come to rest
_SMEARS = 0.6  # 1/cut-off before and after an instant of rest in which the filter hides how long it was
_STRETCHES = 8  # of time, which belong to its two halves in turn


@dataclass(frozen=True)
class Prediction:
    """Torques (samples, n) at the samples of a log, and how far measured ones may lie from them."""

    tau: np.ndarray  # N m or N
    half: np.ndarray  # (samples, n) half widths; infinite where the data of the fit show nothing of a torque
    level: float  # the share of measured torques that the intervals should have inside

    @property
    def lower(self) -> np.ndarray:
        """(samples, n)"""
        return np.asarray(self.tau - self.half)

    @property
    def upper(self) -> np.ndarray:
        """(samples, n)"""
        return np.asarray(self.tau + self.half)

    def __repr__(self) -> str:
        rows, n = self.tau.shape
        return f"<Prediction of {rows} samples of {n} joints, {100 * self.level:g} % intervals>"


def normal_quantile(level: float) -> float:
    """z: the share of normal noise within ±z standard deviations is `level`."""
    return float(norm.ppf((1 + level) / 2))


@dataclass(frozen=True)
class Scatter:
    """How measured torques scattered about predictions in training, and estimates between halves of it."""

    residuals: np.ndarray  # (levels, classes, n) bounds of this share of residuals, by speed [N m or N]
    greatest: np.ndarray  # (n,) the speeds that classes are shares of [rad/s or m/s]
    halves: np.ndarray  # (p, k) half the difference that each way to halve the data makes to the estimates

    @staticmethod
    def of(
        records: Sequence[Record],
        problem: Problem,
        x: np.ndarray,
        scale: np.ndarray,
        basis: np.ndarray,
        robust: bool = False,
    ) -> Scatter:
        """Of the records that parameters x (p,) were found from.

        `scale` (n,) are the joints' scales of that fit, `basis` is `basis_of` its weighted rows.
        """
        speeds, sizes = [], []
        for record in records:
            use = record.usable & record.own[:, None]
            if use.any():
                found = np.abs(record.tau - problem.torques(record, x))
                sizes.append(np.where(use, found, np.nan))
                speeds.append(np.abs(kinematics(record, problem.cutoff).qd))
        parts = [part for record in records for part in problem.states(record)]
        every, greatest = np.concatenate(speeds), np.quantile(np.concatenate(speeds), _GREATEST, axis=0)
        residuals = _by_speed(every, np.concatenate(sizes), greatest)
        return Scatter(residuals, greatest, _halves(parts, problem, x, scale, basis, robust))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of levels and classes that residuals are kept of."""
        return len(_LEVELS), len(_CENTRES)

    def bounds(self, level: float, speeds: np.ndarray) -> np.ndarray:
        """(M, n) within which residuals at these speeds (M, n) were with this probability."""
        z, known = normal_quantile(level), norm.ppf((1 + np.append(0.0, _LEVELS)) / 2)
        table = np.concatenate([np.zeros_like(self.residuals[:1]), self.residuals])
        k = min(int(np.searchsorted(known, z)), len(_LEVELS))
        at = table[k - 1] + (z - known[k - 1]) / (known[k] - known[k - 1]) * (table[k] - table[k - 1])
        found = np.empty(speeds.shape)
        for j, greatest in enumerate(self.greatest):
            relative = np.abs(speeds[:, j]) / greatest if greatest else np.zeros(len(speeds))
            found[:, j] = np.interp(relative, _CENTRES, at[:, j])
        return found


def _by_speed(speeds: np.ndarray, sizes: np.ndarray, greatest: np.ndarray) -> np.ndarray:
    """(levels, classes, n) bounds of residuals; classes of few take what is between their neighbours."""
    n, classes = len(greatest), len(_CENTRES)
    found = np.zeros((len(_LEVELS), classes, n))
    for j in range(n):
        known = ~np.isnan(sizes[:, j])
        own, relative = sizes[known, j], speeds[known, j] / (greatest[j] or 1.0)
        if not len(own):
            continue
        at = np.digitize(relative, _EDGES)
        enough = [k for k in range(classes) if (at == k).sum() >= _ENOUGH]
        each = [np.quantile(own[at == k], _LEVELS) for k in enough] or [np.quantile(own, _LEVELS)]
        for level in range(len(_LEVELS)):
            values = [x[level] for x in each]
            found[level, :, j] = np.interp(np.arange(classes), enough or [0], values)
    return found


def _halves(
    parts: Sequence[States],
    problem: Problem,
    x: np.ndarray,
    scale: np.ndarray,
    basis: np.ndarray,
    robust: bool,
) -> np.ndarray:
    """(p, k) what each way to halve the data changes of the estimates.

    Least squares makes Aᵀr zero, A the weighted rows and r their residuals. A half with A₁ᵀr₁ = g alone would
    have estimates that differ by about 2 (AᵀA)⁻¹ g; the other half has −g.
    """
    rows = [(part, _residuals(part, problem, x, scale, robust)) for part in parts]
    tau = np.concatenate([part.tau for part in parts])
    middle = [np.median(np.abs(y), axis=0) for y in (_joined(parts, "qd"), tau, _joined(parts, "qdd"))]
    position = np.median(_joined(parts, "q"), axis=0)
    count = len(tau)
    scores = np.zeros((2**_SIDES, len(x)))
    start = 0
    for part, weighted in rows:
        motion = part.motion
        time = (start + np.arange(len(part))) * _STRETCHES // count % 2
        start += len(part)
        sides = (
            np.repeat(time[:, None] == 1, tau.shape[1], axis=1),
            motion.qd > 0,
            np.abs(motion.qd) > middle[0],
            np.abs(part.tau) > middle[1],
            np.abs(motion.qdd) > middle[2],
            motion.q > position,
        )
        cell = sum(side.astype(int) << k for k, side in enumerate(sides))
        for first in range(0, len(part), _ROWS):
            at = slice(first, first + _ROWS)
            Y = problem(motion.at(at))
            for j in range(tau.shape[1]):
                own = (cell[at, j] == np.arange(2**_SIDES)[:, None]) * weighted[at, j]
                scores += own @ Y[:, j]
    signs = 2 * (np.arange(2**_SIDES)[:, None] >> np.arange(_SIDES) & 1) - 1
    ways = [signs[:, k] for k in range(_SIDES)]
    ways += [signs[:, i] * signs[:, k] for i, k in combinations(range(_SIDES), 2)]
    return np.asarray(basis @ (basis.T @ (scores.T @ np.array(ways).T)))


def _joined(parts: Sequence[States], name: str) -> np.ndarray:
    return np.concatenate([getattr(part.motion, name) for part in parts])


def _residuals(part: States, problem: Problem, x: np.ndarray, scale: np.ndarray, robust: bool) -> np.ndarray:
    """(M, n) residuals over squared scales through the filter, so that rows need not pass it."""
    r = np.where(part.use, part.tau - problem.seen_torques(part, x), 0.0)
    weighted = r * (tukey(r / scale) if robust else 1.0) / scale**2
    return low_pass(weighted, part.cutoff, part.rate)


# ------------------------------------------------------------------------------------------------------------
# What rows of the regressor have of what the data of a fit show.


OPEN = 1e-6  # of a combination's size: a share in open directions from which it is not shown by the data
_ROUNDING = 1e-9  # of the greatest entry of the regressor
_SOME = 3.0  # times the mean over all ways to halve the data, since few show what a model lacks;
_ELSEWHERE = 10.0  # times of intervals, which hold for other motions than the halves
_CREEP = 1e-9  # of the greatest speed: as good as rest, but it has a direction


def rows_of(problem: Problem, motion: Kinematics, greatest: np.ndarray) -> np.ndarray:
    """Y (M, n, p) along a motion; joints that rest have their friction as if they slid forward.

    What holds a joint at rest is no column of Y. Joints that never moved, `greatest` (n,) zero, keep still.
    """
    slow = _CREEP * np.broadcast_to(greatest, motion.qd.shape)
    qd = np.where(motion.qd == 0, slow, motion.qd)
    return np.asarray(problem(Kinematics(motion.q, qd, motion.qdd)))


@dataclass(frozen=True)
class Evidence:
    """What the data of a fit show of the parameters, to judge rows of the regressor by."""

    basis: np.ndarray  # (p, r): A basis has columns of length 1 at right angles, A the weighted rows
    open: np.ndarray  # (p, k) directions that A does not show
    halves: np.ndarray  # (p, k) half the differences between estimates of halves of the data

    def leverage(self, Y: np.ndarray) -> np.ndarray:
        """(M, n) y (AᵀA)⁻¹ yᵀ of the rows y of Y (M, n, p): the noise of the data that enters predictions.

        Infinite where a prediction needs what the data do not show.
        """
        return np.where(self._hidden(Y), np.inf, np.square(Y @ self.basis).sum(-1))

    def variance(self, Y: np.ndarray, times: float = _SOME) -> np.ndarray:
        """(M, n) of predictions, as far as it comes with the parameters; infinite as `leverage` is."""
        return np.asarray(np.maximum(self.leverage(Y), times * np.square(Y @ self.halves).mean(-1)))

    def _hidden(self, Y: np.ndarray) -> np.ndarray:
        """(M, n) bool: rows with a part in open directions."""
        if not self.open.shape[1]:
            return np.zeros(Y.shape[:-1], bool)
        sizes = np.abs(Y)
        least = np.maximum(OPEN * (sizes @ np.abs(self.open)), _ROUNDING * sizes.max(initial=0.0))
        return np.asarray((np.abs(Y @ self.open) > least).any(-1))


# ------------------------------------------------------------------------------------------------------------
# Half widths along a motion.


def half_widths(
    problem: Problem, x: np.ndarray, scatter: Scatter, evidence: Evidence, motion: Kinematics, level: float
) -> np.ndarray:
    """(M, n) half widths of the intervals about predictions for parameters x (p,)."""
    variance = np.empty(motion.q.shape)
    for start in range(0, len(variance), _ROWS):
        at = slice(start, start + _ROWS)
        variance[at] = evidence.variance(rows_of(problem, motion.at(at), scatter.greatest), _ELSEWHERE)
    noise = noise_bounds(problem, x, scatter, motion, level)
    return np.asarray(np.hypot(noise, normal_quantile(level) * np.sqrt(variance)))


def noise_bounds(
    problem: Problem, x: np.ndarray, scatter: Scatter, motion: Kinematics, level: float
) -> np.ndarray:
    """(M, n) what residuals were in training, and near rest at least what friction leaves open.

    A joint at rest is held by the friction next to zero speed, or more, in either direction; predicted is
    that of sliding in the direction of the little speed that the filter leaves. Where it turns back, it may
    be held longer than in the training data.
    """
    found = scatter.bounds(level, motion.qd)
    dry = _next_to_rest(problem, x, motion)
    rests = np.abs(motion.qd) <= _RESTS * scatter.greatest
    holds = np.where(rests, _HOLDS + np.abs(np.sign(motion.qd)), _near_rest(problem.cutoff, motion))
    return np.asarray(np.maximum(found, holds * dry))


def _near_rest(cutoff: float | None, motion: Kinematics) -> np.ndarray:
    """(M, n) from 1 where a joint stands to 0 from where it is farther from that than the filter sees.

    How far, as time, its speed and its acceleration say.
    """
    if cutoff is None:
        return np.zeros(motion.qd.shape)
    seen = np.abs(motion.qdd) * (_SMEARS / cutoff)
    return np.asarray(np.clip(1 - np.abs(motion.qd) / np.maximum(seen, np.finfo(float).tiny), 0.0, 1.0))


def _next_to_rest(problem: Problem, x: np.ndarray, motion: Kinematics) -> np.ndarray:
    """(M, n) the friction next to zero speed, in the direction in which it is larger."""
    surfaces = problem.surfaces
    rows = np.swapaxes(surfaces.at(motion.q), -1, -2)
    found = np.zeros((2, *motion.q.shape))
    for p, e, term in problem.friction:
        if TERMS[term].turns:
            for k, way in enumerate((1.0, -1.0)):
                at = TERMS[term].of(Sliding(0.0, way, surfaces.of[e].stribeck_velocity))
                found[k] += x[p] * float(at) * rows[..., e]
    return np.asarray(np.abs(found).max(0))
