"""Linear dynamic scaling (section 7.7): the whole motion slower, or faster, by one factor.

A motion that takes c times as long needs torques τ_s/c² + F_v q̇/c + dry + static. With the rate k = 1/c
every joint and sample asks |τ_s k² + F_v q̇ k + rest| ≤ limit; `rates` finds the largest k for all of them.
With Stribeck, cubic or load friction the torques are no parabolas in k, and k is searched for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.directions import beside_turns
from armdyn.motion.timing.rates import Rate, largest_rate, searched_rate
from armdyn.motion.timing.speed_parts import (
    SpeedParts,
    SteadyWrench,
    check_robot,
    limits_for,
    speed_parts,
    steady_wrench,
)
from armdyn.motion.trajectories.composed import composed
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.piecewise import Profile, together
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.output import Shown
from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts
from armdyn.robot.joints import JointLimits, joint_name, torque_unit

Rows = TypeVar("Rows", Samples, SpeedParts)
KINDS = ("torque", "velocity", "acceleration")
LEAST = 200  # steps, at least, at which a motion is checked


@dataclass(frozen=True)
class Scaled(Shown):
    """A motion scaled linearly in time to meet limits.

    `kind`, `joint` (counted from 0) and `instant` tell the limit that keeps it from being faster: "torque",
    "velocity" or "acceleration". They are None where the motion was within its limits and stayed as it was.
    """

    factor: float  # c: the scaled motion takes c times as long
    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (N,) the instants at which limits are held [s]
    torque: np.ndarray = field(repr=False)  # (N, n) torques of the scaled motion at t [N m or N]
    limits: JointLimits = field(repr=False)
    kind: str | None
    joint: int | None
    instant: float | None  # of the scaled motion [s]


@check.computable()
def scale_to_limits(
    robot: Robot,
    trajectory: Trajectory,
    *,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    wrench: Any = None,
    faster: bool = False,
) -> Scaled:
    """The motion slowed down no more than the limits demand: c is the least factor ≥ 1 that meets them all.

    With faster=True it may also be sped up: c is the least factor at all. The limits are the robot's own
    unless given here (one number, or one per joint; infinite for none). They are held at the trajectory's
    samples (closer ones, where these are fewer than 200), at its knots and on both sides of every jump of its
    acceleration. Torque limits are also held just before and just after a joint starts, stops or reverses:
    dry friction acts there, but not at the instant itself. `wrench` (6,) is what the tip exerts on its
    surroundings all along, or {link: (6,)} what links exert.
    """
    check_robot(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration)
    return scaled_within(robot, trajectory, limits, steady_wrench(robot, wrench), faster)


def scaled_within(
    robot: Robot, trajectory: Trajectory, limits: JointLimits, wrench: SteadyWrench, faster: bool
) -> Scaled:
    """As `scale_to_limits`, with limits and wrench that are checked."""
    samples, parts = _looked_at(robot, trajectory, wrench)
    rate = rate_within(limits, parts, samples, np.inf if faster else 1.0)
    if not np.isfinite(rate.value):
        raise MotionError(
            f"{robot.name}: no limit bounds this motion's speed; give torque=, velocity= or acceleration="
        )
    if rate.value <= 0:
        raise MotionError(_impossible(robot, samples, parts, limits, rate))
    factor = 1 / rate.value
    kind, sample, joint = (None,) * 3 if rate.row is None else place_of(rate.row, samples)
    return Scaled(
        factor=factor,
        trajectory=Trajectory(_slower(trajectory.motion, factor), trajectory.step),
        t=factor * samples.t,
        torque=parts.torque(rate.value),
        limits=limits,
        kind=kind,
        joint=joint,
        instant=None if sample is None else float(factor * samples.t[sample]),
    )


def _slower(motion: Motion, factor: float) -> Motion:
    """The same motion taking `factor` times as long."""
    line = Profile(np.array([0.0, factor * motion.duration]), np.zeros(1), np.array([[0.0, 1 / factor]]))
    label = f"{motion.label}, {factor:.6g} times as long"
    return composed(motion, together([line], label), label, factor * motion.knots, factor * motion.jumps)


def _looked_at(robot: Robot, trajectory: Trajectory, wrench: SteadyWrench) -> tuple[Samples, SpeedParts]:
    """The samples at which limits are held and the torques there, also beside starts, stops and reversals."""
    friction = friction_parts(robot)
    samples = trajectory.samples(min(trajectory.step, trajectory.duration / LEAST), knots=True)
    parts = speed_parts(robot, samples.q, samples.qd, samples.qdd, wrench)
    if not len(friction.rows):
        return samples, parts
    beside = beside_turns(trajectory, samples, friction.rows)
    few = beside.samples
    further = replace(
        speed_parts(robot, few.q, few.qd, few.qdd, wrench),
        dry=friction.dry_of(beside.signs),
        load=friction.shares(beside.signs),
    )
    order = np.argsort(np.concatenate([samples.t, few.t]), kind="stable")
    return _joined(samples, few, order), _joined(parts, further, order)


def _joined(one: Rows, other: Rows, order: np.ndarray) -> Rows:
    """The rows of two sets of samples, in the order of time."""
    columns = zip(vars(one).values(), vars(other).values(), strict=True)
    return type(one)(*(np.concatenate(x)[order] for x in columns))


def rate_within(limits: JointLimits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
    """The largest rate of the motion's own time that meets all limits at the samples."""
    if not parts.is_parabola:
        return _searched(limits, parts, samples, most)
    zero = np.zeros_like(samples.q)
    rows = [
        (parts.squared, parts.linear, parts.dry + parts.static, limits.torque),
        (zero, samples.qd, zero, limits.velocity),
        (samples.qdd, zero, zero, limits.acceleration),
    ]
    A, B, C = (np.concatenate([row[k] for row in rows]).ravel() for k in range(3))
    bounds = np.concatenate([np.broadcast_to(row[3], zero.shape) for row in rows]).ravel()
    return largest_rate(A, B, C, bounds, most)


