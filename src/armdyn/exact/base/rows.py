"""The energies as a matrix: a column for each dynamic parameter, a row for each function of the motion.

The Lagrangian is linear in the parameters (7.76). A function of the motion is a monomial in cosines, sines,
coordinates and velocities; in normal form these are independent functions. Kinetic and potential energy are
apart from each other, because one has velocities. A constant in the potential energy moves nothing and is
left out. Friction is no energy: its rows are torques. Only a constant torque at a coordinate, such as an
offset, counts as the potential energy that is linear in the coordinate: a weight on a slide looks the same.

The entries are polynomials in the constants of the geometry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import Any, TypeAlias

from armdyn.exact.engine.basis import MAX_MULTIPLE, Basis
from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.printing.printer import collected
from armdyn.expression import Expression
from armdyn.model.mechanism import Mechanism
from armdyn.model.robot_model import RobotModel

Key: TypeAlias = tuple[str, tuple[int, ...]]  # which function: of what kind, exponents of the generators
Row: TypeAlias = dict[int, Any]  # parameter -> FLINT polynomial in the constants


def energies(model: RobotModel) -> ClosedForm:
    """The closed form whose energies are compared; coordinates are scaled so that angles are whole sums."""
    basis = Basis(model)
    scaled = _scaled(basis.exact) if basis.exact.rows else None
    return ClosedForm(model, Basis(model, scaled) if scaled else basis)


def rows(closed: ClosedForm, columns: Sequence[int]) -> list[Row]:
    """The rows, without those that are zero, in an order that is always the same."""
    ring = closed.basis.kinematic
    found: dict[Key, dict[int, Poly]] = {}
    for key, p, coefficient in (*_energies(closed, columns), *_torques(closed, columns)):
        row = found.setdefault(key, {})
        row[p] = row[p] + coefficient if p in row else coefficient
    cleared = (_cleared(ring, found[key]) for key in sorted(found))
    return [row for row in cleared if row]


def _energies(closed: ClosedForm, columns: Sequence[int]) -> Iterator[tuple[Key, int, Poly]]:
    """The functions in the energies: which, of which parameter, with which coefficient."""
    moving = _moving(closed.basis.kinematic)
    still = (0,) * len(closed.basis.kinematic.names)
    for kind, beta in (("T", closed.beta_T), ("U", closed.beta_U)):
        for p in columns:
            if p in beta:
                for motion, coefficient in collected(beta[p], moving).items():
                    if kind == "T" or motion != still:
                        yield (kind, motion), p, coefficient


def _torques(closed: ClosedForm, columns: Sequence[int]) -> Iterator[tuple[Key, int, Poly]]:
    """The same of friction: sgn² counts as 1, which it is but at rest."""
    ring = closed.basis.kinematic
    moving = _moving(ring)
    still = (0,) * len(ring.names)
    signs = {i for i, name in enumerate(ring.names) if name.startswith("sgn")}
    for i, torques in enumerate(closed.friction_columns):
        for p in columns:
            if p in torques:
                for motion, coefficient in collected(torques[p], moving).items():
                    direction = tuple(e % 2 if k in signs else e for k, e in enumerate(motion))
                    key = _linear(ring, i) if direction == still else (f"F{i:03}", direction)
                    yield key, p, coefficient


def _linear(ring: Ring, i: int) -> Key:
    """The potential energy q_i, whose torque is constant; an angle need not have a generator."""
    name = f"q{i + 1}"
    if name not in ring.index:
        return f"U{i:03}", ()
    exponents = [0] * len(ring.names)
    exponents[ring.index[name]] = 1
    return "U", tuple(exponents)


def _moving(ring: Ring) -> list[int]:
    """The generators that change with the motion."""
    still = {str(atom) for atom in ring.constants} | {f"1/{atom}" for atom in ring.inverted}
    return [i for i, name in enumerate(ring.names) if name not in still]


def _cleared(ring: Ring, row: dict[int, Poly]) -> Row:
    """A row times what its entries are divided by; FLINT's polynomials are then free of inverses."""
    polynomials = {p: x.p for p, x in row.items() if x}
    for i, divisor in _inverses(ring):
        most = max((x.degrees()[i] for x in polynomials.values()), default=0)
        if most:
            polynomials = {p: _times(ring, x, i, divisor, int(most)) for p, x in polynomials.items()}
    return polynomials


def _inverses(ring: Ring) -> Iterator[tuple[int, Any]]:
    """Generators that stand for an inverse, and what of."""
    for atom in ring.inverted:
        yield ring.index[f"1/{atom}"], ring.gen(str(atom)).p
    for atom in ring.constants:
        if atom.kind == "inverse" and atom.argument is not None:
            yield ring.index[str(atom)], ring.constant(atom.argument).p


def _times(ring: Ring, x: Any, i: int, divisor: Any, most: int) -> Any:
    """x · divisor^most, generator i being 1/divisor."""
    parts = collected(Poly(ring, x), [i])
    total = ring.context.constant(0)
    for outer, part in parts.items():
        total = total + part.p * divisor ** (most - int(outer[i]))
    return ring.reduce(total)


# ---- coordinates -------------------------------------------------------------------------------------------


def _scaled(exact: Mechanism) -> Mechanism | None:
    """With coordinates in other units, so that angles which follow by rational factors are whole multiples.

    cos(q/2) and cos(q) are not independent, which the ring sees when both are written in q/2.
    """
    angles = [row for body, row in zip(exact.bodies, exact.rows, strict=True) if body.joint == "revolute"]
    units = dict.fromkeys(range(exact.n), 1)
    for row in angles:
        for i, k in row:
            number = Expression.of(k).number
            if number is not None:
                units[i] = lcm(units[i], number.denominator)
    factors = [(Expression.of(k).number or Fraction(0)) * units[i] for row in angles for i, k in row]
    largest = max(map(abs, factors), default=0)
    if set(units.values()) == {1} or largest > MAX_MULTIPLE:
        return None

    def scaled(row: Any) -> Any:
        return tuple((i, Expression.of(k) * units[i]) for i, k in row)

    friction = tuple(replace(surface, row=scaled(surface.row)) for surface in exact.friction)
    return replace(exact, rows=tuple(map(scaled, exact.rows)), friction=friction)
