"""How long the first call of a function takes in a fresh process, with an empty cache and from the cache.

python benchmarks/first_use.py ARM FUNCTION     one such process: prints seconds and operations

Several functions, one after the other, are joined by "+".
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from time import perf_counter, process_time

import robots
from functions import INPUTS

from armdyn import Robot
from armdyn.program import Program
from armdyn.program.loops import extent


@dataclass(frozen=True)
class FirstUse:
    """Seconds of the first call after imports and making the robot."""

    function: str
    joints: int
    operations: int
    compiled: float
    processor: float  # the same in processor time: what others take of the machine is not in it
    cached: float


def first_use(arm: str, function: str, runs: int) -> FirstUse:
    """The best of some runs, each with a cache folder of its own; the cache is used several times."""
    compiled, cached = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            compiled.append(_process(arm, function, folder))
            cached += [_process(arm, function, folder, count=False) for _ in range(2)]
    found = compiled[0]
    return FirstUse(
        function,
        found["joints"],
        found["operations"],
        min(run["seconds"] for run in compiled),
        min(run["processor"] for run in compiled),
        min(run["seconds"] for run in cached),
    )


def _process(arm: str, function: str, folder: str, count: bool = True) -> dict:
    command = [sys.executable, __file__, arm, function, *(["count"] if count else [])]
    done = subprocess.run(
        command, env=os.environ | {"ARMDYN_CACHE": folder}, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def operations_of(robot: Robot, function: str) -> int:
    """Those of a call: of the function's program, or of the loop that it is."""
    body = robot._kernels[function].specification.body
    return body.operations if isinstance(body, Program) else extent(body, {}).operations


def main(arm: str, function: str, count: str = "") -> None:
    robot = robots.arm(arm)
    state = [x[0].copy() for x in robots.states(robot, 1)]
    functions = function.split("+")
    calls = [(getattr(robot, name), state[: INPUTS[name]]) for name in functions]
    start, busy = perf_counter(), process_time()
    for call, given in calls:
        call(*given)
    seconds, processor = perf_counter() - start, process_time() - busy
    operations = sum(operations_of(robot, name) for name in functions) if count else None
    print(
        json.dumps({"seconds": seconds, "processor": processor, "joints": robot.n, "operations": operations})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
