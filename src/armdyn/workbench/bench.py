"""The bench: one state that every panel and the scene look at, and one thread that tells them of changes.

Pages send changes from many threads, as fast as a slider moves. `change` takes them under a lock and returns
at once. One worker takes the latest state and tells the listeners, so a slow listener skips states and never
falls behind. Long work runs beside it, one job at a time.
"""

from __future__ import annotations

import logging
import re
import threading
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armdyn.description.source import bundled_robots, bundled_text
from armdyn.expression import ArmdynError
from armdyn.identification import Fit, Log
from armdyn.motion.torques import check_robot
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.names import one_line
from armdyn.report.subject import default_motion, open_posture
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits
from armdyn.simulation.run import Run
from armdyn.workbench.charts import motion_charts
from armdyn.workbench.fields import Fields
from armdyn.workbench.moment import Colour, EditedRobot, Moment, ViewError
from armdyn.workbench.player import Clip, Player

if TYPE_CHECKING:
    import viser


# ---- the Python lines that reproduce what is seen ---------------------------------------------------------


class Said(NamedTuple):
    """Lines of Python, names of the package armdyn that they need, and lines of the robot they are about."""

    lines: tuple[str, ...]
    imports: tuple[str, ...] = ()
    robot: tuple[str, ...] = ()


class Script:
    """Lines by topic, what was said last at the end; a topic said again replaces its lines.

    The topic "robot" makes the robot as it is now. Lines that were said of an earlier one, such as of a
    motion timed before the robot was edited, stay true: they get the robot they were said of.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # pages ask from several threads
        self._said: dict[str, Said] = {}

    def say(
        self, topic: str, *lines: str, imports: Iterable[str] = (), robot: Iterable[str] | None = None
    ) -> None:
        """No lines: the topic is gone. Without `robot` they are about the robot of now."""
        with self.lock:
            made = self.robot if robot is None else tuple(robot)
            self._said.pop(topic, None)
            if lines:
                self._said[topic] = Said(lines, tuple(imports), made)

    def __contains__(self, topic: str) -> bool:
        return topic in self._said

    @property
    def robot(self) -> tuple[str, ...]:
        """The lines that make the robot of now."""
        return self._said["robot"].lines if "robot" in self._said else ()

    @property
    def text(self) -> str:
        with self.lock:
            names = sorted({name for said in self._said.values() for name in said.imports})
            body = self._body()
        head = ["import numpy as np", f"from armdyn import {', '.join(names)}" if names else "import armdyn"]
        return "\n".join([*head, *body, ""])

    def _body(self) -> list[str]:
        """All lines, each with the robot that it is about."""
        now, body = self.robot, list[str]()
        made: tuple[str, ...] = ()  # what made the robot so far
        for topic, said in self._said.items():
            if topic == "robot":
                continue
            wanted = said.robot if _uses_robot(said.lines) else made or now
            if wanted != made:
                body += ["", *([] if wanted == now else [_THEN]), *wanted]
                made = wanted
            body += ["", *said.lines]
        return body if made == now else [*body, "", *now]


_THEN = "# The robot as it was for the next lines; it was edited after them."


def _uses_robot(lines: Iterable[str]) -> bool:
    return any(re.search(r"\brobot\b", line) for line in lines)


def listed(numbers: np.ndarray | Iterable[float]) -> str:
    """Numbers as a Python list, each with all its digits."""
    return f"[{', '.join(repr(float(x)) for x in numbers)}]"


# ---- closed chains stay closed: how far a posture may go before the loops come apart ----------------------


_PARTS = 64  # of the way that are looked at, at once


def reachable(robot: Robot, start: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The posture (n,) where the loops still close that is farthest on the straight way to `wanted` (n,).

    Without loops, and where they close at `wanted`, it is `wanted` itself.
    """
    if not robot.model.loops or bool(robot.assembly.closes(wanted)):
        return wanted
    way = start + np.linspace(0, 1, _PARTS + 1)[:, None] * (wanted - start)
    open_ = ~robot.assembly.closes(way[1:])
    return np.asarray(way[int(open_.argmax())])


# ---- the Python lines that make the robot that was given --------------------------------------------------


