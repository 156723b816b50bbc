"""The arm: its solids, moved with its bodies; springs between them; the ground, the light, the camera."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.drawing.skeleton import gravity_in_world, skeleton
from armdyn.drawing.solids import Kind, Mesh, Solid, Solids, SpringPlace, across, solids
from armdyn.drawing.views import nice_below
from armdyn.model.mechanism import FIXED_BASE
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, revolute_joints
from armdyn.workbench.bench import Bench
from armdyn.workbench.moment import Moment

_LINK = 172, 177, 185  # of links: lighter ones are white where light falls on them, as the page is


class DrawnArm:
    """The arm in the scene: what is drawn of it, and for each of its solids what was added for that.

    Whatever has `path(body)` before its name moves with that body. Another geometry is drawn anew.
    """

    def __init__(self, bench: Bench) -> None:
        self._bench, self._hidden, self._covered = bench, set[Kind](), set[int]()
        self._runs, self.drawn = bench.moment.subject.bare.runs, solids(bench.robot)
        self._lock = threading.RLock()  # pages switch while the worker draws
        self._listeners: list[Callable[[], None]] = []
        self.pieces = self._pieces()

    @property
    def size(self) -> float:
        """Of the order of the arm's extent [m]."""
        return self.drawn.size

    def show(self, kinds: Iterable[Kind], visible: bool) -> None:
        with self._lock:
            self._hidden = self._hidden.difference(kinds) if visible else self._hidden.union(kinds)
            self._switch()

    def cover(self, bodies: Iterable[int]) -> None:
        """Leave out the solids of bodies that are drawn otherwise; all others are there again."""
        with self._lock:
            self._covered = set(bodies)
            self._switch()

    def _switch(self) -> None:
        for solid, piece in self.pieces:
            visible = self._is_visible(solid)
            if piece.visible != visible:
                piece.visible = visible

    def _is_visible(self, solid: Solid) -> bool:
        return solid.kind not in self._hidden and solid.body not in self._covered

    def on_redrawn(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when the robot has another geometry: lengths, places of springs."""
        self._listeners.append(listener)

    def follow(self, moment: Moment) -> None:
        """Only robots that were compiled anew may have another geometry, as others with gears have not."""
        runs = moment.subject.bare.runs
        if runs is self._runs:
            return
        self._runs, drawn = runs, solids(runs)
        if _alike(drawn, self.drawn):
            return
        with self._lock, self._bench.server.atomic():
            for _, piece in self.pieces:
                piece.remove()
            self.drawn = drawn
            self.pieces = self._pieces()
        for listener in self._listeners:  # they have locks of their own
            self._bench.guard(listener)

    def _pieces(self) -> list[tuple[Solid, Any]]:
        found = []
        for k, solid in enumerate(self.drawn.solids):
            name, visible = f"{path(solid.body)}/{solid.kind}_{k}", self._is_visible(solid)
            colour = _LINK if solid.kind == "link" else rgb(solid.colour)
            piece = add_mesh(self._bench, name, solid, color=colour, flat_shading=False, visible=visible)
            found.append((solid, piece))
        return found


def add_mesh(bench: Bench, name: str, mesh: Mesh | Solid, **options: Any) -> Any:
    """Triangles added to the scene."""
    vertices, faces = mesh.vertices.astype(np.float32), mesh.triangles.astype(np.uint32)
    return bench.scene.add_mesh_simple(name, vertices=vertices, faces=faces, **options)


def _alike(one: Solids, other: Solids) -> bool:
    """Whether two arms look the same."""
    both = one, other
    parts = [[(solid.body, solid.kind, len(solid.vertices)) for solid in drawn.solids] for drawn in both]
    tied = [[strut.tied for strut in drawn.struts] for drawn in both]
    if parts[0] != parts[1] or tied[0] != tied[1]:
        return False
    a, b = (
        np.vstack([*(x.vertices for x in drawn.solids), *(x.points for x in drawn.struts)]) for drawn in both
    )
    return np.allclose(a, b, rtol=0, atol=1e-9 * one.size)


def add_arm(bench: Bench) -> DrawnArm:
    """Add the arm of the bench's robot to the scene; it moves with the state."""
    bodies = [*range(len(bench.robot.model.moving)), FIXED_BASE]
    frames = {body: bench.scene.add_frame(path(body), show_axes=False) for body in bodies}
    arm = DrawnArm(bench)

    def show(moment: Moment) -> None:
        with bench.server.atomic():
            for body, frame in frames.items():
                place(frame, moment.poses[body])

    bench.on_picture(show)
    bench.on_picture(arm.follow)
    return arm


def path(body: int) -> str:
    """Where a body is in the scene. Names of links are not in it: they may be anything."""
    return "/arm/base" if body == FIXED_BASE else f"/arm/body_{body + 1}"


def place(handle: Any, pose: np.ndarray) -> None:
    """Move something in the scene to a pose (4, 4)."""
    handle.position = pose[:3, 3]
    handle.wxyz = quaternion(pose[:3, :3])


def pose_of(R: Any, p: Any) -> np.ndarray:
    """(4, 4) of a rotation (3, 3) and a place (3,)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return pose


def quaternion(R: np.ndarray) -> np.ndarray:
    """(4,) w x y z of a rotation (3, 3)."""
    return np.roll(Rotation.from_matrix(R).as_quat(), 1)  # SciPy's have w last


def rotation(wxyz: np.ndarray) -> np.ndarray:
    """(3, 3) of a quaternion (4,) w x y z of any length but zero."""
    return np.asarray(Rotation.from_quat(np.roll(wxyz, -1)).as_matrix())


def turned(direction: np.ndarray) -> np.ndarray:
    """(4,) w x y z: what turns z to a unit vector (3,)."""
    w = 1 + direction[2]
    if w < 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    found = np.array([w, -direction[1], direction[0], 0.0])
    return np.asarray(found / np.linalg.norm(found))


def stretch(handle: Any, start: np.ndarray, end: np.ndarray) -> None:
    """Lay something that is 1 m long, from 0 along z, between two points (3,) of the world."""
    along = end - start
    length = float(np.linalg.norm(along))
    handle.visible = length > 1e-9
    if length > 1e-9:
        handle.position, handle.wxyz = start, turned(along / length)
        handle.scale = (1.0, 1.0, length)


def rgb(colour: str) -> tuple[int, int, int]:
    """Of "#rrggbb"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


# ---- springs between points of bodies, as coils that stretch with the state ------------------------------

_GREEN = "#3a9a5b"
_TURNS, _POINTS, _SIDES = 9, 20, 7  # of a coil: turns, points a turn, corners of its wire
_ENDS = 0.12  # of a spring's length: straight at either end


def add_springs(bench: Bench, arm: DrawnArm) -> None:
    if not arm.drawn.struts:
        return
    coils: list[tuple[Any, SpringPlace]] = []

    def draw() -> None:
        for handle, _ in coils:
            handle.remove()
        poses = bench.moment.poses
        coils[:] = [(_coil(bench, arm, k, strut, poses), strut) for k, strut in enumerate(arm.drawn.struts)]

    draw()
    arm.on_redrawn(draw)

    def show(moment: Moment) -> None:
        with bench.server.atomic():
            for handle, strut in coils:
                stretch(handle, *_ends(strut, moment.poses))

    bench.on_picture(show)


def _coil(bench: Bench, arm: DrawnArm, k: int, strut: SpringPlace, poses: np.ndarray) -> Any:
    ends = _ends(strut, poses)
    length = max(float(np.linalg.norm(ends[1] - ends[0])), 0.02 * arm.size)
    mesh = coil(0.022 * arm.size, 0.005 * arm.size, length)
    handle = add_mesh(bench, f"/springs/{k + 1}", mesh, color=rgb(_GREEN))
    stretch(handle, *ends)
    return handle


def _ends(strut: SpringPlace, poses: np.ndarray) -> Sequence[np.ndarray]:
    return [
        poses[body, :3, :3] @ point + poses[body, :3, 3]
        for body, point in zip(strut.tied, strut.points, strict=True)
    ]


def coil(radius: float, wire: float, length: float) -> Mesh:
    """A coil from 0 to 1 along z, so that stretched to `length` its wire is round."""
    middle = np.linspace(_ENDS, 1 - _ENDS, _TURNS * _POINTS + 1)
    turn = np.linspace(0, 2 * np.pi * _TURNS, len(middle))
    line = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), length * middle])
    line = np.vstack([[0, 0, 0], [0, 0, length * _ENDS * 0.9], line, [0, 0, length * (1 - _ENDS * 0.9)]])
    line = np.vstack([line, [0, 0, length]])
    mesh = tube(line, wire)
    return Mesh(mesh.vertices / [1, 1, length], mesh.triangles)


