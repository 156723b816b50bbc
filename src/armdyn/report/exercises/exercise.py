"""`exercise`: a sheet with questions about a robot, and its solution, as HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from armdyn.description.dh_table import DhTable
from armdyn.drawing.errors import ReportError
from armdyn.drawing.style import svg
from armdyn.exact.printing.document import Passage, markdown_lines
from armdyn.exact.printing.mathml import MATHML, aligned
from armdyn.exact.printing.names import symbol_glyph
from armdyn.exact.printing.styles import LATEX, Style, markdown_text, variable_glyph
from armdyn.exact.steps import spelled_number
from armdyn.exact.written import coordinates
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.files import write_files
from armdyn.model.errors import ModelError
from armdyn.names import listed
from armdyn.report.exercises.case import Case, Pen, plain_text
from armdyn.report.exercises.questions import QUESTIONS
from armdyn.report.page import Markup, Page, Part, Picture, paragraph, robot_table, scrolling, tag
from armdyn.report.robot_tables import (
    Cell,
    RobotTable,
    Values,
    frames_table,
    joints_text,
    links_table,
    mechanism_tables,
    motors_table,
    short,
)
from armdyn.report.sections.robot import MECHANISMS, plot_arm
from armdyn.robot import Robot

DEFAULT = ("jacobians", "energies", "B", "C", "g", "torques")
_MOST = 300  # terms of B, the Christoffel symbols and g, that one can be asked for
_FORMULA = re.compile(r"`(\w+'*)`")  # in texts: `J_P`; `q'` and `q''` have dots


def exercise(robot: Robot, questions: Sequence[str] = DEFAULT, seed: int = 0) -> Exercise:
    """A sheet with questions about a robot and its solution with the steps, from the robot's equations.

    `questions` are "jacobians", "energies", "B", "C", "skew", "g", "motion", "regressor", "base",
    "newton-euler", "torques". The seed draws the state of "torques"; `random_arm(seed)` draws an arm.
    The same robot and seed give the same sheet, byte for byte.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ArmdynError(f"seed: found {shown(seed)}; a whole number is expected")
    asked = (questions,) if isinstance(questions, str) else tuple(questions)
    for name in asked or ("",):
        if name not in QUESTIONS:
            allowed = ", ".join(map(repr, QUESTIONS))
            raise ArmdynError(f"questions: found {shown(name)}; allowed: {allowed}")
    case = Case(robot, seed)
    _check(case, asked)
    return Exercise(case, tuple(dict.fromkeys(asked)))


def _check(case: Case, asked: Sequence[str]) -> None:
    """Refuse equations that are too long for a sheet, and numbers that a robot does not have."""
    name, terms = case.robot.name, case.equations.terms
    numeric = [question for question in QUESTIONS if not QUESTIONS[question].in_symbols]
    if terms > _MOST and (long := [question for question in asked if question not in numeric]):
        raise ArmdynError(
            f"questions: '{long[0]}' of '{name}' has too long an answer: its equations have {terms} terms, "
            f"and up to {_MOST} fit on a sheet; allowed for this robot: {', '.join(map(repr, numeric))}"
        )
    missing = [symbol for symbol, value in case.robot.model.symbols if value is None]
    if missing and (unknown := [question for question in asked if question in numeric]):
        raise ArmdynError(
            f"questions: '{unknown[0]}' needs values, and '{name}' has none for {listed(missing)}"
        )


@dataclass(frozen=True)
class Exercise:
    """Questions about a robot: `.sheet` has room for the answers, `.solution` the steps to them."""

    case: Case
    questions: tuple[str, ...]

    @property
    def sheet(self) -> Paper:
        """The description, the questions, and room to answer them."""
        return Paper(self, solved=False)

    @property
    def solution(self) -> Paper:
        """The description, the questions, and their answers step by step."""
        return Paper(self, solved=True)

    @cached_property
    def picture(self) -> Picture | None:
        """The arm at the state of the exercise; None where symbols have no values."""
        robot = self.case.robot
        if any(value is None for _, value in robot.model.symbols):
            return None
        q = self.case.numbers[0]
        at = ", ".join(f"{x:.3g}".replace("-", "−") for x in q)
        caption = [f"The arm at q = ({at}): circles and cylinders turn, boxes slide."]
        if self.case.driven:
            caption.append(" M1, M2 … are the motors of these joints.")
        return Picture(plot_arm(robot, q), f"{robot.name} in a posture", caption, drawing=True)

    def save(self, folder: str | Path) -> list[Path]:
        """Write sheet and solution, each as HTML and Markdown, and the picture that the Markdown shows.

        The files are exercise-SEED.html, exercise-SEED-solution.html and so on; their paths are returned.
        The folder is made if there is none.
        """
        folder, name = Path(folder), f"exercise-{self.case.seed}"
        texts = {}
        for end, document in (("", self.sheet), ("-solution", self.solution)):
            texts[folder / f"{name}{end}.html"] = document.html()
            texts[folder / f"{name}{end}.md"] = document.markdown(f"{name}.svg")
        if self.picture is not None:
            texts[folder / f"{name}.svg"] = svg(self.picture.figure)
        with suppress(OSError):  # what cannot be made cannot be written to: that is said below
            folder.mkdir(exist_ok=True)
        return write_files(texts, ReportError)


