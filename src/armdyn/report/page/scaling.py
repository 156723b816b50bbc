"""How fast the motion may be under the robot's limits."""

from __future__ import annotations

from armdyn.motion.least_time.time_optimal import TimeOptimal
from armdyn.motion.timing.scaling import Scaled
from armdyn.report.figures.scaling import draw_path_speed, draw_scaling
from armdyn.report.findings.scaling import PathSpeed, ScalingFinding, TimingCurves
from armdyn.report.page.page import Part, Picture, number, paragraph, warning
from armdyn.robot import Robot

_EVERYWHERE = 0.99  # of a path: what is less than this from its whole is a matter of the grid


def write_scaling(found: ScalingFinding) -> list[Part]:
    if not found.limited:
        text = "The description gives no limits of torque, velocity or acceleration, so the motion may be as "
        return [paragraph(text + "fast as one likes.")]
    if found.still:
        return [paragraph("The motion stands still, so there is no speed to limit.")]
    parts: list[Part] = [warning(f"{what} is not possible: {why}.") for what, why in found.problems]
    if found.curves is not None:
        parts += _timings(found.curves)
    if found.path is not None:
        parts.append(
            Picture(
                draw_path_speed(found.path), "speed along the path in least time", [_path_text(found.path)]
            )
        )
    return parts


def _path_text(path: PathSpeed) -> str:
    who = "each joint, and each motor (M)," if path.has_motors else "each joint"
    text = f"Least time: the speed along the path, and below it the parts of the path on which {who} is at "
    text += "one of its limits. "
    if path.covered > _EVERYWHERE:
        return text + "At every point some limit is reached, or the motion could be faster."
    return text + f"Some limit is reached on {100 * path.covered:.0f} % of the path."


def _timings(found: TimingCurves) -> list[Part]:
    text: list[str] = []
    if found.scaled is not None:
        text += _linear_text(found.robot, found.duration, found.scaled)
    if found.optimal is not None:
        text += _optimal_text(found.scaled, found.optimal)
    what = "torques of the motion as given, scaled linearly and in least time"
    return [paragraph(*text), Picture(draw_scaling(found), what, _torque_caption(found))]


def _linear_text(robot: Robot, duration: float, scaled: Scaled) -> list[str]:
    faster = scaled.factor < 1
    text: list[str] = [
        "Sped up" if faster else "Slowed down",
        " as a whole (7.7), the motion just meets the robot's limits: it takes ",
        number(scaled.trajectory.duration),
        f" s instead of {duration:g} s, a factor c = ",
        number(scaled.factor),
        " with c² = ",
        number(scaled.factor**2, 5),
        ".",
    ]
    limit = scaled.limited_by
    if limit is not None and scaled.instant is not None:
        text.append(f" Its speed is limited by the {limit.quantity} of {limit.name(robot)} at ")
        text += [number(scaled.instant, 3), " s."]
    return text


def _optimal_text(scaled: Scaled | None, optimal: TimeOptimal) -> list[str]:
    text: list[str] = [" In least time the same path takes ", number(optimal.duration), " s"]
    if scaled is not None:
        share = round(100 * (1 - optimal.duration / scaled.trajectory.duration))
        text.append(
            f", {share} % less than scaled linearly" if share > 0 else ", the same as scaled linearly"
        )
    return [*text, ". The torques include friction."]


def _torque_caption(found: TimingCurves) -> list[str]:
    scaled, optimal = found.scaled, found.optimal
    text: list[str] = ["Torques of the motion as given (dotted)"]
    if scaled is not None:
        text.append(", scaled linearly (solid)")
    if optimal is not None:
        text.append(" and in least time (dashed)")
    limits = "limits of the joints, or of their motors where these are lower" if found.motors else "limits"
    text.append(f". Grey lines are the {limits}, where the torques come near them." if found.limited else ".")
    for name, result in (("linear scaling", scaled), ("least time", optimal)):
        if result is not None and found.limited:
            share = number(100 * found.share(result), 4)
            text += [f" With {name} the largest torque is ", share, " % of its limit."]
    return text
