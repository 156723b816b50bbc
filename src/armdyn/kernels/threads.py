"""Large batches over several threads: slices of the batch, one call each, without the interpreter's lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

MINIMUM_ROWS = 8192  # per thread: below this, starting a thread costs more than it saves

_settings: dict[str, int] = {}
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process and size: a fork does not inherit threads


def set_threads(count: int | None) -> None:
    """How many threads large batches may use; None: $ARMDYN_THREADS or one per processor."""
    if count is None:
        _settings.pop("threads", None)
    elif isinstance(count, bool) or count not in range(1, 10_000):
        raise ValueError(f"threads: found {count!r}; a whole number from 1, or None, is allowed")
    else:
        _settings["threads"] = int(count)


def get_threads() -> int:
    """How many threads large batches use."""
    if "threads" in _settings:
        return _settings["threads"]
    given = os.environ.get("ARMDYN_THREADS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


def _pool(threads: int) -> ThreadPoolExecutor:
    key = (os.getpid(), threads)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(threads, thread_name_prefix="armdyn")
    return _pools[key]


def call_in_slices(
    function: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    batch: tuple[int, ...],
) -> None:
    """function(*inputs, out=outputs), the longest batch axis cut into as many slices as there are threads."""
    axis = int(np.argmax(batch))
    threads = min(get_threads(), batch[axis])
    edges = [batch[axis] * k // threads for k in range(threads + 1)]

    def part(a: int, b: int) -> None:
        ins = [_sliced(x, x.ndim - 1, axis, len(batch), a, b) for x in inputs]
        outs = tuple(y[(slice(None),) * axis + (slice(a, b),)] for y in outputs)
        function(*ins, out=outs)

    call_on_ranges(part, edges)


def call_on_ranges(part: Callable[[int, int], None], edges: Sequence[int]) -> None:
    """part(edges[k], edges[k + 1]) for every k, each on a thread of its own, the first on this one."""
    threads = len(edges) - 1
    futures = []
    for a, b in pairwise(edges[1:]):
        try:
            futures.append(_pool(threads).submit(part, a, b))
        except RuntimeError:  # the interpreter is shutting down: no new work for threads
            part(a, b)
    try:
        part(edges[0], edges[1])
    finally:
        wait(futures)
    for future in futures:
        future.result()


def _sliced(x: np.ndarray, leading: int, axis: int, batch_axes: int, a: int, b: int) -> np.ndarray:
    """The part of an input that a slice of the batch axis needs; a broadcast one is needed whole."""
    own = axis - (batch_axes - leading)
    if own < 0 or x.shape[own] == 1:
        return x
    return x[(slice(None),) * own + (slice(a, b),)]
