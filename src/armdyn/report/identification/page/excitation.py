"""How the training data moved, how well that shows the parameters, and what the filters did."""

from __future__ import annotations

import numpy as np

from armdyn.report.figures.identification.estimates import plot_singular_values
from armdyn.report.figures.identification.signals import draw_signals, plot_cutoffs
from armdyn.report.identification.excitation import ExcitationFinding
from armdyn.report.identification.signals import signals
from armdyn.report.identification.subject import FitSubject
from armdyn.report.page.page import Amount, Markup, Part, Picture, code, items, join, number, paragraph, table
from armdyn.report.page.tables import Heading, TableCell
from armdyn.robot.joints import joint_units


def write_excitation(found: ExcitationFinding) -> list[Part]:
    fit = found.fit
    logs = ", ".join(found.logs[:8]) + (", …" if len(found.logs) > 8 else "")
    parts: list[Part] = [paragraph(f"The data in the fit: {logs}."), _motion(found)]
    if found.idle:
        parts += [paragraph("Little of what the robot can do was used:"), items(found.idle)]
    text = [
        "The weighted regressor, its columns of length 1, has the condition number ",
        number(fit.condition, 3),
        ". Below 100 is good; above 1000, small errors of the model become large ones of some parameters.",
    ]
    parts.append(paragraph(*text))
    if found.weakest:
        names = join((code(name) for name in found.weakest), ", ")
        parts.append(paragraph("The direction that shows least mixes ", names, "."))
    caption = ["Singular values, of the greatest: dots are directions that the data show, "]
    caption.append("crosses are directions without any effect on these torques (rounding).")
    parts.append(Picture(plot_singular_values(fit), "singular values of the regressor", caption))
    return parts


def _motion(found: ExcitationFinding) -> Markup:
    seen, limits, robot = found.coverage, found.limits, found.fit.robot
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
    return Amount(round(100 * x / limit), 6, "%") if np.isfinite(limit) and limit > 0 else "–"


def write_signals(subject: FitSubject) -> list[Part]:
    fit, parts = subject.fit, list[Part]()
    cutoff = fit.model.problem.cutoff
    if cutoff is None:
        parts.append(paragraph("The logs have velocities and accelerations: nothing was filtered."))
    else:
        text = " Positions are filtered without delay and differentiated; the columns of the regressor pass "
        text += "the same filter, so that torques and model are compared as it shows them."
        parts.append(paragraph("Cut-off ", number(cutoff, 3), " Hz.", text))
    if fit.model.cutoffs:
        caption = ["The error on data left out, for every cut-off tried. The lowest cut-off whose mean "]
        caption.append("square error is within 3 % of the least (dotted) is taken.")
        parts.append(Picture(plot_cutoffs(fit), "errors over cut-offs", caption))
    if subject.log is not None:
        found = signals(fit, subject.log)
        caption = [f"Joint {found.joint + 1} in {found.log}: before and after the filters, "]
        caption.append("over time around its greatest acceleration, and as spectra.")
        what = "signals before and after filtering"
        parts.append(Picture(draw_signals(fit.robot, found), what, caption))
    return parts
