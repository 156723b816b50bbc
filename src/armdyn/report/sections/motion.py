"""A motion, the torques it needs, and what causes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.analysis.contributions import Contributions, RotorPart
from armdyn.drawing.arm import draw_arm, draw_base_axes, draw_ghost, draw_scale, outline
from armdyn.drawing.canvas import canvas
from armdyn.drawing.curves import (
    TOTAL,
    cause_look,
    colour,
    curve,
    effort_label,
    finish,
    joint_kinds,
    joint_label,
    joint_title,
)
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import Given, sheet, sheet_of
from armdyn.drawing.skeleton import skeleton
from armdyn.drawing.style import styled
from armdyn.drawing.views import plane_normal, view_of
from armdyn.expression import shown
from armdyn.motion.timing.exceeded import exceeded, sentences
from armdyn.motion.torques import check_robot, contributions_along
from armdyn.motion.trajectory import Trajectory
from armdyn.report.page import (
    Amount,
    Markup,
    Part,
    Picture,
    TableCell,
    cited,
    number,
    paragraph,
    table,
    tag,
    warning,
)
from armdyn.report.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units, passive_text, torque_unit

_ROUNDING = 1e-9  # of the largest torque: smaller parts are rounding
_SMALLEST = 0.05  # of a joint's largest torque: smaller parts are drawn as one
_SMALLER = "smaller parts"
_DETAILED = 3  # joints up to which every cause gets its own curve
_POSTURES = 7  # of an arm along its motion


@styled
def plot_strobe(
    robot: Robot, trajectory: Trajectory, postures: int = _POSTURES, *, ax: Given = None
) -> Figure:
    """The robot at equal intervals of time along a motion, the path of its tip, its last posture in full."""
    check_robot(robot, trajectory)
    if postures % 1 or postures < 1:
        raise ReportError(f"postures: found {shown(postures)}; a whole number from 1 on is expected")
    arms = [skeleton(robot, q) for q in trajectory(np.linspace(0, trajectory.duration, int(postures)))[0]]
    view = view_of(robot, arms[len(arms) // 2])
    fine = trajectory(np.linspace(0, trajectory.duration, 200))[0]
    path = view.flat(np.asarray(robot.pose(fine))[:, :3, 3])
    paper = canvas(view, np.vstack([outline(view, arms), path]), ax=ax)
    panel = paper.panel
    draw_scale(paper, view)
    for k, ghost in enumerate(arms[:-1]):
        draw_ghost(paper, view, ghost, 0.86 - 0.4 * k / max(len(arms) - 2, 1))
    panel.plot(*path.T, color=colour(1), lw=1.3, ls=(0, (5, 2)), zorder=60)
    paper.places.line(paper.points(path), 1.3)
    draw_arm(paper, view, arms[-1])
    draw_base_axes(paper, view, arms[-1])
    marks = view.flat(np.array([arm.tip for arm in arms]))
    panel.plot(*marks.T, ls="none", marker="o", ms=3.2, mfc="white", mec=colour(1), zorder=61)
    for mark in paper.points(marks):
        paper.places.block(mark + np.array([[-2.5, -2.5], [2.5, 2.5]]))
    ends = paper.points(marks[[0, -1]])
    if np.linalg.norm(ends[1] - ends[0]) < 4:
        paper.label("start, end", marks[0], 10, 16, 24, 34)
    else:
        paper.label("start", marks[0], 10, 16, 24, 34, rivals=ends[1:])
        paper.label("end", marks[-1], 10, 16, 24, 34, rivals=ends[:1])
    paper.draw_labels()
    return paper.paper.figure


def plot_trajectory(robot: Robot, trajectory: Trajectory, wrench: Any = None, *, ax: Given = None) -> Figure:
    """Positions, velocities, accelerations and torques of the joints over time, as in figure 7.5.

    `wrench` (6,) is the force and moment the tip exerts on its surroundings. A robot with both kinds of
    joints gets a column of panels for each, in its own units. `ax` takes 4 axes, or 8 of such a robot.
    """
    return _draw_joints(Subject.of(robot, trajectory, wrench), ax=ax)


@styled
def _draw_joints(subject: Subject, *, ax: Given = None) -> Figure:
    robot, samples = subject.robot, subject.samples
    kinds = joint_kinds(robot)
    curves = samples.q, samples.qd, samples.qdd, subject.torque
    mixed = len(kinds) == 2
    paper = sheet(7.6 if mixed else 4.7, 4 if mixed else 2, 2, ax=ax, sharex=True)
    for kind, column in zip(kinds, zip(*paper.rows, strict=True) if mixed else [paper.panels], strict=True):
        titles = "position", "velocity", "acceleration", kind.units.effort
        for panel, title, unit, values in zip(column, titles, kind.units, curves, strict=True):
            lines = [curve(panel, samples.t, values[:, j], j, joint_label(robot, j)) for j in kind.joints]
            heading = f"{kind.name} joints" if mixed and title == "position" else ""
            finish(panel, lines, f"{title} [{unit}]", heading)
    paper.under("time [s]")
    return paper.figure


def plot_tip(robot: Robot, trajectory: Trajectory, *, ax: Given = None) -> Figure:
    """Position, velocity and acceleration of the tip over time, world axes, as in figure 7.9 (3 axes)."""
    subject = Subject.of(robot, trajectory)
    return _draw_tip(subject, _tip_curves(subject), ax=ax)


def _tip_curves(subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity J q̇ and acceleration J q̈ + J̇ q̇ of the tip along the motion, (N, 3), world axes."""
    robot, at = subject.robot, subject.samples
    J = np.asarray(robot.jacobian(at.q))[:, :3]
    J_dot = np.asarray(robot.jacobian_dot(at.q, at.qd))[:, :3]
    velocity = np.einsum("tij,tj->ti", J, at.qd)
    acceleration = np.einsum("tij,tj->ti", J, at.qdd) + np.einsum("tij,tj->ti", J_dot, at.qd)
    return np.asarray(robot.pose(at.q))[:, :3, 3], velocity, acceleration


