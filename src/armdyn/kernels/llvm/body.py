"""Programs as LLVM IR, W samples to a register, with sine and cosine.

The body of a program works on columns: `in` and `out` are arrays of registers, one per input and output
scalar. A long program is cut into functions that hand values on through `scratch`, because LLVM's time for
one basic block grows faster than its length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from math import prod
from textwrap import dedent
from typing import NamedTuple, TypeAlias

from armdyn.kernels.cache import digest_of
from armdyn.kernels.llvm.code import Code, Lane, declared_once, function_ir, per_lane
from armdyn.program.ops import OPS
from armdyn.program.program import Program, is_short

# ------------------------------------------------------------------------------------------------------------
# Sine and cosine of a register as LLVM IR: to 2 ulp for |x| ≤ 1e5 in double precision, to 2⁻²⁴ in single.
#
# The argument is reduced by multiples of π/2 held in three parts (Cody and Waite; the first two short enough
# for exact products, their difference kept with its rounding error), then fdlibm's kernel polynomials are
# used. What lies beyond the range, NaN and infinity go to libm number by number, and only these: a result
# does not depend on what else is in the register. No instruction here raises a floating-point flag on a NaN:
# the quadrant is read off the bits of k + 1.5·2⁵², not converted.


@dataclass(frozen=True)
class Format:
    """Constants of one floating-point format: π/2 in parts, range, magic number, polynomials."""

    limit: float
    parts: tuple[float, float, float]
    magic: float
    sine: tuple[float, ...]  # coefficients of r³, r⁵, …
    cosine: tuple[float, ...]  # coefficients of r⁴, r⁶, …
    functions: tuple[str, str]


TWO_OVER_PI = 0.6366197723675814
FORMATS = {
    "double": Format(
        limit=1e5,
        parts=(
            float.fromhex("0x1.921fb54440000p+0"),  # 36 bits
            float.fromhex("0x1.68c234c4c0000p-39"),  # 36 bits
            float.fromhex("0x1.98a2e03707345p-77"),
        ),
        magic=6755399441055744.0,
        sine=(
            -1.66666666666666324348e-01,
            8.33333333332248946124e-03,
            -1.98412698298579493134e-04,
            2.75573137070700676789e-06,
            -2.50507602534068634195e-08,
            1.58969099521155010221e-10,
        ),
        cosine=(
            4.16666666666666019037e-02,
            -1.38888888888741095749e-03,
            2.48015872894767294178e-05,
            -2.75573143513906633035e-07,
            2.08757232129817482790e-09,
            -1.13596475577881948265e-11,
        ),
        functions=("sin", "cos"),
    ),
    "float": Format(
        limit=8000.0,
        parts=(1.5703125, 0.0004837512969970703, 7.549790126404332e-08),
        magic=12582912.0,
        sine=(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
        cosine=(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
        functions=("sinf", "cosf"),
    ),
}


class _Code(Code):
    """Arithmetic on registers."""

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self.lane = lane

    def __call__(self, instruction: str, *args: str, type: str | None = None) -> str:
        return self.value(f"{instruction} {type or self.lane.type} {', '.join(args)}")


def sincos_ir(lane: Lane, name: str = "sincos") -> str:
    """`{sin, cos} @NAME_W(x)`."""
    form, T = FORMATS[lane.scalar], lane.type
    code = _Code(lane)
    absolute = code.value(f"call {T} @llvm.fabs.{lane.suffix}({T} %x)")
    inside = code("fcmp ole", absolute, lane.constant(form.limit))
    x = code.value(f"select {lane.mask} {inside}, {T} %x, {T} {lane.constant(0.0)}")
    shifted = code("fadd", code("fmul", x, lane.constant(TWO_OVER_PI)), lane.constant(form.magic))
    k = code("fsub", shifted, lane.constant(form.magic))
    r, tail = _reduced(code, lane, form, x, k)
    s, c = _kernels(code, lane, form, r, tail)
    s, c = _quadrants(code, lane, shifted, s, c)
    zero = code("fcmp oeq", x, lane.constant(0.0))
    s = code.value(f"select {lane.mask} {zero}, {T} {x}, {T} {s}")  # sin(−0) = −0
    return _function(lane, form, code, inside, s, c, name)


def _reduced(code: _Code, lane: Lane, form: Format, x: str, k: str) -> tuple[str, str]:
    """r + tail = x − k π/2, |r| ≤ π/4."""
    first, second, third = (code("fmul", k, lane.constant(p)) for p in form.parts)
    a = code("fsub", x, first)  # exact
    s = code("fsub", a, second)
    b = code("fsub", s, a)
    error = code("fsub", code("fsub", a, code("fsub", s, b)), code("fadd", second, b))
    low = code("fsub", error, third)
    r = code("fadd", s, low)
    return r, code("fsub", low, code("fsub", r, s))


def _kernels(code: _Code, lane: Lane, form: Format, r: str, tail: str) -> tuple[str, str]:
    """sin and cos of r + tail, as in fdlibm's k_sin and k_cos."""
    z = code("fmul", r, r)
    v = code("fmul", z, r)
    half = lane.constant(0.5)
    p = _polynomial(code, lane, form.sine[1:], z)
    inner = code("fsub", code("fmul", half, tail), code("fmul", v, p))
    inner = code("fsub", code("fmul", z, inner), tail)
    sine = code("fsub", r, code("fsub", inner, code("fmul", v, lane.constant(form.sine[0]))))
    p = code("fmul", z, _polynomial(code, lane, form.cosine, z))
    hz = code("fmul", half, z)
    w = code("fsub", lane.constant(1.0), hz)
    rounding = code("fsub", code("fsub", lane.constant(1.0), w), hz)
    small = code("fsub", code("fmul", z, p), code("fmul", r, tail))
    return sine, code("fadd", w, code("fadd", rounding, small))


