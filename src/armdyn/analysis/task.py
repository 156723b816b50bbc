"""Tasks of the tip: rows of its position and orientation, their analytical Jacobian and scale.

Position comes first (rows 0, 1, 2: x, y, z in world axes), then orientation (rows 3, 4, 5): the angles of a
representation, or, in "geometric", the components of the angular velocity (not derivatives of angles). With
several tips, given as robots that differ in their tip only, the rows of the second follow those of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.analysis.errors import AnalysisError, check
from armdyn.expression import shown
from armdyn.robot import Robot
from armdyn.robot.postures import random_postures
from armdyn.robot.tip import tip_freedom

# ------------------------------------------------------------------------------------------------------------
# Orientation by three angles, for any leading axes: ZYZ, and roll-pitch-yaw as in the robot file.
#
# | representation | angles        | rotation                        | singular where |
# |---|---|---|---|
# | "zyz"          | φ, ϑ, ψ          | Rz(φ) Ry(ϑ) Rz(ψ)               | sin ϑ = 0 |
# | "rpy"          | roll, pitch, yaw | Rz(yaw) Ry(pitch) Rx(roll)      | cos pitch = 0 |
#
# The angles' rates give the angular velocity in world axes, ω = T(angles) · rates (3.64).
#
# SciPy turns by angles; the angles of a rotation are found here: within 1e-7 of a singularity SciPy's would
# give back another rotation.


def rotation_from_zyz(angles: Any) -> np.ndarray:
    """R (..., 3, 3) = Rz(φ) Ry(ϑ) Rz(ψ) for angles (..., 3)."""
    return _turned("ZYZ", angles)


def rotation_from_rpy(angles: Any) -> np.ndarray:
    """R (..., 3, 3) = Rz(yaw) Ry(pitch) Rx(roll) for angles (..., 3) in the order roll, pitch, yaw."""
    return _turned("xyz", angles)


def zyz_from_rotation(R: Any) -> np.ndarray:
    """φ, ϑ, ψ (..., 3) with ϑ in [0, π]; where sin ϑ = 0 only φ ± ψ is determined, and ψ = 0 or π."""
    R = _matrices(R)
    psi = np.arctan2(R[..., 2, 1], -R[..., 2, 0])
    theta = np.arctan2(np.hypot(R[..., 2, 0], R[..., 2, 1]), R[..., 2, 2])
    # With ψ chosen, φ follows from the middle column of R Rz(−ψ) = Rz(φ) Ry(ϑ), which is never small.
    s, c = np.sin(psi)[..., None], np.cos(psi)[..., None]
    column = s * R[..., :2, 0] + c * R[..., :2, 1]
    return np.stack([np.arctan2(-column[..., 0], column[..., 1]), theta, psi], -1)


def rpy_from_rotation(R: Any) -> np.ndarray:
    """roll, pitch, yaw (..., 3) with pitch in [−π/2, π/2]; where its cosine is 0, roll is 0 or π."""
    R = _matrices(R)
    roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 2, 1], R[..., 2, 2]))
    # With the roll chosen, the yaw follows from the middle column of R Rx(−roll) = Rz(yaw) Ry(pitch).
    s, c = np.sin(roll)[..., None], np.cos(roll)[..., None]
    column = c * R[..., :2, 1] - s * R[..., :2, 2]
    return np.stack([roll, pitch, np.arctan2(-column[..., 0], column[..., 1])], -1)


def zyz_transform(angles: Any) -> np.ndarray:
    """T (..., 3, 3) with ω = T [φ̇, ϑ̇, ψ̇]; det T = −sin ϑ."""
    phi, theta, _ = _split(angles)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns((0, 0, 1), (-s, c, 0), (c * st, s * st, ct))


def rpy_transform(angles: Any) -> np.ndarray:
    """T (..., 3, 3) with ω = T [roll rate, pitch rate, yaw rate]; det T = cos pitch."""
    _, pitch, yaw = _split(angles)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns((c * cp, s * cp, -sp), (-s, c, 0), (0, 0, 1))


def zyz_transform_dot(angles: Any, rates: Any) -> np.ndarray:
    """Ṫ (..., 3, 3) of `zyz_transform`."""
    phi, theta, _ = _split(angles)
    dphi, dtheta, _ = _split(rates)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns(
        (0, 0, 0),
        (-c * dphi, -s * dphi, 0),
        (c * ct * dtheta - s * st * dphi, s * ct * dtheta + c * st * dphi, -st * dtheta),
    )


def rpy_transform_dot(angles: Any, rates: Any) -> np.ndarray:
    """Ṫ (..., 3, 3) of `rpy_transform`."""
    _, pitch, yaw = _split(angles)
    _, dpitch, dyaw = _split(rates)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns(
        (-c * sp * dpitch - s * cp * dyaw, -s * sp * dpitch + c * cp * dyaw, -cp * dpitch),
        (-c * dyaw, -s * dyaw, 0),
        (0, 0, 0),
    )


def _split(angles: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second, third = np.moveaxis(check.numbers("angles", angles, 3), -1, 0)
    return first, second, third


def _matrices(R: Any) -> np.ndarray:
    found = check.numbers("R", R, 3)
    if found.shape[-2:] != (3, 3):
        raise AnalysisError(f"R: expected (..., 3, 3), found {found.shape}")
    return found


def _turned(axes: str, angles: Any) -> np.ndarray:
    """(..., 3, 3): turns about moving axes X Y Z, or about fixed ones x y z."""
    found = check.numbers("angles", angles, 3)
    turns = Rotation.from_euler(axes, found.reshape(-1, 3)).as_matrix() if found.size else np.empty(0)
    return np.asarray(turns).reshape(*found.shape, 3)


def _columns(*columns: tuple[Any, ...]) -> np.ndarray:
    """The matrix (..., 3, 3) with these columns; entries are arrays (...) or plain zeros and ones."""
    entries = np.broadcast_arrays(*(x for column in columns for x in column))
    return np.stack(entries, -1).reshape(*entries[0].shape, 3, 3).swapaxes(-1, -2)


# ------------------------------------------------------------------------------------------------------------
# Rows of a task.


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
    """Rows of a representation that a robot's tip, or several, can move independently of each other."""

    representation: Representation
    rows: tuple[int, ...]
    scale: tuple[float, ...]  # per row; divides J_A B^(-1/2), whose least singular value then is about 1
    links: tuple[str, ...] = ()  # the tips, where there are several

    @property
    def m(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows, such as x, y, yaw; with several tips "x of left hand"."""
        names = _row_names(self.representation, self.links)
        return tuple(names[i] for i in self.rows)

    @property
    def has_angles(self) -> bool:
        return self.representation in ANGLES and any(i % 6 > 2 for i in self.rows)


@dataclass(frozen=True)
class TaskMotion:
    """Position and motion of the tip, in the rows of a task."""

    x: np.ndarray  # (..., m), nan for rows without a coordinate (angular ones in "geometric")
    xd: np.ndarray  # (..., m)
    J: np.ndarray  # (..., m, n): J_A
    Jdot: np.ndarray  # (..., m, n)
    margin: np.ndarray  # (...): smallest singular value of T, 1 where no angles are used


Tips = tuple[Robot, ...]


def make_task(tips: Tips, representation: Representation, rows: Sequence[int] | None) -> Task:
    """The task with these rows, or by default with all that the arm can move, the earlier rows preferred."""
    check.one_of("representation", representation, *ROW_NAMES)
    if rows is None:
        return _default_task(tips, representation)
    return _task(tips, representation, checked_rows(representation, rows, _links(tips)))


def _links(tips: Tips) -> tuple[str, ...]:
    return tuple(tip.model.tip for tip in tips) if len(tips) > 1 else ()


def _row_names(representation: Representation, links: tuple[str, ...]) -> tuple[str, ...]:
    names = ROW_NAMES[representation]
    return tuple(f"{name} of {link}" for link in links for name in names) or names


def checked_rows(representation: Representation, rows: Any, links: tuple[str, ...] = ()) -> tuple[int, ...]:
    """Some rows of a representation, each once."""
    names = _row_names(representation, links)
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
def _default_task(tips: Tips, representation: Representation) -> Task:
    _, J = _generic_rows(tips, representation)
    chosen: tuple[int, ...] = ()
    for i in range(J.shape[-2]):
        if _independent(J[:, [*chosen, i]]):
            chosen = (*chosen, i)
    if not chosen:
        raise AnalysisError(f"robot: the tip of '{tips[0].name}' does not move in '{representation}'")
    return _task(tips, representation, chosen)


@lru_cache(maxsize=64)
def _task(tips: Tips, representation: Representation, rows: tuple[int, ...]) -> Task:
    q, J = _generic_rows(tips, representation)
    links = _links(tips)
    J = J[:, list(rows)]
    if not _independent(J):
        found = ", ".join(Task(representation, rows, (), links).names)
        possible = ", ".join(_default_task(tips, representation).names)
        raise AnalysisError(
            f"rows: found {rows} ({found}); the tip of '{tips[0].name}' cannot move these independently at "
            f"any posture; it can move: {possible}"
        )
    A = whitened(inertia_root(tips[0], q), J)
    size = np.linalg.norm(A, axis=-1)
    size = np.median(size[size.min(-1) > 0], axis=0)
    least = np.linalg.svd(A / size[:, None], compute_uv=False)[:, -1]
    scale = size * np.median(least[least > INDEPENDENT * least.max()])
    return Task(representation, rows, tuple(float(x) for x in scale), links)


def _generic_rows(tips: Tips, representation: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Ordinary postures (k, n) and J_A there, (k, 6 or 3 a tip, n), zero where the representation fails."""
    rng = np.random.default_rng(7)
    if tips[0].model.loops:
        q = random_postures(tips[0].assembly, rng, GENERIC_POSTURES)
    else:
        q = rng.uniform(-1.2, 1.2, (GENERIC_POSTURES, tips[0].n))
    links = _links(tips)
    every = Task(representation, tuple(range(len(_row_names(representation, links)))), (), links)
    motion = task_motion(tips, every, q, np.zeros_like(q), INDEPENDENT)
    J = motion.J.copy()
    if every.has_angles:
        angular = np.array([i % 6 > 2 for i in every.rows])
        J[np.ix_(motion.margin < INDEPENDENT, angular)] = 0.0
    return q, J


def _independent(J: np.ndarray) -> bool:
    """True if the rows are independent in at least one of the postures (k, m, n)."""
    if J.shape[-2] > J.shape[-1]:
        return False
    length = np.linalg.norm(J, axis=-1, keepdims=True)
    unit = np.divide(J, length, out=np.zeros_like(J), where=length > INDEPENDENT)
    return bool(np.linalg.svd(unit, compute_uv=False)[:, -1].max() > INDEPENDENT)


def inertia_root(robot: Robot, q: np.ndarray, parameters: Any = None) -> np.ndarray:
    """L (..., n, n) with B = L Lᵀ."""
    try:
        return np.linalg.cholesky(np.asarray(robot.inertia(q, parameters=parameters)))
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


def task_motion(tips: Tips, task: Task, q: np.ndarray, qd: np.ndarray, threshold: float) -> TaskMotion:
    """The motion of a tip, or of several in the order of the task's rows."""
    if len(tips) == 1:
        return _tip_motion(tips[0], task, q, qd, threshold)
    width = len(ROW_NAMES[task.representation])
    grouped: list[int] = []
    parts = []
    for k, tip in enumerate(tips):
        if own := [i for i in task.rows if i // width == k]:
            alone = Task(task.representation, tuple(i % width for i in own), ())
            parts.append(_tip_motion(tip, alone, q, qd, threshold))
            grouped += own
    order = [grouped.index(i) for i in task.rows]
    x, xd = (np.concatenate(each, -1)[..., order] for each in zip(*((m.x, m.xd) for m in parts), strict=True))
    J, Jdot = (
        np.concatenate(each, -2)[..., order, :] for each in zip(*((m.J, m.Jdot) for m in parts), strict=True)
    )
    return TaskMotion(x, xd, J, Jdot, np.minimum.reduce([m.margin for m in parts]))


def _tip_motion(robot: Robot, task: Task, q: np.ndarray, qd: np.ndarray, threshold: float) -> TaskMotion:
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
