"""Loops as LLVM IR, W instances to a register.

`@instances_W` runs the loop for W instances; `@loop_NAME` calls it for full registers, then instance by
instance. A local array is a column of registers for each of its numbers. A condition may hold for some
instances of a register only. Results are then computed for all of them, but written only for those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import accumulate

from armdyn.kernels.llvm.body import (
    BodyText,
    ColumnAccess,
    is_shared,
    named_body,
    needs_routines,
    routines_ir,
    shared_program,
)
from armdyn.kernels.llvm.code import (
    ENVIRONMENT,
    Code,
    Lane,
    declared_once,
    function_ir,
    masked_declarations,
    move_ir,
    workspace_ir,
)
from armdyn.program import loops
from armdyn.program.program import Program, is_short


def loop_ir(loop: loops.Loop, width: int, name: str) -> str:
    """A module with `void @loop_NAME(fields)`, which makes the first field −1 where there was no memory.

    Fields, eight bytes each: the first instance and the one after the last, the counts, for each argument its
    address and the bytes from row to row and from instance to instance, and the addresses of the functions
    that are asked. These take the row and the addresses of their parts; only code of width 1 can ask.
    """
    parts = []
    for lane in (Lane("double", w) for w in dict.fromkeys((1, width))):
        printer = _Instances(loop, lane)
        parts += [printer.programs, printer.function()]
        parts += [move_ir(lane, size, verb) for verb, size in sorted(printer.moves)]
    code = Code()
    last = code.load("i64", code.at("i64", "%fields", 1))
    code.over_registers(
        code.load("i64", "%fields"),
        last,
        (width, 1),
        lambda w, instance, _: code.do(f"call void @instances_{w}(ptr %fields, i64 {instance})"),
    )
    entry = function_ir(f"define void @loop_{name}(ptr %fields)", ENVIRONMENT, *code.lines, "  ret void")
    return declared_once([*parts, masked_declarations(lane), entry])


class Statements(Code):
    """Writes statements as lines. `%x_NAME` are the local arrays, `%a_NAME` the arguments.

    `across` is a wider register: code for one instance can have columns of a matrix in it side by side.
    """

    def __init__(self, loop: loops.Loop, lane: Lane, across: Lane | None = None) -> None:
        super().__init__("ready")
        self.loop, self.lane, self.across = loop, lane, across
        self.variables: list[str] = []  # of loops with a condition
        self.counters: dict[str, str] = {}
        self.arrays = {f"x_{local.name}": local.size for local in loop.locals}  # columns
        self.moves: set[tuple[str, int]] = set()
        self.functions: dict[str, str] = {}  # of other modules, by their names
        self.names: dict[str, str] = {}  # those names by program
        self.programs = "\n".join(self._programs())  # what statements call, and its routines

    def _programs(self) -> Iterator[str]:
        programs, statements = self.loop.programs, list(self.loop.statements)
        for key in dict.fromkeys(s.program for s in statements if isinstance(s, loops.Call)):
            yield self._program(key, programs[key])
        for name, each in {self._name_of(s): s for s in statements if isinstance(s, loops.Each)}.items():
            lane, columns = self._lane_of(each), ColumnAccess(self.lane, each.columns, len(each.inputs))
            text, slots, _ = named_body(programs[each.program], lane, name, True, columns)
            self.array(slots * lane.width // self.lane.width, "scratch")
            yield text
        yield routines_ir(self.lane, {node[0] for program in programs.values() for node in program.nodes})

    def _program(self, key: str, program: Program) -> str:
        """What a program is called by: its text, or the declaration of one that other modules call, too."""
        if self.across is None or not is_shared(program):
            text, slots, _ = named_body(program, self.lane, f"program_{key}", True, across=self.across)
            self.array(slots, "scratch")
            return text
        shared = shared_program(program, self.across)
        self.array(shared.slots, "scratch")
        self.functions[shared.name], self.names[key] = shared.module, shared.name
        return shared.declaration

    def _name_of(self, each: loops.Each) -> str:
        return f"program_{each.program}_for_{each.columns}_of_{self.lane.width}"

    def _lane_of(self, each: loops.Each) -> Lane:
        """Columns side by side in the widest register that they fill, where no routines are called."""
        if self.across is None or each.columns < 2 or needs_routines(self.loop.programs[each.program]):
            return self.lane
        return Lane(self.lane.scalar, min(self.across.width, 2 ** (each.columns.bit_length() - 1)))

    # ---- places --------------------------------------------------------------------------------------------

    def variable(self, kind: str, value: str) -> str:
        """A place for a number that changes, with its first value."""
        name = f"%{self.name('v')}"
        self.variables.append(f"  {name} = alloca {kind}")
        self.store(kind, value, name)
        return name

    def array(self, columns: int, of: str = "") -> str:
        """A place for temporary columns: one of its own, or one that is shared under a name."""
        name = of or self.name("columns")
        self.arrays[name] = max(columns, self.arrays.get(name, 0))
        return f"%{name}"

    def get(self, base: str, k: int) -> str:
        return self.load(self.lane.type, self.at(self.lane.type, base, k))

    def put(self, value: str, base: str, k: int) -> None:
        self.store(self.lane.type, value, self.at(self.lane.type, base, k))

    def part(self, part: loops.Slice) -> str:
        return self.at(self.lane.type, f"%x_{part.array.name}", part.start)

    def integer(self, x: loops.Int) -> str:
        match x:
            case loops.Combined(op, a, b):
                return self.value(f"{op} i64 {self.integer(a)}, {self.integer(b)}")
            case loops.Count(name):
                return f"%n_{name}"
            case loops.Counter(name):
                return self.counters[name]
            case _:
                return str(x)

    # ---- statements ----------------------------------------------------------------------------------------

    def block(self, statements: loops.Block, mask: str | None) -> None:
        """Statements for the instances of a mask; None: for all. A single instance needs no mask."""
        for statement in statements:
            self.statement(statement, mask if self.lane.width > 1 else None)

    def statement(self, statement: loops.Statement, mask: str | None) -> None:
        match statement:
            case loops.Fetch(target, source, row):
                self._load(target, source, row, mask)
            case loops.Save(target, row, source):
                self._save(target, row, source, mask)
            case loops.Copy(target, source):
                self._merge(self.part(target), self.part(source), target.size, mask)
            case loops.Set(target, value):
                self._set(target, value, mask)
            case loops.Call():
                self._call(statement, mask)
            case loops.Each():
                self._each(statement, mask)
            case loops.For():
                self._for(statement, mask)
            case loops.While():
                self._while(statement, mask)
            case loops.If():
                self._if(statement, mask)
            case loops.Ask(name, row, inputs, output):
                parts = ", ".join(f"ptr {self.part(part)}" for part in (*inputs, output))
                self.do(f"call void %ask_{name}(i64 {self.integer(row)}, {parts})")

    def _merge(self, target: str, source: str, columns: int, mask: str | None) -> None:
        """Copy numbers to `target`, for the instances of the mask only."""
        T = self.lane.type
        for k in range(columns):
            x = self.get(source, k)
            if mask is not None:
                x = self.value(f"select {self.lane.mask} {mask}, {T} {x}, {T} {self.get(target, k)}")
            self.put(x, target, k)

    def _row(self, argument: loops.Argument, row: loops.Int) -> str:
        offset = self.value(f"mul i64 {self.integer(row)}, %row_{argument.name}")
        return self.value(f"getelementptr i8, ptr %a_{argument.name}, i64 {offset}")

    def _move(self, verb: str, columns: str, row: str, size: int, argument: loops.Argument) -> None:
        """The first numbers of a row of each instance to columns, or back."""
        if self.lane.width == 1:
            self._merge(*((columns, row) if verb == "load" else (row, columns)), size, None)
            return
        self.moves.add((verb, size))
        self.do(f"call void @{verb}_{size}(ptr {columns}, ptr {row}, i64 %step_{argument.name})")

    def _load(self, target: loops.Slice, source: loops.Argument, row: loops.Int, mask: str | None) -> None:
        columns = self.part(target) if mask is None else self.array(target.size, "moved")
        self._move("load", columns, self._row(source, row), target.size, source)
        if mask is not None:
            self._merge(self.part(target), columns, target.size, mask)

    def _save(self, target: loops.Argument, row: loops.Int, source: loops.Slice, mask: str | None) -> None:
        place, columns = self._row(target, row), self.part(source)
        if mask is not None:  # the others' rows are written as they are
            columns = self.array(source.size, "moved")
            self._move("load", columns, place, source.size, target)
            self._merge(columns, self.part(source), source.size, mask)
        self._move("store", columns, place, source.size, target)

    def _set(self, target: loops.Slice, value: loops.Int, mask: str | None) -> None:
        T, w = self.lane.type, self.lane.width
        x = self.value(f"sitofp i64 {self.integer(value)} to {self.lane.scalar}")
        if w > 1:
            one = self.value(f"insertelement {T} undef, {self.lane.scalar} {x}, i32 0")
            x = self.value(f"shufflevector {T} {one}, {T} undef, <{w} x i32> zeroinitializer")
        place = self.part(target)
        if mask is not None:
            x = self.value(f"select {self.lane.mask} {mask}, {T} {x}, {T} {self.get(place, 0)}")
        self.put(x, place, 0)

    def _call(self, call: loops.Call, mask: str | None) -> None:
        """Call a program on parts in place; results that must not be written there go elsewhere first."""
        program = self.loop.programs[call.program]
        apart, results = [], []
        for k, part in enumerate(call.outputs):
            if mask is None and not loops.overlaps(part, (*call.inputs, *call.outputs[:k])):
                results.append(self.part(part))
                continue
            results.append(self.array(part.size, "" if is_short(program) else f"result{k}"))
            apart.append((part, results[-1]))
        pointers = [*(self.part(part) for part in call.inputs), *results, "%scratch"]
        arguments = ", ".join(f"ptr {x}" for x in pointers)
        name = self.names.get(call.program, f"program_{call.program}_{self.lane.width}")
        self.do(f"call void @{name}({arguments})")
        for part, columns in apart:
            self._merge(self.part(part), columns, part.size, mask)

    def _each(self, each: loops.Each, mask: str | None) -> None:
        """Lines of an `Each`: by columns, or by registers of them, the last ending with the last column."""
        results = [self.part(x) if mask is None else self.array(x.size) for x in each.results]
        shared, matrices = ([self.part(x) for x in parts] for parts in (each.inputs, each.matrices))
        lane = self._lane_of(each)
        step = lane.width // self.lane.width

        def run(column: str) -> None:
            places = [self.at(self.lane.type, x, column) for x in (*matrices, *results)]
            arguments = ", ".join(f"ptr {x}" for x in (*shared, *places, "%scratch"))
            self.do(f"call void @{self._name_of(each)}_{lane.width}({arguments})")

        with self.counted("0", str(each.columns), step) as k:
            run(k)
        if each.columns % step:
            run(str(each.columns - step))
        if mask is not None:
            for part, columns in zip(each.results, results, strict=True):
                self._merge(self.part(part), columns, part.size, mask)

    def _for(self, statement: loops.For, mask: str | None) -> None:
        start, stop = self.integer(statement.start), self.integer(statement.stop)
        with self.counted(start, stop) as k:
            if statement.backwards:
                k = self.value(
                    f"sub i64 {self.value(f'add i64 {start}, {stop}')}, {self.value(f'add i64 {k}, 1')}"
                )
            self.counters[statement.counter.name] = k
            self.block(statement.body, mask)

    def _while(self, statement: loops.While, mask: str | None) -> None:
        """Lines of a `While`. An instance that has ended does not begin again: the mask loses it."""
        M = self.lane.mask
        test, end = self.name("test"), self.name("end")
        active = self.variable(M, mask or self._all())
        left = None if statement.most is None else self.variable("i64", self.integer(statement.most))
        self.do(f"br label %{test}")
        self.begin(test)
        holds = self._both(self.load(M, active), self._positive(statement.condition))
        self.store(M, holds, active)
        if left is not None:
            k = self.load("i64", left)
            self.require(self.value(f"icmp sgt i64 {k}, 0"), end)
            self.store("i64", self.value(f"sub i64 {k}, 1"), left)
        self.require(self._any(holds), end)
        self.block(statement.body, holds)
        self.do(f"br label %{test}")
        self.begin(end)

    def _if(self, statement: loops.If, mask: str | None) -> None:
        holds = self._positive(statement.condition)
        not_ = self.value(f"xor {self.lane.mask} {holds}, {self._all()}")
        for chosen, block in ((holds, statement.body), (not_, statement.otherwise)):
            if block:
                inner = self._both(mask, chosen)
                self.choose(self._any(inner), partial(self.block, block, inner))

    # ---- masks ---------------------------------------------------------------------------------------------

    def _all(self) -> str:
        return "true" if self.lane.width == 1 else "splat (i1 true)"

    def _both(self, mask: str | None, other: str) -> str:
        return other if mask is None else self.value(f"and {self.lane.mask} {mask}, {other}")

    def _positive(self, part: loops.Slice) -> str:
        return self.value(
            f"fcmp ogt {self.lane.type} {self.get(self.part(part), 0)}, {self.lane.constant(0.0)}"
        )

    def _any(self, mask: str) -> str:
        w = self.lane.width
        if w == 1:
            return mask
        bits = self.value(f"bitcast <{w} x i1> {mask} to i{w}")
        return self.value(f"icmp ne i{w} {bits}, 0")


class _Instances(Statements):
    """Writes `@instances_W(fields, instance)`, with arguments as the caller has them."""

    def function(self) -> str:
        self._fields()
        for local in self.loop.locals:
            size = local.size * self.lane.bytes
            self.do(f"call void @llvm.memset.p0.i64(ptr %x_{local.name}, i8 0, i64 {size}, i1 false)")
        self.block(self.loop.body, None)
        memory, release = workspace_ir(self.lane, self.arrays)
        end = [*release, "  ret void", "no_memory:", "  store i64 -1, ptr %fields", "  ret void"]
        head = f"define internal void @instances_{self.lane.width}(ptr %fields, i64 %instance)"
        return function_ir(head, *self.variables, *memory, *self.lines, *end)

    def _fields(self) -> None:
        """The caller's integers and, for each argument, where the first of these instances is in row 0."""
        names = [f"n_{count.name}" for count in self.loop.counts]
        for argument in self.loop.arguments:
            names += [f"{kind}_{argument.name}" for kind in ("all", "row", "step")]
        names += [f"ask_{name}" for name in self.loop.asks]
        for k, name in enumerate(names, 2):
            kind = "ptr" if name.startswith(("all_", "ask_")) else "i64"
            self.do(f"%{name} = load {kind}, ptr {self.at('i64', '%fields', k)}")
        for argument in self.loop.arguments:
            offset = self.value(f"mul i64 %instance, %step_{argument.name}")
            self.do(f"%a_{argument.name} = getelementptr i8, ptr %all_{argument.name}, i64 {offset}")