def _polynomial(code: _Code, lane: Lane, coefficients: tuple[float, ...], z: str) -> str:
    total = lane.constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = code("fadd contract", code("fmul contract", total, z), lane.constant(c))
    return total


def _quadrants(code: _Code, lane: Lane, shifted: str, s: str, c: str) -> tuple[str, str]:
    """Swap and change signs by k mod 4."""
    T, I, M = lane.type, lane.integer, lane.mask
    bits = code.value(f"bitcast {T} {shifted} to {I}")
    odd = code("and", bits, lane.integer_constant(1), type=I)
    swap = code("icmp ne", odd, lane.integer_constant(0), type=I)
    results = []
    for first, second, offset in ((s, c, 0), (c, s, 1)):
        value = code.value(f"select {M} {swap}, {T} {second}, {T} {first}")
        moved = code("add", bits, lane.integer_constant(offset), type=I)
        negative = code("and", moved, lane.integer_constant(2), type=I)
        sign = code("shl", negative, lane.integer_constant(lane.bits - 2), type=I)
        raw = code.value(f"bitcast {T} {value} to {I}")
        flipped = code("xor", raw, sign, type=I)
        results.append(code.value(f"bitcast {I} {flipped} to {T}"))
    return results[0], results[1]


def _function(lane: Lane, form: Format, code: _Code, inside: str, s: str, c: str, name: str) -> str:
    T, w = lane.type, lane.width
    sine, cosine = form.functions
    slow_sine, slow_s = per_lane(lane, "%x", sine, "s")
    slow_cosine, slow_c = per_lane(lane, "%x", cosine, "c")
    reduce = f"  %all = call i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1> {inside})" if w > 1 else ""
    condition = "%all" if w > 1 else inside
    declare = f"declare i1 @llvm.vector.reduce.and.v{w}i1(<{w} x i1>)" if w > 1 else ""
    fast = "\n".join(code.lines)
    chosen = "\n".join(
        f"  %{name} = select {lane.mask} {inside}, {T} {quick}, {T} {slow}"
        for name, quick, slow in (("ms", s, slow_s), ("mc", c, slow_c))
    )
    return f"""
declare {T} @llvm.fabs.{lane.suffix}({T})
{declare}
declare {lane.scalar} @{sine}({lane.scalar})
declare {lane.scalar} @{cosine}({lane.scalar})
define internal {{{T}, {T}}} @{name}_{w}({T} %x) noinline {{
fast:
{fast}
{reduce}
  br i1 {condition}, label %done, label %slow
slow:
{slow_sine}
{slow_cosine}
{chosen}
  br label %done
done:
  %rs = phi {T} [ {s}, %fast ], [ %ms, %slow ]
  %rc = phi {T} [ {c}, %fast ], [ %mc, %slow ]
  %pair0 = insertvalue {{{T}, {T}}} undef, {T} %rs, 0
  %pair1 = insertvalue {{{T}, {T}}} %pair0, {T} %rc, 1
  ret {{{T}, {T}}} %pair1
}}
"""


