"""Numbers as people read them: so many digits, a real minus sign, powers of ten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.exact.printing.mathml import MATHML
from armdyn.expression import Expression
from armdyn.report.page.markup import Markup

_DECIMALS = 10  # after the point, up to which a column of numbers is written without powers of ten


@dataclass(frozen=True)
class Amount:
    """A number in a table: value, digits shown, unit. What is not finite is a dash."""

    value: float
    digits: int = 4
    unit: str = ""


def number(x: float, digits: int = 4) -> Markup:
    """A number in running text: so many digits (whole ones are all kept), a real minus sign."""
    if x == 0 or not np.isfinite(x):
        return Markup("0" if x == 0 else "∞")
    if -5 < _size(x) < 6:
        return _fixed(x, digits)
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    shown = (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa).replace("-", "−")
    return Markup(f"{shown} · 10<sup>{str(int(exponent)).replace('-', '−')}</sup>")


def _size(x: float) -> int:
    return int(np.floor(np.log10(abs(x)))) if x else 0


def _fixed(x: float, digits: int) -> Markup:
    """Without a power of ten; zeros at the end are left out."""
    text = f"{x:.{max(digits - 1 - _size(x), 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return Markup(text.replace("-", "−"))


def expression(x: Expression) -> Markup:
    """An exact number of a description: a number to 6 digits, an expression typeset."""
    return Markup(f"<math>{MATHML.expression(x)}</math>") if x.symbols() else number(float(x.value()), 6)


def column(amounts: Sequence[Amount]) -> list[tuple[Markup, str]]:
    """Each number of a column, and what has to follow it unseen so that the points stand below each other.

    Where some numbers are too small or too large for that, they have powers of ten and are not aligned.
    """
    finite = [a for a in amounts if np.isfinite(a.value)]
    texts = [_fixed(a.value, a.digits) for a in finite]
    most = max((_decimals(text) for text in texts), default=0)
    large = any(_size(a.value) > 5 and a.value % 1 for a in finite)
    if most > _DECIMALS or large:
        return [(number(a.value, a.digits) if np.isfinite(a.value) else Markup("–"), "") for a in amounts]
    found = []
    for a in amounts:
        if not np.isfinite(a.value):
            found.append((Markup("–"), "." + "0" * most if most else ""))
            continue
        text = _fixed(a.value, a.digits)
        has = _decimals(text)
        found.append((text, ("." if most and not has else "") + "0" * (most - has)))
    return found


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])
