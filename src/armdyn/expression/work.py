"""A bound on multiplying out, counted while it is done, so that a short text cannot ask for too much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from armdyn.expression.errors import ExpressionError

MAX_PRODUCTS = 100_000  # of terms, in one multiplication outside of any limit: below a second
MAX_BITS = 14_000  # of a numerator or denominator: Python prints no longer ones
MAX_EXPONENT = 256
MAX_DEPTH = 32  # levels of functions inside functions
MAX_SIZE = 20_000  # characters of a function's argument


class TooLargeError(ExpressionError):
    """An expression is too large when multiplied out."""


@dataclass
class _Budget:
    products: int
    left: int
    outer: _Budget | None


_budget: ContextVar[_Budget | None] = ContextVar("armdyn_expression_budget", default=None)


@contextmanager
def limited(products: int) -> Iterator[None]:
    """Bound the products of terms that all multiplications in the block may take together.

    They also count towards the bound of an outer block.
    """
    token = _budget.set(_Budget(products, products, _budget.get()))
    try:
        yield
    finally:
        _budget.reset(token)


def charge(products: int) -> None:
    """Count products of terms, before they are made, and refuse them beyond the bound."""
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
