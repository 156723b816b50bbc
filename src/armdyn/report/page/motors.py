"""What the motion asks of the motors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armdyn.motion.motors.loads import MotorLoads
from armdyn.motion.motors.table import MotorRow
from armdyn.report.figures.motors import plot_motor_loads
from armdyn.report.findings.motors import MotorsFinding
from armdyn.report.page.page import Amount, Markup, Part, Picture, number, paragraph, table, warning
from armdyn.report.page.tables import Heading, TableCell


def write_motors(found: MotorsFinding) -> list[Part]:
    """Nothing where there are no motors: the section is left out."""
    loads = found.loads
    if loads is None:
        return []
    text = "What each motor has to give at its shaft. The motors turn by K q, and their torques τₘ add up to "
    text += "the joint torques above: τ = Kᵀ τₘ. They include the acceleration of the rotors and friction."
    if found.coupled:
        text += " Some motors turn with several joints."
    if not all(loads.geared):
        text += " Joints without a motor count as driven directly."
    parts: list[Part] = [paragraph(text)]
    if loads.exceeded:
        parts.append(warning(f"The motion exceeds limits: {'; '.join(one.text for one in loads.exceeded)}."))
    return [*parts, _picture(found, loads), loads_table(loads), _energy_table(loads), _energy_text(loads)]


def _picture(found: MotorsFinding, loads: MotorLoads) -> Picture:
    caption = "Torque over speed of each motor along the motion: both of one sign, the motor drives; "
    caption += "of opposite signs, it brakes. The cross is the rms of both, in the quadrant of the peaks."
    caption += (
        " Dashed lines are limits." if found.has_limits else " The description gives no limits of motors."
    )
    return Picture(plot_motor_loads(loads), "torque over speed at the shaft of each motor", [caption])


def loads_table(loads: MotorLoads) -> Markup:
    """Torque, speed and current; shares of limits and currents where some motor has them."""
    columns: list[tuple[Heading, list[Amount]]] = []
    rows, limits = loads.table(), loads.limits
    columns.append((("torque", "largest"), [Amount(x.peak_torque, 4, x.torque_unit) for x in rows]))
    columns.append((("torque", "rms"), [Amount(x.rms_torque, 4, x.torque_unit) for x in rows]))
    if np.isfinite(limits.torque).any():
        columns.append((("torque", "of limit"), [_share(x.torque_share, x.torque_limit) for x in rows]))
    columns.append((("speed", "largest"), [Amount(x.peak_speed, 4, x.speed_unit) for x in rows]))
    if np.isfinite(limits.velocity).any():
        columns.append((("speed", "of limit"), [_share(x.speed_share, x.speed_limit) for x in rows]))
    if loads.constant_given.any():
        columns.append((("current", "largest"), [Amount(x.peak_current, 4, "A") for x in rows]))
        columns.append((("current", "rms"), [Amount(x.rms_current, 4, "A") for x in rows]))
    lines = zip(_names(rows), *(amounts for _, amounts in columns), strict=True)
    return table(["motor of", *(heading for heading, _ in columns)], lines)


def _energy_table(loads: MotorLoads) -> Markup:
    headings: list[Heading] = ["motor of", ("power", "largest"), ("power", "mean")]
    headings += [("energy", "with recuperation"), ("energy", "without")]
    lines: list[list[TableCell]] = []
    for name, row in zip(_names(loads.table()), loads.table(), strict=True):
        powers = row.peak_power, 0.0 if row.is_rounding(row.energy) else row.mean_power
        energies = (0.0 if row.is_rounding(x) else x for x in (row.energy, row.energy_drawn))
        amounts = [*(Amount(x, 4, "W") for x in powers), *(Amount(x, 4, "J") for x in energies)]
        lines.append([name, *amounts])
    return table(headings, lines)


def _names(rows: Sequence[MotorRow]) -> list[str]:
    return [row.motor if row.geared else f"{row.motor} (no motor)" for row in rows]


def _share(share: float, limit: float) -> Amount:
    """In percent; a dash where there is no limit."""
    return Amount(100 * share if np.isfinite(limit) else np.inf, 3, "%")


def _energy_text(loads: MotorLoads) -> Markup:
    """Of all motors together."""
    return paragraph(
        "All motors together take ",
        number(float(loads.total_energy)),
        " J if what comes back from braking is used again, ",
        number(float(loads.total_drawn)),
        " J if it is lost, and ",
        number(float(loads.bus_energy)),
        " J on a common bus that stores nothing, where one motor may use at once what another gives back. "
        "This is mechanical energy: losses in windings and drives come on top.",
    )
