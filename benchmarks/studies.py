"""10⁵ variants of the PUMA 560: torques along a cycle, root mean square at the motors.

    python benchmarks/run.py studies            10⁵ variants
    python benchmarks/run.py --quick studies    10⁴

Two worker processes of Dask against one process with one thread, many variants in one call, and the same one
variant after the other, of which fewer are run. And many variants in one call against one after the other, in
one thread. Each contender has a process of its own, whose memory is read when it ends, that of its workers
included; they take turns, and the best of the rounds counts. The tables of Dask and of one process must be
equal, bit for bit; those of the loop equal but for rounding.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from run import provenance
from timing import Figure

from armdyn import Robot, Trajectory, motor_loads, study
from armdyn.studies import Cases

TITLE = "Studies"
VARIANTS, QUICK_VARIANTS = 100_000, 10_000
FEW = 100  # times fewer variants for the loop
ROUNDS = 2
AT_LEAST, VECTORISED = 1.6, 20.0
RANGES = {"a2": (0.35, 0.5), "a3": (-0.05, 0.05), "d4": (0.35, 0.5), "payload.mass": (0.0, 3.0)}
START, END = [-0.4, -0.2, -1.2, 0, 0.4, 0], [-2.6, 0.9, -2.0, 0.8, 0.5, 1]
THERE = Trajectory.quintic(START, END, 0.8, step=0.01)
CYCLE = THERE + THERE.reversed()  # 161 samples


def loads(robot: Robot, row: Any) -> dict[str, float]:
    """One variant, as one writes it."""
    found = motor_loads(robot, CYCLE)
    return {f"rms_torque.{name}": x for name, x in zip(found.names, found.rms_torque, strict=True)}


def table(variants: int) -> Cases:
    return Cases.draw(RANGES, variants, seed=1)


def memory() -> float:
    """GB that this process has had at its highest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def contender(who: str, many: str, variants: int, path: str) -> None:
    """Run one, and write its seconds, memory and results."""
    robot, cases = Robot.load("puma560"), table(variants)
    options: dict[str, Any] = {"motion": CYCLE} if many == "many" else {}
    what: Any = "motor_loads" if many == "many" else loads
    if who == "dask":
        import dask
        from dask_states import KEEP
        from distributed import Client, LocalCluster

        size = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with dask.config.set(KEEP), LocalCluster(**size) as cluster, Client(cluster) as client:
            study(what, table(64), robot=robot, executor=client, **options)  # first use
            start = perf_counter()
            found = study(what, cases, robot=robot, executor=client, **options)
            seconds = perf_counter() - start
            used = memory() + sum(client.run(memory).values())
    else:
        study(what, table(64), robot=robot, workers=1, **options)
        start = perf_counter()
        found = study(what, cases, robot=robot, workers=1, **options)
        seconds, used = perf_counter() - start, memory()
    assert not found.failed.any()
    rms = {name: x for name, x in found.results.items() if name.startswith("rms_torque")}
    np.savez(path, seconds=seconds, memory=used, **rms)


def of(who: str, many: str, variants: int) -> dict[str, np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/found.npz"
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, __file__, who, many, str(variants), path]
        subprocess.run(command, check=True, env=environment)
        with np.load(path) as found:
            return dict(found)


def best(rounds: list[dict[str, np.ndarray]]) -> float:
    return min(float(one["seconds"]) for one in rounds)


def check_equal(a: dict[str, np.ndarray], b: dict[str, np.ndarray], rounding: float) -> None:
    """The same results, or the same but for rounding; of fewer variants those there are."""
    for name in (name for name in a if name.startswith("rms_torque")):
        few = min(len(a[name]), len(b[name]))
        np.testing.assert_allclose(a[name][:few], b[name][:few], rtol=rounding, atol=0)


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; how many targets were missed."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        console.print(f"{TITLE}: Dask is not installed")
        return 0
    variants = QUICK_VARIANTS if quick else VARIANTS
    sizes = {"many": variants, "loop": variants // FEW}
    rounds: dict[tuple[str, str], list[dict[str, np.ndarray]]] = {}
    for _ in range(ROUNDS):
        for key in ((who, many) for many in sizes for who in ("one", "dask")):
            rounds.setdefault(key, []).append(of(*key, sizes[key[1]]))
    for many in sizes:
        check_equal(rounds["one", many][0], rounds["dask", many][0], 0.0)
    check_equal(rounds["one", "many"][0], rounds["one", "loop"][0], 1e-12)
    each = {key: 1e9 * best(found) / sizes[key[1]] for key, found in rounds.items()}
    used = {key: max(float(one["memory"]) for one in found) for key, found in rounds.items()}

    def note(*keys: tuple[str, str]) -> str:
        several = [" ".join(f"{float(one['seconds']):.2f}" for one in rounds[key]) for key in keys]
        return f"{' against '.join(several)} s; {' and '.join(f'{used[key]:.2f}' for key in keys)} GB"

    def figure(what: str, ours: tuple[str, str], peer: str, theirs: tuple[str, str], least: float) -> Figure:
        return Figure(what, each[ours], peer, each[theirs], least, note(ours, theirs))

    one, dask = "one process, one thread", "two Dask workers"
    figures = [
        figure(f"{variants:.0e} variants, {dask}", ("dask", "many"), one, ("one", "many"), AT_LEAST),
        figure(
            f"{sizes['loop']} variants one by one, {dask}", ("dask", "loop"), one, ("one", "loop"), AT_LEAST
        ),
        figure(
            f"{variants:.0e} variants, many in a call",
            ("one", "many"),
            f"one by one, {sizes['loop']} variants",
            ("one", "loop"),
            VECTORISED,
        ),
    ]
    printed = Table("what", "each", "other", "each", "ratio", "target", "note", title=TITLE)
    for f in figures:
        cells = (
            f"{f.ours / 1e3:.3g} µs",
            f.peer,
            f"{f.theirs / 1e3:.3g} µs",
            f"{f.ratio:.3g}",
            f"{f.target:g}",
        )
        printed.add_row(f.what, *cells, f.note, style=None if f.met else "red")
    console.print(printed)
    record: dict[str, Any] = {
        "benchmark": TITLE,
        **provenance(),
        "memory_GB": max(used.values()),
        "figures": [{**asdict(f), "ratio": f.ratio, "met": f.met} for f in figures],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "studies.json").write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return sum(not f.met for f in figures)


if __name__ == "__main__":
    contender(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
