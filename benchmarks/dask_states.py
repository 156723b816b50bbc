"""10⁸ states of the Panda on two worker processes of Dask, against two processes without it.

    python benchmarks/run.py dask_states            10⁸ states
    python benchmarks/run.py --quick dask_states    10⁷

Both draw the same random states, block by block, and find the largest and the root-mean-square torque of each
joint: what its motor has to give. The results must be equal. A worker has one thread and 0.9 GB; what all
processes had at their highest, this one with Dask's scheduler included, is measured and must stay within 2 GB.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from run import machine
from timing import Figure

import armdyn
from armdyn import Robot, set_threads

TITLE = "Dask"
ROWS = 200_000  # in a block
BLOCKS = 500
QUICK_BLOCKS = 50
WORKERS = 2
WORKER_MEMORY = "0.9GB"
MOST_MEMORY = 2.0  # GB, of all processes
AT_LEAST = 0.8  # of the throughput of bare processes
SPREAD = {"q": 2.0, "qd": 2.0, "qdd": 10.0}  # rad, rad/s, rad/s²
Torques = tuple[np.ndarray, np.ndarray]  # largest, and mean of squares


def states(kind: str, block: int, n: int) -> np.ndarray:
    """Random positions, velocities or accelerations (ROWS, n) of a block."""
    seed = (list(SPREAD).index(kind), block)
    return np.random.default_rng(seed).uniform(-SPREAD[kind], SPREAD[kind], (ROWS, n))


# ---- with Dask ---------------------------------------------------------------------------------------------


def drawn(blocks: np.ndarray, kind: str, n: int) -> np.ndarray:
    """The states of the one block whose number is given."""
    return states(kind, int(blocks[0]), n)


def by_dask(robot: Robot, blocks: int) -> Torques:
    """The states are drawn from the numbers of the blocks, so that Dask makes one task of all that a block is.

    States that come from elsewhere are best chunked alike: positions, velocities and accelerations of a block
    are else computed or read on different workers, and sent around.
    """
    import dask
    import dask.array as da

    numbers = da.arange(blocks, chunks=1)
    shape = {"chunks": ((ROWS,) * blocks, (robot.n,)), "new_axis": 1, "meta": np.empty((0, 0))}
    q, qd, qdd = (da.map_blocks(drawn, numbers, kind, robot.n, dtype=float, **shape) for kind in SPREAD)
    tau = robot.inverse_dynamics(q, qd, qdd)
    largest, squares = dask.compute(abs(tau).max(axis=0), (tau**2).mean(axis=0))
    return largest, squares


def highest_memory() -> float:
    """GB that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def time_of_dask(robot: Robot, blocks: int) -> tuple[float, Torques, float]:
    """Seconds, result, GB of all processes at their highest."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, memory_limit=WORKER_MEMORY, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        by_dask(robot, WORKERS)  # first use
        start = perf_counter()
        found = by_dask(robot, blocks)
        seconds = perf_counter() - start
        memory = highest_memory() + sum(client.run(highest_memory).values())
    return seconds, found, memory


# ---- without it --------------------------------------------------------------------------------------------


def of_blocks(robot: Robot, blocks: Iterable[int]) -> Torques:
    """Largest, and sum of squares."""
    largest, squares = np.zeros(robot.n), np.zeros(robot.n)
    for block in blocks:
        tau = robot.inverse_dynamics(*(states(kind, block, robot.n) for kind in SPREAD))
        largest = np.maximum(largest, abs(tau).max(axis=0))
        squares += (tau**2).sum(axis=0)
    return largest, squares


def worker(robot: Robot, blocks: range, begin: Any, results: Any) -> None:
    """A bare process: it gets ready, waits until all are, and works."""
    set_threads(1)
    of_blocks(robot, blocks[:1])  # first use
    begin.wait()
    results.put(of_blocks(robot, blocks))


def time_of_processes(robot: Robot, blocks: int) -> tuple[float, Torques]:
    """Seconds from when all are ready until all have answered, and the result."""
    context = get_context("spawn")
    begin, results = context.Barrier(WORKERS + 1), context.Queue()
    processes = [
        context.Process(target=worker, args=(robot, range(k, blocks, WORKERS), begin, results))
        for k in range(WORKERS)
    ]
    for process in processes:
        process.start()
    begin.wait()
    start = perf_counter()
    found = [results.get() for _ in processes]
    seconds = perf_counter() - start
    for process in processes:
        process.join()
    largest, squares = zip(*found, strict=True)
    return seconds, (np.max(largest, axis=0), np.sum(squares, axis=0) / (ROWS * blocks))


# ---- both --------------------------------------------------------------------------------------------------


def check(ours: Torques, theirs: Torques) -> None:
    """Stop if the results differ: the sums only by the order of their terms."""
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-12)


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; how many targets were missed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        console.print(f"{TITLE}: Dask is not installed")
        return 0
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    robot, blocks = Robot.load("panda"), QUICK_BLOCKS if quick else BLOCKS
    rows = ROWS * blocks
    before, bare = time_of_processes(robot, blocks)
    seconds, lazy, memory = time_of_dask(robot, blocks)
    after, _ = time_of_processes(robot, blocks)
    check(lazy, bare)
    theirs = min(before, after)
    what = f"{rows:.0e} inverse dynamics with their states, {WORKERS} processes"
    note = f"{seconds:.1f} s, {memory:.2f} GB in all; bare {before:.1f} and {after:.1f} s"
    found = Figure(what, 1e9 * seconds / rows, "bare processes", 1e9 * theirs / rows, AT_LEAST, note)
    table = Table("what", "Dask", "bare processes", "ratio", "target", "note", title=TITLE)
    style = None if found.met and memory <= MOST_MEMORY else "red"
    cells = (f"{found.ours:.0f} ns", f"{found.theirs:.0f} ns", f"{found.ratio:.2f}", f"{AT_LEAST:g}")
    table.add_row(what, *cells, note, style=style)
    console.print(table)
    torques = ", ".join(f"{x:.0f}" for x in lazy[0])
    console.print(f"Results are equal; largest torques [N m]: {torques}. Memory at most {MOST_MEMORY:g} GB.")
    record: dict[str, Any] = {
        "benchmark": TITLE,
        "armdyn": armdyn.__version__,
        "machine": machine(),
        "memory_GB": memory,
        "figures": [{**asdict(found), "ratio": found.ratio, "met": found.met}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dask_states.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return (not found.met) + (memory > MOST_MEMORY)
