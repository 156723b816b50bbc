"""Entries with names replaced, differentiated by a name, and as numbers at a state.

The names are those of the description's symbols and of the joint variables q1 …, qd1 …, qdd1 …
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from armdyn.dynamics import rigid_torques
from armdyn.exact.engine.basis import Basis, NotInEquationsError, angle_parts, cos_sin_of_sum
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.expression import ONE, ZERO, ArmdynError, Atom, Expression, MissingValueError, listed, shown
from armdyn.model.friction import Row
from armdyn.model.lowering import lower

_TRIG = re.compile(r"([cs])(\d+(?:_\d+)*)")
_VARIABLE = re.compile(r"(q|qd|qdd)(\d+)")
Values = Mapping[str, Expression]


def known_names(basis: Basis) -> list[str]:
    """The description's symbols, then q1 … of all coordinates, qd1 …, qdd1 …"""
    variables = [f"{x}{i + 1}" for x in ("q", "qd", "qdd") for i in range(basis.n)]
    return [*(name for name, _ in basis.model.symbols), *variables]


def check_name(basis: Basis, name: object) -> str:
    """A name that entries can be asked about; an error that lists them for any other."""
    known = known_names(basis)
    if isinstance(name, str) and name in known:
        return name
    raise NotInEquationsError(f"{shown(name)} is not in these equations; they have {listed(known)}")


def _used(poly: Poly) -> list[str]:
    """The generators that occur."""
    return [name for name, e in zip(poly.ring.names, poly.p.degrees(), strict=True) if e]


def _constant(ring: Ring, name: str) -> Expression | None:
    """A generator that stands for something of the description: a symbol, a function, an inverse."""
    plain = name.removeprefix("1/")
    atom = next((atom for atom in ring.atoms if str(atom) == plain), None)
    if atom is None:
        return None
    return Expression({((atom, 1 if plain == name else -1),): ONE.terms[0][1]})


def _summed(row: Row, values: Values, prefix: str) -> Expression:
    """Σ k_j x_j over coordinates, in the values given."""
    terms = (Expression.of(k).substitute(values) * _variable(values, f"{prefix}{j + 1}") for j, k in row)
    return sum(terms, ZERO)


def _variable(values: Values, name: str) -> Expression:
    return values.get(name, Expression.symbol(name))


# ---- replacing ---------------------------------------------------------------------------------------------


def substituted(basis: Basis, poly: Poly, values: Values) -> Poly:
    """A polynomial with names replaced, all at once and exactly, also inside functions and angles.

    An angle may become a sum of whole multiples of angles and a constant.
    """
    return _Substitution(basis, poly, values).result()


class _Substitution:
    def __init__(self, basis: Basis, poly: Poly, values: Values) -> None:
        self.basis, self.poly, self.values = basis, poly, values
        self.used = _used(poly)

    def result(self) -> Poly:
        images = {name: self._image(name) for name in self.used}
        changed = {name: image for name, image in images.items() if image is not None}
        needed = [x for image in changed.values() for x in image.needed]
        target = ring_with(self.basis, self.poly.ring, needed)
        places = [
            (changed[name].in_ring(self.basis, target) if name in changed else target.gen(name)).p
            if name in images
            else target.zero.p
            for name in self.poly.ring.names
        ]
        return Poly(target, target.reduce(self.poly.p.compose(*places, ctx=target.context)))

    def _image(self, name: str) -> _Image | None:
        """What a generator becomes; None where it stays."""
        values, basis = self.values, self.basis
        if trig := _TRIG.fullmatch(name):
            joints = [f"q{i}" for i in trig[2].split("_")]
            if not values.keys() & set(joints):
                return None
            angle = sum((_variable(values, q) for q in joints), ZERO)
            return _Angle(basis, angle, trig[1])
        if row := _speed_row(basis, name):
            speed, before = _summed(row, values, "qd"), _summed(row, {}, "qd")
            return None if speed == before else _faded(name, speed)
        if name in basis.loads:
            raise ArmdynError(
                f"{name}: the size of a torque depends on every name; nothing is replaced in it"
            )
        x = _constant(self.poly.ring, name) or Expression.symbol(name)
        return _Constant(x.substitute(values)) if x.symbols() & values.keys() else None


