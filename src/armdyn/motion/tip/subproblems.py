"""The geometry of closed-form inverse kinematics: one, two or three joints that bring a point to a place.

A joint is its axis at zero position: a unit vector z and, for a revolute joint, a point c on it, base axes.
The joints of a chain act one after the other, the last one first: e1(q1) e2(q2) e3(q3) p = g. What a joint
cannot change gives the equations of those behind it: rotation about an axis keeps the distance from a point
on it and the coordinate along it, translation keeps the coordinates across it (Paden and Kahan's subproblems,
and for three revolute joints Pieper's quartic). Answers are candidates: the caller tries them on the arm.
None says that the geometry is degenerate or not covered; an empty list that the place is out of reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import acos, atan2, hypot, sqrt
from typing import TypeAlias

import numpy as np

Solutions: TypeAlias = list[tuple[float, ...]]

DEGENERATE = 1e-9  # relative: what is smaller is zero
OUTSIDE = 1e-7  # how far a cosine may exceed one: the arm is stretched, up to rounding


@dataclass(frozen=True)
class Axis:
    """A joint at zero position, base axes."""

    z: np.ndarray  # (3,), unit
    c: np.ndarray  # (3,), a point on the axis
    revolute: bool

    @cached_property
    def cross(self) -> np.ndarray:
        """The matrix (3, 3) of z × …"""
        return np.cross(self.z, np.eye(3)).T

    def move(self, q: float, p: np.ndarray) -> np.ndarray:
        """A point or points (..., 3), after the joint has moved by q."""
        if self.revolute:
            return np.asarray(self.c + self.turn(q, p - self.c))
        return np.asarray(p + q * self.z)

    def turn(self, q: float, v: np.ndarray) -> np.ndarray:
        """A direction (..., 3), after the joint has moved by q."""
        if not self.revolute:
            return v
        along = (v @ self.z)[..., None] * self.z
        return np.asarray(along + np.cos(q) * (v - along) + np.sin(q) * (v @ self.cross.T))

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


@dataclass(frozen=True)
class Of:
    """A function of a joint's position: powers of e^{iq} from −k to k (revolute), or of q (prismatic)."""

    powers: np.ndarray
    revolute: bool

    def __add__(self, other: Of | float) -> Of:
        small, large = self.powers, np.atleast_1d(other.powers if isinstance(other, Of) else other)
        if len(small) > len(large):
            small, large = large, small
        shift = (len(large) - len(small)) // 2 if self.revolute else 0
        total = np.array(large, complex)
        total[shift : shift + len(small)] += small
        return Of(total, self.revolute)

    def __mul__(self, other: Of | float) -> Of:
        factor = np.atleast_1d(other.powers if isinstance(other, Of) else other)
        return Of(np.convolve(self.powers, factor), self.revolute)

    __rmul__, __radd__ = __mul__, __add__

    def __neg__(self) -> Of:
        return self * -1.0

    def __sub__(self, other: Of | float) -> Of:
        return self + -other

    def value(self, q: float) -> float:
        if not self.revolute:
            return float(np.polynomial.polynomial.polyval(q, self.powers).real)
        k = np.arange(len(self.powers)) - len(self.powers) // 2
        return float((self.powers * np.exp(1j * k * q)).sum().real)

    def zeros(self, size: float) -> list[float] | None:
        """Where the function, of values of the order of `size`, is zero; None where it is constant."""
        middle = len(self.powers) // 2 if self.revolute else 0
        if np.abs(np.delete(self.powers, middle)).max(initial=0.0) <= DEGENERATE * size:
            return None
        if self.revolute and len(self.powers) == 3:
            return _cosine_zeros(self.powers)
        kept = np.where(np.abs(self.powers) <= 1e-14 * np.abs(self.powers).max(), 0.0, self.powers)
        roots = np.roots(kept[::-1])
        if self.revolute:
            # A double root is found only to the square root of rounding, so nearly on the circle is on it.
            return [float(x) for x in np.angle(roots[np.abs(np.abs(roots) - 1) < 1e-4])]
        near = np.abs(roots.imag) <= 1e-4 * (1 + np.abs(roots))
        return [float(x) for x in roots.real[near]]


