"""Friction curves over the measured points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.identification.estimation.fit import Fit
from armdyn.report.figures.drawing import COLOURS, Given, styled
from armdyn.report.figures.identification.panels import POINT, few, joint_sheet
from armdyn.report.figures.labels import joint_title
from armdyn.report.identification.checks import compared
from armdyn.report.identification.friction import FrictionCurve, friction_curves
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_SHOWN = 0.998  # of the points are inside the panel
_CURVE: dict[str, Any] = {"color": COLOURS[2], "lw": 1.6}


def plot_friction(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """The friction found for each joint over its speed, and measured points.

    A point is the measured torque minus everything in the model but this joint's friction. `ax` takes n axes.
    """
    return draw_friction(fit.robot, friction_curves(fit, compared(fit, logs, samples)), ax=ax)


@styled
def draw_friction(robot: Robot, curves: Sequence[FrictionCurve], *, ax: Given = None) -> Figure:
    paper = joint_sheet(robot.n, ax, 1.95)
    for panel, found in zip(paper.panels, curves, strict=True):
        units = joint_units(robot, found.joint)
        kept = few(found.torque)
        panel.plot(found.speed[kept], found.torque[kept], **POINT)
        panel.plot(found.grid, found.curve, **_CURVE)
        low, high = np.quantile(found.torque, [(1 - _SHOWN) / 2, (1 + _SHOWN) / 2])
        low, high = min(low, found.curve.min()), max(high, found.curve.max())
        margin = 0.08 * max(high - low, 1e-12)
        panel.set_ylim(low - margin, high + margin)
        panel.set_ylabel(f"friction [{units.torque}]")
        panel.set_xlabel(f"velocity [{units.velocity}]")
        panel.set_title(joint_title(robot, found.joint), parse_math=False)
        panel.axhline(0, color="#9a9a9a", lw=0.7, zorder=1.2)
        panel.axvline(0, color="#9a9a9a", lw=0.7, zorder=1.2)
    points = {**POINT, "ms": 3.5}
    handles = [Line2D([], [], label="measured", **points), Line2D([], [], label="fitted", **_CURVE)]
    paper.legend(handles, ncols=2)
    return paper.figure
