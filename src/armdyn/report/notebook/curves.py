"""Curves of all joints over time, small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from armdyn.report.figures.drawing import curve, styled

_NAMED = 12  # curves up to which a legend names them


@styled
def joint_curves(t: np.ndarray, panels: Sequence[tuple[str, np.ndarray]]) -> Figure:
    """One panel for each (label, (N, n)) beside the others; joints are numbered from 1."""
    figure = Figure(figsize=(3.1 * len(panels), 2.3), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axis, (label, values) in zip(axes, panels, strict=True):
        for k in range(values.shape[1]):
            curve(axis, t, values[:, k], k, str(k + 1))
        axis.set_xlabel("time [s]")
        axis.set_ylabel(label)
    joints = panels[0][1].shape[1]
    if 1 < joints <= _NAMED:
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", title="joint")
    return figure


def labelled(what: str, units: Sequence[str]) -> str:
    """What an axis shows, with the units of the joints."""
    return f"{what} [{' or '.join(dict.fromkeys(units))}]"
