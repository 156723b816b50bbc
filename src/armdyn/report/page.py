"""One HTML page, and the parts a report is made of: text, tables, numbers and pictures."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from hashlib import sha256
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from armdyn.description import bundled_robots
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import narrowed, panels_for_narrow
from armdyn.drawing.style import cause_variables, folding, svg
from armdyn.exact.printing.mathml import MATHML
from armdyn.expression import Expression, shown
from armdyn.kernels.cache import own_version
from armdyn.names import one_line
from armdyn.report.robot_tables import Cell, RobotTable, Values
from armdyn.robot import Robot

# ---- HTML elements that escape what they are given --------------------------------------------------------


_VOID = frozenset({"img", "meta", "br", "source"})


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
    if not text.isprintable():  # figures, which are long, are
        text = "".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return escape(text)


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


def facts(entries: Iterable[tuple[str, str]]) -> Markup:
    """Names and values side by side."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in entries), class_="facts"
    )


# The numbers in the texts are those of this book; none of its text is here.
_BOOK = (
    "B. Siciliano, L. Sciavicco, L. Villani and G. Oriolo, ",
    "Robotics: Modelling, Planning and Control",
    ", Springer, 2009 (doi:10.1007/978-1-84628-642-1).",
)
_CITED = re.compile(r"\(7\.\d+\)|(?:figure|section|example|problem) 7(?:\.\d+)+")


def cited(text: str) -> Markup:
    """Text of ours in which numbers of equations, figures and sections lead to the name of their book."""
    return Markup(_CITED.sub(lambda found: tag("a", found[0], href="#book"), _text(text)))


# ---- numbers as people read them: so many digits, a real minus sign, powers of ten ------------------------


_DECIMALS = 10  # after the point, up to which a column of numbers is written without powers of ten


@dataclass(frozen=True)
class Amount:
    """A number in a table: value, digits shown, unit. What is not finite is a dash."""

    value: float
    digits: int = 4
    unit: str = ""


def number(x: float, digits: int = 4) -> Markup:
    """A number in running text: so many digits (whole ones are all kept), a real minus sign."""
    if x == 0 or not np.isfinite(x):
        return Markup("0" if x == 0 else "∞")
    if -5 < _size(x) < 6:
        return _fixed(x, digits)
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    shown = (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa).replace("-", "−")
    return Markup(f"{shown} · 10<sup>{str(int(exponent)).replace('-', '−')}</sup>")


def _size(x: float) -> int:
    return int(np.floor(np.log10(abs(x)))) if x else 0


def _fixed(x: float, digits: int) -> Markup:
    """Without a power of ten; zeros at the end are left out."""
    text = f"{x:.{max(digits - 1 - _size(x), 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return Markup(text.replace("-", "−"))


def expression(x: Expression) -> Markup:
    """An exact number of a description: a number to 6 digits, an expression typeset."""
    return Markup(f"<math>{MATHML.expression(x)}</math>") if x.symbols() else number(float(x.value()), 6)


def column(amounts: Sequence[Amount]) -> list[tuple[Markup, str]]:
    """Each number of a column, and what has to follow it unseen so that the points stand below each other.

    Where some numbers are too small or too large for that, they have powers of ten and are not aligned.
    """
    finite = [a for a in amounts if np.isfinite(a.value)]
    texts = [_fixed(a.value, a.digits) for a in finite]
    most = max((_decimals(text) for text in texts), default=0)
    large = any(_size(a.value) > 5 and a.value % 1 for a in finite)
    if most > _DECIMALS or large:
        return [(number(a.value, a.digits) if np.isfinite(a.value) else Markup("–"), "") for a in amounts]
    found = []
    for a in amounts:
        if not np.isfinite(a.value):
            found.append((Markup("–"), "." + "0" * most if most else ""))
            continue
        text = _fixed(a.value, a.digits)
        has = _decimals(text)
        found.append((text, ("." if most and not has else "") + "0" * (most - has)))
    return found


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


# ---- tables: numbers to the right, their points below each other, a common unit in the head ---------------


