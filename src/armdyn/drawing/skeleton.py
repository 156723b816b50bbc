"""A robot in a posture as points and lines: what is drawn of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from armdyn.dynamics.closures import joint_values
from armdyn.dynamics.kinematics import BaseFrame, base_frames, joint_frames
from armdyn.model import Mechanism, RobotModel
from armdyn.model.closures import ClosingKind
from armdyn.model.mechanism import FIXED_BASE
from armdyn.names import one_line
from armdyn.robot import Robot

_SMALL = 1e-9


@dataclass(frozen=True)
class JointPlace:
    """A joint in the world: a point on its axis, the axis, what it does.

    A prismatic joint's slider has moved to `slider` along the axis.
    """

    point: np.ndarray
    axis: np.ndarray
    revolute: bool
    slider: np.ndarray


@dataclass(frozen=True)
class MotorPlace:
    """A motor in the world; `joint` is the one it drives, counted from 0."""

    point: np.ndarray
    axis: np.ndarray
    joint: int
    carrier: str


@dataclass(frozen=True)
class ClosingPlace:
    """What closes a loop, in the world: a revolute joint about the axis, a ball joint or a weld."""

    point: np.ndarray
    axis: np.ndarray
    kind: ClosingKind
    tied: tuple[int, int]  # bodies


@dataclass(frozen=True)
class End:
    """Where a branch that does not lead to the tip ends: its last body, and a link's origin, in the world."""

    body: int
    link: str
    point: np.ndarray


@dataclass(frozen=True)
class Skeleton:
    """Joints, lines of the links (body -> polylines), motors, frames of tip and base, in the world [m]."""

    joints: tuple[JointPlace, ...]
    lines: tuple[tuple[np.ndarray, ...], ...]  # of body i, the base last
    motors: tuple[MotorPlace, ...]
    tip: np.ndarray  # (3,)
    tip_axes: np.ndarray  # (3, 3), columns
    tip_link: str
    ends: tuple[End, ...]  # of the other branches of a tree, but for those that another link holds
    labels: tuple[str, ...]  # of the joints: numbers, or names where they follow others
    base: np.ndarray  # (3,)
    base_axes: np.ndarray  # (3, 3), columns
    closings: tuple[ClosingPlace, ...] = ()
    springs: tuple[np.ndarray, ...] = ()  # (2, 3): the ends of springs between points
    grounded: tuple[np.ndarray, ...] = ()  # joints and closings that are on the base
    names: tuple[str, ...] = ()  # of the bodies, where loops leave joints without numbers

    @property
    def joined(self) -> np.ndarray:
        """(N, 3): joints, and what closes loops."""
        return np.array([*(x.point for x in self.joints), *(x.point for x in self.closings)])

    @property
    def foot(self) -> np.ndarray:
        """(3,): where the base stands."""
        return self.lines[-1][0][0] if self.lines[-1] else self.joints[0].point

    @property
    def feet(self) -> list[np.ndarray]:
        """(3,) each: where it stands; a linkage, wherever one of its joints is on the base."""
        found: list[np.ndarray] = []
        for place in self.grounded if self.closings else [self.foot]:
            if not any(np.abs(place - other).max() < 1e-6 * self.size for other in found):
                found.append(place)
        return found

    @property
    def points(self) -> np.ndarray:
        """(N, 3): everything that is drawn."""
        lines = [line for body in self.lines for line in body]
        motors = [motor.point for motor in self.motors]
        joints = [joint.point for joint in self.joints]
        return np.vstack([self.base, *lines, *joints, *motors, *self.springs, self.tip])

    @property
    def size(self) -> float:
        """How far the drawing reaches [m]."""
        extent = float(np.ptp(self.points, axis=0).max())
        return extent if extent > _SMALL else 1.0


