"""What is marked at the links: frames and names, numbers of joints, centres of mass, inertia ellipsoids."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.drawing.skeleton import skeleton
from armdyn.drawing.solids import resting_posture
from armdyn.model.robot_model import Converter, places_of
from armdyn.names import one_line
from armdyn.robot import Robot
from armdyn.workbench.bench import Bench
from armdyn.workbench.moment import Moment
from armdyn.workbench.scene.arm import path, place, pose_of

_LONG, _THIN = 0.12, 0.006  # of axes, in parts of the arm's size
_SHOWN = 40  # characters of a name
# Frames of neighbours often have one origin: their names go to different sides.
_ANCHORS: Any = ("bottom-left", "bottom-right", "top-right")

Placed = tuple[int, np.ndarray]  # a body, and a pose (4, 4) in its frame


def link_places(robot: Robot) -> dict[str, Placed]:
    """Where the frames of all links are, the base's among them."""
    model, found = robot.model, {}
    for name, (body, T) in places_of(model, Converter(model.number)).items():
        found[name] = (body, pose_of(T.R, T.p))
    return found


def tip_place(robot: Robot) -> Placed:
    mechanism = robot.mechanism
    return mechanism.tip, pose_of(mechanism.R_tip, mechanism.p_tip)


def named_frames(robot: Robot) -> list[tuple[str, Placed]]:
    """Frames with what they are called; several in one pose are one, with all their names."""
    found: list[tuple[list[str], Placed]] = []
    for name, placed in [*link_places(robot).items(), ("tip", tip_place(robot))]:
        names = next((names for names, other in found if _same(placed, other)), None)
        if names is None:
            found.append(([name], placed))
        else:
            names.append(name)
    return [(_short(", ".join(one_line(name) for name in names)), placed) for names, placed in found]


def _same(a: Placed, b: Placed) -> bool:
    return a[0] == b[0] and bool(np.abs(a[1] - b[1]).max() < 1e-6)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


class Marks:
    """Things at bodies, made by a function of the bench and the arm's size when they are first shown."""

    def __init__(self, bench: Bench, size: float, make: Callable[[Bench, float], list[Any]]) -> None:
        self._bench, self._size, self._make = bench, size, make
        self.handles: list[Any] = []
        self._visible, self._lock = False, threading.Lock()

    def show(self, visible: bool) -> None:
        with self._lock, self._bench.server.atomic():
            self._visible = visible
            if visible and not self.handles:
                self.handles = self._make(self._bench, self._size)
            for handle in self.handles:
                handle.visible = visible

    def renew(self, size: float) -> None:
        """The arm has another geometry."""
        with self._lock, self._bench.server.atomic():
            self._size = size
            for handle in self.handles:
                handle.remove()
            self.handles = self._make(self._bench, size) if self._visible else []


def frames(bench: Bench, size: float) -> list[Any]:
    """Axes x, y, z in red, green and blue, at every link, the base and the tip."""
    long, thin = _LONG * size, _THIN * size
    found = []
    for k, (_, (body, pose)) in enumerate(named_frames(bench.robot)):
        name = f"{path(body)}/frame_{k}"
        axes = bench.scene.add_frame(name, axes_length=long, axes_radius=thin, origin_radius=1.6 * thin)
        place(axes, pose)
        found.append(axes)
    return found


def names(bench: Bench, _size: float) -> list[Any]:
    """What the links are called, at their frames; links whose frames have one origin share a label."""
    found: dict[tuple[int, bytes], list[str]] = {}
    for name, (body, pose) in named_frames(bench.robot):
        found.setdefault((body, np.round(pose[:3, 3] + 0.0, 6).tobytes()), []).append(name)
    return [
        bench.scene.add_label(
            f"{path(body)}/name_{k}",
            _short(", ".join(names)),
            position=np.frombuffer(point),
            font_screen_scale=0.8,
            anchor=_ANCHORS[k % len(_ANCHORS)],
        )
        for k, ((body, point), names) in enumerate(found.items())
    ]


