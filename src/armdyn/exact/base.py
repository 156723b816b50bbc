"""Base parameters, exactly: found by linear algebra over the energies, printed, and the equations in them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm, prod
from typing import Any, Literal, TypeAlias

import flint

from armdyn.exact.basis import MAX_MULTIPLE, Basis, SpringError, in_decimals
from armdyn.exact.closed_form import ClosedForm, lagrange
from armdyn.exact.form import Array, Entry
from armdyn.exact.printing import document
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.names import parameter_glyph
from armdyn.exact.printing.printer import Printer, collected
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style
from armdyn.exact.ring import Poly, Ring, SizeError, check_written
from armdyn.expression import ONE, ZERO, ArmdynError, Atom, Expression
from armdyn.model.friction import TERMS
from armdyn.model.mechanism import Body, Mechanism
from armdyn.model.parameters import SPRINGS, Layout, Parameter, layout, parameter_vector
from armdyn.model.robot_model import RobotModel, lower
from armdyn.model.vector import apply_transposed

# ------------------------------------------------------------------------------------------------------------
# Quotients of constants: the field over which parameters are combined.
#
# A quotient is a numerator over a denominator, polynomials in the constants of the geometry, in normal form:
# the denominator has no roots (√p, sin β) and nothing in common with the numerator.


_ONE = Fraction(1)
_MAX_PRODUCTS = 20_000  # of terms, in one multiplication
_MAX_WORK = 2_000_000  # of terms, in all


class Field:
    """The quotients of a ring's constants."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.work = 0  # products of terms so far
        self.roots = ring.squares()
        self.one = Quotient(self, ring.one.p, ring.one.p)
        self._atoms = {ring.index[str(a)]: Expression({((a, 1),): _ONE}) for a in ring.constants}

    def of(self, numerator: Any, denominator: Any = None) -> Quotient:
        """The quotient of FLINT polynomials, brought to normal form."""
        ring = self.ring
        above = ring.reduce(numerator)
        below = ring.one.p if denominator is None else ring.reduce(denominator)
        for i in self.roots:
            if below.degrees()[i]:
                other = self._conjugate(below, i)
                above, below = self.product(above, other), self.product(below, other)
        return Quotient(self, *self._cancelled(above, below))

    def product(self, x: Any, y: Any) -> Any:
        """x · y, as long as the whole does not get too long."""
        self.work += len(x) * len(y)
        if self.work > _MAX_WORK or len(x) * len(y) > _MAX_PRODUCTS:
            raise SizeError(
                "the combinations of this robot's parameters are too long to be written exactly: its "
                'geometry has too many constants; route="numeric" finds them in numbers'
            )
        return self.ring.reduce(x * y)

    def _conjugate(self, x: Any, i: int) -> Any:
        """The polynomial with the sign of a root changed."""
        root = self.ring.gen(self.ring.names[i]).p
        parts = collected(Poly(self.ring, x), [i]).items()
        return sum((part.p * (-root) ** int(outer[i]) for outer, part in parts), self.ring.zero.p)

    def _cancelled(self, above: Any, below: Any) -> tuple[Any, Any]:
        """Numerator and denominator without common factors; the denominator's leading coefficient is one."""
        if above.is_zero():
            return above, self.ring.one.p
        if not below.is_constant():
            common = below
            for part in collected(Poly(self.ring, above), list(self.roots)).values():
                common = common.gcd(part.p)
            above, below = _divided(above, common), _divided(below, common)
        lead = below.leading_coefficient()
        return above / lead, below / lead

    def expression(self, x: Quotient) -> Expression:
        """A quotient as an exact number of descriptions."""
        above, below = x.above, x.below
        for i, square in self.roots.items():  # sin/(1 − cos²) is 1/sin
            quotient, rest = divmod(below, square)
            root = self.ring.gen(self.ring.names[i]).p
            if not square.is_constant() and rest.is_zero() and divmod(above, root)[1].is_zero():
                above, below = _divided(above, root), quotient * root
        return self._written(above) / self._written(below)

    def _written(self, polynomial: Any) -> Expression:
        total = ZERO
        for exponents, coefficient in Poly(self.ring, polynomial).terms().items():
            powers = (self._atoms[i] ** int(e) for i, e in enumerate(exponents) if e)
            total = total + prod(powers, start=Expression.of(coefficient))
        return total


