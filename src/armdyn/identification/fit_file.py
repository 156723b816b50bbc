"""Fits in files: JSON that people can read, exact to the last bit, with a checksum.

A value is written by its type: a dataclass as its fields by name, an array as its shape and its numbers, a
robot as the table of its robot file. Reading follows the same types, so that a field is said once: where it
is declared. Numbers are written as Python's repr, which reads as the same float.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from armdyn.description.robot_file import build
from armdyn.expression import shown
from armdyn.files import write_whole
from armdyn.identification.errors import IdentificationError
from armdyn.kernels.cache import own_version
from armdyn.robot import Robot

VERSION = 5  # of the format: a change of a saved type's fields makes it another
_TITLE = "armdyn fit"
_NONE = 64 * "0"  # stands for the checksum while it is computed
_HEAD = re.compile(
    rb'\{\n "format": "armdyn fit",\n "version": (\d{1,9}),\n'
    rb' "armdyn": "[^"\n]*",\n "sha256": "([0-9a-f]{64})",'
)
_WIDTH = 110
_KINDS = {"float": np.float64, "whole": np.int64, "key": np.uint64, "truth": np.bool_}  # of arrays
_WORDS = ("nan", "inf", "-inf")  # floats that JSON does not have

T = TypeVar("T")


# ------------------------------------------------------------------------------------------------------------
# The file.


def save(value: Any, path: str | Path) -> Path:
    """Write a fit; the file is replaced whole."""
    head = {"format": _TITLE, "version": VERSION, "armdyn": own_version(), "sha256": _NONE}
    lines = [f' "{key}": {json.dumps(x)},\n' for key, x in head.items()]
    text = "{\n" + "".join(lines) + f' "fit": {_text(_plain(value), 1)}\n}}\n'
    data = text.encode("utf-8", "replace")  # as `write_whole` writes it
    return write_whole(path, text.replace(_NONE, sha256(data).hexdigest(), 1), IdentificationError)


def load(kind: type[T], path: str | Path) -> T:
    """Read what `save` wrote; what is damaged or of another version is refused."""
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise IdentificationError(f"cannot read '{path}': {reason}") from None
    head = _HEAD.match(data)
    if head is None:
        raise IdentificationError(f"{path}: this is no saved fit, or its beginning is damaged")
    if int(head[1]) != VERSION:
        raise IdentificationError(
            f"{path}: a fit in version {int(head[1])} of the format; this armdyn reads version {VERSION}. "
            "Identify again from the logs, or read it with the armdyn that wrote it"
        )
    at = slice(*head.span(2))
    if sha256(data[: at.start] + _NONE.encode() + data[at.stop :]).hexdigest().encode() != head[2]:
        raise IdentificationError(
            f"{path}: the file is damaged: its checksum does not fit. Take a copy, or identify again"
        )
    try:
        return _read(kind, json.loads(data)["fit"], "fit")  # type: ignore[no-any-return]
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise IdentificationError(f"{path}: the file is damaged: {problem}") from None


def _text(value: Any, indent: int) -> str:
    """JSON with short values on one line and long lists of numbers in lines."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    pad = " " * indent
    if len(flat) + indent <= _WIDTH or not isinstance(value, dict | list):
        return flat
    if isinstance(value, dict):
        lines = [
            f"{pad} {json.dumps(key, ensure_ascii=False)}: {_text(x, indent + 1)}" for key, x in value.items()
        ]
        return "{\n" + ",\n".join(lines) + f"\n{pad}}}"
    if any(isinstance(x, dict | list) for x in value):
        return "[\n" + ",\n".join(f"{pad} {_text(x, indent + 1)}" for x in value) + f"\n{pad}]"
    return "[\n" + "\n".join(f"{pad} {line}" for line in _lines(value, _WIDTH - indent)) + f"\n{pad}]"


def _lines(values: list[Any], width: int) -> Iterator[str]:
    line = ""
    for k, x in enumerate(values):
        entry = json.dumps(x, ensure_ascii=False) + "," * (k < len(values) - 1)
        if line and len(line) + 1 + len(entry) > width:
            yield line
            line = entry
        else:
            line = f"{line} {entry}" if line else entry
    yield line


