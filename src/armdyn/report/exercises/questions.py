"""The questions of an exercise: what is asked, what an answer begins with, the solution with its steps.

A question is a row of `QUESTIONS`. Solutions are written from the exact equations of the robot, with the
steps that a worked example has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from armdyn.exact import base, steps
from armdyn.exact.form import Array, Formula
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.names import Glyph, parameter_glyph
from armdyn.exact.written import COORDINATES, Line, matrix_lines, sections
from armdyn.report.exercises.case import Case, MovingPart, Pen, plain_text
from armdyn.robot.joints import torque_unit


@dataclass(frozen=True)
class SolvedTask:
    """A solution: what an answer begins with, for which a sheet has room, and the steps to it."""

    answer: list[str]
    steps: list[Passage]


def _lefts(pen: Pen, lines: list[Line]) -> list[str]:
    return [left + pen.style.equals for left, _ in lines]


# ---- kinematics and energies -------------------------------------------------------------------------------


def _jacobians(case: Case, pen: Pen) -> SolvedTask:
    answer, found = [], []
    for body in case.bodies:
        above = ("(", body.sign, ")")
        parts = {
            pen.name("p", body.sign): body.centre,
            pen.name("J", "P", sup=above): body.jacobian.position_part,
            pen.name("J", "O", sup=above): body.jacobian.orientation_part,
        }
        answer += [left + pen.style.equals for left in parts]
        lines = [line for left, array in parts.items() for line in pen.matrix(left, array)]
        found.append(Passage(body.title, "", lines))
    return SolvedTask(answer, found)


def _around(body: MovingPart, pen: Pen, x: Glyph, spin: Glyph) -> str:
    """xᵀR I Rᵀx; of a rotor in the reflected model, of which the spin alone counts, that of its I_m."""
    if body.reflected:
        return pen.times(_transposed(spin), Glyph("I", ("m",)), spin)
    return pen.times(_transposed(x), Glyph("R"), Glyph("I"), _transposed(Glyph("R")), x)


def _transposed(x: Glyph) -> Glyph:
    return replace(x, sup=("T",))


def _energies(case: Case, pen: Pen) -> SolvedTask:
    half, p, found = pen.style.number(Fraction(1, 2)), Glyph("p", (), "dot"), []
    moving = pen.times(half, Glyph("m"), _transposed(p), p)
    for body in case.bodies:
        turning = pen.times(half, _around(body, pen, Glyph("omega"), Glyph("omega", ("m",))))
        parts = (moving, body.energy.translation), (turning, body.energy.rotation)
        lines = [pen.line(left, x) for left, x in parts if not x.is_zero]
        lines.append(pen.line(pen.name("U", body.sign), body.energy.potential))
        found.append(Passage(body.title, "", lines))
    T_and_U = case.equations.kinetic_energy, case.equations.potential_energy
    total = [pen.line(pen.name(letter), x) for letter, x in zip("TU", T_and_U, strict=True)]
    springs = any(not x.is_zero for x in case.equations.springs)
    found.append(Passage("Their sums", "`U` has the energy of the springs, too." if springs else "", total))
    return SolvedTask(_lefts(pen, total), found)


# ---- the terms of the equations of motion ------------------------------------------------------------------


def _inertia(case: Case, pen: Pen) -> SolvedTask:
    J_P, J_O, found = Glyph("J", ("P",)), Glyph("J", ("O",)), []
    moving = pen.times(Glyph("m"), _transposed(J_P), J_P)
    for body in case.bodies:
        turning, lines = _around(body, pen, J_O, Glyph("k")), []
        for left, energy in ((moving, body.energy.translation), (turning, body.energy.rotation)):
            if not energy.is_zero:
                lines += pen.matrix(left, _second_derivatives(energy, case.robot.n))
        found.append(Passage(body.title, "" if lines else "It adds nothing.", lines))
    total = matrix_lines("b", case.equations.B, pen.printer, symmetric=True)
    return SolvedTask(_lefts(pen, total), [*found, Passage("Their sum", "", total)])


def _second_derivatives(energy: Formula, n: int) -> Array[Any]:
    """∂²T/∂q̇_i∂q̇_j, which is the matrix in T = ½ q̇ᵀB q̇."""
    rates = [f"qd{i + 1}" for i in range(n)]
    return Array([[energy.diff(a).diff(b) for b in rates] for a in rates])


def _coriolis(case: Case, pen: Pen) -> SolvedTask:
    equations, style, slopes, symbols = case.equations, pen.style, [], []
    for i, j, k in product(range(case.robot.n), repeat=3):
        slope, symbol = equations.B[i, j].derivative(f"q{k + 1}"), equations.christoffel[i, j, k]
        if i <= j and not slope.is_zero:
            slopes.append(pen.line(pen.derivative(style.entry("b", (i + 1, j + 1)), k), slope))
        if j <= k and not symbol.is_zero:
            pairs = dict.fromkeys([(j + 1, k + 1), (k + 1, j + 1)])
            names = style.equals.join(style.entry("c", (i + 1, *pair)) for pair in pairs)
            symbols.append(pen.line(names, symbol))
    entries = matrix_lines("c", equations.C, pen.printer)
    found = [
        Passage("Derivatives of B", "All others are zero." if slopes else "B is constant.", slopes),
        Passage("Christoffel symbols", "All others are zero." if symbols else "All are zero.", symbols),
        Passage("Their sums", "`c_ij` = Σ `c_ijk` `q_k'` over k (7.44).", entries),
    ]
    return SolvedTask(_lefts(pen, entries), found)


def _skew(case: Case, pen: Pen) -> SolvedTask:
    equations, n = case.equations, range(case.robot.n)
    rates = [
        pen.line(pen.name("b", f"{i + 1}{j + 1}", accent="dot"), equations.B_dot[i, j])
        for i in n
        for j in n[i:]
    ]
    entries = matrix_lines("n", equations.N, pen.printer)
    found = [
        Passage("Time derivative of B", "It is symmetric, as `B` is.", rates),
        Passage("N", "`n_ij` = −`n_ji`: the matrix is skew-symmetric.", entries),
    ]
    return SolvedTask(_lefts(pen, entries), found)


def _gravity(case: Case, pen: Pen) -> SolvedTask:
    energies = [pen.line(pen.name("U", body.sign), body.energy.potential) for body in case.bodies]
    energies.append(pen.line(pen.name("U"), case.equations.gravity_energy))
    entries = [pen.line(pen.style.entry("g", (i + 1,)), x) for i, x in enumerate(case.equations.g)]
    found = [
        Passage("Potential energy", "Of each body it is −`m` `g_0` · `p`; then their sum.", energies),
        Passage("Its derivatives", "`g_i` = ∂`U`/∂`q_i` (7.39).", entries),
    ]
    return SolvedTask(_lefts(pen, entries), found)


def _motion(case: Case, pen: Pen) -> SolvedTask:
    titles = {COORDINATES: COORDINATES, "Equations of motion": "Row by row", "Where": "Where"}
    written = sections(case.equations, pen.style, "book")
    found = [replace(part, title=titles[part.title]) for part in written if part.title in titles]
    return SolvedTask(_torque_names(case, pen), found)


def _torque_names(case: Case, pen: Pen) -> list[str]:
    return [pen.style.entry("tau", (i + 1,)) + pen.style.equals for i in range(case.robot.n)]


# ---- parameters --------------------------------------------------------------------------------------------


def _regressor(case: Case, pen: Pen) -> SolvedTask:
    basis, Y, style = case.equations.basis, case.equations.regressor, pen.style
    acting = [any(not row[p].is_zero for row in Y) for p in range(len(basis.parameters))]
    used = [p for p, x in enumerate(basis.parameters) if acting[p] and not x.is_zero]
    parameters = []
    for k, p in enumerate(used, 1):
        glyph = parameter_glyph(f"[{basis.parameter_names[p]}]")
        own = [style.glyph(glyph)] if glyph and style.glyph else []
        name = style.equals.join([style.entry("pi", (k,)), *own])
        parameters.append((name, pen.printer.poly_parts(basis.values[p])))
    entries = [
        pen.line(style.entry("y", (i, k)), row[p])
        for i, row in enumerate(Y, 1)
        for k, p in enumerate(used, 1)
        if not row[p].is_zero
    ]
    about = "A link counts with the motors it carries; moments and tensors are about the origin of its frame."
    found = [
        Passage("Parameters", about, parameters),
        Passage("Regressor", "Entries that are not listed are zero.", entries),
    ]
    return SolvedTask([pen.name(letter) + style.equals for letter in ("pi", "Y")], found)


def _base(case: Case, pen: Pen) -> SolvedTask:
    grouping = base.exact_grouping(case.robot.model, "given", friction=False)
    values = base.written_values(grouping, case.equations.basis.parameters)
    names = [base.spelled(pen.style, k) for k in range(len(values))]
    combinations = [base.combination(grouping, row, pen.style) for row in grouping.rows]
    absent = [f"{grouping.layout[p].symbol} of link {grouping.layout[p].joint + 1}" for p in grouping.absent]
    count = f"Of {len(grouping.considered)} parameters that are not zero, {len(values)} combinations act."
    never = f" Never in the torques: {', '.join(absent)}." if absent else ""
    written = [pen.style.parts(x) for x in values]
    found = [
        Passage("Combinations", count + never, list(zip(names, combinations, strict=True))),
        Passage("In the symbols of the description", "", list(zip(names, written, strict=True))),
    ]
    return SolvedTask([pen.style.words("How many:"), pen.style.words("Which:")], found)


# ---- Newton and Euler, and numbers -------------------------------------------------------------------------


def _recursion(case: Case, pen: Pen) -> SolvedTask:
    return SolvedTask(_torque_names(case, pen), steps.sections(case.equations, pen.style))


def _torques(case: Case, pen: Pen) -> SolvedTask:
    robot, style, (q, qd, qdd) = case.robot, pen.style, case.numbers
    at, rate, acceleration = style.vectors
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    forces = {style.applied("g", (at,)): robot.gravity(q)}
    if np.any(friction := robot.friction(qd)):
        forces[style.applied("f", (rate,))] = friction
    if np.any(springs := robot.springs(q)):
        forces[style.applied("e", (at,))] = springs
    terms = {style.applied("B", (at,)): B, style.applied("C", (at, rate)): C, **forces}
    products = {
        f"{pen.name('B')}{style.acting}{acceleration}": B @ qdd,
        f"{pen.name('C')}{style.acting}{rate}": C @ qd,
    }
    tau = sum([*products.values(), *forces.values()], np.zeros(robot.n))
    units = " and ".join(dict.fromkeys(torque_unit(robot, j) for j in range(robot.n)))
    products[pen.name("tau")] = tau
    found = [
        Passage("The terms in numbers", "", [pen.numbers(*term) for term in terms.items()]),
        Passage("Torques", f"The sum of all, in {units}.", [pen.numbers(*x) for x in products.items()]),
    ]
    return SolvedTask(_torque_names(case, pen), found)


# ---- the questions -----------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A question: its title, its text, the function that solves it."""

    title: str
    text: Callable[[Case], str]  # `J_P` and `q'` in it are formulas
    solve: Callable[[Case, Pen], SolvedTask]
    height: float = 1.4  # cm of paper for each thing that is asked
    in_symbols: bool = True  # of which there may be too many


