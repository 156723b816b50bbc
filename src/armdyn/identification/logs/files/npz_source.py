"""Logs in NumPy's NPZ files, read as a stream: arrays (N,) or (N, k), compressed or not."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import Column

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
_LARGEST = 1 << 20  # numbers in an array that is about the whole log


@dataclass(frozen=True)
class _Array:
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class NpzSource:
    """An NPZ file; its arrays are the columns."""

    path: Path
    constants: dict[str, Any] = field(default_factory=dict)
    _arrays: dict[str, _Array] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found: dict[str, _Array] = {}
        with self._opened() as file:
            for member in file.namelist():
                if not member.endswith(".npy"):
                    continue
                name = member.removesuffix(".npy")
                with file.open(member) as stream:
                    array = _header(stream)
                    if name in CONSTANTS and array.dtype.kind in "fiuU" and np.prod(array.shape) < _LARGEST:
                        value = _values(stream, array, -1)
                        self.constants[name] = str(value) if name == "name" else value
                    elif array.dtype.kind in "fiu" and len(array.shape) in (1, 2):
                        found[name] = array
        if not found:
            raise IdentificationError(f"{self.path}: there are no arrays (N,) or (N, k) of numbers in it")
        object.__setattr__(self, "_arrays", found)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, _width(array)) for name, array in self._arrays.items())

    def quick(self, rows: int) -> bool:
        return False

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        rows = self.count(columns)
        with self._opened() as file, ExitStack() as streams:
            arrays = [self._arrays[column.name] for column in columns]
            opened = [streams.enter_context(file.open(f"{column.name}.npy")) for column in columns]
            for stream in opened:
                _header(stream)
            whole = [_values(s, a, -1) if a.fortran else None for s, a in zip(opened, arrays, strict=True)]
            for stream, array, held in zip(opened, arrays, whole, strict=True):
                if held is None:
                    stream.seek(start * _row_size(array), 1)
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
    return _Array(shape, fortran and len(shape) > 1, dtype)


def _row_size(array: _Array) -> int:
    """Bytes of a row."""
    return _width(array) * array.dtype.itemsize


def _width(array: _Array) -> int:
    return array.shape[1] if len(array.shape) == 2 else 1


def _values(stream: IO[bytes], array: _Array, rows: int) -> np.ndarray:
    """The next rows, or all with -1."""
    shape = array.shape if rows < 0 else (rows, *array.shape[1:])
    size = int(np.prod(shape, dtype=object)) * array.dtype.itemsize
    data = stream.read(size)
    if len(data) < size:
        raise EOFError("the file ends in the middle of an array")
    found = np.frombuffer(data, array.dtype)
    return found.reshape(shape, order="F" if array.fortran else "C")
