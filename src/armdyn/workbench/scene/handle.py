"""A handle at the tip: the arm follows where a page drags it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.robot import Robot
from armdyn.robot.tip import TipFreedom, tip_freedom
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.scene.arm import rotation
from armdyn.workbench.scene.dragging import Dragged

_SIZE = 0.17  # of the arm's size
_UPRIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass
class Grab:
    """A handle in somebody's hand."""

    client: int | None
    dragged: Dragged
    R: np.ndarray  # (3, 3) of the tip when it was grabbed
    target: np.ndarray | None = None  # (4, 4)
    over: bool = False
    news: threading.Event = field(default_factory=threading.Event)


class Handle:
    """viser's transform controls at the tip. Its axes are the world's, so that it stands still when grabbed.

    A page says where it drags the handle more often than the arm can follow: one thread for each gesture
    takes the newest target.
    """

    def __init__(self, bench: Bench, size: float) -> None:
        self._bench, self._turns = bench, False
        self.freedom = _freedom(bench.robot)
        self._grab: Grab | None = None
        self._lock = threading.Lock()
        self.control: Any = None
        if not self.can_move:
            return
        self.control = bench.scene.add_transform_controls(
            "/tip/handle",
            scale=_SIZE * size,
            line_width=3.5,
            active_axes=self._axes,
            disable_rotations=True,
            depth_test=False,
            opacity=0.85,
        )
        self.control.on_update(self._said)
        bench.on_picture(self._follow)

    @property
    def can_move(self) -> bool:
        """Whether the joints move the tip to other places."""
        return self.freedom.position_rank > 0

    @property
    def can_turn(self) -> bool:
        """Whether they turn it without moving it."""
        return self.freedom.keeps_orientation and self.freedom.orientation_rank > 0

    @property
    def _axes(self) -> tuple[bool, bool, bool]:
        x, y, z = (axis in self.freedom.rows for axis in range(3))
        return x, y, z

    def show(self, visible: bool) -> None:
        if self.control is not None:
            self.control.visible = visible

    def resize(self, size: float) -> None:
        """The arm is drawn larger or smaller, and its tip may go where it could not."""
        if self.control is not None:
            freedom = _freedom(self._bench.robot)
            self.freedom = freedom if freedom.position_rank > 0 else self.freedom
            self.control.scale, self.control.active_axes = _SIZE * size, self._axes

    def turn_too(self, turns: bool) -> None:
        """Drag the pose: the handle has rings, and the tip keeps its orientation where they are not used."""
        self._turns = turns
        self.control.disable_rotations = not turns

    # ---- what a page does ----------------------------------------------------------------------------------

    async def _said(self, event: Any) -> None:
        """viser awaits this, so that the end of a gesture comes last."""
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation(self.control.wxyz), self.control.position
        self.drag(event.client_id, pose, event.phase == "end")

    def drag(self, client: int | None, pose: np.ndarray, over: bool = False) -> None:
        """A page has the handle at a pose (4, 4); `over`: it lets go."""
        with self._lock:
            grab = self._grab
            if grab is None:
                if over:
                    return
                grab = self._grab = self._grabbed(client)
                threading.Thread(
                    target=self._while_held, args=(grab,), name="armdyn view: tip", daemon=True
                ).start()
            if grab.client != client:
                return  # in another page's hand
            target = pose.copy()
            target[:3, :3] = pose[:3, :3] @ grab.R
            grab.target, grab.over = target, over
            grab.news.set()

    def _grabbed(self, client: int | None) -> Grab:
        moment = self._bench.moment
        robot = _rigid(moment.subject.runs)
        dragged = Dragged(robot, self._bench.limits, moment.q[: robot.n], self._turns)
        return Grab(client, dragged, moment.tip[:3, :3].copy())

    def _while_held(self, grab: Grab) -> None:
        while not self._bench.closed and self._is_there(grab.client):
            if not grab.news.wait(1.0):
                continue
            grab.news.clear()
            over, target = grab.over, grab.target
            if target is not None:
                self._bench.guard(self._move, grab, target)
            if over:
                break
        with self._lock:
            self._grab = None
        if not self._bench.closed:
            self._bench.guard(self._follow, self._bench.moment)  # back to the tip, wherever it is held

    def _is_there(self, client: int | None) -> bool:
        return client is None or client in self._bench.server.get_clients()

    def _move(self, grab: Grab, target: np.ndarray) -> None:
        moment = self._bench.moment
        n = grab.dragged.task.robot.n
        found = grab.dragged.follow(moment.q[:n], target)
        if np.array_equal(found, moment.q[:n]):
            return
        self._bench.change(q=_with_motors(moment.robot, moment.q, found), time=None)

    # ---- what the arm does -----------------------------------------------------------------------------

    def _follow(self, moment: Moment) -> None:
        if self._grab is None:
            with self._bench.server.atomic():
                self.control.position = moment.tip[:3, 3]
                self.control.wxyz = _UPRIGHT


def _rigid(robot: Robot) -> Robot:
    """Where the tip is says nothing about motors behind springs; they go along."""
    return robot.with_rigid_joints() if robot.model.elastic else robot


def _freedom(robot: Robot) -> TipFreedom:
    return tip_freedom(_rigid(robot))


def _with_motors(robot: Robot, q: np.ndarray, links: np.ndarray) -> np.ndarray:
    """q (n,) with the links of elastic joints elsewhere; the deflections of their springs stay."""
    found = q.copy()
    found[: len(links)] = links
    names = [link.name for link in robot.model.coordinates[: len(links)]]
    for k, link in enumerate(robot.model.elastic):
        if link.name in names:
            joint = names.index(link.name)
            found[len(links) + k] += links[joint] - q[joint]
    return found
