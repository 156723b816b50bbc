"""10⁸ states of the Panda on two worker processes of Dask, against two processes without it.

    python benchmarks/run.py dask_states            10⁸ states
    python benchmarks/run.py --quick dask_states    10⁷

Both draw the same random states, block by block, and find the root-mean-square torque of each joint: what
heats its motor. The results must be equal, and some blocks are compared number by number. A worker has one
thread and 0.9 GB; what all processes had at their highest, this one with Dask's scheduler included, is
measured and must stay within 2 GB.
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
from run import provenance
from timing import Figure

from armdyn import Robot, set_threads

TITLE = "Dask"
ROWS = 500_000  # in a block
BLOCKS = 200
QUICK_BLOCKS = 20
ROUNDS = 2  # of which the best counts
SAMPLES = 3  # blocks that are compared number by number
WORKERS = 2
WORKER_MEMORY = "0.9GB"
MOST_MEMORY = 2.0  # GB, of all processes
AT_LEAST = 0.8  # of the throughput of bare processes
SPREAD = {"q": 2.0, "qd": 2.0, "qdd": 10.0}  # rad, rad/s, rad/s²
# Dask's workers give every array back to the system when it is done with, which then has to clear memory for
# the next one; bare processes keep it. These variables of the C library make workers keep it, too.
KEEP = {f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 2**30 for name in ("TRIM", "MMAP")}


def states(kind: str, block: int, n: int) -> np.ndarray:
    """Random positions, velocities or accelerations (ROWS, n) of a block."""
    seed = (list(SPREAD).index(kind), block)
    return np.random.default_rng(seed).uniform(-SPREAD[kind], SPREAD[kind], (ROWS, n))


# ---- with Dask ---------------------------------------------------------------------------------------------


def drawn(blocks: np.ndarray, kind: str, n: int) -> np.ndarray:
    """The states of the one block whose number is given."""
    return states(kind, int(blocks[0]), n)


def lazy_torques(robot: Robot, blocks: int) -> Any:
    """Torques of all states, as a Dask array.

    Positions, velocities and accelerations come from the numbers of the blocks, so that Dask makes one task
    of all that is done with a block.
    """
    import dask.array as da

    numbers = da.arange(blocks, chunks=1)
    shape = {"chunks": ((ROWS,) * blocks, (robot.n,)), "new_axis": 1, "meta": np.empty((0, 0))}
    motion = (da.map_blocks(drawn, numbers, kind, robot.n, dtype=float, **shape) for kind in SPREAD)
    return robot.inverse_dynamics(*motion)


def highest_memory() -> float:
    """GB that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def time_of_dask(robot: Robot, blocks: int) -> tuple[float, np.ndarray, float]:
    """Seconds, root-mean-square torques, GB of all processes at their highest."""
    import dask
    from distributed import Client, LocalCluster

    size = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": WORKER_MEMORY}
    with (
        dask.config.set(KEEP),
        LocalCluster(dashboard_address=None, **size) as cluster,
        Client(cluster) as client,
    ):
        (lazy_torques(robot, WORKERS) ** 2).mean(axis=0).compute()  # first use
        start = perf_counter()
        tau = lazy_torques(robot, blocks)
        found = np.sqrt((tau**2).mean(axis=0).compute())
        seconds = perf_counter() - start
        memory = highest_memory() + sum(client.run(highest_memory).values())
        for block in np.linspace(0, blocks - 1, SAMPLES, dtype=int):
            np.testing.assert_array_equal(tau.blocks[block].compute(), torques(robot, block))
    return seconds, found, memory


# ---- without it --------------------------------------------------------------------------------------------


def torques(robot: Robot, block: int) -> np.ndarray:
    return robot.inverse_dynamics(*(states(kind, block, robot.n) for kind in SPREAD))


def of_blocks(robot: Robot, blocks: Iterable[int]) -> np.ndarray:
    """The sum of squares of each joint's torque."""
    return sum(((torques(robot, block) ** 2).sum(axis=0) for block in blocks), np.zeros(robot.n))


def worker(robot: Robot, blocks: range, begin: Any, results: Any) -> None:
    """A bare process: it gets ready, waits until all are, and works."""
    set_threads(1)
    of_blocks(robot, blocks[:1])  # first use
    begin.wait()
    results.put(of_blocks(robot, blocks))


def time_of_processes(robot: Robot, blocks: int) -> tuple[float, np.ndarray]:
    """Seconds from when all are ready until all have answered, and root-mean-square torques."""
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
    return seconds, np.sqrt(sum(found) / (ROWS * blocks))


# ---- both --------------------------------------------------------------------------------------------------


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
    bare, lazy = [], []
    for _ in range(ROUNDS):  # in turns, so that whatever disturbs the machine disturbs both alike
        bare.append(time_of_processes(robot, blocks))
        lazy.append(time_of_dask(robot, blocks))
    for (_, ours, _), (_, theirs) in zip(lazy, bare, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)  # sums of other orders
    seconds, bare_seconds = [row[0] for row in lazy], [row[0] for row in bare]
    memory = max(row[2] for row in lazy)
    what = f"{rows:.0e} inverse dynamics with their states, {WORKERS} processes"
    times = [" and ".join(f"{t:.1f}" for t in found) for found in (seconds, bare_seconds)]
    note = f"{times[0]} s, {memory:.2f} GB in all; bare {times[1]} s"
    found = Figure(
        what, 1e9 * min(seconds) / rows, "bare processes", 1e9 * min(bare_seconds) / rows, AT_LEAST, note
    )
    table = Table("what", "Dask", "bare processes", "ratio", "target", "note", title=TITLE)
    style = None if found.met and memory <= MOST_MEMORY else "red"
    cells = (f"{found.ours:.0f} ns", f"{found.theirs:.0f} ns", f"{found.ratio:.2f}", f"{AT_LEAST:g}")
    table.add_row(what, *cells, note, style=style)
    console.print(table)
    values = ", ".join(f"{x:.3g}" for x in lazy[0][1])
    console.print(f"Results are equal: {values} N m. Memory at most {MOST_MEMORY:g} GB.")
    record: dict[str, Any] = {
        "benchmark": TITLE,
        **provenance(),
        "memory_GB": memory,
        "figures": [{**asdict(found), "ratio": found.ratio, "met": found.met}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dask_states.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    return (not found.met) + (memory > MOST_MEMORY)
