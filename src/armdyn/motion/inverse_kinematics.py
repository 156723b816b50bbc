"""`inverse_kinematics`: joint positions for a pose or a position of the tip, near a given posture.

In closed form for arms whose axes allow it; else by a damped Jacobian method.
"""

from __future__ import annotations

from cmath import phase
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import acos, atan2, hypot, sqrt
from typing import Any, TypeAlias

import numpy as np

from armdyn.analysis.task import ROUNDING, TipTask, at_link
from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.joints import revolute_joints


def tip_task(robot: Robot, orientation: bool) -> TipTask:
    """The position of a robot's tip as its task, or its pose."""
    if robot.model.elastic:
        raise MotionError(
            f"{robot.name}: where its tip is does not tell where the motors of its elastic joints are; "
            "robot.with_rigid_joints() has the same links and their coordinates alone"
        )
    return TipTask((robot,), "geometric", tuple(range(6 if orientation else 3)))


# ------------------------------------------------------------------------------------------------------------
# The geometry of closed-form inverse kinematics: one, two or three joints that bring a point to a place.
#
# A joint is its axis at zero position: a unit vector z and, for a revolute joint, a point c on it, world
# axes. The joints of a chain act one after the other, the last one first: e1(q1) e2(q2) e3(q3) p = g. A
# quantity that a joint cannot change gives an equation of the joints behind it: rotation about an axis keeps
# the distance from a point on it and the coordinate along it, translation keeps the coordinates across it
# (Paden and Kahan's subproblems, and for three revolute joints Pieper's quartic). Answers are candidates: the
# caller tries them on the arm. None says that the geometry is degenerate or not covered; an empty list that
# the place is out of reach.


Solutions: TypeAlias = list[tuple[float, ...]]
Function: TypeAlias = Callable[[np.ndarray], np.ndarray]  # of a joint's position (k,), values (k,)

DEGENERATE = 1e-9  # relative: what is smaller is zero
OUTSIDE = 1e-7  # how far a cosine may exceed one: the arm is stretched, up to rounding


@dataclass(frozen=True)
class Axis:
    """A joint at zero position, world axes."""

    z: np.ndarray  # (3,), unit
    c: np.ndarray  # (3,), a point on the axis
    revolute: bool

    @cached_property
    def cross(self) -> np.ndarray:
        """The matrix (3, 3) of z × …"""
        return np.cross(self.z, np.eye(3)).T

    @cached_property
    def across(self) -> np.ndarray:
        """Two unit vectors (2, 3) at right angles to z."""
        return np.asarray(np.linalg.svd(self.z[None])[2][1:])

    def move(self, q: float | np.ndarray, p: np.ndarray) -> np.ndarray:
        """A point or points (..., 3) after the joint has moved by q; for q (k,), one point (k, 3)."""
        if self.revolute:
            return np.asarray(self.c + self.turn(q, p - self.c))
        return np.asarray(p + np.multiply.outer(q, self.z))

    def turn(self, q: float | np.ndarray, v: np.ndarray) -> np.ndarray:
        """A direction (..., 3), or for q (k,) one direction (k, 3), after the joint has moved by q."""
        if not self.revolute:
            return v
        along = (v @ self.z)[..., None] * self.z
        outer = np.multiply.outer
        return np.asarray(along + outer(np.cos(q), v - along) + outer(np.sin(q), v @ self.cross.T))

    def reached(self, p: np.ndarray, g: np.ndarray) -> float:
        """The position of the joint that brings p nearest to g."""
        if self.revolute:
            return self.angle(p - self.c, g - self.c)
        return float(self.z @ (g - p))

    def angle(self, v: np.ndarray, w: np.ndarray) -> float:
        """The angle about the axis from the direction v to the direction w; 0 where v or w is along it."""
        across = v - (v @ self.z) * self.z
        sine, cosine = w @ self.cross @ across, w @ across
        size = np.linalg.norm(v) * np.linalg.norm(w)
        return atan2(sine, cosine) if hypot(sine, cosine) > DEGENERATE * size else 0.0


