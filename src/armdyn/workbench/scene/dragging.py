"""Postures that follow a tip which is dragged: inverse kinematics in small steps, within the joints' limits.

`inverse_kinematics` finds a posture for a pose, wherever it is. Here the arm is on its way: it must not leave
the branch it is in, must stop at limits, and go as near as it can to a target that is out of reach.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from armdyn.motion.tip.task import tip_task
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits

_TOLERANCE = 1e-7  # of the arm's length
_STEPS = 12  # of an update at most
_PATIENCE = 0.007  # s: how long an update may take
_FAR = 0.3  # of the arm's length: how far the tip goes in a step at most
_TURN = 0.2  # rad: how far a joint goes in a step at most; the same of the arm's length for a slider
_DAMPINGS = (0.3, 6.0, 120.0)  # of the squared error: μ of a step; none is left at the target
_LEAST = 1e-5  # of the error: what a step must take off
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
                if np.linalg.norm(left) < size * (1 - _LEAST):
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
