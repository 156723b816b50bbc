"""What the tip is asked to do: which rows of position and orientation, their analytical Jacobian and scale.

Position comes first (rows 0, 1, 2: x, y, z in base axes), then orientation (rows 3, 4, 5): the angles of a
representation, or, in "geometric", the components of the angular velocity (not derivatives of angles).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from armdyn.analysis.errors import AnalysisError, check
from armdyn.analysis.orientation import (
    rpy_from_rotation,
    rpy_transform,
    rpy_transform_dot,
    zyz_from_rotation,
    zyz_transform,
    zyz_transform_dot,
)
from armdyn.expression import shown
from armdyn.robot import Robot
from armdyn.robot.tip import tip_freedom

Representation = Literal["position", "rpy", "zyz", "geometric"]

ROW_NAMES: dict[str, tuple[str, ...]] = {
    "position": ("x", "y", "z"),
    "rpy": ("x", "y", "z", "roll", "pitch", "yaw"),
    "zyz": ("x", "y", "z", "phi", "theta", "psi"),
    "geometric": ("x", "y", "z", "wx", "wy", "wz"),
}
ANGLES = {
    "rpy": (rpy_from_rotation, rpy_transform, rpy_transform_dot),
    "zyz": (zyz_from_rotation, zyz_transform, zyz_transform_dot),
}
SINGULAR_WHERE = {"rpy": "cos pitch = 0", "zyz": "sin theta = 0"}
GENERIC_POSTURES = 9
SINGULAR = 1e-12  # a singular value that is zero but for rounding
INDEPENDENT = 1e-6  # a row of unit length adds to the others if this much of it is new


@dataclass(frozen=True)
class Task:
    """Rows of a representation that a robot's tip can move independently of each other."""

    representation: Representation
    rows: tuple[int, ...]
    scale: tuple[float, ...]  # per row; divides J_A B^(-1/2), whose least singular value then is about 1

    @property
    def m(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """What the rows are, such as x, y, yaw."""
        return tuple(ROW_NAMES[self.representation][i] for i in self.rows)

    @property
    def has_angles(self) -> bool:
        return self.representation in ANGLES and max(self.rows) > 2


@dataclass(frozen=True)
class TaskMotion:
    """Where the tip is and how it moves, in the rows of a task."""

    x: np.ndarray  # (..., m), nan for rows without a coordinate (angular ones in "geometric")
    xd: np.ndarray  # (..., m)
    J: np.ndarray  # (..., m, n): J_A
    Jdot: np.ndarray  # (..., m, n)
    margin: np.ndarray  # (...): smallest singular value of T, 1 where no angles are used


def make_task(robot: Robot, representation: Representation, rows: Sequence[int] | None) -> Task:
    """The task with these rows, or by default with all that the arm can move, the earlier rows preferred."""
    check.one_of("representation", representation, *ROW_NAMES)
    if rows is None:
        return _default_task(robot, representation)
    return _task(robot, representation, checked_rows(representation, rows))


def checked_rows(representation: Representation, rows: Any) -> tuple[int, ...]:
    """Some rows of a representation, each once."""
    names = ROW_NAMES[representation]
    try:
        chosen = tuple(int(i) for i in rows if int(i) == i)
        good = len(set(chosen)) == len(list(rows)) > 0 and all(0 <= i < len(names) for i in chosen)
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        listing = ", ".join(f"{i} ({name})" for i, name in enumerate(names))
        raise AnalysisError(f"rows: found {shown(rows)}; allowed: some of {listing}, each once")
    return chosen


def moving_rows(robot: Robot) -> tuple[int, ...]:
    """The directions x, y, z (0, 1, 2) along which the tip can move at all."""
    rows = tuple(i for i in tip_freedom(robot).rows if i < 3)
    if not rows:
        raise AnalysisError(
            f"robot: the tip of '{robot.name}' does not change its position; choose rows 3, 4, 5"
        )
    return rows


@lru_cache(maxsize=64)
def _default_task(robot: Robot, representation: Representation) -> Task:
    _, J = _generic_rows(robot, representation)
    chosen: tuple[int, ...] = ()
    for i in range(J.shape[-2]):
        if _independent(J[:, [*chosen, i]]):
            chosen = (*chosen, i)
    if not chosen:
        raise AnalysisError(f"robot: the tip of '{robot.name}' does not move in '{representation}'")
    return _task(robot, representation, chosen)


@lru_cache(maxsize=64)
def _task(robot: Robot, representation: Representation, rows: tuple[int, ...]) -> Task:
    q, J = _generic_rows(robot, representation)
    J = J[:, list(rows)]
    if not _independent(J):
        found = ", ".join(Task(representation, rows, ()).names)
        possible = ", ".join(_default_task(robot, representation).names)
        raise AnalysisError(
            f"rows: found {rows} ({found}); the tip of '{robot.name}' cannot move these independently at any "
            f"posture; it can move: {possible}"
        )
    A = whitened(inertia_root(robot, q), J)
    size = np.linalg.norm(A, axis=-1)
    size = np.median(size[size.min(-1) > 0], axis=0)
    least = np.linalg.svd(A / size[:, None], compute_uv=False)[:, -1]
    scale = size * np.median(least[least > INDEPENDENT * least.max()])
    return Task(representation, rows, tuple(float(x) for x in scale))


def _generic_rows(robot: Robot, representation: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Ordinary postures (k, n) and J_A there, (k, 6 or 3, n), zero where the representation fails."""
    q = np.random.default_rng(7).uniform(-1.2, 1.2, (GENERIC_POSTURES, robot.n))
    every = Task(representation, tuple(range(len(ROW_NAMES[representation]))), ())
    motion = task_motion(robot, every, q, np.zeros_like(q), INDEPENDENT)
    J = motion.J.copy()
    if every.has_angles:
        J[motion.margin < INDEPENDENT, 3:] = 0.0
    return q, J


def _independent(J: np.ndarray) -> bool:
    """Whether the rows are independent in at least one of the postures (k, m, n)."""
    if J.shape[-2] > J.shape[-1]:
        return False
    length = np.linalg.norm(J, axis=-1, keepdims=True)
    unit = np.divide(J, length, out=np.zeros_like(J), where=length > INDEPENDENT)
    return bool(np.linalg.svd(unit, compute_uv=False)[:, -1].max() > INDEPENDENT)


def inertia_root(robot: Robot, q: np.ndarray) -> np.ndarray:
    """L (..., n, n) with B = L Lᵀ."""
    try:
        return np.linalg.cholesky(np.asarray(robot.inertia(q)))
    except np.linalg.LinAlgError:
        raise AnalysisError(
            f"robot: the inertia matrix of '{robot.name}' is not positive definite: some motion of its "
            "joints has no inertia; check that the links have mass, and see robot.warnings"
        ) from None


def whitened(L: np.ndarray, J: np.ndarray) -> np.ndarray:
    """A = J L⁻ᵀ (..., m, n) with B = L Lᵀ, so that A Aᵀ = J B⁻¹ Jᵀ."""
    return np.asarray(np.linalg.solve(L, J.swapaxes(-1, -2)).swapaxes(-1, -2))


def mobility(L: np.ndarray, A: np.ndarray) -> np.ndarray:
    """B⁻¹ Jᵀ (..., n, m) from A = J L⁻ᵀ."""
    return np.linalg.solve(L.swapaxes(-1, -2), A.swapaxes(-1, -2))


def task_motion(robot: Robot, task: Task, q: np.ndarray, qd: np.ndarray, threshold: float) -> TaskMotion:
    """x, ẋ = J_A q̇, J_A and J̇_A (3.62), (3.98); T is inverted as by `clipped_inverse`."""
    rows = list(task.rows)
    pose = np.asarray(robot.pose(q))
    J, Jdot = np.array(robot.jacobian(q)), np.array(robot.jacobian_dot(q, qd))
    x = np.full((*J.shape[:-2], 6), np.nan)
    x[..., :3] = pose[..., :3, 3]
    margin = np.ones(J.shape[:-2])
    if task.has_angles:
        angles_of, transform, transform_dot = ANGLES[task.representation]
        angles = angles_of(pose[..., :3, :3])
        T_inverse, margin = clipped_inverse(transform(angles), threshold)
        J[..., 3:, :] = T_inverse @ J[..., 3:, :]
        Tdot = transform_dot(angles, apply(J[..., 3:, :], qd))
        Jdot[..., 3:, :] = T_inverse @ (Jdot[..., 3:, :] - Tdot @ J[..., 3:, :])
        x[..., 3:] = angles
    J, Jdot = J[..., rows, :], Jdot[..., rows, :]
    return TaskMotion(x[..., rows], apply(J, qd), J, Jdot, margin)


def clipped_inverse(T: np.ndarray, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    """T⁻¹ (..., k, k) and T's smallest singular value (...).

    A singular value σ below `threshold` ε counts as ε²/σ: the inverse is damped, continuous, and zero in a
    direction that T does not have; the other directions are exact.
    """
    U, s, Vt = np.linalg.svd(T)
    least = max(threshold, SINGULAR)
    gains = s / np.maximum(s, least) ** 2
    return np.einsum("...ki,...k,...jk->...ij", Vt, gains, U), s[..., -1]


def apply(matrix: np.ndarray, vector: Any) -> np.ndarray:
    """Matrix (..., m, n) times vector (..., n)."""
    return np.asarray((matrix @ np.asarray(vector)[..., None])[..., 0])
