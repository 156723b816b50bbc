"""Identification: a seven-joint arm from long logs, with time and memory, beside plain least squares.

Each figure comes from a process of its own, which is kept on one core and whose peak memory is read when it
ends. `plain` is what one would write with Pinocchio and NumPy: the regressor at every sample, one after the
other, with velocities and accelerations known, and `lstsq`; no filters, no choices, no standard errors.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from run import provenance

RATE = 1000.0  # Hz
ROWS = 100_000  # of a piece of the file that is written
MEMORY, SECONDS = 2.0, 30.0  # GB of all, s of 100 000 samples with bodies that can exist
LINEAR = 1.3  # times ten, at most, for ten times the samples


def motion(t: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇, q̈ (samples, n) of a Fourier series of ten seconds."""
    rng, w = np.random.default_rng(0), 2 * np.pi * 0.1
    a, b = 0.4 * rng.normal(size=(2, 5, n))
    k = np.arange(1, 6)
    s, c = np.sin(np.outer(t, k * w)), np.cos(np.outer(t, k * w))
    q = (s / k) @ a + (c / k) @ b
    return q, w * (c @ a - s @ b), -(w**2) * ((s * k) @ a + (c * k) @ b)


def recorded(robot: Any, first: int, rows: int) -> tuple[np.ndarray, ...]:
    """t, q, τ of samples with friction, noise of the encoders (10 µrad) and of the torques (0.1 N m)."""
    t = np.arange(first, first + rows) / RATE
    q, qd, qdd = motion(t, robot.n)
    rng = np.random.default_rng(first)
    tau = robot.inverse_dynamics(q, qd, qdd) + 0.3 * np.sign(qd) + 0.5 * qd
    return t, q + rng.normal(0, 1e-5, q.shape), tau + rng.normal(0, 0.1, q.shape)


def write(path: Path, samples: int) -> None:
    """A Parquet file, piece by piece."""
    import pyarrow
    import pyarrow.parquet

    from armdyn import Robot

    robot, writer = Robot.load("panda"), None
    for first in range(0, samples, ROWS):
        t, q, tau = recorded(robot, first, min(ROWS, samples - first))
        columns = {"t": t}
        columns |= {f"{name}{j + 1}": x[:, j] for name, x in (("q", q), ("tau", tau)) for j in range(robot.n)}
        table = pyarrow.table(columns)
        writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


# ---- what is measured, each in a process of its own --------------------------------------------------------


def ours(samples: int, path: str, free: bool) -> dict[str, Any]:
    from armdyn import Log, Robot, identify

    robot = Robot.load("panda")
    log = Log.open(path) if path else Log(*recorded(robot, 0, samples))
    start, wall = process_time(), perf_counter()
    fit = identify(robot, log, consistent=False if free else None, progress=False)
    return {
        "seconds": process_time() - start,
        "wall": perf_counter() - wall,
        "error": fit.training_error,
    }


def plain(samples: int, path: str, free: bool) -> dict[str, Any]:
    """Pinocchio's regressor sample by sample, columns of friction, and NumPy's lstsq."""
    import pinocchio

    from armdyn import Robot

    robot = Robot.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        robot.save(Path(folder) / "arm.urdf")
        model = pinocchio.buildModelFromUrdf(str(Path(folder) / "arm.urdf"))
    t, _, tau = recorded(robot, 0, samples)
    q, qd, qdd = motion(t, robot.n)
    data = model.createData()
    start, wall = process_time(), perf_counter()
    Y = np.empty((samples, robot.n, 10 * (model.njoints - 1) + 3 * robot.n))
    for k in range(samples):
        Y[k, :, : -3 * robot.n] = pinocchio.computeJointTorqueRegressor(model, data, q[k], qd[k], qdd[k])
    one = np.eye(robot.n)
    for j, x in enumerate((qd, np.sign(qd), np.ones_like(qd))):
        Y[:, :, Y.shape[2] - (3 - j) * robot.n :][:, :, : robot.n] = x[:, :, None] * one
    A = Y.reshape(-1, Y.shape[2])
    x = np.linalg.lstsq(A, tau.ravel(), rcond=None)[0]
    error = float(np.linalg.norm(A @ x - tau.ravel()) / np.linalg.norm(tau))
    return {
        "seconds": process_time() - start,
        "wall": perf_counter() - wall,
        "error": error,
    }


MEASURES = {"ours": ours, "plain": plain}


def alone(what: str, samples: int, path: str = "", free: bool = False) -> dict[str, Any]:
    """A measure in a process of its own, on one core."""
    command = [sys.executable, __file__, what, str(samples), path, str(int(free))]
    one = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "ARMDYN_THREADS": "1"}
    done = subprocess.run(command, env=os.environ | one, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run(console: Console, folder: Path, quick: bool) -> int:
    """A row for each log; how many targets are missed."""
    table = Table("what", "samples", "processor time", "a sample", "peak memory")
    found: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] = []

    def measured(name: str, what: str, samples: int, **given: Any) -> dict[str, Any]:
        found[name] = got = alone(what, samples, **given)
        rows.append({"what": name, "samples": samples, **got})
        cost = f"{1e6 * got['seconds'] / samples:.3g} µs"
        numbers = (f"{got['seconds']:.3g} s", cost, f"{got['memory']:.2f} GB")
        table.add_row(name, str(samples), *numbers)
        return got

    some = 20_000 if quick else 100_000
    bodies = measured("in memory", "ours", some)
    measured("in memory, bodies as estimated", "ours", some, free=True)
    if find_spec("pinocchio") is not None:
        measured("Pinocchio and lstsq", "plain", some)
    with tempfile.TemporaryDirectory() as place:
        sizes = (200_000, 1_000_000) if quick else (1_000_000, 10_000_000)
        files = []
        for samples in sizes:
            path = Path(place) / f"{samples}.parquet"
            write(path, samples)
            files.append(measured("from a Parquet file", "ours", samples, path=str(path)))
            found[f"Parquet {samples}"] = files[-1]
            path.unlink()
    console.print(table)
    folder.mkdir(parents=True, exist_ok=True)
    record = {"benchmark": "Identification", **provenance(), "figures": rows}
    (folder / "identification.json").write_text(json.dumps(record, indent=2) + "\n", "utf-8")
    growth = (files[1]["seconds"] / files[0]["seconds"]) / (sizes[1] / sizes[0])
    console.print(f"time of {sizes[1]} samples: {growth:.2f} times {sizes[1] // sizes[0]} times {sizes[0]}")
    missed = [
        bodies["seconds"] > SECONDS,
        growth > LINEAR,
        *(got["memory"] > MEMORY for got in (bodies, *files)),
    ]
    return sum(missed)


if __name__ == "__main__":
    name, samples, path, free = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    result = MEASURES[name](int(samples), path, free == "1")
    unit = 1e9 if sys.platform == "darwin" else 1e6
    result["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    print(json.dumps(result))
