"""Energies of a simulated arm over time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import Given, curve, end_labels, framed, sheet, styled
from armdyn.simulation.run import Run


@styled
def plot_energy(run: Run, *, ax: Given = None) -> Figure:
    """Kinetic, potential and total energy of a simulated arm over time, and what friction has taken."""
    if run.q.ndim != 2:
        raise ReportError(f"run: found {run.q.shape[1:-1]} arms; the energies of one are drawn")
    paper = sheet(2.7, ax=ax)
    draw_energies(paper.panels[0], run, ())
    paper.under("time [s]")
    return paper.figure


def draw_energies(panel: Axes, run: Run, arm: tuple[int, ...]) -> None:
    """The energies of one arm of a run; `arm` is its place in the batch."""
    at: tuple[Any, ...] = (slice(None), *arm)
    curves: dict[str, np.ndarray] = {
        "kinetic": run.kinetic[at], "potential": run.potential[at], "total": run.energy[at],
    }  # fmt: skip
    if run.dissipated[at].any():
        curves["taken by friction"] = run.dissipated[at]
    if run.torque_work[at].any():
        curves["work of the torques"] = run.torque_work[at]
    looks = (1, 2, 0, 3, 4)
    lines = [curve(panel, run.t, y, k, name) for (name, y), k in zip(curves.items(), looks, strict=False)]
    framed(panel, "energy [J]")
    end_labels(panel, lines)
