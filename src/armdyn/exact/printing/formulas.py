"""Formulas as notebooks typeset them: LaTeX that MathJax knows, and never so much that a browser waits."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from armdyn.expression import ArmdynError
from armdyn.output import shown_or_none

SHOWN = 500  # terms, multiplied out, up to which entries and equations are typeset in a notebook
_LETTERS = 20_000  # of LaTeX that MathJax sets in a second or so


def matrix_latex(rows: Iterable[Iterable[str]], where: Iterable[str] = ()) -> str:
    """A matrix of formulas; what was named in them follows it."""
    lines = " \\\\\n".join(" & ".join(row) for row in rows)
    return r",\quad ".join(["\\begin{bmatrix}\n" + lines + "\n\\end{bmatrix}", *where])


def displayed(latex: Callable[[], str], terms: int) -> str | None:
    """A formula for a notebook; None where it is too long, or cannot be written."""
    return shown_or_none(lambda: _display(latex(), terms)) if terms <= SHOWN else None


def _display(latex: str, terms: int) -> str:
    if len(latex) > _LETTERS:
        raise ArmdynError(f"{terms} terms with {len(latex)} letters of LaTeX are too long to show")
    return f"$\\displaystyle {latex}$"
