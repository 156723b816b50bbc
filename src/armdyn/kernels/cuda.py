"""Programs and loops as CUDA text.

Sine and cosine of the same angle are one call.

Results are stored as soon as they are known, and inputs are loaded where they are first needed, so that
registers are free again early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from armdyn.expression import ArmdynError
from armdyn.kernels.c import LoopPrinter, Place, check_constants, number
from armdyn.program import loops
from armdyn.program.ops import OPS
from armdyn.program.program import Program, is_short, needed

# ------------------------------------------------------------------------------------------------------------
# Long programs in parts that registers can hold: each part computes some of the results from the inputs.
#
# Values that several parts need are computed in each of them. This costs less than to keep them in memory.


MOST = 6  # parts
SPILL = 40  # operations that a value beyond the registers costs
# How many values alive a thread's 255 registers hold, as `most_alive` counts them: the compiler computes some
# of them later or twice (seen with CUDA 13 on programs of the Panda).
REGISTERS = {"double": 155, "float": 310}


@dataclass(frozen=True)
class PartialProgram:
    """A program with all inputs and outputs of a longer one, but some of its results.

    `places` says which of the longer program's results they are.
    """

    program: Program
    places: tuple[int, ...]


def parts_of(program: Program, scalar: str, staged: bool = False) -> list[PartialProgram]:
    """The number of parts with the least work, what registers cannot hold included.

    A part has results that are known at about the same time: those have the most in common. Results that are
    `staged` stay together: a part would have few neighbours to store at a time, which costs more than memory.
    """
    limit = REGISTERS[scalar]
    found = [_part(program, range(len(program.results)))]
    if staged or most_alive(program) <= limit:
        return found
    fixed = [k for k, r in enumerate(program.results) if program.nodes[r][0] == "const"]
    known = sorted(set(range(len(program.results))) - set(fixed), key=program.results.__getitem__)
    ways = [found]
    for m in range(2, min(MOST, len(known)) + 1):
        edges = [len(known) * k // m for k in range(m + 1)]
        groups = [known[a:b] for a, b in pairwise(edges)]
        groups[0] += fixed
        ways.append([_part(program, sorted(group)) for group in groups])
    return min(ways, key=lambda parts: sum(_work(part, limit) for part in parts))


def _work(part: PartialProgram, limit: int) -> int:
    return part.program.operations + SPILL * max(0, most_alive(part.program) - limit)


def _part(program: Program, chosen: Sequence[int]) -> PartialProgram:
    nodes, results = needed(program.nodes, [program.results[k] for k in chosen])
    return PartialProgram(replace(program, nodes=nodes, results=results), tuple(chosen))


def most_alive(program: Program) -> int:
    """The largest number of values needed at once, if each is computed where it stands, and kept.

    Results are stored at once and constants take no place.
    """
    last: dict[int, int] = {}
    for i, node in enumerate(program.nodes):
        if node[0] in OPS:
            last |= dict.fromkeys(node[1:], i)
    ends: dict[int, list[int]] = {}
    for i, end in last.items():
        ends.setdefault(end, []).append(i)
    alive, most = 0, 0
    for i, node in enumerate(program.nodes):
        alive += node[0] != "const"
        most = max(most, alive)
        alive -= sum(program.nodes[j][0] != "const" for j in ends.get(i, ()))
        alive -= i not in last and node[0] != "const"
    return most


# ------------------------------------------------------------------------------------------------------------
# The lines of a function.


SCALARS = {"float64": "double", "float32": "float"}  # the C type by NumPy's name
LONGEST = 30_000  # operations: about two minutes of CUDA's compiler


def check_length(name: str, program: Program) -> None:
    """Refuse a program that CUDA's compiler would take many minutes for."""
    if program.operations > LONGEST:
        raise ArmdynError(
            f"{name}: a program of {program.operations} operations is too long for a GPU; at most {LONGEST} "
            "are allowed. NumPy arrays have no such limit"
        )


