"""A mechanism over a ring: geometry from the description, dynamic parameters as the caller wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from armdyn.exact.engine.ring import Ring
from armdyn.expression import Atom, Expression
from armdyn.model.mechanism import Extra, Mechanism, with_parameters
from armdyn.model.vector import Matrix, Scalar, Vector, vector


def geometry_entries(exact: Mechanism) -> Iterator[Scalar]:
    """Every number of a mechanism but its dynamic parameters: frames, axes, gears, gravity."""
    for body in exact.bodies:
        for row in (*body.R_before, *body.R_after):
            yield from row
        yield from (*body.p_before, *body.p_after, *body.axis)
    for rotor in exact.rotors:
        yield from rotor.axis
        yield from (k for _, k in rotor.row)
    for friction in exact.coupled_friction:
        yield from (k for _, k in friction.row)
    for row in (*exact.R_tip, exact.p_tip, exact.gravity):
        yield from row


def atoms_of(entries: Iterator[Scalar] | Sequence[Scalar]) -> tuple[set[Atom], set[Atom]]:
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
    exact: Mechanism, ring: Ring, parameters: Sequence[Scalar], further: Sequence[Extra]
) -> Mechanism:
    """The mechanism with its geometry in the ring and the given parameters (13 per joint, then extras)."""

    def number(x: Scalar) -> Scalar:
        return ring.constant(x) if isinstance(x, Expression) else x

    def vec(v: Vector) -> Vector:
        return vector(number(x) for x in v)

    def mat(M: Matrix) -> Matrix:
        return vector(vec(row) for row in M)

    def row(entries: tuple[tuple[int, Scalar], ...]) -> tuple[tuple[int, Scalar], ...]:
        return tuple((j, number(k)) for j, k in entries)

    geometry = Mechanism(
        bodies=tuple(
            replace(
                body,
                R_before=mat(body.R_before),
                p_before=vec(body.p_before),
                axis=vec(body.axis),
                R_after=mat(body.R_after),
                p_after=vec(body.p_after),
            )
            for body in exact.bodies
        ),
        rotors=tuple(replace(r, axis=vec(r.axis), row=row(r.row)) for r in exact.rotors),
        friction=tuple(replace(f, row=row(f.row)) for f in exact.friction),
        gravity=vec(exact.gravity),
        tip=exact.tip,
        R_tip=mat(exact.R_tip),
        p_tip=vec(exact.p_tip),
    )
    return with_parameters(geometry, parameters, further)