# ------------------------------------------------------------------------------------------------------------
# A loop as the body of a function: `@body_W(in, out, scratch)`.
#
# It has no counts. Its arguments have one row each: those that it reads are the function's inputs, those that
# it writes its outputs, in their order.


def loop_body(loop: loops.Loop, lane: Lane, width: int) -> BodyText:
    """The body in registers of a lane, and what it needs. `width`: numbers in the widest register."""
    body = _LoopAsBody(loop, lane, width)
    return BodyText(f"{body.programs}\n{body.function()}", sum(body.arrays.values()), body.functions)


class _LoopAsBody(Statements):
    """Writes a loop as a body: local arrays are in scratch, or where the inputs and outputs are."""

    def __init__(self, loop: loops.Loop, lane: Lane, width: int) -> None:
        super().__init__(loop, lane, Lane(lane.scalar, width) if width > lane.width == 1 else None)
        self.columns: dict[str, tuple[str, int]] = {}  # where arguments are
        for name, written in (("in", False), ("out", True)):
            arguments = [x for x in loop.arguments if x.written == written]
            starts = accumulate((x.columns for x in arguments), initial=0)
            self.columns |= {x.name: (name, k) for x, k in zip(arguments, starts, strict=False)}
        self.places = _places_outside(loop)
        for local in self.places:
            del self.arrays[f"x_{local.name}"]
        for local in _to_clear(loop):
            size = local.size * lane.bytes
            self.do(f"call void @llvm.memset.p0.i64(ptr %x_{local.name}, i8 0, i64 {size}, i1 false)")
        self.block(loop.body, None)

    def function(self) -> str:
        T, lines = self.lane.type, ["  br label %ready", "ready:"]
        starts = dict(zip(self.arrays, accumulate(self.arrays.values(), initial=0), strict=False))
        places = {name: ("memory", k) for name, k in starts.items()}
        places |= {f"x_{local.name}": self.columns[x.name] for local, x in self.places.items()}
        lines += [f"  %{x} = getelementptr {T}, ptr %{of}, i64 {k}" for x, (of, k) in places.items()]
        head = f"define internal void @body_{self.lane.width}(ptr %in, ptr %out, ptr %memory)"
        return function_ir(head, *self.variables, *lines, *self.lines, "  ret void")

    def _argument(self, argument: loops.Argument) -> str:
        pointer, k = self.columns[argument.name]
        return self.at(self.lane.type, f"%{pointer}", k)

    def _load(self, target: loops.Slice, source: loops.Argument, row: loops.Int, mask: str | None) -> None:
        if self.places.get(target.array) != source:
            self._merge(self.part(target), self._argument(source), target.size, mask)

    def _save(self, target: loops.Argument, row: loops.Int, source: loops.Slice, mask: str | None) -> None:
        if self.places.get(source.array) != target:
            self._merge(self._argument(target), self.part(source), source.size, mask)


