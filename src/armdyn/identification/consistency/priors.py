"""What was known before: a parameter vector, and for each link a body that can exist, near to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.consistency.geometric import geometric_bodies
from armdyn.identification.consistency.own_bodies import OwnBodies
from armdyn.identification.consistency.pseudo_inertia import about_centre, at_centre, pseudo_inertia
from armdyn.identification.errors import IdentificationError
from armdyn.robot import Robot

THIN = 1e-3  # the metric sees no body thinner than √THIN of its size
IMPOSSIBLE = 1e-6  # of Σ's size: less is the rounding of printed numbers
MASSLESS = 1e-9  # of the arm's greatest mass


@dataclass(frozen=True)
class Prior:
    """A vector, and each link's own body as P = L X Lᵀ: L is what sizes are measured with, X near 1."""

    parameters: np.ndarray  # (p,)
    L: np.ndarray  # (joints, 4, 4)
    X: np.ndarray  # (joints, 4, 4), positive semidefinite
    notes: tuple[str, ...]


def prior_of(robot: Robot, prior: Any, own: OwnBodies) -> Prior:
    """The prior that a caller names, with links that cannot exist replaced by the nearest that can."""
    values = _vector(robot, prior)
    geometric = geometric_bodies(robot)
    bodies = pseudo_inertia(own(values))
    only = isinstance(prior, str) and prior == "geometric"
    heaviest = max(float(bodies[:, 3, 3].max()), 0.0)
    notes: list[str] = []
    L, X = np.empty_like(bodies), np.empty_like(bodies)
    for j, link in enumerate(robot.model.moving):
        P = geometric[j] if only else _possible(bodies[j], heaviest, link.name, geometric[j], notes)
        L[j], X[j] = _metric(P)
    return Prior(values, L, X, tuple(notes))


def _vector(robot: Robot, prior: Any) -> np.ndarray:
    own = robot.parameters
    if prior is None or isinstance(prior, str):
        if prior is not None:
            check.one_of("prior", prior, "nominal", "geometric")
        return own
    if isinstance(prior, Robot):
        if len(prior.joints) != len(robot.joints):
            found = f"found {prior.name} with {len(prior.joints)}"
            raise IdentificationError(f"prior: expected a robot with {len(robot.joints)} joints, {found}")
        known = dict(zip(prior.parameter_names, prior.parameters, strict=True))
        return np.array([known.get(name, 0.0) for name in robot.parameter_names])
    values = check.numbers("prior", prior)
    if values.shape != own.shape:
        expected = f"({len(own)},) in the order of parameter_names"
        raise IdentificationError(
            f'prior: expected "nominal", "geometric", a Robot or {expected}, found {values.shape}'
        )
    return values


def _possible(
    P: np.ndarray, heaviest: float, name: str, geometric: np.ndarray, notes: list[str]
) -> np.ndarray:
    """The nearest possible body with the same mass and centre of mass; without a mass, one from geometry."""
    if P[3, 3] <= MASSLESS * heaviest:
        notes.append(
            f"link {name!r}: the prior has mass {P[3, 3]:.6g} kg; a solid of the link's geometry is used"
        )
        return geometric
    mass, centre, S = about_centre(P)
    values, axes = np.linalg.eigh(S)
    size = float(np.abs(values).max())
    if values[0] >= 0:
        return P
    if values[0] < -IMPOSSIBLE * size:
        notes.append(
            f"link {name!r}: the prior's tensor breaks the triangle inequality; the nearest possible body "
            "of that mass and centre of mass is used"
        )
    if values[-1] <= 0:  # no direction is possible: Σ of a solid, as far as a mass of this size goes
        _, _, plausible = about_centre(geometric)
        return at_centre(mass, centre, plausible / geometric[3, 3] * mass)
    return at_centre(mass, centre, (axes * np.maximum(values, 0.0)) @ axes.T)


def _metric(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and X of a possible body. Lᵀ L is P but for directions in which it is thin, or a point."""
    mass, centre, S = about_centre(P)
    values, axes = np.linalg.eigh(S)
    values = np.maximum(values, 0.0)
    arm = max(float(values.max()) / mass, 1e-2 * float(centre @ centre), 1e-8)  # squared
    wide = np.maximum(values, THIN * mass * arm)
    L = np.zeros((4, 4))
    L[:3, :3] = axes * np.sqrt(wide)
    L[:3, 3] = centre * np.sqrt(mass)
    L[3, 3] = np.sqrt(mass)
    return L, np.diag([*(values / wide), 1.0])
