"""The equations in other generalized coordinates: dp = J dq (Asada and Slotine, 5.2.4).

With q̇ = J⁻¹ṗ the forces are J⁻ᵀτ, so

    B_p = J⁻ᵀ B J⁻¹    C_p = J⁻ᵀ (C J⁻¹ + B d/dt J⁻¹)    g_p = J⁻ᵀ g.

A constant J (absolute angles, motor angles) also changes the angles themselves, q = J⁻¹p. With a J that
depends on q the entries stay functions of q and q̇, and come over powers of det J.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.exact.engine.basis import Basis, cos_sin_of_sum
from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.form import Array, Entry
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.expression import ArmdynError, Expression, TooLargeError, expression, limited
from armdyn.model.lowering import product

_MAX_PRODUCTS = 50_000  # of terms, to invert J: about a second


class CoordinateError(ArmdynError):
    """The coordinates asked for do not fit the robot."""


@dataclass(frozen=True)
class InCoordinates:
    """Equations of motion in coordinates p: B p̈ + C ṗ + g + springs = forces, friction left out.

    The entries are numerators: B stands over `determinant`², C over `determinant`³, g and springs over
    `determinant`, which is 1 where J is constant. Then q1 … are p, qd1 … are ṗ and c1 … the cosines of
    `angles`; else all are those of the joints.
    """

    B: Array[Entry]
    C: Array[Entry]
    g: Array[Entry]
    springs: Array[Entry]
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
    """K with θ_m = K q; every independent joint needs a motor, and no other has one."""
    model, S = basis.model, basis.exact.rows
    rows = {rotor.joint: dict(product(rotor.row, S) if S else rotor.row) for rotor in basis.exact.rotors}
    independent = model.dependence.independent
    missing = [model.moving[j].name for j in independent if j not in rows]
    if missing:
        raise CoordinateError(f"motor coordinates need a motor on every joint; none on: {', '.join(missing)}")
    if further := [model.moving[j].name for j in rows if j not in independent]:
        raise CoordinateError(
            f"motor coordinates need as many motors as coordinates; joints that follow others have motors: "
            f"{', '.join(further)}"
        )
    return [[Expression.of(rows[i].get(j, 0)) for j in range(basis.n)] for i in independent]


def motor_torques(equations: ClosedForm) -> Array[Entry]:
    """The motors' torques τ_m = K⁻ᵀ τ for a motion, in joint coordinates (remote drives, example 5-3)."""
    basis = equations.basis
    inverse = _inverse(motor_rows(basis))
    ring = _ring_for(basis, inverse)
    tau = _matrix(equations.tau, lambda row: ring.include(row.expanded))
    return _entries(basis, ring, _matrix(inverse.T.tolist(), ring.constant) @ tau)


# ---- constant J ------------------------------------------------------------------------------------------


def _constant(equations: ClosedForm, J: list[list[Expression]]) -> InCoordinates:
    basis, n = equations.basis, equations.n
    if not basis.is_trigonometric:
        raise CoordinateError(
            "other coordinates need joint angles that are whole sums of the robot's coordinates; "
            "here a relation between joints makes others"
        )
    inverse = _inverse(J)
    ring, kinds, angles = _new_ring(basis, inverse)
    change = _Change(basis, ring, kinds, inverse)
    Ji = _matrix(inverse.tolist(), ring.constant)

    def changed(terms: Array[Any]) -> np.ndarray:
        return _matrix(terms, lambda x: change(x.expanded))

    return InCoordinates(
        B=_entries(basis, ring, Ji.T @ changed(equations.B) @ Ji),
        C=_entries(basis, ring, Ji.T @ changed(equations.C) @ Ji),
        g=_entries(basis, ring, Ji.T @ changed(equations.g)),
        springs=_entries(basis, ring, Ji.T @ changed(equations.springs)),
        determinant=Entry(basis, ring.one),
        angles=angles[:n],
    )


def _new_ring(basis: Basis, inverse: np.ndarray) -> tuple[Ring, list[str], tuple[str, ...]]:
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
                    "coordinates, or one new coordinate times a factor"
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
            raise CoordinateError(f"joint {i + 1} slides, so its coordinate must not be an angle")
    return _ring_for(basis, inverse, kinds), kinds, tuple(angles)


def _whole(row: np.ndarray) -> bool:
    return all(x.number is not None and x.number.denominator == 1 for x in row)


def _combination(row: np.ndarray) -> str:
    terms = [f"({x})*p{k + 1}" for k, x in enumerate(row) if not x.is_zero]
    return " + ".join(terms)