# ---- what the arm is ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Formulas:
    """Short formulas in a row."""

    entries: list[str]


Described: TypeAlias = str | RobotTable | Passage | Formulas

_CONVENTIONS: dict[Literal["dh", "mdh"], tuple[str, str]] = {
    "dh": (
        "Denavit–Hartenberg parameters",
        "Frame i is at the far end of link i, in frame i − 1 at Rz(θ) Tz(d) Tx(a) Rx(α).",
    ),
    "mdh": (
        "Modified Denavit–Hartenberg parameters",
        "Frame i is at the joint of link i, in frame i − 1 at Rx(α) Tx(a) Rz(θ) Tz(d).",
    ),
}
_BODIES = (
    "Centres of mass are in the frame of the link, tensors about them in its axes. What is left out is zero."
)
_MOTORS = {
    "exact": "A rotor turns with the link that carries it, and about its own axis by its gear. Its axis and "
    "its position are in the frame of that link. Im is its inertia about its axis; what is left out is zero.",
    "reflected": "A rotor counts with its mass where it is, and with Im for its spin, gear times joint rate.",
}


def described(case: Case, style: Style) -> list[Described]:
    """All that the answers need, in the order of the flow."""
    model = case.robot.model
    bodies = links_table(model).columns([0, 3, 4, 5, 6])  # without what the frames say
    found: list[Described] = [*_frames(case), Passage("Bodies", _BODIES), bodies]
    if case.driven:
        found += [Passage("Motors", _MOTORS[model.rotors]), _motors(case)]
    for title, table in zip(MECHANISMS, mechanism_tables(model), strict=True):
        found += [Passage(title), table] if table.rows else []
    if (tied := coordinates(case.equations, style)).lines:
        found.append(tied)
    gravity = style.matrix([[style.expression(Expression.of(x))] for x in model.gravity])
    found.append(Passage("Gravity", "In the axes of the base frame.", [(named(style, "g_0"), [gravity])]))
    values = [(name, x) for name, x in model.symbols if x is not None]
    entries = [f"{named(style, a)}{style.equals}{spelled_number(style, x.value())}" for a, x in values]
    return [*found, Passage("Values", "In SI units."), Formulas(entries)] if entries else found


def named(style: Style, name: str) -> str:
    """A name in a formula; primes behind it are dots."""
    assert style.glyph is not None
    bare = name.rstrip("'")
    return style.glyph(replace(symbol_glyph(bare), accent=("", "dot", "ddot")[len(name) - len(bare)]))


def _frames(case: Case) -> list[Described]:
    """The DH table, if the frames are those of one; else where each frame is in its parent's."""
    robot = case.robot
    for convention, (title, text) in {} if robot.model.relations else _CONVENTIONS.items():
        with suppress(ModelError):
            if robot.in_dh(convention) == robot:
                table = robot.dh_table(convention)
                return [Passage(title, text), _dh(case, table), *table.footnotes]
    return [Passage("Frames", "All joints at zero."), frames_table(robot.model)]


def _dh(case: Case, table: DhTable) -> RobotTable:
    """The table with the joint variables in their places."""
    rows = []
    for i, row in enumerate(table.rows):
        variable = Expression.symbol(f"{variable_glyph(case.equations.basis, i).head}{i + 1}")
        slides = row.joint == "prismatic"
        d, theta = (row.d + variable, row.theta) if slides else (row.d, row.theta + variable)
        cells = [x if x.symbols() else plain_text(x) for x in (row.a, row.alpha, d, theta)]
        rows.append((f"{i + 1} ({row.link})", row.joint, *cells))
    return RobotTable(("joint", "kind", "a [m]", "α [rad]", "d [m]", "θ [rad]"), tuple(rows))


def _motors(case: Case) -> RobotTable:
    """With the rotors' places; without columns of zeros, and without torque constants and limits."""
    table, motors = motors_table(case.robot.model), [link.motor for _, link in case.driven if link.motor]
    places = [Values(tuple(("", Expression.of(x)) for x in motor.position), ", ") for motor in motors]
    rows = tuple((*row, place) for row, place in zip(table.rows, places, strict=True))
    kept = [
        k for k in range(9) if any(not isinstance(x := row[k], Expression) or not x.is_zero for row in rows)
    ]
    return RobotTable((*table.headings, "position [m]"), rows).columns([*kept, len(table.headings)])


