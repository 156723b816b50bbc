"""Simulated runs over time: joints against target and limits, energies, events; and the arm left alone."""

from __future__ import annotations

import warnings
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.drawing.curves import (
    TOTAL,
    JointKind,
    colour,
    curve,
    end_labels,
    few,
    finish,
    framed,
    joint_kinds,
    joint_label,
    limit_lines,
)
from armdyn.drawing.errors import ReportError, check
from armdyn.drawing.sheet import Given, Sheet, sheet
from armdyn.drawing.style import GREY, INK, styled
from armdyn.motion.torques import check_robot
from armdyn.motion.trajectory import Trajectory
from armdyn.report.page import Markup, Part, Picture, join, number, tag
from armdyn.report.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits, joint_name
from armdyn.simulation import SimulationWarning, simulate
from armdyn.simulation.run import EventKind, LimitPassed, Run


@dataclass(frozen=True)
class RunCurves:
    """One arm of a run, up to where it stopped or diverged: N instants, n joints."""

    robot: Robot
    t: np.ndarray  # (N,) [s]
    q: np.ndarray  # (N, n)
    qd: np.ndarray
    tau: np.ndarray
    target: tuple[np.ndarray, np.ndarray] | None  # positions and velocities (N, n) that were wanted
    energies: dict[str, np.ndarray]  # by name, (N,) [J]
    marks: dict[tuple[int | None, EventKind], list[float]]  # instants [s] by joint (None: no one) and kind
    passed: tuple[LimitPassed, ...]
    limits: JointLimits


def _curves(run: Run, target: Any, arm: Any) -> RunCurves:
    """One arm of a run; `target` is a trajectory or a posture (n,), `arm` the arm's index in a batch."""
    if not isinstance(run, Run):
        raise ReportError(f"run: expected a Run, found {type(run).__name__}")
    robot, place = run.robot, run.place_of(arm)
    at: tuple[Any, ...] = (slice(None), *place)
    kept = np.isfinite(run.q[at]).all(1)
    t = run.t[kept]
    number = {joint_name(robot, j): j for j in range(robot.n)}
    marks = defaultdict(list)
    for event in run.events:  # of a motor or joint that moves with several: of no joint
        if event.arm == place:
            marks[number.get(event.surface), event.kind].append(event.time)
    return RunCurves(
        robot,
        t,
        run.q[at][kept],
        run.qd[at][kept],
        run.tau[at][kept],
        None if target is None else _wanted(robot, target, t),
        {name: y[kept] for name, y in _energies(run, place).items()},
        dict(marks),
        tuple(x for x in run.limits_passed if x.arm == place),
        joint_limits(robot),
    )


