"""Simulation: motors off, a push, a controller; the run is played, and its energy plotted."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from armdyn.output import one_line
from armdyn.report.page.markup import Markup, tag
from armdyn.simulation.run import Run
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.motions import Motions
from armdyn.workbench.bench.trial import (
    AT_JOINT,
    AT_TIP,
    DRIVES,
    FOLLOWING,
    NO_PUSH,
    OFF,
    PUSHES,
    Push,
    Trial,
)
from armdyn.workbench.charts.of_motion import joint_title
from armdyn.workbench.charts.of_run import run_clip
from armdyn.workbench.errors import ViewError
from armdyn.workbench.panels.reading import Reading

_EDITED, _LOADED = "the robot as it is edited", "the robot as it was loaded"
_COMPILING = "Simulating … A robot and its controller are compiled when they run for the first time."


def add(bench: Bench, motions: Motions) -> None:
    gui: Any = bench.gui
    fields = _fields(bench)
    start = gui.add_button("Simulate", icon="player-play", hint="from the posture and velocities shown")
    stop = gui.add_button("Stop", icon="player-stop", visible=False, hint="Give up the simulation")
    stopped = threading.Event()
    stop.on_click(lambda _event: stopped.set())
    bar = gui.add_progress_bar(0.0, visible=False, animated=True)
    reading = Reading(bench)
    told = Markup("")  # of the last run that was completed

    def pressed_start(_event: Any) -> None:
        bench.guard(simulate)

    start.on_click(pressed_start)

    def simulate() -> None:
        trial, made = _trial(bench, motions, fields), bench.script.lines("robot")
        bench.player.pause()

        def progress(part: float) -> None:
            if stopped.is_set() or bench.closed:
                raise ViewError("the simulation was stopped")
            if abs(100 * part - bar.value) >= 1:
                bar.value = float(100 * min(max(part, 0.0), 1.0))

        def work() -> Run:
            reading.show(tag("div", _COMPILING, class_="ad-note"))
            stopped.clear()
            bar.value, bar.visible, stop.visible = 0.0, True, True
            try:
                return trial.run(progress)
            except BaseException:
                reading.show(told)
                raise
            finally:
                bar.visible = stop.visible = False

        def done(run: Run) -> None:
            nonlocal told
            bench.run, told = run, summary(run)
            if trial.follows:
                motions.said()
            lines, names = trial.lines(bench.loads)
            bench.script.say("simulation")  # so that it comes last
            bench.script.say("simulation", *lines, imports=names, robot=made)
            reading.show(told)
            target = trial.motion if trial.follows else None
            bench.player.show(run_clip(run, target, trial.wrench()))
            bench.player.play()

        bench.job("simulation", work, done)


def _fields(bench: Bench) -> dict[str, Any]:
    gui: Any = bench.gui

    def number(label: str, value: float, unit: str, hint: str = "", **more: Any) -> Any:
        hint = f"[{unit}]{hint}"
        return bench.fields.add(gui.add_number(label, value, hint=hint, **more), unit).handle

    fields: dict[str, Any] = {
        "drive": gui.add_dropdown("Motors", DRIVES),
        "duration": number("Duration", 2.0, "s", min=1e-3, max=600.0, step=0.5),
    }
    with gui.add_folder("Controller", visible=False) as controller:
        times = "; of PD times the joint's inertia at the start"
        fields["stiffness"] = number("K_P", 100.0, "1/s²", times, min=0.0, step=10.0)
        fields["damping"] = number("K_D", 20.0, "1/s", times, min=0.0, step=1.0)
        fields["model"] = gui.add_dropdown("It knows", (_EDITED, _LOADED))
        fields["begin"] = gui.add_checkbox(
            "From its start", True, visible=False, hint="the arm begins where the motion does"
        )
        fields["saturated"] = gui.add_checkbox(
            "Keeps to limits", False, hint="of torque, of joints and motors"
        )
    with gui.add_folder("Push"):
        fields["push"] = gui.add_dropdown("Kind", PUSHES)
        force = gui.add_vector3(
            "Force", (0.0, 0.0, 0.0), step=1.0, visible=False, hint="on the tip [N], world axes x, y, z"
        )
        fields["force"] = bench.fields.add(force, "N").handle
        titles = tuple(str(one_line(joint_title(bench.given, j))) for j in range(bench.given.n))
        fields["joint"] = gui.add_dropdown("Joint", titles, visible=False)
        fields["torque"] = number("Torque", 10.0, "N m or N", step=1.0, visible=False)
        fields["from"] = number("From", 0.2, "s", min=0.0, step=0.1, visible=False)
        fields["for"] = number("For", 0.1, "s", min=1e-3, step=0.05, visible=False)

    def show(_event: Any = None) -> None:
        controller.visible = fields["drive"].value != OFF
        fields["begin"].visible = fields["drive"].value in FOLLOWING
        kind = fields["push"].value
        fields["force"].visible = kind == AT_TIP
        fields["joint"].visible = fields["torque"].visible = kind == AT_JOINT
        fields["from"].visible = fields["for"].visible = kind != NO_PUSH

    for name in ("drive", "push"):
        fields[name].on_update(show)

    def lengthen(_event: Any) -> None:
        if fields["drive"].value in FOLLOWING and bench.motion is not None:
            fields["duration"].value = float(bench.motion.duration)

    fields["drive"].on_update(lengthen)
    return fields


def _trial(bench: Bench, motions: Motions, fields: dict[str, Any]) -> Trial:
    moment, motion = bench.moment, bench.motion or motions.before
    robot = bench.robot
    force = tuple(float(x) for x in fields["force"].value)
    push = Push(
        fields["push"].value,
        (force[0], force[1], force[2]),
        fields["joint"].options.index(fields["joint"].value),
        float(fields["torque"].value),
        float(fields["from"].value),
        float(fields["for"].value),
    )
    q0, qd0 = moment.q.copy(), moment.qd.copy()
    if fields["drive"].value in FOLLOWING and fields["begin"].value:
        q0, qd0, _ = motion(0.0)
    return Trial(
        robot,
        bench.given if fields["model"].value == _LOADED else robot,
        q0,
        qd0,
        float(fields["duration"].value),
        fields["drive"].value,
        push,
        float(fields["stiffness"].value),
        float(fields["damping"].value),
        bool(fields["saturated"].value),
        motion,
    )


def summary(run: Run) -> Markup:
    """What there is to say of a run."""
    drift = float(np.abs(run.balance[np.isfinite(run.balance)]).max(initial=0.0))
    most = float(np.nanmax(run.kinetic))
    found = [
        f"{run.t[-1]:.4g} s, {len(run.t)} instants; kinetic energy up to {most:.4g} J.",
        f"What the energies fail to add up by: {drift:.2g} J at most.",
    ]
    if run.events:
        found.append(f"{len(run.events)} times a joint began to stick or to slip.")
    found += [f"{passed.text}." for passed in run.limits_passed if passed.text not in run.message]
    found += [f"{passed.text}." for passed in run.speeds_passed]
    found += run.notes
    lines = [tag("div", one_line(text), class_="ad-note") for text in found]
    if not run.completed:
        lines.insert(0, tag("div", f"Not completed: {one_line(run.message)}", class_="ad-note ad-over"))
    shown = {"data_duration": repr(float(run.t[-1])), "data_drift": repr(drift)}
    return tag("div", *lines, data_armdyn="run", **shown)
