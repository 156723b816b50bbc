"""Entries of the equations: linear forms in the dynamic parameters, with polynomials as coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from armdyn.exact.engine.ring import Poly
from armdyn.exact.engine.size import check_expanded
from armdyn.exact.printing.formulas import displayed, matrix_latex
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, TEXT
from armdyn.expression import ArmdynError, Expression

if TYPE_CHECKING:
    from armdyn.exact.engine.basis import Basis

T = TypeVar("T")


class Form:
    """Σ_p a_p π_p: one entry of B, C, g, … with a_p in the kinematic ring, π_p the robot's parameters.

    Compared by what it is worth when the parameters are written out in the description's symbols; also with
    a text, which is read as an expression in those symbols, c1, s12, …, q1, qd1, qdd1 and sgn1.
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
    def size(self) -> int:
        """An upper bound on the terms of `expanded`, without expanding."""
        return sum(len(a) * self.basis.value_sizes[p] for p, a in self.coefficients.items())

    def map(self, function: Callable[[Poly], Poly]) -> Form:
        return Form(self.basis, {p: function(a) for p, a in self.coefficients.items()})

    def derivative(self, generator: str) -> Form:
        return self.map(lambda a: a.derivative(generator))

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
        """The sum: with another form a form; with a text or a number an `Entry`, multiplied out."""
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
        """The difference from another entry or a text, zero if they agree."""
        return self + (-other) if isinstance(other, Form) else self._entry - other

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def __mul__(self, other: Any) -> Form:
        """By a number or an element of the kinematic ring."""
        return self.map(lambda a: self.basis.kinematic.zero + a * other)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Form):
            return (self - other).is_zero if self.basis is other.basis else self.expanded == other.expanded
        return self._entry == other

    def __hash__(self) -> int:
        return hash(self.expanded)

    @property
    def is_zero(self) -> bool:
        return not self.coefficients or not self.expanded

    def value(self, values: dict[str, float]) -> float:
        """Its number, given all generators by name."""
        return self.expanded.value(values)

    def __str__(self) -> str:
        printer = Printer(self.basis, TEXT)
        lines = [printer.entry(self)]
        lines += [f"  where {name} = {TEXT.sum(parts)}" for name, parts in printer.definitions.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """The entry typeset; what had to be named follows it."""
        printer = Printer(self.basis, LATEX)
        entry = printer.entry(self)
        where = [f"{name} = {LATEX.sum(parts)}" for name, parts in printer.definitions.items()]
        return r",\quad ".join([entry, *where])

    def _repr_latex_(self) -> str | None:
        return displayed(self.latex, self.size)


class Entry:
    """One polynomial of rewritten equations, printed and compared like a `Form`."""

    def __init__(self, basis: Basis, poly: Poly) -> None:
        self.basis, self.poly = basis, poly

    def __eq__(self, other: object) -> bool:
        poly = self._read(other)
        if poly is None:
            return NotImplemented
        both = _in_one_ring(self.poly, poly)
        return both is not None and both[0] == both[1]

    def __hash__(self) -> int:
        return hash(self.poly)

    def _read(self, other: Any) -> Poly | None:
        """Another entry, a text or a number as a polynomial of this ring."""
        if isinstance(other, Form):
            other = other.expanded
        if isinstance(other, (Entry, Poly)):
            return other.poly if isinstance(other, Entry) else other
        if isinstance(other, bool) or not isinstance(other, (str, Real, Expression)):
            return None
        text = other if isinstance(other, str) else str(Expression.of(other))
        return self.basis.read(text, self.poly.ring)

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

    def value(self, values: dict[str, float]) -> float:
        """Its number, given all generators by name."""
        return self.poly.value(values)

    def __str__(self) -> str:
        return Printer(self.basis, TEXT).poly(self.poly)

    __repr__ = __str__

    def latex(self) -> str:
        return Printer(self.basis, LATEX).poly(self.poly)

    def _repr_latex_(self) -> str | None:
        return displayed(self.latex, len(self.poly))


def _sum(a: Poly, b: Poly) -> Poly:
    both = _in_one_ring(a, b)
    if both is None:
        raise ArmdynError("entries of robots with different symbols cannot be added or subtracted")
    return both[0] + both[1]


def _in_one_ring(a: Poly, b: Poly) -> tuple[Poly, Poly] | None:
    """Both polynomials in one ring: that of the one which has all generators of the other."""
    if set(b.ring.names) <= set(a.ring.names):
        return a, a.ring.include(b)
    return (b.ring.include(a), b) if set(a.ring.names) <= set(b.ring.names) else None


class Array(Generic[T]):
    """An exact vector or matrix: indexed like a NumPy array, printed row by row."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self.rows = list(rows)

    @property
    def shape(self) -> tuple[int, ...]:
        first = self.rows[0] if self.rows else None
        return (len(self.rows), len(first)) if isinstance(first, list) else (len(self.rows),)

    def __getitem__(self, index: int | tuple[int, ...]) -> Any:
        if isinstance(index, tuple):
            entry: Any = self.rows
            for i in index:
                entry = entry[i]
            return entry
        return self.rows[index]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        rows = other.rows if isinstance(other, Array) else other
        return self.rows == rows

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "[" + "\n ".join(str(row) for row in self.rows) + "]"

    __repr__ = __str__

    def latex(self) -> str:
        """The vector (as a column) or the matrix typeset; what had to be named follows it."""
        rows = [row if isinstance(row, list) else [row] for row in self.rows]
        if not rows or any(not isinstance(x, (Form, Entry)) for row in rows for x in row):
            raise ArmdynError(f"shape {self.shape}: only vectors and matrices of entries are typeset")
        printer = Printer(rows[0][0].basis, LATEX)
        lines = [
            [printer.entry(x) if isinstance(x, Form) else printer.poly(x.poly) for x in row] for row in rows
        ]
        where = [f"{name} = {LATEX.sum(parts)}" for name, parts in printer.definitions.items()]
        return matrix_latex(lines, where)

    def _repr_latex_(self) -> str | None:
        return displayed(self.latex, sum(_terms(row) for row in self.rows))


def _terms(x: Any) -> int:
    """Terms of an entry, or of a row of them."""
    if isinstance(x, list):
        return sum(_terms(entry) for entry in x)
    return x.size if isinstance(x, Form) else len(x.poly)
