"""The equations of motion typeset, how large they are, and what was proved about them."""

from __future__ import annotations

from armdyn.exact import Equations, SizeError
from armdyn.exact.engine.form import Entry, Form
from armdyn.exact.printing.document import Section as Lines
from armdyn.exact.printing.document import in_matrices, letters, sections
from armdyn.exact.printing.mathml import MATHML, aligned, inline
from armdyn.exact.printing.printer import Printer
from armdyn.report.page.page import Markup, Page, code, folded, items, join, paragraph, scrolling, table, tag
from armdyn.robot import Robot

_WHOLE = 8000  # terms up to which all equations stand in the report
_OPEN = 60  # terms up to which a part of them stands open
_SAMPLE = 60  # terms of what is shown of equations that are too long
_PROVED = 500_000  # terms up to which a proof takes no more than seconds
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


def add_equations(page: Page, robot: Robot) -> None:
    section = page.section("equations", "Equations of motion")
    equations = robot.equations()
    try:
        section.add(*_equations(robot, equations))
    except SizeError as problem:
        section.add(paragraph(f"They are not written here: {problem}."))
    if couplings := _rotors(robot, equations):
        section.add(tag("h3", "Where the diagonal rotor model is exact"), *couplings)


def _equations(robot: Robot, equations: Equations) -> list[Markup]:
    """The equations, or a summary where they are too long, and their proof."""
    size = sum(row.size for row in equations.tau)
    shown = _whole(equations) if size <= _WHOLE else _outline(equations, size)
    return [_notation(robot), *shown, tag("h3", "What was proved"), *_proof(equations, size)]


def _notation(robot: Robot) -> Markup:
    kinds = {link.joint for link in robot.model.moving}
    variables = []
    if "revolute" in kinds:
        variables.append("ϑᵢ is the angle of revolute joint i")
    if "prismatic" in kinds:
        variables.append("dᵢ (qᵢ where a length is called dᵢ) is the displacement of prismatic joint i")
    return paragraph(
        f"In these equations {', '.join(variables)}; cᵢ and sᵢ on the right-hand sides are cosine and sine "
        "of an angle, with several indices of the sum of those angles. They are exact: they come from the "
        "energies by Lagrange's equations and hold for every posture and motion."
    )


def _whole(equations: Equations) -> list[Markup]:
    """All of them; long parts behind a line that opens."""
    found = []
    for part in sections(equations, MATHML, "book"):
        count = sum(len(terms) for _, terms in part.lines)
        if count > _OPEN and part.title != "Equations of motion":
            found.append(folded(f"{part.title}: {len(part.lines)} lines, {count} terms", _block(part)))
        else:
            found += [tag("h3", part.title), _block(part)]
    return found


def _block(part: Lines) -> Markup:
    blocks = [paragraph(part.text)] if part.text else []
    if part.lines:
        blocks.append(scrolling(Markup(aligned(part.lines))))
    return join(blocks)


def _outline(equations: Equations, size: int) -> list[Markup]:
    """What can be said of equations too long to read: their form, their sizes, their shortest entries."""
    n = equations.n
    counts = [[str(equations.B[i, j].size) for j in range(n)] for i in range(n)]
    rows = [(str(i + 1), *counts[i], str(equations.g[i].size), str(equations.tau[i].size)) for i in range(n)]
    headings = ("row", *(f"B, {j + 1}" for j in range(n)), "g", "torque")
    found = [_block(in_matrices(equations, MATHML, letters("book")))]
    found += [
        paragraph(
            f"Multiplied out, the torques of this robot have up to {size:,} terms".replace(",", "\u202f"),
            ", too many to read here. ",
            code("armdyn derive"),
            " writes all of them as text, LaTeX, Markdown or SymPy, with common parts named. The table "
            "counts the terms of each entry of the inertia matrix B, of gravity g and of the whole torque, "
            "before like terms are collected; below it stand the shortest entries.",
        ),
        table(headings, rows),
        scrolling(Markup(aligned(_shortest(equations)))),
    ]
    return found


def _shortest(equations: Equations) -> list[tuple[str, list[str]]]:
    """The shortest entries of B and g that are not zero, as many as fit."""
    n = equations.n
    entries: list[tuple[Form, str, tuple[int, ...]]] = [
        (equations.B[i, j], "b", (i + 1, j + 1)) for i in range(n) for j in range(i, n)
    ]
    entries += [(equations.g[i], "g", (i + 1,)) for i in range(n)]
    entries = [entry for entry in entries if not entry[0].is_zero]
    entries.sort(key=lambda entry: (entry[0].size, entry[1], entry[2]))
    chosen: list[tuple[Form, str, tuple[int, ...]]] = []
    total = 0
    for entry in entries:
        total += entry[0].size
        if chosen and total > _SAMPLE:
            break
        chosen.append(entry)
    printer = Printer(equations.basis, MATHML)
    chosen.sort(key=lambda entry: (entry[1], entry[2]))
    return [(MATHML.entry(letter, indices), printer.parts(form)) for form, letter, indices in chosen]


def _proof(equations: Equations, size: int) -> list[Markup]:
    if size > _PROVED:
        text = f"Not attempted here: the torques have up to {size} terms. "
        return [paragraph(text, code("armdyn derive --prove"), " does it.")]
    proof = equations.prove()
    lines = [f"{_spelled(s.text)} ({s.terms} terms compared)" for s in proof.statements]
    return [
        paragraph(
            "Each line is an identity between polynomials in canonical form, compared term by term. It holds "
            "for every posture, velocity, acceleration and value of the parameters, not for samples of them."
        ),
        items(lines),
    ]


def _spelled(statement: str) -> str:
    """A statement of a proof, which is plain ASCII, with the signs of the trade."""
    for plain, sign in _SIGNS:
        statement = statement.replace(plain, sign)
    return statement[0].upper() + statement[1:]


def _speed(speed: Entry | None) -> Markup | str:
    if speed is None:
        return "not zero, too long to write"
    return Markup(inline(speed)) if len(speed.poly) <= _SPEED else f"{len(speed.poly)} terms"


def _rotors(robot: Robot, equations: Equations) -> list[Markup]:
    if robot.model.rotors != "exact":
        return []
    rows = []
    for coupling in equations.rotor_couplings():
        verdict = "exact" if coupling.diagonal_is_exact else "not exact"
        rows.append((coupling.link, coupling.carrier, _speed(coupling.speed), verdict))
    if not rows:
        return []
    text = paragraph(
        "A motor's rotor adds k²Iₘ to the diagonal of B and nothing else exactly where the link that carries "
        "it does not turn about the rotor's axis, that is, where the carrier's angular velocity has no "
        "component along it."
    )
    headings = ("motor of", "carried by", "angular velocity along its axis [rad/s]", "diagonal model")
    return [text, table(headings, rows)]
