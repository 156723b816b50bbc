"""Kernels and loops on CuPy arrays: as with NumPy arrays, but on the GPU where the arrays are.

They are put on CuPy's current stream, and nothing waits, but for one copy of the numbers of a robot that
shares its code with others. Arrays of the type that it computes in are read where they are, but by loops
where the batch of all arrays is not walked as one axis. Results are laid out as the first input: row after
row, or with the batch contiguous. It computes in float64, or in float32 when all inputs are float32.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.kernels.arrays import (
    Specification,
    dtype_text,
    given_results,
    is_real,
    joined,
    misfit,
    real_array,
    type_text,
    wrong_count,
)
from armdyn.kernels.c import check_constants, identifier
from armdyn.kernels.cuda import (
    LONGEST,
    LOOP_BLOCK,
    SCALARS,
    Access,
    array_text,
    check_length,
    loop_text,
    parts_of,
)
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.llvm.compiled import form_of
from armdyn.kernels.llvm.machine import lock
from armdyn.program.loops import Argument, Loop
from armdyn.program.program import Shape

# ------------------------------------------------------------------------------------------------------------
# CUDA text to functions: CuPy compiles it, and keeps what it compiled on disk (~/.cupy/kernel_cache).


OPTIONS = ("--std=c++17",)
PLAIN = 48 * 1024  # bytes of shared memory that a block has without asking for more
ENOUGH = 96 * 1024  # with more, too few blocks would fit a processor


@lru_cache(maxsize=1024)
def function(text: str, name: str, device: int, shared: int = 0) -> Any:
    """The kernel of that name in a text, for a device; called with (grid, block, arguments).

    `shared` are the bytes of shared memory that it will be called with.
    """
    import cupy

    with cupy.cuda.Device(device):
        found = cupy.RawModule(code=text, options=OPTIONS).get_function(name)
        if shared > PLAIN:
            found.max_dynamic_shared_size_bytes = shared
    return found


@cache
def most_shared(device: int) -> int:
    """Bytes of shared memory that a block should use at most."""
    import cupy

    return int(min(ENOUGH, cupy.cuda.Device(device).attributes.get("MaxSharedMemoryPerBlockOptin", PLAIN)))


# ------------------------------------------------------------------------------------------------------------
# Loops, called with CuPy arrays: one thread for each instance.


class LoopOnGpu:
    """A loop as a function of CUDA, compiled when first used: in float64, or in float32 for such arrays."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.name = loop, f"armdyn_{loop.name}"
        self._text: Callable[[str], str] = lru_cache(lambda scalar: loop_text(self.name, loop, scalar))

    def function(self, scalar: str, device: int) -> Any:
        """The loop over scalars of CUDA, for a device."""
        return function(self._text(scalar), self.name, device)

    def __call__(self, instances: int, counts: Sequence[int], arrays: Sequence[Any]) -> None:
        import cupy

        if self.loop.asks:
            raise ArmdynError(
                f"{self.loop.name}: '{self.loop.asks[0]}' is a function of Python, which a GPU cannot call"
            )
        given = list(zip(self.loop.arguments, arrays, strict=True))
        first = arrays[0]
        for argument, x in given:
            self._check(instances, first, argument, x)
        if not instances:
            return
        fields = [np.int64(instances), *(np.int64(count) for count in counts)]
        for _, x in given:
            row, instance, column = (np.int64(stride // x.dtype.itemsize) for stride in x.strides)
            fields += [x, row, instance if x.shape[1] > 1 else np.int64(0), column]
        device = int(first.device.id)
        run = self.function(SCALARS[first.dtype.name], device)
        with cupy.cuda.Device(device):
            run((-(-instances // LOOP_BLOCK),), (LOOP_BLOCK,), tuple(fields))

    def _check(self, instances: int, first: Any, argument: Argument, x: Any) -> None:
        """Refuse arrays that the kernel would misread."""
        import cupy

        name = f"{self.loop.name}: argument '{argument.name}'"
        if not isinstance(x, cupy.ndarray):
            raise TypeError(f"{name}: expected a CuPy array, as others are, found {type(x).__name__}")
        lengths = {instances} if argument.written else {1, instances}
        fits = x.ndim == 3 and x.shape[1] in lengths and x.shape[2] == argument.columns
        if (
            x.dtype.name not in SCALARS
            or x.dtype != first.dtype
            or not fits
            or any(stride % x.dtype.itemsize for stride in x.strides)
        ):
            allowed = " or ".join(str(length) for length in sorted(lengths))
            raise ValueError(
                f"{name} is {dtype_text(x.dtype)} of shape {x.shape}; expected {first.dtype}, as the first "
                f"is, (rows, {allowed}, {argument.columns}); float64 and float32 are allowed"
            )
        if x.device.id != first.device.id:
            raise ValueError(f"{name} is on device {x.device.id}, the first on {first.device.id}")


# ------------------------------------------------------------------------------------------------------------
# Layouts: the leading axes of several arrays as few common axes, with strides for each array.
#
# Everything here is about shapes and strides, so that it needs no GPU. Strides of an `Operand` are in
# numbers; functions of strides take them in any unit.


LONG = 16  # numbers of a row: shorter ones are as fast without staging


@dataclass(frozen=True)
class Operand:
    """An array (..., *core): strides of its leading axes, after broadcasting, and within a row."""

    size: int
    rows: tuple[int, ...]
    core: int

    @property
    def staged(self) -> bool:
        """True if rows are long and lie one after the other: a warp moves them together."""
        return self.size > LONG and self.rows == (self.size,) and self.core == 1


@dataclass(frozen=True)
class Layout:
    """Common leading axes, the longest strides of the first array first, and the operands along them."""

    extents: tuple[int, ...]  # at least one
    operands: tuple[Operand, ...]

    @property
    def rows(self) -> int:
        return prod(self.extents)


def core_stride(shape: Shape, strides: Sequence[int]) -> int | None:
    """The stride from one number of a row to the next; None if there is not one for all of them."""
    step, expected = 1, None
    for size, stride in reversed(list(zip(shape, strides, strict=True))):
        if size == 1:
            continue
        if expected is None:
            step = stride
        elif stride != expected:
            return None
        expected = stride * size
    return step


def broadcast_strides(batch: Shape, lead: Shape, strides: Sequence[int]) -> tuple[int, ...]:
    """The strides of leading axes after broadcasting: 0 along axes that an array does not have."""
    own = [0 if size == 1 else stride for size, stride in zip(lead, strides, strict=True)]
    return (*[0] * (len(batch) - len(lead)), *own)


def batch_is_adjacent(lead: Shape, rows: Sequence[int], core: int, size: int) -> bool:
    """True if neighbours along the batch lie closer together than neighbours within a row.

    Axes along which an array was broadcast have no neighbours.
    """
    steps = [abs(stride) for extent, stride in zip(lead, rows, strict=True) if extent > 1 and stride]
    return bool(steps) and size > 1 and min(steps) < abs(core)


def order_of_axes(batch: Shape, rows: Sequence[int]) -> tuple[int, ...]:
    """The leading axes, the one with the longest stride first."""
    return tuple(sorted(range(len(batch)), key=lambda axis: -abs(rows[axis])))


def layout_of(batch: Shape, operands: Sequence[Operand]) -> Layout:
    """Leave out axes of length one, and join those that can be walked as one in all operands."""
    strided = next((x.rows for x in operands if any(x.rows)), (0,) * len(batch))
    axes = [axis for axis in order_of_axes(batch, strided) if batch[axis] != 1]
    extents: list[int] = []
    strides: list[list[int]] = [[] for _ in operands]
    for axis in axes:
        own = [x.rows[axis] for x in operands]
        if extents and all(s[-1] == step * batch[axis] for s, step in zip(strides, own, strict=True)):
            extents[-1] *= batch[axis]
            for s, step in zip(strides, own, strict=True):
                s[-1] = step
        else:
            extents.append(batch[axis])
            for s, step in zip(strides, own, strict=True):
                s.append(step)
    if not extents:
        extents, strides = [1], [[0] for _ in operands]
    found = [Operand(x.size, tuple(s), x.core) for x, s in zip(operands, strides, strict=True)]
    return Layout(tuple(extents), tuple(found))


# ------------------------------------------------------------------------------------------------------------
# The kernel: code and launches chosen by the layouts, and called.


ASSEMBLES = True  # assembly runs on these arrays too
MOST_PLANS = 256  # of a kernel


def side_by_side(what: str, arrays: Mapping[str, Any], size: int) -> Any:
    """CuPy arrays (..., size) by what messages call them, broadcast against each other: (..., size k)."""
    import cupy

    for name, x in arrays.items():
        _check(name, size, x)
    with cupy.cuda.Device(_device([(name, size) for name in arrays], list(arrays.values()))):
        return joined(what, arrays, size, cupy)


def column(x: Any, first: Any) -> Any:
    """An array (...) as (..., 1); numbers and lists are put where `first` is, in its precision."""
    import cupy

    if isinstance(x, cupy.ndarray):
        return x[..., None]
    if isinstance(x, np.ndarray):
        return x  # refused with its name
    dtype = first.dtype if first.dtype.kind == "f" else np.dtype(float)
    with first.device:
        return cupy.asarray(real_array("symbols", x), dtype=dtype)[..., None]


def call(kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
    """A kernel on CuPy arrays."""
    return kernel.on("cuda")(arrays, out)


class CudaFunction(NamedTuple):
    """A function of CUDA, the threads of a block, and the shared memory of one [bytes]."""

    function: Any
    block: int
    shared: int


class Launch:
    """A function of CUDA with all its arguments but the arrays' addresses.

    The driver takes the arguments as one packed block: each of them has eight bytes. It stands behind the
    words by which the driver finds it, and each call has a copy of its own, as other threads may call, too.
    """

    def __init__(
        self, code: CudaFunction, blocks: int, extents: Sequence[int], strides: Sequence[Sequence[int]]
    ) -> None:
        import cupy

        self.code, self._function, self._run = code, code.function.kernel.ptr, cupy.cuda.driver.launchKernel
        self._shape = (blocks, 1, 1, code.block, 1, 1, code.shared)
        arguments, self._places = [*extents], []
        for own in strides:
            self._places.append(_BEFORE + len(arguments))
            arguments += (0, *own)
        words = [_BUFFER, 0, _SIZE, 0, _END, _WORD * len(arguments), *arguments]
        self._words = ctypes.c_int64 * len(words)
        self._filled = bytes(self._words(*words))

    def __call__(self, addresses: Iterable[int], stream: int) -> None:
        words = self._words.from_buffer_copy(self._filled)
        here = ctypes.addressof(words)
        words[1], words[3] = here + _WORD * _BEFORE, here + _WORD * (_BEFORE - 1)
        for place, address in zip(self._places, addresses, strict=True):
            words[place] = address
        self._run(self._function, *self._shape, stream, 0, here)


_WORD = 8  # bytes
_BUFFER, _SIZE, _END = 1, 2, 0  # of the driver: what the next word points to
_BEFORE = 6  # words before the arguments: three pairs, of which the last one is the end and the size


class Prepared(NamedTuple):
    """A call of which only the arrays' addresses are open: the same for arrays of the same layout."""

    device: int
    results: tuple[tuple[Shape, tuple[int, ...]], ...]  # shapes of new results, and strides in numbers
    constants: tuple[int, ...]  # address of the robot's numbers, where they are an argument
    launches: tuple[Launch, ...]

    def is_here(self) -> bool:
        """True if its device is the thread's, and then its context is there for the driver."""
        from cupy.cuda import runtime

        if runtime.getDevice() != self.device:
            return False
        runtime.setDevice(self.device)
        return True

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Put the call on a stream; addresses of the inputs and then of the results."""
        for launch in self.launches:
            launch((*self.constants, *addresses), stream)


@dataclass(eq=False)
class Plan:
    """All that arrays of the same shapes, strides and types, on the same device, have in common."""

    dtype: Any
    batch: Shape
    axes: tuple[int, ...] | None  # of a result laid out batch last, the leading axes in memory; None: rows
    launches: dict[tuple[Any, ...], tuple[Launch, ...]] = field(default_factory=dict)  # by results' strides
    prepared: Prepared | None = None  # with new results, of arrays that are read where they are


class OnGpu:
    """A kernel as functions of CUDA, for the arrays that come: compiled when first used."""

    def __init__(self, specification: Specification) -> None:
        self.name, self.inputs = specification.name, specification.inputs
        self.outputs = specification.outputs
        self._form, self._numbers = form_of(specification)
        self._constants: dict[tuple[str, int], Any] = {}  # the robot's numbers, by type and device
        self._plans: dict[Any, Plan] = {}
        self.prepared: dict[Any, Prepared] = {}  # by the layouts of arrays of other libraries
        self._codes: dict[tuple[str, Access, int], tuple[CudaFunction, ...]] = {}  # by type, form and device

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        import cupy

        if len(arrays) != len(self.inputs):
            raise wrong_count(self.name, self.inputs, arrays)
        if any(isinstance(x, list | tuple) for x in arrays):
            arrays = self._with_lists(arrays)
        known = [x for x in arrays if isinstance(x, cupy.ndarray)]
        key = tuple([(x.shape, x.strides, x.dtype.char, x.device.id) for x in known])
        plan = self._plans.get(key) if len(known) == len(arrays) else None
        if plan is None:
            plan = self._planned(arrays)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        elif out is None and plan.prepared is not None and plan.prepared.is_here():
            return self._at_once(plan, plan.prepared, arrays)
        device = _device(self.inputs, arrays)
        with cupy.cuda.Device(device):
            inputs = [_typed(x, plan.dtype) for x in arrays]
            if self._numbers is not None:
                inputs.insert(0, self._constant(plan.dtype, device))
            targets = self._targets(plan, inputs, out, device)
            self._launch(plan, inputs, targets, device)
            if out is None and plan.prepared is None:
                plan.prepared = self._prepared(plan, arrays, inputs, targets, device)
            results = _given_back(targets, out)
        return results if len(results) > 1 else results[0]

    def _at_once(self, plan: Plan, prepared: Prepared, arrays: Sequence[Any]) -> Any:
        """The results of a call that has been made with arrays of the same layout."""
        import cupy

        results = [_new(plan, shape) for shape in self.outputs]
        prepared([x.data.ptr for x in (*arrays, *results)], cupy.cuda.get_current_stream().ptr)
        return tuple(results) if len(results) > 1 else results[0]

    def _prepared(
        self, plan: Plan, arrays: Sequence[Any], inputs: Sequence[Any], targets: Sequence[Any], device: int
    ) -> Prepared | None:
        """The call that was made just now, for other arrays of the same layout; None: it is made anew."""
        before = len(inputs) - len(arrays)
        launches = plan.launches.get(tuple(y.strides for y in targets), ())
        if not launches and 0 not in plan.batch:
            return None
        if any(x is not y for x, y in zip(arrays, inputs[before:], strict=True)):
            return None
        results = tuple((y.shape, tuple(s // y.dtype.itemsize for s in y.strides)) for y in targets)
        constants = tuple(int(x.data.ptr) for x in inputs[:before])
        return Prepared(device, results, constants, launches)

    def prepare(self, layout: Any, arrays: Sequence[Any]) -> None:
        """Keep what was prepared for these arrays under what another library calls their layout."""
        key = tuple([(x.shape, x.strides, x.dtype.char, x.device.id) for x in arrays])
        plan = self._plans.get(key)
        if plan is not None and plan.prepared is not None:
            if len(self.prepared) >= MOST_PLANS:
                self.prepared.clear()
            self.prepared[layout] = plan.prepared

    @cached_property
    def _loop(self) -> LoopOnGpu | None:
        """The function as a loop, where it is one, or can be one and is too long else."""
        make = self._form.loop
        if make is None and self._form.few is not None and self._form.program.operations > LONGEST:
            make = self._form.few
        if make is None:
            return None
        loop = make()
        for program in loop.programs.values():
            check_length(self.name, program)
        return LoopOnGpu(loop)

    def _with_lists(self, arrays: Sequence[Any]) -> list[Any]:
        """Lists of numbers as float64 where the other arrays are."""
        import cupy

        first = next(x for x in arrays if isinstance(x, cupy.ndarray))
        with first.device:
            return [
                cupy.asarray(real_array(name, x, f"numbers (..., {size})"), dtype=np.float64)
                if isinstance(x, list | tuple)
                else x
                for (name, size), x in zip(self.inputs, arrays, strict=True)
            ]

    # ---- what arrays have in common ----------------------------------------------------------------------

    def _planned(self, arrays: Sequence[Any]) -> Plan:
        """Refuse what does not fit, and decide on type, batch and the layout of results."""
        for (name, size), x in zip(self.inputs, arrays, strict=True):
            _check(name, size, x)
        try:
            batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        except ValueError:
            raise misfit(self.name, [name for name, _ in self.inputs], arrays) from None
        single = all(x.dtype == np.float32 for x in arrays)
        leading = next((x for x in arrays if x.size // max(x.shape[-1], 1) == prod(batch)), arrays[0])
        *steps, core = leading.strides
        lead = leading.shape[:-1]
        rows = broadcast_strides(batch, lead, steps)
        axes = None
        if batch_is_adjacent(batch, rows, core, leading.shape[-1]):
            axes = order_of_axes(batch, rows)
        return Plan(np.dtype(np.float32 if single else np.float64), batch, axes)

    def _constant(self, dtype: Any, device: int) -> Any:
        import cupy

        key = (dtype.char, device)
        if key not in self._constants:
            with cupy.cuda.Stream(non_blocking=True) as stream:  # the caller's other streams use it, too
                found = cupy.asarray(self._numbers, dtype=dtype)
                stream.synchronize()  # it waits for this copy alone
            self._constants[key] = found
        return self._constants[key]

    # ---- results ---------------------------------------------------------------------------------------

    def _targets(self, plan: Plan, inputs: Sequence[Any], out: Any, device: int) -> list[Any]:
        """Arrays for the results: those given, if kernels can write there, else new ones."""
        given = self._checked_out(plan, out, device)
        found: list[Any] = []
        for y, shape in zip(given, self.outputs, strict=True):
            usable = (
                y is not None
                and y.dtype == plan.dtype
                and y.shape == (*plan.batch, *shape)
                and _steps(y, len(plan.batch)) is not None
                and not any(_overlap(x, y) for x in (*inputs, *found))
            )
            found.append(y if usable else _new(plan, shape))
        return found

    def _checked_out(self, plan: Plan, out: Any, device: int) -> tuple[Any, ...]:
        given = (None,) * len(self.outputs) if out is None else given_results(out, len(self.outputs))
        for y, shape in zip(given, self.outputs, strict=True):
            if y is not None:
                _check_target(y, (*plan.batch, *shape), device)
        return given

    # ---- running ---------------------------------------------------------------------------------------

    def _launch(self, plan: Plan, inputs: Sequence[Any], targets: Sequence[Any], device: int) -> None:
        import cupy

        if not prod(plan.batch):
            return
        key = tuple(y.strides for y in targets)
        launches = plan.launches.get(key)
        if launches is None:
            launches = plan.launches[key] = self._launches(plan, inputs, targets, device)
        if self._loop is not None and not launches:
            self._run_loop(self._loop, plan, inputs, targets)
            return
        stream = cupy.cuda.get_current_stream().ptr
        for launch in launches:
            launch([x.data.ptr for x in (*inputs, *targets)], stream)

    def _run_loop(self, loop: LoopOnGpu, plan: Plan, inputs: Sequence[Any], targets: Sequence[Any]) -> None:
        """Runs the loop on copies whose batch has one axis: its rows are the instances."""
        import cupy

        rows = prod(plan.batch)
        arrays = []
        for x in inputs:
            lead = plan.batch if x.size > x.shape[-1] else ()
            arrays.append(cupy.broadcast_to(x, (*lead, x.shape[-1])).reshape(1, prod(lead), -1))
        direct = [y if y.flags.c_contiguous else cupy.empty(y.shape, y.dtype) for y in targets]
        loop(rows, (), [*arrays, *(y.reshape(1, rows, -1) for y in direct)])
        for y, found in zip(targets, direct, strict=True):
            if y is not found:
                y[...] = found

    def _launches(
        self, plan: Plan, inputs: Sequence[Any], targets: Sequence[Any], device: int
    ) -> tuple[Launch, ...]:
        """The functions with the arrays' strides; none for a loop whose batch is not walked as one axis."""
        scalar = SCALARS[plan.dtype.name]
        operands = [_operand(plan.batch, x, x.shape[-1:]) for x in inputs]
        operands += [_operand(plan.batch, y, shape) for y, shape in zip(targets, self.outputs, strict=True)]
        known = layout_of(plan.batch, operands)
        if self._loop is not None:
            if len(known.extents) > 1:
                return ()
            code = CudaFunction(self._loop.function(scalar, device), LOOP_BLOCK, 0)
            by = [(0, x.rows[0], x.core) for x in known.operands]  # row, instance, column
            return (Launch(code, -(-known.rows // LOOP_BLOCK), (known.rows,), by),)
        form = Access(len(known.extents), tuple(x.staged for x in known.operands), most_shared(device))
        extents = (known.rows, *known.extents[1:])
        strides = [(*x.rows, x.core) for x in known.operands]
        return tuple(
            Launch(code, -(-known.rows // code.block), extents, strides)
            for code in self._code(scalar, form, device)
        )

    def _code(self, scalar: str, form: Access, device: int) -> tuple[CudaFunction, ...]:
        """The parts of the program as functions: the same for any number of rows."""
        key = (scalar, form, device)
        if key not in self._codes:
            with lock():  # several threads may come first: one of them compiles
                if key not in self._codes:
                    self._codes[key] = tuple(self._compiled(scalar, form, device))
        return self._codes[key]

    def _compiled(self, scalar: str, form: Access, device: int) -> Iterator[CudaFunction]:
        program = self._form.program
        check_length(self.name, program)
        check_constants(self.name, program, scalar)
        staged = any(form.staged[len(program.inputs) :])
        for k, part in enumerate(parts_of(program, scalar, staged)):
            name = f"armdyn_{identifier(self.name)}_{k}"
            text = array_text(name, part, scalar, form)
            yield CudaFunction(function(text.text, name, device, text.shared), text.block, text.shared)


# ---- arrays ----------------------------------------------------------------------------------------------


def _check(name: str, size: int, x: Any) -> None:
    import cupy

    if not isinstance(x, cupy.ndarray):
        raise TypeError(f"{name}: expected a CuPy array, as others are, found {_kind(x)}")
    if not is_real(x.dtype):
        raise TypeError(f"{name}: expected numbers (..., {size}), found an array of {dtype_text(x.dtype)}")
    if x.shape[-1:] != (size,):
        raise ArmdynError(f"{name}: expected (..., {size}), found {x.shape}")


def _check_target(y: Any, shape: Shape, device: int) -> None:
    """Refuse arrays that results cannot be written to."""
    import cupy

    if not isinstance(y, cupy.ndarray):
        raise TypeError(f"out: expected a CuPy array, found {_kind(y)}")
    if y.shape != shape:
        raise ArmdynError(f"out: expected {shape}, found {y.shape}")
    if y.dtype.kind != "f":
        raise TypeError(f"out: expected an array of floats, found an array of {dtype_text(y.dtype)}")
    if 0 in y.strides and y.size and any(not s and n > 1 for s, n in zip(y.strides, y.shape, strict=True)):
        raise ArmdynError(
            "out: some of its entries are the same number in memory, as broadcasting makes them"
        )
    if y.device.id != device:
        raise ArmdynError(f"out: found an array on device {y.device.id}; the inputs are on {device}")


def _kind(x: Any) -> str:
    return shown(x) if type(x).__module__ == "builtins" else type_text(x)


def _device(inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> int:
    devices = {x.device.id for x in arrays}
    if len(devices) > 1:
        where = ", ".join(f"{name} on {x.device.id}" for (name, _), x in zip(inputs, arrays, strict=True))
        raise ArmdynError(f"all arrays must be on the same device; found {where}")
    return int(devices.pop())


def _typed(x: Any, dtype: Any) -> Any:
    """An array of a type, with strides of whole numbers."""
    if x.dtype != dtype:
        x = x.astype(dtype)
    return x if all(s % dtype.itemsize == 0 for s in x.strides) else x.copy()


def _new(plan: Plan, shape: Shape) -> Any:
    """A new array (*batch, *shape), laid out as the plan says."""
    import cupy

    if plan.axes is None:
        return cupy.empty((*plan.batch, *shape), plan.dtype)
    memory = cupy.empty((*shape, *(plan.batch[axis] for axis in plan.axes)), plan.dtype)
    back = [len(shape) + plan.axes.index(axis) for axis in range(len(plan.batch))]
    return memory.transpose(*back, *range(len(shape)))


def _steps(y: Any, lead: int) -> int | None:
    """The stride within a row, in bytes; None if there is not one."""
    if any(s % y.dtype.itemsize for s in y.strides):
        return None
    return core_stride(y.shape[lead:], y.strides[lead:])


def _operand(batch: Shape, x: Any, core: Shape) -> Operand:
    lead = x.ndim - len(core)
    unit = x.dtype.itemsize
    step = core_stride(core, x.strides[lead:])
    assert step is not None
    rows = broadcast_strides(batch, x.shape[:lead], x.strides[:lead])
    size = prod(core)
    return Operand(size, tuple(s // unit for s in rows), step // unit if size > 1 else 1)


def _overlap(x: Any, y: Any) -> bool:
    """True if two arrays may have memory in common."""
    (a, b), (c, d) = _bounds(x), _bounds(y)
    return a < d and c < b


def _bounds(x: Any) -> tuple[int, int]:
    low = high = int(x.data.ptr)
    for size, stride in zip(x.shape, x.strides, strict=True):
        way = (size - 1) * stride
        low, high = low + min(way, 0), high + max(way, 0)
    return low, high + int(x.dtype.itemsize)


def _given_back(targets: Sequence[Any], out: Any) -> tuple[Any, ...]:
    """The results, copied into what was given for them where kernels could not write there."""
    if out is None:
        return tuple(targets)
    given = out if isinstance(out, tuple) else (out,)
    for y, target in zip(given, targets, strict=True):
        if y is not None and y is not target:
            y[...] = target
    return tuple(target if y is None else y for y, target in zip(given, targets, strict=True))