def tube(line: np.ndarray, radius: float, sides: int = _SIDES) -> Mesh:
    """A wire through points (P, 3), open at its ends."""
    along = np.gradient(line, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    angle = np.arange(sides) * (2 * np.pi / sides)
    u, _ = across(along[0])
    rings = []
    for point, direction in zip(line, along, strict=True):
        u = u - direction * float(u @ direction)  # carried along, so that the wire does not twist
        u /= np.linalg.norm(u)
        v = np.cross(direction, u)
        rings.append(point + radius * (np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v)))
    k, following = np.arange(sides), np.roll(np.arange(sides), -1)
    triangles = []
    for ring in range(len(line) - 1):
        low, high = ring * sides, (ring + 1) * sides
        triangles.append(np.column_stack([low + k, low + following, high + following]))
        triangles.append(np.column_stack([low + k, high + following, high + k]))
    return Mesh(np.vstack(rings), np.vstack(triangles))


# ---- the ground, the light and where the camera stands ---------------------------------------------------

_CELLS, _SECTIONS = (128, 131, 136), (118, 121, 126)  # of the grid: as far from white as from black
_CELLS_ACROSS = 2  # an arm, at least
_THIN = 0.6  # of the lines between cells
_ROUND = 0.5  # of an arm's spread one way: if it is spread as far across, no side is better than another
_HANGS = 0.15  # of the arm's size: an arm that is farther below its base hangs, with the ground below it
_FIELD = 0.75  # rad: what the camera sees from top to bottom
_FILLED = 0.92  # of the picture: what the arm may reach over in all its postures
_BUTTONS, _MOST_COVERED = 44.0, 0.2  # pixels at its bottom that have buttons; part of the height at most
_POSTURES = 400  # that are looked at for that
_GUESS = 0.75  # width by height of a picture, before a page says how large its own is


