"""How long 300 variants of a robot take, each called once, and how long a command and an import take.

python benchmarks/variants.py ARM KIND     one such process, with an empty cache: prints seconds
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections.abc import Iterator
from importlib import resources
from time import perf_counter, process_time

import numpy as np

from armdyn import Robot

COUNT = 300
KINDS = ("parameters", "payload", "geometry")


def variants(arm: str, kind: str) -> Iterator[Robot]:
    """Robots that differ in their numbers: dynamic parameters, a body at the tip, or lengths of links."""
    robot = Robot.load(arm)
    text = (resources.files("armdyn.description") / "robots" / f"{arm}.toml").read_text("utf-8")
    table = tomllib.loads(text)
    lengths = [
        (link, key, link[key])
        for link in table["link"]
        for key in ("a", "d")
        if isinstance(link.get(key), float) and link[key]
    ]
    for k in range(1, COUNT + 1):
        if kind == "parameters":
            yield robot.with_parameters(robot.parameters * (1 + k / 1000))
        elif kind == "payload":
            yield robot.with_payload(k / 100, [0.001 * k, 0.02, 0.1])
        else:
            for link, key, length in lengths:
                link[key] = length * (1 + k / 1000)
            yield Robot.from_dict(table)


def main(arm: str, kind: str) -> None:
    warnings.simplefilter("ignore")
    Robot.load("pendulum").gravity(np.zeros(1))  # LLVM itself is there
    start, busy = perf_counter(), process_time()
    for robot in variants(arm, kind):
        x = np.ones(robot.n)
        robot.inverse_dynamics(x, x, x)
    print(perf_counter() - start, process_time() - busy)


def time_of_variants(arm: str, kind: str) -> tuple[float, float]:
    """Seconds, and seconds of processor time."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"ARMDYN_CACHE": folder}
        done = subprocess.run(
            [sys.executable, __file__, arm, kind], env=environment, check=True, capture_output=True, text=True
        )
    seconds, processor = map(float, done.stdout.split())
    return seconds, processor


def time_of_command(*arguments: str, runs: int = 5) -> float:
    """The shortest time of a Python process."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        times.append(perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main(*sys.argv[1:])
