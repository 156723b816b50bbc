"""Files are replaced whole or not at all: a full disk or an interruption leaves the old file as it was."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from armdyn.expression import ArmdynError


def write_whole(path: str | Path, text: str | bytes, error: type[ArmdynError] = ArmdynError) -> Path:
    """Write a text file in UTF-8 with \\n at the ends of its lines, or bytes. Its folder must exist."""
    return write_files({Path(path): text}, error)[0]


def write_files(texts: Mapping[Path, str | bytes], error: type[ArmdynError] = ArmdynError) -> list[Path]:
    """Write several files that belong together: none is replaced before all are on the disk."""
    waiting: list[tuple[Path, Path]] = []
    path = Path()
    try:
        for path, text in texts.items():
            if (
                path.exists() and not path.is_file() and not path.is_dir()
            ):  # a device or a pipe: there is no old file to keep
                path.write_bytes(_bytes(text))
            else:
                target = path.resolve()  # a link stays; the file it leads to is replaced
                waiting.append((_temporary(target, text), target))
        for temporary, target in waiting:
            path = target
            temporary.replace(target)
    except (OSError, ValueError, RuntimeError) as problem:
        raise error(f"cannot write '{path}': {_reason(path, problem)}") from None
    finally:
        for temporary, _ in waiting:
            temporary.unlink(missing_ok=True)
    return list(texts)


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _temporary(target: Path, text: str | bytes) -> Path:
    """The text in a new file beside the target, with the permissions the target has or would get."""
    if target.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    temporary = target.with_name(f".armdyn-{secrets.token_hex(6)}")  # the target's name may be as long as any
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_bytes(text))
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            if not os.access(target, os.W_OK):
                raise PermissionError(0, "it is write-protected")
            temporary.chmod(target.stat().st_mode & 0o7777)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _reason(path: Path, problem: Exception) -> str:
    if isinstance(problem, FileNotFoundError):
        return f"there is no folder '{path.parent}'"
    return getattr(problem, "strerror", None) or str(problem)
