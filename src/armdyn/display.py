"""How values show themselves in notebooks.

What is drawn there is the report's business, and the report comes after all that it draws. So a value does
not know it: when a notebook asks, the module that knows is found by its name. Until then nothing is loaded
or drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module

CARDS = "armdyn.report.notebook"  # its `card(value)` is a small page about a value, as HTML


class Shown:
    """A value with a card in notebooks, and without its private names in tab completion."""

    def _repr_html_(self) -> str | None:
        return shown_or_none(lambda: str(import_module(CARDS).card(self)))

    def __dir__(self) -> Iterable[str]:
        names = super().__dir__()
        return sorted(x for x in names if not x.startswith("_") or (x.startswith("__") and x.endswith("__")))


def shown_or_none(make: Callable[[], str]) -> str | None:
    """What a notebook is given; None, for which it prints `repr`, where making it fails.

    A display comes after the work of a cell: it must not turn that into an error.
    """
    try:
        return make()
    except Exception:
        return None
