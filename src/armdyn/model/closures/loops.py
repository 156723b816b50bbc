"""Loops: two links of the tree, joined by a further joint.

Frame a on one link and frame b on the other are tied by rows of

    R_aᵀ(p_b − p_a) = 0 (x, y, z)    and    the rotation vector of R_aᵀR_b, to first order (x, y, z).

A revolute joint about the frames' z leaves the last row out, a spherical joint the last three. Not all rows
are independent: `Choice` says which are kept and which joints follow, found once from assembled postures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from armdyn.model.parts import Transform
from armdyn.model.vector import Matrix, Scalar, Vector

LoopJoint: TypeAlias = Literal["revolute", "spherical", "fixed", "point"]
LOOP_JOINTS: tuple[LoopJoint, ...] = get_args(LoopJoint)
ROWS: dict[LoopJoint, tuple[int, ...]] = {
    "revolute": (0, 1, 2, 3, 4),
    "spherical": (0, 1, 2),
    "point": (0, 1, 2),  # another word for it
    "fixed": (0, 1, 2, 3, 4, 5),
}
Map: TypeAlias = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop, between frames on two links (the base may be one of them)."""

    between: tuple[str, str]
    at: tuple[Transform, Transform]
    joint: LoopJoint

    @property
    def label(self) -> str:
        return f"{self.between[0]} - {self.between[1]}"


@dataclass(frozen=True)
class Choice:
    """What is independent in a robot with loops.

    Positions are those of the joints that no relation eliminates, in their order, then of elastic motors.
    """

    free: tuple[int, ...]  # which positions are the coordinates
    rows: tuple[
        tuple[int, ...], ...
    ]  # of each loop, which of its rows are kept: as many as joints follow, or more
    posture: tuple[float, ...]  # all positions of a posture in which the loops are closed
    redundant: int = 0  # how many rows follow from the others
    size: float = 1.0  # about the largest length in the robot [m]: what lengths are measured in beside angles


@dataclass(frozen=True)
class Closing:
    """A loop over any scalar: frames on two bodies, and which of the six rows hold."""

    tied: tuple[int, int]
    R: tuple[Matrix, Matrix]
    p: tuple[Vector, Vector]
    kept: tuple[int, ...]
    weight: Scalar = 1  # of lengths beside angles, where rows are compared: 1/size

    def map(self, f: Map) -> Closing:
        def vector(v: Vector) -> Vector:
            return (f(v[0]), f(v[1]), f(v[2]))

        R_a, R_b = ((vector(R[0]), vector(R[1]), vector(R[2])) for R in self.R)
        return Closing(
            self.tied, (R_a, R_b), (vector(self.p[0]), vector(self.p[1])), self.kept, f(self.weight)
        )
