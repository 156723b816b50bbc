"""What a fit leaves unexplained, over time, position and speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.validation.comparison import Comparison
from armdyn.report.figures.drawing import Given, framed, sheet, styled
from armdyn.report.figures.identification.panels import POINT, few, one_after_the_other
from armdyn.report.figures.labels import joint_title
from armdyn.report.identification.checks import compared
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units


def plot_residuals(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """Measured minus predicted torque of each joint (a row) over time, position and speed.

    A trend over position hints at masses and gravity, one over speed at friction, bursts in time at
    contact or at a change of the arm. `ax` takes 3 n axes, three for each joint.
    """
    return draw_residuals(fit.robot, compared(fit, logs, samples), ax=ax)


@styled
def draw_residuals(robot: Robot, data: Sequence[Comparison], *, ax: Given = None) -> Figure:
    n = robot.n
    paper = sheet(0.6 + 1.25 * n, n, 3, ax=ax, sharey="row")
    times, _ = one_after_the_other(data)
    for j, row in enumerate(paper.rows):
        units = joint_units(robot, j)
        at = [found.use[:, j] for found in data]
        y = np.concatenate([found.residual[a, j] for found, a in zip(data, at, strict=True)])
        across = (
            ([t[a] for t, a in zip(times, at, strict=True)], "time [s]"),
            ([x.motion.q[a, j] for x, a in zip(data, at, strict=True)], f"position [{units.position}]"),
            ([x.motion.qd[a, j] for x, a in zip(data, at, strict=True)], f"velocity [{units.velocity}]"),
        )
        kept = few(y)
        for panel, (x, label) in zip(row, across, strict=True):
            panel.plot(np.concatenate(x)[kept], y[kept], **POINT)
            framed(panel, "")
            panel.margins(x=0.03)
            if j == n - 1 or robot.model.coordinates[j].joint != robot.model.coordinates[j + 1].joint:
                panel.set_xlabel(label)
        row[0].set_ylabel(f"[{units.torque}]")
        row[0].set_title(joint_title(robot, j), parse_math=False)
    return paper.figure
