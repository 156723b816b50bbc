"""The torques of a motion by how they grow with its speed.

At a rate ṙ of the motion's own time, changing by r̈, the torques are those of section 7.7 with friction:
ṙ² τ_s + ṙ F_v q̇ + dry + static + r̈ B q̇, of which (7.126) has the first and the last. Cubic friction grows
with ṙ³; Stribeck friction fades by exp(−(ṙ v/v_s)²); load friction is a part of the torques without friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.loads import Loaded
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts
from armdyn.robot.wrenches import label

SteadyWrench: TypeAlias = np.ndarray | dict[str, np.ndarray] | None  # (6,) at the tip, or by link


@dataclass(frozen=True)
class SpeedParts:
    """Parts of the torques (N, n) at N states; at the motion's own speed they add up to inverse dynamics."""

    squared: np.ndarray  # B q̈ + C q̇, τ_s of (7.123): grows with the square of the rate
    linear: np.ndarray  # F_v q̇: grows with the rate
    dry: np.ndarray  # Coulomb friction, and Stribeck friction near rest: depends only on the direction
    static: np.ndarray  # gravity, offsets, wrenches
    offset: np.ndarray  # the part of `static` that is friction
    cubed: np.ndarray  # cubic friction: grows with the third power of the rate
    level: np.ndarray  # (N, E, n) Stribeck friction near rest, of each of E surfaces
    pace: np.ndarray  # (N, E, 1) (v/v_s)²: what is left of it is exp(−pace) at the motion's own speed
    load: np.ndarray  # Fl s: load friction in parts of |τ_r|, the torque without friction

    @property
    def is_parabola(self) -> bool:
        """Whether torques are parabolas in the rate."""
        return not (self.cubed.any() or self.level.any() or self.load.any())

    def torque(self, rate: Any = 1.0, further: Any = 0.0) -> np.ndarray:
        """Torques (N, n) at a constant rate, or one per state (N, 1), of the motion's own time.

        `further` (N, n) is what a changing rate adds to τ_r.
        """
        if self.is_parabola:
            total = rate * (rate * self.squared + self.linear) + self.dry + self.static
            return np.asarray(total + further)
        rigid = rate * rate * self.squared + self.static - self.offset + further
        friction = rate * (rate * rate * self.cubed + self.linear) + self.dry + self.offset
        friction = friction + self.load * np.abs(rigid)
        square = np.asarray(rate * rate)
        faded = np.expm1(-self.pace * (square[..., None] if square.ndim else square))
        return np.asarray(rigid + friction + (self.level * faded).sum(-2))


def speed_parts(robot: Robot, q: Any, qd: Any, qdd: Any, wrench: SteadyWrench = None) -> SpeedParts:
    """The parts at states (N, n), `wrench` being what the arm exerts on its surroundings all along."""
    friction = friction_parts(robot, q)
    zero = np.zeros_like(q)
    static = np.asarray(robot.inverse_dynamics(q, zero, zero, wrench))
    # Friction as in inverse dynamics: where a surface hardly moves, rounding decides its direction.
    rubbing = np.asarray(robot.friction(qd, q=q)) - friction.offset
    linear, cubed = friction.linear(qd), friction.cubed(qd)
    dry = rubbing - linear - cubed - friction.fading(qd)
    loaded = np.asarray(robot.inverse_dynamics(q, qd, qdd, wrench)) - rubbing - friction.offset
    squared = friction.rigid(loaded, qd) - (static - friction.offset)
    terms, speed = friction.stribeck, friction.stribeck.speed(qd)
    level = (terms.coefficient * np.sign(speed))[..., None] * terms.rows
    pace = ((speed / terms.velocity) ** 2)[..., None]
    offset, load = np.broadcast_to(friction.offset, q.shape), friction.shares_of(qd)
    return SpeedParts(squared, linear, dry, static, offset, cubed, level, pace, load)


def loaded_parts(
    loaded: Loaded,
    t: np.ndarray,
    states: tuple[np.ndarray, np.ndarray, np.ndarray],
    wrench: SteadyWrench,
    before: np.ndarray | None = None,
) -> SpeedParts:
    """The parts at states (N, …, n) of instants t (N,), with what the arm carries then.

    `before` (N,) says which side of an instant is meant, as for `Loaded.index`.
    """
    if not loaded.loads or not len(t):
        return speed_parts(loaded.robot, *states, wrench)
    result: dict[str, np.ndarray] = {}
    for mask, robot in loaded.groups(t, before):
        q, qd, qdd = (x[mask] for x in states)
        for name, x in vars(speed_parts(robot, q, qd, qdd, wrench)).items():
            result.setdefault(name, np.empty((len(t), *x.shape[1:])))[mask] = x
    return SpeedParts(**result)


def check_robot(robot: Robot, trajectory: Trajectory) -> None:
    """Refuse a trajectory that is not one of this robot's."""
    check.robot(robot)
    if not isinstance(trajectory, Trajectory):
        raise MotionError(f"trajectory: expected a Trajectory, found {type(trajectory).__name__}")
    if trajectory.n != robot.n:
        raise MotionError(f"trajectory: it moves {trajectory.n} joints, but {robot.name} has {robot.n}")


def check_timed(robot: Robot, trajectory: Trajectory) -> None:
    """The same, and refuse robots on some of whose coordinates no torque acts."""
    check.robot(robot)
    if robot.model.elastic:
        name = robot.model.elastic[0].joint_label
        raise MotionError(
            f"{robot.name}: no torque acts on the links of elastic joints ('{name}'), so a path of all "
            "coordinates cannot be timed by limits of torque; elastic_feedforward gives the torques for a "
            "motion of the links, and robot.with_rigid_joints() can be timed"
        )
    check_robot(robot, trajectory)


def steady_wrench(robot: Robot, wrench: Any) -> SteadyWrench:
    """h_e (6,) as an array, or by link as arrays; None where none is given."""
    found = check.wrenches(robot, wrench, None)
    for link, h in found.items():
        if h.shape != (6,):
            name = "wrench" if link is None else label(link)
            raise MotionError(
                f"{name}: found shape {h.shape}; six numbers, force and then moment, the same all along, "
                "are expected"
            )
    if None in found:
        return found[None]
    return {link: h for link, h in found.items() if link is not None} or None
