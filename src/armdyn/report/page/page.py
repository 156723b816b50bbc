"""One HTML page, and the parts a report is made of: text, tables, numbers and pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TypeAlias

from matplotlib.figure import Figure

from armdyn.report.figures.drawing import svg
from armdyn.report.page.made import Made
from armdyn.report.page.markup import (
    Markup,
    code,
    facts,
    folded,
    items,
    join,
    paragraph,
    scrolling,
    tag,
    warning,
)
from armdyn.report.page.numbers import Amount, expression, number
from armdyn.report.page.tables import grid, table

__all__ = [
    "POLICY",
    "Amount",
    "Live",
    "Markup",
    "Page",
    "Part",
    "Picture",
    "code",
    "expression",
    "facts",
    "folded",
    "grid",
    "items",
    "join",
    "number",
    "paragraph",
    "scrolling",
    "stylesheet",
    "table",
    "tag",
    "warning",
]

# A browser asks for nothing outside of the page, and runs nothing in it.
POLICY = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'"


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


@dataclass(frozen=True)
class Live:
    """A part of a page with scripts, before its sections; without JavaScript nothing of it is seen."""

    link: Markup  # in the table of contents
    body: Markup
    policy: str  # of the page: which scripts may run
    style: str


@dataclass
class Page:
    """A report in the making. Sections and figures are numbered as they come."""

    title: str
    subtitle: str
    made: Made | None = None
    sections: list[tuple[str, str, Markup]] = field(default_factory=list)  # id, title, what is below it
    figures: int = 0
    live: Live | None = None

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
            tag(
                "meta",
                http_equiv="Content-Security-Policy",
                content=self.live.policy if self.live else POLICY,
            ),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self.title),
            tag("style", Markup(stylesheet() + (self.live.style if self.live else ""))),
        )
        made = [] if self.made is None else [self.made.line()]
        header = tag("header", tag("h1", self.title), tag("p", self.subtitle, class_="subtitle"), *made)
        live = [] if self.live is None else [self.live.body]
        link = [] if self.live is None else [self.live.link]
        nav = tag("nav", tag("p", "Contents"), *link, contents, aria_label="Contents")
        main = tag("main", join([*live, *body], "\n"))
        page = tag("body", tag("div", header, nav, main, class_="page"))
        return f'<!doctype html>\n<html lang="en">\n{head}\n{page}\n</html>\n'


def stylesheet() -> str:
    """The style of every page, with the maths font in it: few computers have one."""
    here = files("armdyn.report")
    font = b64encode(here.joinpath("fonts/maths.woff2").read_bytes()).decode()
    face = f'@font-face {{ font-family: "Armdyn Maths"; src: url("data:font/woff2;base64,{font}"); }}\n'
    return face + here.joinpath("report.css").read_text("utf-8")