def _cosine_zeros(powers: np.ndarray) -> list[float]:
    """a cos q + b sin q + d = 0, as powers (a + i b)/2, d, (a − i b)/2 of e^{iq}."""
    a, b, d = 2 * powers[2].real, -2 * powers[2].imag, powers[1].real
    ratio = -d / hypot(a, b)
    if abs(ratio) > 1 + OUTSIDE:
        return []
    middle, half = atan2(b, a), acos(min(1.0, max(-1.0, ratio)))
    return [middle + half, middle - half]


def coordinate(axis: Axis, p: np.ndarray, u: np.ndarray, origin: np.ndarray) -> Of:
    """u · (p moved by the joint − origin)."""
    if not axis.revolute:
        return Of(np.array([u @ (p - origin), u @ axis.z], complex), False)
    v = p - axis.c
    along = (v @ axis.z) * axis.z
    a, b = u @ (v - along), u @ axis.cross @ v
    return Of(np.array([(a + 1j * b) / 2, u @ (axis.c + along - origin), (a - 1j * b) / 2]), True)


def distance_squared(axis: Axis, p: np.ndarray, origin: np.ndarray) -> Of:
    """|p moved by the joint − origin|²."""
    if not axis.revolute:
        v = p - origin
        return Of(np.array([v @ v, 2 * v @ axis.z, 1.0], complex), False)
    v, w = p - axis.c, axis.c - origin
    return 2.0 * coordinate(axis, p, w, axis.c) + float(v @ v + w @ w)


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
    """The second joint makes what the first one cannot change; the first one does the rest."""
    found: Solutions = []
    covered = False
    for function, size in _invariants(first, second, p, g, length):
        zeros = function.zeros(size)
        if zeros is not None:
            covered = True
            found += [(first.reached(second.move(q, p), g), q) for q in zeros]
    return found if covered else None


def _invariants(
    first: Axis, second: Axis, p: np.ndarray, g: np.ndarray, length: float
) -> Iterator[tuple[Of, float]]:
    """Functions of the second joint that are zero where the first one can do the rest, and their size."""
    if first.revolute:
        yield distance_squared(second, p, first.c) - float((g - first.c) @ (g - first.c)), length**2
        yield coordinate(second, p, first.z, g), length
    else:
        for u in np.linalg.svd(first.z[None])[2][1:]:  # across the first joint
            yield coordinate(second, p, u, g), length


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
    square, along = distance_squared(third, p, c2), coordinate(third, p, second.z, c2)
    over_d = -square + float((g - c1) @ (g - c1)) - d**2  # 2 d X
    over_sine = -cosine * along + float(first.z @ (g - c1))  # sin α Y
    parallel, meeting = abs(sine) <= DEGENERATE, abs(d) <= DEGENERATE * length
    if parallel and meeting:
        return None
    if parallel:
        zeros = over_sine.zeros(length)
    elif meeting:
        zeros = over_d.zeros(length**2)
    else:
        across = square - along * along
        quartic = (
            over_d * over_d * sine**2 + over_sine * over_sine * (4 * d**2) - across * (4 * d**2 * sine**2)
        )
        zeros = quartic.zeros(length**4)
    if zeros is None:
        return None
    found: Solutions = []
    for q3 in zeros:
        y = third.move(q3, p) - c2
        radius = (y @ n) ** 2 + (y @ m) ** 2
        X = None if meeting else over_d.value(q3) / (2 * d)
        Y = None if parallel else over_sine.value(q3) / sine
        for x, v in _both_signs(X, Y, radius, length):
            q2 = atan2(v, x) - atan2(y @ m, y @ n)
            found.append((first.reached(second.move(q2, y + c2), g), q2, q3))
    return found


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
    n = n / length if length > 0 else np.linalg.svd(z1[None])[2][1]
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
    v = np.linalg.svd(last.z[None])[2][1]  # across the last axis
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
    zeros = (coordinate(second, second.c + z, first.z, second.c) - float(first.z @ direction)).zeros(1.0)
    if zeros is None:
        return None
    return [(first.angle(second.turn(q, z), direction), q) for q in zeros]
