"""Mass, first moment and inertia tensor of a rigid body; homogeneous solids; Steiner's theorem.

The moment and the tensor are taken about the origin of the body's frame, not about the centre of mass:
in this form inertias add, (7.60)–(7.73), and every parameter vector of (7.77) is representable. Tensor
entries are entries of the matrix (`xy` is I[0,1] = −∫xy dm), in the order xx xy xz yy yz zz.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armdyn.expression import ONE, Expression, ExpressionError
from armdyn.model.errors import ModelError, at_least_zero, number, numbers, three
from armdyn.model.vector import (
    IDENTITY,
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    dot,
    multiply,
    scale,
    transpose,
    vector,
)

if TYPE_CHECKING:
    from armdyn.model.meshes import Volume

Tensor: TypeAlias = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
Number: TypeAlias = Expression | int | float | Fraction | str
TENSOR_KEYS = ("xx", "xy", "xz", "yy", "yz", "zz")
ENTRIES = ("m", "mx", "my", "mz", *(f"I{key}" for key in TENSOR_KEYS))  # of a body, (7.77)
ZERO6: Tensor = (0, 0, 0, 0, 0, 0)


def tensor(entries: Iterable[Scalar]) -> Tensor:
    """Six entries in the order xx xy xz yy yz zz."""
    xx, xy, xz, yy, yz, zz = entries
    return (xx, xy, xz, yy, yz, zz)


def tensor_matrix(t: Tensor) -> Matrix:
    xx, xy, xz, yy, yz, zz = t
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def matrix_tensor(M: Matrix) -> Tensor:
    return (M[0][0], M[0][1], M[0][2], M[1][1], M[1][2], M[2][2])


def asymmetry(M: Matrix) -> str | None:
    """Words for a matrix that is not symmetric beyond rounding (1e-12 of its largest entry), else None."""
    entries = [Expression.of(x) for row in M for x in row]
    sizes = [abs(float(x.number)) for x in entries if x.number is not None]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        off = (Expression.of(M[i][j]) - Expression.of(M[j][i])).number
        if off is None or abs(off) > 1e-12 * max(sizes, default=0.0):
            return f"[{i}][{j}] is {M[i][j]} and [{j}][{i}] is {M[j][i]}"
    return None


def steiner(mass: Scalar, p: Vector) -> Tensor:
    """m SᵀS(p) = m (pᵀp 1 − p pᵀ): what a point mass at p adds to a tensor (7.60)."""
    x, y, z = p
    return (
        mass * (y * y + z * z),
        -mass * x * y,
        -mass * x * z,
        mass * (x * x + z * z),
        -mass * y * z,
        mass * (x * x + y * y),
    )


@dataclass(frozen=True)
class Inertia:
    """Mass [kg], first moment [kg m] and tensor [kg m²] about the origin of the frame it is given in."""

    mass: Scalar = 0
    moment: Vector = ZERO3
    tensor: Tensor = ZERO6

    @staticmethod
    def at_com(mass: Scalar, com: Vector, tensor: Tensor) -> Inertia:
        """The inertia by the centre of mass and the tensor about it, in frame axes (7.71)–(7.73)."""
        return Inertia(mass, scale(mass, com), _plus(tensor, steiner(mass, com)))

    @staticmethod
    def of(entries: Sequence[Scalar]) -> Inertia:
        """The inertia from its numbers in the order of `ENTRIES`."""
        m, x, y, z, *moments = entries
        return Inertia(m, (x, y, z), tensor(moments))

    @staticmethod
    def from_mesh(
        path: str | Path, density: Number | None = None, *, mass: Number | None = None, scale: Number = 1
    ) -> Inertia:
        """The homogeneous body that a closed mesh encloses, in the mesh's frame: an STL or OBJ file.

        `density` is in kg/m³; or give the `mass` in kg. `scale` is the file's unit of length in m, 0.001 for
        millimetres. A mesh that is open, inside out or without volume is refused; vertices are the same
        where their coordinates are exactly equal. The integrals are those of the polyhedron, exactly.
        """
        from armdyn.model.meshes import enclosed_volume  # seldom needed

        return filled(enclosed_volume(path), density, mass, scale)

    @property
    def entries(self) -> tuple[Scalar, ...]:
        """The numbers in the order of `ENTRIES`."""
        return (self.mass, *self.moment, *self.tensor)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(
            self.mass + other.mass, add(self.moment, other.moment), _plus(self.tensor, other.tensor)
        )

    def __sub__(self, other: Inertia) -> Inertia:
        return self + Inertia(-1 * other.mass, scale(-1, other.moment), _scaled(-1, other.tensor))

    @property
    def matrix(self) -> Matrix:
        return tensor_matrix(self.tensor)

    @property
    def com(self) -> Vector:
        """The centre of mass; needs a mass that is not zero."""
        return vector(h / self.mass for h in self.moment)

    @property
    def tensor_at_com(self) -> Tensor:
        """The tensor about the centre of mass: Steiner's theorem backwards."""
        return _plus(self.tensor, steiner(-1 * self.mass, self.com))

    def rotated(self, R: Matrix) -> Inertia:
        """The same body in a frame whose axes see the old ones through R: v_new = R v_old (7.12)."""
        M = multiply(multiply(R, self.matrix), transpose(R))
        return Inertia(self.mass, vector(dot(row, self.moment) for row in R), matrix_tensor(M))

    def translated(self, p: Vector) -> Inertia:
        """The same body about another origin, from which the old origin is at p."""
        m, h = self.mass, self.moment
        x, y, z = p
        a, b, c = h
        shift: Tensor = (
            2 * (y * b + z * c),
            -(x * b + y * a),
            -(x * c + z * a),
            2 * (x * a + z * c),
            -(y * c + z * b),
            2 * (x * a + y * b),
        )
        return Inertia(m, add(h, scale(m, p)), _plus(_plus(self.tensor, shift), steiner(m, p)))

    def placed(self, R: Matrix, p: Vector) -> Inertia:
        """The body in the frame in which its own frame has orientation R and origin p."""
        return self.rotated(R).translated(p)

    def principal(self) -> tuple[np.ndarray, np.ndarray]:
        """Principal moments about the centre of mass, ascending, and the axes as columns (numbers only)."""
        about = self.tensor_at_com if _float(self.mass) else self.tensor
        M = np.array([[_float(x) for x in row] for row in tensor_matrix(about)])
        moments, axes = np.linalg.eigh(M)
        return moments, axes


