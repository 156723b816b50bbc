"""A bound on the size of the cache: the files that were not used for longest are removed first.

A process lists the folder when it first writes to it, and again when it has added so much that the bound may
be exceeded. It adds at most an eighth of the bound in between, since other processes add files too. Several
processes may remove files at the same time; a file that is already gone is ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from armdyn.expression import ArmdynError

VARIABLE = "ARMDYN_CACHE_SIZE"
_DEFAULT = 512  # MB
_LEFT = 0.9  # of the bound, so that not every new file leads to another cleanup
_STALE = 3600  # seconds after which a temporary file counts as abandoned
_NAMES = re.compile(r"[0-9a-f]{64}\.o|\.new[a-z0-9_]{8}")  # our files; no others are removed
_allowance: dict[Path, int] = {}  # bytes this process may add to a folder before it lists it again


class Entry(NamedTuple):
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


def entries(folder: Path) -> Iterator[Entry]:
    """The files of the cache in a folder."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if _NAMES.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    if item.is_file(follow_symlinks=False):
                        info = item.stat(follow_symlinks=False)
                        yield Entry(info.st_mtime, info.st_size, folder / item.name)


def keep_within_bound(folder: Path, added: int) -> None:
    """Keep the bound after `added` bytes have been written to a folder."""
    bound = size_bound()
    left = _allowance.get(folder, 0) - added
    if left < 0:
        left = min(bound - _shrink(folder, bound), bound // 8)
    _allowance[folder] = left


def _shrink(folder: Path, bound: int) -> int:
    """Remove abandoned files and, above the bound, those unused for longest. Returns the size left."""
    now, kept = time.time(), list[Entry]()
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


def remove(entry: Entry) -> bool:
    """Remove a file. Returns whether that worked."""
    try:
        entry.path.unlink()
    except OSError:
        return False
    return True