class Ground:
    """The grid, and from where the arm is looked at: directions (3,) by name."""

    def __init__(self, bench: Bench, drawn: Solids) -> None:
        self._bench = bench
        self._up = -gravity_in_world(bench.robot)
        length = np.linalg.norm(self._up)
        self._up = self._up / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
        bench.scene.set_up_direction(tuple(self._up))
        self.grid: Any = bench.scene.add_grid(
            "/ground",
            plane="xy",
            wxyz=turned(self._up),
            cell_color=_CELLS,
            section_color=_SECTIONS,
            cell_thickness=_THIN,
            section_thickness=1.0,
        )
        self._more = np.zeros((0, 3))
        self.renew(drawn)
        bench.fields.hear("fit", self.fit)
        bench.show_too = self.show_too

    def renew(self, drawn: Solids) -> None:
        """Below the arm as it is drawn now; new pages look at it from its side."""
        bench, up, size = self._bench, self._up, drawn.size
        bones = skeleton(bench.robot, bench.moment.q)
        self._reach = reached(bench.moment.subject.bare.runs, bench.limits, bench.moment.q, drawn)
        side = _side(up, bones.points)
        across = np.cross(up, side)
        sides = {
            "Home": side + 0.35 * across + 0.35 * up,
            "Front": side + 1e-3 * up,
            "Side": across + 1e-3 * up,
            "Top": up + 1e-3 * side,
        }
        self.sides = {name: direction / np.linalg.norm(direction) for name, direction in sides.items()}
        camera = bench.server.initial_camera
        camera.position, camera.look_at = self._place("Home", _GUESS)
        camera.up, camera.fov = up, _FIELD
        cell = nice_below(size / _CELLS_ACROSS)
        self.grid.width = self.grid.height = 8 * size
        self.grid.cell_size, self.grid.section_size = cell, 2 * cell
        self.grid.position = bones.base + up * _height((bones.points - bones.base) @ up, size)

    def fit(self, client: Any, width: float, height: float) -> None:
        """Have a page see the arm whatever posture it takes, in a picture of so many pixels."""
        if width > 0 and height > 0:
            self.look(client, "Home", width / height, min(_BUTTONS / height, _MOST_COVERED))
        else:
            self.look(client, "Home", _GUESS)

    def show_too(self, points: np.ndarray) -> None:
        """Have all pages see points (P, 3) beside the arm, and no others."""
        self._more = points
        for client in self._bench.server.get_clients().values():
            self.look(client, "Home")

    def look(self, client: Any, side: str, aspect: float | None = None, covered: float = 0.0) -> None:
        """Put a page's camera where one of `sides` says, far enough away for all postures."""
        camera = client.camera
        position, middle = self._place(side, camera.aspect if aspect is None else aspect, covered)
        with client.atomic():
            camera.fov = _FIELD
            camera.up_direction = self._up
            camera.position = position
            camera.look_at = middle

    def _place(self, side: str, aspect: float, covered: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Where the camera stands and what it looks at."""
        points = np.vstack([self._reach, self._more])
        return fitted(points, self.sides[side], self._up, _FIELD, aspect, covered)


def reached(robot: Robot, limits: JointLimits, q: np.ndarray, drawn: Solids) -> np.ndarray:
    """Points (P, 3) of an arm's solids at q and in postures spread over all that its joints may do."""
    room = np.where(revolute_joints(robot), np.pi, 0.5)
    low = np.where(np.isfinite(limits.lower), limits.lower, np.minimum(q, limits.upper) - room)
    high = np.where(np.isfinite(limits.upper), limits.upper, np.maximum(q, limits.lower) + room)
    low, high = np.maximum(low, q - 2 * room), np.minimum(high, q + 2 * room)
    chance = np.random.default_rng(0)
    share = chance.random((_POSTURES, robot.n))
    share[::2] = np.round(2 * share[::2]) / 2  # limits, and the middle between them
    Q = low + share * (high - low)
    if robot.model.loops:
        Q = Q[robot.assembly.closes(Q)]
    poses = np.asarray(robot.poses(np.vstack([q, Q])))  # (N, bodies, 4, 4)
    found = [np.zeros((0, 3))]
    for solid in drawn.solids:
        corners = np.array(np.meshgrid(*np.array([solid.vertices.min(0), solid.vertices.max(0)]).T))
        at = poses[:, solid.body]
        found.append(
            (corners.reshape(3, -1).T @ at[:, :3, :3].swapaxes(1, 2) + at[:, None, :3, 3]).reshape(-1, 3)
        )
    points = np.vstack(found)
    return np.unique(np.round(points / (0.005 * drawn.size)), axis=0) * (0.005 * drawn.size)


def fitted(
    points: np.ndarray, towards: np.ndarray, up: np.ndarray, field: float, aspect: float, covered: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Where a camera in a direction (3,) stands, and what it looks at, so that it sees points (P, 3) whole.

    `field` is the angle that it sees from top to bottom, `aspect` the width of its picture by the height,
    `covered` the part of the height that something covers at the bottom.
    """
    right = np.cross(up, towards)
    right = right / np.linalg.norm(right)
    axes = np.array([right, np.cross(towards, right), towards])
    x, y, depth = axes @ points.T
    half, share = np.tan(field / 2), _FILLED - 2 * covered
    # A point is seen if x - middle <= slope (distance - depth), and so on the other side with a slope of its
    # own: lines that bound distance and middle.
    sides = ((x, _FILLED * aspect * half, _FILLED * aspect * half), (y, _FILLED * half, share * half))
    needs = [((v + s * depth).max(), (v - t * depth).min(), s, t) for v, s, t in sides]
    distance = max((high - low) / (s + t) for high, low, s, t in needs)
    middle = [(high + low - (s - t) * distance) / 2 for high, low, s, t in needs]
    target = np.array([*middle, float(depth.mean())]) @ axes
    return target + (distance - float(depth.mean())) * towards, target


def add_light(bench: Bench) -> None:
    """No shadows, which cost more than all the rest; without a graphics card no reflections either."""
    bench.scene.configure_default_lights(cast_shadow=False)

    def plain() -> None:
        bench.scene.configure_environment_map(hdri=None)
        bench.scene.add_light_ambient("/light", intensity=1.0)

    bench.on_unaided(plain)


def add_ground(bench: Bench, arm: DrawnArm) -> Ground:
    """A grid below the arm, and the camera at the arm's side; up is against gravity."""
    ground = Ground(bench, arm.drawn)
    arm.on_redrawn(lambda: ground.renew(arm.drawn))
    return ground


def _height(heights: np.ndarray, size: float) -> float:
    """Of the ground over the base, for points at heights (N,) over it [m]."""
    hangs = float(heights.mean()) < -_HANGS * size
    return float(heights.min()) - _HANGS * size if hangs else 0.0


def _side(up: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The horizontal direction from which an arm of points (N, 3) is seen widest, x to the right.

    Where all directions are much the same, x alone decides.
    """
    axis = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    first = axis - up * float(axis @ up)
    first = first / np.linalg.norm(first)
    plane = np.array([first, np.cross(up, first)])  # (2, 3)
    flat = (points - points.mean(0)) @ plane.T
    spread, turn = np.linalg.eigh(flat.T @ flat)
    if spread[0] > _ROUND * spread[1]:
        return np.asarray(-plane[1])
    thin = turn[:, 0] @ plane
    right = np.cross(up, thin)
    return np.asarray(thin if float(right @ first) >= -1e-9 else -thin)
