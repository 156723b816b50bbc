"""Cycle files: read as data, and made a motion, move after move, with the loads that the arm carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.description import DescriptionError
from armdyn.description.reader import Reader
from armdyn.description.source import parse_toml, read_text
from armdyn.expression import Expression, ExpressionError, shown
from armdyn.model import ModelError
from armdyn.model.errors import plain
from armdyn.model.inertia import TENSOR_KEYS, Inertia, tensor
from armdyn.motion.errors import MotionError, check
from armdyn.motion.inverse_kinematics import inverse_kinematics
from armdyn.motion.loads import Load
from armdyn.motion.motion import STEP, Motion
from armdyn.motion.profiles import LAWS, check_law
from armdyn.motion.sequences import blended
from armdyn.motion.timing.exceeded import exceeded
from armdyn.motion.tip_motions import STILL
from armdyn.motion.trajectory import Trajectory
from armdyn.names import one_line, quoted
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name

# ------------------------------------------------------------------------------------------------------------
# A cycle file, read: its start, moves, payloads and defaults as data; errors name file and key.


KINDS = ("to", "by", "line", "circle", "rest")
LIMITS = ("max_velocity", "max_acceleration", "max_jerk")
WORDS = ("auto", "keep", "free")
MOST_MOVES = 10_000
LARGEST = 1e9  # of a number: more metres, radians or seconds are a mistake, and overflow


@dataclass(frozen=True)
class Move:
    """An entry of the file: the kind of move, its data, and what is picked or placed at its end."""

    key: str  # "move[3]"
    kind: str  # one of KINDS
    data: dict[str, Any]  # what the maker of the motion takes
    law: dict[str, Any]  # profile, duration, limits: only what is given here
    blend: float | None  # [m]; None: not given
    place: tuple[str, ...]  # names of what is put down at the end, before anything is picked up
    pick: tuple[tuple[str, Load], ...]

    @property
    def is_stop(self) -> bool:
        """True if the arm has to be at rest when this move ends."""
        return self.kind == "rest" or bool(self.place or self.pick)


@dataclass(frozen=True)
class CycleFile:
    """The data of a cycle file."""

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
    folder = resources.files("armdyn.motion") / "bundled"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def read_cycle(robot: Robot, cycle: str | Path | Mapping[str, Any]) -> CycleFile:
    """A bundled cycle by its name, a file by its path, or the table of one."""
    if isinstance(cycle, Mapping):
        return _CycleReader(robot, cycle, "cycle").read()
    if not isinstance(cycle, str | Path):
        raise DescriptionError(f"cycle: expected a path, a bundled name or a table, found {shown(cycle)}")
    if cycle in bundled_cycles():
        text = (resources.files("armdyn.motion") / "bundled" / f"{cycle}.toml").read_text("utf-8")
        return _CycleReader(robot, parse_toml(text, str(cycle)), str(cycle)).read()
    try:
        text = read_text(Path(cycle), "cycle file")
    except DescriptionError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DescriptionError(
            f"cannot read '{one_line(str(cycle))}' ({reason}); "
            f"give a path to a cycle file or a bundled name: {', '.join(bundled_cycles())}"
        ) from None
    return _CycleReader(robot, parse_toml(text, str(cycle), "cycle file"), str(cycle)).read()


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
        for part in (joints, tip, defaults):
            part.finish()
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
        law = {} if kind == "rest" else self.law(reader, per_joint=kind in ("to", "by"))
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
        return {"q1": found, **self.synchronised(reader)}

    def by_data(self, reader: Reader) -> dict[str, Any]:
        return {"by": self.positions(reader, "by"), **self.synchronised(reader)}

    def synchronised(self, reader: Reader) -> dict[str, Any]:
        """Of a joint move: whether all joints take the same time, where that is said."""
        given = "synchronised" in reader
        return {"synchronised": reader.flag("synchronised", True)} if given else {}

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
        """Data about the speed, by the names that `Trajectory` has for them."""
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
            tuple(map(Expression.of, place.tolist())),
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
        """Names of the loads that are put down; "*" is all that were picked up."""
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
        """A length, zero or more [m]; None where it is not given."""
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

    def positions(self, reader: Reader, key: str) -> np.ndarray:
        """A number for each joint."""
        value = plain(reader.raw(key, example=f"a list of {self.n} numbers"))
        if isinstance(value, list | tuple) and len(value) != self.n:
            joints = "1 joint" if self.n == 1 else f"{self.n} joints"
            reader.fail(
                key,
                f"expected a list of {self.n} numbers, found {shown(value)}; {quoted(self.robot.name)} has "
                f"{joints}, and a motion for a robot of another size does not fit",
            )
        return np.array([self.value(reader, key, x) for x in reader.numbers(key, self.n)])

    def posture(self, reader: Reader, key: str) -> np.ndarray:
        """A list of n positions; or a table of where the `tip` is, and a posture to look `near`."""
        if not isinstance(reader.raw(key, example=f"a list of {self.n} numbers"), Mapping):
            return self.positions(reader, key)
        table = reader.sub(key)
        target, near = self.vector(table, "tip"), self.positions(table, "near")
        if "orientation" in table:
            rows = table.rotation("orientation")
            pose = np.eye(4)
            pose[:3, :3] = [[self.value(table, "orientation", x) for x in row] for row in rows]
            pose[:3, 3], target = target, pose
        table.finish()
        try:
            return inverse_kinematics(self.robot, target, near)
        except MotionError as problem:
            table.fail("tip", str(problem))

    def positives(self, reader: Reader, key: str) -> np.ndarray:
        found = self.positions(reader, key)
        if not (found > 0).all():
            reader.fail(key, f"found {found.min():g}; positive numbers are expected")
        return found


# ------------------------------------------------------------------------------------------------------------
# The motion of a cycle: its moves made one after the other, with the loads that the arm carries.


Held = list[tuple[str, Load]]


def load_cycle(robot: Robot, cycle: str | Path | Mapping[str, Any], *, step: float = STEP) -> Trajectory:
    """The motion of a cycle file: a bundled name, a path, or the table itself, as read from TOML or JSON.

    `docs/trajectories.md` lists the keys. Numbers may be expressions, also in the robot's symbols.
    """
    step = check.positive_time("step", step)
    read = read_cycle(check.robot(robot), cycle)
    where = ""
    try:
        made = Trajectory(_motion(robot, read, step), step)
        where = "repeat: "
        made = made.repeated(read.repeat)
    except MotionError as problem:
        raise MotionError(f"{read.source}: {where}{problem}") from None
    at = made.samples()
    if read.check_limits and (beyond := exceeded(robot, at.t, at.q)):
        raise MotionError(f"{read.source}: {beyond[0]}; check_limits = false lets it pass")
    return Trajectory(replace(made.motion, label=read.name), step)


def _motion(robot: Robot, read: CycleFile, step: float) -> Motion:
    """The moves one after the other, once."""
    motions: list[Motion] = []
    held: Held = []
    q = read.start
    for move in read.moves:
        try:
            made = _made(robot, read, move, q, step)
            for load in (*read.carries, *(load for _, load in held)):
                made = made.carrying(load)
            held = _held_after(move, held)
        except MotionError as problem:
            raise MotionError(f"{move.key}: {problem}") from None
        motions.append(made.motion)
        q = made(made.duration)[0]
    _check_end(read, held)
    corners = [_corner(read, i) for i in range(len(motions) - 1)]
    return blended(motions, corners, robot, read.name, "moves")


def _made(robot: Robot, read: CycleFile, move: Move, q: np.ndarray, step: float) -> Trajectory:
    """One move from the posture q (n,)."""
    data = dict(move.data)
    if move.kind == "rest":
        return Trajectory.resting(q, data["duration"], step=step)
    if move.kind in ("to", "by"):
        law = with_limits(robot, _law(move, read.joints))
        profile = str(law.pop("profile", "trapezoidal"))
        check_law(profile, law)
        if profile in ("trapezoidal", "jerk_limited"):
            law["synchronised"] = data.get("synchronised", True)
        elif "synchronised" in data:
            raise MotionError(f"synchronised: a {profile} profile does not take it; its joints always are")
        goal = data["q1"] if move.kind == "to" else q + data["by"]
        goal = np.where(np.abs(goal - q) <= STILL, q, goal)  # rounding would have a direction
        made: Trajectory = getattr(Trajectory, profile)(q, goal, step=step, **law)
        return made
    law = _law(move, {key: x for key, x in read.tip.items() if key != "orientation"})
    further: dict[str, Any] = {"check_limits": read.check_limits, "step": step, **law}
    further["orientation"] = data.pop("orientation", read.tip.get("orientation", "auto"))
    if "offset" in data:
        data["centre"] = robot.pose(q)[:3, 3] + data.pop("offset")
    maker = Trajectory.line if move.kind == "line" else Trajectory.circle
    return maker(robot, q, **data, **further)


# ---- laws --------------------------------------------------------------------------------------------------


def _law(move: Move, defaults: dict[str, Any]) -> dict[str, Any]:
    """Data about a move's speed: its own, and the defaults that do not contradict them.

    A duration takes the place of all limits, and limits that of a duration; a profile drops what it does not
    take. A duration and nothing else is that of a quintic law.
    """
    own = {key for key in move.law if key != "profile"}
    dropped = set(defaults) - {"profile"} if "duration" in own else {"duration"} if own else set()
    if "profile" in move.law:
        dropped = dropped | (set(defaults) - {"profile", *LAWS[move.law["profile"]][1]})
    law = {key: x for key, x in defaults.items() if key not in dropped} | move.law
    alone = set(law) - {"profile"} == {"duration"}
    if alone and law.get("profile") in (None, "trapezoidal", "jerk_limited") and "profile" not in move.law:
        law["profile"] = "quintic"
    return law


def with_limits(robot: Robot, law: dict[str, Any]) -> dict[str, Any]:
    """The law of a joint move, with the robot's limits in the place of those that are missing."""
    profile = law.get("profile", "trapezoidal")
    if profile not in ("trapezoidal", "jerk_limited") or {"duration", "acceleration_time"} & set(law):
        return law
    limits = joint_limits(robot)
    names = LIMITS if profile == "jerk_limited" else LIMITS[:2]
    own = {name: getattr(limits, name.removeprefix("max_")) for name in names if name not in law}
    if without := [name for name, limit in own.items() if not np.isfinite(limit).all()]:
        lacking = np.flatnonzero(~np.isfinite([own[name] for name in without]).all(0)).tolist()
        joints = ", ".join(joint_name(robot, i) for i in lacking) if len(lacking) < robot.n else "the joints"
        kinds = " and ".join(name.removeprefix("max_") for name in without)
        wanted = " and ".join(f"{name}=" for name in without)
        other = "" if profile == "jerk_limited" else ", or duration="
        raise MotionError(f"the robot has no limits of {kinds} for {joints}: give {wanted}{other}")
    return {**law, **own}


