"""The loop over steps of fourth-order Runge–Kutta around a program, W arms to a register.

`@arms_W` takes W arms through all steps with their state in registers' memory; `@advance_NAME` calls it for
full registers and then arm by arm. The program's body is compiled once per width and called in every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from armdyn.kernels.llvm.body import named_body_ir, routines_ir, scratch_slots
from armdyn.kernels.llvm.gufunc_loop import (
    WORKSPACE_DECLARATIONS,
    declared_once,
    masked_declarations,
    move_ir,
    strided_ir,
    workspace_ir,
)
from armdyn.kernels.llvm.lane import Lane
from armdyn.kernels.loops.integrator_code import Code
from armdyn.kernels.loops.integrator_layout import FIELDS, Layout, Programs, Watched, rounds


def integrator_ir(programs: Programs, layout: Layout, width: int, name: str) -> str:
    """A module with `@advance_NAME(fields)`."""
    wide = Lane("double", width)
    parts = [WORKSPACE_DECLARATIONS, "declare i32 @fegetenv(ptr)\ndeclare i32 @fesetenv(ptr)\n"]
    used = {node[0] for program in programs.all.values() for node in program.nodes}
    for lane in (Lane("double", 1), wide):
        parts += [named_body_ir(program, lane, key) for key, program in programs.all.items()]
        parts += [routines_ir(lane, used), _declarations(lane)]
        parts += [_stage_ir(layout, lane, first) for first in (True, False)]
        parts += [_finish_ir(layout, lane), _masked_ir(layout, lane), _Arms(programs, layout, lane).ir()]
    loads = {layout.state, layout.constants, layout.signal} - {0}
    parts += [move_ir(wide, size, "load") for size in sorted(loads)]
    parts += [move_ir(wide, size, "store") for size in sorted({layout.state, layout.saved})]
    parts += [strided_ir("double", "gather"), strided_ir("double", "scatter"), masked_declarations(wide)]
    return declared_once([*parts, _advance_ir(name, width)])


def _declarations(lane: Lane) -> str:
    return f"declare {lane.type} @llvm.fabs.{lane.suffix}({lane.type})\n"


def _derivative(code: Code, layout: Layout, k: int) -> str:
    """The time derivative of a saved column: in's q̇, out's q̈ and rates; modes have none."""
    n = layout.n
    if k < n:
        return code.load("%in", n + k)
    if k < 2 * n:
        return code.load("%out", k - n)
    return code.load("%out", n + layout.modes + k - layout.quadratures)


def _moving(layout: Layout) -> list[int]:
    """The columns that have a derivative, positions first: their derivative is overwritten after them."""
    return [*range(2 * layout.n), *range(layout.quadratures, layout.saved)]


def _stage_ir(layout: Layout, lane: Lane, first: bool) -> str:
    """Gather the derivative, and put x + c · derivative in place for the next stage."""
    code = Code(lane)
    two = lane.constant(2.0)
    for k in _moving(layout):
        d = _derivative(code, layout, k)
        total = d if first else code.moved(code.load("%sum", k), two, d)
        code.store(total, "%sum", k)
        if k < 2 * layout.n:
            code.store(code.moved(code.load("%x", k), "%c", d), "%in", k)
    name = "first" if first else "middle"
    return code.function(
        f"@{name}_{lane.width}(ptr noalias %in, ptr noalias %out, ptr noalias %x, ptr noalias %sum, "
        f"{lane.type} %c)"
    )


def _finish_ir(layout: Layout, lane: Lane) -> str:
    """x + h/6 · sum where the new speeds are within the limit; elsewhere x stays and the arm stops."""
    code = Code(lane)
    T, n = lane.type, layout.n
    for k in _moving(layout):
        total = code.arithmetic("fadd", code.load("%sum", k), _derivative(code, layout, k))
        code.store(code.moved(code.load("%x", k), "%c", total), "%sum", k)
    alive = code(f"fcmp ogt {T} {code.load('%x', layout.saved)}, {lane.constant(0.0)}")
    for k in range(n, 2 * n):
        speed = code(f"call {T} @llvm.fabs.{lane.suffix}({T} {code.load('%sum', k)})")
        alive = code(f"and {lane.mask} {alive}, {code(f'fcmp ole {T} {speed}, %limit')}")
    goes_on = _watch(code, layout, alive)
    for k in _moving(layout):
        code.store(code.select(alive, code.load("%sum", k), code.load("%x", k)), "%x", k)
    one, zero = lane.constant(1.0), lane.constant(0.0)
    code.store(code.select(goes_on, one, zero), "%x", layout.saved)
    steps = code.arithmetic("fadd", code.load("%x", layout.saved + 1), code.select(alive, one, zero))
    code.store(steps, "%x", layout.saved + 1)
    return code.function(
        f"@finish_{lane.width}(ptr noalias %in, ptr noalias %out, ptr noalias %x, ptr noalias %sum, "
        f"{T} %c, {T} %limit)"
    )


def _watch(code: Code, layout: Layout, alive: str) -> str:
    """Record the joints that leave their ranges in a step from %x to %sum; the mask of arms that go on.

    The code for a joint that has just left its range is skipped while all joints are within theirs.
    """
    T, mask, constant = code.lane.type, code.lane.mask, code.lane.constant
    if not layout.watch.joints:
        return alive
    beyond = []
    for joint, lower, upper in layout.watch.joints:
        new = code.load("%sum", joint)
        below = code(f"fcmp olt {T} {new}, {constant(lower)}")
        beyond.append(code(f"or {mask} {below}, {code(f'fcmp ogt {T} {new}, {constant(upper)}')}"))
    some = beyond[0]
    for one in beyond[1:]:
        some = code(f"or {mask} {some}, {one}")
    leaving = code(f"and {mask} {alive}, {some}")
    code.do(f"br i1 {code.any(leaving)}, label %beyond, label %within")
    code.label("beyond")
    for k, (watched, out) in enumerate(zip(layout.watch.joints, beyond, strict=True), layout.passed):
        _note(code, layout, watched, k, code(f"and {mask} {alive}, {out}"))
    code.do("br label %within")
    code.label("within")
    if not layout.watch.stops:
        return alive
    zeros = "false" if code.lane.width == 1 else "zeroinitializer"
    return code(f"select {mask} {leaving}, {mask} {zeros}, {mask} {alive}")


def _note(code: Code, layout: Layout, watched: Watched, k: int, out: str) -> None:
    """When a joint first left its range, by linear interpolation within the step."""
    T, constant, zero = code.lane.type, code.lane.constant, code.lane.constant(0.0)
    old, new, noted = code.load("%x", watched.joint), code.load("%sum", watched.joint), code.load("%x", k)
    above = code(f"fcmp ogt {T} {new}, {constant(watched.upper)}")
    bound = code.select(above, constant(watched.upper), constant(watched.lower))
    way = code.arithmetic("fsub", new, old)
    part = code.arithmetic("fdiv", code.arithmetic("fsub", bound, old), way)
    begun = code.arithmetic("fadd", code.load("%x", layout.saved + 1), constant(1.0))
    instant = code.arithmetic("fadd", begun, part)
    signed = code.select(above, instant, code.arithmetic("fsub", zero, instant))
    fresh = code(f"and {code.lane.mask} {out}, {code(f'fcmp oeq {T} {noted}, {zero}')}")
    code.store(code.select(fresh, signed, noted), "%x", k)


def _masked_ir(layout: Layout, lane: Lane) -> str:
    """The columns to be saved: NaN for arms that have ended."""
    code = Code(lane)
    alive = code(f"fcmp ogt {lane.type} {code.load('%x', layout.saved)}, {lane.constant(0.0)}")
    for k in range(layout.saved):
        code.store(code.select(alive, code.load("%x", k), lane.constant(float("nan"))), "%sum", k)
    return code.function(f"@masked_{lane.width}(ptr noalias %x, ptr noalias %sum)")


class _Arms:
    """Writes `@arms_W(fields, arm)`."""

    def __init__(self, programs: Programs, layout: Layout, lane: Lane) -> None:
        self.programs, self.layout, self.lane = programs, layout, lane
        self.code = Code(lane)

    def ir(self) -> str:
        code, layout = self.code, self.layout
        code.label("entry")
        code.lines += self._workspace()
        self._fields()
        h = code.splat("%h")
        half = code.arithmetic("fmul", h, self.lane.constant(0.5))
        sixth = code.arithmetic("fmul", h, self.lane.constant(1 / 6))
        limit = code.splat("%limit")
        self._move("load", "%x", "%state", str(8 * layout.state), layout.state)
        if layout.constants:
            start = code.column("%in", layout.quadratures)
            self._move("load", start, "%constants", "%constants_step", layout.constants)
        if layout.signal:
            self._move("load", "%before", "%signal", "%signal_step", layout.signal)
        code.do("br label %step")
        code.label("step")
        code.do("%j = phi i64 [ 0, %ready ], [ %j_next, %stepped ]")
        code.do("%wait = phi i64 [ %every, %ready ], [ %waits, %stepped ]")
        code.do("%row = phi ptr [ %saved, %ready ], [ %row_next, %stepped ]")
        self._stages(half, h, sixth, limit)
        self._save()
        self._move("store", "%x", "%state", str(8 * layout.state), layout.state)
        code.lines += self.release
        return code.status(f"@arms_{self.lane.width}(ptr %fields, i64 %arm)")

    def _workspace(self) -> list[str]:
        """%in, %out, %scratch and, behind it, the other blocks of columns."""
        layout, lane = self.layout, self.lane
        columns_in = layout.quadratures + layout.constants + layout.signal
        columns_out = layout.n + layout.modes + layout.rates
        scratch = max(scratch_slots(program, lane) for program in self.programs.all.values())
        decision = 2 * layout.n + 2 * layout.modes + 1 if layout.modes else 0
        blocks = {
            "x": layout.state,
            "sum": layout.saved,
            "before": layout.signal,
            "after": layout.signal,
            "asked": decision,
            "answer": layout.n + layout.modes + 1 if layout.modes else 0,
        }
        edges = list(accumulate(blocks.values(), initial=scratch))
        lines, self.release = workspace_ir(lane, columns_in, columns_out, edges[-1])
        return lines + [
            f"  %{name} = getelementptr {lane.type}, ptr %scratch, i64 {start}"
            for name, start in zip(blocks, edges, strict=False)
        ]

    def _fields(self) -> None:
        code, layout = self.code, self.layout
        kinds = {"h": "double", "limit": "double", "state": "ptr", "constants": "ptr"}
        kinds |= {"signal": "ptr", "saved": "ptr"}
        strides = {"state": str(8 * layout.state), "constants": "%constants_step", "signal": "%signal_step"}
        strides["saved"] = str(8 * layout.saved)
        for k, name in enumerate(FIELDS):
            place = code(f"getelementptr i64, ptr %fields, i64 {k}")
            target = f"{name}_base" if name in strides else name
            code.do(f"%{target} = load {kinds.get(name, 'i64')}, ptr {place}")
        for name, stride in strides.items():
            offset = code(f"mul i64 %arm, {stride}")
            code.do(f"%{name} = getelementptr i8, ptr %{name}_base, i64 {offset}")

    def _move(self, verb: str, columns: str, rows: str, stride: str, size: int) -> None:
        """W rows of adjacent entries into columns, or back."""
        if self.lane.width > 1:
            self.code.do(f"call void @{verb}_{size}(ptr {columns}, ptr {rows}, i64 {stride})")
        else:
            one_by_one = "gather" if verb == "load" else "scatter"
            self.code.do(
                f"call void @{one_by_one}(ptr {columns}, ptr {rows}, i64 1, i64 0, i64 1, i64 0, "
                f"i64 {size}, i64 8)"
            )

    def _stages(self, half: str, h: str, sixth: str, limit: str) -> None:
        code, layout, w, T = self.code, self.layout, self.lane.width, self.lane.type
        blocks = "ptr %in, ptr %out, ptr %x, ptr %sum"
        code.copy("%in", 0, "%x", 0, layout.quadratures)
        self._signal_at("start")
        self._first_rate()
        code.do(f"call void @first_{w}({blocks}, {T} {half})")
        self._signal_at("middle")
        for c in (half, h):
            code.do(f"call void @rate_{w}(ptr %in, ptr %out, ptr %scratch)")
            code.do(f"call void @middle_{w}({blocks}, {T} {c})")
        self._signal_at("end")
        code.do(f"call void @rate_{w}(ptr %in, ptr %out, ptr %scratch)")
        code.do(f"call void @finish_{w}({blocks}, {T} {sixth}, {T} {limit})")
        if layout.modes:
            start = code.column("%x", layout.n)
            code.do(f"call void @settle_{w}(ptr {start}, ptr %answer, ptr %scratch)")
            code.copy("%x", layout.n, "%answer", 0, layout.n + layout.modes)

    def _signal_at(self, place: str) -> None:
        """The signal for the next stages; %before holds the one at the start of the step."""
        code, layout = self.code, self.layout
        m, start = layout.signal, layout.quadratures + layout.constants
        if not m:
            return
        if place == "start":
            factor = code("add i64 %halves, 1")
            code.do(f"%unit = mul i64 %time_step, {factor}")
            code.do(f"%next = add i64 {code('mul i64 %j, %unit')}, %unit")
            code.do("%next_row = getelementptr i8, ptr %signal, i64 %next")
            self._move("load", "%after", "%next_row", "%signal_step", m)
            code.copy("%in", start, "%before", 0, m)
        elif place == "middle":
            half = self.lane.constant(0.5)
            code.do("%given = icmp ne i64 %halves, 0")
            code.do("br i1 %given, label %read, label %mean")
            code.label("read")
            back = code("sub i64 0, %time_step")
            row = code(f"getelementptr i8, ptr %next_row, i64 {back}")
            self._move("load", code.column("%in", start), row, "%signal_step", m)
            code.do("br label %middle")
            code.label("mean")
            for k in range(m):
                total = code.arithmetic("fadd", code.load("%before", k), code.load("%after", k))
                code.store(code.arithmetic("fmul", total, half), "%in", start + k)
            code.do("br label %middle")
            code.label("middle")
        else:
            code.copy("%in", start, "%after", 0, m)
            code.copy("%before", 0, "%after", 0, m)

    def _first_rate(self) -> None:
        """The rate at the start of a step; with modes, in the modes that fit it."""
        code, layout, w, lane = self.code, self.layout, self.lane.width, self.lane
        n, e = layout.n, layout.modes
        call = f"call void @rate_{w}(ptr %in, ptr %out, ptr %scratch)"
        if not e:
            code.do(call)
            return
        together, most = rounds(layout)
        code.do("br label %round")
        code.label("round")
        code.do("%k = phi i64 [ 0, %step ], [ %k_next, %again ]")
        code.do(call)
        code.copy("%asked", 0, "%in", n, n + e)
        code.copy("%asked", n + e, "%out", 0, n + e)
        late = code(f"icmp uge i64 %k, {together}")
        number = code(f"select i1 {late}, double 1.0, double 0.0")
        code.store(code.splat(number), "%asked", 2 * n + 2 * e)
        code.do(f"call void @decide_{w}(ptr %asked, ptr %answer, ptr %scratch)")
        changed = code(f"fcmp ogt {lane.type} {code.load('%answer', e)}, {lane.constant(0.0)}")
        code.do("%k_next = add i64 %k, 1")
        more = code(f"icmp ult i64 %k_next, {most}")
        repeat = code(f"and i1 {code.any(changed)}, {more}")
        code.do(f"br i1 {repeat}, label %again, label %decided")
        code.label("again")
        code.copy("%in", 2 * n, "%answer", 0, e)
        code.do("br label %round")
        code.label("decided")
        code.copy("%x", 2 * n, "%in", 2 * n, e)

    def _save(self) -> None:
        code, layout, w = self.code, self.layout, self.lane.width
        code.do("%j_next = add i64 %j, 1")
        code.do("%waiting = sub i64 %wait, 1")
        code.do("%due = icmp eq i64 %waiting, 0")
        code.do("%row_after = getelementptr i8, ptr %row, i64 %saved_step")
        code.do("br i1 %due, label %save, label %saved_or_not")
        code.label("save")
        code.do(f"call void @masked_{w}(ptr %x, ptr %sum)")
        self._move("store", "%sum", "%row", str(8 * layout.saved), layout.saved)
        code.do("br label %saved_or_not")
        code.label("saved_or_not")
        code.do("%waits = select i1 %due, i64 %every, i64 %waiting")
        code.do("%row_next = select i1 %due, ptr %row_after, ptr %row")
        code.do("br label %stepped")
        code.label("stepped")
        code.do("%more_steps = icmp ult i64 %j_next, %steps")
        code.do("br i1 %more_steps, label %step, label %end")
        code.label("end")


def _advance_ir(name: str, width: int) -> str:
    """Full registers of arms, then the rest one by one; 0, or 1 where there was no memory."""
    lines: Sequence[str] = [
        f"define i64 @advance_{name}(ptr %fields) {{",
        "entry:",
        "  %environment = alloca [128 x i8], align 16",
        "  %kept = call i32 @fegetenv(ptr %environment)",
        "  %first = load i64, ptr %fields",
        "  %last_place = getelementptr i64, ptr %fields, i64 1",
        "  %last = load i64, ptr %last_place",
        "  br label %wide_test",
        "wide_test:",
        "  %i = phi i64 [ %first, %entry ], [ %i_next, %wide_done ]",
        f"  %i_next = add i64 %i, {width}",
        "  %fits = icmp sle i64 %i_next, %last",
        "  br i1 %fits, label %wide, label %single_test",
        "wide:",
        f"  %wide_bad = call i64 @arms_{width}(ptr %fields, i64 %i)",
        "  %wide_stop = icmp ne i64 %wide_bad, 0",
        "  br i1 %wide_stop, label %end, label %wide_done",
        "wide_done:",
        "  br label %wide_test",
        "single_test:",
        "  %s = phi i64 [ %i, %wide_test ], [ %s_next, %single_done ]",
        "  %left = icmp slt i64 %s, %last",
        "  br i1 %left, label %single, label %end",
        "single:",
        "  %single_bad = call i64 @arms_1(ptr %fields, i64 %s)",
        "  %single_stop = icmp ne i64 %single_bad, 0",
        "  br i1 %single_stop, label %end, label %single_done",
        "single_done:",
        "  %s_next = add i64 %s, 1",
        "  br label %single_test",
        "end:",
        "  %status = phi i64 [ 0, %single_test ], [ 1, %wide ], [ 1, %single ]",
        "  %restored = call i32 @fesetenv(ptr %environment)",
        "  ret i64 %status",
        "}",
    ]
    return "\n".join(lines) + "\n"
