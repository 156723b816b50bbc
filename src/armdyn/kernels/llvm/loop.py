"""Loop -> LLVM IR, W instances to a register.

`@instances_W` runs the loop for W instances; `@loop_NAME` calls it for full registers, then instance by
instance. A local array is a column of registers for each of its numbers. A condition may hold for some
instances of a register only: what they do not take part in is computed, but not written.
"""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.kernels.llvm.body import is_short, named_body_ir, routines_ir, scratch_slots
from armdyn.kernels.llvm.gufunc_loop import (
    ON_THE_STACK,
    WORKSPACE_DECLARATIONS,
    declared_once,
    masked_declarations,
    move_ir,
)
from armdyn.kernels.llvm.lane import Lane
from armdyn.program.loops import (
    Argument,
    Block,
    Call,
    Combined,
    Copy,
    Count,
    Counter,
    For,
    If,
    Int,
    Load,
    Loop,
    Part,
    Save,
    Set,
    Statement,
    While,
    overlaps,
)


def loop_ir(loop: Loop, width: int, name: str) -> str:
    """A module with `i64 @loop_NAME(fields)`: 0, or 1 where there was no memory.

    Fields, eight bytes each: the first instance and the one after the last, the counts, and for each argument
    its address and the bytes from row to row and from instance to instance.
    """
    used = {node[0] for program in loop.programs.values() for node in program.nodes}
    parts = [WORKSPACE_DECLARATIONS, "declare i32 @fegetenv(ptr)\ndeclare i32 @fesetenv(ptr)\n"]
    parts.append("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n")
    for lane in (Lane("double", 1), Lane("double", width)):
        printer = _Printer(loop, lane)
        programs = {f"program_{key}": program for key, program in loop.programs.items()}
        parts += [named_body_ir(program, lane, key, apart=True) for key, program in programs.items()]
        parts += [routines_ir(lane, used), printer.function()]
        parts += [move_ir(lane, size, verb) for verb, size in sorted(printer.moves)]
    return declared_once([*parts, masked_declarations(lane), _entry_ir(name, width)])


