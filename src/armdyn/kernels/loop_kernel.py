"""A loop as a function of arrays: compiled, or by the evaluator."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.kernels.arrays import is_cupy
from armdyn.kernels.kernel import Kernel, get_backend, library
from armdyn.kernels.llvm.loop import loop_ir
from armdyn.kernels.llvm.machine import ModuleText, loaded, vector_bytes
from armdyn.kernels.threads import call_on_ranges, get_threads
from armdyn.program.evaluate import Asked, Run, as_function, evaluate_loop
from armdyn.program.loops import Ask, Loop, LoopExtent, extent
from armdyn.program.program import Program

MINIMUM_WORK = 2_000_000  # operations per thread: below this, starting a thread costs more than it saves


class LoopKernel:
    """A loop, for any number of instances; compiled when first used.

    Where functions are evaluated, so are loops. A loop that asks the caller about several instances at once
    runs by the evaluator with its programs compiled.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._asks = {s.name: s for s in loop.statements if isinstance(s, Ask)}
        self._extents: dict[tuple[int, ...], LoopExtent] = {}
        self._compiled: dict[int, Any] = {}  # by width

    def __call__(
        self,
        instances: int,
        counts: Mapping[str, int],
        arguments: Mapping[str, np.ndarray],
        asked: Mapping[str, Asked] | None = None,
    ) -> None:
        """Run it; arrays (rows, instances or 1, columns) that it writes are changed in place.

        Those that it only reads may lie in memory in any way; of those it writes, columns are adjacent.
        All of them may be CuPy arrays: then it runs on the GPU, in float64 or float32.
        """
        arrays = [arguments[argument.name] for argument in self.loop.arguments]
        if arrays and not (type(arrays[0]) is type(arrays[-1]) is np.ndarray) and any(map(is_cupy, arrays)):
            self._on_gpu(instances, counts, arguments, arrays)
            return
        arrays = self._checked(instances, arrays)
        evaluated = get_backend() == "evaluator"
        if evaluated or (self._asks and instances > 1):
            functions = self._functions if evaluated else self._kernels
            evaluate_loop(self.loop, instances, counts, arguments, asked, lambda name, _: functions[name])
            return
        given = tuple(int(counts[count.name]) for count in self.loop.counts)
        known = self._extent(given)
        self._check_rows(known, arguments)
        width = vector_bytes() // 8
        function, fields = self._function(width if instances >= width else 1), [*given]
        for x in arrays:
            row, step, _ = x.strides
            fields += [x.ctypes.data, row, step if x.shape[1] > 1 else 0]

        callbacks = {name: _Callback(ask, (asked or {})[name]) for name, ask in self._asks.items()}
        fields += [callback.address for callback in callbacks.values()]

        def part(first: int, last: int) -> None:
            call = array("q", (first, last, *fields))
            function(call.buffer_info()[0])
            if call[0] < 0:
                raise MemoryError(f"{self.loop.name}: not enough memory")
            for callback in callbacks.values():
                if callback.problem is not None:
                    raise callback.problem

        call_on_ranges(part, self._edges(instances, known.operations))

    def _checked(self, instances: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The arrays as compiled code reads them; what does not fit is refused."""
        found = []
        for argument, x in zip(self.loop.arguments, arrays, strict=True):
            shape, written = x.shape, argument.written
            lies_well = _lies_well(x)
            if (
                x.dtype != np.float64
                or len(shape) != 3
                or not (shape[1] == instances or (shape[1] == 1 and not written))
                or shape[2] != argument.columns
                or (written and not (lies_well and x.flags.writeable))
            ):
                allowed = instances if written or instances == 1 else f"1 or {instances}"
                raise ValueError(
                    f"{self.loop.name}: argument '{argument.name}' is {x.dtype} of shape {x.shape}; expected "
                    f"float64 (rows, {allowed}, {argument.columns})"
                    f"{', aligned and writeable, with adjacent columns' if written else ''}"
                )
            found.append(x if lies_well else x.astype(np.float64, order="C"))
        return found

    def _check_rows(self, known: LoopExtent, arguments: Mapping[str, np.ndarray]) -> None:
        for name, (least, most) in known.rows.items():
            if least < 0 or most >= len(arguments[name]):
                raise IndexError(
                    f"{self.loop.name}: argument '{name}' has {len(arguments[name])} rows; "
                    f"rows {least} to {most} are used"
                )

    # ---- compiled ------------------------------------------------------------------------------------------

    def _function(self, width: int) -> Any:
        """The compiled function, without the interpreter's lock while it runs."""
        if width not in self._compiled:
            self._compiled[width] = loaded(
                ["loop", self.loop.identity, str(width)],
                ["loop"],
                lambda name: ModuleText(loop_ir(self.loop, width, name)),
                ctypes.CFUNCTYPE(None, ctypes.c_void_p),
                with_passes=True,
            )
        return self._compiled[width]

    def _edges(self, instances: int, operations: int) -> list[int]:
        """Indices that cut the instances into slices for threads, at full registers."""
        width = vector_bytes() // 8
        registers = -(-instances // width)
        threads = max(1, min(registers, registers * operations // MINIMUM_WORK))
        threads = min(threads, get_threads()) if threads > 1 else 1
        return [min(instances, width * (registers * k // threads)) for k in range(threads + 1)]

    def _extent(self, counts: tuple[int, ...]) -> LoopExtent:
        """Extent of the loop for these counts; kept for the next call."""
        found = self._extents.get(counts)
        if found is None:
            names = [count.name for count in self.loop.counts]
            found = extent(self.loop, dict(zip(names, counts, strict=True)))
            if len(self._extents) >= 64:
                self._extents.clear()
            self._extents[counts] = found
        return found

    # ---- on a GPU ------------------------------------------------------------------------------------------

    def _on_gpu(
        self, instances: int, counts: Mapping[str, int], arguments: Mapping[str, Any], arrays: Sequence[Any]
    ) -> None:
        given = tuple(int(counts[count.name]) for count in self.loop.counts)
        self._check_rows(self._extent(given), arguments)
        self._gpu(instances, given, arrays)

    @cached_property
    def _gpu(self) -> Any:
        return library("cupy").LoopOnGpu(self.loop)

    # ---- by the evaluator ----------------------------------------------------------------------------------

    @cached_property
    def _functions(self) -> dict[str, Run]:
        return {name: as_function(program) for name, program in self.loop.programs.items()}

    @cached_property
    def _kernels(self) -> dict[str, Run]:
        return {name: _kernel(name, program) for name, program in self.loop.programs.items()}


def _lies_well(x: np.ndarray) -> bool:
    """True if compiled code can read x (rows, instances, columns) where it lies."""
    flags = x.flags
    adjacent = flags.c_contiguous or x.shape[-1:] == (1,) or x.strides[-1:] == (8,)
    return bool(adjacent and flags.aligned)


class _Callback:
    """A function of Python that compiled code calls; if it raises, this is kept, and the answer is NaN."""

    def __init__(self, ask: Ask, function: Asked) -> None:
        self.function = function
        self.problem: BaseException | None = None
        self._types: list[Any] = [ctypes.c_double * part.size for part in (*ask.inputs, ask.output)]
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * len(self._types))
        self._kept = prototype(self._call)
        self.address = ctypes.cast(self._kept, ctypes.c_void_p).value or 0

    def _call(self, row: int, *places: int) -> None:
        *parts, answer = (
            np.frombuffer(kind.from_address(place)).reshape(1, -1)
            for kind, place in zip(self._types, places, strict=True)
        )
        answer[:] = np.nan
        if self.problem is None:
            try:
                answer[:] = self.function(row, *parts)
            except BaseException as problem:
                self.problem = problem


def _kernel(name: str, program: Program) -> Run:
    """A program as a function of its inputs (instances, size) that gives its outputs, flat."""
    kernel = Kernel.of(name, program)

    def run(*inputs: np.ndarray) -> list[np.ndarray]:
        found = kernel(*inputs)
        return [y.reshape(len(inputs[0]), -1) for y in (found if len(program.outputs) > 1 else (found,))]

    return run
