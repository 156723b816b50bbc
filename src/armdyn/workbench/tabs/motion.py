"""Motions: loaded, made from one posture to another, played, scrubbed and timed by limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armdyn.analysis.task import tip_freedom
from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory, bundled_cycles, load_cycle, scale_to_limits, time_optimal
from armdyn.motion.timing.limits import limits_for
from armdyn.names import one_line
from armdyn.report.page import Markup, join, tag
from armdyn.report.subject import default_motion
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench import DEFAULT, Bench, Said, listed
from armdyn.workbench.charts import joint_title, torques_of
from armdyn.workbench.fields import Reading, file_name, note, read_upload, suffix
from armdyn.workbench.moment import EditedRobot, Moment, ViewError
from armdyn.workbench.player import SPEEDS

# ---- a motion timed by limits: scaled linearly, or in least time; before and after side by side -----------


def add_timing(bench: Bench) -> None:
    gui: Any = bench.gui

    def start(name: str, function: Callable[..., Any], **options: bool) -> None:
        subject, motion, wrench = bench.moment.subject.bare, bench.motions.before, bench.moment.wrench
        made = bench.script.robot
        given: dict[str, Any] = options if wrench is None else {**options, "wrench": wrench}

        def work() -> tuple[Trajectory, Markup]:
            with reading.meanwhile(note(f"{name}: computing …")):
                check_limits(subject.robot)
                after = function(subject.robot, motion, **given).trajectory
                before_and_after = (_peaks(subject, x, wrench) for x in (motion, after))
                return after, table(subject.robot, name, *before_and_after)

        def done(found: tuple[Trajectory, Markup]) -> None:
            after, compared = found
            if bench.motions.before is not motion:
                reading.show()
                bench.tell(name, "another motion was loaded meanwhile: press again to time it", "orange")
                return
            spelt = [f", {key}={listed(x) if key == 'wrench' else x}" for key, x in given.items()]
            call = f"{function.__name__}(robot, motion{''.join(spelt)})"
            bench.motions.timed(after, Said((f"motion = {call}.trajectory",), (function.__name__,), made))
            reading.show(compared)

        bench.job(name, work, done)

    def slower() -> None:
        start("Scaled to limits", scale_to_limits, **({"faster": True} if faster.value else {}))

    bench.button("Scale to limits", slower, icon="arrows-horizontal", hint="slower as a whole")
    faster = gui.add_checkbox("May become faster too", initial_value=False)
    hint = "the same path, as fast as torques allow"
    bench.button("Least time", lambda: start("Least time", time_optimal), icon="bolt", hint=hint)
    which = gui.add_dropdown("Play", ("before", "after"), visible=False)
    reading = Reading(bench)

    def chosen(event: Any) -> None:
        motions = bench.motions
        motion = motions.after if which.value == "after" else motions.before
        if event.client is not None and motion is not None and motion is not motions.shown:
            bench.guard(motions.switch, motion)

    which.on_update(chosen)

    def follow() -> None:
        which.visible = bench.motions.after is not None
        which.value = "after" if bench.motions.shown is bench.motions.after else "before"
        if bench.motions.after is None:
            reading.show()

    bench.motions.on_change(follow)


def check_limits(robot: Robot) -> None:
    """Refuse a robot without any limit in words that say what to do about it."""
    limits = limits_for(robot)
    if not any(np.isfinite(rows.bound).any() for rows in limits.kinds):
        raise ViewError(
            f"{robot.name} has no limits of torque, velocity or acceleration, and its motors have none: "
            "add them to its description, such as limits = { torque = 50 } of a link"
        )


class Peaks(NamedTuple):
    """A motion's duration [s], and its largest torques and speeds (n,)."""

    duration: float
    torque: np.ndarray
    speed: np.ndarray


