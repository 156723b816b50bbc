"""Logs in files: which columns are which channels, in which units; `LogFile`, read some rows at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, check
from armdyn.identification.log import CONSTANTS, POSITIONS, TORQUES, Log
from armdyn.names import one_line
from armdyn.remarks import Remark
from armdyn.tables import WIDEST, Column, CsvTable, Table, open_table

# ------------------------------------------------------------------------------------------------------------
# Units of recorded channels: what a unit is worth in SI, and which channels it may stand for.


Units: TypeAlias = Mapping[str, Any]  # by channel: a name or a factor to SI, or one for each column

CHANNELS = ("t", "q", "qd", "qdd", "tau", "motor_position", "motor_torque", "current", "wrench")

_TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}
_ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": np.pi / 180, "turn": 2 * np.pi}
_LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6}
_TORQUE = {"Nm": 1.0, "mNm": 1e-3, "kNm": 1e3, "Ncm": 1e-2, "Nmm": 1e-3}
_FORCE = {"N": 1.0, "mN": 1e-3, "kN": 1e3}
_CURRENT = {"A": 1.0, "mA": 1e-3}


def _rates(base: dict[str, float], power: int) -> dict[str, float]:
    ends = ("/s",) if power == 1 else ("/s2", "/s^2", "/s**2")
    found = {f"{name}{end}": factor for name, factor in base.items() for end in ends}
    if power == 1 and "turn" in base:
        found["rpm"] = 2 * np.pi / 60
    return found


_SAME = {
    "degree": "deg", "degrees": "deg", "°": "deg", "rev": "turn", "revolution": "turn", "turns": "turn",
    "revolutions": "turn", "radian": "rad", "radians": "rad", "second": "s", "seconds": "s", "μs": "us",
    "µs": "us", "μm": "um", "µm": "um", "metre": "m", "meter": "m", "metres": "m", "meters": "m", "amp": "A",
}  # fmt: skip

# What a channel is a measure of: of joints that turn, then of joints that slide; forces, then moments.
KINDS: dict[str, dict[str, dict[str, float]]] = {
    "t": {"time": _TIME},
    "q": {"revolute": _ANGLE, "prismatic": _LENGTH},
    "qd": {"revolute": _rates(_ANGLE, 1), "prismatic": _rates(_LENGTH, 1)},
    "qdd": {"revolute": _rates(_ANGLE, 2), "prismatic": _rates(_LENGTH, 2)},
    "tau": {"revolute": _TORQUE, "prismatic": _FORCE},
    "motor_position": {"revolute": _ANGLE},
    "motor_torque": {"revolute": _TORQUE},
    "current": {"current": _CURRENT},
    "wrench": {"force": _FORCE, "moment": _TORQUE},
}


def factor(channel: str, unit: Any) -> tuple[float, str]:
    """The factor of one unit of a channel to SI, and the kind of joint that it is for ("" where any).

    Of a wrench, whether it is for a "force" or a "moment".
    """
    if isinstance(unit, int | float | np.number) and not isinstance(unit, bool):
        value = float(unit)
        if not np.isfinite(value) or value == 0:
            raise IdentificationError(
                f"units: {channel}: found {value:g}; a factor to SI is not 0 and finite"
            )
        return value, ""
    kinds = KINDS[channel]
    name = _plain(unit) if isinstance(unit, str) else None
    for kind, table in kinds.items():
        if name in table:
            return table[name], "" if kind in ("time", "current") else kind
    allowed = ", ".join(dict.fromkeys(name for table in kinds.values() for name in table))
    raise IdentificationError(
        f"units: {channel}: found {shown(unit)}; allowed: {allowed}, or a factor to SI as a number"
    )


def _plain(unit: str) -> str:
    """The name of a unit in the spelling of the tables."""
    text = re.sub(r"[\s·*⋅]", "", unit.strip()) if "**" not in unit else unit.replace(" ", "")
    text = text.replace("²", "2")
    first, slash, rest = text.partition("/")
    return _SAME.get(first, _SAME.get(first.lower(), first)) + slash + rest


def known(channel: str, unit: str) -> bool:
    """Whether a text from a header is a unit of the channel."""
    try:
        factor(channel, unit)
    except IdentificationError:
        return False
    return True


def factors(channel: str, unit: Any, width: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Factors (width,) to SI and kinds of joints, from one unit or one for each column."""
    several = isinstance(unit, Sequence | np.ndarray) and not isinstance(unit, str)
    each = list(unit) if several else [unit] * width
    if len(each) != width:
        raise IdentificationError(f"units: {channel}: found {len(each)} units for {width} columns")
    found = [factor(channel, x) for x in each]
    if channel == "wrench":
        for k, (_, kind) in enumerate(found):
            if kind not in ("", "force" if k < 3 else "moment"):
                raise IdentificationError(
                    f"units: wrench: column {k + 1} has the unit of a {kind}; three forces and then three "
                    "moments are expected, such as ['N', 'N', 'N', 'Nm', 'Nm', 'Nm']"
                )
    return np.array([value for value, _ in found]), tuple(kind for _, kind in found)