Heading: TypeAlias = str | tuple[str, str]  # a title; or that of several columns and the own one
TableCell: TypeAlias = str | Amount  # of a table

_LONG = 28  # letters of a name up to which it stands on one line
_MANY = 12  # names in a column of named numbers up to which each gets a column of its own
_COMPONENTS = {2: ("from", "to"), 3: ("x", "y", "z")}


def table(headings: Iterable[Heading], rows: Iterable[Iterable[TableCell]]) -> Markup:
    """A table as wide as it needs; where the page is narrower it scrolls. Its first column names the rows."""
    lines = [list(row) for row in rows]
    first, *others = headings
    columns = [_names(first, [line[0] for line in lines])]
    before = columns[0].group
    for k, heading in enumerate(others, 1):
        group, title = _titles(heading)
        columns.append(_column(group, title, [line[k] for line in lines], group != before))
        before = group
    body = [tag("tr", *(cell for c in columns for cell in c.cells[i])) for i in range(len(lines))]
    inner = tag("table", tag("thead", *_head(columns)), tag("tbody", *body))
    return tag("div", inner, class_="table scroll", tabindex="0")


@dataclass(frozen=True)
class _Column:
    """A column: what stands over it, its class, and the one or two cells (number, unit) of each row."""

    group: str
    title: str
    kind: str
    cells: list[list[Markup]]
    width: int = 1


def _names(heading: Heading, entries: Sequence[TableCell]) -> _Column:
    cells = []
    for entry in entries:
        text = column([entry])[0][0] if isinstance(entry, Amount) else entry
        long = len(text) > _LONG and not isinstance(text, Markup)
        cells.append([tag("th", text, scope="row", **_class("long" if long else ""))])
    group, title = _titles(heading)
    return _Column(group, title, "", cells)


def _column(group: str, title: str, entries: Sequence[TableCell], apart: bool) -> _Column:
    """Words to the left; numbers to the right, with their units beside them only where these differ.

    The first column below a common title, and the one after it, stand `apart` from those before.
    """
    amounts = [entry for entry in entries if isinstance(entry, Amount)]
    start = "start" if apart else ""
    if not amounts:
        cells = [[tag("td", entry, **_class(start))] for entry in entries if isinstance(entry, str)]
        return _Column(group, title, start, cells)
    units = {a.unit for a in amounts}
    shown, cells, kind = iter(column(amounts)), [], f"n {start}".strip()
    for entry in entries:
        text, pad = next(shown) if isinstance(entry, Amount) else (entry, "")
        cells.append([tag("td", text, **_class(kind), **({"data_pad": pad} if pad else {}))])
        if len(units) > 1:
            cells[-1].append(tag("td", entry.unit if isinstance(entry, Amount) else "", class_="unit"))
    (unit,) = units if len(units) == 1 else ("",)
    return _Column(group, _with_unit(title, unit), kind, cells, len(cells[0]))


def _titles(heading: Heading) -> tuple[str, str]:
    return ("", heading) if isinstance(heading, str) else heading


def _with_unit(title: str, unit: str) -> str:
    return f"{title} [{unit}]".strip() if unit else title


def _head(columns: Sequence[_Column]) -> list[Markup]:
    """One row of titles; two where columns have a common one."""
    grouped = any(c.group for c in columns)
    upper, lower = [], []
    for group, together in groupby(columns, key=lambda c: c.group):
        found = list(together)
        if group:
            span = {"colspan": str(sum(c.width for c in found))} if sum(c.width for c in found) > 1 else {}
            upper.append(tag("th", _unbroken(group), scope="colgroup", class_="group start", **span))
            lower += [_title(c) for c in found]
        else:
            upper += [_title(c, rowspan="2") if grouped else _title(c) for c in found]
    return [tag("tr", *upper), tag("tr", *lower)] if grouped else [tag("tr", *upper)]


def _title(c: _Column, **more: str) -> Markup:
    span = {"colspan": str(c.width)} if c.width > 1 else {}
    return tag("th", _unbroken(c.title), scope="col", **_class(c.kind), **span, **more)


