"""The backend "compiled": a program as machine code in a NumPy gufunc with fixed core dimensions.

Broadcasting, casting and errors are NumPy's own. It computes in float64, or in float32 when all inputs are
float32. The first robot of a structure gets code with its numbers as constants. When a robot that differs in
numbers only asks for the same function, code is made that takes the numbers as an input, and all further
robots of this structure use it. A function with many inputs and outputs has long code: there, the code for
few rows and the code for many are compiled apart, each when it is first needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

from armdyn.kernels import cache
from armdyn.kernels.arrays import FLOAT32, FLOAT64, checked_inputs, checked_out
from armdyn.kernels.llvm.body import Body, program_body
from armdyn.kernels.llvm.code import Lane, function_ir
from armdyn.kernels.llvm.gufunc import failures, make_gufunc, module_ir
from armdyn.kernels.llvm.loop import Statements
from armdyn.kernels.llvm.machine import loaded, vector_bytes
from armdyn.kernels.llvm.single import layout_is_known, make_single, single_ir
from armdyn.kernels.specification import Specification
from armdyn.kernels.threads import MINIMUM_ROWS, call_in_slices, get_threads
from armdyn.program import loops
from armdyn.program.program import Program, Shape

# ------------------------------------------------------------------------------------------------------------
# The body of a function: `@body_W(in, out, scratch)` of a program, or of a loop around several programs.
#
# A loop as a body has no counts. Its arguments have one row each: those that it reads are the function's
# inputs, those that it writes its outputs, in their order.


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


# ------------------------------------------------------------------------------------------------------------
# The kernel: machine code chosen, made and called.


class Code(NamedTuple):
    """Machine code of a specification in one precision, as Python calls it."""

    gufunc: Any
    single: Callable[..., Any]  # the result for plain vectors, else None


LARGE = 1000  # inputs and outputs of a function: with more, code for few and for many rows is made apart
FEW, MANY = "few", "many"  # rows that code is for
_first: dict[str, str] = {}  # structure -> the robot whose numbers are constants


class Compiled:
    """A kernel as machine code."""

    def __init__(self, specification: Specification) -> None:
        self.name, self.inputs = specification.name, specification.inputs
        self.outputs = specification.outputs
        self._form, self._numbers = form_of(specification)
        self._single: Callable[..., Any] = _not_quick
        self._apart = sum(size for _, size in self.inputs) + sum(map(prod, self.outputs)) > LARGE
        self.quick: Callable[..., Any] = self._quick_once_made
        if not self._apart:
            code = _code(self._form, "double", FEW, MANY)
            self.float64 = self._bound(code.gufunc, FLOAT64)
            self.quick = self._bound(code.single, FLOAT64)

    @cached_property
    def float64(self) -> Any:
        """The gufunc in double precision, for any number of rows; `float32` is that in single precision."""
        return self._bound(_code(self._form, "double", MANY).gufunc, FLOAT64)

    @cached_property
    def float32(self) -> Any:
        rows = (MANY,) if self._apart else (FEW, MANY)
        return self._bound(_code(self._form, "float", *rows).gufunc, FLOAT32)

    @cached_property
    def _few(self) -> Any:
        """The gufunc for fewer rows than a register has room for; with it, single calls become quick."""
        code = _code(self._form, "double", FEW)
        self._single = self._bound(code.single, FLOAT64)
        return self._bound(code.gufunc, FLOAT64)

    def _quick_once_made(self, *arrays: Any) -> Any:
        return self._single(*arrays)

    def get_ready(self) -> None:
        """Compile the code for few rows and for many, in double precision."""
        if self._apart:
            _ = self._few, self.float64

    def _bound(self, function: Any, dtype: np.dtype[Any]) -> Any:
        """A function with the robot's numbers as its first argument, where it takes them."""
        return function if self._numbers is None else partial(function, self._numbers.astype(dtype))

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        inputs, batch = checked_inputs(self.name, self.inputs, arrays)
        float32 = inputs[0].dtype == FLOAT32 and all(x.dtype == FLOAT32 for x in inputs)
        rows = prod(batch)
        few = self._apart and rows < vector_bytes() // 8
        dtype = FLOAT32 if float32 else FLOAT64
        gufunc = self.float32 if float32 else self._few if few else self.float64
        targets = None if out is None else checked_out(out, batch, self.outputs)
        before = failures()
        result = None
        if rows >= 2 * MINIMUM_ROWS:
            result = self._in_slices(gufunc, inputs, targets, batch, dtype)
        if result is None:
            result = gufunc(*inputs) if targets is None else gufunc(*inputs, out=targets)
        if failures() != before:
            raise MemoryError(f"{self.name}: not enough memory")
        return result

    def _in_slices(
        self,
        gufunc: Any,
        inputs: Sequence[np.ndarray],
        targets: Sequence[Any] | None,
        batch: Shape,
        dtype: np.dtype[Any],
    ) -> Any:
        """A large batch on several threads; None if one thread is to do it."""
        if get_threads() == 1 or _overlap(inputs, targets):
            return None
        shapes = [batch + shape for shape in self.outputs]
        given = (None,) * len(shapes) if targets is None else targets
        if any(y is not None and y.shape != shape for y, shape in zip(given, shapes, strict=True)):
            return None  # `out` is larger than the batch: NumPy has to broadcast
        outputs = [np.empty(shape, dtype) if y is None else y for y, shape in zip(given, shapes, strict=True)]
        call_in_slices(gufunc, inputs, outputs, batch)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _overlap(inputs: Sequence[np.ndarray], targets: Sequence[Any] | None) -> bool:
    """True if a result would be written where another slice still reads."""
    return any(y is not None and np.may_share_memory(x, y) for x in inputs for y in targets or ())


def form_of(specification: Specification) -> tuple[Specification, np.ndarray | None]:
    """The specification to compile, and the numbers to hand it."""
    shared = specification.shared
    if shared is None:
        return specification, None
    own = cache.digest_of(specification.name, specification.identity)
    structure = cache.digest_of(specification.name, shared.specification.identity)
    if _first.setdefault(structure, own) == own:
        return specification, None
    return shared.specification, shared.numbers


def _code(form: Specification, scalar: str, *rows: str) -> Code:
    """The code of a specification in "double" or "float", for few rows, many, or both."""
    with_single = FEW in rows and scalar == "double" and all(form.outputs) and layout_is_known()
    dtype = FLOAT64 if scalar == "double" else FLOAT32
    widest = vector_bytes() // dtype.itemsize
    widths = [widest if kind == MANY else 1 for kind in sorted(rows, reverse=True)]
    signature = ",".join(f"({size})" for _, size in form.inputs) + "->"
    signature += ",".join("(" + ",".join(map(str, shape)) + ")" for shape in form.outputs)

    def ir(name: str) -> str:
        bodies = {width: body_of(form.body, Lane(scalar, width), widest) for width in widths}
        single = single_ir(form, bodies[1].slots, name) if with_single else ""
        return module_ir(form, scalar, bodies, name, single)

    def made(loop: int, *single: int) -> Code:
        gufunc = make_gufunc(loop, form.name, signature, len(form.inputs), len(form.outputs), dtype)
        return Code(gufunc, make_single(form.name, *single) if single else _not_quick)

    kinds = ["loop", "single", "context"] if with_single else ["loop"]
    parts = [form.name, form.identity, scalar, str(with_single), *rows]
    return loaded(parts, kinds, ir, made, level=2 if len(rows) > 1 else 1)


def _not_quick(*arrays: Any) -> None:
    """Stands for a single call where there is none: always None."""
