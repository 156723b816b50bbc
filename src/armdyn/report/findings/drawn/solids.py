"""The arm as solids that are fixed to its bodies, drawn as the report draws it: for pictures that move.

Rods are links, cylinders revolute joints. A prismatic joint is a box, which moves with its link, on a rail,
which its parent holds. Motors are dark, and sit on the link that carries them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from armdyn.model.mechanism import FIXED_BASE
from armdyn.output import one_line
from armdyn.report.findings.drawn.poses import body_poses
from armdyn.report.findings.drawn.shapes import Mesh, ball, box, cone, cylinder, rod, together
from armdyn.report.findings.drawn.skeleton import Skeleton, gravity_in_world, skeleton
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits

__all__ = ["COLOURS", "Solid", "Solids", "Strut", "body_poses", "resting_posture", "solids"]

Kind = Literal["base", "link", "joint", "motor", "closing"]
COLOURS: dict[Kind, str] = {
    "base": "#8b929c",
    "link": "#d9dce1",
    "joint": "#aab4c2",
    "motor": "#2d3138",
    "closing": "#7f9fc6",
}
_RADIUS = 0.03  # of a joint's cylinder, in parts of the arm's size
_ROD, _RAIL = 0.45, 0.3  # of links and rails, in parts of that radius
_REACH = 0.25  # of the arm's size: how far a rail goes where its joint has no limits
_LONGEST = 1.5  # of the arm's size: how far it goes at most


@dataclass(frozen=True)
class Solid:
    """Triangles that move with a body."""

    body: int  # as in `body_poses`; FIXED_BASE for what stands still
    kind: Kind
    name: str  # of the link; on one line, but not escaped
    vertices: np.ndarray  # (V, 3) in the body's frame [m]
    triangles: np.ndarray  # (F, 3): numbers of vertices, counter-clockwise from outside
    colour: str  # "#rrggbb"


@dataclass(frozen=True)
class Strut:
    """A spring between points (3,) of two bodies, each in the frame of its own."""

    tied: tuple[int, int]
    points: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Solids:
    """An arm: how large it is [m], its solids, and its springs between points."""

    size: float
    solids: tuple[Solid, ...]
    struts: tuple[Strut, ...]


def solids(robot: Robot) -> Solids:
    """The solids of a robot; `body_poses` says where they are in a posture."""
    q = resting_posture(robot)
    drawn = skeleton(robot, q, sliding=True)
    poses = body_poses(robot, q)
    radius = _RADIUS * drawn.size
    found = []
    for body, kind, name, mesh in _pieces(robot, drawn, q, radius):
        R, p = poses[body, :3, :3], poses[body, :3, 3]
        vertices = (mesh.vertices - p) @ R
        found.append(Solid(body, kind, name, vertices, mesh.triangles, COLOURS[kind]))
    struts = [
        Strut(strut.tied, (np.array(strut.points[0], float), np.array(strut.points[1], float)))
        for strut in robot.mechanism.struts
    ]
    return Solids(drawn.size, tuple(found), tuple(struts))


def resting_posture(robot: Robot) -> np.ndarray:
    """(n,): where the robot stands when nothing else is said: at zero, or as near to it as limits allow.

    With loops it is the posture in which they were first closed.
    """
    if robot.model.loops:
        return np.array(robot.assembly.reference)
    limits = joint_limits(robot)
    return np.asarray(np.clip(np.zeros(robot.n), limits.lower, limits.upper))


Piece = tuple[int, Kind, str, Mesh]


def _pieces(robot: Robot, drawn: Skeleton, q: np.ndarray, radius: float) -> Iterator[Piece]:
    """Everything in the world: body, kind, name and shape."""
    names = [one_line(link.name) for link in robot.model.moving]
    parents = [body.parent for body in robot.mechanism.bodies]
    root = one_line(robot.model.root)
    yield FIXED_BASE, "base", root, together(_base(robot, drawn, radius))
    for body, lines in zip([*range(len(names)), FIXED_BASE], drawn.lines, strict=True):
        rods = [mesh for line in lines for mesh in rod(line, _ROD * radius)]
        if rods:
            kind: Kind = "base" if body == FIXED_BASE else "link"
            yield body, kind, root if body == FIXED_BASE else names[body], together(rods)
    for i, (joint, name) in enumerate(zip(drawn.joints, names, strict=True)):
        if joint.revolute:
            yield i, "joint", name, cylinder(joint.point, joint.axis, radius, 1.1 * radius)
        else:
            yield i, "joint", name, box(joint.slider, joint.axis, 1.7 * radius, 0.85 * radius)
            yield parents[i], "joint", name, _rail(robot, drawn, i, q, radius)
    for place in drawn.closings:
        shape = (
            cylinder(place.point, place.axis, 1.02 * radius, 1.12 * radius)
            if place.kind == "revolute"
            else ball(place.point, 0.9 * radius, 20)
        )
        name = root if place.tied[0] == FIXED_BASE else names[place.tied[0]]
        yield place.tied[0], "closing", name, shape
    carriers = robot.model.places([motor.carrier for motor in drawn.motors])
    for motor, carrier in zip(drawn.motors, carriers, strict=True):
        axis = motor.axis / np.linalg.norm(motor.axis)
        yield (
            carrier.body,
            "motor",
            names[motor.joint],
            cylinder(motor.point, axis, 0.68 * radius, 1.7 * radius),
        )


def _rail(robot: Robot, drawn: Skeleton, body: int, q: np.ndarray, radius: float) -> Mesh:
    """What the box of a prismatic joint slides on: from where the joint is measured to its limits."""
    joint = drawn.joints[body]
    at = float(joint.axis @ (joint.slider - joint.point))
    here = float(robot.joint_positions(q)[body])
    ends = [at + x - here for x in _range(robot, body, here, drawn.size)]
    low, high = min(0.0, at, *ends) - 1.7 * radius, max(0.0, at, *ends) + 1.7 * radius
    return cone(
        joint.point + low * joint.axis, joint.point + high * joint.axis, _RAIL * radius, _RAIL * radius
    )


def _range(robot: Robot, body: int, here: float, size: float) -> tuple[float, float]:
    """Positions that a prismatic joint may have, as far as a rail shows them [m]."""
    given = robot.model.moving[body].limits.position
    if given is None:
        return here - _REACH * size, here + _REACH * size
    low, high = (robot.model.number(x) for x in given)
    return max(low, here - _LONGEST * size), min(high, here + _LONGEST * size)


def _base(robot: Robot, drawn: Skeleton, radius: float) -> list[Mesh]:
    """Round plates below the places where the robot stands, and feet on them."""
    feet = _feet(drawn)
    up = _upwards(robot, drawn, np.mean(feet, axis=0))
    wide = 2.1 if drawn.closings else 3.4  # a linkage may have several
    found = []
    for place in feet:
        below = place - 1.9 * radius * up
        found.append(cone(below, place, 1.3 * radius, 0.8 * radius))
        found.append(cylinder(below - 0.2 * radius * up, up, wide * radius, 0.2 * radius, 40))
    return found


def _upwards(robot: Robot, drawn: Skeleton, foot: np.ndarray) -> np.ndarray:
    """The side of the ground that the robot is on: the base's z where gravity is along it, else up.

    A linkage that hangs below its feet is on the other side.
    """
    z, gravity = drawn.base_axes[:, 2], gravity_in_world(robot)
    weight = float(np.linalg.norm(gravity))
    up = z if weight < 1e-9 or abs(float(z @ gravity)) > 0.7 * weight else -gravity / weight
    hangs = drawn.closings and float((drawn.points.mean(0) - foot) @ up) < -1e-6 * drawn.size
    return -up if hangs else up


def _feet(drawn: Skeleton) -> list[np.ndarray]:
    """Where the base stands; a linkage stands wherever one of its joints is on the base."""
    if not drawn.closings:
        return [drawn.lines[-1][0][0] if drawn.lines[-1] else drawn.joints[0].point]
    return _apart(drawn.grounded, 1e-6 * drawn.size)


def _apart(points: Sequence[np.ndarray], tolerance: float) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for point in points:
        if not any(np.abs(point - other).max() < tolerance for other in found):
            found.append(point)
    return found
