"""A DH table -> a commented robot file to go on from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from armdyn.description import dh
from armdyn.description.errors import DescriptionError
from armdyn.description.exporting.numbers import Written, written
from armdyn.description.exporting.toml import toml_line
from armdyn.expression import ZERO, Expression, ExpressionError, parse, shown
from armdyn.model.parts import JointKind
from armdyn.model.robot_model import symbol_name_problem
from armdyn.model.vector import Vector, apply_transposed, scale
from armdyn.output import one_line

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
class Row:
    """A row of a DH table."""

    values: dict[str, Expression]  # a, alpha, d, theta
    kind: JointKind = "revolute"
    name: str = ""

    def __post_init__(self) -> None:
        assert tuple(self.values) == COLUMNS


@dataclass(frozen=True)
class Draft:
    """What a robot file is begun with."""

    name: str
    rows: tuple[Row, ...]
    modified: bool = False
    symbols: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        found = {name for row in self.rows for x in row.values.values() for name in x.symbols()}
        for name in sorted(found):
            if problem := symbol_name_problem(name):
                raise DescriptionError(f"symbol '{name}': {problem}")
        object.__setattr__(self, "symbols", tuple(sorted(found)))


# ---- reading -----------------------------------------------------------------------------------------------


def read_rows(text: str, source: str) -> tuple[Row, ...]:
    """Rows `a alpha d theta [kind [name]]`, one a line, separated by blanks, commas or semicolons.

    A first row with the names of the columns may put them in another order. # begins a comment.
    """
    columns: Sequence[str] = _DEFAULT
    rows: list[Row] = []
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


def read_row(cells: Sequence[str] | str, where: str, columns: Sequence[str] = _DEFAULT) -> Row:
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
    return Row(values, read_kind(found.get("kind") or "revolute", where), one_line(found.get("name", "")))


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
    "#                            # also offset, stribeck = { level, velocity }, cubic, load",
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
        _, _, T = dh.standard(**draft.rows[i].values)
        return scale(-half, apply_transposed(T.R, T.p))
    if i + 1 == len(draft.rows):
        return (ZERO, ZERO, ZERO)
    before, _, _ = dh.modified(**draft.rows[i + 1].values)
    return scale(half, before.p)


def _noted(line: str, comment: str) -> str:
    return f"{line:{_COMMENTS_AT}} # {comment}"
