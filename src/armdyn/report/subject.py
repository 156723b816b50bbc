"""The subject of a report: a robot, one of its motions, and what several sections need of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import acos, pi
from typing import Any, TypeVar

import numpy as np

from armdyn.drawing.skeleton import Skeleton, gravity_in_world, skeleton
from armdyn.drawing.views import Posture, plane_normal, view_of
from armdyn.expression import ArmdynError
from armdyn.motion.elastic import elastic_feedforward
from armdyn.motion.errors import MotionError
from armdyn.motion.loads import Carried
from armdyn.motion.motor_loads import MotorLoads
from armdyn.motion.timing.exceeded import Exceeded, exceeded
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.timing.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.torques import SteadyWrench, check_robot, steady_wrench, torques_along
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.report.robot_tables import short
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.joints import JointLimits, followers, joint_limits, revolute_joints

T = TypeVar("T")

# ---- the motion a report shows when none is given ---------------------------------------------------------


_TURN, _SLIDE = pi / 2, 0.3  # what a joint covers at most [rad], [m]
_SHARE = 0.4  # of a joint's range
_SPEED = 0.8  # of a joint's limits of velocity and acceleration
_SHARES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1, 0.03)  # of the usual span, for robots with loops
_POSTURES = 256
_QUINTIC = 1.875, 5.7735  # largest velocity and acceleration of a quintic over 1 in 1 s


EXAMPLE = "No motion was given: this one is an example that armdyn chose."


@dataclass(frozen=True)
class DefaultMotion:
    """A motion and what to say about it."""

    trajectory: Trajectory
    text: str


def shown_posture(robot: Robot) -> np.ndarray:
    """(n,): the middle of the motion that a report would show, where the arm can be seen well."""
    motion = default_motion(robot).trajectory
    return np.asarray(motion(motion.duration / 2)[0])


def open_posture(robot: Robot) -> np.ndarray:
    """(n,): a posture in which a robot may well be met: an arm reaching out, others as they stand.

    Legs and several arms are at zero, or as near to it as their joints go; an arm of two joints is not as
    folded as in the motion of figure 7.5.
    """
    model, limits = robot.model, joint_limits(robot)
    if model.loops or model.elastic:
        return shown_posture(robot)
    parents = [link.parent for link in model.links if link.joint != "fixed"]
    if len(set(parents)) < len(parents):
        return np.clip(np.zeros(robot.n), limits.lower, limits.upper)
    return shown_posture(robot) if _folded(robot) is None else _dexterous(robot, limits)


def default_motion(robot: Robot) -> DefaultMotion:
    """A motion inside the limits of position: that of figure 7.5 for an arm of two parallel revolute joints.

    For any other robot a quintic between two postures on both sides of a dexterous one, lasting one second,
    or as long as 80 % of the limits of velocity and acceleration allow.
    """
    if robot.model.elastic:
        return _elastic_motion(robot)
    if robot.model.loops:
        return _about_reference(robot)
    folded = _folded(robot)
    if folded is not None:
        trajectory = Trajectory.triangular(folded, folded + _TURN, 0.5)
        return DefaultMotion(
            trajectory,
            "Both joints make a quarter turn in 0.5 s with triangular velocity, from a folded posture with "
            "the elbow down and the tip level with the first joint: the motion of figure 7.5.",
        )
    limits = joint_limits(robot)
    middle, span = _dexterous(robot, limits), _span(robot, limits)
    start, end = middle - span / 2, middle + span / 2
    duration, reason = _duration(span, limits)
    trajectory = Trajectory.quintic(start, end, duration)
    text = (
        "All joints move along a straight line in joint space by a polynomial of fifth degree, through the "
        f"most dexterous of {_POSTURES} postures; {reason}."
    )
    return DefaultMotion(trajectory, text)


def _elastic_motion(robot: Robot) -> DefaultMotion:
    """The links as those of the arm with rigid joints move, but more smoothly; the motors as that needs."""
    rigid = robot.with_rigid_joints()
    chosen = default_motion(rigid).trajectory
    duration = 1.2 * chosen.duration  # velocities and accelerations as those of the quintic
    start, end = (chosen(t)[0] for t in (0.0, chosen.duration))
    links = Trajectory.smooth(start, end, duration)
    text = f"The links go from one posture to another by polynomials of seventh degree in {duration:g} s; "
    try:
        plan = elastic_feedforward(robot, links)
    except MotionError:
        names = [link.name for link in robot.model.moving]
        elastic = [names.index(link.name) for link in robot.model.elastic]
        first, last = (np.append(q, rigid.joint_positions(q)[elastic]) for q in (start, end))
        follows = "the motors turn with them, so that torques on the links are those that springs would give."
        return DefaultMotion(Trajectory.smooth(first, last, duration), text + follows)
    return DefaultMotion(plan.trajectory, text + "the motors do what this needs (elastic_feedforward).")


def _about_reference(robot: Robot) -> DefaultMotion:
    """With loops: about the posture in which they were first closed, as far as they stay closed."""
    limits = joint_limits(robot)
    choice = robot.model.choice
    assert choice is not None
    lower, upper = _ranges(robot, limits)
    span = _span(robot, limits)
    for share in _SHARES:
        half = share * span / 2 * np.cos(2 * np.arange(robot.n))  # legs that are alike move differently
        room = np.abs(half)
        middle = np.clip(np.array(choice.posture)[list(choice.free)], lower + room, upper - room)
        try:
            robot.pose(middle + np.linspace(-1.1, 1.1, 45)[:, None] * half)
            break
        except LoopError:
            continue
    duration, reason = _duration(2 * room, limits)
    text = (
        "All coordinates move along a straight line by a polynomial of fifth degree, about the posture in "
        f"which the loops were first closed; {reason}."
    )
    return DefaultMotion(Trajectory.quintic(middle - half, middle + half, duration), text)


def _folded(robot: Robot) -> np.ndarray | None:
    """Where figure 7.5 starts: the tip at a tenth of the reach, elbow down; None for other robots."""
    if robot.n != 2 or any(link.joint != "revolute" for link in robot.model.coordinates):
        return None
    straight = skeleton(robot, np.zeros(2))
    normal = plane_normal(straight)
    limits = joint_limits(robot)
    if normal is None or np.isfinite(limits.lower).any() or np.isfinite(limits.upper).any():
        return None
    first, second = straight.joints
    if first.axis @ second.axis < 0:
        return None
    arms = second.point - first.point, straight.tip - second.point
    flat = [v - normal * float(normal @ v) for v in arms]
    a, b = (float(np.linalg.norm(v)) for v in flat)
    r = 0.1 * (a + b)
    if min(a, b) <= 0 or not abs(a - b) < r < a + b:
        return None
    elbow = acos((r * r - a * a - b * b) / (2 * a * b))
    shoulder = -acos((a * a + r * r - b * b) / (2 * a * r))
    return _angles(robot, straight, flat, shoulder, elbow)


def _angles(
    robot: Robot, straight: Skeleton, arms: list[np.ndarray], shoulder: float, elbow: float
) -> np.ndarray:
    """Joint positions that turn the two arms from where they are at zero to the angles wanted."""
    view = view_of(robot, straight)
    sense = 1.0 if straight.joints[0].axis @ view.towards > 0 else -1.0
    first, second = (float(np.arctan2(*view.flat(v)[::-1])) for v in arms)
    found = np.array([shoulder - first, elbow - (second - first)])
    return np.asarray(sense * ((found + pi) % (2 * pi) - pi))


def _ranges(robot: Robot, limits: JointLimits) -> tuple[np.ndarray, np.ndarray]:
    """What each joint may do, within a turn or a metre where the description does not say."""
    revolute = revolute_joints(robot)
    half = np.where(revolute, pi, 0.5)
    lower = np.where(np.isfinite(limits.lower), limits.lower, np.where(revolute, -half, 0.0))
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.where(revolute, half, 2 * half))
    centre = (lower + upper) / 2
    reach = np.minimum((upper - lower) / 2, np.where(revolute, pi, np.inf))
    return centre - reach, centre + reach


def _span(robot: Robot, limits: JointLimits) -> np.ndarray:
    lower, upper = _ranges(robot, limits)
    most = [_TURN if link.joint == "revolute" else _SLIDE for link in robot.model.coordinates]
    return np.asarray(np.minimum(np.array(most), _SHARE * (upper - lower)))


def _dexterous(robot: Robot, limits: JointLimits) -> np.ndarray:
    """Of postures spread evenly over the middle of the ranges, the one with the largest √det(J_P J_Pᵀ).

    Motions that take the tip below the base count less: an arm rather reaches out than down.
    """
    lower, upper = _ranges(robot, limits)
    margin = _span(robot, limits) / 2
    lower, upper = lower + margin, upper - margin
    # A Weyl sequence: powers of the root of x^(n+1) = x + 1 fill the box evenly.
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (robot.n + 1))
    steps = (1 / root) ** np.arange(1, robot.n + 1)
    q = lower + (upper - lower) * ((0.5 + np.arange(1, _POSTURES + 1)[:, None] * steps) % 1)
    J = np.asarray(robot.jacobian(q))[:, :3]
    singular = np.linalg.svd(J, compute_uv=False)
    rank = int((singular > 1e-6 * singular.max()).sum(1).max()) if singular.max() > 0 else 0
    measure = singular[:, :rank].prod(1)
    foot = np.array(robot.mechanism.p_base, float)
    passed = np.array([q - margin, q, q + margin])
    height = -(np.asarray(robot.pose(passed))[..., :3, 3] - foot) @ gravity_in_world(robot)
    measure = measure * np.where(height < 0, 0.3, 1.0).prod(0)
    if (others := followers(robot)) is not None:
        measure = measure * (others.excess(passed) <= 0).all((0, 2))
    return np.asarray(q[int(np.argmax(np.round(measure, 12)))])


def _duration(span: np.ndarray, limits: JointLimits) -> tuple[float, str]:
    with np.errstate(divide="ignore"):
        by_velocity = _QUINTIC[0] * span / (_SPEED * limits.velocity)
        by_acceleration = np.sqrt(_QUINTIC[1] * span / (_SPEED * limits.acceleration))
    needed = float(max(by_velocity.max(), by_acceleration.max()))
    if needed <= 0 or not np.isfinite(needed):
        return 1.0, "it lasts one second"
    duration = float(np.ceil(needed * 100) / 100)
    which = "velocity" if by_velocity.max() >= by_acceleration.max() else "acceleration"
    return duration, f"it lasts {duration:g} s, so that the joints keep to 80 % of their limits of {which}"


# ---- the subject: a robot, one of its motions, and what several sections need of them ---------------------


_LEAST, _MOST = 400, 20_000  # intervals between the samples that a motion's numbers are taken from
_LISTED = 4  # loads that are named one by one


@dataclass(frozen=True)
class Subject:
    """A robot, a motion of it (None: one is chosen), and the wrench (6,) its tip exerts all along.

    What several sections need is computed when first asked for, and once.
    """

    robot: Robot
    given: Trajectory | None = None
    wrench: SteadyWrench = None

    @classmethod
    def of(cls, robot: Robot, trajectory: Trajectory | None = None, wrench: Any = None) -> Subject:
        """The subject, its motion and wrench checked."""
        if trajectory is not None:
            check_robot(robot, trajectory)
        return cls(robot, trajectory, steady_wrench(robot, wrench))

    @cached_property
    def free_symbols(self) -> tuple[str, ...]:
        """Symbols without a value: with any of them there are equations but no numbers."""
        return tuple(name for name, value in self.robot.model.symbols if value is None)

    @cached_property
    def _chosen(self) -> tuple[Trajectory, str]:
        if self.given is None:
            chosen = default_motion(self.robot)
            return chosen.trajectory, f"{EXAMPLE} {chosen.text}"
        text = f"The motion given takes {self.given.duration:g} s ({self.given.motion.label})."
        return self.given, text + _carried_text(self.given.motion.loads)

    @property
    def text(self) -> str:
        """Which motion this is."""
        return self._chosen[1]

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion, with samples fine enough for the numbers, and not more than fit in memory."""
        motion = self._chosen[0]
        step = min(max(motion.step, motion.duration / _MOST), motion.duration / _LEAST)
        return motion if step == motion.step else motion.with_step(step)

    @cached_property
    def samples(self) -> Samples:
        """Samples of the motion, with both sides of every jump."""
        return self.trajectory.samples()

    @cached_property
    def torque(self) -> np.ndarray:
        """(N, n): the torques of the motion at its samples [N m or N]."""
        return torques_along(self.trajectory.loaded(self.robot), self.samples, self.wrench)

    @cached_property
    def exceeded(self) -> tuple[Exceeded, ...]:
        """The limits that the motion exceeds, of joints and motors."""
        at = self.samples
        return tuple(exceeded(self.robot, at.t, at.q, at.qd, at.qdd, self.torque))

    @cached_property
    def loads(self) -> MotorLoads:
        """What the motion asks of the motors."""
        return MotorLoads.from_torques(self.robot, self.samples.t, self.samples.qd, self.torque)

    @property
    def has_limits(self) -> bool:
        """Whether anything limits how fast the motion may be."""
        limits = joint_limits(self.robot)
        own = (limits.torque, limits.velocity, limits.acceleration)
        return any(np.isfinite(x).any() for x in own) or self.robot.drives.limits.any

    @cached_property
    def scaled(self) -> Scaled | ArmdynError | None:
        """The motion as a whole just within the limits, or why not; None where there is nothing to scale."""
        return self._timed(partial(scale_to_limits, faster=True))

    @cached_property
    def optimal(self) -> TimeOptimal | ArmdynError | None:
        """The path in least time, or why not; None where nothing limits the motion, or it stands still."""
        return self._timed(time_optimal)

    def _timed(self, timing: Callable[..., T]) -> T | ArmdynError | None:
        if not self.has_limits or not np.ptp(self.samples.q, axis=0).any():
            return None
        try:
            return timing(self.robot, self.trajectory, wrench=self.wrench)
        except ArmdynError as problem:
            return problem

    @cached_property
    def robot_half_way(self) -> Robot:
        """The robot with what it carries half-way through the motion."""
        loaded = self.trajectory.loaded(self.robot)
        return loaded.robots[int(loaded.index(np.array([self.trajectory.duration / 2]))[0])]

    @cached_property
    def middle(self) -> Posture:
        """The posture half-way through the motion."""
        return Posture.of(self.robot, self.trajectory(self.trajectory.duration / 2)[0])


def _carried_text(loads: Sequence[Carried]) -> str:
    """What the arm carries on its way, and when."""
    if not loads:
        return ""
    if len(loads) > _LISTED:
        return f" The arm takes up {len(loads)} loads on its way; all numbers below count them."
    each = [f"{short(one.load.body.mass)} kg from {one.start:.4g} s to {one.end:.4g} s" for one in loads]
    return (
        f" The arm carries {', '.join(each)}; all numbers below count {'it' if len(each) == 1 else 'them'}."
    )
