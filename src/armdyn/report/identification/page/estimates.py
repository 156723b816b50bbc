"""Estimates, friction and residuals."""

from __future__ import annotations

from armdyn.identification.estimation.reasons import own_terms, percent, rivals
from armdyn.report.figures.identification.estimates import plot_correlation, plot_estimates
from armdyn.report.figures.identification.friction import draw_friction
from armdyn.report.figures.identification.residuals import draw_residuals
from armdyn.report.identification.friction import FrictionCurve, friction_curves
from armdyn.report.identification.subject import FitSubject
from armdyn.report.page.page import (
    Amount,
    Markup,
    Part,
    Picture,
    code,
    folded,
    join,
    number,
    paragraph,
    table,
    tag,
)
from armdyn.report.page.tables import Heading, TableCell


def write_estimates(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    caption = ["Base parameters with their 99 % intervals, and the description's values. Each is divided by "]
    caption.append("its size; an arrow is an interval that goes on, a cross what these data do not show.")
    related = [
        "Correlation of the estimates. Where it is near 1 or −1, the data hardly tell two of them apart."
    ]
    return [
        paragraph(
            "Standard errors count neighbouring samples by how alike their residuals are. They say how far "
            "noise moves the estimates; a wrong model moves them further."
        ),
        Picture(plot_estimates(fit), "estimates with intervals and nominal values", caption),
        folded("All numbers", _numbers(subject)),
        Picture(plot_correlation(fit), "correlation matrix of the estimates", related, drawing=True),
    ]


def _numbers(subject: FitSubject) -> Markup:
    rows = []
    for row in subject.fit.table():
        relative = Amount(round(100 * row.relative_error, 1), 6, "%") if row.relative_error < 10 else "> 1000"
        worth: tuple[TableCell, ...] = ("–", "–", "–", "–")
        if row.shown:
            worth = (Amount(row.standard_error, 2), relative, Amount(row.low, 3), Amount(row.high, 3))
        numbers = (Amount(row.estimate), *worth, Amount(row.nominal))
        rows.append((code(row.name), *numbers, row.unit, row.flag))
    interval: list[Heading] = [("99 % interval", "from"), ("99 % interval", "to")]
    errors: list[Heading] = ["std. error", "relative"]
    return table(("parameter", "estimate", *errors, *interval, "described", "unit", ""), rows)


def write_friction(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    parts: list[Part] = [paragraph(f"Terms: {fit.model.friction}.")]
    found = rivals(fit)
    if len(found) > 1:
        own = own_terms(fit)
        rows = [(name, "chosen" if name == own else percent(ratio)) for name, ratio in found.items()]
        text = "Sets of terms by their error (RMS) on data left out, each with its best width of the sign, "
        text += "Stribeck velocity and damping. A further term must gain half a percent."
        parts.append(paragraph(text))
        parts.append(table(("terms", "error against the chosen"), rows))
    if subject.training:
        curves = friction_curves(fit, subject.training)
        caption = ["Friction over speed. A point is a measured torque minus everything in the model but "]
        caption.append("the friction of this joint; points far from the curve near zero speed are sticking.")
        parts.append(Picture(draw_friction(fit.robot, curves), "friction curves of the joints", caption))
        found_of = [(str(curve.joint + 1), _coefficients(curve)) for curve in curves]
        parts.append(table(("joint", "coefficients (SI units)"), found_of))
    return parts


def _coefficients(curve: FrictionCurve) -> Markup:
    return join((join([code(name), "\u00a0", number(x, 4)]) for name, x in curve.coefficients), ", ")


def write_residuals(subject: FitSubject) -> list[Part]:
    if not subject.shown:
        return [paragraph("The logs were not given to the report: there are no residuals to draw.")]
    what = "validation" if subject.validation else "training"
    caption = [f"Measured minus predicted torques of the {what} data, over time, position and velocity. "]
    caption.append("A trend over position hints at masses, one over velocity at friction, ")
    caption.append("bursts in time at contacts.")
    parts: list[Part] = [
        Picture(draw_residuals(subject.fit.robot, subject.shown), "residuals of each joint", caption)
    ]
    checked = subject.fit.validation
    if checked is not None:
        rows: list[tuple[TableCell, ...]] = []
        for j, x in enumerate(checked.joints):
            apart = [Amount(round(float(x.whiteness.correlations[k - 1]), 3), 4) for k in (1, 5, 20)]
            rows.append((str(j + 1), *apart, x.whiteness.verdict))
        parts += [
            tag("h3", "Are they noise?"),
            paragraph(
                "Autocorrelation of the residuals of samples 1, 5 and 20 apart, and the verdict by the test "
                "of Ljung and Box. Residuals that are not white are what the model does not have: friction "
                "that it describes badly, elasticity, ripple."
            ),
            table(("joint", "1 apart", "5 apart", "20 apart", "verdict"), rows),
        ]
    return parts
