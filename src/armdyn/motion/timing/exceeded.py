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
from armdyn.robot.drives import ShaftLimits
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
    given = [None if x is None else np.atleast_2d(np.asarray(x, float)) for x in (q, qd, qdd, tau)]
    curves = _Curves(robot, times, *given)
    found = [one for row in curves.rows() if (one := _judged(robot, times, row)) is not None]
    return tuple(found)


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


@dataclass(frozen=True)
class _Row:
    """Values (N,) that one limit bounds, or values on an interval after each instant."""

    limit: Limit
    values: np.ndarray
    lower: float
    upper: float


@dataclass(frozen=True)
class _Curves:
    """The curves of a motion, and the limits they are held against."""

    robot: Robot
    t: np.ndarray
    q: np.ndarray | None
    qd: np.ndarray | None
    qdd: np.ndarray | None
    tau: np.ndarray | None

    def rows(self) -> Iterator[_Row]:
        own = joint_limits(self.robot)
        if self.q is not None:
            free = self.robot.mechanism.free if self.q.shape[1] != self.robot.n else ()
            yield from _rows("position", self.q[:, list(free)] if free else self.q, own.lower, own.upper)
        for kind, x in (("velocity", self.qd), ("acceleration", self.qdd), ("jerk", self._jerk())):
            if x is not None:
                yield from _rows(kind, x, -getattr(own, kind), getattr(own, kind))
        if self.tau is not None:
            yield from _rows("torque", self.tau, -own.torque, own.torque)
        yield from self._of_followers()
        yield from self._of_motors(self.robot.drives.limits)

    def _jerk(self) -> np.ndarray | None:
        """(N, n) from one sample to the next; infinite where the acceleration jumps, also from rest."""
        if self.qdd is None or len(self.t) < 2:
            return None
        h, change = np.diff(self.t)[:, None], np.diff(self.qdd, axis=0)
        least = JUMP * np.abs(self.qdd).max(0, initial=0.0)
        jumps = (h <= 0) & (np.abs(change) > least)
        long = h > 1e-3 * np.median(h)  # over less, rounding would count
        found = np.where(jumps, np.inf, np.divide(change, h, out=np.zeros_like(change), where=long))
        found = np.concatenate([found, found[-1:]])
        for end in (0, -1):
            found[end] = np.where(np.abs(self.qdd[end]) > least, np.inf, found[end])
        return found

    def _of_followers(self) -> Iterator[_Row]:
        others = followers(self.robot)
        if others is None or self.q is None:
            return
        limits, joints = others.limits, others.joints
        yield from _rows("follower position", others.positions(self.q), limits.lower, limits.upper, joints)
        if self.qd is None:
            return
        moved = {"velocity": others.velocities(self.q, self.qd)}
        if self.qdd is not None:
            moved["acceleration"] = others.accelerations(self.q, self.qd, self.qdd)
        for kind, x in moved.items():
            bound = getattr(limits, kind)
            yield from _rows(f"follower {kind}", x, -bound, bound, joints)

    def _of_motors(self, limits: ShaftLimits) -> Iterator[_Row]:
        if self.qd is not None and self.q is not None and np.isfinite(limits.velocity).any():
            qd = self.robot.assembly.velocities(self.q, self.qd) if self.robot.model.loops else self.qd
            yield from _rows(
                "motor velocity", qd @ self.robot.drives.by_position.T, -limits.velocity, limits.velocity
            )
        if self.tau is None or not np.isfinite(limits.torque).any():
            return
        try:
            torque = self.tau @ self.robot.drives.to_motors.T
        except ModelError:
            return  # they do not follow from those of the joints
        yield from motor_torque_rows(self.robot, limits, torque)


def motor_torque_rows(robot: Robot, limits: ShaftLimits, torque: np.ndarray) -> Iterator[_Row]:
    """Torques (N, m) of motors; currents where a limit of current is the lower one."""
    constants = robot.drives.torque_constant
    by_current = np.isfinite(limits.current) & (limits.torque >= limits.current * np.abs(constants))
    yield from _rows("motor torque", torque, -limits.torque, np.where(by_current, np.inf, limits.torque))
    bound = np.where(by_current, limits.current, np.inf)
    yield from _rows("motor current", torque / np.where(by_current, constants, 1.0), -bound, bound)


def exceeded_by_motors(
    robot: Robot, t: np.ndarray, torque: np.ndarray, speed: np.ndarray
) -> tuple[Exceeded, ...]:
    """The same of motors alone, from their torques and speeds (N, m)."""
    limits = robot.drives.limits
    rows = [
        *motor_torque_rows(robot, limits, torque),
        *_rows("motor velocity", speed, -limits.velocity, limits.velocity),
    ]
    return tuple(one for row in rows if (one := _judged(robot, t, row)) is not None)


def _rows(
    kind: str, x: np.ndarray, lower: np.ndarray, upper: np.ndarray, indices: Sequence[int] | None = None
) -> Iterator[_Row]:
    """Rows of those columns of x (N, k) that have limits."""
    for k, index in enumerate(range(x.shape[1]) if indices is None else indices):
        if np.isfinite(upper[k]) or (kind.endswith("position") and np.isfinite(lower[k])):
            yield _Row(Limit(kind, int(index)), x[:, k], float(lower[k]), float(upper[k]))


def _judged(robot: Robot, t: np.ndarray, row: _Row) -> Exceeded | None:
    """The largest value beyond the limits; None within. NaN, where an arm stopped, exceeds nothing."""
    x, position = row.values, row.limit.quantity == "position"
    excess = np.nan_to_num(np.maximum(x - row.upper, row.lower - x), nan=-np.inf, posinf=np.inf)
    least = AT_RANGE * max(1.0, float(np.nanmax(np.abs(x), initial=0.0))) if position else WITHIN * row.upper
    if not (excess > least).any():
        return None
    worst, first = int(excess.argmax()), int((excess > least).argmax())
    limit = row.limit
    return Exceeded(
        limit.kind,
        limit.index,
        limit.name(robot),
        limit.unit(robot),
        float(x[worst]),
        row.lower,
        row.upper,
        float(t[worst]),
        float(t[first]),
    )
