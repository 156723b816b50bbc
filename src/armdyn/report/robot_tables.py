"""The tables of a robot's description: what `armdyn show` prints and the report sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from armdyn.description.dh_table import pose_text
from armdyn.expression import ZERO, ArmdynError, Expression
from armdyn.model import Inertia, RobotModel
from armdyn.model.friction import SINGLE, TERMS, FrictionCoefficients
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.model.parts import NO_SPRING, Limits
from armdyn.model.vector import apply
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, Units

OPERATIONS = ("inverse_dynamics", "gravity", "inertia", "coriolis", "forward_dynamics", "regressor")
_GROWTH = {
    "inverse_dynamics": "O(n), Newton-Euler, section 7.5",
    "inertia": "O(n²), composite bodies, section 7.6",
    "forward_dynamics": "O(n³) or O(n)",
}


@dataclass(frozen=True)
class Values:
    """Several numbers in a cell, each with a name or without; all with one unit, or by name."""

    items: tuple[tuple[str, Expression], ...]
    separator: str = " "
    unit: str = ""
    units: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [(name, short(x), self.units.get(name, "")) for name, x in self.items]
        text = self.separator.join(" ".join(part for part in parts if part) for parts in named)
        return f"{text} {self.unit}" if text and self.unit else text

    def unit_of(self, name: str) -> str:
        return self.unit or self.units.get(name, "")


Cell: TypeAlias = str | Expression | Values


@dataclass(frozen=True)
class RobotTable:
    """A table of a description: headings and rows of cells."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def columns(self, kept: Iterable[int]) -> RobotTable:
        """The table with some of its columns alone."""
        numbers = list(kept)
        rows = tuple(tuple(row[k] for k in numbers) for row in self.rows)
        return RobotTable(tuple(self.headings[k] for k in numbers), rows)


def short(x: object) -> str:
    """A number to 6 digits, an expression as it is."""
    exact = Expression.of(x)
    return str(exact) if exact.symbols() else f"{exact.value():.6g}"


def cell_text(cell: Cell) -> str:
    return short(cell) if isinstance(cell, Expression) else str(cell)


def links_table(model: RobotModel) -> RobotTable:
    headings = ("link", "parent", "joint", "mass [kg]", "com [m]", "tensor about the com [kg m²]", "friction")
    rows = tuple(
        (link.name, link.parent, link.joint, *_body_cells(link.inertia), _friction(link.friction, link.joint))
        for link in model.links
    )
    return RobotTable(headings, rows)


def _body_cells(inertia: Inertia) -> tuple[Cell, Cell, Cell]:
    """Mass, centre of mass and tensor; of a body without mass, no centre."""
    com: Cell = "" if Expression.of(inertia.mass).is_zero else _list(inertia.com)
    return Expression.of(inertia.mass), com, _present(tensor_entries(inertia))


def tensor_entries(inertia: Inertia) -> dict[str, Expression]:
    """The tensor by name, about the centre of mass; of a body without mass, about its origin."""
    massless = Expression.of(inertia.mass).is_zero
    tensor = inertia.tensor if massless else inertia.tensor_at_com
    return {key: Expression.of(x) for key, x in zip(TENSOR_KEYS, tensor, strict=True)}


def friction_units(joint: str) -> dict[str, str]:
    """Of the numbers of friction, of a kind of joint; a motor turns."""
    units = UNITS.get(joint, UNITS["revolute"])
    found = {name: term.unit(units.torque, units.position) for name, term in TERMS.items()}
    found |= dict.fromkeys(("coulomb+", "coulomb-"), units.torque)
    found |= dict.fromkeys(("stribeck velocity", "width"), units.velocity)
    return {name: unit for name, unit in found.items() if unit}


