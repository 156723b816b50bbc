"""What the tip of a robot is asked to do (`TipTask`), and what its joints can do to it (`TipFreedom`).

A task has rows. Position comes first (rows 0, 1, 2: x, y, z in world axes), then orientation (rows 3, 4, 5):
the angles of a representation, or, in "geometric", the components of the angular velocity (not derivatives of
angles). With several tips, given as robots that differ in their tip only, the rows of the second follow those
of the first. Operational space, ellipsoids, inverse kinematics and motions of the tip are all about a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.analysis.errors import AnalysisError, check
from armdyn.expression import shown
from armdyn.robot import Robot
from armdyn.robot.joints import revolute_joints, whole_turns
from armdyn.robot.postures import random_postures

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
# The angles of a rotation are not SciPy's: within 1e-7 of a singularity those give back another rotation.


def zyz_from_rotation(R: np.ndarray) -> np.ndarray:
    """φ, ϑ, ψ (..., 3) with ϑ in [0, π]; where sin ϑ = 0 only φ ± ψ is determined, and ψ = 0 or π."""
    psi = np.arctan2(R[..., 2, 1], -R[..., 2, 0])
    theta = np.arctan2(np.hypot(R[..., 2, 0], R[..., 2, 1]), R[..., 2, 2])
    # With ψ chosen, φ follows from the middle column of R Rz(−ψ) = Rz(φ) Ry(ϑ), which is never small.
    s, c = np.sin(psi)[..., None], np.cos(psi)[..., None]
    column = s * R[..., :2, 0] + c * R[..., :2, 1]
    return np.stack([np.arctan2(-column[..., 0], column[..., 1]), theta, psi], -1)


def rpy_from_rotation(R: np.ndarray) -> np.ndarray:
    """roll, pitch, yaw (..., 3) with pitch in [−π/2, π/2]; where its cosine is 0, roll is 0 or π."""
    roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
    pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 2, 1], R[..., 2, 2]))
    # With the roll chosen, the yaw follows from the middle column of R Rx(−roll) = Rz(yaw) Ry(pitch).
    s, c = np.sin(roll)[..., None], np.cos(roll)[..., None]
    column = c * R[..., :2, 1] - s * R[..., :2, 2]
    return np.stack([roll, pitch, np.arctan2(-column[..., 0], column[..., 1])], -1)


def zyz_transform(angles: np.ndarray) -> np.ndarray:
    """T (..., 3, 3) with ω = T [φ̇, ϑ̇, ψ̇]; det T = −sin ϑ."""
    phi, theta, _ = np.moveaxis(angles, -1, 0)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns((0, 0, 1), (-s, c, 0), (c * st, s * st, ct))


def rpy_transform(angles: np.ndarray) -> np.ndarray:
    """T (..., 3, 3) with ω = T [roll rate, pitch rate, yaw rate]; det T = cos pitch."""
    _, pitch, yaw = np.moveaxis(angles, -1, 0)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns((c * cp, s * cp, -sp), (-s, c, 0), (0, 0, 1))


def zyz_transform_dot(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Ṫ (..., 3, 3) of `zyz_transform`."""
    phi, theta, _ = np.moveaxis(angles, -1, 0)
    dphi, dtheta, _ = np.moveaxis(rates, -1, 0)
    s, c, st, ct = np.sin(phi), np.cos(phi), np.sin(theta), np.cos(theta)
    return _columns(
        (0, 0, 0),
        (-c * dphi, -s * dphi, 0),
        (c * ct * dtheta - s * st * dphi, s * ct * dtheta + c * st * dphi, -st * dtheta),
    )


