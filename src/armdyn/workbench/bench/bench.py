"""The bench: one state that every panel and the scene look at, and one thread that tells them of changes.

Pages send changes from many threads, as fast as a slider moves. `change` takes them under a lock and returns
at once. One worker takes the latest state and tells the listeners, so a slow listener skips states and never
falls behind. Long work runs beside it, one job at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.identification import Fit, Log
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import one_line
from armdyn.report.findings.example_motion import default_motion
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits
from armdyn.simulation.run import Run
from armdyn.workbench.bench.closing import Once, reachable
from armdyn.workbench.bench.fields import Fields
from armdyn.workbench.bench.moment import Moment, Subject
from armdyn.workbench.bench.player import Player
from armdyn.workbench.bench.script import Script, listed
from armdyn.workbench.bench.sources import loading_lines
from armdyn.workbench.errors import ViewError

if TYPE_CHECKING:
    import viser

_LOG = logging.getLogger("armdyn.workbench")
Colour = Literal["blue", "green", "orange", "red"]
Listener = Callable[[Moment], None]
_READ = 8.0  # s: how long a note stays
_AGAIN = 2.0  # s: what is told again within this, as by an arrow that is held down, is no news
_UNAIDED_PACE = 0.15  # s between pictures for pages that draw without a graphics card


class Bench:
    """What panels work with.

    `moment` is the state shown; `change(q=…)` changes it; `on_moment(f)` has f called with the newest state.
    `gui` and `scene` are viser's; number fields are added to `fields`. `motion`, `run`, `fit` and `log` are
    what was last loaded or computed.
    """

    def __init__(self, server: viser.ViserServer, robot: Robot, source: str | None) -> None:
        self.server, self.gui, self.scene = server, server.gui, server.scene
        self.given, self.loads = robot, loading_lines(robot, source)  # the lines that load it
        self.limits: JointLimits = joint_limits(robot)
        self.script = Script()
        self.script.say("robot", *self.loads, imports=["Robot"])
        self.motion: Trajectory | None = None
        self.motion_lines: tuple[str, ...] = ()  # which make the motion that was given
        self.run: Run | None = None
        self.fit: Fit | None = None
        self.log: Log | None = None
        zeros = np.zeros(robot.n)
        self._moment = Moment(Subject.of(robot), home(robot), zeros, zeros)
        self._lock, self._news, self._closed = threading.Lock(), threading.Event(), False
        self._listeners: list[Listener] = []
        self._painters: list[Listener] = []
        self.unaided: Callable[[], bool] = lambda: False  # whether a page draws without a graphics card
        self._job = threading.Lock()
        self._refused = Once()
        self._told: tuple[tuple[str, str], float] = (("", ""), 0.0)  # the last note, and when
        self._worker = threading.Thread(target=self._tell, name="armdyn view", daemon=True)
        self.player = Player(self)
        self.fields = Fields(self)

    # ---- the state ---------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        return self._moment

    @property
    def robot(self) -> Robot:
        """As it is edited, without what a motion carries."""
        return self._moment.subject.bare.robot

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
            found = change(self._moment)
            if found is self._moment:
                return False
            whole = self._put(found)
        self._say(whole)
        return True

    def _put(self, wanted: Moment) -> bool:
        """Take a state, or what of it the loops allow; returns whether it is the state that was wanted."""
        q = reachable(wanted.subject.runs, self._moment.q, wanted.q)
        whole = q is wanted.q
        self._moment = wanted if whole else replace(wanted, q=q)
        return whole

    def _say(self, whole: bool) -> None:
        self._news.set()
        if not whole and self._refused():
            self.tell("Loops", "the loops cannot be closed there; the arm stays where they can", "orange")

    def on_moment(self, listener: Listener) -> None:
        """Have `listener` called with the newest state, now and after every change."""
        self._listeners.append(listener)
        self._news.set()

    def on_picture(self, listener: Listener) -> None:
        """As `on_moment`, for what is drawn in 3-D: less often where a page draws without a graphics card.

        There a picture takes as long as several updates of the readings, which wait for it in the page.
        """
        self._painters.append(listener)
        self._news.set()

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
                waiting = True
            if waiting and monotonic() >= due:
                self._call(self._painters, moment)
                due, waiting = monotonic() + (_UNAIDED_PACE if self.unaided() else 0.0), False

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

    # ---- what it is in Python --------------------------------------------------------------------------

    def python(self) -> str:
        """The lines that reproduce what is seen, the state last."""
        moment = self.moment
        states = [f"{name} = np.array({listed(getattr(moment, name))})" for name in ("q", "qd", "qdd")]
        wrench = "" if moment.wrench is None else f", wrench={listed(moment.wrench)}"
        with self.script.lock:
            for topic in ("carried", "state", "torques"):
                self.script.say(topic)  # so that they come after what was said in the meantime
            self.script.say("carried", *self.player.carried_lines(moment), imports=["Inertia"])
            self.script.say("state", *states)
            self.script.say("torques", f"tau = robot.inverse_dynamics(q, qd, qdd{wrench})", "print(tau)")
            return self.script.text


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """The values, if all of them are finite: fields of a page may send what is no number."""
    if not np.all(np.isfinite(values)):
        raise ViewError(f"{name}: expected numbers, found {values}")
    return values


def home(robot: Robot) -> np.ndarray:
    """(n,): the middle of the motion that a report would show, where the arm can be seen well."""
    motion = default_motion(robot).trajectory
    return np.asarray(motion(motion.duration / 2)[0])
