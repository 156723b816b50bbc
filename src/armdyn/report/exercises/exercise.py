"""`exercise`: a sheet with questions about a robot, and its solution, as HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from armdyn.drawing.errors import ReportError
from armdyn.drawing.style import svg
from armdyn.exact.printing.document import Passage, markdown_lines
from armdyn.exact.printing.mathml import MATHML, aligned
from armdyn.exact.printing.styles import LATEX, Style, markdown_text
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.files import write_files
from armdyn.names import listed
from armdyn.report.exercises.case import Case, Pen
from armdyn.report.exercises.description import Described, Formulas, described, named
from armdyn.report.exercises.questions import QUESTIONS
from armdyn.report.page import Markup, Page, Part, Picture, paragraph, robot_table, scrolling, tag
from armdyn.report.robot_tables import Cell, RobotTable, Values, joints_text, short
from armdyn.report.sections.robot import plot_arm
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
