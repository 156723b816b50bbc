"""Whole sets of equations as a document: plain text, LaTeX, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from armdyn.exact.engine.closed_form import ClosedForm
from armdyn.exact.engine.form import Form
from armdyn.exact.engine.grouped import coriolis_in_rates, grouped
from armdyn.exact.engine.size import check_written
from armdyn.exact.printing.breaking import rows
from armdyn.exact.printing.printer import LIMIT, Printer
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style
from armdyn.exact.printing.titles import latex_text, markdown_text
from armdyn.exact.printing.widths import in_em
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.output import one_line

Notation = Literal["book", "craig"]
_TERMS_ALIGNED = 100
_NARROWEST = 60  # characters of text that a line has at least, however long its left side is
_SIGN = re.compile(r" [+-] ")
COORDINATES = "Joints, and the coordinates they follow from"
_RATES = "A velocity with several indices is the sum of these joints' velocities."


@dataclass(frozen=True)
class Letters:
    """The names of the terms of (7.42)."""

    B: str
    C: str
    g: str
    vector: bool  # velocity terms as one vector V(q, q̇) instead of a matrix


_LETTERS = {"book": Letters("b", "c", "g", False), "craig": Letters("M", "V", "G", True)}


@dataclass
class Section:
    """A heading, a sentence, and lines "left = terms"."""

    title: str
    text: str = ""
    lines: list[tuple[str, list[str]]] = field(default_factory=list)


def letters(notation: Notation) -> Letters:
    given: object = notation  # whatever it is
    if not isinstance(given, str) or given not in _LETTERS:
        raise ArmdynError(f"notation: found {shown(notation)}; allowed: 'book', 'craig'")
    return _LETTERS[notation]


def sections(equations: ClosedForm, style: Style, notation: Notation) -> list[Section]:
    """The equations of motion, the terms they are made of, and what was named on the way."""
    names = letters(notation)
    printer = Printer(equations.basis, style)
    written, spelling = equations, printer
    if _has_long_sums(equations):
        written = grouped(equations)
        spelling = Printer(written.basis, style)
    check_written(written.terms)
    found = [coordinates(equations, printer.style)]
    found += [_motion(equations, printer, names), _inertia(written, spelling, names)]
    found.append(_velocity(written, spelling, names))
    found.append(_vector(written, spelling, "Gravity torques", names.g, written.g.rows))
    found.append(_vector(equations, printer, "Spring torques", "e", equations.springs.rows))
    found.append(_vector(equations, printer, "Friction torques", "f", equations.friction.rows))
    named = printer.definitions | spelling.definitions
    lines = [*named.items(), *_speeds(equations, printer.style), *bells(equations, printer.style)]
    found.append(Section("Where", loads(equations, style), lines))
    return [s for s in found if s.lines or s.text]


def coordinates(equations: ClosedForm, style: Style) -> Section:
    """Of a robot whose joints are related, what every joint is in the coordinates: q = S x + s₀."""
    model = equations.model
    if not model.relations:
        return Section(COORDINATES)
    found = model.dependence
    lines = []
    for link, row, offset in zip(model.moving, found.rows, found.offsets, strict=True):
        pairs = sorted(row, key=lambda pair: Expression.of(pair[1]).terms[0][1] < 0)  # what is added first
        terms = style.combination([(k, _variable(equations, style, j, 0)) for j, k in pairs])
        if not offset.is_zero or not terms:
            terms += [("-" if c < 0 else "") + style.monomial(m, abs(c)) for m, c in offset.terms] or [
                style.zero
            ]
        lines.append((style.words(link.joint_label), terms))
    return Section(COORDINATES, "", lines)


def _has_long_sums(equations: ClosedForm) -> bool:
    """Whether a long run of parallel axes makes entries long: then sums of constants get names."""
    if not equations.basis.kinematic.turning.has_sums:
        return False
    return any(x.size > LIMIT for M in ("B", "C") for row in getattr(equations, M) for x in row)


def _speeds(equations: ClosedForm, style: Style) -> list[tuple[str, list[str]]]:
    """What slides where a plain style writes sgnm1 for the sign of several joints' speed."""
    if style.glyph is not None or all(entry.is_zero for entry in equations.friction):
        return []
    speeds = [(f"sgnm{i + 1}", style.speed(equations.basis, i)) for i in range(len(equations.basis.speeds))]
    used = "".join(str(entry) for entry in equations.friction)
    return [(name, [style.function("sign", text)]) for name, text in speeds if name in used]


