"""Names, which may be any text, as they stand in LaTeX and in Markdown."""

from __future__ import annotations

import re
import unicodedata

from armdyn.output import one_line

_LATEX = {
    **{c: rf"\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "ß": r"{\ss}",
    "æ": r"{\ae}",
    "Æ": r"{\AE}",
    "œ": r"{\oe}",
    "Œ": r"{\OE}",
    "ø": r"{\o}",
    "Ø": r"{\O}",
    "ł": r"{\l}",
    "Ł": r"{\L}",
    "ı": r"{\i}",
    "°": r"\ensuremath{^\circ}",
    "²": r"\ensuremath{^2}",
    "³": r"\ensuremath{^3}",
    "·": r"\ensuremath{\cdot}",
    "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}",
    "µ": r"\ensuremath{\mu}",
    "μ": r"\ensuremath{\mu}",
}
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u ",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r ",
    "\u030b": "H ",
    "\u030c": "v ",
    "\u0327": "c ",
}
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|$~&^]|(?<=www)\.|:(?=//)")


def latex_text(text: str) -> str:
    """A name in LaTeX: what it shows, whatever it holds, with any engine and without further packages."""
    return "".join(_latex_character(c) for c in unicodedata.normalize("NFC", one_line(text)))


def _latex_character(c: str) -> str:
    if c in _LATEX:
        return _LATEX[c]
    if c.isascii():
        return c
    parts = unicodedata.normalize("NFD", c)
    letter, mark = parts[0], parts[1:]
    if letter.isascii() and letter.isalpha() and mark in _ACCENTS:
        base = rf"\{letter}" if letter in "ij" else letter  # without their dots
        return rf"{{\{_ACCENTS[mark]}{base}}}"
    return f"[U+{ord(c):04X}]"  # pdfLaTeX stops at a letter that its fonts lack


def markdown_text(text: str) -> str:
    """A name in a line of Markdown: it shows as it is, and makes no link, formula, tag or emphasis."""
    return _MARKDOWN.sub(r"\\\g<0>", one_line(text))
