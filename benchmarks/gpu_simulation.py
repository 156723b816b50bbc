"""A million Pandas on a GPU: `simulate` with CuPy arrays, and JAX running the same forward dynamics.

    python benchmarks/gpu_simulation.py [ARMS [STEPS]]     needs CuPy and a GPU; JAX is optional

Fourth-order Runge–Kutta with constant torques, 1 ms a step. Of `simulate` the whole call is timed: checks,
steps, the work of the torques, energies at the end. `kernel` is the loop alone, by events of the GPU. JAX
runs `robot.jax("forward_dynamics")` under `lax.scan`, mapped over the arms, which are adjacent in memory, and
computes neither works nor energies. Agreement with the CPU is that of 64 arms after 200 steps. It prints a
table and writes build/benchmarks/gpu_simulation.json.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from armdyn import Robot, simulate
from armdyn.kernels.loop_kernel import LoopKernel

RESULTS = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "gpu_simulation.json"
ROBOT, STEP = "panda", 1e-3  # s
ARMS, STEPS = 1_000_000, 1000
CHECKED, CHECKED_STEPS = 64, 200
JAX_STEPS = 100
LEAST, LEAST_TO_JAX = 2e9, 30.0  # steps of arms a second in float64; times JAX


def states(robot: Robot, arms: int, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    """Positions and velocities to 1 rad and 1 rad/s, torques to 5 N m: (arms, n) each."""
    rng = np.random.default_rng(1)
    return tuple(rng.uniform(-x, x, (arms, robot.n)).astype(dtype) for x in (1.0, 1.0, 5.0))


def ran(robot: Robot, q: Any, qd: Any, tau: Any, steps: int, **more: Any) -> Any:
    """The run; the first and the last instant are kept."""
    duration = steps * STEP
    more = {"output": duration, "limits": "ignore", **more}
    return simulate(robot, q, qd, duration, tau, method="rk4", step=STEP, **more)


def agreement(robot: Robot, dtype: Any) -> float:
    """The largest difference of positions from the CPU [rad]."""
    given = states(robot, CHECKED)
    expected = ran(robot, *given, CHECKED_STEPS).q[-1]
    found = ran(robot, *(cp.asarray(x, dtype=dtype) for x in given), CHECKED_STEPS).q[-1].get()
    return float(np.abs(found - expected).max())


def timed(call: Callable[[], Any], repeats: int = 3) -> float:
    """The best time of a call that ends with the GPU's work done [s]."""
    best = float("inf")
    for _ in range(repeats):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - start)
    return best


class Launches:
    """Within it, the time that loops take on the GPU is added up [s]."""

    def __enter__(self) -> Launches:
        self.events: list[tuple[Any, Any]] = []
        self._own = LoopKernel._on_gpu

        def watched(kernel: LoopKernel, *args: Any) -> None:
            start, end = cp.cuda.Event(), cp.cuda.Event()
            start.record()
            self._own(kernel, *args)
            end.record()
            self.events.append((start, end))

        LoopKernel._on_gpu = watched  # type: ignore[method-assign]
        return self

    def __exit__(self, *problem: object) -> None:
        LoopKernel._on_gpu = self._own  # type: ignore[method-assign]

    @property
    def seconds(self) -> float:
        cp.cuda.Device().synchronize()
        return sum(cp.cuda.get_elapsed_time(*pair) for pair in self.events) * 1e-3


def of_simulate(robot: Robot, dtype: Any, arms: int, steps: int, **more: Any) -> dict[str, Any]:
    given = [cp.asarray(x) for x in states(robot, arms, dtype)]
    start = time.perf_counter()
    ran(robot, *given, 2, **more)
    cp.cuda.Device().synchronize()
    first = time.perf_counter() - start
    whole = timed(lambda: ran(robot, *given, steps, **more))
    with Launches() as launches:
        ran(robot, *given, steps, **more)
    kernel = launches.seconds
    row = {
        "what": f"simulate, {np.dtype(dtype).name}" + "".join(f", {k}={v}" for k, v in more.items()),
        "arms": arms,
        "steps": steps,
        "per_second": arms * steps / whole,
        "kernel_per_second": arms * steps / kernel,
        "launches": len(launches.events),
        "first_call": first,
    }
    return row | occupied(robot, dtype, given, more)


