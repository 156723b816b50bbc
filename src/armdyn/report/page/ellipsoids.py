"""What the tip can do."""

from __future__ import annotations

import numpy as np

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.report.figures.ellipsoids import draw_accelerations, draw_velocities_and_forces
from armdyn.report.findings.ellipsoids import EllipsoidsFinding, KinematicEllipsoids
from armdyn.report.page.page import Amount, Markup, Part, Picture, number, paragraph, table
from armdyn.report.page.tables import Heading, TableCell

_SMALL = 1e-9  # of an ellipsoid's size: smaller numbers are rounding


def write_ellipsoids(found: EllipsoidsFinding) -> list[Part]:
    rigid = " Elastic joints are taken as rigid in this section." if found.elastic else ""
    return [
        paragraph(
            "Half-way through the motion, at rest: the accelerations that the joints can give the tip, and "
            "its velocities and forces for joint velocities and torques of unit norm. The farther an "
            "ellipsoid reaches in a direction, the easier that direction is for the arm." + rigid
        ),
        Picture(
            draw_accelerations(found.acceleration),
            "the dynamic manipulability ellipsoid at the tip",
            _dynamic_caption(found),
            drawing=True,
        ),
        Picture(
            draw_velocities_and_forces(found.kinematic),
            "velocity and force ellipsoids at the tip",
            _kinematic_caption(found.kinematic),
            drawing=True,
        ),
        _axes_table(found),
    ]


def _dynamic_caption(found: EllipsoidsFinding) -> list[str]:
    shifted = found.acceleration.shifted
    size = found.acceleration.shift
    caption: list[str] = [f"Accelerations of the tip at rest for {found.strength}: from "]
    caption += [number(shifted.lengths.min(), 3), " to ", number(shifted.lengths.max(), 3), " m/s². "]
    if size > _SMALL * shifted.lengths.max():
        caption += ["Gravity shifts the whole ellipsoid by ", number(size, 3), " m/s² (arrow)."]
    else:
        caption.append("Gravity does not shift it in this posture.")
    if found.acceleration.reachable is not None:
        caption.append(
            " There are more joints than directions of the tip: the solid ellipsoid (7.148) holds for joint "
            "accelerations of least norm, the dashed one shows all accelerations that the torques can reach."
        )
    return caption


def _kinematic_caption(found: KinematicEllipsoids) -> list[str]:
    if found.bounded:
        caption: list[str] = ["Velocity (solid) and force (dashed) ellipsoids, each to its own scale. "]
        caption.append("They share their axes: where the tip is quick it is weak. ")
    else:
        caption = ["Velocity ellipsoid. "]
    if found.anisotropy < float("inf"):
        caption += ["The tip is ", number(found.anisotropy, 3), " times as quick one way as another."]
    else:
        caption.append("From this posture the tip cannot move in all directions.")
    if not found.bounded:
        caption.append(" The structure bears some forces by itself, so no force ellipsoid is drawn.")
    return caption


def _axes_table(found: EllipsoidsFinding) -> Markup:
    """Centre and semi-axes of the ellipsoids."""
    first, reachable = found.acceleration.shifted, found.acceleration.reachable
    listed: dict[str, Ellipsoid] = {
        "acceleration [m/s²]": first,
        "velocity [m/s]": found.kinematic.velocity,
        "force [N]": found.kinematic.force,
    }
    if reachable is not None:
        listed = {"reachable acceleration [m/s²]": reachable, **listed}
    headings: list[Heading] = [("centre", name) for name in first.names]
    headings += [("semi-axes", str(k + 1)) for k in range(first.m)]
    rows: list[tuple[TableCell, ...]] = []
    for name, e in listed.items():
        numbers = np.array([*e.centre, *e.lengths])
        numbers[np.abs(numbers) < _SMALL * e.lengths.max()] = 0.0
        rows.append((name, *(Amount(x, 3) for x in numbers)))
    return table(("ellipsoid", *headings), rows)
