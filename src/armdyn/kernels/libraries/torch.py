"""PyTorch: tensors in, tensors out, with gradients.

Tensors on the CPU share their memory with NumPy arrays, those on a GPU with CuPy arrays. Where nothing needs
gradients or traces the call, the kernel is called at once; else by the operator of `torch_operator.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import real_array
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.libraries.torch_operator import apply, closed_parts, run
from armdyn.kernels.specification import Specification

_DTYPES = (torch.float64, torch.float32)
_DEVICES = ("cpu", "cuda")


def call(kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
    """The result as a tensor, several in a tuple. It is in `out` where that is given.

    It is in float64, or in float32 when all inputs are.
    """
    tensors = _checked(kernel.specification, arrays)
    if not _is_watched(tensors):
        return _at_once(kernel, tensors, out)
    if out is not None:
        raise ArmdynError("out: a result that gradients go through cannot be put there; use torch.no_grad()")
    parts = closed_parts(kernel)
    if parts is not None:
        kernel, assembled = parts
        (positions,) = apply(assembled, [tensors[0]])
        tensors = [positions, *tensors[1:]]
    found = apply(kernel, tensors)
    return found[0] if len(found) == 1 else found


def _checked(function: Specification, arrays: Sequence[Any]) -> list[Any]:
    """The arguments as dense tensors of one dtype on one device."""
    first = next(x for x in arrays if isinstance(x, torch.Tensor))
    device, float32, mixed = first.device, True, False
    tensors = []
    for (name, size), x in zip(function.inputs, arrays, strict=True):
        if isinstance(x, list | tuple):
            x = _listed(name, size, x).to(device)
        if not isinstance(x, torch.Tensor):
            kind = "a NumPy array" if isinstance(x, np.ndarray) else f"{type(x).__name__}"
            raise TypeError(f"{name}: expected a tensor, as others are, found {kind}; use torch.as_tensor")
        if x.dtype not in _DTYPES or x.layout is not torch.strided:
            kind = f"one of {x.dtype}" if x.dtype not in _DTYPES else f"one with layout {x.layout}"
            raise TypeError(f"{name}: expected a dense tensor of float64 or float32, found {kind}")
        if x.device != device:
            raise ArmdynError(
                f"{function.name}: tensors are on different devices: {name} on {x.device}, others on {device}"
            )
        mixed |= x.dtype != first.dtype
        tensors.append(x)
    if device.type not in _DEVICES:
        raise ArmdynError(f"{function.name}: tensors on the CPU or a CUDA device are expected, found {device}")
    return [x.to(torch.float64) for x in tensors] if mixed else tensors


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _listed(name: str, size: int, x: Any) -> Any:
    """A list of numbers as a tensor: float64, as NumPy would have it."""
    return torch.from_numpy(real_array(name, x, f"numbers (..., {size})").astype(np.float64))


def _is_watched(tensors: Sequence[Any]) -> bool:
    """Whether PyTorch must see the call: for gradients, to compile it, or as a transform such as vmap is on."""
    if torch.compiler.is_compiling():
        return True
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        return True
    if torch._C._are_functorch_transforms_active() or torch._C._len_torch_dispatch_stack() > 0:
        return True
    if any(type(x) is not torch.Tensor and type(x) is not torch.nn.Parameter for x in tensors):
        return True
    return torch.autograd.forward_ad._current_level >= 0


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
        raise TypeError(f"out: expected a tensor, as the inputs are, found {type(y).__name__}")
    if y.dtype not in _DTYPES or y.layout is not torch.strided:
        raise TypeError(f"out: expected a dense tensor of float64 or float32, found one of {y.dtype}")
    if y.device != device:
        raise ArmdynError(f"out: expected a tensor on {device}, found one on {y.device}")
    if y.requires_grad and torch.is_grad_enabled():
        raise ArmdynError("out: found a tensor that requires gradients; use torch.no_grad()")
