"""Functions that time a motion, for several motions of a robot.

Two threads take turns with the motions. A third gains nothing: most of the work holds the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import cache, wraps
from itertools import count
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, cast, overload

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.threads import call_on_ranges, get_threads, one_thread
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot

THREADS = 2  # as many gain a sixth; with 16 a motion takes half as long again
KEPT = 16 << 20  # bytes

Several: TypeAlias = list[Trajectory] | tuple[Trajectory, ...]
P = ParamSpec("P")
T = TypeVar("T")


class Timing(Protocol[P, T]):
    """A function of a robot and a motion, or of several motions, and further arguments."""

    @overload
    def __call__(self, robot: Robot, trajectory: Trajectory, *args: P.args, **named: P.kwargs) -> T: ...

    @overload
    def __call__(self, robot: Robot, trajectory: Several, *args: P.args, **named: P.kwargs) -> list[T]: ...


def of_several(function: Callable[Concatenate[Robot, Trajectory, P], T]) -> Timing[P, T]:
    """Makes a function of one motion callable with a list or tuple of them: a list of the same results.

    What is refused is refused for the first motion to which it happens, by its number from 0.
    """

    @wraps(function)
    def called(robot: Robot, trajectory: Any, *args: P.args, **named: P.kwargs) -> Any:
        keep_memory()
        if not isinstance(trajectory, list | tuple):
            return function(robot, trajectory, *args, **named)
        found: list[Any] = [None] * len(trajectory)
        problems: dict[int, ArmdynError] = {}

        turns = count()

        def take(_: int, __: int) -> None:
            """Take one motion after the other, until none is left or one before was refused."""
            while (i := next(turns)) < len(trajectory) and not (problems and min(problems) < i):
                try:
                    found[i] = function(robot, trajectory[i], *args, **named)
                except ArmdynError as problem:
                    problems[i] = problem

        threads = min(get_threads(), THREADS, len(trajectory))
        with one_thread():
            contexts = [copy_context() for _ in range(threads)]  # the choice of a backend goes with them
        if threads:
            call_on_ranges(lambda k, end: contexts[k].run(take, k, end), range(threads + 1))
        if problems:
            i = min(problems)
            raise type(problems[i])(f"motion {i} of {len(trajectory)}: {problems[i]}") from None
        return found

    return cast(Timing[P, T], called)


@cache
def keep_memory() -> None:
    """Has the memory of a call stay with the process for the next one.

    The allocator of Linux gives a few megabytes back to the system after each call and gets them again,
    cleared, page by page, for the next: two thirds of the time of a call. Once a large block has been freed,
    it keeps what is free, up to twice the size of that block. The block itself is never touched.
    """
    np.empty(KEPT, np.uint8)
