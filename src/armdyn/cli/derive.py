"""The verbs derive and base: exact equations, and the parameters that can be known of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armdyn.cli.common import GivenRobot, check_output, numbers, say, takes_robot
from armdyn.exact import Equations
from armdyn.exact.base import BaseEquations
from armdyn.exact.printing.styles import PAGE, in_em, markdown_text
from armdyn.expression import ArmdynError
from armdyn.files import write_whole
from armdyn.progress import stage
from armdyn.robot.base_parameters import BaseParameters


class Notation(StrEnum):
    book = "book"
    craig = "craig"


class Axes(StrEnum):
    link = "link"
    base = "base"


WidthOption = Annotated[
    str | None,
    typer.Option(metavar="LENGTH", help=f"Of rows of LaTeX and Markdown in 10 pt type [default: {PAGE}]."),
]


LatexOption = Annotated[bool, typer.Option("--latex", help="LaTeX (amsmath).")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Markdown with formulas.")]
SymbolicOption = Annotated[bool, typer.Option("--symbolic", help="Replace every number by a symbol.")]
TextOption = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")]


class Zeros(StrEnum):
    free = "free"
    given = "given"


@takes_robot
def derive(
    robot: GivenRobot,
    latex: LatexOption = False,
    markdown: MarkdownOption = False,
    sympy: Annotated[bool, typer.Option("--sympy", help="A Python script with SymPy matrices.")] = False,
    matlab: Annotated[
        bool, typer.Option("--matlab", help="A script of MATLAB's or Octave's symbolic toolbox.")
    ] = False,
    steps: Annotated[bool, typer.Option("--steps", help="The Newton-Euler recursion, link by link.")] = False,
    frame: Annotated[
        Axes, typer.Option(help="Of --steps: vectors in the axes of their links or in base axes.")
    ] = Axes.link,
    base_motion: Annotated[
        bool, typer.Option("--base-motion", help="Of --steps: begin with a base that moves.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="STATE", help='Of --steps: numbers too, at "q; qd; qdd": "0, pi/2; 1, 0; 0, 3".'
        ),
    ] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Prove the equations and print what was proved.")
    ] = False,
    symbolic: SymbolicOption = False,
    notation: Annotated[
        Notation, typer.Option(help="B, C, g of the book or Craig's M, V, G; of --steps Craig's F, N, n.")
    ] = Notation.book,
    combine: Annotated[
        list[str] | None,
        typer.Option(help='A combination to write the equations in, "pi6 = m3*lc3"; may be repeated.'),
    ] = None,
    width: WidthOption = None,
    output: TextOption = None,
) -> None:
    """Derive the exact equations of motion."""
    if latex + markdown + sympy + matlab > 1:
        raise ArmdynError("choose one of --latex, --markdown, --sympy, --matlab")
    if (sympy or matlab) and steps:
        raise ArmdynError("--steps is no script; use --latex, --markdown or neither")
    if not steps and (base_motion or at is not None or frame is not Axes.link):
        raise ArmdynError("--frame, --base-motion and --at go with --steps")
    row = _row_width(width, latex or markdown)
    check_output(output, robot.source)
    loaded = robot.load()
    equations = (loaded.symbolic() if symbolic else loaded).equations()
    if combine:
        equations = equations.in_terms_of(dict(_assignment(text) for text in combine))
    chosen = {"latex": latex, "markdown": markdown, "sympy": sympy, "matlab": matlab}
    form: Any = next((name for name, given in chosen.items() if given), "text")
    with stage("equations"):
        if steps:
            state = _state(at, equations.n)
            text = equations.steps(
                form, row, base=base_motion, frame=frame.value, notation=notation.value, at=state
            )
        else:
            text = _derivation(equations, form, notation.value, row)
    if prove:
        text += "\n" + _proof(equations, form)
    _hand_over(text, output)


def _row_width(width: str | None, typeset: bool) -> str:
    """The width of rows, which only typeset formulas have."""
    if width is None:
        return PAGE
    if not typeset:
        raise ArmdynError("--width is for --latex and --markdown")
    in_em(width)
    return width


def _state(text: str | None, n: int) -> list[np.ndarray] | None:
    """q, q̇ and q̈ of "0, pi/2; 1, 0; 0, 3"."""
    if text is None:
        return None
    rows = text.split(";")
    if len(rows) != 3:
        raise ArmdynError(f"--at: found '{text}'; expected 'q; qd; qdd', such as '0, pi/2; 1, 0; 0, 3'")
    return [numbers(row, "--at", n) for row in rows]


def _derivation(equations: Equations, form: Any, notation: Any, width: str) -> str:
    if form == "sympy":
        return equations.sympy_source()
    if form == "matlab":
        return equations.matlab_source()
    if form == "text":
        return equations.text(notation)
    return equations.latex(notation, width) if form == "latex" else equations.markdown(notation, width)


def _proof(equations: Equations, form: str) -> str:
    """Text of what was proved: a comment in LaTeX and scripts, plain lines in text and Markdown."""
    lines = str(equations.prove()).splitlines()
    if form == "markdown":
        lines[0] = markdown_text(lines[0])
    comment = {"latex": "% ", "matlab": "% ", "sympy": "# "}.get(form, "")
    return "\n".join(comment + line for line in lines) + "\n"


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ArmdynError(f"--combine: found '{text}'; expected 'name = combination'")
    return name.strip(), value.strip()


@takes_robot
def base(
    robot: GivenRobot,
    zeros: Annotated[
        Zeros, typer.Option(help="Whether parameters that are zero in the description stay zero.")
    ] = Zeros.free,
    friction: Annotated[bool, typer.Option("--friction", help="Count friction and offsets too.")] = False,
    numeric: Annotated[
        bool, typer.Option("--numeric", help="By numbers, for measured or rounded geometry.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Of the numbers: what counts as zero.")] = 1e-6,
    equations: Annotated[
        bool, typer.Option("--equations", help="Also the equations of motion in base parameters.")
    ] = False,
    symbolic: SymbolicOption = False,
    latex: LatexOption = False,
    markdown: MarkdownOption = False,
    width: WidthOption = None,
    output: TextOption = None,
) -> None:
    """Show which combinations of dynamic parameters the torques depend on, and which never appear."""
    if latex and markdown:
        raise ArmdynError("choose one of --latex, --markdown")
    row = _row_width(width, latex or markdown)
    check_output(output, robot.source)
    loaded = robot.load()
    found = (loaded.symbolic() if symbolic else loaded).base_parameters(
        zeros.value, friction, route="numeric" if numeric else None, tolerance=tolerance
    )
    parts: list[BaseParameters | BaseEquations] = [found]
    if equations:
        parts.append(found.equations())
    text = "\n".join(x.latex(row) if latex else x.markdown(row) if markdown else x.text() for x in parts)
    _hand_over(text, output)


def _hand_over(text: str, output: Path | None) -> None:
    """Print a text, or write it to a file."""
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_whole(output, text)
        say(f"wrote {output}")
