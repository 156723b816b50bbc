"""`simulate`: direct dynamics over time (section 7.6)."""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.analysis.arrays import floats, shown
from armdyn.kernels.arrays import Numbers
from armdyn.robot import Robot
from armdyn.simulation.actuation import Actuation, actuation
from armdyn.simulation.adaptive import Tolerance, integrate_adaptive
from armdyn.simulation.errors import SimulationError, SimulationWarning
from armdyn.simulation.fixed import integrate_fixed
from armdyn.simulation.plant import check_friction
from armdyn.simulation.progress import progress_bar
from armdyn.simulation.run import Run
from armdyn.simulation.trace import Grid, Stop, Trace

Method: TypeAlias = Literal["adaptive", "rk4"]
MOST_STEPS = 2**40


def simulate(
    robot: Robot,
    q0: Numbers,
    qd0: Numbers,
    duration: float,
    torque: Any = None,
    *,
    wrench: Any = None,
    method: Method = "adaptive",
    step: float = 1e-3,
    output: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    progress: bool | None = None,
) -> Run:
    """The motion of a robot from q0, qd0 (..., n) for `duration` seconds.

    `torque` is None, torques (..., n), torques over time (T, ..., n) (evenly spaced from 0 to `duration`,
    linear in between: an array with one axis more than the states), a function of (t, q, qd) or a controller.
    `wrench` (..., 6), (T, ..., 6) or a function is what the tip exerts on its surroundings, base axes.
    Functions are given the state of one arm by "adaptive", of all arms (..., n) by "rk4"; what they do for
    less than three outputs or a hundredth of the time "adaptive" may overlook.

    Methods: "adaptive", of order 8 to `rtol` and `atol`, arm by arm; "rk4", fixed steps of at most `step`,
    compiled, all arms at once. States are kept every `output` seconds (default: `step`).

    Dry friction sticks: a joint at rest stays there until the torque on it exceeds the friction's level.
    A motion that diverges stops with a SimulationWarning; what was computed is kept.
    """
    if not isinstance(robot, Robot):
        raise SimulationError(f"robot: expected a Robot, found {type(robot).__name__}")
    if method not in ("adaptive", "rk4"):
        raise SimulationError(f"method: found {method!r}; allowed: 'adaptive', 'rk4'")
    check_friction(robot)
    q, qd = _states(robot, q0, qd0)
    batch, n = q.shape[:-1], robot.n
    grid = _grid(duration, step, step if output is None else output, method)
    _check_size(grid, int(np.prod(batch)), n)
    driven = actuation(robot, batch, grid.duration, torque, wrench)
    tolerance = Tolerance(_positive("rtol", rtol), _positive("atol", atol))
    starts = q.reshape(-1, n), qd.reshape(-1, n)
    with progress_bar(f"simulating {robot.name}", progress) as update:
        if method == "rk4":
            trace = integrate_fixed(robot, *starts, grid, driven, update)
        else:
            trace = integrate_adaptive(robot, *starts, grid, driven, tolerance, update)
    run = _run(robot, method, grid, driven, trace)
    if not run.completed:
        warnings.warn(SimulationWarning(run.message), stacklevel=2)
    return run


