"""Dual numbers over NumPy: a value and its derivatives, for the reference evaluator's derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np


class Dual:
    """x + Σ x'_k ε_k with ε² = 0; `partials` has one more leading axis than `value`."""

    __slots__ = ("partials", "value")
    __array_ufunc__ = None  # so that array + Dual comes here

    def __init__(self, value: Any, partials: Any) -> None:
        self.value, self.partials = value, partials

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.partials + other.partials)
        return Dual(self.value + other, self.partials)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.partials)

    def __sub__(self, other: Any) -> Dual:
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Dual:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.partials * other.value + other.partials * self.value)
        return Dual(self.value * other, self.partials * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            return Dual(value, (self.partials - value * other.partials) / other.value)
        return Dual(self.value / other, self.partials / other)

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return Dual(value, -value * self.partials / self.value)

    def cos(self) -> Dual:
        return Dual(np.cos(self.value), -np.sin(self.value) * self.partials)

    def sin(self) -> Dual:
        return Dual(np.sin(self.value), np.cos(self.value) * self.partials)

    def sqrt(self) -> Dual:
        root = np.sqrt(self.value)
        return Dual(root, self.partials / (2 * root))

    def sign(self) -> Any:
        """Its derivative is zero wherever it has one."""
        return np.sign(self.value)


def seed(columns: list[Any]) -> list[Dual]:
    """Independent variables: variable k has derivative 1 in direction k."""
    count = len(columns)
    return [
        Dual(x, np.stack([np.full_like(x, 1.0 if i == k else 0.0) for i in range(count)]))
        for k, x in enumerate(columns)
    ]
