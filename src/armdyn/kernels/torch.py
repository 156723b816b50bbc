"""PyTorch: tensors in, tensors out, with gradients.

Tensors on the CPU share their memory with NumPy arrays, those on a GPU with CuPy arrays. Where nothing needs
gradients or traces the call, the kernel is called at once; else by the operator `torch.ops.armdyn.kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import Specification, misfit, real_array
from armdyn.kernels.cache import digest_of
from armdyn.kernels.derivatives import PRODUCTS, adjoint_of, origin_of, tangent_of
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.llvm.machine import lock

# ------------------------------------------------------------------------------------------------------------
# The operator `torch.ops.armdyn.kernel`: a kernel as PyTorch sees it, with gradients and batching.
#
# PyTorch knows a kernel by a text, its handle. The table of kernels does not keep them alive: a robot does,
# and so does a graph of gradients. A function compiled by torch.compile holds its robot.


_PLAIN = (torch.Tensor, torch.nn.Parameter)  # other kinds of tensors stand for something else than numbers

# ---- kernels by name ---------------------------------------------------------------------------------------


class Assembled(Kernel):
    """All positions of a robot with closed chains from its coordinates, in the form of a kernel."""

    def __init__(self, kernel: Any) -> None:
        model = kernel.assembly.model
        mechanism = model.mechanism
        identity = f"{mechanism!r} {model.choice!r}"
        inputs, outputs = (("q", mechanism.n),), ((mechanism.positions,),)
        super().__init__(Specification("positions", inputs, outputs, _no_program, identity))
        self.assembly, self.speeds = kernel.assembly, kernel.speeds

    def call(self, arrays: tuple[Any, ...], out: Any, near: Any = None) -> Any:
        return self.assembly(*arrays, near)


def _no_program() -> Any:
    raise NotImplementedError("assembly is no straight-line program")


# The first of equal kernels stands for all of them. The others keep it: it lives as long as any of them.
_kernels: WeakValueDictionary[str, Kernel] = WeakValueDictionary()
_names: WeakKeyDictionary[Kernel, tuple[str, Kernel | None]] = WeakKeyDictionary()
_parts: WeakKeyDictionary[Kernel, tuple[Kernel, ...]] = WeakKeyDictionary()


def handle_of(kernel: Kernel) -> str:
    """The text that stands for a kernel. Equal kernels have the same, in every process.

    That of a gradient is the text of the kernel it is of, and a line with its kind and its inputs: PyTorch
    keeps compiled graphs on disk, and a process that finds one there has not made the gradients in it.
    """
    found = _names.get(kernel)
    if found is None:
        with lock():
            handle = digest_of(kernel.specification.name, kernel.specification.identity)
            if (origin := origin_of(kernel)) is not None:
                handle = "\n".join([handle_of(origin.kernel), "\t".join([origin.kind, *origin.by])])
            first = _kernels.setdefault(handle, kernel)
            found = _names[kernel] = handle, None if first is kernel else first
    return found[0]


def kernel_of(handle: str) -> Kernel:
    """The kernel of a handle."""
    kernel = _kernels.get(handle)
    if kernel is None:
        origin, _, last = handle.rpartition("\n")
        if origin:
            kind, *by = last.split("\t")
            kernel = PRODUCTS[kind](kernel_of(origin), by)
            handle_of(kernel)
            return kernel
        raise ArmdynError("the robot of a compiled function is gone; keep it as long as that function")
    return kernel


def _steps(kernel: Kernel) -> tuple[Kernel, ...]:
    """The kernel; with closed chains, the one that assembles all positions and the one that takes these."""
    if not hasattr(kernel, "assembly"):
        return (kernel,)
    found = _parts.get(kernel)
    if found is None:
        with lock():
            found = _parts.setdefault(kernel, (Assembled(kernel), Kernel(kernel.specification)))
    return found


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _handles(kernel: Kernel) -> tuple[str, ...]:
    """Handles of a kernel's steps: constants, when torch.compile traces."""
    steps = _steps(kernel)
    for step in steps:
        if isinstance(step, Assembled):
            handle_of(step.speeds)  # its gradient is the one of assembly
    return tuple(handle_of(step) for step in steps)


