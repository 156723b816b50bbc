"""The backend "compiled": a program as machine code in a NumPy gufunc with fixed core dimensions.

Broadcasting, casting and errors are NumPy's own. It computes in float64, or in float32 when all inputs are
float32. The first robot of a structure gets code with its numbers as constants. When a robot that differs in
numbers only asks for the same function, code is made that takes the numbers as an input, and all further
robots of this structure use it. A function with many inputs and outputs has long code: there, the code for
few rows and the code for many are compiled apart, each when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from armdyn.kernels import cache
from armdyn.kernels.arrays import FLOAT32, FLOAT64, checked_inputs, checked_out
from armdyn.kernels.llvm.bodies import body_of
from armdyn.kernels.llvm.gufunc import failures, make_gufunc
from armdyn.kernels.llvm.gufunc_loop import module_ir
from armdyn.kernels.llvm.lane import Lane
from armdyn.kernels.llvm.machine import loaded, vector_bytes
from armdyn.kernels.llvm.single import layout_is_known, make_single, single_ir
from armdyn.kernels.specification import Specification
from armdyn.kernels.threads import MINIMUM_ROWS, call_in_slices, get_threads
from armdyn.program.program import Shape


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
    """Whether a result would be written where another slice still reads."""
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
    """In the place of a single call where there is none."""
