"""The motions among which the best is sought: q(t) = Φ(t) x, the same functions of time for every joint.

The first function is constant, so that its coefficients are a posture. All others start and end at rest:
velocity and acceleration are zero at both ends, and so is the displacement from the start to the end. A
robot can therefore start such a motion, stop after it, and repeat it without a pause.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import null_space

from armdyn.motion.motion import ROUNDING, Motion, Profile, Side, States, as_motion
from armdyn.motion.trajectory import Trajectory


class MotionBasis(Protocol):
    """Functions of time for one joint."""

    @property
    def duration(self) -> float: ...

    @property
    def size(self) -> int:
        """How many functions, d, the constant one included."""

    def rows(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """Φ and its first three derivatives (N, d) at t (N,) within [0, duration]."""

    def scale(self, reach: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Coefficients (n,) of functions with about a reach [rad or m] and a speed (n,); they may be inf."""

    def motion(self, x: np.ndarray, periods: int = 1) -> Motion:
        """The motion with coefficients x (d, n), `periods` times."""


@dataclass(frozen=True)
class FourierMotion:
    """q_i = c_i + Σ_k (a_ki sin(kωt) − b_ki cos(kωt)) / (kω): a finite Fourier series of each joint."""

    omega: float  # of the period [rad/s]
    centre: np.ndarray  # (n,) mean positions
    a: np.ndarray  # (H, n) cosines of the velocity
    b: np.ndarray  # (H, n) sines of the velocity

    def evaluate(self, t: np.ndarray, side: Side = "after") -> States:
        """Position, velocity, acceleration (N, n) at t (N,). What is only rounding error at rest is zero."""
        k = self.omega * np.arange(1, len(self.a) + 1)[:, None]
        phase = np.outer(t, k)
        s, c = np.sin(phase), np.cos(phase)
        q = self.centre + s @ (self.a / k) - c @ (self.b / k)
        qd, qdd = c @ self.a + s @ self.b, c @ (k * self.b) - s @ (k * self.a)
        size = np.abs(self.a) + np.abs(self.b)
        # A phase of many turns is known to so many times the rounding error.
        least = ROUNDING * (1 + phase[:, -1:])
        return q, _rests(qd, least * size.sum(0)), _rests(qdd, least * (k * size).sum(0))


def _rests(x: np.ndarray, least: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) <= least, 0.0, x)


@dataclass(frozen=True)
class Fourier:
    """Finite Fourier series (Swevers et al., 1997), all combinations of them that start and end at rest.

    Of the H cosines and H sines of the velocity, Σ a_k = 0 holds where the velocity is zero at the ends, and
    Σ k b_k = 0 where the acceleration is: 2 H − 2 functions and the constant.
    """

    duration: float  # one period [s]
    harmonics: int  # H ≥ 2

    @property
    def size(self) -> int:
        return 2 * self.harmonics - 1

    @property
    def omega(self) -> float:
        return 2 * np.pi / self.duration

    @cached_property
    def _spans(self) -> tuple[np.ndarray, np.ndarray]:
        """(H, H − 1) each: a and b of the functions."""
        k = np.arange(1.0, self.harmonics + 1)
        return null_space(np.ones((1, self.harmonics))), null_space(k[None])

    def series(self, x: np.ndarray) -> FourierMotion:
        """The series with coefficients x (d, n)."""
        a, b = self._spans
        split = self.harmonics
        return FourierMotion(self.omega, x[0].copy(), a @ x[1:split], b @ x[split:])

    def rows(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        k = self.omega * np.arange(1, self.harmonics + 1)
        s, c = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
        a, b = self._spans
        pairs = ((s / k, -c / k), (c, s), (-s * k, c * k), (-c * k**2, -s * k**2))
        found = [np.column_stack([np.zeros(len(t)), x @ a, y @ b]) for x, y in pairs]
        found[0][:, 0] = 1.0
        return tuple(found)

    def scale(self, reach: np.ndarray, speed: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(reach * self.omega, speed))

    def motion(self, x: np.ndarray, periods: int = 1) -> Motion:
        label = f"Fourier series of {self.harmonics} harmonics"
        label += "" if periods == 1 else f", {periods} periods"
        return Motion(x.shape[1], periods * self.duration, self.series(x).evaluate, label=label)


@dataclass(frozen=True)
class Quintic:
    """Splines of quintics through via points at equal times, from a posture at rest back to it.

    The constant is that posture, the others are displacements of the via points from it.
    """

    duration: float  # [s]
    points: int  # via points besides the start and the end

    @property
    def size(self) -> int:
        return self.points + 1

    def times(self, periods: int = 1) -> np.ndarray:
        """Times of start, via points and end, period after period."""
        return np.linspace(0.0, periods * self.duration, periods * (self.points + 1) + 1)

    @cached_property
    def _functions(self) -> Profile:
        """The spline through each via point alone (…, d − 1)."""
        through = np.vstack([np.zeros(self.points), np.eye(self.points), np.zeros(self.points)])
        found = Trajectory.through(through, self.times(), kind="quintic").motion.evaluate.__self__  # type: ignore[attr-defined]
        assert isinstance(found, Profile)
        return found

    def rows(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        profile = self._functions
        piece = np.searchsorted(profile.breaks[1:-1], t, side="right")
        time = t[:, None] - profile.origins[piece]
        _, _, _, c3, c4, c5 = profile.coefficients.swapaxes(0, 1)
        jerk = 6 * c3[piece] + time * (24 * c4[piece] + time * 60 * c5[piece])
        found = [np.column_stack([np.zeros(len(t)), x]) for x in (*profile.evaluate(t), jerk)]
        found[0][:, 0] = 1.0
        return tuple(found)

    def scale(self, reach: np.ndarray, speed: np.ndarray) -> np.ndarray:
        return np.asarray(np.minimum(reach, speed * self.duration / (self.points + 1)))

    def motion(self, x: np.ndarray, periods: int = 1) -> Motion:
        profile = self._functions
        powers = np.einsum("mkd,dn->mkn", profile.coefficients, x[1:])
        powers[:, 0] += x[0]
        begins = [k * self.duration for k in range(periods)]
        breaks = np.concatenate([[0.0], *(begin + profile.breaks[1:] for begin in begins)])
        origins = np.concatenate([begin + profile.origins for begin in begins])
        label = f"quintic spline through {self.points} via points"
        return as_motion(Profile(breaks, origins, np.tile(powers, (periods, 1, 1)), profile.smooth), label)
