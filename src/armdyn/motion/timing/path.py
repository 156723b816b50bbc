"""The path of a trajectory, without its timing.

The parameter s runs from 0 to 1 along the arc length of the path in joint space, each joint weighted. The
tangent q'(s) is nowhere zero, also where the given motion starts, pauses or turns around. Where the path
turns around, and at dwells, the motion has to stop.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.motion import States, change_between, is_near
from armdyn.motion.torques import Speeds
from armdyn.motion.trajectory import Trajectory

# ------------------------------------------------------------------------------------------------------------
# Strokes of a motion between its rests, and the instants at which friction changes its direction.


REST = 1e-6  # of the top speed: slower is at rest
FEW = 9  # instants that a stroke is known at, at least
STILL = 1e-9  # of the speed one step on: slower is not moving yet
SIGN = 1e-9  # of a surface's top speed: slower has no direction


@dataclass(frozen=True)
class Stroke:
    """A motion between two rests, at M instants."""

    t: np.ndarray  # (M,) [s]
    speed: np.ndarray  # (M,) of the weighted joints
    turning: np.ndarray  # (M,) rate at which the direction of the path changes [rad/s]
    whole: float  # length of the whole path, all strokes


def speed_of(qd: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted norm (...) of velocities (..., n)."""
    return np.asarray(np.sqrt(np.sum((weights * qd) ** 2, -1)))


def strokes_of(trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray) -> list[Stroke]:
    """The strokes of a motion known at instants t; rests may be points or last."""
    t, states = _with_slowest(trajectory, t, states, weights)
    speed = speed_of(states[1], weights)
    moves = speed > REST * speed.max()
    runs = np.flatnonzero(np.diff(np.concatenate([[False], moves, [False]]).astype(int)))
    whole = float(np.sum(np.diff(t) * (speed[1:] + speed[:-1]) / 2))
    first, last = runs[::2], runs[1::2] - 1  # of the instants at which it moves
    starts, ends = (
        _boundaries(trajectory, t[rest.clip(0, len(t) - 1)], t[moving], weights)
        for rest, moving in ((first - 1, first), (last + 1, last))
    )
    turning = _turning(states[1], states[2], weights)
    strokes = []
    for a, b, start, end in zip(first, last, starts, ends, strict=True):
        instants = np.unique(np.concatenate([[start], t[a : b + 1], [end]]))
        if len(instants) < FEW:
            instants = np.linspace(start, end, FEW)
        rates = [np.interp(instants, t, x) for x in (speed, turning)]
        strokes.append(Stroke(instants, rates[0], rates[1], whole))
    return strokes


