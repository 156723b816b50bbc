"""The parts of a robot: transforms, links with their joints, motors, springs, limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, TypeAlias

from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.friction import NO_FRICTION, FrictionCoefficients
from armdyn.model.inertia import Inertia
from armdyn.model.vector import (
    IDENTITY,
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    multiply,
    rotation_about,
)

JointKind: TypeAlias = Literal["revolute", "prismatic", "fixed"]
RotorModel: TypeAlias = Literal["exact", "reflected", "none"]

X: Vector = (1, 0, 0)
Y: Vector = (0, 1, 0)
Z: Vector = (0, 0, 1)


@dataclass(frozen=True)
class Transform:
    """Pose of one frame in another: v_outer = R v_inner + p."""

    R: Matrix = IDENTITY
    p: Vector = ZERO3

    def __matmul__(self, other: Transform) -> Transform:
        if self.R == IDENTITY:  # quick, as most steps only turn or only shift
            return Transform(other.R, add(self.p, other.p))
        R = self.R if other.R == IDENTITY else multiply(self.R, other.R)
        return Transform(R, self.p if other.p == ZERO3 else add(self.p, apply(self.R, other.p)))

    @staticmethod
    def translation(x: Scalar, y: Scalar, z: Scalar) -> Transform:
        return Transform(IDENTITY, (x, y, z))

    @staticmethod
    @lru_cache(256)  # robots that differ in a few numbers have most angles in common
    def rotation(axis: Vector, angle: Expression) -> Transform:
        return Transform(rotation_about(axis, angle.cos(), angle.sin()), ZERO3)


@dataclass(frozen=True)
class Limits:
    """Joint limits; None where not given."""

    position: tuple[Expression, Expression] | None = None
    velocity: Expression | None = None
    acceleration: Expression | None = None
    jerk: Expression | None = None
    torque: Expression | None = None


@dataclass(frozen=True)
class MotorLimits:
    """Limits at the shaft of a motor, of magnitudes [N m, rad/s, A]; None where not given."""

    torque: Expression | None = None
    velocity: Expression | None = None
    current: Expression | None = None


@dataclass(frozen=True)
class Motor:
    """A rotor, where it sits and what it drives.

    Its angle is θ_m = gear·q_own + Σ coupling·q_other (7.22). Where its own joint is elastic, the motor's
    coordinate takes the place of q_own; q_other is always the link's. `position` and the unit vector `axis`
    are in the frame of the link `carrier`. `axial` is the inertia about the axis, `transverse` about others.
    """

    carrier: str
    axis: Vector
    gear: Expression
    axial: Expression
    transverse: Expression = ZERO
    mass: Expression = ZERO
    position: Vector = ZERO3
    coupling: tuple[tuple[str, Expression], ...] = ()
    friction: FrictionCoefficients = NO_FRICTION
    torque_constant: Expression = ONE
    limits: MotorLimits = MotorLimits()
    stiffness: Expression | None = None  # of the transmission, at the joint: the joint is elastic
    damping: Expression = ZERO  # of the transmission, at the joint


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
class Link:
    """A link, the joint that moves it, and the motor that drives the joint.

    The link's frame in its parent's is `before` · joint(q) · `after`: standard DH has everything in `after`,
    modified DH and plain frames in `before`. The joint turns about or slides along the unit vector `axis`,
    given in the frame between the two.
    """

    name: str
    parent: str
    joint: JointKind
    before: Transform = Transform()
    axis: Vector = Z
    after: Transform = Transform()
    inertia: Inertia = Inertia()
    friction: FrictionCoefficients = NO_FRICTION
    limits: Limits = field(default_factory=Limits)
    motor: Motor | None = None
    joint_name: str = ""  # where a file gives joints names of their own
    spring: JointSpring = NO_SPRING
    actuated: bool = True  # whether something drives the joint; passive joints belong to closed chains
    guess: Expression = ZERO  # where the assembly of closed chains begins

    @property
    def joint_label(self) -> str:
        """Name of the joint: its own, or its link's."""
        return self.joint_name or self.name

    @property
    def elastic(self) -> bool:
        """True if the motor drives the joint through a spring; then the motor has a coordinate of its own."""
        return self.motor is not None and self.motor.stiffness is not None