class _Printer:
    """Writes `@instances_W(fields, instance)`: statements as lines, arrays and integers as what they need."""

    def __init__(self, loop: Loop, lane: Lane) -> None:
        self.loop, self.lane = loop, lane
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}  # counters and masks, and their types
        self.arrays = {f"x_{local.name}": local.size for local in loop.locals}  # columns
        self.arrays["scratch"] = max([0, *(scratch_slots(p, lane) for p in loop.programs.values())])
        self.moves: set[tuple[str, int]] = set()
        self._names = 0

    def function(self) -> str:
        self._fields()
        for local in self.loop.locals:
            size = local.size * self.lane.bytes
            self.do(f"call void @llvm.memset.p0.i64(ptr %x_{local.name}, i8 0, i64 {size}, i1 false)")
        self.block(self.loop.body, None)
        memory, release = self._memory()
        head = f"define internal i64 @instances_{self.lane.width}(ptr %fields, i64 %instance) {{"
        end = [*release, "  ret i64 0", "no_memory:", "  ret i64 1", "}", ""]
        return "\n".join([head, "entry:", *memory, *self.lines, *end])

    def _fields(self) -> None:
        """The caller's integers and, for each argument, where the first of these instances is in row 0."""
        names = [f"n_{count.name}" for count in self.loop.counts]
        for argument in self.loop.arguments:
            names += [f"{kind}_{argument.name}" for kind in ("all", "row", "step")]
        for k, name in enumerate(names, 2):
            place = self.value(f"getelementptr i64, ptr %fields, i64 {k}")
            self.do(f"%{name} = load {'ptr' if name.startswith('all_') else 'i64'}, ptr {place}")
        for argument in self.loop.arguments:
            offset = self.value(f"mul i64 %instance, %step_{argument.name}")
            self.do(f"%a_{argument.name} = getelementptr i8, ptr %all_{argument.name}, i64 {offset}")

    def _memory(self) -> tuple[list[str], list[str]]:
        """Variables and arrays on the stack, the largest arrays on the heap where the stack may be short."""
        T, align = self.lane.type, max(self.lane.align, 8)
        lines = [f"  %{name} = alloca {kind}" for name, kind in self.variables.items()]
        stack = heap = 0
        places = []
        for name, columns in sorted(self.arrays.items(), key=lambda item: item[1]):
            if stack + columns * self.lane.bytes <= ON_THE_STACK:
                stack += columns * self.lane.bytes
                lines.append(f"  %{name} = alloca [{columns} x {T}], align {align}")
            else:
                places.append(f"  %{name} = getelementptr {T}, ptr %heap, i64 {heap}")
                heap += columns
        if not heap:
            return lines, []
        lines += [
            f"  %block = call ptr @malloc(i64 {heap * self.lane.bytes + 64})",
            "  %missing = icmp eq ptr %block, null",
            "  br i1 %missing, label %no_memory, label %ready",
            "ready:",
            "  %address = ptrtoint ptr %block to i64",
            "  %beyond = add i64 %address, 63",
            "  %aligned = and i64 %beyond, -64",
            "  %heap = inttoptr i64 %aligned to ptr",
        ]
        return [*lines, *places], ["  call void @free(ptr %block)"]

    # ---- lines ---------------------------------------------------------------------------------------------

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}{self._names}"

    def value(self, text: str) -> str:
        """An instruction with a result."""
        name = f"%{self.name('t')}"
        self.do(f"{name} = {text}")
        return name

    def variable(self, kind: str, name: str = "") -> str:
        name = name or self.name("v")
        self.variables[name] = kind
        return f"%{name}"

    def array(self, columns: int, of: str = "") -> str:
        """A place for temporary columns: one of its own, or one that is shared under a name."""
        name = of or self.name("columns")
        self.arrays[name] = max(columns, self.arrays.get(name, 0))
        return f"%{name}"

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def column(self, base: str, k: int) -> str:
        return self.value(f"getelementptr {self.lane.type}, ptr {base}, i64 {k}") if k else base

    def load(self, base: str, k: int) -> str:
        return self.value(f"load {self.lane.type}, ptr {self.column(base, k)}, align {self.lane.align}")

    def store(self, value: str, base: str, k: int) -> None:
        self.do(f"store {self.lane.type} {value}, ptr {self.column(base, k)}, align {self.lane.align}")

    def part(self, part: Part) -> str:
        return self.column(f"%x_{part.array.name}", part.start)

    def integer(self, x: Int) -> str:
        match x:
            case Combined(op, a, b):
                return self.value(f"{op} i64 {self.integer(a)}, {self.integer(b)}")
            case Count(name):
                return f"%n_{name}"
            case Counter(name):
                return self.value(f"load i64, ptr {self.variable('i64', f'i_{name}')}")
            case _:
                return str(x)

    # ---- statements ----------------------------------------------------------------------------------------

    def block(self, statements: Block, mask: str | None) -> None:
        """Statements for the instances of a mask; None: for all. A single instance needs no mask."""
        for statement in statements:
            self.statement(statement, mask if self.lane.width > 1 else None)

    def statement(self, statement: Statement, mask: str | None) -> None:
        match statement:
            case Load(target, source, row):
                self._load(target, source, row, mask)
            case Save(target, row, source):
                self._save(target, row, source, mask)
            case Copy(target, source):
                self._merge(self.part(target), self.part(source), target.size, mask)
            case Set(target, value):
                self._set(target, value, mask)
            case Call():
                self._call(statement, mask)
            case For():
                self._for(statement, mask)
            case While():
                self._while(statement, mask)
            case If():
                self._if(statement, mask)
            case _:
                raise TypeError(f"{self.loop.name}: compiled code cannot ask for '{statement.name}'")

    def _merge(self, target: str, source: str, columns: int, mask: str | None) -> None:
        """Numbers to `target`, but for the instances outside the mask."""
        T = self.lane.type
        for k in range(columns):
            x = self.load(source, k)
            if mask is not None:
                x = self.value(f"select {self.lane.mask} {mask}, {T} {x}, {T} {self.load(target, k)}")
            self.store(x, target, k)

    def _row(self, argument: Argument, row: Int) -> str:
        offset = self.value(f"mul i64 {self.integer(row)}, %row_{argument.name}")
        return self.value(f"getelementptr i8, ptr %a_{argument.name}, i64 {offset}")

    def _move(self, verb: str, columns: str, row: str, size: int, argument: Argument) -> None:
        """The first numbers of a row of each instance to columns, or back."""
        if self.lane.width == 1:
            self._merge(*((columns, row) if verb == "load" else (row, columns)), size, None)
            return
        self.moves.add((verb, size))
        self.do(f"call void @{verb}_{size}(ptr {columns}, ptr {row}, i64 %step_{argument.name})")

    def _load(self, target: Part, source: Argument, row: Int, mask: str | None) -> None:
        columns = self.part(target) if mask is None else self.array(target.size, "moved")
        self._move("load", columns, self._row(source, row), target.size, source)
        if mask is not None:
            self._merge(self.part(target), columns, target.size, mask)

    def _save(self, target: Argument, row: Int, source: Part, mask: str | None) -> None:
        place, columns = self._row(target, row), self.part(source)
        if mask is not None:  # the others' rows are written as they are
            columns = self.array(source.size, "moved")
            self._move("load", columns, place, source.size, target)
            self._merge(columns, self.part(source), source.size, mask)
        self._move("store", columns, place, source.size, target)

    def _set(self, target: Part, value: Int, mask: str | None) -> None:
        T, w = self.lane.type, self.lane.width
        x = self.value(f"sitofp i64 {self.integer(value)} to double")
        if w > 1:
            one = self.value(f"insertelement {T} undef, double {x}, i32 0")
            x = self.value(f"shufflevector {T} {one}, {T} undef, <{w} x i32> zeroinitializer")
        place = self.part(target)
        if mask is not None:
            x = self.value(f"select {self.lane.mask} {mask}, {T} {x}, {T} {self.load(place, 0)}")
        self.store(x, place, 0)

    def _call(self, call: Call, mask: str | None) -> None:
        """A program on parts as they are; its results by way of other columns where these may not be."""
        program = self.loop.programs[call.program]
        apart, results = [], []
        for k, part in enumerate(call.outputs):
            if mask is None and not overlaps(part, (*call.inputs, *call.outputs[:k])):
                results.append(self.part(part))
                continue
            results.append(self.array(part.size, "" if is_short(program) else f"result{k}"))
            apart.append((part, results[-1]))
        pointers = [*(self.part(part) for part in call.inputs), *results, "%scratch"]
        arguments = ", ".join(f"ptr {x}" for x in pointers)
        self.do(f"call void @program_{call.program}_{self.lane.width}({arguments})")
        for part, columns in apart:
            self._merge(self.part(part), columns, part.size, mask)

    def _for(self, statement: For, mask: str | None) -> None:
        start, stop = self.integer(statement.start), self.integer(statement.stop)
        counter, here = self.variable("i64", f"i_{statement.counter.name}"), self.variable("i64")
        test, body, end = (self.name(kind) for kind in ("test", "body", "end"))
        self.do(f"store i64 {stop if statement.backwards else start}, ptr {here}")
        self.do(f"br label %{test}")
        self.label(test)
        k = self.value(f"load i64, ptr {here}")
        more = f"icmp sgt i64 {k}, {start}" if statement.backwards else f"icmp slt i64 {k}, {stop}"
        self.do(f"br i1 {self.value(more)}, label %{body}, label %{end}")
        self.label(body)
        following = self.value(f"add nsw i64 {k}, {-1 if statement.backwards else 1}")
        self.do(f"store i64 {following if statement.backwards else k}, ptr {counter}")
        self.do(f"store i64 {following}, ptr {here}")
        self.block(statement.body, mask)
        self.do(f"br label %{test}")
        self.label(end)

    def _while(self, statement: While, mask: str | None) -> None:
        """An instance that has ended does not begin again: the mask only loses instances."""
        M = self.lane.mask
        test, body, end = (self.name(kind) for kind in ("test", "body", "end"))
        active, left = self.variable(M), self.variable("i64")
        self.do(f"store {M} {mask or self._all()}, ptr {active}")
        self.do(f"store i64 {-1 if statement.most is None else self.integer(statement.most)}, ptr {left}")
        self.do(f"br label %{test}")
        self.label(test)
        holds = self._both(self.value(f"load {M}, ptr {active}"), self._positive(statement.condition))
        self.do(f"store {M} {holds}, ptr {active}")
        k = self.value(f"load i64, ptr {left}")
        self.do(f"store i64 {self.value(f'sub i64 {k}, 1')}, ptr {left}")
        go = self._any(holds)
        if statement.most is not None:
            go = self.value(f"and i1 {go}, {self.value(f'icmp sgt i64 {k}, 0')}")
        self.do(f"br i1 {go}, label %{body}, label %{end}")
        self.label(body)
        self.block(statement.body, holds)
        self.do(f"br label %{test}")
        self.label(end)

    def _if(self, statement: If, mask: str | None) -> None:
        holds = self._positive(statement.condition)
        not_ = self.value(f"xor {self.lane.mask} {holds}, {self._all()}")
        for chosen, block in ((holds, statement.body), (not_, statement.otherwise)):
            if block:
                inner = self._both(mask, chosen)
                body, end = self.name("body"), self.name("end")
                self.do(f"br i1 {self._any(inner)}, label %{body}, label %{end}")
                self.label(body)
                self.block(block, inner)
                self.do(f"br label %{end}")
                self.label(end)

    # ---- masks ---------------------------------------------------------------------------------------------

    def _all(self) -> str:
        return "true" if self.lane.width == 1 else "splat (i1 true)"

    def _both(self, mask: str | None, other: str) -> str:
        return other if mask is None else self.value(f"and {self.lane.mask} {mask}, {other}")

    def _positive(self, part: Part) -> str:
        return self.value(
            f"fcmp ogt {self.lane.type} {self.load(self.part(part), 0)}, {self.lane.constant(0.0)}"
        )

    def _any(self, mask: str) -> str:
        w = self.lane.width
        if w == 1:
            return mask
        bits = self.value(f"bitcast <{w} x i1> {mask} to i{w}")
        return self.value(f"icmp ne i{w} {bits}, 0")


