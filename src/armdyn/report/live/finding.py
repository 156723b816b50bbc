"""What the live part of a report has: the functions that it runs, and the numbers that they are run with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from armdyn.output import one_line
from armdyn.report.errors import ReportError
from armdyn.report.findings.drawn.poses import body_poses
from armdyn.report.findings.drawn.solids import Solids, solids
from armdyn.report.findings.drawn.views import nice_below, view_of
from armdyn.report.findings.subject import Subject
from armdyn.report.live.functions import functions_text
from armdyn.report.live.programs import PARTS
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units

SAMPLES = 301  # of a motion
_FINE = 20_000  # parts of the arm's size: how finely its shapes are given
_TURN, _SLIDE = np.pi, 0.5  # ranges where there is no limit: of positions [rad], of the arm's size [m]
_RATES = {"revolute": (3.0, 10.0), "prismatic": (1.0, 5.0)}  # of velocities and accelerations, at least


@dataclass(frozen=True)
class LiveFinding:
    """Functions as JavaScript, and data as JSON has them."""

    functions: str
    data: dict[str, Any]


def find_live(subject: Subject) -> LiveFinding:
    """The arm, its joints with their ranges, its motion. A symbol without a value is an error."""
    robot = subject.robot
    if subject.free_symbols:
        names = ", ".join(one_line(name) for name in subject.free_symbols)
        raise ReportError(f"symbols without a value: {names}; a live part needs numbers")
    times, states, loads, robots = _motion(subject)
    joints = _joints(subject, states)
    data = {
        "joints": joints,
        "parts": list(PARTS),
        "arm": _arm(robot, subject, states[0], joints),
        "motion": {
            "t": times.tolist(),
            **{name: x.tolist() for name, x in zip(("q", "qd", "qdd"), states, strict=True)},
            "load": loads,
        },
        "loops": _loops(robot),
    }
    return LiveFinding(functions_text(robot, robots, subject.wrench), data)


def _motion(subject: Subject) -> tuple[np.ndarray, list[np.ndarray], list[int], list[Robot]]:
    """Instants (N,), states (N, n), which of the robots carries what it carries then, and these robots."""
    trajectory = subject.trajectory
    times = np.linspace(0.0, trajectory.duration, SAMPLES)
    last = trajectory(times[-1:], "before")
    states = [np.concatenate([x[:-1], y]) for x, y in zip(trajectory(times), last, strict=True)]
    loaded = trajectory.loaded(subject.robot)
    robots: list[Robot] = []
    for robot in loaded.robots:
        if not any(robot is other for other in robots):
            robots.append(robot)
    number = [next(k for k, other in enumerate(robots) if other is robot) for robot in loaded.robots]
    return times, states, [number[i] for i in loaded.index(times)], robots


def _joints(subject: Subject, states: list[np.ndarray]) -> list[dict[str, Any]]:
    """Names, units, limits of torque, and what sliders go from and to."""
    robot, limits = subject.robot, joint_limits(subject.robot)
    found = []
    for i, link in enumerate(robot.model.coordinates):
        moved = [(float(x[:, i].min()), float(x[:, i].max())) for x in states]
        positions = float(limits.lower[i]), float(limits.upper[i])
        rates = [
            _symmetric(float(limit[i]), moved[k], _RATES[link.joint][k - 1])
            for k, limit in ((1, limits.velocity), (2, limits.acceleration))
        ]
        found.append(
            {
                "name": one_line(link.joint_label),
                "units": list(joint_units(robot, i)),
                "ranges": [_positions(positions, moved[0], link.joint, subject), *rates],
                "limit": _finite(float(limits.torque[i])),
            }
        )
    return found


def _positions(
    limits: tuple[float, float], moved: tuple[float, float], joint: str, subject: Subject
) -> list[float]:
    """The limits of a position; where there is none, half a turn, and what the motion needs."""
    reach = _TURN if joint == "revolute" else _SLIDE * subject.middle.arm.size
    middle = 0.0 if joint == "revolute" else (moved[0] + moved[1]) / 2
    low = limits[0] if np.isfinite(limits[0]) else min(middle - reach, moved[0])
    high = limits[1] if np.isfinite(limits[1]) else max(middle + reach, moved[1])
    return [min(low, moved[0]), max(high, moved[1])]


def _symmetric(limit: float, moved: tuple[float, float], least: float) -> list[float]:
    """Both ways as far as a limit, or half as far again as the motion."""
    peak = max(abs(moved[0]), abs(moved[1]))
    bound = max(limit, peak) if np.isfinite(limit) else max(least, 1.5 * peak)
    return [-bound, bound]


def _finite(x: float) -> float | None:
    return x if np.isfinite(x) else None


def _loops(robot: Robot) -> dict[str, Any] | None:
    """What assembly begins with."""
    if not robot.model.loops:
        return None
    choice = robot.model.choice
    assert choice is not None
    return {
        "posture": [float(x) for x in choice.posture],
        "free": list(choice.free),
        "turning": robot.assembly.turning.tolist(),
    }


# ---- what is seen ------------------------------------------------------------------------------------------


def _arm(robot: Robot, subject: Subject, q: np.ndarray, joints: list[dict[str, Any]]) -> dict[str, Any]:
    """The solids, and from where they are looked at."""
    ends = np.array([joint["ranges"][0] for joint in joints]).T
    along = q if robot.model.loops else np.vstack([q, ends])  # loops may not close at the ends
    arm, view = solids(robot, along), view_of(robot, subject.middle.arm)
    unit, bodies = arm.size / _FINE, len(robot.joints) + 1  # the base is the last
    points = _points(robot, arm, q)
    centre, radius = _room(points)
    return {
        "size": arm.size,
        "unit": unit,
        "bodies": bodies,
        "solids": [
            {
                "body": solid.body % bodies,
                "kind": solid.kind,
                "colour": solid.colour,
                "vertices": np.rint(solid.vertices.ravel() / unit).astype(int).tolist(),
                "triangles": solid.triangles.ravel().tolist(),
            }
            for solid in arm.solids
        ],
        "struts": [
            [[body % bodies, *point.tolist()] for body, point in zip(s.tied, s.points, strict=True)]
            for s in arm.struts
        ],
        "tip": [robot.mechanism.tip % bodies, *(float(x) for x in robot.mechanism.p_tip)],
        "base": np.array(robot.mechanism.R_base, float).tolist(),
        "centre": centre.tolist(),
        "radius": radius,
        "towards": view.towards.tolist(),
        "vertical": view.vertical.tolist(),
        "planar": view.planar,
        "ground": arm.ground.tolist(),
        "up": arm.up.tolist(),
        "step": nice_below(arm.size / 5),
        "grid": bool(((points - arm.ground) @ arm.up).min() > -0.1 * arm.size),
    }


def _points(robot: Robot, arm: Solids, q: np.ndarray) -> np.ndarray:
    """(N, 3): the corners of boxes around all solids, at some instants of the motion."""
    poses = body_poses(robot, q[:: SAMPLES // 10])
    found = [
        solid.vertices @ pose[solid.body, :3, :3].T + pose[solid.body, :3, 3]
        for pose in poses
        for solid in arm.solids
    ]
    signs = np.array(list(product((0.0, 1.0), repeat=3)))
    return np.vstack([x.min(0) + signs * np.ptp(x, axis=0) for x in found])


def _room(points: np.ndarray) -> tuple[np.ndarray, float]:
    """A ball with points (N, 3) in it: its centre (3,) and radius [m]."""
    centre = (points.min(0) + points.max(0)) / 2
    return centre, float(np.linalg.norm(points - centre, axis=1).max())
