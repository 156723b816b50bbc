"""Ellipsoids of what the tip can do, drawn at the tip, as in figure 7.15."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.report.figures.arm import draw_arm, draw_base_axes, outline
from armdyn.report.figures.drawing import INK, Given, arrow, colour, dash, styled
from armdyn.report.figures.paper.canvas import Canvas, canvas
from armdyn.report.findings.drawn.views import View, nice_below
from armdyn.report.findings.ellipsoids import (
    AccelerationEllipsoids,
    KinematicEllipsoids,
    acceleration_ellipsoids,
    kinematic_ellipsoids,
)
from armdyn.report.findings.subject import Posture
from armdyn.robot import Robot

_SHARE = 0.34  # of the arm's size: how far the ellipsoids of a drawing reach
_AROUND = np.linspace(0, 2 * np.pi, 121)
Drawn = tuple[Ellipsoid, str, int]  # an ellipsoid, its name in the legend, its number among line styles


def plot_dynamic_ellipsoid(robot: Robot, q: Any, weights: Any = None, *, ax: Given = None) -> Figure:
    """The dynamic manipulability ellipsoid (7.148) at the tip, with gravity's shift and without it.

    For a redundant arm the set that the torques really reach is drawn too; the legend says which is which.
    `weights` are those of `dynamic_manipulability`: "torque_limits", a number, or one per joint [N m or N].
    Without them the unit is the robot's torque limits, or else twice the gravity torques' norm.
    """
    return draw_accelerations(acceleration_ellipsoids(robot, Posture.of(robot, q), weights), ax=ax)


@styled
def draw_accelerations(found: AccelerationEllipsoids, *, ax: Given = None) -> Figure:
    first = "accelerations of the tip" if found.reachable is None else "least joint accelerations (7.148)"
    drawn: list[Drawn] = [(found.shifted, first, 0), (found.still, "the same without gravity", 2)]
    if found.reachable is not None:
        drawn.append((found.reachable, "all that the torques reach", 1))
    return _figure(found.posture, drawn, "m/s²", found.unit, ax)


def plot_ellipsoids(robot: Robot, q: Any, *, ax: Given = None) -> Figure:
    """Velocity and force ellipsoids at the tip for joint velocities and torques of unit norm.

    Each is drawn to a scale of its own: what counts is the shape. They share their axes; where the tip is
    quick it is weak. A force that the structure bears by itself makes no ellipsoid: it is left out.
    """
    return draw_velocities_and_forces(kinematic_ellipsoids(robot, Posture.of(robot, q)), ax=ax)


@styled
def draw_velocities_and_forces(found: KinematicEllipsoids, *, ax: Given = None) -> Figure:
    drawn: list[Drawn] = [(found.velocity, "velocity", 0)]
    if found.bounded:
        drawn.append((_resized(found.force, found.velocity), "force", 1))
    return _figure(found.posture, drawn, "", "joint velocities and torques of norm 1", ax)


def _resized(ellipsoid: Ellipsoid, like: Ellipsoid) -> Ellipsoid:
    """As large as another one."""
    factor = like.lengths.max() / ellipsoid.lengths.max()
    return replace(ellipsoid, centre=ellipsoid.centre * factor, lengths=ellipsoid.lengths * factor)


def _figure(posture: Posture, drawn: list[Drawn], unit: str, title: str, ax: Given) -> Figure:
    arm, view = posture.arm, posture.view
    reach = max(float(np.linalg.norm(e.centre) + e.lengths.max()) for e, _, _ in drawn)
    scale = _SHARE * arm.size / reach if reach > 0 else 1.0
    tip = view.flat(arm.tip)
    outlines = [tip + scale * _outline(e, view) for e, _, _ in drawn]
    names = [title, *(name for _, name, _ in drawn)]
    around = np.vstack([outline(view, [arm]), *outlines])
    paper = canvas(view, around, ax=ax, strip=bool(unit), legend=names)
    draw_arm(paper, view, arm, frame=False)
    handles = []
    for (ellipsoid, name, k), edge in zip(drawn, outlines, strict=True):
        _draw(paper, view, tip, scale, ellipsoid, edge, k)
        handles.append(Line2D([], [], color=colour(k), linestyle=dash(k), label=name))
    bars = [] if view.planar else [(paper.bar, f"{paper.bar:g} m")]
    if unit:
        value = nice_below(reach / 2)
        bars.append((value * scale, f"{value:g} {unit}"))
    paper.bars(bars)
    draw_base_axes(paper, view, arm)
    if unit:
        _shift(paper, view, tip, scale, drawn[0][0])
    paper.draw_labels()
    paper.legend(handles, title)
    return paper.paper.figure


def _embedded(ellipsoid: Ellipsoid) -> np.ndarray:
    """(3, m): the directions of the ellipsoid's rows in world axes."""
    return np.array([[float(name == axis) for name in ellipsoid.names] for axis in "xyz"])


def _outline(ellipsoid: Ellipsoid, view: View) -> np.ndarray:
    """The outline (k, 2) on paper: the image of an ellipsoid is an ellipse."""
    to_paper = view.matrix @ _embedded(ellipsoid)
    U, s, _ = np.linalg.svd(to_paper @ ellipsoid.axes * ellipsoid.lengths, full_matrices=False)
    radii = U * s
    around = np.column_stack([np.cos(_AROUND), np.sin(_AROUND)])[:, : radii.shape[1]]
    return np.asarray(to_paper @ ellipsoid.centre + around @ radii.T)


def _draw(
    paper: Canvas, view: View, tip: np.ndarray, scale: float, ellipsoid: Ellipsoid, edge: np.ndarray, k: int
) -> None:
    """The outline and, thin, the principal axes."""
    paper.panel.plot(*edge.T, color=colour(k), linestyle=dash(k), lw=1.6, zorder=75)
    paper.places.line(paper.points(edge), 1.6)
    to_paper = view.matrix @ _embedded(ellipsoid)
    centre = tip + scale * to_paper @ ellipsoid.centre
    for axis in (to_paper @ ellipsoid.axes * ellipsoid.lengths).T * scale:
        ends = np.array([centre - axis, centre + axis])
        paper.panel.plot(*ends.T, color=colour(k), lw=0.6, zorder=74)
        paper.places.line(paper.points(ends), 0.6)


def _shift(paper: Canvas, view: View, tip: np.ndarray, scale: float, ellipsoid: Ellipsoid) -> None:
    """Gravity's shift of the centre, from the tip."""
    along = scale * view.matrix @ _embedded(ellipsoid) @ ellipsoid.centre
    if np.linalg.norm(along) > 0.02 * scale * ellipsoid.lengths.max():
        arrow(paper.panel, tip, tip + along, 85, color=INK, lw=1.4)
        paper.places.line(paper.points(np.array([tip, tip + along])), 1.4)
        line = {"arrowstyle": "-", "color": INK, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
        halo = [withStroke(linewidth=2.5, foreground="white")]
        far = (12, 18, 26, 36, 48, 62, 80, 100)
        paper.label("gravity", tip + along, *far, arrowprops=line, path_effects=halo)
