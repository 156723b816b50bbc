"""Corners rounded off: from where a motion comes within a radius of a corner to where the next one leaves it.

Between the two instants the joints follow polynomials of fifth degree with the positions, velocities and
accelerations of the motions at both ends. The blend takes T = 2 (r + r)/(v₀ + v₁), v₀ and v₁ the speeds at
which the tip passes the radius r: between straight lines this is the time of the parabola that touches
both. It never takes longer than the motions with their stop. Where the tip would leave the radius on the
way, T is shortened: the polynomial is then closer to the straight line between its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.cycles.chains import Part, chained, check_seam
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.instants import change_between
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.piecewise import as_motion, hermite
from armdyn.robot import Robot

SMALLEST = 1e-12  # rad or m, relative beyond 1: a smaller radius is lost in rounding
LOOKS = 400  # instants at which a motion's distance from a corner is looked at
SHORTER, TRIES = 0.8, 20  # how much, and how often at most, a blend that leaves its radius is shortened


@dataclass(frozen=True)
class Ball:
    """The surroundings of a corner q (n,): of the tip of a robot [m], or in joint space [rad or m].

    In joint space the distance is that of the joint which is the furthest away.
    """

    corner: np.ndarray
    robot: Robot | None

    @property
    def least(self) -> float:
        """The smallest radius that positions can tell from none."""
        size = np.abs(self.corner).max() if self.robot is None else np.abs(self.robot.pose(self.corner)).max()
        return float(SMALLEST * max(1.0, size))

    @property
    def unit(self) -> str:
        return "rad or m" if self.robot is None else "m"

    def distance(self, q: np.ndarray) -> np.ndarray:
        """(N,) of postures (N, n)."""
        if self.robot is None:
            return np.asarray(np.abs(q - self.corner).max(1))
        tip = self.robot.pose(q)[:, :3, 3]
        return np.asarray(np.linalg.norm(tip - self.robot.pose(self.corner)[:3, 3], axis=1))

    def speed(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Of the tip, or of the fastest joint, at a state (1, n)."""
        if self.robot is None:
            return float(np.abs(qd).max())
        return float(np.linalg.norm(self.robot.jacobian(q[0])[:3] @ qd[0]))

    def along(self, motion: Motion, t: np.ndarray) -> np.ndarray:
        """Distances (...) of a motion at instants t (...)."""
        return self.distance(motion.evaluate(t.ravel(), "after")[0]).reshape(t.shape)


def blended(
    motions: Sequence[Motion], radii: Sequence[float], robot: Robot | None, label: str, noun: str = "motions"
) -> Motion:
    """Motions one after the other; each corner rounded off within its radius, or a stop where that is 0."""
    parts = [Part.whole(motions[0])]
    for i, (motion, radius) in enumerate(zip(motions[1:], radii, strict=True)):
        part, where = Part.whole(motion), f"{noun} {i + 1} and {i + 2}"
        check_seam(parts[-1], part, where, blended=radius > 0)
        if radius > 0:
            parts[-1:] = [*_rounded(parts[-1], part, radius, robot, where)]
        else:
            parts.append(part)
    return chained(parts, label)


def radii(blend: object, corners: int) -> list[float]:
    """The radius of each corner: one for all, or one for each; None and 0 are stops."""
    if blend is None:
        return [0.0] * corners
    if not isinstance(blend, list | tuple | np.ndarray) or np.ndim(blend) == 0:
        return [_radius("blend", blend)] * corners
    if len(blend) != corners:
        raise MotionError(
            f"blend: expected one radius, or {corners}, one for each corner; found {len(blend)}"
        )
    return [0.0 if x is None else _radius(f"blend[{i}]", x) for i, x in enumerate(blend)]


def _radius(name: str, x: object) -> float:
    found = check.number(name, x)
    if not 0 <= found < np.inf:
        raise MotionError(f"{name}: found {found:g}; a radius is zero (a stop) or positive")
    return found


