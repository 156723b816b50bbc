"""A motion timed by limits: scaled linearly, or in least time; before and after side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.motion import Trajectory, scale_to_limits, time_optimal
from armdyn.motion.timing.limits import Limits, limits_for
from armdyn.output import one_line
from armdyn.report.page.markup import Markup, join, tag
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Subject
from armdyn.workbench.bench.motions import Motions, Which
from armdyn.workbench.bench.script import listed
from armdyn.workbench.charts.of_motion import joint_title, torques_of
from armdyn.workbench.errors import ViewError
from armdyn.workbench.panels.reading import Reading


def add(bench: Bench, motions: Motions) -> None:
    gui: Any = bench.gui
    scale = gui.add_button("Scale to limits", icon="arrows-horizontal", hint="slower as a whole")
    faster = gui.add_checkbox("May become faster too", initial_value=False)
    least = gui.add_button("Least time", icon="bolt", hint="the same path, as fast as torques allow")
    which = gui.add_dropdown("Play", ("before", "after"), visible=False)
    reading = Reading(bench)
    told = Markup("")  # of the motion that is timed

    def start(name: str, run: Callable[[Robot, Trajectory, dict[str, Any]], Trajectory], call: str) -> None:
        subject, motion, wrench = bench.moment.subject.bare, motions.before, bench.moment.wrench
        made = bench.script.lines("robot")
        given = {} if wrench is None else {"wrench": wrench}
        spelt = "" if wrench is None else f", wrench={listed(wrench)}"

        def work() -> tuple[Trajectory, Markup]:
            reading.show(tag("div", f"{name}: computing …", class_="ad-note"))
            try:
                check_limits(subject.robot)
                after = run(subject.robot, motion, given)
                before_and_after = (_peaks(subject, x, wrench) for x in (motion, after))
                return after, table(subject.robot, name, *before_and_after)
            except BaseException:
                reading.show(told)
                raise

        def done(found: tuple[Trajectory, Markup]) -> None:
            nonlocal told
            after, compared = found
            if motions.before is not motion:
                reading.show(told)
                bench.tell(name, "another motion was loaded meanwhile: press again to time it", "orange")
                return
            function = call.partition("(")[0]
            motions.timed(after, function, (f"motion = {call.format(wrench=spelt)}.trajectory",), made)
            told = compared
            reading.show(told)

        bench.job(name, work, done)

    def pressed_scale(_event: Any) -> None:
        sped = bool(faster.value)
        further = ", faster=True" if sped else ""
        start(
            "Scaled to limits",
            lambda robot, motion, given: scale_to_limits(robot, motion, faster=sped, **given).trajectory,
            f"scale_to_limits(robot, motion{further}{{wrench}})",
        )

    scale.on_click(pressed_scale)

    def pressed_least(_event: Any) -> None:
        start(
            "Least time",
            lambda robot, motion, given: time_optimal(robot, motion, **given).trajectory,
            "time_optimal(robot, motion{wrench})",
        )

    least.on_click(pressed_least)

    def set_which(event: Any) -> None:
        if event.client is not None and which.value != motions.shown:
            chosen: Which = "after" if which.value == "after" else "before"
            bench.guard(motions.switch, chosen)

    which.on_update(set_which)

    def follow() -> None:
        nonlocal told
        which.visible = motions.after is not None
        which.value = motions.shown
        if motions.after is None:
            told = Markup("")
            reading.show(told)

    motions.on_change(follow)


def check_limits(robot: Robot) -> None:
    """Refuse a robot without any limit in words that say what to do about it."""
    limits = limits_for(robot)
    if not any(np.isfinite(rows.bound).any() for rows in limits.kinds):
        raise ViewError(
            f"{robot.name} has no limits of torque, velocity or acceleration, and its motors have none: "
            "add them to its description, such as limits = { torque = 50 } of a link"
        )


@dataclass(frozen=True)
class Peaks:
    """The largest torques, velocities and accelerations of a motion, and as parts of their limits (n,)."""

    duration: float
    torque: np.ndarray
    torque_share: np.ndarray  # NaN where there is no limit
    speed: np.ndarray
    speed_share: np.ndarray


def _peaks(subject: Subject, motion: Trajectory, wrench: Any) -> Peaks:
    robot, at = subject.bare.robot, motion.samples()
    tau = torques_of(subject, motion, at, wrench)
    limits = limits_for(robot)
    torque = _share(limits, 0, np.abs(tau).max(0), robot.n)
    speed = _share(limits, 1, np.abs(at.qd).max(0), robot.n)
    return Peaks(motion.duration, np.abs(tau).max(0), torque, np.abs(at.qd).max(0), speed)


def _share(limits: Limits, kind: int, peak: np.ndarray, n: int) -> np.ndarray:
    bound = limits.kinds[kind].bound[:n]
    return np.where(np.isfinite(bound), peak / bound, np.nan)


def table(robot: Robot, name: str, before: Peaks, after: Peaks) -> Markup:
    """Duration, and for each joint the largest torque and speed, before and after."""
    part = after.duration / before.duration
    head = tag(
        "div",
        tag("b", f"{one_line(name)}: "),
        f"{before.duration:.4g} s → {after.duration:.4g} s ({100 * part:.3g} %)",
        class_="ad-note",
        data_armdyn="durations",
        data_before=repr(before.duration),
        data_after=repr(after.duration),
    )
    top = tag("tr", tag("th", "joint"), tag("th", "torque", colspan="2"), tag("th", "speed", colspan="2"))
    sub = tag("tr", tag("th", ""), *(tag("th", x) for x in ("before", "after") * 2))
    rows = []
    for j in range(robot.n):
        units = joint_units(robot, j)
        cells = [_cell(p.torque_share[j], p.torque[j], units.torque) for p in (before, after)]
        cells += [_cell(p.speed_share[j], p.speed[j], units.velocity) for p in (before, after)]
        title = one_line(joint_title(robot, j))
        rows.append(tag("tr", tag("td", title, title=title), *cells))
    note = tag("div", "Largest values, in % of the limit; motors' limits count.", class_="ad-note")
    return join([head, tag("table", top, sub, *rows, class_="ad-table"), note])


def _cell(share: float, peak: float, unit: str) -> Markup:
    if not np.isfinite(share):
        return tag("td", f"{peak:.3g} {unit}", title="no limit")
    over = {"class_": "ad-over"} if share > 1.001 else {}
    return tag("td", f"{100 * share:.0f} %", title=f"{peak:.4g} {unit}", **over)
