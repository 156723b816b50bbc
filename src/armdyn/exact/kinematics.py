"""Poses, velocities and Jacobians of links and rotors in symbols, (7.14)–(7.29), (7.128).

Every quantity is that of a point which moves with a body: the origin of a link's frame, its centre of mass,
any other point of it, the centre of a rotor. The algorithms are those of `dynamics/`, run over a ring in
which the point can be written; vectors are in the axes of the base (of the world, where the base is placed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from armdyn import dynamics
from armdyn.dynamics.closures import freed, joint_values
from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.exact.basis import Basis, atoms_of
from armdyn.exact.form import Array, Entry
from armdyn.exact.ring import Poly, Ring
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.model.edit import At, motor_named, point_named
from armdyn.model.errors import word
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import Converter, places_of, rotor_alone
from armdyn.model.vector import Scalar, Vector, apply, apply_transposed, vector
from armdyn.names import quoted

Angles = Literal["zyz", "rpy"]


class Jacobian(Array[Entry]):
    """A geometric Jacobian, 6×n: J_P over J_O, linear rows over angular ones, base axes."""

    def __init__(self, rows: Sequence[Any], called: str, equations: Sequence[str] = ("", "", "")) -> None:
        """`equations`: where the book has J, J_P and J_O."""
        super().__init__(rows, called, equations[0])
        self.equations = tuple(equations)

    @property
    def position_part(self) -> Array[Entry]:
        """J_P, 3×n: the velocity of the point is J_P q̇."""
        return Array(self.rows[:3], f"J_P: {self.called}", self.equations[1])

    @property
    def orientation_part(self) -> Array[Entry]:
        """J_O, 3×n: the angular velocity is J_O q̇."""
        return Array(self.rows[3:], f"J_O: {self.called}", self.equations[2])


class AnalyticalJacobian(Array[Entry]):
    """J_A, 6×n, whose lower rows are rates of three angles; with J = T_A J_A (7.128)."""

    T_A: Array[Entry]  # 6×6, in the angles phi, theta, psi or roll, pitch, yaw


@dataclass(frozen=True)
class Point:
    """A point that moves with a body, and the axes of a link there, over one ring."""

    basis: Basis
    body: int
    frame: Transform  # the point as origin, with the link's axes, in the body's frame, exact
    called: str

    @cached_property
    def ring(self) -> Ring:
        """The kinematic ring, where the geometry has all symbols of the point; else a larger one."""
        return ring_with_all(self.basis, [*self.frame.p, *(x for row in self.frame.R for x in row)])

    @cached_property
    def mechanism(self) -> Mechanism:
        """The robot over the ring, its tip at the point."""
        R, p = (vector(self._constant(x) for x in row) for row in self.frame.R), self.frame.p
        tip = vector(self._constant(x) for x in p)
        return replace(self.basis.mechanism(self.ring), tip=self.body, R_tip=vector(R), p_tip=tip, places=())

    def _constant(self, x: Scalar) -> Scalar:
        return self.ring.constant(x) if isinstance(x, Expression) else x

    @property
    def variables(self) -> tuple[list[Any], list[Poly]]:
        q, qd, _ = self.ring.joint_variables()
        return q, qd

    def entries(self, rows: Sequence[Any]) -> list[Any]:
        """Scalars in nested lists as entries."""
        return [
            self.entries(x) if isinstance(x, list | tuple) else Entry(self.basis, self.ring.zero + x)
            for x in rows
        ]

    def array(self, rows: Sequence[Any], what: str, equation: str = "") -> Array[Entry]:
        return Array(self.entries(rows), f"{what} of {self.called}", equation)


def ring_with_all(basis: Basis, entries: Sequence[Scalar]) -> Ring:
    """The smallest ring of a robot in which some more exact numbers can be written."""
    atoms, inverted = atoms_of(entries)
    names = [*map(str, atoms), *(f"1/{atom}" for atom in inverted)]
    for ring in (basis.kinematic, basis.full):
        if all(name in ring.index for name in names):
            return ring
    return basis.extended([Expression.of(x) for x in entries])


# ---- where a point is --------------------------------------------------------------------------------------


def point_on(basis: Basis, link: str | None, at: At) -> Point:
    """The tip frame (without a link), or a point of a link by its place in the link's frame."""
    name, place, label = point_named(basis.model, link, at)
    body, frame = places_of(basis.model, Converter(lambda x: x))[name]
    return Point(basis, body, frame @ place, label)


def rotor_centre(basis: Basis, link: Link, motor: Motor) -> Point:
    """The centre of the rotor of a motor, in the axes of its carrier."""
    body, frame = places_of(basis.model, Converter(lambda x: x))[motor.carrier]
    called = f"the rotor of the motor of {quoted(link.joint_label)}"
    return Point(basis, body, frame @ Transform(p=motor.position), called)


_OF_LINKS = ("(7.16)-(7.19)", "(7.16), (7.18)", "(7.17), (7.19)")
_OF_ROTORS = ("(7.25)-(7.29)", "(7.25), (7.26)", "(7.28), (7.29)")


# ---- what it does ------------------------------------------------------------------------------------------


def pose(point: Point) -> Array[Entry]:
    """The homogeneous transform, 4×4."""
    return point.array(dynamics.pose(point.mechanism, point.variables[0]), "Pose")


def rotation(point: Point) -> Array[Entry]:
    """R, 3×3."""
    rows = dynamics.pose(point.mechanism, point.variables[0])
    return point.array([row[:3] for row in rows[:3]], "Rotation matrix")


