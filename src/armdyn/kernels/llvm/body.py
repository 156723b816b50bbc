"""Program -> LLVM IR, W samples to a register.

The body of a program works on columns: `in` and `out` are arrays of registers, one per input and output
scalar. A long program is cut into functions that hand values on through `scratch`, because LLVM's time for
one basic block grows faster than its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from textwrap import dedent
from typing import NamedTuple, TypeAlias

from armdyn.kernels.llvm.lane import Lane, per_lane
from armdyn.kernels.llvm.sincos import sincos_ir
from armdyn.program.ops import OPS
from armdyn.program.program import Program

Place: TypeAlias = tuple[str, int]  # a pointer, and the register behind it
SEGMENT = 600  # operations in one function
_PLAIN = ("fadd", "fsub", "fmul", "fdiv", "fneg")
SHORT = 200  # operations: in a loop, a call would cost more than the code it saves


@dataclass(frozen=True)
class Columns:
    """How a program reads and writes columns of matrices; the rows of these are in registers of a loop.

    With registers of one number in the loop, a register of the program has W columns side by side.
    """

    loop: Lane
    stride: int  # the loop's registers from row to row
    shared: int  # so many inputs, the first ones, are the same for all columns


class Body(NamedTuple):
    """A body as text, and how many registers it hands on through scratch."""

    text: str
    slots: int


def program_body(program: Program, lane: Lane) -> Body:
    """`@body_W(in, out, scratch)` and what it needs."""
    text, slots = named_body(program, lane, "body")
    return Body(f"{text}\n{routines_ir(lane, {node[0] for node in program.nodes})}", slots)


def named_body(
    program: Program, lane: Lane, name: str, apart: bool = False, columns: Columns | None = None
) -> Body:
    """`@NAME_W(in, out, scratch)` without the routines it calls, for modules with several programs.

    `apart`: with one pointer for each input and output (in0, in1, …, out0, …, scratch), as loops need it.
    LLVM then makes slower code of some long programs. Short programs are marked to be inlined, which
    `compile_ir` does only when asked to.
    """
    emitter = _Emitter(program, lane, name, apart, columns)
    segments = list(emitter.segments())
    w = lane.width
    arguments = ", ".join(f"ptr %{x}" for x in emitter.pointers)
    calls = "\n".join(f"  call void @{name}_part{k}_{w}({arguments})" for k in range(len(segments)))
    main = f"""
define internal void @{name}_{w}({emitter.parameters}) {emitter.attribute}{{
{calls}
  ret void
}}
"""
    return Body("\n".join([*segments, main]), emitter.slot_count)


def is_short(program: Program) -> bool:
    """Whether a loop has the program's operations in place of a call."""
    return sum(program.counts.values()) <= SHORT


def _places(name: str, sizes: Sequence[int], apart: bool, strides: Sequence[int]) -> list[Place]:
    """Where the scalars of several columns are: under one pointer, or under one for each."""
    if not apart:
        return [(name, k) for k in range(sum(sizes))]
    return [(f"{name}{k}", strides[k] * j) for k, size in enumerate(sizes) for j in range(size)]


