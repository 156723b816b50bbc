"""The basis that the equations of one robot are written in: two rings and the parameters that join them.

The *kinematic* ring has joint variables and geometry; the coefficients of the dynamic parameters live there,
which keeps them small. The *full* ring has the inertial symbols too; entries are expanded into it on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod

from armdyn.exact.ring import Poly, Ring, check_joints
from armdyn.exact.runs import Run, parallel_runs, related_runs
from armdyn.expression import ZERO, ArmdynError, Atom, Expression, limited, listed, parse, shown
from armdyn.expression.expression import decimal_places
from armdyn.model.edit import declared
from armdyn.model.friction import Row
from armdyn.model.mechanism import Mechanism, unchanged
from armdyn.model.parameters import Parameter, layout, mechanism_with, parameter_vector
from armdyn.model.robot_model import RobotModel, lower, product
from armdyn.model.vector import Scalar
from armdyn.names import quoted

# ------------------------------------------------------------------------------------------------------------
# A mechanism over a ring: geometry from the description, dynamic parameters as the caller wants them.


def atoms_of(entries: Iterable[Scalar]) -> tuple[set[Atom], set[Atom]]:
    """All atoms in some exact numbers, and those of them that occur inverted."""
    found: set[Atom] = set()
    inverted: set[Atom] = set()
    for x in entries:
        if isinstance(x, Expression):
            for monomial, _ in x.terms:
                found |= {atom for atom, _ in monomial}
                inverted |= {atom for atom, exponent in monomial if exponent < 0}
    return found, inverted


def over_ring(
    exact: Mechanism, ring: Ring, parameters: Sequence[Scalar], layout: Sequence[Parameter]
) -> Mechanism:
    """The mechanism with its geometry in the ring and the given parameters, in the order of the layout."""

    def constant(x: Scalar) -> Scalar:
        return ring.constant(x) if isinstance(x, Expression) else x

    return mechanism_with(exact.map(constant, unchanged), parameters, layout)


# ------------------------------------------------------------------------------------------------------------
# Springs that closed forms have: all at joints, and those between points whose energy is a polynomial.
#
# The energy of a spring between points is ½ k l² − P l. Its length l is a square root, l² is a polynomial:
# so a spring without rest length and force is exact.


class SpringError(ArmdynError):
    """A spring has no closed form."""


def check_struts(model: RobotModel, exact: Mechanism) -> None:
    """Refuse springs between points with a rest length or a force."""
    for strut in exact.struts:
        if not Expression.of(strut.preload).is_zero:
            spring = model.springs[strut.number]
            a, b = (quoted(name) for name in spring.between)
            raise SpringError(
                f"spring {quoted(spring.name) if spring.name else strut.number + 1} between {a} and {b} has "
                "a rest length or a force: its torques hold the square root of a sum, which exact equations "
                "do not have; springs at joints are exact, and springs between points without rest length "
                "and force; numeric functions (robot.springs and so on, exported C) take all springs"
            )


def is_polynomial(parameter: Parameter) -> bool:
    """True if the regressor's column of a parameter is a polynomial: that of a preload P is not."""
    return parameter.kind.entry != "preload"


# ------------------------------------------------------------------------------------------------------------
# The basis.


WRENCH = ("fx", "fy", "fz", "mux", "muy", "muz")  # h_e: force and moment the tip exerts, world axes
_SUM = re.compile(r"(c|s|qd)(\d+)((?:_\d+)*|_to_(\d+))")
_MAX_TEXT = 10**6
MAX_MULTIPLE = 16  # of a joint angle in a cosine or sine
_MAX_PRODUCTS = 10**6  # of terms, to put the description's own expressions together


class NotInEquationsError(ArmdynError):
    """Something has no place in the equations: a name they do not have, a function they know nothing of."""


