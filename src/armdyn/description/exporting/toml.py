"""The table of a robot -> TOML as people write robot files: one line a key, long tables as sections."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from armdyn.description.errors import DescriptionError
from armdyn.description.exporting.table import Table, table_of
from armdyn.description.toml_text import MAX_BYTES
from armdyn.model.robot_model import RobotModel
from armdyn.output import one_line

__all__ = ["table_of", "toml_line", "toml_text"]

_WIDTH = 118
_SECTIONS = ("symbols", "motor")  # tables that never stand on one line
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def toml_text(model: RobotModel) -> str:
    """The robot as the text of a robot file, which loads to an equal robot."""
    lines = [*_comments(model), *_section(table_of(model), "")]
    text = "\n".join(lines) + "\n"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise DescriptionError(
            "this robot cannot be written as a robot file: a name has a character that is no text"
        ) from None
    if size > MAX_BYTES:
        raise DescriptionError(
            f"this robot cannot be written as a robot file: it would take {size} bytes; "
            f"up to {MAX_BYTES} are allowed"
        )
    return text


def _comments(model: RobotModel) -> Iterator[str]:
    """Where the robot came from, and what reading that changed."""
    source = one_line(model.source)
    known = source and source != one_line(model.name)
    yield f"# Written by armdyn{f'; the robot was read from {source}' if known else ''}."
    for note in model.notes:
        yield from textwrap.wrap(one_line(note), _WIDTH, initial_indent="# ", subsequent_indent="#   ")


def _section(table: Table, path: str) -> Iterator[str]:
    """The lines of a table: first what stands on a line, then tables of their own."""
    later = []
    for key, value in table.items():
        if _is_tables(key, value) or (isinstance(value, Mapping) and not _fits(key, value)):
            later.append((key, value))
        else:
            yield from _line(key, value)
    for key, value in later:
        name = f"{path}.{_key(key)}" if path else _key(key)
        several = _is_tables(key, value)
        for entry in value if several else [value]:
            yield ""
            yield f"[[{name}]]" if several else f"[{name}]"
            yield from _section(entry, name)


def _is_tables(key: str, value: object) -> bool:
    """Whether each entry gets a section of its own; the two places of a closure stand on its line."""
    return key != "at" and isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _fits(key: str, value: Mapping[str, Any]) -> bool:
    return key not in _SECTIONS and len(f"{key} = {_value(value)}") <= _WIDTH


def toml_line(key: str, value: object) -> str:
    """A key and its value on one line."""
    return f"{_key(key)} = {_value(value)}"


def _line(key: str, value: object) -> Iterator[str]:
    """One line, or a long list with a line for each entry."""
    line = toml_line(key, value)
    if isinstance(value, list) and len(line) > _WIDTH:
        yield f"{_key(key)} = ["
        for entry in value:
            yield f"    {_value(entry)},"
        yield "]"
    else:
        yield line


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}"
    return repr(value)


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else _string(key)


def _string(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if _is_plain(c) else _code(c)) for c in text) + '"'


def _is_plain(character: str) -> bool:
    """Whether it may stand in a TOML string, and is seen there."""
    return character.isprintable() or 0xD800 <= ord(character) < 0xE000


def _code(character: str) -> str:
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"
