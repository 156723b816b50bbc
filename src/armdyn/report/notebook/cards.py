"""What all cards share: a frame, a title, pictures, and a style that touches nothing else in the notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from matplotlib.figure import Figure

from armdyn.report.figures.drawing import svg
from armdyn.report.page.markup import Markup, tag

ROWS = 14  # of a table in a card; the rest is counted

# Colours are those of the notebook, light or dark. The doubled class outweighs the notebook's own rules.
_STYLE = """
.armdyn-card { max-width: 60rem; font-size: 13px; line-height: 1.45; margin: .3rem 0; }
.armdyn-card .head { margin: 0 0 .4rem; }
.armdyn-card .head span { opacity: .7; margin-left: .6em; }
.armdyn-card .body { display: flex; flex-wrap: wrap; gap: .6rem 1.6rem; align-items: flex-start; }
.armdyn-card .scroll { overflow-x: auto; max-width: 100%; }
.armdyn-card table { border-collapse: collapse; margin: 0; font-size: 12px; }
.armdyn-card.armdyn-card th, .armdyn-card.armdyn-card td { padding: .15rem .55rem; text-align: left; }
.armdyn-card th, .armdyn-card td { white-space: nowrap; }
.armdyn-card th, .armdyn-card td { background: none; }
.armdyn-card thead th { font-weight: 600; vertical-align: bottom; }
.armdyn-card thead tr:last-child > *, .armdyn-card thead [rowspan] { border-bottom: 1px solid #8888; }
.armdyn-card.armdyn-card thead .group { text-align: center; }
.armdyn-card tbody th { font-weight: 500; }
.armdyn-card.armdyn-card .n { text-align: right; font-variant-numeric: tabular-nums; }
.armdyn-card .n[data-pad]::after { content: attr(data-pad); visibility: hidden; }
.armdyn-card.armdyn-card td.unit { padding-left: 0; }
.armdyn-card dl { margin: 0; display: grid; grid-template-columns: max-content auto; gap: .1rem .9rem; }
.armdyn-card dl div { display: contents; }
.armdyn-card.armdyn-card dt { opacity: .7; font-weight: 400; white-space: nowrap; float: none; width: auto; }
.armdyn-card dd { margin: 0; overflow-wrap: anywhere; }
.armdyn-card img { width: 100%; height: auto; border-radius: 3px; background: #fff; }
.armdyn-card p, .armdyn-card ul { margin: .2rem 0; }
""".replace("\n", "")


def framed(title: str, subtitle: str, *parts: str) -> Markup:
    """A card."""
    head = tag("p", tag("strong", title), tag("span", subtitle), class_="head")
    body = tag("div", *parts, class_="body")
    return tag("div", tag("style", Markup(_STYLE)), head, body, class_="armdyn-card")


def picture(figure: Figure, alternative: str, width: float) -> Markup:
    """A figure on white, whatever the notebook's colours; its greatest width is in rem."""
    data = b64encode(svg(figure).encode()).decode()
    image = tag("img", src=f"data:image/svg+xml;base64,{data}", alt=alternative)
    return tag("div", image, style=f"flex: 1 1 {width}rem; max-width: {width}rem; min-width: 14rem")


def notes(texts: Iterable[str]) -> Markup:
    """Remarks, one a line."""
    return tag("ul", *(tag("li", text) for text in texts))


def more(count: int) -> list[Markup]:
    """What is said below a table that was cut."""
    return [tag("p", f"and {count - ROWS} more")] if count > ROWS else []