@dataclass(frozen=True)
class Quotient:
    """An element of the field."""

    field: Field
    above: Any
    below: Any

    def __bool__(self) -> bool:
        return not self.above.is_zero()

    def __sub__(self, other: Quotient) -> Quotient:
        product = self.field.product
        above = product(self.above, other.below) - product(other.above, self.below)
        return self.field.of(above, product(self.below, other.below))

    def __mul__(self, other: Quotient) -> Quotient:
        if not self or not other:
            return self.field.of(self.field.ring.zero.p)
        product = self.field.product
        return self.field.of(product(self.above, other.above), product(self.below, other.below))

    def __truediv__(self, other: Quotient) -> Quotient:
        product = self.field.product
        return self.field.of(product(self.above, other.below), product(self.below, other.above))

    @property
    def size(self) -> int:
        """Length of the quotient when it is written."""
        return len(self.above) + len(self.below)


def _divided(x: Any, y: Any) -> Any:
    """x / y, without remainder."""
    return divmod(x, y)[0]


# ------------------------------------------------------------------------------------------------------------
# The energies as a matrix: a column for each dynamic parameter, a row for each function of the motion.
#
# The Lagrangian is linear in the parameters (7.76). A function of the motion is a monomial in cosines,
# sines, coordinates and velocities; in normal form these are independent functions. Kinetic and potential
# energy are apart from each other, because one has velocities. A constant in the potential energy moves
# nothing and is left out. Friction is no energy: its rows are torques. Only a constant torque at a
# coordinate, such as an offset, counts as the potential energy that is linear in the coordinate: a weight on
# a slide looks the same.
#
# The entries are polynomials in the constants of the geometry.


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
    ring = closed.basis.kinematic
    moving, still = _moving(ring), (0,) * len(ring.names)
    for kind, beta in (("T", closed.kinetic_columns), ("U", closed.potential_columns)):
        for p in columns:
            if p in beta:
                for motion, coefficient in collected(beta[p], moving).items():
                    if kind == "T" or motion != still:
                        yield (kind, motion), p, coefficient


def _torques(closed: ClosedForm, columns: Sequence[int]) -> Iterator[tuple[Key, int, Poly]]:
    """The same of friction: sgn² counts as 1, which it is but at rest."""
    ring = closed.basis.kinematic
    moving, still = _moving(ring), (0,) * len(ring.names)
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
    """A row times its denominators; FLINT's polynomials are then free of inverses."""
    polynomials = {p: x.p for p, x in row.items() if x}
    for i, divisor in _inverses(ring):
        most = max((x.degrees()[i] for x in polynomials.values()), default=0)
        if most:
            polynomials = {p: _times(ring, x, i, divisor, int(most)) for p, x in polynomials.items()}
    return polynomials


def _inverses(ring: Ring) -> Iterator[tuple[int, Any]]:
    """Generators that stand for inverses, each with what it is the inverse of."""
    for atom in ring.inverted:
        yield ring.index[f"1/{atom}"], ring.gen(str(atom)).p
    for atom in ring.constants:
        if atom.kind == "inverse" and atom.argument is not None:
            yield ring.index[str(atom)], ring.constant(atom.argument).p


def _times(ring: Ring, x: Any, i: int, divisor: Any, most: int) -> Any:
    """x · divisor^most, generator i being 1/divisor."""
    parts = collected(Poly(ring, x), [i]).items()
    return ring.reduce(
        sum((part.p * divisor ** (most - int(outer[i])) for outer, part in parts), ring.zero.p)
    )


# ---- coordinates -------------------------------------------------------------------------------------------


