"""Curves over time with a cursor: of the motion, of a simulated run, of a log, whichever is played."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from armdyn.names import one_line
from armdyn.workbench.bench import Bench
from armdyn.workbench.charts import BY_CAUSE, Chart, cursor, curves, joint_title
from armdyn.workbench.fields import Reading
from armdyn.workbench.moment import Moment

_NOTHING = "Torques"


def add(bench: Bench) -> None:
    joints = tuple(str(one_line(joint_title(bench.given, j))) for j in range(bench.given.n))
    clip = bench.player.clip
    kind = bench.gui.add_dropdown("Show", tuple(clip.charts) if clip else (_NOTHING,))
    joint = bench.gui.add_dropdown("Joint", joints, visible=False)
    moving, still = Reading(bench), Reading(bench)
    drawn = _Drawn(bench, kind, joint)

    def show(moment: Moment) -> None:
        chart, is_new = drawn.chart(moment)
        if chart is None or bench.player.clip is None:
            return
        with bench.server.atomic():
            if is_new:
                still.show(curves(chart))
            moving.show(cursor(chart, moment.time, bench.player.clip.name))

    for field in (kind, joint):

        @field.on_update
        def _(_event: Any) -> None:
            bench.update(replace)

    bench.on_moment(show)


class _Drawn:
    """The chart that is drawn, made anew only where what it shows has changed."""

    def __init__(self, bench: Bench, kind: Any, joint: Any) -> None:
        self._bench, self._kind, self._joint = bench, kind, joint
        self._made: tuple[Any, ...] = ()
        self._chart: Chart | None = None

    def chart(self, moment: Moment) -> tuple[Chart | None, bool]:
        clip = self._bench.player.clip
        if clip is None or not clip.charts:
            return None, False
        if tuple(self._kind.options) != tuple(clip.charts):
            self._kind.options = tuple(clip.charts)
        self._joint.visible = self._kind.value == BY_CAUSE
        wrench = None if clip.wrench is not None or moment.wrench is None else moment.wrench.tobytes()
        made = clip, moment.subject.bare, wrench, self._kind.value, self._joint.value
        same = len(self._made) == len(made) and all(
            a is b or (isinstance(a, str | bytes) and a == b) for a, b in zip(self._made, made, strict=True)
        )
        if same:
            return self._chart, False
        number = self._joint.options.index(self._joint.value)
        given = None if wrench is None else moment.wrench
        self._made = made
        self._chart = None
        self._chart = clip.charts[self._kind.value](moment.subject, number, given)
        return self._chart, True
