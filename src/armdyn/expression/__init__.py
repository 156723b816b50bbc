"""Numbers that may be symbols: exact rationals, names, multiples of pi; and the parser that reads them."""

from armdyn.expression.expression import (
    ONE,
    ZERO,
    ArmdynError,
    Atom,
    Expression,
    ExpressionError,
    MissingValueError,
    TooLargeError,
    decimal_places,
    decimal_text,
    exact_float,
    limited,
)
from armdyn.expression.parser import expression, parse, rational
from armdyn.names import listed, shown

__all__ = [
    "ONE",
    "ZERO",
    "ArmdynError",
    "Atom",
    "Expression",
    "ExpressionError",
    "MissingValueError",
    "TooLargeError",
    "decimal_places",
    "decimal_text",
    "exact_float",
    "expression",
    "limited",
    "listed",
    "parse",
    "rational",
    "shown",
]
