"""Methods of estimation: what minimises which error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Source
from armdyn.identification.regression.solve import Solution, solve
from armdyn.identification.selection.model import Chosen, weighted
from armdyn.robot import Robot

METHODS = ("weighted", "ordinary")


@dataclass(frozen=True)
class Estimate:
    """The solution, for rows divided by their joints' `scale` (n,), and the factors it was found from."""

    solution: Solution
    scale: np.ndarray
    factors: Factors


def estimate(robot: Robot, logs: Sequence[Source], chosen: Chosen, factors: Factors, method: str) -> Estimate:
    """The estimates of a method; `factors` are those of all samples with equal weights."""
    check.one_of("method", method, *METHODS)
    prior = chosen.problem.template.prior
    if method == "ordinary":
        same = np.ones(len(factors.R))
        squares = factors.squares(solve(factors.weighted(same), prior, chosen.damping).x)
        scale = same * np.sqrt(squares.sum() / max(int(factors.rows.sum()) - len(prior), 1))
    else:
        _, scale = weighted(factors, prior, chosen.damping)
    return Estimate(solve(factors.weighted(scale), prior, chosen.damping), scale, factors)
