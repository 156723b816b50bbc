"""What is seen, to take away: pictures, tables, the robot, the report, and the Python lines for it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.description.writing import export
from armdyn.motion import csv_files
from armdyn.motion.torques import torques_along
from armdyn.motion.trajectory import Trajectory
from armdyn.names import file_stem, one_line
from armdyn.remarks import notes_of
from armdyn.report.page import Markup, tag
from armdyn.report.report import report
from armdyn.robot import Robot
from armdyn.workbench.bench import QUIET, Bench
from armdyn.workbench.fields import Reading
from armdyn.workbench.moment import Moment, ViewError

# ---- what is seen, as files: tables, the robot, the report, a picture -------------------------------------


SHOWN, MOTION, SIMULATION, STATE = "what is shown", "motion", "simulation", "state"
FORMATS = {"robot file (.toml)": ".toml", "URDF (.urdf)": ".urdf", "MJCF (.xml)": ".xml"}


@dataclass(frozen=True)
class Exported:
    """A file: its name, what is in it, and what it cannot say."""

    name: str
    content: bytes
    notes: tuple[str, ...] = ()


def table(bench: Bench, what: str = SHOWN) -> Exported:
    """t, q, qd, qdd and torques as CSV: along the motion or the simulation, or of the state."""
    stem, moment = file_stem(bench.given.name), bench.moment
    if what == SHOWN:
        what = _shown(bench)
    if what == STATE:
        return Exported(f"{stem}_state.csv", _written(".csv", lambda path: write_state(path, moment)))
    if what == MOTION:
        content = _written(".csv", lambda path: write_motion(path, bench.robot, bench.motion, moment.wrench))
        return Exported(f"{stem}_motion.csv", content)
    if bench.run is None:
        raise ViewError(f"there is no {what} to write; choose '{STATE}', or make one first")
    return Exported(f"{stem}_simulation.csv", _written(".csv", bench.run.to_csv))


def _shown(bench: Bench) -> str:
    """Of what the arm shows a state."""
    clip = bench.player.clip
    if bench.moment.time is None:
        return STATE
    return MOTION if isinstance(clip.at, Trajectory) else SIMULATION if clip.name == SIMULATION else STATE


def write_motion(path: Path, robot: Robot, motion: Trajectory, wrench: np.ndarray | None) -> None:
    """As `armdyn torque --trajectory … -o` does, and with every instant where a derivative jumps."""
    at = motion.samples(knots=True)
    tau = torques_along(motion.loaded(robot), at, wrench)
    csv_files.write(path, at.t, {"q": at.q, "qd": at.qd, "qdd": at.qdd, "tau": tau}, motion.motion)


def write_state(path: Path, moment: Moment) -> None:
    """One row; its time is that in the motion, or 0."""
    rows = {"q": moment.q, "qd": moment.qd, "qdd": moment.qdd, "tau": moment.tau}
    columns = {name: np.asarray(values)[None] for name, values in rows.items()}
    csv_files.write(path, np.array([moment.time or 0.0]), columns)


def robot_file(bench: Bench, suffix: str) -> Exported:
    """The robot as it is edited, in the format of a suffix; what the format cannot say are its notes."""
    found = export(bench.robot.model, suffix)
    content = found.text.encode("utf-8", "replace")
    return Exported(f"{file_stem(bench.robot.name)}{suffix}", content, notes_of(found.remarks))


def report_file(bench: Bench, live: bool = False) -> Exported:
    """The report of the robot as it is edited, with the motion where there is one; `live`: with sliders."""
    text = report(bench.robot, bench.motion, wrench=bench.moment.wrench, live=live)
    return Exported(f"{file_stem(bench.robot.name)}_report.html", text.encode())


def python_file(bench: Bench) -> Exported:
    return Exported(f"{file_stem(bench.given.name)}.py", bench.python().encode())


def picture(bench: Bench, client: Any) -> Exported:
    """The scene as the page `client` shows it, on white and without handles."""
    import imageio.v3 as images  # viser brings it

    shown = [tool for tool in bench.tools if tool.visible]
    try:
        for tool in shown:
            tool.visible = False
        camera = client.camera
        seen = client.get_render(camera.image_height, camera.image_width, transport_format="png", timeout=30)
    except (RuntimeError, TimeoutError) as error:
        raise ViewError(f"the page sent no picture: {one_line(str(error))}") from None
    finally:
        for tool in shown:
            tool.visible = True
    alpha = seen[..., 3:] / 255
    flat = np.round(seen[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    return Exported(f"{file_stem(bench.robot.name)}.png", images.imwrite("<bytes>", flat, extension=".png"))


def _written(suffix: str, write: Any) -> bytes:
    """What `write(path)` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot{suffix}"
        write(path)
        return path.read_bytes()


# ---- what is seen, to take away: pictures, tables, the robot, the report, and the Python lines for it -----


_WAIT = 0.5  # s: how often the lines are written anew, at most


def add(bench: Bench) -> None:
    gui = bench.gui
    _button(bench, "Picture (.png)", lambda client: picture(bench, client))
    with gui.add_folder("Table (.csv)"):
        options = (SHOWN, MOTION, SIMULATION, STATE)
        what = gui.add_dropdown("Of", options, hint="t, q, q̇, q̈ and torques, in seconds and SI units")
        _button(bench, "Save table", lambda _: table(bench, str(what.value)))
    with gui.add_folder("Robot, as edited"):
        form = gui.add_dropdown("As", tuple(FORMATS))
        _button(bench, "Save robot", lambda _: robot_file(bench, FORMATS[form.value]))
    with gui.add_folder("Report (.html)"):
        live = gui.add_checkbox("With sliders in it", False, hint="The arm in 3-D, computed in the report")
        _button(bench, "Save report", lambda _: report_file(bench, bool(live.value)), long=True)
    with gui.add_folder("Python"):
        _button(bench, "Save lines (.py)", lambda _: python_file(bench))
        reading = Reading(bench)
        write = bench.later(lambda: reading.show(listing(bench.python())))  # so that sliders stay quick
        bench.on_moment(lambda _moment: write(_WAIT))


def _button(bench: Bench, label: str, make: Callable[[Any], Exported], *, long: bool = False) -> None:
    """A button whose file goes to the page that asked for it."""
    button = bench.gui.add_button(label, color=None if long else QUIET)

    @button.on_click
    def _(event: Any) -> None:
        client = event.client
        if client is None:
            return
        if long:
            bench.tell(label, "It is being written; the download follows.")
            bench.job(label, lambda: make(client), lambda file: _send(bench, client, file))
        else:
            bench.guard(lambda: _send(bench, client, make(client)))


def _send(bench: Bench, client: Any, file: Exported) -> None:
    if client.client_id not in bench.server.get_clients():
        return  # the page was closed while the file was written
    client.send_file_download(file.name, file.content, save_immediately=True)
    for note in file.notes[:3]:
        bench.tell(file.name, note, "orange")
    if len(file.notes) > 3:
        bench.tell(file.name, f"It cannot say {len(file.notes) - 3} more things.", "orange")


def listing(text: str) -> Markup:
    """Lines to read and to copy: every blank stays one, also before a percent sign."""
    return tag("pre", *re.split("(?<= )(?=%)", text), class_="ad-lines", data_armdyn="python")
