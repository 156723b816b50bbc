"""Cross-validation: the fit repeated without a part of its data, and tried on that part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.regression.factor import Factors, merged
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.problem import Problem
from armdyn.identification.regression.solve import solve
from armdyn.robot import Robot


@dataclass(frozen=True)
class CrossValidation:
    """Errors on parts of the data, each by the fit to the others: stretches of time, one after the other."""

    errors: np.ndarray  # (folds,) ‖τ − τ̂‖/‖τ‖
    joints: np.ndarray = field(repr=False)  # (folds, n) RMS of the residuals [N m or N]
    parameters: np.ndarray = field(repr=False)  # (folds, p) of the fits to the others
    error: float  # of all folds together

    def __str__(self) -> str:
        each = ", ".join(f"{100 * x:.2f}" for x in self.errors)
        return f"error {100 * self.error:.2f} % in {len(self.errors)} folds ({each})"


def cross_validate(
    robot: Robot,
    problem: Problem,
    logs: Sequence[Source],
    scale: np.ndarray,
    damping: float,
    free: np.ndarray,
    folds: int,
) -> CrossValidation:
    """Refits of weighted least squares with the joints' scales (n,) and the damping of a fit.

    What is not `free` (p,) bool keeps the description's value, as in the fit.
    """
    factors = _of_folds(robot, problem, logs, folds)
    prior = problem.template.prior
    errors, joints, parameters = np.zeros(folds), np.zeros((folds, robot.n)), np.zeros((folds, len(prior)))
    wrong = size = 0.0
    for k, own in enumerate(factors):
        others = merged(other for i, other in enumerate(factors) if i != k)
        x = parameters[k] = solve(others.weighted(scale), prior, damping, free).x
        squares, whole = own.squares(x), own.squares(np.zeros_like(x)).sum()
        joints[k] = np.sqrt(squares / np.maximum(own.rows, 1))
        errors[k] = np.sqrt(squares.sum() / whole) if whole else np.nan
        wrong, size = wrong + squares.sum(), size + whole
    return CrossValidation(errors, joints, parameters, float(np.sqrt(wrong / size)))


def _of_folds(robot: Robot, problem: Problem, logs: Sequence[Source], folds: int) -> list[Factors]:
    """The factors of each fold; folds have equally many instants."""
    total = sum(
        len(part)
        for source in logs
        for piece in source.pieces(robot, problem.cutoff)
        for part in problem.parts(piece)
    )
    if total < 2 * folds:
        raise IdentificationError(f"folds: {total} instants are too few for {folds} folds")
    found: list[list[Factors]] = [[] for _ in range(folds)]
    start = 0
    for source in logs:
        for piece in source.pieces(robot, problem.cutoff):
            for part in problem.parts(piece):
                for Y, some in problem.regressors(part):
                    fold = (start + np.arange(len(some))) * folds // total
                    start += len(some)
                    for k in np.unique(fold):
                        at = fold == k
                        found[k].append(Factors.of(Y[at], some.tau[at], some.use[at]))
    if not all(found):
        raise IdentificationError(f"folds: {folds} folds are more than these logs allow")
    return [merged(parts) for parts in found]
