"""LLVM IR as text: registers, the lines of a function, and rows of memory moved into registers and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

# ------------------------------------------------------------------------------------------------------------
# Registers: a number of floating-point numbers of one format, as LLVM IR spells them.


@dataclass(frozen=True)
class Lane:
    """A register type: W numbers of one floating-point format."""

    scalar: str  # "double" or "float"
    width: int

    @property
    def type(self) -> str:
        return self.scalar if self.width == 1 else f"<{self.width} x {self.scalar}>"

    @property
    def bits(self) -> int:
        return 64 if self.scalar == "double" else 32

    @property
    def integer(self) -> str:
        return f"i{self.bits}" if self.width == 1 else f"<{self.width} x i{self.bits}>"

    @property
    def mask(self) -> str:
        return "i1" if self.width == 1 else f"<{self.width} x i1>"

    @property
    def bytes(self) -> int:
        return self.bits // 8 * self.width

    @property
    def align(self) -> int:
        return self.bits // 8 if self.width == 1 else self.bytes

    @property
    def suffix(self) -> str:
        """Suffix of the names of intrinsics: f64, v8f64."""
        return f"f{self.bits}" if self.width == 1 else f"v{self.width}f{self.bits}"

    def constant(self, value: float) -> str:
        number = f"0x{_double_bits(value, self.bits == 32):016X}"
        return number if self.width == 1 else f"splat ({self.scalar} {number})"

    def integer_constant(self, value: int) -> str:
        return str(value) if self.width == 1 else f"splat (i{self.bits} {value})"


def _double_bits(value: float, single: bool) -> int:
    """A number as LLVM writes it: a float by the bits of the double it is."""
    if single:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])


def per_lane(lane: Lane, x: str, function: str, tag: str) -> tuple[str, str]:
    """Instructions that call a scalar function on every number of a register, and the resulting register."""
    if lane.width == 1:
        return f"  %{tag} = call {lane.scalar} @{function}({lane.scalar} {x})", f"%{tag}"
    lines, previous = [], "undef"
    for k in range(lane.width):
        lines += [
            f"  %{tag}x{k} = extractelement {lane.type} {x}, i32 {k}",
            f"  %{tag}y{k} = call {lane.scalar} @{function}({lane.scalar} %{tag}x{k})",
            f"  %{tag}{k} = insertelement {lane.type} {previous}, {lane.scalar} %{tag}y{k}, i32 {k}",
        ]
        previous = f"%{tag}{k}"
    return "\n".join(lines), previous


# ------------------------------------------------------------------------------------------------------------
# The lines of a function, with names for its values and blocks.


DECLARATIONS = """\
declare i32 @fegetenv(ptr)
declare i32 @fesetenv(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""  # what the methods below call
ON_THE_STACK = 16 * 1024  # bytes; more might not fit the stack of a thread


class Code:
    """Instructions of a function, one after the other; `here` is the block they are added to."""

    def __init__(self, here: str = "entry") -> None:
        self.lines: list[str] = []
        self.here = here
        self._names = 0

    def name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """The name of an instruction's result."""
        name = f"%{self.name('t')}"
        self.do(f"{name} = {text}")
        return name

    def load(self, kind: str, place: str) -> str:
        return self.value(f"load {kind}, ptr {place}")

    def store(self, kind: str, value: str, place: str) -> None:
        self.do(f"store {kind} {value}, ptr {place}")

    def at(self, kind: str, base: str, index: str | int) -> str:
        """The place of an entry of an array."""
        return self.value(f"getelementptr {kind}, ptr {base}, i64 {index}") if index != 0 else base

    def copy(self, target: str, source: str, size: int) -> None:
        self.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.here = block

    def require(self, condition: str, otherwise: str) -> None:
        """Go on if a condition holds, else to a block of that name."""
        further = self.name("further")
        self.do(f"br i1 {condition}, label %{further}, label %{otherwise}")
        self.begin(further)

    def choose(
        self, condition: str, then: Callable[[], None] | None, otherwise: Callable[[], None] | None = None
    ) -> None:
        """Write code that runs if a condition holds, and code that runs if it does not."""
        end = self.name("end")
        blocks = [(self.name("branch") if write else end, write) for write in (then, otherwise)]
        self.do(f"br i1 {condition}, label %{blocks[0][0]}, label %{blocks[1][0]}")
        for block, write in blocks:
            if write:
                self.begin(block)
                write()
                self.do(f"br label %{end}")
        self.begin(end)

    @contextmanager
    def counted(self, first: str, last: str, step: int = 1) -> Iterator[str]:
        """A loop over k = first, first + step, … while k + step ≤ last. After it, k is the first left out."""
        test, body, end = (self.name(kind) for kind in ("test", "body", "end"))
        before, k = self.here, f"%{self.name('k')}"
        self.do(f"br label %{test}")
        self.begin(test)
        place = len(self.lines)
        following = self.value(f"add nsw i64 {k}, {step}")
        self.do(f"br i1 {self.value(f'icmp sle i64 {following}, {last}')}, label %{body}, label %{end}")
        self.begin(body)
        yield k
        self.lines.insert(place, f"  {k} = phi i64 [ {first}, %{before} ], [ {following}, %{self.here} ]")
        self.do(f"br label %{test}")
        self.begin(end)

    def over_registers(
        self,
        first: str,
        last: str,
        widths: Sequence[int],
        body: Callable[[int, str, str], None],
        rest: Callable[[str, str], None] | None = None,
    ) -> None:
        """`body(w, k, first)` for full registers, width by width; then `rest(k, count)` if any are left.

        The floating-point flags stay as they were: `%environment` keeps them (see `ENVIRONMENT`).
        """
        self.do("call i32 @fegetenv(ptr %environment)")
        for w in dict.fromkeys(widths):
            with self.counted(first, last, w) as k:
                body(w, k, first)
            first = k
        if rest and widths[-1] > 1:
            left, write = self.value(f"sub i64 {last}, {first}"), rest
            self.choose(self.value(f"icmp sgt i64 {left}, 0"), lambda: write(first, left))
        self.do("call i32 @fesetenv(ptr %environment)")


ENVIRONMENT = "  %environment = alloca [128 x i8], align 16"


def function_ir(head: str, *lines: str) -> str:
    return "\n".join([f"{head} {{", "entry:", *lines, "}", ""])


def workspace_ir(lane: Lane, columns: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Arrays of registers by name, and the code that frees them: the largest are on the heap if need be.

    Ends in the block %ready; without memory it jumps to the function's block %no_memory.
    """
    lines, heap, stack = list[str](), dict[str, int](), 0
    for name, count in sorted(columns.items(), key=lambda item: item[1]):
        if stack + count * lane.bytes <= ON_THE_STACK:
            stack += count * lane.bytes
            lines.append(f"  %{name} = alloca [{count} x {lane.type}], align {lane.align}")
        else:
            heap[name] = count
    if not heap:
        return [*lines, "  br label %ready", "ready:"], []
    lines += [
        f"  %block = call ptr @malloc(i64 {sum(heap.values()) * lane.bytes + 64})",
        "  %missing = icmp eq ptr %block, null",
        "  br i1 %missing, label %no_memory, label %ready",
        "ready:",
        "  %address = ptrtoint ptr %block to i64",
        "  %beyond = add i64 %address, 63",
        "  %aligned = and i64 %beyond, -64",
        "  %heap = inttoptr i64 %aligned to ptr",
    ]
    start = 0
    for name, count in heap.items():
        lines.append(f"  %{name} = getelementptr {lane.type}, ptr %heap, i64 {start}")
        start += count
    return lines, ["  call void @free(ptr %block)"]


def declared_once(parts: Sequence[str]) -> str:
    """The parts of a module, each external function declared once."""
    lines = "\n".join([DECLARATIONS, *parts]).splitlines()
    declarations = dict.fromkeys(line for line in lines if line.startswith("declare"))
    return "\n".join([*declarations, *(line for line in lines if not line.startswith("declare"))]) + "\n"


# ------------------------------------------------------------------------------------------------------------
# Rows of memory to columns of registers, and back, as LLVM IR.


MOST_STREAMED = 16 * 1024  # bytes of a block on the stack
PAIR = "<2 x i64>"  # what lies between the beginning of rows and the first whole register


def masked_declarations(lane: Lane) -> str:
    T, M = lane.type, lane.mask
    return (
        f"declare {T} @llvm.masked.load.{lane.suffix}.p0(ptr, i32, {M}, {T})\n"
        f"declare void @llvm.masked.store.{lane.suffix}.p0({T}, ptr, i32, {M})\n"
    )


def move_ir(lane: Lane, size: int, verb: str) -> str:
    """`@load_L(cols, rows, stride)` or `@store_L`: W rows of L adjacent entries to or from L registers."""
    w, code = lane.width, Code()
    full, rest = divmod(size, w)
    rows = [code.at("i8", "%rows", code.value(f"mul i64 %stride, {k}")) for k in range(w)]
    if full:
        with code.counted("0", str(full)) as chunk:
            first = code.value(f"mul i64 {chunk}, {w}")
            _move_block(code, lane, verb, rows, first, w)
    if rest:
        _move_block(code, lane, verb, rows, str(full * w), rest)
    head = f"define internal void @{verb}_{size}(ptr noalias %cols, ptr %rows, i64 %stride)"
    return function_ir(head, *code.lines, "  ret void")


def streams(lane: Lane, size: int) -> bool:
    """True if rows of so many entries can be written past the cache: see `stream_ir`."""
    return lane.width > 1 and size > lane.width and lane.width * size * lane.bits // 8 <= MOST_STREAMED


def stream_ir(lane: Lane, size: int) -> str:
    """`@stream_L(cols, rows)`: like `@store_L` for rows one after the other, but past the cache.

    A store first reads the line that it writes to. Whole lines that are written past the cache are not read,
    which halves the traffic of results that are too large to stay in it. Rows are put together in a block
    before, as lines must be written whole and in order.
    """
    code, total = Code(), lane.width * size * lane.bits // 8
    code.do(f"%block = alloca [{total} x i8], align 64")
    code.do(f"call void @store_{size}(ptr %cols, ptr %block, i64 {size * lane.bits // 8})")
    address = code.value("ptrtoint ptr %rows to i64")
    before = code.value(f"and i64 {code.value(f'sub i64 0, {address}')}, {lane.bytes - 1}")
    whole = code.value(f"and i64 {code.value(f'sub i64 {total}, {before}')}, {-lane.bytes}")
    after = code.value(f"add i64 {before}, {whole}")
    for first, last, kind, step in (
        ("0", before, PAIR, 16),
        (before, after, lane.type, lane.bytes),
        (after, str(total), PAIR, 16),
    ):
        with code.counted(first, last, step) as k:
            source, target = (code.at("i8", base, k) for base in ("%block", "%rows"))
            value = code.value(f"load {kind}, ptr {source}, align 16")
            code.do(f"store {kind} {value}, ptr {target}, align {step}, !nontemporal !0")
    head = f"define internal void @stream_{size}(ptr noalias %cols, ptr %rows)"
    return function_ir(head, *code.lines, "  ret void")


def _move_block(code: Code, lane: Lane, verb: str, rows: Sequence[str], first: str, count: int) -> None:
    """Move `count` ≤ W entries of W rows, from the first on."""
    w, T, align = lane.width, lane.type, lane.bits // 8
    mask = f"{lane.mask} <" + ", ".join(f"i1 {int(k < count)}" for k in range(w)) + ">"
    places = [code.at(lane.scalar, row, first) for row in rows]
    columns = [code.at(T, "%cols", code.value(f"add i64 {first}, {k}")) for k in range(count)]
    if verb == "load":
        load = f"call {T} @llvm.masked.load.{lane.suffix}.p0"
        values = [code.value(f"{load}(ptr {p}, i32 {align}, {mask}, {T} zeroinitializer)") for p in places]
        for value, column in zip(_transposed(code, lane, values), columns, strict=False):
            code.store(T, value, column)
    else:
        store = f"call void @llvm.masked.store.{lane.suffix}.p0"
        values = [code.load(T, column) for column in columns] + ["zeroinitializer"] * (w - count)
        for value, place in zip(_transposed(code, lane, values), places, strict=True):
            code.do(f"{store}({T} {value}, ptr {place}, i32 {align}, {mask})")


def _transposed(code: Code, lane: Lane, rows: Sequence[str]) -> list[str]:
    """W registers as a W×W matrix, transposed by log₂ W rounds of shuffles."""
    w, T, values = lane.width, lane.type, list(rows)
    distance = 1
    while distance < w:
        low = [j if not j & distance else w + j - distance for j in range(w)]
        high = [j + distance if not j & distance else w + j for j in range(w)]
        for i in range(w):
            if not i & distance:
                x, y = values[i], values[i + distance]
                for k, order in ((i, low), (i + distance, high)):
                    indices = ", ".join(f"i32 {j}" for j in order)
                    values[k] = code.value(f"shufflevector {T} {x}, {T} {y}, <{w} x i32> <{indices}>")
        distance *= 2
    return values


def strided_ir(scalar: str, verb: str) -> str:
    """`@load(cols, rows, w, count, stride, n1, s1, n2, s2)`: entries with any strides, one by one.

    `@store` puts them back. If there are fewer rows than w, the last one is loaded several times.
    """
    code = Code()
    last = code.value("sub i64 %count, 1")
    with code.counted("0", "%n1") as i:
        first, offset = code.value(f"mul i64 {i}, %n2"), code.value(f"mul i64 {i}, %s1")
        with code.counted("0", "%n2") as j:
            register = code.value(f"mul i64 {code.value(f'add i64 {first}, {j}')}, %w")
            entry = code.value(f"add i64 {offset}, {code.value(f'mul i64 {j}, %s2')}")
            with code.counted("0", "%w" if verb == "load" else "%count") as k:
                column = code.at(scalar, "%cols", code.value(f"add i64 {register}, {k}"))
                inside = code.value(f"icmp slt i64 {k}, {last}")
                row = code.value(f"select i1 {inside}, i64 {k}, i64 {last}")
                row = code.value(f"mul i64 {row}, %stride")
                place = code.at("i8", "%rows", code.value(f"add i64 {entry}, {row}"))
                source, target = (place, column) if verb == "load" else (column, place)
                code.store(scalar, code.load(scalar, source), target)
    sizes = "i64 %w, i64 %count, i64 %stride, i64 %n1, i64 %s1, i64 %n2, i64 %s2"
    head = f"define internal void @{verb}(ptr noalias %cols, ptr %rows, {sizes})"
    return function_ir(head, *code.lines, "  ret void")
