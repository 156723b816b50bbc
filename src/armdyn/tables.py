"""Files of numbers in columns: CSV, NPZ and Parquet, read some rows at a time and written whole.

`open_table` looks at a file's head; `pieces` gives its rows as arrays. The caller names the error that it
raises: a message has the file, the place in it, what was found and what is allowed. A file may come from
anywhere, so what it claims about its size is held against what it has before anything is read.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import secrets
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, NamedTuple, TypeAlias

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.files import write_whole
from armdyn.names import one_line

WIDEST = 10_000  # numbers a row: longer lists in Parquet files are not read to find their length
_LARGEST = 1 << 20  # bytes of what is about the whole file
_NAME = 60  # characters of a name or a cell in a message


@dataclass(frozen=True)
class Column:
    """A column of a file; in NPZ and Parquet files one may hold several numbers a row."""

    name: str
    width: int = 1
    unit: str | None = None  # where the file itself says so


@dataclass(frozen=True)
class About:
    """A file, and what the caller wants of it."""

    path: Path
    error: type[ArmdynError] = ArmdynError
    constants: tuple[str, ...] = ()  # names of what a file may say about all of its rows
    delimiter: str | None = None  # of text; None: the one that the line of names has
    decimal: str = "."

    def refusal(self, text: str) -> ArmdynError:
        return self.error(f"{self.path}: {text}")

    def unreadable(self, problem: Exception) -> ArmdynError:
        return self.refusal(f"cannot be read: {getattr(problem, 'strerror', None) or problem}")


# ---- text --------------------------------------------------------------------------------------------------


_MISSING = {"", "nan", "na", "n/a", "null", "none", "-"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


class CsvRow(NamedTuple):
    line: int  # of the file
    text: str


class CsvTable:
    """A text file. Lines that begin with # are comments; names may stand in the last one before the rows."""

    def __init__(self, about: About) -> None:
        self.about, self.constants = about, dict[str, Any]()
        with self._opened() as lines:
            # The delimiter is None for blanks; the head are lines before the first row of numbers.
            names, self._delimiter, self._head = self._read_head(lines)
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise about.refusal(f"line {self._head}: column '{_short(twice[0])}' appears twice")
        self.columns = tuple(Column(name) for name in names)
        self._place = {name: k for k, name in enumerate(names)}

    @property
    def line(self) -> int:
        """Where the names stand."""
        return max(self._head, 1)

    def count(self, columns: Sequence[Column]) -> int:
        """Rows, by reading the file once, in little memory."""
        with self._opened() as lines:
            return sum(1 for _ in self._rows(lines, []))

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        picked = [self._place[column.name] for column in columns]
        with self._opened() as lines:
            rows = islice(self._rows(lines, notes), start, None)
            while piece := list(islice(rows, size)):
                table = self._numbers(piece, picked)
                yield [table[:, k] for k in range(len(picked))]

    def whole(self, columns: Sequence[Column]) -> tuple[np.ndarray, list[int], list[CsvRow]]:
        """Finite numbers (rows, columns), the lines where the rows stand, and the comments."""
        picked = [self._place[column.name] for column in columns]
        with self._opened() as lines:
            every = [CsvRow(i, line.strip()) for i, line in lines]
        comments = [row for row in every if row.text.startswith("#")]
        rows = [row for row in every if row.line > self._head and _counts(row.text)]
        table = self._numbers(rows, picked).reshape(len(rows), len(columns))
        for i, j in np.argwhere(~np.isfinite(table)):
            cell = self._cells(rows[i], self._delimiter)[picked[j]]
            raise self._refusal(rows[i].line, columns[j].name, cell)
        return table, [row.line for row in rows], comments

    # ---- inside ----------------------------------------------------------------------------------------

    @contextmanager
    def _opened(self) -> Iterator[Iterator[tuple[int, str]]]:
        """Lines with their numbers."""
        about = self.about
        try:
            with about.path.open(encoding="utf-8-sig", newline=None) as file:
                yield enumerate(file, 1)
        except ArmdynError:
            raise
        except UnicodeDecodeError:
            raise about.refusal("this is not a text file in UTF-8") from None
        except (OSError, ValueError) as problem:
            raise about.unreadable(problem) from None

    def _read_head(self, lines: Iterator[tuple[int, str]]) -> tuple[list[str], str | None, int]:
        """Names, delimiter, and the lines before the first row; columns without names are counted."""
        comment = ""
        for number, line in lines:
            if not _counts(line):
                comment = line.strip().lstrip("#") if line.strip() else comment
                continue
            sign = self.about.delimiter or next((sign for sign in "\t;," if sign in line), " ")
            delimiter = None if sign == " " else sign
            names = [name.strip() for name in self._cells(CsvRow(number, line), delimiter)]
            counting = [str(k) for k in range(len(names))]
            if names != counting and any(self._number(name) is not None for name in names):
                above = [name.strip() for name in comment.split(delimiter)]
                return above if len(above) == len(names) else counting, delimiter, number - 1
            return names, delimiter, number
        raise self.about.refusal("the file is empty; a line of column names is expected")

    def _rows(self, lines: Iterator[tuple[int, str]], notes: list[str]) -> Iterator[CsvRow]:
        """Rows of numbers, without the last of the file where its end is missing."""
        held: CsvRow | None = None
        for number, line in islice(lines, self._head, None):
            if _counts(line):
                if held is not None:
                    yield held
                held = CsvRow(number, line)
        if held is None:
            return
        if len(self._cells(held, self._delimiter)) < len(self.columns):
            notes.append(f"line {held.line}, the last of the file, is cut off and was left out")
        else:
            yield held

    def _cells(self, row: CsvRow, delimiter: str | None) -> list[str]:
        if delimiter is None:
            return row.text.split()
        try:
            return next(csv.reader([row.text], delimiter=delimiter, strict=True, skipinitialspace=True))
        except (csv.Error, StopIteration) as problem:
            raise self.about.refusal(f"line {row.line}: {problem}") from None

    def _number(self, cell: str) -> float | None:
        text = cell.replace(",", ".") if self.about.decimal == "," else cell
        try:
            return None if "_" in text else float(text)
        except ValueError:
            return None

    def _numbers(self, rows: Sequence[CsvRow], picked: list[int]) -> np.ndarray:
        """(rows, picked): quickly where all is regular, else row by row."""
        sign, width = self._delimiter, len(self.columns)
        lines = [row.text for row in rows]
        if self.about.decimal == "," and sign != ",":
            lines = [line.replace(",", ".") for line in lines]
        if sign is None:
            regular = all(len(line.split()) == width for line in lines)
        else:
            regular = all(line.count(sign) == width - 1 and '"' not in line for line in lines)
        if regular and lines:
            try:
                return np.loadtxt(lines, delimiter=sign, usecols=picked, comments=None, ndmin=2)
            except ValueError:
                pass  # a cell that is empty or no number: found below
        return np.array([self._row(row, picked) for row in rows])

    def _row(self, row: CsvRow, picked: list[int]) -> list[float]:
        cells, found = self._cells(row, self._delimiter), []
        if len(cells) != len(self.columns):
            expected = f"{len(self.columns)} columns are expected, found {len(cells)}"
            raise self.about.refusal(f"line {row.line}: {expected}")
        for k in picked:
            value = self._number(cells[k])
            if value is None:
                if cells[k].strip().lower() not in _MISSING:
                    raise self._refusal(row.line, self.columns[k].name, cells[k])
                value = float("nan")
            found.append(value)
        return found

    def _refusal(self, line: int, column: str, cell: str) -> ArmdynError:
        """The error of a cell that is no number."""
        text = _short(cell)
        hint = "; for decimal commas give decimal=','" if _DECIMAL_COMMA.fullmatch(text) else ""
        where = f"line {line}: column {_short(column)}"
        return self.about.refusal(f"{where}: found '{text}'; a number is expected{hint}")


