"""The motion of the bench: as it was given, and as it is after it was timed by limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from armdyn.motion.timing.speed_parts import check_robot
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.findings.example_motion import default_motion
from armdyn.workbench.bench import clip
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.spelling import spelled
from armdyn.workbench.charts.of_motion import motion_charts

Which: TypeAlias = Literal["before", "after"]
DEFAULT = ("from armdyn.report import default_motion", "motion = default_motion(robot).trajectory")


class Motions:
    """`before` is the motion as it was loaded or made; `after`, where there is one, the same timed anew."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.before: Trajectory = bench.motion or default_motion(bench.given).trajectory
        self.after: Trajectory | None = None
        self.name = self.before.motion.label
        self._lines: tuple[str, ...] = DEFAULT if bench.motion is None else bench.motion_lines
        self._imports: tuple[str, ...] = ("Trajectory", "load_cycle") if bench.motion_lines else ()
        self._timed: tuple[str, ...] = ()
        self._timed_by = ""
        self._robot = bench.script.lines("robot")  # which the motion was made with
        self._timed_robot: list[str] = []
        self._said = False
        self._listeners: list[Callable[[], None]] = []
        self.given = bench.motion is not None
        bench.motion = self.before
        self._stage(0.0 if self.given else None)
        if self.given:
            self.said()

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    @property
    def shown(self) -> Which:
        return "after" if self.after is not None and self._bench.motion is self.after else "before"

    def take(self, motion: Trajectory, lines: Iterable[str] = (), imports: Iterable[str] = ()) -> None:
        """Another motion; `lines` make it in Python."""
        check_robot(self._bench.given, motion)
        self.before, self.after, self.name = motion, None, motion.motion.label
        self._lines, self._imports, self._said = tuple(lines), tuple(imports), False
        self._robot = self._bench.script.lines("robot")
        self._bench.motion = motion
        self._bench.script.say("timing")
        self._bench.script.say("simulation")
        self._stage(0.0)
        self.said()

    def timed(self, after: Trajectory, function: str, lines: tuple[str, ...], robot: list[str]) -> None:
        """The motion timed anew by a `function` of armdyn; `robot` are the lines of the robot it was for."""
        self.after, self._timed, self._timed_by, self._timed_robot = after, lines, function, robot
        self.switch("after")

    def switch(self, which: Which) -> None:
        """Which of the two is played and followed."""
        self.said()
        is_after = which == "after" and self.after is not None
        self._bench.motion = self.after if is_after else self.before
        script, timed = self._bench.script, self._timed if is_after else ()
        script.say("simulation")  # it may have followed the other one
        script.say("timing")  # so that it comes last
        script.say("timing", *timed, imports=[self._timed_by], robot=self._timed_robot)
        self._stage(0.0)

    def show(self) -> None:
        """Have the motion on stage again: after a simulation or a log."""
        self._stage(0.0)

    def said(self) -> None:
        """The lines of the motion are in the script from now on."""
        if not self._said:
            self._said = True
            lines = self._lines or tuple(spelled(self.before))
            self._bench.script.say("motion")
            self._bench.script.say(
                "motion", *lines, imports=self._imports or ["Trajectory"], robot=self._robot
            )

    def _stage(self, time: float | None) -> None:
        bench, names = self._bench, ("before", "after")
        shown = bench.motion
        assert shown is not None
        other = None if self.after is None else self.before if shown is self.after else self.after
        titles = names[::-1] if shown is self.after else names
        charts = motion_charts(bench.robot, shown, other, titles)
        self.clip = clip.of_motion(shown, charts)
        bench.player.show(self.clip, time)
        for listener in self._listeners:
            listener()
