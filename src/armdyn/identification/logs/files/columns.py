"""Which columns of a file are which channels: as given, or recognised by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.units import CHANNELS, known
from armdyn.output import one_line

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
}
CHANNEL_OF = {tuple(text.split()): channel for channel, row in _STEMS.items() for text in row.split(", ")}
_LEFT_OUT = {"joint", "joints", "j", "axis", "link", "actual", "measured", "meas", "msr"}
_SUFFIXES = {"s", "ms", "us", "ns", "deg", "rad", "mm", "mA", "Nm", "mNm"}
_BRACKETS = re.compile(r"\s*(?:\[([^\[\]]*[^\[\]\d][^\[\]]*)\]|\(([^()]*[^()\d][^()]*)\))\s*$")  # not q[0]
_PREFERRED = (
    *(("q", "motor_position"), ("tau", "motor_torque"), ("tau", "current"), ("motor_torque", "current")),
)
WIDEST = 10_000  # numbers a row: no channel of an arm has more
_NAME = 200  # characters: a longer name says nothing
_LONGEST = 400  # characters of a list of columns in a message


@dataclass(frozen=True)
class Column:
    """A column of a file; in NPZ and Parquet files one may hold several numbers a row."""

    name: str
    width: int = 1
    unit: str | None = None  # where the file itself says so


@dataclass(frozen=True)
class Choice:
    """The columns of one channel, and the unit that their names state."""

    columns: tuple[Column, ...]
    unit: Any = None

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns)


@dataclass(frozen=True)
class Choices:
    channels: dict[str, Choice]
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()  # channels that the file has, but for which a better one is used


def choose(file: Sequence[Column], columns: Any = None) -> Choices:
    """Channels as `columns` says; without it, all that are recognised by their names."""
    if columns is None:
        return _recognised(file)
    if not isinstance(columns, Mapping):
        example = "{'t': 'time', 'q': ['a1', 'a2'], 'tau': 'torque_*'}"
        raise IdentificationError(f"columns: found {shown(columns)}; a mapping such as {example} is expected")
    found = {}
    for channel, names in columns.items():
        check.one_of("columns", channel, *CHANNELS)
        found[channel] = _given(channel, names, file)
    if "t" not in found:
        found |= _recognised([column for column in file if _channel(column.name)[0] == "t"]).channels
    return Choices(found)


def listed_columns(file: Sequence[Column]) -> str:
    names = [one_line(c.name) if c.width == 1 else f"{one_line(c.name)} ({c.width} wide)" for c in file]
    text = ", ".join(names)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _given(channel: str, names: Any, file: Sequence[Column]) -> Choice:
    """Columns by name, by number, by a pattern with * and ?, or a list of these."""
    several = names if isinstance(names, list | tuple) else [names]
    found: list[Column] = []
    for name in several:
        found += _one_given(channel, name, file)
    if not found:
        raise IdentificationError(f"columns: {channel}: no column is named")
    if len({column.name for column in found}) < len(found):
        raise IdentificationError(f"columns: {channel}: a column is named twice")
    return _choice(channel, tuple(found))


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
    unknown = []
    for column in file:
        channel, stem, number = _channel(column.name)
        if channel is None:
            unknown.append(column)
        else:
            by_stem.setdefault(channel, {}).setdefault(stem, []).append((number, column))
    found = {
        channel: _in_order(channel, by_stem[channel], file) for channel in CHANNELS if channel in by_stem
    }
    notes, unused = [], []
    for better, other in _PREFERRED:
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


def _words(name: str) -> tuple[tuple[str, ...], int | None]:
    if len(name) > _NAME:
        return ("",), None
    text = _BRACKETS.sub("", name)
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    pieces = re.findall(r"[^\W\d_]+|\d+", text)
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


def _choice(channel: str, columns: tuple[Column, ...]) -> Choice:
    if (width := sum(column.width for column in columns)) > WIDEST:
        raise IdentificationError(f"columns: {channel}: found {width} columns; {WIDEST} are allowed")
    return Choice(columns, _stated(columns, channel))


def _stated(columns: Sequence[Column], channel: str) -> Any:
    """The unit that the names of the columns state: one, a list where they differ, None where none does."""
    units = [column.unit or _unit(column.name, channel) for column in columns for _ in range(column.width)]
    if len(set(units)) == 1:
        return units[0]
    return [1.0 if unit is None else unit for unit in units]


def _in_order(
    channel: str, stems: dict[tuple[str, ...], list[tuple[int | None, Column]]], file: Sequence[Column]
) -> Choice:
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