def _counts(line: str) -> bool:
    text = line.lstrip()
    return bool(text) and not text.startswith("#")


def _short(name: str) -> str:
    return one_line(name)[:_NAME]


# ---- NumPy's NPZ files, read as a stream: arrays (N,) or (N, k), compressed or not -------------------------


_DAMAGED = (
    *(OSError, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError),
    *(struct.error, zlib.error),
)
_NO_HEADER = (ValueError, TokenError, RecursionError, MemoryError)  # Python's parser has its own of the last
_HEADER = 1 << 16  # bytes in which the header of an array ends
_SHRUNK = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}  # by how much at most, as NumPy writes files


class NpzArray(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    start: int  # bytes of the header

    @property
    def size(self) -> int:
        """Bytes of its numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def width(self) -> int:
        return self.shape[1] if len(self.shape) == 2 else 1

    def read(self, stream: IO[bytes], rows: int | None = None) -> np.ndarray:
        """The next rows, or all of them."""
        shape = self.shape if rows is None else (rows, *self.shape[1:])
        size = math.prod(shape) * self.dtype.itemsize
        data = stream.read(size)
        if len(data) < size:
            raise EOFError("the file ends in the middle of an array")
        return np.frombuffer(data, self.dtype).reshape(shape, order="F" if self.fortran else "C")


class NpzTable:
    """An NPZ file; its arrays are the columns."""

    def __init__(self, about: About) -> None:
        self.about, self.constants = about, dict[str, Any]()
        self._arrays: dict[str, NpzArray] = {}
        with self._opened() as file:
            for member in file.infolist():
                name = member.filename.removesuffix(".npy")
                if name == member.filename:
                    continue
                array = self._header(file, member)
                if name in self.about.constants and array.dtype.kind in "fiuU":
                    self._check_size(member, array)
                    self.constants[name] = self._constant(file, name, array)
                elif array.dtype.kind in "fiu" and len(array.shape) in (1, 2):
                    self._check_size(member, array)
                    self._arrays[name] = array
        if not self._arrays:
            raise about.refusal("there are no arrays (N,) or (N, k) of numbers in it")
        self.columns = tuple(Column(name, array.width) for name, array in self._arrays.items())

    def count(self, columns: Sequence[Column]) -> int:
        """Rows of the first column, which all others must have."""
        shapes = {column.name: self._arrays[column.name].shape for column in columns}
        first = columns[0].name
        rows = shapes[first][0]
        for name, shape in shapes.items():
            if shape[0] != rows:
                hint = "; transpose it" if len(shape) == 2 and shape[1] == rows else ""
                raise self.about.refusal(f"'{name}' is {shape}, but '{first}' has {rows} rows{hint}")
        return rows

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        rows = self.count(columns)
        with self._opened() as file, ExitStack() as streams:
            arrays = [self._arrays[column.name] for column in columns]
            opened = [streams.enter_context(file.open(f"{column.name}.npy")) for column in columns]
            for stream, array in zip(opened, arrays, strict=True):
                row = array.width * array.dtype.itemsize
                stream.seek(array.start + (0 if array.fortran else start * row))
            whole = [a.read(s) if a.fortran else None for s, a in zip(opened, arrays, strict=True)]
            for first in range(start, rows, size):
                k = min(size, rows - first)
                yield [
                    array.read(stream, k) if held is None else held[first : first + k]
                    for stream, array, held in zip(opened, arrays, whole, strict=True)
                ]

    # ---- inside ----------------------------------------------------------------------------------------

    def _refusal(self, member: zipfile.ZipInfo, text: str) -> ArmdynError:
        return self.about.refusal(f"'{_short(member.filename)}': {text}")

    def _header(self, file: zipfile.ZipFile, member: zipfile.ZipInfo) -> NpzArray:
        if member.compress_type not in _SHRUNK:
            method = f"compression by method {member.compress_type}"
            raise self._refusal(member, f"found {method}; NumPy's deflate or none is read")
        with file.open(member) as opened:
            stream = BytesIO(opened.read(_HEADER))
        try:
            version = np.lib.format.read_magic(stream)
            known = np.lib.format
            read = known.read_array_header_1_0 if version == (1, 0) else known.read_array_header_2_0
            shape, fortran, dtype = read(stream)
            if any(size < 0 for size in shape):
                raise ValueError
        except _NO_HEADER:
            found = stream.getvalue()[:_NAME]
            raise self._refusal(member, f"the header of a NumPy array is expected; found {found!r}") from None
        return NpzArray(tuple(map(int, shape)), fortran and len(shape) > 1, dtype, stream.tell())

    def _check_size(self, member: zipfile.ZipInfo, array: NpzArray) -> None:
        """Refuse an array that is larger than what the file can have of it."""
        stored = min(member.compress_size, self.about.path.stat().st_size)
        here = min(member.file_size, stored * _SHRUNK[member.compress_type])
        said = array.start + array.size
        if said > here:
            kind = f"an array {array.shape} of {array.dtype}, {said} bytes"
            raise self._refusal(member, f"it says that it is {kind}, but the file has no more than {here}")

    def _constant(self, file: zipfile.ZipFile, name: str, array: NpzArray) -> Any:
        if array.size > _LARGEST:
            raise self.about.refusal(f"'{name}' has {array.size} bytes; {_LARGEST} are allowed")
        with file.open(f"{name}.npy") as stream:
            stream.seek(array.start)
            value = array.read(stream)
        if array.dtype.kind != "U" or array.shape:
            return value
        # NumPy does not look whether the numbers of a text are characters.
        return value.astype("<U").tobytes().decode("utf-32-le", "surrogatepass").rstrip("\0")

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.about.path) as file:
                yield file
        except ArmdynError:
            raise
        except zipfile.BadZipFile as problem:
            raise self.about.refusal(f"this is no whole NPZ file ({problem}); was it cut off?") from None
        except _DAMAGED as problem:
            raise self.about.unreadable(problem) from None


# ---- Parquet files, read batch by batch with pyarrow -------------------------------------------------------


_CONSTANTS_KEY = b"armdyn"  # of the file's own metadata


def _arrow(about: About) -> Any:
    """pyarrow with its Parquet part, or a message on how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise about.refusal("Parquet files need pyarrow: pip install 'armdyn[parquet]'") from None
    return pyarrow


class ParquetTable:
    """A Parquet file; a column may be a list of the same length in every row."""

    def __init__(self, about: About) -> None:
        self.about, self.constants, self._arrow = about, dict[str, Any](), _arrow(about)
        with self._opened() as file:
            schema = file.schema_arrow
            entries = [entry for entry in schema if self._is_number(entry.type)]
            lengths = _mean_lengths(file.metadata) if any(self._is_list(x.type) for x in entries) else {}
            times = self._arrow.types.is_timestamp
            found = [
                Column(x.name, self._width(file, x, lengths), "ns" if times(x.type) else None)
                for x in entries
            ]
            self.columns = tuple(column for column in found if column.width)
            self._rows = int(file.metadata.num_rows)
            if (text := (schema.metadata or {}).get(_CONSTANTS_KEY)) is not None:
                self.constants.update(self._constants(text))
        if not self.columns:
            raise about.refusal("there are no columns of numbers in it")

    def count(self, columns: Sequence[Column]) -> int:
        return self._rows

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

    # ---- inside ----------------------------------------------------------------------------------------

    def _constants(self, text: bytes) -> dict[str, Any]:
        """Constants that the metadata give for all rows. Their values are the caller's to check."""
        where = f"metadata '{_CONSTANTS_KEY.decode()}'"
        expected = f"a JSON object with some of {', '.join(self.about.constants)} is expected"
        if len(text) > _LARGEST:
            raise self.about.refusal(f"{where}: {len(text)} bytes; {_LARGEST} are allowed")
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as problem:
            reason = one_line(str(problem))
            raise self.about.refusal(f"{where}: cannot be read ({reason}); {expected}") from None
        if not isinstance(found, dict):
            raise self.about.refusal(f"{where}: found {shown(found)}; {expected}")
        for name in [name for name in found if name not in self.about.constants]:
            raise self.about.refusal(f"{where}: found {shown(name)}; {expected}")
        return found

    def _is_list(self, kind: Any) -> bool:
        types = self._arrow.types
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    def _is_number(self, kind: Any) -> bool:
        types = self._arrow.types
        kind = kind.value_type if self._is_list(kind) else kind
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_timestamp(kind))

    def _width(self, file: Any, entry: Any, lengths: dict[str, int]) -> int:
        """Numbers in a row; lists that are longer than any row of numbers are not read for it."""
        if not self._is_list(entry.type):
            return 1
        if (mean := lengths.get(entry.name, 0)) > WIDEST:
            return mean
        for batch in file.iter_batches(1, columns=[entry.name]):
            first = batch.column(entry.name)[0].as_py()
            return len(first) if first else 0
        return 0

    def _values(self, array: Any, column: Column, row: int) -> np.ndarray:
        if not self._is_list(array.type):
            return self._flat(array)
        lengths = self._flat(self._arrow.compute.list_value_length(array).fill_null(0))
        for k in np.flatnonzero(lengths != column.width)[:1].tolist():
            found = f"found {lengths[k]} numbers, {column.width} in other rows"
            raise self.about.refusal(f"row {row + k}: column {_short(column.name)}: {found}")
        return self._flat(array.flatten()).reshape(-1, column.width)

    def _flat(self, array: Any) -> np.ndarray:
        """Numbers (k,), NaN where there are none; time stamps as integers, in nanoseconds."""
        arrow = self._arrow
        if arrow.types.is_timestamp(array.type):
            array = array.cast(arrow.timestamp("ns")).cast(arrow.int64())
        return np.asarray(array.to_numpy(zero_copy_only=False))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        arrow = self._arrow
        try:
            # A buffer filled in advance would keep all that was read until the file is closed.
            # It is opened here, as pyarrow takes no name of a file that is not in UTF-8.
            with (
                self.about.path.open("rb") as stream,
                arrow.parquet.ParquetFile(stream, pre_buffer=False) as file,
            ):
                yield file
        except ArmdynError:
            raise
        except (arrow.ArrowException, OSError, ValueError, KeyError) as problem:
            raise self.about.unreadable(problem) from None


