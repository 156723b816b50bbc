"""Entries of the equations in a style (text, LaTeX, MathML), in the notation of the book.

An entry is multiplied out in the description's symbols and collected. An entry past `LIMIT` terms is written
in the augmented links' parameters, past that in named sub-expressions; `definitions` lists what was named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

from armdyn.exact.basis import Basis
from armdyn.exact.printing.angles import AngleSums, Factors, Trig
from armdyn.exact.printing.names import Roles, free_letter
from armdyn.exact.printing.styles import Factored, Style
from armdyn.exact.ring import Poly, Ring
from armdyn.expression import parse

# ------------------------------------------------------------------------------------------------------------
# Terms collected: constants in front of the angles, motion behind.


_MOTION = re.compile(r"(qdd?|sgnm?|bell|tanh|absr)\d+(_to_\d+|(_\d+)*)|(wd?|pdd?)0[xyz]")


class Monomial(NamedTuple):
    """A product: a rational number, generators by name, trigonometric factors."""

    coefficient: Fraction
    factors: Factors
    trig: tuple[Trig, ...] = ()


class Product(NamedTuple):
    """A term with sums in it: one of constants in front of the angles, one of motion (to a power) behind."""

    term: Monomial
    inner: tuple[Product, ...] = ()
    motion: tuple[Product, ...] = ()
    power: int = 1


@cache
def is_motion(name: str) -> bool:
    """True if a generator is a velocity or an acceleration (of the base, too) or a function of friction."""
    return bool(_MOTION.fullmatch(name))


class Collector:
    """Collects sums in the symbols of one description."""

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self._rank = cache(roles.rank)

    def collect(self, terms: list[Monomial]) -> list[Product]:
        still = [t for t in terms if not any(is_motion(name) for name, _ in t.factors)]
        moving = [t for t in terms if any(is_motion(name) for name, _ in t.factors)]
        return self._still(still) + self._moving(moving)

    # ---- terms without motion --------------------------------------------------------------------------

    def _still(self, terms: list[Monomial]) -> list[Product]:
        by_angle = all(t.trig for t in terms) or not any(self._masses(t) for t in terms)
        groups: dict[object, list[Monomial]] = {}
        for term in sorted(terms, key=self._order):
            groups.setdefault(self._still_key(term, by_angle), []).append(term)
        return [p for group in groups.values() for p in self._bracketed(group)]

    def _masses(self, term: Monomial) -> list[tuple[str, int]]:
        return [f for f in term.factors if f[0] in self.roles.masses]

    def _still_key(self, term: Monomial, by_angle: bool) -> object:
        """Gravity by angle; without masses, or where all terms have angles, by angle; else by mass."""
        if any(name in self.roles.gravity for name, _ in term.factors):
            return ("gravity", tuple(f for f in term.factors if f[0] in self.roles.gravity), term.trig)
        if by_angle:
            return ("angle", term.trig)
        masses = self._masses(term)
        return ("mass", masses[0]) if masses and masses[0][1] == 1 else ("alone", term)

    def _bracketed(self, group: list[Monomial]) -> list[Product]:
        """The factors that terms share, times the sum of the rest."""
        if len(group) == 1:
            return [Product(group[0])]
        group = sorted(group, key=lambda t: t.coefficient < 0)  # ℓ_1 − a_1 rather than −(a_1 − ℓ_1)
        outside, inner = _shared(group)
        products = tuple(Product(t) for t in sorted(inner, key=lambda t: (t.coefficient < 0, self._order(t))))
        if outside == Monomial(Fraction(1), ()):
            return list(products)
        return [Product(outside, products)]

    # ---- terms with motion -----------------------------------------------------------------------------

    def _moving(self, terms: list[Monomial]) -> list[Product]:
        speeds: dict[tuple[Factors, tuple[Trig, ...]], dict[Factors, Fraction]] = {}
        for t in sorted(terms, key=self._order):
            constants = tuple(f for f in t.factors if not is_motion(f[0]))
            motion = tuple(f for f in t.factors if is_motion(f[0]))
            poly = speeds.setdefault((constants, t.trig), {})
            poly[motion] = poly.get(motion, Fraction(0)) + t.coefficient
        merged: dict[object, tuple[tuple[Product, ...], int, list[Monomial]]] = {}
        for (constants, trig), poly in speeds.items():
            for coefficient, motion_sum, power in self._motion_sums(poly):
                key = (motion_sum, power, trig)
                entry = merged.setdefault(key, (motion_sum, power, []))
                entry[2].append(Monomial(coefficient, constants, trig))
        found = [self._with_motion(motion, power, outside) for motion, power, outside in merged.values()]
        return [p for products in found for p in products]

    def _with_motion(self, motion: tuple[Product, ...], power: int, outside: list[Monomial]) -> list[Product]:
        if len(outside) == 1:
            term = outside[0]
            if term == Monomial(Fraction(1), ()) and power == 1:
                return list(motion)
            return [Product(term, (), motion, power)]
        shared, rest = _shared(outside)
        return [Product(shared, tuple(self._still(rest)), motion, power)]

    def _motion_sums(self, poly: dict[Factors, Fraction]) -> list[tuple[Fraction, tuple[Product, ...], int]]:
        """Coefficient, sum and power: a perfect square, or sums of terms with coefficients of one size."""
        square = _square_root(poly)
        if square is not None:
            c, signs = square
            terms = [Monomial(s, ((name, 1),)) for name, s in signs]
            return [(c, tuple(Product(t) for t in terms), 2)]
        sizes: dict[Fraction, list[Monomial]] = {}
        for motion, c in poly.items():
            sizes.setdefault(abs(c), []).append(Monomial(c, motion))
        sums = []
        for group in sizes.values():
            content, inner = _shared([Monomial(t.coefficient, t.factors) for t in group])
            common = [Product(Monomial(Fraction(1), content.factors), tuple(Product(t) for t in inner))]
            alone = [Product(Monomial(Fraction(1), group[0].factors))]
            plain = [Product(t) for t in inner]
            chosen = alone if len(group) == 1 else common if content.factors else plain
            sums.append((content.coefficient, tuple(chosen), 1))
        return sums

    # ---- order -----------------------------------------------------------------------------------------

    def _order(self, term: Monomial) -> tuple[object, ...]:
        """Key to sort terms: gravity by its angle; else in the description's order; then simple first."""
        roles = self.roles
        names = [name for name, _ in term.factors]
        measured = [
            roles.order.get(name, -1)
            for name in names
            if name in roles.masses or name in roles.inertias or name[0] == "#"
        ]
        return (
            sorted([self._rank(name) for name in names if is_motion(name)]),
            [joints for _, joints, _ in term.trig] if any(n in roles.gravity for n in names) else [],
            min(measured, default=10**6),
            sum(e for _, _, e in term.trig),
            sorted([(self._rank(name), -e) for name, e in term.factors]),
            term.trig,
        )


