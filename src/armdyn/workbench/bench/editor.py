"""The robot as it is edited by hand: changes come in as fast as somebody types, and take effect.

A change of the parameters (masses, payload, friction) takes effect at once, and one that no robot can have
is refused at once. One that needs the robot compiled anew (gears, geometry) waits until no other comes for a
moment, and for a computation that runs; nothing is lost meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.edits import Edits
from armdyn.workbench.bench.moment import Moment, Subject

Change = Callable[[Edits], Edits]
REST = 0.4  # s without another change, after which a robot is compiled


class Editor:
    """`edits` is what was asked for, which the robot shown may have to wait for; `change` changes it."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.edits, self.said = bench, Edits(), ""
        self.bare = bench.robot  # as asked for, without its payload
        self._given = bench.moment.subject
        self._loads = bench.script.lines("robot")
        self._lock = threading.RLock()
        self._waiting: threading.Timer | None = None
        self._listeners: list[Callable[[], None]] = []

    @property
    def robot(self) -> Robot:
        return self.bench.robot

    def on_news(self, listener: Callable[[], None]) -> None:
        """Called when the robot changed, and when it is compiled: fields show what was asked for."""
        self._listeners.append(listener)

    def change(self, to: Change) -> None:
        """Take a change: at once if it costs nothing, else when no other comes for a moment."""
        with self._lock:
            edits = to(self.edits)
            subject, bare = self._subject(edits), edits.bare(self.bench.given)
            self.edits, self.bare = edits, bare
            if subject.runs is subject.robot and subject.runs is not self._given.runs:
                self._wait()
            else:
                self._take(subject, "")

    def reset(self) -> None:
        """The robot as it was given."""
        with self._lock:
            self.edits, self.bare = Edits(), self._given.robot
            self._take(self._given, "")

    def _subject(self, edits: Edits) -> Subject:
        """What changes give. The given robot is compiled already, however often it comes back."""
        robot = edits.made(self.bench.given)
        back = self._given.changed(robot)
        return back if back.runs is self._given.runs else self.bench.moment.subject.changed(robot)

    def _take(self, subject: Subject, said: str) -> None:
        """Show the robot with all that was asked for."""
        self._stop_waiting()
        known = {*self.bench.given.warnings, *self.robot.warnings}
        for text in subject.robot.warnings:
            if text not in known:
                self.bench.tell("Looks wrong", text, "orange")
        self.bench.limits = joint_limits(subject.robot)
        self.bench.script.say("robot", *self._loads, *self.edits.lines(self.bench.given), imports=["Robot"])
        self.bench.change(subject=subject)
        self.said = said
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    # ---- what waits ---------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._stop_waiting()
        timer = threading.Timer(REST, lambda: self.bench.guard(self._settle, timer))
        self._waiting = timer
        timer.daemon = True
        timer.start()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _settle(self, timer: threading.Timer) -> None:
        """Compile the robot that was asked for, as soon as no other job runs."""
        with self._lock:
            if self._waiting is not timer or self.bench.closed:
                return  # another change came when the time was just over
            self._waiting = None
            if self.bench.busy:
                self.said = "Waits for another computation …"
                self._wait()
                return
            self.said = "Compiling …"
            self._tell()
            moment = replace(self.bench.moment, subject=self._subject(self.edits))
        if not self.bench.job("compile the robot", lambda: _compiled(moment), self._done):
            with self._lock:
                self._wait()

    def _done(self, found: tuple[Subject, float]) -> None:
        """Take the compiled robot, with what came in the meantime; not if that needs yet another one."""
        compiled, seconds = found
        with self._lock:
            subject = compiled.changed(self.edits.made(self.bench.given))
            if subject.runs is compiled.runs:
                self._take(subject, f"Compiled anew in {seconds:.2g} s.")


def _compiled(moment: Moment) -> tuple[Subject, float]:
    """The subject with everything compiled that the page shows, and how long that took [s]."""
    start = time.perf_counter()
    _ = moment.tau, moment.parts, moment.energies
    return moment.subject, time.perf_counter() - start
