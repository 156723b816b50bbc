"""Logs in Parquet files, read batch by batch with pyarrow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import WIDEST, Column
from armdyn.identification.logs.files.npz_source import CONSTANTS
from armdyn.output import one_line

GROUPS = 10  # times the rows wanted: the largest group of rows that is quickly read from its start
CONSTANTS_KEY = b"armdyn"  # of the file's own metadata
_LONGEST = 1 << 20  # bytes of it


def arrow(path: str | Path) -> Any:
    """pyarrow with its Parquet part, or a message on how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise IdentificationError(
            f"{path}: Parquet files need pyarrow: pip install 'armdyn[parquet]'"
        ) from None
    return pyarrow


@dataclass(frozen=True)
class ParquetSource:
    """A Parquet file; a column may be a list of the same length in every row."""

    path: Path
    constants: dict[str, Any] = field(default_factory=dict)
    columns: tuple[Column, ...] = field(init=False)
    _rows: int = field(init=False, repr=False)
    _largest_group: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        with self._opened() as file:
            schema = file.schema_arrow
            entries = [entry for entry in schema if _numeric(entry.type)]
            lengths = _mean_lengths(file.metadata) if any(_is_list(x.type) for x in entries) else {}
            found = [Column(x.name, self._width(file, x, lengths), _unit(x.type)) for x in entries]
            object.__setattr__(self, "columns", tuple(column for column in found if column.width))
            object.__setattr__(self, "_rows", file.metadata.num_rows)
            sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
            object.__setattr__(self, "_largest_group", max(sizes, default=0))
            if (text := (schema.metadata or {}).get(CONSTANTS_KEY)) is not None:
                self.constants.update(self._constants(text))
        if not self.columns:
            raise IdentificationError(f"{self.path}: there are no columns of numbers in it")

    def _constants(self, text: bytes) -> dict[str, Any]:
        """What the metadata say about the whole log. Their values are checked by `Log`."""
        where = f"{self.path}: metadata '{CONSTANTS_KEY.decode()}'"
        expected = f"a JSON object with some of {', '.join(CONSTANTS)} is expected"
        if len(text) > _LONGEST:
            raise IdentificationError(f"{where}: {len(text)} bytes; {_LONGEST} are allowed")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise IdentificationError(
                f"{where}: cannot be read ({one_line(str(problem))}); {expected}"
            ) from None
        if not isinstance(found, dict):
            raise IdentificationError(f"{where}: found {shown(found)}; {expected}")
        for name in [name for name in found if name not in CONSTANTS]:
            raise IdentificationError(f"{where}: found {shown(name)}; {expected}")
        return found

    def count(self, columns: Sequence[Column]) -> int:
        return self._rows

    def claimed(self, columns: Sequence[Column]) -> int:
        return self._rows * sum(column.width for column in columns)

    def quick(self, rows: int) -> bool:
        """A group of rows is read from its start."""
        return self._largest_group <= GROUPS * rows

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        with self._opened() as file:
            groups = file.metadata.num_row_groups
            ends = np.cumsum([file.metadata.row_group(k).num_rows for k in range(groups)])
            first = int(np.searchsorted(ends, start, side="right"))
            row = int(ends[first - 1]) if first else 0
            names = [column.name for column in columns]
            for batch in file.iter_batches(size, columns=names, row_groups=range(first, groups)):
                skipped = min(max(start - row, 0), batch.num_rows)
                row += skipped
                batch = batch.slice(skipped)
                if batch.num_rows:
                    yield [self._values(batch.column(column.name), column, row) for column in columns]
                row += batch.num_rows

    def _width(self, file: Any, entry: Any, lengths: dict[str, int]) -> int:
        """Numbers in a row; lists that are too long for any channel are not read for it."""
        if not _is_list(entry.type):
            return 1
        if (mean := lengths.get(entry.name, 0)) > WIDEST:
            return mean
        for batch in file.iter_batches(1, columns=[entry.name]):
            first = batch.column(entry.name)[0].as_py()
            return len(first) if first else 0
        return 0

    def _values(self, array: Any, column: Column, row: int) -> np.ndarray:
        if not _is_list(array.type):
            return _flat(array)
        lengths = _flat(arrow("").compute.list_value_length(array).fill_null(0))
        for k in np.flatnonzero(lengths != column.width)[:1].tolist():
            where = f"{self.path}: row {row + k}: column {column.name}"
            raise IdentificationError(f"{where}: found {lengths[k]} numbers, {column.width} in other rows")
        return _flat(array.flatten()).reshape(-1, column.width)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        pyarrow = arrow(self.path)
        try:
            # A buffer filled in advance would keep all that was read until the file is closed.
            # It is opened here, as pyarrow takes no name of a file that is not in UTF-8.
            with (
                self.path.open("rb") as stream,
                pyarrow.parquet.ParquetFile(stream, pre_buffer=False) as file,
            ):
                yield file
        except IdentificationError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, KeyError) as problem:
            raise IdentificationError(f"{self.path}: cannot be read: {problem}") from None


def _mean_lengths(metadata: Any) -> dict[str, int]:
    """The mean length of the lists in a column, by its name, in the group of rows where it is greatest."""
    found: dict[str, int] = {}
    for group in (metadata.row_group(k) for k in range(metadata.num_row_groups)):
        for part in (group.column(i) for i in range(group.num_columns)):
            mean = part.num_values // max(group.num_rows, 1)
            for name in (part.path_in_schema.rsplit(".", k)[0] for k in (1, 2)):  # name.list.element
                found[name] = max(found.get(name, 0), mean)
    return found


def _is_list(kind: Any) -> bool:
    types = arrow("").types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _numeric(kind: Any) -> bool:
    types = arrow("").types
    kind = kind.value_type if _is_list(kind) else kind
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_timestamp(kind))


def _unit(kind: Any) -> str | None:
    return "ns" if arrow("").types.is_timestamp(kind) else None


def _flat(array: Any) -> np.ndarray:
    """Numbers (k,), NaN where there are none; time stamps as integers, in nanoseconds."""
    pyarrow = arrow("")
    if pyarrow.types.is_timestamp(array.type):
        array = array.cast(pyarrow.timestamp("ns")).cast(pyarrow.int64())
    return np.asarray(array.to_numpy(zero_copy_only=False))