@styled
def _draw_tip(subject: Subject, curves: Sequence[np.ndarray], *, ax: Given = None) -> Figure:
    """Along the world axes along which the tip can move: those of its plane for a planar arm."""
    normal = plane_normal(skeleton(subject.robot, subject.samples.q[0]))
    axes = [k for k in range(3) if normal is None or abs(normal[k]) < 1 - 1e-9]
    paper = sheet(2.5, 1, 3, ax=ax, sharex=True)
    names, units = ("position", "velocity", "acceleration"), ("m", "m/s", "m/s²")
    for panel, name, unit, values in zip(paper.panels, names, units, curves, strict=True):
        lines = [curve(panel, subject.samples.t, values[:, k], k, "xyz"[k]) for k in axes]
        finish(panel, lines, f"{name} [{unit}]")
    paper.under("time [s]")
    return paper.figure


def plot_contributions(
    robot: Robot,
    trajectory: Trajectory,
    wrench: Any = None,
    *,
    rotors: RotorPart = "separate",
    smallest: float = _SMALLEST,
    ax: Given = None,
) -> Figure:
    """The torques of a motion by what causes them, a panel for each joint, as in figures 7.6, 7.8 and 7.11.

    Up to three joints every cause has its own curve (inertia and centrifugal torques of each joint, Coriolis
    torques of each pair) and looks the same in all panels; above that the curves of a kind are added. The
    pale line is the whole torque.
    Rotor coupling is what exact rotors add to the diagonal model; with rotors="within" it is part of inertia,
    centrifugal and Coriolis torques, as in the book's figures. Several parts that stay below `smallest`, in
    parts of a joint's largest torque, are added up to one curve; 0 draws them all. `ax` takes n axes.
    """
    subject = Subject.of(robot, trajectory, wrench)
    return _draw_causes(subject, _contributions(subject, rotors), smallest, ax=ax)


def _contributions(subject: Subject, rotors: RotorPart = "separate") -> Contributions:
    loaded = subject.trajectory.loaded(subject.robot)
    return contributions_along(loaded, subject.samples, subject.wrench, rotors=rotors)


def _least(subject: Subject) -> float:
    """The torque below which all is rounding."""
    return float(_ROUNDING * np.abs(subject.torque).max())


def _causes(subject: Subject, found: Contributions) -> dict[str, np.ndarray]:
    """Torques (N, n) by cause; those that are only rounding are left out."""
    return {name: part for name, part in found.parts.items() if np.abs(part).max() > _least(subject)}


