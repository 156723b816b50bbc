"""Sums in rows that fit: broken between terms, and within the brackets of a term that is wider than a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from armdyn.exact.printing.styles import Style


class Bracket(str):
    """A sum in brackets to a power, which remembers its terms."""

    terms: tuple[str, ...]
    power: int

    def __new__(cls, text: str, terms: tuple[str, ...], power: int) -> Bracket:
        self = super().__new__(cls, text)
        self.terms, self.power = terms, power
        return self


class Product(str):
    """A term of a sum, which remembers its factors; one that is subtracted starts with "-"."""

    factors: tuple[str, ...]

    def __new__(cls, text: str, factors: tuple[str, ...]) -> Product:
        self = super().__new__(cls, text)
        self.factors = factors
        return self


class Piece(NamedTuple):
    """What stays in one row: a term, or the part of one from a sign in its brackets to the next."""

    text: str  # starts with "-" where it is subtracted
    depth: int  # of brackets around its beginning
    height: int = 0  # how deep the brackets opened in it are nested


class Row(NamedTuple):
    text: str
    depth: int
    first: bool


def rows(terms: list[str], style: Style, width: float) -> Iterator[Row]:
    """A sum in rows of at most a width; a row after the first starts with its sign, and is moved in.

    A term that has to be broken begins a row of its own, unless half of a row is left for it.
    """
    line: list[Piece] = []
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


def _row(line: list[Piece], style: Style, first: bool) -> Row:
    return Row(
        style.sum((piece.text for piece in line), continued=not first),
        line[0].depth if line else 0,
        first,
    )


def _pieces(term: str, style: Style, room: float, depth: int) -> list[Piece]:
    """A term in one piece if it fits into the room; else brackets are opened, the widest first."""
    found = [Piece(term, depth)]
    if not isinstance(term, Product):
        return found

    def fits(piece: Piece) -> bool:
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


def _opened(term: Product, opened: set[int], style: Style, room: float, depth: int) -> list[Piece]:
    """The pieces of a product some of whose brackets may be broken."""
    found: list[Piece] = []
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
            found.append(Piece(text, at, height))
            text, at = piece.text, piece.depth
        text += style.closing(height, factor.power)
    return [*found, Piece(text, at, height)]
