"""Small linear systems over any scalar, solved by orthogonal columns; there may be more rows than columns.

A = V R with orthogonal columns v_k of V and a unit upper triangular R: Gram and Schmidt, modified, without
square roots. It needs no exchange of rows, so it can be recorded, and is as accurate as elimination that
exchanges them. Rows in different units have scales: the columns are those of D A.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armdyn.expression.functions import select, sqrt
from armdyn.model.vector import Scalar

Column = list[Scalar]


@dataclass(frozen=True)
class Orthogonal:
    """A matrix with at least as many rows as columns, ready to be solved with."""

    V: list[Column]  # by columns
    R: list[list[Scalar]]  # R[k][j] for j > k
    inverse: list[Scalar]  # 1/(v_k · v_k)
    margins: list[Scalar]  # (v_k · v_k)/(a_k · a_k): the squared sine of a column against those before it
    scales: list[Scalar]  # of the rows: the diagonal of D

    @staticmethod
    def of(columns: Sequence[Sequence[Scalar]], scales: Sequence[Scalar]) -> Orthogonal:
        left = [_times(scales, column) for column in columns]
        squares = [inner(column, column) for column in left]
        size = len(left)
        V: list[Column] = []
        R: list[list[Scalar]] = [[0] * size for _ in range(size)]
        inverse: list[Scalar] = []
        margins: list[Scalar] = []
        for k in range(size):
            v = left[k]
            square = inner(v, v)
            inverse.append(1 / square)
            margins.append(square / squares[k])
            V.append(v)
            for j in range(k + 1, size):
                R[k][j] = inner(v, left[j]) * inverse[k]
                left[j] = _less(left[j], R[k][j], v)
        return Orthogonal(V, R, inverse, margins, list(scales))

    def solve(self, b: Sequence[Scalar]) -> Column:
        """x with A x = b; where b is out of reach, with the least squares of D (A x − b)."""
        rest, x = _times(self.scales, b), []
        for v, inverse in zip(self.V, self.inverse, strict=True):
            x.append(inner(v, rest) * inverse)
            rest = _less(rest, x[-1], v)
        for k in reversed(range(len(x))):
            for j in range(k + 1, len(x)):
                x[k] = x[k] - self.R[k][j] * x[j]
        return x

    def solve_transposed(self, b: Sequence[Scalar]) -> Column:
        """x with Aᵀ x = b; of several, the one with the least D⁻¹ x."""
        w = list(b)
        for k in range(len(w)):
            for i in range(k):
                w[k] = w[k] - self.R[i][k] * w[i]
        x: Column = [0] * len(self.scales)
        for v, w_k, inverse in zip(self.V, w, self.inverse, strict=True):
            x = _less(x, -(w_k * inverse), v)
        return _times(self.scales, x)


def turned(columns: Sequence[Sequence[Scalar]]) -> Scalar:
    """The sign of a square matrix's determinant, 1 or −1, by reflections (Householder), without exchanges.

    Each reflection takes a column onto an axis, on the side where nothing cancels. 1 if there are more rows.
    """
    if len(columns) < len(columns[0]):
        return 1
    left = [list(column) for column in columns]
    found: Scalar = 1
    while left:
        first, *others = left
        side = select(-first[0], -1, 1)
        found = found * side
        if not others:
            break
        length = sqrt(inner(first, first))
        w = [first[0] + side * length, *first[1:]]
        scale = 1 / (length * (length + side * first[0]))
        left = [_less(column, inner(w, column) * scale, w)[1:] for column in others]
    return found


def inner(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _times(scales: Sequence[Scalar], b: Sequence[Scalar]) -> Column:
    return [s * x for s, x in zip(scales, b, strict=True)]


def _less(a: Sequence[Scalar], factor: Scalar, b: Sequence[Scalar]) -> Column:
    return [x - factor * y for x, y in zip(a, b, strict=True)]
