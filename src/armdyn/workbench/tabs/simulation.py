"""Simulation: motors off, a push, a controller; the run is played, and its energy plotted."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.motion.trajectory import Trajectory
from armdyn.names import one_line
from armdyn.report.page import Markup, tag
from armdyn.robot import Robot
from armdyn.simulation import ComputedTorque, GravityCompensation, PDGravity, SimulationWarning, simulate
from armdyn.simulation.run import Run
from armdyn.workbench.bench import Bench, listed
from armdyn.workbench.charts import BLUE, GREY, TALL, Chart, Line, Panel, Plotted, joint_panels, joint_title
from armdyn.workbench.fields import Reading, note
from armdyn.workbench.moment import ViewError
from armdyn.workbench.player import Clip, of_samples

_MOST = 20_000  # instants that are kept

OFF = "off"
GRAVITY = "hold against gravity"
PD_HOLD, PD_FOLLOW = "PD: hold the posture", "PD: follow the motion"
CT_HOLD, CT_FOLLOW = "computed torque: hold the posture", "computed torque: follow the motion"
DRIVES: dict[str, Any] = {  # with the controller that does it
    OFF: None,
    GRAVITY: GravityCompensation,
    PD_HOLD: PDGravity,
    PD_FOLLOW: PDGravity,
    CT_HOLD: ComputedTorque,
    CT_FOLLOW: ComputedTorque,
}
FOLLOWING = (PD_FOLLOW, CT_FOLLOW)
NO_PUSH, AT_TIP, AT_JOINT = "none", "force at the tip", "torque at a joint"
PUSHES = (NO_PUSH, AT_TIP, AT_JOINT)


@dataclass(frozen=True)
class Push:
    """Something that acts from `start` for `length` seconds."""

    kind: str = NO_PUSH
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)  # on the tip [N], world axes
    joint: int = 0
    torque: float = 0.0  # N m or N
    start: float = 0.0
    length: float = 0.1

    def values(self, n: int) -> np.ndarray:
        """What `simulate` is given while it acts: h_e (6,), what the tip exerts, or torques (n,)."""
        if self.kind == AT_TIP:
            return np.array([*(-x for x in self.force), 0.0, 0.0, 0.0]) + 0.0
        found = np.zeros(n)
        found[self.joint] = self.torque
        return found

    def acts(self, t: float) -> bool:
        return self.start <= t < self.start + self.length

    def function(self, n: int) -> Callable[..., np.ndarray]:
        """Of (t, q, qd)."""
        values = self.values(n)
        return lambda t, q=None, qd=None: values if self.acts(t) else np.zeros_like(values)

    def lines(self, n: int) -> list[str]:
        values = f"np.array({listed(self.values(n))})"
        return [
            "def push(t, q, qd):",
            f"    return {values} * ({self.start!r} <= t < {self.start + self.length!r})",
            "",
        ]


@dataclass(frozen=True)
class SimulationTrial:
    """`stiffness` [1/s²] and `damping` [1/s] are per unit of inertia; of PD, times b_ii at the start."""

    robot: Robot  # the plant
    model: Robot  # what the controller computes with
    q0: np.ndarray
    qd0: np.ndarray
    duration: float
    drive: str = OFF
    push: Push = Push()
    stiffness: float = 100.0
    damping: float = 20.0
    saturated: bool = False
    motion: Trajectory | None = None

    @property
    def follows(self) -> bool:
        return self.drive in FOLLOWING

    def _options(self) -> dict[str, Any]:
        """What the controller takes beside its model and, unless it only compensates gravity, its target."""
        options: dict[str, Any] = {"saturated": True} if self.saturated else {}
        if self.drive == GRAVITY:
            return options
        kind = DRIVES[self.drive]
        unit = np.diag(np.asarray(self.model.inertia(self.q0))) if kind is PDGravity else 1.0
        return {"stiffness": self.stiffness * unit, "damping": self.damping * unit, **options}

    def controller(self) -> Any:
        """What the motors do; None: nothing."""
        if self.drive == OFF:
            return None
        target = [] if self.drive == GRAVITY else [self.motion if self.follows else self.q0]
        return DRIVES[self.drive](self.model, *target, **self._options())

    def run(self, progress: Callable[[float], None] | None = None) -> Run:
        """Simulate; what it warns of is in the run."""
        if self.push.kind == AT_JOINT and self.drive != OFF:
            raise ViewError(f"a {AT_JOINT} goes with motors that are off; a {AT_TIP} goes with all")
        push = self.push.function(self.robot.n)
        torque = push if self.push.kind == AT_JOINT else self.controller()
        given: dict[str, Any] = {"wrench": push} if self.push.kind == AT_TIP else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            start, told = (self.q0, self.qd0, self.duration), progress or False
            return simulate(self.robot, *start, torque, step=self.step, progress=told, **given)

    @property
    def step(self) -> float:
        return max(1e-3, self.duration / _MOST)

    def wrench(self) -> Callable[[float], np.ndarray | None] | None:
        """What the tip exerts on its surroundings over time, for the state that is shown."""
        push = self.push
        if push.kind != AT_TIP:
            return None
        values = push.values(self.robot.n)
        return lambda t: values if push.acts(t) else None

    # ---- in Python -----------------------------------------------------------------------------------------

    def lines(self, loads: Sequence[str]) -> tuple[list[str], list[str]]:
        """Lines that do the same, and the names of armdyn they need; `loads` make the robot as it was."""
        names, lines = ["simulate"], []
        call = [f"q0={listed(self.q0)}", f"qd0={listed(self.qd0)}", f"duration={self.duration!r}"]
        if self.push.kind != NO_PUSH:
            lines += self.push.lines(self.robot.n)
            call.append("wrench=push" if self.push.kind == AT_TIP else "torque=push")
        if self.drive != OFF:
            name = DRIVES[self.drive].__name__
            names.append(name)
            model = "robot"
            if self.model is not self.robot:
                names.append("Robot")
                lines += [line.replace("robot = ", "model = ", 1) for line in loads]
                model = "model"
            lines.append(f"controller = {name}({', '.join([model, *self._arguments()])})")
            call.append("torque=controller")
        call.append(f"step={self.step!r}")
        return [*lines, f"run = simulate(robot, {', '.join(call)})"], names

    def _arguments(self) -> list[str]:
        target = [] if self.drive == GRAVITY else ["motion" if self.follows else listed(self.q0)]
        options = self._options().items()
        return target + [f"{key}={listed(x) if isinstance(x, np.ndarray) else x}" for key, x in options]


_EDITED, _LOADED = "the robot as it is edited", "the robot as it was loaded"
_COMPILING = "Simulating … A robot and its controller are compiled when they run for the first time."


def add(bench: Bench) -> None:
    gui: Any = bench.gui
    fields = _fields(bench)
    stopped = threading.Event()

    def start() -> None:
        trial, made = _trial(bench, fields), bench.script.robot
        bench.player.pause()

        def progress(part: float) -> None:
            if stopped.is_set() or bench.closed:
                raise ViewError("the simulation was stopped")
            if abs(100 * part - bar.value) >= 1:
                bar.value = float(100 * min(max(part, 0.0), 1.0))

        def work() -> Run:
            stopped.clear()
            bar.value, bar.visible, stop.visible = 0.0, True, True
            try:
                with reading.meanwhile(note(_COMPILING)):
                    return trial.run(progress)
            finally:
                bar.visible = stop.visible = False

        def done(run: Run) -> None:
            bench.run = run
            if trial.follows:
                bench.motions.said()
            lines, names = trial.lines(bench.loads)
            bench.script.say("simulation", *lines, imports=names, robot=made)
            reading.show(summary(run))
            target = trial.motion if trial.follows else None
            bench.player.show(run_clip(run, target, trial.wrench()))
            bench.player.play()

        bench.job("simulation", work, done)

    hint = "from the posture and velocities shown"
    bench.button("Simulate", start, first=True, icon="player-play", hint=hint)
    hint = "Give up the simulation"
    stop = bench.button("Stop", stopped.set, icon="player-stop", visible=False, hint=hint)
    bar = gui.add_progress_bar(0.0, visible=False, animated=True)
    reading = Reading(bench)


def _fields(bench: Bench) -> dict[str, Any]:
    gui: Any = bench.gui

    def number(label: str, value: float, unit: str, hint: str = "", **more: Any) -> Any:
        hint = f"[{unit}]{hint}"
        return bench.fields.add(gui.add_number(label, value, hint=hint, **more), unit).handle

    fields: dict[str, Any] = {
        "drive": gui.add_dropdown("Motors", tuple(DRIVES)),
        "duration": number("Duration", 2.0, "s", min=1e-3, max=600.0, step=0.5),
    }
    with gui.add_folder("Controller", visible=False) as controller:
        times = "; of PD times the joint's inertia at the start"
        fields["stiffness"] = number("K_P", 100.0, "1/s²", times, min=0.0, step=10.0)
        fields["damping"] = number("K_D", 20.0, "1/s", times, min=0.0, step=1.0)
        fields["model"] = gui.add_dropdown("It knows", (_EDITED, _LOADED))
        hint = "the arm begins where the motion does"
        fields["begin"] = gui.add_checkbox("From its start", True, visible=False, hint=hint)
        hint = "of torque, of joints and motors"
        fields["saturated"] = gui.add_checkbox("Keeps to limits", False, hint=hint)
    with gui.add_folder("Push"):
        fields["push"] = gui.add_dropdown("Kind", PUSHES)
        hint = "on the tip [N], world axes x, y, z"
        force = gui.add_vector3("Force", (0.0, 0.0, 0.0), step=1.0, visible=False, hint=hint)
        fields["force"] = bench.fields.add(force, "N").handle
        titles = tuple(joint_title(bench.given, j) for j in range(bench.given.n))
        fields["joint"] = gui.add_dropdown("Joint", titles, visible=False)
        fields["torque"] = number("Torque", 10.0, "N m or N", step=1.0, visible=False)
        fields["from"] = number("From", 0.2, "s", min=0.0, step=0.1, visible=False)
        fields["for"] = number("For", 0.1, "s", min=1e-3, step=0.05, visible=False)

    def chosen(_event: Any) -> None:
        controller.visible = fields["drive"].value != OFF
        fields["begin"].visible = fields["drive"].value in FOLLOWING
        kind = fields["push"].value
        fields["force"].visible = kind == AT_TIP
        fields["joint"].visible = fields["torque"].visible = kind == AT_JOINT
        fields["from"].visible = fields["for"].visible = kind != NO_PUSH

    def lengthen(_event: Any) -> None:
        if fields["drive"].value in FOLLOWING:
            fields["duration"].value = float(bench.motion.duration)

    for name in ("drive", "push"):
        fields[name].on_update(chosen)
    fields["drive"].on_update(lengthen)
    return fields


def _trial(bench: Bench, fields: dict[str, Any]) -> SimulationTrial:
    value = {name: field.value for name, field in fields.items()}
    push = Push(
        value["push"],
        value["force"],
        fields["joint"].options.index(value["joint"]),
        *(float(value[name]) for name in ("torque", "from", "for")),
    )
    begins = value["drive"] in FOLLOWING and value["begin"]
    q0, qd0, _ = bench.motion(0.0) if begins else (bench.moment.q, bench.moment.qd, None)
    return SimulationTrial(
        bench.robot,
        bench.given if value["model"] == _LOADED else bench.robot,
        q0,
        qd0,
        float(value["duration"]),
        value["drive"],
        push,
        float(value["stiffness"]),
        float(value["damping"]),
        bool(value["saturated"]),
        bench.motion,
    )


def summary(run: Run) -> Markup:
    """What there is to say of a run."""
    drift = float(np.abs(run.balance[np.isfinite(run.balance)]).max(initial=0.0))
    most = float(np.nanmax(run.kinetic))
    found = [
        f"{run.t[-1]:.4g} s, {len(run.t)} instants; kinetic energy up to {most:.4g} J.",
        f"Energy balance error: {drift:.2g} J at most.",
    ]
    if run.events:
        found.append(f"{len(run.events)} times a joint began to stick or to slip.")
    found += [f"{passed.text}." for passed in run.limits_passed if passed.text not in run.message]
    found += [f"{passed.text}." for passed in run.speeds_passed]
    found += run.notes
    lines = [note(one_line(text)) for text in found]
    if not run.completed:
        lines.insert(0, tag("div", f"Not completed: {one_line(run.message)}", class_="ad-note ad-over"))
    shown = {"data_duration": repr(float(run.t[-1])), "data_drift": repr(drift)}
    return tag("div", *lines, data_armdyn="run", **shown)


# ---- a run as a clip with charts: energy, torques, states -------------------------------------------------


def run_clip(
    run: Run,
    target: Trajectory | None = None,
    wrench: Callable[[float], np.ndarray | None] | None = None,
) -> Clip:
    """A run to play; `target` is the motion that was to be followed, `wrench` what acted at the tip."""
    rows = np.isfinite(run.q).all(1) & np.isfinite(run.qd).all(1)
    rows &= np.append(True, np.diff(run.t) > 0)
    t, q, qd = run.t[rows], run.q[rows], run.qd[rows]
    qdd = np.gradient(qd, t, axis=0) if len(t) > 1 else np.zeros_like(qd)
    if len(t) == 1:
        t, q, qd, qdd = np.append(t, t[0] + 1e-3), *(np.repeat(x, 2, axis=0) for x in (q, qd, qdd))
    loads = () if run.carried is None else run.carried.loads
    at = of_samples(t, q, qd, qdd)
    return Clip("simulation", float(t[-1] - t[0]), at, run_charts(run, target), loads, wrench)


def run_charts(run: Run, target: Trajectory | None) -> dict[str, Callable[..., Chart]]:
    return {
        "Energy": lambda *_: energy(run),
        "Torques applied": lambda *_: _run_torques(run),
        "Positions": lambda *_: _run_states(run, target, "position"),
        "Velocities": lambda *_: _run_states(run, target, "velocity"),
    }


def energy(run: Run) -> Chart:
    """Potential and total energy from the start on: where it counts from says nothing."""
    t, potential = run.t, run.potential - run.potential[0]
    lines = [
        Line(t, run.energy - run.potential[0], "total", "currentColor", width=2.2),
        Line(t, run.kinetic, "kinetic", BLUE),
        Line(t, potential, "potential, from the start", "#e69f00"),
    ]
    further = (
        ("work of the torques", run.torque_work, "#009e73"),
        ("work at the tip", run.wrench_work, "#56b4e9"),
        ("taken by friction", run.dissipated, "#8c510a"),
    )
    lines += [Line(t, y, label, colour, dashed=True) for label, y, colour in further if np.any(y)]
    return Chart((Panel("energy", "J", tuple(lines), height=TALL),), float(t[-1]))


def _run_torques(run: Run) -> Chart:
    return Chart(joint_panels(run.robot, "torque", [Line(run.t, run.tau, "applied")]), float(run.t[-1]))


def _run_states(run: Run, target: Trajectory | None, quantity: Plotted) -> Chart:
    kind = 0 if quantity == "position" else 1
    curves = [Line(run.t, (run.q, run.qd)[kind], "simulated")]
    if target is not None:
        curves.append(Line(run.t, target(run.t)[kind], "wanted", GREY, True))
    return Chart(joint_panels(run.robot, quantity, curves), float(run.t[-1]))
