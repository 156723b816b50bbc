"""`write_report` and `write_fit_report`: everything armdyn can say about a robot, or a fit, in one HTML file.

A section is a row of `SECTIONS` or `FIT_SECTIONS`: its id, its title, and the function that writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from armdyn.drawing.errors import ReportError
from armdyn.expression import ArmdynError
from armdyn.files import write_whole
from armdyn.identification.fit import Fit
from armdyn.identification.look import Look
from armdyn.motion.trajectory import Trajectory
from armdyn.progress import progress_bar, stage
from armdyn.report.fit.coverage import write_coverage
from armdyn.report.fit.estimates import write_estimates, write_friction, write_residuals
from armdyn.report.fit.excitation import write_excitation
from armdyn.report.fit.look import write_advice, write_joints, write_noise, write_parameters
from armdyn.report.fit.signals import write_signals
from armdyn.report.fit.structure import write_structure, write_unknown
from armdyn.report.fit.subject import FitSubject
from armdyn.report.fit.summary import fit_answers, write_fit
from armdyn.report.page import Day, Made, Page, Part, warning
from armdyn.report.sections.ellipsoids import write_ellipsoids
from armdyn.report.sections.equations import write_equations
from armdyn.report.sections.live import write_live
from armdyn.report.sections.motion import write_motion, write_torques
from armdyn.report.sections.motors import write_motors
from armdyn.report.sections.robot import subtitle, write_description, write_operations, write_robot
from armdyn.report.sections.rotors import write_rotors
from armdyn.report.sections.scaling import write_scaling
from armdyn.report.sections.simulation import write_fall
from armdyn.report.sections.summary import answers, beneath
from armdyn.report.subject import Subject
from armdyn.robot import Robot


class Section(NamedTuple):
    """A section; `write` makes its parts of the report's subject, or nothing: then it is left out."""

    key: str  # its id in the page
    title: str
    write: Callable[[Any], list[Part] | None]
    numeric: bool = True  # left out where a symbol has no value


SECTIONS = (
    Section("robot", "The robot", write_robot, numeric=False),
    Section("description", "What it is made of", write_description, numeric=False),
    Section("equations", "Equations of motion", write_equations, numeric=False),
    Section("motion", "A motion", write_motion),
    Section("torques", "Torques and what causes them", write_torques),
    Section("motors", "At the motors", write_motors),
    Section("scaling", "Against the limits", write_scaling),
    Section("ellipsoids", "What the tip can do", write_ellipsoids),
    Section("rotors", "What the diagonal rotor model misses", write_rotors),
    Section("simulation", "Motors switched off", write_fall),
    Section("operations", "Cost of computing", write_operations),
)

FIT_SECTIONS = (
    Section("fit", "The fit", write_fit),
    Section("structure", "What torques can show", write_structure),
    Section("excitation", "How the robot moved", write_excitation),
    Section("signals", "What the filters did", write_signals),
    Section("friction", "Friction", write_friction),
    Section("estimates", "Estimates", write_estimates),
    Section("residuals", "What is left", write_residuals),
    Section("coverage", "Where the model holds", write_coverage),
    Section("unknown", "What is not known, and which motion would show it", write_unknown),
)

LOOK_SECTIONS = (
    Section("advice", "What the logs are worth", write_advice),
    Section("joints", "How the joints moved", write_joints),
    Section("noise", "Noise", write_noise),
    Section("parameters", "What can be identified", write_parameters),
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
            page.live = write_live(subject)
    with stage("the summary"):
        page.answers, page.beneath = answers(subject), beneath(subject)
    sections = [section for section in SECTIONS if not (section.numeric and subject.free_symbols)]
    return _filled(page, sections, subject).html()


def write_fit_report(
    fit: Fit,
    path: str | Path,
    logs: Any = None,
    *,
    samples: Any = None,
    validate: Any = None,
    date: Day = None,
    progress: bool | None = None,
) -> Path:
    """Write a report about a fit and return its path: one HTML file that needs nothing else.

    Errors, combinations, excitation, conditioning, filters, friction curves over measured points, estimates
    with intervals against the description, residuals, what is not known and which motion would show it.
    `logs`, `samples` and `validate` are what `identify` was given; without them the report has no measured
    points. `date` stands in the head, as in `write_report`. The same input on the same date gives the same
    bytes. `progress`: whether it is shown which section is being made; by default on a terminal.
    """
    with progress_bar("report", progress):
        subject = FitSubject.of(fit, logs, samples, validate)
        title = f"{fit.robot.name}: parameters from data"
        page = Page(title, "what a fit found and what it is worth", Made.of(fit.described, date))
        page.answers = fit_answers(subject)
        text = _filled(page, FIT_SECTIONS, subject).html()
    return write_whole(path, text, ReportError)


def write_look_report(
    look: Look, path: str | Path, *, date: Day = None, progress: bool | None = None
) -> Path:
    """Write what `look` found to one HTML file that needs nothing else, and return its path.

    What to record next, motion and torques of each joint, histograms of speeds, noise with its spectra, and
    what can be identified. `date` and `progress` as in `write_report`.
    """
    with progress_bar("report", progress):
        page = Page(
            f"{look.robot.name}: {', '.join(look.logs)}", "what the logs are worth", Made.of(look.robot, date)
        )
        return write_whole(path, _filled(page, LOOK_SECTIONS, look).html(), ReportError)


def _filled(page: Page, sections: Iterable[Section], subject: Any) -> Page:
    """The page with its sections; where the subject makes one impossible, it says why."""
    for section in sections:
        with stage(section.title.lower()):
            try:
                parts = section.write(subject)
            except ArmdynError as problem:
                parts = [warning(f"This is not possible here: {problem}.")]
            if parts:
                page.add(section.key, section.title, parts)
    return page
