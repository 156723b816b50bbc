"""What an exercise is about: a robot, which may be drawn at random, with a state drawn from a seed, and a pen
for its formulas.
"""

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
from armdyn.expression import ArmdynError, Expression, parse, shown
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
