"""What the textbook tests share: a robot over the ring of all its symbols, compared with formulas as text."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from armdyn import Equations, Expression, Robot
from armdyn.dynamics import NewtonEuler, inverse_dynamics, newton_euler
from armdyn.dynamics.kinematics import base_frames, joint_frames
from armdyn.exact.basis import over_ring
from armdyn.exact.form import Array, Form, Formula
from armdyn.exact.kinematics import Jacobian
from armdyn.exact.ring import Poly
from armdyn.expression import parse
from armdyn.model import FIXED_BASE
from armdyn.model.vector import Vector, add, apply, vector

Index = tuple[int, ...]
UNCHECKED = "*"  # a component that the source did not work out either


class Arm:
    """A robot's exact equations, and its algorithms run with every number in the description's symbols."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.eq: Equations = robot.equations()
        basis = self.eq.basis
        self.ring = basis.full
        self.mechanism = over_ring(basis.exact, self.ring, basis.values, basis.layout)
        self.q, self.qd, self.qdd = self.ring.joint_variables()
        self.frames = base_frames(self.mechanism, joint_frames(self.mechanism, self.q))

    # ---- formulas --------------------------------------------------------------------------------------

    def read(self, text: str | int, **where: str) -> Poly:
        """A formula; `where` gives abbreviations used in it, a later one may use earlier ones."""
        expression = parse(str(text))
        for name, meaning in reversed(where.items()):
            expression = expression.substitute({name: parse(meaning)})
        return self.eq.basis.read(str(expression))

    def element(self, x: Any) -> Poly:
        """An entry of the equations, an element of either ring or an exact number, in the ring of symbols."""
        if isinstance(x, Formula):
            x = x.poly
        if isinstance(x, Poly):
            return self.ring.include(x)
        return self.ring.constant(Expression.of(x))

    def differences(self, found: Any, expected: Any, **where: str) -> dict[Index, str]:
        """Found minus expected, entry by entry, for the entries that differ. Empty: equal, proved."""
        return {
            index: f"found {self.element(x)}, expected {text}, difference {difference}"
            for index, x, text in _pairs(found, expected)
            if (difference := self.element(x) - self.read(text, **where))
        }

    def minus(self, A: Any, B: Any) -> list[list[Poly]]:
        """A − B of two matrices, of this robot or of one with the same symbols."""
        pairs = [zip(a, b, strict=True) for a, b in zip(A, B, strict=True)]
        return [[self.element(x) - self.element(y) for x, y in row] for row in pairs]

    # ---- quantities of the sources ---------------------------------------------------------------------

    def newton_euler(self, wrench: list[Any] | None = None) -> NewtonEuler:
        """The recursion's quantities; its torques with friction."""
        motion = newton_euler(self.mechanism, self.q, self.qd, self.qdd, wrench)
        return replace(motion, tau=inverse_dynamics(self.mechanism, self.q, self.qd, self.qdd, wrench))

    def point(self, body: int, position: Vector) -> Vector:
        """A point given in the frame of a body, in base axes."""
        local = vector(self.element(x) for x in position)
        if body == FIXED_BASE:
            return local
        return add(self.frames[body].p, apply(self.frames[body].R, local))

    def link_jacobians(self, i: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """J_P and J_O of the centre of mass of link i (7.16)–(7.19), as rows."""
        return self._parts(self.eq.jacobian(self.robot.model.moving[i].name, at="com"))

    def rotor_jacobians(self, i: int) -> tuple[list[list[Any]], list[list[Any]]]:
        """J_P and J_O of rotor i (7.25)–(7.29), as rows."""
        return self._parts(self.eq.jacobian(motor=self.robot.model.moving[i].name))

    def _parts(self, J: Jacobian) -> tuple[list[list[Any]], list[list[Any]]]:
        J_P, J_O = ([[self.element(x) for x in row] for row in part] for part in (J[:3], J[3:]))
        return J_P, J_O

    def quadratic_form(self, N: Array[Form]) -> Form:
        """q̇ᵀ N q̇."""
        total = Form(self.eq.basis, {})
        for i in range(self.eq.n):
            for j in range(self.eq.n):
                total = total + N[i, j].times_generator(f"qd{i + 1}").times_generator(f"qd{j + 1}")
        return total

    def column(self, name: str) -> list[Poly]:
        """The column of the regressor that belongs to a parameter."""
        p = self.eq.basis.parameter_names.index(name)
        return [self.eq.Y[i, p] for i in range(self.eq.n)]

    def parameter(self, name: str) -> Expression:
        """A dynamic parameter in the symbols of the description."""
        return self.eq.basis.parameters[self.eq.basis.parameter_names.index(name)]


def _pairs(found: Any, expected: Any, index: Index = ()) -> Iterator[tuple[Index, Any, Any]]:
    if isinstance(expected, (list, tuple)):
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            yield from _pairs(x, y, (*index, i))
    elif expected != UNCHECKED:
        yield index, found, expected


def cross_matrix(v: Vector) -> list[list[Any]]:
    """S(v): S(v) w = v × w."""
    x, y, z = v
    return [[0, -z, y], [z, 0, -x], [-y, x, 0]]