def _scaled(exact: Mechanism) -> Mechanism | None:
    """The mechanism with coordinates in other units: angles that follow by rational factors become multiples.

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


# ------------------------------------------------------------------------------------------------------------
# The matrix of the energies at random values of the constants, modulo a large prime.
#
# A choice of values that respects the relations between constants (sin² + cos² = 1, √2² = 2) is a map of
# rings: columns that are independent there are independent. Columns that are dependent there are dependent
# everywhere, but with a probability of about 1e-17 for each dependence; `dependence` proves it.


Numbers: TypeAlias = dict[int, int]  # by column, what is not zero
_FIRST = 2**61  # primes are sought from here


class Image:
    """Values of the constants modulo a prime."""

    def __init__(self, ring: Ring, seed: int) -> None:
        self.ring = ring
        self._random = random.Random(seed)
        roots = [int(x) for a in ring.constants if a.kind == "sqrt" for x in _radicand(a)]
        start = _FIRST + 2 * self._random.randrange(2**60)
        self.prime = next(p for p in _primes(start) if all(_is_square(x, p) for x in roots))
        self.values: dict[int, int] = {}
        for atom in sorted(ring.constants, key=lambda a: a.kind == "abs"):  # of what is known by then
            if str(atom) in ring.index and ring.index[str(atom)] not in self.values:
                self._choose(atom)

    def _choose(self, atom: Atom) -> None:
        p, index = self.prime, self.ring.index
        if atom.kind in ("cos", "sin"):
            t = self._random.randrange(2, p - 1)
            below = pow(1 + t * t, -1, p)
            pair = {"cos": (1 - t * t) * below % p, "sin": 2 * t * below % p}
            for kind, value in pair.items():
                name = str(Atom(kind, atom.name, atom.argument))
                if name in index:
                    self.values[index[name]] = value
        elif atom.kind == "sqrt":
            above, below = _radicand(atom)
            square = above * pow(below, -1, p) % p
            self.values[index[str(atom)]] = pow(square, (p + 1) // 4, p)
        elif atom.kind == "abs" and atom.argument is not None:
            self.values[index[str(atom)]] = self(self.ring.constant(atom.argument).p)
        else:
            self.values[index[str(atom)]] = self._random.randrange(2, p - 1)

    def __call__(self, x: Any) -> int:
        """The value of a FLINT polynomial in the constants."""
        p, total = self.prime, 0
        for exponents, c in x.to_dict().items():
            term = int(c.p) * pow(int(c.q), -1, p) if c.q != 1 else int(c.p)
            for i, e in enumerate(exponents) if any(exponents) else ():
                if e:
                    term = term * pow(self.values[i], int(e), p) % p
            total += term
        return total % p

    def of_rows(self, rows: Sequence[Row]) -> list[Numbers]:
        """The matrix, modulo the prime."""
        return [{p: self(x) for p, x in row.items()} for row in rows]

    def echelon(self, rows: Sequence[Numbers], columns: Sequence[int]) -> dict[int, Numbers]:
        """Coefficients of each column that depends on those before it, in those that do not."""
        place = {p: k for k, p in enumerate(columns)}
        entries = [0] * (len(rows) * len(columns))
        for r, row in enumerate(rows):
            for p, x in row.items():
                entries[r * len(columns) + place[p]] = x
        reduced, rank = flint.nmod_mat(len(rows), len(columns), entries, self.prime).rref()
        found: dict[int, Numbers] = {}
        pivots: list[int] = []
        for k, column in enumerate(columns):
            if len(pivots) < rank and int(reduced[len(pivots), k]):
                pivots.append(column)
                continue
            coefficients = {p: int(reduced[r, k]) for r, p in enumerate(pivots)}
            found[column] = {p: c for p, c in coefficients.items() if c}
        return found


def _radicand(atom: Atom) -> tuple[int, int]:
    number = atom.argument.number if atom.argument is not None else None
    assert number is not None, "roots are of numbers"
    return number.numerator, number.denominator


def _primes(start: int) -> Iterator[int]:
    """Primes that are 3 modulo 4, in which roots are powers."""
    p = start | 3
    while True:
        if flint.fmpz(p).is_prime():
            yield p
        p += 4


def _is_square(x: int, p: int) -> bool:
    return x % p == 0 or pow(x, (p - 1) // 2, p) == 1


# ------------------------------------------------------------------------------------------------------------
# Columns that depend on those before them, with coefficients that are proved.
#
# An image modulo a prime says which columns are independent and which of them each other column needs. A few
# of the simplest rows give the coefficients exactly; all rows confirm them, as identities of polynomials.


_IMAGES = 5  # tries, of which already the second is never needed

Dependence = dict[int, dict[int, Expression]]


def dependence(ring: Ring, rows: Sequence[Row], columns: Sequence[int]) -> Dependence:
    """Combinations y_j = Σ x_k y_k, for each column that is one of earlier independent columns."""
    field = Field(ring)
    for seed in range(_IMAGES):
        image = Image(ring, seed)
        values = image.of_rows(rows)
        found: Dependence = {}
        for j, support in image.echelon(values, columns).items():
            pairs = zip(rows, values, strict=True)
            touched = [(row, x) for row, x in pairs if j in row or support.keys() & row]
            solved = _solved(field, image, touched, j, list(support))
            if solved is None:
                break
            found[j] = {k: field.expression(x) for k, x in solved.items()}
        else:
            return found
    raise ArmdynError("base parameters: the constants of this robot's geometry could not be told apart")


def _solved(
    field: Field, image: Image, rows: Sequence[tuple[Row, Numbers]], j: int, unknown: Sequence[int]
) -> dict[int, Quotient] | None:
    """The coefficients of column j, None if they do not hold in all rows."""
    chosen = _simplest(image, rows, {*unknown, j}, unknown)
    system = [{k: field.of(row[k]) for k in (*unknown, j) if k in row} for row in chosen]
    found = _eliminated(system, j, unknown)
    return found if found is not None and _holds(field, [row for row, _ in rows], j, found) else None


def _simplest(
    image: Image, rows: Sequence[tuple[Row, Numbers]], wanted: set[int], unknown: Sequence[int]
) -> list[Row]:
    """Independent rows, as many as unknowns and as short as can be."""

    def length(pair: tuple[Row, Numbers]) -> tuple[int, int]:
        entries = [len(x) for k, x in pair[0].items() if k in wanted]
        return len(entries), sum(entries)

    ordered = sorted(rows, key=length)
    transposed = [{r: x[k] for r, (_, x) in enumerate(ordered) if k in x} for k in unknown]
    dependent = image.echelon(transposed, range(len(ordered)))
    return [row for r, (row, _) in enumerate(ordered) if r not in dependent]


def _eliminated(
    system: list[dict[int, Quotient]], j: int, unknown: Sequence[int]
) -> dict[int, Quotient] | None:
    """Gauss and Jordan, the shortest entry first."""
    left = set(unknown)
    done: list[tuple[int, dict[int, Quotient]]] = []
    open_rows = list(system)
    while left:
        entries = [
            (len(row), x.size, r, k) for r, row in enumerate(open_rows) for k, x in row.items() if k in left
        ]
        if not entries:
            return None
        _, _, r, k = min(entries)
        row = open_rows.pop(r)
        pivot = row[k]
        row = {c: x / pivot for c, x in row.items()}
        open_rows = [_reduced(other, row, k) for other in open_rows]
        done = [(c, _reduced(other, row, k)) for c, other in done]
        done.append((k, row))
        left.remove(k)
    return {k: row[j] for k, row in done if j in row}


def _reduced(other: dict[int, Quotient], row: dict[int, Quotient], k: int) -> dict[int, Quotient]:
    """A row without unknown k."""
    if k not in other:
        return other
    factor = other[k]
    found = dict(other)
    for c, x in row.items():
        change = factor * x
        found[c] = found[c] - change if c in found else change.field.of(-change.above, change.below)
    return {c: x for c, x in found.items() if x}


def _holds(field: Field, rows: Sequence[Row], j: int, found: dict[int, Quotient]) -> bool:
    """True if Σ x_k y_k = y_j in every row, multiplied by the common denominator."""
    ring = field.ring
    below: Any = ring.one.p
    for x in found.values():
        below = below * divmod(x.below, below.gcd(x.below))[0]
    above = {k: x.above * divmod(below, x.below)[0] for k, x in found.items()}
    for row in rows:
        total = ring.context.constant(0)
        for k in above.keys() & row.keys():
            total = total + above[k] * row[k]
        if j in row:
            total = total - below * row[j]
        if not ring.reduce(total).is_zero():
            return False
    return True


# ------------------------------------------------------------------------------------------------------------
# Parameters of a robot grouped into base parameters, whichever way that was found.


Zeros: TypeAlias = Literal["free", "given"]
_TENSOR_FIRST = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m")
_OFFSET_FIRST = ("offset", "asymmetry")  # of two that differ at rest alone, the one that does not jump
_COUNTED = ("body", "rotor", *SPRINGS, "idler")  # always
_PARTS = {part: k for k, part in enumerate((*_COUNTED, "joint", "motor", "damper"))}


@dataclass(frozen=True)
class Grouping:
    """Base parameters π_b = Σ c_p π_p: for each, its leading parameter, with coefficient 1, and the others.

    A column of the regressor that depends on others is a combination of leading columns; its parameter
    therefore adds to those. The leading ones are as near to the base as possible.
    """

    layout: Layout
    considered: tuple[int, ...]  # parameters that could matter, in the order in which they may lead
    rows: tuple[dict[int, Expression], ...]  # for each base parameter, the leading parameter first
    absent: tuple[int, ...]  # parameters that never appear

    @staticmethod
    def of(layout: Layout, considered: Sequence[int], absent: set[int], dependent: Dependence) -> Grouping:
        """The grouping that follows from the columns that depend on others."""
        found = {p: {p: ONE} for p in considered if p not in absent and p not in dependent}
        for j in considered:
            for p, x in dependent.get(j, {}).items():
                found[p][j] = x
        gone = tuple(p for p in range(len(layout)) if p in absent)
        return Grouping(layout, tuple(considered), tuple(found.values()), gone)

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The parameter that each base parameter is named after in the regressor: its column is kept."""
        return tuple(next(iter(row)) for row in self.rows)

    @cached_property
    def decimals(self) -> bool:
        """True if numbers are written as decimals, as in equations."""
        return in_decimals(c for row in self.rows for x in row.values() for _, c in x.terms)

    @property
    def alone(self) -> tuple[int, ...]:
        """Parameters that are base parameters by themselves."""
        return tuple(sorted(p for row in self.rows if len(row) == 1 for p in row))

    @property
    def combined(self) -> tuple[int, ...]:
        """Parameters that appear in combinations alone."""
        return tuple(sorted({p for row in self.rows if len(row) > 1 for p in row}))

    @property
    def left_out(self) -> tuple[int, ...]:
        """Parameters not asked about: friction, those that the description sets to zero, load friction."""
        return tuple(p for p in range(len(self.layout)) if p not in set(self.considered))


