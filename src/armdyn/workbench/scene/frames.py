"""Frames of the links, the base and the tip, their names, and the numbers of the joints."""

from __future__ import annotations

import threading
from typing import Any, Literal

import numpy as np

from armdyn.model.lowering import Converter, places_of
from armdyn.output import one_line
from armdyn.report.findings.drawn.poses import body_poses
from armdyn.report.findings.drawn.skeleton import skeleton
from armdyn.report.findings.drawn.solids import resting_posture
from armdyn.robot import Robot
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.scene.arm import path, place

_LONG, _THIN = 0.12, 0.006  # of axes, in parts of the arm's size
_SHOWN = 40  # characters of a name
# Frames of neighbours often have one origin: their names go to different sides.
_ANCHORS: tuple[Literal["bottom-left", "bottom-right", "top-right"], ...] = (
    "bottom-left",
    "bottom-right",
    "top-right",
)

Placed = tuple[int, np.ndarray]  # a body, and a pose (4, 4) in its frame


def link_places(robot: Robot) -> dict[str, Placed]:
    """Where the frames of all links are, the base's among them."""
    model, found = robot.model, {}
    for name, (body, T) in places_of(model, Converter(model.number)).items():
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = np.array(T.R, float), np.array(T.p, float)
        found[name] = (body, pose)
    return found


def tip_place(robot: Robot) -> Placed:
    mechanism, pose = robot.mechanism, np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.array(mechanism.R_tip, float), np.array(mechanism.p_tip, float)
    return mechanism.tip, pose


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
    """Things at bodies that are added when they are first shown."""

    def __init__(self, bench: Bench, size: float) -> None:
        self.bench, self.size = bench, size
        self._handles: list[Any] = []
        self._visible, self._lock = False, threading.Lock()

    def make(self) -> list[Any]:
        raise NotImplementedError

    def show(self, visible: bool) -> None:
        with self._lock, self.bench.server.atomic():
            self._visible = visible
            if visible and not self._handles:
                self._handles = self.make()
            for handle in self._handles:
                handle.visible = visible

    def renew(self, size: float) -> None:
        """The arm has another geometry."""
        with self._lock, self.bench.server.atomic():
            self.size = size
            for handle in self._handles:
                handle.remove()
            self._handles = self.make() if self._visible else []


class Frames(Marks):
    """Axes x, y, z in red, green and blue, at every link, the base and the tip."""

    def make(self) -> list[Any]:
        found = []
        for k, (_, (body, pose)) in enumerate(named_frames(self.bench.robot)):
            axes = self.bench.scene.add_frame(
                f"{path(body)}/frame_{k}",
                axes_length=_LONG * self.size,
                axes_radius=_THIN * self.size,
                origin_radius=1.6 * _THIN * self.size,
            )
            place(axes, pose)
            found.append(axes)
        return found


class Names(Marks):
    """What the links are called, at their frames; links whose frames have one origin share a label."""

    def make(self) -> list[Any]:
        found: dict[tuple[int, bytes], list[str]] = {}
        for name, (body, pose) in named_frames(self.bench.robot):
            found.setdefault((body, np.round(pose[:3, 3] + 0.0, 6).tobytes()), []).append(name)
        return [
            self.bench.scene.add_label(
                f"{path(body)}/name_{k}",
                _short(", ".join(names)),
                position=np.frombuffer(point),
                font_screen_scale=0.8,
                anchor=_ANCHORS[k % len(_ANCHORS)],
            )
            for k, ((body, point), names) in enumerate(found.items())
        ]


class Numbers(Marks):
    """The numbers that joints have in every table, at their axes; joints that follow others have names."""

    def make(self) -> list[Any]:
        robot = self.bench.robot
        q = resting_posture(robot)
        drawn, poses, found = skeleton(robot, q, sliding=True), body_poses(robot, q), []
        for body, (label, joint) in enumerate(zip(drawn.labels, drawn.joints, strict=True)):
            if not label:
                continue
            at = joint.point if joint.revolute else joint.slider
            found.append(
                self.bench.scene.add_label(
                    f"{path(body)}/number_{body}",
                    _short(label),
                    position=poses[body, :3, :3].T @ (at - poses[body, :3, 3]),
                    anchor="top-left",
                )
            )
        return found
