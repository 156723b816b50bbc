"""What is sought, and how much of the limits a motion uses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.identification.excitation.basis import Basis
from armdyn.identification.excitation.bounds import Bounds
from armdyn.identification.excitation.columns import Columns, Softening
from armdyn.identification.excitation.criterion import Criterion, of_regressor
from armdyn.identification.excitation.followers import Followed
from armdyn.identification.excitation.workspace import Fence
from armdyn.motion.trajectories.motion import sample_times
from armdyn.robot import Robot
from armdyn.robot.friction import surface_speeds
from armdyn.robot.joints import Followers, JointLimits, followers
from armdyn.robot.loops.assembly import LoopError
from armdyn.robot.loops.postures import can_be

FINE = 5e-4  # s between the samples at which limits are checked
BLOCK = 4096  # samples looked at together
BEYOND = 2.0  # of limits: what a motion uses on which loops do not close
KINDS = ("position", "velocity", "acceleration", "jerk", "torque")


@dataclass(frozen=True)
class Task:
    """A search, the same for all starts."""

    robot: Robot
    columns: Columns
    weights: np.ndarray  # (n,) of the joints' rows
    criterion: Criterion
    basis: Basis
    bounds: Bounds
    fence: Fence | None
    followed: Followed | None = None  # limits of joints that follow several others

    @cached_property
    def followers(self) -> Followers | None:
        """Joints that follow by loops and have limits."""
        return followers(self.robot)

    @property
    def samples(self) -> int:
        """Equal intervals for the search: 20 and more for the fastest of the functions."""
        return max(100, 20 * self.basis.size)

    # ---- motions ---------------------------------------------------------------------------------------

    def grid(self, count: int) -> np.ndarray:
        """Instants of `count` equal intervals, both ends included."""
        return np.linspace(0.0, self.basis.duration, count + 1)

    def inner(self, count: int) -> np.ndarray:
        """The middles of `count` equal intervals: the ends, where dry friction has no direction, are out."""
        return (np.arange(count) + 0.5) * (self.basis.duration / count)

    def regressor(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, smooth: Softening | None = None
    ) -> np.ndarray:
        """W (N n, b): the base columns at N states one below the other, weighted, divided by √N."""
        W = self.columns.matrix(q, qd, qdd, smooth) * self.weights[:, None]
        return np.asarray(W.reshape(-1, W.shape[-1]) / np.sqrt(len(q)))

    def value(self, x: np.ndarray, count: int) -> float:
        """The criterion of the motion with coefficients x (d, n); infinite where it leaves loops open."""
        q, qd, qdd, _ = (rows @ x for rows in self.basis.rows(self.inner(count)))
        try:
            return of_regressor(self.criterion, self.regressor(q, qd, qdd))
        except LoopError:
            return np.inf

    def triangle(self, x: np.ndarray, step: float) -> np.ndarray:
        """R (b, b) with RᵀR = WᵀW/N, at samples `step` apart: as accurate as W."""
        t, motion = sample_times(self.basis.duration, step), self.basis.motion(x)
        R: np.ndarray = np.zeros((0, len(self.columns)))
        for k in range(0, len(t), BLOCK):
            q, qd, qdd = motion.evaluate(t[k : k + BLOCK], "after")
            W = self.regressor(q, qd, qdd) * np.sqrt(len(q) / len(t))
            R = np.asarray(np.linalg.qr(np.concatenate([R, W]), mode="r"))
        return R

    # ---- limits ----------------------------------------------------------------------------------------

    def used(self, x: np.ndarray, t: np.ndarray) -> dict[str, np.ndarray]:
        """By kind of limit, the largest part (n,) of what is allowed that a motion uses at instants t.

        1 is the limit. Between the samples a peak may be higher than at them, by an eighth of the second
        difference there; so much is added. Zero where there is no limit.
        """
        found: dict[str, np.ndarray] = {}
        for k in range(0, len(t) - 1, BLOCK):
            states = [rows @ x for rows in self.basis.rows(t[k : k + BLOCK + 2])]
            if self.robot.model.loops and not can_be(self.robot.assembly, states[0]).all():
                return {kind: np.full(self.robot.n, BEYOND) for kind in KINDS}
            turns = self._turns(*states[:2])
            for kind, u in self._parts(states).items():
                peak = _peak(u, turns if kind == "torque" else None)
                found[kind] = np.maximum(found.get(kind, 0.0), peak)
        return found

    def _parts(self, states: list[np.ndarray]) -> dict[str, np.ndarray]:
        """By kind of limit, the part of what is allowed (N, m) that states use."""
        q, qd, qdd, jerk = states
        allowed = self.bounds.allowed
        parts = {"position": position_part(self.bounds, q)}
        for kind, value in (("velocity", qd), ("acceleration", qdd), ("jerk", jerk)):
            parts[kind] = np.abs(value) / getattr(allowed, kind)
        if np.isfinite(allowed.torque).any():
            parts["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd)) / allowed.torque
        if self.followers is not None:
            parts["loops"] = _of_followers(self.followers, self.bounds.part, q, qd, qdd)
        if self.fence is not None:
            parts["workspace"] = 1 + self.fence.excess(q)
        if self.followed is not None:
            parts["followers"] = np.maximum(*self.followed.sides(states))
        return parts

    def _turns(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(N − 2,) Whether dry friction jumps beside an inner sample: the torque there is no peak."""
        way = np.sign(surface_speeds(self.robot)(q, qd))
        jumps = (way[1:] != way[:-1]).any(1)
        return np.asarray(jumps[1:] | jumps[:-1])

    def most_used(self, x: np.ndarray, t: np.ndarray) -> float:
        return float(max(u.max() for u in self.used(x, t).values()))

    def fine(self) -> np.ndarray:
        """The instants at which limits are checked."""
        return self.grid(max(1000, int(np.ceil(self.basis.duration / FINE))))


def position_part(bounds: Bounds, q: np.ndarray) -> np.ndarray:
    """How much of their allowed ranges positions (N, n) use; 1 at the ends, 0 where there is no limit."""
    above, below = position_sides(bounds, q)
    return np.asarray(np.maximum(np.maximum(above, below), 0.0))


def position_sides(bounds: Bounds, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same toward the upper and the lower end; −inf where there is none, 0 where it cannot move."""
    limits: JointLimits = bounds.allowed
    moves = bounds.reach > 0
    reach = np.where(moves, bounds.reach, 1.0)
    above, below = 1 + (q - limits.upper) / reach, 1 + (limits.lower - q) / reach
    return np.where(moves, above, 0.0), np.where(moves, below, 0.0)


def _of_followers(
    followers: Followers, part: float, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """How much joints that follow use (N, 3 f) of what they may: of positions, velocities, accelerations."""
    y, limits = followers.positions(q), followers.limits
    beyond = np.maximum(y - limits.upper, limits.lower - y)
    return np.concatenate(
        [
            np.maximum(1 + beyond, 0.0),
            np.abs(followers.velocities(q, qd)) / (part * limits.velocity),
            np.abs(followers.accelerations(q, qd, qdd)) / (part * limits.acceleration),
        ],
        1,
    )


def _peak(u: np.ndarray, jumps: np.ndarray | None) -> np.ndarray:
    """The largest value (m,) of u (N, m), and between samples but at `jumps` (N − 2,); at least zero."""
    bend = np.abs(np.diff(u, 2, axis=0)) / 8
    between = u[1:-1] + (bend if jumps is None else np.where(jumps[:, None], 0.0, bend))
    return np.asarray(np.concatenate([u, between, np.zeros((1, u.shape[1]))]).max(0))