def device_function(name: str, program: Program, scalar: str, several: bool = True) -> str:
    """`void NAME(const T *in0, …, T *out0, …)`: results may not overlap inputs. Empty ones are left out.

    Called in `several` places, it is inlined only if it is short.
    """
    check_constants(name, program, scalar)
    sizes_in = [size for _, size in program.inputs]
    sizes_out = [prod(shape) for _, shape in program.outputs]
    loads = [f"in{k}[{j}]" for k, size in enumerate(sizes_in) for j in range(size)]
    places = [f"out{k}[{j}]" for k, size in enumerate(sizes_out) for j in range(size)]
    arguments = [f"const {scalar} *__restrict__ in{k}" for k, size in enumerate(sizes_in) if size]
    arguments += [f"{scalar} *__restrict__ out{k}" for k, size in enumerate(sizes_out) if size]
    kind = "__forceinline__" if not several or is_short(program) else "__noinline__"
    body = lines(program, scalar, loads.__getitem__, lambda k, value: [f"{places[k]} = {value};"])
    return "\n".join(
        [f"__device__ {kind} void {name}({', '.join(arguments)})", "{", *(f"    {x}" for x in body), "}", ""]
    )


def lines(
    program: Program,
    scalar: str,
    load: Callable[[int], str],
    store: Callable[[int, str], Sequence[str]],
) -> Iterator[str]:
    """The statements of a program: `load(k)` is the k-th input, `store(k, value)` keeps the k-th result."""
    suffix = "f" if scalar == "float" else ""
    values: list[str] = []
    angles: set[int] = set()
    results: dict[int, list[int]] = {}
    for k, r in enumerate(program.results):
        results.setdefault(r, []).append(k)
    for i, node in enumerate(program.nodes):
        if node[0] == "const":
            values.append(number(node[1], scalar))
        elif node[0] == "input":
            yield f"const {scalar} v{i} = {load(node[1])};"
            values.append(f"v{i}")
        elif node[0] in ("sin", "cos"):
            angle = node[1]
            if angle not in angles:
                angles.add(angle)
                yield f"{scalar} s{angle}, c{angle}; sincos{suffix}({values[angle]}, &s{angle}, &c{angle});"
            values.append(f"{node[0][0]}{angle}")
        else:
            expression = OPS[node[0]].c.format(*(values[a] for a in node[1:]), f=suffix)
            yield f"const {scalar} v{i} = {expression};"
            values.append(f"v{i}")
        for k in results.get(i, ()):
            yield from store(k, values[i])


# ------------------------------------------------------------------------------------------------------------
# The CUDA kernel of a program over arrays: one thread a row.
#
# Operands with long rows, one after the other, pass through shared memory, so that the threads of a warp
# read and write neighbouring numbers: a warp loads its 32 rows together, and stores results in slices, each
# as soon as all of it is known. Slices of very long rows would leave the cache before their neighbours are
# there: a Panda's regressor was stored at 0.2 of the memory's speed. Such results are kept, without zeros,
# and their rows stored whole at the end, where they fit: 0.87. Other operands are read and written where they
# are, by strides that the caller gives.


BLOCK, STAGED_BLOCK = 128, 64  # threads, without and with shared memory
WARP = 32
WHOLE = 64  # results of a row: up to so many are one slice
SLICE = 16  # else a slice has so many
LONG_ROW = 128  # results: rows of more are kept, and stored whole


@dataclass(frozen=True)
class Access:
    """All that the text of a kernel depends on beside its program: axes, and which operands are staged."""

    axes: int
    staged: tuple[bool, ...]  # inputs, then outputs
    most_shared: int  # bytes of shared memory that a block can have


@dataclass(frozen=True)
class ArrayText:
    """The text of a kernel, how many threads a block has, and how many bytes of shared memory it needs."""

    text: str
    block: int
    shared: int


@dataclass(frozen=True)
class _Slice:
    """Adjacent results of one output; `slot` is where they are in a warp's part of shared memory."""

    output: int
    start: int
    size: int
    slot: int

    @property
    def pitch(self) -> int:
        return self.size | 1  # odd: no two threads meet in the same bank


@dataclass(frozen=True)
class _Whole:
    """All results of one output but its zeros, whose rows are stored whole.

    `columns` says where each of them is in a row of shared memory, which begins at `slot`.
    """

    output: int
    size: int
    slot: int
    columns: dict[int, int]

    @property
    def pitch(self) -> int:
        return len(self.columns) | 1


