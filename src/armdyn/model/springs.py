"""Springs: at a joint, between points of two links, and the elasticity of a transmission.

What a description says is exact (`JointSpring`, `PointSpring`); what the algorithms see is over any scalar
(`Spring`, `Strut`). Their torques and forces are linear in the two numbers that each of these has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from armdyn.expression import ZERO, Expression
from armdyn.model.friction import Row, along, mapped
from armdyn.model.vector import Scalar, Vector

Map: TypeAlias = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class JointSpring:
    """A spring at a joint: it pulls the joint to `rest` with stiffness·(q − rest)."""

    stiffness: Expression = ZERO  # N m/rad or N/m
    rest: Expression = ZERO  # rad or m

    @property
    def is_zero(self) -> bool:
        return self.stiffness.is_zero


NO_SPRING = JointSpring()


@dataclass(frozen=True)
class PointSpring:
    """A spring between points of two links; it pulls them together with stiffness·(length − rest) + force.

    A balancer of constant force has no stiffness. A gas spring pushes: its force is negative.
    """

    between: tuple[str, str]  # links; the base may be one of them
    at: tuple[Vector, Vector]  # in the frames of these links
    stiffness: Expression = ZERO  # N/m
    rest: Expression = ZERO  # m
    force: Expression = ZERO  # N
    name: str = ""


@dataclass(frozen=True)
class Spring:
    """A spring over any scalar: along e = Σ k_j q_j + shift it has the torque stiffness·e − moment.

    Joint j bears k_j times it. Its energy is ½ stiffness e² − moment e: zero at e = 0, as that of gravity is
    at the base's origin.
    """

    joint: int  # the joint it belongs to
    row: Row  # over joints
    stiffness: Scalar
    moment: Scalar = 0  # stiffness · rest
    part: Literal["spring", "elastic"] = "spring"  # at a joint, or between a link and its motor
    shift: Scalar = 0  # where the joint really stands when the algorithms' q_j are zero

    def along(self, q: Sequence[Scalar]) -> Scalar:
        """e."""
        e = along(self.row, q)
        return e if type(self.shift) is int and self.shift == 0 else e + self.shift

    def map(self, geometry: Map, parameter: Map) -> Spring:
        return replace(
            self,
            row=mapped(geometry, self.row),
            stiffness=parameter(self.stiffness),
            moment=parameter(self.moment),
            shift=geometry(self.shift),
        )


@dataclass(frozen=True)
class Strut:
    """A spring of length l between two points, over any scalar. It pulls them together with
    stiffness·l − preload; preload = stiffness·rest − force. Its energy is ½ stiffness l² − preload l.
    """

    number: int  # which of the robot's springs between points
    tied: tuple[int, int]  # bodies
    points: tuple[Vector, Vector]  # in the frames of these bodies
    stiffness: Scalar
    preload: Scalar

    def map(self, geometry: Map, parameter: Map) -> Strut:
        a, b = ((geometry(p[0]), geometry(p[1]), geometry(p[2])) for p in self.points)
        return Strut(self.number, self.tied, (a, b), parameter(self.stiffness), parameter(self.preload))