# ---- functions of one joint's position ---------------------------------------------------------------------


def zeros(axis: Axis, f: Function, size: float, order: int = 1, length: float = 1.0) -> list[float] | None:
    """The positions of a joint at which a function of them is zero; None where the function is constant.

    Its values are of the order of `size`. Of a revolute joint it is a polynomial of degree `order` in cos q
    and sin q, known from its values at 2 order + 1 angles. Of a prismatic one it is a polynomial of degree
    2 order in q, known from its values at as many positions within `length`.
    """
    count = 2 * order + 1
    if axis.revolute:
        powers = np.fft.fft(f(2 * np.pi / count * np.arange(count))) / count  # of e^{iq}: 0, 1, …, −1
    else:
        nodes = np.linspace(-1, 1, count)
        powers = np.linalg.solve(np.vander(nodes, increasing=True), f(length * nodes).astype(complex))
    if np.abs(powers[1:]).max() <= DEGENERATE * size:
        return None
    if axis.revolute and order == 1:  # 2 |c| cos(q + arg c) + d
        c, d = complex(powers[1]), powers[0].real
        middle, ratio = -phase(c), -d / (2 * abs(c))
        half = acos(min(1.0, max(-1.0, ratio)))
        return [middle + half, middle - half] if abs(ratio) <= 1 + OUTSIDE else []
    powers[np.abs(powers) <= 1e-14 * np.abs(powers).max()] = 0.0
    roots = np.roots(np.roll(powers, order if axis.revolute else 0)[::-1])
    # A double root is found only to the square root of rounding, so nearly on the circle or real is so.
    if axis.revolute:
        return [float(x) for x in np.angle(roots[np.abs(np.abs(roots) - 1) < 1e-4])]
    return [float(length * x) for x in roots.real[np.abs(roots.imag) <= 1e-4 * (1 + np.abs(roots))]]


# ---- a point to a place ------------------------------------------------------------------------------------


def place(axes: Sequence[Axis], p: np.ndarray, g: np.ndarray, length: float) -> Solutions | None:
    """Joint positions that bring p to g; `length` is of the order of the arm's."""
    if not axes:
        return [()]
    if len(axes) == 1:
        return [(axes[0].reached(p, g),)]
    if len(axes) == 2:
        return _place_two(axes[0], axes[1], p, g, length)
    if len(axes) == 3 and axes[0].revolute and axes[1].revolute:
        return _place_three(axes[0], axes[1], axes[2], p, g, length)
    return None


def _place_two(first: Axis, second: Axis, p: np.ndarray, g: np.ndarray, length: float) -> Solutions | None:
    """Positions of two joints: the second sets what the first cannot change; the first does the rest."""

    def along(u: np.ndarray) -> Function:
        return lambda q: (second.move(q, p) - g) @ u

    def distance(q: np.ndarray) -> np.ndarray:
        return np.asarray(_square(second.move(q, p) - first.c) - _square(g - first.c))

    invariants = [(distance, length**2), (along(first.z), length)]
    if not first.revolute:
        invariants = [(along(u), length) for u in first.across]
    found = [zeros(second, function, size, 1, length) for function, size in invariants]
    if all(x is None for x in found):
        return None
    return [(first.reached(second.move(q, p), g), q) for x in found for q in x or ()]