def bells(equations: ClosedForm, style: Style) -> list[tuple[str, list[str]]]:
    """What a plain style writes bell1 for."""
    if style.glyph is not None:
        return []
    return [(name, [style.bell(equations.basis, f)]) for name, f in equations.basis.bells.items()]


def loads(equations: ClosedForm, style: Style) -> str:
    """What the torques are in load friction, if there is any."""
    if not equations.basis.loads:
        return ""
    if style.glyph is None:
        return f"{', '.join(equations.basis.loads)}: the size of a joint's torque without friction."
    return "A torque with index r is that of a joint without friction."


def _variable(equations: ClosedForm, style: Style, joint: int, order: int) -> str:
    return style.generator(f"q{'d' * order}{joint + 1}", equations.basis)


def _motion(equations: ClosedForm, printer: Printer, names: Letters) -> Section:
    """Rows of (7.42) written out where they fit, as (7.82)."""
    style, n = printer.style, equations.n
    rows = [_row(equations, printer, i) for i in range(n)] if _fits(equations) else []
    widest = max((style.measure(term) for row in rows for term in row), default=0)
    if not rows or widest > 2 * style.width:
        return in_matrices(equations, style, names)
    lines = [(style.entry("tau", (i + 1,)), row or [style.zero]) for i, row in enumerate(rows)]
    return Section("Equations of motion", "", lines)


def _fits(equations: ClosedForm) -> bool:
    """Whether no row of the torques is long; they have every term of B, which is looked at first."""

    def short(entry: Form) -> bool:
        return entry.size <= 50 * LIMIT and len(entry.expanded) <= LIMIT

    return all(short(entry) for row in equations.B for entry in row) and all(map(short, equations.tau))


def _row(equations: ClosedForm, printer: Printer, i: int) -> list[str]:
    """The terms of row i: inertia, velocities, friction, gravity, springs."""
    terms = [
        printer.times(printer.parts(equations.B[i, j]), _variable(equations, printer.style, j, 2))
        for j in range(equations.n)
        if not equations.B[i, j].is_zero
    ]
    terms += list(_velocity_terms(equations, printer, i))
    further = (equations.friction[i], equations.g[i], equations.springs[i])
    return terms + [part for entry in further for part in printer.parts(entry)]


def in_matrices(equations: ClosedForm, style: Style, names: Letters) -> Section:
    """(7.42) in matrices: one line, however long the entries are."""
    M, V, G = ("M", "V", "G") if names.vector else ("B", "C", "g")
    q, qd, qdd = style.vectors
    velocity = style.applied(V, (q, qd))
    row = [f"{style.applied(M, (q,))}{style.acting}{qdd}"]
    row += [velocity if names.vector else f"{velocity}{style.acting}{qd}", style.applied(G, (q,))]
    if any(not e.is_zero for e in equations.springs):
        row.append(style.applied("e", (q,)))
    if any(not f.is_zero for f in equations.friction):
        row.append(style.applied("f", (qd,)))
    return Section("Equations of motion", "", [(style.entry("tau", ()), row)])