# ------------------------------------------------------------------------------------------------------------
# The body of a program.


Place: TypeAlias = tuple[str, int]  # a pointer, and the register behind it
SEGMENT = 600  # operations in one function
SHARED = 25_000  # operations: code of longer programs for one sample is compiled once for all that call it
_PLAIN = ("fadd", "fsub", "fmul", "fdiv", "fneg")


@dataclass(frozen=True)
class ColumnAccess:
    """The way a program reads and writes columns of matrices whose rows are in registers of a loop.

    With registers of one number in the loop, a register of the program has W columns side by side.
    """

    loop: Lane
    stride: int  # the loop's registers from row to row
    shared: int  # so many inputs, the first ones, are the same for all columns


class BodyText(NamedTuple):
    """A body as text, how many registers it hands on through scratch, and the functions of other modules.

    `functions` are their modules by the names under which the text calls them.
    """

    text: str
    slots: int
    functions: Mapping[str, str] = {}


def program_body(program: Program, lane: Lane, width: int) -> BodyText:
    """`@body_W(in, out, scratch)` and what it needs. `width`: numbers in the widest register."""
    if lane.width == 1 and is_shared(program):
        return _calling(program, lane, width)
    text, slots, _ = named_body(program, lane, "body", across=Lane(lane.scalar, width))
    return BodyText(f"{text}\n{routines_ir(lane, {node[0] for node in program.nodes})}", slots)


def _calling(program: Program, lane: Lane, width: int) -> BodyText:
    """A body that calls a program of which the code is a module of its own."""
    shared, code = shared_program(program, Lane(lane.scalar, width)), Code()
    sizes = [size for _, size in program.inputs], [prod(shape) for _, shape in program.outputs]
    pointers = [
        code.at(lane.type, f"%{name}", start)
        for name, own in zip(("in", "out"), sizes, strict=True)
        for start in accumulate(own[:-1], initial=0)
    ]
    arguments = ", ".join(f"ptr {x}" for x in (*pointers, "%scratch"))
    code.do(f"call void @{shared.name}({arguments})")
    head = f"define internal void @body_{lane.width}(ptr %in, ptr %out, ptr %scratch)"
    text = function_ir(head, *code.lines, "  ret void")
    return BodyText(f"{shared.declaration}\n{text}", shared.slots, {shared.name: shared.module})


def is_shared(program: Program) -> bool:
    """True if the code for one sample is a module of its own."""
    return program.operations > SHARED


class SharedProgram(NamedTuple):
    """The code for one sample of a long program as a module, which code of several functions calls."""

    name: str
    declaration: str
    module: str
    slots: int


def shared_program(program: Program, across: Lane) -> SharedProgram:
    """`@NAME(in0, in1, …, out0, …, scratch)`, where the name says all that the code depends on."""
    lane = Lane(across.scalar, 1)
    text, slots, _ = named_body(program, lane, "program", True, across=across)
    text = f"{text}\n{routines_ir(lane, {node[0] for node in program.nodes})}"
    name = f"program_{digest_of(text)}"
    count = len(program.inputs) + len(program.outputs) + 1
    text = text.replace("define internal void @program_1(", f"define void @{name}(")
    return SharedProgram(
        name, f"declare void @{name}({', '.join(['ptr'] * count)})", declared_once([text]), slots
    )


def named_body(
    program: Program,
    lane: Lane,
    name: str,
    apart: bool = False,
    columns: ColumnAccess | None = None,
    across: Lane | None = None,
) -> BodyText:
    """`@NAME_W(in, out, scratch)` without the routines it calls, for modules with several programs.

    `apart`: with one pointer for each input and output (in0, in1, …, out0, …, scratch), as loops need it.
    LLVM then makes slower code of some long programs. Short programs are marked to be inlined, which
    `compile_ir` does only when asked to. `across` is a wider register: code for one sample finds the sines of
    several angles in it at once.
    """
    emitter = _Emitter(program, lane, name, apart, columns, across)
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
    sines = [sincos_ir(Lane(lane.scalar, width), emitter.sines) for width in sorted(emitter.widths)]
    return BodyText("\n".join([*sines, *segments, main]), emitter.slot_count)


