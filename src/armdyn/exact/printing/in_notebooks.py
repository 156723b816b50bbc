"""Equations of motion for a notebook."""

from __future__ import annotations

from collections.abc import Iterable

from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.printing.document import COORDINATES, Section, aligned_rows, in_matrices, letters, sections
from armdyn.exact.printing.formulas import SHOWN, displayed
from armdyn.exact.printing.styles import LATEX
from armdyn.output import shown_or_none

_NAMED = (COORDINATES, "Equations of motion", "Where")  # sections that make sense by themselves


def equations_latex(equations: ClosedForm) -> str | None:
    """The equations of motion, with what was named in them; of long ones their form and their size."""
    size = sum(row.size for row in equations.tau)
    whole = displayed(lambda: _whole(equations), size)
    return whole or shown_or_none(lambda: _form(equations, size))


def _whole(equations: ClosedForm) -> str:
    return _aligned(part for part in sections(equations, LATEX, "book") if part.title in _NAMED)


def _form(equations: ClosedForm, size: int) -> str:
    note = rf"\text{{{equations.n} joints, up to {size} terms (more than {SHOWN} are not shown)}}"
    text = _aligned([in_matrices(equations, LATEX, letters("book"))], note)
    return f"$\\displaystyle {text}$"


def _aligned(parts: Iterable[Section], note: str = "") -> str:
    rows = list(aligned_rows([line for part in parts for line in part.lines]))
    rows += [f"& {note}"] if note else []
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
