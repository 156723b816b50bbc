"""CUDA text to functions: CuPy compiles it, and keeps what it compiled on disk (~/.cupy/kernel_cache)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

OPTIONS = ("--std=c++17",)


@lru_cache(maxsize=1024)
def function(text: str, name: str, device: int) -> Any:
    """The kernel of that name in a text, for a device; called with (grid, block, arguments)."""
    import cupy

    with cupy.cuda.Device(device):
        return cupy.RawModule(code=text, options=OPTIONS).get_function(name)
