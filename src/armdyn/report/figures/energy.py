"""Energies of a simulated arm over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import curve, end_labels, framed, sheet, styled
from armdyn.simulation.run import Run


@styled
def plot_energy(run: Run) -> Figure:
    """Kinetic, potential and total energy of a simulated arm over time, and what friction has taken."""
    if run.q.ndim != 2:
        raise ReportError(f"run: found {run.q.shape[1:-1]} arms; the energies of one are drawn")
    curves = {"kinetic": run.kinetic, "potential": run.potential, "total": run.energy}
    if run.dissipated.any():
        curves["taken by friction"] = run.dissipated
    if run.torque_work.any():
        curves["work of the torques"] = run.torque_work
    figure, panels = sheet(2.7)
    panel: Axes = panels[0, 0]
    looks = (1, 2, 0, 3, 4)
    lines = [curve(panel, run.t, y, k, name) for (name, y), k in zip(curves.items(), looks, strict=False)]
    framed(panel, "energy [J]")
    end_labels(panel, lines)
    panel.set_xlabel("time [s]")
    return figure
