"""`simulate`: direct dynamics over time (section 7.6)."""

from __future__ import annotations

import os
import warnings
from math import ceil
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.kernels.arrays import Numbers
from armdyn.robot import Robot
from armdyn.robot.checks import floats
from armdyn.simulation.control.actuation import actuation
from armdyn.simulation.engine.adaptive import integrate_adaptive
from armdyn.simulation.engine.fixed import integrate_fixed
from armdyn.simulation.engine.grid import ROUNDING, Grid
from armdyn.simulation.engine.integrand import check_friction
from armdyn.simulation.engine.limits import Limits, position_limits
from armdyn.simulation.engine.trial import Effort
from armdyn.simulation.errors import SimulationError, SimulationWarning
from armdyn.simulation.outcome import Method, judged, make_run
from armdyn.simulation.progress import progress_bar
from armdyn.simulation.run import Run

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
    max_steps: int | None = None,
    limits: Limits = "warn",
    progress: bool | None = None,
) -> Run:
    """The motion of a robot from q0, qd0 (one number or (..., n)) for `duration` seconds.

    `torque` is None, torques (..., n), torques over time (T, ..., n) (evenly spaced from 0 to `duration`,
    linear in between: an array with one axis more than the states), a function of (t, q, qd) or a controller.
    `wrench` (..., 6), (T, ..., 6) or a function is what the tip exerts on its surroundings, base axes.
    "adaptive" calls functions with the state of one arm, "rk4" with that of all arms (..., n); these arrays
    are read-only. "adaptive" may miss a pulse shorter than both three times `output` and a hundredth of the
    duration. The torques of a controller with a sampling `rate` are held from one sample to the next.

    Methods: "adaptive", of order 8 to `rtol` and `atol`, arm by arm, in at most `max_steps` steps each
    (default: 50 000 plus 20 000 per second); "rk4", fixed steps of `step`, compiled, all arms at once, of
    fourth order, but with dry friction of first order where a joint stops, starts or reverses. States are
    kept every `output` seconds (default: `step`) and at the end; where steps do not fit in between, the last
    one is shorter. With a sampled controller, fixed steps are shortened so that a whole number of them fits
    the sampling period; where a sample still falls within a step (because of `output`), it is taken at the
    start of the next one.

    Dry friction sticks: a joint at rest stays there until the torque on it exceeds the friction's level. When
    a joint passes a position limit, `limits` decides: a SimulationWarning ("warn"), the arm stops there
    ("stop"), or nothing ("ignore"). A motion that diverges, that takes too many steps or whose energies do
    not add up is not `completed` and gives a SimulationWarning; what was computed is kept.
    """
    if not isinstance(robot, Robot):
        raise SimulationError(f"robot: expected a Robot, found {type(robot).__name__}")
    chosen: object = method  # whatever it is
    if not isinstance(chosen, str) or chosen not in ("adaptive", "rk4"):
        raise SimulationError(f"method: found {shown(method)}; allowed: 'adaptive', 'rk4'")
    watched = position_limits(robot, limits)
    check_friction(robot)
    q, qd = _states(robot, q0, qd0)
    batch, n = q.shape[:-1], robot.n
    driven = actuation(robot, batch, _positive("duration", duration), torque, wrench)
    grid = _grid(driven.duration, step, output, method, driven.period)
    _check_size(grid, int(np.prod(batch)), n)
    effort = Effort(_positive("rtol", rtol), _positive("atol", atol), _count("max_steps", max_steps))
    starts = q.reshape(-1, n), qd.reshape(-1, n)
    watched.check_start(starts[0])
    with progress_bar(f"simulating {robot.name}", progress) as update:
        if method == "rk4":
            trace = integrate_fixed(robot, *starts, grid, driven, watched, update)
        else:
            trace = integrate_adaptive(robot, *starts, grid, driven, watched, effort, update)
    run = judged(make_run(robot, method, grid, driven, trace), method, grid, trace.stops)
    if run.limits_passed and limits == "warn":
        warnings.warn(SimulationWarning(watched.warning(run.limits_passed, batch)), stacklevel=2)
    if not run.completed:
        warnings.warn(SimulationWarning(run.message), stacklevel=2)
    return run


def _states(robot: Robot, q0: Any, qd0: Any) -> tuple[np.ndarray, np.ndarray]:
    arrays = []
    for name, given in (("q0", q0), ("qd0", qd0)):
        x = floats(SimulationError, name, given)
        if x.ndim == 0:
            x = np.full(robot.n, float(x))
        if x.shape[-1:] != (robot.n,):
            raise SimulationError(f"{name}: expected one number or (..., {robot.n}), found {x.shape}")
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


def _count(name: str, x: Any) -> int | None:
    if x is None:
        return None
    number = _positive(name, x)
    if number != int(number):
        raise SimulationError(f"{name}: found {shown(x)}; a whole number is expected")
    return int(number)


def _grid(duration: float, step: Any, output: Any, method: Method, period: float | None) -> Grid:
    """With fixed steps and a sampled controller, a whole number of steps fits its period."""
    most = _positive("step", step)
    if method == "rk4" and period is not None:
        most = period / ceil(period / most * (1 - ROUNDING))
    kept = min(most if output is None else _positive("output", output), duration)
    least = min(most, kept) if method == "rk4" else kept
    if not duration / least <= MOST_STEPS:
        raise SimulationError(f"step: {duration:g} s in steps of {least:g} s are too many")
    return Grid(duration, kept, most)


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
