"""Motions: loaded, made from one posture to another, played, scrubbed and timed by limits."""

from __future__ import annotations

import logging
import re
import threading
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
from armdyn.workbench.bench import DEFAULT, QUIET, Bench, Said, listed
from armdyn.workbench.charts import joint_title, torques_of
from armdyn.workbench.fields import Reading, file_name, note, read_upload, suffix
from armdyn.workbench.moment import EditedRobot, Moment, ViewError
from armdyn.workbench.player import PASS, SPEEDS

_LOG = logging.getLogger("armdyn.workbench")

# ---- the answer on top: whether the motion is within its limits, and its least time ----------------------


RESTS = 0.8  # s without a change after which the least time is looked for
_BEYOND = 1 + 1e-6  # of a limit: what is more than rounding


class Verdict:
    """What holds for the motion and the robot as it is edited, computed in a thread beside the page."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._reading = bench, Reading(bench, tag("div", "…", class_="ad-answer"))
        self._asked: tuple[Any, ...] = ()
        self._said = Markup("")
        self._news = threading.Event()
        threading.Thread(target=self._run, name="armdyn view: answer", daemon=True).start()
        bench.on_moment(self._follow)

    def _follow(self, moment: Moment) -> None:
        """Ask anew if the robot, the motion or what the tip exerts is another one."""
        bench, wrench = self._bench, moment.wrench
        if bench.player.clip is not bench.motions.clip and self._asked:
            wrench = self._asked[2]  # of what is played now
        pushed = None if wrench is None else wrench.tobytes()
        asked = moment.subject.bare, bench.motion, wrench, pushed
        if (
            not self._asked
            or any(x is not y for x, y in zip(asked[:2], self._asked, strict=False))
            or pushed != self._asked[3]
        ):
            self._asked = asked
            self._news.set()
        if self._said:
            self._reading.show(self._said)

    def _say(self, said: Markup) -> None:
        """Have it shown by the bench's own thread, which ends before the page does."""
        self._said = said
        self._bench.again()

    def _run(self) -> None:
        while not self._bench.closed:
            if not self._news.wait(1.0):
                continue
            self._news.clear()
            subject, motion, wrench, _ = self._asked
            own = self._bench.motions.is_own
            found = self._found(share_text, subject, motion, wrench)
            self._say(_answered(found, "least time …" if found and found.part else "", own))
            if found and not self._news.wait(RESTS) and not self._bench.closed:
                least = self._found(least_text, subject, motion, wrench)
                if not self._news.is_set():
                    self._say(_answered(found, least, own))

    def _found(self, look: Callable[..., Any], *given: Any) -> Any:
        """What it finds; nothing where the description does not allow to say, as a singular transmission."""
        try:
            return look(*given)
        except ArmdynError as error:
            return Share(0.0, f"Not known: {one_line(str(error))}") if look is share_text else ""
        except Exception:
            if not self._bench.closed:
                _LOG.exception("the workbench met an error")
            return None


class Share(NamedTuple):
    """A part of a limit, and what there is to say about it."""

    part: float
    text: str


def share_text(subject: EditedRobot, motion: Trajectory, wrench: Any) -> Share:
    """How near the motion comes to a limit, and where."""
    robot = subject.bare.robot
    limits = limits_for(robot)
    if not limits.any:
        return Share(0.0, "No limits of torque, speed or acceleration are known.")
    at = motion.samples()
    part, limit, sample = limits.largest(at.q, at.qd, at.qdd, torques_of(subject, motion, at, wrench))
    what = "" if limit.quantity == "torque" else f", {limit.quantity}"
    where = f"{100 * part:.0f} % at {limit.name(robot)}{what}, {at.t[sample]:.3g} s"
    return Share(part, f"{'beyond' if part > _BEYOND else 'within'} its limits: {where}")


def least_text(subject: EditedRobot, motion: Trajectory, wrench: Any) -> str:
    """The least time of the same path."""
    robot = subject.bare.robot
    if not limits_for(robot).any:
        return ""
    least = time_optimal(robot, motion, wrench=wrench).duration
    return f"least time {least:.3g} s instead of {motion.duration:.3g} s"


def _answered(found: Share | None, least: str, own: bool) -> Markup:
    """What is found of the motion; it is `own` unless it is the example that the program chose."""
    if found is None:
        return Markup("")
    colour = "" if not found.part else " ad-bad" if found.part > _BEYOND else " ad-good"
    what = "Motion" if own else "Example motion"
    text, least = (re.sub(r"(?<=\d) (?=s\b)", "\u00a0", x) for x in (found.text, least))
    lines = [tag("b", f"{what} {text}" if found.part else text)]
    lines += [tag("span", f"; {least}")] if least else []
    lines += [] if own or not found.part else [tag("span", ". Yours: in the tab Motion.")]
    return tag("div", *lines, class_=f"ad-answer{colour}", data_armdyn="answer", data_share=repr(found.part))


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
    bench.button("Least time", lambda: start("Least time", time_optimal), first=True, icon="bolt", hint=hint)
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
    if not limits_for(robot).any:
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
        f"{before.duration:.4g} s → {after.duration:.4g} s ({100 * part:.3g} %)"
        if abs(part - 1) > 1e-6
        else f"{before.duration:.4g} s as before: the motion is within its limits already",
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
    Verdict(bench)
    gui: Any = bench.gui
    player = bench.player
    play = bench.button("Play", player.play, first=True, icon="player-play")
    pause = bench.button("Pause", player.pause, first=True, icon="player-pause", visible=False)
    time = gui.add_slider(
        "Time", min=0.0, max=1.0, step=1e-4, initial_value=0.0, hint="of what is played [s]"
    )
    clock = bench.fields.add(time, "s", player.seek)
    state = Reading(bench)
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
        where = {"data_elsewhere": ""} if moment.time is None else {}  # posed by hand: at no time of it
        state.show(tag("i", hidden="", data_armdyn="hand", data_uuid=time._impl.uuid, **where))

    bench.on_moment(follow)
    player.on_change(lambda: follow(bench.moment))


def _pace(bench: Bench) -> None:
    gui: Any = bench.gui
    player = bench.player
    hint = f"1: in real time. What is shorter than {PASS:g} s is shown slower until you choose"
    speed = gui.add_slider(
        "Speed", min=SPEEDS[0], max=SPEEDS[1], step=0.1, initial_value=player.speed, hint=hint
    )

    def set_speed(new: float) -> None:
        player.speed = float(np.clip(new, *SPEEDS))

    def follow(_: Moment) -> None:
        if field.value != player.speed:
            field.show(player.speed)

    def set_loop(on: bool) -> None:
        player.loop = on

    field = bench.fields.add(speed, "", set_speed)
    bench.on_moment(follow)
    bench.switch("Repeat", None, player.loop, set_loop)


# ---- loading -----------------------------------------------------------------------------------------------


def _loading(bench: Bench) -> None:
    gui: Any = bench.gui
    upload = gui.add_upload_button(
        "CSV or cycle file",
        color=QUIET,
        icon="upload",
        hint="t, q1 … and, if there, qd1 …, qdd1 …; or a cycle in TOML",
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
