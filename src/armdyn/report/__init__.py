"""Pictures of robots and their motions, tables, and a report in one HTML file.

Every `plot_…` function returns a matplotlib `Figure`: save it with `figure.savefig("name.svg")`, look at it
with `figure.show()` or as the last line of a notebook's cell, or draw into axes of your own with `ax=`. The
names are found when first used, so that programs which draw nothing do not load matplotlib.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armdyn.report.errors import ReportError
    from armdyn.report.figures.arm import plot_arm, plot_strobe
    from armdyn.report.figures.ellipsoids import plot_dynamic_ellipsoid, plot_ellipsoids
    from armdyn.report.figures.energy import plot_energy
    from armdyn.report.figures.identification.estimates import (
        plot_correlation,
        plot_estimates,
        plot_singular_values,
    )
    from armdyn.report.figures.identification.friction import plot_friction
    from armdyn.report.figures.identification.prediction import plot_prediction
    from armdyn.report.figures.identification.residuals import plot_residuals
    from armdyn.report.figures.identification.signals import plot_cutoffs, plot_signals
    from armdyn.report.figures.logs import plot_log
    from armdyn.report.figures.motion import plot_contributions, plot_tip, plot_trajectory
    from armdyn.report.figures.motors import plot_motor_loads
    from armdyn.report.figures.rotors import plot_rotor_error
    from armdyn.report.figures.run import plot_run
    from armdyn.report.figures.scaling import plot_path_speed, plot_scaling
    from armdyn.report.findings.example_motion import default_motion
    from armdyn.report.identification.report import write_fit_report
    from armdyn.report.report import write_report

_HOMES = {
    "ReportError": "errors",
    "default_motion": "findings.example_motion",
    "plot_arm": "figures.arm",
    "plot_contributions": "figures.motion",
    "plot_correlation": "figures.identification.estimates",
    "plot_cutoffs": "figures.identification.signals",
    "plot_dynamic_ellipsoid": "figures.ellipsoids",
    "plot_ellipsoids": "figures.ellipsoids",
    "plot_energy": "figures.energy",
    "plot_estimates": "figures.identification.estimates",
    "plot_friction": "figures.identification.friction",
    "plot_log": "figures.logs",
    "plot_motor_loads": "figures.motors",
    "plot_path_speed": "figures.scaling",
    "plot_prediction": "figures.identification.prediction",
    "plot_residuals": "figures.identification.residuals",
    "plot_rotor_error": "figures.rotors",
    "plot_run": "figures.run",
    "plot_scaling": "figures.scaling",
    "plot_signals": "figures.identification.signals",
    "plot_singular_values": "figures.identification.estimates",
    "plot_strobe": "figures.arm",
    "plot_tip": "figures.motion",
    "plot_trajectory": "figures.motion",
    "write_fit_report": "identification.report",
    "write_report": "report",
}

__all__ = [
    "ReportError",
    "default_motion",
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
    "plot_motor_loads",
    "plot_path_speed",
    "plot_prediction",
    "plot_residuals",
    "plot_rotor_error",
    "plot_run",
    "plot_scaling",
    "plot_signals",
    "plot_singular_values",
    "plot_strobe",
    "plot_tip",
    "plot_trajectory",
    "write_fit_report",
    "write_report",
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