def _states(robot: Robot, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    arrays = []
    for name, given in (("q0", q0), ("qd0", qd0)):
        x = floats(SimulationError, name, given)
        if x.shape[-1:] != (robot.n,):
            raise SimulationError(f"{name}: expected (..., {robot.n}), found {x.shape}")
        if not np.isfinite(x).all():
            raise SimulationError(f"{name}: all numbers must be finite")
        arrays.append(x)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
    except ValueError:
        raise SimulationError(f"q0, qd0: shapes {arrays[0].shape} and {arrays[1].shape} differ") from None
    if 0 in shape:
        raise SimulationError(f"q0, qd0: found shape {shape}; at least one arm is expected")
    q, qd = (np.array(np.broadcast_to(x, shape)) for x in arrays)
    return q, qd


def _positive(name: str, x: Any) -> float:
    number = floats(SimulationError, name, x, "one number")
    if number.ndim or not (np.isfinite(number) and number > 0):
        raise SimulationError(f"{name}: found {shown(x)}; a positive number is expected")
    return float(number)


def _grid(duration: Any, step: Any, output: Any, method: Method) -> Grid:
    """Equal intervals of at most `output`, each of equal steps of at most `step`."""
    total, most, kept = _positive("duration", duration), _positive("step", step), _positive("output", output)
    kept = min(kept, total)
    samples = int(np.ceil(total / kept * (1 - 1e-12)))
    every = int(np.ceil(total / samples / most * (1 - 1e-12))) if method == "rk4" else 1
    if samples * every > MOST_STEPS:
        raise SimulationError(f"step: {total:g} s in steps of {most:g} s are too many")
    return Grid(total, samples, every)


def _check_size(grid: Grid, arms: int, n: int) -> None:
    """Refuse what does not fit the memory before it takes the memory."""
    size = 8 * (grid.samples + 1) * arms * (3 * n + 3)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return
    if size > there:
        count = f"{grid.samples + 1:,} instants of {arms} arm{'s' * (arms > 1)}"
        raise SimulationError(
            f"output: {count} are too many: {size / 2**30:,.0f} GiB, of {there / 2**30:,.0f} there are; "
            "a longer `output` keeps fewer"
        )


def _run(robot: Robot, method: Method, grid: Grid, driven: Actuation, trace: Trace) -> Run:
    """The trace in the shape of the batch, without instants that no arm reached."""
    reached = np.isfinite(trace.q).all(axis=-1).any(axis=-1)
    count = int(np.flatnonzero(reached)[-1]) + 1
    t, batch = grid.t[:count], driven.batch
    q, qd = trace.q[:count], trace.qd[:count]
    nothing = np.where(np.isnan(q[..., 0]), np.nan, 0.0)
    works = {name: trace.works.get(name, nothing)[:count] for name in ("torque", "wrench", "friction")}
    tau = _applied(driven, method, t, q, qd)
    message = _message(trace.stops, driven.batch)
    shape = (count, *batch)
    return Run(
        robot,
        t,
        q.reshape(*shape, robot.n),
        qd.reshape(*shape, robot.n),
        tau.reshape(*shape, robot.n),
        works["torque"].reshape(shape),
        works["wrench"].reshape(shape),
        works["friction"].reshape(shape),
        tuple(sorted(trace.events, key=lambda event: event.time)),
        not trace.stops,
        message,
    )


def _applied(driven: Actuation, method: Method, t: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The torques at the instants kept; functions are asked as they were on the way."""
    source = driven.torque
    if source.is_absent:
        return np.where(np.isnan(q), np.nan, 0.0)
    if source.controller is not None:
        tau = source.controller.evaluate(source.gains, t[:, None], q, qd)
    elif source.function is not None and method == "adaptive":
        tau = np.full_like(q, np.nan)
        arms = [driven.of_arm(k) for k in range(q.shape[1])]
        for i, k in zip(*np.nonzero(np.isfinite(q).all(axis=-1)), strict=True):
            tau[i, k] = arms[k].torques(float(t[i]), q[i, k, None], qd[i, k, None])[0]
    else:
        states = zip(t, *(np.nan_to_num(x) for x in (q, qd)), strict=True)  # functions see no NaN
        tau = np.stack([driven.torques(float(s), x, xd) for s, x, xd in states])
    return np.where(np.isnan(q), np.nan, tau)


def _message(stops: list[Stop], batch: tuple[int, ...]) -> str:
    """When, where and why arms stopped; of many, the first few."""
    shown = []
    for stop in stops[:3]:
        index = tuple(int(i) for i in np.unravel_index(stop.arm, batch)) if batch else ()
        arm = f"arm {index}: " if batch else ""
        shown.append(
            f"{arm}{stop.reason} at t = {stop.time:.6g} s, q = {_text(stop.q)}, qd = {_text(stop.qd)}"
        )
    if len(stops) > len(shown):
        shown.append(f"and {len(stops) - len(shown)} more arms")
    return "; ".join(shown)


def _text(x: np.ndarray) -> str:
    return "[" + ", ".join(f"{v:.6g}" for v in x) + "]"
