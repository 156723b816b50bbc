"""A simulated run of one arm, as it is drawn: curves, what it should have done, events, limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.motion.timing.speed_parts import check_robot
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.errors import ReportError, check
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits, joint_name
from armdyn.simulation.run import Kind, LimitPassed, Run


@dataclass(frozen=True)
class Mark:
    """An event: when [s], of which joint (None: of a motor or joint that moves with several), what kind."""

    time: float
    joint: int | None
    kind: Kind


@dataclass(frozen=True)
class RunCurves:
    """One arm of a run, up to where it stopped or diverged: N instants, n joints."""

    robot: Robot
    t: np.ndarray  # (N,) [s]
    q: np.ndarray  # (N, n)
    qd: np.ndarray
    tau: np.ndarray
    target: tuple[np.ndarray, np.ndarray] | None  # positions and velocities (N, n) that were wanted
    energies: dict[str, np.ndarray]  # by name, (N,) [J]
    marks: tuple[Mark, ...]
    passed: tuple[LimitPassed, ...]
    limits: JointLimits


def run_curves(run: Run, target: Any, arm: Any) -> RunCurves:
    """One arm of a run; `target` is a trajectory or a posture (n,), `arm` the arm's index in a batch."""
    if not isinstance(run, Run):
        raise ReportError(f"run: expected a Run, found {type(run).__name__}")
    robot, place = run.robot, run.place_of(arm)
    at: tuple[Any, ...] = (slice(None), *place)
    kept = np.isfinite(run.q[at]).all(1)
    t = run.t[kept]
    number = {joint_name(robot, j): j for j in range(robot.n)}
    return RunCurves(
        robot,
        t,
        run.q[at][kept],
        run.qd[at][kept],
        run.tau[at][kept],
        None if target is None else _wanted(robot, target, t),
        {name: y[kept] for name, y in energies(run, place).items()},
        tuple(Mark(e.time, number.get(e.surface), e.kind) for e in run.events if e.arm == place),
        tuple(x for x in run.limits_passed if x.arm == place),
        joint_limits(robot),
    )


def energies(run: Run, place: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Energies (N,) [J] of one arm by name; those that stay zero are left out."""
    at: tuple[Any, ...] = (slice(None), *place)
    found: dict[str, np.ndarray] = {
        "kinetic": run.kinetic[at],
        "potential": run.potential[at],
        "total": run.energy[at],
    }
    if np.nan_to_num(run.dissipated[at]).any():
        found["taken by friction"] = run.dissipated[at]
    if np.nan_to_num(run.torque_work[at]).any():
        found["work of the torques"] = run.torque_work[at]
    return found


def _wanted(robot: Robot, target: Any, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (N, n) of a trajectory, which rests after its end, or of a posture (n,)."""
    if isinstance(target, Trajectory):
        check_robot(robot, target)
        q, qd, _ = target(t)
        return np.asarray(q), np.asarray(qd)
    goal = check.posture("target", target, robot.n)
    return np.broadcast_to(goal, (len(t), robot.n)), np.zeros((len(t), robot.n))
