"""Equations as presentation MathML (MathML Core): what browsers typeset without scripts or fonts of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from armdyn.exact.printing.document import Passage, number_of, room_of
from armdyn.exact.printing.names import Glyph, is_greek
from armdyn.exact.printing.printer import Printed, Printer
from armdyn.exact.printing.styles import Style, in_em, index_text, mathml_width, rows
from armdyn.names import one_line

_TOKEN = re.compile(r"\d+|.")
_PRIME = "'"
_TIMES = "<mo>⁢</mo>"  # invisible times, U+2062
_APPLY = "<mo>⁡</mo>"  # invisible function application, U+2061
_ACCENTS = {"dot": "˙", "ddot": "¨", "hat": "^", "bar": "¯"}
_LETTERS = {
    "theta": "θ",
    "vartheta": "ϑ",
    "phi": "ϕ",
    "varphi": "φ",
    "epsilon": "ϵ",
    "ell": "ℓ",
    "partial": "∂",
}
_RIGHT = 'style="text-align:right;text-align:-webkit-right"'  # Chromium takes plain "right" for left here
_LEFT = 'style="text-align:left"'
_OPEN, _CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
_COLUMNS = 2.8  # em: the sign of equality, and what browsers leave around the cells of a row


class Subscripted(str):
    """An element with a subscript; it remembers its two parts, so that a power stands above the subscript."""

    base: str
    sub: str

    def __new__(cls, base: str, sub: str) -> Subscripted:
        self = super().__new__(cls, f"<msub>{base}{sub}</msub>")
        self.base, self.sub = base, sub
        return self


def _letter(head: str) -> str:
    """The character of a letter's name."""
    if head in _LETTERS:
        return _LETTERS[head]
    if not is_greek(head):
        return escape(head)
    first = ord("Α") if head[0].isupper() else ord("α")
    order = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"
    order += " final-sigma sigma tau upsilon phi chi psi omega"
    return chr(first + order.split().index(head.lower()))


def _row(parts: Iterable[str]) -> str:
    """Elements as one."""
    found = list(parts)
    return found[0] if len(found) == 1 else f"<mrow>{''.join(found)}</mrow>"


def _index(text: str) -> list[str]:
    """A subscript: numbers, letters in italics, commas."""
    elements = []
    for token in _TOKEN.findall(text):
        tag = "mn" if token.isdigit() else "mi" if token.isalpha() else "mo"
        elements.append(f"<{tag}>{escape(token.replace(_PRIME, '′'))}</{tag}>")
    return elements


def _glyph(glyph: Glyph) -> str:
    text = f"<mi>{_letter(glyph.head)}</mi>"
    if glyph.accent:
        accent = f'<mo stretchy="false">{_ACCENTS[glyph.accent]}</mo>'
        text = f'<mover accent="true">{text}{accent}</mover>'
    sub, sup = _script(glyph.sub), _script(glyph.sup)
    if sup:
        return f"<msubsup>{text}{sub}{sup}</msubsup>" if sub else f"<msup>{text}{sup}</msup>"
    return Subscripted(text, sub) if sub else text


def _script(parts: Iterable[str | Glyph]) -> str:
    """A subscript or a superscript as one element; nothing of nothing."""
    found: list[str] = []
    for part in parts:
        found += _index(part) if isinstance(part, str) else [_glyph(part)]
    return _row(found) if found else ""


def _numeral(text: str) -> str:
    if "/" in text:
        top, bottom = text.split("/")
        return f'<mfrac displaystyle="false"><mn>{top}</mn><mn>{bottom}</mn></mfrac>'
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"<mn>{mantissa}</mn><mo>·</mo>{_power('<mn>10</mn>', int(exponent))}"
    return f"<mn>{text}</mn>"


def _power(base: str, e: int) -> str:
    if e == 1:
        return base
    exponent = f"<mn>{e}</mn>" if e >= 0 else f"<mrow><mo>−</mo><mn>{-e}</mn></mrow>"
    if isinstance(base, Subscripted):
        return f"<msubsup>{base.base}{base.sub}{exponent}</msubsup>"
    return f"<msup>{base}{exponent}</msup>"


def _parentheses(inner: str) -> str:
    """Parentheses of one size: stretched ones leave gaps around what is barely taller than a letter."""
    return f"<mrow>{_OPEN}{inner}{_CLOSE}</mrow>"


def _applied(f: str, arguments: tuple[str, ...]) -> str:
    return f"<mi>{f}</mi>{_APPLY}{_parentheses('<mo>,</mo>'.join(arguments))}"


