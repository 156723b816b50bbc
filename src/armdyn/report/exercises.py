"""Exercises: a sheet with questions about an arm, and its solution with the steps.

In the order of the flow: the arm, given or drawn at random, with a state and a pen for its formulas; the
questions, each a row of `QUESTIONS` with what is asked and how it is solved from the robot's exact equations,
with the steps of a worked example; `exercise`, with the tables of the arm and the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.description.dh_table import DhTable
from armdyn.drawing.errors import ReportError
from armdyn.drawing.style import svg
from armdyn.exact import Equations, base, steps
from armdyn.exact.augmented import Energy
from armdyn.exact.form import Array, Formula
from armdyn.exact.kinematics import Jacobian, position, rotor_centre
from armdyn.exact.printing.document import Passage, markdown_lines
from armdyn.exact.printing.mathml import MATHML, aligned
from armdyn.exact.printing.names import Glyph, parameter_glyph, symbol_glyph
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import LATEX, Style, markdown_text, variable_glyph
from armdyn.exact.steps import spelled_number
from armdyn.exact.written import COORDINATES, Line, coordinates, matrix_lines, matrix_or_entries, sections
from armdyn.expression import ArmdynError, Expression, parse, shown
from armdyn.files import write_files
from armdyn.model.edit import motor_named
from armdyn.model.errors import ModelError
from armdyn.model.mechanism import FIXED_BASE
from armdyn.model.parts import Link
from armdyn.model.robot_model import Converter, places_of
from armdyn.names import listed
from armdyn.report.page import Markup, Page, Part, Picture, paragraph, robot_table, scrolling, tag
from armdyn.report.robot_tables import (
    Cell,
    RobotTable,
    Values,
    frames_table,
    joints_text,
    links_table,
    mechanism_tables,
    motors_table,
    short,
)
from armdyn.report.sections.robot import MECHANISMS, plot_arm
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, torque_unit

_ANGLES = ("-2*pi/3", "-pi/3", "-pi/4", "-pi/6", "pi/6", "pi/4", "pi/3", "2*pi/3")  # of joints that turn
_PLACES = ("0.1", "0.2", "0.3", "0.4", "0.5")  # of joints that slide [m]
_SPEEDS = ("-2", "-1.5", "-1", "-0.5", "0.5", "1", "1.5", "2")
_ACCELERATIONS = ("-4", "-3", "-2", "-1", "1", "2", "3", "4")


@dataclass(frozen=True)
class MovingPart:
    """A link or a rotor: its name and its sign, its energy, where its centre of mass is and how it moves."""

    title: str
    sign: Glyph
    energy: Energy
    centre: Array[Any]
    jacobian: Jacobian
    reflected: bool = False  # a rotor of which only the spin and the mass count


@dataclass(frozen=True)
class Case:
    """A robot, and a state of it that a seed draws."""

    robot: Robot
    seed: int

    @cached_property
    def equations(self) -> Equations:
        return self.robot.equations()

    @cached_property
    def state(self) -> tuple[list[Expression], ...]:
        """q, q̇, q̈: simple numbers; positions are within the limits."""
        rng, limits = Random(f"armdyn {self.seed}"), joint_limits(self.robot)
        q = []
        for link, lower, upper in zip(self.robot.model.coordinates, limits.lower, limits.upper, strict=True):
            texts = _ANGLES if link.joint == "revolute" else _PLACES
            allowed = [x for x in map(parse, texts) if lower <= x.value() <= upper]
            q.append(rng.choice(allowed or [Expression.of(np.clip(0.0, lower, upper).item())]))
        return q, *([parse(rng.choice(texts)) for _ in q] for texts in (_SPEEDS, _ACCELERATIONS))

    @property
    def numbers(self) -> tuple[np.ndarray, ...]:
        """The state, (n,) each."""
        return tuple(np.array([x.value() for x in vector]) for vector in self.state)

    @cached_property
    def bodies(self) -> list[MovingPart]:
        """All links that move and have inertia, then all rotors."""
        model = self.robot.model
        places = places_of(model, Converter(lambda x: x))
        links = [
            (i, link)
            for i, link in enumerate(model.links, 1)
            if places[link.name][0] != FIXED_BASE
            and any(not Expression.of(x).is_zero for x in link.inertia.entries)
        ]
        return [self._link(i, link) for i, link in links] + [self._rotor(i, x) for i, x in self.driven]

    @property
    def driven(self) -> list[tuple[int, Link]]:
        """The links whose motors have rotors that count, and their numbers."""
        model = self.robot.model
        rotors = model.rotors != "none"
        return [(i, link) for i, link in enumerate(model.links, 1) if link.motor and rotors]

    def _link(self, i: int, link: Link) -> MovingPart:
        equations = self.equations
        at = "frame" if Expression.of(link.inertia.mass).is_zero else "com"
        moved = equations.position(link.name, at), equations.jacobian(link.name, at)
        title = f"Link {i}" if link.name == f"link {i}" else f"Link {i} ({link.name})"
        return MovingPart(title, Glyph("ell", (str(i),)), equations.energy(link.name), *moved)

    def _rotor(self, i: int, link: Link) -> MovingPart:
        equations, (_, motor) = self.equations, motor_named(self.equations.model, link.name)
        centre = position(rotor_centre(equations.basis, link, motor))
        moved = centre, equations.jacobian(motor=link.name)
        title = f"Rotor {i} (on {motor.carrier})"
        energy, reflected = equations.energy(motor=link.name), self.robot.model.rotors == "reflected"
        return MovingPart(title, Glyph("m", (str(i),)), energy, *moved, reflected)


class Pen:
    """Writes the formulas of one robot in one style."""

    def __init__(self, equations: Equations, style: Style) -> None:
        self.printer = Printer(equations.basis, style)
        self.style = self.printer.style

    def name(self, head: str, *sub: str | Glyph, accent: str = "", sup: tuple[str | Glyph, ...] = ()) -> str:
        """A letter with its scripts."""
        return self.times(Glyph(head, sub, accent, sup))

    def times(self, *factors: str | Glyph) -> str:
        """A product of formulas and letters."""
        assert self.style.glyph is not None
        return self.style.times.join(x if isinstance(x, str) else self.style.glyph(x) for x in factors)

    def derivative(self, above: str, joint: int) -> str:
        """∂ of a formula by a joint variable."""
        partial, variable = self.name("partial"), self.style.generator(f"q{joint + 1}", self.printer.basis)
        return self.style.quotient(self.times(partial, above), [partial, variable])

    def line(self, left: str, x: Formula) -> Line:
        """An entry of the equations."""
        return left, x.parts(self.printer) or [self.style.zero]

    def matrix(self, left: str, array: Array[Any]) -> list[Line]:
        """A matrix or a vector."""
        return matrix_or_entries(self.printer, left, array)

    def numbers(self, left: str, array: np.ndarray) -> Line:
        """A matrix, or a vector as a column, of numbers."""
        rows = array.reshape(len(array), -1).tolist()
        return left, [self.style.matrix([[spelled_number(self.style, x) for x in row] for row in rows])]


def plain_text(x: Expression) -> str:
    """A number: −π/3, 0.5."""
    turns = (x / Expression.pi()).number
    if not turns or turns.denominator > 12:
        return f"{x.value():.6g}".replace("-", "−")
    sign, count = "−" if turns < 0 else "", "" if abs(turns.numerator) == 1 else abs(turns.numerator)
    return f"{sign}{count}π" + ("" if turns.denominator == 1 else f"/{turns.denominator}")


# ---- an arm drawn at random --------------------------------------------------------------------------------


_KINDS = ("RR", "RP", "PR", "RRR", "RRP", "RPR", "PRR", "PRP")
_JOINTS = {"R": "revolute", "P": "prismatic"}
_TURNS = ("pi/2", "-pi/2")
_LENGTHS, _POSTS, _STROKES = (0.4, 0.5, 0.6, 0.8, 1), (0.2, 0.3, 0.4), (0.1, 0.2, 0.3)  # m
_MASSES = (2, 3, 4, 5, 6, 8, 10)  # kg
_ACROSS, _ALONG = (0.1, 0.2, 0.3, 0.4), (0.02, 0.04, 0.05)  # kg m², of slender bodies
_GEARS, _ROTORS, _MOTOR_MASSES = (50, 80, 100), (0.001, 0.002, 0.004), (1, 2, 3)
_LONGEST = 120  # terms of B, C and g, that one writes down by hand


def random_arm(seed: int) -> Robot:
    """An arm for an exercise: two or three joints that turn or slide, simple numbers; another for each seed.

    Its lengths, masses and inertias are symbols with values: equations have the symbols, torques the values.
    Some arms have motors. Of every arm the inertia depends on the posture, and gravity acts on a joint.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArmdynError(f"seed: found {shown(seed)}; a whole number is expected")
    rng = Random(f"armdyn {seed}")
    while True:
        robot = Robot.from_dict(_Draft(rng).table(f"arm {seed}"))
        equations = robot.equations()
        moving = any(not c.is_zero for row in equations.C for c in row)
        heavy = any(not g.is_zero for g in equations.g)
        if moving and heavy and equations.terms <= _LONGEST:
            return robot


