"""Energies of a simulated arm over time."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import Given, curve, end_labels, framed, sheet, styled
from armdyn.report.findings.run import energies
from armdyn.simulation.run import Run

_LOOKS = (1, 2, 0, 3, 4)


@styled
def plot_energy(run: Run, *, ax: Given = None) -> Figure:
    """Kinetic, potential and total energy of a simulated arm over time, and what friction has taken."""
    if run.q.ndim != 2:
        raise ReportError(f"run: found {run.q.shape[1:-1]} arms; the energies of one are drawn")
    paper = sheet(2.7, ax=ax)
    draw_energies(paper.panels[0], run.t, energies(run, ()))
    paper.under("time [s]")
    return paper.figure


def draw_energies(panel: Axes, t: np.ndarray, found: dict[str, np.ndarray]) -> None:
    """Energies by name, over time (N,)."""
    lines = [curve(panel, t, y, k, name) for (name, y), k in zip(found.items(), _LOOKS, strict=False)]
    framed(panel, "energy [J]")
    end_labels(panel, lines)
