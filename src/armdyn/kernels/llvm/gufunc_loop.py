"""The loop around a program's body, as NumPy calls it: loop(char **args, intp *dims, intp *steps, void *).

Rows come with any strides. Whole registers are loaded and transposed where the entries of a row lie side by
side; otherwise entries are fetched one by one. What is left over after full registers takes the scalar body.
The floating-point flags are left as they were found: a NaN or a singular row shows in its row, not as a
warning. A loop cannot return an error; if it gets no memory to work in, it leaves the rows alone and adds one
to the count that `data` points to.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from armdyn.kernels.llvm.body import body_ir, scratch_slots
from armdyn.kernels.llvm.lane import Lane
from armdyn.program.program import Program, Shape


def module_ir(program: Program, scalar: str, width: int, name: str, further: str = "") -> str:
    """A module with `@loop_NAME` for a program in one floating-point format, and further functions."""
    wide, single = Lane(scalar, width), Lane(scalar, 1)
    sizes = [size for _, size in program.inputs] + [prod(shape) for _, shape in program.outputs]
    bodies = body_ir(program, single) + body_ir(program, wide)
    moves = [move_ir(wide, size, "load") for size in sorted(set(sizes[: len(program.inputs)]))]
    moves += [move_ir(wide, size, "store") for size in sorted(set(sizes[len(program.inputs) :]))]
    shapes = [(size,) for _, size in program.inputs] + [shape for _, shape in program.outputs]
    return declared_once(
        [
            bodies,
            *moves,
            strided_ir(scalar, "gather"),
            strided_ir(scalar, "scatter"),
            masked_declarations(wide),
            _loop_ir(f"loop_{name}", wide, shapes, len(program.inputs), scratch_slots(program, wide)),
            further,
        ]
    )


def declared_once(parts: Sequence[str]) -> str:
    """The parts of a module, each external function declared once."""
    lines = "\n".join(parts).splitlines()
    declarations = dict.fromkeys(line for line in lines if line.startswith("declare"))
    return "\n".join([*declarations, *(line for line in lines if not line.startswith("declare"))]) + "\n"


def masked_declarations(lane: Lane) -> str:
    V = f"<{lane.width} x {lane.scalar}>"
    M = f"<{lane.width} x i1>"
    name = f"v{lane.width}f{lane.bits}.p0"
    return (
        f"declare {V} @llvm.masked.load.{name}(ptr, i32, {M}, {V})\n"
        f"declare void @llvm.masked.store.{name}({V}, ptr, i32, {M})\n"
    )


def _transposed(lane: Lane, rows: Sequence[str], lines: list[str], tag: str) -> list[str]:
    """W registers as a W×W matrix, transposed by log₂ W rounds of shuffles."""
    w, values = lane.width, list(rows)
    distance = 1
    while distance < w:
        for i in range(w):
            if i & distance:
                continue
            x, y = values[i], values[i + distance]
            low = [j if not j & distance else w + j - distance for j in range(w)]
            high = [j + distance if not j & distance else w + j for j in range(w)]
            for k, mask in ((i, low), (i + distance, high)):
                name = f"%{tag}{distance}_{k}"
                indices = ", ".join(f"i32 {m}" for m in mask)
                lines.append(
                    f"  {name} = shufflevector {lane.type} {x}, {lane.type} {y}, <{w} x i32> <{indices}>"
                )
                values[k] = name
        distance *= 2
    return values


def move_ir(lane: Lane, size: int, direction: str) -> str:
    """`@load_L(cols, rows, stride)` or `@store_L`: W rows of L adjacent entries to or from L registers."""
    w, b = lane.width, lane.bits // 8
    full, rest = divmod(size, w)
    lines = [
        f"define internal void @{direction}_{size}(ptr noalias %cols, ptr %rows, i64 %stride) {{",
        "entry:",
    ]
    for k in range(w):
        lines.append(f"  %offset{k} = mul i64 %stride, {k}")
        lines.append(f"  %row{k} = getelementptr i8, ptr %rows, i64 %offset{k}")
    if full:
        lines += ["  br label %chunk", "chunk:", "  %c = phi i64 [ 0, %entry ], [ %next, %chunk ]"]
        lines += [f"  %byte = mul i64 %c, {w * b}", f"  %col = mul i64 %c, {w}"]
        _block(lane, direction, lines, "%byte", "%col", w, "f")
        lines += ["  %next = add i64 %c, 1", f"  %more = icmp ult i64 %next, {full}"]
        lines += ["  br i1 %more, label %chunk, label %tail", "tail:"]
    if rest:
        _block(lane, direction, lines, str(full * w * b), str(full * w), rest, "r")
    lines += ["  ret void", "}"]
    return "\n".join(lines) + "\n"


def _block(lane: Lane, direction: str, lines: list[str], byte: str, col: str, count: int, tag: str) -> None:
    """Move `count` ≤ W columns of W rows, starting at a byte of each row and a register of the columns."""
    w, T, b = lane.width, lane.type, lane.bits // 8
    mask = f"<{w} x i1> <" + ", ".join(f"i1 {int(k < count)}" for k in range(w)) + ">"
    intrinsic = f"v{w}f{lane.bits}.p0"
    lines += [f"  %{tag}p{k} = getelementptr i8, ptr %row{k}, i64 {byte}" for k in range(w)]
    for k in range(count):
        lines.append(f"  %{tag}i{k} = add i64 {col}, {k}")
        lines.append(f"  %{tag}q{k} = getelementptr {T}, ptr %cols, i64 %{tag}i{k}")
    if direction == "load":
        lines += [
            f"  %{tag}v{k} = call {T} @llvm.masked.load.{intrinsic}"
            f"(ptr %{tag}p{k}, i32 {b}, {mask}, {T} zeroinitializer)"
            for k in range(w)
        ]
        columns = _transposed(lane, [f"%{tag}v{k}" for k in range(w)], lines, f"{tag}t")
        lines += [f"  store {T} {columns[k]}, ptr %{tag}q{k}, align {lane.align}" for k in range(count)]
    else:
        lines += [f"  %{tag}v{k} = load {T}, ptr %{tag}q{k}, align {lane.align}" for k in range(count)]
        rows = [f"%{tag}v{k}" if k < count else "zeroinitializer" for k in range(w)]
        moved = _transposed(lane, rows, lines, f"{tag}t")
        lines += [
            f"  call void @llvm.masked.store.{intrinsic}({T} {row}, ptr %{tag}p{k}, i32 {b}, {mask})"
            for k, row in enumerate(moved)
        ]


def strided_ir(scalar: str, direction: str) -> str:
    """`@gather(cols, rows, w, stride, n1, s1, n2, s2)`: entries one by one; `@scatter` back."""
    element = f"  %e = getelementptr {scalar}, ptr %cols, i64 %slot"
    move = (
        [f"  %x = load {scalar}, ptr %p", f"  store {scalar} %x, ptr %e"]
        if direction == "gather"
        else [f"  %x = load {scalar}, ptr %e", f"  store {scalar} %x, ptr %p"]
    )
    return "\n".join(
        [
            (
                f"define internal void @{direction}(ptr noalias %cols, ptr %rows, i64 %w, i64 %stride, "
                "i64 %n1, i64 %s1, i64 %n2, i64 %s2) {"
            ),
            "entry:",
            "  br label %first",
            "first:",
            "  %i = phi i64 [ 0, %entry ], [ %i1, %first_next ]",
            "  %slot1 = mul i64 %i, %n2",
            "  %o1 = mul i64 %i, %s1",
            "  br label %second",
            "second:",
            "  %j = phi i64 [ 0, %first ], [ %j1, %second_next ]",
            "  %o2 = mul i64 %j, %s2",
            "  %entry_number = add i64 %slot1, %j",
            "  %base = mul i64 %entry_number, %w",
            "  %o12 = add i64 %o1, %o2",
            "  br label %row",
            "row:",
            "  %k = phi i64 [ 0, %second ], [ %k1, %row ]",
            "  %o3 = mul i64 %k, %stride",
            "  %o = add i64 %o12, %o3",
            "  %p = getelementptr i8, ptr %rows, i64 %o",
            "  %slot = add i64 %base, %k",
            element,
            *move,
            "  %k1 = add i64 %k, 1",
            "  %more_rows = icmp ult i64 %k1, %w",
            "  br i1 %more_rows, label %row, label %second_next",
            "second_next:",
            "  %j1 = add i64 %j, 1",
            "  %more_second = icmp ult i64 %j1, %n2",
            "  br i1 %more_second, label %second, label %first_next",
            "first_next:",
            "  %i1 = add i64 %i, 1",
            "  %more_first = icmp ult i64 %i1, %n1",
            "  br i1 %more_first, label %first, label %end",
            "end:",
            "  ret void",
            "}",
            "",
        ]
    )


def _loop_ir(name: str, lane: Lane, shapes: Sequence[Shape], inputs: int, slots: int) -> str:
    """The loop itself: full registers, then the rest one by one."""
    operands = [_Operand(i, shape, i < inputs, lane) for i, shape in enumerate(shapes)]
    columns_in = sum(o.size for o in operands if o.is_input)
    columns_out = sum(o.size for o in operands if not o.is_input)
    workspace, release = workspace_ir(lane, columns_in, columns_out, slots)
    start_in = start_out = 0
    core = len(shapes)
    lines = [
        f"define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{",
        "entry:",
        "  %environment = alloca [128 x i8], align 16",
        *workspace,
        "  %saved = call i32 @fegetenv(ptr %environment)",
        "  %rows = load i64, ptr %dims",
    ]
    for operand in operands:
        lines += operand.prepare(core, start_in if operand.is_input else start_out)
        core += len(operand.shape)
        if operand.is_input:
            start_in += operand.size
        else:
            start_out += operand.size
    w = lane.width
    lines += ["  br label %wide_test", "wide_test:", "  %i = phi i64 [ 0, %ready ], [ %i_next, %wide_done ]"]
    lines += [f"  %i_next = add i64 %i, {w}", "  %fits = icmp ule i64 %i_next, %rows"]
    lines += ["  br i1 %fits, label %wide, label %single_test", "wide:", "  br label %wide_0"]
    lines += _pass_ir(operands, "wide", "%i", "0", w)
    lines += ["wide_done:", "  br label %wide_test"]
    lines += ["single_test:", "  %s = phi i64 [ %i, %wide_test ], [ %s_next, %single_done ]"]
    lines += ["  %s_next = add i64 %s, 1", "  %left = icmp ult i64 %s, %rows"]
    lines += ["  br i1 %left, label %single, label %end", "single:", "  br label %single_0"]
    lines += _pass_ir(operands, "single", "%s", "%i", 1)
    lines += ["single_done:", "  br label %single_test", "end:"]
    lines += ["  %restored = call i32 @fesetenv(ptr %environment)", *release]
    lines += ["  ret void", "no_memory:", "  %noted = atomicrmw add ptr %data, i64 1 seq_cst"]
    lines += ["  ret void", "}"]
    return (
        "declare i32 @fegetenv(ptr)\ndeclare i32 @fesetenv(ptr)\n"
        + WORKSPACE_DECLARATIONS
        + "\n".join(lines)
        + "\n"
    )


WORKSPACE_DECLARATIONS = (
    "declare ptr @malloc(i64)\ndeclare void @free(ptr)\n"
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
)


def copy_ir(target: str, source: str, size: int) -> str:
    return f"  call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)"


ON_THE_STACK = 16 * 1024  # bytes; more might not fit the stack of a thread


def workspace_ir(lane: Lane, columns_in: int, columns_out: int, slots: int) -> tuple[list[str], list[str]]:
    """%in, %out and %scratch in one aligned block, and the code that frees it.

    Ends in the block %ready; without memory it jumps to the function's block %no_memory.
    """
    size = (columns_in + columns_out + slots) * lane.bytes + 64
    small = size <= ON_THE_STACK
    if small:
        lines = [f"  %block = alloca [{size} x i8], align 64", "  br label %ready", "ready:"]
    else:
        lines = [
            f"  %block = call ptr @malloc(i64 {size})",
            "  %missing = icmp eq ptr %block, null",
            "  br i1 %missing, label %no_memory, label %ready",
            "ready:",
        ]
    lines += [
        "  %address = ptrtoint ptr %block to i64",
        "  %beyond = add i64 %address, 63",
        "  %aligned = and i64 %beyond, -64",
        "  %in = inttoptr i64 %aligned to ptr",
        f"  %out = getelementptr i8, ptr %in, i64 {columns_in * lane.bytes}",
        f"  %scratch = getelementptr i8, ptr %out, i64 {columns_out * lane.bytes}",
    ]
    return lines, [] if small else ["  call void @free(ptr %block)"]


class _Operand:
    """An array argument: where its rows are, and how its entries lie in them."""

    def __init__(self, index: int, shape: Shape, is_input: bool, lane: Lane) -> None:
        self.index, self.shape, self.is_input, self.lane = index, shape, is_input, lane
        self.size = prod(shape)
        self.start = 0

    def prepare(self, core: int, start: int) -> list[str]:
        """Read pointer, outer stride and inner strides; say whether the entries lie side by side."""
        a, b = self.index, self.lane.bits // 8
        self.start = start
        lines = [
            f"  %ap{a} = getelementptr ptr, ptr %args, i64 {a}",
            f"  %base{a} = load ptr, ptr %ap{a}",
            f"  %sp{a} = getelementptr i64, ptr %steps, i64 {a}",
            f"  %step{a} = load i64, ptr %sp{a}",
        ]
        self.n1, self.n2 = (1, 1, *self.shape)[-2:]
        strides = ["0"] * (2 - len(self.shape))
        for k in range(len(self.shape)):
            lines.append(f"  %cp{a}_{k} = getelementptr i64, ptr %steps, i64 {core + k}")
            lines.append(f"  %core{a}_{k} = load i64, ptr %cp{a}_{k}")
            strides.append(f"%core{a}_{k}")
        self.s1, self.s2 = strides
        inner = f"icmp eq i64 {self.s2}, {b}" if self.n2 > 1 else "icmp eq i64 0, 0"
        outer = f"icmp eq i64 {self.s1}, {b * self.n2}" if self.n1 > 1 else "icmp eq i64 0, 0"
        lines += [f"  %inner{a} = {inner}", f"  %outer{a} = {outer}"]
        lines.append(f"  %dense{a} = and i1 %inner{a}, %outer{a}")
        return lines

    def move(self, tag: str, row: str, first: str, w: int, done: str) -> list[str]:
        """Bring W rows into the columns, or back. An input without a stride stays there after the first."""
        a = self.index
        columns = "in" if self.is_input else "out"
        register = self.lane.type if w > 1 else self.lane.scalar
        verb, strided = ("load", "gather") if self.is_input else ("store", "scatter")
        lines = []
        if self.is_input:
            lines = [
                f"  %{tag}same{a} = icmp eq i64 %step{a}, 0",
                f"  %{tag}later{a} = icmp ne i64 {row}, {first}",
                f"  %{tag}kept{a} = and i1 %{tag}same{a}, %{tag}later{a}",
                f"  br i1 %{tag}kept{a}, label %{done}, label %{tag}move{a}",
                f"{tag}move{a}:",
            ]
        lines += [
            f"  %{tag}o{a} = mul i64 {row}, %step{a}",
            f"  %{tag}p{a} = getelementptr i8, ptr %base{a}, i64 %{tag}o{a}",
            f"  %{tag}c{a} = getelementptr {register}, ptr %{columns}, i64 {self.start}",
        ]
        general = (
            f"  call void @{strided}(ptr %{tag}c{a}, ptr %{tag}p{a}, i64 {w}, i64 %step{a}, "
            f"i64 {self.n1}, i64 {self.s1}, i64 {self.n2}, i64 {self.s2})"
        )
        dense = f"  call void @{verb}_{self.size}(ptr %{tag}c{a}, ptr %{tag}p{a}, i64 %step{a})"
        if w == 1:
            target, source = (
                (f"%{tag}c{a}", f"%{tag}p{a}") if self.is_input else (f"%{tag}p{a}", f"%{tag}c{a}")
            )
            dense = copy_ir(target, source, self.size * self.lane.bits // 8)
        return [
            *lines,
            f"  br i1 %dense{a}, label %{tag}dense{a}, label %{tag}general{a}",
            f"{tag}dense{a}:",
            dense,
            f"  br label %{done}",
            f"{tag}general{a}:",
            general,
            f"  br label %{done}",
        ]


def _pass_ir(operands: Sequence[_Operand], tag: str, row: str, first: str, w: int) -> list[str]:
    """Inputs in, body, outputs out: blocks tag_0, tag_1, … and finally tag_done."""
    inputs = [o for o in operands if o.is_input]
    outputs = [o for o in operands if not o.is_input]
    lines: list[str] = []
    for k, operand in enumerate(inputs):
        lines += [f"{tag}_{k}:", *operand.move(tag, row, first, w, f"{tag}_{k + 1}")]
    body = len(inputs)
    lines += [
        f"{tag}_{body}:",
        f"  call void @body_{w}(ptr %in, ptr %out, ptr %scratch)",
        f"  br label %{tag}_{body + 1}",
    ]
    for k, operand in enumerate(outputs):
        last = k == len(outputs) - 1
        done = f"{tag}_done" if last else f"{tag}_{body + 2 + k}"
        lines += [f"{tag}_{body + 1 + k}:", *operand.move(tag, row, first, w, done)]
    return lines
