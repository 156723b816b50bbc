"""Loops on CuPy arrays: one thread for each instance.

The kernel is put on CuPy's current stream; nothing is copied and nothing waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import dtype_text
from armdyn.kernels.cuda.text import LOOP_BLOCK, SCALARS, loop_text
from armdyn.program.loops import Argument, Loop

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
# Loops, called with CuPy arrays.


class LoopOnGpu:
    """A loop as a function of CUDA, compiled when first used: in float64, or in float32 for such arrays."""

    def __init__(self, loop: Loop) -> None:
        self.loop, self.name = loop, f"armdyn_{loop.name}"
        self._text: Callable[[str], str] = lru_cache(lambda scalar: loop_text(self.name, loop, scalar))

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
        run = function(self._text(SCALARS[first.dtype.name]), self.name, device)
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
