"""The triangular factors of all logs, part by part, here or on workers.

Factors are merged in the order of the parts as soon as it is their turn, so that neither the number of
workers nor who is first changes the result, and only a few are in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, NothingUsableError
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Part, Piece, Source
from armdyn.identification.regression.problem import Problem
from armdyn.output.progress import Update
from armdyn.robot import Robot

WAITING = 64  # parts in files that are with the workers at a time,
CARRIED = 8  # and parts whose samples are sent to them
NOTES = 10  # of one log, from all its parts


class _Found(NamedTuple):
    factors: Factors | None
    notes: tuple[str, ...]
    rows: int


def collect(
    robot: Robot,
    logs: Sequence[Source],
    problem: Problem,
    *,
    executor: Any = None,
    update: Update = lambda part: None,
    notes: list[str] | None = None,
) -> Factors:
    """What least squares needs of these logs; what was noticed in them is added to `notes`.

    `executor`: as in `identify`. `update` is told which share of the samples is done.
    """
    total: Factors | None = None
    seen = [dict[str, None]() for _ in logs]
    done, size = 0, sum(len(log.log) for log in logs)
    for k, found in _all(robot, logs, problem, pool_of(executor)):
        total = merge(total, found.factors)
        seen[k].update(dict.fromkeys(found.notes))
        done += found.rows
        update(done / size)
    if notes is not None:
        notes += [text for log, said in zip(logs, seen, strict=True) for text in _told(log.name, list(said))]
    if total is None:
        raise IdentificationError("no sample is left for the fit")
    return total


def merge(total: Factors | None, more: Factors | None) -> Factors | None:
    if total is None or more is None:
        return total if more is None else more
    return total + more


def pool_of(executor: Any) -> Executor | None:
    """An executor of `concurrent.futures`, or that of a Dask client."""
    if executor is None or isinstance(executor, Executor):
        return executor
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)  # type: ignore[no-any-return]
    if hasattr(executor, "submit"):
        return executor  # type: ignore[no-any-return]
    raise IdentificationError(
        f"executor: expected one of concurrent.futures or a Dask Client, found {shown(executor)}"
    )


def _all(
    robot: Robot, logs: Sequence[Source], problem: Problem, pool: Executor | None
) -> Iterator[tuple[int, _Found]]:
    """The number of its log and what it has, of each part in order."""
    if pool is None:
        for k, log in enumerate(logs):
            for part in log.parts(problem.cutoff):
                yield k, _of_part(part, robot, problem, log.piece)
        return
    waiting: deque[tuple[int, Future[_Found]]] = deque()
    try:
        for k, log in enumerate(logs):
            for part in log.parts(problem.cutoff, read=False):
                waiting.append((k, pool.submit(_of_part, part, robot, problem)))
                most = CARRIED if part.carries else WAITING
                while len(waiting) > most:
                    first, job = waiting.popleft()
                    yield first, job.result()
        while waiting:
            first, job = waiting.popleft()
            yield first, job.result()
    finally:
        for _, job in waiting:
            job.cancel()


def _of_part(
    part: Part, robot: Robot, problem: Problem, read: Callable[[Part, Robot], Piece] = Part.piece
) -> _Found:
    rows = part.stop - part.start
    try:
        piece = read(part, robot)
    except NothingUsableError as reason:
        return _Found(None, (part.left_out(reason),), rows)
    return _Found(problem.factors(piece), piece.record.notes, rows)


def _told(name: str, notes: list[str]) -> list[str]:
    found = [f"{name}: {note}" for note in notes[:NOTES]]
    if len(notes) > NOTES:
        found.append(f"{name}: {len(notes) - NOTES} further notes on later parts of it")
    return found