def _places(name: str, sizes: Sequence[int], apart: bool, strides: Sequence[int]) -> list[Place]:
    """Places of the scalars of several columns: behind one pointer, or behind one for each column."""
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
        columns: ColumnAccess | None = None,
        across: Lane | None = None,
    ) -> None:
        self.program, self.lane, self.name = program, lane, name
        self.most = across.width if across and lane.width == 1 else 1  # angles whose sines are found at once
        self.sines, self.widths = f"{name}_sincos", set[int]()  # what finds them, and for how many
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
        before, angles = self._early(part)
        yield from self._operations(before, results, here, pairs)
        for k in range(0, len(angles), self.most):
            if len(angles) - k > 1:
                yield from self._sines(angles[k : k + self.most], here, pairs)
        yield from self._operations([i for i in part if i not in here], results, here, pairs)

    def _early(self, part: range) -> tuple[list[int], list[int]]:
        """Operations that lead to angles of a part, and those angles: they wait for no sine in it."""
        nodes = self.program.nodes
        if self.most == 1:
            return [], []
        late, angles = set[int](), dict[int, None]()
        for i in part:
            op, *args = nodes[i]
            if op in OPS:
                if op in ("sin", "cos") or not late.isdisjoint(args):
                    late.add(i)
                if op in ("sin", "cos") and args[0] not in late:
                    angles[args[0]] = None
        if len(angles) == 1:
            return [], []
        needed = {a for a in angles if a in part and nodes[a][0] in OPS}
        for i in reversed(part):
            if i in needed:
                needed.update(a for a in nodes[i][1:] if a in part and nodes[a][0] in OPS)
        return sorted(needed), list(angles)

    def _sines(self, angles: list[int], here: dict[int, str], pairs: set[int]) -> Iterator[str]:
        """Sine and cosine of several angles, in one register."""
        scalar, width = self.lane.type, 1 << (len(angles) - 1).bit_length()
        T, first, last = f"<{width} x {scalar}>", angles[0], "zeroinitializer"
        for j, a in enumerate(angles):
            if a not in here:
                yield from self._fetch(a, here)
            yield f"  %a{first}x{j} = insertelement {T} {last}, {scalar} {here[a]}, i32 {j}"
            last = f"%a{first}x{j}"
        self.widths.add(width)
        yield f"  %a{first} = call {{{T}, {T}}} @{self.sines}_{width}({T} {last})"
        for k, name in enumerate(("s", "c")):
            yield f"  %a{first}{name} = extractvalue {{{T}, {T}}} %a{first}, {k}"
        for j, a in enumerate(angles):
            pair, half = f"{{{scalar}, {scalar}}}", "undef"
            for k, name in enumerate(("s", "c")):
                yield f"  %{name}{a}y{first} = extractelement {T} %a{first}{name}, i32 {j}"
                target = f"%sc{a}" if k else f"%h{a}"
                yield f"  {target} = insertvalue {pair} {half}, {scalar} %{name}{a}y{first}, {k}"
                half = target
            pairs.add(a)

    def _operations(
        self, these: Sequence[int], results: dict[int, list[int]], here: dict[int, str], pairs: set[int]
    ) -> Iterator[str]:
        """Lines of some operations of a part, in their order."""
        for i in these:
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
        """LLVM type of the values that lie behind a pointer."""
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
    """True if operations of the program call routines: all but plain arithmetic do."""
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


def _of_libm(name: str, lane: Lane) -> str:
    """A function of libm, number by number."""
    function = name if lane.scalar == "double" else f"{name}f"
    body, result = per_lane(lane, "%x", function, "e")
    return f"""
declare {lane.scalar} @{function}({lane.scalar})
define internal {lane.type} @{name}_{lane.width}({lane.type} %x) {{
{body}
  ret {lane.type} {result}
}}
"""


ROUTINES: dict[str, Callable[[Lane], str]] = {
    "sign": _sign,
    "select": _select,
    "exp": partial(_of_libm, "exp"),
    "tanh": partial(_of_libm, "tanh"),
}
INTRINSICS = {"abs": ("fabs", 1), "sqrt": ("sqrt", 1), "min": ("minimum", 2), "max": ("maximum", 2)}
