"""Linear dynamic scaling (section 7.7): the whole motion slower, or faster, by one factor.

A motion that takes c times as long needs torques τ_s/c² + F_v q̇/c + dry + static. With the rate k = 1/c
every joint and sample asks |τ_s k² + F_v q̇ k + rest| ≤ limit; `rates` finds the largest k for all of them.
With Stribeck, cubic or load friction the torques are no parabolas in k, and k is searched for. Motors at
their shafts are further rows of the same kind (`limits`). Dwells are not scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.directions import beside_turns
from armdyn.motion.timing.dwells import stretched, timed
from armdyn.motion.timing.limits import Limit, Limits, limits_for
from armdyn.motion.timing.rates import Rate, largest_rate, searched_rate
from armdyn.motion.timing.speed_parts import (
    SpeedParts,
    SteadyWrench,
    check_timed,
    loaded_parts,
    steady_wrench,
)
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.output import Shown, stage
from armdyn.robot import Robot
from armdyn.robot.friction import dry_surfaces, friction_parts, surface_speeds
from armdyn.robot.joints import JointLimits
from armdyn.robot.motors import ShaftLimits

AtSamples = TypeVar("AtSamples", Samples, SpeedParts)
LEAST = 200  # steps, at least, at which a motion is checked


@dataclass(frozen=True)
class Scaled(Shown):
    """A motion scaled linearly in time to meet limits.

    `kind`, `joint` (counted from 0) and `instant` tell the limit that keeps it from being faster: "torque",
    "velocity" or "acceleration" of a joint, or "motor torque" or "motor velocity"; then `joint` is the number
    of the motor. Of a joint that follows others it is "follower velocity" or "follower acceleration", and
    `joint` its number in `robot.joints`. They are None where the motion was within its limits and stayed as
    it was.
    """

    factor: float  # c: the scaled motion takes c times as long, dwells left out
    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (N,) the instants at which limits are held [s]
    torque: np.ndarray = field(repr=False)  # (N, n) torques of the scaled motion at t [N m or N]
    limits: JointLimits = field(repr=False)
    kind: str | None
    joint: int | None
    instant: float | None  # of the scaled motion [s]
    motor_limits: ShaftLimits = field(repr=False)

    @property
    def limited_by(self) -> Limit | None:
        """The limit that keeps the motion from being faster; `limited_by.name(robot)` names its owner."""
        return None if self.kind is None or self.joint is None else Limit(self.kind, self.joint)


@check.computable()
@stage("scaling")
def scale_to_limits(
    robot: Robot,
    trajectory: Trajectory,
    *,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    motor_torque: Any = None,
    motor_velocity: Any = None,
    wrench: Any = None,
    faster: bool = False,
) -> Scaled:
    """The motion slowed down no more than the limits demand: c is the least factor ≥ 1 that meets them all.

    With faster=True it may also be sped up: c is the least factor at all. The limits are the robot's own
    unless given here (one number, or one per joint; infinite for none), those of the motors at their shafts
    included (`motor_torque`, `motor_velocity`: one number, or one per motor). They are held at the samples of
    the trajectory (closer ones, where these are fewer than 200), at its knots and on both sides of every jump
    of its acceleration. Torque limits are also held just before and just after a joint starts, stops or
    reverses: dry friction acts there, but not at the instant itself. `wrench` (6,) is what the tip exerts on
    its surroundings all along, or {link: (6,)} what links exert. Declared dwells last as long as they did;
    what the arm carries (`trajectory.loads`) counts while it is carried.
    """
    check_timed(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration, motor_torque, motor_velocity)
    return scaled_within(robot, trajectory, limits, steady_wrench(robot, wrench), faster)


def scaled_within(
    robot: Robot, trajectory: Trajectory, limits: Limits, wrench: SteadyWrench, faster: bool
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
    law, when = stretched(trajectory, factor)
    label = f"{trajectory.motion.label}, {factor:.6g} times as long"
    limit, sample = (None, None) if rate.row is None else place_of(rate.row, limits, samples)[:2]
    t = when(samples.t)
    return Scaled(
        factor=factor,
        trajectory=Trajectory(timed(trajectory, law, label, when), trajectory.step),
        t=t,
        torque=parts.torque(rate.value),
        limits=limits.joint,
        kind=None if limit is None else limit.kind,
        joint=None if limit is None else limit.index,
        instant=None if sample is None else float(t[sample]),
        motor_limits=limits.motor,
    )


def _looked_at(robot: Robot, trajectory: Trajectory, wrench: SteadyWrench) -> tuple[Samples, SpeedParts]:
    """The samples at which limits are held and the torques there, also beside starts, stops and reversals."""
    samples = trajectory.samples(min(trajectory.step, trajectory.duration / LEAST), knots=True)
    loaded = trajectory.loaded(robot)
    parts = loaded_parts(loaded, samples.t, (samples.q, samples.qd, samples.qdd), wrench)
    if not dry_surfaces(robot):
        return samples, parts
    beside = beside_turns(trajectory, samples, surface_speeds(robot))
    few = beside.samples
    friction = friction_parts(robot, few.q)
    further = replace(
        loaded_parts(loaded, few.t, (few.q, few.qd, few.qdd), wrench, beside.before),
        dry=friction.dry_of(beside.signs),
        load=friction.shares(beside.signs),
    )
    order = np.argsort(np.concatenate([samples.t, few.t]), kind="stable")
    return _joined(samples, few, order), _joined(parts, further, order)


def _joined(one: AtSamples, other: AtSamples, order: np.ndarray) -> AtSamples:
    """The rows of two sets of samples, in the order of time."""
    columns = zip(vars(one).values(), vars(other).values(), strict=True)
    return type(one)(*(np.concatenate(x)[order] for x in columns))


def rate_within(limits: Limits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
    """The largest rate of the motion's own time that meets all limits at the samples."""
    if not parts.is_parabola:
        return _searched(limits, parts, samples, most)
    velocity, acceleration = _moved(limits, samples)
    zero = np.zeros_like(velocity)
    powers = (
        (parts.squared, parts.linear, parts.dry + parts.static),
        (zero, velocity, zero),
        (acceleration, zero, zero),
    )
    found = [[rows.of(x) for x in row] for rows, row in zip(limits.kinds, powers, strict=True)]
    A, B, C = (np.concatenate([row[k].ravel() for row in found]) for k in range(3))
    bounds = np.concatenate([np.tile(rows.bound, len(samples.t)) for rows in limits.kinds])
    return largest_rate(A, B, C, bounds, most)