def numbers(bench: Bench, _size: float) -> list[Any]:
    """The numbers that joints have in every table, at their axes; joints that follow others have names."""
    robot = bench.robot
    q = resting_posture(robot)
    drawn, poses, found = skeleton(robot, q, sliding=True), robot.poses(q), []
    for body, (label, joint) in enumerate(zip(drawn.labels, drawn.joints, strict=True)):
        if label:
            at = joint.point if joint.revolute else joint.slider
            position = poses[body, :3, :3].T @ (at - poses[body, :3, 3])
            name = f"{path(body)}/number_{body}"
            found.append(bench.scene.add_label(name, _short(label), position=position, anchor="top-left"))
    return found


# ---- what the arm carries, and where its tip goes ---------------------------------------------------------

_LOAD, _PATH = (166, 97, 26), (28, 126, 214)
_DENSITY = 2700.0  # kg/m³, of aluminium: how large a ball is that stands for a payload
_ON_PATH = 300  # points of a path


class PayloadBall:
    """Balls at the centres of mass of what the arm carries: as it was edited, and as a motion has it."""

    def __init__(self, bench: Bench, size: float) -> None:
        self._bench, self.size, self._visible = bench, size, True
        self._balls: list[Any] = []
        self._robot: Robot | None = None
        bench.on_picture(self._follow)

    def show(self, visible: bool) -> None:
        self._visible, self._robot = visible, None
        self._bench.change()

    def _follow(self, moment: Moment) -> None:
        if moment.robot is self._robot:
            return
        self._robot = moment.robot
        found = carried(moment.robot, self._bench.unladen) if self._visible else []
        with self._bench.server.atomic():
            for ball in self._balls:
                ball.remove()
            self._balls = [self._ball(*one) for one in found]

    def _ball(self, body: int, mass: float, centre: np.ndarray) -> Any:
        radius = (3 * mass / (4 * np.pi * _DENSITY)) ** (1 / 3)
        radius = float(np.clip(radius, 0.01 * self.size, 0.15 * self.size))
        return self._bench.scene.add_icosphere(
            f"{path(body)}/load",
            radius=radius,
            color=_LOAD,
            opacity=0.85,
            position=centre,
            cast_shadow=False,
            receive_shadow=False,
        )


def carried(laden: Robot, unladen: Robot) -> list[tuple[int, float, np.ndarray]]:
    """What links have more in one robot than in another: body, mass [kg], centre in the body's frame."""
    if laden is unladen:
        return []
    without = {one.link: one for one in link_masses(unladen)}
    found = []
    for one in link_masses(laden):
        less = without.get(one.link)
        mass = one.mass - (less.mass if less else 0.0)
        if mass > 1e-9 * one.mass:
            moment = one.mass * one.pose[:3, 3] - (less.mass * less.pose[:3, 3] if less else 0.0)
            found.append((one.body, mass, moment / mass))
    return found


