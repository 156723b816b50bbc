"""Linear dynamic scaling (section 7.7): the whole motion slower, or faster, by one factor.

A motion that takes c times as long needs torques τ_s/c² + F_v q̇/c + dry + static. With the rate k = 1/c
every joint and sample asks |τ_s k² + F_v q̇ k + rest| ≤ limit; `rates` finds the largest k for all of them.
With friction that is curved over speed or depends on the load they are no parabolas in k: k is searched for.
Motors at their shafts are further rows of the same kind (`limits`). Dwells are not scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from armdyn.display import Shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.timing.limits import Limit, MotionLimits, limits_for
from armdyn.motion.timing.retime import stretched, timed
from armdyn.motion.timing.several import of_several
from armdyn.motion.torques import (
    SpeedParts,
    SteadyWrench,
    beside_turns,
    check_timed,
    joined,
    loaded_parts,
    steady_wrench,
)
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.progress import stage
from armdyn.robot import Robot
from armdyn.robot.drives import ShaftLimits
from armdyn.robot.friction import dry_surfaces, friction_parts, surface_speeds
from armdyn.robot.joints import JointLimits

# ------------------------------------------------------------------------------------------------------------
# The largest rate k at which parabolas stay within limits: |A k² + B k + C| ≤ limit for all rows.
#
# The rates k that one row allows may form two intervals. The largest common rate is found from above: where
# a row is beyond its limit at k, the next smaller root of that row is the next candidate. No admissible rate
# is skipped, and the search ends because each root is used at most once. Other functions of the rate are
# looked at on a fine grid of rates, and between the two at which they come within their limits.


ROUNDING = 1e-13  # of a limit and of a row's terms: what rounding may add to a row that just meets it


@dataclass(frozen=True)
class Rate:
    """The largest rate, 0 where there is none and infinite where nothing bounds it.

    `row` is the row that bounds it, or the row that no rate below `tried` satisfies; None where it is `most`.
    """

    value: float
    row: int | None
    tried: float


def largest_rate(A: np.ndarray, B: np.ndarray, C: np.ndarray, limit: np.ndarray, most: float) -> Rate:
    """The largest k in (0, most] with |A k² + B k + C| ≤ limit, rows (m,) each; `most` may be infinite."""
    kept = np.flatnonzero(np.isfinite(limit))
    if kept.size < limit.size:
        A, B, C, limit = (x[kept] for x in (A, B, C, limit))
    k, row = most, None
    if not np.isfinite(k):
        tops = _outermost(A, B, C, limit)
        if not tops.size or not np.isfinite(tops.min()):
            return Rate(np.inf, None, k)
        row, k = int(tops.argmin()), float(tops.min())
    while k > 0:
        value = k * (k * A + B) + C
        bad = np.flatnonzero(np.abs(value) > limit)
        a, b, c = (np.abs(x[bad]) for x in (A, B, C))
        slack = ROUNDING * (k * (k * a + b) + (c + limit[bad]))
        bad = bad[np.abs(value[bad]) - limit[bad] > slack]
        if not bad.size:
            return Rate(k, None if row is None else int(kept[row]), k)
        sign = np.sign(value[bad])
        lower = _root_below(sign * A[bad], sign * B[bad], sign * C[bad] - limit[bad], k)
        first = int(lower.argmin())
        row, tried, k = int(bad[first]), k, float(lower[first])
        if k <= 0:
            return Rate(0.0, int(kept[row]), tried)
    return Rate(0.0, None if row is None else int(kept[row]), k)


LOWEST, HIGHEST, EACH = 1e-6, 1e6, 1.01  # the rates that are looked at, and the ratio between two of them


def searched_rate(shares: Callable[[float], np.ndarray], most: float) -> Rate:
    """The largest k in (0, most] at which no share (m,) of a limit is more than 1; `most` may be infinite.

    Rates are looked at from above, 1 % apart: an admissible range narrower than that may be overlooked.
    """
    top = min(most, HIGHEST)
    if (shares(top) <= 1 + ROUNDING).all():
        return Rate(most, None, most)
    bad, k = top, top / EACH
    while not (shares(k) <= 1).all():
        bad, k = k, k / EACH
        if k < LOWEST * min(top, 1.0):
            return Rate(0.0, int(np.argmax(shares(0.0))), bad)
    while bad - k > 1e-14 * bad:
        middle = (k + bad) / 2
        if middle in (k, bad):
            break
        if (shares(middle) <= 1).all():
            k = middle
        else:
            bad = middle
    return Rate(k, int(np.argmax(shares(bad))), top)


def _outermost(A: np.ndarray, B: np.ndarray, C: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The rate above which a row is beyond its limit for good, zero if at every rate; infinite if never."""
    rises = np.where(A != 0, np.sign(A), np.sign(B))
    roots = _root_below(rises * A, rises * B, rises * C - limit, np.inf)
    never = np.abs(C) - limit > ROUNDING * (np.abs(C) + limit)
    return np.where(rises == 0, np.where(never, 0.0, np.inf), roots)


