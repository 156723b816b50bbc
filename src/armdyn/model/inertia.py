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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armdyn.display import Typeset
from armdyn.expression import ONE, ZERO, Expression, ExpressionError, shown
from armdyn.model.errors import ModelError, at_least_zero, number, numbers, plain, rotation_problem, three
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


@dataclass(frozen=True, repr=False)
class Inertia(Typeset):
    """Mass [kg], first moment [kg m] and tensor [kg m²] about the origin of the frame it is given in.

    `str(…)`, `.latex()`, `.markdown()` and `.mathml()` have the tensors as matrices.
    """

    mass: Scalar = 0
    moment: Vector = ZERO3
    tensor: Tensor = ZERO6

    @staticmethod
    def at_com(mass: Scalar, com: Vector | Sequence[Number], tensor: Tensor | Sequence[Number]) -> Inertia:
        """The inertia by the centre of mass and the tensor about it, in frame axes (7.71)–(7.73).

        The tensor is xx, xy, xz, yy, yz, zz; numbers or texts.
        """
        m, p = _scalar("mass", mass), _point("com", com)
        xx, xy, xz, yy, yz, zz = _scalars("tensor", tensor, 6)
        return Inertia(m, scale(m, p), _plus((xx, xy, xz, yy, yz, zz), steiner(m, p)))

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

    def __repr__(self) -> str:
        """All numbers on one line, the tensor as a matrix."""
        rows = (", ".join(map(str, row)) for row in self.matrix)
        moment = ", ".join(map(str, self.moment))
        return f"Inertia(mass={self.mass}, moment=[{moment}], tensor=[[{'], ['.join(rows)}]])"

    @property
    def matrix(self) -> Matrix:
        """The tensor about the origin, row by row."""
        return tensor_matrix(self.tensor)

    @property
    def euler_matrix(self) -> Matrix:
        """J = ∫ r rᵀ dm about the origin, row by row: the tensor is tr(J) 1 − J."""
        xx, xy, xz, yy, yz, zz = self.tensor
        half = Fraction(1, 2)
        a, b, c = (half * (x + y - z) for x, y, z in ((yy, zz, xx), (xx, zz, yy), (xx, yy, zz)))
        return ((a, -xy, -xz), (-xy, b, -yz), (-xz, -yz, c))

    @property
    def com(self) -> Vector:
        """The centre of mass; needs a mass that is not zero."""
        return vector(h / self.mass for h in self.moment)

    @property
    def tensor_at_com(self) -> Tensor:
        """The tensor about the centre of mass: Steiner's theorem backwards."""
        return _plus(self.tensor, steiner(-1 * self.mass, self.com))

    def rotated(self, R: Matrix | Sequence[Sequence[Number]]) -> Inertia:
        """The same body in a frame whose axes see the old ones through R: v_new = R v_old (7.12).

        Entries are numbers or texts, such as "cos(b)"; a matrix of numbers is checked.
        """
        R = _rotation("R", R)
        M = multiply(multiply(R, self.matrix), transpose(R))
        return Inertia(self.mass, vector(dot(row, self.moment) for row in R), matrix_tensor(M))

    def translated(self, p: Vector | Sequence[Number]) -> Inertia:
        """The same body about another origin, from which the old origin is at p: numbers or texts."""
        m, h = self.mass, self.moment
        p = _point("p", p)
        if isinstance(m, Expression):  # decimals are exact beside exact numbers, their squares too
            p = vector(Expression.of(x) if isinstance(x, float) else x for x in p)
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

    def placed(self, R: Matrix | Sequence[Sequence[Number]], p: Vector | Sequence[Number]) -> Inertia:
        """The body in the frame in which its own frame has orientation R and origin p."""
        return self.rotated(R).translated(p)

    def principal(self, exact: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Principal moments (3,) about the centre of mass, and their axes (3, 3) as columns.

        Numbers give floats, moments ascending. Where there are symbols, or with `exact=True`, the arrays hold
        exact expressions, in no order. Of axes that the tensor couples there is an exact form where it is
        rational numbers times a common factor, with rational moments, or where two axes are alike; if not,
        an error.
        """
        about = self.tensor if Expression.of(self.mass).is_zero else self.tensor_at_com
        if exact or (exact is None and _symbols([self.mass, *about])):
            return principal_axes(tensor_matrix(tensor(map(Expression.of, about))))
        M = np.array([[_float(x) for x in row] for row in tensor_matrix(about)])
        moments, axes = np.linalg.eigh(M)
        return moments, axes


_SIX_DIGITS = 1e-6  # how far R Rᵀ of a rotation may be from the identity


def _point(name: str, p: Any) -> Vector:
    """Three scalars of any kind; texts are read."""
    return vector(_scalars(name, p, 3))


def _scalars(name: str, given: Any, count: int) -> list[Scalar]:
    entries = plain(given)
    if not isinstance(entries, list | tuple) or len(entries) != count:
        found = len(entries) if isinstance(entries, list | tuple) else shown(given)
        raise ModelError(f"{name}: expected {count} numbers, found {found}")
    return [_scalar(f"{name}[{i}]", x) for i, x in enumerate(entries)]


def _scalar(name: str, x: Any) -> Scalar:
    if isinstance(x, str) or not hasattr(x, "__neg__"):
        return number(name, x)
    return x


def _rotation(name: str, R: Any) -> Matrix:
    """Three rows of three scalars; where all are numbers, those of a rotation, but for six digits."""
    rows = plain(R)
    if not isinstance(rows, list | tuple) or len(rows) != 3:
        found = f"{len(rows)} rows" if isinstance(rows, list | tuple) else shown(R)
        raise ModelError(f"{name}: expected 3 rows of 3 numbers, found {found}")
    a, b, c = (_point(f"{name}[{i}]", row) for i, row in enumerate(rows))
    exact = all(isinstance(x, int | float | Fraction | Expression) for x in (*a, *b, *c))
    if exact and (problem := rotation_problem((a, b, c), {}, _SIX_DIGITS)):
        raise ModelError(f"{name}: {problem}")
    return (a, b, c)


def _plus(a: Tensor, b: Tensor) -> Tensor:
    return tensor(x + y for x, y in zip(a, b, strict=True))


def _scaled(k: Scalar, a: Tensor) -> Tensor:
    return tensor(k * x for x in a)


def _float(x: Scalar) -> float:
    return x.value() if isinstance(x, Expression) else float(x)


def _symbols(entries: Iterable[Scalar]) -> set[str]:
    return {name for x in entries if isinstance(x, Expression) for name in x.symbols()}


# ---- principal axes, exactly -------------------------------------------------------------------------------


def principal_axes(M: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (3,) of a symmetric matrix of expressions, and eigenvectors (3, 3) as columns, exactly.

    Axes that the matrix does not couple are taken by themselves. The others need a matrix of
    rational numbers times a common factor, with rational eigenvalues, or two axes with equal entries.
    """
    moments = np.array([ZERO] * 3, dtype=object)
    axes = np.array([[ZERO] * 3] * 3, dtype=object)
    column = 0
    for group in _coupled(M):
        for moment, axis in _eigenpairs([[M[i][j] for j in group] for i in group]):
            length = sum((x * x for x in axis), ZERO).sqrt()
            moments[column] = moment
            axes[group, column] = [x / length for x in axis]
            column += 1
    return moments, axes


def _coupled(M: Matrix) -> list[list[int]]:
    """The axes in groups that no entry joins."""
    off = [pair for pair in ((0, 1), (0, 2), (1, 2)) if not M[pair[0]][pair[1]].is_zero]
    if len(off) > 1:
        return [[0, 1, 2]]
    return [[i] for i in range(3) if not off or i not in off[0]] + [list(pair) for pair in off]


Pairs: TypeAlias = list[tuple[Expression, list[Expression]]]


def _eigenpairs(M: list[list[Expression]]) -> Pairs:
    """Eigenvalues and orthogonal eigenvectors, of any length."""
    if len(M) == 1:
        return [(M[0][0], [ONE])]
    if len(M) == 2 and M[0][0] == M[1][1]:
        return [(M[0][0] + M[0][1], [ONE, ONE]), (M[0][0] - M[0][1], [ONE, -ONE])]
    if (parts := _common_factor(M)) and (found := _rational_eigenpairs(parts[1])):
        return [(parts[0] * x, list(map(Expression.of, axis))) for x, axis in found]
    raise ModelError(
        "principal: these moments have no exact form here; numbers in the place of symbols give floats"
    )


def _common_factor(M: list[list[Expression]]) -> tuple[Expression, list[list[Fraction]]] | None:
    """u and K with M = u K, the entries of K rational; None if they are not multiples of one another."""
    u = next(x for row in M for x in row if not x.is_zero)
    leading, size = u.terms[0]
    K = []
    for row in M:
        K.append([dict(x.terms).get(leading, Fraction(0)) / size for x in row])
        if any(x != k * u for x, k in zip(row, K[-1], strict=True)):
            return None
    return u, K


def _rational_eigenpairs(K: list[list[Fraction]]) -> list[tuple[Fraction, list[Fraction]]] | None:
    """Rational eigenvalues and orthogonal eigenvectors of a symmetric matrix; None if some are irrational."""
    from flint import fmpq, fmpq_mat, fmpq_poly  # quick to load, seldom needed

    matrix = fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in K])
    factors = fmpq_poly(matrix.charpoly()).factor()[1]
    if any(factor.degree() > 1 for factor, _ in factors):
        return None
    roots = {Fraction(int(x.p), int(x.q)): times for x, times in ((-f[0] / f[1], k) for f, k in factors)}
    found = []
    for value, times in roots.items():
        rows = [[Fraction(i == j) for j in range(len(K))] for i in range(len(K))]  # those of the projection
        for other in roots.keys() - {value}:
            rows = [_applied(K, row, other) for row in rows]
        found += [(value, axis) for axis in _orthogonal(rows)[:times]]
    return found


def _applied(K: list[list[Fraction]], v: list[Fraction], shift: Fraction) -> list[Fraction]:
    """(K − shift 1) v."""
    return [
        sum((k * x for k, x in zip(row, v, strict=True)), -shift * y) for row, y in zip(K, v, strict=True)
    ]


def _orthogonal(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Orthogonal vectors that span the rows."""
    found: list[list[Fraction]] = []
    for row in rows:
        for v in found:
            length = sum((x * x for x in v), Fraction(0))
            along = sum((x * y for x, y in zip(row, v, strict=True)), Fraction(0)) / length
            row = [x - along * y for x, y in zip(row, v, strict=True)]
        if any(row):
            found.append(row)
    return found


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


def box(mass: Number, size: Number | Sequence[Number], *edges: Number) -> Inertia:
    """A parallelepiped with edges along x, y, z: box(2, [0.3, 0.2, 0.1]), or box("m", "w", "d", "h")."""
    lengths = numbers("size", [size, *edges] if edges else size, 3)
    x, y, z = (_squared(f"size[{i}]", s) / 12 for i, s in enumerate(lengths))
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
