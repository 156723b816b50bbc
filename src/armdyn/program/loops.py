"""Loops around programs, as data: integration over time, passes along a path.

A loop is written for one instance (an arm, a path) and run for many. Its numbers live in local arrays; all
arithmetic is done by programs that it calls. Integers, counters of loops among them, are the same for all
instances; conditions on numbers differ from one to the next. `evaluate_loop` defines what a loop means;
printers turn it into LLVM and C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from armdyn.expression import Expression
from armdyn.program.program import Program


class _Arithmetic:
    """Sums and products of integers that are known when the loop runs."""

    def __add__(self: Any, other: Int) -> Int:
        return Combined("add", self, other)

    def __sub__(self: Any, other: Int) -> Int:
        return Combined("sub", self, other)

    def __mul__(self: Any, other: Int) -> Int:
        return Combined("mul", self, other)

    __radd__ = __add__
    __rmul__ = __mul__


@dataclass(frozen=True)
class Count(_Arithmetic):
    """An integer that the caller gives."""

    name: str


@dataclass(frozen=True)
class Counter(_Arithmetic):
    """The integer that a `For` counts by."""

    name: str


@dataclass(frozen=True)
class Combined(_Arithmetic):
    """a + b, a − b or a · b."""

    op: str  # "add", "sub", "mul"
    a: Int
    b: Int


Int: TypeAlias = int | Count | Counter | Combined
_SIGNS = {"add": "+", "sub": "-", "mul": "*"}


def spelled(x: Int, name: Callable[[str], str]) -> str:
    """An integer as C and Python write it, with counts and counters under the names they have there."""
    match x:
        case Combined(op, a, b):
            return f"({spelled(a, name)} {_SIGNS[op]} {spelled(b, name)})"
        case Count(of) | Counter(of):
            return name(of)
        case _:
            return f"({x})" if x < 0 else str(x)


@dataclass(frozen=True)
class Local:
    """An array of numbers of its own for every instance; zeros at first."""

    name: str
    size: int

    def __getitem__(self, part: slice | int) -> Slice:
        if isinstance(part, int):
            return Slice(self, part, 1)
        start, stop, _ = part.indices(self.size)
        return Slice(self, start, max(stop - start, 0))

    @property
    def all(self) -> Slice:
        return Slice(self, 0, self.size)


@dataclass(frozen=True)
class Slice:
    """Some adjacent numbers of a local array."""

    array: Local
    start: int
    size: int


@dataclass(frozen=True)
class Argument:
    """An array of the caller's, (rows, instances or 1, columns); read, or read and written."""

    name: str
    columns: int
    written: bool = False


# ---- statements --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fetch:
    """Reads the first columns of a row of an argument into a local array."""

    target: Slice
    source: Argument
    row: Int = 0


@dataclass(frozen=True)
class Save:
    """Writes numbers of a local array into the first columns of a row of an argument."""

    target: Argument
    row: Int
    source: Slice


@dataclass(frozen=True)
class Copy:
    """Copies numbers from one place to another that does not overlap it."""

    target: Slice
    source: Slice


@dataclass(frozen=True)
class Set:
    """Sets one number, from an integer."""

    target: Slice
    value: Int


@dataclass(frozen=True)
class Call:
    """Calls a program of the loop: one part for each of its inputs and outputs, in their order.

    Outputs may overlap inputs: all inputs are read before an output is written.
    """

    program: str
    inputs: tuple[Slice, ...]
    outputs: tuple[Slice, ...]


@dataclass(frozen=True)
class Each:
    """Calls a program for each column of matrices, which are parts with one row after the other.

    The program takes `inputs` and a column of each of `matrices`, and gives a column of each of `results`,
    which lie apart from all that is read. No column waits for another.
    """

    program: str
    columns: int
    inputs: tuple[Slice, ...]
    matrices: tuple[Slice, ...]
    results: tuple[Slice, ...]

    def __post_init__(self) -> None:
        read, written = (*self.inputs, *self.matrices), self.results
        if any(overlaps(part, (*read, *written[:k])) for k, part in enumerate(written)):
            raise ValueError(f"results of '{self.program}' overlap what is read, or each other")


@dataclass(frozen=True)
class Ask:
    """Asks a function of the caller's: an integer and parts in, one part out. In C it is a callback."""

    name: str
    row: Int
    inputs: tuple[Slice, ...]
    output: Slice


@dataclass(frozen=True)
class For:
    """Runs the body for counter = start, start + 1, … stop − 1; backwards: from stop − 1 down to start."""

    counter: Counter
    start: Int
    stop: Int
    body: Block
    backwards: bool = False


@dataclass(frozen=True)
class While:
    """Runs the body as long as a number is positive (at most `most` times)."""

    condition: Slice
    body: Block
    most: Int | None = None


@dataclass(frozen=True)
class If:
    """Runs the body where a number is positive, else `otherwise`."""

    condition: Slice
    body: Block
    otherwise: Block = ()


Statement: TypeAlias = Fetch | Save | Copy | Set | Call | Each | Ask | For | While | If
Block: TypeAlias = tuple[Statement, ...]


@dataclass(frozen=True)
class Loop:
    """Statements, and the arrays, counts and programs that they use."""

    name: str
    counts: tuple[Count, ...]
    arguments: tuple[Argument, ...]
    body: Block
    programs: Mapping[str, Program] = field(repr=False)

    @property
    def statements(self) -> Iterator[Statement]:
        """All statements, also those within others, in the order they are written."""
        return within(self.body)

    @cached_property
    def locals(self) -> tuple[Local, ...]:
        """The local arrays, in the order in which they are first used."""
        return tuple(dict.fromkeys(part.array for s in self.statements for part in parts_of(s)))

    @cached_property
    def asks(self) -> tuple[str, ...]:
        """The functions that the caller gives."""
        return tuple(dict.fromkeys(s.name for s in self.statements if isinstance(s, Ask)))

    @property
    def identity(self) -> str:
        """A text with all that the loop depends on."""
        return "\n".join([repr(self), *(f"{name} {program}" for name, program in self.programs.items())])


