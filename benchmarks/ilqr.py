"""A step of iLQR for the Panda, 64 knots: derivatives, backward pass, rollout, as in examples/ilqr.py.

    python benchmarks/run.py ilqr            on the CPU, beside Crocoddyl where it is installed
    python benchmarks/ilqr.py --gpu          on a GPU: needs PyTorch and CuPy (`--gpu cpu` tries it without)

Every contender begins at the same motions, four steps on the way, and takes one whole step without damping;
feedforward, gains and costs after the step must be the same before anything is timed. On the CPU each has one
thread. Crocoddyl solves one problem after the other. It takes 9 MB for each, so that 1024 would need 10 GB:
FEW of them take turns, and one is solved again and again, which finds its numbers in the cache.
Crocoddyl 3.2.1 needs Pinocchio 4.0.0 (with 4.1.0 its accelerations are wrong), and so a folder of its own:

    pip install --target FOLDER crocoddyl==3.2.1 pin==4.0.0
    PYTHONPATH=FOLDER/cmeel.prefix/lib/python3.11/site-packages python benchmarks/run.py ilqr

On a GPU all problems are solved side by side, once as PyTorch calls and once as a CUDA graph of them.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import robots

from armdyn import Robot, backend, set_threads

HERE = Path(__file__).resolve().parent
TITLE = "A step of iLQR"
MANY = 1024  # problems side by side
FEW = 16  # of Crocoddyl, which take turns
BEFORE = 4  # steps that were taken already: whole ones lead on from there
AGREEMENT = 1e-6  # of the largest number of each kind
CALLS, ROUNDS = 20, 5  # on a GPU

Arrays = tuple[np.ndarray, ...]


def example() -> Any:
    """examples/ilqr.py as a module."""
    found = importlib.util.spec_from_file_location("ilqr_example", HERE.parent / "examples" / "ilqr.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def problems(loop: Any, robot: Robot, arms: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """The task of the example for so many arms, and the states and torques about which a step is taken."""
    low, high = np.array([link.limits.position for link in robot.model.moving], float).T
    rng = np.random.default_rng(1)
    draws = rng.uniform(0.35, 0.65, (arms, 2, robot.n))
    q0, target = (low + (high - low) * draws[:, i] for i in range(2))
    task = loop.Reaching(robot, q0, target)
    (x, u, _), _ = loop.solve(task, newton=False, most=BEFORE)
    return task, x, u


def step(loop: Any, task: Any, x: np.ndarray, u: np.ndarray) -> Arrays:
    """k, K and the costs after a whole step, with NumPy."""
    arms = len(task.x0)
    k, K = loop.feedback(task, x, u, np.zeros(arms, bool), np.zeros(arms))
    states, torques = task.follow(u, x[:-1], k, K, np.ones(1))
    return k, K, task.cost(states, torques)[0]


def compare(found: Arrays, right: Arrays, who: str) -> None:
    for name, y, expected in zip(("feedforward", "gains", "costs"), found, right, strict=True):
        apart = np.abs(y - expected).max() / np.abs(expected).max()
        print(f"{who}: {name} differ by {apart:.1e} of the largest", flush=True)
        if not apart <= AGREEMENT:
            raise AssertionError(f"{who}: {name} differ by {apart:.2g} of the largest")


# ---- on the CPU --------------------------------------------------------------------------------------------


def run(console: Any, folder: Path, quick: bool) -> int:
    """Measure, print, save; no target is set, so none is missed."""
    from run import provenance

    loop, robot = example(), robots.arm("panda")
    peer = importlib.import_module("peers.with_crocoddyl") if importlib.util.find_spec("crocoddyl") else None
    notes = ["one thread each; times are for one problem"]
    notes += ["Crocoddyl's derivatives are those of the costs, too"] if peer else ["not installed: crocoddyl"]
    figures: list[dict[str, Any]] = []
    set_threads(1)
    for arms in (1, MANY):
        given = problems(loop, robot, arms)
        theirs = [peer.Step(loop, *given, arm) for arm in range(min(arms, FEW))] if peer else []
        if theirs:
            k, K, cost = step(loop, *given)
            found = (np.stack(x) for x in zip(*(one.results() for one in theirs), strict=True))
            few = (x[: len(theirs)] for x in (k.swapaxes(0, 1), K.swapaxes(0, 1), cost))
            compare(tuple(found), tuple(few), peer.NAME)
        figures += raced(loop, given, theirs, peer.NAME if peer else "", 3 if quick else 7)
    set_threads(None)
    show(console, figures, notes)
    path = folder / "ilqr.json"
    record = {"benchmark": TITLE, **provenance(), "figures": figures, "notes": notes}
    saved(path, record)
    console.print(f"saved {path}", highlight=False, soft_wrap=True)
    return 0


def raced(loop: Any, given: Any, theirs: list[Any], peer: str, rounds: int) -> list[dict[str, Any]]:
    """The whole step, and of it the derivatives and the rollout: of one of the problems [ns; s if alone]."""
    from timing import Call, Figure, race

    task, x, u = given
    arms = len(task.x0)
    k, K = step(loop, *given)[:2]
    parts = (
        ("a step", step, (loop, *given), "__call__"),
        ("its derivatives", task.slopes, (x, u), "derivatives"),
        ("its rollout", task.follow, (u, x[:-1], k, K, np.ones(1)), "rollout"),
    )
    figures = []
    for part, function, arguments, name in parts:
        what = f"{arms} problem{'s' if arms > 1 else ''}, {part}"
        calls = [Call(function, arguments, rows=arms)]
        if not theirs:
            figures.append({"what": what, "seconds": 1e-9 * race(calls, rounds)[0]})
            continue
        turns = {f"{len(theirs)} in turns": theirs, "the same one again": theirs[:1]}
        if len(theirs) == 1:
            turns = {"": theirs}
        calls += [
            Call(in_turns, ([getattr(one, name) for one in some],), rows=len(some)) for some in turns.values()
        ]
        ours, *others = race(calls, rounds)
        for note, other in zip(turns, others, strict=True):
            figure = Figure(what, ours, peer, other, note=note)
            figures.append(asdict(figure) | {"ratio": figure.ratio})
    return figures


def in_turns(calls: list[Callable[[], Any]]) -> None:
    for call in calls:
        call()


def show(console: Any, figures: list[dict[str, Any]], notes: list[str]) -> None:
    from rich.table import Table
    from run import machine

    table = Table("what", "armdyn", "other", "its time", "times as long", title=f"{TITLE}\n{machine()}")
    for f in figures:
        if "seconds" in f:
            table.add_row(f["what"], f"{1e6 * f['seconds']:.0f} µs", "", "", "")
            continue
        other = f["peer"] + (f", {f['note']}" if f["note"] else "")
        table.add_row(
            f["what"], f"{f['ours'] / 1e3:.0f} µs", other, f"{f['theirs'] / 1e3:.0f} µs", f"{f['ratio']:.3g}"
        )
    console.print(table)
    for note in notes:
        console.print(note, highlight=False)


def saved(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")


# ---- on a GPU ----------------------------------------------------------------------------------------------


class Tensors:
    """The same step for all problems side by side, on PyTorch tensors.

    The variables of a knot are in the order u, x. All that depends on the problem alone is made once; the
    slope of the value stands beside its curvature as one more column, so that a product has both.
    """

    def __init__(self, loop: Any, task: Any, x: np.ndarray, u: np.ndarray, device: str) -> None:
        import torch

        self.torch, self.robot, self.loop = torch, task.robot, loop
        knots, arms, n = u.shape
        self.n = n
        put = partial(torch.tensor, dtype=torch.float64, device=device)
        self.x, self.u, self.goal, self.hold, self.weights = map(
            put, (x, u, task.goal, task.hold, task.weights)
        )
        zeros = partial(torch.zeros, dtype=torch.float64, device=device)
        self.shift = put(np.eye(n, 3 * n, 2 * n))  # ∂q̇/∂(u, q, q̇)
        self.stay = put(np.eye(n, 3 * n, n))  # ∂q/∂(u, q, q̇)
        self.f = zeros(knots, arms, 2 * n + 1, 3 * n + 1)  # ∂next/∂(u, x), and 1 for the slope
        self.f[..., -1, -1] = 1
        weights = loop.STEP * np.array([*np.full(n, loop.EFFORT), *task.weights])
        self.own = zeros(knots, arms, 3 * n, 3 * n + 1)  # curvature and slope of the costs of a knot
        self.own[..., :-1] = put(np.diag(weights))
        self.end = zeros(arms, 2 * n, 2 * n + 1)
        self.end[..., :-1] = put(loop.LAST * np.diag(task.weights))
        self.gains = zeros(knots, arms, n, 2 * n + 1)  # K beside k
        self.states, self.torques = torch.empty_like(self.x), torch.empty_like(self.u)
        self.states[0] = self.x[0]

    def __call__(self) -> tuple[Any, Any]:
        """Gains (KNOTS, arms, n, 2n + 1) with the feedforward as their last column; costs after the step."""
        self.derivatives()
        self.backward()
        return self.gains, self.rollout()

    def derivatives(self) -> None:
        n, h, torch = self.n, self.loop.STEP, self.torch
        q, qd = self.x[:-1, :, :n], self.x[:-1, :, n:]
        by_q, by_qd, by_tau = self.robot.forward_dynamics_derivatives(q, qd, self.u)
        speed = torch.add(self.shift, torch.cat([by_tau, by_q, by_qd], -1), alpha=h)
        self.f[..., n : 2 * n, :-1] = speed
        torch.add(self.stay, speed, alpha=h, out=self.f[..., :n, :-1])
        self.own[..., :n, -1] = (h * self.loop.EFFORT) * (self.u - self.hold)
        self.own[..., n:, -1] = (h * self.weights) * (self.x[:-1] - self.goal)

    def backward(self) -> None:
        n, torch = self.n, self.torch
        self.end[..., -1] = self.loop.LAST * self.weights * (self.x[-1] - self.goal)
        value = self.end  # curvature beside slope
        for i in reversed(range(len(self.u))):
            Q = torch.baddbmm(self.own[i], self.f[i, :, :-1, :-1].mT, value @ self.f[i])
            found = torch.linalg.solve_ex(Q[:, :n, :n], Q[:, :n, n:])[0]  # it does not wait for the GPU
            torch.neg(found, out=self.gains[i])
            value = torch.baddbmm(Q[:, n:, n:], Q[:, n:, :n], self.gains[i])

    def rollout(self) -> Any:
        n, h, torch, x = self.n, self.loop.STEP, self.torch, self.states
        ahead = self.u + self.gains[..., -1]
        for i in range(len(self.u)):
            off = (x[i] - self.x[i])[..., None]
            torch.baddbmm(
                ahead[i, :, :, None], self.gains[i, :, :, :-1], off, out=self.torques[i, :, :, None]
            )
            q, qd, to = x[i, :, :n], x[i, :, n:], x[i + 1]
            torch.add(qd, self.robot.forward_dynamics(q, qd, self.torques[i]), alpha=h, out=to[:, n:])
            torch.add(q, to[:, n:], alpha=h, out=to[:, :n])
        off = self.weights * (x - self.goal) ** 2
        effort = self.loop.EFFORT * (self.torques - self.hold) ** 2
        return 0.5 * (h * (off[:-1].sum((0, -1)) + effort.sum((0, -1))) + self.loop.LAST * off[-1].sum(-1))

    def results(self) -> Arrays:
        gains, cost = (x.cpu().numpy() for x in self())
        return gains[..., -1], gains[..., :-1], cost


def measure_tensors(device: str) -> Iterator[dict[str, Any]]:
    """Steps of 1 and MANY problems, their parts, and a CUDA graph of the whole, compared with NumPy."""
    import torch

    loop, robot = example(), robots.arm("panda")
    compiled = importlib.util.find_spec("llvmlite") is not None
    graphs = []
    for arms in (1, MANY):
        with backend("compiled" if compiled else "evaluator"):
            given = problems(loop, robot, arms)
            expected = step(loop, *given)
        tensors = Tensors(loop, *given, device)
        compare(tensors.results(), expected, "tensors")
        what = f"{arms} problem{'s' if arms > 1 else ''}"
        calls = {"a step": tensors, "its derivatives": tensors.derivatives}
        calls |= {"its backward pass": tensors.backward, "its rollout": tensors.rollout}
        for part, call in calls.items():
            yield {"what": f"{what}, {part}: PyTorch", "seconds": seconds(call, device)}
        graphs.append((what, tensors, expected))
    for what, tensors, expected in graphs if device != "cpu" else []:
        with torch.cuda.stream(torch.cuda.Stream()):
            tensors()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gains, cost = tensors()
        gains.zero_()
        graph.replay()
        gains, cost = gains.cpu().numpy(), cost.cpu().numpy()
        compare((gains[..., -1], gains[..., :-1], cost), expected, "the graph")
        yield {"what": f"{what}, a step: CUDA graph", "seconds": seconds(graph.replay, device)}


def seconds(call: Callable[[], Any], device: str) -> float:
    """The best time of a call among several that end with the GPU's work done [s]."""
    import torch

    wait = torch.cuda.synchronize if device != "cpu" else nullcontext
    best = float("inf")
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        best = min(best, (time.perf_counter() - start) / CALLS)
    return best


def on_device(device: str) -> None:
    """Measure with tensors, print, save."""
    import torch

    name = "the CPU" if device == "cpu" else f"one {torch.cuda.get_device_name()}"
    machine = f"{name}, PyTorch {torch.__version__}, float64"
    print(machine, flush=True)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    record = {"benchmark": f"{TITLE} on tensors", "when": when, "machine": machine, "figures": []}
    where = "cpu" if device == "cpu" else "gpu"
    for row in measure_tensors(device):
        record["figures"].append(row)
        print(f"{row['what']:48} {1e3 * row['seconds']:9.3f} ms", flush=True)
        saved(HERE.parent / "build" / "benchmarks" / f"ilqr_{where}.json", record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--gpu", nargs="?", const="cuda", required=True, metavar="DEVICE", help="of the tensors; cpu tries it"
    )
    on_device(parser.parse_args().gpu)


if __name__ == "__main__":
    main()
