"""Exact numbers -> what a robot file has for them: 2, 0.4318, "1/3", "pi/2", "l1 - a1"."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from armdyn.expression import Expression, decimal_places, exact_float
from armdyn.expression.parser import MAX_EXPONENT
from armdyn.expression.terms import Atom, Monomial

Written = int | float | str
_LONGEST_INTEGER = 10**15
_MOST_DECIMALS = 60
_LONGEST_DIGITS = 250  # of a whole number
_LONGEST = 10**_LONGEST_DIGITS
_LEAST, _MOST = 1e-299, 1e299  # of decimals that are surely read
_SHORT = 1000  # of a denominator that is written behind a product


def written(x: object) -> Written:
    """A number as a table has it: an integer, a float that is read as exactly this decimal, or a text."""
    exact = Expression.of(x)
    number = exact.number
    return text_of(exact) if number is None else _number(number)


def written_all(entries: Iterable[object]) -> list[Written]:
    return [written(x) for x in entries]


def text_of(x: Expression) -> str:
    """An expression as a text that reads as the same expression."""
    text = ""
    positive = next((term for term in x.terms if term[1] > 0), None)  # which reads best in front
    for monomial, coefficient in sorted(x.terms, key=lambda term: term is not positive):
        sign = (" - " if coefficient < 0 else " + ") if text else ("-" if coefficient < 0 else "")
        text += sign + _term(monomial, abs(coefficient))
    return text or "0"


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    """A product; where the factor is a simple fraction, its denominator stands at the end: pi/2, a1/3."""
    n, d = coefficient.numerator, coefficient.denominator
    constant = bool(monomial) and all(atom.kind in ("pi", "sqrt") for atom, _ in monomial)
    behind = (
        1 < d < _SHORT and n < _SHORT and bool(monomial) and (constant or decimal_places(coefficient) is None)
    )
    factors = [_atom(atom) + (f"**{e}" if e != 1 else "") for atom, k in monomial for e in _powers(k)]
    front = Fraction(n) if behind else coefficient
    if front != 1 or not factors:
        factors.insert(0, str(_number(front)))
    return "*".join(factors) + (f"/{d}" if behind else "")


def _atom(atom: Atom) -> str:
    if atom.argument is None:
        return atom.name
    return f"{'inv' if atom.kind == 'inverse' else atom.kind}({text_of(atom.argument)})"


def _powers(exponent: int) -> list[int]:
    """An exponent as a sum of such that the reader takes."""
    sign, rest = (1 if exponent > 0 else -1), abs(exponent)
    parts = []
    while rest:
        parts.append(sign * min(rest, MAX_EXPONENT))
        rest -= abs(parts[-1])
    return parts


def _number(x: Fraction) -> Written:
    if x.denominator == 1 and abs(x) < _LONGEST_INTEGER:
        return int(x)
    decimal = exact_float(x)
    return _fraction_text(x) if decimal is None or not _LEAST <= abs(decimal) <= _MOST else decimal


def _fraction_text(x: Fraction) -> str:
    """1/3, or a decimal of many digits where that is shorter."""
    ratio = _whole(x.numerator) + (f"/{_whole(x.denominator)}" if x.denominator != 1 else "")
    places = decimal_places(x)
    if not places or places >= _MOST_DECIMALS:
        return ratio
    digits = f"{abs(x.numerator) * 10**places // x.denominator:0{places + 1}d}"
    text = f"{'-' if x < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    return text if len(text) <= len(ratio) else ratio


def _whole(n: int) -> str:
    """A whole number; one longer than what is read as a number, as a sum of such."""
    if abs(n) < _LONGEST:
        return str(n)
    front, rest = divmod(abs(n), _LONGEST)
    text = f"{_whole(front)}*1e{_LONGEST_DIGITS}" + (f" + {rest}" if rest else "")
    return f"{'-' if n < 0 else ''}({text})"
