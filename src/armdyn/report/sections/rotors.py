"""What the diagonal rotor model misses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from armdyn.analysis.rotor_error import RotorError, rotor_error
from armdyn.drawing.curves import curve, end_labels, framed, joint_kinds, joint_label
from armdyn.drawing.sheet import Given, sheet
from armdyn.drawing.style import styled
from armdyn.motion.torques import torques_along
from armdyn.motion.trajectory import Trajectory
from armdyn.report.page import Amount, Markup, Part, Picture, TableCell, number, paragraph, table
from armdyn.report.subject import Subject
from armdyn.robot import Robot


def error_along(subject: Subject) -> RotorError:
    """What the diagonal model misses along the motion.

    Loads and wrenches change the torques, not the error: they act alike on both models.
    """
    at, exact = subject.samples, subject.robot.with_rotors("exact")
    found = rotor_error(subject.robot, at.q, at.qd, at.qdd)
    return replace(found, torque=torques_along(subject.trajectory.loaded(exact), at, subject.wrench))


def plot_rotor_error(robot: Robot, trajectory: Trajectory, *, ax: Given = None) -> Figure:
    """What the diagonal rotor model misses along a motion: torques, and in percent of the largest torque.

    `ax` takes 2 axes, or 3 of a robot with both kinds of joints.
    """
    subject = Subject.of(robot, trajectory)
    return _draw(subject, error_along(subject), ax=ax)


@styled
def _draw(subject: Subject, found: RotorError, *, ax: Given = None) -> Figure:
    robot, t, error = subject.robot, subject.samples.t, found.error
    largest = np.abs(found.torque).max(0)
    share = 100 * error / np.where(largest > 0, largest, 1.0)
    kinds = joint_kinds(robot)
    paper = sheet(2.6, 1, len(kinds) + 1, ax=ax)
    for panel, kind in zip(paper.panels, kinds, strict=False):
        lines = [curve(panel, t, error[:, j], j, joint_label(robot, j)) for j in kind.joints]
        framed(panel, f"exact − diagonal [{kind.units.torque}]", f"{kind.units.effort}s")
        end_labels(panel, lines)
    panel = paper.panels[-1]
    lines = [curve(panel, t, share[:, j], j, joint_label(robot, j)) for j in range(robot.n)]
    framed(panel, "error [%]", "of the joint's largest torque")
    end_labels(panel, lines)
    paper.under("time [s]")
    return paper.figure


def write_rotors(subject: Subject) -> list[Part]:
    error, model = error_along(subject), subject.robot.model
    if error.note:
        return [paragraph(f"{error.note}.")]
    parts: list[Part] = [
        paragraph(
            "Many programs add k²Iₘ of each motor to the diagonal of the inertia matrix and nothing else. "
            "The exact model also adds the rotor's inertia to the link that carries it, and the torques "
            "between the spinning rotor and its turning carrier. This section shows the difference along "
            "the motion above."
        )
    ]
    if model.rotors != "exact":
        text = f"The description asks for rotors {model.rotors!r}, which the rest of this report uses. "
        parts.append(paragraph(text + "Here, both models are made from its motors."))
    if any(link.motor and link.motor.coupling for link in model.links):
        text = "For motors that turn with several joints, the diagonal model is Kᵀ diag(Iₘ) K, which has "
        parts.append(paragraph(text + "entries off the diagonal."))
    if not error.largest.any():
        return [*parts, paragraph("For this motion there is none: the diagonal model is exact.")]
    picture = Picture(
        _draw(subject, error), "torques that the diagonal rotor model misses over time", _caption(error)
    )
    return [*parts, picture, _table(subject.robot, error)]


def _caption(error: RotorError) -> list[str]:
    worst = int(error.percent.argmax())
    caption: list[str] = [f"Exact minus diagonal. The relative error is largest at joint {worst + 1}: "]
    caption += [number(error.largest[worst], 3), f" {error.units[worst]}, "]
    return [*caption, number(error.percent[worst], 2), " % of its largest torque."]


def _table(robot: Robot, error: RotorError) -> Markup:
    rows: list[tuple[TableCell, ...]] = []
    for i, row in enumerate(error.table()):
        name = f"{i + 1}, {robot.model.coordinates[i].joint_label}"
        values = (row.largest_torque, row.largest_error, row.rms_error)
        rows.append((name, *(Amount(x, 4, row.unit) for x in values), Amount(row.percent, 3, "%")))
    return table(("joint", "largest torque", "largest error", "rms error", "of the largest torque"), rows)