def _velocity_terms(
    equations: ClosedForm, printer: Printer, i: int, named: dict[str, list[str]] | None = None
) -> Iterator[str]:
    """Centrifugal and Coriolis terms of row i: Σ c_ijk q̇_j q̇_k, products once.

    With `named`, a coefficient too long for a line gets a name there.
    """
    style, n = printer.style, equations.n
    for j in range(n):
        for k in range(j, n):
            symbol: Form = equations.christoffel[i][j][k]
            if symbol.is_zero:
                continue
            coefficient = printer.parts(symbol if j == k else symbol * 2)
            if named is not None and style.measure(style.sum(coefficient)) > style.width:
                name = style.entry("h", (i + 1, j + 1, k + 1))
                named[name], coefficient = coefficient, [name]
            speeds = [_variable(equations, style, j, 1), _variable(equations, style, k, 1)]
            product = style.power(speeds[0], 2) if j == k else style.times.join(speeds)
            yield printer.times(coefficient, product)


def _inertia(equations: ClosedForm, printer: Printer, names: Letters) -> Section:
    style, lines = printer.style, []
    for i in range(equations.n):
        for j in range(i, equations.n):
            left = style.entry(names.B, (i + 1, j + 1))
            if i != j:
                left += style.equals + style.entry(names.B, (j + 1, i + 1))
            lines.append((left, printer.parts(equations.B[i, j]) or [style.zero]))
    return Section("Inertia matrix", "", lines)


def _velocity(equations: ClosedForm, printer: Printer, names: Letters) -> Section:
    """C by entries, a long one by its Christoffel symbols; or the vector V."""
    style, n = printer.style, equations.n
    if names.vector:
        long: dict[str, list[str]] = {}
        lines = []
        for i in range(n):
            terms = list(_velocity_terms(equations, printer, i, long))
            lines.append((style.entry(names.C, (i + 1,)), terms or [style.zero]))
        return Section("Centrifugal and Coriolis torques", "", lines + list(long.items()))
    lines = []
    if equations.basis.named_groups:
        for i, row in enumerate(coriolis_in_rates(equations)):
            for j, entry in enumerate(row):
                lines.append(
                    (style.entry(names.C, (i + 1, j + 1)), printer.rate_parts(entry) or [style.zero])
                )
        return Section("Coriolis matrix", _RATES, lines)
    named: dict[str, Form] = {}
    for i in range(n):
        for j in range(n):
            entry = equations.C[i, j]
            left = style.entry(names.C, (i + 1, j + 1))
            if entry.size <= LIMIT:
                lines.append((left, printer.parts(entry) or [style.zero]))
                continue
            terms = []
            for k in range(n):
                symbol = equations.christoffel[i][j][k]
                if not symbol.is_zero:
                    name = style.entry(names.C, (i + 1, *sorted((j + 1, k + 1))))
                    named[name] = symbol
                    terms.append(f"{name}{style.times}{_variable(equations, style, k, 1)}")
            lines.append((left, terms or [style.zero]))
    lines += [(name, printer.parts(symbol)) for name, symbol in named.items()]
    return Section("Coriolis matrix", "", lines)


def _vector(equations: ClosedForm, printer: Printer, title: str, letter: str, entries: list[Form]) -> Section:
    if all(entry.is_zero for entry in entries):
        return Section(title) if letter in ("e", "f") else Section(title, "None.")
    style = printer.style
    lines = [
        (style.entry(letter, (i + 1,)), printer.parts(entry) or [style.zero])
        for i, entry in enumerate(entries)
    ]
    return Section(title, "", lines)


# ---- rendering -------------------------------------------------------------------------------------------


def text(title: str, parts: list[Section]) -> str:
    blocks = [one_line(title), "=" * len(one_line(title))]
    for section in parts:
        blocks += ["", one_line(section.title), "-" * len(one_line(section.title))]
        blocks += [section.text] if section.text else []
        for left, terms in section.lines:
            width = max(_NARROWEST, int(TEXT.width) - len(left) - 3)
            lines = [part for line in _lines(terms, width) for part in _folded(line, width)]
            indent = "\n" + " " * (len(left) + 3)
            blocks.append(f"{left} = {indent.join(lines)}")
    return "\n".join(blocks) + "\n"


