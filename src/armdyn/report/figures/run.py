"""A simulated run over time: joints against their target and limits, energies, and what happened when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.drawing import GREY, INK, TOTAL, Given, Sheet, colour, curve, sheet, styled
from armdyn.report.figures.energy import draw_energies
from armdyn.report.figures.labels import Kind, joint_kinds, joint_label
from armdyn.report.figures.motion import finish
from armdyn.report.figures.scaling import limit_lines
from armdyn.report.findings.run import Mark, RunCurves, run_curves
from armdyn.simulation.run import Run

_TARGET: dict[str, Any] = {**TOTAL, "lw": 3.2}
_MARKS: dict[str, tuple[str, dict[str, Any]]] = {
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
    return draw_run(run_curves(run, target, arm), ax=ax)


@styled
def draw_run(found: RunCurves, *, ax: Given = None) -> Figure:
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
    draw_energies(paper.panels[-1], found.t, found.energies)
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
    kind: Kind,
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


def _mark(panel: Axes, found: RunCurves, kind: Kind) -> None:
    """Events on the curves of the joints' positions."""
    low, high = panel.get_ylim()
    for sort, (_, look) in _MARKS.items():
        for j in kind.joints:
            t = _times(mark for mark in found.marks if (mark.joint, mark.kind) == (j, sort))
            at = np.interp(t, found.t, found.q[:, j])
            panel.plot(t, at, ls="none", color=colour(j), zorder=3, **look)
        t = _times(mark for mark in found.marks if (mark.joint, mark.kind) == (None, sort))
        bottom = panel.get_xaxis_transform()
        panel.plot(t, np.full(len(t), 0.03), ls="none", color=GREY, zorder=3, transform=bottom, **look)
    for x in found.passed:
        if x.joint in kind.joints:
            panel.axhline(x.limit, color=colour(x.joint), lw=0.9, zorder=1.4)
            panel.plot([x.time], [x.limit], ls="none", color=colour(x.joint), zorder=3, **_PASSED)
            low, high = min(low, x.limit), max(high, x.limit)
    panel.set_ylim(low, high)


def _times(marks: Iterable[Mark]) -> np.ndarray:
    """When; of very many, some that stand for all."""
    t = np.array([mark.time for mark in marks])
    return t if len(t) <= _MOST else t[np.linspace(0, len(t) - 1, _MOST).astype(int)]


def _torque_limits(panel: Axes, found: RunCurves, kind: Kind) -> bool:
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
    kinds = {mark.kind for mark in found.marks}
    for sort, (name, look) in _MARKS.items():
        if sort in kinds:
            handles.append(Line2D([], [], ls="none", color=INK, label=name, **look))
    if found.passed:
        handles.append(Line2D([], [], ls="none", color=INK, label="passes a limit", **_PASSED))
    if limited or found.passed:
        handles.append(Line2D([], [], color=INK, lw=0.9, label="limit"))
    if handles:
        paper.legend(handles, ncols=len(handles), handlelength=2.0)
