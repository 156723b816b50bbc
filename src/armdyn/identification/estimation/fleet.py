"""`identify_fleet`: many robots in one call."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from armdyn.expression import ArmdynError, shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.estimation.fit import Fit
from armdyn.identification.estimation.identify import identify
from armdyn.identification.regression.collect import pool_of
from armdyn.output.progress import progress_bar
from armdyn.robot import Robot

OPTIONS = tuple(
    name
    for name, parameter in inspect.signature(identify).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name not in ("executor", "progress")
)
EACH = ("validate", "samples")  # options that belong to one robot


def identify_fleet(
    robots: Robot | Mapping[str, Robot],
    logs: Mapping[str, Any],
    *,
    executor: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> dict[str, Fit | ArmdynError]:
    """`identify` for each of many robots: {name: logs} gives {name: Fit}, in the same order.

    `robots` is the description that all of them share, or {name: description}. `options` are those of
    `identify`; `validate` and `samples` are {name: …} here, and may leave robots out. Where a robot's logs
    are refused, the error stands in the place of its fit, and the others are not affected. `executor` (of
    `concurrent.futures`, or a Dask `Client`) takes one robot at a time.
    """
    tasks = [(name, *_task(name, robots, logs, options)) for name in _names(robots, logs, options)]
    found: dict[str, Fit | ArmdynError] = {}
    with progress_bar("identify", progress) as update:
        for name, fit in _all(tasks, executor):
            found[name] = fit
            update(len(found) / len(tasks))
    return found


def _all(tasks: list[Any], executor: Any) -> Iterator[tuple[str, Fit | ArmdynError]]:
    pool = pool_of(executor)
    if pool is None:
        for name, *task in tasks:
            yield name, _one(*task)
        return
    jobs: list[tuple[str, Future[Fit | ArmdynError]]] = []
    try:
        jobs += [(name, pool.submit(_one, *task)) for name, *task in tasks]
        for name, job in jobs:
            yield name, job.result()
    finally:
        for _, job in jobs:
            job.cancel()


def _one(robot: Robot, logs: Any, options: dict[str, Any]) -> Fit | ArmdynError:
    try:
        return identify(robot, logs, progress=False, **options)
    except ArmdynError as problem:
        return problem


def _names(robots: Any, logs: Any, options: dict[str, Any]) -> list[str]:
    """The robots of the fleet; whatever is given by name is looked over."""
    if not isinstance(logs, Mapping) or not logs:
        raise IdentificationError(f"logs: expected {{name: logs}} of each robot, found {shown(logs)}")
    for option in options:
        check.one_of("option", option, *OPTIONS)
    by_name = {option: options[option] for option in EACH if options.get(option) is not None}
    if not isinstance(robots, Robot):
        by_name["robots"] = robots
    for what, given in by_name.items():
        if not isinstance(given, Mapping):
            raise IdentificationError(f"{what}: expected {{name: …}} of each robot, found {shown(given)}")
        for name in given.keys() - logs.keys():
            raise IdentificationError(f"{what}: '{name}' has no logs; there are: {', '.join(map(str, logs))}")
    for name in logs.keys() - by_name.get("robots", logs).keys():
        raise IdentificationError(f"robots: there is no description of '{name}'")
    return list(logs)


def _task(
    name: str, robots: Any, logs: Mapping[str, Any], options: dict[str, Any]
) -> tuple[Robot, Any, dict[str, Any]]:
    own = {key: value[name] for key in EACH if (value := options.get(key)) is not None and name in value}
    shared = {key: value for key, value in options.items() if key not in EACH}
    robot = robots if isinstance(robots, Robot) else robots[name]
    return check.robot(robot), logs[name], shared | own