def _mean_lengths(metadata: Any) -> dict[str, int]:
    """The mean length of the lists in a column, by its name, in the group of rows where it is greatest."""
    found: dict[str, int] = {}
    for group in (metadata.row_group(k) for k in range(metadata.num_row_groups)):
        for part in (group.column(i) for i in range(group.num_columns)):
            mean = part.num_values // max(group.num_rows, 1)
            for name in (part.path_in_schema.rsplit(".", k)[0] for k in (1, 2)):  # name.list.element
                found[name] = max(found.get(name, 0), mean)
    return found


# ---- any of them -------------------------------------------------------------------------------------------


Table: TypeAlias = CsvTable | NpzTable | ParquetTable
_KINDS: dict[str, Callable[[About], Table]] = {
    **dict.fromkeys((".csv", ".txt", ".tsv"), CsvTable),
    ".npz": NpzTable,
    ".parquet": ParquetTable,
}


def open_table(path: str | Path, error: type[ArmdynError], **about: Any) -> Table:
    """The file, of the kind that the ending of its name says; `about` as in `About`."""
    place = _file(path, error, *_KINDS)
    return _KINDS[place.suffix.lower()](About(place, error, **about))


def open_csv(path: str | Path, error: type[ArmdynError], **about: Any) -> CsvTable:
    """A text file, whatever its name."""
    return CsvTable(About(_file(path, error), error, **about))


