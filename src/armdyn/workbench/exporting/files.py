"""What is seen, as files: tables, the robot, the report, a picture."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.description.errors import ExportWarning
from armdyn.motion.torques import torques_along
from armdyn.motion.trajectories import csv_files
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import file_stem, one_line
from armdyn.report.report import report
from armdyn.robot import Robot
from armdyn.simulation.run import Run
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.bench.moment import Moment
from armdyn.workbench.errors import ViewError

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
    found: Any = _motion(bench) if what == MOTION else bench.run
    if found is None:
        raise ViewError(f"there is no {what} to write; choose '{STATE}', or make one first")
    if isinstance(found, Run):
        return Exported(f"{stem}_simulation.csv", _written(".csv", found.to_csv))
    content = _written(".csv", lambda path: write_motion(path, bench.robot, found, moment.wrench))
    return Exported(f"{stem}_motion.csv", content)


def _shown(bench: Bench) -> str:
    """Of what the arm shows a state."""
    clip = bench.player.clip
    if bench.moment.time is None or clip is None:
        return STATE
    return MOTION if isinstance(clip.at, Trajectory) else SIMULATION if clip.name == SIMULATION else STATE


def _motion(bench: Bench) -> Trajectory | None:
    """The motion that is played, before or after scaling; otherwise the one last made."""
    clip = bench.player.clip
    return clip.at if clip is not None and isinstance(clip.at, Trajectory) else bench.motion


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
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        content = _written(suffix, bench.robot.save)
    notes = [str(one.message) for one in said if issubclass(one.category, ExportWarning)]
    return Exported(
        f"{file_stem(bench.robot.name)}{suffix}", content, tuple(note.partition(": ")[2] for note in notes)
    )


def report_file(bench: Bench, live: bool = False) -> Exported:
    """The report of the robot as it is edited, with the motion where there is one; `live`: with sliders."""
    text = report(bench.robot, _motion(bench), wrench=bench.moment.wrench, live=live)
    return Exported(f"{file_stem(bench.robot.name)}_report.html", text.encode())


def python_file(bench: Bench) -> Exported:
    return Exported(f"{file_stem(bench.given.name)}.py", bench.python().encode())


def picture(bench: Bench, client: Any) -> Exported:
    """The scene as the page `client` shows it, on white."""
    import imageio.v3 as images  # viser brings it

    try:
        camera = client.camera
        seen = client.get_render(camera.image_height, camera.image_width, transport_format="png", timeout=30)
    except (RuntimeError, TimeoutError) as error:
        raise ViewError(f"the page sent no picture: {one_line(str(error))}") from None
    alpha = seen[..., 3:] / 255
    flat = np.round(seen[..., :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    return Exported(f"{file_stem(bench.robot.name)}.png", images.imwrite("<bytes>", flat, extension=".png"))


def _written(suffix: str, write: Any) -> bytes:
    """What `write(path)` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"robot{suffix}"
        write(path)
        return path.read_bytes()
