"""Measured and predicted torques over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.validation.comparison import Comparison
from armdyn.report.figures.drawing import Given, curve, framed, styled
from armdyn.report.figures.identification.panels import (
    DIFFERENCE,
    MEASURED,
    PREDICTED,
    joint_sheet,
    mark,
    one_after_the_other,
)
from armdyn.report.figures.labels import effort_label, joint_title
from armdyn.report.identification.checks import compared
from armdyn.robot import Robot


def plot_prediction(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """Measured torques (grey), predicted ones and what is left, a panel for each joint.

    `samples` leaves out stretches, as in `identify`. Several logs stand one after the other.
    `ax` takes n axes.
    """
    return draw_prediction(fit.robot, compared(fit, logs, samples), ax=ax)


@styled
def draw_prediction(robot: Robot, data: Sequence[Comparison], *, ax: Given = None) -> Figure:
    paper = joint_sheet(robot.n, ax, sharex=True)
    times, edges = one_after_the_other(data)
    for j, panel in enumerate(paper.panels):
        for t, found in zip(times, data, strict=True):
            for part in _runs(found.use[:, j]):
                curve(panel, t[part], found.record.tau[part, j], 0, **MEASURED)
                curve(panel, t[part], found.predicted[part, j], 0, **PREDICTED)
                curve(panel, t[part], found.residual[part, j], 0, **DIFFERENCE)
        framed(panel, effort_label(robot, j), joint_title(robot, j))
        mark(panel, edges)
    paper.under("time [s]")
    labels = (MEASURED, "measured"), (PREDICTED, "predicted"), (DIFFERENCE, "measured − predicted")
    handles = [Line2D([], [], label=label, **style) for style, label in labels]
    paper.legend(handles, ncols=3)
    return paper.figure


def _runs(use: np.ndarray) -> list[slice]:
    """Stretches of samples that are used, of two samples or more."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], use.astype(np.int8), [0]])))
    return [slice(a, b) for a, b in edges.reshape(-1, 2).tolist() if b - a > 1]
