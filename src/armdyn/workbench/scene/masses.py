"""Centres of mass and inertia ellipsoids of the links, as they are edited.

The ellipsoid of a link is the homogeneous solid ellipsoid that has the link's mass and its moments about the
centre of mass: I₁ = m (b² + c²) / 5 and so on, hence a² = 5 (I₂ + I₃ − I₁) / (2 m). Motors are apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.model.lowering import Converter
from armdyn.robot import Robot
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.scene.arm import path, place
from armdyn.workbench.scene.frames import link_places

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
        pose = np.eye(4)
        pose[:3, :3] = axes if np.linalg.det(axes) > 0 else axes * [1, 1, -1]
        pose[:3, 3] = np.array(inertia.com, float)
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
