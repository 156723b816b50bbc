"""3-vectors and 3×3 matrices as plain tuples over any scalar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

Scalar: TypeAlias = Any  # float, array, Expression, exact polynomial, dual number, …
Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]

ZERO3: Vector = (0, 0, 0)
IDENTITY: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))


def vector(x: Iterable[Scalar]) -> Vector:
    a, b, c = x
    return (a, b, c)


def add(*vectors: Vector) -> Vector:
    x, y, z = vectors[0]
    for a, b, c in vectors[1:]:
        x, y, z = x + a, y + b, z + c
    return (x, y, z)


def sub(a: Vector, b: Vector) -> Vector:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def neg(a: Vector) -> Vector:
    return (-a[0], -a[1], -a[2])


def scale(k: Scalar, a: Vector) -> Vector:
    return (k * a[0], k * a[1], k * a[2])


def dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def transpose(M: Matrix) -> Matrix:
    return (
        (M[0][0], M[1][0], M[2][0]),
        (M[0][1], M[1][1], M[2][1]),
        (M[0][2], M[1][2], M[2][2]),
    )


def apply(M: Matrix, v: Vector) -> Vector:
    """M v."""
    return (dot(M[0], v), dot(M[1], v), dot(M[2], v))


def apply_transposed(M: Matrix, v: Vector) -> Vector:
    """Mᵀ v."""
    return apply(transpose(M), v)


def multiply(A: Matrix, B: Matrix) -> Matrix:
    columns = transpose(B)
    return vector(vector(dot(row, column) for column in columns) for row in A)


def rotation_about(u: Vector, c: Scalar, s: Scalar) -> Matrix:
    """Rotation by an angle with cosine c and sine s about the unit vector u (Rodrigues)."""
    x, y, z = u
    v = 1 - c
    return (
        (c + x * x * v, x * y * v - z * s, x * z * v + y * s),
        (x * y * v + z * s, c + y * y * v, y * z * v - x * s),
        (x * z * v - y * s, y * z * v + x * s, c + z * z * v),
    )
