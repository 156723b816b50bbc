"""How values show themselves in notebooks, and how those without equations write their formulas.

What is drawn is the report's business, what is typeset that of the exact equations, and both come after
what they show. So a value does not know them: when it is asked, the module that knows is found by its name.
Until then nothing is loaded or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

CARDS = "armdyn.report.notebook"  # its `card(value)` is a small page about a value, as HTML
WRITING = "armdyn.exact.augmented"  # its `written(value)` has a value's formulas as text, LaTeX, MathML


class Shown:
    """A value with a card in notebooks, and without its private names in tab completion."""

    def _repr_html_(self) -> str | None:
        return shown_or_none(lambda: str(import_module(CARDS).card(self)))

    def __dir__(self) -> Iterable[str]:
        names = super().__dir__()
        return sorted(x for x in names if not x.startswith("_") or (x.startswith("__") and x.endswith("__")))


class Typeset:
    """A value that is written as formulas: as text, also `str(…)`, LaTeX, Markdown and MathML."""

    def text(self) -> str:
        """All of it as plain text, matrices row by row."""
        return str(_written(self).text())

    def __str__(self) -> str:
        """The text; `repr` where there is none, as of a symbol by the name of a joint variable."""
        return shown_or_none(self.text) or repr(self)

    def latex(self) -> str:
        """All of it as LaTeX (amsmath)."""
        return str(_written(self).latex())

    def markdown(self) -> str:
        """All of it as Markdown with formulas between $$."""
        return str(_written(self).markdown())

    def mathml(self) -> str:
        """All of it as a fragment of HTML, formulas in MathML."""
        return str(_written(self).mathml())

    def _repr_html_(self) -> str | None:
        return shown_or_none(self.mathml)


def _written(value: object) -> Any:
    return import_module(WRITING).written(value)


def shown_or_none(make: Callable[[], str]) -> str | None:
    """What a notebook is given; None, for which it prints `repr`, where making it fails.

    A display comes after the work of a cell: it must not turn that into an error.
    """
    try:
        return make()
    except Exception:
        return None