def considered(model: RobotModel, zeros: Zeros, friction: bool) -> tuple[int, ...]:
    """The parameters to group, in the order in which they may lead.

    Coefficients of load friction are never among them: the torque is not linear in them.
    Links come before rotors, rotors before springs, springs before friction, each from the base to the tip.
    Of a link, tensors come before first moments and these before the mass: so what a joint does not tell
    apart goes to the link before, as in the literature (M. Gautier, W. Khalil, "Direct calculation of minimum
    set of inertial parameters of serial robots", IEEE Trans. Robotics and Automation 6 (1990) 368–373).
    """
    wanted = layout(model)
    exact = lower(model, lambda x: x)
    values = parameter_vector(exact, wanted)
    last = [_last_of_tensor(body) for body in exact.bodies]
    kept = [
        p
        for p, parameter in enumerate(wanted)
        if (_is_counted(parameter) or (friction and parameter.kind.is_linear))
        and (zeros == "free" or not Expression.of(values[p]).is_zero)
    ]
    return tuple(sorted(kept, key=lambda p: (*_place(wanted[p], last), p)))


def _is_counted(parameter: Parameter) -> bool:
    return parameter.kind.part in _COUNTED and parameter.kind.entry not in TERMS


def _place(parameter: Parameter, last: Sequence[str]) -> tuple[int, int, float]:
    """Rank of a parameter in the order; `last` has the entry that is the last of each link's tensor."""
    kind, within = parameter.kind, 0.0
    if kind.part == "body":
        within = _TENSOR_FIRST.index(parameter.symbol)
        if kind.entry == last[parameter.joint]:
            within = _TENSOR_FIRST.index("mx") - 0.5
    elif kind.entry in _OFFSET_FIRST:
        within = 1 + _OFFSET_FIRST.index(kind.entry)
    return _PARTS[kind.part], parameter.joint, within


