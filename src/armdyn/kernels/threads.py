"""Large batches over several threads: slices of the batch, one call each, without the interpreter's lock."""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.model.arguments import shown

MINIMUM_ROWS = 8192  # per thread: below this, starting a thread costs more than it saves
MOST_THREADS = 9999
VARIABLE = "ARMDYN_THREADS"

_settings: dict[str, int] = {}
_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}  # by process and size: a fork does not inherit threads


def set_threads(count: int | None) -> None:
    """How many threads large batches may use; None: $ARMDYN_THREADS or one per processor."""
    if count is None:
        _settings.pop("threads", None)
    elif isinstance(count, bool) or count not in range(1, MOST_THREADS + 1):
        raise ArmdynError(
            f"threads: expected a whole number from 1 to {MOST_THREADS}, or None, found {shown(count)}"
        )
    else:
        _settings["threads"] = int(count)


def get_threads() -> int:
    """How many threads large batches use."""
    if "threads" in _settings:
        return _settings["threads"]
    if given := os.environ.get(VARIABLE, ""):
        if not re.fullmatch("0*[1-9][0-9]{0,3}", given.strip()):
            raise ArmdynError(
                f"{VARIABLE}: expected a whole number from 1 to {MOST_THREADS}, found {given[:40]!r}"
            )
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
    """function(*inputs, out=outputs), the longest batch axis cut into slices for the threads."""
    axis = int(np.argmax(batch))
    slices = max(1, min(get_threads(), batch[axis], prod(batch) // MINIMUM_ROWS))
    edges = [batch[axis] * k // slices for k in range(slices + 1)]

    def part(a: int, b: int) -> None:
        ins = [_sliced(x, x.ndim - 1, axis, len(batch), a, b) for x in inputs]
        outs = tuple(y[(slice(None),) * axis + (slice(a, b),)] for y in outputs)
        function(*ins, out=outs)

    call_on_ranges(part, edges)


def call_on_ranges(part: Callable[[int, int], None], edges: Sequence[int]) -> None:
    """part(edges[k], edges[k + 1]) for every k, once each, on this thread and others.

    Threads claim slices; what no thread claims, because none could be started, is done by this one. None is
    under way any more when this returns or raises.
    """
    slices = _Slices(part, list(pairwise(edges)))
    try:
        if len(edges) > 2:
            _offer(slices, len(edges) - 2)
        slices.work()
    except BaseException as error:  # KeyboardInterrupt too
        slices.failed(error)
    slices.finish()


def _offer(slices: _Slices, helpers: int) -> None:
    """Ask other threads to help."""
    threads = get_threads()
    try:
        for _ in range(helpers):
            _pool(threads).submit(slices.help)
    except (RuntimeError, MemoryError):
        # No thread can be started: too many, no memory, or Python is ending. The pool keeps what it could
        # not start in its queue, so it is not used again.
        _pools.pop((os.getpid(), threads), None)


class _Slices:
    """Slices of a batch, each claimed by one thread."""

    def __init__(self, part: Callable[[int, int], None], ranges: Sequence[tuple[int, int]]) -> None:
        self._part: Callable[[int, int], None] | None = part
        self._waiting = deque(ranges)
        self._changed = threading.Condition()
        self._helping = 0  # slices under way on other threads
        self._error: BaseException | None = None

    def work(self) -> None:
        """Do what nobody has claimed, on the calling thread."""
        part = self._part
        while part is not None:
            try:
                a, b = self._waiting.popleft()
            except IndexError:
                return
            part(a, b)

    def help(self) -> None:
        """The same on another thread, which the calling one waits for."""
        with self._changed:
            if not self._waiting:  # done already, maybe long ago
                return
            self._helping += 1
        try:
            self.work()
        except BaseException as error:
            self.failed(error)
        finally:
            with self._changed:
                self._helping -= 1
                self._changed.notify_all()

    def failed(self, error: BaseException) -> None:
        """Nothing more is claimed."""
        self._waiting.clear()
        if self._error is None or not isinstance(error, Exception):
            self._error = error

    def finish(self) -> None:
        """Wait for the other threads, also when interrupted; then raise what went wrong."""
        waiting = True
        while waiting:
            try:
                with self._changed:
                    self._changed.wait_for(lambda: not self._helping)
                waiting = False
            except KeyboardInterrupt as interrupt:
                self.failed(interrupt)
        self._part = None  # a helper that comes later finds nothing, and keeps no array alive
        error, self._error = self._error, None
        if error is not None:
            raise error


def _sliced(x: np.ndarray, leading: int, axis: int, batch_axes: int, a: int, b: int) -> np.ndarray:
    """The part of an input that a slice of the batch axis needs; a broadcast one is needed whole."""
    own = axis - (batch_axes - leading)
    if own < 0 or x.shape[own] == 1:
        return x
    return x[(slice(None),) * own + (slice(a, b),)]
