"""Ellipsoids of what the tip can do, drawn at the tip, as in figure 7.15."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.report.figures.arm import canvas, draw_arm
from armdyn.report.figures.drawing import INK, arrow, colour, dash, note, styled
from armdyn.report.findings.ellipsoids import (
    AccelerationEllipsoids,
    KinematicEllipsoids,
    acceleration_ellipsoids,
    kinematic_ellipsoids,
)
from armdyn.report.findings.skeleton import Skeleton
from armdyn.report.findings.subject import Posture
from armdyn.report.findings.views import View, nice_below
from armdyn.robot import Robot

_SHARE = 0.34  # of the arm's size: how far the ellipsoids of a drawing reach
_AROUND = np.linspace(0, 2 * np.pi, 121)
Drawn = tuple[Ellipsoid, str, int]  # an ellipsoid, its name in the legend, its number among line styles


def plot_dynamic_ellipsoid(robot: Robot, q: Any, weights: Any = None) -> Figure:
    """The dynamic manipulability ellipsoid (7.148) at the tip, with gravity's shift and without it.

    For a redundant arm the set that the torques really reach is drawn too; the legend says which is which.
    `weights` are those of `dynamic_manipulability`: "torque_limits", a number, or one per joint [N m or N].
    Without them the unit is the robot's torque limits, or else twice the gravity torques' norm.
    """
    return draw_accelerations(acceleration_ellipsoids(robot, Posture.of(robot, q), weights))


@styled
def draw_accelerations(found: AccelerationEllipsoids) -> Figure:
    first = "accelerations of the tip" if found.reachable is None else "least joint accelerations (7.148)"
    drawn: list[Drawn] = [(found.shifted, first, 0), (found.still, "the same without gravity", 2)]
    if found.reachable is not None:
        drawn.append((found.reachable, "all that the torques reach", 1))
    return _figure(found.posture, drawn, "m/s²", found.unit)


def plot_ellipsoids(robot: Robot, q: Any) -> Figure:
    """Velocity and force ellipsoids at the tip for joint velocities and torques of unit norm.

    Each is drawn to a scale of its own: what counts is the shape. They share their axes; where the tip is
    quick it is weak. A force that the structure bears by itself makes no ellipsoid: it is left out.
    """
    return draw_velocities_and_forces(kinematic_ellipsoids(robot, Posture.of(robot, q)))


@styled
def draw_velocities_and_forces(found: KinematicEllipsoids) -> Figure:
    drawn: list[Drawn] = [(found.velocity, "velocity", 0)]
    if found.bounded:
        drawn.append((_resized(found.force, found.velocity), "force", 1))
    return _figure(found.posture, drawn, "", "joint velocities and torques of norm 1")


def _resized(ellipsoid: Ellipsoid, like: Ellipsoid) -> Ellipsoid:
    """As large as another one."""
    factor = like.lengths.max() / ellipsoid.lengths.max()
    return replace(ellipsoid, centre=ellipsoid.centre * factor, lengths=ellipsoid.lengths * factor)


def _figure(posture: Posture, drawn: list[Drawn], unit: str, title: str) -> Figure:
    arm, view = posture.arm, posture.view
    reach = max(float(np.linalg.norm(e.centre) + e.lengths.max()) for e, _, _ in drawn)
    scale = _SHARE * arm.size / reach if reach > 0 else 1.0
    tip = view.flat(arm.tip)
    outlines = [tip + scale * _outline(e, view) for e, _, _ in drawn]
    figure, panel = canvas(view, [arm], np.vstack(outlines))
    draw_arm(panel, view, arm, frame=False)
    handles = []
    for (ellipsoid, name, k), outline in zip(drawn, outlines, strict=True):
        _draw(panel, view, tip, scale, ellipsoid, outline, k)
        handles.append(Line2D([], [], color=colour(k), linestyle=dash(k), label=name))
    if unit:
        _shift(panel, view, tip, scale, drawn[0][0])
        _ellipsoid_scale(panel, arm, view, scale, reach, unit)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), title=title, title_fontsize=8.5
    )
    return figure


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
    panel: Axes, view: View, tip: np.ndarray, scale: float, ellipsoid: Ellipsoid, outline: np.ndarray, k: int
) -> None:
    """The outline and, thin, the principal axes."""
    panel.plot(*outline.T, color=colour(k), linestyle=dash(k), lw=1.6, zorder=75)
    to_paper = view.matrix @ _embedded(ellipsoid)
    centre = tip + scale * to_paper @ ellipsoid.centre
    for axis in (to_paper @ ellipsoid.axes * ellipsoid.lengths).T * scale:
        panel.plot(*np.array([centre - axis, centre + axis]).T, color=colour(k), lw=0.6, zorder=74)


def _shift(panel: Axes, view: View, tip: np.ndarray, scale: float, ellipsoid: Ellipsoid) -> None:
    """Gravity's shift of the centre, from the tip."""
    along = scale * view.matrix @ _embedded(ellipsoid) @ ellipsoid.centre
    if np.linalg.norm(along) > 0.02 * scale * ellipsoid.lengths.max():
        arrow(panel, tip, tip + along, 85, color=INK, lw=1.4)
        halo = [withStroke(linewidth=2.5, foreground="white")]
        shift = np.array([4.0, -1.0])
        note(panel, "gravity", tip + along, shift, ha="left", va="top", path_effects=halo)


def _ellipsoid_scale(panel: Axes, arm: Skeleton, view: View, scale: float, reach: float, unit: str) -> None:
    """A length that stands for so much acceleration, in a free corner at the top."""
    left, right = panel.get_xlim()
    low, high = panel.get_ylim()
    value = nice_below(reach / 2)
    length, y = value * scale, high - 0.07 * (high - low)
    points = view.flat(arm.points)
    sides = (left + 0.03 * (right - left), right - 0.03 * (right - left) - length)
    away = [np.abs(points - np.array([x + length / 2, y])).sum(1).min() for x in sides]
    x = sides[int(np.argmax(np.round(away, 9)))]
    panel.plot([x, x + length], [y, y], color=INK, lw=1.6, solid_capstyle="butt", zorder=80)
    note(panel, f"{value:g} {unit}", np.array([x + length / 2, y]), np.array([0.0, 7.0]))
