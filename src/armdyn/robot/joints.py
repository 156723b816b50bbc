"""A robot's joints: their names, units and limits. Joints that follow others are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from armdyn.expression import Expression
from armdyn.kernels.arrays import Floats, Numbers
from armdyn.model import Mechanism
from armdyn.model.parts import Limits, Link
from armdyn.model.robot_model import RobotModel
from armdyn.names import listed, quoted
from armdyn.program import Program
from armdyn.robot.assembly import Assembly, Related, turning_positions


class RobotLike(Protocol):
    """What the modules that `Robot` itself calls ask of a robot; each member is as `Robot` says."""

    @property
    def model(self) -> RobotModel: ...
    @property
    def name(self) -> str: ...
    @property
    def symbols(self) -> Mapping[str, float | None]: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def parameters(self) -> np.ndarray: ...
    @property
    def assembly(self) -> Assembly: ...
    def joint_positions(self, q: Numbers) -> Floats: ...
    def joint_velocities(self, qd: Numbers, q: Numbers | None = None) -> Floats: ...
    def program(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Program: ...


@dataclass(frozen=True)
class Units:
    """How a kind of joint is measured, and what its torque is called."""

    position: str
    torque: str
    effort: str

    @property
    def velocity(self) -> str:
        return f"{self.position}/s"

    @property
    def acceleration(self) -> str:
        return f"{self.position}/s²"

    @property
    def jerk(self) -> str:
        return f"{self.position}/s³"

    def __iter__(self) -> Iterator[str]:
        """Of position, velocity, acceleration, torque."""
        return iter((self.position, self.velocity, self.acceleration, self.torque))


UNITS = {"revolute": Units("rad", "N m", "torque"), "prismatic": Units("m", "N", "force")}


def joint_units(robot: RobotLike, joint: int) -> Units:
    return UNITS[robot.model.coordinates[joint].joint]


def torque_unit(robot: RobotLike, joint: int) -> str:
    return joint_units(robot, joint).torque


def passive_text(robot: RobotLike) -> str:
    """A clause for torques along a motion, where nothing drives some of the coordinates; else empty."""
    names = [quoted(link.joint_label) for link in robot.model.coordinates if not link.actuated]
    what = "the torque there is what the motion would need"
    return f"nothing drives {listed(names)} (actuated = false): {what}" if names else ""


def joint_name(robot: RobotLike, joint: int) -> str:
    """How messages call a joint: its number, counted from one, and its name."""
    return f"joint {joint + 1} ('{robot.model.coordinates[joint].joint_label}')"


def joint_descriptions(robot: RobotLike) -> list[str]:
    """How files call the joints: the name and what the joint does."""
    return [f"{link.joint_label} ({link.joint})" for link in robot.model.coordinates]


def revolute_joints(robot: RobotLike) -> np.ndarray:
    """(n,): whether a joint turns; the others slide."""
    return np.array([link.joint == "revolute" for link in robot.model.coordinates])


def whole_turns(robot: RobotLike) -> np.ndarray:
    """(n,): whether a full turn of a joint brings back the posture, joints that follow it included."""
    return robot.assembly.turning if robot.model.loops else turning_positions(robot.model)


@dataclass(frozen=True)
class JointLimits:
    """Limits of the n joints, (n,) each; infinite where the description gives none.

    `torque`, `velocity`, `acceleration` and `jerk` bound magnitudes. The limits of joints that follow one
    other joint limit that one, but for torque, which such joints do not have. Those of joints that follow
    several, or by loops, are not among them: see `Followers`.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    torque: np.ndarray


def joint_limits(robot: RobotLike) -> JointLimits:
    """The limits in a robot's description [rad or m, and per s, s², s³; N m or N]."""
    model = robot.model
    found = _limits_of(model, model.coordinates)
    return _with_followers(model, found) if model.relations and not model.loops else found


