"""Pictures of robots and their motions, tables, and a report in one HTML file.

Every `plot_…` function returns a matplotlib `Figure`, to be saved with `figure.savefig("name.svg")`. The
names are found when first used, so that programs which draw nothing do not load matplotlib.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armdyn.report.arm import plot_arm as plot_arm
    from armdyn.report.arm import plot_strobe as plot_strobe
    from armdyn.report.motion_figures import plot_contributions as plot_contributions
    from armdyn.report.motion_figures import plot_tip as plot_tip
    from armdyn.report.motion_figures import plot_trajectory as plot_trajectory

_HOMES = {
    "plot_arm": "arm",
    "plot_strobe": "arm",
    "plot_contributions": "motion_figures",
    "plot_tip": "motion_figures",
    "plot_trajectory": "motion_figures",
}

__all__ = [
    "plot_arm",
    "plot_contributions",
    "plot_strobe",
    "plot_tip",
    "plot_trajectory",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