def position(point: Point) -> Array[Entry]:
    """p, 3."""
    rows = dynamics.pose(point.mechanism, point.variables[0])
    return point.array([row[3] for row in rows[:3]], "Position")


def velocity(point: Point) -> Array[Entry]:
    """ṗ = J_P q̇."""
    return point.array(_times_rates(point, _geometric(point)[:3]), "Velocity", "(7.14)")


def angular_velocity(point: Point, frame: Literal["base", "link"]) -> Array[Entry]:
    """ω = J_O q̇ in base axes, or by recursion in the axes of the link."""
    word("frame", frame, ("base", "link"))
    if frame == "base":
        return point.array(
            _times_rates(point, _geometric(point)[3:]), "Angular velocity, base axes,", "(7.15)"
        )
    M = point.mechanism
    q, qd = (joint_values(M, x) for x in point.variables)
    w: Vector = (0, 0, 0)
    if point.body != FIXED_BASE:
        tree = freed(M)
        w = apply_transposed(M.R_tip, velocities(tree, joint_frames(tree, q), qd)[0][point.body])
    return point.array(w, "Angular velocity, link axes,", "(7.107)")


def jacobian(point: Point) -> Jacobian:
    """J of a point, (7.16)–(7.19)."""
    return Jacobian(point.entries(_geometric(point)), f"Jacobian of {point.called}", _OF_LINKS)


def jacobian_dot(point: Point) -> Jacobian:
    """dJ/dt of a point."""
    rows = dynamics.jacobian_dot(point.mechanism, *point.variables)
    return Jacobian(point.entries(rows), f"Time derivative of the Jacobian of {point.called}")


def rotor_jacobian(basis: Basis, name: str) -> Jacobian:
    """J of the rotor of a motor: of its centre, and with k_j z_m of its own spin (7.24)–(7.29)."""
    link, motor = motor_named(basis.model, name)
    point = rotor_centre(basis, link, motor)
    axis = vector(point._constant(x) for x in apply(point.frame.R, motor.axis))  # of reflected ones, too
    rotor = replace(rotor_alone(basis.model, point.mechanism, link), axis=axis)
    rows = dynamics.jacobian_at_rotor(replace(point.mechanism, rotors=(rotor,)), point.variables[0])
    return Jacobian(point.entries(rows), f"Jacobian of {point.called}", _OF_ROTORS)


def _geometric(point: Point) -> list[list[Scalar]]:
    return dynamics.jacobian(point.mechanism, point.variables[0])


def _times_rates(point: Point, rows: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    _, qd = point.variables
    return [sum((x * v for x, v in zip(row, qd, strict=True)), point.ring.zero) for row in rows]


# ---- angles ------------------------------------------------------------------------------------------------

_ANGLES = {"zyz": ("phi", "theta", "psi"), "rpy": ("roll", "pitch", "yaw")}


def analytical_jacobian(point: Point, angles: Angles) -> AnalyticalJacobian:
    """J_A = T_A⁻¹ J, with the rates of ZYZ or roll-pitch-yaw angles in its lower rows (7.128).

    T_A holds the angles as symbols: what they are at a posture is said by the rotation matrix.
    """
    word("angles", angles, tuple(_ANGLES))
    names = _ANGLES[angles]
    if taken := [name for name, _ in point.basis.model.symbols if name in names]:
        raise ArmdynError(f"angles: the robot has a symbol {shown(taken[0])} already; rename it")
    T, inverse = _transforms(angles)
    ring = point.basis.extended([x for M in (T, inverse) for row in M for x in row])
    J = [[ring.include(point.ring.zero + x) for x in row] for row in _geometric(point)]
    lower = [[_inner(line, column, ring) for column in zip(*J[3:], strict=True)] for line in inverse]
    basis = point.basis.with_symbols(names)
    rows = [[Entry(basis, x) for x in row] for row in (*J[:3], *lower)]
    found = AnalyticalJacobian(
        rows, f"Analytical Jacobian of {point.called}, angles {', '.join(names)}", "(7.128)"
    )
    square = [[ring.constant(int(i == j)) for j in range(6)] for i in range(6)]
    for i in range(3):
        square[3 + i][3:] = [ring.constant(x) for x in T[i]]
    found.T_A = Array([[Entry(basis, x) for x in row] for row in square], "T_A", "(7.128)")
    return found


def _inner(line: Sequence[Expression], column: Sequence[Poly], ring: Ring) -> Poly:
    return sum((ring.constant(t) * x for t, x in zip(line, column, strict=True)), ring.zero)


def _transforms(angles: Angles) -> tuple[list[list[Expression]], list[list[Expression]]]:
    """T with ω = T · rates, base axes, and its inverse."""
    first, second, third = (Expression.symbol(name) for name in _ANGLES[angles])
    zero, one = Expression.of(0), Expression.of(1)
    if angles == "zyz":
        s, c, st, ct = first.sin(), first.cos(), second.sin(), second.cos()
        T = [[zero, -s, c * st], [zero, c, s * st], [one, zero, ct]]
        return T, [[-c * ct / st, -s * ct / st, one], [-s, c, zero], [c / st, s / st, zero]]
    s, c, sp, cp = third.sin(), third.cos(), second.sin(), second.cos()
    T = [[c * cp, -s, zero], [s * cp, c, zero], [-sp, zero, one]]
    return T, [[c / cp, s / cp, zero], [-s, c, zero], [c * sp / cp, s * sp / cp, one]]
