"""How the training data moved, and how well that shows the parameters."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from armdyn.drawing.sheet import Given, sheet
from armdyn.drawing.style import COLOURS, GREY, styled
from armdyn.identification.coverage import Coverage
from armdyn.identification.fit import Fit
from armdyn.report.fit.subject import FitSubject, check_fit
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    Picture,
    TableCell,
    code,
    items,
    join,
    number,
    paragraph,
    table,
)
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits, joint_units

_LITTLE = 0.3  # of a limit
_PART = 0.35  # of a direction: parameters with a smaller part in it are not named


def _idle(robot: Robot, j: int, found: Coverage, limits: JointLimits) -> str | None:
    """A joint that used little of its limits, or that hardly moved where it has none."""
    units, speed, span = joint_units(robot, j), found.greatest_speed[j], found.span[j]
    shares = []
    if np.isfinite(limits.velocity[j]) and speed < _LITTLE * limits.velocity[j]:
        share = 100 * speed / limits.velocity[j]
        shares.append(f"was never faster than {speed:.2g} {units.velocity}, {share:.0f} % of its limit")
    room = limits.upper[j] - limits.lower[j]
    if np.isfinite(room) and span < _LITTLE * room:
        shares.append(f"moved through {span:.2g} {units.position}, {100 * span / room:.0f} % of its range")
    if not shares and speed < 1e-3:
        shares.append("stood still")
    return f"joint {j + 1} {' and '.join(shares)}" if shares else None


def _weakest(fit: Fit) -> tuple[str, ...]:
    """Of the base regressor with columns of length 1: the parameters in its least singular direction."""
    A = fit.factors.weighted(fit.scale)[:, :-1] @ fit.base.right_inverse
    lengths = np.sqrt(np.square(A).sum(0))
    at = np.flatnonzero((lengths > 1e-11 * lengths.max(initial=0.0)) & ~fit.not_shown)
    if len(at) < 2:
        return ()
    direction = np.abs(np.linalg.svd(A[:, at] / lengths[at], full_matrices=False)[2][-1])
    order = [k for k in np.argsort(-direction, kind="stable") if direction[k] > _PART]
    return tuple(fit.labels[at[k]] for k in order)


@styled
def plot_singular_values(fit: Fit, *, ax: Given = None) -> Figure:
    """Singular values of the weighted regressor, columns of length 1: how sharply each direction shows."""
    values = np.sort(check_fit(fit).singular_values)[::-1]
    greatest = float(values.max(initial=0.0)) or 1.0
    relative = values / greatest
    floor = 1e-17
    paper = sheet(2.4, ax=ax)
    (panel,) = paper.panels
    seen = relative > 1e-8
    at = np.arange(1, len(values) + 1)
    panel.semilogy(at[seen], relative[seen], linestyle="", marker="o", ms=3, color=COLOURS[1])
    panel.semilogy(
        at[~seen], np.maximum(relative[~seen], floor), linestyle="", marker="x", ms=4, mew=1, color=GREY
    )
    panel.set_xlabel("direction in the space of all parameters")
    panel.set_ylabel("singular value")
    panel.margins(x=0.02)
    return paper.figure


def write_excitation(subject: FitSubject) -> list[Part]:
    fit, logs = subject.fit, subject.fit.training.logs
    coverage, limits = fit.training.coverage, joint_limits(fit.described)
    named = ", ".join(logs[:8]) + (", …" if len(logs) > 8 else "")
    parts: list[Part] = [paragraph(f"The data in the fit: {named}."), _motion(fit.robot, coverage, limits)]
    idle = [said for j in range(fit.robot.n) if (said := _idle(fit.described, j, coverage, limits))]
    if idle:
        parts += [paragraph("Little of what the robot can do was used:"), items(idle)]
    text = [
        "The weighted regressor, its columns of length 1, has the condition number ",
        number(fit.condition, 3),
        ". Below 100 is good; above 1000, small errors of the model become large ones of some parameters.",
    ]
    parts.append(paragraph(*text))
    if weakest := _weakest(fit):
        names = join((code(name) for name in weakest), ", ")
        parts.append(paragraph("The direction that shows least mixes ", names, "."))
    caption = ["Singular values, of the greatest: dots are directions that the data show, "]
    caption.append("crosses are directions without any effect on these torques (rounding).")
    parts.append(Picture(plot_singular_values(fit), "singular values of the regressor", caption))
    return parts


def _motion(robot: Robot, seen: Coverage, limits: JointLimits) -> Markup:
    headings: list[Heading] = ["joint", ("position", "from"), ("position", "to"), ("position", "of range")]
    headings += [("speed", "RMS"), ("speed", "greatest"), ("speed", "of limit"), "acceleration"]
    rows = []
    for j, link in enumerate(robot.model.coordinates):
        units = joint_units(robot, j)
        rows.append(
            (
                f"{j + 1}, {link.joint_label}",
                Amount(seen.lowest[j], 3, units.position),
                Amount(seen.highest[j], 3, units.position),
                _share(seen.span[j], limits.upper[j] - limits.lower[j]),
                Amount(seen.rms_speed[j], 3, units.velocity),
                Amount(seen.greatest_speed[j], 3, units.velocity),
                _share(seen.greatest_speed[j], limits.velocity[j]),
                Amount(seen.greatest_acceleration[j], 3, units.acceleration),
            )
        )
    return table(headings, rows)


def _share(x: float, limit: float) -> TableCell:
    return Amount(float(np.round(100 * x / limit)), 6, "%") if np.isfinite(limit) and limit > 0 else "–"
