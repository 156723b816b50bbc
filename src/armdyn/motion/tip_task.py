"""Task of the tip in motions: its position, or its pose; errors and Jacobians of it, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.motion.errors import MotionError
from armdyn.robot import Robot
from armdyn.robot.joints import revolute_joints, whole_turns
from armdyn.robot.tip import tip_freedom

ROUNDING = 8 * np.finfo(float).eps  # of a pose and of the solution of a linear system
SINGULAR = 1e-5  # smallest singular value of the task's Jacobian over its largest one


@dataclass(frozen=True)
class TipTask:
    """Position of the tip (3 rows) or its pose (6 rows) as a task for a robot's joints.

    Angular rows are multiplied by `length`, which is of the order of the arm's, so that all rows are metres.
    `rank` is that of the task's Jacobian in postures that are not singular: of a planar arm's position 2.
    """

    robot: Robot
    orientation: bool
    length: float
    rank: int
    active: np.ndarray  # (n,) whether a joint moves the tip at all
    reach: float  # of the order of the tip's coordinates [m]

    @property
    def revolute(self) -> np.ndarray:
        """True (n,) where joints are revolute."""
        return revolute_joints(self.robot)

    @property
    def weights(self) -> np.ndarray:
        """Weights (n,) of joint positions that make them comparable: `length` counts as one radian."""
        return np.where(self.revolute, 1.0, 1 / self.length)

    def difference(self, a: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
        """a − b of joint positions (..., n), angles up to full turns: within (−π, π]."""
        gap = a - b
        return np.where(whole_turns(self.robot), np.pi - (np.pi - gap) % (2 * np.pi), gap)

    @property
    def redundant(self) -> bool:
        """True if the arm can move without moving the tip."""
        return self.rank < int(self.active.sum())

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobian (..., 3 or 6, n) of the task."""
        return self._rows(self.robot.jacobian(q))

    def rows(self, velocity: np.ndarray) -> np.ndarray:
        """The task's part (..., 3 or 6) of a tip's velocity or acceleration (..., 6)."""
        return self._rows(velocity[..., None])[..., 0]

    def _rows(self, J: np.ndarray) -> np.ndarray:
        if not self.orientation:
            return np.asarray(J[..., :3, :])
        return np.concatenate([J[..., :3, :], self.length * J[..., 3:, :]], axis=-2)

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The error (N, 3 or 6) from the tip's pose at q (N, n) to targets (N, 4, 4) [m]."""
        pose = self.robot.pose(q)
        missing = target[:, :3, 3] - pose[:, :3, 3]
        if not self.orientation:
            return np.asarray(missing)
        turn = Rotation.from_matrix(target[:, :3, :3] @ pose[:, :3, :3].swapaxes(1, 2)).as_rotvec()
        return np.concatenate([missing, self.length * turn], axis=1)

    def inverse(self, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J⁺ (N, n, rows) at the task's rank, and how far from singular J is (N,)."""
        U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
        r = self.rank
        largest = np.maximum(sigma[..., 0], np.finfo(float).tiny)
        ratio = sigma[..., r - 1] / largest
        kept = np.maximum(sigma[..., :r], 1e-12 * largest[..., None])  # singular: large, not infinite
        V = Vt[..., :r, :].swapaxes(-1, -2)
        return np.asarray((V / kept[..., None, :]) @ U[..., :r].swapaxes(-1, -2)), ratio

    def ratio(self, q: np.ndarray) -> np.ndarray:
        """Distance (...) of postures (..., n) from singular ones: smallest singular value over largest."""
        sigma = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return np.asarray(sigma[..., self.rank - 1] / np.maximum(sigma[..., 0], np.finfo(float).tiny))

    def accuracy(self, q: np.ndarray, inverse: np.ndarray, missing: float = 0.0) -> np.ndarray:
        """Largest errors (..., n) of joint positions, at postures q (..., n) with J⁺ `inverse`.

        Poses are rounded, and `missing` [m] is the distance of the tip from its target.
        """
        gain = np.linalg.norm(inverse, axis=-1)
        return np.asarray(gain * (ROUNDING * self.reach + missing) + ROUNDING * np.abs(q))

    def slope_accuracy(self, q: np.ndarray, inverse: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Largest errors (..., n) of the slope q' = J⁺ x', joint by joint.

        J is rounded and belongs to a posture close to the true one, which makes q' wrong by J⁺ ΔJ q'.
        """
        beside, speed = (
            np.linalg.norm(x * self.weights, axis=-1, keepdims=True)
            for x in (self.accuracy(q, inverse), slope)
        )
        return np.asarray(np.linalg.norm(inverse, axis=-1) * self.length * (ROUNDING + beside) * speed)


@lru_cache(maxsize=64)
def tip_task(robot: Robot, orientation: bool) -> TipTask:
    """The task of a robot's tip, with its rank and length."""
    if robot.model.elastic:
        raise MotionError(
            f"{robot.name}: where its tip is does not tell where the motors of its elastic joints are; "
            "robot.with_rigid_joints() has the same links and their coordinates alone"
        )
    tip = tip_freedom(robot)
    rank = tip.pose_rank if orientation else tip.position_rank
    return TipTask(robot, orientation, tip.length, rank, tip.active, tip.reach)


def can_keep_orientation(robot: Robot) -> bool:
    """True if the tip can move in all its directions without turning: a planar arm of three joints can."""
    return tip_freedom(robot).keeps_orientation
