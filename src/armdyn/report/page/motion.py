"""A motion, the torques it needs, and what causes them."""

from __future__ import annotations

from armdyn.report.figures.arm import draw_strobe
from armdyn.report.figures.motion import draw_contributions, draw_tip, draw_trajectory
from armdyn.report.findings.motion import JointCurves, MotionFinding, TipCurves, TorquesFinding
from armdyn.report.page.page import (
    Amount,
    Markup,
    Part,
    Picture,
    number,
    paragraph,
    table,
    tag,
    warning,
)
from armdyn.report.page.tables import TableCell
from armdyn.robot.joints import joint_units, torque_unit


def write_motion(found: MotionFinding) -> list[Part]:
    parts: list[Part] = [paragraph(found.text)]
    if found.beyond:
        parts.append(warning(f"The motion exceeds limits: {'; '.join(found.beyond)}."))
    arms, interval = len(found.strobe.arms), found.strobe.interval
    strobe = [
        f"The arm in {arms} postures, {interval:.3g} s apart, the last one in full. The dashed line, ",
        number(found.tip.path, 3),
        " m long, is the path of the tip.",
    ]
    parts.append(
        Picture(
            draw_strobe(found.strobe), "the arm in several postures along the motion", strobe, drawing=True
        )
    )
    what = "positions, velocities, accelerations and torques of the joints over time"
    parts.append(Picture(draw_trajectory(found.joints), what, _joints_caption(found.joints, found.pressing)))
    if found.tip.path > 0:
        what = "position, velocity and acceleration of the tip over time"
        parts.append(Picture(draw_tip(found.tip), what, _tip_caption(found.tip)))
    return parts


def _joints_caption(found: JointCurves, pressing: bool) -> list[str]:
    joint, torque, t = found.peak
    caption: list[str] = ["Positions, velocities, accelerations and torques of the joints over time. "]
    caption += [f"The largest torque is that of joint {joint + 1}, ", number(torque)]
    caption += [f" {torque_unit(found.robot, joint)} at ", number(t, 3), " s."]
    if pressing:
        caption.append(" The arm exerts the given wrench on its surroundings all along.")
    return caption


def _tip_caption(found: TipCurves) -> list[str]:
    (speed, t), (acceleration, u) = found.peak(found.velocity), found.peak(found.acceleration)
    caption: list[str] = ["The tip in the world: at most ", number(speed, 3), " m/s (at ", number(t, 3)]
    return [*caption, " s) and ", number(acceleration, 3), " m/s² (at ", number(u, 3), " s)."]


def write_torques(found: TorquesFinding) -> list[Part]:
    said = [warning(f"The motion exceeds limits: {'; '.join(found.beyond)}.")] if found.beyond else []
    return [
        *said,
        _peaks(found),
        Picture(
            draw_contributions(found.curves), "torque contributions of each joint over time", _caption(found)
        ),
        tag("h3", "Largest magnitude of each part"),
        _causes(found),
    ]


def _peaks(found: TorquesFinding) -> Markup:
    columns = ("joint", "velocity", "acceleration", "torque", "at", "torque, rms", "limit", "share of it")
    rows = []
    robot = found.curves.robot
    for i, (link, peak) in enumerate(zip(robot.model.coordinates, found.peaks, strict=True)):
        units = joint_units(robot, i)
        row: list[TableCell] = [
            f"{i + 1}, {link.joint_label}",
            Amount(peak.velocity, 3, units.velocity),
            Amount(peak.acceleration, 3, units.acceleration),
            Amount(peak.torque, 4, units.torque),
            Amount(peak.time, 3, "s"),
            Amount(peak.rms, 4, units.torque),
            Amount(peak.limit, 4, units.torque),
            "–" if peak.limit == float("inf") else Amount(round(100 * peak.torque / peak.limit), 4, "%"),
        ]
        rows.append(row if found.limited else row[:6])
    return table(columns if found.limited else columns[:6], rows)


def _caption(found: TorquesFinding) -> list[str]:
    caption: list[str] = ["The torque of each joint (thick grey line) and its parts, which add up to it. "]
    if found.main is not None:
        name, joint, size = found.main
        caption += [f"The largest part in this motion is {name} at joint {joint + 1}, up to "]
        caption += [number(size), f" {torque_unit(found.curves.robot, joint)}."]
    if "rotor coupling" in found.largest:
        caption.append(
            " Rotor coupling is what exact rotors add to the diagonal model, in which a motor is k²Iₘ at its "
            "joint."
        )
    return caption


def _causes(found: TorquesFinding) -> Markup:
    robot = found.curves.robot
    rows: list[tuple[TableCell, ...]] = []
    for i, link in enumerate(robot.model.coordinates):
        values = [Amount(float(x[i]), 3, torque_unit(robot, i)) for x in found.largest.values()]
        rows.append((f"{i + 1}, {link.joint_label}", *values))
    return table(("joint", *found.largest), rows)
