"""`Trajectory`: joint positions, velocities and accelerations over time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from armdyn.analysis.task import at_link
from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.motion import csv_files, profiles
from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Carried, Load, Loaded
from armdyn.motion.motion import STEP, Motion, Side, States, is_near, rest, same, sample_times, together
from armdyn.motion.profiles import Kind, through_samples, via_points
from armdyn.motion.sequences import MOST_EXCERPTS, Excerpt, backwards, blended, chained, radii
from armdyn.motion.tip_motions import TipLaw, tip_arc, tip_line, tip_motion
from armdyn.robot import Robot
from armdyn.tables import write_mat


@dataclass(frozen=True)
class Samples:
    """States at instants; an instant at which the acceleration jumps may appear twice, before and after."""

    t: np.ndarray  # (N,), not decreasing
    q: np.ndarray  # (N, n)
    qd: np.ndarray
    qdd: np.ndarray


class Trajectory(Shown):
    """A motion of n joints from time 0 to `duration`, known at every instant.

    `trajectory(t)` is (q, qd, qdd), each (..., n) for t of shape (...). Outside of [0, duration] the arm
    rests at the nearer end. `t`, `q`, `qd`, `qdd` are samples `step` apart, both ends included. At the
    instants `jumps`, where the acceleration jumps, it is the one just after the instant (at the end, the one
    just before); `trajectory(t, side="before")` is the other.
    """

    def __init__(self, motion: Motion, step: float = STEP) -> None:
        self.motion = motion
        self.step = check.positive_time("step", step)

    # ---- making: joint by joint ------------------------------------------------------------------------
    #
    # Postures are (n,); durations, times and limits are numbers, or one per joint. A joint that arrives
    # early rests.

    @classmethod
    def triangular(cls, q0: Any, q1: Any, duration: Any, *, step: float = STEP) -> Trajectory:
        """Constant acceleration for half of the duration, then the opposite one."""
        return cls(profiles.between(profiles.triangular, q0, q1, duration=duration), step)

    @classmethod
    def trapezoidal(
        cls,
        q0: Any,
        q1: Any,
        *,
        acceleration_time: Any = None,
        max_velocity: Any = None,
        max_acceleration: Any = None,
        duration: Any = None,
        synchronised: bool = False,
        step: float = STEP,
    ) -> Trajectory:
        """Trapezoidal velocities, from two of the four data; triangular where the top speed is not reached.

        `synchronised`: all joints take the time of the slowest, on a straight line in joint space.
        """
        data = {
            "acceleration_time": acceleration_time,
            "max_velocity": max_velocity,
            "max_acceleration": max_acceleration,
            "duration": duration,
        }
        return cls(profiles.between(profiles.trapezoidal, q0, q1, synchronised, **data), step)

    @classmethod
    def cubic(
        cls, q0: Any, q1: Any, duration: Any, qd0: Any = None, qd1: Any = None, *, step: float = STEP
    ) -> Trajectory:
        """Polynomials of third degree with velocities qd0 and qd1 at the ends, zero where not given."""
        data = {"duration": duration, "qd0": qd0, "qd1": qd1}
        return cls(profiles.between(profiles.cubic, q0, q1, **data), step)

    @classmethod
    def quintic(
        cls,
        q0: Any,
        q1: Any,
        duration: Any,
        qd0: Any = None,
        qd1: Any = None,
        qdd0: Any = None,
        qdd1: Any = None,
        *,
        step: float = STEP,
    ) -> Trajectory:
        """Polynomials of fifth degree with velocities and accelerations at the ends, zero where not given."""
        data = {"duration": duration, "qd0": qd0, "qd1": qd1, "qdd0": qdd0, "qdd1": qdd1}
        return cls(profiles.between(profiles.quintic, q0, q1, **data), step)

    @classmethod
    def smooth(cls, q0: Any, q1: Any, duration: Any, degree: Any = 7, *, step: float = STEP) -> Trajectory:
        """Motion from rest to rest by polynomials of degree 7 (the jerk too is zero at the ends), 9 or 5."""
        return cls(profiles.between(profiles.smooth, q0, q1, duration=duration, degree=degree), step)

    @classmethod
    def jerk_limited(
        cls,
        q0: Any,
        q1: Any,
        max_velocity: Any,
        max_acceleration: Any,
        max_jerk: Any,
        *,
        synchronised: bool = False,
        step: float = STEP,
    ) -> Trajectory:
        """The fastest motion under limits of velocity, acceleration and jerk, of up to seven pieces.

        `synchronised`: all joints take the time of the slowest, on a straight line in joint space.
        """
        limits = {"max_velocity": max_velocity, "max_acceleration": max_acceleration, "max_jerk": max_jerk}
        return cls(profiles.between(profiles.jerk_limited, q0, q1, synchronised, **limits), step)

    # ---- making: through points and samples ------------------------------------------------------------

    @classmethod
    def through(
        cls,
        points: Any,
        times: Any = None,
        *,
        kind: Kind = "cubic",
        qd0: Any = None,
        qd1: Any = None,
        max_velocity: Any = None,
        max_acceleration: Any = None,
        blend_time: float | None = None,
        step: float = STEP,
    ) -> Trajectory:
        """Motion by via points (K, n) at `times` (K,): a "cubic" or "quintic" spline, or a "blend" past them.

        Without times, the motion is as long as the limits of velocity and acceleration need.
        """
        limits = (max_velocity, max_acceleration)
        motion = via_points(points, times, kind, (qd0, qd1), limits, blend_time)
        return cls(motion, step)

    @classmethod
    def from_samples(
        cls, t: Any, q: Any, qd: Any = None, qdd: Any = None, *, step: float = STEP
    ) -> Trajectory:
        """Motion by quintics through states q, qd, qdd (N, n) at instants t (N,); qdd, or both, may be None.

        Time counts from the first instant. An instant that appears twice is a jump of the acceleration.
        """
        return cls(through_samples(t, q, qd, qdd), step)

    @classmethod
    def from_csv(cls, path: str | Path, *, step: float = STEP) -> Trajectory:
        """Motion in a file: columns t, q1 … qn and, if there, qd1 … qdn, qdd1 … qddn; others are ignored."""
        return cls(csv_files.read(path), step)

    def to_csv(self, path: str | Path, step: float | None = None) -> None:
        """Write t, q, qd, qdd to a file: samples `step` apart and every instant where a derivative jumps.

        Where the acceleration jumps, the instant appears twice. Reading the file gives back the
        same motion where that is polynomials up to the fifth degree. Dwells and loads are kept.
        """
        found = self.samples(step, knots=True)
        csv_files.write(path, found.t, {"q": found.q, "qd": found.qd, "qdd": found.qdd}, self.motion)

    def to_mat(self, path: str | Path, step: float | None = None) -> None:
        """Write the same samples to a MAT file: t (N, 1), q, qd and qdd (N, n), a row per instant.

        Dwells and loads are cells of `comments`, in the words of the CSV file.
        """
        found = self.samples(step, knots=True)
        columns = {"t": found.t, "q": found.q, "qd": found.qd, "qdd": found.qdd}
        write_mat(path, columns, MotionError, csv_files.lines_of(self.motion))

    # ---- making: of the tip ----------------------------------------------------------------------------
    #
    # The tip starts where it is at q0. A sample that is out of reach, singular or beyond a joint's limits is
    # an error.

    @classmethod
    def line(
        cls,
        robot: Robot,
        q0: Any,
        end: Any = None,
        *,
        displacement: Any = None,
        link: str | None = None,
        orientation: Any = "auto",
        check_limits: bool = True,
        step: float = STEP,
        **law: Unpack[TipLaw],
    ) -> Trajectory:
        """Straight motion of the tip to a point (3,) or pose (4, 4), or by a `displacement` (3,), world axes.

        `orientation`: "keep" it, leave it "free", or turn steadily to a rotation (3, 3), as to that of a
        pose; "auto" keeps it where the arm can do so in all directions. A redundant arm moves with the least
        joint speed. The `law` of the tip's speed: profile="trapezoidal", the default, with two of
        acceleration_time, max_velocity, max_acceleration and duration; "triangular", "cubic" or "quintic"
        with a duration; "jerk_limited" with max_velocity, max_acceleration and max_jerk. All are in metres,
        or radians where the tip only turns. With `link` the frame of that link takes the place of the tip.
        """
        robot = at_link(check.robot(robot), link)
        start = check.posture("q0", q0, robot.n)
        path, turned = tip_line(robot.pose(start), end, displacement, orientation)
        return cls(tip_motion("line", robot, start, path, turned, check_limits, step, law), step)

    @classmethod
    def circle(
        cls,
        robot: Robot,
        q0: Any,
        centre: Any,
        axis: Any,
        angle: float,
        *,
        link: str | None = None,
        orientation: Any = "auto",
        check_limits: bool = True,
        step: float = STEP,
        **law: Unpack[TipLaw],
    ) -> Trajectory:
        """Motion of the tip by an `angle` [rad] around the `axis` (3,) through `centre` (3,), world axes.

        `link`, `orientation` and `law` as for `line`; with "follow" the tip turns with the circle.
        """
        robot = at_link(check.robot(robot), link)
        start = check.posture("q0", q0, robot.n)
        path, turned = tip_arc(robot.pose(start), centre, axis, angle, orientation)
        return cls(tip_motion("circle", robot, start, path, turned, check_limits, step, law), step)

    # ---- with a load -----------------------------------------------------------------------------------

    def carrying(
        self, mass: Any, com: Any = (0, 0, 0), inertia: Any = None, link: str | None = None
    ) -> Trajectory:
        """The same motion with a load from beginning to end, on top of the loads it has.

        The arguments are those of `robot.with_payload`: mass [kg] or a body such as `box(…)`, centre of mass
        [m] and tensor in the tip frame or that of `link`; or an identified `Payload`.
        """
        load = Carried(0.0, self.duration, Load.of(mass, com, inertia, link))
        return Trajectory(replace(self.motion, loads=(*self.motion.loads, load)), self.step)

    # ---- one after the other -----------------------------------------------------------------------------

    @classmethod
    def sequence(
        cls, motions: Iterable[Trajectory], *, blend: Any = None, robot: Robot | None = None
    ) -> Trajectory:
        """Motions one after the other, each beginning where the one before it ends.

        Without a `blend` the arm stops between them, or passes at the velocity both have there. A blend is a
        radius around each corner, or one for each of them (0 or None for a stop), within which the corner is
        rounded off: of the tip of the `robot` [m] or, without a robot, in joint space, the displacement of
        each joint [rad or m]. Velocity and acceleration are continuous along it. Samples are the shortest
        step of the motions apart.
        """
        several: Any = motions
        given = list(several) if isinstance(several, Iterable) else []
        if not given or not all(isinstance(x, Trajectory) for x in given):
            raise MotionError(f"sequence: expected a list of trajectories, found {shown(motions)}")
        if robot is not None and check.robot(robot).n != given[0].motion.n:
            raise MotionError(
                f"sequence: the motions move {given[0].motion.n} joints, but {robot.name} has {robot.n}"
            )
        step, corners = min(one.step for one in given), radii(blend, len(given) - 1)
        if len(given) == 1:
            return Trajectory(given[0].motion, step)
        label = f"sequence of {len(given)} motions"
        return Trajectory(blended([one.motion for one in given], corners, robot, label), step)

    @classmethod
    def resting(cls, q: Any, duration: float, *, step: float = STEP) -> Trajectory:
        """A dwell: the arm rests at q (n,) for a duration [s], which timing keeps."""
        time = check.positive_time("duration", duration)
        made = together([rest(float(x), time) for x in check.posture("q", q)], "rest")
        return Trajectory(replace(made, dwells=((0.0, time),)), step)

    def rest(self, duration: float) -> Trajectory:
        """The motion followed by a dwell of a duration [s]; it has to end at rest.

        What the arm carries at the end, it holds meanwhile: `a.carrying(2).rest(0.3)` puts the load down
        after the dwell, `a.carrying(2) + Trajectory.resting(q, 0.3)` before it.
        """
        end = Excerpt.whole(self.motion).last[0][0]
        dwell = self.resting(end, duration, step=self.step).motion
        held = (one.load for one in self.motion.loads if one.end == self.motion.duration)
        loads = tuple(Carried(0.0, dwell.duration, load) for load in held)
        return self + Trajectory(replace(dwell, loads=loads), self.step)

    def reversed(self) -> Trajectory:
        """The same path backwards in the same time; loads and dwells are where they were on the path."""
        return Trajectory(backwards(self.motion), self.step)

    def repeated(self, times: int) -> Trajectory:
        """The motion several times, one after the other; it has to end where it begins."""
        count = check.whole_number("times", times, least=1)
        if count > MOST_EXCERPTS:
            raise MotionError(f"times: found {count}; at most {MOST_EXCERPTS} are possible")
        if count == 1:
            return Trajectory(self.motion, self.step)
        label = f"{self.motion.label}, {count} times"
        return Trajectory(chained([Excerpt.whole(self.motion)] * count, label), self.step)

    def __add__(self, other: Any) -> Trajectory:
        """This motion and then the other, as `sequence` without blends."""
        if not isinstance(other, Trajectory):
            return NotImplemented
        given: list[Any] = [self, other]
        return self.sequence(given)

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def dwells(self) -> tuple[tuple[float, float], ...]:
        """Rests that timing keeps, each from start to end [s]."""
        return self.motion.dwells

    @property
    def loads(self) -> tuple[Carried, ...]:
        """Loads that the arm carries, each from when to when [s]."""
        return self.motion.loads

    def loaded(self, robot: Robot) -> Loaded:
        """The robot with its loads on this motion, at each time."""
        return Loaded(robot, self.motion.loads, self.duration)

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return self.motion.duration

    @property
    def jumps(self) -> np.ndarray:
        """The instants between 0 and `duration` at which the acceleration jumps [s]."""
        return self.motion.jumps

    @property
    def n(self) -> int:
        """The number of joints."""
        return self.motion.n

    def __call__(self, t: Any, side: Side = "after") -> States:
        """Position, velocity and acceleration at times t (...), each (..., n)."""
        check.one_of("side", side, "before", "after")
        times = check.numbers("t", t)
        flat = times.ravel()
        q, qd, qdd = (
            x.reshape(*times.shape, self.n) for x in self.motion.evaluate(flat.clip(0.0, self.duration), side)
        )
        rests = (times < 0) | (times > self.duration)
        if rests.any():
            qd, qdd = (np.where(rests[..., None], 0.0, x) for x in (qd, qdd))
        return q, qd, qdd

    # ---- samples ---------------------------------------------------------------------------------------

    @cached_property
    def t(self) -> np.ndarray:
        """The instants of the samples (N,) [s]."""
        return _read_only(sample_times(self.duration, self.step))

    @cached_property
    def _states(self) -> States:
        q, qd, qdd = (_read_only(x) for x in self(self.t))
        return q, qd, qdd

    @property
    def q(self) -> np.ndarray:
        """Positions (N, n) at `t` [rad or m]."""
        return self._states[0]

    @property
    def qd(self) -> np.ndarray:
        """Velocities (N, n) at `t`."""
        return self._states[1]

    @property
    def qdd(self) -> np.ndarray:
        """Accelerations (N, n) at `t`."""
        return self._states[2]

    def samples(self, step: float | None = None, *, knots: bool = False) -> Samples:
        """Samples `step` apart with both sides of every jump: each instant in `jumps` appears twice.

        `knots`: the instants at which higher derivatives jump are added, once each.
        """
        regular = self.t if step is None else sample_times(self.duration, step)
        inner = self.motion.knots if knots else self.jumps
        # Rows to be read back must not be too near each other, or rounding becomes acceleration.
        same = 1e-3 * (self.step if step is None else step) if knots else 1e-9 * self.duration
        near = is_near(regular, inner, same)
        near[[0, -1]] = False
        t = np.concatenate([regular[~near], inner, self.jumps])
        t.sort()
        before = np.append(np.diff(t) == 0, False)
        left, right = self(t, "before"), self(t, "after")
        q, qd, qdd = (np.where(before[:, None], x, y) for x, y in zip(left, right, strict=True))
        return Samples(t, q, qd, qdd)

    def with_step(self, step: float) -> Trajectory:
        """The same motion with samples `step` apart."""
        return Trajectory(self.motion, step)

    def __eq__(self, other: object) -> bool:
        """True for the same motion, made of the same numbers, with samples the same time apart."""
        if not isinstance(other, Trajectory):
            return NotImplemented
        return self.step == other.step and same(self.motion, other.motion)

    def __hash__(self) -> int:
        return hash((self.n, self.duration, self.step, self.motion.label))

    def __reduce__(self) -> tuple[Any, ...]:
        return Trajectory, (self.motion, self.step)

    def __repr__(self) -> str:
        return f"<Trajectory {self.motion.label}, {self.n} joints, {self.duration:g} s>"


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x