class _Draft:
    """The description of an arm in the making: links from the base to the tip, and their symbols."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.kinds = rng.choice(_KINDS)
        self.slender = rng.random() < 0.5  # or with three moments of inertia
        self.driven = rng.random() < 0.4
        self.symbols: dict[str, float] = {"g": 9.81}

    def table(self, name: str) -> dict[str, Any]:
        """The whole description; z0 or y0 points up."""
        up = self.rng.choice((1, 2))
        gravity: list[Any] = [0, 0, 0]
        gravity[up] = "-g"
        links = [self._link(i) for i in range(len(self.kinds))]
        return {
            "name": f"{name} ({self.kinds})",
            "convention": "dh",
            "gravity": gravity,
            "symbols": self.symbols,
            "link": links,
        }

    def _symbol(self, name: str, values: tuple[float, ...]) -> str:
        self.symbols[name] = self.rng.choice(values)
        return name

    def _link(self, i: int) -> dict[str, Any]:
        turns = self.kinds[i] == "R"
        link: dict[str, Any] = {"name": f"link {i + 1}", "joint": _JOINTS[self.kinds[i]]}
        link |= self._turning(i) if turns else self._sliding(i)
        if self.driven:
            link["motor"] = {
                "gear": self._symbol(f"kr{i + 1}", _GEARS),
                "inertia": self._symbol(f"Im{i + 1}", _ROTORS),
            }
            if len(self.kinds) == 2 and i:  # the mass of a motor at the base moves nothing
                link["motor"]["mass"] = self._symbol(f"mm{i + 1}", _MOTOR_MASSES)
        return link

    def _turning(self, i: int) -> dict[str, Any]:
        """A link with a length across its axis, with one along it, or with none, about a point."""
        last = i == len(self.kinds) - 1
        alpha = 0 if last else self.rng.choice((0, *_TURNS))
        shape = "across" if not alpha else self.rng.choice(("across", "along", "point"))
        row: dict[str, Any] = {"a": 0, "alpha": alpha, "d": 0, "theta": 0}
        if shape == "across":
            row["a"] = self._symbol(f"a{i + 1}", _LENGTHS)
            self.symbols[f"l{i + 1}"] = self.symbols[f"a{i + 1}"] / 2
            return row | self._body(i, 0, f"l{i + 1} - a{i + 1}")
        if shape == "along":  # the axis before is y or -y of the link's own frame
            row["d"] = self._symbol(f"d{i + 1}", _POSTS)
            self.symbols[f"l{i + 1}"] = self.symbols[f"d{i + 1}"] / 2
            return row | self._body(i, 1, self._signed(alpha, f"l{i + 1} - d{i + 1}"))
        return row | self._body(i, 1, 0)

    def _sliding(self, i: int) -> dict[str, Any]:
        """A link that slides along itself; the next axis is across, or the same where the next link turns."""
        last = i == len(self.kinds) - 1
        free = last or self.kinds[i + 1] == "R"
        alpha = self.rng.choice((0, *_TURNS) if free and not last else (0,) if last else _TURNS)
        back = f"-{self._symbol(f'l{i + 1}', _STROKES)}"
        place = (2, back) if not alpha else (1, self._signed(alpha, back))
        return {"a": 0, "alpha": alpha, "d": 0, "theta": 0} | self._body(i, *place)

    @staticmethod
    def _signed(alpha: object, length: str) -> str:
        return length if alpha == "pi/2" else f"-({length})"

    def _body(self, i: int, axis: int, place: str | int) -> dict[str, Any]:
        """A body along an axis of its frame, with its centre of mass there."""
        com: list[Any] = [0, 0, 0]
        com[axis] = place
        mass = self._symbol(f"m{i + 1}", _MASSES)
        across = self.rng.choice(_ACROSS)
        if set(self.kinds[: i + 1]) == {"P"}:  # it never turns
            return {"mass": mass, "com": com}
        if self.slender:
            self.symbols[f"I{i + 1}"] = across
            return {
                "mass": mass,
                "com": com,
                "inertia": {key * 2: f"I{i + 1}" for k, key in enumerate("xyz") if k != axis},
            }
        along = self.rng.choice(_ALONG)
        names = {key * 2: f"I{i + 1}{key * 2}" for key in "xyz"}
        self.symbols |= {name: along if k == axis else across for k, name in enumerate(names.values())}
        return {"mass": mass, "com": com, "inertia": names}


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


# ---- the exercise ------------------------------------------------------------------------------------------

DEFAULT = ("jacobians", "energies", "B", "C", "g", "torques")
_MOST = 300  # terms of B, the Christoffel symbols and g, that one can be asked for
_FORMULA = re.compile(r"`(\w+'*)`")  # in texts: `J_P`; `q'` and `q''` have dots


def exercise(robot: Robot, questions: Sequence[str] = DEFAULT, seed: int = 0) -> Exercise:
    """A sheet with questions about a robot and its solution with the steps, from the robot's equations.

    `questions` are "jacobians", "energies", "B", "C", "skew", "g", "motion", "regressor", "base",
    "newton-euler", "torques". The seed draws the state of "torques"; `random_arm(seed)` draws an arm.
    The same robot and seed give the same sheet, byte for byte.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArmdynError(f"seed: found {shown(seed)}; a whole number is expected")
    asked = (questions,) if isinstance(questions, str) else tuple(questions)
    for name in asked or ("",):
        if name not in QUESTIONS:
            allowed = ", ".join(map(repr, QUESTIONS))
            raise ArmdynError(f"questions: found {shown(name)}; allowed: {allowed}")
    case = Case(robot, seed)
    _check(case, asked)
    return Exercise(case, tuple(dict.fromkeys(asked)))