def _limits_of(model: RobotModel, links: Sequence[Link]) -> JointLimits:
    def magnitudes(found: list[Expression | None]) -> np.ndarray:
        return np.array([np.inf if x is None else model.number(x) for x in found])

    ranges = [link.limits.position for link in links]
    return JointLimits(
        lower=np.array([-np.inf if r is None else model.number(r[0]) for r in ranges]),
        upper=np.array([np.inf if r is None else model.number(r[1]) for r in ranges]),
        velocity=magnitudes([link.limits.velocity for link in links]),
        acceleration=magnitudes([link.limits.acceleration for link in links]),
        jerk=magnitudes([link.limits.jerk for link in links]),
        torque=magnitudes([link.limits.torque for link in links]),
    )


def _with_followers(model: RobotModel, own: JointLimits) -> JointLimits:
    """With the limits of joints q_j = k x_i + s₀, as limits of x_i."""
    every, dependence = _limits_of(model, model.moving), model.dependence
    for j, (row, offset) in enumerate(zip(dependence.rows, dependence.offsets, strict=True)):
        if len(row) != 1 or j in dependence.independent or not model.number(row[0][1]):
            continue
        i, k, shift = row[0][0], model.number(row[0][1]), model.number(offset)
        ends = sorted(((every.lower[j] - shift) / k, (every.upper[j] - shift) / k))
        own.lower[i], own.upper[i] = max(own.lower[i], ends[0]), min(own.upper[i], ends[1])
        for name in ("velocity", "acceleration", "jerk"):
            bound = getattr(own, name)
            bound[i] = min(bound[i], getattr(every, name)[j] / abs(k))
    return own


@dataclass(frozen=True)
class Followers:
    """The joints that follow several coordinates, or follow by loops, and have limits."""

    robot: RobotLike
    joints: tuple[int, ...]  # among `robot.joints`
    limits: JointLimits  # theirs, (f,) each; without torques

    @property
    def links(self) -> list[Link]:
        return [self.robot.model.moving[j] for j in self.joints]

    @property
    def linear(self) -> Related | None:
        """S (f, n) and s₀ (f,) of q_f = S x + s₀, where this holds: not with loops."""
        if self.robot.model.loops:
            return None
        S, s0 = Related.of(self.robot.model)
        return Related(S[list(self.joints)], s0[list(self.joints)])

    def positions(self, q: np.ndarray) -> np.ndarray:
        """(..., f) at q (..., n)."""
        return np.asarray(self.robot.joint_positions(q)[..., list(self.joints)])

    def excess(self, q: np.ndarray) -> np.ndarray:
        """How far they are beyond their ranges at q (..., n), (..., f); negative within."""
        x = self.positions(q)
        return np.asarray(np.maximum(x - self.limits.upper, self.limits.lower - x))

    def velocities(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(..., f) at q and q̇ (..., n)."""
        return np.asarray(self.robot.joint_velocities(qd, q)[..., list(self.joints)])

    def accelerations(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """(..., f) at q, q̇ and q̈ (..., n)."""
        found = self.robot.assembly.accelerations(q, qd, qdd) if self.robot.model.loops else qdd
        return np.asarray(Related.of(self.robot.model).velocities(found)[..., list(self.joints)])

    def name(self, k: int) -> str:
        """How messages call the k-th of them."""
        return follower_name(self.robot, self.joints[k])


def follower_name(robot: RobotLike, joint: int) -> str:
    """How messages call a joint that follows, by its number among `robot.joints`."""
    return f"joint '{robot.model.moving[joint].joint_label}', which follows others,"


def followers(robot: RobotLike) -> Followers | None:
    """The joints that follow several others, or by loops, and have limits; None if there are none."""
    limited = tuple(
        j for j in _following(robot.model) if replace(robot.model.moving[j].limits, torque=None) != Limits()
    )
    if not limited:
        return None
    return Followers(robot, limited, _limits_of(robot.model, [robot.model.moving[j] for j in limited]))


def _following(model: RobotModel) -> list[int]:
    """The joints that are not coordinates, and whose limits are not those of one coordinate."""
    if model.loops:
        own = {link.name for link in model.coordinates}
        return [j for j, link in enumerate(model.moving) if link.name not in own]
    rows = model.dependence.rows if model.relations else ()
    return [j for j, row in enumerate(rows) if len(row) > 1]
