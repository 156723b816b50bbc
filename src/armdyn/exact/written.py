"""The equations of motion written out: the sections of a document, and a formula for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from armdyn.display import shown_or_none
from armdyn.exact.basis import Basis
from armdyn.exact.closed_form import ClosedForm, coriolis_in_rates, grouped
from armdyn.exact.form import SHOWN, Array, Form, Formula, displayed
from armdyn.exact.printing import document
from armdyn.exact.printing.document import Passage, aligned_rows
from armdyn.exact.printing.mathml import MATHML, aligned, mathml
from armdyn.exact.printing.printer import LIMIT, Printer
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT, Style
from armdyn.exact.ring import check_written
from armdyn.expression import ArmdynError, Expression, shown

Line = tuple[str, list[str]]
Notation = Literal["book", "craig", "asada"]
COORDINATES = "Joints, and the coordinates they follow from"
FRICTION = "Friction torques"
_RATES = "A velocity with several indices is the sum of these joints' velocities."


class Written:
    """A value that writes itself: a title, and passages of formulas in a style."""

    @property
    def title(self) -> str:
        raise NotImplementedError

    def passages(self, style: Style) -> list[Passage]:
        raise NotImplementedError

    def text(self) -> str:
        """All of it as plain text; also `str(…)`."""
        return document.text(self.title, self.passages(TEXT))

    def __str__(self) -> str:
        return self.text()

    def latex(self, width: str = PAGE) -> str:
        """All of it as LaTeX (amsmath), in rows of at most a width."""
        return document.latex(self.title, self.passages(LATEX), width)

    def markdown(self, width: str = PAGE) -> str:
        """All of it as a Markdown document with formulas between $$, in rows of at most a width."""
        return document.markdown(self.title, self.passages(LATEX), width)

    def mathml(self, width: str = "40em") -> str:
        """All of it as a fragment of HTML, formulas in MathML, in rows of at most a width."""
        return mathml(self.title, self.passages(MATHML), width)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str | None:
        return shown_or_none(self.mathml)


@dataclass(frozen=True)
class Letters:
    """The names of the terms of (7.42)."""

    B: str
    C: str
    g: str
    vector: bool  # velocity terms as one vector V(q, q̇) instead of a matrix


_LETTERS = {
    "book": Letters("b", "c", "g", False),
    "craig": Letters("M", "V", "G", True),
    "asada": Letters("H", "h", "G", True),
}


def letters(notation: Notation) -> Letters:
    given: object = notation  # whatever it is
    if not isinstance(given, str) or given not in _LETTERS:
        raise ArmdynError(f"notation: found {shown(notation)}; allowed: 'book', 'craig', 'asada'")
    return _LETTERS[notation]


def sections(equations: ClosedForm, style: Style, notation: Notation) -> list[Passage]:
    """The equations of motion, the terms they are made of, and what was named on the way."""
    names = letters(notation)
    printer = Printer(equations.basis, style)
    written, spelling = equations, printer
    if _has_long_sums(equations):
        written = grouped(equations)
        spelling = Printer(written.basis, style)
    check_written(written.terms)
    found = [coordinates(equations, printer.style)]
    found.append(_motion(equations, printer, names))
    found.append(Passage("Inertia matrix", "", matrix_lines(names.B, written.B, spelling, symmetric=True)))
    found.append(_velocity(written, spelling, names))
    found.append(vector_passage("Gravity torques", names.g, written.g, spelling))
    found.append(vector_passage("Spring torques", "e", equations.springs, printer))
    found.append(vector_passage(FRICTION, "f", equations.friction, printer))
    if equations.wrench:
        found.append(tip_passage(equations.tip_torques, printer, notation))
    named = printer.definitions | spelling.definitions
    lines = [*named.items(), *_speeds(equations, printer.style), *bells(equations, printer.style)]
    found.append(Passage("Where", loads(equations.basis, style), lines))
    return [s for s in found if s.lines or s.text]


def coordinates(equations: ClosedForm, style: Style) -> Passage:
    """Of a robot whose joints are related, what every joint is in the coordinates: q = S x + s₀."""
    model = equations.model
    if not model.relations:
        return Passage(COORDINATES)
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
    return Passage(COORDINATES, "", lines)


def _has_long_sums(equations: ClosedForm) -> bool:
    """Whether a long run of parallel axes makes entries long: then sums of constants get names."""
    if all(len(joints) == 1 for joints in equations.basis.kinematic.summed):
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
    """What a plain style writes bell1 and tanh1 for."""
    if style.glyph is not None:
        return []
    basis = equations.basis
    found = [(name, [style.bell(basis, f)]) for name, f in basis.bells.items()]
    rounded = [(name, f) for name, f in basis.tanhs.items() if f.has(lambda term: term.turns)]
    return found + [(name, [style.tanh(basis, f)]) for name, f in rounded]


def loads(basis: Basis, style: Style) -> str:
    """What the torques are in load friction, if there is any."""
    if not basis.loads:
        return ""
    if style.glyph is None:
        return f"{', '.join(basis.loads)}: the size of a joint's torque without friction."
    return "A torque with index r is that of a joint without friction."


def _variable(equations: ClosedForm, style: Style, joint: int, order: int) -> str:
    return style.generator(f"q{'d' * order}{joint + 1}", equations.basis)


def _motion(equations: ClosedForm, printer: Printer, names: Letters) -> Passage:
    """Rows of (7.42) written out where they fit, as (7.82)."""
    style, n = printer.style, equations.n
    rows = [_row(equations, printer, i) for i in range(n)] if _fits(equations) else []
    widest = max((style.measure(term) for row in rows for term in row), default=0)
    if not rows or widest > 2 * style.width:
        return in_matrices(equations, style, names)
    lines = [(style.entry("tau", (i + 1,)), row or [style.zero]) for i, row in enumerate(rows)]
    return Passage("Equations of motion", "", lines)


def _fits(equations: ClosedForm) -> bool:
    """Whether no row of the torques is long; they have every term of B, which is looked at first."""

    def short(entry: Form) -> bool:
        return entry.size <= 50 * LIMIT and len(entry.expanded) <= LIMIT

    return all(short(entry) for row in equations.B for entry in row) and all(map(short, equations.tau))


def _row(equations: ClosedForm, printer: Printer, i: int) -> list[str]:
    """The terms of row i: inertia, velocities, friction, gravity, springs, tip force."""
    terms = [
        printer.times(printer.parts(equations.B[i, j]), _variable(equations, printer.style, j, 2))
        for j in range(equations.n)
        if not equations.B[i, j].is_zero
    ]
    terms += list(_velocity_terms(equations, printer, i))
    further = (equations.friction[i], equations.g[i], equations.springs[i], equations.tip_torques[i])
    return terms + [part for entry in further for part in printer.parts(entry)]


def in_matrices(equations: ClosedForm, style: Style, names: Letters) -> Passage:
    """(7.42) in matrices: one line, however long the entries are."""
    M, V, G = (names.B, names.C, names.g) if names.vector else ("B", "C", "g")
    q, qd, qdd = style.vectors
    velocity = style.applied(V, (q, qd))
    row = [f"{style.applied(M, (q,))}{style.acting}{qdd}"]
    row += [velocity if names.vector else f"{velocity}{style.acting}{qd}", style.applied(G, (q,))]
    if any(not e.is_zero for e in equations.springs):
        row.append(style.applied("e", (q,)))
    if any(not f.is_zero for f in equations.friction):
        row.append(style.applied("f", (qd,)))
    if equations.wrench:
        row.append(style.applied("t", (q,)))
    return Passage("Equations of motion", "", [(style.entry("tau", ()), row)])


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


def matrix_lines(
    letter: str, rows: Iterable[Sequence[Formula]], printer: Printer, symmetric: bool = False
) -> list[tuple[str, list[str]]]:
    """Lines "b[1,2] = …" for the entries of a matrix; of a symmetric one "b[1,2] = b[2,1] = …"."""
    style, lines = printer.style, []
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if symmetric and j < i:
                continue
            left = style.entry(letter, (i + 1, j + 1))
            if symmetric and j > i:
                left += style.equals + style.entry(letter, (j + 1, i + 1))
            lines.append((left, entry.parts(printer) or [style.zero]))
    return lines


def matrix_or_entries(printer: Printer, left: str, array: Array[Any]) -> list[Line]:
    """A matrix, or a vector as a column, on one line; entry by entry where it is wider than a row."""
    style = printer.style
    rows = [row if isinstance(row, list) else [row] for row in array.rows]
    parts = [[x.parts(printer) or [style.zero] for x in row] for row in rows]
    texts = [[style.sum(terms) for terms in row] for row in parts]
    columns = [max(map(style.measure, column)) + 1 for column in zip(*texts, strict=True)]
    if style.measure(left + style.equals) + sum(columns) < style.width:
        return [(left, [style.matrix(texts)])]
    return [
        (style.component(left, f"{i + 1}{j + 1}" if len(columns) > 1 else str(i + 1)), terms)
        for i, row in enumerate(parts)
        for j, terms in enumerate(row)
        if not rows[i][j].is_zero
    ]


def _velocity(equations: ClosedForm, printer: Printer, names: Letters) -> Passage:
    """C by entries, a long one by its Christoffel symbols; or the vector V."""
    style, n = printer.style, equations.n
    if names.vector:
        long: dict[str, list[str]] = {}
        lines = []
        for i in range(n):
            terms = list(_velocity_terms(equations, printer, i, long))
            lines.append((style.entry(names.C, (i + 1,)), terms or [style.zero]))
        return Passage("Centrifugal and Coriolis torques", "", lines + list(long.items()))
    lines = []
    if equations.basis.named_groups:
        for i, row in enumerate(coriolis_in_rates(equations)):
            for j, entry in enumerate(row):
                lines.append(
                    (style.entry(names.C, (i + 1, j + 1)), printer.rate_parts(entry) or [style.zero])
                )
        return Passage("Coriolis matrix", _RATES, lines)
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
    return Passage("Coriolis matrix", "", lines)


def vector_passage(title: str, letter: str, entries: Array[Any], printer: Printer) -> Passage:
    """A line for each entry of a vector. Without springs or friction there is nothing to say."""
    if all(entry.is_zero for entry in entries):
        return Passage(title) if letter in ("e", "f") else Passage(title, "None.")
    style = printer.style
    lines = [
        (style.entry(letter, (i + 1,)), entry.parts(printer) or [style.zero])
        for i, entry in enumerate(entries)
    ]
    return Passage(title, "", lines)


def tip_passage(entries: Array[Any], printer: Printer, notation: Notation = "book") -> Passage:
    """Torques of h_e, and who exerts it on whom: Asada and Slotine's F_ext is its negative."""
    found = vector_passage("Torques of the tip force", "t", entries, printer)
    who = "the surroundings exert on the tip" if notation == "asada" else "the tip exerts on its surroundings"
    text = f"Of the force and the moment that {who}, in world axes."
    return replace(found, text=text) if found.lines else found