def _check(case: Case, asked: Sequence[str]) -> None:
    """Refuse equations that are too long for a sheet, and numbers that a robot does not have."""
    name, terms = case.robot.name, case.equations.terms
    numeric = [question for question in QUESTIONS if not QUESTIONS[question].in_symbols]
    if terms > _MOST and (long := [question for question in asked if question not in numeric]):
        raise ArmdynError(
            f"questions: '{long[0]}' of '{name}' has too long an answer: its equations have {terms} terms, "
            f"and up to {_MOST} fit on a sheet; allowed for this robot: {', '.join(map(repr, numeric))}"
        )
    missing = [symbol for symbol, value in case.robot.model.symbols if value is None]
    if missing and (unknown := [question for question in asked if question in numeric]):
        raise ArmdynError(
            f"questions: '{unknown[0]}' needs values, and '{name}' has none for {listed(missing)}"
        )


@dataclass(frozen=True)
class Exercise:
    """Questions about a robot: `.sheet` has room for the answers, `.solution` the steps to them."""

    case: Case
    questions: tuple[str, ...]

    @property
    def sheet(self) -> Paper:
        """The description, the questions, and room to answer them."""
        return Paper(self, solved=False)

    @property
    def solution(self) -> Paper:
        """The description, the questions, and their answers step by step."""
        return Paper(self, solved=True)

    @cached_property
    def picture(self) -> Picture | None:
        """The arm at the state of the exercise; None where symbols have no values."""
        robot = self.case.robot
        if any(value is None for _, value in robot.model.symbols):
            return None
        q = self.case.numbers[0]
        at = ", ".join(f"{x:.3g}".replace("-", "−") for x in q)
        caption = [f"The arm at q = ({at}): circles and cylinders turn, boxes slide."]
        if self.case.driven:
            caption.append(" M1, M2 … are the motors of these joints.")
        return Picture(plot_arm(robot, q), f"{robot.name} in a posture", caption, drawing=True)

    def save(self, folder: str | Path) -> list[Path]:
        """Write sheet and solution, each as HTML and Markdown, and the picture that the Markdown shows.

        The files are exercise-SEED.html, exercise-SEED-solution.html and so on; their paths are returned.
        The folder is made if there is none.
        """
        folder, name = Path(folder), f"exercise-{self.case.seed}"
        texts = {}
        for end, document in (("", self.sheet), ("-solution", self.solution)):
            texts[folder / f"{name}{end}.html"] = document.html()
            texts[folder / f"{name}{end}.md"] = document.markdown(f"{name}.svg")
        if self.picture is not None:
            texts[folder / f"{name}.svg"] = svg(self.picture.figure)
        with suppress(OSError):  # what cannot be made cannot be written to: that is said below
            folder.mkdir(exist_ok=True)
        return write_files(texts, ReportError)