def skeleton(robot: Robot, q: Sequence[float] | np.ndarray, *, sliding: bool = False) -> Skeleton:
    """The robot's skeleton at a posture q (n,).

    The link of a prismatic joint begins where the joint is on its parent; with `sliding`, at its slider, and
    so all its lines move with the link as they are.
    """
    mechanism = robot.mechanism
    y = robot.assembly(np.asarray(q, float)) if mechanism.loops else q
    positions = joint_values(mechanism, [float(x) for x in y])
    frames = base_frames(mechanism, joint_frames(mechanism, positions))
    mechanism = replace(mechanism, bodies=mechanism.bodies[: mechanism.joints])  # motors' have no place
    joints = tuple(_joint(f, body.joint) for body, f in zip(mechanism.bodies, frames, strict=False))
    R, p = _body_pose(mechanism, frames, mechanism.tip)
    tip = p + R @ np.array(mechanism.p_tip, float)
    starts = [joint.slider if sliding and not joint.revolute else joint.point for joint in joints]
    ends = _ends(robot, frames, starts)
    held = _held(robot, frames, ends)
    met = [end.point for end in held]
    closings, springs = _closings(robot, frames), _springs(mechanism, frames)
    links = _links(mechanism, joints, starts, tip, [*ends, *held], closings)
    return Skeleton(
        joints,
        _with_anchors(links, mechanism, starts, springs),
        _motors(robot, frames),
        tip,
        R @ np.array(mechanism.R_tip, float),
        robot.model.tip,
        tuple(end for end in ends if not any(_same(end.point, point) for point in met)),
        _labels(robot.model),
        np.array(mechanism.p_base, float),
        np.array(mechanism.R_base, float),
        closings,
        springs,
        _grounded(mechanism, joints, closings),
        tuple(one_line(link.joint_label) for link in robot.model.moving) if mechanism.loops else (),
    )


def _labels(model: RobotModel) -> tuple[str, ...]:
    """The numbers that coordinates have everywhere; joints that follow others have none, but their names.

    With loops there are many of these, and links are named instead.
    """
    number = {link.name: str(i + 1) for i, link in enumerate(model.coordinates)}
    if model.loops:
        return tuple(number.get(link.name, "") for link in model.moving)
    return tuple(number.get(link.name, one_line(link.joint_label)) for link in model.moving)


def _closings(robot: Robot, frames: Sequence[BaseFrame]) -> tuple[ClosingPlace, ...]:
    """Where loops are closed: at frame a of each."""
    mechanism, found = robot.mechanism, []
    for loop, said in zip(mechanism.loops, robot.model.loops, strict=True):
        R, p = _body_pose(mechanism, frames, loop.tied[0])
        axis = R @ np.array(loop.R[0], float)[:, 2]
        found.append(ClosingPlace(p + R @ np.array(loop.p[0], float), axis, said.joint, loop.tied))
    return tuple(found)


def _grounded(
    mechanism: Mechanism, joints: Sequence[JointPlace], closings: Sequence[ClosingPlace]
) -> tuple[np.ndarray, ...]:
    on_base = [body.parent == FIXED_BASE for body in mechanism.bodies]
    found = [joint.point for joint, is_so in zip(joints, on_base, strict=True) if is_so]
    return (*found, *(place.point for place in closings if FIXED_BASE in place.tied))


def _springs(mechanism: Mechanism, frames: Sequence[BaseFrame]) -> tuple[np.ndarray, ...]:
    found = []
    for strut in mechanism.struts:
        ends = []
        for body, point in zip(strut.tied, strut.points, strict=True):
            R, p = _body_pose(mechanism, frames, body)
            ends.append(p + R @ np.array(point, float))
        found.append(np.array(ends))
    return tuple(found)


def gravity_in_world(robot: Robot) -> np.ndarray:
    """The acceleration of gravity (3,) in world axes, as drawings are; descriptions have base axes."""
    mechanism = robot.mechanism
    return np.asarray(np.array(mechanism.R_base, float) @ np.array(mechanism.gravity, float))


def _joint(frame: BaseFrame, kind: str) -> JointPlace:
    point, axis = np.array(frame.c, float), np.array(frame.z, float)
    slider = point + axis * float(axis @ (np.array(frame.p, float) - point))
    return JointPlace(point, axis, kind == "revolute", slider)


def _body_pose(mechanism: Mechanism, frames: Sequence[BaseFrame], body: int) -> tuple[np.ndarray, np.ndarray]:
    if body == FIXED_BASE:
        return np.array(mechanism.R_base, float), np.array(mechanism.p_base, float)
    return np.array(frames[body].R, float), np.array(frames[body].p, float)


def _ends(robot: Robot, frames: Sequence[BaseFrame], starts: Sequence[np.ndarray]) -> tuple[End, ...]:
    """Of each body that carries no other and not the tip, the outermost link: the farthest from its start."""
    model, mechanism = robot.model, robot.mechanism
    inner = {mechanism.tip, FIXED_BASE, *(body.parent for body in mechanism.bodies)}
    inner |= {body for loop in mechanism.loops for body in loop.tied}
    found: dict[int, End] = {}
    for link, place in zip(model.index, model.places(list(model.index)), strict=True):
        if place.body in inner:
            continue
        R, p = _body_pose(mechanism, frames, place.body)
        end, start = End(place.body, link, p + R @ np.array(place.p, float)), starts[place.body]
        known = found.get(place.body)
        if known is None or np.linalg.norm(end.point - start) > np.linalg.norm(known.point - start):
            found[place.body] = end
    return tuple(found.values())


