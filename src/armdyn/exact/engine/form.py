"""Entries of the equations: linear forms in the dynamic parameters, with polynomials as coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from armdyn.exact.engine.basis import NotInEquationsError
from armdyn.exact.engine.calculus import check_name, differentiated, number, substituted
from armdyn.exact.engine.ring import Poly
from armdyn.exact.engine.size import check_expanded
from armdyn.exact.printing.formulas import displayed, matrix_latex
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, TEXT
from armdyn.expression import ArmdynError, Expression, expression, shown
from armdyn.model.arguments import plain

if TYPE_CHECKING:
    from armdyn.exact.engine.basis import Basis

T = TypeVar("T")


class Formula:
    """What an entry of the equations can be asked, in the description's symbols and q1 …, qd1 …, qdd1 …"""

    basis: Basis
    poly: Poly

    if TYPE_CHECKING:

        def __mul__(self, other: Any) -> Any: ...

    def substitute(self, *values: Any, **more: Any) -> Entry:
        """The entry with names replaced, all at once and exactly: `entry.substitute(m1=2, q2="pi/2")`.

        Or a mapping, or one name and its value, as SymPy's `subs` takes them. Names are also SymPy symbols;
        values are numbers, texts or SymPy expressions, with new symbols if you like. An angle may become a
        sum of whole multiples of angles and a constant.
        """
        pairs = {values[0]: values[1]} if len(values) == 2 else _mapping(*values)
        given = {check_name(self.basis, _name(key)): _exact(x) for key, x in {**pairs, **more}.items()}
        return Entry(self.basis, substituted(self.basis, self.poly, given))

    subs = substitute  # SymPy's name for it

    def diff(self, name: Any, times: Any = 1) -> Entry:
        """The derivative by a symbol or a joint variable, by its name or as a SymPy symbol.

        Signs of speeds count as constants.
        """
        found, by = self.poly, check_name(self.basis, _name(name))
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
        """Its number at a state: `entry.value(q=[0, 1], qd=[1, 2], m1=2.5)`.

        Values may be texts such as "pi/2". Symbols that are not given have the description's values. Joint
        variables may be given one by one, q1=….
        """
        given = {str(_name(key)): x for key, x in {**_mapping(values), **more}.items()}
        for letter, vector in (("q", q), ("qd", qd), ("qdd", qdd)):
            given |= _numbered(letter, vector, self.basis.n)
        generators = {*self.poly.ring.names, *self.basis.full.names}
        for name in given.keys() - generators:
            if not self.basis.joints_of(name):  # c12 and qd1_to_3, which texts have, may be given too
                check_name(self.basis, name)
        return number(self.basis, self.poly, {name: _float(name, x) for name, x in given.items()})

    def sympy(self, symbols: Mapping[str, Any] | Iterable[Any] = ()) -> Any:
        """The entry as a SymPy expression; `symbols` are used instead of real ones of the same names."""
        from armdyn.exact.transformations.handover import Handover  # SymPy takes a while to load

        return Handover(self.basis, symbols).expression(self.poly)

    def _read(self, other: Any) -> Poly | None:
        """Another entry, a text, a number or a SymPy expression as a polynomial; None for anything else."""
        if isinstance(other, Formula):
            return other.poly
        if isinstance(other, Poly):
            return other
        ring = self.poly.ring
        if _is_sympy(other):
            from armdyn.exact.transformations.handover import read

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

    def __hash__(self) -> int:
        return hash(self.poly)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same for all values; what no equation can hold is not."""
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


def _is_sympy(x: object) -> bool:
    """Whether it is a SymPy expression, told without loading SymPy."""
    return getattr(x, "__sympy__", False) is True


def _name(key: Any) -> object:
    """The name of a SymPy symbol or of q1(t); any other key as it is."""
    return getattr(key, "name", key) if _is_sympy(key) else key


def _exact(value: Any) -> Expression:
    if _is_sympy(value):
        from armdyn.exact.transformations.handover import read_expression

        return read_expression(value)
    return expression(plain(value))


def _float(name: str, value: Any) -> float:
    """What is given for a name, as a number."""
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
        """By an exact number or an element of the kinematic ring a form; by anything else an `Entry`."""
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
        """Entry by entry, with another array, a list or a SymPy matrix; of a vector, a column."""
        return bool(self.rows == self._rows_of(other))

    def __sub__(self, other: object) -> Array[Any]:
        """The differences from the entries of an array, a list or a SymPy matrix: zeros where they agree."""
        rows = self._rows_of(other)
        if not isinstance(rows, list):
            return NotImplemented
        return Array(_differences(self.rows, rows))

    def __rsub__(self, other: object) -> Array[Any]:
        rows = self._rows_of(other)
        if not isinstance(rows, list):
            return NotImplemented
        return Array(_differences(rows, self.rows))

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
    return x.size if isinstance(x, Form) else len(x.poly)
