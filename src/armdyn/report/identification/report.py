"""`write_fit_report`: what identification found, in one HTML file.

A section is a row of `SECTIONS`: what it says, as data, and how that is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armdyn.expression import ArmdynError
from armdyn.identification.estimation.fit import Fit
from armdyn.output import progress_bar, stage, write_whole
from armdyn.report.errors import ReportError
from armdyn.report.identification.excitation import find_excitation
from armdyn.report.identification.page.estimates import write_estimates, write_friction, write_residuals
from armdyn.report.identification.page.excitation import write_excitation, write_signals
from armdyn.report.identification.page.fit import write_fit
from armdyn.report.identification.page.structure import write_structure, write_unknown
from armdyn.report.identification.subject import FitSubject
from armdyn.report.identification.unknown import find_unknown
from armdyn.report.page.made import Day, Made
from armdyn.report.page.page import Page, Part, warning


@dataclass(frozen=True)
class Section:
    """A section: its id and title, what it says as data, and how that is written."""

    key: str
    title: str
    write: Callable[[Any], list[Part]]
    find: Callable[[FitSubject], Any] = lambda subject: subject

    def parts(self, subject: FitSubject) -> list[Part]:
        """The section; where it is impossible, the reason."""
        try:
            return self.write(self.find(subject))
        except ArmdynError as problem:
            return [warning(f"This is not possible here: {problem}.")]


SECTIONS = (
    Section("fit", "The fit", write_fit),
    Section("structure", "What torques can show", write_structure),
    Section("excitation", "How the robot moved", write_excitation, find_excitation),
    Section("signals", "What the filters did", write_signals),
    Section("friction", "Friction", write_friction),
    Section("estimates", "Estimates", write_estimates),
    Section("residuals", "What is left", write_residuals),
    Section("unknown", "What is not known, and which motion would show it", write_unknown, find_unknown),
)


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
        text = fit_report(fit, logs, samples=samples, validate=validate, date=date)
    return write_whole(path, text, ReportError)


def fit_report(
    fit: Fit, logs: Any = None, *, samples: Any = None, validate: Any = None, date: Day = None
) -> str:
    """The report as text; see `write_fit_report`."""
    subject = FitSubject.of(fit, logs, samples, validate)
    title = f"{fit.robot.name}: parameters from data"
    page = Page(title, "what a fit found and what it is worth", Made.of(fit.described, date))
    for section in SECTIONS:
        with stage(section.title.lower()):
            page.add(section.key, section.title, section.parts(subject))
    return page.html()