class Basis:
    """The rings, the parameter values and the readers and printers of one robot's equations."""

    named_groups = False  # whether the parameters are sums of constants that have no name yet

    def __init__(
        self, model: RobotModel, exact: Mechanism | None = None, wrench: Sequence[Expression] = ()
    ) -> None:
        """`exact`: the mechanism, if it is not to be that of the model as it stands.

        `wrench` has the six entries of h_e. Torques are linear in them, as in the dynamic parameters, behind
        which they stand in `parameters`.
        """
        self.model = model
        with limited(_MAX_PRODUCTS):
            self.exact: Mechanism = exact or lower(model, lambda x: x)
        self.layout = layout(model)
        self.parameter_names = tuple(parameter.name for parameter in self.layout)
        self.parameters = [Expression.of(x) for x in parameter_vector(self.exact, self.layout)]
        self.parameter_names += WRENCH[: len(wrench)]
        self.parameters += wrench
        self.joints = tuple(link.joint for link in model.coordinates)
        self.speeds = tuple(surface for surface in self.exact.friction if not _of_one(surface.row))
        numbered = enumerate(self.exact.friction)
        self.bells = {f"bell{e + 1}": f for e, f in numbered if f.row and f.is_paced}
        rounded = ((e, f) for e, f in enumerate(self.exact.friction) if f.row and f.is_rounded)
        self.tanhs = {f"tanh{e + 1}": f for e, f in rounded}
        self.loads = {f"absr{f.row[0][0] + 1}": f.row[0][0] for f in self.exact.friction if f.has_load}
        related = [x for angle in self._angles for x in angle.atoms]
        related += [Expression.symbol(f"q{i + 1}") for i in self.measured]
        self._geometry = atoms_of([*self.exact.scalars(parameters=False), *related])

    @property
    def n(self) -> int:
        return self.exact.n

    @cached_property
    def names(self) -> list[str]:
        """The description's symbols, then q1 … of all coordinates, qd1 …, qdd1 …"""
        variables = [f"{x}{i + 1}" for x in ("q", "qd", "qdd") for i in range(self.n)]
        return [*(name for name, _ in self.model.symbols), *variables]

    def check_name(self, name: object) -> str:
        """A name that entries can be asked about; an error that lists them for any other."""
        if isinstance(name, str) and name in self.names:
            return name
        raise NotInEquationsError(f"{shown(name)} is not in these equations; they have {listed(self.names)}")

    @cached_property
    def decimals(self) -> bool:
        """True if numbers are printed as decimals, not as fractions."""
        entries = [*self.exact.scalars(parameters=False), *self.parameters]
        return in_decimals(c for x in entries for _, c in Expression.of(x).terms)

    @cached_property
    def runs(self) -> list[Run]:
        """Joints with parallel axes."""
        return parallel_runs(self.exact, self.joints)

    @cached_property
    def _angles(self) -> list[RelatedAngle]:
        """Angles of the related joints that turn."""
        pairs = zip(self.exact.bodies, self.exact.rows, strict=False)
        return [RelatedAngle(row, self.joints) for body, row in pairs if body.joint == "revolute"]

    @property
    def measured(self) -> list[int]:
        """The angles that move sliding joints or stretch springs, so that they enter by themselves."""
        rows = [spring.row for spring in self.exact.springs]
        if self.exact.rows:
            rows = [product(row, self.exact.rows) for row in rows]
        sprung = {j for row in rows for j, _ in row if self.joints[j] == "revolute"}
        return sorted(sprung.union(self._sliding))

    @property
    def _sliding(self) -> list[int]:
        """The angles that move sliding joints."""
        pairs = zip(self.exact.bodies, self.exact.rows, strict=False)
        moved = {j for body, row in pairs if body.joint == "prismatic" for j, _ in row}
        return [j for j in sorted(moved) if self.joints[j] == "revolute"]

    @property
    def is_trigonometric(self) -> bool:
        """True if angles enter by cosines and sines of their whole sums, related joints included.

        Springs aside: in their torques angles stand by themselves.
        """
        return not self._sliding and all(angle.whole is not None for angle in self._angles)

    @cached_property
    def kinematic(self) -> Ring:
        return self._ring(*self._geometry)

    @cached_property
    def full(self) -> Ring:
        return self.extended([])

    @cached_property
    def related(self) -> list[Run]:
        """Coordinates of which angles are sums of multiples."""
        return related_runs(self.exact, self.joints)

    def extended(
        self,
        further: Sequence[Expression],
        joints: Sequence[str] | None = None,
        related: Sequence[Run] = (),
    ) -> Ring:
        """The full ring with what further numbers need, and perhaps other kinds of joints.

        `related` has coordinates of these that come in sums and differences.
        """
        atoms, inverted = atoms_of([*self.parameters, *further])
        symbols = {Atom("symbol", name) for name, _ in self.model.symbols}
        everything = self._geometry[0] | atoms | symbols
        if joints and self.measured:  # the angles of the new coordinates instead of the old ones
            everything -= {Atom("symbol", f"q{i + 1}") for i in range(self.n)}
            everything |= {Atom("symbol", f"q{i + 1}") for i in range(self.n) if joints[i] == "revolute"}
        return self._ring(everything, self._geometry[1] | inverted, joints=joints, related=related)

    @cached_property
    def with_parameter_names(self) -> Ring:
        """The kinematic ring with one generator per dynamic parameter."""
        return self.with_names([f"[{name}]" for name in self.parameter_names])

    def with_names(self, names: Sequence[str], further: Sequence[Expression] = ()) -> Ring:
        """The kinematic ring with further generators, and with what further numbers need."""
        atoms, inverted = atoms_of(further)
        return self._ring(self._geometry[0] | atoms, self._geometry[1] | inverted, tuple(names))

    def with_symbols(self, names: Sequence[str]) -> Basis:
        """The basis of entries that hold further symbols: these count among its names."""
        found = copy(self)
        found.model = declared(self.model, [Expression.symbol(name) for name in names])
        found.__dict__.pop("names", None)  # it lists the symbols
        return found

    def _ring(
        self,
        atoms: set[Atom],
        inverted: set[Atom],
        names: tuple[str, ...] = (),
        joints: Sequence[str] | None = None,
        related: Sequence[Run] = (),
    ) -> Ring:
        check_joints(self.n)
        opaque = (*self.bells, *self.tanhs, *self.loads)
        given, runs = (joints, ()) if joints else (self.joints, self.runs)
        shared = related if joints else self.related
        ring = Ring(given, atoms | inverted, inverted, len(self.speeds), (*opaque, *names), runs, shared)
        for i, friction in enumerate(self.speeds):
            ring.register_sign(_along(ring, friction.row, "qd"), f"sgnm{i + 1}")
        for name, friction in self.bells.items():
            width = ring.constant(friction.stribeck_velocity)
            ring.register_bell(_along(ring, friction.row, "qd"), width, name)
        for name, friction in self.tanhs.items():
            width = ring.constant(Expression.of(friction.width))
            ring.register_tanh(_along(ring, friction.row, "qd"), width, name)
        if joints is None:
            for angle in self._angles:
                ring.register_angle(_along(ring, angle.row, "q"), *angle.cos_sin(ring))
            for i in [] if self.exact.rows else self.measured:
                ring.register_angle(ring.gen(f"q{i + 1}"), *ring.angle(i))
        return ring

    @cached_property
    def values(self) -> list[Poly]:
        """The parameters in the full ring."""
        return [self.full.constant(x) for x in self.parameters]

    @cached_property
    def value_sizes(self) -> list[int]:
        return [len(x) for x in self.values]

    def mechanism(self, ring: Ring | None = None) -> Mechanism:
        """The robot over the kinematic ring (or a larger one), its parameters set to zero: for regressors."""
        return over_ring(self.exact, ring or self.kinematic, [0] * len(self.layout), self.layout)

    def valued_mechanism(self) -> Mechanism:
        """The robot over the full ring, its parameters in the description's symbols."""
        check_struts(self.model, self.exact)
        values = [x if is_polynomial(p) else 0 for p, x in zip(self.layout, self.values, strict=False)]
        return over_ring(self.exact, self.full, values, self.layout)

    def named_mechanism(self) -> Mechanism:
        """The robot over the ring with parameter names, each parameter a generator."""
        ring = self.with_parameter_names
        generators = [
            ring.gen(f"[{parameter.name}]") if is_polynomial(parameter) else 0 for parameter in self.layout
        ]
        return over_ring(self.exact, ring, generators, self.layout)

    # ---- reading ---------------------------------------------------------------------------------------

    def read(self, text: str, ring: Ring | None = None) -> Poly:
        """A text in the description's symbols and joint variables as an element (of the full ring).

        Joints enter as c1 s1 c12 c1_to_12 …, cos(q1), sin(q1 + q2), q1 (prismatic), qd1, qdd1, sgn1, bell1
        (exp(−(qd1/v)²) of Stribeck friction), tanh1 (tanh(qd1/w) of dry friction with a width), absr1
        (|τ| without friction); a power is written ** or ^.
        """
        return self.element(parse(text.replace("^", "**"), max_length=_MAX_TEXT), ring)

    def element(self, x: Expression, ring: Ring | None = None) -> Poly:
        """An expression in these names as an element (of the full ring)."""
        ring = ring or self.full
        total = ring.zero
        for monomial, coefficient in x.terms:
            factors = (self._generator(ring, atom, e < 0) ** abs(e) for atom, e in monomial)
            total = total + prod(factors, start=ring.one * coefficient)
        return total

    def _generator(self, ring: Ring, atom: Atom, inverted: bool) -> Poly:
        name = f"1/{atom}" if inverted else str(atom)
        if name in ring.index:
            return ring.gen(name)
        if not inverted and atom.kind in ("cos", "sin") and atom.argument is not None:
            found = self._of_angle(ring, atom.argument)
            if found is not None:
                return found[atom.kind == "sin"]
        joints = self.joints_of(name)
        known = all(0 <= j < self.n and self.joints[j] == "revolute" for j in joints)
        if joints and known and name.startswith("qd"):
            return _along(ring, tuple((j, 1) for j in joints), "qd")
        if joints and known:
            return cos_sin_of_sum(ring, [(j, 1) for j in joints])[name[0] == "s"]
        names = ", ".join(n for n in ring.names if not n.startswith("["))
        raise NotInEquationsError(f"'{name}' is not in these equations; they have {names}")

    def joints_of(self, name: str) -> list[int]:
        """The joints summed in c123, c1_2_3 or c1_to_3; with ten joints or more c12 is of joint 12."""
        match = _SUM.fullmatch(name)
        if not match:
            return []
        _, first, further, last = match.groups()
        if last:
            return list(range(int(first) - 1, int(last)))
        if further or int(first) <= self.n:
            return [int(d) - 1 for d in (first + further).split("_")]
        return [int(d) - 1 for d in first]

    def _of_angle(self, ring: Ring, angle: Expression) -> tuple[Poly, Poly] | None:
        """cos and sin of whole multiples of joint angles plus a constant; None for any other angle."""
        parts = angle_parts(angle, self.joints)
        if parts is None or not parts[0]:
            return None
        joints, constant = parts
        c, s = (self.element(x, ring) for x in (constant.cos(), constant.sin()))
        return cos_sin_of_sum(ring, joints, (c, s))


