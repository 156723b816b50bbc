"""What was changed of a robot by hand, and the robot that this makes of the given one.

Changes are kept as data and applied in a fixed order, whatever the order in which they were made: values of
symbols, entries of the description, then the payload on top. The Python lines say the same, step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from armdyn.description.exporting.numbers import written
from armdyn.description.robot_file import build
from armdyn.expression import Expression
from armdyn.model.friction import Friction
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.output import one_line
from armdyn.robot import Robot
from armdyn.workbench.errors import ViewError

Path = tuple[str | int, ...]
Value = float | tuple[float, ...]


@dataclass(frozen=True)
class Quantity:
    """A number of a link that can be changed: where it stands in the link's table, and what it may be."""

    title: str
    unit: str
    path: tuple[str, ...]
    negative: bool = False  # whether it may be below zero
    meaning: str = ""


QUANTITIES = {
    "mass": Quantity("Masses", "kg", ("mass",), meaning="of the link, without motors"),
    "com": Quantity("Centres of mass", "m", ("com",), True, "in the link's frame"),
    "viscous": Quantity(
        "Viscous friction", "N m s/rad or N s/m", ("friction", "viscous"), meaning="at the joint"
    ),
    "coulomb": Quantity("Coulomb friction", "N m or N", ("friction", "coulomb"), meaning="at the joint"),
    "motor viscous": Quantity(
        "Viscous friction at motors", "N m s/rad", ("motor", "friction", "viscous"), meaning="at the shaft"
    ),
    "motor coulomb": Quantity(
        "Coulomb friction at motors", "N m", ("motor", "friction", "coulomb"), meaning="at the shaft"
    ),
    "gear": Quantity(
        "Gear ratios", "motor per joint", ("motor", "gear"), True, "its sign counts; compiled anew"
    ),
    "rotor": Quantity("Rotor inertias", "kg m²", ("motor", "inertia"), meaning="about the motor's axis"),
}


@dataclass(frozen=True)
class Payload:
    """What the tip carries, in the tip frame: mass [kg], centre [m], tensor about it [kg m²]."""

    mass: float = 0.0
    com: tuple[float, ...] = (0.0, 0.0, 0.0)
    tensor: tuple[float, ...] = (0.0,) * 6  # xx xy xz yy yz zz

    @property
    def is_there(self) -> bool:
        """Whether it is more than a place for something."""
        return bool(self.mass) or any(self.tensor)

    @property
    def arguments(self) -> str:
        """As `with_payload` takes them."""
        entries = {key: x for key, x in zip(TENSOR_KEYS, self.tensor, strict=True) if x}
        return f"{self.mass!r}, com={list(self.com)!r}" + (f", inertia={entries!r}" if entries else "")

    def on(self, robot: Robot) -> Robot:
        if not self.is_there:
            return robot
        entries = dict(zip(TENSOR_KEYS, self.tensor, strict=True))
        return robot.with_payload(self.mass, self.com, entries if any(self.tensor) else None)