def _searched(limits: JointLimits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
    """As `rate_within`, for torques that are any function of the rate."""

    def shares(rate: float) -> np.ndarray:
        pairs = (
            (parts.torque(rate), limits.torque),
            (rate * samples.qd, limits.velocity),
            (rate * rate * samples.qdd, limits.acceleration),
        )
        return np.concatenate([np.abs(value) / limit for value, limit in pairs]).ravel()

    return searched_rate(shares, most)


def place_of(row: int, samples: Samples) -> tuple[str, int, int]:
    """The kind of limit, the sample and the joint of a row of `rate_within`."""
    kind, sample, joint = np.unravel_index(row, (len(KINDS), *samples.q.shape))
    return KINDS[int(kind)], int(sample), int(joint)


def _impossible(robot: Robot, samples: Samples, parts: SpeedParts, limits: JointLimits, rate: Rate) -> str:
    """What makes every rate impossible: at some joint and sample even standing still needs too much."""
    assert rate.row is not None
    _, sample, joint = place_of(rate.row, samples)
    place, unit, limit = (sample, joint), torque_unit(robot, joint), limits.torque[joint]
    rest = parts.torque(0.0)[place]
    allowed = searched_rate(lambda k: np.abs(parts.torque(k)[place]) / np.atleast_1d(limit), np.inf)
    if parts.is_parabola:
        A, B, C, most = (np.atleast_1d(x) for x in (parts.squared[place], parts.linear[place], rest, limit))
        allowed = largest_rate(A, B, C, most, np.inf)
    hint = "no speed of this motion is possible"
    if allowed.value > rate.tried:
        hint = f"the joint can pass there only at high speed, up to {allowed.value:.4g} times the given one"
    return (
        f"{joint_name(robot, joint)} at t = {samples.t[sample]:.6g} s of the given motion: gravity and dry "
        f"friction alone need {rest:.6g} {unit}, the limit is {limit:.6g} {unit}; "
        f"slowing down does not help, {hint}"
    )
