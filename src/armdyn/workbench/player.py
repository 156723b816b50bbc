"""The player: a thread that moves the arm along a clip in real time.

It puts the state that belongs to the clock, at most 60 times a second: on a slow machine it leaves states
out and keeps time. It stops when a person poses the arm. Loads of a motion are part of the state: the robot
shown carries what it carries at that time.
"""

from __future__ import annotations

import threading
import time as clocks
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.loads import Carried, Loaded
from armdyn.workbench.moment import EditedRobot, Holder, Moment

# ---- what can be played: a motion, a simulated run, a recorded log ----------------------------------------


States: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Clip:
    """States (n,) at every time from 0 to `duration` [s], and the charts that go with them.

    `charts` are functions of a subject, a joint and a wrench, by title. `loads` is what the arm carries.
    `wrench` is what the tip exerts on its surroundings at a time (6,), where the clip says so; without it the
    wrench that is set in the page stays.
    """

    name: str
    duration: float
    at: Callable[[float], States]
    charts: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    loads: tuple[Carried, ...] = ()
    wrench: Callable[[float], np.ndarray | None] | None = None


def of_samples(t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Callable[[float], States]:
    """States at instants t (N,) of increasing time, linear in between; t[0] is the time 0."""
    start = float(t[0])

    def at(time: float) -> States:
        k = int(np.clip(np.searchsorted(t, time + start, side="right") - 1, 0, len(t) - 2))
        span = float(t[k + 1] - t[k])
        part = min(max((time + start - float(t[k])) / span, 0.0), 1.0) if span > 0 else 0.0
        q_, qd_, qdd_ = ((1 - part) * x[k] + part * x[k + 1] for x in (q, qd, qdd))
        return q_, qd_, qdd_

    return at


# ---- the player -------------------------------------------------------------------------------------------


FRAME = 1 / 60  # s
SPEEDS = 0.1, 2.0
PASS = 2.0  # s: what a pass takes at least, where nobody chose a speed; shorter ones would flicker


class Player:
    """Plays `clip`. `play`, `pause` and `seek` may be called by any thread."""

    def __init__(self, bench: Holder, clip: Clip, clock: Callable[[], float] = clocks.monotonic) -> None:
        self._bench, self.clip, self._clock = bench, clip, clock
        self.loop = True
        self._speed: float | None = None  # what somebody chose
        self.time, self.playing = 0.0, False
        self._last = 0.0  # when the clock was last looked at
        self._lock, self._wake = threading.RLock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._listeners: list[Callable[[], None]] = []
        # What is carried in turn: of which clip, by which robot, and the robots with it.
        self._carried: tuple[Clip, EditedRobot, Loaded, list[EditedRobot]] | None = None

    @property
    def speed(self) -> float:
        """Of the clip's seconds in one: what was chosen, or real time as long as a pass is no flicker."""
        if self._speed is not None:
            return self._speed
        return float(np.clip(round(self.clip.duration / PASS, 1), SPEEDS[0], 1.0))

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = speed

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have `listener` called when it begins or ends to play."""
        self._listeners.append(listener)

    def _told(self) -> None:
        for listener in self._listeners:
            self._bench.guard(listener)

    # ---- what a person does ------------------------------------------------------------------------------

    def show(self, clip: Clip) -> None:
        """Have another clip ready, at its start."""
        with self._lock:
            if self.clip.wrench is not None:
                self._bench.change(wrench=None)
            self.clip = clip
            self.seek(0.0)

    def play(self) -> None:
        with self._lock:
            if self.time >= self.clip.duration:
                self.time = 0.0
            self._put(self.time, by_hand=True)
            self.playing, self._last = True, self._clock()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="armdyn view: player", daemon=True)
                self._thread.start()
        self._wake.set()
        self._told()

    def pause(self) -> None:
        with self._lock:
            self.playing = False
        self._told()

    def seek(self, time: float) -> None:
        """Go to a time [s] and stay there."""
        with self._lock:
            self.playing = False
            self.time = float(np.clip(time, 0.0, self.clip.duration))
            self._put(self.time, by_hand=True)

    def close(self) -> None:
        self.playing = False
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)

    # ---- in time -------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """Put the state of the clock; whether it plays on."""
        with self._lock:
            now = self._clock()
            passed, self._last = now - self._last, now
            clip = self.clip
            if not self.playing or self._bench.closed:
                return False
            self.time += self.speed * passed
            if self.time > clip.duration:
                self.playing = self.loop
                self.time = self.time % clip.duration if self.loop else clip.duration
            if not self._put(self.time, by_hand=False):
                self.playing = False
            return self.playing

    def _run(self) -> None:
        while not self._bench.closed:
            self._wake.wait()
            self._wake.clear()
            while self._bench.guard(self.step):
                clocks.sleep(max(0.0, FRAME - (self._clock() - self._last)))
            self._told()

    def _put(self, time: float, by_hand: bool) -> bool:
        """The state of a time; not if a person has posed the arm meanwhile, unless `by_hand`."""
        clip = self.clip
        q, qd, qdd = (np.array(x, float) for x in clip.at(time))

        def put(moment: Moment) -> Moment:
            if moment.time is None and not by_hand:
                return moment
            further: dict[str, Any] = {} if clip.wrench is None else {"wrench": clip.wrench(time)}
            subject = self._subject(moment.subject, time)
            return replace(moment, q=q, qd=qd, qdd=qdd, time=time, subject=subject, **further)

        return self._bench.update(put)

    # ---- loads ---------------------------------------------------------------------------------------------

    def follow(self, moment: Moment) -> None:
        """When the robot was edited it still carries its load; posed by hand, the arm carries none."""

        def settled(now: Moment) -> Moment:
            subject = self._subject(now.subject, now.time)
            return now if subject is now.subject else replace(now, subject=subject)

        if self.clip.loads or moment.subject.unloaded is not None:
            self._bench.update(settled)

    def _subject(self, subject: EditedRobot, time: float | None) -> EditedRobot:
        """The subject with what the clip carries at a time. Called under the bench's lock."""
        bare, clip = subject.bare, self.clip
        if time is None or not clip.loads:
            return bare
        if self._carried is None or self._carried[0] is not clip or self._carried[1] is not bare:
            loaded = Loaded(bare.robot, clip.loads, clip.duration)
            self._carried = clip, bare, loaded, [bare.carrying(robot) for robot in loaded.robots]
        _, _, loaded, robots = self._carried
        return robots[_place(loaded, time)]

    def carried_lines(self, moment: Moment) -> list[str]:
        """The load of a state in Python."""
        if moment.time is None or moment.subject.unloaded is None:
            return []
        loaded, lines = Loaded(moment.subject.bare.robot, self.clip.loads, self.clip.duration), []
        for load in loaded.carried[_place(loaded, moment.time)]:
            body = ", ".join(repr(float(moment.robot.model.number(x))) for x in load.body.entries)
            link = "" if load.link is None else f", link={load.link!r}"
            lines.append(f"robot = robot.with_payload(Inertia.of([{body}]){link})")
        return lines


def _place(loaded: Loaded, time: float) -> int:
    return int(loaded.index(np.array([time]))[0])