def _entry_ir(name: str, width: int) -> str:
    """Full registers of instances, then the rest one by one; the floating-point flags stay as they were."""
    lines: Sequence[str] = [
        f"define i64 @loop_{name}(ptr %fields) {{",
        "entry:",
        "  %environment = alloca [128 x i8], align 16",
        "  %kept = call i32 @fegetenv(ptr %environment)",
        "  %first = load i64, ptr %fields",
        "  %last_place = getelementptr i64, ptr %fields, i64 1",
        "  %last = load i64, ptr %last_place",
        "  br label %wide_test",
        "wide_test:",
        "  %i = phi i64 [ %first, %entry ], [ %i_next, %wide ]",
        f"  %i_next = add i64 %i, {width}",
        "  %fits = icmp sle i64 %i_next, %last",
        "  br i1 %fits, label %wide, label %single_test",
        "wide:",
        f"  %wide_bad = call i64 @instances_{width}(ptr %fields, i64 %i)",
        "  %wide_stop = icmp ne i64 %wide_bad, 0",
        "  br i1 %wide_stop, label %end, label %wide_test",
        "single_test:",
        "  %s = phi i64 [ %i, %wide_test ], [ %s_next, %single ]",
        "  %s_next = add i64 %s, 1",
        "  %left = icmp slt i64 %s, %last",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %single_bad = call i64 @instances_1(ptr %fields, i64 %s)",
        "  %single_stop = icmp ne i64 %single_bad, 0",
        "  br i1 %single_stop, label %end, label %single_test",
        "end:",
        "  %status = phi i64 [ 0, %single_test ], [ 1, %wide ], [ 1, %single ]",
        "  %restored = call i32 @fesetenv(ptr %environment)",
        "  ret i64 %status",
        "}",
    ]
    return "\n".join(lines) + "\n"