def friction_entries(friction: FrictionCoefficients) -> dict[str, Expression]:
    """The numbers by name, the two Coulomb values apart; the Stribeck velocity is zero without its level."""
    first, *single = SINGLE
    entries = {first: friction[first], **dict(zip(("coulomb+", "coulomb-"), friction.coulomb, strict=True))}
    entries |= {name: friction[name] for name in (*single, "stribeck")}
    velocity = ZERO if friction["stribeck"].is_zero else friction.stribeck_velocity
    return entries | {"stribeck velocity": velocity, "width": friction.width}


def _friction(friction: FrictionCoefficients, joint: str = "revolute") -> Values:
    """The numbers that are not zero; the Stribeck velocity where there is a Stribeck level."""
    return replace(_present(friction_entries(friction)), units=friction_units(joint))


def frames_table(model: RobotModel) -> RobotTable:
    """Where the links' frames are: each in its parent's, at q = 0, with the axis its joint moves on."""
    rows = []
    for link in model.links:
        frame = link.before @ link.after
        x, z = (tuple(row[k] for row in frame.R) for k in (0, 2))
        axis: Cell = "" if link.joint == "fixed" else _list(apply(link.before.R, link.axis))
        rows.append((link.name, link.parent, _list(frame.p), _list(x), _list(z), axis))
    return RobotTable(("frame of", "in that of", "origin [m]", "x axis", "z axis", "joint axis"), tuple(rows))


def motors_table(model: RobotModel) -> RobotTable:
    """Without rows where the robot has no motors; columns of what no motor has are empty."""
    labels = {link.name: link.joint_label for link in model.links}
    rows: list[tuple[Cell, ...]] = []
    for link in model.links:
        if motor := link.motor:
            constant: Cell = "" if motor.torque_constant == 1 else Expression.of(motor.torque_constant)
            limits = _present({name: x for name, x in vars(motor.limits).items() if x is not None})
            rows.append(
                (
                    *(link.joint_label, motor.carrier),
                    *(motor.gear, motor.axial, motor.transverse, motor.mass),
                    _list(motor.axis),
                    _present({labels[name]: k for name, k in motor.coupling}),
                    _friction(motor.friction),
                    constant,
                    replace(limits, separator=", ", units=SHAFT_UNITS),
                )
            )
    headings = ("motor of", "carrier", "gear", "Im [kg m²]", "It [kg m²]", "mass [kg]", "axis", "coupling")
    return RobotTable((*headings, "friction", "torque constant [N m/A]", "limits"), tuple(rows))


SHAFT_UNITS = {"torque": "N m", "velocity": "rad/s", "current": "A"}


def limits_table(model: RobotModel) -> RobotTable:
    """Without rows where the description limits nothing. A unit that all joints have stands in the head."""
    if all(link.limits == Limits() for link in model.links):
        return RobotTable(("limits of", *_LIMITS), ())
    kinds = {link.joint for link in model.moving}
    shared = UNITS[kinds.pop()] if len(kinds) == 1 else None
    heads = [name if shared is None else f"{name} [{_unit(shared, name)}]" for name in _LIMITS]
    rows: list[tuple[Cell, ...]] = []
    for link in model.moving:
        cells: list[Cell] = [link.joint_label]
        for name in _LIMITS:
            limit = getattr(link.limits, name)
            entries = () if limit is None else limit if isinstance(limit, tuple) else (limit,)
            unit = _unit(UNITS[link.joint], name) if shared is None else ""
            cells.append(replace(_list(entries, " … "), unit=unit))
        rows.append(tuple(cells))
    return RobotTable(("limits of", *heads), tuple(rows))


_LIMITS = ("position", "velocity", "acceleration", "jerk", "torque")


def _unit(units: Units, limit: str) -> str:
    return f"{units.position}/s³" if limit == "jerk" else str(getattr(units, limit))


_COUNTED = 30  # joints; beyond, programs that grow faster than the arm are not recorded only to count them
_LINEAR = ("inverse_dynamics", "gravity")


