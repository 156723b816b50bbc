"""What a joint of a tree costs: a dual arm, 1 + 2 times 7 joints, against the chain along one of its arms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import robots
from functions import INPUTS, TREE_WITHIN
from kernel_figures import Value
from timing import Call, race

from armdyn import Robot
from armdyn.kernels import set_threads

ARM = 7


def trees(rows: int, rounds: int) -> Iterator[Value]:
    """Operations and time a joint of the tree over those of the chain; matrices have zeros to write, too."""
    tree, chain = robots.dual_arm(ARM), robots.chain(1 + ARM)
    for function in INPUTS:
        if function.endswith("second_derivatives"):  # their operations grow faster than with the joints
            continue
        operations = [robot.program(function).operations / robot.n for robot in (tree, chain)]
        ratio = operations[0] / operations[1]
        yield Value(f"{function}: operations a joint, tree over chain", ratio)
        times = _times_a_joint(function, [tree, chain], rows, rounds)
        yield Value(f"{function}: time a joint of the tree", times[0], "ns")
        target = TREE_WITHIN.get(function)
        yield Value(f"{function}: time a joint, tree over chain", times[0] / times[1], at_most=target)


def _times_a_joint(function: str, arms: list[Robot], rows: int, rounds: int) -> list[float]:
    calls = []
    for robot in arms:
        given = robots.states(robot, rows)[: INPUTS[function]]
        result = getattr(robot, function)(*given)
        calls.append(Call(partial(getattr(robot, function), out=result), given, rows))
    try:
        times = race(calls, rounds, shortest=0.05, before=[partial(set_threads, 1)] * len(calls))
    finally:
        set_threads(None)
    return [ns / robot.n for ns, robot in zip(times, arms, strict=True)]