def rpy_transform_dot(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Ṫ (..., 3, 3) of `rpy_transform`."""
    _, pitch, yaw = np.moveaxis(angles, -1, 0)
    _, dpitch, dyaw = np.moveaxis(rates, -1, 0)
    s, c, sp, cp = np.sin(yaw), np.cos(yaw), np.sin(pitch), np.cos(pitch)
    return _columns(
        (-c * sp * dpitch - s * cp * dyaw, -s * sp * dpitch + c * cp * dyaw, -cp * dpitch),
        (-c * dyaw, -s * dyaw, 0),
        (0, 0, 0),
    )


def _columns(*columns: tuple[Any, ...]) -> np.ndarray:
    """The matrix (..., 3, 3) with these columns; entries are arrays (...) or plain zeros and ones."""
    entries = np.broadcast_arrays(*(x for column in columns for x in column))
    return np.stack(entries, -1).reshape(*entries[0].shape, 3, 3).swapaxes(-1, -2)


# ------------------------------------------------------------------------------------------------------------
# What the joints can do to the tip: which rows of its velocity they move, and how many at once.


_POSTURES = 16
_STILL = 1e-9  # of the Jacobian's largest entry: smaller ones are zero but for rounding
_RANK = 1e-8  # a singular value this small beside the largest is zero


@dataclass(frozen=True)
class TipFreedom:
    """What holds in every posture that is not singular, found in some ordinary ones.

    Rows are those of the geometric Jacobian: x, y, z (0, 1, 2), and turning about them (3, 4, 5).
    """

    rows: tuple[int, ...]  # that the joints can move at all
    active: np.ndarray  # (n,): whether a joint moves the tip at all
    length: float  # of the order of the arm's [m]; it makes angular rows comparable with linear ones
    reach: float  # of the order of the tip's coordinates [m]
    position_rank: int  # of the linear rows: of a planar arm 2
    orientation_rank: int
    pose_rank: int

    @property
    def keeps_orientation(self) -> bool:
        """Whether the tip can move in all its directions without turning: a planar 3R arm can."""
        return self.pose_rank == self.position_rank + self.orientation_rank


def at_link(robot: Robot, link: str | None) -> Robot:
    """The robot with the frame of `link` (without the tool) as its tip; None: the robot with its own tip."""
    return robot if link is None else robot.with_tip(link)


@lru_cache(maxsize=64)
def tip_freedom(robot: Robot) -> TipFreedom:
    """What a robot's joints can do to its tip."""
    revolute = revolute_joints(robot)
    rng = np.random.default_rng(7)
    if robot.model.loops:
        q = random_postures(robot.assembly, rng, _POSTURES)
    else:
        q = rng.uniform(-1, 1, (_POSTURES, robot.n)) * np.where(revolute, np.pi, 1.0)
    J = np.asarray(robot.jacobian(q))
    length = float(np.linalg.norm(J[:, :3], axis=1).max(0)[revolute].max(initial=0.0)) or 1.0
    scaled = np.concatenate([J[:, :3], length * J[:, 3:]], axis=1)
    largest = np.abs(J).max((0, 2))
    return TipFreedom(
        rows=tuple(int(i) for i in np.flatnonzero(largest > _STILL * largest.max())),
        active=np.abs(J).max((0, 1)) > 0,
        length=length,
        reach=length + float(np.abs(robot.pose(q)[:, :3, 3]).max()),
        position_rank=_rank(scaled[:, :3]),
        orientation_rank=_rank(scaled[:, 3:]),
        pose_rank=_rank(scaled),
    )


def _rank(J: np.ndarray) -> int:
    """The largest rank of matrices (k, m, n)."""
    sigma = np.linalg.svd(J, compute_uv=False)
    return int((sigma > _RANK * np.maximum(sigma[:, :1], 1e-300)).sum(1).max())


# ------------------------------------------------------------------------------------------------------------
# Rows of a task.


Tips = tuple[Robot, ...]
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
ROUNDING = 8 * np.finfo(float).eps  # of a pose and of the solution of a linear system
INDEPENDENT = 1e-6  # a row of unit length adds to the others if this much of it is new


@dataclass(frozen=True)
class TipTask:
    """Rows of the position and orientation of a robot's tip, or of several tips."""

    tips: Tips
    representation: Representation
    rows: tuple[int, ...]

    @property
    def robot(self) -> Robot:
        """The robot with its first tip."""
        return self.tips[0]

    @property
    def links(self) -> tuple[str, ...]:
        """The tips, where there are several."""
        return _links(self.tips)

    @property
    def m(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the rows, such as x, y, yaw; with several tips "x of left hand"."""
        names = _row_names(self.representation, self.links)
        return tuple(names[i] for i in self.rows)

    @property
    def turns(self) -> bool:
        """Whether orientation is part of it."""
        return any(i % 6 > 2 for i in self.rows)

    @property
    def has_angles(self) -> bool:
        """Whether orientation is part of it, by angles."""
        return self.representation in ANGLES and self.turns

    @cached_property
    def scale(self) -> tuple[float, ...]:
        """Per row; divides J_A B^(-1/2), whose least singular value then is about 1."""
        q, J = _generic_rows(self.tips, self.representation)
        A = whitened(inertia_root(self.robot, q), J[:, list(self.rows)])
        size = np.linalg.norm(A, axis=-1)
        size = np.median(size[size.min(-1) > 0], axis=0)
        least = np.linalg.svd(A / size[:, None], compute_uv=False)[:, -1]
        scale = size * np.median(least[least > INDEPENDENT * least.max()])
        return tuple(float(x) for x in scale)

    # ---- the joints for a place of one tip ----------------------------------------------------------------
    #
    # It is "geometric" and has the three rows of a position, or the six of a pose. Angular ones are
    # multiplied by `length`, so that all are metres.

    @cached_property
    def freedom(self) -> TipFreedom:
        """What the joints can do to the tip."""
        return tip_freedom(self.robot)

    @property
    def length(self) -> float:
        """Of the order of the arm's [m]."""
        return self.freedom.length

    @property
    def active(self) -> np.ndarray:
        """Whether a joint moves the tip at all (n,)."""
        return self.freedom.active

    @property
    def rank(self) -> int:
        """Rank of the Jacobian in postures that are not singular: of a planar arm's position 2."""
        return self.freedom.pose_rank if self.turns else self.freedom.position_rank

    @property
    def redundant(self) -> bool:
        """True if the arm can move without moving the tip."""
        return self.rank < int(self.active.sum())

    @property
    def weights(self) -> np.ndarray:
        """Weights (n,) of joint positions that make them comparable: `length` counts as one radian."""
        return np.where(revolute_joints(self.robot), 1.0, 1 / self.length)

    def difference(self, a: np.ndarray, b: np.ndarray | float = 0.0) -> np.ndarray:
        """a − b of joint positions (..., n), angles up to full turns: within (−π, π]."""
        gap = a - b
        return np.where(whole_turns(self.robot), np.pi - (np.pi - gap) % (2 * np.pi), gap)

    @cached_property
    def _metres(self) -> np.ndarray:
        """Factors (m, 1) of the rows."""
        return np.repeat([1.0, self.length], 3)[: self.m, None]

    def metres(self, velocity: np.ndarray) -> np.ndarray:
        """The task's rows (..., m, k) of velocities of the tip (..., 6, k), or of its Jacobian."""
        return np.asarray(self._metres * velocity[..., : self.m, :])

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        """Jacobian (..., m, n) of the task."""
        return self.metres(np.asarray(self.robot.jacobian(q)))

    def error(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The error (N, m) from the tip's pose at q (N, n) to targets (N, 4, 4) [m]."""
        pose = self.robot.pose(q)
        missing = target[:, :3, 3] - pose[:, :3, 3]
        if not self.turns:
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
        return np.asarray(gain * (ROUNDING * self.freedom.reach + missing) + ROUNDING * np.abs(q))

    def slope_accuracy(self, q: np.ndarray, inverse: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Largest errors (..., n) of the slope q' = J⁺ x', joint by joint.

        J is rounded and belongs to a posture close to the true one, which makes q' wrong by J⁺ ΔJ q'.
        """
        beside, speed = (
            np.linalg.norm(x * self.weights, axis=-1, keepdims=True)
            for x in (self.accuracy(q, inverse), slope)
        )
        return np.asarray(np.linalg.norm(inverse, axis=-1) * self.length * (ROUNDING + beside) * speed)


@dataclass(frozen=True)
class TaskMotion:
    """Position and motion of the tip, in the rows of a task."""

    x: np.ndarray  # (..., m), nan for rows without a coordinate (angular ones in "geometric")
    xd: np.ndarray  # (..., m)
    J: np.ndarray  # (..., m, n): J_A
    Jdot: np.ndarray  # (..., m, n)
    margin: np.ndarray  # (...): smallest singular value of T, 1 where no angles are used


def make_task(tips: Tips, representation: Representation, rows: Sequence[int] | None) -> TipTask:
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
def _default_task(tips: Tips, representation: Representation) -> TipTask:
    _, J = _generic_rows(tips, representation)
    chosen: tuple[int, ...] = ()
    for i in range(J.shape[-2]):
        if _independent(J[:, [*chosen, i]]):
            chosen = (*chosen, i)
    if not chosen:
        raise AnalysisError(f"robot: the tip of '{tips[0].name}' does not move in '{representation}'")
    return _task(tips, representation, chosen)


@lru_cache(maxsize=64)
def _task(tips: Tips, representation: Representation, rows: tuple[int, ...]) -> TipTask:
    task = TipTask(tips, representation, rows)
    if not _independent(_generic_rows(tips, representation)[1][:, list(rows)]):
        possible = ", ".join(_default_task(tips, representation).names)
        raise AnalysisError(
            f"rows: found {rows} ({', '.join(task.names)}); the tip of '{tips[0].name}' cannot move these "
            f"independently at any posture; it can move: {possible}"
        )
    return task


@lru_cache(maxsize=64)
def _generic_rows(tips: Tips, representation: Representation) -> tuple[np.ndarray, np.ndarray]:
    """Ordinary postures (k, n) and J_A there, (k, 6 or 3 a tip, n), zero where the representation fails."""
    rng = np.random.default_rng(7)
    if tips[0].model.loops:
        q = random_postures(tips[0].assembly, rng, GENERIC_POSTURES)
    else:
        q = rng.uniform(-1.2, 1.2, (GENERIC_POSTURES, tips[0].n))
    count = len(_row_names(representation, _links(tips)))
    every = TipTask(tips, representation, tuple(range(count)))
    motion = task_motion(every, q, np.zeros_like(q), INDEPENDENT)
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


def task_motion(task: TipTask, q: np.ndarray, qd: np.ndarray, threshold: float) -> TaskMotion:
    """The motion of a tip, or of several in the order of the task's rows."""
    if len(task.tips) == 1:
        return _tip_motion(task, q, qd, threshold)
    width = len(ROW_NAMES[task.representation])
    grouped: list[int] = []
    parts = []
    for k, tip in enumerate(task.tips):
        if own := [i for i in task.rows if i // width == k]:
            alone = TipTask((tip,), task.representation, tuple(i % width for i in own))
            parts.append(_tip_motion(alone, q, qd, threshold))
            grouped += own
    order = [grouped.index(i) for i in task.rows]
    x, xd = (np.concatenate(each, -1)[..., order] for each in zip(*((m.x, m.xd) for m in parts), strict=True))
    J, Jdot = (
        np.concatenate(each, -2)[..., order, :] for each in zip(*((m.J, m.Jdot) for m in parts), strict=True)
    )
    return TaskMotion(x, xd, J, Jdot, np.minimum.reduce([m.margin for m in parts]))


def _tip_motion(task: TipTask, q: np.ndarray, qd: np.ndarray, threshold: float) -> TaskMotion:
    """x, ẋ = J_A q̇, J_A and J̇_A (3.62), (3.98); T is inverted as by `clipped_inverse`."""
    rows, robot = list(task.rows), task.robot
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
