"""Logs in NumPy's NPZ files, read as a stream: arrays (N,) or (N, k), compressed or not.

A file may come from anywhere, and a short one can claim arrays of any size. So the size of an array, as its
header says it, is held against what the file has of it before anything is read.
"""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import Column
from armdyn.output import one_line

CONSTANTS = ("transmission", "torque_constant", "joint_zeros", "delay", "name")
_WRONG = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    zlib.error,
)
_NO_HEADER = (ValueError, TokenError, RecursionError, MemoryError)  # Python's parser has its own of the last
_LARGEST = 1 << 20  # bytes of what is about the whole log
_HEAD = 1 << 16  # bytes in which the header of an array ends
_SHRUNK = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}  # by how much at most, as NumPy writes files


@dataclass(frozen=True)
class _Array:
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

    @property
    def row(self) -> int:
        """Bytes of a row."""
        return self.width * self.dtype.itemsize


@dataclass(frozen=True)
class NpzSource:
    """An NPZ file; its arrays are the columns."""

    path: Path
    constants: dict[str, Any] = field(default_factory=dict)
    _arrays: dict[str, _Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found: dict[str, _Array] = {}
        with self._opened() as file:
            for member in file.infolist():
                name = member.filename.removesuffix(".npy")
                if name == member.filename:
                    continue
                array = self._array(file, member)
                if name in CONSTANTS and array.dtype.kind in "fiuU":
                    self._check_size(member, array)
                    self.constants[name] = self._constant(file, name, array)
                elif array.dtype.kind in "fiu" and len(array.shape) in (1, 2):
                    self._check_size(member, array)
                    found[name] = array
        if not found:
            raise IdentificationError(f"{self.path}: there are no arrays (N,) or (N, k) of numbers in it")
        object.__setattr__(self, "_arrays", found)

    def _where(self, member: zipfile.ZipInfo) -> str:
        return f"{self.path}: '{one_line(member.filename)[:60]}'"

    def _array(self, file: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Array:
        if member.compress_type not in _SHRUNK:
            method = f"compression by method {member.compress_type}"
            raise IdentificationError(
                f"{self._where(member)}: found {method}; NumPy's deflate or none is read"
            )
        with file.open(member) as stream:
            head = BytesIO(stream.read(_HEAD))
        try:
            return _header(head)
        except _NO_HEADER:
            found = head.getvalue()[:60]
            raise IdentificationError(
                f"{self._where(member)}: the header of a NumPy array is expected; found {found!r}"
            ) from None

    def _check_size(self, member: zipfile.ZipInfo, array: _Array) -> None:
        """Refuse an array that is larger than what the file can have of it."""
        stored = min(member.compress_size, self.path.stat().st_size)
        here = min(member.file_size, stored * _SHRUNK[member.compress_type])
        said = array.start + array.size
        if said > here:
            kind = f"an array {array.shape} of {array.dtype}, {said} bytes"
            raise IdentificationError(
                f"{self._where(member)}: it says that it is {kind}, but the file has no more than {here}"
            )

    def _constant(self, file: zipfile.ZipFile, name: str, array: _Array) -> Any:
        if array.size > _LARGEST:
            raise IdentificationError(
                f"{self.path}: '{name}', which is about the whole log, has {array.size} bytes; "
                f"{_LARGEST} are allowed"
            )
        with file.open(f"{name}.npy") as stream:
            stream.seek(array.start)
            value = _values(stream, array, -1)
        return value if array.dtype.kind != "U" or array.shape else _text(value)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, array.width) for name, array in self._arrays.items())

    def claimed(self, columns: Sequence[Column]) -> int:
        return self.count(columns) * sum(column.width for column in columns)

    def quick(self, rows: int) -> bool:
        return False

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        rows = self.count(columns)
        with self._opened() as file, ExitStack() as streams:
            arrays = [self._arrays[column.name] for column in columns]
            opened = [streams.enter_context(file.open(f"{column.name}.npy")) for column in columns]
            for stream, array in zip(opened, arrays, strict=True):
                stream.seek(array.start + (0 if array.fortran else start * array.row))
            whole = [_values(s, a, -1) if a.fortran else None for s, a in zip(opened, arrays, strict=True)]
            for first in range(start, rows, size):
                k = min(size, rows - first)
                piece = []
                for stream, array, held in zip(opened, arrays, whole, strict=True):
                    piece.append(_values(stream, array, k) if held is None else held[first : first + k])
                yield piece

    def count(self, columns: Sequence[Column]) -> int:
        """The rows of the first column, which all others must have."""
        shapes = {column.name: self._arrays[column.name].shape for column in columns}
        first = columns[0].name
        rows = shapes[first][0]
        for name, shape in shapes.items():
            if shape[0] != rows:
                hint = "; transpose it" if len(shape) == 2 and shape[1] == rows else ""
                raise IdentificationError(
                    f"{self.path}: '{name}' is {shape}, but '{first}' has {rows} rows{hint}"
                )
        return rows

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as file:
                yield file
        except IdentificationError:
            raise
        except zipfile.BadZipFile as problem:
            raise IdentificationError(
                f"{self.path}: this is no whole NPZ file ({problem}); was it cut off?"
            ) from None
        except _WRONG as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise IdentificationError(f"{self.path}: cannot be read: {reason}") from None


def _header(stream: IO[bytes]) -> _Array:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if any(size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    return _Array(tuple(map(int, shape)), fortran and len(shape) > 1, dtype, stream.tell())


def _values(stream: IO[bytes], array: _Array, rows: int) -> np.ndarray:
    """The next rows, or all with -1."""
    shape = array.shape if rows < 0 else (rows, *array.shape[1:])
    size = math.prod(shape) * array.dtype.itemsize
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the file ends in the middle of an array")
    found = np.frombuffer(data, array.dtype)
    return found.reshape(shape, order="F" if array.fortran else "C")


def _text(value: np.ndarray) -> str:
    """A text (); NumPy does not look whether its numbers are characters."""
    return value.astype("<U").tobytes().decode("utf-32-le", "surrogatepass").rstrip("\0")