def _each(case: Case) -> str:
    return "each link and of each rotor" if case.driven else "each link"


def _state(case: Case) -> str:
    names = ("`q`", "`q'`", "`q''`")
    vectors = [", ".join(map(plain_text, vector)) for vector in case.state]
    return ", ".join(f"{name} = ({vector})" for name, vector in zip(names, vectors, strict=True))


QUESTIONS = {
    "jacobians": Question(
        "Jacobians",
        lambda case: (
            f"Find the position `p` of the centre of mass of {_each(case)}, and the Jacobians `J_P` and "
            "`J_O` with `p'` = `J_P` `q'` and `omega` = `J_O` `q'`, in base axes (7.16)–(7.29)."
        ),
        _jacobians,
        height=2.4,
    ),
    "energies": Question(
        "Energies",
        lambda case: (
            f"Find the kinetic energy of {_each(case)}, of its centre of mass and about it, and its "
            "potential energy, zero at the origin of the base frame. Add them up to `T` and `U`."
        ),
        _energies,
        height=3,
    ),
    "B": Question(
        "Inertia matrix",
        lambda case: (
            f"Find the contribution of {_each(case)} to the inertia matrix `B`(`q`), and their sum (7.32)."
        ),
        _inertia,
    ),
    "C": Question(
        "Christoffel symbols",
        lambda case: (
            "Find the Christoffel symbols `c_ijk` = ½ (∂`b_ij`/∂`q_k` + ∂`b_ik`/∂`q_j` − ∂`b_jk`/∂`q_i`) "
            "(7.45), and from them the matrix `C`(`q`, `q'`) (7.44)."
        ),
        _coriolis,
    ),
    "skew": Question(
        "Skew symmetry",
        lambda case: "Show that `N` = `B'` − 2`C` is skew-symmetric (7.47), with Christoffel symbols in `C`.",
        _skew,
    ),
    "g": Question(
        "Gravity",
        lambda case: "Find the potential energy of gravity `U`, and the torques `g`(`q`) (7.39).",
        _gravity,
    ),
    "motion": Question(
        "Equations of motion",
        lambda case: "Write down the equations of motion, row by row (7.42).",
        _motion,
        height=2.4,
    ),
    "regressor": Question(
        "Regressor",
        lambda case: (
            "Write the torques as `Y`(`q`, `q'`, `q''`) `pi` (7.81), with those dynamic parameters in `pi` "
            "that are not zero and that act on a torque."
        ),
        _regressor,
        height=6,
    ),
    "base": Question(
        "Base parameters",
        lambda case: (
            "On how many combinations of the inertial parameters do the torques depend, and on which? "
            "Friction is left aside."
        ),
        _base,
        height=3,
    ),
    "newton-euler": Question(
        "Newton–Euler recursion",
        lambda case: (
            "Compute velocities and accelerations from the base to the tip, link by link, then forces, "
            "moments and torques from the tip to the base (7.107)–(7.114)."
        ),
        _recursion,
        height=2.4,
    ),
    "torques": Question(
        "Torques at a state",
        lambda case: f"Compute the torques for {_state(case)}, in SI units and radians.",
        _torques,
        height=1,
        in_symbols=False,
    ),
}
