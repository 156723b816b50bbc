"""Entries of the equations: linear forms in the dynamic parameters, with polynomials as coefficients."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from armdyn.display import shown_or_none
from armdyn.dynamics import rigid_torques
from armdyn.exact.basis import Basis, NotInEquationsError, angle_parts, cos_sin_of_sum
from armdyn.exact.printing.mathml import MATHML, inline, matrix_mathml
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, TEXT, Style, markdown_text
from armdyn.exact.ring import Poly, Ring, check_expanded
from armdyn.expression import (
    ONE,
    ZERO,
    ArmdynError,
    Atom,
    Expression,
    MissingValueError,
    expression,
    listed,
    shown,
)
from armdyn.model.errors import plain
from armdyn.model.friction import Row
from armdyn.model.robot_model import lower

# Names that are replaced, differentiated by and given numbers: the description's symbols, q1 …, qd1 …, qdd1 …
_TRIG = re.compile(r"([cs])(\d+(?:_\d+)*)")
_VARIABLE = re.compile(r"(q|qd|qdd)(\d+)")
Values = Mapping[str, Expression]


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
    images = {name: _image(basis, poly.ring, name, values) for name in poly.generators()}
    needed = [x for image in images.values() if image for x in image.needed]
    target = ring_with(basis, poly.ring, needed)
    places = [target.zero.p] * len(poly.ring.names)
    for name, image in images.items():
        places[poly.ring.index[name]] = (image.made(target) if image else target.gen(name)).p
    return Poly(target, target.reduce(poly.p.compose(*places, ctx=target.context)))


class _Image(NamedTuple):
    """The replacement of a generator: the numbers that a ring needs for it, and how it is made there."""

    needed: Sequence[Expression]
    made: Callable[[Ring], Poly]


def _image(basis: Basis, ring: Ring, name: str, values: Values) -> _Image | None:
    """Image of a generator; None where it stays."""
    if trig := _TRIG.fullmatch(name):
        joints = [f"q{i}" for i in trig[2].split("_")]
        if not values.keys() & set(joints):
            return None
        return _turned(basis, sum((_variable(values, q) for q in joints), ZERO), trig[1])
    if row := _speed_row(basis, name):
        speed, before = _summed(row, values, "qd"), _summed(row, {}, "qd")
        return None if speed == before else _number_image(basis, _faded(name, speed))
    if name in basis.loads:
        raise ArmdynError(f"{name}: the size of a torque depends on every name; nothing is replaced in it")
    x = _constant(ring, name) or Expression.symbol(name)
    return _number_image(basis, x.substitute(values)) if x.symbols() & values.keys() else None


def _number_image(basis: Basis, value: Expression) -> _Image:
    """A number, or a formula in joint variables, for which a ring needs nothing more."""
    moving = any(_VARIABLE.fullmatch(name) for name in value.symbols())
    return _Image([] if moving else [value], lambda ring: basis.element(value, ring))


def _turned(basis: Basis, angle: Expression, kind: str) -> _Image:
    """The cosine or sine of an angle that is given."""
    parts = angle_parts(angle, basis.joints)
    if parts is None:
        raise ArmdynError(f"an angle may become whole multiples of angles and a constant, not '{angle}'")
    joints, constant = parts
    needed = (constant.cos(), constant.sin())

    def made(ring: Ring) -> Poly:
        c, s = (ring.constant(x) for x in needed)
        return cos_sin_of_sum(ring, joints, (c, s))["cs".index(kind)]

    return _Image(needed, made)


def _speed_row(basis: Basis, name: str) -> Row:
    """The coordinates whose speed an opaque function of friction is of; empty for any other generator."""
    if match := re.fullmatch(r"sgn(m?)(\d+)", name):
        i = int(match[2]) - 1
        return basis.speeds[i].row if match[1] else ((i, 1),)
    surface = basis.bells.get(name) or basis.tanhs.get(name)
    return () if surface is None else surface.row


def _faded(name: str, speed: Expression) -> Expression:
    """sign(v), exp(−(v/width)²) or tanh(v/width) of a speed that is known."""
    number = speed.number
    if number is not None and name.startswith("sgn"):
        return Expression.of((number > 0) - (number < 0))
    if number == 0:
        return ZERO if name.startswith("tanh") else ONE
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
    used = poly.generators()
    for opaque in used:
        if opaque in basis.loads:
            raise ArmdynError(f"{opaque}: the size of a torque has no derivative in closed form here")
        if opaque in basis.bells:
            fading = basis.bells[opaque]
            inside = Expression.of(fading.stribeck_velocity) * _summed(fading.row, {}, "qd")
            if name in inside.symbols():
                raise ArmdynError(f"{opaque}: exp(-(v/width)**2) has no derivative in closed form here")
        if opaque in basis.tanhs:
            inside = Expression.of(basis.tanhs[opaque].width) * _summed(basis.tanhs[opaque].row, {}, "qd")
            if name in inside.symbols():
                raise ArmdynError(f"{opaque}: tanh(v/width) has no derivative in closed form here")
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
    _check_found(basis, at.missing)
    total = 0.0
    for exponents, coefficient in poly.terms().items():
        total += float(coefficient) * math.prod(
            x ** int(e) for x, e in zip(values, exponents, strict=True) if e
        )
    return total


def given_numbers(basis: Basis, ring: Ring, values: Mapping[Any, Any]) -> dict[str, float]:
    """Numbers given by name, those of joints also as vectors q, qd, qdd; refuses names that are not there."""
    given: dict[str, Any] = {}
    for key, x in values.items():
        name = str(_name(key))
        given |= _numbered(name, x, basis.n) if name in ("q", "qd", "qdd") else {name: x}
    for name in given.keys() - {*ring.names, *basis.full.names}:
        if not basis.joints_of(name):  # c12 and qd1_to_3, which texts have, may be given too
            basis.check_name(name)
    return {name: _float(name, x) for name, x in given.items()}


def check_values(
    basis: Basis, polys: Iterable[Poly], given: Mapping[str, Any], also: Iterable[str] = ()
) -> None:
    """Refuse names in some polynomials that have no value, and further ones that are known to have none."""
    missing = set(also)
    for poly in polys:
        at = _State(basis, poly.ring, given)
        for name in poly.generators():
            at.value(name)
        missing |= at.missing
    _check_found(basis, missing)


def _check_found(basis: Basis, missing: set[str]) -> None:
    if missing:
        names = [name for name in basis.names if name in missing]
        raise MissingValueError(f"a number needs values for {listed(names or sorted(missing))}")


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
            if name in basis.tanhs:
                return math.tanh(speed / self._number(basis.tanhs[name].width))
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
        basis, n = self.basis, range(1, self.basis.n + 1)
        q, qd, qdd = ([self._number(Expression.symbol(f"{x}{i}")) for i in n] for x in ("q", "qd", "qdd"))
        wrench = [self._number(x) for x in basis.parameters[len(basis.layout) :]]
        torques = rigid_torques(lower(basis.model, self._number), q, qd, qdd, wrench or None)
        return abs(float(torques[joint]))

    def _number(self, x: object) -> float:
        exact = Expression.of(x)
        missing = exact.symbols() - self.symbols.keys()
        self.missing |= missing
        return 1.0 if missing else exact.value(self.symbols)


# ---- for notebooks: LaTeX that MathJax knows, and never so much that a browser waits -----------------------


SHOWN = 500  # terms, multiplied out, up to which entries and equations are typeset in a notebook
_LETTERS = 20_000  # of LaTeX that MathJax sets in a second or so


def matrix_latex(rows: Iterable[Iterable[str]], where: Iterable[tuple[str, str]] = ()) -> str:
    """A matrix of formulas; what was named in them follows it."""
    lines = " \\\\\n".join(" & ".join(row) for row in rows)
    named = [f"{name} = {value}" for name, value in where]
    return r",\quad ".join(["\\begin{bmatrix}\n" + lines + "\n\\end{bmatrix}", *named])


def displayed(latex: Callable[[], str], terms: int) -> str | None:
    """A formula for a notebook; None where it is too long, or cannot be written."""
    return shown_or_none(lambda: _display(latex(), terms)) if terms <= SHOWN else None


def _display(latex: str, terms: int) -> str:
    if len(latex) > _LETTERS:
        raise ArmdynError(f"{terms} terms with {len(latex)} letters of LaTeX are too long to show")
    return f"$\\displaystyle {latex}$"


def in_page(latex: str | None, mathml: Callable[[], str]) -> str | None:
    """What is shown as LaTeX, as MathML: notebooks prefer HTML, and a page made of one needs no network."""
    return None if latex is None else shown_or_none(lambda: _scrolling(mathml()))


def _scrolling(mathml: str) -> str:
    """At the left, as wide as it is."""
    left = mathml.replace('<math display="block">', '<math display="block" style="width: max-content">')
    return f'<div style="overflow-x: auto; padding: .2em 0">{left}</div>'


# ---- entries -----------------------------------------------------------------------------------------------


T = TypeVar("T")


class Formula:
    """A formula in the description's symbols and q1 …, qd1 …, qdd1 …, as entries of the equations are."""

    basis: Basis
    poly: Poly

    if TYPE_CHECKING:

        @property
        def size(self) -> int:
            """An upper bound on its terms."""

        def parts(self, printer: Printer) -> list[str]:
            """The signed terms that a printer writes for it."""

        def __mul__(self, other: Any) -> Any: ...

    def substitute(self, *values: Any, **more: Any) -> Entry:
        """The entry with names replaced, all at once and exactly: `entry.substitute(m1=2, q2="pi/2")`.

        Or a mapping, or one name and its value, as SymPy's `subs` takes them. Names are also SymPy symbols;
        values are numbers, texts or SymPy expressions, with new symbols if you like. An angle may become a
        sum of whole multiples of angles and a constant.
        """
        pairs = {values[0]: values[1]} if len(values) == 2 else _mapping(*values)
        given = {self.basis.check_name(_name(key)): _exact(x) for key, x in {**pairs, **more}.items()}
        return Entry(self.basis, substituted(self.basis, self.poly, given))

    subs = substitute  # SymPy's name for it

    def diff(self, name: Any, times: Any = 1) -> Entry:
        """The derivative by a symbol or a joint variable, by its name or as a SymPy symbol.

        Signs of speeds count as constants.
        """
        found, by = self.poly, self.basis.check_name(_name(name))
        if not isinstance(times, int) or times < 0:
            raise ArmdynError(
                f"times: found {shown(times)}; how often to differentiate is expected, 0, 1, 2 …"
            )
        for _ in range(times):
            found = differentiated(self.basis, found, by)
        return Entry(self.basis, found)

    def value(
        self,
        values: Mapping[Any, Any] | None = None,
        /,
        *,
        q: Any = None,
        qd: Any = None,
        qdd: Any = None,
        **more: Any,
    ) -> float:
        """Number at a state: `entry.value(q=[0, 1], qd=[1, 2], m1=2.5)`.

        Values may be texts such as "pi/2". Symbols that are not given have the description's values. Joint
        variables may be given one by one, q1=….
        """
        given = {**_mapping(values), **more, "q": q, "qd": qd, "qdd": qdd}
        return number(self.basis, self.poly, given_numbers(self.basis, self.poly.ring, given))

    def markdown(self) -> str:
        """The formula between $$."""
        return f"$$\n{self.latex()}\n$$\n"

    def sympy(self, symbols: Mapping[str, Any] | Iterable[Any] = ()) -> Any:
        """The entry as a SymPy expression; `symbols` are used instead of real ones of the same names."""
        from armdyn.exact.handover import Handover  # SymPy takes a while to load

        return Handover(self.basis, symbols).expression(self.poly)

    def _read(self, other: Any) -> Poly | None:
        """Another entry, a text, a number or a SymPy expression as a polynomial; None for anything else."""
        if isinstance(other, Formula):
            return other.poly
        if isinstance(other, Poly):
            return other
        ring = self.poly.ring
        if _is_sympy(other):
            from armdyn.exact.handover import read

            return read(other, self.basis, ring)
        if isinstance(other, bool) or not isinstance(other, (str, Real, Expression)):
            return None
        return (
            self.basis.read(other, ring)
            if isinstance(other, str)
            else self.basis.element(Expression.of(other), ring)
        )

    def __truediv__(self, other: Any) -> Any:
        """Divided by a number, or by an expression in symbols that the equations can divide by."""
        if isinstance(other, bool) or not (isinstance(other, (Real, Expression)) or _is_sympy(other)):
            return NotImplemented
        if isinstance(other, (int, Fraction)) and other:
            return self * Fraction(1, other)
        return self * (1 / (other if _is_sympy(other) else Expression.of(other)))

    def __str__(self) -> str:
        printer = Printer(self.basis, TEXT)
        lines = [printer.style.sum(self.parts(printer))]
        lines += [f"  where {name} = {TEXT.sum(parts)}" for name, parts in printer.definitions.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """The entry typeset; what had to be named follows it."""
        printer = Printer(self.basis, LATEX)
        return r",\quad ".join([printer.style.sum(self.parts(printer)), *_named(printer)])

    def mathml(self) -> str:
        """The same for browsers, as an inline formula of MathML."""
        return inline(self)

    def _repr_latex_(self) -> str | None:
        return displayed(self.latex, self.size)

    def _repr_html_(self) -> str | None:
        return in_page(self._repr_latex_(), self.mathml)

    def __hash__(self) -> int:
        return hash(self.poly)

    def __eq__(self, other: object) -> bool:
        """True if the other is the same for all values; what no equation can hold is not."""
        try:
            poly = self._read(other)
        except NotInEquationsError:
            if _is_sympy(other):
                return False
            raise
        if poly is None:
            return NotImplemented
        both = _in_one_ring(self.poly, poly)
        return both is not None and both[0] == both[1]


def _named(printer: Printer) -> list[str]:
    """What had to be named, in LaTeX."""
    return [f"{name} = {LATEX.sum(parts)}" for name, parts in printer.definitions.items()]


def _is_sympy(x: object) -> bool:
    """True for a SymPy expression, told without loading SymPy."""
    return getattr(x, "__sympy__", False) is True


def _name(key: Any) -> object:
    """The name of a SymPy symbol or of q1(t); any other key as it is."""
    return getattr(key, "name", key) if _is_sympy(key) else key


def _exact(value: Any) -> Expression:
    if _is_sympy(value):
        from armdyn.exact.handover import read_expression

        return read_expression(value)
    return expression(plain(value))


def _float(name: str, value: Any) -> float:
    """Number that is given for a name."""
    try:
        return _exact(value).value()
    except ArmdynError as error:
        raise type(error)(f"{name}: {error}") from None


def _mapping(values: Any = None, *others: Any) -> Mapping[Any, Any]:
    """Values by name, as they are given."""
    if others or not (values is None or isinstance(values, Mapping)):
        raise ArmdynError(f"found {shown(values)}; values by name are expected, as {{'m1': 2}} or m1=2")
    return values or {}


def _numbered(letter: str, vector: Any, n: int) -> dict[str, Any]:
    """q1 … of a vector q."""
    if vector is None:
        return {}
    entries = list(vector) if isinstance(vector, Iterable) and not isinstance(vector, str) else [vector]
    if len(entries) != n:
        raise ArmdynError(f"{letter}: expected {n} numbers, found {len(entries)}")
    return {f"{letter}{i + 1}": x for i, x in enumerate(entries)}


class Form(Formula):
    """Σ_p a_p π_p: one entry of B, C, g, … with a_p in the kinematic ring, π_p the robot's parameters.

    Compared by what it is worth when the parameters are written out in the description's symbols; also with
    a text, which is read as an expression in those symbols, c1, s12, …, q1, qd1, qdd1 and sgn1, and with
    SymPy expressions, whose symbols count by their names.
    """

    def __init__(self, basis: Basis, coefficients: dict[int, Poly]) -> None:
        self.basis = basis
        self.coefficients = {p: a for p, a in coefficients.items() if a}

    @cached_property
    def expanded(self) -> Poly:
        """The entry as one polynomial in the description's symbols."""
        check_expanded(self.size)
        full = self.basis.full
        total = full.context.constant(0)
        for p, a in self.coefficients.items():
            value = self.basis.values[p]
            total = total + full.include(a).p * value.p
        return Poly(full, full.reduce(total))

    @property
    def poly(self) -> Poly:  # type: ignore[override]
        return self.expanded

    @property
    def size(self) -> int:
        """An upper bound on the terms of `expanded`, without expanding."""
        return sum(len(a) * self.basis.value_sizes[p] for p, a in self.coefficients.items())

    def map(self, function: Callable[[Poly], Poly]) -> Form:
        return Form(self.basis, {p: function(a) for p, a in self.coefficients.items()})

    def derivative(self, name: str) -> Form:
        """∂/∂ a joint variable, q1, qd1 or qdd1, as a form; `diff` takes symbols of the description, too."""
        if not (variable := _VARIABLE.fullmatch(str(name))):
            raise ArmdynError(
                f"found {shown(name)}; a joint variable q1, qd1 or qdd1 is expected, or diff({name!r})"
            )
        self.basis.check_name(name)
        if variable[1] == "q":
            return self.by_joint(int(variable[2]) - 1)
        return self.map(lambda a: a.derivative(name))

    def by_joint(self, i: int) -> Form:
        """∂/∂q_i."""
        return self.map(lambda a: a.by_joint(i))

    def gradient(self) -> list[Form]:
        """∂/∂q_i for every joint."""
        by_parameter = [(p, a.gradient()) for p, a in self.coefficients.items()]
        return [Form(self.basis, {p: da[i] for p, da in by_parameter}) for i in range(self.basis.n)]

    def times_generator(self, name: str) -> Form:
        """Times a generator that no relation binds."""
        g = self.basis.kinematic.gen(name).p
        return self.map(lambda a: Poly(a.ring, a.p * g))

    def __add__(self, other: Any) -> Any:
        """The sum: with another form a form; with anything else an `Entry`, multiplied out."""
        if isinstance(other, int) and other == 0:
            return self
        if not isinstance(other, Form) or other.basis is not self.basis:
            return self._entry + (other._entry if isinstance(other, Form) else other)
        total = dict(self.coefficients)
        for p, a in other.coefficients.items():
            total[p] = total[p] + a if p in total else a
        return Form(self.basis, total)

    __radd__ = __add__

    @property
    def _entry(self) -> Entry:
        return Entry(self.basis, self.expanded)

    def __neg__(self) -> Form:
        return self.map(lambda a: -a)

    def __sub__(self, other: Any) -> Any:
        """The difference from another entry, a text or a SymPy expression, zero if they agree."""
        return self + (-other) if isinstance(other, Form) else self._entry - other

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Any:
        """The product: with an exact number or an element of the kinematic ring a form, else an `Entry`."""
        if not isinstance(other, (int, Fraction, Poly)):
            return self._entry * other
        return self.map(lambda a: self.basis.kinematic.zero + a * other)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Form):
            return (self - other).is_zero if self.basis is other.basis else self.expanded == other.expanded
        return super().__eq__(other)

    __hash__ = Formula.__hash__

    @property
    def is_zero(self) -> bool:
        return not self.coefficients or not self.expanded

    def parts(self, printer: Printer) -> list[str]:
        return printer.parts(self)


