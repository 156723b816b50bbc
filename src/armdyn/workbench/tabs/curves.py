"""Curves over time with a cursor: of the motion, of a simulated run, of a log, whichever is played."""

from __future__ import annotations

from typing import Any

from armdyn.workbench.bench import Bench
from armdyn.workbench.charts import BY_CAUSE, Chart, cursor, curves, joint_title
from armdyn.workbench.fields import Reading, note
from armdyn.workbench.moment import Moment


def add(bench: Bench) -> None:
    joints = tuple(joint_title(bench.given, j) for j in range(bench.given.n))
    kind = bench.gui.add_dropdown("Show", tuple(bench.player.clip.charts))
    joint = bench.gui.add_dropdown("Joint", joints, visible=False)
    moving, still = Reading(bench), Reading(bench)
    Reading(
        bench, note("Click: go to that time. Drag: enlarge. Double click: whole.", class_="ad-note ad-soft")
    )
    bench.fields.hear("seek", lambda _client, time: bench.player.seek(time))
    made: tuple[Any, ...] = ()  # what the chart that is drawn was made of
    chart: Chart | None = None

    def show(moment: Moment) -> None:
        nonlocal made, chart
        clip = bench.player.clip
        if tuple(kind.options) != tuple(clip.charts):
            kind.options = tuple(clip.charts)
        joint.visible = kind.value == BY_CAUSE
        wrench = None if clip.wrench is not None else moment.wrench
        pushed = None if wrench is None else wrench.tobytes()
        units = bench.fields.units
        wanted = clip, moment.subject.bare, pushed, kind.value, joint.value, units
        is_new = wanted != made
        if is_new:
            made, chart = wanted, None
            drawn: Chart = clip.charts[kind.value](moment.subject, joints.index(joint.value), wrench)
            chart = drawn.in_units(units)
        if chart is None:  # it could not be made
            return
        with bench.server.atomic():
            if is_new:
                still.show(curves(chart))
            moving.show(cursor(chart, moment.time, clip.name))

    for field in (kind, joint):
        field.on_update(lambda _event: bench.change())
    bench.on_moment(show)
