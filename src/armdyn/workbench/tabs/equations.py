"""The equations of motion typeset, and their terms in numbers at the state shown."""

from __future__ import annotations

import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.model import RobotModel
from armdyn.names import one_line
from armdyn.report.page import Markup, paragraph, scrolling, tag
from armdyn.robot import Robot
from armdyn.workbench.bench import Bench
from armdyn.workbench.fields import Reading, four_digits, note
from armdyn.workbench.moment import Moment

if TYPE_CHECKING:
    from armdyn.exact import Equations


_AT_ONCE = 3  # joints up to which equations are derived without being asked for
_WHOLE = 8000  # terms of all torques up to which whole matrices are written
_LONGEST = 12_000  # terms of an entry, before like ones are collected, that is still written
_WIDTH = 28  # em that fit into a panel
_MOTION = "Equations of motion"
_NONE = "(not derived yet)"


@dataclass(frozen=True)
class Derived:
    """Equations, and what can be shown of them: a function for each choice, which writes it."""

    model: RobotModel
    choices: dict[str, Callable[[], Markup]]


def add(bench: Bench) -> None:
    bench.gui.add_html(_font())
    bench.button(
        "Derive",
        lambda: bench.job("derive the equations", work, take),
        first=True,
        hint="The exact equations of the robot as it is now",
    )
    choice: Any = bench.gui.add_dropdown("Show", (_NONE,))
    numbers: Any = bench.gui.add_checkbox("In numbers", False, hint="B, C, g and τ at the state shown")
    stale = Reading(bench)
    reading = Reading(bench, _said("Derive writes the equations of motion of this robot here."))
    table = Reading(bench)
    derived: Derived | None = None

    def show_choice() -> None:
        write = None if derived is None else derived.choices.get(choice.value)
        if write is not None:
            reading.show(write())

    def take(found: Derived) -> None:
        nonlocal derived
        derived = found
        before = choice.value
        choice.options = tuple(found.choices)
        choice.value = before if before in found.choices else next(iter(found.choices))
        show_choice()
        stale.show()

    def show_numbers(moment: Moment) -> None:
        table.show(numbers_at(moment) if numbers.value else Markup(""))
        if derived is not None:
            text = "The robot was changed since: these are the equations from before. Derive writes new ones."
            stale.show(_said(text) if _differ(derived.model, moment.robot.model) else Markup(""))

    def work() -> Derived:
        with reading.meanwhile(_said("Deriving …")):
            return derive(bench.robot)

    def choose(event: Any) -> None:
        if event.client is not None and derived is not None:
            reading.show(_said("Writing …"))
            bench.guard(show_choice)

    choice.on_update(choose)
    numbers.on_update(lambda _: bench.change())
    bench.on_moment(show_numbers)
    if bench.robot.n <= _AT_ONCE:
        at_once = threading.Thread(target=lambda: bench.guard(lambda: take(derive(bench.robot))), daemon=True)
        at_once.start()


def derive(robot: Robot) -> Derived:
    """The equations of a robot, ready to be written; or why they cannot be."""
    from armdyn.exact.ring import check_loops  # brings FLINT: only when asked for

    try:
        check_loops(robot.model)
        equations = robot.equations()
        size = sum(row.size for row in equations.tau)
    except ArmdynError as error:
        problem = one_line(str(error))
        return Derived(robot.model, {_MOTION: lambda: _said(f"They are not written here: {problem}.")})
    whole = _whole(equations) if size <= _WHOLE else {_MOTION: lambda: _outline(equations, size)}
    return Derived(robot.model, {**whole, **_entries(equations)})


# ---- what can be shown -------------------------------------------------------------------------------------


def _whole(equations: Equations) -> dict[str, Callable[[], Markup]]:
    """The sections of the document, each by its title; what they name on the way stands below each."""
    from armdyn.exact.printing.document import Passage
    from armdyn.exact.printing.mathml import MATHML
    from armdyn.exact.written import sections

    def write(shown: list[Passage]) -> Markup:
        found = []
        for part in shown:
            found += [tag("h3", part.title)] if part.title == "Where" else []
            found += [paragraph(part.text)] if part.text else []
            found += [_formulas(part.lines)] if part.lines else []
        return _maths(found)

    parts = sections(equations, MATHML, "book")
    names = [part for part in parts if part.title == "Where"]
    found: dict[str, Callable[[], Markup]] = {}
    for part in sorted(parts, key=lambda part: part.title != _MOTION):
        if part not in names:
            shown = [part, *(names if part.title != "Gravity torques" else [])]
            found[part.title] = partial(write, shown)
    return found