class _Image:
    """What stands in the place of a generator, and the numbers that a ring needs for it."""

    needed: Sequence[Expression] = ()

    def in_ring(self, basis: Basis, ring: Ring) -> Poly:
        raise NotImplementedError


class _Constant(_Image):
    def __init__(self, value: Expression) -> None:
        moving = [name for name in value.symbols() if _VARIABLE.fullmatch(name)]
        self.value = value
        self.needed = [] if moving else [value]

    def in_ring(self, basis: Basis, ring: Ring) -> Poly:
        return basis.element(self.value, ring)


class _Angle(_Image):
    """The cosine or sine of an angle that is given."""

    def __init__(self, basis: Basis, angle: Expression, kind: str) -> None:
        parts = angle_parts(angle, basis.joints)
        if parts is None:
            raise ArmdynError(f"an angle may become whole multiples of angles and a constant, not '{angle}'")
        self.joints, constant = parts
        self.needed = (constant.cos(), constant.sin())
        self.kind = kind

    def in_ring(self, basis: Basis, ring: Ring) -> Poly:
        c, s = (ring.constant(x) for x in self.needed)
        return cos_sin_of_sum(ring, self.joints, (c, s))["cs".index(self.kind)]


def _speed_row(basis: Basis, name: str) -> Row:
    """The coordinates whose speed an opaque function of friction is of; empty for any other generator."""
    if match := re.fullmatch(r"sgn(m?)(\d+)", name):
        i = int(match[2]) - 1
        return basis.speeds[i].row if match[1] else ((i, 1),)
    return basis.bells[name].row if name in basis.bells else ()


def _faded(name: str, speed: Expression) -> _Image:
    """sign(v) or exp(−(v/width)²) of a speed that is known."""
    number = speed.number
    if number is not None and name.startswith("sgn"):
        return _Constant(Expression.of((number > 0) - (number < 0)))
    if number == 0:
        return _Constant(ONE)
    raise ArmdynError(
        f"{name}: it is exact for a speed that is a number only, not '{speed}'; value() takes numbers"
    )


def ring_with(basis: Basis, ring: Ring, needed: Sequence[Expression]) -> Ring:
    """A ring with the generators of this one, in which some more numbers can be written."""
    more = [x for name in ring.names if name not in basis.full.index and (x := _constant(ring, name))]
    if ring.cosines == basis.full.cosines and ring.joints == basis.full.joints:
        return basis.extended([*more, *needed]) if any(x.atoms() for x in (*more, *needed)) else basis.full
    return basis.extended([*more, *needed], ring.joints, ring.related)


# ---- derivatives -------------------------------------------------------------------------------------------


def differentiated(basis: Basis, poly: Poly, name: str) -> Poly:
    """∂/∂name. Signs of speeds count as constants, which they are wherever the speed is not zero."""
    used = _used(poly)
    for opaque in used:
        if opaque in basis.loads:
            raise ArmdynError(f"{opaque}: the size of a torque has no derivative in closed form here")
        if opaque in basis.bells:
            fading = basis.bells[opaque]
            inside = Expression.of(fading.stribeck_velocity) * _summed(fading.row, {}, "qd")
            if name in inside.symbols():
                raise ArmdynError(f"{opaque}: exp(-(v/width)**2) has no derivative in closed form here")
    if variable := _VARIABLE.fullmatch(name):
        return poly.by_joint(int(variable[2]) - 1) if variable[1] == "q" else poly.derivative(name)
    slopes = {g: x for g in used if (x := _slope(_constant(poly.ring, g), name))}
    target = ring_with(basis, poly.ring, list(slopes.values()))
    total = target.zero
    for generator, slope in slopes.items():
        total = total + target.include(poly.derivative(generator)) * target.constant(slope)
    return total


