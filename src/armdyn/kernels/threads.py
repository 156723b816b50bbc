"""Large batches over several threads: slices of the batch, one call each, without the interpreter's lock."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from math import prod
from typing import Any, TypeAlias

import numpy as np

from armdyn.expression import ArmdynError, shown

MINIMUM_ROWS = 8192  # per thread: below this, starting a thread costs more than it saves
MOST_THREADS = 9999
VARIABLE = "ARMDYN_THREADS"
Part: TypeAlias = Callable[[int, int], None]
Slices: TypeAlias = "dict[Future[None], tuple[Part, int, int]]"

_settings: dict[str, int] = {}
_alone: ContextVar[bool] = ContextVar("armdyn.alone", default=False)  # others run beside this: one thread
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process and size: a fork does not inherit threads


def set_threads(count: int | None) -> None:
    """Set the number of threads that large batches may use; None: $ARMDYN_THREADS or one per processor."""
    if count is None:
        _settings.pop("threads", None)
    elif isinstance(count, bool) or count not in range(1, MOST_THREADS + 1):
        raise ArmdynError(
            f"threads: expected a whole number from 1 to {MOST_THREADS}, or None, found {shown(count)}"
        )
    else:
        _settings["threads"] = int(count)


def get_threads() -> int:
    """Number of threads that large batches use."""
    if "threads" in _settings:
        return _settings["threads"]
    if given := os.environ.get(VARIABLE, ""):
        if not re.fullmatch("0*[1-9][0-9]{0,3}", given.strip()):
            raise ArmdynError(
                f"{VARIABLE}: expected a whole number from 1 to {MOST_THREADS}, found {given[:40]!r}"
            )
        return int(given)
    if _alone.get():
        return 1
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """A block in which large batches of this thread use one thread, unless the user has said how many.

    It is for callers that themselves run several calls side by side.
    """
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


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
    """function(*inputs, out=outputs), the longest batch axis cut into slices for the threads."""
    axis = int(np.argmax(batch))
    slices = max(1, min(get_threads(), batch[axis], prod(batch) // MINIMUM_ROWS))
    edges = [batch[axis] * k // slices for k in range(slices + 1)]

    def part(a: int, b: int) -> None:
        ins = [_sliced(x, axis - len(batch), a, b) for x in inputs]
        outs = tuple(y[(slice(None),) * axis + (slice(a, b),)] for y in outputs)
        function(*ins, out=outs)

    call_on_ranges(part, edges)


def call_on_ranges(part: Part, edges: Sequence[int]) -> None:
    """part(edges[k], edges[k + 1]) for every k, once each, on this thread and others.

    Every slice has a future. Another thread claims it by starting it; this thread cancels the futures that no
    other has started, and does their slices itself. When this returns or raises, no slice is still running.
    """
    if len(edges) == 2:
        part(edges[0], edges[1])
        return
    slices: Slices = {Future(): (part, a, b) for a, b in pairwise(edges)}
    futures = list(slices)
    error: BaseException | None = None
    try:
        _offer(slices, futures[:-1])
        for future in reversed(futures):
            if future.cancel():
                _, a, b = slices[future]
                part(a, b)
    except BaseException as problem:  # KeyboardInterrupt too
        error = problem
    waiting = True
    while waiting:
        try:
            begun = [future for future in futures if not future.cancel()]
            wait(begun)
            waiting = False
        except KeyboardInterrupt as interrupt:
            error = interrupt
    slices.clear()  # a thread that starts late keeps no array alive
    for found in (error, *(future.exception() for future in begun)):
        if found is not None:
            raise found


def _offer(slices: Slices, futures: Sequence[Future[None]]) -> None:
    """Ask other threads to help."""
    threads = get_threads()
    try:
        for future in futures:
            _pool(threads).submit(_run, slices, future)
    except (RuntimeError, MemoryError):
        # No thread can be started: too many, no memory, or Python is ending. The pool keeps what it could
        # not start in its queue, so it is not used again.
        _pools.pop((os.getpid(), threads), None)


def _run(slices: Slices, future: Future[None]) -> None:
    """Do a slice, unless the calling thread has claimed it."""
    if future.set_running_or_notify_cancel():
        part, a, b = slices[future]
        try:
            part(a, b)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(None)


def _sliced(x: np.ndarray, axis: int, a: int, b: int) -> np.ndarray:
    """The part of an input that a slice of a batch axis needs, −1 the last; all of it if it is broadcast."""
    own = x.ndim - 1 + axis
    if own < 0 or x.shape[own] == 1:
        return x
    return x[(slice(None),) * own + (slice(a, b),)]