def checked_units(units: Any) -> dict[str, Any]:
    if units is None:
        return {}
    if not isinstance(units, Mapping):
        raise IdentificationError(
            f"units: found {shown(units)}; a mapping such as {{'q': 'deg'}} is expected"
        )
    for channel in units:
        check.one_of("units", channel, *CHANNELS)
    return dict(units)


# ------------------------------------------------------------------------------------------------------------
# Which columns of a file are which channels: as given, or recognised by their names.


# Names of channels in files, in words; words for joints and for "measured" are left out before comparing.
_STEMS = {
    "t": "t, time, timestamp, time stamp, stamp, times, timestamps",
    "q": "q, pos, position, positions, angle, angles, q pos, qpos",
    "qd": "qd, dq, q dot, qdot, vel, velocity, velocities, speed, qvel",
    "qdd": "qdd, ddq, q ddot, qddot, acc, acceleration, accelerations, qacc",
    "tau": "tau, torque, torques, effort, efforts, trq",
    "motor_position": "motor position, motor positions, motor pos, motor angle, motor angles, theta m",
    "motor_torque": "motor torque, motor torques, motor tau, tau m",
    "current": "current, currents, motor current, motor currents",
    "wrench": "wrench, tip wrench",
}
CHANNEL_OF = {tuple(text.split()): channel for channel, row in _STEMS.items() for text in row.split(", ")}
_LEFT_OUT = {"joint", "joints", "j", "axis", "link", "actual", "measured", "meas", "msr"}
_SUFFIXES = {"s", "ms", "us", "ns", "deg", "rad", "mm", "mA", "Nm", "mNm"}
_BRACKETS = re.compile(r"\s*(?:\[([^\[\]]*[^\[\]\d][^\[\]]*)\]|\(([^()]*[^()\d][^()]*)\))\s*$")  # not q[0]
_BETTER = (("q", "motor_position"), ("tau", "motor_torque"), ("tau", "current"), ("motor_torque", "current"))
_NAME = 200  # characters: a longer name says nothing
_LONGEST = 400  # characters of a list of columns in a message


@dataclass(frozen=True)
class ChannelColumns:
    """The columns of one channel, and the unit that their names state."""

    columns: tuple[Column, ...]
    unit: Any = None

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)


@dataclass(frozen=True)
class Choices:
    channels: dict[str, ChannelColumns]
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()  # channels that the file has, but for which a better one is used


def choose(file: Sequence[Column], columns: Any = None) -> Choices:
    """Channels as `columns` says; without it, all that are recognised by their names."""
    if columns is None:
        return _recognised(file)
    if not isinstance(columns, Mapping):
        example = "{'t': 'time', 'q': ['a1', 'a2'], 'tau': 'torque_*'}"
        raise IdentificationError(f"columns: found {shown(columns)}; a mapping such as {example} is expected")
    found, notes = {}, list[str]()
    for channel, names in columns.items():
        check.one_of("columns", channel, *CHANNELS)
        found[channel] = _given(channel, names, file, notes)
    if "t" not in found:
        found |= _recognised([column for column in file if _channel(column.name)[0] == "t"]).channels
    return Choices(found, tuple(notes))


def listed_columns(file: Sequence[Column]) -> str:
    names = [one_line(c.name) if c.width == 1 else f"{one_line(c.name)} ({c.width} wide)" for c in file]
    text = ", ".join(names)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _given(channel: str, names: Any, file: Sequence[Column], notes: list[str]) -> ChannelColumns:
    """Columns by name, by number, by a pattern with * and ?, or a list of these."""
    several = names if isinstance(names, list | tuple) else [names]
    found: list[Column] = []
    for name in several:
        some = _one_given(channel, name, file)
        ordered = by_number(some)
        if ordered != some:
            text = f"{channel}: the columns are in the order of the numbers in their names, not in the file's"
            notes.append(f"{text}: {listed_columns(ordered)}")
        found += ordered
    if not found:
        raise IdentificationError(f"columns: {channel}: no column is named")
    if len({column.name for column in found}) < len(found):
        raise IdentificationError(f"columns: {channel}: a column is named twice")
    return _choice(channel, tuple(found))