class _Emitter:
    """Writes the nodes of a program as instructions, part by part."""

    def __init__(
        self,
        program: Program,
        lane: Lane,
        name: str = "body",
        apart: bool = False,
        columns: Columns | None = None,
    ) -> None:
        self.program, self.lane, self.name = program, lane, name
        self.outside = columns.loop if columns else lane  # registers of inputs and outputs
        self.attribute = "alwaysinline " if apart and is_short(program) else ""
        sizes_in = [size for _, size in program.inputs]
        sizes_out = [prod(shape) for _, shape in program.outputs]
        strides = [1] * len(sizes_in), [1] * len(sizes_out)
        self.spread = set[str]()  # inputs of which one number fills a register
        if columns:
            own = len(sizes_in) - columns.shared
            strides = [1] * columns.shared + [columns.stride] * own, [columns.stride] * len(sizes_out)
            if self.outside != lane:
                self.spread = {f"in{k}" for k in range(columns.shared)}
        self.inputs = _places("in", sizes_in, apart, strides[0])
        self.outputs = _places("out", sizes_out, apart, strides[1])
        pointers = [f"in{k}" for k in range(len(sizes_in))] + [f"out{k}" for k in range(len(sizes_out))]
        self.pointers = [*(pointers if apart else ["in", "out"]), "scratch"]
        self.slots: dict[int, int] = {}  # nodes that later parts need -> place in scratch
        self.slot_count = 0
        self.parts = self._cut()

    @property
    def parameters(self) -> str:
        return ", ".join(f"ptr noalias %{x}" for x in self.pointers)

    def _cut(self) -> list[range]:
        """Ranges of nodes with at most SEGMENT operations each, of about equal length."""
        operations = [i for i, node in enumerate(self.program.nodes) if node[0] in OPS]
        count = max(1, -(-len(operations) // SEGMENT))
        bounds = [operations[len(operations) * k // count] for k in range(1, count)] if operations else []
        edges = [0, *bounds, len(self.program.nodes)]
        parts = [range(a, b) for a, b in pairwise(edges)]
        self._assign_slots(parts)
        return parts

    def _assign_slots(self, parts: list[range]) -> None:
        """A place in scratch for every value a later part needs; a place is free again after the last one."""
        nodes = self.program.nodes
        part_of = {i: k for k, part in enumerate(parts) for i in part}
        last_part: dict[int, int] = {}
        for i, node in enumerate(nodes):
            if node[0] in OPS:
                last_part.update({a: part_of[i] for a in node[1:] if part_of[a] < part_of[i]})
        free: list[int] = []
        leaving: dict[int, list[int]] = {}
        for k, part in enumerate(parts):
            for i in part:
                if nodes[i][0] in OPS and i in last_part:
                    slot = free.pop() if free else self.slot_count
                    self.slot_count = max(self.slot_count, slot + 1)
                    self.slots[i] = slot
                    leaving.setdefault(last_part[i], []).append(slot)
            free += leaving.get(k, [])

    def segments(self) -> Iterator[str]:
        results: dict[int, list[int]] = {}
        for k, r in enumerate(self.program.results):
            results.setdefault(r, []).append(k)
        blocks = [list(self._part(part, results)) for part in self.parts]
        plain = [
            (i, k) for i, places in results.items() if self.program.nodes[i][0] not in OPS for k in places
        ]
        blocks += [list(self._plain(plain[j : j + SEGMENT])) for j in range(0, len(plain), SEGMENT)]
        for k, lines in enumerate(blocks):
            yield (
                f"define internal void @{self.name}_part{k}_{self.lane.width}"
                f"({self.parameters}) {self.attribute}{{\n" + "\n".join(lines) + "\n  ret void\n}\n"
            )

    def _part(self, part: range, results: dict[int, list[int]]) -> Iterator[str]:
        here: dict[int, str] = {}
        pairs: set[int] = set()
        for i in part:
            node = self.program.nodes[i]
            if node[0] not in OPS:
                continue
            for a in node[1:]:
                if a not in here:
                    yield from self._fetch(a, here)
            yield from self._operation(i, node[0], [here[a] for a in node[1:]], node[1], pairs)
            here[i] = f"%v{i}"
            if i in self.slots:
                yield from self._store(("scratch", self.slots[i]), here[i], f"s{i}")
            for k in results.get(i, ()):
                yield from self._store(self.outputs[k], here[i], f"o{k}")

    def _fetch(self, a: int, here: dict[int, str]) -> Iterator[str]:
        """An argument from outside the part: a constant, an input, or from scratch."""
        node = self.program.nodes[a]
        if node[0] == "const":
            here[a] = self.lane.constant(node[1])
            return
        source, k = self.inputs[node[1]] if node[0] == "input" else ("scratch", self.slots[a])
        here[a] = f"%v{a}"
        T, unit, align = self.lane.type, self._unit(source), self.outside.align
        yield f"  %p{a} = getelementptr {unit}, ptr %{source}, i64 {k}"
        if source in self.spread:
            yield f"  %n{a} = load {unit}, ptr %p{a}, align {align}"
            yield f"  %i{a} = insertelement {T} undef, {unit} %n{a}, i32 0"
            zero = f"<{self.lane.width} x i32> zeroinitializer"
            yield f"  %v{a} = shufflevector {T} %i{a}, {T} undef, {zero}"
        else:
            yield f"  %v{a} = load {T}, ptr %p{a}, align {align}"

    def _store(self, place: Place, value: str, name: str) -> Iterator[str]:
        target, k = place
        yield f"  %{name} = getelementptr {self._unit(target)}, ptr %{target}, i64 {k}"
        yield f"  store {self.lane.type} {value}, ptr %{name}, align {self.outside.align}"

    def _unit(self, pointer: str) -> str:
        """What lies behind a pointer, one after the other."""
        return self.lane.type if pointer == "scratch" else self.outside.type

    def _plain(self, entries: list[tuple[int, int]]) -> Iterator[str]:
        """Outputs that are constants or inputs as they are."""
        here: dict[int, str] = {}
        for i, k in entries:
            if i not in here:
                yield from self._fetch(i, here)
            yield from self._store(self.outputs[k], here[i], f"o{k}")

    def _operation(self, i: int, op: str, args: list[str], first: int, pairs: set[int]) -> Iterator[str]:
        spelling = OPS[op].llvm
        T = self.lane.type
        if spelling in _PLAIN and spelling != "fneg":
            yield f"  %v{i} = {spelling} contract {T} {args[0]}, {args[1]}"
        elif spelling == "fneg":
            yield f"  %v{i} = fneg {T} {args[0]}"
        elif spelling in ("sin", "cos"):
            if first not in pairs:
                pairs.add(first)
                yield f"  %sc{first} = call {{{T}, {T}}} @sincos_{self.lane.width}({T} {args[0]})"
            yield f"  %v{i} = extractvalue {{{T}, {T}}} %sc{first}, {int(spelling == 'cos')}"
        else:
            arguments = ", ".join(f"{T} {a}" for a in args)
            yield f"  %v{i} = call {T} @{spelling}_{self.lane.width}({arguments})"


def needs_routines(program: Program) -> bool:
    """Whether its operations call routines: all but plain arithmetic do."""
    return any(OPS[op].llvm not in _PLAIN for op in program.counts)


def routines_ir(lane: Lane, used: set[str]) -> str:
    """The routines the operations in use call."""
    text = sincos_ir(lane) if used & {"sin", "cos"} else ""
    text += "".join(_intrinsic(lane, op, *INTRINSICS[op]) for op in INTRINSICS if op in used)
    return text + "".join(ROUTINES[op](lane) for op in ROUTINES if op in used)


def _intrinsic(lane: Lane, name: str, intrinsic: str, arity: int) -> str:
    T = lane.type
    parameters = ", ".join(f"{T} %x{k}" for k in range(arity))
    types = ", ".join([T] * arity)
    return dedent(f"""
        declare {T} @llvm.{intrinsic}.{lane.suffix}({types})
        define internal {T} @{name}_{lane.width}({parameters}) alwaysinline {{
          %r = call {T} @llvm.{intrinsic}.{lane.suffix}({parameters})
          ret {T} %r
        }}
        """)


def _sign(lane: Lane) -> str:
    """1, −1, or the argument itself: 0 for 0, NaN for NaN."""
    T, M, zero = lane.type, lane.mask, lane.constant(0.0)
    return dedent(f"""
        define internal {T} @sign_{lane.width}({T} %x) alwaysinline {{
          %up = fcmp ogt {T} %x, {zero}
          %down = fcmp olt {T} %x, {zero}
          %a = select {M} %up, {T} {lane.constant(1.0)}, {T} %x
          %b = select {M} %down, {T} {lane.constant(-1.0)}, {T} %a
          ret {T} %b
        }}
        """)


def _select(lane: Lane) -> str:
    T, M = lane.type, lane.mask
    return dedent(f"""
        define internal {T} @select_{lane.width}({T} %c, {T} %a, {T} %b) alwaysinline {{
          %m = fcmp ogt {T} %c, {lane.constant(0.0)}
          %r = select {M} %m, {T} %a, {T} %b
          ret {T} %r
        }}
        """)


def _exp(lane: Lane) -> str:
    """libm's, number by number."""
    function = "exp" if lane.scalar == "double" else "expf"
    body, result = per_lane(lane, "%x", function, "e")
    return f"""
declare {lane.scalar} @{function}({lane.scalar})
define internal {lane.type} @exp_{lane.width}({lane.type} %x) {{
{body}
  ret {lane.type} {result}
}}
"""


ROUTINES: dict[str, Callable[[Lane], str]] = {"sign": _sign, "select": _select, "exp": _exp}
INTRINSICS = {"abs": ("fabs", 1), "sqrt": ("sqrt", 1), "min": ("minimum", 2), "max": ("maximum", 2)}
