"""Expressions as texts that read as the same expression."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from armdyn.expression.terms import Monomial


def terms_text(terms: Iterable[tuple[Monomial, Fraction]]) -> str:
    """A sum of terms; "0" without any."""
    text = "".join(_signed(_term_text(m, c)) for m, c in terms)
    if not text:
        return "0"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def decimal_text(x: Fraction) -> str:
    """A rational as people write it: 50, 0.4318, -1/3, 3.3e-05."""
    if x.denominator == 1 and abs(x.numerator) < 10**15:
        return str(x.numerator)
    if abs(x.denominator) < 1000 and abs(x.numerator) < 1000 and decimal_places(x) is None:
        return f"{x.numerator}/{x.denominator}"
    if abs(x) >= 10**300:
        return f"{x.numerator}/{x.denominator}" if x.denominator != 1 else str(x.numerator)
    return f"{x.numerator}/{x.denominator}" if exact_float(x) is None else repr(float(x))


def exact_float(x: Fraction) -> float | None:
    """The float that is written as exactly this decimal, if there is one."""
    try:
        found = float(x)
    except OverflowError:
        return None
    return found if Fraction(repr(found)) == x else None


def decimal_places(x: Fraction) -> int | None:
    """How many digits a decimal has behind the point; None for a number that does not end."""
    twos = (x.denominator & -x.denominator).bit_length() - 1
    rest, fives = x.denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    factors = [str(a) if e == 1 else f"{a}**{e}" for a, e in monomial]
    if abs(coefficient) != 1 or not factors:
        factors.insert(0, decimal_text(abs(coefficient)))
    return ("-" if coefficient < 0 else "") + "*".join(factors)


def _signed(term: str) -> str:
    return f" - {term[1:]}" if term.startswith("-") else f" + {term}"
