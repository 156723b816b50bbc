"""Pictures of robots and their motions, tables, and a report in one HTML file.

Every `plot_…` function returns a matplotlib `Figure`, to be saved with `figure.savefig("name.svg")`. The
names are found when first used, so that programs which draw nothing do not load matplotlib.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armdyn.report.arm import plot_arm, plot_strobe
    from armdyn.report.comparison_figures import (
        plot_energy,
        plot_path_speed,
        plot_rotor_error,
        plot_scaling,
    )
    from armdyn.report.ellipsoid_figures import plot_dynamic_ellipsoid, plot_ellipsoids
    from armdyn.report.errors import ReportError
    from armdyn.report.example_motion import default_motion
    from armdyn.report.motion_figures import plot_contributions, plot_tip, plot_trajectory
    from armdyn.report.report import write_report

_HOMES = {
    "ReportError": "errors",
    "default_motion": "example_motion",
    "plot_arm": "arm",
    "plot_contributions": "motion_figures",
    "plot_dynamic_ellipsoid": "ellipsoid_figures",
    "plot_ellipsoids": "ellipsoid_figures",
    "plot_energy": "comparison_figures",
    "plot_path_speed": "comparison_figures",
    "plot_rotor_error": "comparison_figures",
    "plot_scaling": "comparison_figures",
    "plot_strobe": "arm",
    "plot_tip": "motion_figures",
    "plot_trajectory": "motion_figures",
    "write_report": "report",
}

__all__ = [
    "ReportError",
    "default_motion",
    "plot_arm",
    "plot_contributions",
    "plot_dynamic_ellipsoid",
    "plot_ellipsoids",
    "plot_energy",
    "plot_path_speed",
    "plot_rotor_error",
    "plot_scaling",
    "plot_strobe",
    "plot_tip",
    "plot_trajectory",
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
