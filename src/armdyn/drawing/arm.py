"""The arm drawn on paper: links, joints, motors and frames, with their labels; postures in passing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.patches import Polygon

from armdyn.drawing.canvas import Canvas, Label, ball, cylinder, joint_faces, sleeve_centre
from armdyn.drawing.curves import arrow
from armdyn.drawing.skeleton import ClosingPlace, JointPlace, Skeleton
from armdyn.drawing.style import GREY, INK, PALE
from armdyn.drawing.views import View
from armdyn.names import one_line

_RADIUS = 0.022  # of a joint's symbol, in parts of the drawing's size
_ROD = 5.2  # points: how thick a link is drawn
_CLOSING = "#9fb7d4"  # what closes a loop
_AXIS = 30.0  # points: how long the base's axes are
_LETTER = 9.0  # points: how far behind their ends letters stand
_NAMED: dict[str, Any] = {"color": GREY, "style": "italic", "fontsize": 8.0}
_MOTOR: dict[str, Any] = {
    "bbox": {"boxstyle": "square,pad=0.25", "fc": INK, "ec": INK},
    "arrowprops": {"arrowstyle": "-", "color": INK, "lw": 0.8, "shrinkA": 0, "shrinkB": 0},
    "color": "white",
    "fontsize": 7.5,
}


def outline(view: View, drawn: Sequence[Skeleton]) -> np.ndarray:
    """(N, 2): what the paper must have room for: arms, tip frames, joints [m]."""
    radius = max(x.size for x in drawn) * _RADIUS
    last = drawn[-1]
    arrows = last.tip + 4.2 * radius * last.tip_axes.T
    points = view.flat(np.vstack([*(x.points for x in drawn), arrows]))
    return np.vstack([points - 0.7 * radius, points + 0.7 * radius])


def draw_scale(paper: Canvas, view: View) -> None:
    """A length to compare with, where the panel has no axes."""
    if not view.planar:
        paper.bars([(paper.bar, f"{paper.bar:g} m")])


# ---- the arm ---------------------------------------------------------------------------------------------


def draw_arm(paper: Canvas, view: View, drawn: Skeleton, frame: bool = True) -> None:
    """Links as rods, joints as solids, what is nearer to the reader over what is farther."""
    panel, radius = paper.panel, drawn.size * _RADIUS
    if view.planar:
        for place in drawn.feet:
            _draw_ground(paper, view.flat(place), radius)
    else:
        _draw_plate(paper, view, drawn, radius)
    for ends in drawn.springs:
        _draw_spring(paper, view.flat(ends), radius)
    for layer, (kind, thing) in enumerate(_in_depth(view, drawn, radius)):
        zorder = 20 + layer * 0.1
        if kind == 0:
            flat = view.flat(thing)
            panel.plot(*flat.T, color=INK, lw=_ROD, solid_capstyle="round", zorder=zorder)
            panel.plot(*flat.T, color="#f4f4f4", lw=_ROD - 2, solid_capstyle="round", zorder=zorder + 0.05)
            paper.places.line(paper.points(flat), _ROD)
        else:
            faces, shade = _faces(thing, view, radius)
            for face in faces:
                panel.add_patch(Polygon(face, closed=True, fc=shade, ec=INK, lw=1.1, zorder=zorder))
            paper.places.block(paper.points(np.vstack(faces)))
    if frame:
        _draw_tip_frame(paper, view, drawn, 4.2 * radius)


def _in_depth(view: View, drawn: Skeleton, radius: float) -> list[tuple[int, Any]]:
    """Pieces of links (0) and joints (1), the farthest first; in a plane, joints over links."""
    things: list[tuple[float, int, Any]] = []
    for body in _rods(view, drawn):
        for line in body:
            for a, b in pairwise(line):
                things.append((float((a + b) / 2 @ view.towards), 0, np.array([a, b])))
    places: list[JointPlace | ClosingPlace] = [*drawn.joints, *drawn.closings]
    things += [(float(place.point @ view.towards) + radius, 1, place) for place in places]
    things.sort(key=(lambda x: (0.0, x[1])) if view.planar else (lambda x: (round(x[0], 9), x[1])))
    return [(kind, thing) for _, kind, thing in things]


def _faces(place: JointPlace | ClosingPlace, view: View, radius: float) -> tuple[list[np.ndarray], str]:
    """The polygons of a joint, and their shade: what closes a loop is grey, a ball joint or a weld round."""
    if isinstance(place, JointPlace):
        return joint_faces(place, view, radius), "white" if place.revolute else "#e2e2e2"
    if place.kind == "revolute":
        return cylinder(place.point, place.axis, view, radius, 1.1 * radius), _CLOSING
    return ball(place.point, view, radius), _CLOSING


def draw_ghost(paper: Canvas, view: View, drawn: Skeleton, lightness: float) -> None:
    """A posture in passing: thin grey lines and dots."""
    shade = str(round(lightness, 3))
    for body in _rods(view, drawn):
        for line in body:
            flat = view.flat(line)
            paper.panel.plot(*flat.T, color=shade, lw=2.0, solid_capstyle="round", zorder=10)
            paper.places.line(paper.points(flat), 2.0)
    points = view.flat(drawn.joined)
    paper.panel.plot(*points.T, ls="none", marker="o", ms=4, mfc="white", mec=shade, zorder=11)


def _rods(view: View, drawn: Skeleton) -> tuple[tuple[np.ndarray, ...], ...]:
    """The lines that are drawn; a linkage in a plane stands on its feet, and the ground is no rod."""
    return drawn.lines[:-1] if view.planar and drawn.closings else drawn.lines


def _draw_spring(paper: Canvas, ends: np.ndarray, radius: float) -> None:
    """A zigzag between two points."""
    along = ends[1] - ends[0]
    length = float(np.linalg.norm(along))
    if length < 1e-9:
        return
    across = 0.8 * radius * np.array([-along[1], along[0]]) / length
    parts = np.concatenate([[0.0], np.linspace(0.15, 0.85, 13), [1.0]])
    sides = np.concatenate([[0.0, 0.0], np.tile([1.0, -1.0], 6)[:11], [0.0, 0.0]])
    line = ends[0] + parts[:, None] * along + sides[:, None] * across
    paper.panel.plot(*line.T, color=INK, lw=1.0, solid_joinstyle="round", zorder=18)
    paper.places.line(paper.points(ends), 1.6 * radius * paper.unit)


def _draw_plate(paper: Canvas, view: View, drawn: Skeleton, radius: float) -> None:
    """The ground under an arm in space: a round plate."""
    u = np.cross(view.vertical, view.towards)
    u = u / np.linalg.norm(u)
    v = np.cross(view.vertical, u)
    ring = np.linspace(0, 2 * np.pi, 49)
    plate = drawn.foot + 3.4 * radius * (np.outer(np.cos(ring), u) + np.outer(np.sin(ring), v))
    flat = view.flat(plate)
    paper.panel.add_patch(Polygon(flat, closed=True, fc=PALE, ec=GREY, lw=0.8, zorder=5))
    paper.places.line(paper.points(flat), 0.8)


def _draw_ground(paper: Canvas, place: np.ndarray, radius: float) -> None:
    """The ground under a planar arm: a hatched line under a foot."""
    panel = paper.panel
    x, y = place[0], place[1] - 1.9 * radius
    foot = np.array([(x, place[1]), (x - 1.3 * radius, y), (x + 1.3 * radius, y)])
    panel.add_patch(Polygon(foot, closed=True, fc="white", ec=INK, lw=1.1, zorder=15))
    half = 2.6 * radius
    panel.plot([x - half, x + half], [y, y], color=INK, lw=1.2, zorder=15)
    for k in np.linspace(-half, 0.8 * half, 6):
        panel.plot([x + k, x + k - 0.3 * radius], [y, y - 0.8 * radius], color=INK, lw=0.7, zorder=15)
    corners = np.array([[x - half - 0.3 * radius, y - 0.8 * radius], [x + half, y]])
    paper.places.block(paper.points(corners))
    paper.places.block(paper.points(foot))


# ---- frames and labels -----------------------------------------------------------------------------------


def _draw_tip_frame(paper: Canvas, view: View, drawn: Skeleton, length: float) -> None:
    """Arrows along the axes of the tip frame, named where they do not point at the reader."""
    start = view.flat(drawn.tip)
    for name, axis in zip("xyz", drawn.tip_axes.T, strict=True):
        along = view.flat(axis) * length
        size = float(np.linalg.norm(along))
        if size < 0.15 * length:
            continue
        arrow(paper.panel, start, start + along, 70)
        paper.places.line(paper.points(np.array([start, start + along])))
        paper.label(name, start + along, 7, 10, 13, towards=along / size, **_NAMED)


def draw_base_axes(paper: Canvas, view: View, drawn: Skeleton) -> None:
    """The directions of the base's axes, beside the base: at its origin the first link would cover z."""
    if view.planar:  # the panel has axes
        return
    along = view.flat(drawn.base_axes.T) * _AXIS  # points
    sizes = np.linalg.norm(along, axis=1)
    shown = sizes > 0.15 * _AXIS
    letters = along + np.where(shown, _LETTER / np.maximum(sizes, 1e-9), 0)[:, None] * along
    reach = np.vstack([np.zeros(2), letters - 4, letters + 4])
    box, middle = np.ptp(reach, axis=0), (reach.min(0) + reach.max(0)) / 2
    foot = view.flat(drawn.foot)
    far = 3.4 * _RADIUS * drawn.size * paper.unit + box.min() / 2
    spot = paper.places.fix(
        Label(paper.points(foot), box, tuple(far + k for k in (2, 8, 16, 26, 40, 60, 90, 130)))
    )
    origin = paper.low + (spot.middle - middle) / paper.unit
    for name, arm, letter, visible in zip("xyz", along, letters, shown, strict=True):
        if visible:
            end = origin + arm / paper.unit
            arrow(paper.panel, origin, end, 12)
            paper.note(name, end, letter - arm, **_NAMED)


