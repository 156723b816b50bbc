"""Formulas of pages as MathML, which browsers draw themselves: no script, nothing from elsewhere.

In Markdown they are written as forges and notebooks take them: $…$ in a line, $$…$$ apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from website.links import without_code

APART = re.compile(r"\$\$(?P<formula>.+?)\$\$", re.DOTALL)
INSIDE = re.compile(r"(?<![\\$\w])\$(?![\s$])(?P<formula>[^$]+?)(?<![\s\\])\$(?![\d$])")

NAMED = re.compile(r"<mi>(?:cos|sin|tan|exp|log|sgn|sign|max|min)</mi>")  # a sign after it makes its space


def with_maths(text: str) -> str:
    """The text with its formulas as MathML; code is left alone."""
    text = _replaced(
        text, APART, lambda formula: f'\n\n<div class="maths">{mathml(formula, "block")}</div>\n\n'
    )
    return _replaced(text, INSIDE, lambda formula: mathml(formula, "inline"))


def mathml(formula: str, display: str) -> str:
    from latex2mathml.converter import convert

    found = convert(" ".join(formula.replace(r"\displaystyle", "").split()), display=display)
    return NAMED.sub(r"\g<0><mo>&#x2061;</mo>", found)


def _replaced(text: str, pattern: re.Pattern[str], make: Callable[[str], str]) -> str:
    pieces, done = [], 0
    for found in pattern.finditer(without_code(text)):
        pieces += [text[done : found.start()], make(text[slice(*found.span("formula"))])]
        done = found.end()
    return "".join(pieces) + text[done:]