def _unbroken(title: str) -> str:
    """A heading may take two lines; its unit stays whole."""
    name, bracket, unit = title.rpartition("[")
    return name + bracket + unit.replace(" ", "\N{NO-BREAK SPACE}") if bracket else title


def _class(kind: str) -> dict[str, str]:
    return {"class_": kind} if kind else {}


# ---- tables of a description ------------------------------------------------------------------------------


def robot_table(found: RobotTable) -> Markup:
    """A table of the description. Columns in which nothing stands are left out; the numbers of a vector, and
    those with names, get a column each."""
    headings: list[Heading] = []
    columns: list[list[TableCell]] = []
    for k, title in enumerate(found.headings):
        for heading, entries in _split(title, [row[k] for row in found.rows]):
            if any(isinstance(entry, Amount) or entry for entry in entries):
                headings.append(heading)
                columns.append(entries)
    return table(headings, zip(*columns, strict=True))


def _split(title: str, cells: Sequence[Cell]) -> list[tuple[Heading, list[TableCell]]]:
    vectors = [cell for cell in cells if isinstance(cell, Values) and cell.items]
    parts = _parts(vectors)
    if not parts or any(not isinstance(cell, Values) and cell for cell in cells):
        return [(title, [_entry(cell) for cell in cells])]
    common = _shared(x.unit for x in vectors)
    found: list[tuple[Heading, list[TableCell]]] = []
    for k, part in enumerate(parts):
        own = _shared(x.unit_of(part) for x in vectors if part in dict(x.items))
        entries = [_component(cell, k, part, bool(common or own)) for cell in cells]
        if any(isinstance(entry, Markup) for entry in entries):
            entries = [_with_its_unit(entry) for entry in entries]
        above, below = _with_unit(title, common), _with_unit(part, "" if common else own)
        found.append(((above, below) if part else above, entries))
    return found


def _with_its_unit(entry: TableCell) -> TableCell:
    """A number beside symbols: the head cannot have its unit where theirs may be another."""
    if not isinstance(entry, Amount) or not entry.unit:
        return entry
    return join([number(entry.value, entry.digits), f" {entry.unit}"])


def _shared(units: Iterable[str]) -> str:
    """The unit that all have; nothing where they differ."""
    different = set(units)
    return different.pop() if len(different) == 1 else ""


def _parts(vectors: Sequence[Values]) -> tuple[str, ...]:
    """What the columns of these are called; nothing where they have to share one."""
    ordered = sorted(vectors, key=lambda x: -len(x.items))  # the longest know the order of the names
    names = tuple(dict.fromkeys(name for x in ordered for name, _ in x.items))
    if "" not in names:
        return names if len(names) <= _MANY else ()
    lengths = {len(x.items) for x in vectors}
    if len(names) > 1 or len(lengths) > 1:
        return ()
    return {1: ("",), **_COMPONENTS}.get(lengths.pop(), ())


def _component(cell: Cell, k: int, name: str, united: bool) -> TableCell:
    """Number k of a vector, or the number with a name; nothing where there is none."""
    if not isinstance(cell, Values) or not cell.items:
        return ""
    named = dict(cell.items)
    x = named.get(name) if "" not in named else cell.items[k][1]
    return "" if x is None else _exact(x, "" if united else cell.unit_of(name))


def _exact(x: Expression, unit: str = "") -> TableCell:
    if x.symbols():
        return join([expression(x), f" {unit}"]) if unit else expression(x)
    return Amount(float(x.value()), 6, unit)


def _entry(cell: Cell) -> TableCell:
    if isinstance(cell, Expression):
        return _exact(cell)
    if isinstance(cell, Values):
        named = [join([f"{name} ", expression(x)]) if name else expression(x) for name, x in cell.items]
        listed = join(named, ", " if any(name for name, _ in cell.items) else escape(cell.separator))
        return join([listed, f" {cell.unit}"]) if cell.unit and cell.items else listed
    return cell


# ---- when a report was made, with what, and from which description ----------------------------------------


Day: TypeAlias = date | str | None

