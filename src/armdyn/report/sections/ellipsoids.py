"""What the tip can do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke

from armdyn.analysis.manipulability import (
    Ellipsoid,
    dynamic_manipulability,
    force_ellipsoid,
    velocity_ellipsoid,
)
from armdyn.drawing.arm import draw_arm, draw_base_axes, outline
from armdyn.drawing.canvas import Canvas, canvas
from armdyn.drawing.curves import arrow, colour, dash
from armdyn.drawing.sheet import Given
from armdyn.drawing.style import INK, styled
from armdyn.drawing.views import Posture, View, nice_below
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    Picture,
    TableCell,
    cited,
    number,
    paragraph,
    table,
)
from armdyn.report.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits

_SHARE = 0.34  # of the arm's size: how far the ellipsoids of a drawing reach
_AROUND = np.linspace(0, 2 * np.pi, 121)
_SMALL = 1e-9  # of an ellipsoid's size: smaller numbers are rounding
Drawn = tuple[Ellipsoid, str, int]  # an ellipsoid, its name in the legend, its number among line styles


def accelerations(robot: Robot, q: np.ndarray, weights: Any) -> list[Ellipsoid]:
    """Accelerations of the tip at rest [m/s²] for torques of unit norm: (7.148) with gravity and without it.

    Of a redundant arm, also all that its torques reach. `weights` are those of `dynamic_manipulability`.
    """
    found = [dynamic_manipulability(robot, q, weights=weights, gravity=gravity) for gravity in (True, False)]
    if robot.n > found[0].m:
        found.append(dynamic_manipulability(robot, q, weights=weights, kind="reachable"))
    return found


def _unit(robot: Robot, q: np.ndarray, weights: Any) -> tuple[Any, str]:
    """Weights of the torques, and what the legend calls them."""
    if weights is None and np.isfinite(joint_limits(robot).torque).all():
        weights = "torque_limits"
    if isinstance(weights, str):
        return weights, "torques of norm 1 in units of their limits"
    if weights is None:
        size = float(np.linalg.norm(robot.gravity(q)))
        weights = nice_below(2 * size) if size > 0 else 1.0
    if np.ndim(weights) == 0:
        return weights, f"torques of norm {weights:g} N m or N"
    return weights, "torques of norm 1 in units of the joints' strengths"


def plot_dynamic_ellipsoid(robot: Robot, q: Any, weights: Any = None, *, ax: Given = None) -> Figure:
    """The dynamic manipulability ellipsoid (7.148) at the tip, with gravity's shift and without it.

    For a redundant arm the set that the torques really reach is drawn too; the legend says which is which.
    `weights` are those of `dynamic_manipulability`: "torque_limits", a number, or one per joint [N m or N].
    Without them the unit is the robot's torque limits, or else twice the gravity torques' norm.
    """
    posture = Posture.of(robot, q)
    weights, unit = _unit(robot, posture.q, weights)
    return _draw_accelerations(posture, accelerations(robot, posture.q, weights), unit, ax=ax)


@styled
def _draw_accelerations(posture: Posture, found: list[Ellipsoid], unit: str, *, ax: Given = None) -> Figure:
    shifted, still, *reachable = found
    first = "least joint accelerations (7.148)" if reachable else "accelerations of the tip"
    drawn: list[Drawn] = [(shifted, first, 0), (still, "the same without gravity", 2)]
    drawn += [(one, "all that the torques reach", 1) for one in reachable]
    return _figure(posture, drawn, "m/s²", unit, ax)


def plot_ellipsoids(robot: Robot, q: Any, *, ax: Given = None) -> Figure:
    """Velocity and force ellipsoids at the tip for joint velocities and torques of unit norm.

    Each is drawn to a scale of its own: what counts is the shape. They share their axes; where the tip is
    quick it is weak. A force that the structure bears by itself makes no ellipsoid: it is left out.
    """
    posture = Posture.of(robot, q)
    found = velocity_ellipsoid(robot, posture.q), force_ellipsoid(robot, posture.q)
    return _draw_velocities_and_forces(posture, *found, ax=ax)


@styled
def _draw_velocities_and_forces(
    posture: Posture, velocity: Ellipsoid, force: Ellipsoid, *, ax: Given = None
) -> Figure:
    drawn: list[Drawn] = [(velocity, "velocity", 0)]
    if np.isfinite(force.lengths).all():
        drawn.append((_resized(force, velocity), "force", 1))
    return _figure(posture, drawn, "", "joint velocities and torques of norm 1", ax)


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


# ---- the section -----------------------------------------------------------------------------------------


def write_ellipsoids(subject: Subject) -> list[Part]:
    robot, posture = half_way(subject)
    weights, strength = _strength(subject, robot)
    found = accelerations(robot, posture.q, weights)
    _, unit = _unit(robot, posture.q, weights)
    velocity, force = velocity_ellipsoid(robot, posture.q), force_ellipsoid(robot, posture.q)
    rigid = " Elastic joints are taken as rigid in this section." if subject.robot.model.elastic else ""
    return [
        paragraph(
            "Half-way through the motion, at rest: the accelerations that the joints can give the tip, and "
            "its velocities and forces for joint velocities and torques of unit norm. The farther an "
            "ellipsoid reaches in a direction, the easier that direction is for the arm." + rigid
        ),
        Picture(
            _draw_accelerations(posture, found, unit),
            "the dynamic manipulability ellipsoid at the tip",
            _dynamic_caption(found, strength),
            drawing=True,
        ),
        Picture(
            _draw_velocities_and_forces(posture, velocity, force),
            "velocity and force ellipsoids at the tip",
            _kinematic_caption(velocity, force),
            drawing=True,
        ),
        _axes_table(found, velocity, force),
    ]


def half_way(subject: Subject) -> tuple[Robot, Posture]:
    """The arm half-way through the motion, with rigid joints: behind elastic ones torques move no link."""
    robot = subject.robot_half_way.with_rigid_joints()
    return robot, replace(subject.middle, q=subject.middle.q[: robot.n])


def _strength(subject: Subject, rigid: Robot) -> tuple[Any, str]:
    """The torques that count as one unit: the limits, or else the largest of the motion."""
    if np.isfinite(joint_limits(rigid).torque).all():
        return "torque_limits", "torques of unit norm when each is divided by its limit"
    tau = np.abs(_rigid_torque(subject, rigid)).max(0)
    if not tau.max() > 0:
        return 1.0, "torques of unit norm"
    return (
        np.maximum(tau, 1e-3 * tau.max()),
        "torques of unit norm when each is divided by its largest value in the motion above",
    )


def _rigid_torque(subject: Subject, rigid: Robot) -> np.ndarray:
    """The torques of the motion (N, n); behind elastic joints those that the motors give in their place."""
    torque, links = subject.torque[:, : rigid.n].copy(), [link.name for link in rigid.model.coordinates]
    for i, link in enumerate(subject.robot.model.elastic):
        if link.name in links:
            torque[:, links.index(link.name)] += subject.torque[:, rigid.n + i]
    return torque


def _dynamic_caption(found: list[Ellipsoid], strength: str) -> list[str]:
    shifted, _, *reachable = found
    shift = float(np.linalg.norm(shifted.centre))
    caption: list[str] = [f"Accelerations of the tip at rest for {strength}: from "]
    caption += [number(shifted.lengths.min(), 3), " to ", number(shifted.lengths.max(), 3), " m/s². "]
    if shift > _SMALL * shifted.lengths.max():
        caption += ["Gravity shifts the whole ellipsoid by ", number(shift, 3), " m/s² (arrow)."]
    else:
        caption.append("Gravity does not shift it in this posture.")
    if reachable:
        caption.append(
            cited(
                " There are more joints than directions of the tip: the solid ellipsoid (7.148) holds for "
                "joint accelerations of least norm, the dashed one shows all accelerations that the torques "
                "can reach."
            )
        )
    return caption


def _kinematic_caption(velocity: Ellipsoid, force: Ellipsoid) -> list[str]:
    bounded = bool(np.isfinite(force.lengths).all())  # else the structure bears some force by itself
    if bounded:
        caption: list[str] = ["Velocity (solid) and force (dashed) ellipsoids, each to its own scale. "]
        caption.append("They share their axes: where the tip is quick it is weak. ")
    else:
        caption = ["Velocity ellipsoid. "]
    if (shortest := float(velocity.lengths.min())) > 0:
        quicker = number(float(velocity.lengths.max()) / shortest, 3)
        caption += ["The tip is ", quicker, " times as quick one way as another."]
    else:
        caption.append("From this posture the tip cannot move in all directions.")
    if not bounded:
        caption.append(" The structure bears some forces by itself, so no force ellipsoid is drawn.")
    return caption


def _axes_table(found: list[Ellipsoid], velocity: Ellipsoid, force: Ellipsoid) -> Markup:
    """Centre and semi-axes of the ellipsoids."""
    first, _, *reachable = found
    listed = [("reachable acceleration [m/s²]", one) for one in reachable]
    listed += [("acceleration [m/s²]", first), ("velocity [m/s]", velocity), ("force [N]", force)]
    headings: list[Heading] = [("centre", name) for name in first.names]
    headings += [("semi-axes", str(k + 1)) for k in range(first.m)]
    rows: list[tuple[TableCell, ...]] = []
    for name, e in listed:
        numbers = np.array([*e.centre, *e.lengths])
        numbers[np.abs(numbers) < _SMALL * e.lengths.max()] = 0.0
        rows.append((name, *(Amount(x, 3) for x in numbers)))
    return table(("ellipsoid", *headings), rows)
