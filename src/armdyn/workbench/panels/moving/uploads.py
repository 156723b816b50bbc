"""Files that a page sends: kept in a folder of their own while they are read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from armdyn.expression import ArmdynError
from armdyn.output import one_line
from armdyn.workbench.errors import ViewError

Found = TypeVar("Found")
LARGEST = 256 * 2**20  # bytes


def read_upload(file: Any, read: Callable[[Path], Found]) -> Found:
    """What `read` makes of an uploaded file. Errors name the file as the page did."""
    name = one_line(file_name(file))
    if len(file.content) > LARGEST:
        raise ViewError(f"{name}: it has {len(file.content)} bytes; at most {LARGEST} can be uploaded")
    with tempfile.TemporaryDirectory(prefix="armdyn_") as folder:
        path = Path(folder) / f"upload{suffix(file)}"
        path.write_bytes(file.content)
        try:
            return read(path)
        except ArmdynError as error:
            text = str(error).replace(str(path), name).replace(path.name, name)
            raise ViewError(text if name in text else f"{name}: {text}") from None


def file_name(file: Any) -> str:
    """Without folders, as browsers send it."""
    return PurePosixPath(str(file.name).replace("\\", "/")).name or "file"


def suffix(file: Any) -> str:
    """ ".csv", ".toml" and the like, in small letters; nothing else of a name becomes part of a path."""
    found = PurePosixPath(file_name(file)).suffix.lower()
    return found if found[1:].isalnum() and found.isascii() else ""
