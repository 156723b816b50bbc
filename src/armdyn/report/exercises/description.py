"""The description of an arm on a sheet: frames, bodies, motors, gravity and values, as answers need them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from armdyn.description.dh_table import DhTable
from armdyn.exact.printing.document import Passage
from armdyn.exact.printing.names import symbol_glyph
from armdyn.exact.printing.styles import Style, variable_glyph
from armdyn.exact.steps import spelled_number
from armdyn.exact.written import coordinates
from armdyn.expression import Expression
from armdyn.model.errors import ModelError
from armdyn.report.exercises.case import Case, plain_text
from armdyn.report.robot_tables import (
    RobotTable,
    Values,
    frames_table,
    links_table,
    mechanism_tables,
    motors_table,
)
from armdyn.report.sections.robot import MECHANISMS


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
