"""Tables: numbers to the right, their points below each other, a common unit in the head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TypeAlias

from armdyn.expression import Expression
from armdyn.report.findings.tables import Cell, Grid, Values
from armdyn.report.page.markup import Markup, join, tag
from armdyn.report.page.numbers import Amount, column, expression, number

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


def grid(found: Grid) -> Markup:
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
