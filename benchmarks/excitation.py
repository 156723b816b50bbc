"""Excitation: the condition number that `excite` reaches against a random search of ten times its time.

Both look for Fourier series of the same period and harmonics within the same limits, on one thread. The
random search draws the same random motions that a start of `excite` begins with, each as large as the limits
allow, and keeps the best; before anything is drawn it has the same compiled functions.
"""

from __future__ import annotations

import json
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from run import provenance

from armdyn import Robot
from armdyn.identification.excitation import Excitation, excite
from armdyn.identification.excitation.bounds import bounds_for
from armdyn.identification.excitation.excite import random_motion, search_for, shrunk
from armdyn.identification.excitation.search import Search

ROBOTS = ("panda", "ur10", "puma560")
TIMES = 10  # as long
STARTS, ITERATIONS = 2, 200


def random_search(search: Search, seconds: float) -> tuple[float, int]:
    """The least condition number found in so much processor time, and how many motions were looked at."""
    rng, count = np.random.default_rng(1), 0
    best, value = None, np.inf
    begin = process_time()
    while process_time() - begin < seconds:
        x, found = random_motion(search, rng)
        count += 1
        if found < value:
            best, value = x, found
    kept = None if best is None else shrunk(search, best, search.fine(), 0.999, 1000)
    assert kept is not None
    values = np.linalg.svd(search.triangle(kept, 1e-3), compute_uv=False)
    return float(values[0] / values[-1]), count


def most_used(found: Excitation) -> float:
    """The largest part of a limit at 1 kHz, looked at without the search's own code."""
    robot, limits = found.robot, found.limits
    q, qd, qdd = found(np.arange(0.0, found.duration, 1e-3))
    tau = robot.inverse_dynamics(q, qd, qdd)
    half = (limits.upper - limits.lower) / 2
    parts = [abs(q - (limits.upper + limits.lower) / 2) / half]
    parts += [abs(x) / limit for x, limit in ((qd, limits.velocity), (tau, limits.torque))]
    parts += [abs(qdd) / limits.acceleration, abs(np.diff(qdd, axis=0)) / 1e-3 / limits.jerk]
    return float(max(x.max() for x in parts))


def run(console: Console, folder: Path, quick: bool) -> int:
    """A row for each robot; how many are worse than the random search."""
    table = Table("robot", "excite", "time", "most of a limit", "random search", "time", "motions")
    missed = 0
    rows: list[dict[str, Any]] = []
    for name in ROBOTS[: 1 if quick else None]:
        robot = Robot.load(name)
        effort: dict[str, Any] = {"starts": 1 if quick else STARTS, "iterations": ITERATIONS}
        excite(robot, starts=1, iterations=2)  # compiles
        begin = process_time()
        found = excite(robot, workers=1, **effort)
        seconds = process_time() - begin
        bounds = bounds_for(robot, 0.95, None)
        search = search_for(robot, found.basis, bounds, rng=np.random.default_rng(0))
        theirs, count = random_search(search, TIMES * seconds)
        table.add_row(
            robot.name,
            f"{found.condition:.4g}",
            f"{seconds:.3g} s",
            f"{100 * most_used(found):.2f} %",
            f"{theirs:.4g}",
            f"{TIMES * seconds:.3g} s",
            str(count),
        )
        missed += found.condition > theirs
        rows.append({"what": robot.name, "condition": found.condition, "seconds": seconds, "random": theirs})
    console.print(table)
    folder.mkdir(parents=True, exist_ok=True)
    record = {"benchmark": "Motions for identification", **provenance(), "figures": rows}
    (folder / "excitation.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return missed