@dataclass(frozen=True)
class Edits:
    """Changes by hand. `entries` are by link (its place among `model.links`) and quantity."""

    symbols: tuple[tuple[str, float], ...] = ()
    entries: tuple[tuple[tuple[int, str], Value], ...] = ()
    payload: Payload = Payload()

    def with_symbol(self, name: str, value: float) -> Edits:
        return replace(self, symbols=tuple({**dict(self.symbols), name: value}.items()))

    def with_entry(self, robot: Robot, link: int, key: str, value: Value) -> Edits:
        """With another number of a link. Where a symbol stands in its place, the symbol's value changes."""
        value = tuple(map(float, value)) if isinstance(value, tuple) else float(value)
        quantity, numbers = QUANTITIES[key], value if isinstance(value, tuple) else (value,)
        if not quantity.negative and min(numbers) < 0:
            name = one_line(robot.model.links[link].name)
            raise ViewError(
                f"{quantity.title}: '{name}': found {min(numbers):g}; zero or positive is allowed"
            )
        if isinstance(value, float) and (symbol := symbol_of(robot, link, key)):
            return self.with_symbol(symbol, value)
        return replace(self, entries=tuple(sorted({**dict(self.entries), (link, key): value}.items())))

    def made(self, given: Robot) -> Robot:
        """The robot that they make of the given one."""
        return self.payload.on(self.bare(given))

    def bare(self, given: Robot) -> Robot:
        """The same without its payload."""
        found = given.with_symbols(dict(self.symbols)) if self.symbols else given
        if self.entries:
            table = found.to_dict()
            for path, value in self._assignments(found, table):
                _put(table, path, value)
            model = build(table, one_line(given.name))  # as from_dict, without the warnings that were given
            found = Robot(replace(model, source=given.model.source, notes=given.model.notes))
        return found

    def lines(self, given: Robot) -> list[str]:
        """The same as Python lines that change `robot`."""
        lines = []
        found = given
        if self.symbols:
            lines.append(f"robot = robot.with_symbols({dict(self.symbols)!r})")
            found = given.with_symbols(dict(self.symbols))
        if self.entries:
            table = found.to_dict()
            lines.append("table = robot.to_dict()")
            for path, value in self._assignments(found, table):
                place = f"table{''.join(f'[{key!r}]' for key in path)}"
                lines.append(f"del {place}" if value is None else f"{place} = {value!r}")
            lines.append("robot = Robot.from_dict(table)")
        if self.payload.is_there:
            lines.append(f"robot = robot.with_payload({self.payload.arguments})")
        return lines

    def _assignments(self, robot: Robot, table: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
        """Where in the table of the robot what has to stand, None: nothing; missing tables are made whole."""
        copy = deepcopy(table)
        for (link, key), value in self.entries:
            own, path = copy["link"][link], list(QUANTITIES[key].path)
            if key in ("mass", "com"):
                for name, x in _about_com(robot, link, own).items():
                    _put(own, (name,), x)
                    yield ("link", link, name), x
            if key == "rotor" and isinstance(own["motor"]["inertia"], dict):
                path.append("axial")
            new: Any = list(value) if isinstance(value, tuple) else value
            if path[-1] == "coulomb":
                new = _pair(_friction(robot, link, key), new)
            while len(path) > 1 and path[-2] not in _at(own, path[:-2]):
                new, path = {path[-1]: new}, path[:-1]
            _put(own, path, new)
            yield ("link", link, *path), new


def _at(table: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        table = table[key]
    return table


def _put(table: Any, path: Sequence[str | int], value: Any) -> None:
    table = _at(table, path[:-1])
    if value is None:
        del table[path[-1]]
    else:
        table[path[-1]] = deepcopy(value)


def _about_com(robot: Robot, link: int, own: dict[str, Any]) -> dict[str, Any]:
    """The body of a link about its centre of mass, where its table has it about the frame's origin."""
    body = robot.model.links[link].inertia
    about_origin = own.get("inertia", {}).get("about") == "origin" or "first_moment" in own
    if not about_origin or Expression.of(body.mass).is_zero:
        return {}
    number = robot.model.number
    entries = {key: number(x) for key, x in zip(TENSOR_KEYS, body.tensor_at_com, strict=True)}
    gone = {"first_moment": None} if "first_moment" in own else {}
    return {**gone, "com": [number(x) for x in body.com], "inertia": entries}


def _friction(robot: Robot, link: int, key: str) -> Friction:
    """Of a link's joint, or of its motor."""
    part = robot.model.links[link]
    return part.motor.friction if part.motor and key.startswith("motor") else part.friction


def _pair(friction: Friction, level: float) -> Any:
    """Coulomb friction of a level; what it has more forward than backward stays."""
    forward, backward = friction.coulomb
    shift = (forward + backward) * Expression.of(0.5)
    if shift.is_zero:
        return level
    exact = Expression.of(level)
    return [written(shift + exact), written(shift - exact)]


# ---- what a robot has --------------------------------------------------------------------------------------


def entry(robot: Robot, link: int, key: str) -> Expression | None:
    """The exact number of a link, of its motor or joint; None where there is none. `com` has three."""
    part = robot.model.links[link]
    if key == "mass":
        return Expression.of(part.inertia.mass)
    if part.joint == "fixed" or ("motor" in QUANTITIES[key].path and part.motor is None):
        return None
    if part.motor is not None and key in ("gear", "rotor"):
        return part.motor.gear if key == "gear" else part.motor.axial
    friction = _friction(robot, link, key)
    if key.startswith("motor") and friction.is_zero:
        return None
    return friction.coefficients["viscous" if key.endswith("viscous") else "coulomb"]


def value_of(robot: Robot, link: int, key: str) -> Value | None:
    """The number, or of `com` the three; None where the link has no such thing."""
    if key == "com":
        body = robot.model.links[link].inertia
        if not robot.model.number(body.mass):
            return None
        return tuple(robot.model.number(x) for x in body.com)
    found = entry(robot, link, key)
    return None if found is None else robot.model.number(found)


def symbol_of(robot: Robot, link: int, key: str) -> str | None:
    """The symbol that stands in the place of a number by itself."""
    found = None if key == "com" else entry(robot, link, key)
    if found is None or len(found.symbols()) != 1:
        return None
    (name,) = found.symbols()
    return name if found == Expression.symbol(name) else None