def occupied(robot: Robot, dtype: Any, given: list[Any], more: dict[str, Any]) -> dict[str, int]:
    """Registers and local memory of the loop's kernel."""
    from armdyn.kernels import cupy as on_cupy

    found: list[Any] = []
    own = on_cupy.function

    def watched(*args: Any) -> Any:
        found.append(own(*args))
        return found[-1]

    on_cupy.function = watched
    try:
        ran(robot, *(x[:128] for x in given), 2, **more)
    finally:
        on_cupy.function = own
    kernel = found[-1]
    return {"registers": int(kernel.num_regs), "local_bytes": int(kernel.local_size_bytes)}


def of_jax(robot: Robot, arms: int, steps: int) -> dict[str, Any] | None:
    """The same steps by JAX; None where it is not installed."""
    try:
        import jax
    except ModuleNotFoundError:
        return None
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # CuPy has its own memory there
    jax.config.update("jax_enable_x64", True)
    forward = jax.vmap(robot.jax("forward_dynamics"), in_axes=-1, out_axes=-1)

    def integrated(q: Any, qd: Any, tau: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            q, v = state
            a = forward(q, v, tau)
            v2 = v + STEP / 2 * a
            a2 = forward(q + STEP / 2 * v, v2, tau)
            v3 = v + STEP / 2 * a2
            a3 = forward(q + STEP / 2 * v2, v3, tau)
            v4 = v + STEP * a3
            a4 = forward(q + STEP * v3, v4, tau)
            return (
                q + STEP / 6 * (v + 2 * (v2 + v3) + v4),
                v + STEP / 6 * (a + 2 * (a2 + a3) + a4),
            ), None

        return jax.lax.scan(step, (q, qd), None, length=steps)[0]

    given = [jax.numpy.asarray(x.T) for x in states(robot, arms)]
    run = jax.jit(integrated)
    start = time.perf_counter()
    jax.block_until_ready(run(*given))
    first = time.perf_counter() - start
    best = timed(lambda: jax.block_until_ready(run(*given)))
    few = [jax.numpy.asarray(x.T) for x in states(robot, CHECKED)]
    expected = ran(robot, *states(robot, CHECKED), steps).q[-1]
    error = float(np.abs(np.asarray(jax.jit(integrated)(*few)[0]).T - expected).max())
    return {
        "what": f"JAX {jax.__version__}, lax.scan, float64, {jax.devices()[0].device_kind}",
        "arms": arms,
        "steps": steps,
        "per_second": arms * steps / best,
        "first_call": first,
        "error": error,
    }


def main() -> None:
    arms, steps = (int(x) for x in (*sys.argv[1:3], *(str(y) for y in (ARMS, STEPS)[len(sys.argv[1:3]) :])))
    robot = Robot.load(ROBOT)
    rows = []
    for dtype in (np.float64, np.float32):
        rows.append(of_simulate(robot, dtype, arms, steps) | {"error": agreement(robot, dtype)})
        print(line(rows[-1]), flush=True)
    cp.get_default_memory_pool().free_all_blocks()
    found = of_jax(robot, arms, JAX_STEPS)
    if found is None:
        print("JAX is not installed: no comparison with it")
    else:
        found["simulate_is_faster"] = rows[0]["per_second"] / found["per_second"]
        rows.append(found)
        print(line(found))
        print(f"simulate / JAX: {found['simulate_is_faster']:.0f} (at least {LEAST_TO_JAX:g} is the aim)")
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    said = "met" if rows[0]["per_second"] >= LEAST else "missed"
    print(f"{name}: at least {LEAST:g} steps of arms a second in float64: {said}")
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"gpu": name, "cupy": cp.__version__, "rows": rows}, indent=1) + "\n")


def line(row: dict[str, Any]) -> str:
    more = [f"{row['per_second'] / 1e9:.3f}·10⁹ steps/s", f"first call {row['first_call']:.1f} s"]
    if "kernel_per_second" in row:
        more.insert(1, f"kernel {row['kernel_per_second'] / 1e9:.3f}·10⁹")
        more.append(f"{row['launches']} launches, {row['registers']} registers, {row['local_bytes']} B local")
    return f"{row['what']}: {', '.join(more)}, {row['error']:.1e} rad from the CPU"


if __name__ == "__main__":
    main()
