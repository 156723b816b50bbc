"""Object code on disk: made once per program, processor and version.

A file's name is a digest of all it depends on, and the file starts with a checksum. A damaged or unreadable
file is ignored, and its code is compiled again. Files are put in place whole, so several processes can use
the folder at once. If the folder cannot be written, every process compiles for itself. A checksum does not
show who wrote a file. So only files that no other user can have written are read. If another user can write
to the folder, it is not used, and one warning says so.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from armdyn.expression import ArmdynError

# ------------------------------------------------------------------------------------------------------------
# A bound on the size of the cache: the files that were not used for longest are removed first.
#
# A process lists the folder when it first writes to it, and again when it has added so much that the bound
# may be exceeded. It adds at most an eighth of the bound in between, since other processes add files too.
# Several processes may remove files at the same time; a file that is already gone is ignored.


VARIABLE = "ARMDYN_CACHE_SIZE"
_DEFAULT = 512  # MB
_LEFT = 0.9  # of the bound, so that not every new file leads to another cleanup
_STALE = 3600  # seconds after which a temporary file counts as abandoned
_NAMES = re.compile(r"[0-9a-f]{64}\.o|\.new[a-z0-9_]{8}")  # our files; no others are removed
_allowance: dict[Path, int] = {}  # bytes this process may add to a folder before it lists it again


class CachedFile(NamedTuple):
    """A file of the cache."""

    used: float  # when, in seconds since 1970
    size: int
    path: Path

    @property
    def is_temporary(self) -> bool:
        return self.path.suffix != ".o"


def size_bound() -> int:
    """The largest size of all files together, in bytes; 0: nothing is kept."""
    given = os.environ.get(VARIABLE, "").strip()
    if not re.fullmatch("[0-9]{0,9}", given):
        raise ArmdynError(f"{VARIABLE}: expected a whole number of megabytes, found {given[:40]!r}")
    return int(given or _DEFAULT) * 10**6


def entries(folder: Path) -> Iterator[CachedFile]:
    """The files of the cache in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if _NAMES.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    if item.is_file(follow_symlinks=False):
                        info = item.stat(follow_symlinks=False)
                        yield CachedFile(info.st_mtime, info.st_size, folder / item.name)


def keep_within_bound(folder: Path, added: int) -> None:
    """Keep the bound after `added` bytes have been written to a folder."""
    bound = size_bound()
    left = _allowance.get(folder, 0) - added
    if left < 0:
        left = min(bound - _shrink(folder, bound), bound // 8)
    _allowance[folder] = left


def _shrink(folder: Path, bound: int) -> int:
    """Remove abandoned files and, above the bound, those unused for longest. Returns the size left."""
    now, kept = time.time(), list[CachedFile]()
    for entry in entries(folder):
        if not entry.is_temporary:
            kept.append(entry)
        elif now - entry.used > _STALE:
            remove(entry)
    total = sum(entry.size for entry in kept)
    if total > bound:
        for entry in sorted(kept):
            if total <= _LEFT * bound:
                break
            remove(entry)
            total -= entry.size
    return total


def remove(entry: CachedFile) -> bool:
    """Remove a file. Returns whether that worked."""
    try:
        entry.path.unlink()
    except OSError:
        return False
    return True


# ------------------------------------------------------------------------------------------------------------
# Who could have written a file: machine code is run only if nobody but this user and root could.
#
# The rules are those of OpenSSH for keys. A folder that other users can write is refused. So are the folders
# in it, since others could replace them. In a sticky folder, such as /tmp, nobody can replace what belongs
# to this user. Windows has no such permission bits; there, the cache is in the user's profile.


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_READ_AS_IT_IS = sum(
    getattr(os, flag, 0) for flag in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY")
)  # follow no link and wait for no pipe


class UntrustedError(Exception):
    """Another user could have written the file; the message says why."""


def check_folder(folder: Path) -> None:
    """Refuse a folder (a path without links) that others could put files into. It need not exist yet."""
    for place in (folder, *folder.parents):
        try:
            info = place.lstat()
        except FileNotFoundError:
            continue
        sticky = place != folder and info.st_mode & stat.S_ISVTX
        _check_owner(place, info, 0 if sticky else _OTHERS_WRITE)


def make_folder(folder: Path) -> None:
    """Make the folder and its missing parents, for this user only; refuse it if others could write to it."""
    check_folder(folder)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir(mode=0o700, exist_ok=True)
    check_folder(folder)  # another user may have made it first


def read_own(path: Path) -> bytes:
    """The content of a regular file that only this user or root could have written."""
    try:
        handle = os.open(path, _READ_AS_IT_IS)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UntrustedError(f"'{path}' is a link") from None
        raise
    with os.fdopen(handle, "rb") as file:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise UntrustedError(f"'{path}' is not a regular file")
        _check_owner(path, info, _OTHERS_WRITE)
        return file.read()


def _check_owner(path: Path, info: os.stat_result, forbidden: int) -> None:
    if not hasattr(os, "geteuid"):
        return
    if info.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"'{path}' belongs to another user (uid {info.st_uid})")
    if info.st_mode & forbidden:
        raise UntrustedError(f"other users can write '{path}' (chmod go-w prevents that)")


# ------------------------------------------------------------------------------------------------------------
# Reading and writing.


_MAGIC = b"armdyn object 1\n"
_told: set[Path] = set()  # folders the user has been warned about


class CacheWarning(UserWarning):
    """The cache is not used because other users could have put code there."""


def cache_folder() -> Path:
    """$ARMDYN_CACHE, or the user's cache folder."""
    if given := os.environ.get("ARMDYN_CACHE"):
        return Path(given).expanduser()
    return user_cache_path("armdyn", appauthor=False)


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
    """State of the cache: its folder, its size, and why it is not used, if so."""

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
    """Reason why a folder cannot be used (tried by writing to it); empty if it can."""
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