def angle_parts(angle: Expression, joints: Sequence[str]) -> tuple[list[tuple[int, int]], Expression] | None:
    """The whole multiples of joint angles in an angle, and the constant beside them; None for any other."""
    turning = {f"q{j + 1}": j for j, kind in enumerate(joints) if kind == "revolute"}
    found: list[tuple[int, int]] = []
    constant = angle
    for monomial, coefficient in angle.terms:
        if len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0].name in turning:
            if coefficient.denominator != 1 or abs(coefficient) > MAX_MULTIPLE:
                return None
            found.append((turning[monomial[0][0].name], int(coefficient)))
            constant = constant - Expression({monomial: coefficient})
    return None if constant.symbols() & turning.keys() else (found, constant)


def _along(ring: Ring, row: Row, prefix: str) -> Poly:
    """Σ k_j q_j, or of velocities."""
    factors = ((j, ring.constant(k) if isinstance(k, Expression) else k) for j, k in row)
    return sum((ring.gen(f"{prefix}{j + 1}") * k for j, k in factors), ring.zero)


def _of_one(row: Row) -> bool:
    """True if the sign of a speed is that of one coordinate's, or of none."""
    return not row or (len(row) == 1 and Expression.of(row[0][1]).number is not None)


@dataclass(frozen=True)
class RelatedAngle:
    """The angle Σ k_j q_j of a joint that is related to others.

    Its cosine and sine are multiplied out where it is a sum of whole multiples of angles; else they are
    opaque, with the derivatives of cosine and sine.
    """

    row: Row
    joints: tuple[str, ...]

    @property
    def whole(self) -> list[tuple[int, int]] | None:
        """The multiples, if all are whole and of angles."""
        found = []
        for j, k in self.row:
            number = Expression.of(k).number
            if number is None or number.denominator != 1 or abs(number) > MAX_MULTIPLE:
                return None
            if self.joints[j] != "revolute":
                return None
            found.append((j, int(number)))
        return found

    @cached_property
    def opaque(self) -> tuple[Expression, Expression]:
        total = sum((Expression.of(k) * Expression.symbol(f"q{j + 1}") for j, k in self.row), ZERO)
        return total.cos(), total.sin()

    @property
    def atoms(self) -> list[Expression]:
        """Atoms that the ring needs for the angle."""
        angles = [Expression.symbol(f"q{j + 1}") for j, _ in self.row if self.joints[j] == "revolute"]
        return angles if self.whole is not None else [*angles, *self.opaque]

    def cos_sin(self, ring: Ring) -> tuple[Poly, Poly]:
        if self.whole is not None:
            return cos_sin_of_sum(ring, self.whole)
        c, s = self.opaque
        return ring.constant(c), ring.constant(s)


