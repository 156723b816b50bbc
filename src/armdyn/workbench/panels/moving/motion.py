"""Motions: loaded, made from one posture to another, played, scrubbed and timed by limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory, bundled_cycles, load_cycle
from armdyn.motion.tip.task import can_keep_orientation
from armdyn.output import one_line
from armdyn.report.findings.example_motion import default_motion
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.bench.motions import DEFAULT, Motions
from armdyn.workbench.bench.player import SPEEDS
from armdyn.workbench.bench.script import listed
from armdyn.workbench.errors import ViewError
from armdyn.workbench.panels.moving import timing
from armdyn.workbench.panels.moving.uploads import file_name, read_upload, suffix

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


def add(bench: Bench, motions: Motions) -> None:
    gui: Any = bench.gui
    _pace(bench)
    with gui.add_folder("Load a motion"):
        _loading(bench, motions)
    with gui.add_folder("From one posture to another"):
        _making(bench, motions)
    with gui.add_folder("Within the limits"):
        timing.add(bench, motions)


# ---- playing -----------------------------------------------------------------------------------------------


def transport(bench: Bench, motions: Motions) -> None:
    """Play, pause and scrub what is on stage: beside every tab, as runs and logs are played too."""
    gui: Any = bench.gui
    player = bench.player
    play = gui.add_button("Play", icon="player-play")
    pause = gui.add_button("Pause", icon="player-pause", visible=False)
    time = gui.add_slider(
        "Time", min=0.0, max=1.0, step=1e-4, initial_value=0.0, hint="of what is played [s]"
    )
    clock = bench.fields.add(time, "s", player.seek)
    back = gui.add_button("Back to the motion", icon="arrow-back-up", visible=False)
    play.on_click(lambda _event: bench.guard(player.play))
    pause.on_click(lambda _event: player.pause())
    back.on_click(lambda _event: bench.guard(motions.show))

    def follow(moment: Moment) -> None:
        clip, playing = player.clip, player.playing
        if play.visible == playing:
            play.visible, pause.visible = not playing, playing
        if clip is None:
            return
        if back.visible == (clip is motions.clip):
            back.visible = clip is not motions.clip
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
    loop = gui.add_checkbox("Repeat", initial_value=player.loop)

    def set_speed(new: float) -> None:
        player.speed = float(np.clip(new, *SPEEDS))

    def set_loop(_event: Any) -> None:
        player.loop = bool(loop.value)

    bench.fields.add(speed, "", set_speed)
    loop.on_update(set_loop)


# ---- loading -----------------------------------------------------------------------------------------------


def _loading(bench: Bench, motions: Motions) -> None:
    gui: Any = bench.gui
    upload = gui.add_upload_button(
        "CSV or cycle file", icon="upload", hint="t, q1 … and, if there, qd1 …, qdd1 …; or a cycle in TOML"
    )
    given = gui.add_dropdown("Bundled", (_CHOOSE, _DEFAULT, *bundled_cycles()))

    def sent_upload(_event: Any) -> None:
        bench.guard(take_file, bench, motions, upload.value)

    upload.on_upload(sent_upload)

    def set_given(event: Any) -> None:
        if event.client is None or given.value == _CHOOSE:
            return
        chosen, given.value = given.value, _CHOOSE
        bench.guard(_take_bundled, bench, motions, chosen)

    given.on_update(set_given)


def take_file(bench: Bench, motions: Motions, file: Any) -> None:
    """Show the motion of an uploaded file."""
    name, kind = file_name(file), suffix(file)
    if kind == ".toml":
        motion = read_upload(file, lambda path: load_cycle(bench.robot, path))
        motions.take(motion, [f"motion = load_cycle(robot, {name!r})"], ["load_cycle"])
    elif kind == ".csv":
        motion = read_upload(file, lambda path: _from_csv(bench, path))
        motions.take(motion, [f"motion = Trajectory.from_csv({name!r})"], ["Trajectory"])
    else:
        raise ViewError(f"{one_line(name)}: expected a motion in .csv, or a cycle in .toml")
    bench.tell("Loaded", f"{name}: {motion.duration:g} s", "green")


def _from_csv(bench: Bench, path: Path) -> Trajectory:
    motion = Trajectory.from_csv(path)
    if motion.n != bench.robot.n:
        raise ArmdynError(f"{path}: it moves {motion.n} joints, but {bench.robot.name} has {bench.robot.n}")
    return motion


def _take_bundled(bench: Bench, motions: Motions, name: str) -> None:
    if name == _DEFAULT:
        motions.take(default_motion(bench.robot).trajectory, DEFAULT)
        return
    motion = load_cycle(bench.robot, name)
    motions.take(motion, [f"motion = load_cycle(robot, {name!r})"], ["load_cycle"])


# ---- making ------------------------------------------------------------------------------------------------


def _making(bench: Bench, motions: Motions) -> None:
    ends: dict[str, np.ndarray] = {}
    gui: Any = bench.gui
    where = gui.add_button_group("Posture shown", ("Start here", "End here"))
    law = gui.add_dropdown("Law", tuple(_LAWS))
    duration = bench.fields.add(gui.add_number("Duration", 1.0, min=1e-3, max=1e4, step=0.1, hint="[s]"), "s")
    make = gui.add_button("Make the motion", icon="route")

    def pressed_where(_event: Any) -> None:
        ends[where.value] = bench.moment.q.copy()
        rest = (
            "move the arm and press 'End here'" if where.value == "Start here" else "press 'Make the motion'"
        )
        bench.tell(where.value, f"kept; {rest}", "blue")

    where.on_click(pressed_where)

    def pressed_make(_event: Any) -> None:
        def run() -> None:
            if missing := [name for name in ("Start here", "End here") if name not in ends]:
                raise ViewError(
                    f"press '{missing[0]}' at the posture where the motion "
                    f"{'begins' if missing[0] == 'Start here' else 'ends'}"
                )
            make_motion(
                bench, motions, ends["Start here"], ends["End here"], law.value, float(duration.value)
            )

        bench.guard(run)

    make.on_click(pressed_make)


def make_motion(
    bench: Bench, motions: Motions, q0: np.ndarray, q1: np.ndarray, law: str, duration: float
) -> None:
    """Show the motion from one posture to another in a duration [s]."""
    if np.allclose(q0, q1, rtol=0, atol=1e-12):
        raise ViewError("start and end are the same posture: move the arm in between")
    maker, start, last = _LAWS[law], f"q0 = {listed(q0)}", f"q1 = {listed(q1)}"
    if maker == "line":
        turns = can_keep_orientation(bench.robot)  # to the pose; other arms only to the point
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
    motions.take(motion, [start, last, f"motion = Trajectory.{call}"], ["Trajectory"])
