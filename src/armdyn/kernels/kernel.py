"""Kernels: a program as an array function. Shapes, dtypes, batching, `out=` and threads are only here.

A kernel is a NumPy gufunc with fixed core dimensions, so broadcasting, casting and errors are NumPy's own. It
computes in float64, or in float32 when all inputs are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, cast

import numpy as np

from armdyn.expression import shown
from armdyn.kernels import cache
from armdyn.kernels.arrays import checked_inputs, checked_out
from armdyn.kernels.llvm.gufunc import failures, make_gufunc
from armdyn.kernels.llvm.gufunc_loop import module_ir
from armdyn.kernels.llvm.machine import (
    compile_ir,
    is_full,
    load_object,
    loaded,
    lock,
    toolchain,
    vector_bytes,
)
from armdyn.kernels.llvm.single import layout_is_known, make_single, single_ir
from armdyn.kernels.threads import MINIMUM_ROWS, call_in_slices, get_threads
from armdyn.program.evaluate import evaluate
from armdyn.program.program import Program, Shape

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
Backend = Literal["compiled", "evaluator"]
_settings: dict[str, Backend] = {"backend": "compiled"}


def set_backend(backend: Backend) -> None:
    """Whether functions are "compiled" (the default) or run by the "evaluator", for robots used only once."""
    if backend not in ("compiled", "evaluator"):
        raise ValueError(f"backend: found {shown(backend)}; allowed: 'compiled', 'evaluator'")
    _settings["backend"] = backend


def get_backend() -> Backend:
    return _settings["backend"]


def _overlap(inputs: Sequence[np.ndarray], targets: Sequence[Any] | None) -> bool:
    """Whether a result would be written where another slice still reads."""
    return any(y is not None and np.may_share_memory(x, y) for x in inputs for y in targets or ())


class Kernel:
    """An array function with named inputs (..., size) and outputs (..., *shape).

    `record` makes the program when it is needed; `identity` is a text with all that the program depends on.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[Shape],
        record: Callable[[], Program],
        identity: str,
    ) -> None:
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self._record, self._identity = record, identity
        self._made: dict[str, Any] = {}

    # What follows is made once, without functools.cached_property: its lock would be shared by all kernels.

    @property
    def program(self) -> Program:
        return cast(Program, self._once("program", self._record))

    @property
    def float64(self) -> Any:
        """The gufunc in double precision."""
        return self._once("float64", lambda: self._gufunc(_FLOAT64, self._loaded("double")[0]))

    @property
    def float32(self) -> Any:
        """The gufunc in single precision."""
        return self._once("float32", lambda: self._gufunc(_FLOAT32, self._loaded("float")[0]))

    @property
    def single(self) -> Callable[..., Any]:
        """The function for single calls: the result, or None for what it leaves to the gufunc."""
        return cast(Callable[..., Any], self._once("single", self._make_single))

    def _make_single(self) -> Callable[..., Any]:
        addresses = self._loaded("double")
        if len(addresses) == 1:
            return lambda *_: None
        return cast(Callable[..., Any], make_single(addresses[1], addresses[2], self.name))

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            with lock():
                if name not in self._made:
                    self._made[name] = make()
        return self._made[name]

    def _gufunc(self, dtype: np.dtype[Any], address: int) -> Any:
        signature = ",".join(f"({size})" for _, size in self.inputs) + "->"
        signature += ",".join("(" + ",".join(map(str, shape)) + ")" for shape in self.outputs)
        return make_gufunc(address, self.name, signature, len(self.inputs), len(self.outputs), dtype)

    def _loaded(self, scalar: str) -> list[int]:
        """Addresses of the loop and, in double precision, of the single call and its context."""
        with_single = scalar == "double" and all(self.outputs) and layout_is_known()
        parts = (self.name, self._identity, scalar, str(with_single), cache.code_digest(), toolchain())
        key = cache.digest_of(*parts)
        name = key[:24]
        names = [f"loop_{name}"] + ([f"single_{name}", f"context_{name}"] if with_single else [])
        if addresses := loaded(names):
            return addresses
        code = cache.read(key)
        if code is None:
            width = vector_bytes() // (8 if scalar == "double" else 4)
            single = single_ir(self.program, name) if with_single else ""
            code = compile_ir(module_ir(self.program, scalar, width, name, single))
            cache.write(key, code)
        return load_object(code, names)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """One array, or a tuple of arrays when there are several outputs."""
        single = self._made.get("single")
        if single is None or _settings["backend"] == "evaluator":
            if _settings["backend"] == "evaluator" or is_full():
                return self._evaluated(arrays, out)
            single = self.single
        if out is None:
            result = single(*arrays)
            if result is not None:
                return result
        inputs, batch = checked_inputs(self.name, self.inputs, arrays)
        float32 = inputs[0].dtype == _FLOAT32 and all(x.dtype == _FLOAT32 for x in inputs)
        dtype, gufunc = (_FLOAT32, self.float32) if float32 else (_FLOAT64, self.float64)
        targets = None if out is None else checked_out(out, batch, self.outputs)
        before = failures()
        result = None
        if len(batch) > 0 and prod(batch) >= 2 * MINIMUM_ROWS:
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
        outputs = self._outputs(targets, batch, dtype)
        if outputs is None:
            return None
        call_in_slices(gufunc, inputs, outputs, batch)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _evaluated(self, arrays: Sequence[Any], out: Any) -> Any:
        """By the evaluator that defines what a program means: nothing is compiled."""
        inputs, batch = checked_inputs(self.name, self.inputs, arrays)
        dtype = _FLOAT32 if all(x.dtype == _FLOAT32 for x in inputs) else _FLOAT64
        targets = (None,) * len(self.outputs) if out is None else checked_out(out, batch, self.outputs)
        results = [y.astype(dtype) for y in evaluate(self.program, *inputs)]
        for k, target in enumerate(targets):
            if target is not None:
                np.copyto(target, results[k], casting="same_kind")
                results[k] = target
        if len(results) > 1:
            return tuple(results)
        return results[0][()] if out is None else results[0]

    def _outputs(
        self, targets: Sequence[Any] | None, batch: Shape, dtype: np.dtype[Any]
    ) -> list[np.ndarray] | None:
        """Arrays to write to; None where `out` is larger than the batch, and NumPy has to broadcast."""
        shapes = [batch + shape for shape in self.outputs]
        given = (None,) * len(shapes) if targets is None else targets
        if any(y is not None and y.shape != shape for y, shape in zip(given, shapes, strict=True)):
            return None
        return [np.empty(shape, dtype) if y is None else y for y, shape in zip(given, shapes, strict=True)]
