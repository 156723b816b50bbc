"""What a motion asks of the motors, and the cycles of those that were chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from armdyn.drawing.curves import colour, few, titled, zero_line
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import Given, sheet_of
from armdyn.drawing.style import GREY, styled
from armdyn.motion.motor_loads import MotorLoads, MotorRow, energy_of
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    Picture,
    TableCell,
    number,
    paragraph,
    table,
    warning,
)
from armdyn.report.subject import Subject
from armdyn.robot.joints import joint_limits
from armdyn.studies.drive_limits import continuous_torque, envelope
from armdyn.studies.size_drives import DriveAssignment, Sizing

_COLUMNS = 3
_TITLE = 24  # letters that stand in a line over a panel
_FAR = 4.0  # a limit further out than so many times the peak is not drawn but said
_POINTS = 1500  # of a path on paper
_PATH, _PEAK, _RMS = colour(1), colour(2), colour(0)


@styled
def plot_motor_loads(loads: MotorLoads, *, ax: Given = None) -> Figure:
    """Torque over speed at each motor's shaft, with its limits, the largest torque and the rms of both.

    `ax` takes one of the axes for each motor.
    """
    if not isinstance(loads, MotorLoads):
        raise ReportError(f"loads: expected what motor_loads gives, found {type(loads).__name__}")
    if loads.torque.ndim != 2:
        raise ReportError(f"loads: found {loads.torque.shape[1:-1]} arms; those of one are drawn: .arm(0)")
    paper = sheet_of(loads.torque.shape[1], _COLUMNS, 0.5, 2.35, ax=ax)
    for i, panel in enumerate(paper.panels):
        _draw(panel, loads, i)
    handles = [
        Line2D([], [], color=_PATH, lw=1.2, label="over the motion"),
        Line2D([], [], color=_PEAK, marker="o", linestyle="", markersize=5, label="largest torque"),
        Line2D([], [], color=_RMS, marker="x", linestyle="", markersize=6, label="rms of speed and torque"),
    ]
    if np.isfinite([loads.limits.torque, loads.limits.velocity]).any():
        handles.append(Line2D([], [], color=GREY, lw=1.2, linestyle=(0, (6, 2)), label="limit"))
    paper.legend(handles, ncols=len(handles), handlelength=2.0)
    return paper.figure


def _draw(panel: Axes, loads: MotorLoads, i: int) -> None:
    speed, torque, units = loads.speed[:, i], loads.torque[:, i], loads.units[i]
    extremes = [int(f(x)) for x in (speed, torque) for f in (np.argmin, np.argmax)]
    kept = few(len(speed), _POINTS, [*extremes, len(speed) - 1], 2 * _POINTS)
    panel.plot(speed[kept], torque[kept], color=_PATH, lw=1.2, zorder=3, solid_joinstyle="round")
    peak = int(np.abs(torque).argmax())
    panel.plot(speed[peak], torque[peak], color=_PEAK, marker="o", markersize=5, zorder=5)
    rms = loads.rms_speed[i] * _side(speed), loads.rms_torque[i] * _side(torque)
    panel.plot(*rms, color=_RMS, marker="x", markersize=6, zorder=5)
    _draw_limits(panel, float(loads.limits.velocity[i]), float(loads.limits.torque[i]))
    zero_line(panel.axhline)
    zero_line(panel.axvline)
    far = _frame(speed, float(loads.limits.velocity[i]), panel.set_xlim)
    panel.set_xlabel(f"speed [{units.velocity}]{far}")
    far = _frame(torque, float(loads.limits.torque[i]), panel.set_ylim)
    panel.set_ylabel(f"{units.effort} [{units.torque}]{far}")
    kind = "motor" if loads.geared[i] else "no motor: joint"
    panel.set_title(titled(kind, i, loads.names[i], _TITLE), parse_math=False)


def _side(x: np.ndarray) -> float:
    """The sign of the largest value: the quadrant of the peaks is the one where the rms is marked."""
    return float(np.sign(x[np.abs(x).argmax()]))


def _frame(x: np.ndarray, limit: float, frame: Callable[[float, float], Any]) -> str:
    """Frame the path and a limit that is not too far away; otherwise it is said next to the axis."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    peak = max(-low, high) or 1.0
    near = limit <= _FAR * peak
    if near:
        low, high = min(low, -limit), max(high, limit)
    air = 0.08 * ((high - low) or 2 * peak)
    frame(low - air, high + air)
    return "" if near or np.isinf(limit) else f", limit {limit:.4g}"


def _draw_limits(panel: Axes, speed: float, torque: float) -> None:
    """The rectangle of speed and torque; where one of them is not limited, two lines."""
    look: dict[str, Any] = {"color": GREY, "lw": 1.2, "linestyle": (0, (6, 2)), "zorder": 2}
    if np.isfinite([speed, torque]).all():
        panel.add_patch(Rectangle((-speed, -torque), 2 * speed, 2 * torque, fill=False, **look))
        return
    for limit, line in ((speed, panel.axvline), (torque, panel.axhline)):
        for side in (-limit, limit) if np.isfinite(limit) else ():
            line(side, **look)