def _plus(a: Tensor, b: Tensor) -> Tensor:
    return tensor(x + y for x, y in zip(a, b, strict=True))


def _scaled(k: Scalar, a: Tensor) -> Tensor:
    return tensor(k * x for x in a)


def _float(x: Scalar) -> float:
    return x.value() if isinstance(x, Expression) else float(x)


# ---- homogeneous bodies in the shape of a mesh -------------------------------------------------------------


def filled(
    shape: Volume,
    density: Number | None = None,
    mass: Number | None = None,
    scale: Number = 1,
    R: Matrix = IDENTITY,
    p: Vector = ZERO3,
) -> Inertia:
    """The homogeneous body, in the frame in which the mesh has orientation R and origin p.

    Numbers are rounded to floats once, about the centre of mass, so that they print shortly; the rest is
    exact. Symbols in density, mass, scale, R and p stay symbols.
    """
    if (density is None) == (mass is None):
        found = "neither" if density is None else "both"
        raise ModelError(f"{shape.source}: expected density or mass, found {found}")
    length = _positive("scale", scale)
    volume = Expression.of(shape.size) * length**3
    weight = _positive("density", density) * volume if mass is None else _positive("mass", mass)
    try:
        total = _rounded(weight)
    except ExpressionError:
        raise ModelError(f"{shape.source}: the mass is larger than 1e300") from None
    if total.number == 0:
        raise ModelError(f"{shape.source}: the mass is smaller than 1e-300")
    com = add(apply(R, vector(length * x for x in map(Expression.of, shape.centroid.tolist()))), p)
    S = vector(vector(map(Expression.of, row)) for row in shape.spread.tolist())
    S = multiply(multiply(R, S), transpose(R))
    return Inertia.at_com(
        total, vector(map(_rounded, com)), tensor(map(_rounded, _of_spread(S, total * length**2)))
    )


def _positive(name: str, value: object) -> Expression:
    found = number(name, value)
    if found.number is not None and found.number <= 0:
        raise ModelError(f"{name}: expected a positive number, found {found}")
    return found


def _of_spread(S: Matrix, k: Expression) -> Tensor:
    """k (tr(S) 1 − S): the tensor of a body by the second moments of its mass."""
    (xx, xy, xz, yy, yz, zz) = matrix_tensor(S)
    return (k * (yy + zz), -k * xy, -k * xz, k * (xx + zz), -k * yz, k * (xx + yy))


def _rounded(x: object) -> Expression:
    """The decimal of its float, if it has no symbols."""
    found = x * ONE if isinstance(x, Expression) else Expression.of(x)
    return found if found.symbols() else Expression.of(found.value())


# ---- homogeneous solids, centre of mass at the origin ------------------------------------------------------


def _solid(mass: Number, xx: Expression, yy: Expression, zz: Expression) -> Inertia:
    m = at_least_zero("mass", mass)
    return Inertia(m, ZERO3, (m * xx, 0, 0, m * yy, 0, m * zz))


def _squared(name: str, length: Number) -> Expression:
    return at_least_zero(name, length) ** 2


def box(mass: Number, size: Sequence[Number]) -> Inertia:
    """A parallelepiped with edges along x, y, z."""
    edges = numbers("size", size, 3)
    x, y, z = (_squared(f"size[{i}]", s) / 12 for i, s in enumerate(edges))
    return _solid(mass, y + z, x + z, x + y)


def cylinder(mass: Number, radius: Number, length: Number) -> Inertia:
    """A right cylinder with its axis along z."""
    return hollow_cylinder(mass, 0, at_least_zero("radius", radius), length)


def hollow_cylinder(mass: Number, inner: Number, outer: Number, length: Number) -> Inertia:
    """A tube with its axis along z."""
    hole, whole = _squared("inner", inner), _squared("outer", outer)
    if (wall := (whole - hole).number) is not None and wall < 0:
        raise ModelError(f"inner: expected a radius up to the outer one, {outer}, found {inner}")
    r2 = hole + whole
    across = r2 / 4 + _squared("length", length) / 12
    return _solid(mass, across, across, r2 / 2)


def sphere(mass: Number, radius: Number) -> Inertia:
    """A solid sphere about its centre."""
    a = _squared("radius", radius) * Fraction(2, 5)
    return _solid(mass, a, a, a)


def rod(mass: Number, length: Number) -> Inertia:
    """A thin rod along x."""
    a = _squared("length", length) / 12
    return _solid(mass, Expression.of(0), a, a)


def point_mass(mass: Number, position: Sequence[Number] = (0, 0, 0)) -> Inertia:
    """A mass at a point of the link's frame, without inertia of its own."""
    return Inertia.at_com(at_least_zero("mass", mass), three("position", position), ZERO6)
