"""The ring the equations live in: polynomials over ℚ in c_i, s_i, q̇_i, q̈_i and constants, in normal form.

A generator stands for the cosine or sine of a joint angle (in long runs of parallel axes of the sum of the
angles so far, see `exact/runs.py`), a prismatic coordinate, a velocity, an acceleration, the sign of a speed,
the fading exp(−(q̇/v)²) of Stribeck friction, the size of a joint's torque without friction (these three
opaque), or a constant atom of the description. Products are reduced by

    s_i² = 1 − c_i²    √p² = p    sin(β)² = 1 − cos(β)²    |k|² = k²    x·x⁻¹ = 1

whose leading monomials are pairwise coprime, so they are a Gröbner basis and the normal form is canonical:
two elements are equal exactly if their polynomials are. Constants of different angles, and the inverses of
sines, cosines and sums, count as independent: an identity proved here holds for whatever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import flint

from armdyn.exact.runs import Run, summed_angles
from armdyn.expression import ArmdynError, Atom, Expression
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel

# ------------------------------------------------------------------------------------------------------------
# Bounds on the size of exact equations. Larger ones are refused before they are made.
#
# Terms multiply with every joint whose axis is not parallel to the one before. Measured on one core: the
# Panda has 48 000 terms in B, C and g, which take 1 s to prove and 6 s to print; six revolute joints in
# general position have 470 000, proved in 5 s with 0.6 GB; seven need twelve times as much, and a little
# later FLINT stops the process because it gets no memory. Numbers are for any number of joints.


MAX_JOINTS = 30
MAX_PRODUCTS = 500_000  # of terms, in one multiplication: six joints in general position need 250 000,
MAX_TERMS = 250_000  # and have 183 000 in one polynomial when they are proved
MAX_EXPANDED = 1_000_000  # terms of an entry written out in the description's symbols
MAX_PROVED = 600_000
MAX_WRITTEN = 200_000  # terms of what is printed or handed over at once
_NUMBERS = "numeric functions (robot.inertia and so on, exported C) need no equations"


class SizeError(ArmdynError):
    """Exact equations are too large to be made or written."""


class LoopsError(ModelError):
    """A robot with closed chains has no closed form."""


def check_loops(model: RobotModel) -> None:
    """Refuse closed chains, whose joints follow by equations that have no closed form."""
    if model.loops:
        found = ", ".join(loop.label for loop in model.loops)
        raise LoopsError(
            f"equations: {model.name} has loops ({found}), and closed "
            "forms exist for trees and linear relations between joints (closure.relation) only; "
            f"{_NUMBERS}, and robot.opened().equations() are those of the tree without its closures"
        )


def check_joints(joints: int) -> None:
    if joints > MAX_JOINTS:
        raise SizeError(
            f"exact equations are made for at most {MAX_JOINTS} moving joints, this robot has {joints}; "
            f"{_NUMBERS}"
        )


def check_product(a: int, b: int) -> None:
    """Refuse a product of polynomials of a and b terms that is too large, before it is made."""
    if a * b > MAX_PRODUCTS:
        raise SizeError(
            f"the exact equations of this robot are too large: they need a product of {a} and {b} terms, "
            f"at most {MAX_PRODUCTS} products of terms are allowed; {_NUMBERS}"
        )


def check_terms(terms: int) -> None:
    """Refuse a polynomial of too many terms, before it is used further."""
    if terms > MAX_TERMS:
        raise SizeError(
            f"the exact equations of this robot are too large: a polynomial in them has {terms} terms, "
            f"at most {MAX_TERMS} are allowed; {_NUMBERS}"
        )


def check_expanded(terms: int) -> None:
    """Refuse an entry of too many terms, before it is written out."""
    if terms > MAX_EXPANDED:
        raise SizeError(
            f"an entry of these equations may have {terms} terms, at most {MAX_EXPANDED} are allowed; "
            f"{_NUMBERS}"
        )


def check_proved(terms: int) -> None:
    """Refuse equations of too many terms, before they are proved."""
    if terms > MAX_PROVED:
        raise SizeError(f"these equations have {terms} terms, at most {MAX_PROVED} can be proved; {_NUMBERS}")


def check_written(terms: int) -> None:
    """Refuse equations of too many terms, before they are printed or handed over as a whole."""
    if terms > MAX_WRITTEN:
        raise SizeError(
            f"these equations have {terms} terms, at most {MAX_WRITTEN} can be written at once; print single "
            f"entries, or use numbers: {_NUMBERS}"
        )


# ------------------------------------------------------------------------------------------------------------
# The ring.


_SQUARED = ("sqrt", "sin", "abs")


class Ring:
    """A polynomial ring with the generators of n joints and the given constant atoms."""

    def __init__(
        self,
        joints: Sequence[str],
        atoms: Iterable[Atom],
        inverted: Iterable[Atom] = (),
        speeds: int = 0,
        names: Iterable[str] = (),
        runs: Sequence[Run] = (),
        related: Sequence[Run] = (),
    ) -> None:
        """`joints`: "revolute" or "prismatic" each; `speeds`: how many further opaque signs are wanted;
        `names`: further plain symbols; `runs`: joints with parallel axes; `related`: coordinates of
        which angles are sums of multiples, which matters to printing alone."""
        self.joints = tuple(joints)
        n = len(self.joints)
        self.related = tuple(related)
        self.summed = summed_angles(n, runs)
        labels = ["_".join(str(j + 1) for j in joints) for joints in self.summed]
        self.cosines, self.sines = ([f"{kind}{label}" for label in labels] for kind in "cs")
        self.atoms = _closed(atoms)
        self.inverted = sorted(set(inverted), key=lambda a: a.sort_key)
        squared = [a for a in self.atoms if a.kind in _SQUARED]
        plain = [a for a in self.atoms if a.kind not in _SQUARED]
        revolute = [i for i in range(n) if self.joints[i] == "revolute"]
        self.names: list[str] = [self.sines[i] for i in revolute]
        self.names += [str(a) for a in squared]
        self.names += [f"1/{a}" for a in self.inverted]
        self.names += [self.cosines[i] if self.joints[i] == "revolute" else f"q{i + 1}" for i in range(n)]
        self.names += [f"qd{i + 1}" for i in range(n)] + [f"qdd{i + 1}" for i in range(n)]
        self.names += [f"sgn{i + 1}" for i in range(n)] + [f"sgnm{i + 1}" for i in range(speeds)]
        self.names += [str(a) for a in plain] + list(names)
        self.index = {name: i for i, name in enumerate(self.names)}
        assert len(self.index) == len(self.names), "generator names must differ"
        self.context = flint.fmpq_mpoly_ctx.get(self.names, flint.Ordering.degrevlex)
        self._gens = self.context.gens()
        self.zero = Poly(self, self.context.constant(0))
        self.one = Poly(self, self.context.constant(1))
        self._signs: list[tuple[Any, Any]] = []
        self._bells: list[tuple[Any, Any, Any]] = []
        self._tanhs: list[tuple[Any, Any, Any]] = []
        self._angles: list[tuple[Any, Poly, Poly]] = []
        self._varying = self._find_varying()
        self._relations: list[tuple[tuple[int, ...], Any]] = []
        self._add_relations(revolute, squared)
        for i in range(n):
            self.register_sign(self.gen(f"qd{i + 1}"), f"sgn{i + 1}")

    def _add_relations(self, revolute: list[int], squared: list[Atom]) -> None:
        """(generators of the leading monomial, relation); one generator stands for its square."""
        for i in revolute:
            s, c = self._g(self.sines[i]), self._g(self.cosines[i])
            self._relations.append(((self.index[self.sines[i]],), s * s + c * c - 1))
        for atom in squared:
            x = self._g(str(atom))
            self._relations.append(((self.index[str(atom)],), x * x - self._square(atom)))
        for atom in (a for a in self.inverted if a.kind not in ("sin", "cos", "abs")):
            x, y = self._g(str(atom)), self._g(f"1/{atom}")
            self._relations.append(((self.index[str(atom)], self.index[f"1/{atom}"]), x * y - 1))

    def _find_varying(self) -> dict[int, list[Atom]]:
        """Atoms that depend on each coordinate: itself, and cosines of multiples that are not whole."""
        found: dict[int, list[Atom]] = {}
        for i in range(len(self.joints)):
            name = f"q{i + 1}"
            for atom in self.atoms:
                inner = atom.argument.symbols() if atom.argument is not None else {atom.name}
                if name in inner:
                    found.setdefault(i, []).append(atom)
        return found

    @property
    def constants(self) -> list[Atom]:
        """The atoms that no coordinate changes."""
        varying = {atom for atoms in self._varying.values() for atom in atoms}
        return [atom for atom in self.atoms if atom not in varying]

    def squares(self) -> dict[int, Any]:
        """Squares of the constants that are roots of others, by index."""
        return {self.index[str(a)]: self._square(a) for a in self.constants if a.kind in _SQUARED}

    def _square(self, atom: Atom) -> Any:
        assert atom.argument is not None
        if atom.kind == "sin":
            c = self._g(str(Atom("cos", atom.name, atom.argument)))
            return 1 - c * c
        argument = self.constant(atom.argument).p
        return argument if atom.kind == "sqrt" else argument * argument

    def _g(self, name: str) -> Any:
        return self._gens[self.index[name]]

    def gen(self, name: str) -> Poly:
        return Poly(self, self._g(name))

    def angle(self, i: int) -> tuple[Poly, Poly]:
        """Cosine and sine of the angle of joint i itself: of φ_i − φ_{i−1} where sums are the generators."""
        c, s = self.gen(self.cosines[i]), self.gen(self.sines[i])
        if len(self.summed[i]) == 1:
            return c, s
        before = self.summed[i][-2]
        c0, s0 = self.gen(self.cosines[before]), self.gen(self.sines[before])
        return c * c0 + s * s0, s * c0 - c * s0

    def register_sign(self, speed: Poly, name: str) -> None:
        """Make sign(speed) the opaque generator `name`."""
        self._signs.append((speed.p, self._g(name)))

    def sign(self, p: Any) -> Any:
        if p == 0:
            return self.context.constant(0)
        for speed, generator in self._signs:
            factor = p.leading_coefficient() / speed.leading_coefficient()
            if p == speed * factor:
                return generator if factor > 0 else -generator
        raise ValueError(f"the sign of {p} has no generator")

    def register_bell(self, speed: Poly, width: Poly, name: str) -> None:
        """Make exp(−(speed/width)²) the opaque generator `name`."""
        self._bells.append((speed.p, width.p, self._g(name)))

    def bell(self, p: Any, width: Any) -> Any:
        for speed, registered, generator in self._bells:
            if width == registered and p in (speed, -speed):
                return generator
        raise ValueError(f"exp(-({p}/({width}))^2) has no generator")

    def register_tanh(self, speed: Poly, width: Poly, name: str) -> None:
        """Make tanh(speed/width) the opaque generator `name`."""
        self._tanhs.append((speed.p, width.p, self._g(name)))

    def smooth_sign(self, p: Any, width: Any) -> Any:
        for speed, registered, generator in self._tanhs:
            if width == registered and p in (speed, -speed):
                return generator if p == speed else -generator
        raise ValueError(f"tanh({p}/({width})) has no generator")

    def register_angle(self, angle: Poly, c: Poly, s: Poly) -> None:
        """Make c and s the cosine and sine of a sum of coordinates."""
        self._angles.append((angle.p, c, s))

    def cos_sin(self, p: Any) -> tuple[Poly, Poly]:
        for angle, c, s in self._angles:
            if p == angle:
                return c, s
            if p == -angle:
                return c, -s
        raise ValueError(f"the angle {p} has no cosine and sine here")

    def reduce(self, p: Any) -> Any:
        """The normal form."""
        degrees = p.degrees()
        for leading, relation in self._relations:
            square = len(leading) == 1
            if degrees[leading[0]] >= (2 if square else 1) and (square or degrees[leading[1]]):
                _, p = divmod(p, relation)
                degrees = p.degrees()
        return p

    def constant(self, x: Expression | int | Fraction) -> Poly:
        """An exact number of the description as an element."""
        total = self.context.constant(0)
        for monomial, coefficient in Expression.of(x).terms:
            number = self.context.constant(flint.fmpq(coefficient.numerator, coefficient.denominator))
            factors = (self._g(str(atom) if e > 0 else f"1/{atom}") ** abs(e) for atom, e in monomial)
            total = total + prod(factors, start=number)
        return Poly(self, self.reduce(total))

    def include(self, x: Poly) -> Poly:
        """An element of a ring whose generators are all here."""
        if x.ring is self:
            return x
        return Poly(self, x.p.project_to_context(self.context))

    def joint_variables(self) -> tuple[list[Any], list[Poly], list[Poly]]:
        """q (angles, or coordinates of prismatic joints), q̇ and q̈ as scalars for the algorithms.

        An angle is an element of the ring only where it enters sums (of related joints) or a spring's torque.
        """
        numbers = range(1, len(self.joints) + 1)
        q = [self.gen(f"q{i}") if f"q{i}" in self.index else JointAngle(*self.angle(i - 1)) for i in numbers]
        return q, [self.gen(f"qd{i}") for i in numbers], [self.gen(f"qdd{i}") for i in numbers]


def _closed(atoms: Iterable[Atom]) -> list[Atom]:
    """The atoms, with the cosine of every sine, and what their relations refer to."""
    found: set[Atom] = set()
    todo = list(atoms)
    while todo:
        atom = todo.pop()
        if atom in found:
            continue
        found.add(atom)
        if atom.kind == "sin":
            todo.append(Atom("cos", atom.name, atom.argument))
        if atom.kind == "abs" and atom.argument is not None:
            todo += atom.argument.atoms()
    return sorted(found, key=lambda a: a.sort_key)


class JointAngle:
    """A revolute joint's variable: only its cosine and sine are in the ring."""

    def __init__(self, c: Poly, s: Poly) -> None:
        self._c, self._s = c, s

    def cos(self) -> Poly:
        return self._c

    def sin(self) -> Poly:
        return self._s


