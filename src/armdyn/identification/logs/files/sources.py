"""A file of numbers in columns, read piece by piece: what CSV, NPZ and Parquet files have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import Column
from armdyn.identification.logs.files.csv_source import CsvSource
from armdyn.identification.logs.files.npz_source import NpzSource
from armdyn.identification.logs.files.parquet_source import ParquetSource


class Source(Protocol):
    """A file: its columns, and its rows in order."""

    @property
    def columns(self) -> tuple[Column, ...]: ...

    @property
    def constants(self) -> dict[str, Any]:
        """What the file says about the whole log: transmission, torque_constant, joint_zeros, delay, name."""

    def count(self, columns: Sequence[Column]) -> int:
        """How many rows of these columns there are, without those that cannot be read."""

    def claimed(self, columns: Sequence[Column]) -> int:
        """How many numbers the file says these columns hold; 0 of a text, which is as long as it looks."""

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        """Arrays (k,) or (k, width) of the columns, k ≤ size rows at a time; `notes` is added to.

        The first row is number `start`.
        """

    def quick(self, rows: int) -> bool:
        """Whether reading so many rows anywhere takes no longer than a few times as many at the start."""


_KINDS = {
    ".csv": CsvSource,
    ".txt": CsvSource,
    ".tsv": CsvSource,
    ".npz": NpzSource,
    ".parquet": ParquetSource,
}


def open_source(path: str | Path, delimiter: str | None = None, decimal: str = ".") -> Source:
    """The file by the ending of its name."""
    try:
        place = Path(path)
    except TypeError:
        raise IdentificationError(f"path: found {shown(path)}; the path of a file is expected") from None
    kind = _KINDS.get(place.suffix.lower())
    if kind is None:
        raise IdentificationError(f"{path}: the name of a log ends with {', '.join(_KINDS)}")
    try:
        exists, is_file = place.exists(), place.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise IdentificationError(f"{path}: there is no such file")
    if not is_file:
        what = "a folder" if place.is_dir() else "a pipe or a device"
        raise IdentificationError(f"{path}: it is {what}; a log is read from a file")
    if kind is NpzSource:
        return NpzSource(place)
    return CsvSource(place, delimiter, decimal) if kind is CsvSource else ParquetSource(place)
