"""The equations in other generalized coordinates: dp = J dq (Asada and Slotine, 5.2.4).

With q̇ = J⁻¹ṗ the forces are J⁻ᵀτ, so

    B_p = J⁻ᵀ B J⁻¹    C_p = J⁻ᵀ (C J⁻¹ + B d/dt J⁻¹)    g_p = J⁻ᵀ g.

A constant J (absolute angles, motor angles) also changes the angles themselves, q = J⁻¹p. With a J that
depends on q the entries stay functions of q and q̇, and come over powers of det J.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from armdyn.exact.engine.basis import Basis
from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.form import Array, Entry
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.expression import ArmdynError, Expression, expression

PolyMatrix = list[list[Any]]
_MAX_MINORS = 2000  # of a determinant: eleven rows without zeros


class CoordinateError(ArmdynError):
    """The coordinates asked for do not fit the robot."""


@dataclass(frozen=True)
class InCoordinates:
    """Equations of motion in coordinates p: B p̈ + C ṗ + g = forces, friction left out.

    The entries are numerators: B stands over `determinant`², C over `determinant`³, g over `determinant`,
    which is 1 where J is constant. Then qd1 … are ṗ and c1 … the cosines of `angles`; else both are those of
    the joints.
    """

    B: Array[Entry]
    C: Array[Entry]
    g: Array[Entry]
    determinant: Entry
    angles: tuple[str, ...]


def in_coordinates(equations: ClosedForm, J: Sequence[Sequence[Any]]) -> InCoordinates:
    """The equations in p with dp = J dq; J has numbers or texts in the symbols and c1, s1, …"""
    n = equations.n
    if len(J) != n or any(len(row) != n for row in J):
        raise CoordinateError(f"J: expected {n}×{n}, found {len(J)} rows of {[len(row) for row in J]}")
    entries = [[expression(x) for x in row] for row in J]
    symbols = {name for name, _ in equations.model.symbols}
    if all(x.symbols() <= symbols for row in entries for x in row):
        return _constant(equations, entries)
    return _varying(equations, entries)


def motor_rows(basis: Basis) -> list[list[Expression]]:
    """K with θ_m = K q; every joint needs a motor."""
    rows = {rotor.joint: dict(rotor.row) for rotor in basis.exact.rotors}
    missing = [basis.model.moving[j].name for j in range(basis.n) if j not in rows]
    if missing:
        raise CoordinateError(f"motor coordinates need a motor on every joint; none on: {', '.join(missing)}")
    return [[Expression.of(rows[i].get(j, 0)) for j in range(basis.n)] for i in range(basis.n)]


def motor_torques(equations: ClosedForm) -> Array[Entry]:
    """The motors' torques τ_m = K⁻ᵀ τ for a motion, in joint coordinates (remote drives, example 5-3)."""
    basis = equations.basis
    inverse = _inverse(motor_rows(basis))
    ring = _ring_for(basis, inverse)
    tau = [ring.include(row.expanded) for row in equations.tau]
    return Array(
        [Entry(basis, row) for row in _times_vector(_in_ring(ring, _transposed(inverse)), tau, ring)]
    )


# ---- constant J ------------------------------------------------------------------------------------------


def _constant(equations: ClosedForm, J: list[list[Expression]]) -> InCoordinates:
    basis, n = equations.basis, equations.n
    inverse = _inverse(J)
    ring, kinds, angles = _new_ring(basis, inverse)
    change = _Change(basis, ring, kinds, inverse)
    Ji = _in_ring(ring, inverse)
    Jt = _transposed(Ji)

    def matrix(rows: list[list[Any]]) -> Array[Entry]:
        changed = [[change(x.expanded) for x in row] for row in rows]
        return Array(
            [[Entry(basis, x) for x in row] for row in _product(_product(Jt, changed, ring), Ji, ring)]
        )

    g = _times_vector(Jt, [change(x.expanded) for x in equations.g], ring)
    return InCoordinates(
        B=matrix(equations.B.rows),
        C=matrix(equations.C.rows),
        g=Array([Entry(basis, x) for x in g]),
        determinant=Entry(basis, ring.one),
        angles=angles[:n],
    )


