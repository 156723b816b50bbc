"""CUDA text to functions: CuPy compiles it, and keeps what it compiled on disk (~/.cupy/kernel_cache)."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

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
