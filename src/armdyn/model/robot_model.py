"""RobotModel: a whole robot as data, and the checks that make it one."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.expression import ArmdynError, Expression, decimal_text
from armdyn.model.inertia import Inertia, tensor
from armdyn.model.parts import Limits, Link, RotorModel, Transform
from armdyn.model.vector import ZERO3, Vector

BASE = "base"
_RESERVED = re.compile(r"pi|cos|sin|sqrt|abs|inv|base|(c|s|q|qd|qdd|sgn|sgnm)\d+(_\d+)*")


class ModelError(ArmdynError):
    """The parts do not make a robot."""


class PhysicsWarning(UserWarning):
    """The numbers describe no possible body, though they can be computed with."""


@dataclass(frozen=True)
class RobotModel:
    """A tree of links on a base. The order of `links` is the order of the joint variables."""

    name: str
    links: tuple[Link, ...]
    gravity: Vector = ZERO3
    rotors: RotorModel = "exact"
    tip: str = BASE
    tool: Transform = Transform()
    symbols: tuple[tuple[str, Expression | None], ...] = ()

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ModelError(problem)

    @cached_property
    def values(self) -> dict[str, float]:
        """The symbols that have a value."""
        return {name: value.value() for name, value in self.symbols if value is not None}

    @cached_property
    def _exact_values(self) -> dict[str, Expression]:
        return {name: value for name, value in self.symbols if value is not None}

    @cached_property
    def index(self) -> dict[str, int]:
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def moving(self) -> tuple[Link, ...]:
        """The links with a joint that moves: link i of this tuple belongs to q_i."""
        return tuple(link for link in self.links if link.joint != "fixed")

    @property
    def n(self) -> int:
        return len(self.moving)

    def number(self, x: object) -> float:
        """The value of an entry of the model."""
        return x.value(self._exact_values) if isinstance(x, Expression) else float(x)  # type: ignore[arg-type]


def symbol_name_problem(name: str) -> str | None:
    """What is wrong with a symbol's name, if anything."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        return "a symbol's name is a letter followed by letters, digits and _, and not a word of Python"
    if _RESERVED.fullmatch(name):
        return "this name is taken (pi, functions, base, and c1 s1 q1 qd1 qdd1 sgn1 … of joints)"
    return None


def _problems(model: RobotModel) -> Iterator[str]:
    for name, _ in model.symbols:
        if problem := symbol_name_problem(name):
            yield f"symbol '{name}': {problem}"
    known = {BASE}
    names = [link.name for link in model.links]
    if not any(link.joint != "fixed" for link in model.links):
        yield "the robot has no moving joint; at least one link needs joint = 'revolute' or 'prismatic'"
    for i, link in enumerate(model.links):
        where = f"link '{link.name}'"
        if link.name == BASE:
            yield f"link {i + 1}: the name 'base' is the fixed base's own; choose another"
        if link.name in known:
            yield f"two links are named '{link.name}'; names must differ"
        if link.parent not in known:
            later = (
                " (it comes later: a parent must stand before its children)" if link.parent in names else ""
            )
            yield f"{where}: parent: found '{link.parent}'{later}; links so far: {', '.join(sorted(known))}"
        known.add(link.name)
        if link.joint == "fixed" and not link.friction.is_zero:
            yield f"{where}: friction: a fixed joint has none"
        yield from _limit_problems(model, link, where)
    for link in model.links:
        yield from _motor_problems(model, link, known)
    if model.tip not in known:
        yield f"tip: found '{model.tip}'; links: {', '.join(['base', *names])}"


def impossible_bodies(model: RobotModel) -> Iterator[str]:
    """Negative masses, moments and friction: refused in descriptions, allowed in identified parameters."""
    for link in model.links:
        yield from _impossible_body(model, link, f"link '{link.name}'")


def impossible_inertia(model: RobotModel, inertia: Inertia) -> Iterator[str]:
    """What no body has: a negative mass or a negative principal moment."""
    mass = _value(model, inertia.mass)
    if mass is not None and mass < 0:
        yield f"mass: found {mass:g}; a mass is zero or positive"
    moments = principal_moments(model, inertia)
    if moments is not None and moments[0] < -_rounding(model, inertia):
        found = ", ".join(f"{m:g}" for m in moments)
        yield f"inertia: principal moments {found}; none may be negative"


def _impossible_body(model: RobotModel, link: Link, where: str) -> Iterator[str]:
    for problem in impossible_inertia(model, link.inertia):
        yield f"{where}: {problem}"
    entries = [("friction.viscous", link.friction.viscous)]
    if link.motor is not None:
        motor = link.motor
        entries += [("motor.mass", motor.mass), ("motor.inertia", motor.axial)]
        entries += [("motor.inertia", motor.transverse), ("motor.friction.viscous", motor.friction.viscous)]
    frictions = [("friction.coulomb", link.friction)]
    if link.motor is not None:
        frictions.append(("motor.friction.coulomb", link.motor.friction))
    for key, friction in frictions:
        forward, backward = (_value(model, x) for x in friction.coulomb)
        if (forward or 0) < 0 or (backward or 0) > 0:
            yield (
                f"{where}: {key}: found [{forward:g}, {backward:g}]; the pair is torque at positive and at "
                "negative speed: the first is not negative and the second not positive"
            )
    for key, value in entries:
        x = _value(model, value)
        if x is not None and x < 0:
            yield f"{where}: {key}: found {x:g}; zero or positive is allowed"


