"""Faces of a surface as a file gives them, and the file's name: suffix, size, whether it is a file at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from armdyn.expression import shown
from armdyn.model.errors import ModelError
from armdyn.output import one_line

SUFFIXES = (".stl", ".obj")
MAX_BYTES = 4_000_000_000
LARGEST = 1e30  # of a coordinate: its fifth power is still a float


@dataclass(frozen=True)
class Faces:
    """Polygons by their corners, in the file's order and unit of length."""

    source: str
    vertices: np.ndarray  # (V, 3)
    corners: np.ndarray  # (K,) indices of vertices, face after face
    starts: np.ndarray  # (F + 1,) where in `corners` a face begins; the last is K
    lines: np.ndarray | None = None  # (F,) lines of the file

    def __len__(self) -> int:
        return len(self.starts) - 1

    def place(self, face: int) -> str:
        """Where a face stands, for messages: its number from 1 and its line."""
        line = "" if self.lines is None else f" (line {self.lines[face]})"
        return f"face {face + 1}{line}"

    def fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.source}: {message}")


def mesh_file(path: str | Path) -> tuple[Path, str]:
    """The path of a file with a known suffix and a sensible size, and its name for messages."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"mesh: expected a path to an STL or OBJ file, found {shown(path)}")
    found, source = Path(path), one_line(str(path))
    if found.suffix.lower() not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise ModelError(f"{source}: found the suffix '{one_line(found.suffix)}'; allowed: {allowed}")
    try:
        reason = "it is no file" if found.exists() else "there is no such file"
        size = found.stat().st_size if found.is_file() else None
    except (OSError, ValueError) as error:  # a name that no file can have
        reason, size = getattr(error, "strerror", None) or str(error), None
    if size is None:
        raise ModelError(f"{source}: cannot read the mesh: {reason}")
    if size > MAX_BYTES:
        raise ModelError(f"{source}: the mesh has {size} bytes; up to {MAX_BYTES} are allowed")
    return found, source


def lines_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Number and words of each line that has any. Lines end as on any system; a mark of UTF-8 is skipped."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if words := line.split():
                yield number, words


def coordinates(words: list[str]) -> tuple[float, float, float]:
    """Three numbers; a ValueError says what is wrong with them."""
    if len(words) < 3:
        raise ValueError(f"expected three coordinates, found {len(words)}")
    try:
        x, y, z = float(words[0]), float(words[1]), float(words[2])
    except ValueError:
        raise ValueError(f"expected three coordinates, found {_text(words)}") from None
    if not (abs(x) <= LARGEST and abs(y) <= LARGEST and abs(z) <= LARGEST):  # also where one is NaN
        raise ValueError(f"a coordinate is a number up to {LARGEST:g}, found {_text(words)}")
    return x, y, z


def _text(words: list[str]) -> str:
    return one_line(" ".join(words[:3]))[:60]