EPOCH = "SOURCE_DATE_EPOCH"  # https://reproducible-builds.org/specs/source-date-epoch/
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True)
class Made:
    """The line below a report's title."""

    day: date
    source: str  # where the description comes from; empty: from a program

    @classmethod
    def of(cls, robot: Robot | None, day: Day) -> Made:
        """`day` as given; without one, what $SOURCE_DATE_EPOCH says, or today."""
        return cls(_day(day), "" if robot is None else _source(robot))

    def line(self) -> Markup:
        day = f"{self.day.day} {_MONTHS[self.day.month - 1]} {self.day.year}"
        entries = [tag("time", day, datetime=self.day.isoformat()), tag("span", f"armdyn {own_version()}")]
        if self.source:
            entries.append(tag("span", "from ", code(self.source)))
        return tag("p", join(entries, " · "), class_="made")


def _source(robot: Robot) -> str:
    """The file's name, or that of a bundled robot; which folders the file lies in is nobody's business."""
    source, name = robot.model.source, one_line(robot.name)
    return Path(source).name if source in bundled_robots() or not name.startswith(source) else ""


def _day(day: Day) -> date:
    if day is None:
        return _of_epoch(os.environ[EPOCH]) if os.environ.get(EPOCH) else date.today()
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            pass
    elif isinstance(day, date):
        return day.date() if isinstance(day, datetime) else day
    raise ReportError(f"date: found {shown(day)}; a date such as '2026-11-16' is expected")


def _of_epoch(text: str) -> date:
    try:
        return datetime.fromtimestamp(int(text), UTC).date()
    except (ValueError, OverflowError, OSError):
        raise ReportError(f"${EPOCH}: found {shown(text)}; seconds since 1970 are expected") from None


# ---- one HTML page, and the parts a report is made of: text, tables, numbers and pictures -----------------

# A browser asks for nothing outside of the page, and runs nothing in it.
POLICY = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Picture:
    """A figure, what it shows in words (for readers who do not see it), and its caption.

    On a narrow screen a `drawing` shrinks to fit; panels of curves stand one below the other, those of one
    column are drawn again, and what cannot be divided keeps its size and scrolls.
    """

    figure: Figure
    alternative: str
    caption: Sequence[str]
    drawing: bool = False


Part: TypeAlias = Markup | Picture

_NARROW = "(max-width: 40rem)"  # screens for which the style sheet has rules of its own


def _address(text: str) -> str:
    """An SVG as an address."""
    return f"data:image/svg+xml;base64,{b64encode(text.encode()).decode()}"


def _narrow(width: float, height: float) -> dict[str, str]:
    """What a picture has on a narrow screen: its own shape."""
    return {"class_": "folding", "style": f"--narrow: {width:.4g} / {height:.4g}"}


@dataclass(frozen=True)
class Live:
    """A part of a page with scripts, before its sections; without JavaScript nothing of it is seen."""

    link: Markup  # in the table of contents
    body: Markup
    policy: str  # of the page: which scripts may run
    style: str

    @classmethod
    def of(cls, title: str, scripts: Iterable[str], data: Any, style: str) -> Live:
        """A section that is hidden until its scripts show it. Nothing in them comes from names: these are
        data, which they find as JSON."""
        here = files("armdyn.report")
        texts = [here.joinpath("elements.js").read_text("utf-8"), *scripts]
        script = "(() => {\n'use strict';\n" + "\n".join(texts) + "})();\n"
        night = f"@media (prefers-color-scheme: dark) {{ :root {{ {cause_variables(True)} }} }}"
        style = f":root {{ {cause_variables()} }}\n{night}\n{style}"
        body = tag(
            "section",
            tag("h2", title),
            tag("div", id="live-part"),
            tag("script", _json(data), type="application/json", id="live-data"),
            tag("script", Markup(script)),
            id="live",
            hidden="",
        )
        link = tag("p", tag("a", title, href="#live"), id="live-link", hidden="")
        digest = b64encode(sha256(script.encode()).digest()).decode()
        return cls(link, body, f"{POLICY}; script-src 'sha256-{digest}'", style)


