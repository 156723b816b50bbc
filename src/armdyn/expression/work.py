"""How much multiplying out may cost: counted while it is done, so that no text can ask for too much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from armdyn.expression.errors import ExpressionError

MAX_PRODUCTS = 100_000  # of terms, in one multiplication outside of any limit: below a second
MAX_BITS = 14_000  # of a numerator or denominator: Python prints no longer ones
MAX_EXPONENT = 32
MAX_DEPTH = 32  # functions inside functions
MAX_SIZE = 20_000  # characters of what a function is taken of


class TooLargeError(ExpressionError):
    """Multiplied out, an expression is too large."""


@dataclass
class _Budget:
    products: int
    left: int
    outer: _Budget | None


_budget: ContextVar[_Budget | None] = ContextVar("armdyn_expression_budget", default=None)


@contextmanager
def limited(products: int) -> Iterator[None]:
    """Within the block all multiplications together may take so many products of terms.

    They count in an outer block too.
    """
    token = _budget.set(_Budget(products, products, _budget.get()))
    try:
        yield
    finally:
        _budget.reset(token)


def charge(products: int) -> None:
    """Take products of terms, before they are made, from what is left."""
    budget = _budget.get()
    if budget is None and products > MAX_PRODUCTS:
        _refuse(MAX_PRODUCTS)
    while budget is not None:
        budget.left -= products
        if budget.left < 0:
            _refuse(budget.products)
        budget = budget.outer


def _refuse(products: int) -> None:
    raise TooLargeError(f"too large: multiplied out it takes more than {products} products of terms")
