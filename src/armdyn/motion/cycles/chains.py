"""Motions one after the other, as one motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.instants import snapped
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.motion import Motion, Side, States

MEETING = 1e-10  # rad or m, and per s; relative beyond 1: motions that are further apart do not meet
MOST_PARTS = 100_000


@dataclass(frozen=True)
class Part:
    """A motion from one of its instants to another [s]."""

    motion: Motion
    start: float
    end: float

    @classmethod
    def whole(cls, motion: Motion) -> Part:
        return cls(motion, 0.0, motion.duration)

    @property
    def is_whole(self) -> bool:
        return self.start == 0.0 and self.end == self.motion.duration

    def within(self, instants: np.ndarray) -> np.ndarray:
        """Those of the motion's instants that are inside of this part, its ends left out."""
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
class Chain:
    """Parts of motions, one after the other."""

    parts: tuple[Part, ...]

    @cached_property
    def starts(self) -> np.ndarray:
        """When each part begins, and when the last one ends (K + 1,) [s]."""
        return np.cumsum([0.0, *(part.end - part.start for part in self.parts)])

    @cached_property
    def _knots(self) -> tuple[np.ndarray, np.ndarray]:
        """The knots of all parts in the time of the chain, in order, and in their own time."""
        own = [part.within(part.motion.knots) for part in self.parts]
        return self.placed(own), np.concatenate(own)

    def placed(self, instants: Sequence[np.ndarray]) -> np.ndarray:
        """Instants of each part's own time in the time of the chain."""
        rows = zip(self.starts[:-1], self.parts, instants, strict=True)
        return np.concatenate([start + (own - part.start) for start, part, own in rows])

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        starts = self.starts
        t = snapped(t, starts)
        index = np.searchsorted(starts[1:-1], t, side="right" if side == "after" else "left")
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
        """The first and the last instant of each part, in its own time (K,) [s]."""
        begins, ends = np.array([(part.start, part.end) for part in self.parts]).T
        return begins, ends

    @cached_property
    def _motions(self) -> tuple[list[Motion], np.ndarray]:
        """The motions, each once, and which of them each part is of (K,): repetitions share theirs."""
        places: dict[int, int] = {}
        which = [places.setdefault(id(part.motion), len(places)) for part in self.parts]
        return list({id(part.motion): part.motion for part in self.parts}.values()), np.array(which)

    @cached_property
    def knots(self) -> np.ndarray:
        """Those of the parts, and where parts meet [s]."""
        return np.concatenate([self._knots[0], self.starts[1:-1]])

    @cached_property
    def jumps(self) -> np.ndarray:
        """Those of the parts, and the seams at which the acceleration jumps [s]."""
        seams = self.starts[1:-1]
        if len(seams):
            before, after = (self.evaluate(seams, side)[2] for side in ("before", "after"))
            differs = np.abs(after - before) > 1e-9 * np.maximum(np.abs(before), np.abs(after))
            seams = seams[differs.any(1)]
        inner = self.placed([part.within(part.motion.jumps) for part in self.parts])
        return np.concatenate([inner, seams])


def chained(parts: Sequence[Part], label: str) -> Motion:
    """The motion of parts that meet, with their dwells and loads.

    A load that is carried on both sides of a seam is carried on; so is a dwell that continues.
    """
    seams = {(id(a), id(b)): (i, a, b) for i, (a, b) in reversed([*enumerate(pairwise(parts))])}
    for i, a, b in seams.values():
        check_seam(a, b, f"motions {i + 1} and {i + 2}")
    if len(parts) == 1 and parts[0].is_whole:
        return replace(parts[0].motion, label=label)
    unique = {id(part): _flat(part) for part in parts}
    flat = [unique[id(part)] for part in parts]
    chain = Chain(tuple(one for few in flat for one in few))
    if len(chain.parts) > MOST_PARTS:
        raise MotionError(f"found {len(chain.parts)} motions in a row; at most {MOST_PARTS} are possible")
    _check_lengths(chain)
    starts = chain.starts[np.cumsum([0, *map(len, flat)])]
    instants = np.unique([*starts, *chain.knots])
    return Motion(
        n=parts[0].motion.n,
        duration=float(starts[-1]),
        evaluate=chain.evaluate,
        jumps=chain.jumps,
        label=label,
        knots=chain.knots,
        dwells=_dwells(parts, starts, instants),
        loads=_loads(parts, starts, instants),
    )


def _check_lengths(chain: Chain) -> None:
    """Refuse parts so short that they would begin and end at the same instant of the chain."""
    short = np.flatnonzero(np.diff(chain.starts) <= 0)
    if short.size:
        part, start = chain.parts[short[0]], chain.starts[short[0]]
        raise MotionError(
            f"found {part.end - part.start:g} s of '{part.motion.label}' at t = {start:g} s; so short a time "
            "is lost in rounding there"
        )


def _flat(part: Part) -> tuple[Part, ...]:
    """The parts of a chain in the place of the chain; dwells and loads are told by the whole."""
    inner = getattr(part.motion.evaluate, "__self__", None)
    if part.is_whole and isinstance(inner, Chain):
        return inner.parts
    if not (part.motion.dwells or part.motion.loads):
        return (part,)
    return (replace(part, motion=replace(part.motion, dwells=(), loads=())),)


def _moved(
    part: Part, interval: tuple[float, float], start: float, instants: np.ndarray
) -> tuple[float, float] | None:
    """An interval of a part's own time, when the part begins at `start`; None where it lies outside.

    Its ends are moved onto those of the sorted `instants` that are the same up to rounding.
    """
    if interval[1] <= part.start or interval[0] >= part.end:
        return None
    inside = np.clip(interval, part.start, part.end)
    a, b = snapped(start + (inside - part.start), instants).tolist()
    return a, b


def _dwells(
    parts: Sequence[Part], starts: np.ndarray, instants: np.ndarray
) -> tuple[tuple[float, float], ...]:
    found: list[tuple[float, float]] = []
    for part, start in zip(parts, starts[:-1], strict=True):
        for dwell in part.motion.dwells:
            moved = _moved(part, dwell, start, instants)
            if moved and found and found[-1][1] == moved[0]:
                found[-1] = (found[-1][0], moved[1])
            elif moved:
                found.append(moved)
    return tuple(found)


def _loads(parts: Sequence[Part], starts: np.ndarray, instants: np.ndarray) -> tuple[Carried, ...]:
    found: list[Carried] = []
    for part, start in zip(parts, starts[:-1], strict=True):
        held = [k for k, one in enumerate(found) if one.end == start]
        for own in part.motion.loads:
            moved = _moved(part, (own.start, own.end), start, instants)
            if moved is None:
                continue
            same = next((k for k in held if moved[0] == start and found[k].load == own.load), None)
            if same is None:
                found.append(Carried(*moved, own.load))
            else:
                held.remove(same)
                found[same] = replace(found[same], end=moved[1])
    return tuple(found)


def check_seam(a: Part, b: Part, where: str, blended: bool = False) -> None:
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