def _peaks(subject: EditedRobot, motion: Trajectory, wrench: Any) -> Peaks:
    at = motion.samples()
    tau = torques_of(subject, motion, at, wrench)
    return Peaks(motion.duration, np.abs(tau).max(0), np.abs(at.qd).max(0))


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
    rows, limits = [], limits_for(robot)
    for j in range(robot.n):
        units = joint_units(robot, j)
        cells = [_cell(p.torque[j], limits.torque.bound[j], units.torque) for p in (before, after)]
        cells += [_cell(p.speed[j], limits.velocity.bound[j], units.velocity) for p in (before, after)]
        title = joint_title(robot, j)
        rows.append(tag("tr", tag("td", title, title=title), *cells))
    below = note("Largest values, in % of the limit; motors' limits count.")
    return join([head, tag("table", top, sub, *rows, class_="ad-table"), below])


def _cell(peak: float, bound: float, unit: str) -> Markup:
    if not np.isfinite(bound):
        return tag("td", f"{peak:.3g} {unit}", title="no limit")
    share = peak / bound
    over = {"class_": "ad-over"} if share > 1.001 else {}
    return tag("td", f"{100 * share:.0f} %", title=f"{peak:.4g} {unit}", **over)


# ---- motions: loaded, made from one posture to another, played, scrubbed and timed by limits --------------


_CHOOSE = "choose …"
_DEFAULT = "the report's own"
# By what the page calls them: the maker in `Trajectory`, and what it takes beside a duration.
_LAWS = {
    "quintic": "quintic",
    "cubic": "cubic",
    "7th degree": "smooth",
    "trapezoidal velocity": "trapezoidal",
    "triangular velocity": "triangular",
    "straight line of the tip": "line",
}


def add(bench: Bench) -> None:
    gui: Any = bench.gui
    _pace(bench)
    with gui.add_folder("Load a motion"):
        _loading(bench)
    with gui.add_folder("From one posture to another"):
        _making(bench)
    with gui.add_folder("Within the limits"):
        add_timing(bench)


# ---- playing -----------------------------------------------------------------------------------------------


def transport(bench: Bench) -> None:
    """Play, pause and scrub what is on stage: beside every tab, as runs and logs are played too."""
    gui: Any = bench.gui
    player = bench.player
    play = bench.button("Play", player.play, icon="player-play")
    pause = bench.button("Pause", player.pause, icon="player-pause", visible=False)
    time = gui.add_slider(
        "Time", min=0.0, max=1.0, step=1e-4, initial_value=0.0, hint="of what is played [s]"
    )
    clock = bench.fields.add(time, "s", player.seek)
    back = bench.button("Back to the motion", bench.motions.show, icon="arrow-back-up", visible=False)

    def follow(moment: Moment) -> None:
        clip, playing = player.clip, player.playing
        if play.visible == playing:
            play.visible, pause.visible = not playing, playing
        if back.visible == (clip is bench.motions.clip):
            back.visible = clip is not bench.motions.clip
        duration = float(clip.duration)
        if time.max != duration:
            time.max = duration
            time.step = float(10.0 ** np.floor(np.log10(duration / 2000)))
        if moment.time is not None and abs(time.value - moment.time) > 1e-9 * duration:
            clock.show(float(min(moment.time, duration)))

    bench.on_moment(follow)
    player.on_change(lambda: follow(bench.moment))


def _pace(bench: Bench) -> None:
    gui: Any = bench.gui
    player = bench.player
    speed = gui.add_slider("Speed", min=SPEEDS[0], max=SPEEDS[1], step=0.1, initial_value=1.0)

    def set_speed(new: float) -> None:
        player.speed = float(np.clip(new, *SPEEDS))

    def set_loop(on: bool) -> None:
        player.loop = on

    bench.fields.add(speed, "", set_speed)
    bench.switch("Repeat", None, player.loop, set_loop)


# ---- loading -----------------------------------------------------------------------------------------------


def _loading(bench: Bench) -> None:
    gui: Any = bench.gui
    upload = gui.add_upload_button(
        "CSV or cycle file", icon="upload", hint="t, q1 … and, if there, qd1 …, qdd1 …; or a cycle in TOML"
    )
    given = gui.add_dropdown("Bundled", (_CHOOSE, _DEFAULT, *bundled_cycles()))
    upload.on_upload(lambda _event: bench.guard(take_file, bench, upload.value))

    def set_given(event: Any) -> None:
        if event.client is None or given.value == _CHOOSE:
            return
        chosen, given.value = given.value, _CHOOSE
        bench.guard(_take_bundled, bench, chosen)

    given.on_update(set_given)