# ---- what the arm is ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formulas:
    """Short formulas in a row."""

    entries: list[str]


Described: TypeAlias = str | RobotTable | Passage | Formulas

_CONVENTIONS: dict[Literal["dh", "mdh"], tuple[str, str]] = {
    "dh": (
        "Denavit–Hartenberg parameters",
        "Frame i is at the far end of link i, in frame i − 1 at Rz(θ) Tz(d) Tx(a) Rx(α).",
    ),
    "mdh": (
        "Modified Denavit–Hartenberg parameters",
        "Frame i is at the joint of link i, in frame i − 1 at Rx(α) Tx(a) Rz(θ) Tz(d).",
    ),
}
_BODIES = (
    "Centres of mass are in the frame of the link, tensors about them in its axes. What is left out is zero."
)
_MOTORS = {
    "exact": "A rotor turns with the link that carries it, and about its own axis by its gear. Its axis and "
    "its position are in the frame of that link. Im is its inertia about its axis; what is left out is zero.",
    "reflected": "A rotor counts with its mass where it is, and with Im for its spin, gear times joint rate.",
}


def described(case: Case, style: Style) -> list[Described]:
    """All that the answers need, in the order of the flow."""
    model = case.robot.model
    bodies = links_table(model).columns([0, 3, 4, 5, 6])  # without what the frames say
    found: list[Described] = [*_frames(case), Passage("Bodies", _BODIES), bodies]
    if case.driven:
        found += [Passage("Motors", _MOTORS[model.rotors]), _motors(case)]
    for title, table in zip(MECHANISMS, mechanism_tables(model), strict=True):
        found += [Passage(title), table] if table.rows else []
    if (tied := coordinates(case.equations, style)).lines:
        found.append(tied)
    gravity = style.matrix([[style.expression(Expression.of(x))] for x in model.gravity])
    found.append(Passage("Gravity", "In the axes of the base frame.", [(named(style, "g_0"), [gravity])]))
    values = [(name, x) for name, x in model.symbols if x is not None]
    entries = [f"{named(style, a)}{style.equals}{spelled_number(style, x.value())}" for a, x in values]
    return [*found, Passage("Values", "In SI units."), Formulas(entries)] if entries else found