def _places_outside(loop: loops.Loop) -> dict[loops.Local, loops.Argument]:
    """Local arrays that can lie where an argument is.

    They are loaded as a whole before anything else is done with them, and never changed; or they are saved as
    a whole, as nothing else is in that argument, and not changed afterwards.
    """
    targets = [s.target for s in loop.statements if isinstance(s, loops.Save)]
    found: dict[loops.Local, loops.Argument] = {}
    for i, statement in enumerate(loop.body):
        before, after = loops.within(loop.body[:i]), loops.within(loop.body[i + 1 :])
        match statement:
            case loops.Fetch(part, argument) if part == part.array.all:
                used = [x.array for s in before for x in loops.parts_of(s)]
                if part.array not in (*used, *_changed(after)):
                    found[part.array] = argument
            case loops.Save(argument, source=part) if part == part.array.all and part.array not in found:
                if targets.count(argument) == 1 and part.array not in _changed(after):
                    found[part.array] = argument
    return found


def _changed(statements: Iterable[loops.Statement]) -> list[loops.Local]:
    return [part.array for s in statements for part in loops.written_by(s)]


def _to_clear(loop: loops.Loop) -> list[loops.Local]:
    """Local arrays that are not written as a whole before anything else is done with them."""
    cleared, seen = list[loops.Local](), set[loops.Local]()
    for statement in loop.body:
        parts = Counter(part for s in loops.within((statement,)) for part in loops.parts_of(s))
        written = loops.written_by(statement)  # of a statement with others within: nothing for certain
        read = {part.array for part in parts - Counter(written)}
        for local in dict.fromkeys(part.array for part in parts):
            if local not in seen and (local in read or local.all not in written):
                cleared.append(local)
            seen.add(local)
    return cleared