# ---- corners and loads -------------------------------------------------------------------------------------


def _corner(read: CycleFile, i: int) -> float:
    """The radius of the corner after move i: its own, or the default between two moves without a stop."""
    move, following = read.moves[i], read.moves[i + 1]
    if move.blend is not None:
        return move.blend
    return 0.0 if move.is_stop or following.kind == "rest" else read.blend


def _held_after(move: Move, held: Held) -> Held:
    """Loads that the arm holds after a move: without those it puts down, with those it picks up."""
    names = [name for name, _ in held]
    if move.place and not held:
        raise MotionError("place: nothing has been picked up")
    for name in move.place:
        if name != "*" and name not in names:
            raise MotionError(f"place: '{name}' has not been picked up; held: {', '.join(names)}")
    kept = [] if "*" in move.place else [one for one in held if one[0] not in move.place]
    for name, load in move.pick:
        if any(name == other for other, _ in kept):
            raise MotionError(f"pick: '{name}' is held already; place puts it down")
        kept.append((name, load))
    return kept


def _check_end(read: CycleFile, held: Held) -> None:
    last = read.moves[-1]
    if last.pick:
        raise MotionError(f"{last.key}: pick: this is the last move, so nothing would be carried")
    if last.blend:
        raise MotionError(f"{last.key}: blend: this is the last move, there is no corner after it")
    if held and read.repeat > 1:
        names = ", ".join(name for name, _ in held)
        raise MotionError(
            f"repeat: found {read.repeat}, but the cycle ends with {names} in hand and begins without"
        )
