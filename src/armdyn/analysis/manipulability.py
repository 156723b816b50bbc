"""Ellipsoids of the tip with joints of unit strength: of acceleration (7.9), velocity and force.

The measure of problem 7.12: for an arm with as many joints as rows the semi-axes of the dynamic ellipsoid
multiply to w_d = w / |det B|, with w = |det J| the manipulability measure (3.56).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from armdyn.analysis.contributions import spring_torques
from armdyn.analysis.errors import AnalysisError, check
from armdyn.analysis.task import (
    TipTask,
    apply,
    at_link,
    checked_rows,
    inertia_root,
    mobility,
    moving_rows,
    whitened,
)
from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name

# ------------------------------------------------------------------------------------------------------------
# An ellipsoid with a centre, for any leading axes.


@dataclass(frozen=True)
class Ellipsoid(Shown):
    """Velocities, accelerations or forces of the tip (m rows) for joint velocities or torques of unit norm.

    `kind` names the set and `description` describes it. A length is 0 along a direction in which the tip
    cannot move, and infinite along a force that the structure bears by itself.
    """

    kind: str
    description: str
    names: tuple[str, ...]  # the rows, such as x, y
    centre: np.ndarray  # (..., m)
    axes: np.ndarray  # (..., m, m): unit vectors in columns
    lengths: np.ndarray  # (..., m): semi-axes, the longest first
    to_joints: np.ndarray  # (..., n, m): joint velocities or torques for a point, relative to the centre

    @property
    def m(self) -> int:
        return len(self.names)

    @property
    def measure(self) -> np.ndarray:
        """Product of the semi-axes (...), proportional to the volume."""
        return np.asarray(self.lengths.prod(-1))

    def points(self, directions: Any) -> np.ndarray:
        """Surface points (..., k, m) for unit vectors (k, m) of the sphere the ellipsoid is made from."""
        directions = self._rows("directions", directions)
        if not np.isfinite(self.lengths).all():
            raise AnalysisError(
                f"{self.kind}: the ellipsoid is not bounded at {_first(~np.isfinite(self.lengths))}; "
                "its surface cannot be drawn there"
            )
        scaled = self.axes * self.lengths[..., None, :]
        return np.asarray(self.centre[..., None, :] + directions @ scaled.swapaxes(-1, -2))

    def boundary(self, k: int = 200) -> np.ndarray:
        """k points of the surface (..., k, m): around an ellipse (the last one is the first again), or spread
        over an ellipsoid."""
        if k < 2:
            raise AnalysisError(f"k: found {k}; at least 2 points are expected")
        return self.points(_sphere(self.m, k))

    def joints(self, points: Any) -> np.ndarray:
        """Joint velocities or torques (..., k, n) for points (..., k, m): of unit norm on the surface, of
        smaller norm inside."""
        points = self._rows("points", points)
        return np.asarray((points - self.centre[..., None, :]) @ self.to_joints.swapaxes(-1, -2))

    def __repr__(self) -> str:
        many = f", {self.lengths.shape[:-1]} of them" if self.lengths.ndim > 1 else ""
        return f"<Ellipsoid {self.kind} ({', '.join(self.names)}): {self.description}{many}>"

    def _rows(self, name: str, value: Any) -> np.ndarray:
        """`value` as (..., k, m) that fits the ellipsoids; (m,) is one row."""
        rows = np.atleast_2d(check.numbers(name, value, self.m))
        check.fit_together((*self.centre.shape[:-1], 1), **{name: rows})
        return rows


def _first(mask: np.ndarray) -> str:
    where = tuple(int(i) for i in np.argwhere(mask)[0][:-1])
    return f"sample {where}" if where else "this posture"


def _sphere(m: int, k: int) -> np.ndarray:
    """k unit vectors (k, m)."""
    if m == 1:
        return np.where(np.arange(k) < (k + 1) // 2, 1.0, -1.0)[:, None]
    if m == 2:
        angle = np.linspace(0, 2 * np.pi, k)
        return np.stack([np.cos(angle), np.sin(angle)], -1)
    if m == 3:  # equal steps along the axis, golden angle around it
        height = 1 - (2 * np.arange(k) + 1) / k
        angle = np.pi * (3 - np.sqrt(5)) * np.arange(k)
        radius = np.sqrt(1 - height**2)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    found = np.random.default_rng(0).normal(size=(k, m))
    return np.asarray(found / np.linalg.norm(found, axis=-1, keepdims=True))


# ------------------------------------------------------------------------------------------------------------
# Ellipsoids of the tip.


Kind = Literal["minimum_norm", "reachable"]

RANK = 1e-10  # a singular value this small beside the largest is zero
KINDS = {
    "minimum_norm": "tip accelerations at rest by joint accelerations of least norm (7.148), {torques}",
    "reachable": "every tip acceleration at rest that joint torques can reach, {torques}",
}


def dynamic_manipulability(
    robot: Robot,
    q: Any,
    *,
    link: str | None = None,
    rows: Sequence[int] | None = None,
    gravity: bool = True,
    weights: Any = None,
    kind: Kind = "minimum_norm",
    parameters: Any = None,
) -> Ellipsoid:
    """The dynamic manipulability ellipsoid (7.148) at postures (..., n) [m/s², rad/s²].

    Tip accelerations of an arm at rest for torques with ‖τ‖ = 1, friction left out; gravity, and with it
    springs, shifts the centre to −J B⁻¹ g. With `link` the frame of that link takes the place of the tip.
    `rows` picks among x, y, z (0, 1, 2) and angular acceleration about them (3, 4, 5); by default the linear
    ones in which the tip can move. `weights` w: ‖τ_i / w_i‖ = 1, a number, one per joint [N m or N], or
    "torque_limits" for the robot's own.

    `kind`: "minimum_norm" is (7.148), which gives redundant joints accelerations of least norm and leaves
    out what gravity does inside the arm: a point v̇ belongs to q̈ = J⁺(v̇ + J B⁻¹ g) − B⁻¹ g. "reachable" is
    the set of all J q̈ that the torques reach. Without redundant joints they are the same. `parameters` (p,)
    take the place of the robot's own, as in `robot.inertia`.
    """
    check.one_of("kind", kind, *KINDS)
    robot = at_link(check.robot(robot), link)
    if robot.model.elastic:
        raise AnalysisError(
            f"{robot.name}: torques of motors do not accelerate links behind elastic joints at once; "
            "robot.with_rigid_joints() is the arm without elasticity"
        )
    if robot.drives.passive:
        name = robot.coordinates[robot.drives.passive[0]]
        raise AnalysisError(
            f"{robot.name}: nothing drives '{name}' (actuated = false); "
            "what torques of all joints could do says nothing of this arm"
        )
    (q,) = check.joint_arrays(robot, q=q)
    J, names = _jacobian(robot, q, rows)
    w, unit = _weights(robot, weights, "torque", "torques")
    L = inertia_root(robot, q, parameters)
    to_tip = mobility(L, whitened(L, J)).swapaxes(-1, -2)  # J B⁻¹
    held = np.asarray(robot.gravity(q, parameters=parameters)) + spring_torques(robot, q, parameters)
    centre = -apply(to_tip, held) if gravity else np.zeros(J.shape[:-1])
    description = KINDS[kind].format(torques=unit)
    if kind == "reachable":
        return _image(kind, description, names, centre, to_tip * w, w)
    to_torques = np.asarray(robot.inertia(q, parameters=parameters)) @ np.linalg.pinv(J, rcond=RANK)
    axes, lengths = _preimage(to_torques / w[:, None], J, 0.0)
    return Ellipsoid(kind, description, names, centre, axes, lengths, to_torques)


def velocity_ellipsoid(
    robot: Robot,
    q: Any,
    *,
    link: str | None = None,
    rows: Sequence[int] | None = None,
    weights: Any = None,
) -> Ellipsoid:
    """Tip velocities for joint velocities with ‖q̇‖ = 1 [m/s, rad/s]; `weights` also "velocity_limits"."""
    robot = at_link(check.robot(robot), link)
    (q,) = check.joint_arrays(robot, q=q)
    J, names = _jacobian(robot, q, rows)
    w, unit = _weights(robot, weights, "velocity", "velocities")
    return _image("velocity", f"tip velocities, {unit}", names, np.zeros(J.shape[:-1]), J * w, w)


def force_ellipsoid(
    robot: Robot,
    q: Any,
    *,
    link: str | None = None,
    rows: Sequence[int] | None = None,
    weights: Any = None,
) -> Ellipsoid:
    """Tip forces that joint torques with ‖τ‖ = ‖Jᵀ γ‖ = 1 hold at rest, without gravity [N, N m].

    `weights` also "torque_limits". At a singularity the structure bears forces without torques: a length is
    infinite.
    """
    robot = at_link(check.robot(robot), link)
    (q,) = check.joint_arrays(robot, q=q)
    J, names = _jacobian(robot, q, rows)
    w, unit = _weights(robot, weights, "torque", "torques")
    to_torques = J.swapaxes(-1, -2)
    axes, lengths = _preimage(to_torques / w[:, None], J, np.inf)
    return Ellipsoid(
        "force", f"tip forces at rest, {unit}", names, np.zeros(J.shape[:-1]), axes, lengths, to_torques
    )


def manipulability(
    robot: Robot, q: Any, *, link: str | None = None, rows: Sequence[int] | None = None
) -> np.ndarray:
    """The manipulability measure w = √det(J Jᵀ) (3.56) at postures (..., n), (...); 0 at a singularity."""
    return velocity_ellipsoid(robot, q, link=link, rows=rows).measure


def _jacobian(robot: Robot, q: np.ndarray, rows: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """The rows of J that are asked for, and their names."""
    chosen = moving_rows(robot) if rows is None else checked_rows("geometric", rows)
    J = np.asarray(robot.jacobian(q))[..., list(chosen), :]
    return J, TipTask((robot,), "geometric", chosen).names


def _weights(
    robot: Robot, weights: Any, quantity: Literal["torque", "velocity"], plural: str
) -> tuple[np.ndarray, str]:
    """One weight per joint, and the name of the unit of torque or velocity."""
    if weights is None:
        return np.ones(robot.n), f"{plural} of unit norm"
    limits = f"{quantity}_limits"
    if isinstance(weights, str):
        if weights != limits:
            raise AnalysisError(
                f"weights: found {shown(weights)}; allowed: {limits!r}, a number, one per joint"
            )
        values = getattr(joint_limits(robot), quantity)
        if missing := [joint_name(robot, int(i)) for i in np.flatnonzero(~np.isfinite(values))]:
            raise AnalysisError(f"weights: no {quantity} limit is given for {', '.join(missing)}")
        return values, f"{plural} of unit norm when divided by their limits"
    expected = f"a positive number, {robot.n} of them, or {limits!r}"
    values = check.floats("weights", weights, expected)
    if values.shape not in ((), (1,), (robot.n,)) or not (np.isfinite(values) & (values > 0)).all():
        raise AnalysisError(f"weights: expected {expected}, found {shown(weights)}")
    text = f"{plural} of unit norm when divided by {values.tolist()}"
    return np.broadcast_to(values, (robot.n,)), text


def _image(
    kind: str, description: str, names: tuple[str, ...], centre: np.ndarray, shape: np.ndarray, w: np.ndarray
) -> Ellipsoid:
    """The set of all shape · u (m rows, n columns) with ‖u‖ ≤ 1; the joints do w · u."""
    U, s, _ = np.linalg.svd(shape, full_matrices=shape.shape[-2] > shape.shape[-1])
    s = np.where(s > RANK * s[..., :1], s, 0.0)
    lengths = np.concatenate([s, np.zeros((*s.shape[:-1], U.shape[-1] - s.shape[-1]))], -1)
    to_joints = w[:, None] * np.linalg.pinv(shape, rcond=RANK)
    return Ellipsoid(kind, description, names, centre, U, lengths, to_joints)


def _preimage(M: np.ndarray, J: np.ndarray, beyond: float) -> tuple[np.ndarray, np.ndarray]:
    """Axes and lengths, longest first, of the e with ‖M e‖ = 1, M (..., n, m).

    M loses rank where J does; along those directions the length is `beyond`.
    """
    m = J.shape[-2]
    _, s, Vt = np.linalg.svd(M, full_matrices=m > J.shape[-1])
    s = np.concatenate([s, np.zeros((*s.shape[:-1], m - s.shape[-1]))], -1)
    of_J = np.linalg.svd(J, compute_uv=False)
    rank = (of_J > RANK * of_J[..., :1]).sum(-1)
    inside = np.arange(m) < rank[..., None]
    with np.errstate(divide="ignore", over="ignore"):  # torques of 1e308 accelerate without end
        lengths = np.where(inside, 1 / np.where(inside, s, 1.0), beyond)
    order = np.argsort(-lengths, axis=-1, kind="stable")
    axes = np.take_along_axis(Vt.swapaxes(-1, -2), order[..., None, :], -1)
    return axes, np.take_along_axis(lengths, order, -1)