def _shared(group: list[Monomial]) -> tuple[Monomial, list[Monomial]]:
    """The part that all terms have in common (with size and sign of the first), and the rest of each."""
    factors, trig = set(group[0].factors), set(group[0].trig)
    for term in group[1:]:
        factors &= set(term.factors)
        trig &= set(term.trig)
    sizes = {abs(t.coefficient) for t in group}
    content = sizes.pop() if len(sizes) == 1 else Fraction(1)
    content = -content if all(t.coefficient < 0 for t in group) or group[0].coefficient < 0 else content
    rest = [
        Monomial(
            t.coefficient if content == 1 else t.coefficient / content,
            tuple([f for f in t.factors if f not in factors]) if factors else t.factors,
            tuple([f for f in t.trig if f not in trig]) if trig else t.trig,
        )
        for t in group
    ]
    outside = Monomial(
        content,
        tuple(f for f in group[0].factors if f in factors),
        tuple(f for f in group[0].trig if f in trig),
    )
    return outside, rest


def _square_root(poly: dict[Factors, Fraction]) -> tuple[Fraction, list[tuple[str, Fraction]]] | None:
    """c and signs with Σ = c (Σ ±v)², or None."""
    squares = [(m[0][0], c) for m, c in poly.items() if len(m) == 1 and m[0][1] == 2]
    if len(squares) < 2 or len({c for _, c in squares}) != 1:
        return None
    c = squares[0][1]
    names = [name for name, _ in squares]
    first = names[0]
    signs = {first: Fraction(1)}
    for name in names[1:]:
        cross = poly.get(((first, 1), (name, 1)), poly.get(((name, 1), (first, 1))))
        if cross is None or abs(cross) != 2 * abs(c):
            return None
        signs[name] = cross / (2 * c)
    expected: dict[frozenset[str], Fraction] = {
        frozenset((a, b)): 2 * c * signs[a] * signs[b] for a in names for b in names if a != b
    }
    found = {frozenset(n for n, _ in m): x for m, x in poly.items() if len(m) == 2}
    if found != expected or len(poly) != len(squares) + len(expected):
        return None
    return c, [(name, signs[name]) for name in names]


