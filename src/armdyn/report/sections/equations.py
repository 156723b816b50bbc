"""The equations of motion typeset, how large they are, and what was proved about them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from armdyn.exact import Equations, Proof, SizeError, SpringError
from armdyn.exact.form import Form
from armdyn.exact.printing.document import Passage as Lines
from armdyn.exact.printing.mathml import MATHML, aligned, inline
from armdyn.exact.printing.printer import Printer
from armdyn.exact.ring import LoopsError, check_loops
from armdyn.exact.rotors import RotorCoupling
from armdyn.exact.written import FRICTION, in_matrices, letters, sections
from armdyn.names import listed
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    TableCell,
    cited,
    code,
    folded,
    items,
    join,
    paragraph,
    scrolling,
    table,
    tag,
)
from armdyn.report.subject import Subject
from armdyn.robot import Robot

_WHOLE = 8000  # terms up to which all equations are shown
_SAMPLE = 60  # terms shown of longer equations
_PROVED = 500_000  # terms up to which a proof takes no more than seconds

_OPEN = 60  # terms up to which a part of them is shown open
_SIGNS = (
    ("dL/dq'", "∂L/∂q̇"),
    ("dL/dq", "∂L/∂q"),
    ("q''", "q̈"),
    ("q'", "q̇"),
    ("B' ", "Ḃ "),
    (" pi ", " π "),
    (" - ", " − "),
)
_SPEED = 12  # terms of a rotor's z·ω that fit into a table


def write_equations(subject: Subject) -> list[Part]:
    """The equations typeset, or an outline, or why they cannot be written; then couplings of rotors."""
    robot = subject.robot
    closed = bool(robot.model.loops)
    equations = (robot.opened() if closed else robot).equations()  # of the tree, for its rotors alone
    try:
        check_loops(robot.model)
        parts = _written(robot, equations)
    except (SizeError, SpringError, LoopsError) as error:
        parts = [paragraph(f"They are not written here: {str(error).removeprefix('equations: ')}.")]
    if robot.model.rotors == "exact" and (couplings := tuple(equations.rotor_couplings())):
        parts += [tag("h3", "Where the diagonal rotor model is exact"), *_rotors(couplings, closed)]
    return parts


def _written(robot: Robot, equations: Equations) -> list[Part]:
    size = sum(row.size for row in equations.tau)  # terms of all torques, multiplied out
    whole, proof = size <= _WHOLE, equations.prove() if size <= _PROVED else None
    shown = _whole(equations) if whole else _outline(equations, size)
    notation = _notation(robot, relations=not whole)
    return [notation, *shown, tag("h3", "What was proved"), *_proof(proof, size)]


def _notation(robot: Robot, relations: bool) -> Markup:
    """What the letters mean; with `relations` also how joints follow from coordinates."""
    kinds = {link.joint for link in robot.model.coordinates}
    variables = []
    if "revolute" in kinds:
        variables.append("ϑᵢ is the angle of revolute joint i")
    if "prismatic" in kinds:
        variables.append("dᵢ (qᵢ where a length is called dᵢ) is the displacement of prismatic joint i")
    related = ""
    if relations and (followers := robot.model.followers):
        own = ", ".join(f"{i + 1} is {link.joint_label}" for i, link in enumerate(robot.model.coordinates))
        related = f" Of the joints {own}; the others follow: {'; '.join(followers)}."
    related += _elastic(robot)
    return paragraph(
        f"In these equations {', '.join(variables)}; cᵢ and sᵢ on the right-hand sides are cosine and sine "
        "of an angle, with several indices of the sum of those angles. They are exact: they come from the "
        "energies by Lagrange's equations and hold for every posture and motion." + related
    )


def _elastic(robot: Robot) -> str:
    """Which of the coordinates are those of motors."""
    elastic = robot.model.elastic
    if not elastic:
        return ""
    first = robot.n - len(elastic) + 1
    motors = [
        f"coordinate {i} is that of the motor of {link.joint_label}" for i, link in enumerate(elastic, first)
    ]
    return f" Joints are elastic: {listed(motors)}, its position divided by the gear."


def _whole(equations: Equations) -> list[Markup]:
    """All of them; long parts behind a line that opens."""
    found = []
    for written in sections(equations, MATHML, "book"):
        part = _friction(equations) if written.title == FRICTION else written
        count = sum(len(terms) for _, terms in part.lines)
        if count > _OPEN and part.title != "Equations of motion":
            title = f"{part.title} {_NUMBERS.get(part.title, '')}".rstrip()
            found.append(folded(f"{title}: {len(part.lines)} lines, {count} terms", _block(part)))
        else:
            named = join([" ", cited(_NUMBERS[part.title])]) if part.title in _NUMBERS else ""
            found += [tag("h3", part.title, named), _block(part)]
    return found


_NUMBERS = {
    "Equations of motion": "(7.42)",
    "Inertia matrix": "B (7.32)",
    "Coriolis matrix": "C (7.44), by Christoffel symbols (7.45)",
    "Gravity torques": "g (7.39)",
}


_ROWS = 14  # of a block of equations
_DIGITS = 5  # of the numbers of friction, which nobody knows better


def _friction(equations: Equations) -> Lines:
    """Friction with numbers of a few digits. Where it brakes more in one direction, the two numbers of dry
    friction stand side by side; the exact form has them as factors of sgn and sgn².
    """
    printer = Printer(equations.basis, MATHML)
    lines, rounded = [], False
    for i, row in enumerate(equations.friction, 1):
        ring, cases, left = row.poly.ring, list[str](), row.poly.ring.constant(0)
        terms = {
            tuple((ring.names[k], e) for k, e in enumerate(exponents) if e): c
            for exponents, c in row.poly.terms().items()
        }
        for joint in range(1, equations.n + 1):
            once, twice = (((f"sgn{joint}", e),) for e in (1, 2))
            if once in terms and twice in terms:
                odd, even = terms.pop(once), terms.pop(twice)
                speed = MATHML.sum(printer.poly_parts(ring.gen(f"qd{joint}")))
                cases.append(_cases(speed, even + odd, even - odd))
        for factors, c in terms.items():
            product = ring.constant(short := _short(c))
            rounded |= short != c
            for name, e in factors:
                product = product * ring.gen(name) ** e
            left = left + product
        parts = [*printer.poly_parts(left), *cases]
        lines.append((MATHML.entry("f", (i,)), parts or [MATHML.zero]))
    return Lines(FRICTION, f"Numbers are rounded to {_DIGITS} digits." if rounded else "", lines)


def _short(x: Fraction) -> Fraction:
    """A decimal fraction with few digits; whole numbers and fractions such as 1/3 are what they are."""
    decimal = x.denominator > 1 and not 10**40 % x.denominator
    return Fraction(f"{float(x):.{_DIGITS}g}") if decimal else x


def _cases(speed: str, ahead: Fraction, back: Fraction) -> str:
    """One torque for each direction."""
    rows = [
        f"<mtr><mtd><mn>{f'{float(x):.{_DIGITS}g}'.replace('-', '−')}</mn></mtd>"
        f"<mtd>{speed}<mo>{sign}</mo><mn>0</mn></mtd></mtr>"
        for x, sign in ((ahead, "&gt;"), (back, "&lt;"))
    ]
    table = f'<mtable columnalign="right left">{"".join(rows)}</mtable>'
    return f'<mrow><mo stretchy="true">{{</mo>{table}</mrow>'


def _block(part: Lines) -> Markup:
    blocks = [paragraph(part.text)] if part.text else []
    if part.lines:
        blocks.append(scrolling(*(Markup(aligned(some)) for some in _pieces(part.lines))))
    return join(blocks)


def _pieces(lines: list[tuple[str, list[str]]]) -> list[list[tuple[str, list[str]]]]:
    """Lines in blocks of some rows each: paper breaks between blocks, not within one."""
    found, rows = [list[tuple[str, list[str]]]()], 0
    for line in lines:
        count = aligned([line]).count("<mtr>")
        if rows and rows + count > _ROWS:
            found.append([])
            rows = 0
        found[-1].append(line)
        rows += count
    return found


def _outline(equations: Equations, size: int) -> list[Markup]:
    """What can be said of equations too long to read: their form, their sizes, their shortest entries."""
    B, g, joints = equations.B, equations.g, range(equations.n)
    headings: list[Heading] = ["row", *(("B", str(j + 1)) for j in joints), "g", "torque"]
    rows: list[tuple[TableCell, ...]] = []
    for i in joints:
        counts = (*(B[i, j].size for j in joints), g[i].size, equations.tau[i].size)
        rows.append((str(i + 1), *map(Amount, counts)))
    printer = Printer(equations.basis, MATHML)
    shortest = [
        (MATHML.entry(letter, indices), printer.parts(form)) for letter, indices, form in _shortest(equations)
    ]
    return [
        _block(in_matrices(equations, MATHML, letters("book"))),
        paragraph(
            f"Multiplied out, the torques of this robot have up to {size:,} terms".replace(",", "\u202f"),
            ", too many to read here. ",
            code("armdyn derive"),
            " writes all of them as text, LaTeX, Markdown or SymPy, with common parts named. ",
            cited("The form is (7.42), with the Coriolis matrix C (7.44) by Christoffel symbols (7.45). "),
            "The table counts the terms of each entry of the inertia matrix B, of gravity g and of the whole "
            "torque, before like terms are collected. The shortest entries are shown below it.",
        ),
        table(headings, rows),
        scrolling(Markup(aligned(shortest))),
    ]


def _shortest(equations: Equations) -> list[tuple[str, tuple[int, ...], Form]]:
    """The shortest entries of B and g that are not zero, as many as fit: letter, indices from 1, entry."""
    n = equations.n
    entries: list[tuple[str, tuple[int, ...], Form]] = [
        ("b", (i + 1, j + 1), equations.B[i, j]) for i in range(n) for j in range(i, n)
    ]
    entries += [("g", (i + 1,), equations.g[i]) for i in range(n)]
    entries = sorted((x for x in entries if not x[2].is_zero), key=lambda x: (x[2].size, *x[:2]))
    total = np.cumsum([form.size for *_, form in entries])
    return sorted(entries[: max(1, int((total <= _SAMPLE).sum()))], key=lambda x: x[:2])


def _proof(proof: Proof | None, size: int) -> list[Markup]:
    if proof is None:
        text = f"Not attempted here: the torques have up to {size} terms. "
        return [paragraph(text, code("armdyn derive --prove"), " does it.")]
    lines = [f"{spelled(s.text)} ({s.terms} terms compared)" for s in proof.statements]
    return [
        paragraph(
            "Each line is an identity between polynomials in canonical form, compared term by term. It holds "
            "for every posture, velocity, acceleration and value of the parameters, not only for samples."
        ),
        items(lines),
    ]


def spelled(statement: str) -> str:
    """A statement of a proof, which is plain ASCII, with mathematical signs."""
    for plain, sign in _SIGNS:
        statement = statement.replace(plain, sign)
    return statement[0].upper() + statement[1:]


def _speed(coupling: RotorCoupling) -> Markup | str:
    speed = coupling.speed
    if speed is None:
        return "0" if coupling.uncoupled else "not zero, too long to write"
    return Markup(inline(speed)) if len(speed.poly) <= _SPEED else f"{len(speed.poly)} terms"


def _rotors(couplings: Iterable[RotorCoupling], closed: bool) -> list[Markup]:
    rows = []
    for coupling in couplings:
        verdict = "exact" if coupling.diagonal_is_exact else "not exact"
        along = "exact" if coupling.uncoupled else "not exact"
        rows.append((coupling.link, coupling.carrier, _speed(coupling), verdict, along))
    text = paragraph(
        "The diagonal model adds k²Iₘ of each motor to the diagonal of B, and the rotor's mass to the link "
        "that carries it, and nothing else. It is exact for a motor whose carrier does not turn about the "
        "rotor's axis, nor across it where the rotor has an inertia across its axis. A diagonal model that "
        "counts the tensor of the locked rotor in the carrier is exact where the carrier's angular velocity "
        "has no component along the axis. Both were decided at random postures and speeds, to rounding"
        f"{', with the closures open' if closed else ''}."
    )
    headings = (
        "motor of",
        "carried by",
        "angular velocity along its axis [rad/s]",
        "diagonal model",
        "with the locked rotor's tensor",
    )
    return [text, table(headings, rows)]
