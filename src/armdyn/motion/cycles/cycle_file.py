"""A cycle file, read: its start, moves, payloads and defaults as data; errors name file and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.description import DescriptionError, toml_text
from armdyn.description.reader import Reader
from armdyn.expression import Expression, ExpressionError, shown
from armdyn.model import ModelError
from armdyn.model.inertia import TENSOR_KEYS, Inertia, tensor
from armdyn.motion.tip.motions import LAWS
from armdyn.motion.trajectories.loads import Load
from armdyn.output import one_line
from armdyn.robot import Robot

KINDS = ("to", "line", "circle", "rest")
LIMITS = ("max_velocity", "max_acceleration", "max_jerk")
WORDS = ("auto", "keep", "free")
MOST_MOVES = 10_000
LARGEST = 1e9  # of a number: more metres, radians or seconds are a mistake, and overflow


@dataclass(frozen=True)
class Move:
    """An entry of the file: what kind of move, its data, and what happens at its end."""

    key: str  # "move[3]"
    kind: str  # one of KINDS
    data: dict[str, Any]  # what the maker of the motion takes
    law: dict[str, Any]  # profile, duration, limits: only what is given here
    blend: float | None  # [m]; None: not given
    place: tuple[str, ...]  # names of what is put down at the end, before anything is picked up
    pick: tuple[tuple[str, Load], ...]

    @property
    def is_stop(self) -> bool:
        """Whether the arm has to be at rest when this move ends."""
        return self.kind == "rest" or bool(self.place or self.pick)


@dataclass(frozen=True)
class CycleFile:
    """What a cycle file says about a robot's motion."""

    source: str
    name: str
    start: np.ndarray  # (n,)
    moves: tuple[Move, ...]
    repeat: int
    carries: tuple[Load, ...]  # from beginning to end
    blend: float  # [m] of corners for which nothing else is said
    joints: dict[str, Any] = field(default_factory=dict)  # the law of joint moves
    tip: dict[str, Any] = field(default_factory=dict)  # the law of lines and circles
    check_limits: bool = True


def bundled_cycles() -> list[str]:
    """The names of the cycles that come with the package."""
    folder = resources.files("armdyn.motion.cycles")
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def read_cycle(robot: Robot, cycle: str | Path | Mapping[str, Any]) -> CycleFile:
    """A bundled cycle by its name, a file by its path, or the table of one."""
    if isinstance(cycle, Mapping):
        return _CycleReader(robot, cycle, "cycle").read()
    if not isinstance(cycle, str | Path):
        raise DescriptionError(f"cycle: expected a path, a bundled name or a table, found {shown(cycle)}")
    if cycle in bundled_cycles():
        text = (resources.files("armdyn.motion.cycles") / f"{cycle}.toml").read_text("utf-8")
        return _CycleReader(robot, toml_text.parse(text, str(cycle)), str(cycle)).read()
    try:
        text = toml_text.read(Path(cycle), "cycle file")
    except DescriptionError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(
            f"cannot read '{one_line(str(cycle))}' ({reason}); "
            f"give a path to a cycle file or a bundled name: {', '.join(bundled_cycles())}"
        ) from None
    return _CycleReader(robot, toml_text.parse(text, str(cycle), "cycle file"), str(cycle)).read()


