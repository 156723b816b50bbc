"""`simulate`: direct dynamics over time (section 7.6)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.kernels.arrays import Numbers
from armdyn.kernels.cuda.arrays import array, is_cupy, on_device
from armdyn.model.errors import ModelError
from armdyn.output.progress import Update, progress_bar
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import actuation
from armdyn.simulation.engine.adaptive import integrate_adaptive
from armdyn.simulation.engine.fixed import integrate_fixed
from armdyn.simulation.engine.grid import Grid, at_least
from armdyn.simulation.engine.limits import Limits, PositionLimits, position_limits
from armdyn.simulation.engine.surfaces import check_friction
from armdyn.simulation.engine.trace import Stop
from armdyn.simulation.engine.trial import Effort
from armdyn.simulation.engine.where import Where, memory_of, of_states
from armdyn.simulation.errors import SimulationError, SimulationWarning, check
from armdyn.simulation.legs import Leg, joined, legs_of, loaded_robot
from armdyn.simulation.motor_speeds import warning_of
from armdyn.simulation.outcome import Method, judged, make_run
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
    loads: Any = "target",
    progress: bool | Update | None = None,
) -> Run:
    """The motion of a robot from q0, qd0 (one number or (..., n)) for `duration` seconds.

    `torque` is None, torques (..., n), torques over time (T, ..., n) (evenly spaced from 0 to `duration`,
    linear in between: an array with one axis more than the states), a function of (t, q, qd) or a controller.
    `wrench` (..., 6), (T, ..., 6) or a function is what the tip exerts on its surroundings, world axes; or a
    mapping {link: one of these} what several links exert, each at the origin of its frame.
    "adaptive" calls functions with the state of one arm, "rk4" with that of all arms (..., n); these arrays
    are read-only. "adaptive" may miss a pulse shorter than both three times `output` and a hundredth of the
    duration. The torques of a controller with a sampling `rate` are held from one sample to the next, and so
    is its memory, if it has one.

    Methods: "adaptive", of order 8 to `rtol` and `atol`, arm by arm, in at most `max_steps` steps each
    (default: 50 000 plus 20 000 per second); "rk4", fixed steps of `step`, compiled, all arms at once, of
    fourth order, but with dry friction of first order where a joint stops, starts or reverses. States are
    kept every `output` seconds (default: `step`) and at the end; fixed steps are shortened so that a whole
    number of them fits in between. With a sampled controller, a whole number of them fits the sampling
    period, too; where a sample still falls within a step (because of `output`), it is taken at the start of
    the next one.

    `loads` is what the arm picks up and puts down: those of a trajectory (`trajectory.loads`), () for none,
    or "target", those of the motion that the controller follows. The controller always knows the loads of the
    motion that it follows: other `loads` show what a wrong payload does. A load that is taken up moves with
    the arm already; one that ends with that motion is carried on. Where loads change, states are kept and a
    sampled controller is sampled anew.

    In a robot with loops the coordinates start in the assembly mode of the robot's first posture. q0 may also
    be all positions (..., positions), as `robot.assembly` gives them: that is the mode then. The loops stay
    closed. Where a joint stops following the coordinates, a singular posture, the arm stops.

    Dry friction sticks: a joint at rest stays there until the torque on it exceeds the friction's level. When
    a joint passes a position limit, `limits` decides: a SimulationWarning ("warn"), the arm stops there
    ("stop"), or nothing ("ignore"). A motor that exceeds its limit of velocity gives a SimulationWarning,
    unless limits are ignored. A motion that diverges, that takes too many steps or whose energies do
    not add up is not `completed` and gives a SimulationWarning; what was computed is kept.

    CuPy arrays q0 and qd0 are simulated on their GPU, with the method "rk4", one thread for each arm; the
    run then has CuPy arrays, all but `t`. Torques and wrenches are arrays of either library, or a controller;
    a function of Python cannot be called from there. It computes in float64, or in float32 where both are
    float32. It returns when the arms are there.

    `progress`: whether a bar is shown on stderr, None on a terminal only; or a function that is told the part
    that is done, from 0 to 1, for each stretch between changes of load.
    """
    check.robot(robot)
    check.one_of("method", method, "adaptive", "rk4")
    watched = position_limits(robot, limits)
    check_friction(robot)
    most = None if max_steps is None else check.whole_number("max_steps", max_steps, least=1)
    effort = Effort(check.positive("rtol", rtol), check.positive("atol", atol), most)
    task = _Task(method, step, output, watched, effort, progress)
    with on_device(q0 if is_cupy(q0) else qd0):
        q, qd = _states(robot, q0, qd0, method)
        batch, n = q.shape[:-1], robot.n
        where = Where(q if is_cupy(q) else None)
        driven = actuation(robot, batch, check.positive("duration", duration), torque, wrench, where)
        grid = _grid(driven.duration, step, output, method, driven.period)
        _check_size(grid, q, 2 * n + robot.mechanism.positions + 3 + driven.memory.shape[-1])
        starts = q.reshape(-1, robot.mechanism.positions), qd.reshape(-1, n)
        watched.check_start(starts[0])
        loaded = loaded_robot(robot, loads, torque, driven.duration)
        legs = legs_of(loaded, driven)
        runs, stops = task.run_all(legs, *starts)
        run = judged(joined(robot, loaded, legs, runs), method, grid, stops)
        speeds = run.speeds_passed if limits != "ignore" else ()
    if run.limits_passed and limits == "warn":
        warnings.warn(SimulationWarning(watched.warning(run.limits_passed, batch)), stacklevel=2)
    if speeds:
        warnings.warn(SimulationWarning(warning_of(speeds, batch)), stacklevel=2)
    if not run.completed:
        warnings.warn(SimulationWarning(run.message), stacklevel=2)
    return run


@dataclass(frozen=True)
class _Task:
    """How a leg is integrated."""

    method: Method
    step: float
    output: float | None
    watched: PositionLimits
    effort: Effort
    progress: bool | Update | None

    def run_all(self, legs: Sequence[Leg], q: np.ndarray, qd: np.ndarray) -> tuple[list[Run], list[Stop]]:
        """The runs of the legs, one after the other, until no arm is left; and the arms that stopped."""
        runs, stops = list[Run](), list[Stop]()
        for leg in legs:
            run, found = self.run(leg.after(runs[-1]) if runs else leg, q, qd)
            runs.append(run)
            stops += found
            if len(stops) == len(q):
                break
            q, qd = run.positions[-1].reshape(q.shape), run.qd[-1].reshape(qd.shape)
        return runs, stops

    def run(self, leg: Leg, q: np.ndarray, qd: np.ndarray) -> tuple[Run, list[Stop]]:
        """The run of a leg from states (arms, n), and the arms that stop in it, at instants of the whole run.

        With loops q is all positions (arms, positions).

        Arms whose states are NaN have stopped before.
        """
        robot, driven, method = leg.robot, leg.driven, self.method
        grid = _grid(driven.duration, self.step, self.output, method, driven.period)
        with progress_bar(f"simulating {robot.name}", self.progress) as update:
            if method == "rk4":
                trace = integrate_fixed(robot, q, qd, grid, driven, self.watched, update)
            else:
                trace = integrate_adaptive(robot, q, qd, grid, driven, self.watched, self.effort, update)
        run = make_run(robot, method, grid, driven, trace)
        return run, [replace(stop, instant=stop.instant + leg.start) for stop in trace.stops]


def _states(robot: Robot, q0: Any, qd0: Any, method: Method) -> tuple[np.ndarray, np.ndarray]:
    """Positions, with loops all of them, and velocities, for each arm; on a GPU if one of them is there."""
    where = of_states(q0, qd0, method)
    first = where.floats("q0", q0) if _is_posture(robot, q0) else where.wide("q0", q0, robot.n)
    arrays = [where.finite("q0", first), where.finite("qd0", where.wide("qd0", qd0, robot.n))]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        raise SimulationError(f"q0, qd0: shapes {arrays[0].shape} and {arrays[1].shape} differ") from None
    q, qd = (np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in arrays)
    if not q.size:
        raise SimulationError(f"q0, qd0: found shape {q.shape}; at least one arm is expected")
    return (_assembled(robot, q) if robot.model.loops else q), qd


def _is_posture(robot: Robot, q0: Any) -> bool:
    """Whether q0 are all positions of a robot with loops."""
    return bool(robot.model.loops) and np.shape(q0)[-1:] == (robot.mechanism.positions,)


def _assembled(robot: Robot, q: np.ndarray) -> np.ndarray:
    try:
        return array(robot.assembly(q))
    except ModelError as error:
        raise SimulationError(f"q0: {str(error).removeprefix('q: ')}") from None


def _grid(duration: float, step: Any, output: Any, method: Method, period: float | None) -> Grid:
    """With fixed steps and a sampled controller, a whole number of steps fits its period."""
    most = check.positive("step", step)
    if method == "rk4" and period is not None:
        most = period / at_least(period, most)
    kept = min(most if output is None else check.positive("output", output), duration)
    least = min(most, kept) if method == "rk4" else kept
    if not duration / least <= MOST_STEPS:
        raise SimulationError(f"step: {duration:g} s in steps of {least:g} s are too many")
    return Grid(duration, kept, most)


def _check_size(grid: Grid, q: np.ndarray, columns: int) -> None:
    """Refuse what does not fit the memory before it takes the memory: that of the GPU if q is there."""
    arms = int(np.prod(q.shape[:-1]))
    size = q.dtype.itemsize * (grid.samples + 1) * arms * columns
    there = memory_of(q)
    if there is not None and size > there:
        count = f"{grid.samples + 1:,} instants of {arms} arm{'s' * (arms > 1)}"
        raise SimulationError(
            f"output: {count} would take {size / 2**30:,.0f} GiB; this {'GPU' if is_cupy(q) else 'machine'} "
            f"has {there / 2**30:,.0f} GiB. "
            "A longer `output` takes less"
        )