def named(style: Style, name: str) -> str:
    """A name in a formula; primes behind it are dots."""
    assert style.glyph is not None
    bare = name.rstrip("'")
    return style.glyph(replace(symbol_glyph(bare), accent=("", "dot", "ddot")[len(name) - len(bare)]))


def _frames(case: Case) -> list[Described]:
    """The DH table, if the frames are those of one; else where each frame is in its parent's."""
    robot = case.robot
    for convention, (title, text) in {} if robot.model.relations else _CONVENTIONS.items():
        with suppress(ModelError):
            if robot.in_dh(convention) == robot:
                table = robot.dh_table(convention)
                return [Passage(title, text), _dh(case, table), *table.footnotes]
    return [Passage("Frames", "All joints at zero."), frames_table(robot.model)]


def _dh(case: Case, table: DhTable) -> RobotTable:
    """The table with the joint variables in their places."""
    rows = []
    for i, row in enumerate(table.rows):
        variable = Expression.symbol(f"{variable_glyph(case.equations.basis, i).head}{i + 1}")
        slides = row.joint == "prismatic"
        d, theta = (row.d + variable, row.theta) if slides else (row.d, row.theta + variable)
        cells = [x if x.symbols() else plain_text(x) for x in (row.a, row.alpha, d, theta)]
        rows.append((f"{i + 1} ({row.link})", row.joint, *cells))
    return RobotTable(("joint", "kind", "a [m]", "α [rad]", "d [m]", "θ [rad]"), tuple(rows))


def _motors(case: Case) -> RobotTable:
    """With the rotors' places; without columns of zeros, and without torque constants and limits."""
    table, motors = motors_table(case.robot.model), [link.motor for _, link in case.driven if link.motor]
    places = [Values(tuple(("", Expression.of(x)) for x in motor.position), ", ") for motor in motors]
    rows = tuple((*row, place) for row, place in zip(table.rows, places, strict=True))
    kept = [
        k for k in range(9) if any(not isinstance(x := row[k], Expression) or not x.is_zero for row in rows)
    ]
    return RobotTable((*table.headings, "position [m]"), rows).columns([*kept, len(table.headings)])


