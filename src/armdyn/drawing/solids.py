"""The arm as solids that are fixed to its bodies, drawn as the report draws it: for pictures that move.

Rods are links, cylinders revolute joints. A prismatic joint is a box, which moves with its link, on a rail,
which its parent holds. Motors are dark, and sit on the link that carries them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from armdyn.drawing.skeleton import JointPlace, Skeleton, gravity_in_world, skeleton
from armdyn.model.mechanism import FIXED_BASE
from armdyn.names import one_line
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits

# ---- plain shapes as triangles: tubes, balls, boxes and cones, from which the solids of an arm are made ---


class Mesh(NamedTuple):
    """Corners (V, 3) [m] and triangles (F, 3) of their numbers, seen from outside counter-clockwise."""

    vertices: np.ndarray
    triangles: np.ndarray


def together(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(triangles))


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors u and v at right angles to a unit vector, with u × v along it."""
    least = np.eye(3)[int(np.abs(axis).argmin())]
    u = np.cross(least, axis)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def cone(
    start: np.ndarray, end: np.ndarray, first: float, last: float, sides: int = 20, caps: bool = True
) -> Mesh:
    """A tube from one point to another that is `first` thick at its start and `last` at its end (radii)."""
    along = end - start
    u, v = across(along / np.linalg.norm(along))
    turn = np.arange(sides) * (2 * np.pi / sides)
    ring = np.outer(np.cos(turn), u) + np.outer(np.sin(turn), v)
    vertices = [start + first * ring, end + last * ring]
    k, following = np.arange(sides), np.roll(np.arange(sides), -1)
    triangles = [
        np.column_stack([k, following, sides + following]),
        np.column_stack([k, sides + following, sides + k]),
    ]
    if caps:
        vertices.append(np.array([start, end]))
        triangles.append(np.column_stack([np.full(sides, 2 * sides), following, k]))
        triangles.append(np.column_stack([np.full(sides, 2 * sides + 1), sides + k, sides + following]))
    return Mesh(np.vstack(vertices), np.vstack(triangles))


def cylinder(centre: np.ndarray, axis: np.ndarray, radius: float, half: float, sides: int = 28) -> Mesh:
    """A cylinder about a unit vector; it reaches `half` to either side of its centre."""
    return cone(centre - half * axis, centre + half * axis, radius, radius, sides)


def ball(centre: np.ndarray, radius: float, sides: int = 16) -> Mesh:
    """A sphere in `sides` meridians and half as many bands."""
    bands = sides // 2
    latitude = np.linspace(-np.pi / 2, np.pi / 2, bands + 1)[1:-1]
    turn = np.arange(sides) * (2 * np.pi / sides)
    rings = [
        np.column_stack([np.cos(a) * np.cos(turn), np.cos(a) * np.sin(turn), np.full(sides, np.sin(a))])
        for a in latitude
    ]
    poles = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    vertices = centre + radius * np.vstack([*rings, poles])
    k, following = np.arange(sides), np.roll(np.arange(sides), -1)
    south, last = len(rings) * sides, (len(rings) - 1) * sides
    triangles = [np.column_stack([np.full(sides, south), following, k])]
    for band in range(len(rings) - 1):
        low, high = band * sides, (band + 1) * sides
        triangles.append(np.column_stack([low + k, low + following, high + following]))
        triangles.append(np.column_stack([low + k, high + following, high + k]))
    triangles.append(np.column_stack([np.full(sides, south + 1), last + k, last + following]))
    return Mesh(vertices, np.vstack(triangles))


def box(centre: np.ndarray, axis: np.ndarray, half: float, side: float) -> Mesh:
    """A box that reaches `half` along a unit vector to either side, and `side` across it."""
    u, v = across(axis)
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
    vertices = centre + signs @ np.array([half * axis, side * u, side * v])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corner for a, b, c, d in faces for corner in ((a, b, c), (a, c, d))]
    return Mesh(vertices, np.array(triangles))


def rod(points: np.ndarray, radius: float) -> list[Mesh]:
    """A bent rod through points (P, 3), round at its corners and ends."""
    pieces = [cone(a, b, radius, radius, 14, caps=False) for a, b in pairwise(points)]
    return [*pieces, *(ball(point, radius, 14) for point in points)]


# ---- the arm as solids that are fixed to its bodies, drawn as the report draws it: for pictures that move


__all__ = ["COLOURS", "Solid", "Solids", "SpringPlace", "resting_posture", "solids"]

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
_BACK, _REACH = 0.1, 0.4  # of the arm's size: how far a rail goes where its joint has no limits
_LONGEST = 1.5  # of the arm's size: how far it goes at most


@dataclass(frozen=True)
class Solid:
    """Triangles that move with a body."""

    body: int  # as in `robot.poses`; FIXED_BASE for what stands still
    kind: Kind
    name: str  # of the link; on one line, but not escaped
    vertices: np.ndarray  # (V, 3) in the body's frame [m]
    triangles: np.ndarray  # (F, 3): numbers of vertices, counter-clockwise from outside
    colour: str  # "#rrggbb"


@dataclass(frozen=True)
class SpringPlace:
    """A spring between points (3,) of two bodies, each in the frame of its own."""

    tied: tuple[int, int]
    points: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Solids:
    """An arm: how large it is [m], its solids, its springs between points, and the ground it stands on.

    The ground is a plane through the point `ground` (3,), with the unit vector `up` (3,) at right angles to
    it, both in the world.
    """

    size: float
    solids: tuple[Solid, ...]
    struts: tuple[SpringPlace, ...]
    ground: np.ndarray
    up: np.ndarray


