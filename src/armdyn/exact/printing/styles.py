"""Styles of formulas: how their parts are spelled, how wide they are, how sums are broken into rows.

Plain text and LaTeX are here, MathML is in `mathml`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple
from xml.etree import ElementTree

from armdyn.exact.basis import Basis
from armdyn.exact.printing.names import Glyph, is_greek, number_text, parameter_glyph, symbol_glyph
from armdyn.expression import ArmdynError, Atom, Expression, parse, shown
from armdyn.expression.expression import Monomial
from armdyn.model.friction import Surface
from armdyn.names import one_line

# ------------------------------------------------------------------------------------------------------------
# Names, which may be any text, as they stand in LaTeX and in Markdown.


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


# ------------------------------------------------------------------------------------------------------------
# Widths of typeset formulas, in em; lengths such as "16cm" as em of 10 pt type.
#
# Letters have the widths of Computer Modern, subscripts those of its smaller sizes, spaces those of TeX.
# Browsers have other fonts that are about as wide.


_POINTS = {"pt": 1.0, "mm": 72.27 / 25.4, "cm": 72.27 / 2.54, "in": 72.27, "em": 10.0}
_LENGTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(pt|mm|cm|in|em)\s*")
NARROWEST = 14.0  # em, about 5 cm: a product of a few factors

# Thousandths of an em: italic letters a … z and A … Z, upright ones, Greek ones
_ITALIC = """
528 429 432 520 465 489 477 576 344 411 520 298 878 600 484 503 446 451 468 361 572 484 715 571 490 465
750 758 714 827 738 643 786 831 439 554 849 680 970 803 762 642 790 759 613 584 682 583 944 828 580 682"""
_UPRIGHT = """
500 555 444 555 444 305 500 555 277 305 527 277 833 555 500 555 527 391 394 388 555 527 722 527 527 444
750 708 722 763 680 652 784 750 361 513 777 625 916 750 777 680 777 736 555 722 750 750 1027 750 750 611"""
_GREEK = """
alpha 639 beta 565 gamma 517 delta 444 epsilon 405 zeta 437 eta 496 theta 469 vartheta 591 iota 353 kappa 576
lambda 583 mu 602 nu 494 xi 437 pi 570 rho 517 sigma 571 tau 437 phi 595 varphi 654 chi 625 psi 651 omega 622
ell 416 Gamma 625 Delta 833 Theta 777 Lambda 694 Xi 666 Pi 750 Sigma 722 Phi 722 Psi 777 Omega 722"""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ITALIC = {a: int(w) / 1000 for a, w in zip(_LETTERS, _ITALIC.split(), strict=True)}
UPRIGHT = {a: int(w) / 1000 for a, w in zip(_LETTERS, _UPRIGHT.split(), strict=True)}
GREEK = {name: int(w) / 1000 for name, w in zip(_GREEK.split()[::2], _GREEK.split()[1::2], strict=True)}
_SIGNS = {"+": 1.222, "-": 1.222, "−": 1.222, "=": 1.333, "·": 0.722, ",": 0.444, ".": 0.278, "/": 0.5}
_SIGNS |= {
    "(": 0.389,
    ")": 0.389,
    "[": 0.278,
    "]": 0.278,
    "|": 0.278,
    "'": 0.3,
    "′": 0.3,
    "…": 1.2,
    "⁢": 0,
    "⁡": 0,
}
_SMALLER = (1.0, 0.8, 0.68)  # of letters in formulas, in their subscripts, and in subscripts of these
_IN_BROWSERS = (1.0, 0.75, 0.62)
_RESERVE = 1.02  # for what letters lean over their widths


def in_em(width: object) -> float:
    """A length as em of 10 pt type."""
    match = _LENGTH.fullmatch(width) if isinstance(width, str) else None
    if match is None:
        raise ArmdynError(
            f"width: found {shown(width)}; expected a length such as '16cm' (cm, mm, in, pt or em)"
        )
    found = float(match[1]) * _POINTS[match[2]] / 10
    if found < NARROWEST:
        raise ArmdynError(f"width: found {shown(width)}; no formula fits into less than 5cm")
    return found


# ---- LaTeX -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^ \n]")
_COMMANDS = {"quad": 1.0, "qquad": 2.0, ",": 0.167, "ldots": 1.2, "cdot": 0.722, "&": 0.0}
_BRACKETS = {"left": 0.46, "right": 0.46, "bigl": 0.46, "bigr": 0.46, "Bigl": 0.6, "Bigr": 0.6}
_BRACKETS |= {"biggl": 0.74, "biggr": 0.74, "Biggl": 0.8, "Biggr": 0.8}


@lru_cache(maxsize=10_000)
def latex_width(formula: str) -> float:
    """The width of a formula in LaTeX; only what armdyn writes is known."""
    return _RESERVE * _Latex(_TOKEN.findall(formula)).row()


class _Latex:
    """Reads tokens from the left; a row ends where they do, or at the brace that closes it."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    @property
    def _ahead(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def row(self, size: int = 0, letters: dict[str, float] = ITALIC) -> float:
        total = widest = 0.0
        while self._ahead not in ("", "}", r"\end"):
            if self._ahead == r"\\":  # a row of a matrix
                self._next()
                total, widest = 0.0, max(widest, total)
                continue
            total += self._one(size, letters) + max(self._scripts(size), default=0.0)
        return max(total, widest)

    def _scripts(self, size: int) -> Iterator[float]:
        while self._ahead in ("_", "^"):
            self._next()
            yield self._one(min(size + 1, 2), ITALIC)

    def _one(self, size: int, letters: dict[str, float]) -> float:
        """Width of what stands in braces, or of one token and what belongs to it."""
        token, scale = self._next(), _SMALLER[size]
        if token == "{":
            width = self.row(size, letters)
            self._next()
            return width
        if token.startswith("\\") and len(token) > 1:
            return self._command(token[1:], size)
        return scale * letters.get(token, _SIGNS.get(token, 0.5))

    def _command(self, name: str, size: int) -> float:
        scale = _SMALLER[size]
        if name in _BRACKETS:
            self._next()  # the bracket itself
            return scale * (_BRACKETS[name] + (0.167 if name in ("left", "right") else 0.0))
        if name in ("frac", "tfrac"):
            inner = min(size + 1, 2) if name == "tfrac" or size else 0
            return max(self._one(inner, ITALIC), self._one(inner, ITALIC)) + 0.24
        if name in ("dot", "ddot", "hat", "bar"):
            return self._one(size, ITALIC)
        if name in ("mathrm", "text", "operatorname"):
            return self._one(size, UPRIGHT) + (0.167 if name == "operatorname" else 0.0)
        if name == "sqrt":
            return self._one(size, ITALIC) + 0.83 * scale
        if name in ("begin", "end"):
            self._one(size, ITALIC)
            return 0.53 + (self.row(size) if name == "begin" else 0.0)
        if name in ("cos", "sin", "exp", "tan", "tanh"):
            return scale * (0.167 + sum(UPRIGHT[letter] for letter in name))
        return scale * GREEK.get(name, _COMMANDS.get(name, 0.5))


# ---- MathML ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=10_000)
def mathml_width(formula: str) -> float:
    """The width of presentation MathML."""
    return _RESERVE * _row_width(ElementTree.fromstring(f"<mrow>{formula}</mrow>"), 0)


def _row_width(node: ElementTree.Element, size: int) -> float:
    return sum(_element(child, size) for child in node)


def _element(node: ElementTree.Element, size: int) -> float:
    smaller, children = min(size + 1, 2), list(node)
    match node.tag:
        case "mi" | "mn" | "mo" | "mtext":
            text = node.text or ""
            letters = ITALIC if node.tag == "mi" and len(text) == 1 else UPRIGHT
            prefix = 0.444 if node.get("form") == "prefix" else 0.0
            return _IN_BROWSERS[size] * (sum(letters.get(c, _SIGNS.get(c, 0.55)) for c in text) - prefix)
        case "msub" | "msup":
            return _element(children[0], size) + _element(children[1], smaller)
        case "msubsup":
            return _element(children[0], size) + max(_element(x, smaller) for x in children[1:])
        case "mfrac":
            inner = smaller if node.get("displaystyle") == "false" or size else size
            return max(_element(x, inner) for x in children) + 0.24
        case "mover":
            return _element(children[0], size)
        case "msqrt":
            return _row_width(node, size) + 0.83
        case "mtable":
            return max(_element(x, size) for x in children)
        case "mspace":
            return float(node.get("width", "0em").removesuffix("em"))
    return _row_width(node, size)


# ------------------------------------------------------------------------------------------------------------
# Sums in rows that fit: broken between terms, and within the brackets of a term that is wider than a row.


class Bracket(str):
    """A sum in brackets to a power, which remembers its terms."""

    terms: tuple[str, ...]
    power: int

    def __new__(cls, text: str, terms: tuple[str, ...], power: int) -> Bracket:
        self = super().__new__(cls, text)
        self.terms, self.power = terms, power
        return self


class Factored(str):
    """A term of a sum, which remembers its factors; one that is subtracted starts with "-"."""

    factors: tuple[str, ...]

    def __new__(cls, text: str, factors: tuple[str, ...]) -> Factored:
        self = super().__new__(cls, text)
        self.factors = factors
        return self


class Unbroken(NamedTuple):
    """A piece that stays in one row: a term, or the part of one from a sign in its brackets to the next."""

    text: str  # starts with "-" where it is subtracted
    depth: int  # of brackets around its beginning
    height: int = 0  # how deep the brackets opened in it are nested


class PrintedRow(NamedTuple):
    text: str
    depth: int
    first: bool


def rows(terms: list[str], style: Style, width: float) -> Iterator[PrintedRow]:
    """A sum in rows of at most a width; a row after the first starts with its sign, and is moved in.

    A term that has to be broken begins a row of its own, unless half of a row is left for it.
    """
    line: list[Unbroken] = []
    first, used = True, 0.0
    for term in terms:
        pieces = _pieces(term, style, width - style.indent(0), 0)
        for i, piece in enumerate(pieces):
            size = style.measure(piece.text) + style.measure(style.plus)
            room = width if first else width - style.indent(line[0].depth if line else piece.depth)
            most = room / 2 if i == 0 and len(pieces) > 1 else room - size
            if line and used > most:
                yield _row(line, style, first)
                line, first, used = [], False, 0.0
            line.append(piece)
            used += size
    yield _row(line, style, first)


def _row(line: list[Unbroken], style: Style, first: bool) -> PrintedRow:
    return PrintedRow(
        style.sum((piece.text for piece in line), continued=not first),
        line[0].depth if line else 0,
        first,
    )


def _pieces(term: str, style: Style, room: float, depth: int) -> list[Unbroken]:
    """A term in one piece if it fits into the room; else brackets are opened, the widest first."""
    found = [Unbroken(term, depth)]
    if not isinstance(term, Factored):
        return found

    def fits(piece: Unbroken) -> bool:
        moved = style.indent(piece.depth) - style.indent(depth)
        return moved + style.measure(style.plus) + style.measure(piece.text) <= room

    brackets = [i for i, factor in enumerate(term.factors) if isinstance(factor, Bracket)]
    opened: set[int] = set()
    for i in sorted(brackets, key=lambda i: -style.measure(term.factors[i])):
        if all(map(fits, found)):
            break
        opened.add(i)
        found = _opened(term, opened, style, room, depth)
    return found


def _opened(term: Factored, opened: set[int], style: Style, room: float, depth: int) -> list[Unbroken]:
    """The pieces of a product some of whose brackets may be broken."""
    found: list[Unbroken] = []
    text, at, height = "-" if term.startswith("-") else "", depth, 0
    for i, factor in enumerate(term.factors):
        text += style.times if i else ""
        if i not in opened or not isinstance(factor, Bracket):
            text += factor
            continue
        before = style.measure(text) if not found else 0.0
        behind = sum(style.measure(x) for x in term.factors[i + 1 :] if not isinstance(x, Bracket))
        inside = room - style.indent(depth + 1) + style.indent(depth)
        tight = inside - max(before, behind) - 2.0
        inner = [
            piece
            for x in factor.terms
            for piece in _pieces(x, style, tight if tight > inside / 2 else inside, depth + 1)
        ]
        height = 1 + max(piece.height for piece in inner)
        text += style.opening(height) + style.sum([inner[0].text])
        for piece in inner[1:]:
            found.append(Unbroken(text, at, height))
            text, at = piece.text, piece.depth
        text += style.closing(height, factor.power)
    return [*found, Unbroken(text, at, height)]


# ------------------------------------------------------------------------------------------------------------
# The styles.


_VARIABLE = re.compile(r"q(d{0,2})(\d+)((?:_\d+)*|_to_\d+)")
_SIGN = re.compile(r"sgn(m?)(\d+)")
_ABSOLUTE = re.compile(r"absr(\d+)")
_DOTS = ("", "dot", "ddot")
_SIZES = ("big", "Big", "bigg", "Bigg")  # of brackets in LaTeX
PAGE = "16cm"  # what is left of A4 between margins of 2.5 cm


@dataclass(frozen=True)
class Style:
    """The spelling of formulas. A term of a sum is a string; one that is subtracted starts with "-".

    A style without `glyph` writes generators by their plain names.
    """

    name: str
    width: float  # of a row, in characters or em
    measure: Callable[[str], float]  # how wide a formula is
    numeral: Callable[[str], str]  # of 12, 3/4, 0.35 and 3.3e-05
    times: str
    plus: str
    minus: str
    negative: str  # in front of a sum's first term
    equals: str
    power: Callable[[str, int], str]
    quotient: Callable[[str, list[str]], str]  # of a product and factors
    parentheses: Callable[[str], str]
    opening: Callable[[int], str]  # of brackets that are broken, which may hold others: 1 if none of them
    closing: Callable[[int, int], str]  # the same, and the power of the bracket
    indent: Callable[[int], float]  # how far a row is moved in that begins within this many broken brackets
    trig: Callable[[str, str], str]
    sub_expression: Callable[[str, int], str]  # a letter and a number
    entry: Callable[[str, tuple[int, ...]], str]  # of an array, indices from one; none: the array itself
    vectors: tuple[str, str, str]  # q, q̇, q̈
    applied: Callable[[str, tuple[str, ...]], str]  # B(q)
    acting: str  # between a matrix and a vector
    matrix: Callable[[Sequence[Sequence[str]]], str]  # of entries row by row; a vector is one of one column
    component: Callable[[str, str], str]  # a formula for a matrix or a vector, and an index
    glyph: Callable[[Glyph], str] | None = None
    function: Callable[[str, str], str] = lambda kind, inner: f"{kind}({inner})"
    letters: tuple[str, str] = ("", "")  # of positions and of their rates, where they are not those of joints
    words: Callable[[str], str] = one_line  # a name, which may be any text
    decimals: bool | None = None  # whether all numbers that are not whole are decimals, or fractions

    @property
    def zero(self) -> str:
        return self.number(Fraction(0))

    def number(self, x: Fraction) -> str:
        return self.numeral(number_text(x, self.decimals))

    def factors(self, number: Fraction, above: list[str], below: list[str]) -> list[str]:
        """A product of constants: its number unless that is one, and a quotient where something is below."""
        if above or not below:
            shown = [] if number == 1 and above else [self.number(number)]
            return [*shown, *([self.over(self.times.join(above), below)] if below else above)]
        if not self.decimals and number.denominator != 1:
            below = [self.number(Fraction(number.denominator)), *below]
            number = Fraction(number.numerator)
        return [self.over(self.number(number), below)]

    def over(self, above: str, below: list[str]) -> str:
        """A quotient by a product; a sum that stands alone below a line needs no brackets."""
        if self.glyph is not None and len(below) == 1 and isinstance(below[0], Bracket):
            below = [self.sum(below[0].terms)] if below[0].power == 1 else below
        return self.quotient(above, below)

    def bracket(self, terms: Iterable[str], power: int = 1) -> Bracket:
        """A sum in brackets, to a power."""
        found = tuple(terms)
        return Bracket(self.power(self.parentheses(self.sum(found)), power), found, power)

    def product(self, factors: Iterable[str], subtracted: bool = False) -> Factored:
        """A term of a sum."""
        found = tuple(factors)
        return Factored(("-" if subtracted else "") + self.times.join(found), found)

    def sum(self, terms: Iterable[str], continued: bool = False) -> str:
        """Terms with their signs between them; a continued sum starts with a sign.

        A term that starts with "=" is what the sum before it amounts to.
        """
        text = ""
        for term in terms:
            subtracted, bare = term.startswith("-"), term[1:] if term[:1] in ("-", "=") else term
            sign = self.equals if term.startswith("=") else self.minus if subtracted else self.plus
            if text:
                text += sign + bare
            elif continued:
                text = sign.lstrip() + bare
            else:
                text = self.negative + bare if subtracted else bare
        return text or self.zero

    def generator(self, name: str, basis: Basis) -> str:
        """A generator of a ring: q1, qd1, sgn1, a parameter in brackets, a function, a symbol."""
        match = _VARIABLE.fullmatch(name)
        if match and (letter := self.letters[bool(match[1])]):
            dots = Glyph(letter, (match[2],), _DOTS[len(match[1])])
            return f"{letter}{match[1]}{match[2]}" if self.glyph is None else self.glyph(dots)
        if self.glyph is None:
            return name
        if match:
            variable = variable_glyph(basis, int(match[2]) - 1, len(match[1]))
            further = match[3].replace("_to_", "…").replace("_", ",")
            return self.glyph(replace(variable, sub=(match[2] + further,)) if further else variable)
        if match := _SIGN.fullmatch(name):
            i = int(match[2]) - 1
            return self.function("sgn", self.speed(basis, i) if match[1] else self._rate(basis, i))
        if name in basis.bells:
            return self.bell(basis, basis.bells[name])
        if name in basis.tanhs:
            return self.tanh(basis, basis.tanhs[name])
        if match := _ABSOLUTE.fullmatch(name):
            return self.function("abs", self.glyph(Glyph("tau", (f"r{match[1]}",))))
        if name.startswith("["):
            return self.glyph(parameter_glyph(name) or Glyph(name))
        if "(" in name:
            return self.expression(parse(name))
        return self.glyph(symbol_glyph(name))

    def _rate(self, basis: Basis, i: int) -> str:
        return f"qd{i + 1}" if self.glyph is None else self.glyph(variable_glyph(basis, i, 1))

    def speed(self, basis: Basis, i: int) -> str:
        """Speed in further friction i: of a motor, or of a joint that moves with several coordinates."""
        return self.speed_of(basis, basis.speeds[i])

    def bell(self, basis: Basis, surface: Surface) -> str:
        """exp(−v⁻² q̇²), by which Stribeck friction fades."""
        speed = self.speed_of(basis, surface)
        square = self.power(speed if len(surface.row) == 1 else self.parentheses(speed), 2)
        factor = 1 / (Expression.of(surface.stribeck_velocity) * surface.stribeck_velocity)
        if len(factor.terms) == 1 and factor.terms[0][1] > 0:
            text = self.monomial(*factor.terms[0], square)
        else:
            text = self.parentheses(self.expression(factor)) + self.times + square
        return self.function("exp", self.sum([f"-{text}"]))

    def tanh(self, basis: Basis, surface: Surface) -> str:
        """tanh(q̇/w), the smooth sign of dry friction."""
        speed, width = self.speed_of(basis, surface), Expression.of(surface.width)
        factor = 1 / width
        if len(factor.terms) == 1 and factor.terms[0][1] > 0:
            whole = speed if len(surface.row) == 1 else self.parentheses(speed)
            return self.function("tanh", self.monomial(*factor.terms[0], whole))
        return self.function("tanh", self.quotient(self.parentheses(speed), [self.expression(width)]))

    def speed_of(self, basis: Basis, surface: Surface) -> str:
        """The speed of a surface."""
        if self.glyph is not None and surface.part != "idler" and surface in basis.exact.coupled_friction:
            return self.glyph(motor_speed(surface.joint))
        return self.sum(self.combination([(factor, self._rate(basis, j)) for j, factor in surface.row]))

    def combination(self, pairs: Iterable[tuple[object, str]]) -> list[str]:
        """The terms of Σ k·x, of exact numbers k and formulas x."""
        terms = []
        for factor, x in pairs:
            k = Expression.of(factor)
            sign, size = ("-", -k) if k.terms[0][1] < 0 else ("", k)
            if len(k.terms) == 1:
                terms.append(sign + self.monomial(*size.terms[0], x))
            else:
                terms.append(self.product([self.bracket(self.parts(size)), x], bool(sign)))
        return terms

    def expression(self, x: Expression) -> str:
        """An exact number of a description."""
        return self.sum(self.parts(x))

    def parts(self, x: Expression) -> list[str]:
        """The signed terms of an exact number."""
        return [("-" if c < 0 else "") + self.monomial(monomial, abs(c)) for monomial, c in x.terms]

    def monomial(self, monomial: Monomial, number: Fraction, *further: str) -> str:
        """A term of an expression, without its sign, times further factors."""
        inverses = [(atom.argument, e) for atom, e in monomial if atom.kind == "inverse"]
        plain = [(self._atom(atom), e) for atom, e in monomial if atom.kind != "inverse"]
        above = [self.power(text, e) for text, e in plain if e > 0]
        below = [self.power(text, -e) for text, e in plain if e < 0]
        below += [self.bracket(self.parts(x), e) for x, e in inverses if x is not None]
        return self.times.join(self.factors(number, [*above, *further], below))

    def _atom(self, atom: Atom) -> str:
        if atom.argument is not None:
            return self.function(atom.kind, self.expression(atom.argument))
        name = "pi" if atom.kind == "pi" else atom.name
        return name if self.glyph is None else self.glyph(symbol_glyph(name))


def variable_glyph(basis: Basis, joint: int, order: int = 0) -> Glyph:
    """ϑ_i for a revolute joint, d_i for a prismatic one (q_i where a length has that name), with dots."""
    letter = "vartheta"
    if basis.joints[joint] == "prismatic":
        letter = "q" if f"d{joint + 1}" in dict(basis.model.symbols) else "d"
    return Glyph(letter, (str(joint + 1),), _DOTS[order])


def motor_speed(joint: int) -> Glyph:
    """ϑ̇_m of a joint's motor."""
    return Glyph("vartheta", (Glyph("m", (str(joint + 1),)),), "dot")


def index_text(indices: tuple[int, ...]) -> str:
    return ("" if max(indices, default=0) < 10 else ",").join(map(str, indices))


# ---- plain text and LaTeX --------------------------------------------------------------------------------


def _text_entry(letter: str, indices: tuple[int, ...]) -> str:
    """b[1,2]: c12 is the cosine of q1 + q2."""
    return f"{letter}[{','.join(map(str, indices))}]" if indices else letter


def _text_quotient(above: str, below: list[str]) -> str:
    return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({'*'.join(below)})"


def _text_matrix(rows: Sequence[Sequence[str]]) -> str:
    lines = [", ".join(row) for row in rows]
    return f"[{', '.join(lines if len(rows[0]) == 1 else [f'[{line}]' for line in lines])}]"


def _latex_matrix(rows: Sequence[Sequence[str]]) -> str:
    lines = r" \\ ".join(" & ".join(row) for row in rows)
    return rf"\begin{{bmatrix}} {lines} \end{{bmatrix}}"


def _latex_numeral(text: str) -> str:
    if "/" in text:
        top, bottom = text.split("/")
        return rf"\tfrac{{{top}}}{{{bottom}}}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return text


def _latex_glyph(glyph: Glyph) -> str:
    """Dots take braces, as in \\dot{\\vartheta}_{1}; hat and bar stand before one letter."""
    command = is_greek(glyph.head) or glyph.head in ("ell", "partial")
    text = f"\\{glyph.head}" if command else glyph.head.replace("_", r"\_")
    if len(glyph.head) > 1 and not command:
        text = rf"\mathrm{{{text}}}"
    if glyph.accent:
        text = rf"\{glyph.accent}{{{text}}}" if "dot" in glyph.accent else rf"\{glyph.accent} {text}"
    for sign, script in (("_", glyph.sub), ("^", glyph.sup)):
        inner = "".join(part if isinstance(part, str) else _latex_glyph(part) for part in script)
        text += f"{sign}{{{inner}}}".replace("…", r"\ldots ") if inner else ""
    return text


def _latex_function(kind: str, inner: str) -> str:
    patterns = {
        "sgn": rf"\operatorname{{sgn}}({inner})",
        "sqrt": rf"\sqrt{{{inner}}}",
        "abs": rf"\left|{inner}\right|",
    }
    return patterns.get(kind, rf"\{kind}({inner})")


def _latex_closing(height: int, power: int) -> str:
    return rf"\{_SIZES[min(height, 4) - 1]}r)" + ("" if power == 1 else f"^{{{power}}}")


TEXT = Style(
    name="text",
    width=110,
    measure=lambda formula: len(formula.replace(" ", "")),
    numeral=lambda text: text,
    times="*",
    plus=" + ",
    minus=" - ",
    negative="-",
    equals=" = ",
    power=lambda base, e: base if e == 1 else f"{base}**{e}",
    quotient=_text_quotient,
    parentheses=lambda x: f"({x})",
    opening=lambda height: "(",
    closing=lambda height, power: ")" if power == 1 else f")**{power}",
    indent=lambda depth: 0,
    trig=lambda kind, joints: kind + joints.replace(",", "_").replace("…", "_to_"),
    sub_expression=lambda letter, k: f"{letter}{k}",
    entry=_text_entry,
    vectors=("q", "q'", "q''"),
    applied=lambda f, arguments: f"{f}({', '.join(arguments)})",
    acting=" ",
    matrix=_text_matrix,
    component=lambda formula, index: f"{formula}[{index}]",
)
LATEX = Style(
    name="latex",
    width=in_em(PAGE),
    measure=latex_width,
    numeral=_latex_numeral,
    times=" ",
    plus=" + ",
    minus=" - ",
    negative="-",
    equals=" = ",
    power=lambda base, e: base if e == 1 else f"{base}^{{{e}}}",
    quotient=lambda above, below: rf"\frac{{{above}}}{{{' '.join(below)}}}",
    parentheses=lambda x: rf"\left({x}\right)",
    opening=lambda height: rf"\{_SIZES[min(height, 4) - 1]}l(",
    closing=_latex_closing,
    indent=lambda depth: 1.0 + depth,
    trig=lambda kind, joints: f"{kind}_{{{joints}}}".replace("…", r"\ldots "),
    sub_expression=lambda letter, k: _latex_glyph(Glyph(letter, (str(k),))),
    entry=lambda letter, indices: _latex_glyph(Glyph(letter, (index_text(indices),))),
    vectors=("q", r"\dot q", r"\ddot q"),
    applied=lambda f, arguments: f"{f}({', '.join(arguments)})",
    acting=r"\,",
    matrix=_latex_matrix,
    component=lambda formula, index: f"{{[{formula}]}}_{index if len(index) == 1 else f'{{{index}}}'}",
    glyph=_latex_glyph,
    function=_latex_function,
    words=lambda name: rf"\text{{{latex_text(name)}}}",
)
