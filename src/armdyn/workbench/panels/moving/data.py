"""Recorded data: measured torques against predicted ones, scrubbed together with the arm."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.identification import Log
from armdyn.output import one_line
from armdyn.report.page.markup import Markup, join, tag
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment, Subject
from armdyn.workbench.bench.motions import Motions
from armdyn.workbench.charts.of_data import Data, data_clip, data_of, rms
from armdyn.workbench.charts.of_motion import joint_title
from armdyn.workbench.errors import ViewError
from armdyn.workbench.panels.moving.uploads import file_name, read_upload, suffix
from armdyn.workbench.panels.reading import Reading

_CUTOFF = 10.0  # Hz
_KINDS = (".csv", ".npz", ".parquet")


def add(bench: Bench, motions: Motions) -> None:
    gui: Any = bench.gui
    upload = gui.add_upload_button("Log file", icon="upload", hint="CSV, NPZ or Parquet with t, q1 …, tau1 …")
    hint = "of the low-pass on positions [Hz]"
    low_pass = gui.add_number("Cut-off", _CUTOFF, min=0.1, step=1.0, visible=bench.fit is None, hint=hint)
    cutoff = bench.fields.add(low_pass, "Hz", lambda _: again())
    show = gui.add_button("Show the log", icon="chart-line", visible=bench.log is not None)
    reading = Reading(bench, tag("div", _waiting(bench), class_="ad-note"))
    shown: list[Data] = []
    seen: list[Subject] = []

    def stage(log: Log, time: float | None = 0.0) -> None:
        """Show a log; if that cannot be, everything stays as it is."""
        data = data_of(bench.given, log, bench.fit, float(cutoff.value))
        clip = data_clip(bench.given, data)
        bench.log, shown[:], seen[:] = log, [data], []
        show.visible = True
        bench.player.show(clip, time)

    def sent_upload(_event: Any) -> None:
        file = upload.value  # of now: another one may come while this is read

        def take() -> None:
            stage(log_of(file))
            bench.script.say("log", f"log = Log.load({file_name(file)!r})", imports=["Log"])

        bench.guard(take)

    upload.on_upload(sent_upload)

    def again() -> None:
        if bench.log is not None:
            stage(bench.log)

    show.on_click(lambda _event: bench.guard(again))

    def follow(moment: Moment) -> None:
        if shown and (not seen or seen[0] is not moment.subject.bare):
            seen[:] = [moment.subject.bare]
            reading.show(table(bench, shown[0], moment.subject))

    bench.on_moment(follow)
    if bench.log is not None:
        stage(bench.log, None if motions.given else 0.0)
        if motions.given:
            motions.show()


def _waiting(bench: Bench) -> str:
    if bench.log is not None:
        return ""
    return "Upload a recorded motion: its torques are compared with those of the robot."


def log_of(file: Any) -> Log:
    """The log of an uploaded file."""
    if suffix(file) not in _KINDS:
        raise ViewError(f"{one_line(file_name(file))}: expected a log in {', '.join(_KINDS)}")
    return read_upload(file, lambda path: Log.load(path, name=file_name(file)))


def table(bench: Bench, data: Data, subject: Subject) -> Markup:
    """Root mean squares of each joint: measured torques, and what predictions leave."""
    robot, own = bench.robot, data.residual_rms(data.predicted(subject))
    columns = [("measured", rms(data.measured))]
    if data.fitted is not None:
        columns.append(("fit", data.residual_rms(data.fitted)))
    columns.append(("robot", own))
    head = tag("tr", tag("th", "joint"), *(tag("th", name) for name, _ in columns), tag("th", ""))
    rows = []
    for j in range(robot.n):
        title = one_line(joint_title(robot, j))
        cells = (tag("td", _number(values[j])) for _, values in columns)
        unit = tag("td", joint_units(robot, j).torque)
        rows.append(
            tag("tr", tag("td", title, title=title), *cells, unit, data_rms=repr(float(columns[1][1][j])))
        )
    about = f"{one_line(data.name)}: {len(data.t)} samples, {data.t[-1]:.4g} s. Root mean squares: measured "
    about += "torques, and what is left of them without the prediction."
    notes = [tag("div", one_line(note), class_="ad-note") for note in data.notes]
    body = tag("table", head, *rows, class_="ad-table", data_armdyn="residuals")
    return join([tag("div", about, class_="ad-note"), body, *notes])


def _number(x: float) -> str:
    return f"{x:.4g}" if np.isfinite(x) else "–"
