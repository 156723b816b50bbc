"""Simulation against other libraries: many arms at once, and one arm for long.

Both with the fixed steps of fourth-order Runge–Kutta and the same step, on the Panda without friction. A
batch is compared with a Python loop of Pinocchio's `aba`, four calls to a step and nothing else counted; one
arm with MuJoCo's own RK4, stepped from Python and in one call (`rollout`). The final states are compared with
an adaptive integration to 1e-13, so that the accuracies can be seen to be the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
import robots
from rich.console import Console
from rich.table import Table
from run import machine, provenance
from timing import Call, Figure, race

from armdyn import Robot, get_threads, set_threads
from armdyn.simulation import simulate

TITLE = "Simulation"
STEP = 1e-3  # s
BATCH_AT_LEAST = 10.0  # times the throughput of the loop of aba
ARM_AT_LEAST = 4.0  # times the speed of MuJoCo's RK4
HANGING = np.array([1.378, -2.924, 3.115, -0.51, 0.988, 2.108, -6.163])  # least potential energy
ABA_CALLS = 4000  # timed: the time of one does not depend on their number


def start(robot: Robot, arms: int) -> tuple[np.ndarray, np.ndarray]:
    """At rest near where the arm hangs: it swings. Tumbling would make any error large within seconds."""
    away = np.random.default_rng(2).uniform(-0.1, 0.1, (arms, robot.n))
    return HANGING + away, np.zeros((arms, robot.n))


def batch(robot: Robot, rivals: dict[str, Any], arms: int, steps: int, rounds: int) -> list[Figure]:
    """Thousands of arms, all steps in one call."""
    q, qd = start(robot, arms)
    fixed = partial(simulate, robot, method="rk4", step=STEP, limits="ignore")
    own = partial(fixed, q, qd, steps * STEP, output=steps * STEP)
    everything = get_threads()
    figures = []
    for count in dict.fromkeys((1, everything)):
        calls, before = [Call(own, (), rows=arms * steps)], [partial(set_threads, count)]
        names = []
        if "Pinocchio" in rivals:
            calls.append(rivals["Pinocchio"].simulation(q[:ABA_CALLS], qd[:ABA_CALLS]))
            before.append(partial(set_threads, None))
            names.append("Pinocchio")
        ours, *theirs = race(calls, rounds, before=before)
        what = f"{arms} arms, {steps} steps, {count} thread{'s' if count > 1 else ''}"
        figures += [
            Figure(what, ours, name, ns, BATCH_AT_LEAST, call.note)
            for name, ns, call in zip(names, theirs, calls[1:], strict=True)
        ]
    set_threads(None)
    return figures


def one_arm(robot: Robot, rivals: dict[str, Any], steps: int, rounds: int) -> tuple[list[Figure], list[str]]:
    """One arm, every state kept; and how far from the truth everyone ends."""
    q, qd = (x[0] for x in start(robot, 1))
    duration = steps * STEP
    own = partial(simulate, robot, q, qd, duration, method="rk4", step=STEP, limits="ignore")
    truth = simulate(robot, q, qd, duration, rtol=1e-13, atol=1e-14, output=duration, limits="ignore")
    found = own()
    errors = [f"ours: {_error(found.q[-1], found.qd[-1], truth):.2e}"]
    calls = [Call(own, (), rows=steps)]
    if "MuJoCo" in rivals:
        for call in rivals["MuJoCo"].simulation(q, qd, STEP, steps):
            calls.append(call)
            last_q, last_qd = call()
            errors.append(f"MuJoCo, {call.note}: {_error(last_q, last_qd, truth):.2e}")
    ours, *theirs = race(calls, rounds)
    what = f"1 arm, {duration:g} s at {1 / STEP:g} Hz"
    figures = [
        Figure(what, ours, "MuJoCo", ns, ARM_AT_LEAST, call.note)
        for ns, call in zip(theirs, calls[1:], strict=True)
    ]
    scale = np.abs(truth.q[-1]).max()
    note = f"largest error of the state after {duration:g} s (positions up to {scale:.2g} rad): "
    return figures, [note + "; ".join(errors)]


def _error(q: np.ndarray, qd: np.ndarray, truth: Any) -> float:
    return float(max(np.abs(q - truth.q[-1]).max(), np.abs(qd - truth.qd[-1]).max()))


def run(console: Console, folder: Path, quick: bool) -> int:
    """Measure, print, save; how many targets were missed."""
    robot = robots.arm("panda")
    rivals: dict[str, Any] = {}
    for kind in peers.installed():
        if kind.name in ("Pinocchio", "MuJoCo"):
            rivals[kind.name] = kind(robot)
    notes = [f"not installed: {name}" for name in peers.missing() if name in ("pinocchio", "mujoco")]
    arms, steps, rounds = (1024, 200, 3) if quick else (4096, 1000, 5)
    figures = batch(robot, rivals, arms, steps, rounds)
    more, errors = one_arm(robot, rivals, 10_000, rounds)
    figures += more
    _show(console, figures, notes + errors)
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "benchmark": TITLE,
        **provenance(),
        "figures": [{**asdict(f), "ratio": f.ratio, "met": f.met} for f in figures],
        "notes": notes + errors,
    }
    path = folder / "simulation.json"
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"saved {path}", highlight=False, soft_wrap=True)
    return sum(f.met is False for f in figures)


def _show(console: Console, figures: list[Figure], notes: list[str]) -> None:
    table = Table("what", "ours", "peer", "theirs", "ratio", "target", "met", title=f"{TITLE}\n{machine()}")
    for f in figures:
        met = "" if f.met is None else "yes" if f.met else "no"
        peer = f"{f.peer}, {f.note}" if f.note else f.peer
        target = "" if f.target is None else f"≥ {f.target:g}"
        cells = (f.what, f"{f.ours:.0f} ns", peer, f"{f.theirs:.0f} ns", f"{f.ratio:.1f}", target, met)
        table.add_row(*cells, style="red" if met == "no" else None)
    console.print(table)
    for note in notes:
        console.print(note, highlight=False, soft_wrap=True)