# ------------------------------------------------------------------------------------------------------------
# Rates of sums of angles: q̇_2 + … + q̇_7 is written qd2_to_7.


Speeds = dict[int, Fraction]  # by joint, the coefficient of its rate


def in_rates(terms: list[Monomial], summed: Sequence[tuple[int, ...]]) -> list[Monomial]:
    """Terms linear in velocities, of which qd5 stands for q̇_1 + … + q̇_5 where that is `summed`.

    Pairs φ̇_b − φ̇_a are the rate of what lies between; what is left is the rate of a sum from the start.
    """
    groups: dict[tuple[object, ...], tuple[Monomial, Speeds]] = {}
    for term in terms:
        (motion,) = (name for name, _ in term.factors if name.startswith("qd"))
        constants = tuple(f for f in term.factors if f[0] != motion)
        _, speeds = groups.setdefault(
            (constants, term.trig), (Monomial(Fraction(1), constants, term.trig), {})
        )
        joint = int(motion[2:]) - 1
        speeds[joint] = speeds[joint] + term.coefficient if joint in speeds else term.coefficient
    return [
        Monomial(c, (*term.factors, (rate_name(joints), 1)), term.trig)
        for term, speeds in groups.values()
        for joints, c in _paired(speeds, summed)
    ]


def _paired(speeds: Speeds, summed: Sequence[tuple[int, ...]]) -> list[tuple[Sequence[int], Fraction]]:
    left = {k: speeds[k] for k in sorted(speeds) if speeds[k]}
    found: list[tuple[Sequence[int], Fraction]] = []
    while left:
        a, c = next(iter(left.items()))
        del left[a]
        b = next((b for b, other in left.items() if other == -c and a in summed[b]), None)
        if b is None:
            found.append((summed[a], c))
        else:
            del left[b]
            found.append((summed[b][len(summed[a]) :], -c))
    return found


def rate_name(joints: Sequence[int]) -> str:
    """qd3, or qd1_to_3 for consecutive joints, or qd1_3_5."""
    first, last = joints[0] + 1, joints[-1] + 1
    if len(joints) == 1:
        return f"qd{first}"
    whole = last - first == len(joints) - 1
    return f"qd{first}_to_{last}" if whole else "qd" + "_".join(str(j + 1) for j in joints)


# ------------------------------------------------------------------------------------------------------------
# The printer.


LIMIT = 200  # terms of an entry before parts of it get names
_ANGLE = re.compile(r"[cs]\d+(_\d+)*")
SHORT_ENTRY = 20  # terms of an entry in which sums of constants are not named, where others have names
INLINE = 3  # terms of a coefficient that is not worth a name


