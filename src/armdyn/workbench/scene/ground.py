"""The ground, the light and where the camera stands at first."""

from __future__ import annotations

import numpy as np

from armdyn.report.findings.drawn.skeleton import gravity_in_world, skeleton
from armdyn.workbench.bench.bench import Bench

_AWAY = 1.9  # arm's sizes between camera and arm


def add(bench: Bench, size: float) -> None:
    """A grid below the base, and the camera at the arm's side; up is against gravity."""
    drawn = skeleton(bench.robot, bench.moment.q)
    up = -gravity_in_world(bench.robot)
    up = up / np.linalg.norm(up) if np.linalg.norm(up) > 1e-9 else np.array([0.0, 0.0, 1.0])
    bench.scene.set_up_direction(tuple(up))
    points = drawn.points
    middle = (points.min(0) + points.max(0)) / 2
    side = _side(up)
    camera = bench.server.initial_camera
    camera.position = middle + _AWAY * size * (side + 0.35 * np.cross(up, side) + 0.35 * up)
    camera.look_at = middle
    camera.up = up
    cell = 10.0 ** np.floor(np.log10(size)) / 2
    bench.scene.add_grid(
        "/ground",
        width=8 * size,
        height=8 * size,
        cell_size=cell,
        section_size=2 * cell,
        plane="xy",
        wxyz=_turned(up),
        position=tuple(drawn.base),
    )


def _side(up: np.ndarray) -> np.ndarray:
    """A horizontal direction: that of the world's axis that is least along `up`, the last of equals."""
    axis = np.eye(3)[[1, 0, 2]][int(np.argmin(np.round(np.abs(up[[1, 0, 2]]), 6)))]
    across = axis - up * float(axis @ up)
    return np.asarray(-across / np.linalg.norm(across))


def _turned(up: np.ndarray) -> np.ndarray:
    """(4,) w x y z: what turns z to `up`."""
    w = 1 + up[2]
    if w < 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    found = np.array([w, -up[1], up[0], 0.0])
    return np.asarray(found / np.linalg.norm(found))