def _function(kind: str, inner: str) -> str:
    if kind == "sqrt":
        return f"<msqrt>{inner}</msqrt>"
    if kind == "abs":
        return f'<mrow><mo form="prefix">|</mo>{inner}<mo form="postfix">|</mo></mrow>'
    return f"<mrow>{_applied(kind, (inner,))}</mrow>"


def _matrix(rows: Iterable[Iterable[str]]) -> str:
    cells = "\n".join(f"<mtr>{''.join(f'<mtd>{x}</mtd>' for x in row)}</mtr>" for row in rows)
    return f"<mrow><mo>[</mo><mtable>\n{cells}\n</mtable><mo>]</mo></mrow>"


def _entry(letter: str, indices: tuple[int, ...]) -> str:
    return _glyph(Glyph(letter, (index_text(indices),) if indices else ()))


def _dotted(accent: str) -> str:
    return _glyph(Glyph("q", (), accent))


MATHML = Style(
    name="mathml",
    width=40,
    measure=mathml_width,
    numeral=_numeral,
    times=_TIMES,
    plus="<mo>+</mo>",
    minus="<mo>−</mo>",
    negative='<mo form="prefix">−</mo>',
    equals="<mo>=</mo>",
    power=_power,
    quotient=lambda above, below: f"<mfrac><mrow>{above}</mrow><mrow>{_TIMES.join(below)}</mrow></mfrac>",
    parentheses=_parentheses,
    opening=lambda height: _OPEN,
    closing=lambda height, power: _power(_CLOSE, power),
    indent=lambda depth: 1.0 + depth,
    trig=lambda kind, joints: _glyph(Glyph(kind, (joints,))),
    sub_expression=lambda letter, k: _glyph(Glyph(letter, (str(k),))),
    entry=_entry,
    vectors=("<mi>q</mi>", _dotted("dot"), _dotted("ddot")),
    applied=_applied,
    acting=_TIMES,
    matrix=_matrix,
    component=lambda formula, index: (
        f"<msub><mrow><mo>[</mo>{formula}<mo>]</mo></mrow>{_row(_index(index))}</msub>"
    ),
    glyph=_glyph,
    function=_function,
    words=lambda name: f"<mtext>{escape(one_line(name))}</mtext>",
)


def mathml(title: str, parts: list[Passage], width: str | None = None) -> str:
    """A fragment of HTML: headings, and each section's equations as one block of MathML."""
    most = MATHML.width if width is None else in_em(width)
    blocks = [f"<h1>{escape(one_line(title))}</h1>"]
    for section in parts:
        blocks.append(f"<h2>{escape(one_line(section.title))}</h2>")
        blocks += [f"<p>{escape(section.text)}</p>"] if section.text else []
        blocks += [aligned(section.lines, most)] if section.lines else []
    return "\n".join(blocks) + "\n"


def aligned(lines: Sequence[tuple[str, list[str]]], width: float = MATHML.width) -> str:
    """Lines "left = terms" as one block, aligned at the sign; long sums go on over several rows.

    `width`: of the whole block, in em.
    """
    room = room_of(lines, MATHML, width - _COLUMNS)
    found = []
    for left, terms in lines:
        broken = list(rows(terms, MATHML, room))
        for row in broken:
            number = number_of(left) if row is broken[-1] else ""
            space = "" if row.first else f'<mspace width="{1 + row.depth}em"/>'
            found.append(
                _table_row(left, "<mo>=</mo>", row.text, number)
                if row.first
                else _table_row("", "", space + row.text, number)
            )
    table = "\n".join(found)
    return f'<math display="block"><mtable displaystyle="true">\n{table}\n</mtable></math>'


def _table_row(left: str, sign: str, right: str, number: str = "") -> str:
    cells = f"<mtd {_RIGHT}>{left}</mtd><mtd>{sign}</mtd><mtd {_LEFT}>{right}</mtd>"
    cells += f"<mtd {_RIGHT}><mtext>({number})</mtext></mtd>" if number else ""
    return f"<mtr>{cells}</mtr>"


def inline(entry: Printed) -> str:
    """One entry of the equations as an inline formula; what had to be named follows it."""
    printer = Printer(entry.basis, MATHML)
    text = MATHML.sum(entry.parts(printer))
    text += _where((name, MATHML.sum(parts)) for name, parts in printer.definitions.items())
    return f"<math>{text}</math>"


def matrix_mathml(rows: Iterable[Iterable[str]], where: Iterable[tuple[str, str]] = ()) -> str:
    """A matrix of formulas as a block; what was named in them follows it."""
    return f'<math display="block">{_matrix(rows)}{_where(where)}</math>'


def _where(named: Iterable[tuple[str, str]]) -> str:
    return "".join(f'<mo>,</mo><mspace width="1em"/>{name}<mo>=</mo>{value}' for name, value in named)