class LinearForm(Protocol):
    """Σ_p a_p π_p, as `armdyn.exact.form.Form` has it."""

    coefficients: dict[int, Poly]

    @property
    def size(self) -> int: ...

    @property
    def expanded(self) -> Poly: ...


class Printed(Protocol):
    """An entry of either kind, which knows what of it a printer writes."""

    basis: Basis

    def parts(self, printer: Printer) -> list[str]: ...


@dataclass
class Printer:
    """Prints the entries of one robot's equations in one style, collecting the names it gives."""

    basis: Basis
    style: Style
    definitions: dict[str, list[str]] = field(default_factory=dict)
    named: dict[Poly, str] = field(default_factory=dict)
    _groups: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.style = replace(self.style, decimals=self.basis.decimals)

    @cached_property
    def roles(self) -> Roles:
        return Roles.of(self.basis.model)

    @cached_property
    def _letter(self) -> str:
        """The letter of named sub-expressions: x, unless the description has a symbol x1."""
        return free_letter(name for name, _ in self.basis.model.symbols)

    @cached_property
    def _collector(self) -> Collector:
        return Collector(self.roles)

    @cached_property
    def _angles(self) -> dict[int, AngleSums]:
        return {}

    def _sums(self, ring: Ring) -> AngleSums:
        if id(ring) not in self._angles:
            self._angles[id(ring)] = AngleSums(ring, self.basis.runs)
        return self._angles[id(ring)]

    # ---- what is printed -------------------------------------------------------------------------------

    def entry(self, form: LinearForm) -> str:
        """An entry, as short as it can be said."""
        return self.style.sum(self.parts(form))

    def parts(self, form: LinearForm) -> list[str]:
        """The signed terms of an entry's sum."""
        most = LIMIT
        if self.basis.named_groups:
            short, most = form.size <= SHORT_ENTRY, 50 * LIMIT
        else:
            short = form.size <= LIMIT or (form.size <= 50 * LIMIT and len(form.expanded) <= LIMIT)
        if short:
            return self._sum(self._terms(form.expanded))
        if sum(len(a) for a in form.coefficients.values()) <= most:
            terms = [t for p, a in form.coefficients.items() for t in self._times_parameter(p, a)]
        else:
            terms = [t for p, a in form.coefficients.items() for t in self._named_coefficient(p, a)]
        return self._sum(terms)

    def rate_parts(self, form: LinearForm) -> list[str]:
        """The terms of an entry of C in which q̇_k stands for the rate of the sum of angles up to joint k."""
        terms = [t for p, a in form.coefficients.items() for t in self._times_parameter(p, a)]
        return self._sum(in_rates(terms, self.basis.kinematic.summed))

    def poly(self, poly: Poly) -> str:
        """A polynomial, collected; one that is too long in named parts."""
        return self.style.sum(self.poly_parts(poly))

    def poly_parts(self, poly: Poly) -> list[str]:
        return self._sum(self._split(poly) if len(poly) > LIMIT else self._terms(poly))

    def times(self, parts: list[str], factor: str) -> str:
        """A sum times a factor, as one signed term."""
        one = self.style.number(Fraction(1))
        if parts in ([one], [f"-{one}"]):
            return factor if parts == [one] else f"-{factor}"
        if len(parts) > 1:
            return self.style.product([self.style.bracket(parts), factor])
        first = parts[0]
        factors = first.factors if isinstance(first, Factored) else (first.removeprefix("-"),)
        return self.style.product([*factors, factor], first.startswith("-"))

    # ---- terms -----------------------------------------------------------------------------------------

    def _terms(self, poly: Poly) -> list[Monomial]:
        return [Monomial(c, factors, trig) for c, factors, trig in self._sums(poly.ring).terms(poly)]

    def _times_parameter(self, p: int, a: Poly) -> list[Monomial]:
        if self.basis.named_groups and self.basis.value_sizes[p] == 1:
            return self._times_monomial(self.basis.values[p], a)
        factor = self._parameter(p)
        return [Monomial(t.coefficient, (*t.factors, (factor, 1)), t.trig) for t in self._terms(a)]

    def _times_monomial(self, value: Poly, a: Poly) -> list[Monomial]:
        """The terms of a times a value of one term. It has no geometry, so that no factor is in both."""
        ((exponents, c),) = value.p.to_dict().items()
        ring, number = value.ring, Fraction(int(c.p), int(c.q))
        own = tuple((ring.names[k], e) for k, e in enumerate(exponents) if e)

        def factors(term: Monomial) -> Factors:
            return tuple(sorted((*term.factors, *own), key=lambda factor: ring.index[factor[0]]))

        return [Monomial(number * t.coefficient, factors(t), t.trig) for t in self._terms(a)]

    def _named_coefficient(self, p: int, a: Poly) -> list[Monomial]:
        if len(a) <= INLINE:
            return self._times_parameter(p, a)
        name, sign = self._name(a)
        return [Monomial(Fraction(sign), ((name, 1), (self._parameter(p), 1)))]

    def _parameter(self, p: int) -> str:
        """The generator of a parameter: its own symbol if it is one, else [name], defined."""
        if self.basis.named_groups:
            if p not in self._groups:
                self._groups[p] = self._name(self.basis.values[p])[0]
            return self._groups[p]
        value = self.basis.parameters[p]
        if len(value.terms) == 1 and len(value.terms[0][0]) == 1 and value.terms[0][1] == 1:
            atom, exponent = value.terms[0][0][0]
            if exponent == 1 and atom.kind == "symbol":
                return atom.name
        name = f"[{self.basis.parameter_names[p]}]"
        label = self.style.generator(name, self.basis)
        if label not in self.definitions:
            self.definitions[label] = self.poly_parts(self.basis.values[p])
        return name

    def _name(self, a: Poly) -> tuple[str, int]:
        """A name for a polynomial, the same for the same one up to sign."""
        for candidate, sign in ((a, 1), (-a, -1)):
            if candidate in self.named:
                return self.named[candidate], sign
        parts = self.poly_parts(a)
        name = f"#{len(self.named) + 1}"
        self.named[a] = name
        self.definitions[self.style.sub_expression(self._letter, len(self.named))] = parts
        return name, 1

    def _split(self, poly: Poly) -> list[Monomial]:
        """A long polynomial as a short one in named parts: collected by the joint that splits it best."""
        ring = poly.ring
        best: dict[tuple[int, ...], Poly] = {}
        for j, kind in enumerate(ring.joints):
            names = (ring.sines[j], ring.cosines[j]) if kind == "revolute" else (f"q{j + 1}",)
            parts = collected(poly, [ring.index[name] for name in (*names, f"qd{j + 1}", f"qdd{j + 1}")])
            if len(parts) > 1 and (not best or max(map(len, parts.values())) < max(map(len, best.values()))):
                best = parts
        if not best:
            return self._terms(poly)
        terms = []
        for outer, part in best.items():
            factors = tuple((ring.names[i], e) for i, e in enumerate(outer) if e)
            if len(part) <= INLINE:
                terms += [Monomial(t.coefficient, (*t.factors, *factors), t.trig) for t in self._terms(part)]
            else:
                name, sign = self._name(part)
                terms.append(Monomial(Fraction(sign), (*factors, (name, 1))))
        return terms

    # ---- spelling --------------------------------------------------------------------------------------

    def _sum(self, terms: list[Monomial]) -> list[str]:
        """A collected sum: its signed terms."""
        return [self._product(product) for product in self._collector.collect(terms)]

    def _product(self, product: Product) -> str:
        """Number, gears, inertias, masses, lengths, (sum), gravity, angles, (motion); the sign in front."""
        style, roles, term = self.style, self.roles, product.term
        ranked = sorted(term.factors, key=lambda f: roles.rank(f[0]))
        motion = [self._power(name, e) for name, e in ranked if is_motion(name)]
        gravity = [self._power(name, e) for name, e in ranked if name in roles.gravity]
        plain = [(name, e) for name, e in ranked if not is_motion(name) and name not in roles.gravity]
        above = [self._power(name, e) for name, e in plain if not name.startswith(("1/", "inv("))]
        below = [self._power(name[2:], e) for name, e in plain if name.startswith("1/")]
        below += [style.bracket(style.parts(1 / parse(name)), e) for name, e in plain if name[:4] == "inv("]
        angles = [style.power(self._trig(kind, joints), e) for kind, joints, e in term.trig]
        inner = [self._bracket(product.inner)] if product.inner else []
        behind = [*inner, *gravity, *angles, *motion]
        if product.motion:
            behind.append(self._motion(product))
        number = abs(term.coefficient)
        if style.glyph is None and below and behind:  # a/b in plain text: all factors above
            above, behind = [*above, *behind], []
        constants = [] if number == 1 and behind and not plain else style.factors(number, above, below)
        return style.product([*constants, *behind], term.coefficient < 0)

    def _bracket(self, products: tuple[Product, ...], power: int = 1) -> str:
        return self.style.bracket((self._product(p) for p in products), power)

    def _motion(self, product: Product) -> str:
        if len(product.motion) == 1:
            return self._product(product.motion[0])
        return self._bracket(product.motion, product.power)

    def _power(self, name: str, e: int) -> str:
        return self.style.power(self._spell(name), e)

    def _spell(self, name: str) -> str:
        if name.startswith("#"):
            return self.style.sub_expression(self._letter, int(name[1:]))
        if _ANGLE.fullmatch(name):  # a bare cosine or sine left by splitting
            return self._trig(name[0], [int(i) - 1 for i in name[1:].split("_")])
        return self.style.generator(name, self.basis)

    def _trig(self, kind: str, joints: Sequence[int]) -> str:
        """c12, the cosine of a sum; cos(q2 - q1), where one is subtracted (~j) or counts several times."""
        if min(joints) >= 0 and len(set(joints)) == len(joints):
            return self.style.trig(kind, self._joint_list(joints))
        times = {j: joints.count(j) for j in sorted(joints, key=lambda j: (j < 0, max(j, ~j)))}
        terms = []
        for j, k in times.items():
            angle = self.style.generator(f"q{max(j, ~j) + 1}", self.basis)
            number = [] if k == 1 else [self.style.number(Fraction(k))]
            terms.append(("-" if j < 0 else "") + self.style.times.join([*number, angle]))
        return self.style.function({"c": "cos", "s": "sin"}[kind], self.style.sum(terms))

    def _joint_list(self, joints: Sequence[int]) -> str:
        """123; with ten joints or more 1,2 and 1…12."""
        if self.basis.n > 9 and len(joints) > 2 and joints[-1] - joints[0] == len(joints) - 1:
            return f"{joints[0] + 1}…{joints[-1] + 1}"
        return ("," if self.basis.n > 9 else "").join(str(j + 1) for j in joints)


def collected(poly: Poly, indices: list[int]) -> dict[tuple[int, ...], Poly]:
    """A polynomial as a polynomial in some generators: outer exponents -> coefficient."""
    parts: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}
    for monomial, c in poly.p.to_dict().items():
        outer, inner = [0] * len(monomial), list(monomial)
        for i in indices:
            outer[i], inner[i] = monomial[i], 0
        parts.setdefault(tuple(outer), {})[tuple(inner)] = c
    return {outer: Poly(poly.ring, poly.ring.context.from_dict(inner)) for outer, inner in parts.items()}
