"""Small arms to practise on, drawn at random: each seed gives another."""

from __future__ import annotations

from random import Random
from typing import Any

from armdyn.expression import ArmdynError, shown
from armdyn.robot import Robot

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
