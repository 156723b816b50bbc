"""One HTML page: elements that escape what they are given, and the parts a report is made of."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure

from armdyn.exact.printing.mathml import MATHML
from armdyn.expression import Expression
from armdyn.report.figures.drawing import svg
from armdyn.report.findings.tables import Cell, Grid, Values

# A browser asks for nothing outside of the page, and runs nothing in it.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_LONG = 28  # letters of a name up to which it stands on one line
_VOID = frozenset({"img", "meta", "br"})


class Markup(str):
    """Text that is HTML already; any other text is escaped when it enters an element."""


def tag(name: str, /, *children: str, **attributes: str) -> Markup:
    """An element; `class_` stands for class, `aria_label` for aria-label."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    listed = "".join(f' {names[key]}="{_escaped(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{listed}>")
    return Markup(f"<{name}{listed}>{join(children)}</{name}>")


def join(children: Iterable[str], separator: str = "") -> Markup:
    found = (child if isinstance(child, Markup) else _text(child) for child in children)
    return Markup(separator.join(found))


def _text(text: str) -> str:
    """Plain text; a percent sign stays with its number."""
    return _escaped(text).replace(" %", "\u00a0%")


def _escaped(text: str) -> str:
    """Text that cannot become markup, nor change the writing direction of what follows it."""
    return escape("".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text))


def paragraph(*children: str) -> Markup:
    return tag("p", *children)


def code(text: str) -> Markup:
    return tag("code", text)


def items(entries: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", entry) for entry in entries))


def warning(*children: str) -> Markup:
    return tag("div", paragraph(*children), class_="warning")


def scrolling(*children: str) -> Markup:
    """What may be wider than a small screen."""
    return tag("div", *children, class_="scroll", tabindex="0")


def folded(summary: str, *children: str) -> Markup:
    """What only some readers want, behind a line they can open."""
    return tag("details", tag("summary", summary), *children)


def expression(x: Expression) -> Markup:
    """An exact number of a description: a number to 6 digits, an expression typeset."""
    return Markup(f"<math>{MATHML.expression(x)}</math>") if x.symbols() else number(float(x.value()), 6)


def number(x: float, digits: int = 4) -> Markup:
    """A number in running text: so many digits (whole ones are all kept), a real minus sign."""
    if x == 0 or not np.isfinite(x):
        return Markup("0" if x == 0 else "∞")
    size = int(np.floor(np.log10(abs(x))))
    if -5 < size < 6:
        text = f"{x:.{max(digits - 1 - size, 0)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return Markup(text.replace("-", "−"))
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    shown = (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa).replace("-", "−")
    return Markup(f"{shown} · 10<sup>{str(int(exponent)).replace('-', '−')}</sup>")


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """A table that scrolls by itself; its first column names the rows."""
    head = tag("tr", *(tag("th", heading, scope="col") for heading in headings))
    body = []
    for row in rows:
        first, *rest = row
        length = {"class_": "long"} if len(first) > _LONG and not isinstance(first, Markup) else {}
        body.append(tag("tr", tag("th", first, scope="row", **length), *(tag("td", cell) for cell in rest)))
    return scrolling(tag("table", tag("thead", head), tag("tbody", *body)))


def grid(found: Grid) -> Markup:
    """A table of the description; columns in which nothing stands are left out."""
    used = [k for k in range(len(found.headings)) if any(_cell(row[k]) for row in found.rows)]
    rows = ([_cell(row[k]) for k in used] for row in found.rows)
    return table([found.headings[k] for k in used], rows)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Expression):
        return expression(cell)
    if isinstance(cell, Values):
        named = [join([f"{name} ", expression(x)]) if name else expression(x) for name, x in cell.items]
        return join(named, ", " if any(name for name, _ in cell.items) else escape(cell.separator))
    return cell


@dataclass(frozen=True)
class Picture:
    """A figure, what it shows in words (for readers who do not see it), and its caption.

    On a narrow screen a `drawing` shrinks to fit; curves keep a size at which they can be read and scroll.
    """

    figure: Figure
    alternative: str
    caption: Sequence[str]
    drawing: bool = False


Part: TypeAlias = Markup | Picture


@dataclass
class Page:
    """A report in the making. Sections and figures are numbered as they come."""

    title: str
    subtitle: str
    sections: list[tuple[str, str, Markup]] = field(default_factory=list)  # id, title, what is below it
    figures: int = 0

    def add(self, key: str, title: str, parts: Iterable[Part]) -> None:
        """A section; `key` is its id in the page."""
        shown = [self._figure(part) if isinstance(part, Picture) else part for part in parts]
        self.sections.append((key, title, join(shown)))

    def _figure(self, picture: Picture) -> Markup:
        """A picture inside the page, with its number."""
        self.figures += 1
        data = b64encode(svg(picture.figure, themed=True).encode()).decode()
        width, height = (round(96 * x) for x in picture.figure.get_size_inches())
        image = tag(
            "img",
            src=f"data:image/svg+xml;base64,{data}",
            alt=picture.alternative,
            width=str(width),
            height=str(height),
        )
        label = tag("strong", f"Figure {self.figures}.")
        frame = tag("div", image, class_="drawing picture" if picture.drawing else "picture scroll")
        caption = tag("figcaption", label, " ", *picture.caption)
        return tag("figure", frame, caption, id=f"figure-{self.figures}")

    def html(self) -> str:
        """The whole page."""
        contents = tag("ol", *(tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in self.sections))
        body = [
            tag("section", tag("h2", f"{k}  {title}"), content, id=key)
            for k, (key, title, content) in enumerate(self.sections, 1)
        ]
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self.title),
            tag("style", Markup(stylesheet())),
        )
        header = tag("header", tag("h1", self.title), tag("p", self.subtitle, class_="subtitle"))
        nav = tag("nav", tag("p", "Contents"), contents, aria_label="Contents")
        page = tag("body", tag("div", header, nav, tag("main", join(body, "\n")), class_="page"))
        return f'<!doctype html>\n<html lang="en">\n{head}\n{page}\n</html>\n'


def stylesheet() -> str:
    return files("armdyn.report").joinpath("report.css").read_text("utf-8")


def cell_number(x: float, digits: int = 4) -> str:
    """A number in a table; a dash where there is none."""
    return number(x, digits) if abs(x) < float("inf") else "–"