def _boundaries(
    trajectory: Trajectory, rest: np.ndarray, moving: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Instants (k,) at which motion starts between instants (k,) of rest and instants (k,) of motion."""
    if (rest == moving).all():  # the motion begins or ends while it moves
        return rest
    least = STILL * speed_of(trajectory(moving)[1], weights)[:, None]

    def rests(t: np.ndarray) -> np.ndarray:
        return np.asarray(speed_of(trajectory(t)[1], weights) <= least)

    lasts = rests((rest + 0.01 * (moving - rest))[:, None])[:, 0]
    return np.where(lasts, change_between(rests, rest, moving)[1] if lasts.any() else rest, rest)


def _turning(qd: np.ndarray, qdd: np.ndarray, weights: np.ndarray) -> np.ndarray:
    speed = speed_of(qd, weights)
    along = np.sum(weights**2 * qd * qdd, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.sqrt(np.maximum(speed_of(qdd, weights) ** 2 - (along / speed) ** 2, 0.0)) / speed
    return np.where(speed > 1e-3 * speed.max(), across, 0.0)


def _with_slowest(
    trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray
) -> tuple[np.ndarray, States]:
    """The table with those instants added at which the speed is least between two of its instants.

    There d(speed²)/dt = 2 q̇ᵀW²q̈ goes from negative to positive; a rest in passing is such an instant.
    """
    falls = np.sum(weights**2 * states[1] * states[2], -1)
    before = (
        np.sum(weights**2 * states[1] * trajectory(t, "before")[2], -1) if trajectory.jumps.size else falls
    )
    speed, velocity = speed_of(states[1], weights), weights * states[1]
    low = np.minimum(speed[:-1], speed[1:]) < 0.05 * speed.max()
    turns = np.sum(velocity[1:] * velocity[:-1], -1) < 0.9 * speed[1:] * speed[:-1]
    cells = np.flatnonzero((falls[:-1] < 0) & (before[1:] > 0) & (low | turns))
    if not cells.size:
        return t, states

    def falling(t: np.ndarray) -> np.ndarray:
        _, qd, qdd = trajectory(t)
        return np.asarray(np.sum(weights**2 * qd * qdd, -1) < 0)

    t = np.unique(np.append(t, change_between(falling, t[cells], t[cells + 1])[0]))
    return t, trajectory(t)


def crossings(
    trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray, speeds: Speeds | None
) -> np.ndarray:
    """The instants at which a friction surface starts, stops or turns while other joints move.

    `speeds` gives those of the E surfaces at q and q̇; None where there are none.
    """
    if speeds is None:
        return np.zeros(0)
    speed = speeds(*states[:2])
    least = SIGN * np.abs(speed).max(0)

    def direction(speed: np.ndarray, least: np.ndarray) -> np.ndarray:
        return np.asarray(np.sign(speed) * (np.abs(speed) > least))

    signs = direction(speed, least)
    path = speed_of(states[1], weights)
    moves = path > REST * path.max()
    cells, surface = np.nonzero((signs[1:] != signs[:-1]) & (moves[1:] & moves[:-1])[:, None])
    sign = signs[cells, surface][:, None]
    # Between opposite signs the change is sharp; where a surface starts or stops, it stands still for longer.
    least = np.where(sign[:, 0] * signs[cells + 1, surface] < 0, 0.0, least[surface])[:, None]

    def unchanged(t: np.ndarray) -> np.ndarray:
        speed = np.take_along_axis(speeds(*trajectory(t)[:2]), surface[:, None, None], -1)[..., 0]
        return np.asarray(direction(speed, least) == sign)

    return np.asarray(np.mean(change_between(unchanged, t[cells], t[cells + 1]), axis=0))


# ------------------------------------------------------------------------------------------------------------
# The grid along a path.


# Lobatto's five points of an interval, its ends and its middle among them: there it is known. From the speeds
# follow its length, and the lengths from its start to each of them.
_INNER = np.sqrt(3 / 7)
POINTS = np.array([-1.0, -_INNER, 0.0, _INNER, 1.0])
WHOLE = np.array([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10])
_POWER = np.arange(1, 6)[:, None]
_FROM_VALUES = np.linalg.inv(np.vander(POINTS, increasing=True).T)
PARTS = _FROM_VALUES @ ((POINTS**_POWER - (-1.0) ** _POWER) / _POWER)
BETWEEN = (POINTS[1:] + POINTS[:-1]) / 2
_PARTS_BETWEEN = _FROM_VALUES @ ((BETWEEN**_POWER - (-1.0) ** _POWER) / _POWER)
CLOSER = np.array([1 / 16, 1 / 4])  # of the first and last interval of a stroke: where they are cut
ENDS = 0.5  # how many points an end of a stroke gets for each that is due to its length
NOTHING = 1e-12  # rad or m: joints that move less do not move
RESTING = 1e-3  # of the top speed: slower ends of strokes are taken for points of rest
NEAR = 0.02  # of an interval: how near to a point of rest the tangent is taken there
TURN = 2 * np.pi  # rad of turning that get as many points as the whole length
STRAIGHT = 1e-6  # rad: a path that turns by less at a point of rest need not stop there
ROUGH = 1000  # steps in which a motion is searched for rests and turns, at least
SHARP = 0.1  # rad: intervals on which the path turns by more are cut in two
FAR = 0.5  # rad or m: intervals on which a joint moves by more are cut too
HALVINGS = 30  # of an interval, at most: a path that nearly turns around does so within very little
TIMES = 15  # as many intervals as asked for: then no more are cut


@dataclass(frozen=True)
class PathGrid:
    """A path on N intervals, each known at five points from its start to its end: jumps have two sides."""

    trajectory: Trajectory
    weights: np.ndarray  # (n,) of the joints in the arc length
    length: float  # of the path
    first: np.ndarray  # the intervals that begin a stroke of the path, and N
    t: np.ndarray  # (N, 5) instants of the given motion [s]
    s: np.ndarray  # (N, 5), from 0 to 1
    ahead: np.ndarray  # (N, 5) s from the interval's start, to its own accuracy however short the interval is
    q: np.ndarray  # (N, 5, n)
    dq: np.ndarray  # (N, 5, n) dq/ds
    ddq: np.ndarray  # (N, 5, n) d²q/ds²
    speed: np.ndarray  # (N, 5) ds/dt of the given motion [1/s]
    change: np.ndarray  # (N, 5) d²s/dt² of the given motion [1/s²]
    stops: np.ndarray  # (N + 1,) bool: where the path has to be at rest
    pauses: np.ndarray  # (N + 1,) how long dwells there last [s]

    @property
    def nodes(self) -> np.ndarray:
        """The ends of the intervals (N + 1,), in s."""
        return np.append(self.s[:, 0], 1.0)

    @property
    def coarse(self) -> np.ndarray:
        """True (N,) where five points are too few for an interval: the path turns sharply or goes far."""
        tangent = self.dq * self.weights
        tangent = tangent / np.linalg.norm(tangent, axis=-1, keepdims=True)
        turn = np.linalg.norm(np.diff(tangent, axis=1), axis=-1).sum(-1)
        far = np.abs(np.diff(self.q, axis=1)).sum(1).max(-1)
        return np.asarray((turn > SHARP) | (far > FAR))

    def between(self) -> tuple[np.ndarray, States]:
        """s from the start (N, 4) and q, q', q'' (N, 4, n) half-way between the five points."""
        half = (self.t[:, 4:] - self.t[:, :1]) / 2
        q, qd, qdd = self.trajectory(self.t[:, :1] + half * (BETWEEN + 1))
        dq, ddq, _ = by_length(qd, qdd, self.weights, self.length)
        return half * (self.speed @ _PARTS_BETWEEN), (q, dq, ddq)

    def halved(self, chosen: np.ndarray) -> PathGrid:
        """The path with the chosen intervals (N,) cut in two parts of equal duration."""
        before = np.append(0, np.cumsum(chosen))  # cuts before each interval, and before the end
        places = np.flatnonzero(chosen) + 1
        middle = (self.t[chosen, 0] + self.t[chosen, 4]) / 2
        start = np.insert(self.t[:, 0], places, middle)
        end = np.insert(self.t[:, 4], places - 1, middle)
        return _on_intervals(self.trajectory, self.weights, start, end, self.first + before[self.first])


def path_grid(trajectory: Trajectory, count: int, speeds: Speeds | None) -> PathGrid:
    """The path of a trajectory on about `count` intervals, more where it turns sharply or goes far.

    Jumps of the acceleration (of higher derivatives too, if they are not too many), instants at which a load
    changes, and those at which a friction surface changes its direction, are ends of intervals. `speeds`
    gives the speeds of the surfaces.
    """
    table, weights = _rough(trajectory, count)
    strokes = strokes_of(trajectory, *table, weights)
    knots = trajectory.motion.knots
    kinks = knots if len(knots) < max(count, ROUGH / 2) else trajectory.jumps
    others = np.unique(np.concatenate([kinks, crossings(trajectory, *table, weights, speeds)]))
    breaks = others, load_changes(trajectory)
    density = [_density(stroke) for stroke in strokes]
    total = sum(d[-1] for _, d in density)
    instants = [
        _instants(stroke, d, max(8, round(count * d[1][-1] / total)), breaks)
        for stroke, d in zip(strokes, density, strict=True)
    ]
    start = np.concatenate([t[:-1] for t in instants])
    end = np.concatenate([t[1:] for t in instants])
    first = np.cumsum([0, *(len(t) - 1 for t in instants)])
    grid = _on_intervals(trajectory, weights, start, end, first)
    for _ in range(HALVINGS):
        coarse = grid.coarse
        if not coarse.any() or len(grid.s) > TIMES * count:
            break
        grid = grid.halved(coarse)
    return grid


def load_changes(trajectory: Trajectory) -> np.ndarray:
    """The instants (K,) at which a load is taken up or put down, or the motion begins or ends."""
    return np.unique([t for one in trajectory.loads for t in (one.start, one.end)])


def _rough(trajectory: Trajectory, count: int) -> tuple[tuple[np.ndarray, States], np.ndarray]:
    """The given motion at many instants, and the weights of its joints."""
    regular = np.linspace(0.0, trajectory.duration, max(2 * count, ROUGH) + 1)
    edges = np.array(trajectory.dwells, float).ravel()
    t = np.unique(np.concatenate([regular, trajectory.motion.knots, edges.clip(max=trajectory.duration)]))
    states = trajectory(t)
    top = np.abs(states[1]).max(0)
    if top.max() * trajectory.duration < NOTHING:
        raise MotionError("trajectory: it does not move, so there is no path to follow")
    weights = 1 / np.maximum(top, 0.01 * top.max())  # a joint that hardly moves has little weight
    return (t, states), weights


def _density(stroke: Stroke) -> tuple[np.ndarray, np.ndarray]:
    """Instants of a stroke, and the share of grid points due up to each: by length, by turns, by its ends.

    From a standing start speed grows with the square root of the distance, so points are due by that too.
    """
    distance, turn = (
        np.append(0.0, np.cumsum(np.diff(stroke.t) * (rate[1:] + rate[:-1]) / 2))
        for rate in (stroke.speed, stroke.turning)
    )
    along = distance / distance[-1]
    ends = np.sqrt(along) + 1 - np.sqrt(np.maximum(1 - along, 0.0))
    return stroke.t, distance[-1] / stroke.whole * (along + ENDS * ends) + turn / TURN


def _instants(
    stroke: Stroke,
    table: tuple[np.ndarray, np.ndarray],
    count: int,
    breaks: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """The instants of the ends of the intervals of a stroke; breaks replace the regular ones next to them.

    Of breaks that are nearly one, those of the second kind stay.
    """
    known, density = table
    regular = np.linspace(0.0, density[-1], count + 1)
    near = 1e-6 * (stroke.t[-1] - stroke.t[0])
    others, loads = (x[(x - stroke.t[0] > near) & (stroke.t[-1] - x > near)] for x in breaks)
    others = others[np.diff(others, prepend=-np.inf) > near]
    inside = np.union1d(others[~is_near(others, loads, near)], loads)
    t = np.interp(regular, density, known)
    t[0], t[-1] = stroke.t[0], stroke.t[-1]
    if inside.size:
        places = np.interp(inside, known, density)
        spoilt = np.abs(regular[1:-1, None] - places).min(1) < density[-1] / count / 2
        t = np.unique(np.concatenate([t[:1], t[1:-1][~spoilt], inside, t[-1:]]))
    first, last = ((t[k] - t[j]) * CLOSER for j, k in ((0, 1), (-1, -2)))
    return np.concatenate([t[:1], t[0] + first, t[1:-1], t[-1] + last[::-1], t[-1:]])


def _on_intervals(
    trajectory: Trajectory, weights: np.ndarray, start: np.ndarray, end: np.ndarray, first: np.ndarray
) -> PathGrid:
    """Lengths, tangents and curvatures on the intervals [start, end]; `first` begin strokes."""
    half = (end - start) / 2
    t = start[:, None] + half[:, None] * (POINTS + 1)
    t[:, 4] = end
    q, qd, qdd = _at(trajectory, t)
    speed = speed_of(qd, weights)
    covered = half[:, None] * (speed @ PARTS)
    length = float(covered[:, 4].sum())
    ends = np.cumsum(covered[:, 4]) / length
    ends[-1] = 1.0
    ahead = covered / length
    s = np.append(0.0, ends[:-1])[:, None] + ahead
    s[:, 4] = ends
    _beside_rest(trajectory, t, speed, first, qd, qdd)
    dq, ddq, change = by_length(qd, qdd, weights, length)
    pauses = _pauses(trajectory, t, first)
    stops = _stops(dq * weights, first) | (pauses > 0)
    of_motion = (dq, ddq, speed / length, change)
    return PathGrid(trajectory, weights, length, first, t, s, ahead, q, *of_motion, stops, pauses)


def dwelt(trajectory: Trajectory, t: np.ndarray) -> np.ndarray:
    """Time that the motion has dwelt until instants t (...) [s]."""
    total = np.zeros(np.shape(t))
    for start, end in trajectory.dwells:
        total += np.clip(t - start, 0.0, end - start)
    return total


def _pauses(trajectory: Trajectory, t: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Durations of dwells at the ends of the intervals (N + 1,) with points (N, 5); mostly 0 [s]."""
    pauses = np.zeros(len(t) + 1)
    if trajectory.dwells:
        start, end = np.append(t[first[:-1], 0], trajectory.duration), np.append(0.0, t[first[1:] - 1, 4])
        pauses[first] = dwelt(trajectory, start) - dwelt(trajectory, end)
    return pauses


def by_length(qd: np.ndarray, qdd: np.ndarray, weights: np.ndarray, length: float) -> States:
    """dq/ds, d²q/ds² and d²s/dt² from derivatives by time (..., n)."""
    rate = speed_of(qd, weights)[..., None] / length
    change = np.sum(weights**2 * qd * qdd, -1, keepdims=True) / (rate * length**2)
    dq = qd / rate
    return dq, (qdd - change * dq) / rate**2, change[..., 0]


def _at(trajectory: Trajectory, t: np.ndarray) -> States:
    """States at the points (N, 5) of intervals; at their ends, those on the interval's own side."""
    inner, last = trajectory(t[:, :4]), trajectory(t[:, 4:], "before")
    q, qd, qdd = (np.concatenate([x, y], 1) for x, y in zip(inner, last, strict=True))
    return q, qd, qdd


def _beside_rest(
    trajectory: Trajectory,
    t: np.ndarray,
    speed: np.ndarray,
    first: np.ndarray,
    qd: np.ndarray,
    qdd: np.ndarray,
) -> None:
    """Replaces derivatives at ends of strokes, where the motion rests, by those a little inside."""
    for intervals, column, sign in ((first[:-1], 0, 1.0), (first[1:] - 1, 4, -1.0)):
        rests = intervals[speed[intervals, column] < RESTING * speed.max()]
        if rests.size:
            width = t[rests, 4] - t[rests, 0]
            _, qd[rests, column], qdd[rests, column] = trajectory(t[rests, column] + sign * NEAR * width)


def _stops(tangent: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Ends of the path, and ends of strokes where its direction changes."""
    stops = np.zeros(len(tangent) + 1, bool)
    stops[[0, -1]] = True
    inner = first[1:-1]
    if inner.size:
        before, after = tangent[inner - 1, 4], tangent[inner, 0]
        unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (before, after)]
        stops[inner] = np.linalg.norm(unit[1] - unit[0], axis=-1) > STRAIGHT
    return stops