# ------------------------------------------------------------------------------------------------------------
# Values as what JSON has, and back.


def _plain(value: Any) -> Any:
    """Tables, lists, texts, numbers, truth values and None."""
    if isinstance(value, Robot):
        return {"source": value.model.source, "table": value.to_dict()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, np.ndarray):
        kind = next(name for name, dtype in _KINDS.items() if value.dtype == dtype)
        numbers = [_plain(x) for x in value.ravel().tolist()]
        return {"shape": list(value.shape), "kind": kind, "values": numbers}
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return repr(value) if isinstance(value, float) and not np.isfinite(value) else value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(kind: Any, x: Any, where: str) -> Any:
    """A value of a type; `where` it stands, for messages."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Robot:
        _keys(x, {"source", "table"}, where)
        return Robot(build(x["table"], x["source"]))
    if kind is np.ndarray:
        return _array(x, where)
    if is_dataclass(kind):
        return _dataclass(kind, x, where)
    if origin in (Union, UnionType):
        if x is None and NoneType in inner:
            return None
        (kind,) = (k for k in inner if k is not NoneType)
        return _read(kind, x, where)
    if origin is tuple and isinstance(x, list):
        each = [inner[0]] * len(x) if inner[1:] == (...,) else inner
        if len(each) == len(x):
            pairs = zip(each, x, strict=True)
            return tuple(_read(k, entry, f"{where}[{i}]") for i, (k, entry) in enumerate(pairs))
    if origin is dict and isinstance(x, dict):
        return {key: _read(inner[1], entry, f"{where}.{key}") for key, entry in x.items()}
    if origin is Literal and x in inner:
        return x
    if kind is float and (x in _WORDS or (isinstance(x, float | int) and not isinstance(x, bool))):
        return float(x)
    if kind in (str, int, bool) and type(x) is kind:
        return x
    raise IdentificationError(f"{where}: found {shown(x)}")


def _keys(x: Any, expected: set[str], where: str) -> None:
    if not isinstance(x, dict) or x.keys() != expected:
        found = ", ".join(map(str, x)) if isinstance(x, dict) else shown(x)
        raise IdentificationError(f"{where}: expected {', '.join(sorted(expected))}, found {found}")


def _dataclass(kind: Any, x: Any, where: str) -> Any:
    _keys(x, {field.name for field in fields(kind) if field.init}, where)
    return kind(**{name: _read(_hints(kind)[name], entry, f"{where}.{name}") for name, entry in x.items()})


def _array(x: Any, where: str) -> np.ndarray:
    _keys(x, {"shape", "kind", "values"}, where)
    shape, kind, values = x["shape"], x["kind"], x["values"]
    if kind not in tuple(_KINDS):
        raise IdentificationError(f"{where}: found an array of {shown(kind)}; allowed: {', '.join(_KINDS)}")
    if not isinstance(shape, list) or not all(type(k) is int and k >= 0 for k in shape):
        raise IdentificationError(f"{where}: found the shape {shown(shape)}")
    if not isinstance(values, list) or len(values) != math.prod(shape):
        found = f"{len(values)} values" if isinstance(values, list) else shown(values)
        raise IdentificationError(f"{where}: expected {math.prod(shape)} values, found {found}")
    if wrong := [v for v in values if not _is_of(kind, v)]:
        raise IdentificationError(f"{where}: found {shown(wrong[0])} among values of kind {kind}")
    numbers = [float(v) for v in values] if kind == "float" else values
    return np.array(numbers, _KINDS[kind]).reshape(shape)


def _is_of(kind: str, v: Any) -> bool:
    """Whether a value of a file may stand in an array of this kind."""
    if kind == "truth":
        return isinstance(v, bool)
    if kind == "float":
        return type(v) in (float, int) or (isinstance(v, str) and v in _WORDS)
    low, high = (0, 2**64) if kind == "key" else (-(2**63), 2**63)
    return type(v) is int and low <= v < high
