"""PyTorch: tensors in, tensors out, with gradients.

Tensors on the CPU share their memory with NumPy arrays, those on a GPU with CuPy arrays. Where nothing needs
gradients or traces the call, the kernel is called at once; else by the operator of `torch_operator.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import misfit, real_array
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.libraries.torch_operator import is_watched, run, watched

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


def side_by_side(wrenches: Mapping[str, Any]) -> Any:
    """Wrenches (..., 6) on k links by what they are called, broadcast against each other: (..., 6 k)."""
    tensors = _checked("wrench", [(name, 6) for name in wrenches], list(wrenches.values()))
    for name, x in zip(wrenches, tensors, strict=True):
        if x.ndim == 0 or x.shape[-1] != 6:
            raise ArmdynError(f"{name}: expected (..., 6), found {tuple(x.shape)}")
    try:
        return torch.cat(torch.broadcast_tensors(*tensors), dim=-1)
    except RuntimeError:
        raise misfit("wrench", wrenches, tensors) from None


def _checked(function: str, inputs: Sequence[tuple[str, int]], arrays: Sequence[Any]) -> list[Any]:
    """The arguments of a function as dense tensors of one dtype on one device; lists are read as numbers."""
    if all(map(_is_usual, arrays)):
        return list(arrays)
    first = next((x for x in arrays if isinstance(x, torch.Tensor)), None)
    device = torch.device("cpu") if first is None else first.device
    if device.type not in _DEVICES:
        raise ArmdynError(f"{function}: expected tensors on the CPU or a CUDA device, found {device}")
    tensors, mixed = [], False
    for (name, size), x in zip(inputs, arrays, strict=True):
        if isinstance(x, list | tuple):
            x = _listed(name, size, x).to(device)
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


def _is_usual(x: Any) -> bool:
    """Whether it is what is given nearly always, which is checked quickly."""
    if type(x) is not torch.Tensor or not x.is_cpu or x.dtype is not torch.float64:
        return False
    return x.layout is torch.strided and not x.is_nested


def _check_kind(name: str, x: Any) -> None:
    if x.dtype not in _DTYPES:
        raise TypeError(f"{name}: expected a tensor of float64 or float32, found one of {x.dtype}")
    if x.layout is not torch.strided or x.is_nested:
        kind = "a nested one" if x.is_nested else f"one with layout {x.layout}"
        raise TypeError(f"{name}: expected a dense tensor, found {kind}")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator, unused-ignore]
def _listed(name: str, size: int, x: Any) -> Any:
    """A list of numbers as a tensor: float64, as NumPy would have it."""
    return torch.from_numpy(real_array(name, x, f"numbers (..., {size})").astype(np.float64))


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
