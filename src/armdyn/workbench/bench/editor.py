"""The robot as it is edited by hand: changes come in as fast as somebody types, and take effect.

A change of the parameters (masses, payload, friction) takes effect at once. One that is refused, or that
needs the robot compiled anew (gears, geometry), waits until the typing rests: "50" is not a robot with gear
5 first, and a field does not jump back while somebody types in it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from armdyn.expression import ArmdynError
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.edits import Edits
from armdyn.workbench.bench.moment import Moment, Subject

Change = Callable[[Edits], Edits]
REST = 0.6  # s without another change, after which it is meant


class Editor:
    """`edits` is what was changed; `change` changes it; `on_news` has a function called after that."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.edits, self.said = bench, Edits(), ""
        self.bare = bench.robot  # as edited, without its payload
        self._given = bench.moment.subject
        self._loads = bench.script.lines("robot")
        self._lock = threading.RLock()
        self._waiting: threading.Timer | None = None
        self._resets = 0
        self._listeners: list[Callable[[], None]] = []

    @property
    def robot(self) -> Robot:
        return self.bench.robot

    def on_news(self, listener: Callable[[], None]) -> None:
        """Called when the robot changed, and when a change was refused: fields show what holds."""
        self._listeners.append(listener)

    def change(self, to: Change) -> None:
        """Take a change: at once if it costs nothing, else when no other comes for a moment."""
        with self._lock:
            self._stop_waiting()
            try:
                edits, subject = self._tried(to)
            except ArmdynError:
                self._wait(to)
                return
            if subject.runs is subject.robot and subject.runs is not self._given.runs:
                self._wait(to)
            else:
                self._take(edits, subject, "")

    def reset(self) -> None:
        """The robot as it was given."""
        with self._lock:
            self._stop_waiting()
            self._resets += 1  # what is being compiled is not wanted any more
            self._take(Edits(), self._given, "")

    def _tried(self, to: Change) -> tuple[Edits, Subject]:
        """What a change would give. The given robot is compiled already, however often it comes back."""
        edits = to(self.edits)
        robot = edits.made(self.bench.given)
        back = self._given.changed(robot)
        return edits, back if back.runs is self._given.runs else self.bench.moment.subject.changed(robot)

    def _take(self, edits: Edits, subject: Subject, said: str) -> None:
        known = {*self.bench.given.warnings, *self.robot.warnings}
        for text in subject.robot.warnings:
            if text not in known:
                self.bench.tell("Looks wrong", text, "orange")
        self.edits, self.bare = edits, edits.bare(self.bench.given)
        self.bench.limits = joint_limits(subject.robot)
        self.bench.script.say("robot", *self._loads, *edits.lines(self.bench.given), imports=["Robot"])
        self.bench.change(subject=subject)
        self.said = said
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    # ---- what waits ---------------------------------------------------------------------------------------

    def _wait(self, to: Change) -> None:
        timer = threading.Timer(REST, lambda: self.bench.guard(self._settle, to, timer))
        self._waiting = timer
        timer.daemon = True
        timer.start()

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _settle(self, to: Change, timer: threading.Timer) -> None:
        """Refuse the change, or compile the robot that it makes, as soon as no other job runs."""
        with self._lock:
            if self._waiting is not timer:
                return  # another change came when the time was just over
            self._waiting = None
            try:
                _, subject = self._tried(to)
            except ArmdynError:
                self._tell()  # the fields go back
                raise
            if self.bench.busy and not self.bench.closed:
                self.said = "Waits for another computation …"
                self._wait(to)
                return
            self.said = "Compiling …"
            self._tell()
            resets = self._resets
        moment = replace(self.bench.moment, subject=subject)

        def done(found: tuple[Subject, float]) -> None:
            self._done(to, found, resets)

        if not self.bench.job("compile the robot", lambda: _compiled(moment), done):
            with self._lock:
                self.said = ""
                self._tell()

    def _done(self, to: Change, found: tuple[Subject, float], resets: int) -> None:
        compiled, seconds = found
        with self._lock:
            if self._resets != resets:
                return
            edits = to(self.edits)  # others may have come in the meantime
            subject = compiled.changed(edits.made(self.bench.given))
            self._take(edits, subject, f"Compiled anew in {seconds:.2g} s.")


def _compiled(moment: Moment) -> tuple[Subject, float]:
    """The subject with everything compiled that the page shows, and how long that took [s]."""
    start = time.perf_counter()
    _ = moment.tau, moment.parts, moment.energies
    return moment.subject, time.perf_counter() - start
