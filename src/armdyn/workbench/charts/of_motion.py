"""The charts of a motion: torques, by cause, at the motors; positions, velocities, accelerations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.analysis import contributions
from armdyn.expression import ArmdynError
from armdyn.motion.motors.loads import MotorLoads
from armdyn.motion.timing.limits import limits_for
from armdyn.motion.trajectories.loads import Loaded
from armdyn.motion.trajectories.motion import STEP
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.workbench.bench.moment import Subject
from armdyn.workbench.charts.chart import BLUE, GREY, Chart, Line, Panel
from armdyn.workbench.panels.torques import COLOURS

_MOST, _FEW = 20_000, 2_000  # instants at which curves are computed, and torques by cause
TALL = 240  # pixels
BY_CAUSE = "Torques by cause"


@dataclass(frozen=True, eq=False)
class Shown:
    """A motion with its name in the key."""

    motion: Trajectory
    label: str
    colour: str = BLUE
    dashed: bool = False

    def samples(self, most: int = _MOST) -> Samples:
        return self.motion.samples(max(self.motion.step or STEP, self.motion.duration / most))

    def line(self, t: np.ndarray, y: np.ndarray) -> Line:
        return Line(t, y, self.label, self.colour, self.dashed)


def motion_charts(
    robot: Robot, motion: Trajectory, other: Trajectory | None = None, names: tuple[str, str] = ("", "")
) -> dict[str, Callable[..., Chart]]:
    """Charts by title: functions of the subject, a joint and a wrench. `other` is drawn dashed, in grey."""
    shown = [Shown(motion, names[0] or "motion")]
    if other is not None:
        shown.append(Shown(other, names[1], GREY, True))

    def of(chart: Callable[..., Chart], *further: Any) -> Callable[..., Chart]:
        return lambda subject, joint, wrench: chart(shown, subject, joint, wrench, *further)

    found = {"Torques": of(_torques), BY_CAUSE: of(_by_cause)}
    if any(link.motor is not None for link in robot.model.links):
        found["Torques at the motors"] = of(_at_motors)
    for k, title in enumerate(("Positions", "Velocities", "Accelerations")):
        found[title] = of(_states, k)
    return found


def torques_of(subject: Subject, motion: Trajectory, at: Samples, wrench: Any = None) -> np.ndarray:
    """(N, n): `inverse_dynamics` at samples, each with what the arm carries; nothing is compiled."""
    bare = subject.bare
    loaded = Loaded(bare.robot, motion.loads, motion.duration)
    tau = np.empty_like(at.q)
    for mask, robot in loaded.groups(at.t):
        own = bare.carrying(robot)
        states = at.q[mask], at.qd[mask], at.qdd[mask]
        tau[mask] = own.runs.inverse_dynamics(*states, wrench, parameters=own.parameters)
    return tau


def torque_bounds(robot: Robot) -> np.ndarray:
    """(n,): limits of torque at the joints, those of motors of one joint included; infinite for none."""
    try:
        return limits_for(robot).torque.bound[: robot.n]
    except ArmdynError:
        return joint_limits(robot).torque


def joint_title(robot: Robot, joint: int) -> str:
    return f"{joint + 1} {robot.model.coordinates[joint].joint_label}"


def _chart(shown: list[Shown], panels: list[Panel]) -> Chart:
    main = shown[0].motion
    marks = Loaded(None, main.loads, main.duration).boundaries.tolist()  # type: ignore[arg-type]
    notes = ("Dotted: a load is picked up or put down.",) if marks else ()
    return Chart(tuple(panels), max(one.motion.duration for one in shown), tuple(marks), notes)


def _torques(shown: list[Shown], subject: Subject, _joint: int, wrench: Any) -> Chart:
    robot, bounds = subject.bare.robot, torque_bounds(subject.bare.robot)
    found = [(one, at := one.samples(), torques_of(subject, one.motion, at, wrench)) for one in shown]
    panels = [
        Panel(
            joint_title(robot, j),
            joint_units(robot, j).torque,
            tuple(one.line(at.t, tau[:, j]) for one, at, tau in found),
            (-float(bounds[j]), float(bounds[j])),
        )
        for j in range(robot.n)
    ]
    return _chart(shown, panels)


def _by_cause(shown: list[Shown], subject: Subject, joint: int, wrench: Any) -> Chart:
    """Of one joint; of the motion that is played alone."""
    one, bare = shown[0], subject.bare
    at = one.samples(_FEW)
    parts: dict[str, np.ndarray] = {}
    for mask, robot in Loaded(bare.robot, one.motion.loads, one.motion.duration).groups(at.t):
        own = bare.carrying(robot)
        states = at.q[mask], at.qd[mask], at.qdd[mask]
        for name, part in contributions(own.runs, *states, wrench, parameters=own.parameters).parts.items():
            parts.setdefault(name, np.zeros(len(at.t)))[mask] = part[:, joint]
    lines = [Line(at.t, np.sum(list(parts.values()), axis=0), "torque", "currentColor", width=2.2)]
    lines += [Line(at.t, y, name, COLOURS[name]) for name, y in parts.items() if np.any(y)]
    bound = float(torque_bounds(bare.robot)[joint])
    unit = joint_units(bare.robot, joint).torque
    panel = Panel(joint_title(bare.robot, joint), unit, tuple(lines), (-bound, bound), TALL)
    return _chart(shown[:1], [panel])


def _at_motors(shown: list[Shown], subject: Subject, _joint: int, wrench: Any) -> Chart:
    robot = subject.bare.robot
    found = []
    for one in shown:
        at = one.samples()
        found.append(
            (one, MotorLoads.from_torques(robot, at.t, at.qd, torques_of(subject, one.motion, at, wrench)))
        )
    first = found[0][1]
    panels = [
        Panel(
            f"motor {i + 1} {name}" if first.geared[i] else f"{name} (driven directly)",
            first.units[i].torque,
            tuple(one.line(loads.t, loads.torque[:, i]) for one, loads in found),
            (-float(first.limits.torque[i]), float(first.limits.torque[i])),
        )
        for i, name in enumerate(first.names)
    ]
    return _chart(shown, panels)


def _states(shown: list[Shown], subject: Subject, _joint: int, _wrench: Any, kind: int) -> Chart:
    robot = subject.bare.robot
    limits = joint_limits(robot)
    bounds = (
        (limits.lower, limits.upper),
        (-limits.velocity, limits.velocity),
        (-limits.acceleration, limits.acceleration),
    )[kind]
    found = [(one, at := one.samples(), (at.q, at.qd, at.qdd)[kind]) for one in shown]
    panels = [
        Panel(
            joint_title(robot, j),
            list(joint_units(robot, j))[kind],
            tuple(one.line(at.t, x[:, j]) for one, at, x in found),
            (float(bounds[0][j]), float(bounds[1][j])),
        )
        for j in range(robot.n)
    ]
    return _chart(shown, panels)
