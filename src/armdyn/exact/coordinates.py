"""The equations in other generalized coordinates, dp = J dq (Asada and Slotine, 5.2.4), or other parameters.

With q̇ = J⁻¹ṗ the forces are J⁻ᵀτ, so

    B_p = J⁻ᵀ B J⁻¹    C_p = J⁻ᵀ (C J⁻¹ + B d/dt J⁻¹)    g_p = J⁻ᵀ g.

A constant J (absolute angles, motor angles) also changes the angles themselves, q = J⁻¹p, where they are
whole sums of the new coordinates; where they are not (a differential wrist turns by half the sum of its
motors' angles), cosines and sines stay those of the joints. With a J that depends on q the entries stay
functions of q and q̇, and come over powers of det J.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.exact.basis import Basis, cos_sin_of_sum
from armdyn.exact.closed_form import ClosedForm
from armdyn.exact.form import Array, Entry, Formula
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.names import free_letter
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.exact.ring import Poly, Ring, check_written
from armdyn.exact.written import Line, Written, loads, matrix_lines, tip_passage, vector_passage
from armdyn.expression import ArmdynError, Atom, Expression, TooLargeError, expression, limited, parse
from armdyn.model import edit
from armdyn.model.friction import Row
from armdyn.model.robot_model import RobotModel, lower, product

# ------------------------------------------------------------------------------------------------------------
# Equations in other coordinates as a document: what p is, the rows of motion, the terms.


def sections(found: InCoordinates, style: Style) -> list[Passage]:
    """All that `found` says, in a style."""
    basis = found.determinant.basis
    check_written(sum(len(x.poly) for M in (found.B, found.C) for row in M for x in row))
    letter = _letter(basis)
    letters = "" if found.kept else letter, letter if found.inverse is not None else ""
    printer = Printer(basis, replace(style, letters=letters))
    parts = [Passage("Coordinates", _meaning(found, style, letter), _coordinates(found, printer, letter))]
    if found.inverse is not None:
        parts.append(Passage("Equations of motion", "", _motion(found, printer)))
    parts.append(Passage("Inertia matrix", "", matrix_lines("b", found.B, printer, symmetric=True)))
    parts.append(Passage("Coriolis matrix", "", matrix_lines("c", found.C, printer)))
    parts.append(vector_passage("Gravity torques", "g", found.g, printer))
    parts.append(vector_passage("Spring torques", "e", found.springs, printer))
    parts.append(vector_passage("Friction torques", "f", found.friction, printer))
    if any(not x.is_zero for x in found.tip_torques):
        parts.append(tip_passage(found.tip_torques, printer))
    named = [*printer.definitions.items(), *_angles(found, printer, letter), *_speeds(found, printer)]
    parts.append(Passage("Where", loads(basis, style), named))
    return [part for part in parts if part.lines or part.text]


def _letter(basis: Basis) -> str:
    """p, unless the description has a symbol p1 or pd1."""
    names = [name for name, _ in basis.model.symbols]
    taken = any(re.fullmatch(r"pd{0,2}_?\d+", name) for name in names)
    return free_letter(names) if taken else "p"


def _meaning(found: InCoordinates, style: Style, letter: str) -> str:
    if found.inverse is not None:
        return ""
    rates = f"{letter}d = J qd" if style.glyph is None else f"d{letter} = J dq"
    vectors = {"g": found.g, "e": found.springs, "f": found.friction, "t": found.tip_torques}
    held = [name for name, terms in vectors.items() if name == "g" or any(x.poly for x in terms)]
    below = f"{' and '.join(held)} over det J itself"
    return f"{rates}; B stands over the square of det J, C over its cube, {below}."


def _coordinates(found: InCoordinates, printer: Printer, letter: str) -> list[Line]:
    """p = J q, or the entries of J and its determinant."""
    style, basis = printer.style, printer.basis
    if found.inverse is None:
        J = [[Entry(basis, basis.read(str(x))) for x in row] for row in found.J]
        lines = matrix_lines("J", J, printer)
        return [*lines, (style.words("det J"), found.determinant.parts(printer) or [style.zero])]
    old = replace(style, letters=("", ""))
    names = [old.generator(f"q{k + 1}", basis) for k in range(basis.n)]
    return [(_position(style, basis, letter, i), _sum(style, row, names)) for i, row in enumerate(found.J)]


def _position(style: Style, basis: Basis, letter: str, i: int) -> str:
    return replace(style, letters=(letter, letter)).generator(f"q{i + 1}", basis)


def _sum(style: Style, row: tuple[Expression, ...], names: list[str]) -> list[str]:
    return style.combination([(x, name) for x, name in zip(row, names, strict=True) if not x.is_zero])


def _motion(found: InCoordinates, printer: Printer) -> list[Line]:
    """τ = B p̈ + C ṗ + friction + g + springs + tip force, row by row."""
    style, n, lines = printer.style, len(found.g), []
    for i, g in enumerate(found.g):
        row = [(found.B[i, k].poly, f"qdd{k + 1}") for k in range(n) if found.B[i, k].poly]
        terms = [printer.times(printer.poly_parts(x), style.generator(q, printer.basis)) for x, q in row]
        ring = g.poly.ring
        speeds = sum((found.C[i, k].poly * ring.gen(f"qd{k + 1}") for k in range(n)), ring.zero)
        held = (speeds, found.friction[i].poly, g.poly, found.springs[i].poly, found.tip_torques[i].poly)
        terms += [part for poly in held if poly for part in printer.poly_parts(poly)]
        lines.append((style.entry("tau", (i + 1,)), terms or [style.zero]))
    return lines


def _angles(found: InCoordinates, printer: Printer, letter: str) -> list[Line]:
    """Lines for joints in terms of p where equations keep joints; else for each c1 and s1 not of one p."""
    style, basis = printer.style, printer.basis
    if found.inverse is None:
        return []
    names = [_position(style, basis, letter, k) for k in range(basis.n)]
    used = _used(found)
    lines = []
    for i, row in enumerate(found.inverse):
        terms = _sum(style, row, names)
        if found.kept:
            lines.append((replace(style, letters=("", "")).generator(f"q{i + 1}", basis), terms))
        elif found.angles[i] != f"p{i + 1}":
            for kind, function in (("c", "cos"), ("s", "sin")):
                if f"{kind}{i + 1}" in used:
                    lines.append((style.trig(kind, str(i + 1)), [style.function(function, style.sum(terms))]))
    return lines


def _used(found: InCoordinates) -> set[str]:
    """The generators of all terms."""
    vectors = (found.g, found.springs, found.friction, found.tip_torques)
    rows = (*found.B, *found.C, *(terms.rows for terms in vectors))
    return {name for row in rows for x in row for name in x.poly.generators()}


def _speeds(found: InCoordinates, printer: Printer) -> list[Line]:
    """Lines for the speeds of joints and motors whose signs and bells friction has, in the rates of p."""
    style, basis = printer.style, printer.basis
    if found.inverse is None:
        return []
    n = len(found.g)
    rates = [style.generator(f"qd{k + 1}", basis) for k in range(n)]
    rows: dict[str, Row] = {f"sgn{i + 1}": ((i, 1),) for i in range(n)}
    rows |= {f"sgnm{i + 1}": surface.row for i, surface in enumerate(basis.speeds)}
    rows |= {name: surface.row for name, surface in (basis.bells | basis.tanhs).items()}
    lines: dict[str, list[str]] = {}
    for name in sorted(_used(found) & rows.keys()):
        row = [
            sum((Expression.of(k) * found.inverse[j][m] for j, k in rows[name]), Expression.of(0))
            for m in range(n)
        ]
        terms = _sum(style, tuple(row), rates)
        if style.glyph is not None:  # the sign is written as such, of the old speed
            lines[_old_speed(replace(style, letters=("", "")), basis, name, rows[name])] = terms
        elif name.startswith("sgn"):
            lines[name] = [style.function("sign", style.sum(terms))]
        elif name in basis.tanhs:
            ratio = style.quotient(style.parentheses(style.sum(terms)), [str(basis.tanhs[name].width)])
            lines[name] = [style.function("tanh", ratio)]
        else:
            ratio = style.quotient(
                style.parentheses(style.sum(terms)), [str(basis.bells[name].stribeck_velocity)]
            )
            lines[name] = [style.function("exp", f"-({ratio})**2")]
    return list(lines.items())


def _old_speed(style: Style, basis: Basis, name: str, row: Row) -> str:
    """The speed inside a sign, a bell or a tanh, as friction writes it."""
    if surface := basis.bells.get(name) or basis.tanhs.get(name):
        return style.speed_of(basis, surface)
    if name.startswith("sgnm"):
        return style.speed(basis, int(name[4:]) - 1)
    return style.generator(f"qd{row[0][0] + 1}", basis)


# ------------------------------------------------------------------------------------------------------------
# Equations in given combinations of parameters, such as π_3 = I_2xx − I_2yy − a_2² m_3.
#
# Each combination is solved for one of its symbols, which is replaced in the description; symbols that the
# combinations do not determine stay. If they are complete, the replaced symbols cancel from the equations
# by themselves.


class CombinationError(ArmdynError):
    """A combination cannot be solved for any of its symbols."""


def in_terms_of(model: RobotModel, combinations: Mapping[str, str]) -> RobotModel:
    """The robot described in new symbols, each standing for a combination of old ones."""
    known = dict(model.symbols)
    texts = {name: parse(text, known.keys()) for name, text in combinations.items()}
    for name in texts:
        if name in known or not name.isidentifier():
            raise CombinationError(f"'{name}' is not a new name; the robot has {', '.join(known)}")
    geometry = {
        symbol
        for x in lower(model, lambda x: x).scalars(parameters=False)
        if isinstance(x, Expression)
        for symbol in x.symbols()
    }
    solved: dict[str, Expression] = {}
    for name, combination in texts.items():
        others = [x for other, x in texts.items() if other != name]
        current = combination.substitute(solved)
        pivot, coefficient = _pivot(name, current, geometry | texts.keys(), others)
        rest = current - coefficient * Expression.symbol(pivot)
        value = (Expression.symbol(name) - rest) / coefficient
        solved = {old: x.substitute({pivot: value}) for old, x in solved.items()}
        solved[pivot] = value
    new = [(name, _value(model, combination)) for name, combination in texts.items()]
    changed = edit.substitute(model, solved)
    kept = [(name, value) for name, value in model.symbols if name not in solved]
    return replace(changed, symbols=(*kept, *new))


def _pivot(
    name: str, combination: Expression, excluded: set[str], others: list[Expression]
) -> tuple[str, Expression]:
    """The symbol to solve for: linear in it, with the simplest factor, and little used elsewhere."""
    candidates = []
    for symbol in sorted(combination.symbols() - excluded):
        atom = Atom("symbol", symbol)
        with_it = [(m, c) for m, c in combination.terms if atom in dict(m)]
        inside = any(a.argument and symbol in a.argument.symbols() for a in combination.atoms())
        if len(with_it) == 1 and dict(with_it[0][0])[atom] == 1 and not inside:
            monomial, c = with_it[0]
            coefficient = Expression({tuple((a, e) for a, e in monomial if a != atom): c})
            if coefficient.symbols() & excluded:
                continue
            used = sum(symbol in x.symbols() for x in others)
            candidates.append((len(coefficient.symbols()), used, symbol, coefficient))
    if not candidates:
        raise CombinationError(f"{name} = {combination}: it cannot be solved for any inertial symbol in it")
    _, _, symbol, coefficient = min(candidates, key=lambda c: c[:3])
    return symbol, coefficient


def _value(model: RobotModel, combination: Expression) -> Expression | None:
    """The exact value of a combination, None while a symbol in it is free."""
    values = {name: value for name, value in model.symbols if value is not None}
    return combination.substitute(values) if combination.symbols() <= values.keys() else None


# ------------------------------------------------------------------------------------------------------------
# Equations in other coordinates.


_MAX_PRODUCTS = 50_000  # of terms, to invert J: about a second


class CoordinateError(ArmdynError):
    """The coordinates asked for do not fit the robot."""


@dataclass(frozen=True)
class InCoordinates(Written):
    """Equations of motion in coordinates p: B p̈ + C ṗ + friction + g + springs + tip_torques = forces.

    The entries are numerators: B stands over `determinant`², C over `determinant`³, the vectors over
    `determinant`, which is 1 where J is constant. Then qd1 … are ṗ, and q1 …, c1 … are those of p where all
    `angles` are whole sums of p; else of the joints, `value(q=…, qd=…)` takes q and ṗ. With a J of the
    configuration all are those of the joints. Signs sgn1 … in friction are of the joints' speeds. `text`,
    `latex`, `markdown` and `mathml` write all of it, with p and ṗ by their names.
    """

    B: Array[Entry]
    C: Array[Entry]
    g: Array[Entry]
    springs: Array[Entry]
    friction: Array[Entry]
    tip_torques: Array[Entry]
    determinant: Entry
    angles: tuple[str, ...]
    J: tuple[tuple[Expression, ...], ...] = ()
    inverse: tuple[tuple[Expression, ...], ...] | None = None  # J⁻¹ where it is constant
    kept: bool = False  # whether cosines and positions are those of the joints
    called: str = "other coordinates"

    @property
    def title(self) -> str:
        return f"{self.determinant.basis.model.name} in {self.called}"

    def passages(self, style: Style) -> list[Passage]:
        return sections(self, style)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def __str__(self) -> str:
        return self.text()


def in_coordinates(equations: ClosedForm, J: Sequence[Sequence[Any]]) -> InCoordinates:
    """The equations in p with dp = J dq; J has numbers, entries or texts in the symbols and c1, s1, …"""
    n = equations.n
    if len(J) != n or any(len(row) != n for row in J):
        raise CoordinateError(f"J: expected {n}×{n}, found {len(J)} rows of {[len(row) for row in J]}")
    entries = [[expression(str(x) if isinstance(x, Formula) else x) for x in row] for row in J]
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
        friction=_entries(basis, ring, Ji.T @ changed(equations.friction)),
        tip_torques=_entries(basis, ring, Ji.T @ changed(equations.tip_torques)),
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
    if not (possible and (whole or "prismatic" not in basis.joints)):  # q of an entry is of one kind
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
        terms = (x * self.ring.gen(f"{prefix}{k + 1}") for k, x in enumerate(row) if x != 0)
        return sum(terms, self.ring.zero)

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

    def included(terms: Array[Any]) -> np.ndarray:
        return _matrix(terms, lambda x: ring.include(x.expanded))

    B, C = included(equations.B), included(equations.C)
    # d/dt (adj/det) = (ȧdj·det − adj·ḋet)/det²
    adj_rate = _matrix(adj.tolist(), lambda x: _rate(x, n)) * det - adj * _rate(det, n)
    return InCoordinates(
        B=_entries(basis, ring, adj.T @ B @ adj),
        C=_entries(basis, ring, adj.T @ (C @ adj * det + B @ adj_rate)),
        g=_entries(basis, ring, adj.T @ included(equations.g)),
        springs=_entries(basis, ring, adj.T @ included(equations.springs)),
        friction=_entries(basis, ring, adj.T @ included(equations.friction)),
        tip_torques=_entries(basis, ring, adj.T @ included(equations.tip_torques)),
        determinant=Entry(basis, det),
        angles=tuple(f"q{i + 1}" for i in range(n)),
        J=tuple(map(tuple, entries)),
        kept=True,
    )


def _rate(x: Poly, n: int) -> Poly:
    """ẋ = Σ ∂x/∂q_k q̇_k."""
    return sum((x.by_joint(k) * x.ring.gen(f"qd{k + 1}") for k in range(n)), x.ring.zero)


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
    """Determinant and adjugate by Faddeev and LeVerrier, who divide by whole numbers only, so in any ring."""
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
