"""The arm: its solids, moved with its bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.report.findings.drawn.solids import Solids, body_poses, solids
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment


def add(bench: Bench) -> Solids:
    """Add the arm of the bench's robot to the scene; returns its solids."""
    drawn = solids(bench.robot)
    bodies = sorted({solid.body for solid in drawn.solids})
    frames = {body: bench.scene.add_frame(_path(body), show_axes=False) for body in bodies}
    for k, solid in enumerate(drawn.solids):
        bench.scene.add_mesh_simple(
            f"{_path(solid.body)}/{solid.kind}_{k}",
            vertices=solid.vertices.astype(np.float32),
            faces=solid.triangles.astype(np.uint32),
            color=rgb(solid.colour),
            flat_shading=False,
        )

    def show(moment: Moment) -> None:
        poses = body_poses(moment.robot, moment.q)
        with bench.server.atomic():
            for body, frame in frames.items():
                place(frame, poses[body])

    bench.on_moment(show)
    return drawn


def _path(body: int) -> str:
    """Where a body is in the scene. Names of links are not in it: they may be anything."""
    return "/arm/base" if body < 0 else f"/arm/body_{body + 1}"


def place(handle: Any, pose: np.ndarray) -> None:
    """Move something in the scene to a pose (4, 4)."""
    handle.position = pose[:3, 3]
    handle.wxyz = quaternion(pose[:3, :3])


def quaternion(R: np.ndarray) -> np.ndarray:
    """(4,) w x y z of a rotation (3, 3), by the largest of its four entries."""
    squares = 1 + np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) @ np.diag(R)
    x = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    S = R + R.T
    rows = np.array(
        [
            [squares[0], x[0], x[1], x[2]],
            [x[0], squares[1], S[0, 1], S[0, 2]],
            [x[1], S[0, 1], squares[2], S[1, 2]],
            [x[2], S[0, 2], S[1, 2], squares[3]],
        ]
    )
    row = rows[int(np.argmax(squares))]
    return np.asarray(row / np.linalg.norm(row))


def rgb(colour: str) -> tuple[int, int, int]:
    """Of "#rrggbb"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
