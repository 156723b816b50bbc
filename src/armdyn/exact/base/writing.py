"""Base parameters as text, LaTeX and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.exact.base.grouping import Grouping
from armdyn.exact.printing.document import Section
from armdyn.exact.printing.names import parameter_glyph
from armdyn.exact.printing.styles import LATEX, TEXT, Style
from armdyn.expression import Expression


def name(k: int) -> str:
    """Of base parameter k, counted from zero."""
    return f"pi{k + 1}"


def spelled(style: Style, k: int) -> str:
    """Base parameter k in a formula."""
    return name(k) if style.glyph is None else style.entry("pi", (k + 1,))


def combination(grouping: Grouping, row: dict[int, Expression], style: Style = TEXT) -> list[str]:
    """The signed terms of a base parameter."""
    style = replace(style, decimals=grouping.decimals)
    return [_term(style, x, _parameter(grouping, p, style)) for p, x in row.items()]


def _parameter(grouping: Grouping, p: int, style: Style) -> str:
    plain = grouping.layout[p].name
    glyph = parameter_glyph(f"[{plain}]")
    return plain if style.glyph is None or glyph is None else style.glyph(glyph)


def _term(style: Style, x: Expression, parameter: str) -> str:
    """A coefficient times a parameter, its sign in front."""
    negative = all(c < 0 for _, c in x.terms)
    size = -x if negative else x
    if len(size.terms) == 1:
        return ("-" if negative else "") + style.monomial(*size.terms[0], parameter)
    return style.product([style.bracket(style.parts(size)), parameter], negative)


def sections(grouping: Grouping, style: Style, notes: Sequence[str]) -> list[Section]:
    """What is known in combinations, what alone, what never appears."""
    lines: dict[bool, list[tuple[str, list[str]]]] = {True: [], False: []}
    for k, row in enumerate(grouping.rows):
        lines[len(row) > 1].append((spelled(style, k), combination(grouping, row, style)))
    found = [Section("Base parameters", " ".join([_count(grouping), *notes]))]
    found += [Section("Combinations", "", lines[True]), Section("Alone", "", lines[False])]
    found += [
        Section("Never appear", _listed(grouping, grouping.absent, style)),
        Section("Left out", _listed(grouping, grouping.left_out, style)),
    ]
    return [section for section in found if section.lines or section.text]


def _count(grouping: Grouping) -> str:
    total, b = len(grouping.considered), len(grouping.rows)
    return (
        f"{b} base {_of(b, 'parameter')} of {total} {_of(total, 'parameter')}: {len(grouping.combined)} of "
        f"these appear in combinations only, {len(grouping.alone)} alone, {len(grouping.absent)} never."
    )


def _of(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _listed(grouping: Grouping, parameters: Sequence[int], style: Style) -> str:
    if not parameters:
        return ""
    names = [_parameter(grouping, p, style) for p in parameters]
    if style is LATEX:
        names = [f"${text}$" for text in names]
    return ", ".join(names) + "."
