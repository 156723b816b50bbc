"""Coordinates in which all parameters have size one, and what is allowed in them.

π = origin + G ξ. The first ten of ξ for each joint are its link's own body X, stacked, where P = L X Lᵀ and L
is from the prior: so X of the prior is 1, or near it, and lengths of ξ are those of the metric
‖L⁻¹ (P − P₀) L⁻ᵀ‖, the constant pullback of the affine-invariant metric of pseudo-inertias (Lee, Park,
"A geometric algorithm for robust multibody inertial parameter identification", 2018). Then follow rotors,
friction and offsets over their sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.consistency.braking import braking_rows
from armdyn.identification.consistency.own_bodies import OwnBodies
from armdyn.identification.consistency.priors import Prior
from armdyn.identification.consistency.pseudo_inertia import BODIES, SIZE, congruence, stacked, unstacked
from armdyn.robot import Robot

FRICTION = 0.03  # the size of unknown friction: this part of the torque
LIGHT_ROTOR = 1e-3  # an unknown rotor's size, reflected to its joint: this part of its link's inertia


@dataclass(frozen=True)
class Space:
    """The map, the prior in it, and linear inequalities C ξ ≥ c; X ≥ margin · 1 is left to the solver."""

    origin: np.ndarray  # (p,)
    G: np.ndarray  # (p, d)
    prior: np.ndarray  # (d,)
    C: np.ndarray  # (rows, d)
    c: np.ndarray  # (rows,)
    bodies: int

    @staticmethod
    def of(
        robot: Robot, own: OwnBodies, prior: Prior, R: np.ndarray, z: np.ndarray, speeds: np.ndarray | None
    ) -> Space:
        p, bodies = len(prior.parameters), len(own.places)
        others = _others(robot, own, p)
        sizes = _sizes(robot, own, prior, R, z)[others]
        origin, G = np.zeros(p), np.zeros((p, SIZE * bodies + len(others)))
        origin[own.places] = own.fixed
        for j, places in enumerate(own.places):
            G[places, SIZE * j : SIZE * (j + 1)] = BODIES @ congruence(prior.L[j])
        column = {int(place): SIZE * bodies + k for k, place in enumerate(others)}
        for place, k in column.items():
            G[place, k] = sizes[k - SIZE * bodies]
        for r, place in enumerate(own.rotor_places):
            G[own.places, column[int(place)]] += own.rotors[:, :, r] * G[place, column[int(place)]]
        rows = braking_rows(robot, speeds)
        C = rows[:, :-1] @ G
        moved = np.abs(C).max(axis=1, initial=0.0) > 0
        C, c = C[moved], -(rows[:, -1] + rows[:, :-1] @ origin)[moved]
        scale = np.abs(C).max(axis=1, initial=0.0)
        known = np.concatenate([stacked(prior.X).ravel(), prior.parameters[others] / sizes])
        return Space(origin, G, known, C / scale[:, None], c / scale, bodies)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        """π of ξ."""
        return np.asarray(self.origin + self.G @ x)

    def bodies_of(self, x: np.ndarray) -> np.ndarray:
        """X of the links, (joints, 4, 4)."""
        return unstacked(x[: SIZE * self.bodies].reshape(self.bodies, SIZE))

    def least(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least eigenvalue of each X, and C ξ − c."""
        return np.linalg.eigvalsh(self.bodies_of(x))[:, 0], self.C @ x - self.c

    def is_inside(self, x: np.ndarray, margin: float, slack: float = 0.0) -> bool:
        values, rows = self.least(x)
        return bool(values.min(initial=np.inf) >= margin and rows.min(initial=np.inf) >= -slack)


def _others(robot: Robot, own: OwnBodies, p: int) -> np.ndarray:
    """Where in the vector rotors, friction and offsets are; of a joint without a rotor there is no Im."""
    rotors = {j for j, name in enumerate(robot.parameter_names) if name.startswith("Im")}
    absent = rotors - {int(j) for j in own.rotor_places}
    return np.array(sorted(set(range(p)) - {int(j) for j in own.places.ravel()} - absent), int)


def _sizes(robot: Robot, own: OwnBodies, prior: Prior, R: np.ndarray, z: np.ndarray) -> np.ndarray:
    """A size for each parameter: its prior, or what explains part of the torque; of a rotor, by its link."""
    heard = np.linalg.norm(R, axis=0)
    loud = FRICTION * float(np.linalg.norm(z)) or 1.0
    sizes = np.where(heard > 0, loud / np.where(heard > 0, heard, 1.0), 1.0)
    sizes = np.maximum(sizes, np.abs(prior.parameters))
    for rotor, place in zip(robot.mechanism.rotors, own.rotor_places, strict=True):
        gear = max((abs(float(k)) for _, k in rotor.row), default=1.0)
        link = rotor.joint if rotor.part == "rotor" else min(rotor.row[-1][0], own.places.shape[0] - 1)
        inertia = float(np.square(prior.L[link]).sum())
        sizes[place] = max(abs(prior.parameters[place]), LIGHT_ROTOR * inertia / gear**2)
    return np.asarray(sizes)
