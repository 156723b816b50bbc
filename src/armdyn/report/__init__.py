"""Pictures of robots and their motions, tables, and a report in one HTML file.

Every `plot_…` function returns a matplotlib `Figure`: save it with `figure.savefig("name.svg")`, look at it
with `figure.show()` or as the last line of a notebook's cell, or draw into axes of your own with `ax=`. The
names are found when first used, so that programs which draw nothing do not load matplotlib.

In the order of the flow: `robot_tables` → `page` (HTML) → `subject` (a robot and its motion)
→ `sections` (of a robot's report), `fit` (those of a fit's) → `report` (the lists of sections), `notebook`;
`exercises` writes sheets for students, `study` the page of a study.

Order: robot_tables, page, fit/, subject, sections/, exercises, notebook, report, study.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from armdyn.drawing.errors import ReportError

if TYPE_CHECKING:
    from armdyn.report.exercises import Exercise, exercise, random_arm
    from armdyn.report.fit.estimates import plot_correlation, plot_estimates, plot_friction, plot_residuals
    from armdyn.report.fit.excitation import plot_singular_values
    from armdyn.report.fit.look import plot_look, plot_noise, plot_speeds
    from armdyn.report.fit.signals import plot_cutoffs, plot_log, plot_signals
    from armdyn.report.fit.summary import plot_prediction
    from armdyn.report.report import write_fit_report, write_look_report, write_report
    from armdyn.report.sections.ellipsoids import plot_dynamic_ellipsoid, plot_ellipsoids
    from armdyn.report.sections.motion import plot_contributions, plot_strobe, plot_tip, plot_trajectory
    from armdyn.report.sections.motors import plot_motor_loads, plot_sizing
    from armdyn.report.sections.robot import plot_arm
    from armdyn.report.sections.rotors import plot_rotor_error
    from armdyn.report.sections.scaling import plot_path_speed, plot_scaling
    from armdyn.report.sections.simulation import plot_energy, plot_run
    from armdyn.report.study import write_study_report
    from armdyn.report.subject import default_motion

_MODULES = {  # by module, the names that are found in it
    "exercises": "Exercise exercise random_arm",
    "fit.estimates": "plot_correlation plot_estimates plot_friction plot_residuals",
    "fit.excitation": "plot_singular_values",
    "fit.look": "plot_look plot_noise plot_speeds",
    "fit.signals": "plot_cutoffs plot_log plot_signals",
    "fit.summary": "plot_prediction",
    "report": "write_fit_report write_look_report write_report",
    "sections.ellipsoids": "plot_dynamic_ellipsoid plot_ellipsoids",
    "sections.motion": "plot_contributions plot_strobe plot_tip plot_trajectory",
    "sections.motors": "plot_motor_loads plot_sizing",
    "sections.robot": "plot_arm",
    "sections.rotors": "plot_rotor_error",
    "sections.scaling": "plot_path_speed plot_scaling",
    "sections.simulation": "plot_energy plot_run",
    "study": "write_study_report",
    "subject": "default_motion",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Exercise",
    "ReportError",
    "default_motion",
    "exercise",
    "plot_arm",
    "plot_contributions",
    "plot_correlation",
    "plot_cutoffs",
    "plot_dynamic_ellipsoid",
    "plot_ellipsoids",
    "plot_energy",
    "plot_estimates",
    "plot_friction",
    "plot_log",
    "plot_look",
    "plot_motor_loads",
    "plot_noise",
    "plot_path_speed",
    "plot_prediction",
    "plot_residuals",
    "plot_rotor_error",
    "plot_run",
    "plot_scaling",
    "plot_signals",
    "plot_singular_values",
    "plot_sizing",
    "plot_speeds",
    "plot_strobe",
    "plot_tip",
    "plot_trajectory",
    "random_arm",
    "write_fit_report",
    "write_look_report",
    "write_report",
    "write_study_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    _load_matplotlib()
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def _load_matplotlib() -> None:
    """matplotlib does not load if $MPLBACKEND names a missing backend; figures in files do not need one."""
    if "matplotlib" in sys.modules:
        return
    backend = os.environ.pop("MPLBACKEND", None)
    try:
        matplotlib = import_module("matplotlib")
    finally:
        if backend is not None:
            os.environ["MPLBACKEND"] = backend
    if backend:  # as matplotlib sets it when it loads
        with suppress(ValueError):
            matplotlib.rcParams["backend"] = backend


def __dir__() -> list[str]:
    return sorted(__all__)
