"""The CUDA kernel of a program over arrays: one thread a row.

Operands with long rows, one after the other, pass through shared memory, so that the threads of a warp read
and write neighbouring numbers: a warp loads its 32 rows together, and stores results in slices, each as soon
as all of it is known. Other operands are read and written where they are, by strides that the caller gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from armdyn.kernels.cuda.parts import Part
from armdyn.kernels.cuda.text import lines

BLOCK, STAGED_BLOCK = 128, 64  # threads, without and with shared memory
WARP = 32
WHOLE = 64  # results of a row: up to so many are one slice
SLICE = 16  # else a slice has so many


@dataclass(frozen=True)
class Form:
    """What the text of a kernel depends on, beside its program: axes, and which operands are staged."""

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


def array_text(name: str, part: Part, scalar: str, form: Form) -> ArrayText:
    """`void NAME(rows, extents of further axes…, pointer and strides of each operand…)`."""
    writer = _Writer(name, part, scalar, form)
    block = STAGED_BLOCK if writer.width else BLOCK
    return ArrayText("\n".join(writer.text(block)), block, writer.shared(writer.width))


class _Writer:
    def __init__(self, name: str, part: Part, scalar: str, form: Form) -> None:
        self.name, self.program, self.scalar, self.form = name, part.program, scalar, form
        self.sizes = [size for _, size in self.program.inputs]
        self.inputs = len(self.sizes)
        self.sizes += [prod(shape) for _, shape in self.program.outputs]
        owners = [(k, j) for k, size in enumerate(self.sizes) for j in range(size)]
        results = [owner for owner in owners if owner[0] >= self.inputs]
        self.loads, self.stores = owners, [results[place] for place in part.places]
        self.bytes = 8 if scalar == "double" else 4
        self.width = 0  # numbers of shared memory for one row
        self.slots = self._slots()
        self.slices = self._slices()

    def _slots(self) -> dict[int, int]:
        """Where staged inputs are in a warp's part of shared memory."""
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
        return width * STAGED_BLOCK * self.bytes

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
            if output >= 0 and self.form.staged[output]:
                run = [*run, k]

    def _span(self, run: list[int]) -> tuple[int, int, list[int]]:
        nodes = [self.program.results[k] for k in run]
        return self._begin(nodes), max(nodes), run

    def _begin(self, nodes: Sequence[int]) -> int:
        """When the first result of a slice is known; constants are written last."""
        known = [i for i in nodes if self.program.nodes[i][0] != "const"]
        return min(known or nodes)

    # ---- text ------------------------------------------------------------------------------------------

    def text(self, block: int) -> Iterator[str]:
        parameters = ", ".join(self._parameters())
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
        """Where the row is in operands that are not staged."""
        axes = self.form.axes
        indices = ["row"]
        if axes > 1:
            yield "    long long left = row;"
            indices = [f"i{d}" for d in range(axes)]
            for d in range(axes - 1, 0, -1):
                yield f"    const long long i{d} = left % extent{d}; left /= extent{d};"
            yield "    const long long i0 = left;"
        direct = [k for k in range(self.inputs) if k not in self.slots]
        direct += [k for k in range(self.inputs, len(self.sizes)) if not self._is_sliced(k)]
        for k in direct:
            const = "const " if k < self.inputs else ""
            place = " + ".join(f"{index} * step{k}_{d}" for d, index in enumerate(indices))
            yield f"    {const}{self.scalar} *__restrict__ const x{k} = p{k} + ({place});"

    def _is_sliced(self, output: int) -> bool:
        """Whether all results of an output are staged."""
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
    """Where the k-th number of a warp's rows is in shared memory, whose rows have an odd length."""
    return f"{slot * WARP} + " + ("k" if size % 2 else f"k / {size} * {size + 1} + k % {size}")


def _together(size: int, line: str) -> list[str]:
    """What is done with the numbers k of all rows of a warp, neighbours by neighbouring threads."""
    return [
        "#pragma unroll",
        f"for (int j = 0; j < {size}; ++j) {{",
        f"    const int k = j * {WARP} + lane;",
        f"    if (k < count * {size}) {line}",
        "}",
    ]