# ---- for a notebook


_NAMED = (COORDINATES, "Equations of motion", "Where")  # sections that make sense by themselves


def equations_latex(equations: ClosedForm) -> str | None:
    """The equations of motion, with what was named in them; of long ones their form and their size."""
    size = sum(row.size for row in equations.tau)
    whole = displayed(lambda: _whole(equations), size)
    return whole or shown_or_none(lambda: _form(equations, size))


def _whole(equations: ClosedForm) -> str:
    return _aligned(part for part in sections(equations, LATEX, "book") if part.title in _NAMED)


def _form(equations: ClosedForm, size: int) -> str:
    note = rf"\text{{{equations.n} joints, up to {size} terms (more than {SHOWN} are not shown)}}"
    text = _aligned([in_matrices(equations, LATEX, letters("book"))], note)
    return f"$\\displaystyle {text}$"


def equations_mathml(equations: ClosedForm) -> str:
    """The same as MathML."""
    size = sum(row.size for row in equations.tau)
    if displayed(lambda: _whole(equations), size):
        named = (part for part in sections(equations, MATHML, "book") if part.title in _NAMED)
        return aligned([line for part in named for line in part.lines])
    form = aligned(in_matrices(equations, MATHML, letters("book")).lines)
    return f"{form}\n<p>{equations.n} joints, up to {size} terms (more than {SHOWN} are not shown)</p>"


def _aligned(parts: Iterable[Passage], note: str = "") -> str:
    rows = list(aligned_rows([line for part in parts for line in part.lines]))
    rows += [f"& {note}"] if note else []
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