# ---- documents ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Blanks:
    """Room to write, behind what is given."""

    given: list[str]
    height: float  # cm for each


Block: TypeAlias = Described | Blanks | Picture


@dataclass(frozen=True)
class Paper:
    """A sheet or its solution, which writes itself as HTML or Markdown."""

    exercise: Exercise
    solved: bool

    @property
    def title(self) -> str:
        return f"Exercise {self.exercise.case.seed}{': solution' if self.solved else ''}"

    @property
    def subtitle(self) -> str:
        robot = self.exercise.case.robot
        return f"{robot.name}: {joints_text(robot.model)}"

    def html(self) -> str:
        """One page that needs nothing else; formulas are MathML."""
        page = Page(self.title, self.subtitle, contents=False)
        for key, title, blocks in self._sections(MATHML):
            page.add(key, title, [part for block in blocks for part in _html(block)])
        return page.html()

    def markdown(self, picture: str = "") -> str:
        """Markdown with formulas between $$; `picture` is the address of the arm's picture, if any."""
        lines = [f"# {self.title}", "", markdown_text(self.subtitle), ""]
        for k, (_, title, blocks) in enumerate(self._sections(LATEX), 1):
            lines += [f"## {k}. {title}", ""]
            lines += [line for block in blocks for line in _markdown(block, picture)]
        return "\n".join(lines)

    def _sections(self, style: Style) -> Iterator[tuple[str, str, list[Block]]]:
        """Key, title and blocks: the arm, then the questions."""
        case, picture = self.exercise.case, self.exercise.picture
        signed = [] if self.solved else [Blanks([style.words("Name:")], 1)]
        yield "arm", "The arm", [*signed, *([picture] if picture else []), *described(case, style)]
        for name in self.exercise.questions:
            question, pen = QUESTIONS[name], Pen(case.equations, style)
            solved = question.solve(case, pen)
            where = list(pen.printer.definitions.items())
            steps = [*solved.steps, *([Passage("Where", "", where)] if where else [])]
            answer = [*steps] if self.solved else [Blanks(solved.answer, question.height)]
            yield f"question-{name}", question.title, [question.text(case), *answer]


def _html(block: Block) -> list[Part]:
    match block:
        case str():
            parts = enumerate(_FORMULA.split(block))
            return [paragraph(*(_math(named(MATHML, x)) if k % 2 else x for k, x in parts))]
        case RobotTable():
            return [robot_table(block)]
        case Passage():
            lines = [scrolling(Markup(aligned(block.lines)))] if block.lines else []
            return [tag("h3", block.title), *(_html(block.text) if block.text else []), *lines]
        case Formulas():
            return [tag("ul", *(tag("li", _math(x)) for x in block.entries), class_="symbols")]
        case Blanks():
            style = f"height: {block.height:g}cm"
            return [tag("p", _math(x), class_="blank", style=style) for x in block.given]
        case Picture():
            return [block]


def _math(formula: str) -> Markup:
    return Markup(f"<math>{formula}</math>")


def _markdown(block: Block, picture: str) -> list[str]:
    match block:
        case str():
            return [_with_formulas(block), ""]
        case RobotTable():
            return [*_markdown_table(block), ""]
        case Passage():
            return markdown_lines([replace(block, text=_with_formulas(block.text))], heading="###")
        case Formulas():
            return [", ".join(f"${x}$" for x in block.entries) + ".", ""]
        case Blanks():
            return [line for x in block.given for line in (rf"$${x} \underline{{\hspace{{24em}}}}$$", "")]
        case Picture():
            shown = [f"![{markdown_text(block.alternative)}]({picture})", "", "".join(block.caption), ""]
            return shown if picture else []


def _with_formulas(text: str) -> str:
    return _FORMULA.sub(lambda found: f"${named(LATEX, found[1])}$", text)


def _markdown_table(table: RobotTable) -> Iterator[str]:
    """The table without empty columns."""
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    kept = [k for k in range(len(table.headings)) if any(row[k] for row in rows)]
    for line in (table.headings, ["---"] * len(table.headings), *rows):
        yield f"| {' | '.join(line[k] for k in kept)} |"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Values):
        return ", ".join(f"{name} {_cell(x)}".strip() for name, x in cell.items)
    if isinstance(cell, Expression):
        return f"${LATEX.expression(cell)}$" if cell.symbols() else short(cell).replace("-", "−")
    return markdown_text(cell)