def is_watched(tensors: Sequence[Any]) -> bool:
    """True if PyTorch must see the call: for gradients, to compile it, or for a transform such as vmap."""
    if torch.compiler.is_compiling():
        return True
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0:
        return True
    if torch.autograd.forward_ad._current_level >= 0:
        return True
    recording = torch.is_grad_enabled()
    return any((recording and x.requires_grad) or type(x) not in _PLAIN for x in tensors)


# ---- numbers -----------------------------------------------------------------------------------------------


def run(kernel: Kernel, tensors: Sequence[Any], out: Any = None) -> list[Any]:
    """Call a kernel on the memory of tensors, on the device where they are; one tensor for each result."""
    if tensors[0].is_cpu:
        return _run_on(kernel, tensors, out, torch.Tensor.numpy, _from_numpy)
    try:
        import cupy
    except ImportError:
        raise ArmdynError(
            'tensors on a GPU need CuPy: pip install "armdyn[cuda]", or move them to the CPU'
        ) from None
    device = tensors[0].device
    runner: Any = kernel.on("cuda")
    layout = (device.index, *[(x.shape, x.stride(), x.dtype) for x in tensors])
    prepared = runner.prepared.get(layout)
    plain = out is None and not any(x.is_neg() for x in tensors)
    if plain and prepared is not None and prepared.is_here():
        return _run_prepared(prepared, tensors, device)
    with cupy.cuda.Device(device.index), _stream(cupy, device):
        found = _run_on(kernel, tensors, out, cupy.from_dlpack, torch.from_dlpack)
        if plain:
            runner.prepare(layout, [cupy.from_dlpack(x.detach()) for x in tensors])
        return found


def _run_prepared(prepared: Any, tensors: Sequence[Any], device: Any) -> list[Any]:
    """Results of a call that has been made with tensors of the same layout."""
    new = tensors[0].new_empty_strided
    results = [new(shape, strides) for shape, strides in prepared.results]
    stream = torch._C._cuda_getCurrentRawStream(device.index)
    prepared([x.data_ptr() for x in (*tensors, *results)], stream)
    return results


def _run_on(
    kernel: Kernel,
    tensors: Sequence[Any],
    out: Any,
    to_array: Callable[[Any], Any],
    back: Callable[[Any], Any],
) -> list[Any]:
    arrays = tuple([to_array((x.detach() if x.requires_grad else x).resolve_neg()) for x in tensors])
    if out is not None:
        targets = tuple(None if y is None else to_array(y.detach()) for y in _several(out))
        out = targets if isinstance(out, tuple) else targets[0]
    return [back(x) for x in _several(kernel.call(arrays, out))]


