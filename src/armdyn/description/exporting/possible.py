"""Bodies as MuJoCo takes them: mass and moments above zero, and the triangle inequality kept.

Many descriptions leave out what no motion shows, such as the moments xx and yy of a planar arm. These entries
are filled in, which changes nothing in the robot's motion. Zeros become 1e-14, and flat bodies get 1e-12 of
their largest moment. Other impossible bodies stay as they are; MuJoCo refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.description.exporting.pieces import Piece
from armdyn.description.freedom import Freedom
from armdyn.expression import Expression

SMALLEST = 1e-14  # MuJoCo refuses what is below 1e-15
_FLAT = 1e-12  # of the largest entry: what a flat body gets, as MuJoCo leaves no room for rounding
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Body:
    """Mass and tensor about the centre of mass (xx xy xz yy yz zz)."""

    mass: Expression
    tensor: tuple[Expression, ...]
    filled: bool = False  # with entries that no motion shows
    raised: bool = False  # from zero
    refused: bool = False  # by MuJoCo


def possible(part: Piece, freedom: Freedom, moves: bool) -> Body:
    """The body of a link, and what was done to it. `moves`: it has a joint, so that MuJoCo looks at it."""
    mass, tensor = Expression.of(part.inertia.mass), part.tensor
    if not part.has_body and not moves:
        return Body(mass, tensor)
    floor = Expression.of(SMALLEST)
    raised = mass.value() < SMALLEST
    mass = floor if raised else mass
    matrix = _matrix(tensor)
    if _is_taken(matrix):
        return Body(mass, tensor, raised=raised)
    if freedom.feels_one_moment:
        moment = _felt(matrix, freedom)
        ball = Expression.of(max(moment, SMALLEST))
        zero = Expression.of(0)
        filled = (ball, zero, zero, ball, zero, ball)
        return Body(mass, filled, filled=True, raised=raised or moment < SMALLEST)
    more = Expression.of(max(SMALLEST, _FLAT * float(abs(matrix).max())))
    if _is_taken(matrix + more.value() * np.eye(3)):
        thicker = tuple(x + more if i in (0, 3, 5) else x for i, x in enumerate(tensor))
        return Body(mass, thicker, raised=True)
    return Body(mass, tensor, raised=raised, refused=True)


def _felt(matrix: np.ndarray, freedom: Freedom) -> float:
    """The one moment that matters; the largest if none does."""
    if not freedom.turns:
        return float(abs(matrix).max())
    (u,) = freedom.axes.T
    return float(u @ matrix @ u)


def _matrix(tensor: tuple[Expression, ...]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = (x.value() for x in tensor)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _is_taken(matrix: np.ndarray) -> bool:
    """Whether MuJoCo takes a tensor."""
    a, b, c = np.linalg.eigvalsh(matrix)
    return bool(a >= SMALLEST / 2 and a + b >= c * (1 + _ROUNDING))
