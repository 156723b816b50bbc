"""Springs between points of bodies, as coils that stretch with the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armdyn.report.findings.drawn.shapes import Mesh, across
from armdyn.report.findings.drawn.solids import Strut
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.scene.arm import Arm, rgb, stretch

COLOUR = "#3a9a5b"
_TURNS, _POINTS, _SIDES = 9, 20, 7  # of a coil: turns, points a turn, corners of its wire
_ENDS = 0.12  # of a spring's length: straight at either end


def add(bench: Bench, arm: Arm) -> None:
    if not arm.drawn.struts:
        return
    coils: list[tuple[Any, Strut]] = []

    def draw() -> None:
        for handle, _ in coils:
            handle.remove()
        poses = bench.moment.poses
        coils[:] = [(_drawn(bench, arm, k, strut, poses), strut) for k, strut in enumerate(arm.drawn.struts)]

    draw()
    arm.on_redrawn(draw)

    def show(moment: Moment) -> None:
        with bench.server.atomic():
            for handle, strut in coils:
                stretch(handle, *_ends(strut, moment.poses))

    bench.on_picture(show)


def _drawn(bench: Bench, arm: Arm, k: int, strut: Strut, poses: np.ndarray) -> Any:
    ends = _ends(strut, poses)
    length = max(float(np.linalg.norm(ends[1] - ends[0])), 0.02 * arm.size)
    mesh = coil(0.022 * arm.size, 0.005 * arm.size, length)
    handle = bench.scene.add_mesh_simple(
        f"/springs/{k + 1}",
        vertices=mesh.vertices.astype(np.float32),
        faces=mesh.triangles.astype(np.uint32),
        color=rgb(COLOUR),
    )
    stretch(handle, *ends)
    return handle


def _ends(strut: Strut, poses: np.ndarray) -> Sequence[np.ndarray]:
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