def by_number(columns: list[Column]) -> list[Column]:
    """Columns whose names differ in one number only, which counts the joints from 0 or 1 on, in its order."""
    names = [words_of(column.name) for column in columns]
    if len(columns) < 2 or len(set(map(len, names))) > 1:
        return columns
    differing = [place for place in zip(*names, strict=True) if len(set(place)) > 1]
    if len(differing) != 1 or not all(word.isdecimal() for word in differing[0]):
        return columns
    numbers = [int(word) for word in differing[0]]
    if sorted(numbers) not in (list(range(len(columns))), list(range(1, len(columns) + 1))):
        return columns
    return [columns[i] for i in np.argsort(numbers)]


def words_of(name: str) -> tuple[str, ...]:
    """The words and numbers in a name, in small letters; longer names than those of columns have none."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", name[: _NAME + 1])
    return tuple(re.findall(r"[^\W\d_]+|\d+", text.lower())) if len(name) <= _NAME else ()


def saved_labels(labels: Sequence[str]) -> list[str]:
    """How columns are called in files that are written, in SI: by their words, without units.

    None where words do not tell them apart.
    """
    names = [words_of(_BRACKETS.sub("", label)) for label in labels]
    units = {unit.lower() for unit in _SUFFIXES}
    found = [" ".join(words[:-1] if words[-1:] and words[-1] in units else words) for words in names]
    return found if all(found) and len(set(found)) == len(found) else []


def _one_given(channel: str, name: Any, file: Sequence[Column]) -> list[Column]:
    if isinstance(name, int) and not isinstance(name, bool):
        if not 0 <= name < len(file):
            raise IdentificationError(
                f"columns: {channel}: found {shown(name)}; the file has columns 0 to {len(file) - 1}"
            )
        return [file[name]]
    if isinstance(name, str):
        exact = [column for column in file if column.name == name]
        pattern = re.escape(name).replace(r"\*", ".*").replace(r"\?", ".")
        if found := exact or [column for column in file if re.fullmatch(pattern, column.name)]:
            return found
    raise IdentificationError(
        f"columns: {channel}: found {shown(name)}, but the columns of the file are {listed_columns(file)}"
    )


# ---- recognition -------------------------------------------------------------------------------------------


def _recognised(file: Sequence[Column]) -> Choices:
    by_stem: dict[str, dict[tuple[str, ...], list[tuple[int | None, Column]]]] = {}
    unknown, labelled = [], dict[str, list[Column]]()
    for column in file:
        channel, stem, number = _channel(column.name)
        if channel is not None:
            by_stem.setdefault(channel, {}).setdefault(stem, []).append((number, column))
        elif (before := _labelled(column.name)) is not None:
            labelled.setdefault(before, []).append(column)
        else:
            unknown.append(column)
    found = {
        channel: _in_order(channel, by_stem[channel], file) for channel in CHANNELS if channel in by_stem
    }
    for channel, columns in labelled.items():  # position.elbow: in which order, the robot will say
        if channel in found:
            unknown += columns
        else:
            found[channel] = _choice(channel, tuple(by_number(columns)))
    notes, unused = [], []
    for better, other in _BETTER:
        if better in found and other in found:
            notes.append(f"the file has {better} and {other}: {better} is used")
            unused.append(other)
            del found[other]
    if unknown:
        notes.append(f"columns that were not used: {listed_columns(unknown)}")
    return Choices(found, tuple(notes), tuple(unused))


def _channel(name: str) -> tuple[str | None, tuple[str, ...], int | None]:
    """The channel of a column by its name, the words that say so, and the number of the joint."""
    words, number = _words(name)
    if (found := CHANNEL_OF.get(words)) is not None:
        return found, words, number
    if len(words) > 1 and words[-1] in {x.lower() for x in _SUFFIXES}:  # time_ms, q1_deg
        found = CHANNEL_OF.get(words[:-1])
        if found is not None and known(found, _suffix(words[-1])):
            return found, words[:-1], number
    return None, words, number


def _labelled(name: str) -> str | None:
    """The channel of a column that is called after it and a joint, as position.elbow or effort/elbow are."""
    before, point, label = name.replace("/", ".").partition(".")
    channel = CHANNEL_OF.get(words_of(before)) if point and label else None
    return None if channel in ("t", "wrench") else channel


def _words(name: str) -> tuple[tuple[str, ...], int | None]:
    if len(name) > _NAME:
        return ("",), None
    pieces = words_of(_BRACKETS.sub("", name))
    numbers = [int(piece) for piece in pieces if piece.isdecimal() and len(piece) < 6]
    words = tuple(piece for piece in pieces if not piece.isdecimal() and piece not in _LEFT_OUT)
    if len(numbers) != sum(piece.isdecimal() for piece in pieces) or len(numbers) > 1:
        return ("",), None  # two numbers: which one is the joint's?
    return words, numbers[0] if numbers else None


def _suffix(word: str) -> str:
    return next(x for x in _SUFFIXES if x.lower() == word)


def _unit(name: str, channel: str) -> str | None:
    """The unit that a column's name states, in brackets or as its last word."""
    if len(name) > _NAME:
        return None
    if (match := _BRACKETS.search(name)) is not None:
        text = next(x for x in match.groups() if x is not None)
        return text if known(channel, text) else None
    last = re.split(r"[\W\d_]+", name)[-1]
    return last if "_" in name and last in _SUFFIXES and known(channel, last) else None