def cos_sin_of_sum(
    ring: Ring, joints: Iterable[tuple[int, int]], start: tuple[Poly, Poly] | None = None
) -> tuple[Poly, Poly]:
    """cos and sin of a sum of multiples (joint, times) of joint angles, multiplied out.

    `start` has those of an angle to begin with.
    """
    c, s = start or (ring.one, ring.zero)
    for j, times in joints:
        if times:
            cj, sj = ring.angle(j)
            sj = sj if times > 0 else -sj
        for _ in range(abs(times)):
            c, s = c * cj - s * sj, s * cj + c * sj
    return c, s


def in_decimals(numbers: Iterable[Fraction]) -> bool:
    """Whether a description with these numbers has its equations in decimals.

    Not if all of them read well as fractions; nor if one has no end as a decimal (1/3) and none is long.
    """
    found = list(numbers)
    if all(is_short(x) for x in found):
        return False
    endless = any(decimal_places(x) is None for x in found)
    return not (endless and all(abs(x.numerator) < 1000 and x.denominator < 1000 for x in found))


def is_short(x: Fraction) -> bool:
    """Whether a number of a description reads well as it is or as a fraction: 50, 3/4, 1/3, but not 0.35."""
    if x.denominator == 1:
        return abs(x) < 10**12
    if abs(x.numerator) >= 1000 or x.denominator >= 1000:
        return False
    return decimal_places(x) is None or (x.denominator <= 64 and x.denominator % 5 != 0)