def _slope(x: Expression | None, name: str) -> Expression | None:
    """The derivative of a constant by a symbol; None where it is zero."""
    if x is None or name not in x.symbols():
        return None
    total = ZERO
    for monomial, coefficient in x.terms:
        for atom, e in monomial:
            inner = _inner_slope(atom, name)
            if not inner.is_zero:
                others = {tuple((a, k) for a, k in monomial if a != atom): coefficient * e}
                power = Expression({((atom, 1),): ONE.terms[0][1]}) ** (e - 1)
                total = total + Expression(others) * power * inner
    return None if total.is_zero else total


def _inner_slope(atom: Atom, name: str) -> Expression:
    if atom.argument is None:
        return ONE if atom.kind == "symbol" and atom.name == name else ZERO
    inner = _slope(atom.argument, name)
    if inner is None:
        return ZERO
    if atom.kind == "abs":
        raise ArmdynError(f"{atom}: the size of a number has no derivative by '{name}' everywhere")
    x = atom.argument
    outer = -x.sin() if atom.kind == "cos" else x.cos() if atom.kind == "sin" else -(ONE / (x * x))
    return outer * inner


# ---- numbers -----------------------------------------------------------------------------------------------


def number(basis: Basis, poly: Poly, given: Mapping[str, Any]) -> float:
    """The value of a polynomial at numbers by name; symbols that are not given have the description's.

    Generators may be given themselves: c1, s12, sgn1.
    """
    at = _State(basis, poly.ring, given)
    degrees = poly.p.degrees() if poly else [0] * len(poly.ring.names)
    values = [at.value(name) if e else 1.0 for name, e in zip(poly.ring.names, degrees, strict=True)]
    if at.missing:
        names = [name for name in known_names(basis) if name in at.missing]
        raise MissingValueError(f"a number needs values for {listed(names or sorted(at.missing))}")
    total = 0.0
    for exponents, coefficient in poly.terms().items():
        total += float(coefficient) * math.prod(
            x ** int(e) for x, e in zip(values, exponents, strict=True) if e
        )
    return total


class _State:
    def __init__(self, basis: Basis, ring: Ring, given: Mapping[str, Any]) -> None:
        self.basis, self.ring, self.given = basis, ring, given
        self.symbols = {**basis.model.exact_values, **given}
        self.missing: set[str] = set()

    def value(self, name: str) -> float:
        basis = self.basis
        if name in self.given:
            return float(self.given[name])
        if trig := _TRIG.fullmatch(name):
            return self._turned(trig[1], trig[2].split("_"))
        if row := _speed_row(basis, name):
            speed = self._along(row)
            if name.startswith("sgn"):
                return float((speed > 0) - (speed < 0))
            return math.exp(-((speed / self._number(basis.bells[name].stribeck_velocity)) ** 2))
        if name in basis.loads:
            return self._load(basis.loads[name])
        constant = _constant(self.ring, name)
        return self._number(constant if constant is not None else Expression.symbol(name))

    def _turned(self, kind: str, joints: list[str]) -> float:
        """Cosine or sine of a sum of angles, each given itself or by its cosine and sine."""
        c, s = 1.0, 0.0
        for j in joints:
            if f"c{j}" in self.given and f"s{j}" in self.given:
                cj, sj = float(self.given[f"c{j}"]), float(self.given[f"s{j}"])
            else:
                angle = self._number(Expression.symbol(f"q{j}"))
                cj, sj = math.cos(angle), math.sin(angle)
            c, s = c * cj - s * sj, s * cj + c * sj
        return c if kind == "c" else s

    def _along(self, row: Row) -> float:
        return sum(self._number(k) * self._number(Expression.symbol(f"qd{j + 1}")) for j, k in row)

    def _load(self, joint: int) -> float:
        """|τ| of a joint without friction."""
        n = range(1, self.basis.n + 1)
        q, qd, qdd = ([self._number(Expression.symbol(f"{x}{i}")) for i in n] for x in ("q", "qd", "qdd"))
        return abs(float(rigid_torques(lower(self.basis.model, self._number), q, qd, qdd)[joint]))

    def _number(self, x: object) -> float:
        exact = Expression.of(x)
        missing = exact.symbols() - self.symbols.keys()
        self.missing |= missing
        return 1.0 if missing else exact.value(self.symbols)
