"""Object code on disk: made once per program, processor and version.

A file's name is a digest of all it depends on, and the file starts with a checksum. A damaged or unreadable
file is ignored, and its code is compiled again. Files are put in place whole, so several processes can use
the folder at once. If the folder cannot be written, every process compiles for itself. A checksum does not
show who wrote a file. So only files that no other user can have written are read (`trust`). If another user
can write to the folder, it is not used, and one warning says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from armdyn.kernels.cache_size import entries, keep_within_bound, remove, size_bound
from armdyn.kernels.trust import UntrustedError, check_folder, make_folder, read_own

_MAGIC = b"armdyn object 1\n"
_told: set[Path] = set()  # folders the user has been warned about


class CacheWarning(UserWarning):
    """The cache is not used because other users could have put code there."""


def cache_folder() -> Path:
    """$ARMDYN_CACHE, or the user's cache folder."""
    if given := os.environ.get("ARMDYN_CACHE"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "armdyn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "armdyn"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "armdyn"


def own_version() -> str:
    """The version of the package, which is loaded when this is called."""
    return str(sys.modules[__name__.partition(".")[0]].__dict__["__version__"])


@cache
def code_digest() -> str:
    """A digest of the package's version and source, since other source may give other machine code."""
    digest = hashlib.sha256()
    digest.update(own_version().encode())
    package = Path(__file__).parent.parent
    for layer in ("expression", "model", "dynamics", "program", "kernels", "robot"):
        for file in sorted((package / layer).rglob("*.py")):
            digest.update(file.relative_to(package).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def digest_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()


def read(key: str) -> bytes | None:
    """The object code stored under a key, or None."""
    try:
        folder = cache_folder().resolve()
        check_folder(folder)
        content = read_own(folder / f"{key}.o")
    except UntrustedError as reason:
        _say_once(folder, reason)
        return None
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    head = len(_MAGIC) + 32
    if not content.startswith(_MAGIC) or len(content) <= head:
        return None
    code = content[head:]
    if hashlib.sha256(key.encode() + code).digest() != content[len(_MAGIC) : head]:
        return None
    with contextlib.suppress(OSError):
        os.utime(folder / f"{key}.o")  # used just now: it is removed last
    return code


def write(key: str, code: bytes) -> None:
    """Store object code under a key, if the folder can be written."""
    content = _MAGIC + hashlib.sha256(key.encode() + code).digest() + code
    if len(content) > size_bound():
        return
    with contextlib.suppress(OSError, RuntimeError):
        folder = cache_folder().resolve()
        try:
            make_folder(folder)
        except UntrustedError as reason:
            _say_once(folder, reason)
            return
        _put(folder / f"{key}.o", content)
        keep_within_bound(folder, len(content))


def _put(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new")  # readable for this user only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _say_once(folder: Path, reason: UntrustedError) -> None:
    if folder not in _told:
        _told.add(folder)
        text = f"{reason}: the cache is not used; set $ARMDYN_CACHE to a folder that only you can write"
        warnings.warn(text, CacheWarning, stacklevel=2)


@dataclass(frozen=True)
class State:
    """Where the cache is, how large, and whether it is used."""

    folder: Path
    files: int
    size: int  # bytes
    bound: int  # bytes
    problem: str  # why it is not used; empty if it is used


def state() -> State:
    """The state of the cache."""
    folder = cache_folder()
    found = list(entries(folder))
    return State(folder, len(found), sum(entry.size for entry in found), size_bound(), _problem(folder))


def _problem(folder: Path) -> str:
    """Why a folder cannot be used (tried by writing to it); empty if it can."""
    try:
        folder = folder.resolve()
        make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except (UntrustedError, OSError, RuntimeError) as reason:
        return str(reason)


def clear() -> tuple[int, int]:
    """Remove the files of the cache and nothing else in its folder. Returns their number and size."""
    gone = [entry for entry in entries(cache_folder()) if remove(entry)]
    return len(gone), sum(entry.size for entry in gone)
