"""Motions backwards in time, and motions one after the other as one motion, with corners rounded off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Carried
from armdyn.motion.motion import (
    SIDES,
    Motion,
    Side,
    States,
    as_motion,
    change_between,
    hermite,
    place_among,
    snapped,
)
from armdyn.robot import Robot

# ------------------------------------------------------------------------------------------------------------
# A motion backwards in time.


@dataclass(frozen=True)
class Backwards:
    """q(t) = q̄(T − t): velocities change their sign, accelerations do not."""

    motion: Motion

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        motion = self.motion
        own = (motion.duration - t).clip(0.0, motion.duration)
        knots = motion.knots[::-1]
        if len(knots):
            own = snapped(t, motion.duration - knots, knots, own)
        q, qd, qdd = motion.evaluate(own, "before" if side == "after" else "after")
        return q, 0.0 - qd, qdd  # without −0


def backwards(motion: Motion) -> Motion:
    """The same path from end to start, with its dwells and loads mirrored; twice, the motion itself."""
    T, made = motion.duration, getattr(motion.evaluate, "__self__", None)
    if isinstance(made, Backwards):
        given = made.motion
        if _mirrored(given) == (motion.dwells, motion.loads):
            return given
        dwells, loads = _mirrored(motion)
        return replace(given, dwells=dwells, loads=loads)
    dwells, loads = _mirrored(motion)
    return Motion(
        n=motion.n,
        duration=T,
        evaluate=Backwards(motion).evaluate,
        jumps=T - motion.jumps,
        label=f"{motion.label}, reversed",
        knots=T - motion.knots,
        dwells=dwells,
        loads=loads,
    )


def _mirrored(motion: Motion) -> tuple[tuple[tuple[float, float], ...], tuple[Carried, ...]]:
    """The dwells and loads of a motion, from its end to its start."""
    T = motion.duration
    dwells = tuple((max(T - b, 0.0), T - a) for a, b in reversed(motion.dwells))
    loads = [replace(one, start=max(T - one.end, 0.0), end=T - one.start) for one in motion.loads]
    return dwells, tuple(sorted(loads, key=lambda x: (x.start, x.end)))


# ------------------------------------------------------------------------------------------------------------
# Motions one after the other, as one motion.


MEETING = 1e-10  # rad or m, and per s; relative beyond 1: motions that are further apart do not meet
MOST_EXCERPTS = 100_000


@dataclass(frozen=True)
class Excerpt:
    """A motion from one of its instants to another [s]."""

    motion: Motion
    start: float
    end: float

    @classmethod
    def whole(cls, motion: Motion) -> Excerpt:
        return cls(motion, 0.0, motion.duration)

    @property
    def is_whole(self) -> bool:
        return self.start == 0.0 and self.end == self.motion.duration

    def within(self, instants: np.ndarray) -> np.ndarray:
        """Instants of the motion that are inside of this excerpt, its ends left out."""
        return np.asarray(instants[(instants > self.start) & (instants < self.end)])

    @property
    def first(self) -> States:
        """Position, velocity and acceleration (1, n) at the start."""
        return self.motion.evaluate(np.array([self.start]), "after")

    @property
    def last(self) -> States:
        """The same at the end."""
        return self.motion.evaluate(np.array([self.end]), "before")


@dataclass(frozen=True)
class Joined:
    """Excerpts of motions, one after the other."""

    excerpts: tuple[Excerpt, ...]

    @cached_property
    def starts(self) -> np.ndarray:
        """Instants at which the excerpts begin, and at which the last one ends (K + 1,) [s]."""
        return np.cumsum([0.0, *(excerpt.end - excerpt.start for excerpt in self.excerpts)])

    @cached_property
    def _knots(self) -> tuple[np.ndarray, np.ndarray]:
        """The knots of all excerpts in the time of the whole, in order, and in their own time."""
        own = [excerpt.within(excerpt.motion.knots) for excerpt in self.excerpts]
        return self.placed(own), np.concatenate(own)

    def placed(self, instants: Sequence[np.ndarray]) -> np.ndarray:
        """Instants of each excerpt's own time in the time of the whole."""
        rows = zip(self.starts[:-1], self.excerpts, instants, strict=True)
        return np.concatenate([start + (own - excerpt.start) for start, excerpt, own in rows])

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        starts = self.starts
        t = snapped(t, starts)
        index = place_among(starts[1:-1], t, side)
        begins, ends = self._ends
        own = begins[index] + (t - starts[index])
        own = np.where(t == starts[index + 1], ends[index], own)
        own = snapped(t, *self._knots, own).clip(begins[index], ends[index])
        motions, which = self._motions
        found: States = tuple(np.empty((len(t), motions[0].n)) for _ in range(3))  # type: ignore[assignment]
        for k in np.unique(which[index]):
            rows = which[index] == k
            for column, values in zip(found, motions[k].evaluate(own[rows], side), strict=True):
                column[rows] = values
        return found

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The first and the last instant of each excerpt, in its own time (K,) [s]."""
        begins, ends = np.array([(excerpt.start, excerpt.end) for excerpt in self.excerpts]).T
        return begins, ends

    @cached_property
    def _motions(self) -> tuple[list[Motion], np.ndarray]:
        """The motions, each once, and which of them each excerpt is of (K,): repetitions share theirs."""
        places: dict[int, int] = {}
        which = [places.setdefault(id(excerpt.motion), len(places)) for excerpt in self.excerpts]
        return list({id(excerpt.motion): excerpt.motion for excerpt in self.excerpts}.values()), np.array(
            which
        )

    @cached_property
    def knots(self) -> np.ndarray:
        """Knots of the excerpts, and the instants at which excerpts meet [s]."""
        return np.concatenate([self._knots[0], self.starts[1:-1]])

    @cached_property
    def jumps(self) -> np.ndarray:
        """Jumps within excerpts, and the seams at which the acceleration jumps [s]."""
        seams = self.starts[1:-1]
        if len(seams):
            before, after = (self.evaluate(seams, side)[2] for side in SIDES)
            differs = np.abs(after - before) > 1e-9 * np.maximum(np.abs(before), np.abs(after))
            seams = seams[differs.any(1)]
        inner = self.placed([excerpt.within(excerpt.motion.jumps) for excerpt in self.excerpts])
        return np.concatenate([inner, seams])


def chained(excerpts: Sequence[Excerpt], label: str) -> Motion:
    """The motion of excerpts that meet, with their dwells and loads.

    A load that is carried on both sides of a seam is carried on; so is a dwell that continues.
    """
    seams = {(id(a), id(b)): (i, a, b) for i, (a, b) in reversed([*enumerate(pairwise(excerpts))])}
    for i, a, b in seams.values():
        check_seam(a, b, f"motions {i + 1} and {i + 2}")
    if len(excerpts) == 1 and excerpts[0].is_whole:
        return replace(excerpts[0].motion, label=label)
    unique = {id(excerpt): _flat(excerpt) for excerpt in excerpts}
    flat = [unique[id(excerpt)] for excerpt in excerpts]
    joined = Joined(tuple(one for few in flat for one in few))
    if len(joined.excerpts) > MOST_EXCERPTS:
        raise MotionError(
            f"found {len(joined.excerpts)} motions in a row; at most {MOST_EXCERPTS} are possible"
        )
    _check_lengths(joined)
    starts = joined.starts[np.cumsum([0, *map(len, flat)])]
    instants = np.unique([*starts, *joined.knots])
    return Motion(
        n=excerpts[0].motion.n,
        duration=float(starts[-1]),
        evaluate=joined.evaluate,
        jumps=joined.jumps,
        label=label,
        knots=joined.knots,
        dwells=_dwells(excerpts, starts, instants),
        loads=_loads(excerpts, starts, instants),
    )


def _check_lengths(joined: Joined) -> None:
    """Refuse excerpts so short that they would begin and end at the same instant of the whole."""
    short = np.flatnonzero(np.diff(joined.starts) <= 0)
    if short.size:
        excerpt, start = joined.excerpts[short[0]], joined.starts[short[0]]
        raise MotionError(
            f"found {excerpt.end - excerpt.start:g} s of '{excerpt.motion.label}' at t = {start:g} s; "
            "so short a time is lost in rounding there"
        )


def _flat(excerpt: Excerpt) -> tuple[Excerpt, ...]:
    """The excerpts of joined motions in their place; dwells and loads are told by the whole."""
    inner = getattr(excerpt.motion.evaluate, "__self__", None)
    if excerpt.is_whole and isinstance(inner, Joined):
        return inner.excerpts
    if not (excerpt.motion.dwells or excerpt.motion.loads):
        return (excerpt,)
    return (replace(excerpt, motion=replace(excerpt.motion, dwells=(), loads=())),)


def _moved(
    excerpt: Excerpt, interval: tuple[float, float], start: float, instants: np.ndarray
) -> tuple[float, float] | None:
    """An interval of an excerpt's own time, when the excerpt begins at `start`; None where it lies outside.

    Its ends are moved onto those of the sorted `instants` that are the same up to rounding.
    """
    if interval[1] <= excerpt.start or interval[0] >= excerpt.end:
        return None
    inside = np.clip(interval, excerpt.start, excerpt.end)
    a, b = snapped(start + (inside - excerpt.start), instants).tolist()
    return a, b


def _dwells(
    excerpts: Sequence[Excerpt], starts: np.ndarray, instants: np.ndarray
) -> tuple[tuple[float, float], ...]:
    found: list[tuple[float, float]] = []
    for excerpt, start in zip(excerpts, starts[:-1], strict=True):
        for dwell in excerpt.motion.dwells:
            moved = _moved(excerpt, dwell, start, instants)
            if moved and found and found[-1][1] == moved[0]:
                found[-1] = (found[-1][0], moved[1])
            elif moved:
                found.append(moved)
    return tuple(found)


def _loads(excerpts: Sequence[Excerpt], starts: np.ndarray, instants: np.ndarray) -> tuple[Carried, ...]:
    found: list[Carried] = []
    for excerpt, start in zip(excerpts, starts[:-1], strict=True):
        held = [k for k, one in enumerate(found) if one.end == start]
        for own in excerpt.motion.loads:
            moved = _moved(excerpt, (own.start, own.end), start, instants)
            if moved is None:
                continue
            same = next((k for k in held if moved[0] == start and found[k].load == own.load), None)
            if same is None:
                found.append(Carried(*moved, own.load))
            else:
                held.remove(same)
                found[same] = replace(found[same], end=moved[1])
    return tuple(found)


def check_seam(a: Excerpt, b: Excerpt, where: str, blended: bool = False) -> None:
    """Refuse motions that do not meet; where the corner is not rounded, also a jump of the velocity."""
    if a.motion.n != b.motion.n:
        raise MotionError(f"{where}: the first moves {a.motion.n} joints, the second {b.motion.n}")
    (q0, v0, _), (q1, v1, _) = a.last, b.first
    joint = _furthest(q0[0], q1[0])
    if joint is not None:
        x, y = q0[0, joint], q1[0, joint]
        raise MotionError(
            f"{where}: joint {joint + 1} ends at {x:.9g} and goes on from {y:.9g}, {abs(y - x):.3g} apart; "
            "a motion begins where the one before it ends"
        )
    joint = None if blended else _furthest(v0[0], v1[0])
    if joint is not None:
        raise MotionError(
            f"{where}: the velocity of joint {joint + 1} jumps from {v0[0, joint]:.6g} to "
            f"{v1[0, joint]:.6g}; a motion begins with the velocity with which the one before it ends"
        )


def _furthest(x: np.ndarray, y: np.ndarray) -> int | None:
    """The joint at which x and y (n,) are the furthest apart; None where they meet."""
    gap = np.abs(y - x) / np.maximum(1.0, np.abs(x))
    joint = int(gap.argmax())
    return joint if gap[joint] > MEETING else None


# ------------------------------------------------------------------------------------------------------------
# Corners rounded off: from where a motion comes within a radius of a corner to where the next one leaves it.
#
# Between the two instants the joints follow polynomials of fifth degree with the positions, velocities and
# accelerations of the motions at both ends. The blend takes T = 2 (r + r)/(v₀ + v₁), v₀ and v₁ the speeds at
# which the tip passes the radius r: between straight lines this is the time of the parabola that touches
# both. It never takes longer than the motions with their stop. Where the tip would leave the radius on the
# way, T is shortened: the polynomial is then closer to the straight line between its ends.


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
        """The smallest radius that positions can resolve."""
        size = np.abs(self.corner).max() if self.robot is None else np.abs(self.robot.pose(self.corner)).max()
        return float(SMALLEST * max(1.0, size))

    @property
    def unit(self) -> str:
        return "rad or m" if self.robot is None else "m"

    def distance(self, q: np.ndarray) -> np.ndarray:
        """Distances (N,) of postures (N, n) from the corner."""
        if self.robot is None:
            return np.asarray(np.abs(q - self.corner).max(1))
        tip = self.robot.pose(q)[:, :3, 3]
        return np.asarray(np.linalg.norm(tip - self.robot.pose(self.corner)[:3, 3], axis=1))

    def speed(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Speed of the tip, or of the fastest joint, at a state (1, n)."""
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
    excerpts = [Excerpt.whole(motions[0])]
    for i, (motion, radius) in enumerate(zip(motions[1:], radii, strict=True)):
        excerpt, where = Excerpt.whole(motion), f"{noun} {i + 1} and {i + 2}"
        check_seam(excerpts[-1], excerpt, where, blended=radius > 0)
        if radius > 0:
            excerpts[-1:] = [*_rounded(excerpts[-1], excerpt, radius, robot, where)]
        else:
            excerpts.append(excerpt)
    return chained(excerpts, label)


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


