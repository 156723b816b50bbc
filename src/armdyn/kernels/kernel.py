"""Kernels: a function of `dynamics/` as an array function. Shapes, dtypes, batching and `out=` are only here.

A kernel broadcasts over leading axes like a NumPy gufunc: inputs have a fixed core shape in their last
axes, everything before is batch. Integers compute in float64; float32 stays float32 when all inputs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
BLOCK = 4096  # rows evaluated at once: the columns of a block stay in the cache


class Kernel:
    """An array function with named inputs and fixed core shapes.

    `function` takes one list of columns per input and returns, per output, nested lists of its core shape;
    it is evaluated with NumPy arrays as scalars.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[Shape],
        function: Callable[..., Any],
    ) -> None:
        self.name, self.inputs, self.outputs, self.function = name, tuple(inputs), tuple(outputs), function

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """One array, or a tuple of arrays when there are several outputs."""
        cores = [self._input(name, size, x) for (name, size), x in zip(self.inputs, arrays, strict=True)]
        dtype = np.float32 if cores and all(x.dtype == np.float32 for x in cores) else np.float64
        batch = self._batch(cores)
        results = self._outputs(out, batch, dtype)
        rows = int(np.prod(batch, dtype=np.int64))
        flat_in = [
            np.broadcast_to(x, (*batch, x.shape[-1])).reshape(rows, x.shape[-1]).astype(dtype, copy=False)
            for x in cores
        ]
        flat_out = [np.empty((rows, *shape), dtype) for shape in self.outputs]
        with np.errstate(all="ignore"):  # a NaN or a singular row stays in its row, silently
            for start in range(0, rows, BLOCK):
                block = slice(start, min(start + BLOCK, rows))
                self._evaluate([x[block] for x in flat_in], [y[block] for y in flat_out])
        for result, y in zip(results, flat_out, strict=True):
            result[...] = y.reshape(result.shape)
        finished = tuple(r[()] if out is None else r for r in results)
        return finished[0] if len(finished) == 1 else finished

    def _input(self, name: str, size: int, x: Any) -> np.ndarray:
        try:
            array = np.asarray(x)
        except ValueError as error:
            raise ValueError(f"{self.name}: {name}: not an array of numbers ({error})") from None
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            raise TypeError(f"{self.name}: {name}: expected real numbers, found dtype {array.dtype}")
        if array.ndim == 0 or array.shape[-1] != size:
            raise ValueError(f"{self.name}: {name}: expected shape (..., {size}), found {array.shape}")
        return array

    def _batch(self, cores: Sequence[np.ndarray]) -> Shape:
        try:
            return np.broadcast_shapes(*(x.shape[:-1] for x in cores))
        except ValueError:
            found = ", ".join(f"{name} {x.shape}" for (name, _), x in zip(self.inputs, cores, strict=True))
            raise ValueError(f"{self.name}: leading axes do not broadcast: {found}") from None

    def _outputs(self, out: Any, batch: Shape, dtype: Any) -> list[np.ndarray]:
        if out is None:
            return [np.empty(batch + shape, dtype) for shape in self.outputs]
        given = list(out) if isinstance(out, tuple) else [out]
        if len(given) != len(self.outputs):
            raise ValueError(f"{self.name}: out: expected {len(self.outputs)} arrays, found {len(given)}")
        for array, shape in zip(given, self.outputs, strict=True):
            if not isinstance(array, np.ndarray):
                raise TypeError(f"{self.name}: out: expected an array, found {type(array).__name__}")
            if array.shape != batch + shape:
                raise ValueError(f"{self.name}: out: expected shape {batch + shape}, found {array.shape}")
            if not np.can_cast(dtype, array.dtype, "same_kind"):
                raise TypeError(f"{self.name}: out: cannot write {np.dtype(dtype)} into {array.dtype}")
        return given

    def _evaluate(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        columns = [[x[:, i] for i in range(x.shape[1])] for x in inputs]
        values = self.function(*columns)
        for y, value in zip(outputs, values if len(outputs) > 1 else (values,), strict=True):
            _fill(y, value)


def _fill(y: np.ndarray, value: Any) -> None:
    """Write nested lists of columns into an array whose first axis is the row."""
    if isinstance(value, (list, tuple)):
        for i, part in enumerate(value):
            _fill(y[:, i], part)
    else:
        y[...] = value
