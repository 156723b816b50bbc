"""`exceeded_limits`: which limits a motion exceeds, of joints, of those that follow them, and of motors.

All verbs of the command line, reports and tables of motor loads take their sentences and marks from here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.model import ModelError
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.limits import Limit
from armdyn.motion.torques import RecordedMotion, with_torques
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import followers, joint_limits

WITHIN = 1e-6  # in parts of a limit: what exceeds it by less is rounding
AT_RANGE = 1e-9  # rad or m, or of the largest position: the same for ranges of positions
JUMP = 1e-6  # of the largest acceleration: what changes by less at an instant does not jump


@dataclass(frozen=True)
class Exceeded:
    """A limit that a motion exceeds, and its largest value beyond it."""

    kind: str  # "position", "velocity", "acceleration", "jerk", "torque"; of motors "motor current" too
    index: int  # of the joint or motor, counted from 0; of a joint that follows, among `robot.joints`
    name: str  # how messages call it
    unit: str
    value: float  # the largest, with its sign; infinite for the jerk where the acceleration jumps
    lower: float
    upper: float
    time: float  # of that value [s]; NaN for one state
    since: float  # when the limit is first exceeded [s]

    @property
    def limit(self) -> float:
        """The limit passed; of magnitudes, a magnitude."""
        return self.lower if self.quantity == "position" and self.value < self.lower else self.upper

    @property
    def share(self) -> float:
        """The largest value in parts of the limit; of a position it means nothing."""
        return abs(self.value) / self.limit if self.limit else np.inf

    @property
    def of_motor(self) -> bool:
        return Limit(self.kind, self.index).of_motor

    @property
    def quantity(self) -> str:
        """The kind without the word that says whose it is."""
        return Limit(self.kind, self.index).quantity

    @property
    def text(self) -> str:
        """A sentence with the value, the limit and the instant."""
        at = "" if np.isnan(self.time) else f" at {self.time:.4g} s"
        if self.quantity == "position":
            ends = f"{self.lower:.6g} to {self.upper:.6g} {self.unit}"
            first = "" if np.isnan(self.since) else f" at {self.since:.4g} s"
            return f"{self.name} leaves its range of {ends}{first} and goes to {self.value:.6g} {self.unit}"
        if np.isinf(self.value):
            return f"{self.name}: the acceleration jumps{at}, beyond any limit of jerk"
        share = f"{100 * self.share:.4g} % of" if self.share < 10 else f"{self.share:.4g} times"
        value = f"{self.quantity} {abs(self.value):.6g} {self.unit}{at}"
        return f"{self.name.rstrip(',')}: {value}, {share} its limit of {self.limit:.6g} {self.unit}"

    def __str__(self) -> str:
        return self.text


def exceeded_limits(
    robot: Robot, motion: Trajectory | RecordedMotion, *, wrench: Any = None
) -> tuple[Exceeded, ...]:
    """The robot's limits that a motion exceeds, each with the largest value and the instant; () for none.

    Of joints: position, velocity, acceleration, jerk and torque; of motors at their shafts: velocity and
    torque or current, where they follow from those of the joints. `motion` is a Trajectory, whose torques are
    those of inverse dynamics with what the arm carries and a `wrench` all along, or the Run of one arm, whose
    accelerations are not judged.
    """
    t, q, qd, qdd, tau = with_torques(robot, motion, wrench)
    if qd.ndim > 2:
        raise MotionError(f"motion: found a run of a batch {qd.shape[1:-1]}; one arm is expected")
    return exceeded(robot, t, q, qd, qdd, tau)


def exceeded(
    robot: Robot,
    t: Any = np.nan,
    q: Any = None,
    qd: Any = None,
    qdd: Any = None,
    tau: Any = None,
) -> tuple[Exceeded, ...]:
    """Limits exceeded by states (N, n) at instants t (N,), or by one state (n,); what is None is not judged.

    q may also be all positions of closed chains. Speeds of motors and of joints that follow need it.
    """
    times = np.atleast_1d(np.asarray(t, float))
    q, qd, qdd, tau = (None if x is None else np.atleast_2d(np.asarray(x, float)) for x in (q, qd, qdd, tau))
    return (
        *_by_joints(robot, times, q, qd, qdd, tau),
        *_by_followers(robot, times, q, qd, qdd),
        *_by_motors(robot, times, q, qd, tau),
    )


def sentences(found: Sequence[Exceeded]) -> list[str]:
    """Sentences: one for each limit; one for all joints whose acceleration jumps though jerk is limited."""
    jumps = [one for one in found if np.isinf(one.value)]
    said = [one.text for one in found if one not in jumps]
    if len(jumps) == 1:
        said.append(jumps[0].text)
    elif jumps:
        joints = ", ".join(str(one.index + 1) for one in jumps)
        first = min(one.since for one in jumps)
        said.append(f"joints {joints}: accelerations jump, first at {first:.4g} s, beyond any limit of jerk")
    return said


def places(found: Sequence[Exceeded], kind: str) -> set[int]:
    """The joints or motors, counted from 0, whose limits of a kind are exceeded."""
    return {one.index for one in found if one.kind == kind}


Curve = np.ndarray | None  # (N, n); None where it is not judged


def _by_joints(
    robot: Robot, t: np.ndarray, q: Curve, qd: Curve, qdd: Curve, tau: Curve
) -> Iterator[Exceeded]:
    own = joint_limits(robot)
    if q is not None:
        free = robot.mechanism.free if q.shape[1] != robot.n else ()
        yield from _beyond(robot, t, "position", q[:, list(free)] if free else q, own.lower, own.upper)
    jerk = None if qdd is None or len(t) < 2 else _jerk(t, qdd)
    for kind, x in (("velocity", qd), ("acceleration", qdd), ("jerk", jerk), ("torque", tau)):
        if x is not None:
            yield from _beyond(robot, t, kind, x, -getattr(own, kind), getattr(own, kind))


def _jerk(t: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """(N, n) from one sample to the next; infinite where the acceleration jumps, also from rest."""
    h, change = np.diff(t)[:, None], np.diff(qdd, axis=0)
    least = JUMP * np.abs(qdd).max(0, initial=0.0)
    jumps = (h <= 0) & (np.abs(change) > least)
    long = h > 1e-3 * np.median(h)  # over less, rounding would count
    found = np.where(jumps, np.inf, np.divide(change, h, out=np.zeros_like(change), where=long))
    found = np.concatenate([found, found[-1:]])
    for end in (0, -1):
        found[end] = np.where(np.abs(qdd[end]) > least, np.inf, found[end])
    return found


def _by_followers(robot: Robot, t: np.ndarray, q: Curve, qd: Curve, qdd: Curve) -> Iterator[Exceeded]:
    others = followers(robot)
    if others is None or q is None:
        return
    limits, joints = others.limits, others.joints
    positions = others.positions(q)
    yield from _beyond(robot, t, "follower position", positions, limits.lower, limits.upper, joints)
    if qd is None:
        return
    moved = {"velocity": others.velocities(q, qd)}
    if qdd is not None:
        moved["acceleration"] = others.accelerations(q, qd, qdd)
    for kind, x in moved.items():
        bound = getattr(limits, kind)
        yield from _beyond(robot, t, f"follower {kind}", x, -bound, bound, joints)


def _by_motors(robot: Robot, t: np.ndarray, q: Curve, qd: Curve, tau: Curve) -> Iterator[Exceeded]:
    drives, limits = robot.drives, robot.drives.limits
    if qd is not None and q is not None and np.isfinite(limits.velocity).any():
        moved = robot.assembly.velocities(q, qd) if robot.model.loops else qd
        speed = moved @ drives.by_position.T
        yield from _beyond(robot, t, "motor velocity", speed, -limits.velocity, limits.velocity)
    if tau is None or not np.isfinite(limits.torque).any():
        return
    try:
        torque = tau @ drives.to_motors.T
    except ModelError:
        return  # they do not follow from those of the joints
    yield from _by_motor_torques(robot, t, torque)


def _by_motor_torques(robot: Robot, t: np.ndarray, torque: np.ndarray) -> Iterator[Exceeded]:
    """Of torques (N, m) of motors; of currents where a limit of current is the lower one."""
    constants, limits = robot.drives.torque_constant, robot.drives.limits
    by_current = np.isfinite(limits.current) & (limits.torque >= limits.current * np.abs(constants))
    most = np.where(by_current, np.inf, limits.torque)
    yield from _beyond(robot, t, "motor torque", torque, -limits.torque, most)
    most, current = (
        np.where(by_current, limits.current, np.inf),
        torque / np.where(by_current, constants, 1.0),
    )
    yield from _beyond(robot, t, "motor current", current, -most, most)


def exceeded_by_motors(
    robot: Robot, t: np.ndarray, torque: np.ndarray, speed: np.ndarray
) -> tuple[Exceeded, ...]:
    """The same of motors alone, from their torques and speeds (N, m)."""
    most = robot.drives.limits.velocity
    fast = _beyond(robot, t, "motor velocity", speed, -most, most)
    return (*_by_motor_torques(robot, t, torque), *fast)


def _beyond(
    robot: Robot,
    t: np.ndarray,
    kind: str,
    x: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    indices: Sequence[int] | None = None,
) -> Iterator[Exceeded]:
    """Limits that columns of x (N, k) exceed. NaN, where an arm stopped, exceeds nothing."""
    position = kind.endswith("position")
    for k, index in enumerate(range(x.shape[1]) if indices is None else indices):
        if not (np.isfinite(upper[k]) or (position and np.isfinite(lower[k]))):
            continue
        values, low, high = x[:, k], float(lower[k]), float(upper[k])
        excess = np.nan_to_num(np.maximum(values - high, low - values), nan=-np.inf, posinf=np.inf)
        largest = float(np.nanmax(np.abs(values), initial=0.0))
        least = AT_RANGE * max(1.0, largest) if position else WITHIN * high
        if (excess > least).any():
            worst, first = int(excess.argmax()), int((excess > least).argmax())
            limit = Limit(kind, int(index))
            name, unit, value = limit.name(robot), limit.unit(robot), float(values[worst])
            times = float(t[worst]), float(t[first])
            yield Exceeded(kind, limit.index, name, unit, value, low, high, *times)
