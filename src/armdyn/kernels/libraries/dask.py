"""Dask: lazy arrays in, lazy arrays out, chunked along the batch as the inputs are.

A task computes one block. A kernel travels to another process as its robot and a key (`Kernel.source`), a few
kilobytes, and is made there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from operator import itemgetter
from typing import Any

import dask.array
import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import FLOAT32, FLOAT64, dtype_text, is_real, real_array
from armdyn.kernels.backends import backend, get_backend
from armdyn.kernels.kernel import Kernel
from armdyn.kernels.threads import one_thread
from armdyn.program.program import Shape

ASSEMBLES = False
da: Any = dask.array  # without types
_INPUT, _OUTPUT = 1000, 2000  # Dask tells axes apart by numbers: those of the batch begin at 0


def call(kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
    """The result as a Dask array, several in a tuple; nothing is computed.

    In float64, or in float32 when all inputs are.
    """
    function = kernel.specification
    if out is not None:
        raise ArmdynError("out: a Dask array is computed later, into new memory; use the result instead")
    names = [name for name, _ in function.inputs]
    inputs = [_checked(*given) for given in zip(names, kernel.sizes, arrays, strict=True)]
    axes = _batch_axes(function.name, names, inputs)
    dtype = FLOAT32 if all(x.dtype == FLOAT32 for x in inputs) else FLOAT64
    block = Block(kernel, get_backend())
    pairs: list[Any] = []
    for k, x in enumerate(inputs):  # the last axis of each is its own, and not one of the result
        pairs += [x, (*axes[len(axes) - x.ndim + 1 :], _INPUT + k)]
    if len(function.outputs) == 1:
        return _result(function.name, block, axes, pairs, function.outputs[0], dtype)
    meta = _meta(len(axes), dtype)
    together = da.blockwise(block, axes, *pairs, token=function.name, dtype=dtype, meta=meta)
    return tuple(
        _result(f"{function.name}_{k}", itemgetter(k), axes, [together, axes], shape, dtype)
        for k, shape in enumerate(function.outputs)
    )


@dataclass(frozen=True)
class Block:
    """The result for the blocks of the inputs. Dask runs many side by side, so each takes one thread."""

    kernel: Kernel
    backend: Any

    def __call__(self, *blocks: Any) -> Any:
        arrays = tuple(
            x[0] if isinstance(x, list) else x for x in blocks
        )  # the one block along the last axis
        with backend(self.backend), one_thread():
            return self.kernel.call(arrays, None)


def _checked(name: str, sizes: Sequence[int], x: Any) -> Any:
    """An argument as a Dask array with one block along its last axis."""
    if not isinstance(x, da.Array):
        x = da.asarray(real_array(name, x, f"numbers or a Dask array (..., {sizes[0]})"))
    if not isinstance(x._meta, np.ndarray) or not is_real(x.dtype):
        kind = dtype_text(x.dtype) if isinstance(x._meta, np.ndarray) else f"blocks of {type(x._meta)}"
        raise TypeError(f"{name}: expected numbers (..., {sizes[0]}), found a Dask array of {kind}")
    if x.ndim == 0 or x.shape[-1] not in sizes:
        raise ArmdynError(f"{name}: expected (..., {sizes[0]}), found {x.shape}")
    return x.rechunk({x.ndim - 1: -1})


def _batch_axes(function: str, names: Sequence[str], inputs: Sequence[Any]) -> tuple[int, ...]:
    """A number for each batch axis, from the left; the inputs' shapes must broadcast.

    Dask does not know how many rows a selection has: two of them must have as many blocks as each other.
    """
    dimensions = max(x.ndim for x in inputs) - 1
    for axis in range(2, dimensions + 2):  # from the right, after the last
        along = [(x.shape[-axis], x.numblocks[-axis]) for x in inputs if x.ndim >= axis]
        lengths = {f"? in {blocks}" if isnan(length) else length for length, blocks in along}
        if len(lengths - {1}) > 1:
            found = ", ".join(f"{name} {x.shape}" for name, x in zip(names, inputs, strict=True))
            raise ArmdynError(f"{function}: shapes do not fit together: {found}")
    return tuple(range(dimensions))


def _result(
    name: str, make: Any, axes: tuple[int, ...], pairs: Sequence[Any], shape: Shape, dtype: Any
) -> Any:
    """The Dask array with the blocks that `make` gives, and axes of its own for the result."""
    own = {_OUTPUT + k: size for k, size in enumerate(shape)}
    meta = _meta(len(axes) + len(shape), dtype)
    return da.blockwise(make, (*axes, *own), *pairs, token=name, new_axes=own, dtype=dtype, meta=meta)


def _meta(dimensions: int, dtype: Any) -> Any:
    return np.empty((0,) * dimensions, dtype)