def _place_three(
    first: Axis, second: Axis, third: Axis, p: np.ndarray, g: np.ndarray, length: float
) -> Solutions | None:
    """Pieper: with the common normal n of the first two axes, of length d and twist α, and m = z2 × n,

        y = e3 p − c2
        X = n · R2 y = (|g − c1|² − d² − |y|²) / 2d
        Y = m · R2 y = (z1 · (g − c1) − cos α z2 · y) / sin α

    and X² + Y² = |y|² − (z2 · y)² is one equation for q3. Where d or sin α is zero, its numerator is.
    """
    n, m, c1, c2 = _common_normal(first, second)
    d, cosine, sine = float(n @ (c2 - c1)), float(first.z @ second.z), float(first.z @ m)

    def over_d(q: Any) -> Any:  # 2 d X
        return _square(g - c1) - d**2 - _square(third.move(q, p) - c2)

    def over_sine(q: Any) -> Any:  # sin α Y
        return first.z @ (g - c1) - cosine * (third.move(q, p) - c2) @ second.z

    def quartic(q: np.ndarray) -> np.ndarray:
        y = third.move(q, p) - c2
        across = _square(y) - (y @ second.z) ** 2
        return np.asarray((over_d(q) * sine) ** 2 + 4 * d**2 * (over_sine(q) ** 2 - across * sine**2))

    parallel, meeting = abs(sine) <= DEGENERATE, abs(d) <= DEGENERATE * length
    if parallel and meeting:
        return None
    if parallel:
        positions = zeros(third, over_sine, length, 1, length)
    elif meeting:
        positions = zeros(third, over_d, length**2, 1, length)
    else:
        positions = zeros(third, quartic, length**4, 2, length)
    if positions is None:
        return None
    found: Solutions = []
    for q3 in positions:
        y = third.move(q3, p) - c2
        radius = (y @ n) ** 2 + (y @ m) ** 2
        X = None if meeting else over_d(q3) / (2 * d)
        Y = None if parallel else over_sine(q3) / sine
        for x, v in _both_signs(X, Y, radius, length):
            q2 = atan2(v, x) - atan2(y @ m, y @ n)
            found.append((first.reached(second.move(q2, y + c2), g), q2, q3))
    return found


def _square(v: np.ndarray) -> Any:
    """|v|² of vectors (..., 3)."""
    return np.sum(v * v, -1)


def _both_signs(X: float | None, Y: float | None, radius: float, length: float) -> list[tuple[float, float]]:
    """X and Y; of the one that is not given, both signs that make X² + Y² the radius squared."""
    if X is not None and Y is not None:
        return [(X, Y)]
    known = X if X is not None else Y
    assert known is not None
    rest = radius - known**2
    if rest < -OUTSIDE * length**2:
        return []
    other = sqrt(max(rest, 0.0))
    return [(known, s) if Y is None else (s, known) for s in (other, -other)]


def _common_normal(first: Axis, second: Axis) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """n and m, with n × m = z2, and the feet c1 and c2 of the common normal of two axes."""
    z1, z2, between = first.z, second.z, second.c - first.c
    m = z1 - (z1 @ z2) * z2
    if np.linalg.norm(m) > DEGENERATE:
        m /= np.linalg.norm(m)
        n = np.cross(m, z2)
        # c1 + s z1 and c2 + t z2 with a difference along n.
        s, t = np.linalg.lstsq(np.column_stack([z1, -z2]), between, rcond=None)[0]
        return n, m, first.c + s * z1, second.c + t * z2
    c2 = second.c - (between @ z1) * z1
    n = c2 - first.c
    length = np.linalg.norm(n)
    n = n / length if length > 0 else first.across[0]
    return n, np.cross(z2, n), first.c, c2


# ---- an orientation ----------------------------------------------------------------------------------------


def turn(axes: Sequence[Axis], R: np.ndarray) -> Solutions | None:
    """Positions of up to three revolute joints that together turn by the rotation R (3, 3)."""
    if not axes:
        return [()]
    last = axes[-1]
    before = _turns(axes, R @ last.z)
    if before is None:
        return None
    v = last.across[0]
    return [(*q, last.angle(v, turned_back(axes, q, R @ v))) for q in before]


def turned_back(axes: Sequence[Axis], q: Sequence[float], v: np.ndarray) -> np.ndarray:
    """A direction, or several (..., 3), before the joints turned it, the first one last."""
    for axis, angle in zip(axes, q, strict=False):
        v = axis.turn(-angle, v)
    return v