def _rounded(
    a: Excerpt, b: Excerpt, radius: float, robot: Robot | None, where: str
) -> tuple[Excerpt, Excerpt, Excerpt]:
    """The excerpt before the blend, the blend, and the excerpt after it."""
    ball = Ball(a.last[0][0], robot)
    if radius < ball.least:
        raise MotionError(
            f"{where}: blend: found a radius of {radius:g} {ball.unit}; less than {ball.least:.3g} "
            f"{ball.unit} are lost in rounding, and 0 is a stop"
        )
    _check_corner(a, b, radius, ball, where)
    came, left = _free_from(a), _free_until(b)
    looks = [_looks(a.motion, came, a.end), _looks(b.motion, b.start, left)]
    distances = [ball.along(excerpt.motion, t) for excerpt, t in zip((a, b), looks, strict=True)]
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
    return before, Excerpt.whole(replace(piece, loads=loads)), after


def _check_corner(a: Excerpt, b: Excerpt, radius: float, ball: Ball, where: str) -> None:
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


def _free_from(excerpt: Excerpt) -> float:
    """The last dwell or change of load before the end of an excerpt, or its start."""
    events = [end for _, end in excerpt.motion.dwells]
    events += [t for one in excerpt.motion.loads for t in (one.start, one.end)]
    return max([excerpt.start, *(t for t in events if t < excerpt.end)])


def _free_until(excerpt: Excerpt) -> float:
    """The first dwell or change of load after the start of an excerpt, or its end."""
    events = [start for start, _ in excerpt.motion.dwells]
    events += [t for one in excerpt.motion.loads for t in (one.start, one.end)]
    return min([excerpt.end, *(t for t in events if t > excerpt.start)])


def _looks(motion: Motion, start: float, end: float) -> np.ndarray:
    knots = motion.knots[(motion.knots > start) & (motion.knots < end)]
    return np.unique(np.concatenate([np.linspace(start, end, LOOKS + 1), knots]))


def _crossing(ball: Ball, motion: Motion, radius: float, outside: float, inside: float) -> float:
    """The instant between two at which a motion crosses a radius."""

    def holds(t: np.ndarray) -> np.ndarray:
        return np.asarray(ball.along(motion, t) > radius)

    return float(change_between(holds, np.array([outside]), np.array([inside]))[1][0])


def _piece(before: Excerpt, after: Excerpt, radius: float, ball: Ball, longest: float, where: str) -> Motion:
    """The polynomials from the end of one excerpt to the start of the next."""
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