def label_arm(paper: Canvas, view: View, drawn: Skeleton) -> None:
    """Numbers at the joints; motors as filled squares, tied to where they sit."""
    radius = drawn.size * _RADIUS
    near = radius * paper.unit + 6
    places = [
        view.flat(joint.point if joint.revolute else sleeve_centre(joint, radius)) for joint in drawn.joints
    ]
    others = paper.points(np.array(places))
    for k, (text, place) in enumerate(zip(drawn.labels, places, strict=True)):
        if not text:
            continue
        apart = np.linalg.norm(others - others[k], axis=1) > 1
        further = (22, 30, 40, 55) if len(text) > 2 else ()  # names take more room than numbers
        paper.label(text, place, *(near + k for k in (0, 4, 9, 15, *further)), rivals=others[apart])
    if drawn.ends:  # of a tree: which branch is which
        for name, point in [(drawn.tip_link, drawn.tip), *((end.link, end.point) for end in drawn.ends)]:
            paper.label(one_line(name), view.flat(point), 14, 20, 28, 38, color=GREY, fontsize=8.0)
    for name, body in zip(drawn.names, drawn.lines, strict=False):  # of a linkage
        if body:
            longest = max(body, key=lambda line: float(np.linalg.norm(line[-1] - line[0])))
            middle = view.flat((longest[0] + longest[-1]) / 2)
            paper.label(name, middle, 9, 14, 20, 28, color=GREY, fontsize=8.0)
    for motor in drawn.motors:
        place = view.flat(motor.point)
        paper.label(f"M{drawn.labels[motor.joint]}", place, 24, 30, 37, 46, 56, **_MOTOR)