def take_file(bench: Bench, file: Any) -> None:
    """Show the motion of an uploaded file."""
    name, kind = file_name(file), suffix(file)
    if kind == ".toml":
        motion = read_upload(file, lambda path: load_cycle(bench.robot, path))
        bench.motions.take(motion, [f"motion = load_cycle(robot, {name!r})"], ["load_cycle"])
    elif kind == ".csv":
        motion = read_upload(file, lambda path: _from_csv(bench, path))
        bench.motions.take(motion, [f"motion = Trajectory.from_csv({name!r})"], ["Trajectory"])
    else:
        raise ViewError(f"{one_line(name)}: expected a motion in .csv, or a cycle in .toml")
    bench.tell("Loaded", f"{name}: {motion.duration:g} s", "green")


def _from_csv(bench: Bench, path: Path) -> Trajectory:
    motion = Trajectory.from_csv(path)
    if motion.n != bench.robot.n:
        raise ArmdynError(f"{path}: it moves {motion.n} joints, but {bench.robot.name} has {bench.robot.n}")
    return motion


def _take_bundled(bench: Bench, name: str) -> None:
    if name == _DEFAULT:
        bench.motions.take(default_motion(bench.robot).trajectory, DEFAULT)
        return
    motion = load_cycle(bench.robot, name)
    bench.motions.take(motion, [f"motion = load_cycle(robot, {name!r})"], ["load_cycle"])


# ---- making ------------------------------------------------------------------------------------------------


def _making(bench: Bench) -> None:
    ends: dict[str, np.ndarray] = {}
    gui: Any = bench.gui
    where = gui.add_button_group("Posture shown", ("Start here", "End here"))
    law = gui.add_dropdown("Law", tuple(_LAWS))
    duration = bench.fields.add(gui.add_number("Duration", 1.0, min=1e-3, max=1e4, step=0.1, hint="[s]"), "s")

    def pressed_where(_event: Any) -> None:
        ends[where.value] = bench.moment.q.copy()
        rest = (
            "move the arm and press 'End here'" if where.value == "Start here" else "press 'Make the motion'"
        )
        bench.tell(where.value, f"kept; {rest}", "blue")

    where.on_click(pressed_where)

    def make() -> None:
        for name, does in (("Start here", "begins"), ("End here", "ends")):
            if name not in ends:
                raise ViewError(f"press '{name}' at the posture where the motion {does}")
        make_motion(bench, ends["Start here"], ends["End here"], law.value, float(duration.value))

    bench.button("Make the motion", make, icon="route")


def make_motion(bench: Bench, q0: np.ndarray, q1: np.ndarray, law: str, duration: float) -> None:
    """Show the motion from one posture to another in a duration [s]."""
    if np.allclose(q0, q1, rtol=0, atol=1e-12):
        raise ViewError("start and end are the same posture: move the arm in between")
    maker, start, last = _LAWS[law], f"q0 = {listed(q0)}", f"q1 = {listed(q1)}"
    if maker == "line":
        turns = tip_freedom(bench.robot).keeps_orientation  # to the pose; other arms only to the point
        goal, at = bench.robot.pose(q1), "" if turns else "[:3, 3]"
        end = goal if turns else goal[:3, 3]
        motion = Trajectory.line(bench.robot, q0, end, profile="quintic", duration=duration)
        call = f"line(robot, q0, robot.pose(q1){at}, profile='quintic', duration={duration!r})"
    elif maker == "trapezoidal":
        motion = Trajectory.trapezoidal(q0, q1, acceleration_time=duration / 4, duration=duration)
        call = f"trapezoidal(q0, q1, acceleration_time={duration / 4!r}, duration={duration!r})"
    else:
        motion = getattr(Trajectory, maker)(q0, q1, duration)
        call = f"{maker}(q0, q1, {duration!r})"
    bench.motions.take(motion, [start, last, f"motion = Trajectory.{call}"], ["Trajectory"])
