"""Styles: how the parts of a formula are spelled. Plain text and LaTeX here, MathML in `mathml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from armdyn.exact.printing.breaking import Bracket, Product
from armdyn.exact.printing.names import Glyph, is_greek, number_text, parameter_glyph, symbol_glyph
from armdyn.exact.printing.titles import latex_text
from armdyn.exact.printing.widths import in_em, latex_width
from armdyn.expression import Atom, Expression, parse
from armdyn.expression.terms import Monomial
from armdyn.output import one_line

if TYPE_CHECKING:
    from armdyn.exact.engine.basis import Basis
    from armdyn.model.friction import Surface

_VARIABLE = re.compile(r"q(d{0,2})(\d+)((?:_\d+)*|_to_\d+)")
_SIGN = re.compile(r"sgn(m?)(\d+)")
_ABSOLUTE = re.compile(r"absr(\d+)")
_DOTS = ("", "dot", "ddot")
_SIZES = ("big", "Big", "bigg", "Bigg")  # of brackets in LaTeX
PAGE = "16cm"  # what is left of A4 between margins of 2.5 cm


@dataclass(frozen=True)
class Style:
    """How to spell things. A term of a sum is a string; one that is subtracted starts with "-".

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
            return [*shown, *([self.quotient(self.times.join(above), below)] if below else above)]
        if not self.decimals and number.denominator != 1:
            below = [self.number(Fraction(number.denominator)), *below]
            number = Fraction(number.numerator)
        return [self.quotient(self.number(number), below)]

    def bracket(self, terms: Iterable[str], power: int = 1) -> Bracket:
        """A sum in brackets, to a power."""
        found = tuple(terms)
        return Bracket(self.power(self.parentheses(self.sum(found)), power), found, power)

    def product(self, factors: Iterable[str], subtracted: bool = False) -> Product:
        """A term of a sum."""
        found = tuple(factors)
        return Product(("-" if subtracted else "") + self.times.join(found), found)

    def sum(self, terms: Iterable[str], continued: bool = False) -> str:
        """Terms with their signs between them; a continued sum starts with a sign."""
        text = ""
        for term in terms:
            subtracted, bare = term.startswith("-"), term.removeprefix("-")
            if text:
                text += (self.minus if subtracted else self.plus) + bare
            elif continued:
                text = (self.minus if subtracted else self.plus).lstrip() + bare
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
        """What slides in further friction i: a motor, or a joint that moves with several coordinates."""
        return self.speed_of(basis, basis.speeds[i])

    def bell(self, basis: Basis, surface: Surface) -> str:
        """exp(−v⁻² q̇²), what Stribeck friction fades with."""
        speed = self.speed_of(basis, surface)
        square = self.power(speed if len(surface.row) == 1 else self.parentheses(speed), 2)
        factor = 1 / (Expression.of(surface.stribeck_velocity) * surface.stribeck_velocity)
        if len(factor.terms) == 1 and factor.terms[0][1] > 0:
            text = self.monomial(*factor.terms[0], square)
        else:
            text = self.parentheses(self.expression(factor)) + self.times + square
        return self.function("exp", self.sum([f"-{text}"]))

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
        above = [self.power(self._atom(atom), e) for atom, e in monomial if e > 0]
        below = [self.power(self._atom(atom), -e) for atom, e in monomial if e < 0]
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
    command = is_greek(glyph.head) or glyph.head == "ell"
    text = f"\\{glyph.head}" if command else glyph.head.replace("_", r"\_")
    if len(glyph.head) > 1 and not command:
        text = rf"\mathrm{{{text}}}"
    if glyph.accent:
        text = rf"\{glyph.accent}{{{text}}}" if "dot" in glyph.accent else rf"\{glyph.accent} {text}"
    sub = "".join(part if isinstance(part, str) else _latex_glyph(part) for part in glyph.sub)
    sub = sub.replace("…", r"\ldots ")
    return f"{text}_{{{sub}}}" if sub else text


def _latex_function(kind: str, inner: str) -> str:
    patterns = {
        "sgn": rf"\operatorname{{sgn}}({inner})",
        "sqrt": rf"\sqrt{{{inner}}}",
        "abs": rf"\left|{inner}\right|",
        "inverse": rf"\left({inner}\right)^{{-1}}",
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
    glyph=_latex_glyph,
    function=_latex_function,
    words=lambda name: rf"\text{{{latex_text(name)}}}",
)
