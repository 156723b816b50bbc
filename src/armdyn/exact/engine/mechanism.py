"""A mechanism over a ring: geometry from the description, dynamic parameters as the caller wants them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from armdyn.exact.engine.ring import Ring
from armdyn.expression import Atom, Expression
from armdyn.model.mechanism import Mechanism, unchanged
from armdyn.model.parameters import Parameter, mechanism_with
from armdyn.model.vector import Scalar


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
