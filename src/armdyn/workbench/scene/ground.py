"""The ground, the light and where the camera stands at first."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.report.findings.drawn.skeleton import gravity_in_world, skeleton
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.scene.arm import Arm, turned

_AWAY = 1.35  # arm's sizes between camera and arm
_LIGHT, _DARK = ((200, 200, 200), (140, 140, 140)), ((62, 66, 72), (96, 101, 110))  # of cells and sections
_ROUND = 0.5  # of an arm's spread one way: if it is spread as far across, no side is better than another
_HANGS = 0.15  # of the arm's size: an arm that is farther below its base hangs, with the ground below it


class Ground:
    """The grid, and from where the arm is looked at: directions (3,) by name."""

    def __init__(self, bench: Bench, size: float) -> None:
        self._bench = bench
        self._up = -gravity_in_world(bench.robot)
        length = np.linalg.norm(self._up)
        self._up = self._up / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
        bench.scene.set_up_direction(tuple(self._up))
        self.grid: Any = bench.scene.add_grid(
            "/ground", plane="xy", wxyz=turned(self._up), cell_color=_LIGHT[0], section_color=_LIGHT[1]
        )
        self.fit(size)

    def fit(self, size: float) -> None:
        """Below the arm as it is now, which has a size [m]; new pages look at it from its side."""
        bench, up = self._bench, self._up
        drawn = skeleton(bench.robot, bench.moment.q)
        points = drawn.points
        self._middle, self._distance = (points.min(0) + points.max(0)) / 2, _AWAY * size
        side = _side(up, points)
        across = np.cross(up, side)
        self.sides = {
            "Home": side + 0.35 * across + 0.35 * up,
            "Front": 1.06 * side + 1e-3 * up,
            "Side": 1.06 * across + 1e-3 * up,
            "Top": 1.06 * up + 1e-3 * side,
        }
        camera = bench.server.initial_camera
        camera.position = self._middle + self._distance * self.sides["Home"]
        camera.look_at = self._middle
        camera.up = up
        cell = float(10.0 ** np.floor(np.log10(size)) / 2)
        self.grid.width = self.grid.height = 8 * size
        self.grid.cell_size, self.grid.section_size = cell, 2 * cell
        self.grid.position = drawn.base + up * _height((points - drawn.base) @ up, size)

    def look(self, camera: Any, side: str) -> None:
        """Put a page's camera where one of `sides` says."""
        direction = self.sides[side]
        camera.up_direction = self._up
        camera.position = self._middle + self._distance * direction
        camera.look_at = self._middle

    def darken(self, dark: bool) -> None:
        self.grid.cell_color, self.grid.section_color = _DARK if dark else _LIGHT


def light(bench: Bench) -> None:
    """No shadows, which cost more than all the rest; without a graphics card no reflections either."""
    bench.scene.configure_default_lights(cast_shadow=False)
    plain = False

    def show(_moment: Moment) -> None:
        nonlocal plain
        if bench.unaided() and not plain:
            plain = True
            bench.scene.configure_environment_map(hdri=None)
            bench.scene.add_light_ambient("/light", intensity=1.2)

    bench.on_picture(show)


def add(bench: Bench, arm: Arm) -> Ground:
    """A grid below the arm, and the camera at the arm's side; up is against gravity."""
    ground = Ground(bench, arm.size)
    arm.on_redrawn(lambda: ground.fit(arm.size))
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