class Entry(Formula):
    """One polynomial of rewritten equations, printed and compared like a `Form`."""

    def __init__(self, basis: Basis, poly: Poly) -> None:
        self.basis, self.poly = basis, poly

    def __add__(self, other: Any) -> Entry:
        poly = self._read(other)
        return NotImplemented if poly is None else Entry(self.basis, _sum(self.poly, poly))

    __radd__ = __add__

    def __neg__(self) -> Entry:
        return Entry(self.basis, -self.poly)

    def __sub__(self, other: Any) -> Entry:
        poly = self._read(other)
        return NotImplemented if poly is None else Entry(self.basis, _sum(self.poly, -poly))

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Entry:
        poly = self._read(other)
        return NotImplemented if poly is None else Entry(self.basis, _product(self.poly, poly))

    __rmul__ = __mul__

    @property
    def size(self) -> int:
        """How many terms it has."""
        return len(self.poly)

    @property
    def is_zero(self) -> bool:
        return not self.poly

    def parts(self, printer: Printer) -> list[str]:
        return printer.poly_parts(self.poly)


def _sum(a: Poly, b: Poly) -> Poly:
    both = _in_one_ring(a, b)
    if both is None:
        raise ArmdynError("entries of robots with different symbols cannot be added or subtracted")
    return both[0] + both[1]