def _turns(axes: Sequence[Axis], direction: np.ndarray) -> Solutions | None:
    """Positions of all joints but the last that bring the last one's axis to a direction."""
    z = axes[-1].z
    if len(axes) == 1:
        return [()]
    if len(axes) == 2:
        return [(axes[0].angle(z, direction),)]
    first, second, _ = axes
    found = zeros(second, lambda q: second.turn(q, z) @ first.z - first.z @ direction, 1.0)
    return None if found is None else [(first.angle(second.turn(q, z), direction), q) for q in found]


# ------------------------------------------------------------------------------------------------------------
# Arms whose axes allow it.


@dataclass(frozen=True)
class ArmAtZero:
    """An arm at zero position: its axes and the pose of its tip, in the world."""

    axes: tuple[Axis, ...]
    tip: np.ndarray  # (4, 4)
    length: float


@lru_cache(maxsize=64)
def arm_at_zero(robot: Robot) -> ArmAtZero | None:
    """The axes that move the tip, from the Jacobian at zero; None without any, or if joints follow others."""
    task = tip_task(robot, True)
    if robot.model.relations or robot.model.loops or not task.active.any():
        return None
    zero = np.zeros(robot.n)
    J, tip = robot.jacobian(zero), robot.pose(zero)
    axes = []
    for revolute, column in zip(revolute_joints(robot)[task.active], J.T[task.active], strict=True):
        v, z = column[:3], column[3:]
        axes.append(Axis(z if revolute else v, tip[:3, 3] + np.cross(z, v), bool(revolute)))
    return ArmAtZero(tuple(axes), tip, task.length)


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
    task, arm = tip_task(robot, orientation), arm_at_zero(robot)
    if arm is None or task.redundant:
        return None
    candidates = _candidates(arm, target, orientation)
    if candidates is None:
        return None
    found = np.array(candidates, float).reshape(-1, len(arm.axes))
    postures = np.zeros((len(found), robot.n))
    postures[:, task.active] = found
    return _confirmed(task, postures, target)


def _candidates(arm: ArmAtZero, target: np.ndarray, orientation: bool) -> Solutions | None:
    n = len(arm.axes)
    if not orientation:
        return place(arm.axes, arm.tip[:3, 3], target[:3, 3], arm.length) if n <= 3 else None
    motion = target @ np.linalg.inv(arm.tip)
    for k in (3, 2, 1, 0):
        found = _arm_and_wrist(arm, n - k, motion) if 0 <= n - k <= 3 else None
        if found is not None:
            return found
    return _parallel_arm(arm, motion)


def _arm_and_wrist(arm: ArmAtZero, split: int, motion: np.ndarray) -> Solutions | None:
    """Postures of an arm with a wrist: the first joints place the point in which the other axes meet."""
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


def _parallel_arm(arm: ArmAtZero, motion: np.ndarray) -> Solutions | None:
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
                """The place to which the parallel joints have to bring a point."""
                return first.move(-q1, _moved(motion, sixth.move(-q6, fifth.move(-q5, p))))

            for q2, q3 in place((second, third), fourth.c, rest(fourth.c), arm.length) or ():
                across = fourth.c + second.across[0]
                q4 = fourth.reached(across, third.move(-q3, second.move(-q2, rest(across))))
                found.append((q1, q2, q3, q4, q5, q6))
    return found


def _meeting_point(axes: Sequence[Axis], arm: ArmAtZero) -> np.ndarray | None:
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


# ------------------------------------------------------------------------------------------------------------
# `inverse_kinematics`.


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
    if _missing(task, seed, pose) <= ROUNDING * task.freedom.reach:
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
    spread = np.where(revolute_joints(task.robot), np.pi, task.length) * task.active
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
    if task.turns:
        text += f" and {np.linalg.norm(e[3:]) / task.length:.3g} rad"
    return text
