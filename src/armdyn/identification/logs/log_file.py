"""`LogFile`: a file that holds a log, read whole or block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import Choice, choose, listed_columns
from armdyn.identification.logs.files.npz_source import CONSTANTS
from armdyn.identification.logs.files.sources import Source, open_source
from armdyn.identification.logs.files.units import checked_units, factors
from armdyn.identification.logs.log import POSITIONS, TORQUES, Log

_PIECE = 65_536  # rows read at a time
_MOST = 1 << 29  # numbers of a file that are read whole: 4 GB
_READING = ("delimiter", "decimal")


class Block(NamedTuple):
    """A part of a file: `log` has rows before and after those that are its own, `log[core]`."""

    log: Log
    core: slice
    first: int  # the row of the file that is log's row `core.start`


@dataclass(frozen=True)
class LogFile:
    """A log in a file, of which only what is asked for is in memory. Made by `Log.open`; picklable."""

    path: Path
    choices: dict[str, Choice] = field(repr=False)
    units: dict[str, Any] = field(repr=False)
    constants: dict[str, Any] = field(repr=False)
    reading: dict[str, Any] = field(repr=False)  # delimiter, decimal
    notes: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, path: str | Path, columns: Any, units: Any, **options: Any) -> LogFile:
        reading: dict[str, Any] = {key: options.pop(key) for key in _READING if key in options}
        for key in options:
            check.one_of("option", key, *CONSTANTS, *_READING)
        source = open_source(path, **reading)
        try:
            chosen = choose(source.columns, columns)
            _check_complete(source, chosen.channels)
            stated = {channel: c.unit for channel, c in chosen.channels.items() if c.unit is not None}
            given = stated | checked_units(units)
            for channel in given.keys() - chosen.channels.keys() - set(chosen.unused):
                raise IdentificationError(f"units: {channel}: the file has no such channel")
            for channel, choice in chosen.channels.items():
                factors(channel, given.get(channel, 1.0), choice.width)
        except IdentificationError as problem:
            raise IdentificationError(f"{path}: {problem}") from None
        constants = {"name": Path(path).stem} | source.constants | options
        return cls(Path(path), chosen.channels, given, constants, reading, chosen.notes)

    def __len__(self) -> int:
        return self._rows

    @cached_property
    def _rows(self) -> int:
        return self._source().count(self._columns)

    @property
    def n(self) -> int:
        return next(self.choices[name].width for name in POSITIONS if name in self.choices)

    def read(self) -> Log:
        """All of it."""
        notes = list(self.notes)
        blocks = "Log.open reads it block by block"
        if (claimed := self._source().claimed(self._columns)) > _MOST:
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

    def blocks(self, samples: int = 100_000, overlap: int = 1000) -> Iterator[Block]:
        """Blocks of so many samples, each with `overlap` more on both sides where the file has them."""
        check.whole_number("samples", samples, 2)
        check.whole_number("overlap", overlap)
        notes = list(self.notes)
        start = 0  # the row of the file where the core begins
        held, first = None, 0  # rows in memory, from `first` on
        for piece in self._pieces(min(samples, _PIECE), notes):
            held = piece if held is None else _joined([held, piece])
            while first + len(held["t"]) >= start + samples + overlap + 2:  # two: no last block of one row
                yield self._block(held, first, start, start + samples, overlap, notes)
                start += samples
                drop = max(0, start - overlap - first)
                held, first = {name: x[drop:] for name, x in held.items()}, first + drop
        if held is None or first + len(held["t"]) < 2:
            raise IdentificationError(f"{self.path}: two rows of numbers or more are expected")
        end = first + len(held["t"])
        while start < end:
            stop = end if end - start < samples + 2 else start + samples
            yield self._block(held, first, start, stop, overlap, notes)
            start = stop

    def block(self, start: int, stop: int, overlap: int = 0) -> Block:
        """Samples `start` to before `stop`, with `overlap` more on both sides where the file has them."""
        check.whole_number("overlap", overlap)
        check.whole_number("stop", stop, check.whole_number("start", start) + 1)
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
        return self._block(_joined(pieces), first, start, stop, overlap, notes)

    @cached_property
    def rate(self) -> float:
        """Samples per second: by the median of the steps in time at the start of the file."""
        for piece in self._pieces(_PIECE, []):
            steps = np.diff(piece["t"])
            steps = steps[steps > 0]
            return float(1 / np.median(steps)) if len(steps) else float("nan")
        return float("nan")

    def quick(self, samples: int) -> bool:
        """Whether a block of so many samples is read about as fast wherever it lies."""
        return self._source().quick(samples)

    # ---- inside ----------------------------------------------------------------------------------------

    def _block(
        self, held: dict[str, np.ndarray], first: int, start: int, stop: int, overlap: int, notes: list[str]
    ) -> Block:
        a, b = max(first, start - overlap), min(first + len(held["t"]), stop + overlap)
        part = {name: x[a - first : b - first] for name, x in held.items()}
        return Block(self._log(part, a, notes), slice(start - a, stop - a), start)

    def _log(self, arrays: dict[str, Any], first: int, notes: list[str]) -> Log:
        kinds = {
            channel: factors(channel, self.units[channel], choice.width)[1]
            for channel, choice in self.choices.items()
            if channel in self.units
        }
        try:
            return Log(**arrays, **self.constants, first=first, notes=tuple(notes), kinds=kinds)
        except IdentificationError as problem:
            raise IdentificationError(f"{self.path}: {problem}") from None

    def _source(self) -> Source:
        return open_source(self.path, **self.reading)

    @property
    def _columns(self) -> list[Any]:
        return [column for choice in self.choices.values() for column in choice.columns]

    def _pieces(self, size: int, notes: list[str], start: int = 0) -> Iterator[dict[str, np.ndarray]]:
        """Channels in SI, some rows at a time. Integer times too long for floats count from the first one."""
        source = self._source()
        origin: Any = None
        if start:
            origin = _origin(next(source.pieces(self.choices["t"].columns, 1, []))[0].reshape(-1), notes)
        for arrays in source.pieces(self._columns, size, notes, start):
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


def _check_complete(source: Source, chosen: dict[str, Choice]) -> None:
    """Refuse a file in which the time, positions or torques were not found."""
    for names, what in ((("t",), "times"), (POSITIONS, "positions"), (TORQUES, "torques")):
        if not any(name in chosen for name in names):
            example = f"columns={{'{names[0]}': …}}"
            raise IdentificationError(
                f"no column of {what} was found; say which with {example}. "
                f"The columns are {listed_columns(source.columns)}"
            )
    if chosen["t"].width != 1:
        raise IdentificationError(f"columns: t: found {chosen['t'].width} columns, one is expected")