def _new_ring(basis: Basis, inverse: list[list[Expression]]) -> tuple[Ring, list[str], tuple[str, ...]]:
    """The ring in which new coordinate k has the generators of joint k, and what its angles are."""
    n = basis.n
    kinds = ["prismatic"] * n
    angles = [f"p{k + 1}" for k in range(n)]
    for i, joint in enumerate(basis.joints):
        used = [k for k in range(n) if not inverse[i][k].is_zero]
        if joint != "revolute":
            continue
        for k in used:
            kinds[k] = "revolute"
        if not _whole(inverse[i]):
            if used != [i]:
                raise CoordinateError(
                    f"joint {i + 1} is {_combination(inverse[i])}: angles can be whole sums of the new "
                    "coordinates, or one of them scaled"
                )
            angles[i] = _combination(inverse[i])
    for i, angle in enumerate(angles):
        others = [j for j in range(n) if j != i and not inverse[j][i].is_zero]
        if angle != f"p{i + 1}" and others:
            other = others[0]
            raise CoordinateError(
                f"joint {i + 1} is {angle}, so joint {other + 1} cannot be {_combination(inverse[other])}"
            )
    for i, joint in enumerate(basis.joints):
        if joint == "prismatic" and any(
            kinds[k] == "revolute" for k in range(n) if not inverse[i][k].is_zero
        ):
            raise CoordinateError(f"joint {i + 1} slides, but its coordinate would be an angle's")
    return _ring_for(basis, inverse, kinds), kinds, tuple(angles)


def _whole(row: list[Expression]) -> bool:
    return all(x.number is not None and x.number.denominator == 1 for x in row)


def _combination(row: list[Expression]) -> str:
    terms = [f"({x})*p{k + 1}" for k, x in enumerate(row) if not x.is_zero]
    return " + ".join(terms)


class _Change:
    """Rewrites an element in q, q̇ as one in p, ṗ."""

    def __init__(self, basis: Basis, ring: Ring, kinds: list[str], inverse: list[list[Expression]]) -> None:
        self.ring, n = ring, basis.n
        self.images: dict[str, Poly] = {}
        rows = _in_ring(ring, inverse)
        for i, joint in enumerate(basis.joints):
            self.images[f"qd{i + 1}"] = self._linear(rows[i], "qd")
            if joint == "prismatic":
                self.images[f"q{i + 1}"] = self._linear(rows[i], "q")
            elif _whole(inverse[i]):
                counts = [int(x.number or 0) for x in inverse[i]]
                c, s = _cos_sin(ring, counts, n)
                self.images[f"c{i + 1}"], self.images[f"s{i + 1}"] = c, s

    def _linear(self, row: list[Any], prefix: str) -> Poly:
        total = self.ring.zero
        for k, x in enumerate(row):
            if x != 0:
                total = total + x * self.ring.gen(f"{prefix}{k + 1}")
        return total

    def __call__(self, poly: Poly) -> Poly:
        names = poly.ring.names
        total = self.ring.zero
        for exponents, coefficient in poly.terms().items():
            term = self.ring.one * coefficient
            for i, e in enumerate(exponents):
                if e:
                    image = self.images.get(names[i])
                    term = term * (image if image is not None else self.ring.gen(names[i])) ** e
            total = total + term
        return total


def _cos_sin(ring: Ring, counts: list[int], n: int) -> tuple[Poly, Poly]:
    c, s = ring.one, ring.zero
    for k in range(n):
        for _ in range(abs(counts[k])):
            ck, sk = ring.gen(f"c{k + 1}"), ring.gen(f"s{k + 1}") * (1 if counts[k] > 0 else -1)
            c, s = c * ck - s * sk, s * ck + c * sk
    return c, s


# ---- J of the configuration ------------------------------------------------------------------------------


