"""The arm: its solids, moved with its bodies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from armdyn.model.mechanism import FIXED_BASE
from armdyn.report.findings.drawn.solids import Kind, Solid, Solids, solids
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment


class Arm:
    """The arm in the scene: how it is drawn, and what was added for it, by kind.

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

    @property
    def bodies(self) -> set[int]:
        """Those that have solids."""
        return {solid.body for solid in self.drawn.solids}

    def show(self, kinds: Iterable[Kind], visible: bool) -> None:
        with self._lock:
            for kind in kinds:
                (self._hidden.discard if visible else self._hidden.add)(kind)
            self._switch()

    def cover(self, bodies: Iterable[int]) -> None:
        """Leave out the solids of bodies that are drawn otherwise; all others are there again."""
        with self._lock:
            self._covered = set(bodies)
            self._switch()

    def _switch(self) -> None:
        places = {kind: iter(pieces) for kind, pieces in self.pieces.items()}
        for solid in self.drawn.solids:
            piece, visible = next(places[solid.kind]), self._is_visible(solid)
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
            for piece in [piece for pieces in self.pieces.values() for piece in pieces]:
                piece.remove()
            self.drawn = drawn
            self.pieces = self._pieces()
        for listener in self._listeners:  # they have locks of their own
            self._bench.guard(listener)

    def _pieces(self) -> dict[Kind, list[Any]]:
        pieces: dict[Kind, list[Any]] = {}
        for k, solid in enumerate(self.drawn.solids):
            piece = self._bench.scene.add_mesh_simple(
                f"{path(solid.body)}/{solid.kind}_{k}",
                vertices=solid.vertices.astype(np.float32),
                faces=solid.triangles.astype(np.uint32),
                color=rgb(solid.colour),
                flat_shading=False,
                visible=self._is_visible(solid),
            )
            pieces.setdefault(solid.kind, []).append(piece)
        return pieces


def _alike(one: Solids, other: Solids) -> bool:
    """Whether two arms look the same."""

    def shapes(drawn: Solids) -> list[np.ndarray]:
        struts = [np.array([*strut.tied]) for strut in drawn.struts]
        points = [np.array(strut.points) for strut in drawn.struts]
        return [*(solid.vertices for solid in drawn.solids), *struts, *points]

    kinds = [[(solid.body, solid.kind) for solid in drawn.solids] for drawn in (one, other)]
    pairs = zip(shapes(one), shapes(other), strict=False)
    return (
        kinds[0] == kinds[1]
        and len(one.struts) == len(other.struts)
        and all(a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-9 * one.size) for a, b in pairs)
    )


def add(bench: Bench) -> Arm:
    """Add the arm of the bench's robot to the scene; it moves with the state."""
    bodies = [*range(len(bench.robot.model.moving)), FIXED_BASE]
    frames = {body: bench.scene.add_frame(path(body), show_axes=False) for body in bodies}
    arm = Arm(bench)

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


def rotation(wxyz: np.ndarray) -> np.ndarray:
    """(3, 3) of a quaternion (4,) w x y z of any length but zero."""
    w, x, y, z = np.asarray(wxyz, float) / np.linalg.norm(wxyz)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


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
