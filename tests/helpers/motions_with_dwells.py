"""Motions that stop on their way, with declared dwells and loads; and their torques, limits and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn import Robot
from armdyn.motion.loads import Carried, Load
from armdyn.motion.motion import Motion, Side, States
from armdyn.motion.trajectory import Trajectory


@dataclass(frozen=True)
class OneAfterTheOther:
    """Motions from rest to rest; a number is a rest of so many seconds."""

    parts: tuple[Trajectory | float, ...]
    edges: np.ndarray

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        k = np.searchsorted(self.edges[1:-1], t, side="right" if side == "after" else "left")
        moving = [part for part in self.parts if isinstance(part, Trajectory)]
        q, qd, qdd = (np.zeros((len(t), moving[0].n)) for _ in range(3))
        here = moving[0](0.0)[0]
        for i, part in enumerate(self.parts):
            at = k == i
            if isinstance(part, Trajectory):
                inside = (t[at] - self.edges[i]).clip(0.0, part.duration)
                q[at], qd[at], qdd[at] = part.motion.evaluate(inside, side)
                here = part(part.duration)[0]
            else:
                q[at] = here
        return q, qd, qdd


def stations(*parts: Trajectory | float, loads: Sequence[Carried] = (), declared: bool = True) -> Trajectory:
    """Motions one after the other; numbers are dwells [s], or if not `declared` mere rests."""
    lengths = [part.duration if isinstance(part, Trajectory) else part for part in parts]
    edges = np.append(0.0, np.cumsum(lengths))
    knots = [edges]
    for part, start in zip(parts, edges, strict=False):
        if isinstance(part, Trajectory):
            knots.append(start + part.motion.knots)
    inner = np.unique(np.concatenate(knots))
    places = [(a, b) for part, a, b in zip(parts, edges, edges[1:], strict=False) if isinstance(part, float)]
    n = next(part.n for part in parts if isinstance(part, Trajectory))
    motion = Motion(
        n=n,
        duration=float(edges[-1]),
        evaluate=OneAfterTheOther(parts, edges).evaluate,
        jumps=inner,
        label="stations",
        dwells=tuple((float(a), float(b)) for a, b in places) if declared else (),
        loads=tuple(loads),
    )
    return Trajectory(motion)


def carried(start: float, end: float, mass: float, com: Any = (0, 0, 0)) -> Carried:
    return Carried(start, end, Load.of(mass, com))


def lengths(trajectory: Trajectory) -> np.ndarray:
    """How long the dwells last."""
    return np.array([end - start for start, end in trajectory.dwells])


def torques(robot: Robot, trajectory: Trajectory, step: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Instants with both sides of jumps, and the torques of inverse dynamics with what is carried then."""
    at = trajectory.samples(step)
    loaded = trajectory.loaded(robot)
    return at.t, loaded.evaluate(lambda r, *x: r.inverse_dynamics(*x), at.t, at.q, at.qd, at.qdd)


def most(robot: Robot, result: Any, step: float | None = None) -> dict[str, float]:
    """The largest shares of all limits along the motion of a result, those of motors included."""
    at = result.trajectory.samples(step)
    tau = torques(robot, result.trajectory, step)[1]
    K = robot.transmission
    shaft = np.linalg.lstsq(K.T, tau.T, rcond=None)[0].T  # of least norm, where there are more motors
    joint, motor = result.limits, result.motor_limits
    pairs = {
        "torque": (tau, joint.torque),
        "velocity": (at.qd, joint.velocity),
        "acceleration": (at.qdd, joint.acceleration),
        "motor torque": (shaft, motor.torque),
        "motor velocity": (at.qd @ K.T, motor.velocity),
    }
    return {name: float((np.abs(x) / limit).max()) for name, (x, limit) in pairs.items()}