@styled
def _draw_causes(
    subject: Subject, found: Contributions, smallest: float = _SMALLEST, *, ax: Given = None
) -> Figure:
    robot, total, t, least = subject.robot, subject.torque, subject.samples.t, _least(subject)
    if robot.n > _DETAILED:
        return _grid_of_joints(subject, _gathered(_causes(subject, found), smallest), ax)
    paper = sheet(0.45 + 2.25 * robot.n, robot.n, 1, ax=ax, sharex=True)
    shown = [
        _gathered({n: y for n, y in found.at(i) if np.abs(y).max() > least}, smallest) for i in range(robot.n)
    ]
    look = {name: k for k, name in enumerate(dict.fromkeys(name for curves in shown for name in curves))}
    for i, panel in enumerate(paper.panels):
        lines = [curve(panel, t, total[:, i], 0, "total", **TOTAL)]
        lines += [curve(panel, t, y, 0, name, **cause_look(name, look[name])) for name, y in shown[i].items()]
        finish(panel, lines, effort_label(robot, i), joint_title(robot, i))
    paper.under("time [s]")
    return paper.figure


def _gathered(parts: dict[str, np.ndarray], smallest: float) -> dict[str, np.ndarray]:
    """Parts (N,), or (N, n), those that are small at every joint added up, if there are several."""
    if not parts:
        return parts
    sizes = {name: np.abs(part).max(0) for name, part in parts.items()}
    bound = smallest * np.maximum.reduce([np.abs(sum(parts.values())).max(0), *sizes.values()])
    small = [name for name, size in sizes.items() if np.all(size < bound)]
    if len(small) < 2:
        return parts
    return {
        **{name: part for name, part in parts.items() if name not in small},
        _SMALLER: np.asarray(sum(parts[name] for name in small)),
    }


def _grid_of_joints(subject: Subject, causes: dict[str, np.ndarray], ax: Given) -> Figure:
    """Two columns of panels, one for each joint, with one legend."""
    robot, t = subject.robot, subject.samples.t
    paper = sheet_of(robot.n, 2, 0.7, 1.75, ax=ax, sharex=True)
    looks = {name: cause_look(name, k) for k, name in enumerate(causes)}
    for i, panel in enumerate(paper.panels):
        curve(panel, t, subject.torque[:, i], 0, "total", **TOTAL)
        for name, part in causes.items():
            if part[:, i].any():
                curve(panel, t, part[:, i], 0, name, lw=1.3, **looks[name])
        finish(panel, [], effort_label(robot, i), joint_title(robot, i))
    handles = [Line2D([], [], label="total", **{**TOTAL, "zorder": 1})]
    handles += [Line2D([], [], label=name, **look) for name, look in looks.items()]
    paper.under("time [s]")
    paper.legend(handles, ncols=min(len(handles), 5))
    return paper.figure


# ---- the sections ----------------------------------------------------------------------------------------


def write_motion(subject: Subject) -> list[Part]:
    at = subject.samples
    parts: list[Part] = [paragraph(cited(subject.text))]
    beyond = [one for one in exceeded(subject.robot, at.t, at.q, at.qd, at.qdd) if not one.of_motor]
    if beyond:
        parts.append(warning(f"The motion exceeds limits: {'; '.join(sentences(beyond))}."))
    position, velocity, acceleration = curves = _tip_curves(subject)
    path = float(np.linalg.norm(np.diff(position, axis=0), axis=1).sum())  # how far the tip moves [m]
    motion = subject.trajectory
    strobe = [
        f"The arm in {_POSTURES} postures, {motion.duration / (_POSTURES - 1):.3g} s apart, ",
        "the last one in full. The dashed line, ",
        number(path, 3),
        " m long, is the path of the tip.",
    ]
    what = "the arm in several postures along the motion"
    parts.append(Picture(plot_strobe(subject.robot, motion), what, strobe, drawing=True))
    what = "positions, velocities, accelerations and torques of the joints over time"
    parts.append(Picture(_draw_joints(subject), what, _joints_caption(subject)))
    if path > 0:
        what = "position, velocity and acceleration of the tip over time"
        parts.append(Picture(_draw_tip(subject, curves), what, _tip_caption(at.t, velocity, acceleration)))
    return parts


def _joints_caption(subject: Subject) -> list[str]:
    size = np.abs(subject.torque)
    sample, joint = np.unravel_index(int(size.argmax()), size.shape)
    caption: list[str] = ["Positions, velocities, accelerations and torques of the joints over time. "]
    caption += [f"The largest torque is that of joint {joint + 1}, ", number(size[sample, joint])]
    caption += [
        f" {torque_unit(subject.robot, int(joint))} at ",
        number(float(subject.samples.t[sample]), 3),
        " s.",
    ]
    if subject.wrench is not None:
        caption.append(" The arm exerts the given wrench on its surroundings all along.")
    return caption


