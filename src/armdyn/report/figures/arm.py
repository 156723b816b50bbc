"""The arm drawn: links, joints, motors and the tip frame, in one posture or in several along a motion."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import one_line
from armdyn.report.figures.drawing import GREY, INK, PALE, WIDTH, arrow, colour, note, sheet, styled
from armdyn.report.figures.solids import joint_faces, sleeve_centre
from armdyn.report.findings.motion import Strobe, find_strobe
from armdyn.report.findings.skeleton import Skeleton
from armdyn.report.findings.subject import Posture, Subject
from armdyn.report.findings.views import View, nice_below
from armdyn.robot import Robot

_RADIUS = 0.022  # of a joint's symbol, in parts of the drawing's size
_DIRECTIONS = np.linspace(0, 2 * np.pi, 17)[:-1] + 0.3


def plot_arm(robot: Robot, q: Any) -> Figure:
    """The robot in a posture q (n,): joints numbered, motors on the links that carry them, the tip frame.

    A planar arm is drawn in its plane with axes in metres, any other in a parallel projection with the
    base's axes and a scale.
    """
    return draw_posture(Posture.of(robot, q))


@styled
def draw_posture(found: Posture) -> Figure:
    drawn, view = found.arm, found.view
    figure, panel = canvas(view, [drawn])
    draw_arm(panel, view, drawn)
    label_arm(panel, view, drawn)
    return figure


def plot_strobe(robot: Robot, trajectory: Trajectory, postures: int = 7) -> Figure:
    """The robot at equal intervals of time along a motion, the path of its tip, its last posture in full."""
    return draw_strobe(find_strobe(Subject.of(robot, trajectory), postures))


@styled
def draw_strobe(found: Strobe) -> Figure:
    drawn, view = found.arms, found.view
    figure, panel = canvas(view, drawn)
    path = view.flat(found.path)
    for k, ghost in enumerate(drawn[:-1]):
        draw_ghost(panel, view, ghost, 0.86 - 0.4 * k / max(len(drawn) - 2, 1))
    panel.plot(*path.T, color=colour(1), lw=1.3, ls=(0, (5, 2)), zorder=60)
    draw_arm(panel, view, drawn[-1])
    marks = view.flat(np.array([ghost.tip for ghost in drawn]))
    panel.plot(*marks.T, ls="none", marker="o", ms=3.2, mfc="white", mec=colour(1), zorder=61)
    ends = {"start": marks[0], "end": marks[-1]}
    apart = np.linalg.norm(panel.transData.transform(marks[-1]) - panel.transData.transform(marks[0]))
    for text, place in ends.items() if apart > 13 else ():  # pixels: two labels would lie on each other
        note(panel, text, place, free_spot(panel, place, [path, marks], 13))
    return figure


# ---- paper -----------------------------------------------------------------------------------------------


def canvas(view: View, drawn: Sequence[Skeleton], further: np.ndarray | None = None) -> tuple[Figure, Axes]:
    """A sheet with room for the skeletons and for further points (N, 2) on paper."""
    points = np.vstack([view.flat(x.points) for x in drawn])
    radius = max(x.size for x in drawn) * _RADIUS
    if further is not None:
        points = np.vstack([points, further])
    low, high = points.min(0) - 4.5 * radius, points.max(0) + 4.5 * radius
    width, height = high - low
    paper = min(max(WIDTH * 0.86 * height / width, 2.6), 4.4)
    figure, panels = sheet(paper + (0.35 if view.planar else 0.0))
    panel: Axes = panels[0, 0]
    # The drawing fills the sheet: the limits get the sheet's proportions.
    ratio = WIDTH * 0.86 / paper
    extra = max(width, height * ratio) - width, max(height, width / ratio) - height
    panel.set_xlim(low[0] - extra[0] / 2, high[0] + extra[0] / 2)
    panel.set_ylim(low[1] - extra[1] / 2, high[1] + extra[1] / 2)
    panel.set_aspect("equal", adjustable="box")
    if view.planar:
        panel.set_xlabel(f"{view.axis_name(view.right) or 'along the plane'} [m]")
        panel.set_ylabel(f"{view.axis_name(view.up) or 'up'} [m]")
        panel.grid(True)
    else:
        panel.set_axis_off()
        _scale_bar(panel, points)
    return figure, panel


def _scale_bar(panel: Axes, taken: np.ndarray) -> None:
    """A length to compare with, in the corner that is farthest from the drawing."""
    (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
    length, margin = nice_below((right - left) / 5), 0.03 * (right - left)
    sides, heights = (right - length - margin, left + margin), (low + margin, high - 2 * margin)
    corners = [(x, y) for y in heights for x in sides]
    middles = np.array(corners) + np.array([length / 2, 0])
    away = np.linalg.norm(middles[:, None] - taken, axis=2).min(1)
    x, y = corners[int(np.argmax(np.round(away, 9)))]
    panel.plot([x, x + length], [y, y], color=INK, lw=1.6, solid_capstyle="butt", zorder=80)
    note(panel, f"{length:g} m", np.array([x + length / 2, y]), np.array([0, 7]))


# ---- the arm ---------------------------------------------------------------------------------------------


def draw_arm(panel: Axes, view: View, drawn: Skeleton, frame: bool = True) -> None:
    """Links as rods, joints as solids, what is nearer to the reader over what is farther."""
    radius = drawn.size * _RADIUS
    _draw_base(panel, view, drawn, radius)
    things: list[tuple[float, int, Any]] = []
    for body in drawn.lines:
        for line in body:
            for a, b in pairwise(line):
                things.append((float((a + b) / 2 @ view.towards), 0, np.array([a, b])))
    things += [(float(joint.point @ view.towards) + radius, 1, joint) for joint in drawn.joints]
    if view.planar:
        things.sort(key=lambda x: x[1])
    else:
        things.sort(key=lambda x: (round(x[0], 9), x[1]))
    for layer, (_, kind, thing) in enumerate(things):
        zorder = 20 + layer * 0.1
        if kind == 0:
            flat = view.flat(thing)
            panel.plot(*flat.T, color=INK, lw=5.2, solid_capstyle="round", zorder=zorder)
            panel.plot(*flat.T, color="#f4f4f4", lw=3.2, solid_capstyle="round", zorder=zorder + 0.05)
        else:
            for face in joint_faces(thing, view, radius):
                shade = "white" if thing.revolute else "#e2e2e2"
                panel.add_patch(Polygon(face, closed=True, fc=shade, ec=INK, lw=1.1, zorder=zorder))
    if frame:
        _draw_frame(panel, view, drawn.tip, drawn.tip_axes, 4.2 * radius, 70)


def draw_ghost(panel: Axes, view: View, drawn: Skeleton, lightness: float) -> None:
    """A posture in passing: thin grey lines and dots."""
    shade = str(round(lightness, 3))
    for body in drawn.lines:
        for line in body:
            panel.plot(*view.flat(line).T, color=shade, lw=2.0, solid_capstyle="round", zorder=10)
    points = view.flat(np.array([joint.point for joint in drawn.joints]))
    panel.plot(*points.T, ls="none", marker="o", ms=4, mfc="white", mec=shade, zorder=11)


def _draw_base(panel: Axes, view: View, drawn: Skeleton, radius: float) -> None:
    """The ground the base stands on: hatched under a planar arm, a plate under any other."""
    base = drawn.lines[-1]
    start = base[0][0] if base else drawn.joints[0].point
    if view.planar:
        _draw_ground(panel, view.flat(start), radius)
        return
    u = np.cross(view.vertical, view.towards)
    u = u / np.linalg.norm(u)
    v = np.cross(view.vertical, u)
    ring = np.linspace(0, 2 * np.pi, 49)
    plate = start + 3.4 * radius * (np.outer(np.cos(ring), u) + np.outer(np.sin(ring), v))
    panel.add_patch(Polygon(view.flat(plate), closed=True, fc=PALE, ec=GREY, lw=0.8, zorder=5))
    _draw_frame(panel, view, drawn.base, drawn.base_axes, 0.16 * drawn.size, 12)


def _draw_ground(panel: Axes, place: np.ndarray, radius: float) -> None:
    """A hatched line under a foot."""
    x, y = place[0], place[1] - 1.9 * radius
    foot = np.array([(x, place[1]), (x - 1.3 * radius, y), (x + 1.3 * radius, y)])
    panel.add_patch(Polygon(foot, closed=True, fc="white", ec=INK, lw=1.1, zorder=15))
    half = 2.6 * radius
    panel.plot([x - half, x + half], [y, y], color=INK, lw=1.2, zorder=15)
    for k in np.linspace(-half, 0.8 * half, 6):
        panel.plot([x + k, x + k - 0.3 * radius], [y, y - 0.8 * radius], color=INK, lw=0.7, zorder=15)


def _draw_frame(
    panel: Axes, view: View, origin: np.ndarray, axes: np.ndarray, length: float, zorder: float
) -> None:
    """Arrows along the axes of a frame, named where they do not point at the reader."""
    start = view.flat(origin)
    for name, axis in zip("xyz", axes.T, strict=True):
        along = view.flat(axis) * length
        size = float(np.linalg.norm(along))
        if size < 0.15 * length:
            continue
        arrow(panel, start, start + along, zorder)
        note(panel, name, start + along, 6.5 * along / size, color=GREY, style="italic", fontsize=8.0)


def label_arm(panel: Axes, view: View, drawn: Skeleton) -> None:
    """Numbers at the joints; motors as filled squares, tied to where they sit."""
    radius = drawn.size * _RADIUS
    lines = [view.flat(_filled(line)) for body in drawn.lines for line in body]
    taken = [
        *lines,
        view.flat(drawn.tip + np.array([a * k for a in drawn.tip_axes.T for k in (0, 4 * radius)])),
    ]
    for text, joint in zip(drawn.labels, drawn.joints, strict=True):
        place = joint.point if joint.revolute else sleeve_centre(joint, radius)
        spot = free_spot(panel, view.flat(place), taken, 14)
        note(panel, text, view.flat(place), spot)
        taken.append(view.flat(place) + _in_data(panel, spot))
    if drawn.ends:  # of a tree: which branch is which
        for name, point in [(drawn.tip_link, drawn.tip), *((end.link, end.point) for end in drawn.ends)]:
            spot = free_spot(panel, view.flat(point), taken, 30)
            note(panel, one_line(name), view.flat(point), spot, color=GREY, fontsize=8.0)
            taken.append(view.flat(point) + _in_data(panel, spot))
    for motor in drawn.motors:
        place = view.flat(motor.point)
        spot = free_spot(panel, place, taken, 27)
        note(
            panel,
            f"M{drawn.labels[motor.joint]}",
            place,
            spot,
            bbox={"boxstyle": "square,pad=0.25", "fc": INK, "ec": INK},
            arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.8, "shrinkA": 0, "shrinkB": 0},
            color="white",
            fontsize=7.5,
        )
        taken.append(place + _in_data(panel, spot))


def _filled(line: np.ndarray, count: int = 12) -> np.ndarray:
    """Points along a polyline."""
    pieces = [np.linspace(a, b, count) for a, b in pairwise(line)]
    return np.vstack(pieces)


def _points_per_unit(panel: Axes) -> float:
    """Points of paper for a unit of data, before the layout is made: the sheet's width holds the limits."""
    low, high = panel.get_xlim()
    return WIDTH * 0.86 * 72 / (high - low)


def _in_data(panel: Axes, offset: np.ndarray) -> np.ndarray:
    return offset / _points_per_unit(panel)


def free_spot(panel: Axes, place: np.ndarray, taken: Sequence[np.ndarray], distance: float) -> np.ndarray:
    """An offset in points at which a label is farthest from what is drawn already."""
    others = np.vstack([np.atleast_2d(x) for x in taken])
    offsets = distance * np.column_stack([np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)])
    away = [np.linalg.norm(others - (place + _in_data(panel, offset)), axis=1).min() for offset in offsets]
    return np.asarray(offsets[int(np.argmax(np.round(away, 9)))])
