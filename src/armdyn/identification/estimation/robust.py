"""Robust estimates: least squares again and again, each sample weighted by how well it fitted before.

The weights are Huber's until they settle (from there the start does not matter), then Tukey's, which leave
out what cannot belong to the noise. The unit of each joint is the robust scale of its residuals, 1.4826 times
the median of their sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.regression.collect import merge
from armdyn.identification.regression.factor import Factors, merged
from armdyn.identification.regression.pieces import Piece, Source
from armdyn.identification.regression.problem import Problem
from armdyn.identification.regression.solve import Solution, solve
from armdyn.robot import Robot

HUBER, TUKEY = 1.345, 4.685  # units of the scale: 95 % as efficient as least squares under normal noise
PASSES = 30  # over the data, at most
_SETTLED = 1e-3  # of the standard errors: a change of the estimates that no longer matters
_SOME = 20_000  # residuals of a piece from which the median is taken
_MAD = 1.4826  # standard deviation of normal noise per median size


def huber(u: np.ndarray) -> np.ndarray:
    """Weights of residuals in units of the scale: 1 within the bound, then as bound/|u|."""
    return np.asarray(np.minimum(1.0, HUBER / np.maximum(np.abs(u), 1e-300)))


def tukey(u: np.ndarray) -> np.ndarray:
    """Weights (1 − (u/c)²)² within c, and 0 beyond."""
    return np.asarray(np.square(np.maximum(1 - np.square(u / TUKEY), 0.0)))


def _huber_slope(u: np.ndarray) -> np.ndarray:
    """dψ/du of ψ(u) = u · weight(u)."""
    return np.asarray(np.abs(u) <= HUBER, float)


def _tukey_slope(u: np.ndarray) -> np.ndarray:
    inside = np.maximum(1 - np.square(u / TUKEY), 0.0)
    return np.asarray(inside * (1 - 5 * np.square(u / TUKEY)) * (inside > 0))


RULES: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "huber": (huber, _huber_slope),
    "tukey": (tukey, _tukey_slope),
}


@dataclass(frozen=True)
class Pass:
    """What a pass over a piece gives; the sums are over the samples of each joint, (n,)."""

    factors: Factors
    psi: np.ndarray  # Σ ψ²
    slope: np.ndarray  # Σ dψ/du
    out: np.ndarray  # how many samples had less than half their weight
    residuals: np.ndarray  # (some, n); NaN where a sample is not used


@dataclass(frozen=True)
class Reweighting:
    """A pass over a piece with the weights that estimates x and scales (n,) give; picklable."""

    problem: Problem
    x: np.ndarray
    scale: np.ndarray
    rule: str

    def __call__(self, piece: Piece) -> Pass | None:
        weight, slope = RULES[self.rule]
        found: Factors | None = None
        psi, slopes, out, some = 0.0, 0.0, 0.0, []
        for part in self.problem.parts(piece):
            for Y, states in self.problem.regressors(part):
                r = states.tau - Y @ self.x
                u, use = r / self.scale, states.use
                w = weight(u)
                found = merge(found, Factors.of(Y, states.tau, use, np.sqrt(w)))
                psi = psi + np.where(use, np.square(u * w), 0).sum(0)
                slopes = slopes + np.where(use, slope(u), 0).sum(0)
                out = out + (use & (w < 0.5)).sum(0)
                some.append(np.where(use, r, np.nan))
        if found is None:
            return None
        residuals = np.concatenate(some)
        step = -(-len(residuals) // _SOME)
        return Pass(found, np.asarray(psi), np.asarray(slopes), np.asarray(out), residuals[::step])


@dataclass(frozen=True)
class Robust:
    """The last pass's solution and weighted factors, and the joints' scales.

    `scale` (n,) is the robust scale; `effective` (n,) is √mean ψ² / mean ψ' times that: what stands for the
    standard deviation of noise in the standard errors. `out` (n,) samples have less than half the weight.
    """

    solution: Solution
    factors: Factors
    scale: np.ndarray
    effective: np.ndarray
    out: np.ndarray
    passes: int


def reweighted(
    robot: Robot,
    logs: Sequence[Source],
    problem: Problem,
    start: np.ndarray,
    floor: np.ndarray,
    damping: float,
    free: np.ndarray,
) -> Robust:
    """From estimates `start` (p,), until the weights settle; `floor` (n,) is the least scale."""
    prior, x = problem.template.prior, start
    scale = np.full(robot.n, np.inf)
    before = _one_pass(robot, logs, Reweighting(problem, x, scale, "huber"))  # all weights 1
    rule = "huber"
    for k in range(PASSES):
        scale = np.maximum(_median_scale(before), floor)
        found = _one_pass(robot, logs, Reweighting(problem, x, scale, rule))
        solution = solve(found.factors.weighted(scale), prior, damping, free)
        moved = found.factors.weighted(scale)[:, :-1] @ (solution.x - x)
        x, before = solution.x, found
        settled = float(moved @ moved) <= _SETTLED**2 * max(solution.rank, 1)
        if settled and rule == "tukey":
            break
        if settled or k == PASSES // 2:
            rule = "tukey"
    rows = np.maximum(found.factors.rows, 1)
    effective = scale * np.sqrt(found.psi / rows) / np.maximum(found.slope / rows, 1e-3)
    freedom = np.sqrt(rows / np.maximum(rows - solution.rank / robot.n, 1.0))
    return Robust(solution, found.factors, scale, np.maximum(effective * freedom, floor), found.out, k + 2)


def _one_pass(robot: Robot, logs: Sequence[Source], work: Reweighting) -> Pass:
    found = [
        x
        for log in logs
        for piece in log.pieces(robot, work.problem.cutoff)
        if (x := work(piece)) is not None
    ]
    if not found:
        raise IdentificationError("no sample is left for the fit")
    return Pass(
        merged(x.factors for x in found),
        np.sum([x.psi for x in found], axis=0),
        np.sum([x.slope for x in found], axis=0),
        np.sum([x.out for x in found], axis=0),
        np.concatenate([x.residuals for x in found]),
    )


def _median_scale(found: Pass) -> np.ndarray:
    """(n,) 1.4826 times the median size of the residuals; 0 for joints without samples."""
    r = np.abs(found.residuals)
    empty = np.isnan(r).all(0)
    r[:, empty] = 0.0
    return np.asarray(_MAD * np.nanmedian(r, axis=0))
