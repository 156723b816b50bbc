"""Simulation of an arm that picks up and puts down loads: one leg after the other, each with its own robot.

A load that is taken up moves with the arm already, so velocities do not jump. A sampled controller is sampled
anew at the beginning of every leg; its memory goes on. An arm of a batch that stops has NaN in later legs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from armdyn.motion.trajectories.loads import Carried, Loaded, check_loads
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import Actuation, Law
from armdyn.simulation.control.controller import Controller
from armdyn.simulation.control.sums import with_model
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.run import Run


@dataclass(frozen=True)
class Leg:
    """A part of a simulation during which the arm carries the same."""

    robot: Robot
    start: float  # s
    driven: Actuation  # its time begins with the leg

    def after(self, run: Run) -> Leg:
        """The leg with what the controller remembers from the one before."""
        law = self.driven.torque
        if not isinstance(law, Law) or not law.controller.remembered:
            return self
        memory = run.memory[-1].reshape(-1, law.controller.remembered)
        return replace(self, driven=replace(self.driven, torque=replace(law, memory=memory)))


def loaded_robot(robot: Robot, loads: Any, torque: Any, duration: float) -> Loaded:
    """The robot with what it carries: `loads`, or "target": those of the motion that a controller follows.

    Loads that end with this motion are carried on afterwards, given either way.
    """
    target = getattr(torque, "target", None)
    followed = target if isinstance(target, Trajectory) else None
    if isinstance(loads, str) and loads == "target":
        return Loaded(robot, (), duration) if followed is None else followed.loaded(robot)
    if not isinstance(loads, Sequence) or not all(isinstance(one, Carried) for one in loads):
        raise SimulationError(
            f"loads: found {type(loads).__name__}; expected 'target', or the loads of a trajectory, () for "
            "none"
        )
    last = max((one.end for one in loads), default=0.0)
    ends = max(duration, last) if followed is None or last > followed.duration else followed.duration
    return Loaded(robot, check_loads(loads, ends), ends)


def legs_of(loaded: Loaded, driven: Actuation) -> list[Leg]:
    """The legs; one where the arm carries the same all the time.

    A controller knows what the motion that it follows carries.
    """
    model = _model(driven.controller)
    changes = np.append(loaded.boundaries, [] if model is None else model.boundaries)
    inner = np.unique(changes[(changes > 0) & (changes < driven.duration)]).tolist()
    found = []
    for start, end in pairwise([0.0, *inner, driven.duration]):
        own = driven if model is None else _with_model(driven, _robot_at(model, start, end))
        own = own.later(start, end - start) if inner else own
        found.append(Leg(_robot_at(loaded, start, end), start, own))
    return found


def _model(controller: Controller | None) -> Loaded | None:
    """The controller's model with what its target carries."""
    target = getattr(controller, "target", None)
    if controller is None or not isinstance(target, Trajectory) or not target.loads:
        return None
    return target.loaded(controller.robot)


def _robot_at(loaded: Loaded, start: float, end: float) -> Robot:
    return loaded.robots[int(loaded.index(np.array([(start + end) / 2]))[0])]


def _with_model(driven: Actuation, robot: Robot) -> Actuation:
    """With another model in the controller."""
    law = driven.torque
    if not isinstance(law, Law):
        return driven
    return replace(driven, torque=replace(law, controller=with_model(law.controller, robot)))


def joined(robot: Robot, loaded: Loaded, legs: Sequence[Leg], runs: Sequence[Run]) -> Run:
    """One run of the runs of legs; where a leg begins, its first instant takes the place of the last one."""
    if len(legs) == 1:
        return runs[0] if not loaded.loads else replace(runs[0], robot=robot, carried=loaded)

    def column(name: str) -> np.ndarray:
        parts = [getattr(run, name) for run in runs]
        return np.concatenate([*(x[:-1] for x in parts[:-1]), parts[-1]])

    def work(name: str) -> np.ndarray:
        parts: list[Any] = []
        done: Any = 0.0
        for run in runs:
            parts.append(getattr(run, name) + done)
            done = parts[-1][-1]
        return np.concatenate([*(x[:-1] for x in parts[:-1]), parts[-1]])

    def later(name: str) -> tuple[Any, ...]:
        pairs = zip(legs, runs, strict=False)
        return tuple(x._replace(time=x.time + leg.start) for leg, run in pairs for x in getattr(run, name))

    t = [leg.start + run.t for leg, run in zip(legs, runs, strict=False)]
    names = ["q", "qd", "tau", "memory", *(["closed"] if runs[0].closed is not None else [])]
    columns: dict[str, Any] = {name: column(name) for name in names}
    columns |= {name: work(name) for name in ("torque_work", "wrench_work", "dissipated")}
    return replace(
        runs[-1],
        robot=robot,
        t=np.concatenate([*(x[:-1] for x in t[:-1]), t[-1]]),
        **columns,
        events=later("events"),
        limits_passed=_first(later("limits_passed")),
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        carried=loaded,
    )


def _first(passed: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first time that each joint of each arm passes a limit."""
    found: dict[tuple[Any, ...], Any] = {}
    for one in passed:
        found.setdefault((one.joint, one.limit, one.arm), one)
    return tuple(found.values())
