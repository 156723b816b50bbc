"""Small calls on a GPU: what a call costs whose work is little, on CuPy arrays and PyTorch tensors.

    python benchmarks/gpu_small.py [--grid FOLDER] [--check]     needs CuPy, PyTorch and a GPU

Times are of a call among 200 that are put on the stream one after the other, the best of several rounds;
those of a CUDA graph are of a replay. GRiD (`grid-rbd`, in FOLDER where it is not installed) is measured in
the same run if its compiler is there: it takes minutes. `--check` times nothing: it compares calls from
several threads and streams with calls one after the other, and is short enough for compute-sanitizer; with
`--long`, second derivatives too. It prints a table and writes build/benchmarks/gpu_small.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from armdyn import Robot, backend
from armdyn.robot.functions import FUNCTIONS

RESULTS = Path(__file__).resolve().parent.parent / "build" / "benchmarks" / "gpu_small.json"
ROBOT = "panda"
CALLS, ROUNDS = 200, 7
ROWS = {"inverse_dynamics": (256, 4096), "forward_dynamics_derivatives": (256, 4096)}
MANY = 100_000  # rows of a gradient
SECOND = ("inverse_dynamics_second_derivatives", "forward_dynamics_second_derivatives")
SECOND_ROWS = 4096
KNOTS = 65_536  # 1024 problems of 64
STEP = 0.01  # s, from knot to knot


def seconds(call: Callable[[], Any], calls: int = CALLS) -> float:
    """The time of a call among several [s]."""
    call()
    best = float("inf")
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def states(robot: Robot, function: str, rows: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.uniform(-2, 2, (rows, robot.n)).astype(dtype) for _ in FUNCTIONS[function].inputs]


def replayed(call: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
    """A CUDA graph of a call on tensors, and the results that it writes."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = call()
    return graph.replay, found


def rows_of(robot: Robot) -> Iterator[dict[str, Any]]:
    for function, sizes in ROWS.items():
        method = getattr(robot, function)
        for rows in sizes:
            for dtype in ("float32", "float64"):
                given = states(robot, function, rows, dtype)
                arrays, tensors = [cp.asarray(x) for x in given], [torch.tensor(x).cuda() for x in given]
                yield figure(function, rows, dtype, "armdyn, CuPy", partial(method, *arrays))
                yield figure(function, rows, dtype, "armdyn, PyTorch", partial(method, *tensors))
                replay, _ = replayed(partial(method, *tensors))
                yield figure(function, rows, dtype, "armdyn, CUDA graph", replay)
    yield from gradients(robot)


def figure(what: str, rows: int, dtype: str, by: str, call: Callable[[], Any]) -> dict[str, Any]:
    text = f"{what.replace('_', ' ')}, {rows} rows, {dtype}: {by}"
    return {"what": text, "seconds": seconds(call)}


def gradients(robot: Robot) -> Iterator[dict[str, Any]]:
    """Forward and backward passes, by positions alone and by all inputs; a product of PyTorch's for scale."""
    for rows in (256, MANY):
        given = [torch.tensor(x).cuda() for x in states(robot, "inverse_dynamics", rows, "float64")]
        for by in (1, 3):
            watched = [x.clone().requires_grad_(k < by) for k, x in enumerate(given)]
            leaves = watched[:by]
            what = f"forward and backward by {by} of 3"

            def passes(function: Callable[..., Any], watched: Any = watched, leaves: Any = leaves) -> Any:
                return torch.autograd.grad(function(*watched).sum(), leaves)

            yield figure(what, rows, "float64", "armdyn, PyTorch", partial(passes, robot.inverse_dynamics))
            own = partial(passes, lambda q, qd, qdd: torch.sin(q) * qd * qdd)
            yield figure(what, rows, "float64", "sin(q) qd qdd of PyTorch", own)