def _last_of_tensor(body: Body) -> str:
    """The entry that a joint's axis u makes superfluous: a tensor 1 − u uᵀ moves as one of the link before.

    About an axis across u it has the coefficient 1, so that nothing has to be divided.
    """
    u = apply_transposed(body.R_after, body.axis)
    across = [axis for axis, x in zip("xyz", u, strict=True) if Expression.of(x).is_zero]
    return f"I{across[-1]}{across[-1]}" if across else "Izz"


def exact_grouping(model: RobotModel, zeros: Zeros, friction: bool) -> Grouping:
    """The grouping by linear algebra over the energies, exact, for any value of the geometry's symbols."""
    columns = considered(model, zeros, friction)
    closed = energies(model)
    matrix = rows(closed, columns)
    present = {p for row in matrix for p, x in row.items() if not x.is_zero()}
    moved = [p for p in columns if p in present]
    dependent = dependence(closed.basis.kinematic, matrix, moved)
    return Grouping.of(closed.basis.layout, columns, set(columns) - present, dependent)


def written_values(grouping: Grouping, parameters: Sequence[Expression]) -> list[Expression]:
    """The base parameters in the symbols of the description."""
    return [sum((x * parameters[p] for p, x in row.items()), ZERO) for row in grouping.rows]


# ------------------------------------------------------------------------------------------------------------
# Base parameters as text, LaTeX and Markdown.


