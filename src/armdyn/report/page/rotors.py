"""What the diagonal rotor model misses."""

from __future__ import annotations

from armdyn.report.figures.rotors import draw_rotor_error
from armdyn.report.findings.rotors import RotorsFinding
from armdyn.report.page.page import Amount, Markup, Part, Picture, number, paragraph, table
from armdyn.report.page.tables import TableCell


def write_rotors(found: RotorsFinding) -> list[Part]:
    error, rotors = found.error, found.robot.model.rotors
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
    if rotors != "exact":
        text = f"The description asks for rotors {rotors!r}, which the rest of this report uses. Here, both "
        parts.append(paragraph(text + "models are made from its motors."))
    if found.coupled:
        text = "For motors that turn with several joints, the diagonal model is Kᵀ diag(Iₘ) K, which has "
        parts.append(paragraph(text + "entries off the diagonal."))
    if not error.largest.any():
        return [*parts, paragraph("For this motion there is none: the diagonal model is exact.")]
    picture = Picture(
        draw_rotor_error(found), "torques that the diagonal rotor model misses over time", _caption(found)
    )
    return [*parts, picture, _table(found)]


def _caption(found: RotorsFinding) -> list[str]:
    error, worst = found.error, found.worst
    caption: list[str] = [f"Exact minus diagonal. The relative error is largest at joint {worst + 1}: "]
    caption += [number(error.largest[worst], 3), f" {error.units[worst]}, "]
    return [*caption, number(error.percent[worst], 2), " % of its largest torque."]


def _table(found: RotorsFinding) -> Markup:
    rows: list[tuple[TableCell, ...]] = []
    for i, row in enumerate(found.error.table()):
        name = f"{i + 1}, {found.robot.model.coordinates[i].joint_label}"
        values = (row.largest_torque, row.largest_error, row.rms_error)
        rows.append((name, *(Amount(x, 4, row.unit) for x in values), Amount(row.percent, 3, "%")))
    return table(("joint", "largest torque", "largest error", "rms error", "of the largest torque"), rows)