def _choice(channel: str, columns: tuple[Column, ...]) -> ChannelColumns:
    if (width := sum(column.width for column in columns)) > WIDEST:
        raise IdentificationError(f"columns: {channel}: found {width} columns; {WIDEST} are allowed")
    return ChannelColumns(columns, _stated(columns, channel))


def _stated(columns: Sequence[Column], channel: str) -> Any:
    """The unit that the names of the columns state: one, a list where they differ, None where none does."""
    units = [column.unit or _unit(column.name, channel) for column in columns for _ in range(column.width)]
    if len(set(units)) == 1:
        return units[0]
    return [1.0 if unit is None else unit for unit in units]


def _in_order(
    channel: str, stems: dict[tuple[str, ...], list[tuple[int | None, Column]]], file: Sequence[Column]
) -> ChannelColumns:
    """The columns of a channel, by the numbers of the joints."""
    if len(stems) > 1:
        names = [one_line(columns[0][1].name) for columns in stems.values()]
        raise IdentificationError(
            f"columns: '{names[0]}' and '{names[1]}' may both be {channel}; say which with "
            f"columns={{'{channel}': …}}, found {listed_columns(file)}"
        )
    columns = next(iter(stems.values()))
    numbers = [number for number, _ in columns]
    if len(columns) > 1:
        first = min((number for number in numbers if number is not None), default=0)
        counted = sorted(number for number in numbers if number is not None)
        if first > 1 or counted != list(range(first, first + len(columns))):
            raise IdentificationError(
                f"columns: those of {channel} are not numbered from 0 or 1 on without a gap: "
                f"{listed_columns([column for _, column in columns])}; say which with columns="
            )
        columns = sorted(columns, key=lambda item: item[0] or 0)
    return _choice(channel, tuple(column for _, column in columns))


# ------------------------------------------------------------------------------------------------------------
# `LogFile`: a log in a file, of which only what is asked for is in memory.


_PIECE = 65_536  # rows read at a time
_MOST = 1 << 29  # numbers of a file that are read whole: 4 GB
_READING = ("delimiter", "decimal")


class LogBlock(NamedTuple):
    """A part of a file: `log` has rows before and after the part's own, which are `log[core]`."""

    log: Log
    core: slice
    first: int  # the row of the file that is log's row `core.start`