def _several(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _from_numpy(x: Any) -> Any:
    return torch.from_numpy(x if type(x) is np.ndarray else np.asarray(x))  # a scalar is no array


def _stream(cupy: Any, device: Any) -> Any:
    """PyTorch's current stream, for CuPy."""
    stream = torch.cuda.current_stream(device).cuda_stream
    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(_Stream(stream))
    return cupy.cuda.ExternalStream(stream, device.index)  # CuPy 13


@dataclass(frozen=True)
class _Stream:
    """A stream of CUDA by its address, as CuPy takes it."""

    address: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def _contiguous_run(handle: str, arrays: Sequence[Any]) -> list[Any]:
    """The operator's work. Results are contiguous, as `_shapes` promises."""
    return [x.contiguous() for x in run(kernel_of(handle), arrays)]


def _shapes(handle: str, arrays: Sequence[Any]) -> list[Any]:
    """The operator's results without their numbers."""
    kernel = kernel_of(handle)
    _check_shapes(kernel.specification.inputs, arrays)
    batch = torch.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    return [arrays[0].new_empty((*batch, *shape)) for shape in kernel.specification.outputs]


def _check_shapes(inputs: Iterable[tuple[str, int]], arrays: Sequence[Any]) -> None:
    for (name, size), x in zip(inputs, arrays, strict=True):
        if x.ndim == 0 or x.shape[-1] != size:
            raise ArmdynError(f"{name}: expected (..., {size}), found {tuple(x.shape)}")


# ---- gradients and batches ---------------------------------------------------------------------------------


def watched(kernel: Kernel, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """A kernel's results where PyTorch must see the call."""
    first, *others = arrays
    if torch.compiler.is_compiling():
        *before, last = _handles(kernel)
        for handle in before:
            (first,) = evaluate(handle, [first])
        return tuple(evaluate(last, [first, *others]))
    *steps, end = _steps(kernel)
    if not steps:
        return _recorded(end, arrays)
    for step in steps:
        if is_watched([first]):
            # assembly also takes all positions, which have no gradient
            _check_shapes(step.specification.inputs, [first])
        (first,) = apply(step, [first])
    return apply(end, [first, *others])


def apply(kernel: Kernel, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a kernel with gradients, under any transform."""
    return _recorded(kernel, arrays) if is_watched(arrays) else tuple(run(kernel, arrays))


def _recorded(kernel: Kernel, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a kernel where PyTorch must see the call."""
    transformed = torch._C._are_functorch_transforms_active()
    of = _Differentiable if transformed else _Recorded
    return of.apply(kernel, *arrays)  # type: ignore[no-any-return]


def _numbers(kernel: Kernel, arrays: Sequence[Any]) -> tuple[Any, ...]:
    if not is_watched(arrays):
        return tuple(run(kernel, arrays))
    return tuple(evaluate(handle_of(kernel), list(arrays)))


class _Recorded(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """The operator for eager calls outside of torch.func. PyTorch makes less ado of this form."""

    @staticmethod
    def forward(ctx: Any, kernel: Kernel, *arrays: Any) -> tuple[Any, ...]:
        found = _numbers(kernel, arrays)
        _keep(ctx, kernel, arrays, found)
        return found

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
        return None, *_gradients(ctx, ctx.needs_input_grad[1:], cotangents)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Any) -> tuple[Any, ...]:
        return _tangents(ctx, tangents)


class _Differentiable(_Recorded):
    """The same under transforms. By itself the operator takes no part in the derivatives of torch.func."""

    @staticmethod
    def forward(kernel: Kernel, *arrays: Any) -> tuple[Any, ...]:  # type: ignore[override]
        return _numbers(kernel, arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        kernel, *arrays = inputs
        _keep(ctx, kernel, arrays, output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, kernel: Kernel, *arrays: Any) -> tuple[Any, Any]:
        found = apply(kernel, _batched(in_dims[1:], arrays))
        return found, (0,) * len(found)


def _keep(ctx: Any, kernel: Kernel, arrays: Sequence[Any], output: Sequence[Any]) -> None:
    ctx.kernel = kernel
    kept = output if isinstance(kernel, Assembled) else arrays
    ctx.save_for_backward(*kept)
    if torch.autograd.forward_ad._current_level >= 0:
        ctx.save_for_forward(*kept)


def _gradients(ctx: Any, needed: Sequence[bool], cotangents: Sequence[Any]) -> list[Any]:
    """Gradients by the inputs that need them. They come from kernels, and so have gradients themselves."""
    kernel: Kernel = ctx.kernel
    if isinstance(kernel, Assembled):  # ẏ = S q̇, so Sᵀ c
        (y,) = ctx.saved_tensors
        at_rest = y.new_zeros(kernel.specification.inputs[0][1])
        return list(apply(adjoint_of(kernel.speeds, ["qd"]), [y, at_rest, *cotangents]))
    arrays, function = ctx.saved_tensors, kernel.specification
    by = [name for (name, _), wanted in zip(function.inputs, needed, strict=True) if wanted]
    flat = [
        c if len(shape) == 1 else c.reshape(*c.shape[: c.ndim - len(shape)], prod(shape))
        for c, shape in zip(cotangents, function.outputs, strict=True)
    ]
    found = iter(apply(adjoint_of(kernel, by), [*arrays, *flat]))
    return [_summed(next(found), x) if wanted else None for x, wanted in zip(arrays, needed, strict=True)]


def _summed(gradient: Any, x: Any) -> Any:
    """A gradient summed along the axes along which x was broadcast."""
    return gradient if gradient.shape == x.shape else gradient.sum_to_size(x.shape)


def _tangents(ctx: Any, tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Changes of the results with the inputs that change; None stands for an input that does not."""
    kernel: Kernel = ctx.kernel
    moving = [v for v in tangents if v is not None]
    if isinstance(kernel, Assembled):
        return apply(kernel.speeds, [*ctx.saved_tensors, *moving])
    names = [name for name, _ in kernel.specification.inputs]
    by = [name for name, v in zip(names, tangents, strict=True) if v is not None]
    return apply(tangent_of(kernel, by), [*ctx.saved_tensors, *moving])


def _batched(dims: Sequence[int | None], arrays: Sequence[Any]) -> list[Any]:
    """Arrays with the axis that vmap takes away in front of all others."""
    axes = max(x.ndim - (d is not None) for x, d in zip(arrays, dims, strict=True))
    return [x if d is None else _in_front(x, d, axes) for x, d in zip(arrays, dims, strict=True)]


def _in_front(x: Any, axis: int, axes: int) -> Any:
    x = x.movedim(axis, 0)
    return x.reshape(x.shape[0], *(1,) * (axes + 1 - x.ndim), *x.shape[1:])


# ---- the operator ------------------------------------------------------------------------------------------


def _operator_keep(ctx: Any, inputs: Any, output: Any) -> None:
    handle, arrays = inputs
    _keep(ctx, kernel_of(handle), arrays, output)


def _operator_gradients(ctx: Any, cotangents: Sequence[Any]) -> tuple[None, list[Any]]:
    return None, _gradients(ctx, ctx.needs_input_grad[1], cotangents)


def _operator_batched(info: Any, in_dims: Any, handle: str, arrays: Sequence[Any]) -> tuple[Any, list[int]]:
    found = evaluate(handle, _batched(in_dims[1], arrays))
    return found, [0] * len(found)


evaluate = torch.library.custom_op(
    "armdyn::kernel",
    _contiguous_run,
    mutates_args=(),
    schema="(str handle, Tensor[] arrays) -> Tensor[]",
)
evaluate.register_fake(_shapes)
evaluate.register_autograd(_operator_gradients, setup_context=_operator_keep)
evaluate.register_vmap(_operator_batched)


# ------------------------------------------------------------------------------------------------------------
# Calls with tensors.


ASSEMBLES = False
_DTYPES = (torch.float64, torch.float32)
_DEVICES = ("cpu", "cuda")


def call(kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
    """The result as a tensor, several in a tuple. It is in `out` where that is given.

    It is in float64, or in float32 when all inputs are.
    """
    tensors = _checked(kernel.specification.name, kernel.specification.inputs, arrays)
    if not is_watched(tensors):
        return _at_once(kernel, tensors, out)
    if out is not None:
        raise ArmdynError("out: a result that gradients go through cannot be put there; use torch.no_grad()")
    found = watched(kernel, tensors)
    return found[0] if len(found) == 1 else found


def side_by_side(what: str, arrays: Mapping[str, Any], size: int) -> Any:
    """Tensors (..., size) by what messages call them, broadcast against each other: (..., size k)."""
    inputs = [(name, size) for name in arrays]
    tensors = _checked(what, inputs, list(arrays.values()))
    _check_shapes(inputs, tensors)
    try:
        return torch.cat(torch.broadcast_tensors(*tensors), dim=-1)
    except RuntimeError:
        raise misfit(what, arrays, tensors) from None


def column(x: Any, first: Any) -> Any:
    """A tensor (...) as (..., 1); numbers and lists are put where `first` is, in its precision."""
    if isinstance(x, torch.Tensor):
        return x[..., None]
    if isinstance(x, list | tuple):
        x = _listed("symbols", 1, x)
    elif not isinstance(x, int | float):
        return x  # refused with its name
    dtype = first.dtype if first.dtype in _DTYPES else torch.float64
    return torch.tensor(x, dtype=dtype, device=first.device)[..., None]


def _checked(function: str, inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> list[Any]:
    """The arguments of a function as dense tensors of one dtype on one device; lists are read as numbers."""
    if _are_usual(arrays):
        return list(arrays)
    first = next((x for x in arrays if isinstance(x, torch.Tensor)), None)
    device = torch.device("cpu") if first is None else first.device
    if device.type not in _DEVICES:
        raise ArmdynError(f"{function}: expected tensors on the CPU or a CUDA device, found {device}")
    tensors, mixed = [], False
    for (name, size), x in zip(inputs, arrays, strict=True):
        if isinstance(x, list | tuple):
            x = torch.tensor(_listed(name, size, x), dtype=torch.float64, device=device)
        if not isinstance(x, torch.Tensor):
            kind = "a NumPy array" if isinstance(x, np.ndarray) else f"an object of type {type(x).__name__}"
            raise TypeError(
                f"{name}: expected a tensor, as other inputs are, found {kind}; use torch.as_tensor"
            )
        _check_kind(name, x)
        if x.device != device:
            raise ArmdynError(
                f"{function}: found tensors on {device} and, {name}, on {x.device}; allowed: one"
            )
        tensors.append(x)
        mixed = mixed or x.dtype != tensors[0].dtype
    return [x.to(torch.float64) for x in tensors] if mixed else tensors


def _are_usual(arrays: Sequence[Any]) -> bool:
    """True for the usual case, quickly checked: plain tensors of one dtype on the CPU or one GPU."""
    first = arrays[0]
    if type(first) not in _PLAIN or first.dtype not in _DTYPES:
        return False
    dtype, device = first.dtype, first.device
    if device.type not in _DEVICES:
        return False
    return all(
        type(x) in _PLAIN
        and x.dtype is dtype
        and x.device == device
        and x.layout is torch.strided
        and not x.is_nested
        for x in arrays
    )


def _check_kind(name: str, x: Any) -> None:
    if x.dtype not in _DTYPES:
        raise TypeError(f"{name}: expected a tensor of float64 or float32, found one of {x.dtype}")
    if x.layout is not torch.strided or x.is_nested:
        kind = "a nested one" if x.is_nested else f"one with layout {x.layout}"
        raise TypeError(f"{name}: expected a dense tensor, found {kind}")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _listed(name: str, size: int, x: Any) -> Any:
    """A list of numbers, checked. It is no tensor: of those torch.compile takes one from a function."""
    return real_array(name, x, f"numbers (..., {size})").tolist()


def _at_once(kernel: Kernel, tensors: Sequence[Any], out: Any) -> Any:
    """Call a kernel without gradients."""
    if out is None:
        found = run(kernel, tensors)
        return found[0] if len(found) == 1 else tuple(found)
    targets = out if isinstance(out, tuple) else (out,)
    for y in targets:
        if y is not None:
            _check_target(y, tensors[0].device)
    found = run(kernel, tensors, out)
    for y in targets:
        if y is not None and not y.is_inference():
            torch.autograd.graph.increment_version(y)
    results = [x if y is None else y for x, y in zip(found, targets, strict=True)]
    return tuple(results) if isinstance(out, tuple) else results[0]


def _check_target(y: Any, device: Any) -> None:
    if not isinstance(y, torch.Tensor):
        raise TypeError(f"out: expected a tensor, as inputs are, found an object of type {type(y).__name__}")
    _check_kind("out", y)
    if y.device != device:
        raise ArmdynError(f"out: expected a tensor on {device}, found one on {y.device}")
    if y.is_neg():
        raise ArmdynError("out: found a view whose memory has the other sign; use a tensor of its own")
    if y.requires_grad and torch.is_grad_enabled():
        raise ArmdynError("out: found a tensor that requires gradients; use torch.no_grad()")