def _rounded(a: Part, b: Part, radius: float, robot: Robot | None, where: str) -> tuple[Part, Part, Part]:
    """The part before the blend, the blend, and the part after it."""
    ball = Ball(a.last[0][0], robot)
    if radius < ball.least:
        raise MotionError(
            f"{where}: blend: found a radius of {radius:g} {ball.unit}; less than {ball.least:.3g} "
            f"{ball.unit} are lost in rounding, and 0 is a stop"
        )
    _check_corner(a, b, radius, ball, where)
    came, left = _free_from(a), _free_until(b)
    looks = [_looks(a.motion, came, a.end), _looks(b.motion, b.start, left)]
    distances = [ball.along(part.motion, t) for part, t in zip((a, b), looks, strict=True)]
    largest = min(float(x.max()) for x in distances)
    if radius >= largest:
        side = "before" if float(distances[0].max()) == largest else "after"
        still = "does not move the joints" if robot is None else "does not move the tip"
        room = f"has room only for less than {largest:.6g} {ball.unit}" if largest > ball.least else still
        found = f"{where}: blend: found a radius of {radius:g} {ball.unit}"
        raise MotionError(f"{found}, but the motion {side} the corner {room}")
    outside = distances[0] > radius
    k = int(np.flatnonzero(outside)[-1])
    entry = _crossing(ball, a.motion, radius, looks[0][k], looks[0][k + 1])
    k = int((distances[1] > radius).argmax())
    leave = _crossing(ball, b.motion, radius, looks[1][k], looks[1][k - 1])
    before, after = replace(a, end=entry), replace(b, start=leave)
    longest = (a.end - entry) + (leave - b.start)
    piece = _piece(before, after, radius, ball, longest, where)
    carried = [one.load for one in a.motion.loads if one.end >= a.end]
    loads = tuple(Carried(0.0, piece.duration, load) for load in carried)
    return before, Part.whole(replace(piece, loads=loads)), after


def _check_corner(a: Part, b: Part, radius: float, ball: Ball, where: str) -> None:
    """Refuse a blend where the arm has to stop: at a dwell, and where it takes up or puts down a load."""
    found = f"{where}: blend: found a radius of {radius:g} {ball.unit}, but"
    dwells = any(end >= a.end for _, end in a.motion.dwells)
    if dwells or any(start <= b.start for start, _ in b.motion.dwells):
        raise MotionError(f"{found} a dwell is at this corner, and a dwell is a stop; only 0 is possible")
    held = [one.load for one in a.motion.loads if one.end >= a.end]
    for load in (one.load for one in b.motion.loads if one.start <= b.start):
        if load not in held:
            raise MotionError(f"{found} a load is taken up at this corner, at rest; only 0 is possible")
        held.remove(load)
    if held:
        raise MotionError(f"{found} a load is put down at this corner, at rest; only 0 is possible")


def _free_from(part: Part) -> float:
    """The last dwell or change of load before the end of a part, or its start."""
    events = [end for _, end in part.motion.dwells]
    events += [t for one in part.motion.loads for t in (one.start, one.end)]
    return max([part.start, *(t for t in events if t < part.end)])


def _free_until(part: Part) -> float:
    """The first dwell or change of load after the start of a part, or its end."""
    events = [start for start, _ in part.motion.dwells]
    events += [t for one in part.motion.loads for t in (one.start, one.end)]
    return min([part.end, *(t for t in events if t > part.start)])


def _looks(motion: Motion, start: float, end: float) -> np.ndarray:
    knots = motion.knots[(motion.knots > start) & (motion.knots < end)]
    return np.unique(np.concatenate([np.linspace(start, end, LOOKS + 1), knots]))


def _crossing(ball: Ball, motion: Motion, radius: float, outside: float, inside: float) -> float:
    """The instant between two at which a motion crosses a radius."""

    def holds(t: np.ndarray) -> np.ndarray:
        return np.asarray(ball.along(motion, t) > radius)

    return float(change_between(holds, np.array([outside]), np.array([inside]))[1][0])


def _piece(before: Part, after: Part, radius: float, ball: Ball, longest: float, where: str) -> Motion:
    """The polynomials from the end of one part to the start of the next."""
    first, last = before.last, after.first
    speeds = ball.speed(first[0], first[1]) + ball.speed(last[0], last[1])
    duration = min(longest, 4 * radius / speeds) if speeds > 0 else longest
    for _ in range(TRIES):
        made = as_motion(hermite(np.array([0.0, duration]), first, last), "blend")
        if ball.along(made, np.linspace(0.0, duration, LOOKS + 1)).max() <= radius * (1 + 1e-9):
            return made
        duration *= SHORTER
    raise MotionError(
        f"{where}: blend: found a radius of {radius:g} {ball.unit}, but a blend of it leaves the radius; "
        "give a smaller one"
    )