def _varying(equations: ClosedForm, entries: list[list[Expression]]) -> InCoordinates:
    basis, n = equations.basis, equations.n
    ring = basis.full
    J = [[basis.read(str(x)) for x in row] for row in entries]
    det, adj = _determinant(J, ring), _adjugate(J, ring)
    if not det:
        raise CoordinateError("J is singular everywhere")
    adj_t = _transposed(adj)
    B = [[ring.include(x.expanded) for x in row] for row in equations.B.rows]
    C = [[ring.include(x.expanded) for x in row] for row in equations.C.rows]
    # d/dt (adj/det) = (ȧdj·det − adj·ḋet)/det²
    adj_rate = [[_rate(adj[i][j], n) * det - adj[i][j] * _rate(det, n) for j in range(n)] for i in range(n)]
    inner_C = _sum(_scaled(_product(C, adj, ring), det), _product(B, adj_rate, ring))
    g = _times_vector(adj_t, [x.expanded for x in equations.g], ring)
    return InCoordinates(
        B=_entries(basis, _product(_product(adj_t, B, ring), adj, ring)),
        C=_entries(basis, _product(adj_t, inner_C, ring)),
        g=Array([Entry(basis, x) for x in g]),
        determinant=Entry(basis, det),
        angles=tuple(f"q{i + 1}" for i in range(n)),
    )


def _rate(x: Poly, n: int) -> Poly:
    """ẋ = Σ ∂x/∂q_k q̇_k."""
    total = x.ring.zero
    for k in range(n):
        total = total + x.by_joint(k) * x.ring.gen(f"qd{k + 1}")
    return total


def _entries(basis: Basis, rows: PolyMatrix) -> Array[Entry]:
    return Array([[Entry(basis, x) for x in row] for row in rows])


# ---- small matrices over any ring ------------------------------------------------------------------------


def _ring_for(basis: Basis, entries: list[list[Expression]], kinds: Sequence[str] | None = None) -> Ring:
    """The full ring, with the inverses these entries need and perhaps other kinds of joints."""
    return basis.extended([x for row in entries for x in row], kinds)


def _in_ring(ring: Ring, rows: list[list[Expression]]) -> PolyMatrix:
    return [[ring.constant(x) for x in row] for row in rows]


def _transposed(rows: Any) -> Any:
    return [list(row) for row in zip(*rows, strict=True)]


def _product(A: PolyMatrix, B: PolyMatrix, ring: Ring) -> PolyMatrix:
    columns = _transposed(B)
    return [[_dot(row, column, ring) for column in columns] for row in A]


def _times_vector(A: PolyMatrix, v: Sequence[Any], ring: Ring) -> list[Any]:
    return [_dot(row, v, ring) for row in A]


def _dot(a: Sequence[Any], b: Sequence[Any], ring: Ring) -> Poly:
    total = ring.zero
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def _scaled(A: PolyMatrix, k: Poly) -> PolyMatrix:
    return [[x * k for x in row] for row in A]


def _sum(A: PolyMatrix, B: PolyMatrix) -> PolyMatrix:
    return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(A, B, strict=True)]


def _minor(rows: Any, i: int, j: int) -> Any:
    return [[x for b, x in enumerate(row) if b != j] for a, row in enumerate(rows) if a != i]


def _determinant(rows: Any, one: Any) -> Any:
    """By expansion along the rows, each minor once: the matrices here are small or sparse."""
    minors: dict[tuple[int, ...], Any] = {(): one.one if isinstance(one, Ring) else one}

    def minor(columns: tuple[int, ...]) -> Any:
        """Of the last rows."""
        if columns not in minors:
            if len(minors) > _MAX_MINORS:
                raise CoordinateError(f"J: {len(rows)}×{len(rows)} with too few zeros to be inverted exactly")
            row, total = rows[len(rows) - len(columns)], 0
            for k, j in enumerate(columns):
                if row[j] != 0:
                    total = total + (-1) ** k * row[j] * minor(columns[:k] + columns[k + 1 :])
            minors[columns] = total
        return minors[columns]

    return minor(tuple(range(len(rows))))


def _adjugate(rows: Any, one: Any) -> Any:
    n = len(rows)
    return [[(-1) ** (i + j) * _determinant(_minor(rows, j, i), one) for j in range(n)] for i in range(n)]


def _inverse(rows: list[list[Expression]]) -> list[list[Expression]]:
    determinant = Expression.of(_determinant(rows, Expression.of(1)))
    if determinant.is_zero:
        raise CoordinateError("J is singular")
    return [[Expression.of(x) / determinant for x in row] for row in _adjugate(rows, Expression.of(1))]