def _root_below(A: np.ndarray, B: np.ndarray, C: np.ndarray, k: float) -> np.ndarray:
    """The largest root of A x² + B x + C in (0, k); 0 where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sum_ = -0.5 * (B + np.copysign(np.sqrt(B * B - 4 * A * C), B))  # no cancellation in either root
        roots = np.stack([sum_ / A, C / sum_])
        inside = np.isfinite(roots) & (roots > 0) & (roots < k)
    return np.asarray(np.where(inside, roots, 0.0).max(0, initial=0.0))


# ------------------------------------------------------------------------------------------------------------
# The scaled motion.


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


@of_several
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
    of its acceleration; between samples 1 ms apart a torque may pass its limit by some millionths. Torque
    limits are also held just before and just after a joint starts, stops or reverses: dry friction acts
    there, but not at the instant itself. `wrench` (6,) is what the tip exerts on
    its surroundings all along, or {link: (6,)} what links exert. Declared dwells last as long as they did;
    what the arm carries (`trajectory.loads`) counts while it is carried. Of a list of motions it is a list,
    each with a factor of its own, computed side by side.
    """
    check_timed(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration, motor_torque, motor_velocity)
    return scaled_within(robot, trajectory, limits, steady_wrench(robot, wrench), faster)


def scaled_within(
    robot: Robot, trajectory: Trajectory, limits: MotionLimits, wrench: SteadyWrench, faster: bool
) -> Scaled:
    """The scaled motion, as by `scale_to_limits`; limits and wrench are checked already."""
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
    columns = zip(vars(samples).values(), vars(few).values(), strict=True)
    return Samples(*(np.concatenate(x)[order] for x in columns)), joined([parts, further], order)


def rate_within(limits: MotionLimits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
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


def _searched(limits: MotionLimits, parts: SpeedParts, samples: Samples, most: float) -> Rate:
    """The largest rate, as by `rate_within`, for torques that are any function of the rate."""

    velocity, acceleration = _moved(limits, samples)

    def shares(rate: float) -> np.ndarray:
        values = (parts.torque(rate), rate * velocity, rate * rate * acceleration)
        pairs = zip(limits.kinds, values, strict=True)
        return np.concatenate([rows.share(value).ravel() for rows, value in pairs])

    return searched_rate(shares, most)


def _moved(limits: MotionLimits, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """The velocities and accelerations at samples that limits are held against."""
    velocity = limits.velocities(samples.q, samples.qd)
    return velocity, limits.accelerations(samples.q, samples.qd, samples.qdd)


def place_of(row: int, limits: MotionLimits, samples: Samples) -> tuple[Limit, int, int]:
    """The limit, the sample and the place among rows of its kind, of a row of `rate_within`."""
    for rows in limits.kinds:
        count = len(rows.bound)
        if row < len(samples.t) * count:
            return rows.limits[row % count], row // count, row % count
        row -= len(samples.t) * count
    raise IndexError(row)


def _impossible(robot: Robot, samples: Samples, parts: SpeedParts, limits: MotionLimits, rate: Rate) -> str:
    """Message where every rate is impossible: at some joint and sample even standing still needs too much."""
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