def name(k: int) -> str:
    """Name of base parameter k, counted from zero."""
    return f"pi{k + 1}"


def spelled(style: Style, k: int) -> str:
    """Base parameter k in a formula."""
    return name(k) if style.glyph is None else style.entry("pi", (k + 1,))


def combination(grouping: Grouping, row: dict[int, Expression], style: Style = TEXT) -> list[str]:
    """The signed terms of a base parameter."""
    style = replace(style, decimals=grouping.decimals)
    return [_term(style, x, _parameter(grouping, p, style)) for p, x in row.items()]


def _parameter(grouping: Grouping, p: int, style: Style) -> str:
    plain = grouping.layout[p].name
    glyph = parameter_glyph(f"[{plain}]")
    return plain if style.glyph is None or glyph is None else style.glyph(glyph)


def _term(style: Style, x: Expression, parameter: str) -> str:
    """A coefficient times a parameter, its sign in front."""
    negative = all(c < 0 for _, c in x.terms)
    size = -x if negative else x
    if len(size.terms) == 1:
        return ("-" if negative else "") + style.monomial(*size.terms[0], parameter)
    return style.product([style.bracket(style.parts(size)), parameter], negative)


def sections(grouping: Grouping, style: Style, notes: Sequence[str]) -> list[Passage]:
    """Sections on parameters that are known in combinations, that are known alone, that never appear."""
    lines: dict[bool, list[tuple[str, list[str]]]] = {True: [], False: []}
    for k, row in enumerate(grouping.rows):
        lines[len(row) > 1].append((spelled(style, k), combination(grouping, row, style)))
    found = [Passage("Base parameters", " ".join([_count(grouping), *notes]))]
    found += [Passage("Combinations", "", lines[True]), Passage("Alone", "", lines[False])]
    found += [
        Passage("Never appear", _listed(grouping, grouping.absent, style)),
        Passage("Left out", _listed(grouping, grouping.left_out, style)),
    ]
    return [section for section in found if section.lines or section.text]


