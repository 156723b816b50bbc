"""Equations in other coordinates as a document: what p is, the rows of motion, the terms."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from armdyn.exact.engine.form import Array, Entry
from armdyn.exact.engine.ring import Poly
from armdyn.exact.engine.size import check_written
from armdyn.exact.printing.document import Section
from armdyn.exact.printing.names import free_letter
from armdyn.exact.printing.printer import Printer
from armdyn.exact.printing.styles import Style
from armdyn.expression import Expression

if TYPE_CHECKING:
    from armdyn.exact.engine.basis import Basis
    from armdyn.exact.transformations.coordinates import InCoordinates

Line = tuple[str, list[str]]


def sections(found: InCoordinates, style: Style) -> list[Section]:
    """All that `found` says, in a style."""
    basis = found.determinant.basis
    check_written(sum(len(x.poly) for M in (found.B, found.C) for row in M for x in row))
    letter = _letter(basis)
    letters = "" if found.kept else letter, letter if found.inverse is not None else ""
    printer = Printer(basis, replace(style, letters=letters))
    parts = [Section("Coordinates", _meaning(found, style, letter), _coordinates(found, printer, letter))]
    if found.inverse is not None:
        parts.append(Section("Equations of motion", "Friction is left out.", _motion(found, printer)))
    parts.append(Section("Inertia matrix", "", _matrix("b", found.B.rows, printer, symmetric=True)))
    parts.append(Section("Coriolis matrix", "", _matrix("c", found.C.rows, printer)))
    parts.append(_vector("Gravity torques", "g", found.g, printer))
    if any(x.poly for x in found.springs):
        parts.append(_vector("Spring torques", "e", found.springs, printer))
    parts.append(Section("Where", "", [*printer.definitions.items(), *_angles(found, printer, letter)]))
    return [part for part in parts if part.lines or part.text]


def _letter(basis: Basis) -> str:
    """p, unless the description has a symbol p1 or pd1."""
    names = [name for name, _ in basis.model.symbols]
    taken = any(re.fullmatch(r"pd{0,2}_?\d+", name) for name in names)
    return free_letter(names) if taken else "p"


def _meaning(found: InCoordinates, style: Style, letter: str) -> str:
    if found.inverse is not None:
        return ""
    rates = f"{letter}d = J qd" if style.glyph is None else f"d{letter} = J dq"
    held = "g and e" if any(x.poly for x in found.springs) else "g"
    return f"{rates}; B stands over the square of det J, C over its cube, {held} over det J itself."


def _coordinates(found: InCoordinates, printer: Printer, letter: str) -> list[Line]:
    """p = J q, or the entries of J and its determinant."""
    style, basis = printer.style, printer.basis
    if found.inverse is None:
        lines = [
            (style.entry("J", (i + 1, k + 1)), _parts(printer, Entry(basis, basis.read(str(x)))))
            for i, row in enumerate(found.J)
            for k, x in enumerate(row)
        ]
        return [*lines, (style.words("det J"), _parts(printer, found.determinant))]
    old = replace(style, letters=("", ""))
    names = [old.generator(f"q{k + 1}", basis) for k in range(basis.n)]
    return [(_position(style, basis, letter, i), _sum(style, row, names)) for i, row in enumerate(found.J)]


def _position(style: Style, basis: Basis, letter: str, i: int) -> str:
    return replace(style, letters=(letter, letter)).generator(f"q{i + 1}", basis)


def _sum(style: Style, row: tuple[Expression, ...], names: list[str]) -> list[str]:
    return style.combination([(x, name) for x, name in zip(row, names, strict=True) if not x.is_zero])


def _motion(found: InCoordinates, printer: Printer) -> list[Line]:
    """τ = B p̈ + C ṗ + g + springs, row by row."""
    style, n, lines = printer.style, len(found.g), []
    for i, g in enumerate(found.g):
        row = [(found.B[i, k].poly, f"qdd{k + 1}") for k in range(n) if found.B[i, k].poly]
        terms = [printer.times(printer.poly_parts(x), style.generator(q, printer.basis)) for x, q in row]
        speeds = g.poly.ring.zero
        for k in range(n):
            speeds = speeds + found.C[i, k].poly * g.poly.ring.gen(f"qd{k + 1}")
        held = (speeds, g.poly, found.springs[i].poly)
        terms += [part for poly in held if poly for part in printer.poly_parts(poly)]
        lines.append((style.entry("tau", (i + 1,)), terms or [style.zero]))
    return lines


def _vector(title: str, letter: str, entries: Array[Entry], printer: Printer) -> Section:
    if not any(x.poly for x in entries):
        return Section(title, "None.")
    lines = [(printer.style.entry(letter, (i + 1,)), _parts(printer, x)) for i, x in enumerate(entries)]
    return Section(title, "", lines)


def _matrix(letter: str, rows: list[list[Entry]], printer: Printer, symmetric: bool = False) -> list[Line]:
    style, lines = printer.style, []
    for i, row in enumerate(rows):
        for k, x in enumerate(row):
            if symmetric and k < i:
                continue
            left = style.entry(letter, (i + 1, k + 1))
            if symmetric and k > i:
                left += style.equals + style.entry(letter, (k + 1, i + 1))
            lines.append((left, _parts(printer, x)))
    return lines


def _parts(printer: Printer, x: Entry) -> list[str]:
    return printer.poly_parts(x.poly) or [printer.style.zero]


def _angles(found: InCoordinates, printer: Printer, letter: str) -> list[Line]:
    """What the joints are in p where positions are theirs; else what c1 and s1 are that are not of one p."""
    style, basis = printer.style, printer.basis
    if found.inverse is None:
        return []
    names = [_position(style, basis, letter, k) for k in range(basis.n)]
    rows = (*found.B, *found.C, found.g.rows, found.springs.rows)
    used = {name for row in rows for x in row for name in _generators(x.poly)}
    lines = []
    for i, row in enumerate(found.inverse):
        terms = _sum(style, row, names)
        if found.kept:
            lines.append((replace(style, letters=("", "")).generator(f"q{i + 1}", basis), terms))
        elif found.angles[i] != f"p{i + 1}":
            for kind, function in (("c", "cos"), ("s", "sin")):
                if f"{kind}{i + 1}" in used:
                    lines.append((style.trig(kind, str(i + 1)), [style.function(function, style.sum(terms))]))
    return lines


def _generators(poly: Poly) -> set[str]:
    return {poly.ring.names[i] for exponents in poly.terms() for i, e in enumerate(exponents) if e}
