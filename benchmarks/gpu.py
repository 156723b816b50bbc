"""Numeric functions of the Panda on a GPU, through the public methods on CuPy arrays.

    python benchmarks/gpu.py [ROWS]     needs CuPy and a GPU

Speeds are given as a ratio to the speed at which the same GPU copies memory, in the same run: bytes of inputs
and results over time. Errors are relative to the largest entry of each row; the reference is the CPU. It
prints a table and writes build/benchmarks/gpu.json. The machine needs neither a compiler nor the libraries
for equations.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from armdyn import Robot, backend
from armdyn.robot.functions import FUNCTIONS

RESULTS = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "gpu.json"
ROBOT = "panda"
ROWS = 4_000_000  # the regressor's results are 20 GB then
CHECKED = 512  # rows compared with the CPU
TARGETS = {  # least ratios to the copy's speed in float64: batch contiguous, rows contiguous
    "inverse_dynamics": (0.85, 0.65),
    "inertia": (0.85, 0.4),
    "forward_dynamics": (0.5, None),
    "regressor": (0.6, None),
    "inverse_dynamics_derivatives": (None, None),
    "forward_dynamics_derivatives": (None, None),
}
LEAST_DERIVATIVES = 2e9  # a second, batch contiguous, float64


@dataclass(frozen=True)
class Row:
    function: str
    dtype: str
    layout: str
    per_second: float
    ratio: float  # to the copy's speed
    error: float
    first_call: float  # s: recording, compiling, one launch
    kernels: list[dict[str, int]]
    target: float | None
    met: bool | None


def seconds(call: Callable[[], Any], repeats: int = 10) -> float:
    """The best time of a call, by events of the GPU around several of them."""
    call()
    best = float("inf")
    for _ in range(5):
        start, end = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(repeats):
            call()
        end.record()
        end.synchronize()
        best = min(best, cp.cuda.get_elapsed_time(start, end) / repeats)
    return best * 1e-3


def copy_speed() -> float:
    """Bytes read and written a second by a copy on the device."""
    a = cp.zeros(2**29)
    b = cp.empty_like(a)
    return 2 * a.nbytes / seconds(lambda: cp.copyto(b, a))


def inputs(robot: Robot, count: int, rows: int, dtype: str, batch: bool) -> list[Any]:
    found = []
    for _ in range(count):
        x = cp.random.uniform(-2, 2, size=(robot.n, rows) if batch else (rows, robot.n)).astype(dtype)
        found.append(x.T if batch else x)
    return found


def measured(robot: Robot, name: str, dtype: str, batch: bool, rows: int, copy: float) -> Row:
    count = len(FUNCTIONS[name].inputs)
    given = inputs(robot, count, rows, dtype, batch)
    method = getattr(robot, name)
    started = time.perf_counter()
    results = as_tuple(method(*given))
    cp.cuda.Device().synchronize()
    first = time.perf_counter() - started
    error = error_of(robot, name, given, results)
    moved = sum(x.nbytes for x in (*given, *results))
    kernels = kernels_of(robot, name)
    del results
    cp.get_default_memory_pool().free_all_blocks()
    taken = seconds(lambda: method(*given))
    target = TARGETS[name][not batch] if dtype == "float64" else None
    met = None if target is None else moved / taken / copy >= target
    if name == "inverse_dynamics_derivatives" and batch and dtype == "float64":
        target, met = LEAST_DERIVATIVES, rows / taken >= LEAST_DERIVATIVES
    layout = "batch contiguous" if batch else "rows contiguous"
    return Row(name, dtype, layout, rows / taken, moved / taken / copy, error, first, kernels, target, met)


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def error_of(robot: Robot, name: str, given: list[Any], results: tuple[Any, ...]) -> float:
    """The largest difference from the CPU, relative to the largest entry of each row."""
    states = [cp.asnumpy(x[:CHECKED]).astype(float) for x in given]
    with backend("compiled" if importlib.util.find_spec("llvmlite") else "evaluator"):
        expected = as_tuple(getattr(robot, name)(*states))
    worst = 0.0
    for y, right in zip(results, expected, strict=True):
        found, right = (x.reshape(CHECKED, -1) for x in (cp.asnumpy(y[:CHECKED]), np.asarray(right)))
        error = (np.abs(found - right).max(1) / np.abs(right).max(1)).max()
        worst = float(np.maximum(worst, error))  # NaN stays
    return worst


def kernels_of(robot: Robot, name: str) -> list[dict[str, int]]:
    """Registers and spilled bytes of the kernels made last."""
    plan = list(robot._kernels[name].on("cuda")._plans.values())[-1]
    launches = list(plan.launches.values())[-1]
    return [
        {
            "registers": x.code.function.num_regs,
            "local": x.code.function.local_size_bytes,
            "shared": x.code.shared,
        }
        for x in launches
    ]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    robot, copy = Robot.load(ROBOT), copy_speed()
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cp.__version__}, copy {copy / 1e12:.2f} TB/s, {rows} rows", flush=True)
    found = []
    for function in TARGETS:
        for dtype in ("float64", "float32"):
            for batch in (True, False):
                row = measured(robot, function, dtype, batch, rows, copy)
                found.append(row)
                told = {True: "met", False: "NOT MET", None: ""}[row.met]
                used = " ".join(f"{k['registers']}r{k['local']}l{k['shared']}s" for k in row.kernels)
                print(
                    f"{function:30} {dtype} {row.layout:16} "
                    f"{row.per_second / 1e9:7.2f}e9/s  {row.ratio:5.2f} of copy  "
                    f"error {row.error:.1e}  first {row.first_call:5.1f} s  {used}  {told}",
                    flush=True,
                )
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(
        json.dumps({"gpu": name, "copy": copy, "rows": [asdict(row) for row in found]}, indent=1)
    )


if __name__ == "__main__":
    main()
