"""Sections of formulas as a document: plain text, LaTeX, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style, in_em, latex_text, markdown_text, rows
from armdyn.names import one_line

_TERMS_ALIGNED = 100
_NARROWEST = 60  # characters of text that a line has at least, however long its left side is
_SIGN = re.compile(r" [+-] ")
_NUMBER = 4.5  # em beside formulas that the numbers of equations take


class Numbered(str):
    """The left side of an equation, which remembers the number that the book has for it."""

    number: str

    def __new__(cls, text: str, number: str) -> Numbered:
        self = super().__new__(cls, text)
        self.number = number
        return self


def number_of(left: str) -> str:
    """The number of an equation by its left side, "" without one."""
    return left.number if isinstance(left, Numbered) else ""


@dataclass
class Passage:
    """A heading, a sentence, and lines "left = terms"."""

    title: str
    text: str = ""
    lines: list[tuple[str, list[str]]] = field(default_factory=list)


def text(title: str, parts: list[Passage]) -> str:
    blocks = [one_line(title), "=" * len(one_line(title))]
    for section in parts:
        blocks += ["", one_line(section.title), "-" * len(one_line(section.title))]
        blocks += [section.text] if section.text else []
        for left, terms in section.lines:
            width = max(_NARROWEST, int(TEXT.width) - len(left) - 3)
            lines = [part for line in _lines(terms, width) for part in _folded(line, width)]
            if number := number_of(left):
                fits = len(lines[-1]) + len(number) + 4 <= width
                lines[-1:] = [f"{lines[-1]}  ({number})"] if fits else [lines[-1], f"({number})"]
            indent = "\n" + " " * (len(left) + 3)
            blocks.append(f"{left} = {indent.join(lines)}")
    return "\n".join(blocks) + "\n"


def latex(title: str, parts: list[Passage], width: str = PAGE) -> str:
    """A fragment for a document with amsmath, its rows at most as wide as `width` in 10 pt type."""
    most = in_em(width)
    blocks = [rf"\section*{{{latex_text(title)}}}"]
    for section in parts:
        blocks.append(rf"\subsection*{{{latex_text(section.title)}}}")
        blocks += [section.text] if section.text else []
        blocks += [_align(lines, "align*", most) for lines in _chunks(section.lines)]
    return "\n".join(blocks) + "\n"


def _chunks(lines: list[tuple[str, list[str]]]) -> Iterator[list[tuple[str, list[str]]]]:
    """Lines in portions that TeX can align at once."""
    chunk: list[tuple[str, list[str]]] = []
    for line in lines:
        if chunk and sum(len(terms) for _, terms in chunk) + len(line[1]) > _TERMS_ALIGNED:
            yield chunk
            chunk = []
        chunk.append(line)
    if chunk:
        yield chunk


def markdown(title: str, parts: list[Passage], width: str = PAGE) -> str:
    return "\n".join([f"# {markdown_text(title)}", "", *markdown_lines(parts, width)])


def markdown_lines(parts: list[Passage], width: str = PAGE, heading: str = "##") -> list[str]:
    """The lines of a Markdown document, each passage under a heading of this level."""
    most = in_em(width)
    blocks = []
    for section in parts:
        blocks += [f"{heading} {markdown_text(section.title)}", ""]
        blocks += [section.text, ""] if section.text else []
        for line in section.lines:
            blocks += ["$$", _align([line], "aligned", most), "$$", ""]
    return blocks


def _align(lines: list[tuple[str, list[str]]], environment: str, width: float) -> str:
    """The lines in align*, or one line in aligned: there a number stands behind the environment."""
    found = " \\\\\n".join(aligned_rows(lines, width, numbered=environment == "align*"))
    tag = _tag(lines[0][0]) if environment == "aligned" else ""
    return f"\\begin{{{environment}}}\n{found}\n\\end{{{environment}}}{tag}"


def _tag(left: str) -> str:
    return rf" \tag{{{number}}}" if (number := number_of(left)) else ""


def aligned_rows(
    lines: Sequence[tuple[str, list[str]]], width: float = LATEX.width, numbered: bool = False
) -> Iterator[str]:
    """Lines "left = terms" as rows of an environment of amsmath that aligns them at &."""
    room = room_of(lines, LATEX, width)
    for left, terms in lines:
        found = []
        for row in rows(terms, LATEX, room):
            space = r"\quad" * (1 + row.depth)
            found.append(f"{left} &= {row.text}" if row.first else f"  &{space} {row.text}")
        yield from found[:-1]
        yield found[-1] + (_tag(left) if numbered else "")


def room_of(lines: Sequence[tuple[str, list[str]]], style: Style, width: float) -> float:
    """Width that is left for sums beside the widest of their left-hand sides, in rows of a width."""
    width -= _NUMBER if any(number_of(left) for left, _ in lines) else 0.0
    left = max((style.measure(left) for left, _ in lines), default=0.0) + style.measure(style.equals)
    return max(width - left, width / 3)


def _lines(terms: list[str], width: int) -> Iterator[str]:
    """A sum of text in lines, broken between its terms."""
    line: list[str] = []
    first, used = True, 0
    for term in terms:
        if line and used + len(term) + 3 > width:
            yield TEXT.sum(line, continued=not first)
            line, first, used = [], False, 0
        line.append(term)
        used += len(term) + 3
    yield TEXT.sum(line, continued=not first)


def _folded(line: str, width: int) -> Iterator[str]:
    """A line of text in parts that are not too long: a term breaks at signs within its outer brackets."""
    while len(line) > width:
        start = len(line) - len(line.lstrip())
        signs = [m.start() for m in _SIGN.finditer(line, start + 2, width)]
        if not signs:
            break
        far = [i for i in signs if i > width // 3] or signs
        place = min(reversed(far), key=lambda i: len(_open_brackets(line[:i])))
        part, rest = line[:place], line[place + 1 :]
        yield part
        column = (_open_brackets(part) or [start])[-1]
        line = " " * min(column, _NARROWEST // 2) + rest
    yield line


def _open_brackets(line: str) -> list[int]:
    """The columns behind the brackets that are open at the end of a line."""
    found = []
    for i, c in enumerate(line):
        if c == "(":
            found.append(i + 1)
        elif c == ")" and found:
            found.pop()
    return found
