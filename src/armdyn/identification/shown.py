"""What data show of each base parameter, and how sure a model of them is of other motions.

A base parameter of which the data say less than the description keeps the description's value. They do where
its standard error is larger than the parameter, and larger than what the estimate has against the
description: then keeping errs by less than estimating. Such parameters are held one by one, the least sure
first, and the others estimated again, as M. Gautier's essential parameters are found ("Identification of the
dynamics parameters of robots", 5th Int. Conf. on Advanced Robotics, Pisa 1991).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from armdyn.identification.coverage import Coverage
from armdyn.identification.intervals import OPEN
from armdyn.identification.regression import ROUNDING, Factors
from armdyn.identification.signals import States
from armdyn.identification.template import Template
from armdyn.model.inertia import ENTRIES
from armdyn.model.parameters import Parameter
from armdyn.robot.base_parameters import BaseParameters
from armdyn.robot.joints import joint_limits, revolute_joints

AGAINST = np.sqrt(2)  # standard errors: E (x̂ − x₀)² is δ² + s², so that less than √2 s leaves δ below s
UNSURE = 0.25  # of the torques: other motions that are not predicted better show that too little was recorded
STATES = 300  # of other motions
GREATEST = 3.0  # root mean squares of an acceleration are the greatest


@dataclass(frozen=True)
class Held:
    """Estimates of all parameters with some base parameters held at the description's values."""

    x: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p), the description's values being uncertain by the sizes of the parameters
    of_data: np.ndarray  # (p, p) the same, these values being exact
    which: np.ndarray  # (b,) bool: the base parameters that are held

    @staticmethod
    def none(base: BaseParameters, x: np.ndarray, covariance: np.ndarray) -> Held:
        """Nothing is held."""
        return Held(x, covariance, covariance, np.zeros(len(base), bool))


def hold(template: Template, factors: Factors, found: Held, open_: np.ndarray) -> Held:
    """The estimates without what the description knows better; `open_` (p, k) are shown by nothing."""
    base = template.base
    M, prior, x = base.matrix, template.prior, found.x
    exact = uncertain = _root(found.covariance)
    sizes = _sizes(template, base, factors)
    may, which = ~not_shown(base, open_), found.which.copy()
    while True:
        errors = np.linalg.norm(M @ exact, axis=1)
        against = np.abs(M @ (x - prior))
        unsure = may & (errors > sizes) & (against < AGAINST * errors)
        if not unsure.any():
            break
        k = int(np.argmax(np.where(unsure, errors / sizes, 0.0)))
        gain = exact @ (M[k] @ exact) / errors[k] ** 2
        x = x - gain * (M[k] @ (x - prior))
        exact = _known(exact, M[k], 0.0)
        uncertain = _known(uncertain, M[k], float(sizes[k]))
        may[k], which[k] = False, True
    return Held(x, uncertain @ uncertain.T, exact @ exact.T, which) if which.any() else found


def _known(L: np.ndarray, row: np.ndarray, error: float) -> np.ndarray:
    """The root L of a covariance once the combination `row` (p,) is known with this standard error."""
    v = row @ L
    size = max(float(np.linalg.norm(v)), 1e-300)
    v = v / size
    return np.asarray(L - np.outer(L @ v, v) * max(1 - error / size, 0.0))


def _root(covariance: np.ndarray) -> np.ndarray:
    """L with L Lᵀ the covariance: so it stays one, whatever is taken out of it."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale = np.where(errors > 0, errors, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(errors[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))  # what is known stays so


def not_shown(base: BaseParameters, open_: np.ndarray) -> np.ndarray:
    """(b,) bool: base parameters that directions (p, k) which the data leave open change."""
    if not open_.shape[1]:
        return np.zeros(len(base), bool)
    lengths = np.abs(base.matrix) @ np.ones(len(open_))
    return np.asarray(np.abs(base.matrix @ open_).max(1) > OPEN * lengths)


def _sizes(template: Template, base: BaseParameters, factors: Factors) -> np.ndarray:
    """(b,): the largest of its kind at the joint in the description; where that says nothing, by the torques.

    A parameter that explained all torques by itself would be that large.
    """
    nominal = np.abs(base.matrix @ template.prior)
    kinds = [_kind(base.grouping.layout[p]) for p in base.grouping.leading]
    largest: dict[tuple[int, str, str], float] = {}
    for kind, value in zip(kinds, nominal.tolist(), strict=True):
        largest[kind] = max(largest.get(kind, 0.0), value)
    R = factors.weighted(factors.sizes())
    lengths = np.linalg.norm(R[:, :-1] @ base.right_inverse, axis=0)
    least = ROUNDING * max(lengths.max(initial=0.0), 1e-300)
    by_torque = np.linalg.norm(R[:, -1]) / np.maximum(lengths, least)
    described = np.array([largest[kind] for kind in kinds])
    return np.where(described > 0, described, by_torque)


def _kind(parameter: Parameter) -> tuple[int, str, str]:
    """Joint, part and family: mass, first moments, tensor; of other parts each entry is its own."""
    kind = parameter.kind
    families = dict(zip(ENTRIES, ("mass", *("first moment",) * 3, *("tensor",) * 6), strict=True))
    return parameter.joint, kind.part, families[kind.entry] if kind.part == "body" else kind.entry


# ------------------------------------------------------------------------------------------------------------
# How sure a model is of other motions.


def coverage_of(parts: Iterable[States]) -> Coverage:
    """Where states moved, with the torques that were measured there."""
    found = [Coverage.of(part.motion, part.tau, part.use) for part in parts if part.use.any()]
    return reduce(add, found)


def unsure_elsewhere(template: Template, seen: Coverage, covariance: np.ndarray, factors: Factors) -> float:
    """Standard error of the torques of other motions, as a part of those recorded, all joints together.

    They go through the whole range of the joints, at the speeds and accelerations that were seen. Of a closed
    chain, whose coordinates may not be anywhere, they keep to the range that was seen.
    """
    robot, rng = template.robot, np.random.default_rng(0)
    limits, reach = joint_limits(robot), np.where(revolute_joints(robot), np.pi, 1.0)
    low = np.where(np.isfinite(limits.lower), limits.lower, -reach)
    high = np.where(np.isfinite(limits.upper), limits.upper, reach)
    if robot.model.loops:
        low, high = seen.lowest, seen.highest
    q = rng.uniform(np.minimum(low, high), high, (STATES, robot.n))
    qd = rng.normal(size=q.shape) * seen.rms_speed
    qdd = rng.normal(size=q.shape) * seen.greatest_acceleration / GREATEST
    Y = np.asarray(template.robot.regressor(q, qd, qdd))
    spread = np.einsum("mjp,pq,mjq->j", Y, covariance, Y) / len(q)
    recorded = factors.rows > 0
    torques = float(np.square(factors.sizes()[recorded]).sum())
    return float(np.sqrt(np.maximum(spread[recorded], 0.0).sum() / max(torques, 1e-300)))