def solids(robot: Robot, along: np.ndarray | None = None) -> Solids:
    """The solids of a robot; `robot.poses` says where they are in a posture.

    Rails reach as far as limits allow their joints to go. Where there are none, `along` (N, n) may have
    postures that they must reach, such as those of a motion.
    """
    q = resting_posture(robot)
    drawn = skeleton(robot, q, sliding=True)
    poses = robot.poses(q)
    radius = _RADIUS * drawn.size
    stand, rails = _Stand.of(robot, drawn, radius), _rails(robot, drawn, q, along)
    found = []
    for body, kind, name, mesh in _pieces(robot, drawn, radius, stand, rails):
        R, p = poses[body, :3, :3], poses[body, :3, 3]
        vertices = (mesh.vertices - p) @ R
        found.append(Solid(body, kind, name, vertices, mesh.triangles, COLOURS[kind]))
    struts = [
        SpringPlace(strut.tied, (np.array(strut.points[0], float), np.array(strut.points[1], float)))
        for strut in robot.mechanism.struts
    ]
    return Solids(drawn.size, tuple(found), tuple(struts), stand.ground, stand.up)


def resting_posture(robot: Robot) -> np.ndarray:
    """(n,): where the robot stands when nothing else is said: at zero, or as near to it as limits allow.

    With loops it is the posture in which they were first closed.
    """
    if robot.model.loops:
        return np.array(robot.assembly.reference)
    limits = joint_limits(robot)
    return np.asarray(np.clip(np.zeros(robot.n), limits.lower, limits.upper))


Piece = tuple[int, Kind, str, Mesh]


def _pieces(
    robot: Robot, drawn: Skeleton, radius: float, stand: _Stand, rails: Mapping[int, tuple[float, float]]
) -> Iterator[Piece]:
    """Everything in the world: body, kind, name and shape."""
    names = [one_line(link.name) for link in robot.model.moving]
    parents = [body.parent for body in robot.mechanism.bodies]
    root = one_line(robot.model.root)
    yield FIXED_BASE, "base", root, together(stand.meshes)
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
            yield parents[i], "joint", name, _rail(joint, rails[i], radius)
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


def _rails(
    robot: Robot, drawn: Skeleton, q: np.ndarray, along: np.ndarray | None
) -> dict[int, tuple[float, float]]:
    """Between which distances from where it is measured each prismatic joint's slider may be [m]."""
    sliding = [i for i, joint in enumerate(drawn.joints) if not joint.revolute]
    if not sliding:
        return {}
    here = robot.joint_positions(q)
    there = here if along is None else robot.joint_positions(along)
    found = {}
    for i in sliding:
        joint = drawn.joints[i]
        offset = float(joint.axis @ (joint.slider - joint.point)) - float(here[i])
        low, high = _range(robot, i, np.append(there[..., i], here[i]), drawn.size)
        found[i] = low + offset, high + offset
    return found


def _range(robot: Robot, body: int, reached: np.ndarray, size: float) -> tuple[float, float]:
    """Positions that a prismatic joint may have, as far as a rail shows them [m]."""
    given, here = robot.model.moving[body].limits.position, float(reached[-1])
    if given is None:
        low, high = here - _BACK * size, here + _REACH * size
    else:
        bounds = [robot.model.number(x) for x in given]
        low, high = max(bounds[0], here - _LONGEST * size), min(bounds[1], here + _LONGEST * size)
    return min(low, float(reached.min())), max(high, float(reached.max()))


def _rail(joint: JointPlace, reach: tuple[float, float], radius: float) -> Mesh:
    """What the box of a prismatic joint slides on, beginning where the joint is measured."""
    low, high = min(0.0, reach[0]) - 1.7 * radius, max(0.0, reach[1]) + 1.7 * radius
    ends = joint.point + low * joint.axis, joint.point + high * joint.axis
    return cone(*ends, _RAIL * radius, _RAIL * radius)


@dataclass(frozen=True)
class _Stand:
    """What a robot stands on: feet, and the side of the ground that they are on."""

    feet: list[np.ndarray]
    up: np.ndarray
    radius: float
    wide: float  # of plates, in parts of the radius: a linkage may have several

    @staticmethod
    def of(robot: Robot, drawn: Skeleton, radius: float) -> _Stand:
        up = _upwards(robot, drawn, np.mean(drawn.feet, axis=0))
        return _Stand(drawn.feet, up, radius, 2.1 if drawn.closings else 3.4)

    @property
    def ground(self) -> np.ndarray:
        """A point of it, below the lowest foot."""
        lowest = min(self.feet, key=lambda foot: float(foot @ self.up))
        return np.asarray(lowest - 2.3 * self.radius * self.up)

    @property
    def meshes(self) -> list[Mesh]:
        """Round plates below the places where the robot stands, and feet on them."""
        found = []
        for place in self.feet:
            below = place - 1.9 * self.radius * self.up
            plate = below - 0.2 * self.radius * self.up
            found.append(cone(below, place, 1.3 * self.radius, 0.8 * self.radius))
            found.append(cylinder(plate, self.up, self.wide * self.radius, 0.2 * self.radius, 40))
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
