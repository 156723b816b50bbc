"""A mechanism over a ring: geometry from the description, dynamic parameters as the caller wants them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from armdyn.exact.ring import Ring
from armdyn.expression import Atom, Expression
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import JointFriction, Mechanism
from armdyn.model.parameters import Extra
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
    for friction in exact.motor_friction:
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

    extra = {(e.kind, e.joint): x for e, x in zip(further, parameters[13 * exact.n :], strict=True)}
    return Mechanism(
        bodies=tuple(
            replace(
                body,
                R_before=mat(body.R_before),
                p_before=vec(body.p_before),
                axis=vec(body.axis),
                R_after=mat(body.R_after),
                p_after=vec(body.p_after),
                inertia=_inertia(parameters[13 * j : 13 * j + 10]),
            )
            for j, body in enumerate(exact.bodies)
        ),
        rotors=tuple(
            replace(
                rotor,
                axis=vec(rotor.axis),
                inertia=parameters[13 * rotor.joint + 10],
                row=row(rotor.row),
            )
            for rotor in exact.rotors
        ),
        friction=tuple(
            JointFriction(
                parameters[13 * j + 11],
                parameters[13 * j + 12],
                extra.get(("asymmetry", j), 0),
                extra.get(("offset", j), 0),
            )
            for j in range(exact.n)
        ),
        motor_friction=tuple(
            replace(
                f,
                row=row(f.row),
                viscous=extra["motor_viscous", f.joint],
                coulomb=extra["motor_coulomb", f.joint],
            )
            for f in exact.motor_friction
        ),
        gravity=vec(exact.gravity),
        tip=exact.tip,
        R_tip=mat(exact.R_tip),
        p_tip=vec(exact.p_tip),
    )


def _inertia(values: Sequence[Scalar]) -> Inertia:
    return Inertia(values[0], (values[1], values[2], values[3]), tuple(values[4:10]))
