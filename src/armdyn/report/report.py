"""`write_report`: everything armdyn can say about a robot, in one HTML file.

A section is a row of `SECTIONS`: `findings` computes what it says, `page` writes it, `figures` draws it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armdyn.expression import ArmdynError
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import progress_bar, stage, write_whole
from armdyn.report.errors import ReportError
from armdyn.report.findings.ellipsoids import find_ellipsoids
from armdyn.report.findings.equations import find_equations
from armdyn.report.findings.fall import find_fall
from armdyn.report.findings.motion import find_motion, find_torques
from armdyn.report.findings.motors import find_motors
from armdyn.report.findings.robot import find_description, find_operations, find_robot
from armdyn.report.findings.rotors import find_rotors
from armdyn.report.findings.scaling import find_scaling
from armdyn.report.findings.subject import Subject
from armdyn.report.live.finding import find_live
from armdyn.report.live.page import without_live, write_live
from armdyn.report.page.ellipsoids import write_ellipsoids
from armdyn.report.page.equations import write_equations
from armdyn.report.page.fall import write_fall
from armdyn.report.page.made import Day, Made
from armdyn.report.page.motion import write_motion, write_torques
from armdyn.report.page.motors import write_motors
from armdyn.report.page.page import Live, Page, Part, warning
from armdyn.report.page.robot import subtitle, write_description, write_operations, write_robot
from armdyn.report.page.rotors import write_rotors
from armdyn.report.page.scaling import write_scaling
from armdyn.robot import Robot


@dataclass(frozen=True)
class Section:
    """A section: its id and title, what it says as data, and how that is written."""

    key: str
    title: str
    find: Callable[[Subject], Any]
    write: Callable[[Any], list[Part]]
    numeric: bool = True  # left out where a symbol has no value

    def parts(self, subject: Subject) -> list[Part]:
        """The section; where the robot makes it impossible, the reason."""
        try:
            return self.write(self.find(subject))
        except ArmdynError as problem:
            return [warning(f"This is not possible here: {problem}.")]


SECTIONS = (
    Section("robot", "The robot", find_robot, write_robot, numeric=False),
    Section("description", "What it is made of", find_description, write_description, numeric=False),
    Section("equations", "Equations of motion", find_equations, write_equations, numeric=False),
    Section("motion", "A motion", find_motion, write_motion),
    Section("torques", "Torques and what causes them", find_torques, write_torques),
    Section("motors", "At the motors", find_motors, write_motors),
    Section("scaling", "Against the limits", find_scaling, write_scaling),
    Section("ellipsoids", "What the tip can do", find_ellipsoids, write_ellipsoids),
    Section("rotors", "What the diagonal rotor model misses", find_rotors, write_rotors),
    Section("simulation", "Motors switched off", find_fall, write_fall),
    Section("operations", "Cost of computing", find_operations, write_operations),
)


def write_report(
    robot: Robot,
    path: str | Path,
    trajectory: Trajectory | None = None,
    *,
    wrench: Any = None,
    date: Day = None,
    live: bool = False,
    progress: bool | None = None,
) -> Path:
    """Write a report about a robot and return its path: one HTML file that needs nothing else.

    The robot drawn, its tables, its equations typeset and proved, a motion with its torques and their parts,
    motor loads, scaling to the limits, ellipsoids, what the diagonal rotor model misses, a simulation.
    Without a `trajectory` a motion is chosen. `wrench` (6,) is what the tip exerts on its surroundings all
    along, or {link: (6,)} what links exert. A robot with symbols that have no value gets the parts that need
    none. `date` stands in the head, a `datetime.date` or a text such as "2026-11-16"; without one that of
    $SOURCE_DATE_EPOCH, or today. The same input on the same date gives the same bytes.

    With `live` the page begins with the arm in 3-D, sliders for its joints, its torques and the motion to
    play: JavaScript in the page computes them, printed from the programs that Python runs.

    `progress`: whether it is shown which section is being made; by default on a terminal.
    """
    with progress_bar("report", progress):
        text = report(robot, trajectory, wrench=wrench, date=date, live=live)
    return write_whole(path, text, ReportError)


def report(
    robot: Robot,
    trajectory: Trajectory | None = None,
    *,
    wrench: Any = None,
    date: Day = None,
    live: bool = False,
) -> str:
    """The report as text; see `write_report`."""
    subject = Subject.of(robot, trajectory, wrench)
    page = Page(robot.name, subtitle(robot), Made.of(robot, date))
    if live:
        with stage("the part that moves"):
            page.live = _live(subject)
    for section in SECTIONS:
        if section.numeric and subject.free_symbols:
            continue
        with stage(section.title.lower()):
            if parts := section.parts(subject):
                page.add(section.key, section.title, parts)
    return page.html()


def _live(subject: Subject) -> Live:
    """The live part; where the robot makes it impossible, the reason."""
    try:
        return write_live(find_live(subject))
    except ArmdynError as problem:
        return without_live(problem)
