"""At the tip: a handle that a page drags, and ellipsoids of what the tip can do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from armdyn.analysis.manipulability import (
    Ellipsoid,
    dynamic_manipulability,
    force_ellipsoid,
    velocity_ellipsoid,
)
from armdyn.analysis.task import TipFreedom, tip_freedom
from armdyn.drawing.solids import cone
from armdyn.drawing.views import nice_below
from armdyn.expression import ArmdynError
from armdyn.motion.inverse_kinematics import tip_task
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits
from armdyn.workbench.bench import Bench
from armdyn.workbench.moment import Moment
from armdyn.workbench.scene.arm import add_mesh, pose_of, quaternion, rotation, stretch

_TOLERANCE = 1e-7  # of the arm's length
_STEPS = 12  # of an update at most
_PATIENCE = 0.007  # s: how long an update may take
_FAR = 0.3  # of the arm's length: how far the tip goes in a step at most
_TURN = 0.2  # rad: how far a joint goes in a step at most; the same of the arm's length for a slider
_DAMPINGS = (0.3, 6.0, 120.0)  # of the squared error: μ of a step; none is left at the target
_GAIN = 1e-5  # of the error: what a step must take off
_HOMEWARD = 0.15  # of the way: what a step takes a redundant arm back to where it was grabbed
_BENDS = (0.15, 0.5)  # rad: how far an arm is bent that is stuck
_HELPS = 0.01  # of the arm's length: how much nearer a bent arm must come


class Dragged:
    """The tip of a robot that is dragged from a posture q (n,), by its position or by its pose."""

    def __init__(self, robot: Robot, limits: JointLimits, q: np.ndarray, orientation: bool) -> None:
        self.task = tip_task(robot, orientation)
        n = robot.n
        self._lower = np.minimum(limits.lower[:n], q)  # a posture beyond its limits may stay there
        self._upper = np.maximum(limits.upper[:n], q)
        self._first = q.copy()

    def follow(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """From a posture (n,) towards a target pose (4, 4): where the arm is one update later."""
        ends = time.perf_counter() + _PATIENCE
        found, missing = self._walk(q, target, ends)
        if missing > _HELPS * self.task.length and np.abs(found - q).max() < 1e-3:
            return self._freed(found, target, missing, ends + _PATIENCE)
        return found

    def missing(self, q: np.ndarray, target: np.ndarray) -> float:
        """How far the tip is from its target [m]."""
        return float(np.linalg.norm(self.task.error(q[None], target[None])[0]))

    def _walk(self, q: np.ndarray, target: np.ndarray, ends: float) -> tuple[np.ndarray, float]:
        """Steps that help, as many as there is time for."""
        e = self.task.error(q[None], target[None])[0]
        missing = float(np.linalg.norm(e))
        for _ in range(_STEPS):
            if missing <= _TOLERANCE * self.task.length:
                break
            found = next(self._better(q, e, target), None)
            if found is None:
                break
            q, e = found
            missing = float(np.linalg.norm(e))
            if time.perf_counter() > ends:
                break
        return q, missing

    def _better(self, q: np.ndarray, e: np.ndarray, target: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Postures nearer to the target, and the errors there: steps with more and more damping."""
        size = float(np.linalg.norm(e))
        for more in _DAMPINGS:
            trial = q + self._step(q, e, more)
            if self._closes(trial):
                left = self.task.error(trial[None], target[None])[0]
                if np.linalg.norm(left) < size * (1 - _GAIN):
                    yield trial, left

    def _closes(self, q: np.ndarray) -> bool:
        robot = self.task.robot
        return not robot.model.loops or bool(robot.assembly.closes(q))

    def _step(self, q: np.ndarray, e: np.ndarray, damping: float) -> np.ndarray:
        """Δq (n,) that minimises |J Δq − e|² + μ |Δq|², joints that would pass a limit put there."""
        length, scale = self.task.length, 1 / self.task.weights
        size = float(np.linalg.norm(e))
        wanted = e * min(1.0, _FAR * length / size)
        J = self.task.jacobian(q) * scale
        low, high = (self._lower - q) / scale, (self._upper - q) / scale
        mu = damping * float(wanted @ wanted)
        step, free = np.zeros(len(q)), self.task.active.copy()
        for _ in range(len(q)):
            part = J[:, free]
            step[free] = _least(part, wanted - J[:, ~free] @ step[~free], mu, self._back(q, scale)[free])
            passed = free & ((step < low) | (step > high))
            if not passed.any():
                break
            step[passed] = np.clip(step, low, high)[passed]
            free &= ~passed
        longest = float(np.abs(step).max())
        return step * scale * min(1.0, _TURN / longest if longest > 0 else 1.0)

    def _back(self, q: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(_HOMEWARD * (self._first - q) / scale)

    def _freed(self, q: np.ndarray, target: np.ndarray, missing: float, ends: float) -> np.ndarray:
        """Out of a posture in which no joint helps, such as a stretched arm: bent to where it was grabbed.

        If that is no help, the target is out of reach, and the posture stays.
        """
        back = (self._first - q) * self.task.weights
        size = float(np.abs(back).max())
        if size < 1e-3:
            return q
        for bend in _BENDS:
            bent = q + (self._first - q) * min(1.0, bend / size)
            if self._closes(bent):
                found, left = self._walk(bent, target, ends)
                if left < missing - _HELPS * self.task.length:
                    return found
        return q


def _least(J: np.ndarray, e: np.ndarray, mu: float, back: np.ndarray) -> np.ndarray:
    """Damped least squares, and `back` (n,) where it moves nothing that J sees."""
    if not J.shape[1]:
        return np.zeros(0)
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    seen = Vt[sigma > 1e-3 * max(float(sigma[0]), 1e-300)]
    step = Vt.T @ (sigma / (sigma**2 + mu + 1e-300) * (U.T @ e))
    return np.asarray(step + back - seen.T @ (seen @ back))


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

    def __init__(self, bench: Bench, size: float, freedom: TipFreedom) -> None:
        self._bench, self._turns = bench, False
        self._grab: Grab | None = None
        self._lock = threading.Lock()
        self.control: Any = bench.scene.add_transform_controls(
            "/tip/handle",
            scale=_SIZE * size,
            line_width=3.5,
            active_axes=_axes(freedom),
            disable_rotations=True,
            depth_test=False,
            opacity=0.85,
        )
        self.control.on_update(self._said)
        bench.tools.append(self.control)
        bench.on_picture(self._follow)

    def show(self, visible: bool) -> None:
        self.control.visible = visible

    def resize(self, size: float) -> None:
        """The arm is drawn larger or smaller, and its tip may go where it could not."""
        self.control.scale, freedom = _SIZE * size, freedom_of(self._bench.robot)
        if freedom.position_rank > 0:
            self.control.active_axes = _axes(freedom)

    def turn_too(self, turns: bool) -> None:
        """Drag the pose: the handle has rings, and the tip keeps its orientation where they are not used."""
        self._turns = turns
        self.control.disable_rotations = not turns

    # ---- what a page does ----------------------------------------------------------------------------------

    async def _said(self, event: Any) -> None:
        """viser awaits this, so that the end of a gesture comes last."""
        pose = pose_of(rotation(self.control.wxyz), self.control.position)
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


def freedom_of(robot: Robot) -> TipFreedom:
    """How the joints move and turn the tip."""
    return tip_freedom(_rigid(robot))


def _axes(freedom: TipFreedom) -> tuple[bool, bool, bool]:
    """Along which axes of the world the tip goes."""
    return 0 in freedom.rows, 1 in freedom.rows, 2 in freedom.rows


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


# ---- ellipsoids of velocities, forces and accelerations ---------------------------------------------------
#
# Each is drawn to a scale of its own, which stays as the arm moves until the ellipsoid would be too large or
# too small. The page gets three unit spheres once; then only where they are and how they are stretched.

Name = Literal["velocity", "force", "acceleration"]
COLOURS: dict[Name, tuple[int, int, int]] = {
    "velocity": (0, 114, 178),
    "force": (213, 94, 0),
    "acceleration": (0, 150, 110),
}
UNITS: dict[Name, str] = {"velocity": "m/s", "force": "N", "acceleration": "m/s²"}
_SHARE = 0.3  # of the arm's size: how far an ellipsoid reaches when its scale is chosen
_MOST, _LEAST = 0.8, 0.06  # of it: beyond these the scale is chosen anew
# Of it: how thick ellipsoids are drawn where they are flat; each otherwise, so that none hides in another.
_FLAT: dict[Name, float] = {"velocity": 2e-3, "force": 4e-3, "acceleration": 6e-3}


@dataclass(frozen=True)
class Drawn:
    """An ellipsoid, and the length at which one unit of it is drawn [m]; 0 where it cannot be drawn."""

    ellipsoid: Ellipsoid
    scale: float


def strengths(bench: Bench) -> tuple[np.ndarray, str]:
    """Torques (n,) [N m or N] that count as one, and what they are: limits, where every joint has one."""
    limits = bench.limits.torque
    if np.isfinite(limits).all() and (limits > 0).all():
        return limits, "torques of norm 1 in units of their limits"
    return np.ones(len(limits)), "torques of norm 1 N m or N"


def ellipsoid(name: Name, moment: Moment, weights: np.ndarray) -> Ellipsoid:
    """At a state, of the robot as it is edited; `weights` (n,) are torques that count as one."""
    runs, q = moment.subject.runs, moment.q
    parameters: np.ndarray | None = moment.subject.parameters
    if moment.robot.model.elastic:  # torques of motors accelerate no link at once: joints taken as rigid
        runs, parameters = moment.robot.with_rigid_joints(), None
        q, weights = q[: runs.n], weights[: runs.n]
    if name == "velocity":
        return velocity_ellipsoid(runs, q)
    if name == "force":
        return force_ellipsoid(runs, q, weights=weights)
    return dynamic_manipulability(runs, q, weights=weights, parameters=parameters)


def has_ellipsoids(robot: Robot) -> bool:
    """Whether there are such ellipsoids: not where the tip cannot move."""
    rigid = _rigid(robot)
    try:
        velocity_ellipsoid(rigid, np.zeros(rigid.n) if not rigid.model.loops else rigid.assembly.reference)
    except ArmdynError:
        return False
    return True


def pose_and_axes(found: Ellipsoid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre (3,), rotation (3, 3) and semi-axes (3,) in world axes; rows that it has not are zero."""
    into = np.array([[float(name == axis) for name in found.names] for axis in "xyz"])  # (3, m)
    axes, m = np.zeros((3, 3)), found.m
    axes[:, :m] = into @ found.axes
    if m < 3:
        U, _, _ = np.linalg.svd(axes[:, :m])
        axes[:, m:] = U[:, m:]
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    lengths = np.zeros(3)
    lengths[:m] = found.lengths
    return into @ found.centre, axes, lengths


class TipEllipsoids:
    """The ellipsoids that are asked for; `drawn` are those of the last state, `refused` says why not."""

    def __init__(self, bench: Bench, size: float) -> None:
        self._bench, self._size = bench, size
        self._weights, self.unit = strengths(bench)
        self._wanted: set[Name] = set()
        self._balls: dict[Name, Any] = {}  # of those that were ever asked for
        self._scales: dict[Name, float] = {}
        self._shift: Any = None  # from the tip to where gravity moves the ellipsoid of accelerations
        self.drawn: dict[Name, Drawn] = {}
        self.refused: dict[Name, str] = {}
        bench.on_picture(self._follow)

    def show(self, name: Name, visible: bool) -> None:
        self._wanted = self._wanted | {name} if visible else self._wanted - {name}
        self._scales.pop(name, None)
        self._bench.change()

    def resize(self, size: float) -> None:
        """The arm is drawn larger or smaller."""
        self._size = size
        self._scales.clear()

    def _follow(self, moment: Moment) -> None:
        drawn: dict[Name, Drawn] = {}
        refused: dict[Name, str] = {}
        for name in COLOURS:
            try:
                if name in self._wanted:
                    found = ellipsoid(name, moment, self._weights)
                    drawn[name] = Drawn(found, self._scale(name, found))
            except ArmdynError as error:  # such as of a robot without masses
                refused[name] = str(error)
        with self._bench.server.atomic():
            for name in {**self._balls, **drawn}:
                self._draw(name, drawn.get(name), moment.tip[:3, 3])
        self.drawn, self.refused = drawn, refused

    def _scale(self, name: Name, found: Ellipsoid) -> float:
        """How long one unit is drawn [m]; 0 where the ellipsoid has no end or no extent."""
        centre, _, lengths = pose_and_axes(found)
        reach = float(np.linalg.norm(centre) + lengths.max())
        if not 0 < reach < np.inf:
            return 0.0
        scale = self._scales.get(name, 0.0)
        if not _LEAST * self._size < scale * reach < _MOST * self._size:
            scale = self._scales[name] = _SHARE * self._size / reach
        return scale

    def _draw(self, name: Name, drawn: Drawn | None, tip: np.ndarray) -> None:
        ball, shift = self._ball(name), self._arrow() if name == "acceleration" else None
        ball.visible = drawn is not None and drawn.scale > 0
        if shift is not None:
            shift.visible = ball.visible
        if drawn is None or not drawn.scale:
            return
        centre, R, lengths = pose_and_axes(drawn.ellipsoid)
        ball.position, ball.wxyz = tip + drawn.scale * centre, quaternion(R)
        ball.scale = tuple(max(float(drawn.scale * x), _FLAT[name] * self._size) for x in lengths)
        if shift is not None:
            stretch(shift, tip, tip + drawn.scale * centre)

    def _ball(self, name: Name) -> Any:
        if name not in self._balls:
            self._balls[name] = self._bench.scene.add_icosphere(
                f"/tip/{name}",
                radius=1.0,
                color=COLOURS[name],
                subdivisions=4,
                opacity=0.35,
                cast_shadow=False,
                receive_shadow=False,
            )
        return self._balls[name]

    def _arrow(self) -> Any:
        if self._shift is None:
            radius, colour = 0.004 * self._size, COLOURS["acceleration"]
            rod = cone(np.zeros(3), np.array([0.0, 0.0, 1.0]), radius, radius, 12)
            self._shift = add_mesh(self._bench, "/tip/shift", rod, color=colour, cast_shadow=False)
        return self._shift


def round_bar(drawn: Drawn) -> float:
    """A round number of units, which the page shows the length of: about half of what is drawn."""
    _, _, lengths = pose_and_axes(drawn.ellipsoid)
    return nice_below(float(lengths.max()))