def _count(grouping: Grouping) -> str:
    total, b = len(grouping.considered), len(grouping.rows)
    return (
        f"{b} base {_of(b, 'parameter')} of {total} {_of(total, 'parameter')}: {len(grouping.combined)} of "
        f"these appear in combinations only, {len(grouping.alone)} alone, {len(grouping.absent)} never."
    )


def _of(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _listed(grouping: Grouping, parameters: Sequence[int], style: Style) -> str:
    if not parameters:
        return ""
    names = [_parameter(grouping, p, style) for p in parameters]
    if style is LATEX:
        names = [f"${text}$" for text in names]
    return ", ".join(names) + "."


# ------------------------------------------------------------------------------------------------------------
# The equations of motion in base parameters: the reduced regressor.


class BaseEquations:
    """τ = Y_b π_b with Y_b (n, b): the columns of the leading parameters in the regressor (7.81)."""

    def __init__(self, model: RobotModel, grouping: Grouping) -> None:
        if model.springs:
            raise SpringError(
                "base parameters of a robot with springs between points are found in numbers: they have no "
                "exact equations; base.regressor(q, qd, qdd) has their columns"
            )
        self.model, self.grouping = model, grouping
        self._closed = ClosedForm(model)

    @cached_property
    def regressor(self) -> Array[Entry]:
        """Y_b, exact entries that print and compare as those of `Equations` do."""
        closed = self._closed
        columns = [self._column(p) for p in self.grouping.leading]
        return Array([[Entry(closed.basis, column[i]) for column in columns] for i in range(closed.n)])

    def _column(self, p: int) -> list[Poly]:
        closed, zero = self._closed, self._closed.basis.kinematic.zero
        if p in closed.kinetic_columns or p in closed.potential_columns:
            return lagrange(
                closed.kinetic_columns.get(p, zero), closed.potential_columns.get(p, zero), closed.n
            )
        return [zero + torques.get(p, 0) for torques in closed.friction_columns]

    def text(self) -> str:
        """Each row of τ = Y_b π_b, as plain text; also `str(equations)`."""
        return document.text(self._title, self._sections(TEXT))

    def latex(self, width: str = PAGE) -> str:
        """The rows as LaTeX (amsmath), in rows of at most a width."""
        return document.latex(self._title, self._sections(LATEX), width)

    def markdown(self, width: str = PAGE) -> str:
        """The rows as Markdown with formulas between $$, in rows of at most a width."""
        return document.markdown(self._title, self._sections(LATEX), width)

    def __str__(self) -> str:
        return self.text()

    @property
    def _title(self) -> str:
        return f"{self.model.name}: base parameters"

    def _sections(self, style: Style) -> list[Passage]:
        check_written(sum(len(entry.poly) for row in self.regressor for entry in row))
        printer = Printer(self._closed.basis, style)
        lines = []
        for i, row in enumerate(self.regressor):
            terms = [
                printer.times(printer.poly_parts(entry.poly), spelled(style, k))
                for k, entry in enumerate(row)
                if entry.poly
            ]
            lines.append((style.entry("tau", (i + 1,)), terms or [style.zero]))
        found = [Passage("Equations of motion", "", lines)]
        if printer.definitions:
            found.append(Passage("Where", "", list(printer.definitions.items())))
        return found
