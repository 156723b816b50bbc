"""Arrays that may be NumPy's or CuPy's: for code that runs on either, because NumPy's functions do.

What NumPy does not hand on to CuPy is here: new arrays, arrays of one library among those of the other, and
the way back to the CPU, which waits for the GPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np


def is_cupy(x: Any) -> bool:
    """True for an array of CuPy, which need not be installed."""
    kind = type(x)
    return kind is not np.ndarray and kind.__module__.partition(".")[0] == "cupy"


def on_device(x: Any) -> AbstractContextManager[Any]:
    """A context in which CuPy computes on the device of an array; nothing changes for arrays of NumPy."""
    return x.device if is_cupy(x) else nullcontext()


def array(x: Any) -> np.ndarray:
    """An array of CuPy as it is, and anything else as one of NumPy."""
    return x if is_cupy(x) else np.asarray(x)


def like(first: Any, x: Any) -> np.ndarray:
    """Numbers as an array where another is: of CuPy and of its type, or float64 of NumPy."""
    if not is_cupy(first):
        return np.asarray(x, float)
    import cupy

    with first.device:
        found: np.ndarray = cupy.asarray(x, dtype=first.dtype)
        return found


def zeros(first: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A new array where another is, and of its type; in NumPy of float64."""
    if not is_cupy(first):
        return np.zeros(shape)
    import cupy

    with first.device:
        found: np.ndarray = cupy.zeros(shape, dtype=first.dtype)
        return found


def zeros_by_instance(first: Any, shape: tuple[int, ...]) -> np.ndarray:
    """The same (..., instances, columns) as loops read and write it quickest.

    On a GPU, where threads beside each other are instances, these are adjacent in memory.
    """
    if not is_cupy(first):
        return np.zeros(shape)
    *before, instances, columns = shape
    return np.swapaxes(zeros(first, (*before, columns, instances)), -1, -2)


def host(x: Any) -> np.ndarray:
    """The array in NumPy; one of CuPy is waited for and copied."""
    found: np.ndarray = x.get() if is_cupy(x) else np.asarray(x)
    return found
