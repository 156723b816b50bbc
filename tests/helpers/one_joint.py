"""Robots and motions of few numbers, for tests with answers on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from armdyn import Robot
from armdyn.motion.motion import Motion
from armdyn.motion.trajectory import Trajectory


def one_joint(inertia: float = 2.0, torque: float = 3.0, gravity: float = 0.0, **friction: Any) -> Robot:
    """A joint about a horizontal axis with inertia and friction, and weight `gravity` [N m] at q = 0."""
    link: dict[str, Any] = {
        "name": "arm",
        "joint": "revolute",
        "a": 1,
        "alpha": 0,
        "d": 0,
        "mass": 1,
        "inertia": {"zz": inertia - 1, "xx": inertia, "yy": inertia},
        "friction": friction,
        "limits": {"torque": torque},
    }
    return Robot.from_dict({"name": "one", "convention": "dh", "gravity": [0, -gravity, 0], "link": [link]})


def along(n: int, duration: float, path: Callable[[np.ndarray], Any], jumps: Any = ()) -> Trajectory:
    """A trajectory from a function of time that gives q, qd, qdd as lists of joints."""

    def evaluate(t: np.ndarray, side: str) -> Any:
        return tuple(np.stack([np.broadcast_to(x, t.shape) for x in row], -1) for row in path(t))

    return Trajectory(Motion(n, duration, evaluate, np.asarray(jumps, float)))


def waypoints(points: np.ndarray, duration: float = 1.0) -> Trajectory:
    """A cubic spline through waypoints (k, n): it begins and ends at speed, as a path may."""
    knots = np.linspace(0, duration, len(points))
    spline = CubicSpline(knots, points)
    derivatives = [spline, spline.derivative(1), spline.derivative(2)]

    def evaluate(t: np.ndarray, side: str) -> Any:
        return tuple(f(t) for f in derivatives)

    return Trajectory(Motion(points.shape[1], duration, evaluate, knots=knots))


def without_viscous_friction(robot: Robot) -> Robot:
    """The robot with F_v zero, all else as it is."""
    viscous = [name.startswith("Fv") for name in robot.parameter_names]
    return robot.with_parameters(np.where(viscous, 0.0, robot.parameters))


def shares(robot: Robot, result: Any, times: int = 10) -> tuple[float, float, float]:
    """The largest torque, velocity and acceleration in parts of their limits, finer than the grid."""
    t = np.linspace(0, result.duration, times * (len(result.s) - 1) + 1)
    q, qd, qdd = result.trajectory(t)
    torque = robot.inverse_dynamics(q, qd, qdd)
    limits = result.limits
    pairs = ((torque, limits.torque), (qd, limits.velocity), (qdd, limits.acceleration))
    return tuple(float((np.abs(x) / limit).max()) for x, limit in pairs)  # type: ignore[return-value]
