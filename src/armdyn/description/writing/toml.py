"""Writes tables of robots as TOML, as people write robot files: one line a key, long tables as sections."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from armdyn.description.frames import modified, standard
from armdyn.description.source import MAX_BYTES, DescriptionError
from armdyn.description.writing import Export
from armdyn.description.writing.table import Table, Written, table_of, written
from armdyn.expression import ZERO, Expression, ExpressionError, parse, shown
from armdyn.model.parts import JointKind
from armdyn.model.robot_model import RobotModel, symbol_name_problem
from armdyn.model.vector import Vector, apply_transposed, scale
from armdyn.names import one_line

__all__ = ["table_of", "toml_line", "toml_text"]

_WIDTH = 118
_SECTIONS = ("symbols", "motor")  # tables that never stand on one line
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def export(model: RobotModel) -> Export:
    """The robot as a robot file, which can say all."""
    return Export(toml_text(model))


def toml_text(model: RobotModel) -> str:
    """The robot as the text of a robot file, which reads as an equal robot."""
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
    """Comment lines: where the robot came from, and what reading that changed."""
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
    """True if each entry gets a section of its own; the two places of a closure stand on its line."""
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
    """True if a character may stand in a TOML string, and is seen there."""
    return character.isprintable() or 0xD800 <= ord(character) < 0xE000


def _code(character: str) -> str:
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"


# ------------------------------------------------------------------------------------------------------------
# A commented robot file to go on from, of a DH table.


COLUMNS = ("a", "alpha", "d", "theta")
KINDS: dict[str, JointKind] = {
    **dict.fromkeys(("r", "revolute"), "revolute"),
    **dict.fromkeys(("p", "prismatic"), "prismatic"),
    **dict.fromkeys(("f", "fixed"), "fixed"),
}
_HEADINGS = {name: name for name in (*COLUMNS, "kind", "name")} | {"joint": "kind", "type": "kind"}
_DEFAULT = (*COLUMNS, "kind", "name")
_COMMENTS_AT = 28  # column


@dataclass(frozen=True)
class DraftRow:
    """A row of a DH table."""

    values: dict[str, Expression]  # a, alpha, d, theta
    kind: JointKind = "revolute"
    name: str = ""


@dataclass(frozen=True)
class Draft:
    """Data that a robot file is begun with."""

    name: str
    rows: tuple[DraftRow, ...]
    modified: bool = False

    def __post_init__(self) -> None:
        for name in self.symbols:
            if problem := symbol_name_problem(name):
                raise DescriptionError(f"symbol '{name}': {problem}")

    @property
    def symbols(self) -> list[str]:
        """The names of all symbols in the rows, sorted."""
        return sorted({name for row in self.rows for x in row.values.values() for name in x.symbols()})


# ---- reading -----------------------------------------------------------------------------------------------


def read_rows(text: str, source: str) -> tuple[DraftRow, ...]:
    """Rows `a alpha d theta [kind [name]]`, one a line, separated by blanks, commas or semicolons.

    A first row with the names of the columns may put them in another order. # begins a comment.
    """
    columns: Sequence[str] = _DEFAULT
    rows: list[DraftRow] = []
    for i, line in enumerate(text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}").splitlines()):
        cells = _cells(line.partition("#")[0])
        if not cells:
            continue
        where = f"{source}: line {i + 1}"
        lower = [cell.lower() for cell in cells]
        if not rows and columns is _DEFAULT and all(cell in _HEADINGS for cell in lower):
            columns = [_HEADINGS[cell] for cell in lower]
            if missing := [name for name in COLUMNS if name not in columns]:
                raise DescriptionError(f"{where}: the column '{missing[0]}' is missing")
            continue
        rows.append(read_row(cells, where, columns))
    if not rows:
        raise DescriptionError(f"{source}: found no row; a row is a, alpha, d, theta, kind of the joint")
    return tuple(rows)


def read_row(cells: Sequence[str] | str, where: str, columns: Sequence[str] = _DEFAULT) -> DraftRow:
    """One row; a cell is a number or an expression, such as pi/2 or a1."""
    entries = _cells(cells) if isinstance(cells, str) else list(cells)
    if not 4 <= len(entries) <= len(columns):
        wanted = " ".join(COLUMNS) + (" [kind [name]]" if columns is _DEFAULT else "")
        found_text = f"found {len(entries)}: {shown(' '.join(entries))}"
        raise DescriptionError(f"{where}: expected {wanted}, {found_text}")
    found = dict(zip(columns, entries, strict=False))
    values = {}
    for name in COLUMNS:
        try:
            values[name] = parse(found.get(name, ""))
        except ExpressionError as error:
            raise DescriptionError(f"{where}: {name}: {error}") from None
    return DraftRow(
        values, read_kind(found.get("kind") or "revolute", where), one_line(found.get("name", ""))
    )


def read_kind(text: str, where: str) -> JointKind:
    if text.lower() not in KINDS:
        allowed = "revolute, prismatic, fixed (or R, P, F)"
        raise DescriptionError(f"{where}: kind: found {shown(text)}; allowed: {allowed}")
    return KINDS[text.lower()]


def _cells(line: str) -> list[str]:
    for separator in (";", ","):
        if separator in line:
            cells = [cell.strip().strip('"') for cell in line.split(separator)]
            return cells if any(cells) else []
    return re.split(r"\s+", line.strip()) if line.strip() else []


# ---- writing -----------------------------------------------------------------------------------------------


def robot_file(draft: Draft) -> str:
    """A robot file with comments; what the table does not say are placeholders, and marked as such."""
    links = [line for i in range(len(draft.rows)) for line in _link(draft, i)]
    return "\n".join([*_head(draft), *links]) + "\n"


def _head(draft: Draft) -> list[str]:
    kind = "modified (Craig's)" if draft.modified else "standard"
    named = "g" not in draft.symbols  # else it is a length of the table
    frame = "frame i at its joint" if draft.modified else "frame i at the far end of link i"
    lines = [
        f"# {one_line(draft.name)}: begun with `armdyn new` from a table of {kind} DH parameters.",
        "# Lengths are in m, angles in rad, masses in kg, tensors in kg m². A number may be an expression in",
        '# the symbols declared below, such as "pi/2" or "a1/2". Replace what is marked as a placeholder.',
        toml_line("name", draft.name),
        _noted(toml_line("convention", "mdh" if draft.modified else "dh"), frame),
        _noted(toml_line("gravity", [0, 0, "-g" if named else -9.81]), "in the base frame, z up"),
        _noted('rotors = "exact"', 'or "reflected", as other tools have them, or "none"'),
        "# tool = { xyz = [0, 0, 0.1], rpy = [0, 0, 0] }   # the tip frame, in the last link's frame",
    ]
    symbols = [_noted(f'{name} = "free"', "give it a value") for name in draft.symbols]
    symbols = [*(["g = 9.81"] if named else []), *symbols]
    return [*lines, "", "[symbols]", *symbols]


def _link(draft: Draft, i: int) -> list[str]:
    row = draft.rows[i]
    offset = {"revolute": "theta", "prismatic": "d"}.get(row.kind)
    lines = ["", "[[link]]", toml_line("name", row.name or f"link {i + 1}"), toml_line("joint", row.kind)]
    for name in COLUMNS:
        line = toml_line(name, written(row.values[name]))
        lines.append(_noted(line, "the joint variable is added") if name == offset and not i else line)
    com: list[Written] = [written(x) for x in _middle(draft, i)]
    lines += [
        _noted("mass = 1", "placeholder"),
        _noted(toml_line("com", com), "placeholder, in the link's own frame"),
        _noted("inertia = { xx = 0.01, yy = 0.01, zz = 0.01 }", "placeholder, about the centre of mass"),
    ]
    return lines if i or row.kind == "fixed" else [*lines, *_OPTIONAL]


_OPTIONAL = (
    "# friction = { viscous = 0.1, coulomb = 0.5 }",
    "#                            # also offset, stribeck = { level, velocity }, cubic, load, width",
    "# limits = { position = [-3.1, 3.1], velocity = 3, acceleration = 10, torque = 100 }",
    "# spring = { stiffness = 20, rest = 0 }   # it pulls the joint to rest",
    "",
    "# [link.motor]               # the motor that drives this joint",
    "# gear = 100                 # its sign counts",
    "# inertia = 0.0001           # of the rotor, about its axis",
    "# mass = 0.5",
    "# stiffness = 10000          # of the transmission, at the joint: the joint becomes elastic",
)


def _middle(draft: Draft, i: int) -> Vector:
    """Half-way along the link, between its frame and the one before (in modified DH, the one after)."""
    half = Expression.of(0.5)
    if not draft.modified:
        _, _, T = standard(**draft.rows[i].values)
        return scale(-half, apply_transposed(T.R, T.p))
    if i + 1 == len(draft.rows):
        return (ZERO, ZERO, ZERO)
    before, _, _ = modified(**draft.rows[i + 1].values)
    return scale(half, before.p)


def _noted(line: str, comment: str) -> str:
    return f"{line:{_COMMENTS_AT}} # {comment}"
