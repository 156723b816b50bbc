"""Who could have written a file: machine code is run only if nobody but this user and root could.

The rules are those of OpenSSH for keys. A folder that other users can write is refused. So are the folders in
it, since others could replace them. In a sticky folder, such as /tmp, nobody can replace what belongs to this
user. Windows has no such permission bits; there, the cache is in the user's profile.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

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