def latex(title: str, parts: list[Section], width: str = PAGE) -> str:
    """A fragment for a document with amsmath, its rows at most as wide as `width` in 10 pt type."""
    most = in_em(width)
    blocks = [rf"\section*{{{latex_text(title)}}}"]
    for section in parts:
        blocks.append(rf"\subsection*{{{latex_text(section.title)}}}")
        blocks += [section.text] if section.text else []
        blocks += [_align(lines, "align*", most) for lines in _chunks(section.lines)]
    return "\n".join(blocks) + "\n"


def _chunks(lines: list[tuple[str, list[str]]]) -> Iterator[list[tuple[str, list[str]]]]:
    """Lines in portions that TeX can align at once."""
    chunk: list[tuple[str, list[str]]] = []
    for line in lines:
        if chunk and sum(len(terms) for _, terms in chunk) + len(line[1]) > _TERMS_ALIGNED:
            yield chunk
            chunk = []
        chunk.append(line)
    if chunk:
        yield chunk


def markdown(title: str, parts: list[Section], width: str = PAGE) -> str:
    most = in_em(width)
    blocks = [f"# {markdown_text(title)}", ""]
    for section in parts:
        blocks += [f"## {markdown_text(section.title)}", ""]
        blocks += [section.text, ""] if section.text else []
        for line in section.lines:
            blocks += ["$$", _align([line], "aligned", most), "$$", ""]
    return "\n".join(blocks)


def _align(lines: list[tuple[str, list[str]]], environment: str, width: float) -> str:
    found = " \\\\\n".join(aligned_rows(lines, width))
    return f"\\begin{{{environment}}}\n{found}\n\\end{{{environment}}}"


def aligned_rows(lines: Sequence[tuple[str, list[str]]], width: float = LATEX.width) -> Iterator[str]:
    """Lines "left = terms" as rows of an environment of amsmath that aligns them at &."""
    room = room_of(lines, LATEX, width)
    for left, terms in lines:
        for row in rows(terms, LATEX, room):
            space = r"\quad" * (1 + row.depth)
            yield f"{left} &= {row.text}" if row.first else f"  &{space} {row.text}"


def room_of(lines: Sequence[tuple[str, list[str]]], style: Style, width: float) -> float:
    """How wide sums may be beside the widest of their left-hand sides, in rows of a width."""
    left = max((style.measure(left) for left, _ in lines), default=0.0) + style.measure(style.equals)
    return max(width - left, width / 3)


def _lines(terms: list[str], width: int) -> Iterator[str]:
    """A sum of text in lines, broken between its terms."""
    line: list[str] = []
    first, used = True, 0
    for term in terms:
        if line and used + len(term) + 3 > width:
            yield TEXT.sum(line, continued=not first)
            line, first, used = [], False, 0
        line.append(term)
        used += len(term) + 3
    yield TEXT.sum(line, continued=not first)


def _folded(line: str, width: int) -> Iterator[str]:
    """A line of text in parts that are not too long: a term breaks at signs within its outer brackets."""
    while len(line) > width:
        start = len(line) - len(line.lstrip())
        signs = [m.start() for m in _SIGN.finditer(line, start + 2, width)]
        if not signs:
            break
        far = [i for i in signs if i > width // 3] or signs
        place = min(reversed(far), key=lambda i: len(_open_brackets(line[:i])))
        part, rest = line[:place], line[place + 1 :]
        yield part
        column = (_open_brackets(part) or [start])[-1]
        line = " " * min(column, _NARROWEST // 2) + rest
    yield line


def _open_brackets(line: str) -> list[int]:
    """The columns behind the brackets that are open at the end of a line."""
    found = []
    for i, c in enumerate(line):
        if c == "(":
            found.append(i + 1)
        elif c == ")" and found:
            found.pop()
    return found