# ---- documents ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blanks:
    """Room to write, behind what is given."""

    given: list[str]
    height: float  # cm for each


Block: TypeAlias = Described | Blanks | Picture


@dataclass(frozen=True)
class Paper:
    """A sheet or its solution, which writes itself as HTML or Markdown."""

    exercise: Exercise
    solved: bool

    @property
    def title(self) -> str:
        return f"Exercise {self.exercise.case.seed}{': solution' if self.solved else ''}"

    @property
    def subtitle(self) -> str:
        robot = self.exercise.case.robot
        return f"{robot.name}: {joints_text(robot.model)}"

    def html(self) -> str:
        """One page that needs nothing else; formulas are MathML."""
        page = Page(self.title, self.subtitle, contents=False)
        for key, title, blocks in self._sections(MATHML):
            page.add(key, title, [part for block in blocks for part in _html(block)])
        return page.html()

    def markdown(self, picture: str = "") -> str:
        """Markdown with formulas between $$; `picture` is the address of the arm's picture, if any."""
        lines = [f"# {self.title}", "", markdown_text(self.subtitle), ""]
        for k, (_, title, blocks) in enumerate(self._sections(LATEX), 1):
            lines += [f"## {k}. {title}", ""]
            lines += [line for block in blocks for line in _markdown(block, picture)]
        return "\n".join(lines)

    def _sections(self, style: Style) -> Iterator[tuple[str, str, list[Block]]]:
        """Key, title and blocks: the arm, then the questions."""
        case, picture = self.exercise.case, self.exercise.picture
        signed = [] if self.solved else [Blanks([style.words("Name:")], 1)]
        yield "arm", "The arm", [*signed, *([picture] if picture else []), *described(case, style)]
        for name in self.exercise.questions:
            question, pen = QUESTIONS[name], Pen(case.equations, style)
            solved = question.solve(case, pen)
            where = list(pen.printer.definitions.items())
            steps = [*solved.steps, *([Passage("Where", "", where)] if where else [])]
            answer = [*steps] if self.solved else [Blanks(solved.answer, question.height)]
            yield f"question-{name}", question.title, [question.text(case), *answer]


def _html(block: Block) -> list[Part]:
    match block:
        case str():
            parts = enumerate(_FORMULA.split(block))
            return [paragraph(*(_math(named(MATHML, x)) if k % 2 else x for k, x in parts))]
        case RobotTable():
            return [robot_table(block)]
        case Passage():
            lines = [scrolling(Markup(aligned(block.lines)))] if block.lines else []
            return [tag("h3", block.title), *(_html(block.text) if block.text else []), *lines]
        case Formulas():
            return [tag("ul", *(tag("li", _math(x)) for x in block.entries), class_="symbols")]
        case Blanks():
            style = f"height: {block.height:g}cm"
            return [tag("p", _math(x), class_="blank", style=style) for x in block.given]
        case Picture():
            return [block]


def _math(formula: str) -> Markup:
    return Markup(f"<math>{formula}</math>")


def _markdown(block: Block, picture: str) -> list[str]:
    match block:
        case str():
            return [_with_formulas(block), ""]
        case RobotTable():
            return [*_markdown_table(block), ""]
        case Passage():
            return markdown_lines([replace(block, text=_with_formulas(block.text))], heading="###")
        case Formulas():
            return [", ".join(f"${x}$" for x in block.entries) + ".", ""]
        case Blanks():
            return [line for x in block.given for line in (rf"$${x} \underline{{\hspace{{24em}}}}$$", "")]
        case Picture():
            shown = [f"![{markdown_text(block.alternative)}]({picture})", "", "".join(block.caption), ""]
            return shown if picture else []


def _with_formulas(text: str) -> str:
    return _FORMULA.sub(lambda found: f"${named(LATEX, found[1])}$", text)


def _markdown_table(table: RobotTable) -> Iterator[str]:
    """The table without empty columns."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    kept = [k for k in range(len(table.headings)) if any(row[k] for row in rows)]
    for line in (table.headings, ["---"] * len(table.headings), *rows):
        yield f"| {' | '.join(line[k] for k in kept)} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Values):
        return ", ".join(f"{name} {_cell(x)}".strip() for name, x in cell.items)
    if isinstance(cell, Expression):
        return f"${LATEX.expression(cell)}$" if cell.symbols() else short(cell).replace("-", "−")
    return markdown_text(cell)