class Poly:
    """An element of a ring, always in normal form."""

    __slots__ = ("p", "ring")

    def __init__(self, ring: Ring, p: Any) -> None:
        self.ring, self.p = ring, p

    def __add__(self, other: Any) -> Poly:
        if isinstance(other, Poly):
            return Poly(self.ring, self.p + other.p)
        return self if _is_zero(other) else Poly(self.ring, self.p + _number(other))

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly(self.ring, -self.p)

    def __sub__(self, other: Any) -> Poly:
        if isinstance(other, Poly):
            return Poly(self.ring, self.p - other.p)
        return self if _is_zero(other) else Poly(self.ring, self.p - _number(other))

    def __rsub__(self, other: Any) -> Poly:
        return Poly(self.ring, -self.p) if _is_zero(other) else Poly(self.ring, _number(other) - self.p)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Poly):
            check_product(len(self.p), len(other.p))
            product = Poly(self.ring, self.ring.reduce(self.p * other.p))
            check_terms(len(product.p))
            return product
        if isinstance(other, int):
            if other == 1:
                return self
            if other == 0:
                return 0
        return Poly(self.ring, self.p * _number(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Poly:
        """The quotient by a rational number; by anything else it is no polynomial."""
        if isinstance(other, Poly):
            raise ArmdynError(
                "exact equations have no quotients by speeds: friction that has one is in numeric functions "
                "alone (robot.friction and so on, exported C)"
            )
        return Poly(self.ring, self.p * (1 / flint.fmpq(_number(other))))

    def __pow__(self, exponent: int) -> Poly:
        return prod([self] * exponent, start=self.ring.one)

    def cos(self) -> Poly:
        """Cosine of an angle that is registered."""
        return self.ring.cos_sin(self.p)[0]

    def sin(self) -> Poly:
        return self.ring.cos_sin(self.p)[1]

    def sign(self) -> Poly:
        return Poly(self.ring, self.ring.sign(self.p))

    def bell(self, width: Any) -> Poly:
        """exp(−(x/width)²), opaque."""
        return Poly(self.ring, self.ring.bell(self.p, (self.ring.zero + width).p))

    def smooth_sign(self, width: Any) -> Poly:
        """tanh(x/width), opaque."""
        return Poly(self.ring, self.ring.smooth_sign(self.p, (self.ring.zero + width).p))

    def sqrt(self) -> Poly:
        raise ArmdynError(
            "exact equations have no square roots of speeds: friction that grows with one is in numeric "
            "functions alone (robot.friction and so on, exported C)"
        )

    def load(self, joint: int) -> Poly:
        """The absolute value, opaque, of the torque without friction of a joint (counted from 0)."""
        return self.ring.gen(f"absr{joint + 1}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Poly):
            same = self.ring is other.ring or self.ring.names == other.ring.names
            return bool(same and self.p == other.p)
        return bool(self.p == _number(other)) if isinstance(other, (int, Fraction)) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.terms().items())))

    def __bool__(self) -> bool:
        return not self.p.is_zero()

    def __len__(self) -> int:
        """The number of terms."""
        return len(self.p)

    def __repr__(self) -> str:
        return str(self.p)

    def terms(self) -> dict[tuple[int, ...], Fraction]:
        """Coefficients by exponents."""
        return {m: Fraction(int(c.p), int(c.q)) for m, c in self.p.to_dict().items()}

    def generators(self) -> list[str]:
        """The generators that occur."""
        return [name for name, e in zip(self.ring.names, self.p.degrees(), strict=True) if e > 0]

    def derivative(self, generator: str) -> Poly:
        """Derivative by a generator that no relation binds: a velocity or an acceleration."""
        return Poly(self.ring, self.p.derivative(self.ring.index[generator]))

    def by_joint(self, i: int) -> Poly:
        """∂/∂q_i: ċ = −s, ṡ = c; or plainly for a prismatic joint."""
        ring = self.ring
        total = self._own(i)
        for k, joints in enumerate(ring.summed):
            if i in joints and k != i:
                total = total + self._own(k)
        return total + self._by_varying(i) if i in ring._varying else total

    def _own(self, i: int) -> Poly:
        """The derivative by the generators of one joint: by its angle or the sum of angles up to it."""
        if self.ring.joints[i] == "prismatic":
            return Poly(self.ring, self.p.derivative(self.ring.index[f"q{i + 1}"]))
        return self._turned(self.ring.cosines[i], self.ring.sines[i])

    def gradient(self) -> list[Poly]:
        """∂/∂q_i for every joint; along a run of summed angles each sum is differentiated once."""
        ring = self.ring
        found = [self._own(i) for i in range(len(ring.joints))]
        for i in reversed(range(len(found))):
            if len(ring.summed[i]) > 1:
                before = ring.summed[i][-2]
                found[before] = found[before] + found[i]
        return [x + self._by_varying(i) if i in ring._varying else x for i, x in enumerate(found)]

    def _turned(self, cosine: str, sine: str) -> Poly:
        """The derivative by an angle of which these are cosine and sine."""
        ring = self.ring
        c, s = ring.index[cosine], ring.index[sine]
        by_s, by_c = self.p.derivative(s), self.p.derivative(c)
        if by_s.is_zero() and by_c.is_zero():
            return ring.zero
        return Poly(ring, ring.reduce(by_s * ring._gens[c] - by_c * ring._gens[s]))

    def _by_varying(self, i: int) -> Poly:
        """The part of ∂/∂q_i by atoms that depend on q_i: q_i of an angle, cos(k q_i + …)."""
        ring, total = self.ring, self.ring.zero
        for atom in ring._varying[i]:
            if atom.kind == "symbol":
                total = total + Poly(ring, self.p.derivative(ring.index[str(atom)]))
            elif atom.kind == "cos" and atom.argument is not None:
                sine = str(Atom("sin", atom.name, atom.argument))
                slope = atom.argument - atom.argument.substitute({f"q{i + 1}": atom.argument * 0})
                factor = ring.constant(slope / Expression.symbol(f"q{i + 1}"))
                total = total + self._turned(str(atom), sine) * factor
        return total


def _is_zero(x: Any) -> bool:
    return isinstance(x, int) and x == 0


def _number(x: Any) -> Any:
    if isinstance(x, Fraction):
        return flint.fmpq(x.numerator, x.denominator)
    if isinstance(x, int):
        return x
    raise TypeError(f"found {type(x).__name__} {x!r}; only integers and fractions are exact")
