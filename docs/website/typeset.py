"""Formulas that the code of a page prints, typeset by armdyn itself.

A page has what its code prints as text, which any forge shows. Where "<!-- typeset -->" stands above such a
block, the site runs the code of the page up to there, and shows the formulas that it prints as MathML.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import chdir
from html import escape
from pathlib import Path
from typing import Any

from armdyn.exact.printing.mathml import MATHML, aligned
from armdyn.exact.printing.printer import Printer

MARK = "<!-- typeset -->"
BLOCK = re.compile(rf"^(?P<mark>{MARK}\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LABEL = re.compile(r"(?P<before>.*?)(?P<letter>[A-Za-z]+)_?\[?(?P<index>[\d,]*)\]?\s*=\s*", re.DOTALL)
WIDTH = 46.0  # em: of the page's column


def typeset(text: str) -> str:
    """The page with its marked blocks typeset; others are left alone."""
    blocks = list(BLOCK.finditer(text))
    last = max((k for k, block in enumerate(blocks) if block["mark"]), default=-1)
    pieces, done = [], 0
    printed = Printed()
    names: dict[str, Any] = {"__name__": "page", "print": printed}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("figures").mkdir()
        for block in blocks[: last + 1]:
            if block["language"] == "toml":
                Path("my_arm.toml").write_text(block["text"], "utf-8")
            elif block["language"] == "xml":
                Path("my_arm.urdf").write_text(block["text"], "utf-8")
            elif block["language"] == "python":
                printed.lines.clear()
                exec(compile(block["text"], "a page's code", "exec"), names)
            elif block["mark"]:
                pieces += [text[done : block.start()], printed.markup()]
                done = block.end()
    return "".join(pieces) + text[done:]


class Printed:
    """What `print` was given, line by line: formulas as they are."""

    def __init__(self) -> None:
        self.lines: list[list[Any]] = []

    def __call__(self, *things: Any, sep: str = " ", end: str = "\n") -> None:
        self.lines += [[thing] for thing in things] if "\n" in sep else [list(things)]

    def markup(self) -> str:
        """Markdown: plain lines together as text, each formula apart."""
        parts: list[str] = []
        plain: list[str] = []
        for line in [*self.lines, None]:
            if line is not None and not any(hasattr(thing, "mathml") for thing in line):
                plain.append(" ".join(map(str, line)))
                continue
            if plain and "".join(plain).strip():
                parts.append("```text\n" + "\n".join(plain).strip("\n") + "\n```")
            plain = []
            if line is not None:
                parts.append(f'<div class="typeset">{_formulas(line)}</div>')
        return "\n\n".join(parts) + "\n"


def _formulas(line: list[Any]) -> str:
    """A line with formulas; a text that ends in "b12 =" becomes part of the formula after it."""
    found: list[str] = []
    left = ""
    for thing in line:
        if not hasattr(thing, "mathml"):
            label = LABEL.fullmatch(str(thing))
            left = MATHML.sub_expression(label["letter"], label["index"]) if label else ""
            said = label["before"] if label else str(thing)
            found += [f"<span>{escape(said)}</span>"] if said.strip() else []
        else:
            found.append(_formula(left, thing))
            left = ""
    return re.sub(r"\n\s*\n", "\n", "\n".join(found))


def _formula(left: str, thing: Any) -> str:
    if left and hasattr(thing, "basis"):
        printer = Printer(thing.basis, MATHML)
        lines = [(left, thing.parts(printer)), *printer.definitions.items()]
        return aligned(lines, WIDTH)
    text = thing.mathml()
    for name in ("h1", "h2"):  # headings of a value are none of the page
        text = text.replace(f"<{name}>", '<p class="title">').replace(f"</{name}>", "</p>")
    if left and text.count("<math") == 1:
        text = re.sub(r"<math[^>]*>", rf"\g<0>{left}<mo>=</mo>", text)
    return text
