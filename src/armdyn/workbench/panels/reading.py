"""HTML in the page that is written anew when it changes."""

from __future__ import annotations

from armdyn.report.page.markup import Markup
from armdyn.workbench.bench.bench import Bench


class Reading:
    """A place in the panel that is being built, for markup whose names are escaped.

    viser sends plain strings only, and shows HTML as it is: so nothing but `Markup` comes in here.
    """

    def __init__(self, bench: Bench, markup: Markup | None = None) -> None:
        self._handle = bench.gui.add_html("" if markup is None else str.__str__(markup))

    def show(self, markup: Markup) -> None:
        if not isinstance(markup, Markup):
            raise TypeError(f"expected Markup, found {type(markup).__name__}")
        text = str.__str__(markup)
        if text != self._handle.content:
            self._handle.content = text

    @property
    def visible(self) -> bool:
        return bool(self._handle.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._handle.visible = visible
