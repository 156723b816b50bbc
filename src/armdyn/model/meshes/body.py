"""A mesh file and a density or a mass -> mass, centre of mass and tensor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from armdyn.expression import ONE, Expression, ExpressionError
from armdyn.model.arguments import number
from armdyn.model.errors import ModelError
from armdyn.model.inertia import Inertia, Number, Tensor, matrix_tensor, tensor
from armdyn.model.meshes.faces import mesh_file
from armdyn.model.meshes.moments import Moments, moments
from armdyn.model.meshes.obj import read_obj
from armdyn.model.meshes.shells import check_shells
from armdyn.model.meshes.stl import read_stl
from armdyn.model.meshes.surface import closed_surface
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, add, apply, multiply, transpose, vector


@dataclass(frozen=True)
class Shape:
    """The volume that a closed mesh encloses."""

    source: str
    triangles: int
    collapsed: int  # faces without area, left out
    moments: Moments

    def inertia(
        self,
        density: Number | None = None,
        mass: Number | None = None,
        scale: Number = 1,
        R: Matrix = IDENTITY,
        p: Vector = ZERO3,
    ) -> Inertia:
        """The homogeneous body, in the frame in which the mesh has orientation R and origin p.

        Numbers are rounded to floats once, about the centre of mass, so that they print shortly; the rest
        is exact. Symbols in density, mass, scale, R and p stay symbols.
        """
        if (density is None) == (mass is None):
            found = "neither" if density is None else "both"
            raise ModelError(f"{self.source}: expected density or mass, found {found}")
        length = _positive("scale", scale)
        volume = Expression.of(self.moments.volume) * length**3
        weight = _positive("density", density) * volume if mass is None else _positive("mass", mass)
        try:
            total = _rounded(weight)
        except ExpressionError:
            raise ModelError(f"{self.source}: the mass is larger than 1e300") from None
        if total.number == 0:
            raise ModelError(f"{self.source}: the mass is smaller than 1e-300")
        com = add(apply(R, vector(length * x for x in map(Expression.of, self.moments.centroid.tolist()))), p)
        S = vector(vector(map(Expression.of, row)) for row in self.moments.spread.tolist())
        S = multiply(multiply(R, S), transpose(R))
        return Inertia.at_com(
            total, vector(map(_rounded, com)), tensor(map(_rounded, _of_spread(S, total * length**2)))
        )


def shape(path: str | Path) -> Shape:
    """Read an STL or OBJ file, check that its surface is closed, and integrate over what it encloses."""
    file, source = mesh_file(path)
    try:
        faces = (read_stl if file.suffix.lower() == ".stl" else read_obj)(file, source)
    except OSError as error:
        raise ModelError(f"{source}: cannot read the mesh: {error.strerror or error}") from None
    surface = closed_surface(faces)
    check_shells(surface)
    return Shape(source, len(surface.triangles), surface.collapsed, moments(surface))


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