def _motor_problems(model: RobotModel, link: Link, known: set[str]) -> Iterator[str]:
    motor = link.motor
    if motor is None:
        return
    where = f"link '{link.name}': motor"
    links = ", ".join(sorted(known))
    if link.joint == "fixed":
        yield f"{where}: a fixed joint has no motor"
    if motor.carrier not in known:
        yield f"{where}.carrier: found '{motor.carrier}'; links: {links}"
    if _value(model, motor.gear) == 0:
        yield f"{where}.gear: found 0; any other number is allowed, with its sign"
    moving = [other.name for other in model.moving if other.name != link.name]
    for name, _ in motor.coupling:
        if name not in moving:
            yield f"{where}.coupling: found '{name}'; other moving links: {', '.join(moving) or 'none'}"
    coupled = any(not k.is_zero for _, k in motor.coupling)
    if coupled and not motor.friction.asymmetry.is_zero:
        yield f"{where}.friction.coulomb: a motor with a coupling takes one value, not a pair"
    norm = sum(model.number(x) ** 2 for x in motor.axis) if _has_value(model, motor.axis) else 1.0
    if not math.isclose(norm, 1.0, rel_tol=1e-9):
        yield f"{where}.axis: its length is {math.sqrt(norm):g}; a direction is expected"


def _value(model: RobotModel, x: object) -> float | None:
    """The number, or None while a symbol in it is free."""
    return model.number(x) if _has_value(model, (x,)) else None


def _has_value(model: RobotModel, entries: tuple[object, ...]) -> bool:
    return all(x.symbols() <= model.values.keys() for x in entries if isinstance(x, Expression))


def _limit_problems(model: RobotModel, link: Link, where: str) -> Iterator[str]:
    limits = link.limits
    if link.joint == "fixed" and limits != Limits():
        yield f"{where}: limits: a fixed joint has none"
    if limits.position is not None:
        low, high = (_value(model, x) for x in limits.position)
        if low is not None and high is not None and low > high:
            yield f"{where}: limits.position: found [{low:g}, {high:g}]; the lower limit comes first"
    for key in ("velocity", "acceleration", "jerk", "torque"):
        x = _value(model, getattr(limits, key) or 0)
        if x is not None and x < 0:
            yield f"{where}: limits.{key}: found {x:g}; zero or positive is allowed"


def principal_moments(model: RobotModel, inertia: Inertia) -> np.ndarray | None:
    """Principal moments about the centre of mass, ascending; None while a symbol is free."""
    entries = (inertia.mass, *inertia.moment, *inertia.tensor)
    if not _has_value(model, entries):
        return None
    m, *rest = (model.number(x) for x in entries)
    numbers = Inertia(m, (rest[0], rest[1], rest[2]), tensor(rest[3:]))
    return numbers.principal()[0]


def _rounding(model: RobotModel, inertia: Inertia) -> float:
    """What principal moments may be off by: Steiner's term is taken away from the tensor's entries."""
    return 1e-9 * max(abs(model.number(x)) for x in inertia.tensor)


def physics_warnings(model: RobotModel) -> list[str]:
    """What can be computed with but looks wrong: impossible bodies, near-quarter-turn decimals."""
    found = list(impossible_bodies(model))
    for link in model.links:
        moments = principal_moments(model, link.inertia)
        tolerance = 0.0 if moments is None else _rounding(model, link.inertia)
        if moments is not None and moments[2] > moments[0] + moments[1] + tolerance:
            text = " ".join(f"{m:.6g}" for m in moments)
            found.append(
                f"link '{link.name}': principal moments {text} break the triangle inequality: "
                "the largest may not exceed the sum of the others"
            )
        mass = _value(model, link.inertia.mass)
        if mass == 0 and moments is not None and moments[2] > 0 and link.joint != "fixed":
            found.append(f"link '{link.name}': it has inertia but no mass")
        found += [f"link '{link.name}': {text}" for text in _near_quarter_turns(link)]
    return found


def _near_quarter_turns(link: Link) -> Iterator[str]:
    """cos(1.5708) in a transform: somebody meant pi/2."""
    entries = [x for T in (link.before, link.after) for row in T.R for x in row]
    angles = {
        atom.argument.number
        for x in entries
        if isinstance(x, Expression)
        for atom in x.atoms()
        if atom.kind in ("cos", "sin") and atom.argument is not None
    }
    for angle in sorted(a for a in angles if a is not None):
        quarter = float(angle) / (math.pi / 2)
        if round(quarter) and abs(quarter - round(quarter)) < 1e-3:
            meant = {1: "pi/2", 2: "pi"}.get(round(quarter), f"{round(quarter)}*pi/2")
            yield f'the angle {decimal_text(angle)} is a decimal; "{meant}" would be exact'
