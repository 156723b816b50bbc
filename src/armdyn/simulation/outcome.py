"""Makes a `Run` from the result of an integration: shapes, applied torques, messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from armdyn.kernels.cuda.arrays import array, host, like, zeros
from armdyn.robot import Robot
from armdyn.simulation.balance import Imbalance, imbalances
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.following import joined, split
from armdyn.simulation.engine.grid import Grid
from armdyn.simulation.engine.integrand import WORKS
from armdyn.simulation.engine.trace import Stop, Trace
from armdyn.simulation.run import Run

Method: TypeAlias = Literal["adaptive", "rk4"]


def make_run(robot: Robot, method: Method, grid: Grid, driven: Actuation, trace: Trace) -> Run:
    """The trace in the shape of the batch, without instants that no arm reached."""
    n, batch, held = robot.n, driven.batch, trace.held
    memory = zeros(trace.states, (*trace.states.shape[:2], 0)) if trace.memory is None else trace.memory
    reached = host(np.isfinite(trace.states[..., :n]).all(axis=-1).any(axis=-1))
    count = int(np.flatnonzero(reached)[-1]) + 1
    t, states = np.array(grid.t[:count]), trace.states[:count]
    if not batch and (stop := next(iter(trace.stops), None)) and stop.at_limit and stop.time > t[-1]:
        t, states = np.append(t, stop.time), np.concatenate([states, like(states, stop.state)[None, None]])
        held = None if held is None else np.concatenate([held[:count], like(held, stop.held)[None, None]])
        last = memory[0, 0] if stop.memory is None else like(memory, stop.memory)
        memory = np.concatenate([memory[:count], last[None, None]])
    q, qd = states[..., :n], states[..., n : 2 * n]
    y = _positions(robot, states)
    followers = split(robot, y)[1]
    tau = driven.torque.values(t, q, qd, followers, method == "adaptive") if held is None else held[: len(t)]
    tau = np.where(np.isnan(q), np.nan, like(q, tau))
    works = dict.fromkeys(WORKS, np.where(np.isnan(q[..., 0]), np.nan, 0.0))
    works |= {name: states[..., -1 - k] for k, name in enumerate(reversed(trace.works))}
    shape = (len(t), *batch)
    q, qd, tau = (x.reshape(*shape, n) for x in (q, qd, tau))
    memory = np.where(np.isnan(q[..., :1]).reshape(len(t), -1, 1), np.nan, memory[: len(t)])
    torque, wrench, friction = (works[name].reshape(shape) for name in WORKS)
    return Run(
        *(robot, t, q, qd, tau, torque, wrench, friction),
        events=tuple(sorted(trace.events, key=lambda event: event.time)),
        limits_passed=tuple(sorted(trace.passed, key=lambda passed: passed.time)),
        notes=tuple(trace.notes),
        memory=memory.reshape(*shape, memory.shape[-1]),
        closed=y.reshape(*shape, y.shape[-1]) if robot.model.loops else None,
    )


def _positions(robot: Robot, states: np.ndarray) -> np.ndarray:
    """All positions of states; between two steps the loops are closed here."""
    n = robot.n
    y = joined(robot, states[..., :n], states[..., 2 * n : n + robot.mechanism.positions])
    return array(robot.assembly(states[..., :n], near=y)) if robot.model.loops else y


def judged(run: Run, method: Method, grid: Grid, stops: list[Stop]) -> Run:
    """The run, marked as not completed if arms stopped, or if the energies of another do not add up."""
    batch = run.q.shape[1:-1]
    run = replace(run, completed=not stops, message=_message(stops, batch, run.q.shape[-1]))
    said = {stop.arm for stop in stops if not stop.at_limit}
    found = [one for one in imbalances(run) if one.arm not in said]
    if not found:
        return run
    texts = [_arm(one.arm, batch) + _unexplained(one) for one in found[:3]]
    if len(found) > len(texts):
        texts.append(f"and {len(found) - len(texts)} more")
    cure = (
        f"steps of {min(grid.step, grid.output):g} s are too long" if method == "rk4" else "rtol is too large"
    )
    message = "; ".join([run.message] * bool(run.message) + texts) + f"; {cure}, or torques jump too often"
    return replace(run, completed=False, message=message)


def _unexplained(one: Imbalance) -> str:
    return (
        f"the energies do not add up from about t = {one.time:.6g} s on: "
        f"{one.unexplained:.2g} J of {one.exchanged:.2g} J exchanged are unexplained"
    )


def _message(stops: list[Stop], batch: tuple[int, ...], n: int) -> str:
    """When, where and why arms stopped: the first three, and how many more."""
    shown = []
    for stop in stops[:3]:
        state = f"q = {_text(stop.state[:n])}, qd = {_text(stop.state[n : 2 * n])}"
        shown.append(f"{_arm(stop.arm, batch)}{stop.reason} at t = {stop.instant:.6g} s, {state}")
    if len(stops) > len(shown):
        shown.append(f"and {len(stops) - len(shown)} more")
    return "; ".join(shown)


def _arm(arm: int, batch: tuple[int, ...]) -> str:
    return f"arm {tuple(int(i) for i in np.unravel_index(arm, batch))}: " if batch else ""


def _text(x: np.ndarray) -> str:
    return "[" + ", ".join(f"{v:.6g}" for v in x) + "]"
