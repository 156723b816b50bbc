"""The body of a function: `@body_W(in, out, scratch)` of a program, or of a loop around several programs.

A loop as a body has no counts. Its arguments have one row each: those that it reads are the function's
inputs, those that it writes its outputs, in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from armdyn.kernels.llvm.body import Body, program_body
from armdyn.kernels.llvm.code import function_ir
from armdyn.kernels.llvm.lane import Lane
from armdyn.kernels.llvm.loop import Statements
from armdyn.program import loops
from armdyn.program.program import Program


def body_of(function: Program | loops.Loop, lane: Lane, width: int) -> Body:
    """The body in registers of a lane, and what it needs. `width`: numbers in the widest register."""
    if isinstance(function, Program):
        return program_body(function, lane)
    printer = _Printer(function, lane, width)
    return Body(f"{printer.programs}\n{printer.function()}", sum(printer.arrays.values()))


class _Printer(Statements):
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

    def _load(self, target: loops.Part, source: loops.Argument, row: loops.Int, mask: str | None) -> None:
        if self.places.get(target.array) != source:
            self._merge(self.part(target), self._argument(source), target.size, mask)

    def _save(self, target: loops.Argument, row: loops.Int, source: loops.Part, mask: str | None) -> None:
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
            case loops.Load(part, argument) if part == part.array.all:
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