class _CycleReader:
    """The tables of one file, for a robot of n joints."""

    def __init__(self, robot: Robot, table: Mapping[str, Any], source: str) -> None:
        self.robot, self.n, self.links = robot, robot.n, list(robot.model.index)
        self.top = Reader(table, source, "", dict(robot.model.symbols))

    def read(self) -> CycleFile:
        top = self.top
        name = top.text("name", "cycle")
        self.postures = {"start": self.posture(top, "start")}
        given = top.sub("postures")
        if "start" in given:
            given.fail("start", "this name is that of the key start, where the cycle begins; take another")
        self.postures |= {key: self.posture(given, key) for key in given.names()}
        given = top.sub("payloads")
        self.payloads = {key: self.load(given.sub(key)) for key in given.names()}
        carries = () if "carries" not in top else self.picked(top, "carries")
        top.asked.add("carries")
        defaults = top.sub("defaults")
        joints, tip = defaults.sub("joints"), defaults.sub("tip")
        laws = self.law(joints, per_joint=True), self.law(tip)
        tip_data = self.orientation(tip)
        blend = self.length(defaults, "blend") or 0.0
        for reader in (joints, tip, defaults):
            reader.finish()
        repeat = self.count(top, "repeat", 1)
        check_limits = top.flag("check_limits", True)
        moves = self.moves()
        top.finish()
        loads = tuple(load for _, load in carries)
        data = (repeat, loads, blend, laws[0], {**laws[1], **tip_data}, check_limits)
        return CycleFile(top.source, name, self.postures["start"], moves, *data)

    def moves(self) -> tuple[Move, ...]:
        entries = self.top.raw("move", example="a list of tables [[move]]")
        if not isinstance(entries, list | tuple) or not entries:
            self.top.fail("move", f"expected one or more tables [[move]], found {shown(entries)}")
        if len(entries) > MOST_MOVES:
            self.top.fail("move", f"found {len(entries)} moves; at most {MOST_MOVES} are read")
        source, symbols = self.top.source, self.top.symbols
        made = [Reader(x, source, f"move[{i + 1}]", symbols) for i, x in enumerate(entries)]
        return tuple(map(self.move, made))

    def move(self, reader: Reader) -> Move:
        kinds = [kind for kind in KINDS if kind in reader]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            reader.fail("", f"expected one of {', '.join(KINDS)}, found {found}")
        kind = kinds[0]
        data = getattr(self, f"{kind}_data")(reader)
        law = {} if kind == "rest" else self.law(reader, per_joint=kind == "to")
        blend = self.length(reader, "blend")
        place = self.placed(reader)
        pick = self.picked(reader, "pick") if "pick" in reader else ()
        reader.asked.update((*KINDS, "pick", "place"))
        reader.finish()
        return Move(reader.path, kind, data, law, blend, place, pick)

    # ---- kinds of moves --------------------------------------------------------------------------------

    def to_data(self, reader: Reader) -> dict[str, Any]:
        goal = reader.raw("to")
        if isinstance(goal, str):
            if goal not in self.postures:
                reader.fail("to", f"no posture {shown(goal)}; there are {', '.join(self.postures)}")
            found = self.postures[goal]
        else:
            found = self.posture(reader, "to")
        data: dict[str, Any] = {"q1": found}
        if "synchronised" in reader:
            data["synchronised"] = reader.flag("synchronised", True)
        reader.asked.add("synchronised")
        return data

    def line_data(self, reader: Reader) -> dict[str, Any]:
        table = reader.sub("line")
        keys = [key for key in ("to", "displacement") if key in table]
        table.asked.update(("to", "displacement"))
        if len(keys) != 1:
            table.fail("", "expected either to, a point, or displacement")
        data = {"end" if keys[0] == "to" else keys[0]: self.vector(table, keys[0])}
        table.finish()
        return data | self.orientation(reader, rotation=True)

    def circle_data(self, reader: Reader) -> dict[str, Any]:
        table = reader.sub("circle")
        keys = [key for key in ("centre", "offset") if key in table]
        table.asked.update(("centre", "offset"))
        if len(keys) != 1:
            table.fail("", "expected either centre, a point, or offset, from the tip to the centre")
        data: dict[str, Any] = {keys[0]: self.vector(table, keys[0]), "axis": self.vector(table, "axis")}
        data["angle"] = self.number(table, "angle")
        table.finish()
        return data | self.orientation(reader, "follow")

    def rest_data(self, reader: Reader) -> dict[str, Any]:
        return {"duration": self.positive(reader, "rest")}

    # ---- parts of them ---------------------------------------------------------------------------------

    def law(self, reader: Reader, per_joint: bool = False) -> dict[str, Any]:
        """What is said about the speed, by the names that `Trajectory` has for it."""
        found: dict[str, Any] = {}
        if "profile" in reader:
            found["profile"] = reader.choice("profile", tuple(LAWS))
        for key in ("duration", "acceleration_time"):
            if key in reader:
                found[key] = self.positive(reader, key)
        for key in LIMITS:
            if key in reader:
                several = per_joint and isinstance(reader.raw(key), list | tuple)
                found[key] = self.positives(reader, key) if several else self.positive(reader, key)
        reader.asked.update(("profile", "duration", "acceleration_time", *LIMITS))
        return found

    def orientation(self, reader: Reader, *more: str, rotation: bool = False) -> dict[str, Any]:
        reader.asked.add("orientation")
        if "orientation" not in reader:
            return {}
        if rotation and not isinstance(reader.raw("orientation"), str):
            rows = reader.rotation("orientation")
            return {
                "orientation": np.array([[self.value(reader, "orientation", x) for x in r] for r in rows])
            }
        return {"orientation": reader.choice("orientation", (*WORDS, *more))}

    def load(self, reader: Reader) -> Load:
        """A body { mass, com, inertia, link } in the frame of the tip, or of a link."""
        mass = self.positive(reader, "mass")
        place = self.vector(reader, "com") if "com" in reader else np.zeros(3)
        table = reader.sub("inertia")
        moments = [self.value(table, key, table.number(key, 0)) for key in TENSOR_KEYS]
        table.finish()
        link = reader.text("link") if "link" in reader else None
        if link is not None and link not in self.links:
            reader.fail("link", f"no link {shown(link)}; links: {', '.join(self.links)}")
        reader.asked.update(("com", "link"))
        reader.finish()
        body = Inertia.at_com(
            Expression.of(mass),
            tuple(map(Expression.of, place.tolist())),  # type: ignore[arg-type]
            tensor(map(Expression.of, moments)),
        )
        load = Load(body, link)
        try:
            load.on(self.robot)
        except ModelError as problem:
            reader.fail("", str(problem).removeprefix("payload: "))
        return load

    def picked(self, reader: Reader, key: str) -> tuple[tuple[str, Load], ...]:
        """Payloads by name, or one as a table, which has no name."""
        given = reader.raw(key)
        if isinstance(given, Mapping):
            return ((key, self.load(reader.sub(key))),)
        return tuple((name, self.payloads[name]) for name in self.named(reader, key))

    def placed(self, reader: Reader) -> tuple[str, ...]:
        """The names of what is put down; "*" is all that was picked up."""
        if "place" not in reader:
            return ()
        if isinstance(reader.raw("place"), bool):
            return ("*",) if reader.flag("place", False) else ()
        return self.named(reader, "place")

    def named(self, reader: Reader, key: str) -> tuple[str, ...]:
        given = reader.raw(key)
        names = tuple(given) if isinstance(given, list | tuple) else (given,)
        for name in names:
            if not isinstance(name, str) or name not in self.payloads:
                reader.fail(key, f"no payload {shown(name)}; there are {', '.join(self.payloads) or 'none'}")
        if len(set(names)) < len(names):
            reader.fail(key, f"found {shown(list(names))}; a payload can be named only once")
        return names

    # ---- numbers ---------------------------------------------------------------------------------------

    def value(self, reader: Reader, key: str, x: Any) -> float:
        try:
            found = float(Expression.of(x).value(reader.values))
        except ExpressionError as error:
            reader.fail(key, str(error))
        if not abs(found) <= LARGEST:
            reader.fail(key, f"found {found:g}; a number up to {LARGEST:g} is expected")
        return found

    def number(self, reader: Reader, key: str) -> float:
        return self.value(reader, key, reader.number(key))

    def positive(self, reader: Reader, key: str) -> float:
        found = self.number(reader, key)
        if not found > 0:
            reader.fail(key, f"found {found:g}; a positive number is expected")
        return found

    def length(self, reader: Reader, key: str) -> float | None:
        """Zero or more [m]; None where it is not given."""
        reader.asked.add(key)
        if key not in reader:
            return None
        found = self.number(reader, key)
        if found < 0:
            reader.fail(key, f"found {found:g}; zero or a positive number is expected")
        return found

    def count(self, reader: Reader, key: str, default: int) -> int:
        found = reader.raw(key, default)
        if type(found) is not int or found < 1:
            reader.fail(key, f"found {shown(found)}; a whole number, 1 or more, is expected")
        return found

    def vector(self, reader: Reader, key: str) -> np.ndarray:
        return np.array([self.value(reader, key, x) for x in reader.numbers(key, 3)])

    def posture(self, reader: Reader, key: str) -> np.ndarray:
        return np.array([self.value(reader, key, x) for x in reader.numbers(key, self.n)])

    def positives(self, reader: Reader, key: str) -> np.ndarray:
        found = self.posture(reader, key)
        if not (found > 0).all():
            reader.fail(key, f"found {found.min():g}; positive numbers are expected")
        return found
