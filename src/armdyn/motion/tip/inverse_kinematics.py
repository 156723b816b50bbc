"""Joint positions for a pose or a position of the tip, near a given posture."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.tip.closed_forms import closed_form_solutions
from armdyn.motion.tip.task import ROUNDING, TipTask, tip_task
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.tip import at_link

TOLERANCE = 1e-12  # of the arm's length


def inverse_kinematics(
    robot: Robot,
    target: Any,
    q0: Any,
    *,
    link: str | None = None,
    orientation: bool | None = None,
    tolerance: float = TOLERANCE,
    restarts: int = 10,
) -> np.ndarray:
    """Joint positions (n,) that bring the tip to `target`, a pose (4, 4) or a position (3,), near q0 (n,).

    With `link` the frame of that link takes the place of the tip. Joints that do not move it stay at q0.
    With orientation=False only the position of a pose counts. Where the arm has a closed form, the solution
    nearest to q0 is taken; otherwise a damped Jacobian method starts at q0 and, where it ends in a posture
    that misses the target, at up to `restarts` other ones. `tolerance` is how much may be missing, as a
    fraction of the arm's length. A joint that need not move stays exactly where it is at q0. Limits of the
    joints do not count. A target out of reach is an error.
    """
    robot = at_link(check.robot(robot), link)
    seed = check.posture("q0", q0, robot.n)
    pose, turned = _target(target, orientation)
    if not 0 < check.number("tolerance", tolerance) < 1:
        raise MotionError(
            f"tolerance: found {tolerance:g}; a fraction of the arm's length, between 0 and 1, is expected"
        )
    restarts = check.whole_number("restarts", restarts)
    task = tip_task(robot, turned)
    if _missing(task, seed, pose) <= ROUNDING * task.reach:
        return seed
    solutions = closed_form_solutions(robot, pose, turned)
    if solutions is not None and len(solutions):
        solutions[:, ~task.active] = seed[~task.active]
        return _settled(task, nearest(task, solutions, seed), seed, pose, tolerance)
    q, missing = nearest_reachable(task, pose, seed, tolerance, restarts)
    if missing > tolerance * task.length:
        raise MotionError(f"the tip cannot reach {place_text(pose)}: {missing_text(task, q, pose)}")
    return _settled(task, nearest(task, q[None], seed), seed, pose, tolerance)


def _missing(task: TipTask, q: np.ndarray, pose: np.ndarray) -> float:
    """Distance of the tip from its target at a posture (n,) [m]."""
    return float(np.linalg.norm(task.error(q[None], pose[None])[0]))


def _settled(
    task: TipTask, q: np.ndarray, seed: np.ndarray, pose: np.ndarray, tolerance: float
) -> np.ndarray:
    """The posture, with joints that moved by no more than the rounding error put back to the seed."""
    inverse, _ = task.inverse(task.jacobian(q))
    missing = _missing(task, q, pose)
    stays = np.abs(q - seed) <= task.accuracy(q, inverse, missing)
    settled = np.where(stays, seed, q)
    # Near a singular posture accuracy is poor, and putting back one of several joints would move the tip.
    return settled if _missing(task, settled, pose) <= max(missing, tolerance * task.length) else q


def _target(target: Any, orientation: bool | None) -> tuple[np.ndarray, bool]:
    """The target as a pose, and whether its orientation counts."""
    if orientation is not None and not isinstance(orientation, bool | np.bool):
        raise MotionError(f"orientation: found {shown(orientation)}; True, False or None is expected")
    found = position_or_pose("target", target)
    if found.ndim == 2:
        return found, orientation is None or bool(orientation)
    if orientation:
        raise MotionError("target: a position has no orientation; give a pose (4, 4)")
    pose = np.eye(4)
    pose[:3, 3] = found
    return pose, False


def position_or_pose(name: str, x: Any) -> np.ndarray:
    """The position (3,) or pose (4, 4) that a caller gives, checked."""
    found = check.numbers(name, x)
    if found.shape not in ((3,), (4, 4)):
        raise MotionError(f"{name}: expected a position (3,) or a pose (4, 4), found {shown(x)}")
    return found if found.ndim == 1 else check.pose(name, found)


def nearest(task: TipTask, solutions: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The one of postures (k, n) that is nearest to q (n,); their angles count up to full turns."""
    gap = task.difference(solutions, q)
    return np.asarray(q + gap[np.linalg.norm(gap * task.weights, axis=1).argmin()])


def damped(
    task: TipTask, target: np.ndarray, q: np.ndarray, tolerance: float = TOLERANCE, iterations: int = 200
) -> tuple[np.ndarray, float]:
    """Levenberg and Marquardt from q: the posture where it ends, and what is then missing [m].

    A step minimises |J Δq − e|² + μ |Δq|²; μ falls with every step that helps and so leaves Newton's method.
    """

    def missing(q: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(task.error(q[None], target[None])[0])
        except LoopError:  # a posture in which closed chains stay open is no way to go
            return np.array([np.inf])

    e = missing(q)
    size, mu = float(np.linalg.norm(e)), 1e-3 * task.length**2
    for _ in range(iterations):
        if size <= 0.01 * tolerance * task.length or size == np.inf:
            break
        U, sigma, Vt = np.linalg.svd(task.jacobian(q), full_matrices=False)
        along = U.T @ e
        if np.linalg.norm(sigma * along) <= 1e-14 * task.length * size:
            break  # nothing the joints do helps
        trial = q + Vt.T @ (sigma / (sigma**2 + mu) * along)
        e_trial = missing(trial)
        better = float(np.linalg.norm(e_trial))
        if better < size:
            q, e, size, mu = trial, e_trial, better, max(mu / 5, 1e-16 * task.length**2)
        elif size <= tolerance * task.length or mu > 1e8 * task.length**2:
            break
        else:
            mu *= 4
    return q, size


def nearest_reachable(
    task: TipTask, target: np.ndarray, seed: np.ndarray, tolerance: float = TOLERANCE, restarts: int = 10
) -> tuple[np.ndarray, float]:
    """The best end of the damped method, from the seed and then from postures around it."""
    rng = np.random.default_rng(11)
    spread = np.where(task.revolute, np.pi, task.length) * task.active
    best, least = damped(task, target, seed, tolerance)
    for _ in range(restarts):
        if least <= tolerance * task.length:
            break
        q, missing = damped(task, target, seed + spread * rng.uniform(-1, 1, len(seed)), tolerance)
        if missing < least:
            best, least = q, missing
    return best, least


def place_text(pose: np.ndarray) -> str:
    return "({:.6g}, {:.6g}, {:.6g}) m".format(*pose[:3, 3])


def missing_text(task: TipTask, q: np.ndarray, pose: np.ndarray) -> str:
    """Words for how far the nearest posture found misses its target."""
    e = task.error(q[None], pose[None])[0]
    text = f"the nearest posture found misses it by {np.linalg.norm(e[:3]):.3g} m"
    if task.orientation:
        text += f" and {np.linalg.norm(e[3:]) / task.length:.3g} rad"
    return text