def _file(path: str | Path, error: type[ArmdynError], *endings: str) -> Path:
    try:
        place = Path(path)
    except TypeError:
        raise error(f"path: found {shown(path)}; the path of a file is expected") from None
    if endings and place.suffix.lower() not in endings:
        raise error(f"{path}: the name of the file ends with {', '.join(endings)}")
    try:
        exists, is_file = place.exists(), place.is_file()
    except (OSError, ValueError):
        exists = False
    if not exists:
        raise error(f"{path}: there is no such file")
    if not is_file:
        what = "a folder" if place.is_dir() else "a pipe or a device"
        raise error(f"{path}: it is {what}; a file is expected")
    return place


# ---- writing -----------------------------------------------------------------------------------------------


def named_columns(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays (N,) under their names, and those (N, n) as name1 … namen."""
    found: dict[str, np.ndarray] = {}
    for name, x in arrays.items():
        found |= {name: x} if x.ndim == 1 else {f"{name}{i + 1}": column for i, column in enumerate(x.T)}
    return found


def write_csv(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    error: type[ArmdynError],
    comments: Sequence[str] = (),
) -> None:
    """A row per instant, numbers so that reading gives the same ones; then lines of comments."""
    columns = named_columns(arrays)
    rows = (np.column_stack(list(columns.values())) + 0.0).tolist()  # no "-0.0"
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows), *comments]
    write_whole(path, "\n".join(lines) + "\n", error)


def write_npz(
    path: Path, arrays: Mapping[str, np.ndarray], error: type[ArmdynError], constants: Mapping[str, Any]
) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez_compressed(file, **{**arrays, **constants})

    _replace(path, error, write)


def write_mat(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    error: type[ArmdynError],
    comments: Sequence[str] = (),
) -> None:
    """Arrays as variables of a MAT file (version 5), times as a column; comments as the cells of one."""
    from scipy.io import savemat  # takes a while to load

    found = {**arrays, **({"comments": np.array(comments, object)[:, None]} if comments else {})}
    _replace(Path(path), error, lambda x: savemat(x, found, appendmat=False, oned_as="column"))


def write_parquet(
    path: Path, arrays: Mapping[str, np.ndarray], error: type[ArmdynError], constants: Mapping[str, Any]
) -> None:
    arrow = _arrow(About(path, error))
    plain = {name: np.asarray(x).tolist() for name, x in constants.items()}
    table = arrow.table(named_columns(arrays)).replace_schema_metadata({_CONSTANTS_KEY: json.dumps(plain)})
    _replace(path, error, lambda temporary: arrow.parquet.write_table(table, temporary))


def read_parquet(path: Path, error: type[ArmdynError]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All columns of numbers and of text in a Parquet file, and what `write_parquet` was given as constants.

    Numbers are float64, int64 where they are whole; NaN and "" where there is nothing.
    """
    about = About(_file(path, error), error)
    arrow = _arrow(about)
    try:
        # Opened here, as in `ParquetTable`. No threads: a study writes many small files.
        with about.path.open("rb") as stream:
            table = arrow.parquet.read_table(stream, use_threads=False)
    except (arrow.ArrowException, OSError, ValueError) as problem:
        raise about.unreadable(problem) from None
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type):
            found[name] = np.array([x or "" for x in column.to_pylist()], dtype=str)
        elif arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type):
            found[name] = np.array(column.to_numpy())
        else:
            raise about.refusal(f"column {_short(name)} is of type {column.type}; numbers or text are read")
    text = (table.schema.metadata or {}).get(_CONSTANTS_KEY, b"{}")
    return found, json.loads(text)


def _replace(path: Path, error: type[ArmdynError], write: Callable[[Path], None]) -> None:
    """Write beside the file, then put it in its place, once it is on the disk."""
    temporary = path.with_name(f".armdyn-{secrets.token_hex(6)}")
    try:
        write(temporary)
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (OSError, ValueError) as problem:
        raise error(f"cannot write '{path}': {getattr(problem, 'strerror', None) or problem}") from None
    finally:
        temporary.unlink(missing_ok=True)