def array_text(name: str, part: PartialProgram, scalar: str, form: Access) -> ArrayText:
    """`void NAME(rows, extents of further axes…, pointer and strides of each operand…)`."""
    writer = _KernelText(name, part, scalar, form)
    block = writer.block if writer.width else BLOCK
    return ArrayText("\n".join(writer.text(block)), block, writer.shared(writer.width))


class _KernelText:
    def __init__(self, name: str, part: PartialProgram, scalar: str, form: Access) -> None:
        self.name, self.program, self.scalar, self.form = name, part.program, scalar, form
        self.sizes = [size for _, size in self.program.inputs]
        self.inputs = len(self.sizes)
        self.sizes += [prod(shape) for _, shape in self.program.outputs]
        owners = [(k, j) for k, size in enumerate(self.sizes) for j in range(size)]
        results = [owner for owner in owners if owner[0] >= self.inputs]
        self.loads, self.stores = owners, [results[place] for place in part.places]
        self.bytes = 8 if scalar == "double" else 4
        self.width = 0  # numbers of shared memory for one row
        self.block = WARP  # threads, as rows that are kept whole take much of it
        self.wholes = self._wholes()
        if not self.wholes:
            self.block = STAGED_BLOCK
        self.slots = self._slots()
        self.slices = self._slices()

    def _slots(self) -> dict[int, int]:
        """Places of staged inputs in a warp's part of shared memory, by input."""
        used = {self.loads[node[1]][0] for node in self.program.nodes if node[0] == "input"}
        found = {}
        for k, size in enumerate(self.sizes[: self.inputs]):
            if self.form.staged[k] and k in used and self._fits(self.width + (size | 1)):
                found[k] = self.width
                self.width += size | 1
        return found

    def _fits(self, width: int) -> bool:
        return self.shared(width) <= self.form.most_shared

    def shared(self, width: int) -> int:
        """Bytes of shared memory for a block with so many numbers a row."""
        return width * self.block * self.bytes

    # ---- results that are stored whole -----------------------------------------------------------------

    def _wholes(self) -> dict[int, _Whole]:
        """The long staged outputs all of whose rows fit, by output."""
        found = {}
        for output in range(self.inputs, len(self.sizes)):
            size = self.sizes[output]
            owned = [(k, j) for k, (own, j) in enumerate(self.stores) if own == output]
            if not self.form.staged[output] or size <= LONG_ROW or len(owned) < size:
                continue
            nodes = [self.program.nodes[self.program.results[k]] for k, _ in owned]
            some = [j for (_, j), node in zip(owned, nodes, strict=True) if node != ("const", 0.0)]
            whole = _Whole(output, size, self.width, {j: c for c, j in enumerate(some)})
            if self._fits(self.width + whole.pitch):
                found[output] = whole
                self.width += whole.pitch
        return found

    def _table(self, whole: _Whole) -> str:
        """The line with each result's place in a row of shared memory, -1 for a zero."""
        places = ", ".join(str(whole.columns.get(j, -1)) for j in range(whole.size))
        return f"__device__ const short {self.name}_{whole.output}[{whole.size}] = {{{places}}};"

    def _stored_whole(self, whole: _Whole) -> Iterator[str]:
        """Rows of a warp, stored one after the other by all of its threads."""
        steps = -(-whole.size // WARP)
        yield f"short place{whole.output}[{steps}];"
        yield "#pragma unroll"
        yield f"for (int i = 0; i < {steps}; ++i) {{"
        yield f"    const int j = i * {WARP} + lane;"
        yield f"    place{whole.output}[i] = j < {whole.size} ? {self.name}_{whole.output}[j] : (short)-1;"
        yield "}"
        yield "for (int r = 0; r < count; ++r) {"
        yield f"    {self.scalar} *const to = p{whole.output} + (first + r) * {whole.size};"
        yield f"    const {self.scalar} *const from = own + {whole.slot * WARP} + r * {whole.pitch};"
        yield "    #pragma unroll"
        yield f"    for (int i = 0; i < {steps}; ++i) {{"
        yield f"        const int j = i * {WARP} + lane, place = place{whole.output}[i];"
        yield f"        if (j < {whole.size}) to[j] = place < 0 ? ({self.scalar})0 : from[place];"
        yield "    }"
        yield "}"

    # ---- slices of results -----------------------------------------------------------------------------

    def _slices(self) -> dict[int, _Slice]:
        """The slice of each result that is staged, by the result's place.

        Slots of shared memory are used again by slices that begin when others are stored. Results of slices
        that do not fit are written where they belong.
        """
        found: dict[int, _Slice] = {}
        slots: list[tuple[int, int, int]] = []  # until when one is taken, where it is, how wide
        for begin, end, ks in sorted(self._spans()):
            output, start = self.stores[ks[0]]
            wide = len(ks) | 1
            slot = next((s for s in slots if s[0] < begin and s[2] >= wide), None)
            if slot is None:
                if not self._fits(self.width + wide):
                    continue
                slot = (end, self.width, wide)
                self.width += wide
            else:
                slots.remove(slot)
            slots.append((end, slot[1], slot[2]))
            found |= dict.fromkeys(ks, _Slice(output, start, len(ks), slot[1]))
        return found

    def _spans(self) -> Iterator[tuple[int, int, list[int]]]:
        """Slices of staged outputs: the nodes of their first and last result, and their results."""
        run: list[int] = []
        for k, (output, j) in enumerate([*self.stores, (-1, 0)]):
            size = self.sizes[output]
            full = bool(run) and len(run) == (size if size <= WHOLE else SLICE)
            if run and (full or self.stores[run[-1]] != (output, j - 1)):
                yield self._span(run)
                run = []
            if output >= 0 and self.form.staged[output] and output not in self.wholes:
                run = [*run, k]

    def _span(self, run: list[int]) -> tuple[int, int, list[int]]:
        nodes = [self.program.results[k] for k in run]
        return self._begin(nodes), max(nodes), run

    def _begin(self, nodes: Sequence[int]) -> int:
        """Index of the node that gives the first result of a slice; constants are written last."""
        known = [i for i in nodes if self.program.nodes[i][0] != "const"]
        return min(known or nodes)

    # ---- text ------------------------------------------------------------------------------------------

    def text(self, block: int) -> Iterator[str]:
        parameters = ", ".join(self._parameters())
        yield from map(self._table, self.wholes.values())
        yield f'extern "C" __global__ void __launch_bounds__({block}) {self.name}({parameters})'
        yield "{"
        yield f"    long long row = blockIdx.x * {block}LL + threadIdx.x;"
        if self.width:
            yield f"    const int lane = threadIdx.x % {WARP};"
            yield "    const long long first = row - lane;"
            yield "    if (first >= rows) return;"
            yield f"    const int count = rows - first < {WARP} ? (int)(rows - first) : {WARP};"
            # threads beyond the last row do that one again
            yield "    const int mine = lane < count ? lane : count - 1;"
            yield "    row = first + mine;"
            yield f"    extern __shared__ {self.scalar} together[];"
            yield f"    {self.scalar} *const own = together + (threadIdx.x - lane) * {self.width};"
            yield from self._gathered()
        else:
            yield "    if (row >= rows) return;"
        yield from self._places()
        for line in self._body():
            yield f"    {line}"
        if self.wholes:
            yield "    __syncwarp();"
        for whole in self.wholes.values():
            yield from (f"    {line}" for line in self._stored_whole(whole))
        yield "}"
        yield ""

    def _parameters(self) -> Iterator[str]:
        yield "const long long rows"
        yield from (f"const long long extent{d}" for d in range(1, self.form.axes))
        for k, _ in enumerate(self.sizes):
            const = "const " if k < self.inputs else ""
            yield f"{const}{self.scalar} *__restrict__ const p{k}"
            yield from (f"const long long step{k}_{d}" for d in range(self.form.axes))
            yield f"const long long core{k}"

    def _gathered(self) -> Iterator[str]:
        """Staged inputs, loaded by the whole warp."""
        for k, slot in self.slots.items():
            size = self.sizes[k]
            line = f"own[{_place(slot, size)}] = p{k}[first * {size} + k];"
            yield from (f"    {text}" for text in _together(size, line))
        yield "    __syncwarp();"

    def _places(self) -> Iterator[str]:
        """Lines that find the row in operands that are not staged."""
        axes = self.form.axes
        indices = ["row"]
        if axes > 1:
            yield "    long long left = row;"
            indices = [f"i{d}" for d in range(axes)]
            for d in range(axes - 1, 0, -1):
                yield f"    const long long i{d} = left % extent{d}; left /= extent{d};"
            yield "    const long long i0 = left;"
        direct = [k for k in range(self.inputs) if k not in self.slots]
        outputs = range(self.inputs, len(self.sizes))
        direct += [k for k in outputs if k not in self.wholes and not self._is_sliced(k)]
        for k in direct:
            const = "const " if k < self.inputs else ""
            place = " + ".join(f"{index} * step{k}_{d}" for d, index in enumerate(indices))
            yield f"    {const}{self.scalar} *__restrict__ const x{k} = p{k} + ({place});"

    def _is_sliced(self, output: int) -> bool:
        """True if all results of an output are staged."""
        return all(k in self.slices for k, (own, _) in enumerate(self.stores) if own == output)

    def _body(self) -> Iterator[str]:
        left: dict[_Slice, int] = {}
        for part in self.slices.values():
            left[part] = left.get(part, 0) + 1
        constants: dict[_Slice, list[str]] = {}

        def load(k: int) -> str:
            operand, j = self.loads[k]
            if operand in self.slots:
                return f"own[{self.slots[operand] * WARP} + mine * {self.sizes[operand] | 1} + {j}]"
            return f"x{operand}[{j} * core{operand}]"

        def store(k: int, value: str) -> list[str]:
            output, j = self.stores[k]
            if (whole := self.wholes.get(output)) is not None:
                column = whole.columns.get(j)
                place = f"own[{whole.slot * WARP} + lane * {whole.pitch} + {column}]"
                return [] if column is None else [f"{place} = {value};"]
            part = self.slices.get(k)
            if part is None:
                return [f"x{output}[{j} * core{output}] = {value};"]
            line = f"own[{part.slot * WARP} + lane * {part.pitch} + {j - part.start}] = {value};"
            found = []
            if self.program.nodes[self.program.results[k]][0] == "const":
                constants.setdefault(part, []).append(line)
            else:
                found.append(line)
            left[part] -= 1
            return found if left[part] else [*found, *constants.pop(part, ()), *self._stored(part)]

        yield from lines(self.program, self.scalar, load, store)

    def _stored(self, part: _Slice) -> list[str]:
        """A slice that is complete, stored by the whole warp."""
        size, row = part.size, self.sizes[part.output]
        place = "k" if size == row else f"k / {size} * {row} + {part.start} + k % {size}"
        line = f"p{part.output}[first * {row} + {place}] = own[{_place(part.slot, size)}];"
        return ["__syncwarp();", *_together(size, line), "__syncwarp();"]


def _place(slot: int, size: int) -> str:
    """Place of the k-th number of a warp's rows in shared memory, whose rows have an odd length."""
    return f"{slot * WARP} + " + ("k" if size % 2 else f"k / {size} * {size + 1} + k % {size}")


def _together(size: int, line: str) -> list[str]:
    """Lines that do `line` for the numbers k of all rows of a warp, neighbours by neighbouring threads."""
    return [
        "#pragma unroll",
        f"for (int j = 0; j < {size}; ++j) {{",
        f"    const int k = j * {WARP} + lane;",
        f"    if (k < count * {size}) {line}",
        "}",
    ]


# ------------------------------------------------------------------------------------------------------------
# Loops as CUDA: a kernel in which each thread runs one instance, and its programs as functions beside it.
#
# A long program that is called in several places would not fit the cache of instructions if it were there
# again and again. Where a block has the same call several times, as the stages of a Runge–Kutta step do, the
# call is made in turns of a loop, in each of which something else follows it: then all numbers stay in
# registers. Otherwise such a program is a function of its own, and its arguments go through memory.


LOOP_BLOCK = 128  # threads
UNROLLED = 128  # numbers: copied one by one, so that registers can hold the arrays


def loop_text(name: str, loop: loops.Loop, scalar: str) -> str:
    """The kernel of a loop in "double" or "float" and the functions that it calls.

    `void NAME(long long instances, counts, arguments)`: a count is a long long. An argument is a pointer and
    its strides from row to row, from instance to instance and from column to column, in numbers.
    """
    if loop.asks:
        raise ValueError(f"{loop.name}: '{loop.asks[0]}' is a function of the caller, which CUDA cannot call")
    printer = _CudaPrinter(loop, name, scalar)
    kernel = printer.function()
    functions = [
        device_function(f"{name}_{program}", loop.programs[program], scalar, several=count > 1)
        for program, count in printer.calls.items()
    ]
    return "\n".join([*functions, kernel])


class _CudaPrinter(LoopPrinter):
    """C with strided arguments; `instance` is the thread's own."""

    integer = "long long"

    def __init__(self, loop: loops.Loop, name: str, scalar: str) -> None:
        super().__init__(loop, name, scalar)
        self._arguments = {argument.name for argument in loop.arguments}
        self.calls: Counter[str] = Counter()  # how often programs are called in the text

    @property
    def prototype(self) -> str:
        parameters = ["const long long instances"]
        parameters += [f"const long long {count.name}" for count in self.loop.counts]
        for a in self.loop.arguments:
            parameters.append(f"{'' if a.written else 'const '}{self.scalar} *__restrict__ {a.name}")
            parameters += [f"const long long {a.name}_by_{axis}" for axis in ("row", "instance", "column")]
        return (
            f'extern "C" __global__ void __launch_bounds__({LOOP_BLOCK}) {self.prefix}(\n'
            f"    {', '.join(parameters)})"
        )

    def function(self) -> str:
        self.block(self.loop.body)
        head = [
            f"    const long long instance = (long long)blockIdx.x * {LOOP_BLOCK} + threadIdx.x;",
            "    if (instance >= instances) return;",
            *(f"    {a.name} += instance * {a.name}_by_instance;" for a in self.loop.arguments),
            *self.variables,
        ]
        return "\n".join([self.prototype, "{", *head, *self.lines, "}", ""])

    def function_name(self, program: str) -> str:
        self.calls[program] += 1
        return f"{self.prefix}_{program}"

    def block(self, statements: loops.Block) -> None:
        turning = next((s for s in statements if self._in_turns(s, statements)), None)
        if turning is None:
            super().block(statements)
            return
        places = [k for k, s in enumerate(statements) if s == turning]
        super().block(statements[: places[0]])
        turn = self._name("turn")
        self.do("#pragma unroll 1")
        self.do(f"for (int {turn} = 0; {turn} < {len(places)}; ++{turn}) {{")
        self.depth += 1
        self.statement(turning)
        for k, (start, end) in enumerate(pairwise(places)):
            self.nested(f"{'else ' * (k > 0)}if ({turn} == {k})", statements[start + 1 : end])
        self.depth -= 1
        self.do("}")
        self.block(statements[places[-1] + 1 :])

    def _in_turns(self, statement: loops.Statement, block: loops.Block) -> bool:
        """True if a statement calls a long program and the block has this very call more than once."""
        return (
            isinstance(statement, loops.Call)
            and not is_short(self.loop.programs[statement.program])
            and block.count(statement) > 1
        )

    def nested(self, head: str, body: loops.Block, first: str = "") -> None:
        if head.startswith(("for", "while")):
            self.do("#pragma unroll 1")
        super().nested(head, body, first)

    def _copy(self, target: Place, source: Place, size: int) -> None:
        if 1 < size <= UNROLLED:
            self.do("#pragma unroll")
        super()._copy(target, source, size)

    def _row(self, argument: loops.Argument, row: loops.Int) -> Place:
        return argument.name, f"{self._int(row)} * {argument.name}_by_row"

    def _entry(self, place: Place, entry: str = "") -> str:
        array, k = place
        if entry and array in self._arguments:
            return f"{array}[{k} + {entry} * {array}_by_column]"
        return super()._entry(place, entry)