@dataclass(frozen=True)
class LogFile:
    """A log in a file, of which only what is asked for is in memory. Made by `Log.open`; picklable."""

    path: Path
    choices: dict[str, ChannelColumns] = field(repr=False)
    units: dict[str, Any] = field(repr=False)
    constants: dict[str, Any] = field(repr=False)
    reading: dict[str, Any] = field(repr=False)  # delimiter, decimal
    notes: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, path: str | Path, columns: Any, units: Any, **options: Any) -> LogFile:
        reading: dict[str, Any] = {key: options.pop(key) for key in _READING if key in options}
        for key in options:
            check.one_of("option", key, *CONSTANTS, *_READING)
        if "decimal" in reading:
            check.one_of("decimal", reading["decimal"], ".", ",")
        if reading.get("delimiter") is not None:
            check.one_of("delimiter", reading["delimiter"], ",", ";", "\t", " ")
        table = open_table(path, IdentificationError, constants=CONSTANTS, **reading)
        try:
            chosen = choose(table.columns, columns)
            _check_complete(table, chosen.channels)
            stated = {channel: c.unit for channel, c in chosen.channels.items() if c.unit is not None}
            given = stated | checked_units(units)
            for channel in given.keys() - chosen.channels.keys() - set(chosen.unused):
                raise IdentificationError(f"units: {channel}: the file has no such channel")
            for channel, choice in chosen.channels.items():
                factors(channel, given.get(channel, 1.0), choice.width)
        except IdentificationError as problem:
            raise IdentificationError(f"{path}: {problem}") from None
        constants = {"name": Path(path).stem} | dict(table.constants) | options
        return cls(Path(path), chosen.channels, given, constants, reading, chosen.notes)

    @property
    def name(self) -> str:
        return str(self.constants["name"])

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _rows(self) -> int:
        return self._table().count(self._columns)

    @property
    def n(self) -> int:
        return next(self.choices[name].width for name in POSITIONS if name in self.choices)

    def read(self) -> Log:
        """All of it."""
        notes = list(self.notes)
        blocks = "Log.open reads it block by block"
        width = sum(column.width for column in self._columns)
        claimed = 0 if isinstance(self._table(), CsvTable) else len(self) * width
        if claimed > _MOST:
            raise IdentificationError(
                f"{self.path}: it says that it holds {claimed:.3g} numbers; "
                f"at most {_MOST:.3g} are read whole. {blocks}"
            )
        try:
            pieces = list(self._pieces(_PIECE, notes))
            if sum(len(piece["t"]) for piece in pieces) < 2:
                raise IdentificationError(f"{self.path}: two rows of numbers or more are expected")
            return self._log(_joined(pieces), 0, notes)
        except MemoryError:
            raise IdentificationError(f"{self.path}: there is not enough memory for it. {blocks}") from None

    def blocks(self, samples: int = 100_000, overlap: int = 1000) -> Iterator[LogBlock]:
        """Blocks of so many samples, each with `overlap` more on both sides where the file has them."""
        check.whole_number("samples", samples, 2)
        check.whole_number("overlap", overlap)
        return map(_block, self.parts(samples, overlap))

    def block(self, start: int, stop: int, overlap: int = 0) -> LogBlock:
        """Samples `start` to before `stop`, with `overlap` more on both sides where the file has them."""
        check.whole_number("overlap", overlap)
        check.whole_number("stop", stop, check.whole_number("start", start) + 1)
        return _block(self.part(start, stop, overlap))

    def parts(self, samples: int, overlap: int) -> Iterator[Log]:
        """The file as logs, one after the other; around its own rows, the `core`, are its neighbours'."""
        notes = list(self.notes)
        start = 0  # the row of the file where the core begins
        held, first = None, 0  # rows in memory, from `first` on
        for piece in self._pieces(min(samples, _PIECE), notes):
            held = piece if held is None else _joined([held, piece])
            while first + len(held["t"]) >= start + samples + overlap + 2:  # two: no last part of one row
                yield self._part(held, first, (start, start + samples), overlap, notes)
                start += samples
                drop = max(0, start - overlap - first)
                held, first = {name: x[drop:] for name, x in held.items()}, first + drop
        if held is None or first + len(held["t"]) < 2:
            raise IdentificationError(f"{self.path}: two rows of numbers or more are expected")
        end = first + len(held["t"])
        while start < end:
            stop = end if end - start < samples + 2 else start + samples
            yield self._part(held, first, (start, stop), overlap, notes, whole=stop - start == end)
            start = stop

    def part(self, start: int, stop: int, overlap: int) -> Log:
        """The rows from `start` to before `stop`, as one of `parts`."""
        notes, pieces = list(self.notes), []
        first = max(start - overlap, 0)
        wanted = stop + overlap - first
        for piece in self._pieces(min(wanted, _PIECE), notes, first):
            pieces.append(piece)
            wanted -= len(piece["t"])
            if wanted <= 0:
                break
        if not pieces or first + sum(len(piece["t"]) for piece in pieces) < stop:
            raise IdentificationError(f"{self.path}: there are no rows {start} to {stop - 1}")
        whole = start == 0 and stop == len(self)
        return self._part(_joined(pieces), first, (start, stop), overlap, notes, whole)

    @cached_property
    def rate(self) -> float:
        """Samples per second: by the median of the steps in time at the start of the file."""
        for piece in self._pieces(_PIECE, []):
            steps = np.diff(piece["t"])
            steps = steps[steps > 0]
            return float(1 / np.median(steps)) if len(steps) else float("nan")
        return float("nan")

    # ---- inside ----------------------------------------------------------------------------------------

    def _part(
        self,
        held: dict[str, np.ndarray],
        first: int,
        core: tuple[int, int],
        overlap: int,
        notes: list[str],
        whole: bool = False,
    ) -> Log:
        """The log of some of the rows that are held from `first` on."""
        start, stop = core
        a, b = max(first, start - overlap), min(first + len(held["t"]), stop + overlap)
        part = {name: x[a - first : b - first] for name, x in held.items()}
        return self._log(part, a, notes, None if whole else slice(start - a, stop - a))

    def _log(self, arrays: dict[str, Any], first: int, notes: list[str], core: slice | None = None) -> Log:
        kinds = {
            channel: factors(channel, self.units[channel], choice.width)[1]
            for channel, choice in self.choices.items()
            if channel in self.units
        }
        about: dict[str, Any] = {"remarks": tuple(map(Remark, notes)), "kinds": kinds, "labels": self._labels}
        try:
            return Log(**arrays, **self.constants, first=first, core=core, **about)
        except IdentificationError as problem:
            raise IdentificationError(f"{self.path}: {problem}") from None

    @cached_property
    def _labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns by channel, without the channel before a point; not those of `log.save`."""
        found = {}
        for channel, choice in self.choices.items():
            names = [column.name.removeprefix(f"{channel}.") for column in choice.columns]
            ours = names == [f"{channel}{k + 1}" for k in range(len(names))]
            if channel not in ("t", "wrench") and len(names) == choice.width > 1 and not ours:
                found[channel] = tuple(names)
        return found

    def _table(self) -> Table:
        return open_table(self.path, IdentificationError, constants=CONSTANTS, **self.reading)

    @property
    def _columns(self) -> list[Column]:
        return [column for choice in self.choices.values() for column in choice.columns]

    def _pieces(self, size: int, notes: list[str], start: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """Channels in SI, some rows at a time. Integer times too long for floats count from the first one."""
        table = self._table()
        origin: Any = None
        if start:
            origin = _origin(next(table.pieces(self.choices["t"].columns, 1, []))[0].reshape(-1), notes)
        for arrays in table.pieces(self._columns, size, notes, start):
            found, k = {}, 0
            for channel, choice in self.choices.items():
                several = arrays[k : k + len(choice.columns)]
                k += len(choice.columns)
                if channel == "t":
                    t = several[0].reshape(-1)
                    origin = _origin(t, notes) if origin is None else origin
                    values = (t - origin)[:, None]
                else:
                    values = np.concatenate([x.reshape(len(x), -1) for x in several], axis=1, dtype=float)
                scale = factors(channel, self.units.get(channel, 1.0), choice.width)[0]
                with np.errstate(over="ignore"):  # what is too large is no number, and said to be none
                    found[channel] = values * scale
            yield found | {"t": found["t"][:, 0]}


def _block(log: Log) -> LogBlock:
    return LogBlock(log, log.rows, log.first + log.rows.start)


def _origin(t: np.ndarray, notes: list[str]) -> Any:
    if t.dtype.kind not in "iu" or not len(t) or abs(int(t[0])) < 1 << 53:
        return t.dtype.type(0)
    notes.append(f"the times are counted from the first one, {int(t[0])}")
    return t[0]


def _joined(pieces: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if len(pieces) == 1:
        return pieces[0]
    # Channel by channel out of the pieces: all of them twice in memory would be too much of a long log.
    return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in list(pieces[0])}


def _check_complete(table: Table, chosen: dict[str, ChannelColumns]) -> None:
    """Refuse a file in which the time, positions or torques were not found."""
    torques = (*TORQUES, "wrench")
    for names, what in ((("t",), "times"), (POSITIONS, "positions"), (torques, "torques")):
        if not any(name in chosen for name in names):
            example = f"columns={{'{names[0]}': …}}"
            raise IdentificationError(
                f"no column of {what} was found; say which with {example}. "
                f"The columns are {listed_columns(table.columns)}"
            )
    if chosen["t"].width != 1:
        raise IdentificationError(f"columns: t: found {chosen['t'].width} columns, one is expected")
