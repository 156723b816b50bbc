"""The equations in other generalized coordinates: dp = J dq (Asada and Slotine, 5.2.4).

With q̇ = J⁻¹ṗ the forces are J⁻ᵀτ, so

    B_p = J⁻ᵀ B J⁻¹    C_p = J⁻ᵀ (C J⁻¹ + B d/dt J⁻¹)    g_p = J⁻ᵀ g.

A constant J (absolute angles, motor angles) also changes the angles themselves, q = J⁻¹p, where they are
whole sums of the new coordinates; where they are not (a differential wrist turns by half the sum of its
motors' angles), cosines and sines stay those of the joints. With a J that depends on q the entries stay
functions of q and q̇, and come over powers of det J.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.exact.engine.basis import Basis, cos_sin_of_sum
from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.form import Array, Entry
from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.printing import document
from armdyn.exact.printing.mathml import MATHML, mathml
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT
from armdyn.exact.transformations import written
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
    `angles`; else all are those of the joints. `text`, `latex`, `markdown` and `mathml` write all of it, with
    p and ṗ by their names.
    """

    B: Array[Entry]
    C: Array[Entry]
    g: Array[Entry]
    springs: Array[Entry]
    determinant: Entry
    angles: tuple[str, ...]
    J: tuple[tuple[Expression, ...], ...] = ()
    inverse: tuple[tuple[Expression, ...], ...] | None = None  # J⁻¹ where it is constant
    kept: bool = False  # whether cosines and positions are those of the joints
    called: str = "other coordinates"

    def text(self) -> str:
        """All terms as plain text; also `str(…)`."""
        return document.text(self._title, written.sections(self, TEXT))

    __str__ = text

    def latex(self, width: str = PAGE) -> str:
        """All terms as LaTeX (amsmath), in rows of at most a width."""
        return document.latex(self._title, written.sections(self, LATEX), width)

    def markdown(self, width: str = PAGE) -> str:
        """All terms as a Markdown document with formulas between $$, in rows of at most a width."""
        return document.markdown(self._title, written.sections(self, LATEX), width)

    def mathml(self, width: str = "40em") -> str:
        """All terms as a fragment of HTML, formulas in MathML, in rows of at most a width."""
        return mathml(self._title, written.sections(self, MATHML), width)

    def __repr__(self) -> str:
        return f"<{self._title}>"

    @property
    def _title(self) -> str:
        return f"{self.determinant.basis.model.name} in {self.called}"


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


def in_motor_coordinates(equations: ClosedForm) -> InCoordinates:
    """The equations in the motors' angles."""
    return replace(in_coordinates(equations, motor_rows(equations.basis)), called="motor coordinates")


def motor_rows(basis: Basis) -> list[list[Expression]]:
    """K with θ_m = K q, motors in the order of their joints; there must be as many of them as coordinates.

    They may be those of joints that follow others, as the gears of a differential do.
    """
    model, S = basis.model, basis.exact.rows
    driving = [rotor for rotor in basis.exact.rotors if rotor.part == "rotor"]
    rows = {rotor.joint: dict(product(rotor.row, S) if S else rotor.row) for rotor in driving}
    own = model.dependence.independent
    if model.elastic:
        raise CoordinateError(
            "motor coordinates need rigid joints: the link of an elastic joint does not follow from its "
            "motor; with_rigid_joints() is the robot without elasticity"
        )
    if len(rows) < basis.n:
        missing = ", ".join(model.moving[j].joint_label for j in own if j not in rows)
        raise CoordinateError(f"motor coordinates need a motor on every joint; none on: {missing}")
    if len(rows) > basis.n:
        further = ", ".join(model.moving[j].joint_label for j in rows if j not in own)
        raise CoordinateError(
            f"motor coordinates need as many motors as coordinates; {len(rows)} motors for {basis.n} here: "
            f"joints that follow others have motors, too: {further}"
        )
    return [[Expression.of(rows[i].get(j, 0)) for j in range(basis.n)] for i in sorted(rows)]


def motor_torques(equations: ClosedForm) -> Array[Entry]:
    """The motors' torques τ_m = K⁻ᵀ τ for a motion, in joint coordinates (remote drives, example 5-3)."""
    basis = equations.basis
    inverse = _inverse(motor_rows(basis))
    ring = _ring_for(basis, inverse)
    tau = _matrix(equations.tau, lambda row: ring.include(row.expanded))
    return _entries(basis, ring, _matrix(inverse.T.tolist(), ring.constant) @ tau)


# ---- constant J ------------------------------------------------------------------------------------------


def _constant(equations: ClosedForm, J: list[list[Expression]]) -> InCoordinates:
    basis = equations.basis
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
        angles=angles,
        J=tuple(map(tuple, J)),
        inverse=tuple(map(tuple, inverse.tolist())),
        kept=kinds is None,
    )


def _new_ring(basis: Basis, inverse: np.ndarray) -> tuple[Ring, list[str] | None, tuple[str, ...]]:
    """The ring of the new coordinates, their kinds, and what the angles of its cosines are.

    New coordinate k has the generators of joint k. Where that does not do, cosines and positions stay those
    of the joints, and there are no kinds.
    """
    n = basis.n
    kinds = ["prismatic"] * n
    angles = [f"p{k + 1}" for k in range(n)]
    whole, possible = True, basis.is_trigonometric
    for i, joint in enumerate(basis.joints):
        used = [k for k in range(n) if not inverse[i][k].is_zero]
        if joint != "revolute":
            continue
        for k in used:
            kinds[k] = "revolute"
        if not _whole(inverse[i]):
            angles[i] = _combination(inverse[i])
            others = any(not inverse[j][i].is_zero for j in range(n) if j != i)
            whole, possible = False, possible and used == [i] and not others
    for i, joint in enumerate(basis.joints):
        if joint == "prismatic":
            possible &= all(kinds[k] == joint for k in range(n) if not inverse[i][k].is_zero)
    if not possible:
        return _ring_for(basis, inverse), None, tuple(_combination(row) for row in inverse)
    turning = tuple(k for k in range(n) if kinds[k] == "revolute")
    related = [turning] if turning and whole else []
    return basis.extended(list(inverse.flat), kinds, related), kinds, tuple(angles)


def _whole(row: np.ndarray) -> bool:
    return all(x.number is not None and x.number.denominator == 1 for x in row)


def _combination(row: np.ndarray) -> str:
    terms = [f"p{k + 1}" if x == 1 else f"({x})*p{k + 1}" for k, x in enumerate(row) if not x.is_zero]
    return " + ".join(terms)


class _Change:
    """Rewrites an element in q, q̇ as one in p, ṗ; without kinds, velocities alone."""

    def __init__(self, basis: Basis, ring: Ring, kinds: list[str] | None, inverse: np.ndarray) -> None:
        self.ring = ring
        self.images: dict[str, Poly] = {}
        rows = _matrix(inverse.tolist(), ring.constant)
        for i, joint in enumerate(basis.joints):
            self.images[f"qd{i + 1}"] = self._linear(rows[i], "qd")
            if kinds is None:
                continue
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
        J=tuple(map(tuple, entries)),
        kept=True,
    )


def _rate(x: Poly, n: int) -> Poly:
    """ẋ = Σ ∂x/∂q_k q̇_k."""
    total = x.ring.zero
    for k in range(n):
        total = total + x.by_joint(k) * x.ring.gen(f"qd{k + 1}")
    return total


# ---- matrices --------------------------------------------------------------------------------------------


def _ring_for(basis: Basis, entries: np.ndarray) -> Ring:
    """The full ring, with the inverses these entries need."""
    return basis.extended(list(entries.flat))


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