class _Change:
    """Rewrites an element in q, q̇ as one in p, ṗ."""

    def __init__(self, basis: Basis, ring: Ring, kinds: list[str], inverse: np.ndarray) -> None:
        self.ring = ring
        self.images: dict[str, Poly] = {}
        rows = _matrix(inverse.tolist(), ring.constant)
        for i, joint in enumerate(basis.joints):
            self.images[f"qd{i + 1}"] = self._linear(rows[i], "qd")
            if joint == "prismatic" or i in basis.measured:
                self.images[f"q{i + 1}"] = self._linear(rows[i], "q")
            if joint == "revolute":
                old = basis.full
                self.images[old.cosines[i]], self.images[old.sines[i]] = self._angle(inverse, old.summed[i])

    def _angle(self, inverse: np.ndarray, joints: tuple[int, ...]) -> tuple[Poly, Poly]:
        """Cosine and sine of a sum of joint angles; an angle that is no whole sum keeps its generators."""
        c, s = self.ring.one, self.ring.zero
        for i in joints:
            row = [(k, int(x.number or 0)) for k, x in enumerate(inverse[i])]
            times = row if _whole(inverse[i]) else [(i, 1)]
            c, s = cos_sin_of_sum(self.ring, times, (c, s))
        return c, s

    def _linear(self, row: np.ndarray, prefix: str) -> Poly:
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


# ---- J of the configuration ------------------------------------------------------------------------------


def _varying(equations: ClosedForm, entries: list[list[Expression]]) -> InCoordinates:
    basis, n = equations.basis, equations.n
    ring = basis.full
    J = _matrix(entries, lambda x: basis.read(str(x)))
    det, adj = _determinant_and_adjugate(J)
    if not det:
        raise CoordinateError("J is singular everywhere: its determinant is zero")
    adj = _matrix(adj.tolist(), lambda x: ring.zero + x)
    B, C, g, springs = (
        _matrix(x, lambda y: ring.include(y.expanded))
        for x in (equations.B, equations.C, equations.g, equations.springs)
    )
    # d/dt (adj/det) = (ȧdj·det − adj·ḋet)/det²
    adj_rate = _matrix(adj.tolist(), lambda x: _rate(x, n)) * det - adj * _rate(det, n)
    return InCoordinates(
        B=_entries(basis, ring, adj.T @ B @ adj),
        C=_entries(basis, ring, adj.T @ (C @ adj * det + B @ adj_rate)),
        g=_entries(basis, ring, adj.T @ g),
        springs=_entries(basis, ring, adj.T @ springs),
        determinant=Entry(basis, det),
        angles=tuple(f"q{i + 1}" for i in range(n)),
    )


def _rate(x: Poly, n: int) -> Poly:
    """ẋ = Σ ∂x/∂q_k q̇_k."""
    total = x.ring.zero
    for k in range(n):
        total = total + x.by_joint(k) * x.ring.gen(f"qd{k + 1}")
    return total


# ---- matrices --------------------------------------------------------------------------------------------


def _ring_for(basis: Basis, entries: np.ndarray, kinds: Sequence[str] | None = None) -> Ring:
    """The full ring, with the inverses these entries need and perhaps other kinds of joints."""
    return basis.extended(list(entries.flat), kinds)


def _matrix(rows: Any, function: Callable[[Any], Any]) -> np.ndarray:
    """An array of exact numbers: a function of each entry of rows, or of a list."""
    entries = [[function(x) for x in row] if isinstance(row, list) else function(row) for row in rows]
    return np.array(entries, dtype=object)


def _entries(basis: Basis, ring: Ring, found: np.ndarray) -> Array[Entry]:
    return Array(_matrix(found.tolist(), lambda x: Entry(basis, ring.zero + x)).tolist())


def _determinant_and_adjugate(A: np.ndarray) -> tuple[Any, np.ndarray]:
    """By Faddeev and LeVerrier: it divides by whole numbers only, so the entries may be of any ring."""
    n = len(A)
    unit = np.eye(n, dtype=int).astype(object)
    adjugate, product, trace = unit, A, np.trace(A)
    for k in range(2, n + 1):
        adjugate = unit * trace - product
        product = A @ adjugate
        trace = np.trace(product) / k
    return trace, adjugate


def _inverse(rows: list[list[Expression]]) -> np.ndarray:
    """J⁻¹ over the exact numbers of a description."""
    try:
        with limited(_MAX_PRODUCTS):
            determinant, adjugate = _determinant_and_adjugate(_matrix(rows, Expression.of))
    except TooLargeError:
        raise CoordinateError(
            f"J: {len(rows)}×{len(rows)} with too few zeros to be inverted exactly"
        ) from None
    if determinant.is_zero:
        raise CoordinateError("J is singular: its determinant is zero")
    return _matrix(adjugate.tolist(), lambda x: Expression.of(x) / determinant)