def _product(a: Poly, b: Poly) -> Poly:
    both = _in_one_ring(a, b)
    if both is None:
        raise ArmdynError("entries of robots with different symbols cannot be multiplied")
    product: Poly = both[0].ring.zero + both[0] * both[1]
    return product


def _in_one_ring(a: Poly, b: Poly) -> tuple[Poly, Poly] | None:
    """Both polynomials in one ring: that of the one which has all generators of the other."""
    if set(b.ring.names) <= set(a.ring.names):
        return a, a.ring.include(b)
    return (b.ring.include(a), b) if set(a.ring.names) <= set(b.ring.names) else None


class Array(Generic[T]):
    """An exact vector or matrix: indexed from 0 like a NumPy array, printed row by row.

    `called` says what it is, `equation` where the book has it. It goes to SymPy with `.sympy()`, gives
    numbers with `.value(q=…)` and writes itself with `.latex()`, `.markdown()` and `.mathml()`.
    """

    def __init__(self, rows: Sequence[Any], called: str = "", equation: str = "") -> None:
        self.rows = list(rows)
        self.called, self.equation = called, equation

    @property
    def shape(self) -> tuple[int, ...]:
        found: list[int] = []
        first: Any = self.rows
        while isinstance(first, list):
            found.append(len(first))
            first = first[0] if first else None
        return tuple(found)

    def __getitem__(self, index: int | slice | tuple[int, ...]) -> Any:
        entry: Any = self.rows
        for i in index if isinstance(index, tuple) else (index,):
            try:
                entry = entry[i]
            except (IndexError, TypeError):
                raise self._outside(index) from None
        if not isinstance(entry, list):
            return entry
        if isinstance(index, int) and len(self.shape) == 3:  # a matrix of a list of them
            return Array(entry, f"{self.called} [{index}]".strip(), self.equation)
        return Array(entry)

    def _outside(self, index: object) -> IndexError:
        sizes = "×".join(map(str, self.shape))
        last = ", ".join(str(size - 1) for size in self.shape)
        first = ", ".join("0" for _ in self.shape)
        return IndexError(
            f"[{str(index).strip('()')}] is not in this array of {sizes} entries: they are counted from 0, "
            f"as in NumPy, from [{first}] to [{last}]"
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    @property
    def T(self) -> Array[Any]:
        """The transpose of a matrix."""
        return Array([list(column) for column in zip(*self._matrix(), strict=True)])

    def __eq__(self, other: object) -> bool:
        """Entry by entry, with another array, a list or a SymPy matrix; of a vector, a column."""
        return bool(self.rows == self._rows_of(other))

    def __sub__(self, other: object) -> Array[Any]:
        """The differences from the entries of an array, a list or a SymPy matrix: zeros where they agree."""
        rows = self._rows_of(other)
        return Array(_differences(self.rows, rows)) if isinstance(rows, list) else NotImplemented

    def __rsub__(self, other: object) -> Array[Any]:
        rows = self._rows_of(other)
        return Array(_differences(rows, self.rows)) if isinstance(rows, list) else NotImplemented

    _op_priority = 20.0  # a SymPy matrix leaves the difference to `__rsub__`

    def _rows_of(self, other: object) -> object:
        """The rows of an array, a list or a matrix; of a column, where this is a vector, its entries."""
        rows: Any = other.rows if isinstance(other, Array) else other
        if not hasattr(rows, "tolist"):
            return rows
        rows = rows.tolist()
        if len(self.shape) == 1 and all(isinstance(row, list) and len(row) == 1 for row in rows):
            return [row[0] for row in rows]
        return rows

    __hash__ = None  # type: ignore[assignment]

    def substitute(self, *values: Any, **more: Any) -> Array[Entry]:
        """The array with names replaced in all entries: `J.substitute(q1=0, a1="l")`."""
        return Array(_each(self.rows, lambda x: x.substitute(*values, **more)), self.called, self.equation)

    subs = substitute  # SymPy's name for it

    def diff(self, name: Any, times: Any = 1) -> Array[Entry]:
        """The derivative of all entries by a symbol or a joint variable."""
        return Array(_each(self.rows, lambda x: x.diff(name, times)))

    def value(self, values: Mapping[Any, Any] | None = None, /, **more: Any) -> np.ndarray:
        """Numbers at a state, an array of this shape: `J.value(q=[0, 1], a1=0.5)`."""
        return np.array(_each(self.rows, lambda x: x.value(values, **more)))

    def sympy(self, symbols: Mapping[str, Any] | Iterable[Any] = ()) -> Any:
        """A SymPy matrix, of a vector a column, of three indices a list of matrices.

        `symbols` are used instead of real ones of the same names.
        """
        if len(self.shape) == 3:
            return [matrix.sympy(symbols) for matrix in self._matrices()]
        import sympy  # takes a while to load

        from armdyn.exact.handover import Handover

        rows = self._matrix()
        handover = Handover(rows[0][0].basis, symbols)
        return sympy.Matrix([[handover.expression(x.poly) for x in row] for row in rows])

    def __str__(self) -> str:
        return "[" + "\n ".join(str(row) for row in self.rows) + "]"

    __repr__ = __str__

    def latex(self) -> str:
        """The vector (as a column) or the matrix typeset; what had to be named follows it.

        Of three indices all matrices, one below the other.
        """
        if len(self.shape) == 3:
            return " \\\\\n".join(matrix.latex() for matrix in self._matrices())
        return matrix_latex(*self._spelled(LATEX))

    def mathml(self) -> str:
        """The same for browsers, as a block of MathML."""
        if len(self.shape) == 3:
            return "\n".join(matrix.mathml() for matrix in self._matrices())
        return matrix_mathml(*self._spelled(MATHML))

    def markdown(self) -> str:
        """A sentence that says what it is, and the formula between $$."""
        if len(self.shape) == 3:
            return "\n".join(matrix.markdown() for matrix in self._matrices())
        said = f"{self.called} {self.equation}".strip()
        return f"{markdown_text(said)}:\n\n$$\n{self.latex()}\n$$\n" if said else f"$$\n{self.latex()}\n$$\n"

    def _spelled(self, style: Style) -> tuple[list[list[str]], list[tuple[str, str]]]:
        """The entries in a style, and names and values of what had to be named."""
        rows = self._matrix()
        printer = Printer(rows[0][0].basis, style)
        lines = [[style.sum(x.parts(printer)) for x in row] for row in rows]
        return lines, [(name, style.sum(parts)) for name, parts in printer.definitions.items()]

    def _matrices(self) -> list[Array[Any]]:
        """The matrices of an array of three indices."""
        return [self[i] for i in range(len(self))]

    def _matrix(self) -> list[list[Formula]]:
        """The rows of a matrix, or the entries of a vector as rows."""
        rows = [row if isinstance(row, list) else [row] for row in self.rows]
        if not rows or any(not isinstance(x, Formula) for row in rows for x in row):
            sizes = "×".join(map(str, self.shape))
            raise ArmdynError(
                f"{sizes} entries: vectors and matrices of formulas, and lists of matrices, are written"
            )
        return rows

    def _repr_latex_(self) -> str | None:
        return displayed(self.latex, sum(_terms(row) for row in self.rows))

    def _repr_html_(self) -> str | None:
        return in_page(self._repr_latex_(), self.mathml)


class NamedArray(Array[T]):
    """A vector whose entries have names: `[\"m1\"]` is one of them, too, and it prints with them."""

    def __init__(self, rows: Sequence[Any], names: Sequence[str], called: str, equation: str) -> None:
        super().__init__(rows, called, equation)
        self.names = tuple(names)

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str):
            return super().__getitem__(index)
        if index not in self.names:
            raise ArmdynError(f"{self.called}: there is no {shown(index)}; names: {', '.join(self.names)}")
        return self.rows[self.names.index(index)]

    def __str__(self) -> str:
        """A line for each entry that is not zero."""
        lines = [f"{name}: {x}" for name, x in zip(self.names, self.rows, strict=True) if not x.is_zero]
        return "\n".join(lines) or "0"

    __repr__ = __str__


def _each(x: Any, function: Callable[[Any], Any]) -> Any:
    """A function of the entries of nested lists."""
    return [_each(entry, function) for entry in x] if isinstance(x, list) else function(x)


def _differences(a: Any, b: Any) -> Any:
    """a − b, entry by entry of lists of equal lengths."""
    if not isinstance(a, list) and not isinstance(b, list):
        return a - b
    if not (isinstance(a, list) and isinstance(b, list)) or len(a) != len(b):
        raise ArmdynError("a difference needs two arrays of the same shape")
    return [_differences(x, y) for x, y in zip(a, b, strict=True)]


def _terms(x: Any) -> int:
    """Terms of an entry, or of a row of them."""
    if isinstance(x, list):
        return sum(_terms(entry) for entry in x)
    return int(x.size)
