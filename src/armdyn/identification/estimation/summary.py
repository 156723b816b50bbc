"""A fit in plain text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from armdyn.identification.estimation.reasons import reasons
from armdyn.robot.joints import joint_units

if TYPE_CHECKING:
    from armdyn.identification.estimation.fit import Fit

_WIDTH = 100
_INDENT = 12
_FEW = 24  # rows of parameters up to which they stand in one column


def text(fit: Fit, parameters: bool = True) -> str:
    """What was found, what it is worth and why this model."""
    robot = fit.robot
    count = int(fit.factors.rows.sum())
    lines = [
        f"{robot.name}: {len(fit.base)} base parameters by {method_text(fit)}, from {count} torques",
        "",
        *entry("error", [_errors(fit)]),
    ]
    for title, found in reasons(fit):
        lines += entry(title, found)
    lines += ["", *_joints(fit), ""]
    if parameters:
        lines += [*_parameters(fit), ""]
    lines += _worth(fit)
    beware = () if fit.validation is None else fit.validation.warnings
    lines += entry("beware", beware)
    lines += entry("notes", fit.notes)
    return "\n".join(_printable(line.rstrip()) for line in lines)


def _printable(line: str) -> str:
    """Without what a terminal might act on; names of robots and logs come from files."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def entry(title: str, texts: Iterable[str]) -> list[str]:
    """A title and texts beside it, wrapped; nothing where there are none."""
    lines = [line for text in texts for line in wrap(text, _WIDTH - _INDENT, break_long_words=False)]
    return [f"{title if not k else '':{_INDENT}}{line}" for k, line in enumerate(lines)]


def method_text(fit: Fit) -> str:
    bodies = ", bodies that can exist" if fit.consistent else ""
    return f"least squares ({fit.method}{bodies})"


def _errors(fit: Fit) -> str:
    found = f"{100 * fit.training_error:.2f} % in training"
    if fit.validation is None:
        return f"{found}; not validated"
    found += f", {100 * fit.validation.error:.2f} % in validation"
    if len(fit.validation.errors) == 1:
        return f"{found} ({next(iter(fit.validation.errors))})"
    each = ", ".join(f"{name} {100 * error:.2f} %" for name, error in fit.validation.errors.items())
    return f"{found} ({each})"


def _joints(fit: Fit) -> list[str]:
    """Residuals of each joint in training and, where there is one, in validation."""
    heading = ["joint", "residual", "unit"]
    if fit.validation is not None:
        heading += ["validation", "of torque", "worst", "at [s]", "noise"]
    rows = [heading]
    for j, scale in enumerate(fit.factors.squares(fit.x) / np.maximum(fit.factors.rows, 1)):
        row = [str(j + 1), f"{np.sqrt(scale):.3g}", joint_units(fit.robot, j).torque]
        if fit.validation is not None:
            x = fit.validation.joints[j]
            row += [f"{x.rms:.3g}", f"{100 * x.relative:.1f} %", f"{x.worst.residual:.3g}"]
            row += [f"{x.worst.time:.2f}", x.whiteness.verdict]
        rows.append(row)
    return columns(rows)


def _parameters(fit: Fit) -> list[str]:
    """SI units; many stand in two columns."""
    heading = ["parameter", "estimate", "± error", "%", "nominal"]
    rows = []
    for row in fit.table():
        relative = f"{100 * row.relative_error:.1f}" if row.relative_error < 10 else "> 1000"
        sure = [f"{row.standard_error:.2g}", relative] if row.shown else ["–", "–"]
        name = row.name + {"": "", "poorly": " *", "not shown": " ?"}[row.flag]
        rows.append([name, f"{row.estimate:.4g}", *sure, f"{row.nominal:.4g}"])
    if len(rows) <= _FEW:
        return columns([heading, *rows])
    half = (len(rows) + 1) // 2
    left, right = columns([heading, *rows[:half]]), columns([heading, *rows[half:]])
    width = len(left[0])
    return [f"{a:<{width}}    {b}" for a, b in zip_longest(left, right, fillvalue="")]


def _worth(fit: Fit) -> list[str]:
    """How many parameters the data show, and which they do not."""
    table = fit.table()
    unseen = [row.name for row in table if not row.shown]
    poorly = [row.name for row in table if row.flag == "poorly"]
    known = len(table) - len(unseen) - len(poorly)
    texts = [f"{known} of {len(table)} base parameters to 30 % or better; condition {fit.condition:.3g}"]
    if poorly:
        texts.append(f"{len(poorly)} poorly shown (*): the standard error is above 30 % of the estimate")
    if unseen:
        texts.append(
            f"not shown by these data (?), as near to the description as they allow: {', '.join(unseen)}"
        )
    texts.append("a base parameter is named by its leading parameter; fit.base.combinations has all of it")
    return entry("worth", texts)


def columns(rows: list[list[str]]) -> list[str]:
    """Cells in columns: the first to the left, numbers to the right, words to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    numeric = [k > 0 and any(c.isdecimal() for row in rows[1:] for c in row[k]) for k in range(len(widths))]
    return [
        "  ".join(
            f"{cell:>{w}}" if right else f"{cell:<{w}}"
            for cell, w, right in zip(row, widths, numeric, strict=True)
        )
        for row in rows
    ]
