"""Another timing law for the same path (7.119): its torques from those of the given motion (7.126)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.instants import snapped
from armdyn.motion.motion import Motion, Side
from armdyn.motion.timing.laws import Law, inverse, keeping_dwells, timed, timing_law
from armdyn.motion.timing.speed_parts import (
    SpeedParts,
    SteadyWrench,
    check_timed,
    loaded_parts,
    steady_wrench,
)
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.robot import Robot


@dataclass(frozen=True)
class MotionParts:
    """The torques of (7.126) in parts, at N instants of a motion: computed once, for any number of laws."""

    robot: Robot
    trajectory: Trajectory
    samples: Samples
    speed: SpeedParts
    push: np.ndarray  # (N, n): B q̇, torques per r̈
    wrench: SteadyWrench


@dataclass(frozen=True)
class Retimed:
    """A motion along the same path by another timing law.

    `t` are the instants at which the law reaches the samples of the given motion, and those at which r̈
    jumps; where an acceleration jumps, the instant appears twice, before and after.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (N,) [s]
    torque: np.ndarray = field(repr=False)  # (N, n) torques at t [N m or N]


def motion_parts(robot: Robot, trajectory: Trajectory, *, wrench: Any = None) -> MotionParts:
    """The parts at the trajectory's `samples()`; `wrench` as for `scale_to_limits`."""
    check_timed(robot, trajectory)
    return _parts_at(robot, trajectory, trajectory.samples(), steady_wrench(robot, wrench))


def retime(
    robot: Robot,
    trajectory: Trajectory,
    law: Trajectory | Law,
    duration: float | None = None,
    *,
    wrench: Any = None,
    parts: MotionParts | None = None,
) -> Retimed:
    """The motion q(t) = q̄(r(t)), r strictly increasing from 0 to the given motion's duration.

    The law r(t) is a `Trajectory` of one joint, or a function that takes times (N,) and gives r, ṙ, r̈, with
    its own `duration`. Torques are ṙ² τ̄_s(r) + r̈ B q̄' (7.126), with friction also ṙ F_v q̄' + dry + static
    and so on (`SpeedParts`), from parts computed at the given motion's samples: inverse dynamics is not run
    along the new motion. `parts`, from `motion_parts`, spares computing them for each of several laws.

    Declared dwells last as long as they did, whatever the law says of them; loads change where they did on
    the path.
    """
    check_timed(robot, trajectory)
    timing = keeping_dwells(timing_law(law, duration, trajectory.duration), trajectory)
    if parts is None:
        parts = motion_parts(robot, trajectory, wrench=wrench)
    elif not isinstance(parts, MotionParts):
        raise MotionError(f"parts: expected what motion_parts gives, found {type(parts).__name__}")
    elif wrench is not None or (parts.robot, parts.trajectory) != (robot, trajectory):
        raise MotionError("parts: they are those of another robot, trajectory or wrench than the one given")
    t, torque = _torques(parts, timing)
    if timing.jumps.size:
        t, torque = _with_jumps(parts, timing, t, torque)
    label = f"{trajectory.motion.label}, retimed"
    motion = timed(trajectory, timing, label, lambda r: inverse(timing, r))
    return Retimed(Trajectory(motion, trajectory.step), t, torque)


def _with_jumps(
    parts: MotionParts, timing: Motion, t: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Instants and torques with both sides of each jump of r̈, in place of samples that fall on one.

    The given motion may jump at the same instant: on each side it is the one of this side.
    """
    jumps, motion = timing.jumps, parts.trajectory.motion
    r = snapped(jumps, inverse(timing, motion.jumps), motion.jumps, timing.evaluate(jumps, "after")[0][:, 0])
    sides: tuple[Side, Side] = ("before", "after")
    found = []
    for side in sides:
        at = Samples(r, *parts.trajectory(r, side))
        before = np.full(len(r), side == "before")
        few = _parts_at(parts.robot, parts.trajectory, at, parts.wrench, before)
        found.append(_torques(few, timing, jumps, side)[1])
    other = ~np.isin(snapped(t, jumps), jumps)
    t = np.concatenate([t[other], jumps, jumps])
    order = np.argsort(t, kind="stable")
    return t[order], np.concatenate([torque[other], *found])[order]


def _parts_at(
    robot: Robot,
    trajectory: Trajectory,
    at: Samples,
    wrench: SteadyWrench,
    before: np.ndarray | None = None,
) -> MotionParts:
    """The parts at instants; `before` (N,) says which side of them is meant, where loads change."""
    loaded = trajectory.loaded(robot)
    speed = loaded_parts(loaded, at.t, (at.q, at.qd, at.qdd), wrench, before)
    push = loaded.evaluate(_push, at.t, at.q, at.qd, before=before)
    return MotionParts(robot, trajectory, at, speed, push, wrench)


def _push(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("kij,kj->ki", robot.inertia(q), qd))


def _torques(
    parts: MotionParts, timing: Motion, t: np.ndarray | None = None, side: Side = "after"
) -> tuple[np.ndarray, np.ndarray]:
    """Instants and torques (7.126) at the states of `parts`."""
    if t is None:
        t = inverse(timing, parts.samples.t)
    _, rate, change = timing.evaluate(t, side)
    return t, parts.speed.torque(rate, change * parts.push)