def _json(data: Any) -> Markup:
    """Data as JSON that no name can end: every < is written as an escape."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))


@dataclass(frozen=True)
class KeyFigure:
    """A figure of the summary on top of a page."""

    name: str
    value: str
    remark: str = ""
    section: str = ""  # the id of the one that has more
    alarming: bool = False


@dataclass
class Page:
    """A report in the making. Sections and figures are numbered as they come."""

    title: str
    subtitle: str
    made: Made | None = None
    sections: list[tuple[str, str, Markup]] = field(default_factory=list)  # id, title, what is below it
    figures: int = 0
    live: Live | None = None
    contents: bool = True  # whether a table of contents is beside them
    answers: Sequence[KeyFigure] = ()  # on top
    beneath: Sequence[Markup] = ()  # what a reader should know of them

    def add(self, key: str, title: str, parts: Iterable[Part]) -> None:
        """A section; `key` is its id in the page."""
        shown = [self._figure(part) if isinstance(part, Picture) else part for part in parts]
        self.sections.append((key, title, join(shown)))

    def _figure(self, picture: Picture) -> Markup:
        """A picture inside the page, with its number."""
        self.figures += 1
        text, narrow, other = svg(picture.figure, themed=True), {}, ""
        width, height = (round(96 * x) for x in picture.figure.get_size_inches())
        if not picture.drawing and (boxes := panels_for_narrow(picture.figure)):
            text, *size = folding(text, boxes)
            narrow = _narrow(*size)
        elif not picture.drawing and narrowed(picture.figure):
            other = svg(picture.figure, themed=True)
            narrow = _narrow(*picture.figure.get_size_inches())
        image = tag(
            "img",
            src=_address(text),
            alt=picture.alternative,
            width=str(width),
            height=str(height),
            **narrow,
        )
        if other:
            source = tag("source", media=_NARROW, srcset=_address(other))
            image = tag("picture", source, image)
        label = tag("strong", f"Figure {self.figures}.")
        frame = tag("div", image, class_="drawing picture" if picture.drawing else "picture scroll")
        caption = tag("figcaption", label, " ", *picture.caption)
        return tag("figure", frame, caption, id=f"figure-{self.figures}")

    def _summary(self) -> Markup:
        """The answers side by side; each leads to its section where the page has it."""
        keys, cells = {key for key, _, _ in self.sections}, []
        for one in self.answers:
            value = tag("a", one.value, href=f"#{one.section}") if one.section in keys else one.value
            shown = tag("dd", value, **_class("alarming" if one.alarming else ""))
            cells.append(tag("div", tag("dt", one.name), shown, tag("dd", one.remark)))
        return tag("dl", *cells, class_="answers")

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
        top = [*([self._summary()] if self.answers else []), *self.beneath]
        header = tag("header", tag("h1", self.title), tag("p", self.subtitle, class_="subtitle"), *made, *top)
        live = [] if self.live is None else [self.live.body]
        link = [] if self.live is None else [self.live.link]
        nav = [tag("nav", tag("p", "Contents"), *link, contents, aria_label="Contents")]
        if any('href="#book"' in content for _, _, content in self.sections):
            text = "Numbers of equations, figures, sections and examples such as (7.42) are those of "
            named = paragraph(text, _BOOK[0], tag("cite", _BOOK[1]), _BOOK[2])
            body.append(tag("footer", named, id="book"))
        main = tag("main", join([*live, *body], "\n"))
        page = tag("body", tag("div", header, *(nav if self.contents else ()), main, class_="page"))
        return f'<!doctype html>\n<html lang="en">\n{head}\n{page}\n</html>\n'


def stylesheet() -> str:
    """The style of every page, with the maths font in it: few computers have one."""
    here = files("armdyn.report")
    font = b64encode(here.joinpath("fonts/maths.woff2").read_bytes()).decode()
    face = f'@font-face {{ font-family: "Armdyn Maths"; src: url("data:font/woff2;base64,{font}"); }}\n'
    return face + here.joinpath("report.css").read_text("utf-8")
