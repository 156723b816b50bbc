"""What the tip can do, drawn at it: ellipsoids of its velocities, forces and accelerations.

Each is drawn to a scale of its own, which stays as the arm moves until the ellipsoid would be too large or
too small. The page gets three unit spheres once; then only where they are and how they are stretched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.analysis.manipulability import dynamic_manipulability, force_ellipsoid, velocity_ellipsoid
from armdyn.expression import ArmdynError
from armdyn.report.findings.drawn.shapes import cone
from armdyn.report.findings.drawn.views import nice_below
from armdyn.robot import Robot
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.scene.arm import quaternion, stretch

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
    runs, parameters, q = moment.subject.runs, moment.subject.parameters, moment.q
    if moment.robot.model.elastic:  # torques of motors accelerate no link at once: joints taken as rigid
        runs, parameters = moment.robot.with_rigid_joints(), None
        q, weights = q[: runs.n], weights[: runs.n]
    if name == "velocity":
        return velocity_ellipsoid(runs, q)
    if name == "force":
        return force_ellipsoid(runs, q, weights=weights)
    return dynamic_manipulability(runs, q, weights=weights, parameters=parameters)


def can_have(robot: Robot) -> str | None:
    """Why a robot has no such ellipsoids; None if it has."""
    try:
        rigid = robot.with_rigid_joints() if robot.model.elastic else robot
        velocity_ellipsoid(rigid, np.zeros(rigid.n) if not rigid.model.loops else rigid.assembly.reference)
    except ArmdynError as error:
        return str(error)
    return None


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
        self._wanted: dict[Name, bool] = dict.fromkeys(COLOURS, False)
        self._balls: dict[Name, Any] = {}
        self._scales: dict[Name, float] = {}
        self._shift: Any = None  # from the tip to where gravity moves the ellipsoid
        self.drawn: dict[Name, Drawn] = {}
        self.refused: dict[Name, str] = {}
        bench.on_picture(self._follow)

    def show(self, name: Name, visible: bool) -> None:
        self._wanted[name] = visible
        self._scales.pop(name, None)
        self._bench.change()

    def resize(self, size: float) -> None:
        """The arm is drawn larger or smaller."""
        self._size = size
        self._scales.clear()

    def _follow(self, moment: Moment) -> None:
        drawn: dict[Name, Drawn] = {}
        refused: dict[Name, str] = {}
        with self._bench.server.atomic():
            for name, wanted in self._wanted.items():
                try:
                    if wanted:
                        found = ellipsoid(name, moment, self._weights)
                        drawn[name] = Drawn(found, self._draw(name, found, moment.tip[:3, 3]))
                except ArmdynError as error:  # such as of a robot without masses
                    refused[name] = str(error)
                if name not in drawn and name in self._balls:
                    self._balls[name].visible = False
            if self._shift is not None and "acceleration" not in drawn:
                self._shift.visible = False
        self.drawn, self.refused = drawn, refused

    def _draw(self, name: Name, found: Ellipsoid, tip: np.ndarray) -> float:
        """Returns the scale [m per unit]; 0 where it has no end or no extent."""
        centre, R, lengths = pose_and_axes(found)
        reach = float(np.linalg.norm(centre) + lengths.max())
        ball = self._ball(name)
        ball.visible = bool(0 < reach < np.inf)
        if not ball.visible:
            if name == "acceleration" and self._shift is not None:
                self._shift.visible = False
            return 0.0
        scale = self._scales.get(name, 0.0)
        if not _LEAST * self._size < scale * reach < _MOST * self._size:
            scale = self._scales[name] = _SHARE * self._size / reach
        ball.position, ball.wxyz = tip + scale * centre, quaternion(R)
        ball.scale = tuple(max(float(scale * x), _FLAT[name] * self._size) for x in lengths)
        if name == "acceleration":
            stretch(self._arrow(), tip, tip + scale * centre)
        return scale

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
            radius = 0.004 * self._size
            rod = cone(np.zeros(3), np.array([0.0, 0.0, 1.0]), radius, radius, 12)
            self._shift = self._bench.scene.add_mesh_simple(
                "/tip/shift",
                vertices=rod.vertices.astype(np.float32),
                faces=rod.triangles.astype(np.uint32),
                color=COLOURS["acceleration"],
                cast_shadow=False,
            )
        return self._shift


def round_bar(drawn: Drawn) -> float:
    """A round number of units, which the page shows the length of: about half of what is drawn."""
    _, _, lengths = pose_and_axes(drawn.ellipsoid)
    return nice_below(float(lengths.max()))
