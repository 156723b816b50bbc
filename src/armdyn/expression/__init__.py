"""Numbers that may be symbols: exact rationals, names, multiples of pi; and the parser that reads them."""

from armdyn.expression.errors import ArmdynError, ExpressionError, MissingValueError
from armdyn.expression.expression import ONE, ZERO, Atom, Expression, decimal_text
from armdyn.expression.parser import expression, parse, rational

__all__ = [
    "ONE",
    "ZERO",
    "ArmdynError",
    "Atom",
    "Expression",
    "ExpressionError",
    "MissingValueError",
    "decimal_text",
    "expression",
    "parse",
    "rational",
]