def _outline(equations: Equations, size: int) -> Markup:
    """(7.42) in matrices, for equations too long to be read whole."""
    from armdyn.exact.printing.mathml import MATHML
    from armdyn.exact.written import in_matrices, letters

    text = (
        f"Multiplied out, the torques have up to {size:,} terms: too many to read at once. ".replace(
            ",", "\u202f"
        )
        + "Choose an entry above; armdyn derive writes all of them."
    )
    motion = in_matrices(equations, MATHML, letters("book"))
    return _maths([_formulas(motion.lines), paragraph(text)])


def _entries(equations: Equations) -> dict[str, Callable[[], Markup]]:
    """The entries of B, C, g, springs and friction that are not zero, one by one."""
    n = range(equations.n)
    places: list[tuple[str, tuple[int, ...]]] = [("b", (i, j)) for i in n for j in n if i <= j]
    places += [("c", (i, j)) for i in n for j in n]
    places += [(letter, (i,)) for letter in ("g", "e", "f") for i in n]
    rows = {
        "b": equations.B,
        "c": equations.C,
        "g": equations.g,
        "e": equations.springs,
        "f": equations.friction,
    }
    found: dict[str, Callable[[], Markup]] = {}
    for letter, place in places:
        entry: Any = rows[letter][place if len(place) == 2 else place[0]]
        if not entry.is_zero:
            indices = tuple(i + 1 for i in place)
            label = f"{letter.upper() if letter in 'bc' else letter}[{', '.join(map(str, indices))}]"
            found[label] = partial(_written, equations, letter, indices, entry)
    return found


def _written(equations: Equations, letter: str, indices: tuple[int, ...], entry: Any) -> Markup:
    """One entry, and what had to be named in it."""
    from armdyn.exact.printing.mathml import MATHML
    from armdyn.exact.printing.printer import Printer

    if entry.size > _LONGEST:
        return _said(f"This entry has up to {entry.size} terms: too many to show here. See armdyn derive.")
    printer = Printer(equations.basis, MATHML)
    lines = [(MATHML.entry(letter, indices), printer.parts(entry))]
    lines += list(printer.definitions.items())
    return _maths([_formulas(lines)])


def _formulas(lines: Sequence[tuple[str, list[str]]]) -> Markup:
    """Lines "left = terms", broken so that they fit into a panel; what is still too wide can be scrolled."""
    from armdyn.exact.printing.mathml import aligned

    return scrolling(Markup(aligned(lines, _WIDTH)))


@lru_cache(maxsize=8)
def _differ(one: RobotModel, other: RobotModel) -> bool:
    """Whether models differ in more than their names and the values of symbols: so do their equations."""

    def letters(model: RobotModel) -> RobotModel:
        return replace(model, name="", symbols=tuple((name, None) for name, _ in model.symbols), choice=None)

    return one is not other and letters(one) != letters(other)


# ---- numbers -----------------------------------------------------------------------------------------------


def numbers_at(moment: Moment) -> Markup:
    """B, C, g and the other terms of (7.42) at a state, and the torques."""
    runs, parameters = moment.subject.runs, moment.subject.parameters
    B = np.asarray(runs.inertia(moment.q, parameters=parameters))
    C = np.asarray(runs.coriolis(moment.q, moment.qd, parameters=parameters))
    parts = moment.parts
    columns = {"g": parts.gravity, "springs": parts.springs, "friction": parts.friction}
    columns = {name: x for name, x in columns.items() if np.any(x) or name == "g"}
    if moment.wrench is not None:
        columns["Jᵀh"] = parts.tip_wrench
    columns["τ"] = moment.tau
    numbered = [str(i + 1) for i in range(len(B))]
    found = [
        tag("h3", "B(q)"),
        _table(numbered, B),
        tag("h3", "C(q, q̇)"),
        _table(numbered, C),
        tag("h3", "Torques [N m or N]"),
        _table(list(columns), np.array(list(columns.values())).T),
    ]
    return _maths(found)


def _table(heads: Sequence[str], M: np.ndarray) -> Markup:
    least = 1e-12 * float(np.abs(M).max(initial=0.0))
    head = tag("tr", tag("th", ""), *(tag("th", x) for x in heads))
    rows = (
        tag("tr", tag("th", str(i + 1)), *(tag("td", four_digits(float(x), least)) for x in row))
        for i, row in enumerate(M)
    )
    return scrolling(tag("table", head, *rows, class_="ad-matrix", style=f"--n:{len(heads)}"))


# ---- the page ----------------------------------------------------------------------------------------------


def _maths(parts: Sequence[Markup]) -> Markup:
    return tag("div", *parts, class_="ad-maths", data_armdyn="equations")


def _said(text: str) -> Markup:
    return note(text, data_armdyn="equations")


def _font() -> str:
    """The maths font of the reports: few computers have one."""
    font = b64encode(files("armdyn.report").joinpath("fonts/maths.woff2").read_bytes()).decode()
    face = f'font-family: "Armdyn Maths"; src: url("data:font/woff2;base64,{font}")'
    return f"<style>@font-face {{ {face}; }}</style>"