def grid_rows(folder: str | None, robot: Robot, urdf: str) -> Iterator[dict[str, Any]]:
    """The same by GRiD, which computes in float32."""
    if folder:
        sys.path.insert(0, folder)
    import grid_rbd

    algorithms = ["dynamics-gradients", "integrators", "second-order"]
    handle = grid_rbd.load_robot(
        urdf, backend="torch", algorithm_list=algorithms, enable_mujoco_kernels=False, max_batch_size=KNOTS
    )
    peers = {
        "inverse_dynamics": handle.inverse_dynamics,
        "forward_dynamics_derivatives": handle.forward_dynamics_gradient,
        SECOND[0]: handle.idsva_so,
        SECOND[1]: handle.fdsva_so,
    }
    for function, sizes in (ROWS | dict.fromkeys(SECOND, (SECOND_ROWS,))).items():
        for rows in sizes:
            given = [torch.tensor(x).cuda() for x in states(robot, function, rows, "float32")]
            if function in SECOND:
                ours = partial(getattr(robot, function), *given)
                yield figure(function, rows, "float32", "armdyn, PyTorch", ours)
            yield figure(function, rows, "float32", "GRiD, PyTorch", partial(peers[function], *given))
    q, qd, tau = (torch.tensor(x).cuda() for x in states(robot, "forward_dynamics", KNOTS, "float32"))
    x = torch.cat([q, qd], -1)
    ours, theirs = Slopes(robot), partial(handle.plant_step_gradient, x, tau, STEP)
    apart = (ours(q, qd, tau) - theirs()).abs().max() / theirs().abs().max()
    print(f"slopes of a step differ from GRiD's by {float(apart):.1e} of the largest", flush=True)
    what = "slopes of a step of Euler"
    yield figure(what, KNOTS, "float32", "armdyn, PyTorch", partial(ours, q, qd, tau))
    yield figure(what, KNOTS, "float32", "GRiD's plant layer, PyTorch", theirs)


class Slopes:
    """∂(q, q̇ of the next knot)/∂(q, q̇, τ), (rows, 2n, 3n): what iLQR asks of a plant."""

    def __init__(self, robot: Robot) -> None:
        n, self.robot = robot.n, robot
        self.stay = torch.eye(2 * n, 3 * n, device="cuda")
        self.stay[:n, n : 2 * n] = STEP * torch.eye(n)

    def __call__(self, q: Any, qd: Any, tau: Any) -> Any:
        n = self.robot.n
        found = self.stay.repeat(len(q), 1, 1)
        by = torch.cat(self.robot.forward_dynamics_derivatives(q, qd, tau), -1)
        found[:, n:].add_(by, alpha=STEP)
        return found


def check(robot: Robot, long: bool) -> None:
    """Prepared calls from several threads and streams against calls one after the other, and the CPU."""
    puma = Robot.load("puma560")
    tried = [
        (robot, "inverse_dynamics"),
        (robot, "inertia"),
        (robot, "forward_dynamics_derivatives"),
    ]
    if long:  # their code takes the compiler a minute or two each; the last is a loop
        tried += [(puma, SECOND[0]), (puma, "inverse_dynamics_hessian_product"), (robot, SECOND[1])]
    for arm, function in tried:
        method = getattr(arm, function)
        given = [states(arm, function, 64, "float64") for _ in range(8)]
        for k, x in enumerate(given):
            x[0][...] += k
        alone = [as_tuple(method(*map(cp.asarray, x))) for x in given]
        with backend("evaluator"):
            expected = as_tuple(method(*given[0]))
        for y, right in zip(alone[0], expected, strict=True):
            assert np.abs(y.get() - right).max() < 1e-11 * np.abs(right).max(), function
        wrong: list[str] = []
        work = partial(compare, method, given, alone, wrong)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, (function, wrong)
        check_graph(method, given, alone)
        print(f"{arm.name}, {function}: eight threads, streams and a graph agree", flush=True)
    check_loops()


