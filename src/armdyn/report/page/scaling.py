"""How fast the motion may be under the robot's limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.analysis.limits import joint_limits, joint_name
from armdyn.expression import ArmdynError
from armdyn.motion.least_time.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.comparison import plot_path_speed, plot_scaling
from armdyn.report.page.page import Markup, Page, Section, number, paragraph, warning
from armdyn.robot import Robot


def add_scaling(page: Page, robot: Robot, trajectory: Trajectory, wrench: Any) -> None:
    """The motion scaled linearly to the limits, and the same path in least time."""
    section = page.section("scaling", "Against the limits")
    limits = joint_limits(robot)
    if not any(np.isfinite(x).any() for x in (limits.torque, limits.velocity, limits.acceleration)):
        section.add(
            paragraph(
                "The description limits no torque, velocity or acceleration: nothing bounds the speed of the "
                "motion."
            )
        )
        return
    if not np.ptp(trajectory.q, axis=0).any():
        section.add(paragraph("The motion stands still: there is no speed to be limited."))
        return
    scaled = _attempt(section, "Scaling the motion linearly", _scaled, robot, trajectory, wrench)
    optimal = _attempt(section, "The path in least time", _optimal, robot, trajectory, wrench)
    text: list[str] = []
    if isinstance(scaled, Scaled):
        text += _linear_text(robot, trajectory, scaled)
    if isinstance(optimal, TimeOptimal):
        text += _optimal_text(trajectory, scaled, optimal)
    if not text:
        return
    section.add(paragraph(*text))
    section.add(
        page.figure(
            plot_scaling(robot, trajectory, scaled, optimal, wrench=wrench),
            "torques of the motion as given, scaled linearly and in least time",
            *_torque_caption(limits.torque, scaled, optimal),
        )
    )
    if isinstance(optimal, TimeOptimal):
        section.add(
            page.figure(
                plot_path_speed(robot, optimal),
                "speed along the path in least time",
                "Least time: the speed along the path over the way covered, and below it the stretches on "
                "which each joint is at one of its limits. At every point some limit is reached, or the "
                "motion could be faster.",
            )
        )


def _scaled(robot: Robot, trajectory: Trajectory, wrench: Any) -> Scaled:
    return scale_to_limits(robot, trajectory, wrench=wrench, faster=True)


def _optimal(robot: Robot, trajectory: Trajectory, wrench: Any) -> TimeOptimal:
    return time_optimal(robot, trajectory, wrench=wrench)


def _attempt(section: Section, what: str, work: Any, *arguments: Any) -> Any:
    """What the work gives; where it is impossible, None, and the section says why."""
    try:
        return work(*arguments)
    except ArmdynError as problem:
        section.add(warning(f"{what} is not possible: {problem}."))
        return None


def _linear_text(robot: Robot, trajectory: Trajectory, scaled: Scaled) -> list[str]:
    faster = scaled.factor < 1
    text: list[str] = [
        "Run faster" if faster else "Run slower",
        " as a whole (7.7), the motion meets the robot's limits in ",
        number(scaled.trajectory.duration),
        f" s instead of {trajectory.duration:g} s, a factor c = ",
        number(scaled.factor),
        " with c² = ",
        number(scaled.factor**2, 5),
        ".",
    ]
    if scaled.kind is not None and scaled.joint is not None and scaled.instant is not None:
        text.append(
            f" What keeps it from being faster is the {scaled.kind} of {joint_name(robot, scaled.joint)} at "
        )
        text += [number(scaled.instant, 3), " s."]
    return text


def _optimal_text(trajectory: Trajectory, scaled: Scaled | None, optimal: TimeOptimal) -> list[str]:
    text: list[str] = [" In least time the same path takes ", number(optimal.duration), " s"]
    if scaled is not None:
        share = round(100 * (1 - optimal.duration / scaled.trajectory.duration))
        text.append(f", {share} % less than scaled linearly" if share > 0 else ", as scaled linearly")
    return [*text, "; friction is part of the torques."]


def _torque_caption(
    limit: np.ndarray, scaled: Scaled | None, optimal: TimeOptimal | None
) -> list[Markup | str]:
    found: list[Markup | str] = ["Torques of the motion as given (dotted)"]
    if scaled is not None:
        found.append(", scaled linearly (solid)")
    if optimal is not None:
        found.append(" and in least time (dashed)")
    limited = bool(np.isfinite(limit).any())
    found.append(". Grey lines are the limits, where the torques come near them." if limited else ".")
    for name, result in (("linear scaling", scaled), ("least time", optimal)):
        if result is not None and limited:
            share = float((np.abs(result.torque) / limit).max())
            found += [f" By {name} the largest torque is ", number(100 * share, 4), " % of its limit."]
    return found
