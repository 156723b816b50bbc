"""Inverse kinematics in closed form, for arms whose axes allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from armdyn.motion.tip.subproblems import DEGENERATE, Axis, Solutions, place, turn, turned_back, zeros
from armdyn.motion.tip.task import TipTask, tip_task
from armdyn.robot import Robot


@dataclass(frozen=True)
class Chain:
    """An arm at zero position: its axes and the pose of its tip, in the world."""

    axes: tuple[Axis, ...]
    tip: np.ndarray  # (4, 4)
    length: float


@lru_cache(maxsize=64)
def chain(robot: Robot) -> Chain | None:
    """The axes that move the tip, from the Jacobian at zero; None without any, or if joints follow others."""
    task = tip_task(robot, True)
    if robot.model.relations or robot.model.loops or not task.active.any():
        return None
    zero = np.zeros(robot.n)
    J, tip = robot.jacobian(zero), robot.pose(zero)
    axes = []
    for revolute, column in zip(task.revolute[task.active], J.T[task.active], strict=True):
        v, z = column[:3], column[3:]
        axes.append(Axis(z if revolute else v, tip[:3, 3] + np.cross(z, v), bool(revolute)))
    return Chain(tuple(axes), tip, task.length)


def closed_form_solutions(robot: Robot, target: np.ndarray, orientation: bool = True) -> np.ndarray | None:
    """All postures (k, n) with the tip at a pose (4, 4), or at its position only; angles within (−π, π].

    Joints that do not move the tip, those of other branches for example, are at zero in all of them.
    None where no closed form is known for the arm, or the target leaves it a motion of its own; k is 0 where
    the target is out of reach. Known are arms of up to three joints (revolute, or the last one prismatic),
    followed by up to three revolute joints with axes through one point: planar and elbow arms, SCARA,
    and arms with a spherical wrist such as the PUMA's or the Stanford arm's; and arms of six joints with the
    second to fourth parallel and the last two meeting, as Universal Robots builds them. Where infinitely many
    postures meet the target (a wrist that is stretched), one of them is given.
    """
    task, arm = tip_task(robot, orientation), chain(robot)
    if arm is None or task.redundant:
        return None
    candidates = _candidates(arm, target, orientation)
    if candidates is None:
        return None
    found = np.array(candidates, float).reshape(-1, len(arm.axes))
    postures = np.zeros((len(found), robot.n))
    postures[:, task.active] = found
    return _confirmed(task, postures, target)


def _candidates(arm: Chain, target: np.ndarray, orientation: bool) -> Solutions | None:
    n = len(arm.axes)
    if not orientation:
        return place(arm.axes, arm.tip[:3, 3], target[:3, 3], arm.length) if n <= 3 else None
    motion = target @ np.linalg.inv(arm.tip)
    for k in (3, 2, 1, 0):
        found = _arm_and_wrist(arm, n - k, motion) if 0 <= n - k <= 3 else None
        if found is not None:
            return found
    return _parallel_arm(arm, motion)


def _arm_and_wrist(arm: Chain, split: int, motion: np.ndarray) -> Solutions | None:
    """The first joints place the point in which the others' axes meet; those then turn."""
    first, wrist = arm.axes[:split], arm.axes[split:]
    centre = _meeting_point(wrist, arm) if wrist else arm.tip[:3, 3]
    if centre is None:
        return None
    placed = place(first, centre, _moved(motion, centre), arm.length)
    if placed is None:
        return None
    found: Solutions = []
    for q in placed:
        turned = turn(wrist, turned_back(first, q, motion[:3, :3].T).T)
        if turned is None:
            return None
        found += [(*q, *further) for further in turned]
    return found


def _parallel_arm(arm: Chain, motion: np.ndarray) -> Solutions | None:
    """Six joints, the second to fourth parallel, the fifth and sixth meeting in a point.

    The parallel joints change neither that point's coordinate along them, which gives q1, nor how far the
    last axis leans towards them, which gives q5 and then q6; what is left is a planar arm.
    """
    if len(arm.axes) != 6 or not all(axis.revolute for axis in arm.axes):
        return None
    first, second, third, fourth, fifth, sixth = arm.axes
    centre = _meeting_point((fifth, sixth), arm)
    parallel = all(np.linalg.norm(np.cross(second.z, x.z)) < DEGENERATE for x in (third, fourth))
    if centre is None or not parallel:
        return None
    z, R = second.z, motion[:3, :3]
    brought = _moved(motion, centre)

    def leaning(lean: float, q: np.ndarray) -> np.ndarray:
        return np.asarray(fifth.turn(q, sixth.z) @ z - lean)

    found: Solutions = []
    for q1 in zeros(first, lambda q: (first.move(-q, brought) - centre) @ z, arm.length) or ():
        lean = float(z @ first.turn(-q1, R @ sixth.z))
        for q5 in zeros(fifth, partial(leaning, lean), 1.0) or ():
            q6 = sixth.angle(R.T @ first.turn(q1, z), fifth.turn(-q5, z))

            def rest(p: np.ndarray, q1: float = q1, q5: float = q5, q6: float = q6) -> np.ndarray:
                """Where the parallel joints have to bring a point."""
                return first.move(-q1, _moved(motion, sixth.move(-q6, fifth.move(-q5, p))))

            for q2, q3 in place((second, third), fourth.c, rest(fourth.c), arm.length) or ():
                across = fourth.c + second.across[0]
                q4 = fourth.reached(across, third.move(-q3, second.move(-q2, rest(across))))
                found.append((q1, q2, q3, q4, q5, q6))
    return found


def _meeting_point(axes: Sequence[Axis], arm: Chain) -> np.ndarray | None:
    """The point in which revolute axes meet; of a single axis, some point of it."""
    if not all(axis.revolute for axis in axes):
        return None
    if len(axes) == 1:  # not one in which it meets the axis before it
        return np.asarray(axes[0].c + 0.37 * arm.length * axes[0].z)
    across = np.concatenate([np.eye(3) - np.outer(axis.z, axis.z) for axis in axes])
    ends = np.concatenate([axis.c - (axis.c @ axis.z) * axis.z for axis in axes])
    point, _, rank, _ = np.linalg.lstsq(across, ends, rcond=DEGENERATE)
    if rank < 3 or np.abs(across @ point - ends).max() > DEGENERATE * arm.length:
        return None
    return np.asarray(point)


def _confirmed(task: TipTask, q: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The candidates that do bring the tip to its target, improved by two Newton steps, each once, sorted."""
    if not len(q):
        return q
    targets = np.broadcast_to(target, (len(q), 4, 4))
    error = task.error(q, targets)
    for _ in range(2):
        inverse, ratio = task.inverse(task.jacobian(q))
        better = q + (inverse @ error[..., None])[..., 0]
        missing = task.error(better, targets)
        wins = (ratio > 1e-9) & (np.linalg.norm(missing, axis=1) < np.linalg.norm(error, axis=1))
        q, error = np.where(wins[:, None], better, q), np.where(wins[:, None], missing, error)
    q = q[np.linalg.norm(error, axis=1) <= 1e-9 * task.length]
    kept: list[np.ndarray] = []
    for row in sorted(task.difference(q).tolist()):
        gaps = [np.abs(task.difference(np.array(row), other)).max() for other in kept]
        if min(gaps, default=1.0) > 1e-6:
            kept.append(np.array(row))
    return np.array(kept).reshape(-1, q.shape[1])


def _moved(motion: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.asarray(motion[:3, :3] @ p + motion[:3, 3])
