"""How links can move and which joints move no inertia, found numerically at a few random states.

This decides which numbers of a description matter: on a planar arm only the moment about the common axis
does. Symbols without a value get random values too. A few states are enough: with probability one, a term
that is zero at all of them is zero everywhere.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from armdyn.dynamics.constraints.relations import joint_values
from armdyn.dynamics.coordinates import freed
from armdyn.dynamics.inertia_matrix import composites_about_joints, inertia_matrix
from armdyn.dynamics.kinematics import joint_frame, joint_frames, velocities
from armdyn.model.lowering import Converter, lower, places_of
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import ZERO3, Vector, add, apply, apply_transposed, cross

MOST_JOINTS = 100  # the inertia matrix is not checked beyond
_STATES = 4
_SMALL = 1e-9
_SINGULAR = 1e-12


@dataclass(frozen=True)
class Freedom:
    """How a link moves: the span of its angular velocities in link axes, and whether its mass matters."""

    axes: np.ndarray  # (3, k): unit vectors that span all its angular velocities
    com_moves: bool
    com_on_axis: bool  # its own joint turns about an axis through the centre of mass

    @property
    def turns(self) -> bool:
        return bool(self.axes.shape[1])

    @property
    def feels_one_moment(self) -> bool:
        """Whether the link turns about at most one fixed axis, so that at most one moment matters."""
        return bool(self.axes.shape[1] <= 1)

    def only_needs(self, tensor: np.ndarray) -> bool:
        """Whether the tensor is only the one moment that matters; any one, if the link does not turn."""
        if not self.feels_one_moment:
            return False
        if not self.turns:
            return int(np.count_nonzero(tensor)) == int(np.count_nonzero(np.diag(tensor))) == 1
        (u,) = self.axes.T
        rest = tensor - (u @ tensor @ u) * np.outer(u, u)
        return bool(abs(rest).max() <= _SMALL * abs(tensor).max())


def in_numbers(model: RobotModel) -> tuple[Mechanism, Converter]:
    """The robot over floats and the conversion to them; free symbols get random values.

    Loops are left open: their links then move in more ways, and never in fewer.
    """
    rng = random.Random(1)
    free = {name: rng.uniform(0.5, 1.5) for name, value in model.symbols if value is None}
    if not free:
        return _opened(model.mechanism), Converter(model.number)
    values = model.values | free
    convert = Converter(lambda x: x.value(values))
    return _opened(lower(model, convert.scalar)), convert


def _opened(mechanism: Mechanism) -> Mechanism:
    return mechanism.without_loops()


def freedoms(model: RobotModel, mechanism: Mechanism, convert: Converter) -> dict[str, Freedom]:
    """The freedom of every link."""
    places = places_of(model, convert)
    samples = [_velocities(mechanism, seed) for seed in range(_STATES)]
    fastest = max(1.0, *(abs(x) for _, v in samples for body in v for x in body))
    found = {}
    for link in model.links:
        body, T = places[link.name]
        inertia = convert.inertia(link.inertia)
        com = inertia.com if inertia.mass else ZERO3
        at = add(T.p, apply(T.R, com))
        states = [(w[body], v[body]) if body != FIXED_BASE else (ZERO3, ZERO3) for w, v in samples]
        turning = np.array([apply_transposed(T.R, w) for w, _ in states], dtype=float).T
        speeds = np.array([add(v, cross(w, at)) for w, v in states], dtype=float)
        found[link.name] = Freedom(
            _span(turning),
            bool(abs(speeds).max() > _SMALL * fastest),
            link.joint == "revolute" and _on_axis(mechanism.bodies[body], com),
        )
    return found


def joints_without_inertia(model: RobotModel, mechanism: Mechanism) -> list[str]:
    """The links whose joints, alone or together, move no inertia, so that B is singular everywhere.

    In a closed chain a joint without inertia is moved by the others.
    """
    if model.loops or model.n > MOST_JOINTS:
        return []
    names: set[str] = set()
    for seed in range(_STATES):
        singular = _without_inertia(mechanism, _state(mechanism, seed)[0])
        if not singular:
            return []
        names |= {model.coordinates[i].name for i in singular}
    return [link.name for link in model.coordinates if link.name in names]


def _without_inertia(mechanism: Mechanism, q: list[float]) -> list[int]:
    """The coordinates whose entry on B's diagonal is rounding error; if none, those of a singular sum."""
    joints = freed(mechanism)
    carried = composites_about_joints(joints, joint_frames(joints, joint_values(mechanism, q)))
    largest = np.zeros(mechanism.n)
    for j, (joint, body) in enumerate(zip(joints.bodies, carried, strict=True)):
        size = body.mass if joint.joint == "prismatic" else body.tensor[0] + body.tensor[3] + body.tensor[5]
        for k, factor in mechanism.rows[j] if mechanism.rows else [(j, 1)]:
            largest[k] += factor * factor * abs(size)
    B = np.array(inertia_matrix(mechanism, q), dtype=float)
    diagonal = np.diag(B)
    empty = np.flatnonzero(abs(diagonal) <= _SINGULAR * largest)
    if empty.size:
        return [int(i) for i in empty]
    scale = 1 / np.sqrt(abs(diagonal))
    values, vectors = np.linalg.eigh(B * np.outer(scale, scale))
    smallest = int(abs(values).argmin())
    if abs(values[smallest]) > _SINGULAR:
        return []
    return [int(i) for i in np.flatnonzero(abs(vectors[:, smallest]) > 0.05)]


def _state(mechanism: Mechanism, seed: int) -> tuple[list[float], list[float]]:
    """Random positions and velocities of the coordinates."""
    rng = random.Random(seed)
    return [rng.uniform(-2, 2) for _ in range(mechanism.n)], [rng.uniform(-2, 2) for _ in range(mechanism.n)]


def _velocities(mechanism: Mechanism, seed: int) -> tuple[list[Vector], list[Vector]]:
    q, qd = (joint_values(mechanism, x) for x in _state(mechanism, seed))
    return velocities(mechanism, joint_frames(mechanism, q), qd)


def _span(vectors: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the columns given."""
    U, sizes, _ = np.linalg.svd(vectors)
    return U[:, : int(np.count_nonzero(sizes > _SMALL * max(1.0, sizes[0])))]


def _on_axis(body: Body, point: Vector) -> bool:
    """Whether a point of a body lies on the axis of its joint."""
    joint = joint_frame(body, 0.0)
    arm = add(joint.r, point)
    return bool(max(map(abs, cross(joint.z, arm))) <= _SMALL * max(1.0, *map(abs, arm)))
