"""Reads texts as Expressions, by a walk over Python's syntax tree. Nothing is evaluated as code.

A number may have degrees as its unit, "90deg" or "90°", and is then that angle in radians, exactly.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection
from fractions import Fraction
from functools import lru_cache
from math import comb

from armdyn.expression.expression import Expression, ExpressionError, TooLargeError, added, limited
from armdyn.names import listed

MAX_LENGTH = 2000
MAX_EXPONENT = 16
MAX_TERMS = 1000
MAX_BITS = 4096  # of a numerator or denominator
MAX_PRODUCTS = 30_000  # of terms, to multiply everything out
MAX_NESTING = 100
_FUNCTIONS: dict[str, Callable[[Expression], Expression]] = {
    "cos": Expression.cos,
    "sin": Expression.sin,
    "sqrt": Expression.sqrt,
    "abs": abs,
    "inv": lambda x: Expression.of(1) / x,
}
_ALLOWED = "numbers, 90deg, declared symbols, pi, + - * / **, cos sin sqrt abs and parentheses"
# What makes Python print a SyntaxWarning before it can be refused: "1or 2", "1 is 2", "(1)(2)", "'\\d'".
_ODD = re.compile(
    r"(?<![\w.])[0-9.][\w.]*?(?:and|else|for|if|in|is|not|or)\b|\b(?:is|not)\b|\\|[)\]}'\"][ \t]*[(\[{]"
)
_SHORT = 40  # characters
_PLAIN = re.compile(r"[\w. +/-]*(\*[\w. +/-]+)*", re.ASCII)  # no parentheses, no powers
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
# Possessive: a number of many digits is looked at once.
DEGREES = re.compile(r"(?<![\w.])((?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?)[ \t]*+(?:deg\b|°)", re.ASCII)


def rational(text: str) -> Fraction:
    """A decimal literal as an exact rational; refuses what no double could hold."""
    plain = text.replace("_", "")
    if not _NUMBER.fullmatch(plain) or len(plain) > 400:
        raise ExpressionError(f"expected a finite number, found '{text[:40]}'")
    value = Fraction(plain)
    if value and not Fraction(1, 10**300) < abs(value) < 10**300:
        raise ExpressionError(f"expected a number between 1e-300 and 1e300, found '{text[:40]}'")
    return value


def parse(text: str, known: Collection[str] | None = None, max_length: int = MAX_LENGTH) -> Expression:
    """Read an expression such as "m1*l1**2/12" or "pi/2" in the symbols `known` (None: any name is one)."""
    if len(text) <= _SHORT and _PLAIN.fullmatch(text):
        return _plain(text, None if known is None else tuple(known))
    return _parsed(text, known, max_length)


@lru_cache(1024)
def _plain(text: str, known: tuple[str, ...] | None) -> Expression:
    """A short product or sum, such as "pi/2": robots that differ in a few numbers share most of them."""
    return _parsed(text, known, MAX_LENGTH)


def _parsed(text: str, known: Collection[str] | None, max_length: int) -> Expression:
    if len(text) > max_length:
        raise ExpressionError(f"an expression may have {max_length} characters, this one has {len(text)}")
    text = text.strip().replace("\r\n", "\n").replace("\r", "\n")  # as Python counts lines
    in_radians = DEGREES.sub(r"(\1*pi/180)", text)
    try:
        if _ODD.search(in_radians):
            raise SyntaxError
        tree = ast.parse(in_radians, mode="eval")
        most_terms = MAX_TERMS * min(max_length, 4 * MAX_LENGTH) // MAX_LENGTH
        with limited(MAX_PRODUCTS + 5 * len(text)):
            return _Walker(text, in_radians, known, most_terms).visit(tree.body)
    except TooLargeError as error:
        raise TooLargeError(f"'{text[:60]}' is {error}") from None
    except (RecursionError, MemoryError):
        raise TooLargeError(f"'{text[:60]}' is nested too deeply or has too many terms") from None
    except (SyntaxError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise
        if "digits" in str(error):  # more than Python reads
            raise ExpressionError(f"'{text[:60]}' has a number of too many digits") from None
        raise ExpressionError(f"'{text[:60]}' is not an expression; allowed: {_ALLOWED}") from None


def expression(x: object, known: Collection[str] | None = None) -> Expression:
    """A number, a text or an expression as an `Expression`."""
    return parse(x, known) if isinstance(x, str) else Expression.of(x)


class _Walker:
    def __init__(self, text: str, parsed: str, known: Collection[str] | None, max_terms: int) -> None:
        """`text` is what messages show, `parsed` what the tree was made of."""
        self.text, self.known, self.max_terms = text, known, max_terms
        self.lines = [line.encode() for line in parsed.split("\n")]
        self.depth = 0

    def visit(self, node: ast.expr) -> Expression:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise ExpressionError(f"'{self.text[:60]}' is nested more than {MAX_NESTING} deep")
        result = self._node(node)
        self.depth -= 1
        self._limit(len(result.terms))
        for _, c in result.terms:
            if max(c.numerator.bit_length(), c.denominator.bit_length()) > MAX_BITS:
                raise ExpressionError(f"'{self.text[:60]}' has a number with more than {MAX_BITS} bits")
        return result

    def _limit(self, terms: int) -> None:
        if terms > self.max_terms:
            raise TooLargeError(f"too large: more than {self.max_terms} terms when multiplied out")

    def _source(self, node: ast.expr) -> str:
        """The text that a node on a single line was read from."""
        end = node.end_col_offset if node.end_lineno == node.lineno else None
        return self.lines[node.lineno - 1][node.col_offset : end].decode()

    def _node(self, node: ast.expr) -> Expression:
        match node:
            case ast.Constant(value=value) if isinstance(value, (int, float)) and not isinstance(value, bool):
                return Expression.of(rational(self._source(node)))
            case ast.Name(id="pi"):
                return Expression.pi()
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=x):
                return -self.visit(x)
            case ast.UnaryOp(op=ast.UAdd(), operand=x):
                return self.visit(x)
            case ast.BinOp(left=a, op=ast.Pow(), right=b):
                return self._power(self.visit(a), self.visit(b))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._product(node)
            case ast.BinOp(op=ast.BitXor()):
                raise ExpressionError(f"'^' in '{self.text[:60]}': a power is written **")
            case ast.BinOp(op=op):
                raise ExpressionError(
                    f"operator {type(op).__name__} in '{self.text[:60]}' is not allowed; allowed: {_ALLOWED}"
                )
            case ast.Call(func=ast.Name(id=name), args=[x], keywords=[]) if name in _FUNCTIONS:
                return _FUNCTIONS[name](self.visit(x))
        raise ExpressionError(
            f"'{self._source(node)[:60]}' is not allowed in an expression; allowed: {_ALLOWED}"
        )

    def _name(self, name: str) -> Expression:
        if self.known is not None and name not in self.known:
            names = listed(sorted(self.known)) or "none"
            raise ExpressionError(f"unknown symbol '{name[:60]}'; declared symbols: {names}")
        return Expression.symbol(name)

    def _sum(self, node: ast.expr) -> Expression:
        """a + b − c …, however long: the tree leans to the left."""
        parts = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            x = self.visit(node.right)
            parts.append(x if isinstance(node.op, ast.Add) else -x)
            node = node.left
        parts.append(self.visit(node))
        return Expression(added(*(x.terms for x in reversed(parts))))

    def _product(self, node: ast.expr) -> Expression:
        """a·b/c …, from the left."""
        factors = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
            factors.append((node.op, node.right))
            node = node.left
        result = self.visit(node)
        for op, factor in reversed(factors):
            x = self.visit(factor)
            if isinstance(op, ast.Mult):
                result = result * x
            elif x.is_zero:
                raise ExpressionError(f"'{self.text[:60]}' divides by zero")
            else:
                result = result / x
            self._limit(len(result.terms))
        return result

    def _power(self, a: Expression, b: Expression) -> Expression:
        exponent = b.number
        if exponent == Fraction(1, 2):
            return a.sqrt()
        if exponent is None or exponent.denominator != 1 or abs(exponent) > MAX_EXPONENT:
            raise ExpressionError(
                f"the exponent '{str(b)[:40]}' in '{self.text[:60]}' is not a whole number "
                f"from -{MAX_EXPONENT} to {MAX_EXPONENT}"
            )
        if exponent < 0 and a.is_zero:
            raise ExpressionError(f"'{self.text[:60]}' divides by zero")
        power = int(exponent)
        if power > 0 and a.terms:
            self._limit(comb(len(a.terms) + power - 1, power))
        return a**power
