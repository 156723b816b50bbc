"""The Denavit–Hartenberg table of a chain, to read and to hand on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from armdyn.description.conversion.dh_form import Convention, dh_form
from armdyn.description.conversion.in_dh import tidy, tool_of
from armdyn.expression import Expression
from armdyn.model.lowering import Converter, places_of
from armdyn.model.parts import JointKind, Transform
from armdyn.model.robot_model import RobotModel
from armdyn.output import one_line

_NAMES = {"dh": "standard", "mdh": "modified (Craig)"}
_HEADINGS = {"dh": ("a", "alpha", "d", "theta"), "mdh": ("a before", "alpha before", "d", "theta")}
_LATEX = {"dh": ("a_i", r"\alpha_i", "d_i", r"\vartheta_i")} | {
    "mdh": ("a_{i-1}", r"\alpha_{i-1}", "d_i", r"\vartheta_i")
}
_DIGITS = 6


@dataclass(frozen=True)
class DhRow:
    """One joint. The joint variable is added to `theta` of a revolute and to `d` of a prismatic joint."""

    link: str
    joint: JointKind
    a: Expression  # m; in modified DH the a and α before the joint
    alpha: Expression  # rad
    d: Expression  # m
    theta: Expression  # rad

    def cells(self, i: int) -> tuple[str, str, str, str]:
        """a, α, d, θ as text, with the joint variable q_i in its place."""
        d, theta = _short(self.d), _short(self.theta)
        if self.joint == "prismatic":
            d = _with_variable(d, f"q{i}")
        else:
            theta = _with_variable(theta, f"q{i}")
        return _short(self.a), _short(self.alpha), d, theta


@dataclass(frozen=True)
class DhTable:
    """Rows from the base to the tip, and what stands before the first and behind the last frame.

    tip in the world = base · A_1(q_1) … A_n(q_n) · tool, A_i = Rz(θ) Tz(d) Tx(a) Rx(α), in modified DH
    A_i = Rx(α) Tx(a) Rz(θ) Tz(d). Where the tip is not on the last link, `tool` is the identity.
    """

    convention: Convention
    rows: tuple[DhRow, ...]
    base: Transform = Transform()
    tool: Transform = Transform()
    notes: tuple[str, ...] = ()  # decisions by tolerance
    values: Mapping[str, Expression] = field(default_factory=dict, compare=False)  # of symbols

    def array(self) -> np.ndarray:
        """a, α, d, θ of every joint, (n, 4) in m and rad. Symbols take their values."""
        entries = [(row.a, row.alpha, row.d, row.theta) for row in self.rows]
        return np.array([[x.value(self.values) for x in row] for row in entries])

    @property
    def grid(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """Headings and rows of texts."""
        rows = tuple((row.link, row.joint, *row.cells(i + 1)) for i, row in enumerate(self.rows))
        return ("link", "joint", *_HEADINGS[self.convention]), rows

    def __str__(self) -> str:
        """The table in columns, then base and tool where they are not the identity, then the notes."""
        headings, rows = self.grid
        columns = [*zip(headings, *rows, strict=True)]
        widths = [max(map(len, column)) for column in columns]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)) for row in (headings, *rows)]
        title = f"{_NAMES[self.convention]} Denavit-Hartenberg parameters, m and rad"
        return "\n".join([title, *(line.rstrip() for line in lines), *self.remarks])

    @property
    def remarks(self) -> list[str]:
        """Base and tool where they are not the identity, and the notes."""
        ends = [("base", self.base, "in the world"), ("tool", self.tool, "in the last frame")]
        shown = [f"{name} {pose_text(T)} {where}" for name, T, where in ends if Transform() != T]
        return [*shown, *(f"note: {text}" for text in self.notes)]

    def markdown(self) -> str:
        """The table in Markdown."""
        headings, rows = self.grid
        lines = [headings, tuple("---" for _ in headings), *rows]
        return "\n".join(f"| {' | '.join(x.replace('|', chr(92) + '|') for x in line)} |" for line in lines)

    def latex(self) -> str:
        """The table as a LaTeX tabular."""
        heads = ["$i$", *(f"${x}$" for x in _LATEX[self.convention])]
        lines = [r"\begin{tabular}{ccccc}", " & ".join(heads) + r" \\", r"\hline"]
        for i, row in enumerate(self.rows):
            cells = [_latex(x) for x in row.cells(i + 1)]
            lines.append(" & ".join([str(i + 1), *(f"${x}$" for x in cells)]) + r" \\")
        return "\n".join([*lines, r"\end{tabular}"])


def dh_table(model: RobotModel, convention: Convention) -> DhTable:
    """The table of a serial chain; a robot that branches is refused."""
    form = dh_form(model, convention)
    rows = tuple(
        DhRow(link.name, link.joint, row.a, row.alpha.value, row.d, row.theta.value)
        for link, row in zip(model.moving, form.rows, strict=True)
    )
    body, place = places_of(model, Converter(lambda x: x))[model.tip]
    notes = form.notes
    if body == len(model.moving) - 1:
        tool = tool_of(model, form, place)
    else:
        tool = Transform()
        notes = (*notes, f"the tip is on '{model.tip}', not on the last link of the chain")
    if model.relations:
        followers = "; ".join(one_line(text) for text in model.followers)
        notes = (*notes, f"q1, q2, … are all moving joints here, and some follow others: {followers}")
    base = tidy(model.base @ form.base.T, form.base.exact, model)
    return DhTable(convention, rows, base, tool, notes, model.exact_values)


def pose_text(T: Transform) -> str:
    """A pose in words: position, and the x and z axes where it is turned."""
    x, z = (tuple(row[k] for row in T.R) for k in (0, 2))
    at = f"at ({_list(T.p)})"
    return at if T.R == Transform().R else f"{at}, x along ({_list(x)}), z along ({_list(z)})"


def _list(entries: tuple[object, ...]) -> str:
    return ", ".join(_short(Expression.of(x)) for x in entries)


def _short(x: Expression) -> str:
    """Exact where that is short; else six digits."""
    if x.symbols():
        return str(x)
    turns = (x / Expression.pi()).number
    if turns is not None and not x.is_zero and turns.denominator <= 12:
        return _multiple_of_pi(turns)
    text = str(x)
    return text if len(text) <= _DIGITS + 4 else f"{x.value():.{_DIGITS}g}"


def _multiple_of_pi(turns: Fraction) -> str:
    sign, k, n = "-" if turns < 0 else "", abs(turns.numerator), turns.denominator
    return f"{sign}{'' if k == 1 else f'{k}*'}pi{'' if n == 1 else f'/{n}'}"


def _with_variable(offset: str, q: str) -> str:
    if offset == "0":
        return q
    return f"{q} - {offset[1:]}" if offset.startswith("-") and " " not in offset else f"{q} + {offset}"


def _latex(text: str) -> str:
    words = text.replace("**", "^").replace("*", r"\,").replace("sqrt", r"\sqrt").replace("pi", r"\pi ")
    return "".join(f"{w[0]}_{{{w[1:]}}}" if w[:1] == "q" and w[1:].isdigit() else w for w in _split(words))


def _split(text: str) -> list[str]:
    """Words and what stands between them."""
    return re.findall(r"\w+|\W+", text)