def _searched(limits: Limits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
    """As `rate_within`, for torques that are any function of the rate."""

    velocity, acceleration = _moved(limits, samples)

    def shares(rate: float) -> np.ndarray:
        values = (parts.torque(rate), rate * velocity, rate * rate * acceleration)
        pairs = zip(limits.kinds, values, strict=True)
        return np.concatenate([rows.share(value).ravel() for rows, value in pairs])

    return searched_rate(shares, most)


def _moved(limits: Limits, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """The velocities and accelerations at samples that limits are held against."""
    velocity = limits.velocities(samples.q, samples.qd)
    return velocity, limits.accelerations(samples.q, samples.qd, samples.qdd)


def place_of(row: int, limits: Limits, samples: Samples) -> tuple[Limit, int, int]:
    """The limit, the sample and the place among rows of its kind, of a row of `rate_within`."""
    for rows in limits.kinds:
        count = len(rows.bound)
        if row < len(samples.t) * count:
            return rows.limits[row % count], row // count, row % count
        row -= len(samples.t) * count
    raise IndexError(row)


def _impossible(robot: Robot, samples: Samples, parts: SpeedParts, limits: Limits, rate: Rate) -> str:
    """What makes every rate impossible: at some joint and sample even standing still needs too much."""
    assert rate.row is not None
    rows = limits.torque
    limit, sample, row = place_of(rate.row, limits, samples)
    bound, unit = rows.bound[row], limit.unit(robot)

    def of_row(x: np.ndarray) -> np.ndarray:
        return rows.of(x[sample])[row : row + 1]

    rest = float(of_row(parts.torque(0.0))[0])
    if parts.is_parabola:
        A, B, C = (of_row(x) for x in (parts.squared, parts.linear, parts.torque(0.0)))
        allowed = largest_rate(A, B, C, np.atleast_1d(bound), np.inf)
    else:
        allowed = searched_rate(lambda k: np.abs(of_row(parts.torque(k))) / bound, np.inf)
    hint = "no speed of this motion is possible"
    if allowed.value > rate.tried:
        who = "motor" if limit.of_motor else "joint"
        hint = f"the {who} can pass there only at high speed, up to {allowed.value:.4g} times the given one"
    needs, most = rows.as_limited(row, rest), abs(rows.as_limited(row, bound))
    return (
        f"{limit.name(robot)} at t = {samples.t[sample]:.6g} s of the given motion: gravity and dry "
        f"friction alone need {needs:.6g} {unit}, the limit is {most:.6g} {unit}; "
        f"slowing down does not help, {hint}"
    )