def parts_of(statement: Statement) -> tuple[Slice, ...]:
    """The parts of local arrays that a statement itself uses."""
    match statement:
        case Fetch(target=part) | Save(source=part) | Set(target=part):
            return (part,)
        case While(condition=part) | If(condition=part):
            return (part,)
        case Copy(target=target, source=source):
            return (source, target)
        case Call(inputs=inputs, outputs=outputs):
            return (*inputs, *outputs)
        case Each(inputs=inputs, matrices=matrices, results=results):
            return (*inputs, *matrices, *results)
        case Ask(inputs=inputs, output=output):
            return (*inputs, output)
        case _:
            return ()


def written_by(statement: Statement) -> tuple[Slice, ...]:
    """The parts that a statement writes."""
    match statement:
        case Fetch(target=part) | Set(target=part) | Copy(target=part) | Ask(output=part):
            return (part,)
        case Call(outputs=parts) | Each(results=parts):
            return parts
        case _:
            return ()


def overlaps(part: Slice, others: Iterable[Slice]) -> bool:
    """True if a part has numbers in common with others."""
    return any(
        part.array == x.array and part.start < x.start + x.size and x.start < part.start + part.size
        for x in others
    )


def within(block: Block) -> Iterator[Statement]:
    """The statements of a block, also those within others, in the order they are written."""
    for statement in block:
        yield statement
        if isinstance(statement, For | While):
            yield from within(statement.body)
        elif isinstance(statement, If):
            yield from within(statement.body)
            yield from within(statement.otherwise)


# ------------------------------------------------------------------------------------------------------------
# The extent of a loop: its operations and the rows it uses, from the integers it is given.


Range = tuple[int, int]  # the least and the largest value
_MANY = 1000  # of each count, where formulas are compared


@dataclass(frozen=True)
class LoopExtent:
    """Operations and rows that one instance takes at most; the body of a `While` counts once."""

    operations: int
    rows: Mapping[str, Range]  # of each argument; as if counters were independent of each other


def extent(loop: Loop, counts: Mapping[str, int]) -> LoopExtent:
    """Extent of a loop that is given these counts."""
    walk = _Walk(loop, {name: (count, count) for name, count in counts.items()})
    return LoopExtent(walk.operations(loop.body), walk.rows)


def rows_of(loop: Loop) -> dict[str, str]:
    """Numbers of rows of the arguments, each as a formula in the counts: "1", "rows", "2*rows*every + 1".

    It follows from the bounds of the counters; of several rows the one counts that is last for large counts.
    """
    names = [count.name for count in loop.counts]
    many = dict.fromkeys(names, float(_MANY))
    symbols = {name: Expression.symbol(name) for name in names}
    walk = _Walk(loop, {name: (x, x) for name, x in symbols.items()}, lambda x: Expression.of(x).value(many))
    walk.operations(loop.body)
    rows = {argument.name: walk.rows.get(argument.name, (0, 0))[1] + 1 for argument in loop.arguments}
    return {name: _written(Expression.of(x), names) for name, x in rows.items()}


def _written(x: Expression, names: Sequence[str]) -> str:
    """A sum of products of counts with their coefficients, as text: the longest products first."""
    products = [([names.index(str(a)) for a, e in monomial for _ in range(e)], c) for monomial, c in x.terms]
    text = ""
    for factors, c in sorted(products, key=lambda term: (len(term[0]), sorted(term[0])), reverse=True):
        written = [str(abs(c))] * (abs(c) != 1 or not factors) + [names[k] for k in sorted(factors)]
        text += f" {'-' if c < 0 else '+'} {'*'.join(written)}"
    return text.removeprefix(" + ").strip() or "0"


class _Walk:
    """A walk over the statements, once each; counters stand for all their values.

    Counts are integers, or symbols whose `size` says which of two formulas is the larger one.
    """

    def __init__(self, loop: Loop, known: dict[str, Any], size: Callable[[Any], float] = float) -> None:
        self.loop, self.known, self.size = loop, known, size
        self.rows = dict[str, Any]()

    def operations(self, block: Block) -> Any:
        total: Any = 0
        for statement in block:
            match statement:
                case Call(program):
                    total += self.loop.programs[program].operations
                case Each(program, columns):
                    total += columns * self.loop.programs[program].operations
                case Fetch(source=argument, row=row) | Save(target=argument, row=row):
                    low, high = self._range(row)
                    least, most = self.rows.get(argument.name, (low, high))
                    self.rows[argument.name] = min(low, least, key=self.size), max(high, most, key=self.size)
                case For(counter, start, stop, body):
                    first, last = self._range(start)[0], self._range(stop)[1] - 1
                    if self.size(first) <= self.size(last):
                        self.known[counter.name] = first, last
                        total += (last - first + 1) * self.operations(body)
                case While(body=body):
                    total += self.operations(body)
                case If(body=body, otherwise=otherwise):
                    total += max(self.operations(body), self.operations(otherwise), key=self.size)
        return total

    def _range(self, x: Int) -> Any:
        match x:
            case Combined(op, a, b):
                (a0, a1), (b0, b1) = self._range(a), self._range(b)
                if op == "mul":
                    products = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
                    return min(products, key=self.size), max(products, key=self.size)
                return (a0 + b0, a1 + b1) if op == "add" else (a0 - b1, a1 - b0)
            case Count(name) | Counter(name):
                return self.known[name]
            case _:
                return x, x
