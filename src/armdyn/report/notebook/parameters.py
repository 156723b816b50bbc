"""Cards of base parameters, fits and proofs."""

from __future__ import annotations

from armdyn.exact.engine.proof import Proof
from armdyn.identification.estimation.fit import Fit
from armdyn.report.notebook.cards import ROWS, framed, more, notes
from armdyn.report.page.equations import spelled
from armdyn.report.page.markup import Markup, code, facts, join, tag
from armdyn.report.page.numbers import Amount, number
from armdyn.report.page.tables import TableCell, table
from armdyn.robot.base_parameters import BaseParameters


def base_card(base: BaseParameters) -> Markup:
    free = any(value is None for value in base.robot.symbols.values())
    rows: list[tuple[TableCell, ...]] = []
    for k in range(min(len(base), ROWS)):
        value = () if free else (Amount(float(base.values[k])),)
        rows.append((base.names[k], *value, code(base.combinations[k])))
    text = f"{len(base)} of {len(base.grouping.considered)} parameters, found in {_ROUTES[base.route]}"
    headings = ("", "combination") if free else ("", "value", "combination")
    parts = [tag("div", table(headings, rows), *more(len(base)))] if rows else []
    if base.absent:
        parts.append(tag("p", "No torque depends on ", join(map(code, base.absent), ", ")))
    return framed(f"Base parameters of {base.robot.name}", text, *parts)


_ROUTES = {"exact": "exact arithmetic", "numeric": "numbers"}


def fit_card(fit: Fit) -> Markup:
    entries: list[tuple[str, str]] = [
        ("error in training", join([number(100 * fit.training_error, 3), " %"])),
        ("base parameters", f"{len(fit.base)}, {int(fit.essential.sum())} known to 30 % or better"),
        ("condition number", number(fit.condition, 3)),
    ]
    if fit.validation is not None:
        entries.insert(1, ("error in validation", join([number(100 * fit.validation.error, 3), " %"])))
    rows: list[tuple[TableCell, ...]] = []
    for row in fit.table()[:ROWS]:
        error: TableCell = Amount(row.standard_error, 2) if row.shown else "not shown"
        rows.append((row.name, Amount(row.estimate), error, Amount(row.nominal), row.unit))
    estimates = table(("parameter", "estimate", "std. error", "described", "unit"), rows)
    parts = [facts(entries), tag("div", estimates, *more(len(fit.base)))]
    return framed(f"Fit of {fit.robot.name}", fit.method, *parts)


def proof_card(proof: Proof) -> Markup:
    lines = [f"{spelled(s.text)} ({s.terms} terms compared)" for s in proof.statements]
    return framed(f"Proved for {proof.robot}", "for every posture, motion and parameter", notes(lines))