def _energies(run: Run, place: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Energies (N,) [J] of one arm by name; those that stay zero are left out."""
    at: tuple[Any, ...] = (slice(None), *place)
    found: dict[str, np.ndarray] = {
        "kinetic": run.kinetic[at],
        "potential": run.potential[at],
        "total": run.energy[at],
    }
    if np.nan_to_num(run.dissipated[at]).any():
        found["taken by friction"] = run.dissipated[at]
    if np.nan_to_num(run.torque_work[at]).any():
        found["work of the torques"] = run.torque_work[at]
    return found


def _wanted(robot: Robot, target: Any, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (N, n) of a trajectory, which rests after its end, or of a posture (n,)."""
    if isinstance(target, Trajectory):
        check_robot(robot, target)
        q, qd, _ = target(t)
        return np.asarray(q), np.asarray(qd)
    goal = check.posture("target", target, robot.n)
    return np.broadcast_to(goal, (len(t), robot.n)), np.zeros((len(t), robot.n))


_LOOKS = (1, 2, 0, 3, 4)


@styled
def plot_energy(run: Run, *, ax: Given = None) -> Figure:
    """Kinetic, potential and total energy of a simulated arm over time, and what friction has taken."""
    if run.q.ndim != 2:
        raise ReportError(f"run: found {run.q.shape[1:-1]} arms; the energies of one are drawn")
    paper = sheet(2.7, ax=ax)
    _draw_energies(paper.panels[0], run.t, _energies(run, ()))
    paper.under("time [s]")
    return paper.figure


def _draw_energies(panel: Axes, t: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """Energies by name, over time (N,)."""
    lines = [curve(panel, t, y, k, name) for (name, y), k in zip(found.items(), _LOOKS, strict=False)]
    framed(panel, "energy [J]")
    end_labels(panel, lines)


_TARGET: dict[str, Any] = {**TOTAL, "lw": 3.2}
_MARKS: dict[EventKind, tuple[str, dict[str, Any]]] = {
    "stick": ("sticks", {"marker": "o", "ms": 4.0, "mew": 1.0}),
    "slip": ("slips", {"marker": "o", "ms": 4.0, "mew": 1.0, "mfc": "white"}),
    "reverse": ("turns round", {"marker": "D", "ms": 3.4, "mew": 1.0, "mfc": "white"}),
}
_PASSED: dict[str, Any] = {"marker": "x", "ms": 6.0, "mew": 1.6}
_MOST = 30  # marks of one kind for one joint
_NEAR = 0.6  # of its limit: from there on a torque's limit is drawn


def plot_run(run: Run, target: Trajectory | Any = None, *, arm: Any = None, ax: Given = None) -> Figure:
    """A simulated run: positions, velocities and torques of the joints, and the energies, over time.

    With a `target`, a trajectory or a posture (n,), it is drawn behind the curves (pale), and the error
    of the positions, run minus target, below them. Marks on the positions are the instants at which a
    joint began to stick or to slip, turned round without resting, or passed a limit; those of motors that
    turn several joints stand at the bottom. Thin lines are limits that torques come near, or that positions
    passed. `arm` is the index of one arm of a batch. `ax` takes 4 axes, 5 with a target; of a robot with both
    kinds of joints 7, with a target 9.
    """
    return _draw_run(_curves(run, target, arm), ax=ax)


@styled
def _draw_run(found: RunCurves, *, ax: Given = None) -> Figure:
    robot = found.robot
    kinds = joint_kinds(robot)
    quantities = _quantities(found)
    used = len(kinds) * len(quantities) + 1
    rows = len(quantities) + 1
    paper = sheet(0.6 + 1.55 * rows, rows, len(kinds), ax=ax, used=used, wide=True, sharex=True)
    limited = False
    for k, (name, values, wanted) in enumerate(quantities):
        for kind, panel in zip(kinds, paper.panels[k * len(kinds) :], strict=False):
            title = f"{kind.name} joints" if len(kinds) == 2 and k == 0 else ""
            _draw(panel, found, kind, name, values, wanted, title)
            if name == "position":
                _mark(panel, found, kind)
            if name == "torque":
                limited = _torque_limits(panel, found, kind) or limited
    _draw_energies(paper.panels[-1], found.t, found.energies)
    paper.under("time [s]")
    _legend(paper, found, limited)
    return paper.figure


Quantity = tuple[str, np.ndarray, np.ndarray | None]  # its name, its values (N, n), and those wanted


def _quantities(found: RunCurves) -> list[Quantity]:
    """What is drawn of the joints."""
    if found.target is None:
        return [("position", found.q, None), ("velocity", found.qd, None), ("torque", found.tau, None)]
    q, qd = found.target
    return [
        ("position", found.q, q),
        ("velocity", found.qd, qd),
        ("position error", found.q - q, None),
        ("torque", found.tau, None),
    ]


def _draw(
    panel: Axes,
    found: RunCurves,
    kind: JointKind,
    name: str,
    values: np.ndarray,
    wanted: np.ndarray | None,
    title: str,
) -> None:
    """The curves of the joints of one kind, over what was wanted."""
    if wanted is not None:
        for j in kind.joints:
            curve(panel, found.t, wanted[:, j], 0, **_TARGET)
    lines = [curve(panel, found.t, values[:, j], j, joint_label(found.robot, j)) for j in kind.joints]
    units = kind.units
    unit = {"position": units.position, "velocity": units.velocity, "torque": units.torque}[name.split()[0]]
    finish(panel, lines, f"{units.effort if name == 'torque' else name} [{unit}]", title)


def _mark(panel: Axes, found: RunCurves, kind: JointKind) -> None:
    """Events on the curves of the joints' positions."""
    low, high = panel.get_ylim()
    for sort, (_, look) in _MARKS.items():
        for j in kind.joints:
            t = _times(found, j, sort)
            at = np.interp(t, found.t, found.q[:, j])
            panel.plot(t, at, ls="none", color=colour(j), zorder=3, **look)
        t = _times(found, None, sort)
        bottom = panel.get_xaxis_transform()
        panel.plot(t, np.full(len(t), 0.03), ls="none", color=GREY, zorder=3, transform=bottom, **look)
    for x in found.passed:
        if x.joint in kind.joints:
            panel.axhline(x.limit, color=colour(x.joint), lw=0.9, zorder=1.4)
            panel.plot([x.time], [x.limit], ls="none", color=colour(x.joint), zorder=3, **_PASSED)
            low, high = min(low, x.limit), max(high, x.limit)
    panel.set_ylim(low, high)


def _times(found: RunCurves, joint: int | None, kind: EventKind) -> np.ndarray:
    """When; of very many, some that stand for all."""
    t = np.array(found.marks.get((joint, kind), []))
    return np.asarray(t[few(len(t), _MOST)])


def _torque_limits(panel: Axes, found: RunCurves, kind: JointKind) -> bool:
    """Limits that the torques come near, in the joints' colours; whether there are any."""
    peaks, limits = np.abs(found.tau).max(0, initial=0.0), found.limits.torque
    drawn = False
    for j in kind.joints:
        if peaks[j] > _NEAR * limits[j]:
            drawn = limit_lines(panel, float(limits[j]), colour(j)) or drawn
    return drawn


def _legend(paper: Sheet, found: RunCurves, limited: bool) -> None:
    """What marks and pale lines are; only those that are there."""
    handles = []
    if found.target is not None:
        handles.append(Line2D([], [], label="target", **_TARGET))
    kinds = {kind for _, kind in found.marks}
    for sort, (name, look) in _MARKS.items():
        if sort in kinds:
            handles.append(Line2D([], [], ls="none", color=INK, label=name, **look))
    if found.passed:
        handles.append(Line2D([], [], ls="none", color=INK, label="passes a limit", **_PASSED))
    if limited or found.passed:
        handles.append(Line2D([], [], color=INK, lw=0.9, label="limit"))
    if handles:
        paper.legend(handles, ncols=len(handles), handlelength=2.0)


# ---- the section: motors switched off ----------------------------------------------------------------------


_FALL = 1.5  # s


def fall(subject: Subject) -> Run:
    """The arm after its motors are switched off half-way through the motion.

    A falling arm passes its limits; the section is about energies.
    """
    q, qd, _ = subject.trajectory(subject.trajectory.duration / 2)
    options: dict[str, Any] = {"output": _FALL / 300, "limits": "ignore", "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the page says what it says
        return simulate(subject.robot_half_way, q, qd, _FALL, **options)


def write_fall(subject: Subject) -> list[Part]:
    run = fall(subject)
    drift = float(np.abs(run.balance).max()) / max(float(run.kinetic.max()), 1e-12)
    taken = float(run.dissipated[-1]) if run.dissipated.any() else 0.0  # by friction [J]
    text: list[str] = ["The motors are switched off half-way through the motion and the arm moves by itself "]
    text.append(f"for {run.t[-1]:g} s. ")
    if taken:
        text += ["Friction takes ", number(taken, 3), " J. "]
    elif np.ptp(run.q, axis=0).any():
        text.append("Without friction its energy stays constant. ")
    else:
        text.append("It stays where it is. ")
    text += ["The simulation accounts for all energy to ", _power_of_ten(drift)]
    text.append(" of the largest kinetic energy.")
    if not run.completed:
        why, _, _ = run.message.partition(" at t = ")  # less the numbers of its last state
        text.append(f" It was not completed: {why.partition(' (all positions: ')[0]}.")
    return [Picture(plot_energy(run), "energies of the simulated arm over time", text)]


def _power_of_ten(x: float) -> Markup:
    """An upper bound that does not depend on the last bits of an integration."""
    exponent = int(np.ceil(np.log10(max(x, 1e-15))))
    return join(["better than 10", tag("sup", f"−{-exponent}" if exponent < 0 else str(exponent))])