def check_loops() -> None:
    """Closed loops, assembled from a guess that is given, as on the CPU; from several threads, too."""
    robot = Robot.load("five_bar")
    rng = np.random.default_rng(3)
    q = np.array(robot.assembly.reference) + rng.uniform(-0.2, 0.2, (64, robot.n))
    near = robot.joint_positions(q)
    q += rng.uniform(-1e-3, 1e-3, q.shape)
    qd, tau = rng.uniform(-1, 1, (2, 64, robot.n))
    with backend("evaluator"):
        expected = robot.forward_dynamics(q, qd, tau, near=near)
    method = partial(robot.forward_dynamics, near=cp.asarray(near))
    wrong = []

    def work(k: int) -> None:
        with cp.cuda.Stream(non_blocking=True):
            for _ in range(5):
                found = method(*map(cp.asarray, (q, qd, tau))).get()
                if not np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max():
                    wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, ("forward_dynamics, near", wrong)
    print("five-bar, forward_dynamics, near: four threads and the CPU agree", flush=True)


def compare(method: Any, given: Any, alone: Any, wrong: list[str], k: int) -> None:
    """Calls of one thread, on streams of its own."""
    with torch.cuda.stream(torch.cuda.Stream()):
        tensors = [torch.tensor(x).cuda() for x in given[k]]
        for _ in range(20):
            found = [y.cpu().numpy() for y in as_tuple(method(*tensors))]
            if not all(np.array_equal(y, x.get()) for y, x in zip(found, alone[k], strict=True)):
                wrong.append(f"{k} tensors")
    with cp.cuda.Stream(non_blocking=True) as own:
        arrays = [cp.asarray(x) for x in given[k]]
        for _ in range(20):
            results = as_tuple(method(*arrays))
            own.synchronize()
            if not all(np.array_equal(y.get(), x.get()) for y, x in zip(results, alone[k], strict=True)):
                wrong.append(f"{k} arrays")


def check_graph(method: Any, given: Any, alone: Any) -> None:
    """A graph whose inputs are filled anew, by PyTorch and by CuPy."""
    tensors = [torch.tensor(x).cuda() for x in given[0]]
    replay, found = replayed(partial(method, *tensors))
    for x, right in zip(given, alone, strict=True):
        for tensor, numbers in zip(tensors, x, strict=True):
            tensor.copy_(torch.tensor(numbers))
        replay()
        torch.cuda.synchronize()
        for y, expected in zip(as_tuple(found), right, strict=True):
            assert np.array_equal(y.cpu().numpy(), expected.get())
    arrays = [cp.asarray(x) for x in given[0]]
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        method(*arrays)
        stream.begin_capture()
        found = method(*arrays)
        graph = stream.end_capture()
        for x, right in zip(given, alone, strict=True):
            for array, numbers in zip(arrays, x, strict=True):
                array.set(numbers)
            graph.launch(stream)
            stream.synchronize()
            for y, expected in zip(as_tuple(found), right, strict=True):
                assert np.array_equal(y.get(), expected.get())


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grid", nargs="?", const="", help="measure GRiD, too; FOLDER where it is")
    parser.add_argument("--urdf", help="the Panda's URDF, for GRiD")
    parser.add_argument("--check", action="store_true", help="compare only, time nothing")
    parser.add_argument("--long", action="store_true", help="compare second derivatives, too")
    options = parser.parse_args()
    robot = Robot.load(ROBOT)
    if options.check:
        check(robot, options.long)
        return
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cp.__version__}, PyTorch {torch.__version__}", flush=True)
    found = []
    sources = [rows_of(robot)]
    if options.grid is not None:
        sources.append(grid_rows(options.grid or None, robot, options.urdf))
    for source in sources:
        for row in source:
            found.append(row)
            print(f"{row['what']:60} {row['seconds'] * 1e6:9.1f} us", flush=True)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    machine = f"one {name}, CuPy {cp.__version__}, PyTorch {torch.__version__}"
    when = datetime.now(UTC).isoformat(timespec="seconds")
    report = {"benchmark": "small calls on a GPU", "when": when, "machine": machine, "figures": found}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
