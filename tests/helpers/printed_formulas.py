"""Reading formulas as they are printed: lines "left = right" of Markdown and of pages, and their values.

Nothing here knows the printers: a formula is numbers, signs, brackets, powers, fractions, and letters whose
spelling and value are given. Products are factors side by side.
"""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from typing import NamedTuple

TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e-?\d+)?|v\d+|\*\*-?\d+|[()+\-*/])")
MATHS = re.compile(r'<math display="block">.*?</math>', re.DOTALL)


class Line(NamedTuple):
    """A line of a document: which question and passage it is in, its two sides."""

    question: str
    passage: str
    left: str
    right: object  # LaTeX, or elements of MathML


# ---- what a formula is worth -------------------------------------------------------------------------------


def evaluated(text, values):
    """A formula in numbers, v0, v1 … with these values, signs, brackets, ** and /; side by side: times.

    Numbers are fractions, so that the values may be elements of an exact ring.
    """
    found, end = [], 0
    for token in TOKEN.finditer(text):
        assert token.start() == end, f"not read: {text[end:]!r} in {text!r}"
        end = token.end()
        starts = token[1][0].isalnum() or token[1] == "("
        if found and starts and (found[-1][-1].isalnum() or found[-1][-1] == ")"):
            found.append("*")
        found.append(f"F('{token[1]}')" if token[1][0].isdigit() else token[1])
    assert not text[end:].strip(), f"not read: {text[end:]!r} in {text!r}"
    return eval(
        "".join(found), {"__builtins__": {}, "F": Fraction}, {f"v{k}": x for k, x in enumerate(values)}
    )


class LatexReader:
    """Reads LaTeX; `spelled` has the values of letters."""

    def __init__(self, spelled):
        self.names = sorted(spelled, key=len, reverse=True)
        self.values = [spelled[name] for name in self.names]
        self.numbers = {name: f" v{k} " for k, name in enumerate(self.names)}
        self.letters = re.compile(rf"(?<![\\A-Za-z])(?:{'|'.join(map(re.escape, self.names))})")

    def __call__(self, text):
        """A number, or the rows of a matrix."""
        if matrix := re.fullmatch(r"\\begin\{bmatrix\} (.*) \\end\{bmatrix\}", text):
            return [[self(x) for x in row.split(" & ")] for row in matrix[1].split(r" \\ ")]
        text = re.sub(r"\\(?:left|right|[bB]igg?[lr])(?=[()])|\\quad", "", text)
        text = self.letters.sub(lambda name: self.numbers[name[0]], text)
        text = re.sub(r"\\cdot 10\^\{(-?\d+)\}", r"* 10**\1", text)
        text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        return evaluated(re.sub(r"\^\{(-?\d+)\}", r"**\1", text), self.values)


class MathmlReader:
    """Reads elements of presentation MathML."""

    def __init__(self, spelled):
        self.values = list(spelled.values())
        self.letters = {plain(ET.fromstring(f"<x>{name}</x>")[0]): k for k, name in enumerate(spelled)}

    def __call__(self, nodes):
        """A number, or the rows of a matrix."""
        if len(nodes) == 1 and (table := nodes[0].find("mtable")) is not None:
            return [[self(list(cell)) for cell in row] for row in table]
        return evaluated("".join(_text(x, self.letters) for x in nodes), self.values)


def _text(node, letters):
    if (name := plain(node)) in letters:
        return f" v{letters[name]} "
    match node.tag:
        case "mn":
            return f" {node.text} "
        case "mo":
            return {"−": "-", "\u2062": " ", "·": "*"}.get(node.text, node.text)
        case "mrow":
            return "".join(_text(x, letters) for x in node)
        case "mfrac":
            above, below = (_text(x, letters) for x in node)
            return f"(({above})/({below}))"
        case "msup":
            base, power = (_text(x, letters).strip() for x in node)
            return f"{base}**{power} "
        case "msubsup":
            base = ET.fromstring(f"<msub>{plain(node[0])}{plain(node[1])}</msub>")
            return f"{_text(base, letters).strip()}**{_text(node[2], letters).strip()} "
    raise AssertionError(f"not read: {name}")


def plain(node):
    return re.sub(r"\s+", " ", ET.tostring(node, encoding="unicode").strip())


# ---- lines of documents ------------------------------------------------------------------------------------


def markdown_lines(text):
    """The lines of formulas of a Markdown document, long ones put together."""
    found, question, passage = [], "", ""
    for block in text.split("\n\n"):
        if heading := re.fullmatch(r"## \d+\. (.*)", block):
            question, passage = heading[1], ""
        elif block.startswith("### "):
            passage = block.removeprefix("### ")
        elif block.startswith("$$\n\\begin{aligned}"):
            rows = block.removeprefix("$$\n\\begin{aligned}\n").partition("\n\\end{aligned}")[0]
            first, *more = rows.split(" \\\\\n")
            left, _, right = first.partition(" &= ")
            right += "".join(row.strip().removeprefix("&") for row in more)
            found.append(Line(question, passage, left, right))
    return found


def page_lines(text):
    """The lines of formulas of a page, long ones put together."""
    found, question, passage = [], "", ""
    parts = re.compile(rf"<h2>\d+  (?P<h2>.*?)</h2>|<h3>(?P<h3>.*?)</h3>|{MATHS.pattern}", re.DOTALL)
    for part in parts.finditer(text):
        if part["h2"]:
            question, passage = part["h2"], ""
        elif part["h3"]:
            passage = part["h3"]
        else:
            for left, _, right, *_ in ET.fromstring(part[0])[0]:
                if len(left):
                    found.append(Line(question, passage, "".join(map(plain, left)), []))
                found[-1].right.extend(x for x in right if x.tag != "mspace")
    return found
