"""Recorded data: measured torques against predicted ones, scrubbed together with the arm."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.identification import Fit, Log, Record, identify
from armdyn.identification.signals import Kinematics, kinematics
from armdyn.names import one_line
from armdyn.report.fit.subject import compared
from armdyn.report.page import Markup, join, tag
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units
from armdyn.workbench.bench import QUIET, Bench
from armdyn.workbench.charts import BLUE, GREY, ORANGE, Chart, Line, Plotted, joint_panels, joint_title
from armdyn.workbench.fields import Reading, file_name, four_digits, note, read_upload, suffix
from armdyn.workbench.moment import EditedRobot, Moment, ViewError
from armdyn.workbench.player import Clip, of_samples

_CUTOFF = 10.0  # Hz
_KINDS = (".csv", ".npz", ".parquet")


def add(bench: Bench) -> None:
    gui: Any = bench.gui
    upload = gui.add_upload_button("Log file", icon="upload", hint="CSV, NPZ or Parquet with t, q1 …, tau1 …")
    hint = "of the low-pass on positions [Hz]"
    low_pass = gui.add_number("Cut-off", _CUTOFF, min=0.1, step=1.0, visible=bench.fit is None, hint=hint)
    cutoff = bench.fields.add(low_pass, "Hz", lambda _: again())
    shown: LogData | None = None
    seen: EditedRobot | None = None

    hint = "Which columns are what, if their names do not tell: t=time; q=pos1, pos2; tau=load_*"
    names: Any = gui.add_text("Columns", "", hint=hint, visible=False)

    def stage(log: Log) -> None:
        """Show a log; if that cannot be, everything stays as it is."""
        nonlocal shown, seen
        data = data_of(bench.given, log, bench.fit, float(cutoff.value))
        clip = data_clip(data)
        bench.log, shown, seen = log, data, None
        show.visible = fit.visible = True
        upload.color = QUIET
        bench.player.show(clip)

    def take(file: Any) -> None:
        names.visible = read.visible = True
        columns = columns_of(names.value)
        stage(log_of(file, columns))
        told = f", columns={columns!r}" if columns else ""
        bench.script.say("log", f"log = Log.load({file_name(file)!r}{told})", imports=["Log"])

    # The file of now: another one may come while this is read.
    upload.on_upload(lambda _event: bench.guard(take, upload.value))
    read = bench.button("Read the file again", lambda: take(upload.value), icon="refresh", visible=False)

    def again() -> None:
        if bench.log is not None:
            stage(bench.log)

    def start() -> None:
        robot, log, made = bench.robot, bench.log, bench.script.robot
        if log is None:
            return

        def done(found: Fit) -> None:
            bench.fit = found
            low_pass.visible = False
            bench.script.say("fit", "fit = identify(robot, log)", imports=["identify"], robot=made)
            stage(log)
            left = f"{100 * found.training_error:.2g} % of the torques"
            bench.tell(
                "Fit", f"{len(found.parameters)} parameters found; {left} are left unexplained", "green"
            )

        def work() -> Fit:
            with reading.meanwhile(note("Fitting … Filters and friction are chosen by cross-validation.")):
                return identify(robot, log, progress=False)

        bench.job("fit", work, done)

    hint = "Estimate the robot's parameters from the log"
    fit = bench.button("Fit", start, first=True, icon="chart-dots", hint=hint, visible=bench.log is not None)
    show = bench.button("Show the log", again, icon="chart-line", visible=bench.log is not None)
    reading = Reading(bench, note(_waiting(bench)))

    def follow(moment: Moment) -> None:
        nonlocal seen
        if shown is not None and seen is not moment.subject.bare:
            seen = moment.subject.bare
            reading.show(table(bench, shown, moment.subject))

    bench.on_moment(follow)
    again()
    if bench.log is not None and bench.motions.given:
        bench.motions.show()


def _waiting(bench: Bench) -> str:
    if bench.log is not None:
        return ""
    return "Upload a recorded motion: its torques are compared with those of the robot."


def columns_of(text: str) -> dict[str, Any] | None:
    """What `Log.load` takes for `columns`, of a text such as "t=time; q=pos1, pos2; tau=load_*"."""
    found: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in text.split(";"))):
        channel, _, rest = (part.strip() for part in entry.partition("="))
        names = [int(x) if x.isdecimal() else x for x in (part.strip() for part in rest.split(",")) if x]
        if not channel or not names:
            raise ViewError(f"Columns: expected such as t=time; q=pos1, pos2, found '{one_line(entry)}'")
        found[channel] = names if len(names) > 1 else names[0]
    return found or None


def log_of(file: Any, columns: dict[str, Any] | None = None) -> Log:
    """The log of an uploaded file."""
    if suffix(file) not in _KINDS:
        raise ViewError(f"{one_line(file_name(file))}: expected a log in {', '.join(_KINDS)}")
    try:
        return read_upload(file, lambda path: Log.load(path, columns, name=file_name(file)))
    except ViewError as error:  # in words of the page
        text = re.sub(r"(?<=say which )with columns=(\{'(\w+)': …\})?", _in_page, str(error))
        raise ViewError(text) from None


def _in_page(found: re.Match[str]) -> str:
    return f"in the field Columns, such as {found[2] or 'q'}=NAME, and press 'Read the file again'"


def table(bench: Bench, data: LogData, subject: EditedRobot) -> Markup:
    """Root mean squares of each joint: measured torques, and what predictions leave."""
    robot, own = bench.robot, data.residual_rms(data.predicted(subject))
    columns = [("measured", rms(data.measured))]
    if data.fitted is not None:
        columns.append(("fit", data.residual_rms(data.fitted)))
    columns.append(("robot", own))
    head = tag("tr", tag("th", "joint"), *(tag("th", name) for name, _ in columns), tag("th", ""))
    rows, least = [], 1e-12 * float(np.nanmax(columns[0][1], initial=0.0))  # what is less is rounding
    for j in range(robot.n):
        title = joint_title(robot, j)
        cells = (tag("td", four_digits(values[j], least)) for _, values in columns)
        unit = tag("td", joint_units(robot, j).torque)
        rows.append(
            tag("tr", tag("td", title, title=title), *cells, unit, data_rms=repr(float(columns[1][1][j])))
        )
    about = f"{one_line(data.name)}: {len(data.t)} samples, {data.t[-1]:.4g} s. Root mean squares: measured "
    about += "torques, and what is left of them without the prediction."
    notes = [note(one_line(text)) for text in data.notes]
    body = tag("table", head, *rows, class_="ad-table", data_armdyn="residuals")
    return join([note(about), body, *notes])


# ---- the data, and their charts ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LogData:
    """A log at the joints, M samples from the time 0 on, with what was measured and what a fit predicts."""

    name: str
    t: np.ndarray  # (M,) s
    motion: Kinematics  # (M, n) each, filtered
    measured: np.ndarray  # (M, n) N m or N; NaN where nothing was measured or is not used
    fitted: np.ndarray | None  # (M, n) what a fit predicts
    contact: np.ndarray | float  # (M, n) what of the torques a wrench at the tip needs
    notes: tuple[str, ...] = ()

    def predicted(self, subject: EditedRobot) -> np.ndarray:
        """(M, n): what the robot as it is edited needs for the motion, and a wrench of the log."""
        return subject.bare.torques(self.motion.q, self.motion.qd, self.motion.qdd) + self.contact

    def residual_rms(self, predicted: np.ndarray) -> np.ndarray:
        """(n,) of measured minus predicted [N m or N]; NaN where nothing was measured."""
        return rms(self.measured - predicted)


def rms(x: np.ndarray) -> np.ndarray:
    """(n,): root of the mean square over samples (M, n) that are known."""
    known = np.isfinite(x)
    count = known.sum(0)
    total = np.where(known, x, 0.0)
    return np.where(count > 0, np.sqrt((total**2).sum(0) / np.maximum(count, 1)), np.nan)


def data_of(robot: Robot, log: Log, fit: Fit | None, cutoff: float | None) -> LogData:
    """With a fit its filter and its predictions; without one positions are low-passed at `cutoff` [Hz]."""
    if fit is None:
        record = log.at_joints(robot)
        measured = np.where(record.usable, record.tau, np.nan)
        found = kinematics(record, cutoff)
        t = record.t - record.t[0]
        return LogData(record.name, t, found, measured, None, _contact(record), record.notes)
    pieces, start = compared(fit, log), 0.0
    times = []
    for piece in pieces:
        t = piece.record.t - piece.record.t[0]
        times.append(start + t)
        start += float(t[-1]) + float(t[1] - t[0])
    motion = Kinematics(
        *(np.concatenate([getattr(piece.motion, x) for piece in pieces]) for x in ("q", "qd", "qdd"))
    )
    measured = np.concatenate([np.where(x.use, x.record.tau, np.nan) for x in pieces])
    fitted = np.concatenate([x.predicted for x in pieces])
    notes = tuple(dict.fromkeys(note for piece in pieces for note in piece.record.notes))
    contact = np.concatenate([np.broadcast_to(_contact(x.record), x.predicted.shape) for x in pieces])
    return LogData(log.name, np.concatenate(times), motion, measured, fitted, contact, notes)


def _contact(record: Record) -> np.ndarray | float:
    return 0.0 if record.contact is None else record.contact


def data_clip(data: LogData) -> Clip:
    at = of_samples(data.t, data.motion.q, data.motion.qd, data.motion.qdd)
    charts: dict[str, Callable[..., Chart]] = {
        "Measured and predicted": lambda subject, *_: _data_torques(data, subject),
        "Residuals": lambda subject, *_: _residuals(data, subject),
        "Positions": lambda subject, *_: _data_states(data, subject, "position"),
        "Velocities": lambda subject, *_: _data_states(data, subject, "velocity"),
    }
    return Clip(data.name, float(data.t[-1]), at, charts)


def _predictions(data: LogData, subject: EditedRobot) -> list[tuple[str, np.ndarray, str, bool]]:
    own = data.predicted(subject)
    if data.fitted is None:
        return [("predicted by the robot", own, BLUE, False)]
    return [("predicted by the fit", data.fitted, BLUE, False), ("by the robot shown", own, ORANGE, True)]


def _data_torques(data: LogData, subject: EditedRobot) -> Chart:
    found = _predictions(data, subject)
    curves = [Line(data.t, tau, label, colour, dashed, 1.4) for label, tau, colour, dashed in found]
    curves.append(Line(data.t, data.measured, "measured", GREY, width=1.2))
    return Chart(joint_panels(subject.bare.robot, "torque", curves), float(data.t[-1]))


def _residuals(data: LogData, subject: EditedRobot) -> Chart:
    found = _predictions(data, subject)
    curves = [
        Line(data.t, data.measured - tau, f"measured − {label}", colour, False, 1.2)
        for label, tau, colour, _ in found
    ]
    return Chart(joint_panels(subject.bare.robot, "torque", curves, bounded=False), float(data.t[-1]))


def _data_states(data: LogData, subject: EditedRobot, quantity: Plotted) -> Chart:
    curve = Line(data.t, data.motion.q if quantity == "position" else data.motion.qd, "log")
    return Chart(joint_panels(subject.bare.robot, quantity, [curve], bounded=False), float(data.t[-1]))