def loading_lines(robot: Robot, source: str | None) -> list[str]:
    """Lines after which `robot` is the robot given: `Robot.load(…)` where that gives an equal one.

    `source` is the name or file that it may have come from; without one, bundled robots of its name are
    looked at. If nothing loads an equal robot, its robot file stands in the lines.
    """
    for name in (source,) if source else _namesakes(robot):
        loaded = _loaded(name)
        if loaded is not None and (more := _differences(loaded, robot)) is not None:
            return [f"robot = Robot.load({name!r}){more}"]
    return [f"robot = Robot.from_toml({literal(robot.to_toml())})"]


def _namesakes(robot: Robot) -> Iterator[str]:
    for name in bundled_robots():
        if tomllib.loads(bundled_text(name)).get("name") == robot.name:
            yield name


def _loaded(name: str) -> Robot | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was loaded before, and told then
        try:
            return Robot.load(name)
        except (ArmdynError, OSError):
            return None


def _differences(loaded: Robot, robot: Robot) -> str | None:
    """The calls that make `robot` of `loaded`, for what the command line can change; None: there are none."""
    more = ""
    if loaded.model.rotors != robot.model.rotors:
        loaded, more = loaded.with_rotors(robot.model.rotors), f".with_rotors({robot.model.rotors!r})"
    if loaded.model != robot.model and loaded.model.tip != robot.model.tip:
        try:
            loaded, more = loaded.with_tip(robot.model.tip), f"{more}.with_tip({robot.model.tip!r})"
        except ArmdynError:
            return None
    return more if loaded.model == robot.model else None


def literal(text: str) -> str:
    """A text in Python, over several lines where nothing in it could be misread there."""
    plain = all(c.isprintable() or c == "\n" for c in text)
    if plain and text.endswith("\n") and "'''" not in text:
        return f"r'''{text}'''"
    return ascii(text)


# ---- the bench --------------------------------------------------------------------------------------------


_LOG = logging.getLogger("armdyn.workbench")
Listener = Callable[[Moment], None]
_ROUNDING = 1e-14  # rad or m, and their rates: what is less is 0
_READ = 8.0  # s: how long a note stays
_AGAIN = 3.0  # s: what is told again within this, as by an arrow that is held down, is no news
_CALM = 0.1  # s between readings that nobody reads while they change faster
_UNAIDED_PACE = 0.15  # s between pictures for pages that draw without a graphics card


QUIET: Any = "gray"  # of buttons that are not the first of their tab