def _tip_caption(t: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray) -> list[str]:
    speed, gain = (np.linalg.norm(x, axis=1) for x in (velocity, acceleration))
    caption: list[str] = ["The tip in the world: at most ", number(speed.max(), 3), " m/s (at "]
    caption += [number(t[speed.argmax()], 3)]
    return [*caption, " s) and ", number(gain.max(), 3), " m/s² (at ", number(t[gain.argmax()], 3), " s)."]


def write_torques(subject: Subject) -> list[Part]:
    robot, found = subject.robot, _contributions(subject)
    sizes = {name: np.abs(part).max(0) for name, part in _causes(subject, found).items()}
    largest = {name: np.where(x > _least(subject), x, 0.0) for name, x in sizes.items()}  # (n,) by cause
    beyond = [one for one in exceeded(robot, subject.samples.t, tau=subject.torque) if one.kind == "torque"]
    text = f"The motion exceeds limits: {'; '.join(sentences(beyond))}."
    what = "torque contributions of each joint over time"
    passive, drawn = passive_text(robot), _draw_causes(subject, found)
    gathered = any(line.get_label() == _SMALLER for panel in drawn.axes for line in panel.lines)
    return [
        *([warning(text)] if beyond else []),
        *([warning(passive[:1].upper() + passive[1:] + ".")] if passive else []),
        _peaks_table(subject),
        Picture(drawn, what, _caption(robot, largest, gathered)),
        tag("h3", "Largest magnitude of each part"),
        _causes_table(robot, largest),
    ]


def torque_peaks(subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n,) each: the largest magnitude of each joint's torque, when it is reached [s], and the rms."""
    t, tau = subject.samples.t, subject.torque
    tau = np.where(np.abs(tau).max(0) > _least(subject), tau, 0.0)
    rms = np.sqrt(np.trapezoid(tau**2, t, axis=0) / t[-1])
    return np.abs(tau).max(0), t[np.abs(tau).argmax(0)], rms


def _peaks_table(subject: Subject) -> Markup:
    columns = ("joint", "velocity", "acceleration", "torque", "at", "torque, rms", "limit", "share of it")
    robot, at, limits = subject.robot, subject.samples, joint_limits(subject.robot).torque
    rows, limited = [], bool(np.isfinite(limits).any())
    for i, (peak, when, rms) in enumerate(zip(*torque_peaks(subject), strict=True)):
        units = joint_units(robot, i)
        share = 100 * float(peak) / float(limits[i])
        row: list[TableCell] = [
            f"{i + 1}, {robot.model.coordinates[i].joint_label}",
            Amount(float(np.abs(at.qd[:, i]).max()), 3, units.velocity),
            Amount(float(np.abs(at.qdd[:, i]).max()), 3, units.acceleration),
            Amount(float(peak), 4, units.torque),
            Amount(float(when), 3, "s"),
            Amount(float(rms), 4, units.torque),
            Amount(float(limits[i]), 4, units.torque),
            Amount(float(np.round(share)), 4, "%") if np.isfinite(limits[i]) else "–",
        ]
        rows.append(row if limited else row[:6])
    return table(columns if limited else columns[:6], rows)


def _caption(robot: Robot, largest: dict[str, np.ndarray], gathered: bool) -> list[str]:
    caption: list[str] = ["The torque of each joint (thick grey line) and its parts, which add up to it. "]
    if gathered:
        text = f"Several parts below {100 * _SMALLEST:g} % of a joint's largest torque are one curve. "
        caption.append(text)
    if largest:
        name = max(largest, key=lambda x: float(largest[x].max()))
        joint = int(largest[name].argmax())
        caption += [f"The largest part in this motion is {name} at joint {joint + 1}, up to "]
        caption += [number(float(largest[name][joint])), f" {torque_unit(robot, joint)}."]
    if "rotor coupling" in largest:
        caption.append(
            " Rotor coupling is what exact rotors add to the diagonal model, in which a motor is k²Iₘ at its "
            "joint."
        )
    return caption


def _causes_table(robot: Robot, largest: dict[str, np.ndarray]) -> Markup:
    rows: list[tuple[TableCell, ...]] = []
    for i, link in enumerate(robot.model.coordinates):
        values = [Amount(float(x[i]), 3, torque_unit(robot, i)) for x in largest.values()]
        rows.append((f"{i + 1}, {link.joint_label}", *values))
    return table(("joint", *largest), rows)