class TipTrace:
    """The way of the tip along the motion that is followed."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._visible = bench, True
        self._drawn: tuple[Any, ...] = ()  # of which clip and robot
        self._line: Any = None
        bench.on_picture(self._follow)

    def show(self, visible: bool) -> None:
        self._visible, self._drawn = visible, ()
        self._bench.change()

    def _follow(self, moment: Moment) -> None:
        clip, runs = self._bench.player.clip, moment.subject.bare.runs
        if self._drawn and self._drawn[0] is clip and self._drawn[1] is runs:
            return
        self._drawn = clip, runs
        if self._line is not None:
            self._line.remove()
            self._line = None
        if not self._visible:
            return
        q = np.array([clip.at(t)[0] for t in np.linspace(0, clip.duration, _ON_PATH)])
        points = np.asarray(runs.pose(q))[:, :3, 3]
        if np.ptp(points, axis=0).max() > 0:
            ends = np.stack([points[:-1], points[1:]], axis=1)
            self._line = self._bench.scene.add_line_segments(
                "/tip_path", ends, _PATH, thickness=2.5, thickness_units="screen"
            )


# ---- centres of mass and inertia ellipsoids of the links, as they are edited ------------------------------
#
# A link's ellipsoid is the homogeneous solid ellipsoid that has the link's mass and its moments about the
# centre of mass: I₁ = m (b² + c²) / 5 and so on, hence a² = 5 (I₂ + I₃ − I₁) / (2 m). Motors are apart.

BALL, SHELL = (214, 120, 24), (92, 120, 200)
_LARGEST = 0.035  # of the arm's size: the ball of the heaviest link


@dataclass(frozen=True)
class LinkMass:
    """A link's centre of mass with the axes of its ellipsoid, in its body's frame."""

    link: int  # its number among the links of the model, from 0
    body: int
    pose: np.ndarray  # (4, 4)
    mass: float  # kg
    axes: np.ndarray | None  # (3,) semi-axes [m]; None where no body has these moments


def link_masses(robot: Robot) -> list[LinkMass]:
    """Of all links that have a mass, in the order of the model."""
    model, places = robot.model, link_places(robot)
    convert, found = Converter(model.number), []
    for number, link in enumerate(model.links):
        inertia = convert.inertia(link.inertia)
        if not float(inertia.mass) > 0:
            continue
        body, frame = places[link.name]
        moments, axes = inertia.principal()
        pose = pose_of(axes if np.linalg.det(axes) > 0 else axes * [1, 1, -1], inertia.com)
        mass = float(inertia.mass)
        found.append(LinkMass(number, body, frame @ pose, mass, solid_axes(mass, moments)))
    return found


def solid_axes(mass: float, moments: np.ndarray) -> np.ndarray | None:
    """(3,) semi-axes [m] of the homogeneous ellipsoid with principal moments (3,) [kg m²].

    None where no body has these moments: none may be larger than the sum of the others.
    """
    squares = 2.5 / mass * (moments.sum() - 2 * moments)
    if squares.min() < -1e-9 * max(float(np.abs(squares).max()), 1e-300):
        return None
    return np.asarray(np.sqrt(np.clip(squares, 0, None)))


class Masses:
    """Balls at the centres of mass, their volume in proportion to the mass, and ellipsoids around them.

    `without` are the links that have a mass but no ellipsoid, because no body has their moments.
    """

    def __init__(self, bench: Bench, size: float) -> None:
        self._bench, self._size = bench, size
        self._shown = {"balls": False, "shells": False}
        self._handles: dict[tuple[str, int], Any] = {}  # by what it is, and its link
        self._robot: Robot | None = None
        self.without: list[str] = []
        bench.on_picture(self._follow)

    def show(self, which: str, visible: bool) -> None:
        """`which` is "balls" or "shells"."""
        self._shown[which] = visible
        self._robot = None
        self._bench.change()

    def resize(self, size: float) -> None:
        """The arm is drawn larger or smaller."""
        self._size, self._robot = size, None

    def _follow(self, moment: Moment) -> None:
        """Only a change of the robot is news: where bodies go, their balls go along."""
        if moment.robot is self._robot:
            return
        self._robot = moment.robot
        if not any(self._shown.values()) and not self._handles:
            return
        masses = link_masses(moment.robot)
        names = [link.name for link in moment.robot.model.links]
        self.without = [names[one.link] for one in masses if self._shown["shells"] and one.axes is None]
        with self._bench.server.atomic():
            for handle in self._handles.values():
                handle.visible = False
            for one in masses:
                self._draw(one, max(other.mass for other in masses))

    def _draw(self, one: LinkMass, heaviest: float) -> None:
        for which, shown in self._shown.items():
            if not shown or (which == "shells" and one.axes is None):
                continue
            handle = self._handles.get((which, one.link)) or self._made(which, one)
            place(handle, one.pose)
            handle.scale = self._scale(which, one, heaviest)
            handle.visible = True

    def _scale(self, which: str, one: LinkMass, heaviest: float) -> tuple[float, ...]:
        if which == "balls" or one.axes is None:
            radius = _LARGEST * self._size * max((one.mass / heaviest) ** (1 / 3), 0.2)
            return (radius, radius, radius)
        least = 2e-3 * self._size  # a thin one can still be seen
        return tuple(max(float(x), least) for x in one.axes)

    def _made(self, which: str, one: LinkMass) -> Any:
        ball = which == "balls"
        self._handles[which, one.link] = handle = self._bench.scene.add_icosphere(
            f"{path(one.body)}/{which}_{one.link}",
            radius=1.0,
            color=BALL if ball else SHELL,
            opacity=None if ball else 0.35,
            cast_shadow=False,
            receive_shadow=False,
        )
        return handle