class Bench:
    """What panels work with.

    `moment` is the state shown; `change(q=…)` changes it; `on_moment(f)` has f called with the newest state.
    `gui` and `scene` are viser's; number fields are added to `fields`. `motion`, `run`, `fit` and `log` are
    what was last loaded or computed.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        robot: Robot,
        source: str | None,
        motion: Trajectory | None = None,
        motion_lines: tuple[str, ...] = (),
        fit: Fit | None = None,
        log: Log | None = None,
    ) -> None:
        self.server, self.gui, self.scene = server, server.gui, server.scene
        self.given, self.loads = robot, loading_lines(robot, source)  # the lines that load it
        self.limits: JointLimits = joint_limits(robot)
        self.unladen = robot  # as it is edited, without a payload
        self.show_too: Callable[[np.ndarray], None] = lambda _points: None  # also in view
        self.open_robot: Callable[[Robot, str | None], None] = lambda _robot, _source: None  # in its place
        self.script = Script()
        self.script.say("robot", *self.loads, imports=["Robot"])
        self.run: Run | None = None
        self.fit, self.log = fit, log
        q, zeros = open_posture(robot) if motion is None else motion(0.0)[0], np.zeros(robot.n)
        self._moment = Moment(EditedRobot.of(robot), q, zeros, zeros)
        self._lock, self._news, self._closed = threading.Lock(), threading.Event(), False
        self._listeners: list[Listener] = []
        self._painters: list[Listener] = []
        self.unaided = False  # whether a page draws without a graphics card
        self._plainly: list[Callable[[], None]] = []
        self._job = threading.Lock()
        self._told: tuple[tuple[str, str], float] = (("", ""), 0.0)  # the last note, and when
        self._worker = threading.Thread(target=self._tell, name="armdyn view", daemon=True)
        self.fields = Fields(self, f"{one_line(robot.name)} – armdyn")
        self.tools: list[Any] = []  # in the scene, but not of it: pictures are without them
        self.places: dict[str, Any] = {}  # tabs by their titles, so that one can add to another
        self.motions = Motions(self, motion, motion_lines)
        self.player = Player(self, self.motions.clip)
        if motion is not None:
            self.motions.show()

    # ---- the state ---------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        return self._moment

    @property
    def robot(self) -> Robot:
        """As it is edited, without what a motion carries."""
        return self._moment.subject.bare.robot

    @property
    def motion(self) -> Trajectory:
        """The motion that is followed: as it was made, or timed anew."""
        return self.motions.shown

    def change(self, **changes: Any) -> None:
        """Other values of the fields of `Moment`: q, qd, qdd, wrench, time, subject. Listeners hear of it.

        A closed chain stays closed: it goes towards the new q as far as its loops allow.
        """
        for name in ("q", "qd", "qdd"):
            if name in changes:
                changes[name] = finite(name, np.array(changes[name], float))
        self.update(lambda moment: replace(moment, **changes))

    def move(self, name: str, joint: int, value: float) -> None:
        """One entry of q, qd or qdd; the state is posed by hand from now on."""
        finite(f"{name} of joint {joint + 1}", np.array(value))

        def moved(moment: Moment) -> Moment:
            values = getattr(moment, name).copy()
            values[joint] = value
            return replace(moment, **{name: values}, time=None)

        self.update(moved)

    def update(self, change: Callable[[Moment], Moment]) -> bool:
        """Replace the state by what `change` makes of it, and nobody comes between; whether it changed."""
        with self._lock:
            wanted = change(self._moment)
            if wanted is self._moment:
                return False
            q = reachable(wanted.subject.runs, self._moment.q, wanted.q)
            stopped = q is not wanted.q
            self._moment = replace(wanted, q=q) if stopped else wanted
        self._news.set()
        if stopped:
            self.tell("Loops", "the loops cannot be closed there; the arm stays where they can", "orange")
        return True

    def on_moment(self, listener: Listener) -> None:
        """Have `listener` called with the newest state, now and after every change."""
        self._listeners.append(listener)
        self._news.set()

    def on_calm(self, listener: Listener) -> None:
        """As `on_moment`, at most ten times a second: for what nobody reads while it changes faster."""
        last = -inf
        look_again = self.later(self.again)

        def call(moment: Moment) -> None:
            nonlocal last
            if (since := monotonic() - last) < _CALM:
                look_again(_CALM - since)
                return
            last = monotonic()
            listener(moment)

        self.on_moment(call)

    def again(self) -> None:
        """Have the listeners called once more, as when something was computed beside the page."""
        self._news.set()

    def on_picture(self, listener: Listener) -> None:
        """As `on_moment`, for what is drawn in 3-D: less often where a page draws without a graphics card.

        There a picture takes as long as several updates of the readings, which wait for it in the page.
        """
        self._painters.append(listener)
        self._news.set()

    def on_unaided(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when a page says that it has no graphics card, or now if one did."""
        self._plainly.append(listener)
        if self.unaided:
            listener()

    def draw_plainly(self) -> None:
        """A page draws without a graphics card."""
        self.unaided = True
        for listener in self._plainly:
            self.guard(listener)

    # ---- telling ------------------------------------------------------------------------------------------

    def start(self) -> None:
        self.on_moment(self.player.follow)
        self._worker.start()

    def close(self) -> None:
        self._closed = True
        self.player.close()
        self.fields.close()
        self._news.set()
        if self._worker.is_alive() and threading.current_thread() is not self._worker:
            self._worker.join(5)

    @property
    def closed(self) -> bool:
        return self._closed

    def _tell(self) -> None:
        due, waiting = 0.0, False  # when the next picture may be sent; whether one is to be
        while True:
            news = self._news.wait(max(0.0, due - monotonic()) if waiting else None)
            self._news.clear()
            if self._closed:
                return
            moment = self._moment
            if news:
                self._call(self._listeners, moment)
                self.server.flush()  # viser would collect messages for up to two frames, and leave states out
                waiting = True
            if waiting and monotonic() >= due:
                self._call(self._painters, moment)
                due, waiting = monotonic() + (_UNAIDED_PACE if self.unaided else 0.0), False

    def _call(self, listeners: list[Listener], moment: Moment) -> None:
        for listener in list(listeners):
            self.guard(listener, moment)

    def guard(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Run what a page asked for; an error is shown there, and the workbench goes on."""
        try:
            return work(*arguments)
        except ArmdynError as error:
            self.tell("Not possible", str(error), "red")
        except Exception as error:
            if not self._closed:
                _LOG.exception("the workbench met an error")
                self.tell("Error", f"{type(error).__name__}: {error}", "red")
        return None

    def tell(self, title: str, text: str, colour: Colour = "blue") -> None:
        """A note in every open page. viser shows it as plain text. The same is not said twice in a row."""
        note, now = (title, text), monotonic()
        again, self._told = self._told[0] == note and now - self._told[1] < _AGAIN, (note, now)
        if again:
            return
        for client in self.server.get_clients().values():
            client.add_notification(title, one_line(text), color=colour, auto_close_seconds=_READ)

    def tell_all(self, title: str, text: str, colour: Colour = "blue") -> None:
        """As `tell`, also to pages that are opened later."""

        @self.server.on_client_connect  # viser calls it for pages that are open, too
        def _(client: Any) -> None:
            client.add_notification(title, one_line(text), color=colour, auto_close_seconds=_READ)

    def button(self, label: str, press: Callable[[], Any], *, first: bool = False, **options: Any) -> Any:
        """A button in the panel that is being built; what `press` refuses is said in the page.

        The `first` one of a tab is what most people come for; style sheets draw the others as outlines.
        """
        button = self.gui.add_button(label, color=None if first else QUIET, **options)
        button.on_click(lambda _event: self.guard(press))
        return button

    def switch(self, label: str, hint: str | None, on: bool, change: Callable[[bool], None]) -> None:
        """A checkbox that calls `change`."""
        box = self.gui.add_checkbox(label, on, hint=hint)
        box.on_update(lambda _event: self.guard(change, bool(box.value)))

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self._job.locked()

    def job(self, name: str, work: Callable[[], Any], done: Callable[[Any], None]) -> bool:
        """Run `work` beside the page and hand its result to `done`; one job at a time: False if one runs."""
        if not self._job.acquire(blocking=False):
            self.tell("Busy", f"another computation is running; start '{name}' when it is done", "orange")
            return False

        def run() -> None:
            try:
                self.guard(lambda: done(work()))
            finally:
                self._job.release()

        threading.Thread(target=run, name=f"armdyn view: {name}", daemon=True).start()
        return True

    def later(self, work: Callable[[], Any]) -> Callable[[float], None]:
        """A function that has `work` run some seconds later: once, however often it is called until then."""
        waiting = threading.Event()

        def run() -> None:
            waiting.clear()
            if not self._closed:
                self.guard(work)

        def wait(seconds: float) -> None:
            if not waiting.is_set():
                waiting.set()
                timer = threading.Timer(seconds, run)
                timer.daemon = True
                timer.start()

        return wait

    # ---- what it is in Python --------------------------------------------------------------------------

    def python(self) -> str:
        """The lines that reproduce what is seen, the state last."""
        moment = self.moment
        states = [
            f"{name} = np.array({listed(_plain(getattr(moment, name)))})" for name in ("q", "qd", "qdd")
        ]
        wrench = "" if moment.wrench is None else f", wrench={listed(moment.wrench)}"
        with self.script.lock:
            self.script.say("carried", *self.player.carried_lines(moment), imports=["Inertia"])
            self.script.say("state", *states)
            self.script.say("torques", f"tau = robot.inverse_dynamics(q, qd, qdd{wrench})", "print(tau)")
            return self.script.text


def _plain(values: np.ndarray) -> np.ndarray:
    """The values, 0 where they are no more than rounding."""
    return np.where(np.abs(values) > _ROUNDING, values, 0.0)


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """The values, if all of them are finite: fields of a page may send what is no number."""
    if not np.all(np.isfinite(values)):
        raise ViewError(f"{name}: expected numbers, found {values}")
    return values


# ---- a motion written out in Python, where nobody knows how it was made -----------------------------------


_CLOSE = 1e-9  # of the largest entry: samples between which quintics are this near
_ROWS = 400  # more of them would be no script any more


def spelled(motion: Trajectory) -> list[str]:
    """Lines that make `motion` from as few samples as show it.

    Loads are left out: the state that is seen says what the arm carries.
    """
    parts = 1
    while True:
        at = motion.samples(motion.duration / parts, knots=True)
        if len(at.t) > _ROWS or _is_enough(motion, at):
            break
        parts *= 2
    arrays = {"t": at.t, "q": at.q, "qd": at.qd, "qdd": at.qdd}
    return [
        "# The motion as samples of t, q, qd and qdd.",
        *(f"{name} = {x.tolist()!r}" for name, x in arrays.items()),
        "motion = Trajectory.from_samples(t, q, qd, qdd)",
    ]


def _is_enough(motion: Trajectory, at: Samples) -> bool:
    made = Trajectory.from_samples(at.t, at.q, at.qd, at.qdd)
    t = np.linspace(0, motion.duration, 257)
    pairs = zip(motion(t), made(t), strict=True)
    return all(np.abs(x - y).max() <= _CLOSE * max(1.0, np.abs(x).max()) for x, y in pairs)


# ---- the motion of the bench: as it was given, and as it is after it was timed by limits ------------------


DEFAULT = ("from armdyn.report import default_motion", "motion = default_motion(robot).trajectory")


class Motions:
    """`before` is the motion as it was loaded or made; `after`, where there is one, the same timed anew.

    `shown` is the one of them that is played and followed, `clip` the same with its charts.
    """

    def __init__(self, bench: Bench, motion: Trajectory | None, lines: tuple[str, ...]) -> None:
        self._bench = bench
        self.given = motion is not None
        self.before = self.shown = motion or default_motion(bench.given).trajectory
        self.after: Trajectory | None = None
        needed = ("Trajectory", "load_cycle") if lines else ()
        self._made = Said(lines if self.given else DEFAULT, needed, bench.script.robot)
        self._timed = Said(())
        self._listeners: list[Callable[[], None]] = []
        self.clip = self._clip()
        if self.given:
            self.said()

    @property
    def is_own(self) -> bool:
        """Whether it is a motion that somebody gave or made, not the example that the program chose."""
        return self._made.lines != DEFAULT

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def take(self, motion: Trajectory, lines: Iterable[str] = (), imports: Iterable[str] = ()) -> None:
        """Another motion; `lines` make it in Python."""
        check_robot(self._bench.given, motion)
        self.before, self.after, self.shown = motion, None, motion
        self._made = Said(tuple(lines), tuple(imports), self._bench.script.robot)
        for topic in ("motion", "timing", "simulation"):
            self._bench.script.say(topic)
        self.show()
        self.said()

    def timed(self, after: Trajectory, said: Said) -> None:
        """The motion timed anew, and how that is done in Python."""
        self.after, self._timed = after, said
        self.switch(after)

    def switch(self, motion: Trajectory) -> None:
        """Which of the two is played and followed."""
        self.said()
        self.shown = motion
        self._bench.script.say("simulation")  # it may have followed the other one
        lines, imports, robot = self._timed if motion is self.after else Said(())
        self._bench.script.say("timing", *lines, imports=imports, robot=robot)
        self.show()

    def show(self) -> None:
        """Have the motion on stage, at its start: another one, or the same after a simulation or a log."""
        self.clip = self._clip()
        self._bench.player.show(self.clip)
        for listener in self._listeners:
            listener()

    def said(self) -> None:
        """The lines of the motion are in the script from now on."""
        if "motion" not in self._bench.script:
            lines, imports, robot = self._made
            lines = lines or tuple(spelled(self.before))
            self._bench.script.say("motion", *lines, imports=imports or ["Trajectory"], robot=robot)

    def _clip(self) -> Clip:
        both = [("before", self.before)]
        if self.after is not None:
            both.insert(0 if self.shown is self.after else 1, ("after", self.after))
        shown, charts = self.shown, motion_charts(self._bench.robot, both)
        return Clip(shown.motion.label, shown.duration, shown, charts, shown.loads)
