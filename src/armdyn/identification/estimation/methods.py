"""Methods of estimation: what minimises which error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armdyn.identification.estimation.instrumental import Given, with_instruments
from armdyn.identification.estimation.robust import reweighted
from armdyn.identification.estimation.sequential import joint_by_joint
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.solve import Solution, joint_scales, solve
from armdyn.identification.selection.model import Chosen, weighted
from armdyn.robot import Robot

_FLOOR = 1e-6  # of a joint's torques: the least scale


@dataclass(frozen=True)
class Estimate:
    """Estimates, and how the noise e_j in the rows of joint j enters them.

    The error of `x` is Σ_j gains_j Z_jᵀ e_j, with Z_jᵀZ_j = moments_j and e_j of variance noise_j². `factors`
    and `scale` are those of the least-squares problem that was solved, for what comes after it.
    """

    x: np.ndarray  # (p,)
    open: np.ndarray  # (p, k) directions that the data do not show
    singular_values: np.ndarray
    factors: Factors
    scale: np.ndarray  # (n,) N m or N
    noise: np.ndarray  # (n,) N m or N
    gains: tuple[np.ndarray, ...]  # n of (p, p)
    moments: tuple[np.ndarray, ...]  # n of (p, p)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Data:
    """What a method works on; `factors` are those of all samples with equal weights."""

    robot: Robot
    logs: Sequence[Source]
    chosen: Chosen
    factors: Factors
    free: np.ndarray  # (p,) bool: what is estimated
    instruments: Sequence[Given] | None = None

    @property
    def prior(self) -> np.ndarray:
        return self.chosen.problem.template.prior


def estimate(data: Data, method: str) -> Estimate:
    """The estimates of a method."""
    return METHODS[method](data)


def _weighted(data: Data) -> Estimate:
    """(7.86), each joint's rows divided by what it leaves unexplained; "damped" differs in its damping."""
    damping = data.chosen.damping
    _, scale = weighted(data.factors, data.prior, damping, data.free)
    solution = solve(data.factors.weighted(scale), data.prior, damping, data.free)
    return _of_solution(solution, data.factors, scale, scale)


def _ordinary(data: Data) -> Estimate:
    """(7.86) as it stands: all rows count alike, N m and N, large joints and small ones."""
    same = np.ones(len(data.factors.R))
    found = solve(data.factors.weighted(same), data.prior, data.chosen.damping, data.free)
    squares, rows = data.factors.squares(found.x), data.factors.rows
    scale = same * np.sqrt(squares.sum() / max(int(rows.sum()) - found.rank, 1))
    scale = scale if scale.any() else same
    solution = solve(data.factors.weighted(scale), data.prior, data.chosen.damping, data.free)
    noise = joint_scales(squares, rows, found.rank, _floor(data.factors))
    return _of_solution(solution, data.factors, scale, noise)


def _robust(data: Data) -> Estimate:
    start, _ = weighted(data.factors, data.prior, data.chosen.damping, data.free)
    damping, floor = data.chosen.damping, _floor(data.factors)
    found = reweighted(data.robot, data.logs, data.chosen.problem, start, floor, damping, data.free)
    share = found.out.sum() / max(int(data.factors.rows.sum()), 1)
    note = f"robust: {100 * share:.2g} % of the torques have less than half their weight"
    noise = found.effective
    # The covariance is that of least squares without weights, whose noise is `effective`.
    plain = solve(data.factors.weighted(noise), data.prior, damping, data.free)
    spread = _of_solution(plain, data.factors, noise, noise)
    return Estimate(
        found.solution.x,
        found.solution.open,
        found.solution.singular_values,
        found.factors,
        found.scale,
        noise,
        spread.gains,
        spread.moments,
        (note,),
    )


def _sequential(data: Data) -> Estimate:
    found = joint_by_joint(data.factors, data.prior, data.free)
    rank = int(data.free.sum()) - found.open.shape[1]
    noise = joint_scales(data.factors.squares(found.x), data.factors.rows, rank, _floor(data.factors))
    solution = solve(data.factors.weighted(noise), data.prior, 0.0, data.free)
    note = f"sequential: combinations found from each joint's torque, first to last: {list(found.shown)}"
    return Estimate(
        found.x,
        found.open,
        solution.singular_values,
        data.factors,
        noise,
        noise,
        found.gains,
        _moments(data.factors),
        (note,),
    )


def _instrumental(data: Data) -> Estimate:
    if data.chosen.problem.cutoff is None and data.instruments is None:
        note = "instrumental: the logs have accelerations, used as they are; this is weighted least squares"
        plain = _weighted(data)
        return replace(plain, notes=(note,))
    _, scale = weighted(data.factors, data.prior, 0.0, data.free)
    solution = solve(data.factors.weighted(scale), data.prior, 0.0, data.free)
    found = with_instruments(
        data.robot, data.logs, data.chosen.problem, data.instruments, data.factors, scale, data.free
    )
    notes = []
    if found.weak:
        notes.append(f"instrumental: noise outweighs the motion in {found.weak} combinations of parameters")
    return Estimate(
        found.x,
        solution.open,
        solution.singular_values,
        data.factors,
        scale,
        joint_scales(data.factors.squares(found.x), data.factors.rows, solution.rank, _floor(data.factors)),
        tuple(found.gain / s**2 for s in scale),
        tuple(found.moments.ZZ),
        tuple(notes),
    )


def _of_solution(solution: Solution, factors: Factors, scale: np.ndarray, noise: np.ndarray) -> Estimate:
    gains = tuple(solution.gain / s**2 for s in scale)
    values = solution.singular_values
    return Estimate(solution.x, solution.open, values, factors, scale, noise, gains, _moments(factors))


def _moments(factors: Factors) -> tuple[np.ndarray, ...]:
    return tuple(R[:, :-1].T @ R[:, :-1] for R in factors.R)


def _floor(factors: Factors) -> np.ndarray:
    """(n,) a millionth of the joints' torques."""
    return _FLOOR * factors.sizes()


METHODS: dict[str, Callable[[Data], Estimate]] = {
    "weighted": _weighted,
    "ordinary": _ordinary,
    "robust": _robust,
    "damped": _weighted,
    "sequential": _sequential,
    "instrumental": _instrumental,
}
