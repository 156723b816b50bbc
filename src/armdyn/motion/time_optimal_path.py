"""The path of a trajectory, freed of its timing.

The parameter s runs from 0 to 1 along the arc length of the path in joint space, each joint weighted. Unlike
the trajectory's own time it has a tangent q'(s) that vanishes nowhere, also where the given motion starts,
pauses or turns around. A path that turns around has to stop there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.motion import States
from armdyn.motion.time_optimal_pieces import Piece, crossings, moving_pieces, speed_of
from armdyn.motion.trajectory import Trajectory

# Lobatto's five points of an interval, its ends and its middle among them: what is known of an interval. From
# the speeds there follow its length and that of its first half.
_INNER = np.sqrt(3 / 7)
POINTS = np.array([-1.0, -_INNER, 0.0, _INNER, 1.0])
WHOLE = np.array([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10])
_POWERS = np.vander(POINTS, increasing=True)
HALF = np.linalg.solve(_POWERS.T, [1.0, -1 / 2, 1 / 3, -1 / 4, 1 / 5])
NEAR = 0.02  # of an interval: how near to a point of rest the tangent is taken there
TURN = 2 * np.pi  # rad of turning that deserve as many points as the whole length
STRAIGHT = 1e-7  # rad: a path that turns by less at a point of rest need not stop there


@dataclass(frozen=True)
class PathGrid:
    """A path on N intervals: each known at its start, its middle and its end, so jumps have two sides."""

    trajectory: Trajectory
    weights: np.ndarray  # (n,) of the joints in the arc length
    length: float  # of the path: ds/dt = speed / length
    t: np.ndarray  # (N, 3) instants of the given motion [s]
    s: np.ndarray  # (N, 3), from 0 to 1
    q: np.ndarray  # (N, 3, n)
    dq: np.ndarray  # (N, 3, n) dq/ds
    ddq: np.ndarray  # (N, 3, n) d²q/ds²
    speed: np.ndarray  # (N, 3) ds/dt of the given motion [1/s]
    stops: np.ndarray  # (N + 1,) bool: where the path has to be at rest

    @property
    def nodes(self) -> np.ndarray:
        """The ends of the intervals (N + 1,), in s."""
        return np.append(self.s[:, 0], 1.0)


def path_grid(trajectory: Trajectory, count: int, surfaces: np.ndarray) -> PathGrid:
    """The path of a trajectory on about `count` intervals.

    Jumps of the acceleration, and the instants at which a friction surface (E, n) changes its direction, are
    ends of intervals.
    """
    table, weights = _rough(trajectory, count)
    pieces = moving_pieces(trajectory, *table, weights)
    if not pieces:
        raise MotionError("trajectory: it does not move, so there is no path to follow")
    breaks = np.concatenate([trajectory.jumps, crossings(trajectory, *table, weights, surfaces)])
    density = [_density(piece) for piece in pieces]
    total = sum(d[-1] for d in density)
    instants = [
        _instants(piece, d, max(8, round(count * d[-1] / total)), breaks)
        for piece, d in zip(pieces, density, strict=True)
    ]
    start = np.concatenate([t[:-1] for t in instants])
    end = np.concatenate([t[1:] for t in instants])
    first = np.cumsum([0, *(len(t) - 1 for t in instants)])
    return _on_intervals(trajectory, weights, start, end, first)


def _rough(trajectory: Trajectory, count: int) -> tuple[tuple[np.ndarray, States], np.ndarray]:
    """The given motion at many instants, and the weights of its joints."""
    regular = np.linspace(0.0, trajectory.duration, 2 * count + 1)
    t = np.unique(np.concatenate([regular, trajectory.motion.knots]))
    states = trajectory(t)
    top = np.abs(states[1]).max(0)
    weights = 1 / np.maximum(top, max(0.01 * top.max(), 1e-300))  # a joint that hardly moves hardly counts
    return (t, states), weights


def _density(piece: Piece) -> np.ndarray:
    """The share of grid points due up to each instant of a piece: by its length and by its turns."""
    along = (piece.speed[1:] + piece.speed[:-1]) / 2
    turn = (piece.turning[1:] + piece.turning[:-1]) / 2
    share = np.diff(piece.t) * (along / piece.whole + turn / TURN)
    return np.concatenate([[0.0], np.cumsum(share)])


def _instants(piece: Piece, density: np.ndarray, count: int, breaks: np.ndarray) -> np.ndarray:
    """The instants of the ends of the intervals of a piece; breaks replace the regular ones next to them."""
    regular = np.linspace(0.0, density[-1], count + 1)
    inside = np.unique(breaks[(breaks > piece.t[0]) & (breaks < piece.t[-1])])
    near = 1e-6 * (piece.t[-1] - piece.t[0])
    inside = inside[(inside - piece.t[0] > near) & (piece.t[-1] - inside > near)]
    inside = inside[np.diff(inside, prepend=-np.inf) > near]
    t = np.interp(regular, density, piece.t)
    t[0], t[-1] = piece.t[0], piece.t[-1]
    if inside.size:
        places = np.interp(inside, piece.t, density)
        spoilt = np.abs(regular[1:-1, None] - places).min(1) < density[-1] / count / 2
        t = np.unique(np.concatenate([t[:1], t[1:-1][~spoilt], inside, t[-1:]]))
    return np.asarray(t)


def _on_intervals(
    trajectory: Trajectory, weights: np.ndarray, start: np.ndarray, end: np.ndarray, first: np.ndarray
) -> PathGrid:
    """Lengths, tangents and curvatures on the intervals [start, end]; `first` are those that begin pieces."""
    half = (end - start) / 2
    t = start[:, None] + half[:, None] * (POINTS + 1)
    t[:, 4] = end
    states = _at(trajectory, t)
    speed = speed_of(states[1], weights)
    lengths = half * (speed @ WHOLE)
    length = float(lengths.sum())
    ends = np.cumsum(lengths) / length
    ends[-1] = 1.0
    begins = np.append(0.0, ends[:-1])
    middles = begins + half * (speed @ HALF) / length
    q, qd, qdd = (x[:, ::2].copy() for x in states)
    resting = _beside_rest(trajectory, t, speed, first)
    for intervals, column, (_, beside_qd, beside_qdd) in resting:
        qd[intervals, column], qdd[intervals, column] = beside_qd, beside_qdd
    rate = speed_of(qd, weights)[..., None]
    along = np.sum(weights**2 * qd * qdd, -1, keepdims=True) / rate**2
    dq = qd * (length / rate)
    ddq = (qdd - along * qd) * (length / rate) ** 2
    return PathGrid(
        trajectory,
        weights,
        length,
        t[:, ::2],
        np.stack([begins, middles, ends], 1),
        q,
        dq,
        ddq,
        speed[:, ::2] / length,
        _stops(dq * weights, first),
    )


def _at(trajectory: Trajectory, t: np.ndarray) -> States:
    """States at instants (N, 5) of intervals: those of the interval's own side at its ends."""
    q, qd, qdd = trajectory(t[:, :4])
    last = trajectory(t[:, 4:], "before")
    return tuple(np.concatenate([x, y], 1) for x, y in zip((q, qd, qdd), last, strict=True))  # type: ignore[return-value]


def _beside_rest(
    trajectory: Trajectory, t: np.ndarray, speed: np.ndarray, first: np.ndarray
) -> list[tuple[np.ndarray, int, States]]:
    """At ends of pieces where the motion rests, the states a little inside, where it has a direction."""
    result = []
    for intervals, column, sign in ((first[:-1], 0, 1.0), (first[1:] - 1, 2, -1.0)):
        at = speed[intervals, 2 * column]
        resting = intervals[at < 1e-3 * speed.max()]
        width = t[resting, 4] - t[resting, 0]
        states = trajectory(t[resting, 2 * column] + sign * NEAR * width)
        result.append((resting, column, states))
    return result


def _stops(tangent: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Ends of the path, and ends of pieces where its direction changes."""
    stops = np.zeros(len(tangent) + 1, bool)
    stops[[0, -1]] = True
    inner = first[1:-1]
    if inner.size:
        before, after = tangent[inner - 1, 2], tangent[inner, 0]
        unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (before, after)]
        stops[inner] = np.linalg.norm(unit[1] - unit[0], axis=-1) > STRAIGHT
    return stops