def write_motors(subject: Subject) -> list[Part]:
    """Nothing where there are no motors: the section is left out."""
    if not any(link.motor for link in subject.robot.model.moving):
        return []
    loads = subject.loads
    text = "What each motor has to give at its shaft. The motors turn by K q, and their torques τₘ add up to "
    text += "the joint torques above: τ = Kᵀ τₘ. They include the acceleration of the rotors and friction."
    if bool(((loads.robot.transmission != 0).sum(1) > 1).any()):
        text += " Some motors turn with several joints."
    if not all(loads.geared):
        text += " Joints without a motor count as driven directly."
    parts: list[Part] = [paragraph(text)]
    if loads.exceeded:
        parts.append(warning(f"The motion exceeds limits: {'; '.join(one.text for one in loads.exceeded)}."))
    return [*parts, _picture(loads), loads_table(loads), _energy_table(loads), _energy_text(loads)]


def _picture(loads: MotorLoads) -> Picture:
    caption = "Torque over speed of each motor along the motion: both of one sign, the motor drives; "
    caption += "of opposite signs, it brakes. The cross is the rms of both, in the quadrant of the peaks."
    if loads.limits.any:
        caption += " Dashed lines are limits."
    else:
        own = joint_limits(loads.robot)
        caption += " The description gives no limits of motors"
        at_joints = np.isfinite([own.torque, own.velocity]).any()
        caption += ", only of joints: these stay whatever the gear." if at_joints else "."
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
        number(energy_of(loads)),
        " J if what comes back from braking is used again, ",
        number(float(loads.total_drawn)),
        " J if it is lost, and ",
        number(float(loads.bus_energy)),
        " J on a common bus that stores nothing, where one motor may use at once what another gives back. "
        "This is mechanical energy: losses in windings and drives come on top.",
    )


# ---- motors that were chosen: what the cycles ask of them --------------------------------------------------

_WARM, _LASTING = colour(0), colour(2)
_SHORT = "#e8e8e8"  # what a motor gives for a short time


@styled
def plot_sizing(sizing: Sizing, assignment: DriveAssignment | None = None, *, ax: Given = None) -> Figure:
    """Torque over speed of each motor chosen: the cycles, what it gives for a short time and for ever.

    The cross is the torque that warms the motor as much as the cycles do, at the rms of the speed. `ax` takes
    one of the axes for each motor.
    """
    if not isinstance(sizing, Sizing):
        raise ReportError(f"sizing: expected what size_drives gives, found {type(sizing).__name__}")
    chosen = sizing.best if assignment is None else assignment
    paper = sheet_of(len(sizing.joints), _COLUMNS, 0.5, 2.35, ax=ax)
    for i, panel in enumerate(paper.panels):
        _draw_chosen(panel, sizing, chosen, i)
    handles = [
        Line2D([], [], color=_PATH, lw=1.2, label="over the cycles"),
        Line2D([], [], color=_WARM, marker="x", linestyle="", markersize=6, label="thermal torque"),
        Line2D([], [], color=_LASTING, lw=1.2, linestyle=(0, (5, 2)), label="for ever"),
        Patch(facecolor=_SHORT, edgecolor=GREY, label="for a short time"),
    ]
    paper.legend(handles, ncols=len(handles), handlelength=2.0)
    return paper.figure


def _draw_chosen(panel: Axes, sizing: Sizing, chosen: DriveAssignment, i: int) -> None:
    row = chosen.rows[i]
    motor = row.pair.motor
    at, low, high = envelope(row.pair, sizing.problem.demands.voltage)
    panel.fill_between(at, low, high, facecolor=_SHORT, edgecolor=GREY, lw=0.8, zorder=1)
    standstill, rated, speed = map(
        np.asarray, (motor.continuous_torque, motor.rated_torque, motor.rated_speed)
    )
    lasting = continuous_torque(standstill, rated, speed, np.abs(at))
    for side in (np.where(lasting <= high, lasting, np.nan), np.where(-lasting >= low, -lasting, np.nan)):
        panel.plot(at, side, color=_LASTING, lw=1.2, linestyle=(0, (5, 2)), zorder=2)
    speed, torque = sizing.points(sizing.joints[i], chosen)
    extremes = [int(f(x)) for x in (speed, torque) for f in (np.argmin, np.argmax)]
    kept = few(len(speed), _POINTS, [*extremes, len(speed) - 1], 2 * _POINTS)
    panel.plot(speed[kept], torque[kept], color=_PATH, lw=1.2, zorder=3, solid_joinstyle="round")
    weight = sizing.problem.loads.at.operating
    panel.plot(
        float(np.sqrt(speed**2 @ weight)),
        row.values["thermal_torque"],
        color=_WARM,
        marker="x",
        markersize=6,
        zorder=5,
    )
    zero_line(panel.axhline)
    zero_line(panel.axvline)
    panel.set_xlabel("speed [rad/s]")
    panel.set_ylabel("torque [N m]")
    panel.set_title(f"{titled('joint', i, row.joint)}\n{row.pair.name}", parse_math=False)
