"""Motions of the tip: straight lines and arcs, a timing law along them, and the joints that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np
from numpy.polynomial import chebyshev
from scipy.spatial.transform import Rotation

from armdyn.analysis.task import TipTask, tip_freedom
from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.inverse_kinematics import (
    missing_text,
    nearest_reachable,
    place_text,
    position_or_pose,
    tip_task,
)
from armdyn.motion.motion import Motion, Profile, as_motion, composed, rest, sample_times, together
from armdyn.motion.profiles import LAWS, check_law
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.joints import JointLimits, followers, joint_limits, joint_name

# ------------------------------------------------------------------------------------------------------------
# Paths of the tip: straight lines and arcs, with a rotation on the way.


NO_WAY = 1e-12  # m, or of the tip's coordinates where those are larger than 1 m
MOST_TURNS = 10_000


@dataclass(frozen=True)
class TipPath:
    """Poses of the tip over s from 0 to `size`: metres, or radians where the tip only turns.

    The tip goes `straight` per s and, with `bend` (rad per s about `centre` and `axis`), around; it turns by
    `spin` per s, world axes.
    """

    start: np.ndarray  # (4, 4)
    size: float
    straight: np.ndarray  # (3,)
    spin: np.ndarray  # (3,)
    centre: np.ndarray  # (3,)
    bend: np.ndarray  # (3,)

    def poses(self, s: np.ndarray) -> np.ndarray:
        """Poses (N, 4, 4) at s (N,)."""
        found = np.zeros((len(s), 4, 4))
        found[:, 3, 3] = 1.0
        found[:, :3, :3] = Rotation.from_rotvec(s[:, None] * self.spin).as_matrix() @ self.start[:3, :3]
        angle, side, inward = self._circle(s)
        # From the start, not from the centre, which may be far: a nearly straight arc is as exact as a line.
        moved = np.sin(angle) * side + 2 * np.sin(angle / 2) ** 2 * inward
        found[:, :3, 3] = self.start[:3, 3] + moved + s[:, None] * self.straight
        return found

    def slopes(self, s: np.ndarray) -> np.ndarray:
        """Derivatives (N, 6) by s of the tip's position over its orientation."""
        angle, side, inward = self._circle(s)
        move = np.linalg.norm(self.bend) * (np.cos(angle) * side + np.sin(angle) * inward) + self.straight
        return np.column_stack([move, np.broadcast_to(self.spin, move.shape)])

    def _circle(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The angle (N, 1) of the bend, and the radius (3,) at the start: turned by a right angle; inward."""
        rate = float(np.linalg.norm(self.bend))
        axis = self.bend / (rate or 1.0)
        side = np.cross(axis, self.start[:3, 3] - self.centre)
        return rate * s[:, None], side, np.cross(axis, side)


def tip_line(start: np.ndarray, end: Any, displacement: Any, orientation: Any) -> tuple[TipPath, bool | None]:
    """Path from the pose `start` to a point or pose, or by a displacement; and whether orientation counts.

    `orientation`: "auto", "keep", "free" (or None), or a rotation (3, 3) to turn to; a pose as `end` has its
    own. It is None in the answer where the arm decides whether it counts.
    """
    if (end is None) == (displacement is None):
        raise MotionError("line: either an end or a displacement is expected")
    if end is None:
        way, final = check.point("displacement", displacement), None
    else:
        place = position_or_pose("end", end)
        way = (place if place.ndim == 1 else place[:3, 3]) - start[:3, 3]
        final = None if place.ndim == 1 else place[:3, :3]
    counts: bool | None = True
    if orientation is None or isinstance(orientation, str):
        word = orientation or "free"
        if word not in ("auto", "keep", "free"):
            raise MotionError(
                f"orientation: found {shown(word)}; allowed: 'auto', 'keep', 'free', a rotation (3, 3)"
            )
        final = final if word == "auto" else start[:3, :3] if word == "keep" else None
        counts = False if word == "free" else True if final is not None else None
    else:
        final = check.rotation("orientation", orientation)
    turn = np.zeros(3) if final is None else Rotation.from_matrix(final @ start[:3, :3].T).as_rotvec()
    length = float(np.linalg.norm(way))
    if length <= _rounding(start):
        way, length = np.zeros(3), 0.0
    angle = float(np.linalg.norm(turn))
    if angle <= 1e-12:
        turn, angle = np.zeros(3), 0.0
    # Next to a turn, a distance this short is covered too, but s counts radians.
    size = length if length > 1e-6 * angle else angle
    zero = np.zeros(3)
    path = TipPath(start, size, way / (size or 1.0), turn / (size or 1.0), start[:3, 3], zero)
    return path, counts


def tip_arc(
    start: np.ndarray, centre: Any, axis: Any, angle: float, orientation: Any
) -> tuple[TipPath, bool | None]:
    """Path from the pose `start` around an axis through a centre by an angle; and whether orientation counts.

    `orientation`: "auto", "keep", "free" (or None), or "follow", with which the tip turns with the circle.
    """
    counts = {"auto": None, "keep": True, "follow": True, "free": False}
    orientation = "free" if orientation is None else orientation
    check.one_of("orientation", orientation, *counts)
    middle, direction = check.point("centre", centre), check.point("axis", axis)
    length = float(np.linalg.norm(direction))
    if length == 0:
        raise MotionError("axis: found a zero vector; a direction is expected")
    angle = check.number("angle", angle)
    if not abs(angle) <= MOST_TURNS * 2 * np.pi:
        raise MotionError(f"angle: found {angle:g} rad; at most {MOST_TURNS} turns are expected")
    direction = direction / length
    out = start[:3, 3] - middle
    radius = float(np.linalg.norm(out - (out @ direction) * direction))
    if radius <= _rounding(start):
        raise MotionError("circle: the tip is on the axis, so the radius would be zero")
    bend = direction * np.sign(angle) / radius
    length = radius * abs(angle)
    length = length if length > _rounding(start) else 0.0
    spin = bend if orientation == "follow" else np.zeros(3)
    return TipPath(start, length, np.zeros(3), spin, middle, bend), counts[orientation]


def _rounding(start: np.ndarray) -> float:
    """A distance smaller than this [m] is rounding error."""
    return NO_WAY * max(1.0, float(np.abs(start[:3, 3]).max()))


# ------------------------------------------------------------------------------------------------------------
# Joint motions that take the tip along a path: the posture q(s) as a table of polynomials, computed once.
#
# With s the path's parameter, x(s) the tip's task and J its Jacobian at the task's rank, q' = J⁺ x'. An arm
# without redundancy has one posture near the last one for each place of its tip. For a redundant arm the
# posture is the integral of q': the motion with the least joint speed. On each piece of the table q' is
# interpolated at Chebyshev points and integrated, so that q, q' and q'' belong to one polynomial. Pieces are
# made as short as it takes for the last coefficients of q' to vanish. In time q̇ = q' ṡ, q̈ = q'' ṡ² + q'
# s̈.


SINGULAR = 1e-5  # smallest singular value of the task's Jacobian over its largest one
DEGREE = 12  # of q' on a piece
PIECES = 4  # the first piece that is tried is the whole path over this
ACCURACY = 1e-14  # of the fastest joint: the last coefficients of q', where rounding is not larger
ITERATIONS = 12  # of Newton's method on a piece
SHORTEST = 1e-9  # of the path: where a piece this short does not converge, the path cannot be followed
MOST_PIECES = 100_000
STILL = 1e-12  # rad or m: a joint that stays this close to its start along the whole path stands still

NODES = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)  # from −1 to 1, ends included
TO_CHEBYSHEV = np.linalg.inv(chebyshev.chebvander(NODES, DEGREE))
TO_POWERS = np.array(
    [np.pad(chebyshev.cheb2poly(row[: k + 1]), (0, DEGREE - k)) for k, row in enumerate(np.eye(DEGREE + 1))]
).T
END_SLOPE = chebyshev.chebval(1.0, chebyshev.chebder(TO_CHEBYSHEV))  # the derivative at the last node
INTEGRAL = chebyshev.chebval(NODES, chebyshev.chebint(TO_CHEBYSHEV, lbnd=-1)).T  # from −1 to each node


class LostPath(Exception):
    """The arm cannot follow the path: from which s on, and why."""

    def __init__(self, s: float, why: str) -> None:
        super().__init__(why)
        self.s, self.why = s, why


@dataclass(frozen=True)
class _Piece:
    """The arm on a part of the path."""

    s: np.ndarray  # (DEGREE + 1,) the nodes
    q: np.ndarray  # (DEGREE + 1, n) the postures there
    slope: np.ndarray  # (DEGREE + 1, n) q' there
    accuracy: np.ndarray  # (DEGREE + 1, n) rounding errors of q
    noise: np.ndarray  # (n,) the largest rounding errors of q'
    ratio: np.ndarray  # (DEGREE + 1,) how far from singular

    @property
    def half(self) -> float:
        return float(self.s[-1] - self.s[0]) / 2

    @property
    def tail(self) -> float:
        """The last coefficients of q' over the largest they may be: up to 1 the piece is short enough."""
        last = np.abs(TO_CHEBYSHEV[-2:] @ self.slope).max(0)
        return float((last / np.maximum(ACCURACY * np.abs(self.slope).max(), self.noise)).max())

    @property
    def powers(self) -> np.ndarray:
        """Coefficients (DEGREE + 2, n) of q in powers of s from the middle of the piece."""
        slope = TO_POWERS @ (TO_CHEBYSHEV @ self.slope)
        k = np.arange(1, DEGREE + 2)[:, None]
        integral = self.half * slope / k
        start = self.q[:1] - np.sum(integral * (-1.0) ** k, 0, keepdims=True)
        return np.concatenate([start, integral / self.half**k])


def follow(task: TipTask, path: TipPath, q0: np.ndarray) -> Profile:
    """The posture over s of the arm that goes from q0 along a path, keeping to the branch it is on."""
    pieces = _pieces(task, path, q0)
    powers = np.array([piece.powers for piece in pieces])
    noise = np.array([piece.noise + ACCURACY * np.abs(piece.slope).max() for piece in pieces])
    # Lines and arcs are analytic: a joint that stands still on a part of one does so on all of it.
    off = [np.abs(piece.q - q0) <= np.maximum(piece.accuracy, STILL) for piece in pieces]
    still = np.all(off, axis=(0, 1))
    powers[:, 1:, still], powers[:, 0, still] = 0.0, q0[still]
    ends = np.array([piece.s[[0, -1]] for piece in pieces])
    breaks = np.append(ends[:, 0], path.size)
    return Profile(breaks, ends.mean(1)[:, None], powers, np.arange(1, len(pieces)), noise)


def _pieces(task: TipTask, path: TipPath, q0: np.ndarray) -> list[_Piece]:
    """Pieces one after the other, as long as the accuracy of q' allows."""
    slope = _first_slope(task, path, q0)
    s, q, bend, h = 0.0, q0, np.zeros_like(q0), path.size / PIECES
    pieces: list[_Piece] = []
    while s < path.size:
        left = path.size - s
        step = left / np.ceil(left / h * (1 - 1e-9))
        end = path.size if step == left else s + step
        nodes = s + (NODES + 1) * ((end - s) / 2)
        nodes[-1] = end
        ahead = (nodes - s)[:, None]
        piece = _closed(task, path, nodes, q + ahead * (slope + ahead / 2 * bend))
        tail = np.inf if piece is None else piece.tail
        if piece is not None and tail <= 1:
            if (piece.ratio < SINGULAR).any():
                k = int((piece.ratio < SINGULAR).argmax())
                raise LostPath(float(nodes[k]), _why(task, path, float(nodes[k]), piece.q[k]))
            pieces.append(piece)
            s, q, slope = end, piece.q[-1], piece.slope[-1]
            bend = (END_SLOPE @ piece.slope) / piece.half
        elif step < SHORTEST * path.size:
            raise LostPath(s, _why(task, path, s, q))
        if len(pieces) > MOST_PIECES:
            raise LostPath(s, "the posture changes too often to be followed")
        h = step * float(np.clip(0.9 * tail ** (-1 / DEGREE), 0.25, 2.0))
    return pieces


def _first_slope(task: TipTask, path: TipPath, q0: np.ndarray) -> np.ndarray:
    """q' (n,) at the start; a singular posture, and a path the tip cannot go along, are refused."""
    wanted = task.metres(path.slopes(np.zeros(1))[..., None])[0, :, 0]
    J = task.jacobian(q0)
    inverse, ratio = task.inverse(J)
    if ratio < SINGULAR:
        raise LostPath(0.0, _why(task, path, 0.0, q0))
    slope = inverse @ wanted
    if np.linalg.norm(J @ slope - wanted) > 1e-6 * np.linalg.norm(wanted):
        what = "turn and move" if task.turns else "move"
        raise LostPath(0.0, f"the joints cannot {what} the tip in the direction of the path")
    return np.asarray(slope)


def _closed(task: TipTask, path: TipPath, s: np.ndarray, q: np.ndarray) -> _Piece | None:
    """The piece of `_solved`; None also where closed chains do not close on the way."""
    try:
        return _solved(task, path, s, q)
    except LoopError:
        return None


def _solved(task: TipTask, path: TipPath, s: np.ndarray, q: np.ndarray) -> _Piece | None:
    """The postures at nodes s (N,) from a guess (N, n), whose first row is exact; None: no convergence."""
    targets, wanted = path.poses(s), task.metres(path.slopes(s)[..., None])
    start, half, before = q[0], (s[-1] - s[0]) / 2, np.inf
    for _ in range(ITERATIONS):
        inverse, ratio = task.inverse(task.jacobian(q))
        slope = (inverse @ wanted)[..., 0]
        following = start + half * (INTEGRAL @ slope) if task.redundant else q
        missing = task.error(following, targets)
        following = following + (inverse @ missing[..., None])[..., 0]
        following[0] = start
        accuracy = task.accuracy(q, inverse)
        moved = np.abs((following - q) * task.weights).max()
        if moved <= (accuracy * task.weights).max():
            if np.abs(missing).max() > 1e-10 * task.length:
                return None
            noise = task.slope_accuracy(q, inverse, slope).max(0)
            return _Piece(s, q, slope, accuracy, noise, ratio)
        if not moved < 1 or (moved > before and moved > 1e-3):
            return None
        q, before = following, moved
    return None


def _why(task: TipTask, path: TipPath, s: float, q: np.ndarray) -> str:
    """Reason why the posture q ends at s: the path leads out of reach, or the posture is singular."""
    ahead = min(s + 1e-3 * path.size, path.size)
    target = path.poses(np.array([ahead]))[0]
    best, missing = nearest_reachable(task, target, q)
    if missing > 1e-9 * task.length:
        return f"the tip cannot reach {place_text(target)}: {missing_text(task, best, target)}"
    _, ratio = task.inverse(task.jacobian(q))
    return singular_text(float(ratio))


def singular_text(ratio: float) -> str:
    """The criterion: singular values of the Jacobian with its angular rows in metres (see TipTask)."""
    found = f"the smallest singular value of the tip's Jacobian is {ratio:.2g} times the largest"
    if ratio < SINGULAR:
        return f"the posture is singular: {found}; at least {SINGULAR:g} is needed"
    return f"the posture is so close to a singular one that the path cannot be followed further: {found}"


# ------------------------------------------------------------------------------------------------------------
# The motion: a path and a timing law along it.


MOST_CHECKED = 100_000  # samples of a tip's motion


class TipLaw(TypedDict, total=False):
    """Data that may be given about the speed of the tip."""

    profile: str
    acceleration_time: float | None
    max_velocity: float | None
    max_acceleration: float | None
    max_jerk: float | None
    duration: float | None


def tip_motion(
    label: str,
    robot: Robot,
    q0: np.ndarray,
    path: TipPath,
    orientation: bool | None,
    limits: bool,
    step: float,
    law: TipLaw,
) -> Motion:
    """The arm that takes its tip from its pose at q0 (n,) along a path; `orientation` None: where it can."""
    timing = _timing(path.size, **law)
    if path.size == 0:
        return together([rest(float(q), timing.duration) for q in q0], label)
    task = tip_task(robot, tip_freedom(robot).keeps_orientation if orientation is None else orientation)
    # All samples are checked, or every k-th of very many.
    every = max(1.0, np.ceil(timing.duration / check.positive_time("step", step) / MOST_CHECKED))
    t = sample_times(timing.duration, step * every)
    s = timing.evaluate(t)[0]
    try:
        table = follow(task, path, q0)
        _check(task, path, s, table.evaluate(s)[0], limits)
    except LostPath as lost:
        k = int(np.searchsorted(s, lost.s * (1 - 1e-12)).clip(max=len(s) - 1))
        sample = int(np.ceil(t[k] / step * (1 - 1e-12)))
        raise MotionError(f"{label}: sample {sample}, t = {t[k]:.6g} s: {lost.why}") from None
    return composed(as_motion(table, label), together([timing], label), label)


@check.computable()
def _timing(size: float, profile: str = "trapezoidal", **data: Any) -> Profile:
    """The law from 0 to `size`, by its name and the data it takes."""
    check.one_of("profile", profile, *LAWS)
    known = {name for _, takes in LAWS.values() for name in takes}
    given = {name: check.number(name, x) for name, x in data.items() if x is not None or name not in known}
    check_law(profile, given)
    return LAWS[profile][0](0.0, size, **given)


def _check(task: TipTask, path: TipPath, s: np.ndarray, q: np.ndarray, limits: bool) -> None:
    """Refuse postures (N, n) at s (N,) that are singular, miss the path or are beyond the joints' limits."""
    ratio = task.ratio(q)
    if (ratio < SINGULAR).any():
        k = int((ratio < SINGULAR).argmax())
        raise LostPath(s[k], singular_text(ratio[k]))
    missing = np.abs(task.error(q, path.poses(s))).max(1)
    if (missing > 1e-9 * task.length).any():
        k = int((missing > 1e-9 * task.length).argmax())
        raise LostPath(s[k], f"the tip misses its path by {missing[k]:.2g} m")
    if limits:
        _check_range(s, q, joint_limits(task.robot), lambda i: joint_name(task.robot, i))
        if (others := followers(task.robot)) is not None:
            _check_range(s, others.positions(q), others.limits, others.name)


def _check_range(s: np.ndarray, q: np.ndarray, bounds: JointLimits, name: Callable[[int], str]) -> None:
    beyond = np.argwhere((q < bounds.lower - 1e-9) | (q > bounds.upper + 1e-9))
    if len(beyond):
        k, i = beyond[0]
        raise LostPath(
            s[k],
            f"{name(i)} is at {q[k, i]:.6g}, beyond its limits "
            f"{bounds.lower[i]:.6g} … {bounds.upper[i]:.6g}; check_limits=False lets it pass",
        )
