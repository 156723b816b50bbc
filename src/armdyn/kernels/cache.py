"""Object code on disk: made once per program, processor and version.

A file is named by a digest of all it depends on, and carries a checksum. A damaged, foreign or unreadable
one is ignored and made again; files appear whole or not at all, so processes may share the folder; a folder
that cannot be written costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

_MAGIC = b"armdyn object 1\n"


def cache_folder() -> Path:
    """$ARMDYN_CACHE, or the user's cache folder."""
    if given := os.environ.get("ARMDYN_CACHE"):
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "armdyn" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "armdyn"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "armdyn"


@cache
def code_digest() -> str:
    """A digest of the package's own source: other code may record or emit something else."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    for layer in ("expression", "model", "dynamics", "program", "kernels"):
        for file in sorted((package / layer).glob("*.py")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def digest_of(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode())
        digest.update(part.encode())
    return digest.hexdigest()


def read(key: str) -> bytes | None:
    """The object code kept under a key, or None."""
    try:
        content = _path(key).read_bytes()
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    head = len(_MAGIC) + 32
    if not content.startswith(_MAGIC) or len(content) <= head:
        return None
    code = content[head:]
    return code if hashlib.sha256(key.encode() + code).digest() == content[len(_MAGIC) : head] else None


def write(key: str, code: bytes) -> None:
    """Keep object code under a key, if the folder lets us."""
    with contextlib.suppress(OSError, RuntimeError):
        path = _path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(key.encode() + code).digest() + code)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


def _path(key: str) -> Path:
    return cache_folder() / f"{key}.o"