def _held(robot: Robot, frames: Sequence[BaseFrame], ends: Sequence[End]) -> tuple[End, ...]:
    """Fixed frames of other bodies that lie on the end of a branch: there a closed chain is joined."""
    model, mechanism = robot.model, robot.mechanism
    names = [link.name for link in model.links if link.joint == "fixed"] if model.relations and ends else []
    found = []
    for name, place in zip(names, model.places(names), strict=True):
        R, p = _body_pose(mechanism, frames, place.body)
        point = p + R @ np.array(place.p, float)
        if any(place.body != end.body and _same(point, end.point) for end in ends):
            found.append(End(place.body, name, point))
    return tuple(found)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() < 1e-6 * max(1.0, float(np.abs(a).max())))


def _links(
    mechanism: Mechanism,
    joints: Sequence[JointPlace],
    starts: Sequence[np.ndarray],
    tip: np.ndarray,
    ends: Sequence[End],
    closings: Sequence[ClosingPlace],
) -> tuple[tuple[np.ndarray, ...], ...]:
    """From each body's start to its children's joints, the tip, its ends, what closes loops; base last."""
    bodies = [*range(len(mechanism.bodies)), FIXED_BASE]
    found = []
    for body in bodies:
        if body == FIXED_BASE:
            start, axis = np.array(mechanism.p_base, float), None
        else:
            start, axis = starts[body], joints[body].axis
        following = [
            (joints[i].point, joints[i].axis) for i, b in enumerate(mechanism.bodies) if b.parent == body
        ]
        lines = [_dog_leg(start, axis, end, z) for end, z in following]
        if mechanism.tip == body:
            lines.append(_dog_leg(start, axis, tip, None))
        lines += [_dog_leg(start, axis, end.point, None) for end in ends if end.body == body]
        lines += [_dog_leg(start, None, place.point, None) for place in closings if body in place.tied]
        found.append(tuple(line for line in lines if len(line) > 1))
    return tuple(found)


def _with_anchors(
    links: tuple[tuple[np.ndarray, ...], ...],
    mechanism: Mechanism,
    starts: Sequence[np.ndarray],
    springs: Sequence[np.ndarray],
) -> tuple[tuple[np.ndarray, ...], ...]:
    """Also from each moving body's start to the springs that hang on it, where no line is."""
    found = [list(lines) for lines in links]
    for strut, ends in zip(mechanism.struts, springs, strict=True):
        for body, point in zip(strut.tied, ends, strict=True):
            if body != FIXED_BASE and not any(_passes(line, point) for line in found[body]):
                line = _dog_leg(starts[body], None, point, None)
                found[body] += [line] if len(line) > 1 else []
    return tuple(tuple(lines) for lines in found)


def _passes(line: np.ndarray, point: np.ndarray) -> bool:
    """Whether a point is on a line of several pieces."""
    for a, b in pairwise(line):
        along = b - a
        part = float(np.clip((point - a) @ along / (along @ along), 0.0, 1.0))
        if _same(a + part * along, point):
            return True
    return False


def _dog_leg(
    start: np.ndarray, axis: np.ndarray | None, end: np.ndarray, last: np.ndarray | None
) -> np.ndarray:
    """From a joint to the next: along the first axis, across, along the last, as DH tables measure."""
    points = [start]
    if axis is not None:
        points.append(start + axis * float(axis @ (end - start)))
    if last is not None:
        points.append(end - last * float(last @ (end - points[-1])))
    points.append(end)
    size = max(float(np.abs(end - start).max()), _SMALL)
    kept = [points[0]]
    for point in points[1:]:
        if np.abs(point - kept[-1]).max() > 1e-6 * size:
            kept.append(point)
    return np.array(kept)


def _motors(robot: Robot, frames: Sequence[BaseFrame]) -> tuple[MotorPlace, ...]:
    model = robot.model
    if model.rotors == "none":
        return ()
    found = []
    for i, link in enumerate(model.moving):
        if link.motor is None:
            continue
        place = model.mechanism_to(link.motor.carrier)
        R, p = _body_pose(place, frames, place.tip)
        p, R = p + R @ np.array(place.p_tip, float), R @ np.array(place.R_tip, float)
        position = np.array([model.number(x) for x in link.motor.position])
        axis = np.array([model.number(x) for x in link.motor.axis])
        found.append(MotorPlace(p + R @ position, R @ axis, i, link.motor.carrier))
    return tuple(found)
