"""The geometry of closed-form inverse kinematics: one, two or three joints that bring a point to a place.

A joint is its axis at zero position: a unit vector z and, for a revolute joint, a point c on it, world axes.
The joints of a chain act one after the other, the last one first: e1(q1) e2(q2) e3(q3) p = g. What a joint
cannot change gives the equations of those behind it: rotation about an axis keeps the distance from a point
on it and the coordinate along it, translation keeps the coordinates across it (Paden and Kahan's subproblems,
and for three revolute joints Pieper's quartic). Answers are candidates: the caller tries them on the arm.
None says that the geometry is degenerate or not covered; an empty list that the place is out of reach.
"""

from __future__ import annotations

from cmath import phase
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import acos, atan2, hypot, sqrt
from typing import Any, TypeAlias

import numpy as np

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
    """The second joint makes what the first one cannot change; the first one does the rest."""

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
