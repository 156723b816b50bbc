"""Equations of long runs of parallel axes in fewer parameters: what always occurs together gets one name.

In a planar chain the cosine of q_{a+1} + … + q_b always comes with a_a (m_b ℓ_b + a_b (m_{b+1} + …)). The
bracket is the same in every entry of B and g, so it is a parameter there; the entries of B then have as many
terms as there are angles, and C follows from them as always.
"""

from __future__ import annotations

from copy import copy
from math import gcd, lcm
from operator import sub
from typing import Any

from armdyn.exact.engine.basis import Basis
from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.form import Form
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.engine.runs import picking
from armdyn.expression import ONE

Exponents = tuple[int, ...]
Constant = tuple[tuple[Exponents, Any], ...]  # exponents of the constants, numbers of FLINT


def grouped(equations: ClosedForm) -> ClosedForm:
    """The same B, C and g in parameters that are sums of constants; without friction and springs."""
    groups = _Groups(equations.basis)
    T, U = groups.form(equations.kinetic_energy), groups.form(equations.gravity_energy)
    found = ClosedForm(equations.model, groups.basis)
    found.__dict__.update(beta_T=T.coefficients, gravity_energy=U)  # known, not to be derived
    return found


def coriolis_in_rates(equations: ClosedForm) -> list[list[Form]]:
    """C with the generator q̇_k of a joint in a long run standing for the rate of the sum of angles up to it.

    Σ_k c_ijk q̇_k with q̇_k = φ̇_k − φ̇_{k−1}: a sum of rates q̇_a + … + q̇_b has two terms.
    """
    n, summed = equations.n, equations.basis.kinematic.summed
    following = {joints[-2]: k for k, joints in enumerate(summed) if len(joints) > 1}
    rates = [f"qd{k + 1}" for k in range(n)]
    rows = []
    for i in range(n):
        symbols = equations.christoffel[i]
        row = []
        for j in range(n):
            total = Form(equations.basis, {})
            for k in range(n):
                symbol = symbols[j][k]
                if k in following:
                    symbol = symbol - symbols[j][following[k]]
                total = total + symbol.times_generator(rates[k])
            row.append(total)
        rows.append(row)
    return rows


class _Groups:
    """Sums of constants by what they are, and a basis in which they are the parameters.

    Their values are polynomials; what the basis has as expressions only says that they are not zero.
    """

    def __init__(self, basis: Basis) -> None:
        self.full, self.kinematic = basis.full, basis.kinematic
        self.basis = copy(basis)
        self.basis.decimals = basis.decimals
        self.basis.values, self.basis.value_sizes, self.basis.parameters = [], [], []
        self.basis.named_groups = True
        self._index: dict[Constant, int] = {}
        still = {str(atom) for atom in self.full.constants} | {f"1/{atom}" for atom in self.full.inverted}
        indices = range(len(self.full.names))
        self._constants = [k for k in indices if self.full.names[k] in still]
        self._moving = [k for k in indices if self.full.names[k] not in still]
        names = [self.full.names[k] for k in self._constants]
        self._lengths = [i for i, name in enumerate(names) if name in self.kinematic.index]
        self._of_lengths = picking(self._lengths)
        self._split = picking(self._moving), picking(self._constants)

    def form(self, entry: Form) -> Form:
        """An entry, collected by angles and motion; of each constant, what has no factor in common."""
        moving, constants = self._split
        parts: dict[Exponents, dict[Exponents, Any]] = {}
        for monomial, c in entry.expanded.p.to_dict().items():
            parts.setdefault(moving(monomial), {})[constants(monomial)] = c
        found: dict[int, dict[Exponents, Any]] = {}
        for outer, constant in parts.items():
            content, shared, rest = self._primitive(constant)
            factor = self._monomial(self.kinematic, outer, shared)
            found.setdefault(self._parameter(rest), {})[factor] = content
        context = self.kinematic.context
        return Form(self.basis, {p: Poly(self.kinematic, context.from_dict(a)) for p, a in found.items()})

    def _primitive(self, constant: dict[Exponents, Any]) -> tuple[Any, Exponents, Constant]:
        """Number and geometry that all terms have in common, and the rest."""
        shared = [0] * len(self._constants)
        for k, column in zip(self._lengths, zip(*map(self._of_lengths, constant), strict=True), strict=True):
            shared[k] = min(column)
        first, values = next(iter(constant.values())), set(constant.values())  # few differ
        content = type(first)(gcd(*(int(c.p) for c in values)), lcm(*(int(c.q) for c in values)))
        content = -content if first < 0 else content
        divided = {c: c / content for c in values}
        rest = [(tuple(map(sub, m, shared)), divided[c]) for m, c in constant.items()]
        return content, tuple(shared), tuple(sorted(rest, reverse=True))

    def _monomial(self, ring: Ring, moving: Exponents, constants: Exponents) -> Exponents:
        found = [0] * len(ring.names)
        for indices, exponents in ((self._moving, moving), (self._constants, constants)):
            for k, e in zip(indices, exponents, strict=True):
                if e:
                    found[ring.index[self.full.names[k]]] = e
        return tuple(found)

    def _parameter(self, constant: Constant) -> int:
        known = self._index.get(constant)
        if known is None:
            known = self._index[constant] = len(self._index)
            still = (0,) * len(self._moving)
            terms = {self._monomial(self.full, still, m): c for m, c in constant}
            self.basis.values.append(Poly(self.full, self.full.context.from_dict(terms)))
            self.basis.value_sizes.append(len(constant))
            self.basis.parameters.append(ONE)
        return known
