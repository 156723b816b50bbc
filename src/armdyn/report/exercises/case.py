"""What an exercise is about: a robot with a state drawn from a seed, and a pen for its formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import numpy as np

from armdyn.exact import Equations
from armdyn.exact.augmented import Energy
from armdyn.exact.form import Array, Formula
from armdyn.exact.kinematics import Jacobian, position, rotor_centre
from armdyn.exact.printing.names import Glyph
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.exact.steps import spelled_number
from armdyn.exact.written import Line, matrix_or_entries
from armdyn.expression import Expression, parse
from armdyn.model.edit import motor_named
from armdyn.model.mechanism import FIXED_BASE
from armdyn.model.parts import Link
from armdyn.model.robot_model import Converter, places_of
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits

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