def operations_table(robot: Robot) -> RobotTable:
    """Operations of each function, next to how the book's algorithms grow with n."""
    rows: list[tuple[Cell, ...]] = []
    for name in OPERATIONS:
        if robot.n > _COUNTED and name not in _LINEAR:
            rows.append((name, "", "", "", f"not counted for more than {_COUNTED} joints"))
            continue
        try:
            program = robot.program(name)
        except ArmdynError as problem:  # forward dynamics of an arm without inertia
            rows.append((name, "", "", "", str(problem)))
            continue
        pairs = max(program.counts.get("sin", 0), program.counts.get("cos", 0))
        counts = (program.operations, pairs, round(program.operations / robot.n))
        rows.append((name, *map(Expression.of, counts), _GROWTH.get(name, "")))
    headings = ("function", "operations", "sin/cos pairs", "per joint", "grows as")
    return RobotTable(headings, tuple(rows))


def _list(entries: Iterable[object], separator: str = ", ") -> Values:
    return Values(tuple(("", Expression.of(x)) for x in entries), separator)


def _present(values: dict[str, Expression]) -> Values:
    return Values(tuple((key, x) for key, x in values.items() if not x.is_zero))


# ---- joints that are not rigid and free, and tables of what else joins links: loops, springs, elastic joints


def mechanism_tables(model: RobotModel) -> tuple[RobotTable, ...]:
    """Loops, springs at joints, springs between points, elastic joints; without rows where there are none."""
    return _loops(model), _joint_springs(model), _point_springs(model), _elastic(model)


def joints_text(model: RobotModel) -> str:
    """How many joints move, and how many of them are independent and elastic."""
    count, elastic = len(model.moving), len(model.elastic)
    text = "1 moving joint" if count == 1 else f"{count} moving joints"
    if model.relations or model.loops:
        text += f", {model.n - elastic} of them independent"
    return f"{text}, {elastic} elastic" if elastic else text


def _loops(model: RobotModel) -> RobotTable:
    """What closes loops: the two links, the joint between them, and where it is on each."""
    rows = [(*loop.between, loop.joint, *map(pose_text, loop.at)) for loop in model.loops]
    return RobotTable(("loop from", "to", "by a joint", "on the first", "on the second"), tuple(rows))


def _joint_springs(model: RobotModel) -> RobotTable:
    rows = []
    for link in model.moving:
        if link.spring != NO_SPRING:
            stiffness, rest = ("N/m", "m") if link.joint == "prismatic" else ("N m/rad", "rad")
            values = (_value(link.spring.stiffness, stiffness), _value(link.spring.rest, rest))
            rows.append((link.joint_label, *values))
    return RobotTable(("spring at", "stiffness", "rest"), tuple(rows))


def _point_springs(model: RobotModel) -> RobotTable:
    """Springs between points of links; without the numbers that are zero."""
    rows = []
    for i, spring in enumerate(model.springs):
        numbers = (spring.stiffness, spring.rest, spring.force)
        cells: list[Cell] = ["" if x.is_zero else x for x in numbers]
        ends = [
            f"{link} at ({', '.join(map(short, p))})"
            for link, p in zip(spring.between, spring.at, strict=True)
        ]
        rows.append((spring.name or str(i + 1), *ends, *cells))
    headings = ("spring", "between", "and", "stiffness [N/m]", "rest [m]", "force [N]")
    return RobotTable(headings, tuple(rows))


def _elastic(model: RobotModel) -> RobotTable:
    """Transmissions that are springs, at the joint."""
    rows: list[tuple[Cell, ...]] = []
    for link in model.elastic:
        assert link.motor is not None
        assert link.motor.stiffness is not None
        stiffness, damping = ("N/m", "N s/m") if link.joint == "prismatic" else ("N m/rad", "N m s/rad")
        damper: Cell = "" if link.motor.damping.is_zero else _value(link.motor.damping, damping)
        rows.append((link.joint_label, _value(link.motor.stiffness, stiffness), damper))
    return RobotTable(("elastic joint", "stiffness", "damping"), tuple(rows))


def _value(x: Expression, unit: str) -> Values:
    return Values((("", x),), unit=unit)
