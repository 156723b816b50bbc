"""Dask: lazy arrays in, lazy arrays out, chunked along the batch as the inputs are.

A task computes one block. A kernel travels to another process as its robot and a key (`Kernel.source`), a few
kilobytes, and is made there once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import isnan
from operator import itemgetter
from typing import Any

import dask.array
import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import FLOAT32, FLOAT64, dtype_text, is_plain, is_real, joined, misfit, real_array
from armdyn.kernels.kernel import Kernel, backend, get_backend
from armdyn.kernels.threads import one_thread
from armdyn.program.program import Shape

ASSEMBLES = False
da: Any = dask.array  # without types


def call(kernel: Kernel, arrays: Sequence[Any], out: Any) -> Any:
    """The result as a Dask array, several in a tuple; nothing is computed.

    In float64, or in float32 when all inputs are.
    """
    function = kernel.specification
    if out is not None:
        raise ArmdynError("out: a Dask array is computed later, into new memory; use the result instead")
    names = [name for name, _ in function.inputs]
    inputs = [_checked(*given) for given in zip(names, kernel.sizes, arrays, strict=True)]
    _check_shapes(function.name, names, inputs)
    dtype = _dtype(inputs)
    block = BlockCall(kernel, get_backend())
    if len(function.outputs) == 1:
        return _blockwise(function.name, block, inputs, function.outputs[0], dtype)
    together = _blockwise(function.name, block, inputs, (1,), dtype)  # a block of it is a tuple of results
    return tuple(
        _blockwise(f"{function.name}_{k}", itemgetter(k), [together], shape, dtype)
        for k, shape in enumerate(function.outputs)
    )


def side_by_side(what: str, arrays: Mapping[str, Any], size: int) -> Any:
    """Dask arrays, or others, (..., size) by what messages call them, side by side: (..., size k)."""
    inputs = [_checked(name, (size,), x) for name, x in arrays.items()]
    _check_shapes(what, list(arrays), inputs)
    dtype = _dtype(inputs)
    join = partial(_joined, what, tuple(arrays), size, dtype)
    return _blockwise(what, join, inputs, (size * len(inputs),), dtype)


def column(x: Any, first: Any) -> Any:
    """An array or numbers (...) as (..., 1)."""
    if isinstance(x, da.Array):
        return x[..., None]
    dtype = FLOAT32 if first.dtype == FLOAT32 and not isinstance(x, np.ndarray) else FLOAT64
    return real_array("symbols", x).astype(dtype)[..., None]


def _joined(what: str, names: Sequence[str], size: int, dtype: Any, *blocks: Any) -> Any:
    arrays = [x[0] if isinstance(x, list) else x for x in blocks]
    return joined(what, dict(zip(names, arrays, strict=True)), size).astype(dtype, copy=False)


def _dtype(inputs: Sequence[Any]) -> Any:
    return FLOAT32 if all(x.dtype == FLOAT32 for x in inputs) else FLOAT64


@dataclass(frozen=True)
class BlockCall:
    """The result for the blocks of the inputs. Dask runs many side by side, so each takes one thread."""

    kernel: Kernel
    backend: Any

    def __call__(self, *blocks: Any) -> Any:
        arrays = tuple(x[0] if isinstance(x, list) else x for x in blocks)  # a list along a contracted axis
        with backend(self.backend), one_thread():
            return self.kernel.call(arrays, None)


def _checked(name: str, sizes: Sequence[int], x: Any) -> Any:
    """An argument as a Dask array with one block along its last axis."""
    n, *others = sizes  # others: with closed chains
    if not isinstance(x, da.Array):
        x = da.asarray(real_array(name, x, f"numbers or a Dask array (..., {n})"))
    plain = is_plain(type(x._meta))
    if not plain or not is_real(x.dtype):
        kind = dtype_text(x.dtype) if plain else f"blocks of type {type(x._meta).__qualname__}"
        raise TypeError(f"{name}: expected numbers (..., {n}), found a Dask array of {kind}")
    if x.ndim == 0 or x.shape[-1] not in sizes:
        also = "".join(f", or all positions (..., {size})" for size in others)
        raise ArmdynError(f"{name}: expected (..., {n}){also}, found {x.shape}")
    return x.rechunk({x.ndim - 1: -1})


def _check_shapes(function: str, names: Sequence[str], inputs: Sequence[Any]) -> None:
    """Refuse inputs whose leading axes do not broadcast.

    Dask does not know how many rows a selection has: two of them must have as many blocks as each other.
    """
    for axis in range(2, max(x.ndim for x in inputs) + 1):  # from the right, after the last
        along = [(x.shape[-axis], x.numblocks[-axis]) for x in inputs if x.ndim >= axis]
        lengths = {f"? in {blocks}" if isnan(length) else length for length, blocks in along}
        if len(lengths - {1}) > 1:
            raise misfit(function, names, inputs)


def _blockwise(name: str, make: Any, inputs: Sequence[Any], shape: Shape, dtype: Any) -> Any:
    """The Dask array (*batch, *shape) whose blocks `make` gives for blocks of the inputs.

    Axes have numbers: 0, 1, … those of the batch, then those of the result. The last axis of every input
    counts as the first one of the result, though sizes differ: each has one block. Had it a number that the
    result lacks, Dask would take this for a reduction, and not put the block's steps into one task.
    """
    batch = max(x.ndim for x in inputs) - 1
    axes, own = list(range(batch)), list(range(batch, batch + len(shape)))
    leads = [axes[batch - x.ndim + 1 :] for x in inputs]
    apart = [(x, (*lead, batch + k)) for k, (x, lead) in enumerate(zip(inputs, leads, strict=True))]
    chunks, aligned = da.core.unify_chunks(*chain.from_iterable(apart))
    sizes = {axis: chunks[axis] for axis in axes} | dict.fromkeys(own[:1], shape[:1])
    pairs = [(x, (*lead, batch)) for x, lead in zip(aligned, leads, strict=True)]
    return da.blockwise(
        make,
        (*axes, *own),
        *chain.from_iterable(pairs),
        token=name,
        new_axes=dict(zip(own[1:], shape[1:], strict=True)),
        adjust_chunks=sizes,
        align_arrays=False,
        dtype=dtype,
        meta=np.empty((0,) * (batch + len(shape)), dtype),
    )
