"""The Denavit–Hartenberg table of a chain, to read and to hand on, and the robot in its frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from armdyn.description.dh_form import (
    TOLERANCE,
    Convention,
    DhForm,
    FoundRow,
    Pose,
    dh_form,
    inverse,
    rounded,
)
from armdyn.description.frames import frame, numeric_rpy, unit_vector
from armdyn.expression import Expression
from armdyn.model.closures import ClosingJoint
from armdyn.model.inertia import Inertia
from armdyn.model.parts import JointKind, Link, Motor, PointSpring, Transform, X, Z
from armdyn.model.robot_model import Converter, RobotModel, places_of
from armdyn.model.vector import Vector, add, apply, apply_transposed, vector
from armdyn.names import one_line
from armdyn.remarks import Remark

# ------------------------------------------------------------------------------------------------------------
# A serial chain described anew, by Denavit–Hartenberg parameters: the same robot, other link frames.
#
# The joint variables, the pose of the tip in the world, torques and inertias stay the same functions;
# bodies, motors and fixed links are expressed in the new frames.


Placed = dict[str, Pose]  # by link: its old frame in the new one


def in_dh(model: RobotModel, convention: Convention) -> RobotModel:
    """The robot with its link frames where the convention has them; a robot that is in it stays as it is."""
    form = dh_form(model, convention)
    if all(Transform() == frame.T for frame in (form.base, *form.frames)):
        return model
    placed: Placed = {model.root: _turned_round(form.base, model)}
    placed |= {
        link.name: _turned_round(frame, model) for link, frame in zip(model.moving, form.frames, strict=True)
    }
    rows = dict(zip((link.name for link in model.moving), form.rows, strict=True))
    parents = dict(zip(rows, (model.root, *rows), strict=False))
    links = tuple(
        _moving(link, rows[link.name], parents[link.name], convention, placed)
        if link.name in rows
        else _fixed(link, placed, model)
        for link in model.links
    )
    base = tidy(model.base @ form.base.T, form.base.exact, model)
    tool = model.tool
    if model.tip in placed:
        old = placed[model.tip]
        tool = tidy(old.T @ tool, old.exact, model)
    gravity = _vector(apply_transposed(form.base.T.R, model.gravity), form.base.exact)
    loops = tuple(_loop(loop, placed, model) for loop in model.loops)
    springs = tuple(_spring(spring, placed) for spring in model.springs)
    return replace(
        model,
        links=links,
        base=base,
        tool=tool,
        gravity=gravity,
        loops=loops,
        springs=springs,
        remarks=(*model.remarks, *map(Remark, form.notes)),
    )


def tool_of(model: RobotModel, form: DhForm, place: Transform) -> Transform:
    """The tip frame in the last DH frame; `place` is the tip's link in the last moving link."""
    last = form.frames[-1]
    old = _turned_round(last, model)
    return tidy(old.T @ place @ model.tool, old.exact, model)


def transform_of(row: FoundRow, convention: Convention) -> Transform:
    """The constant part of a row's transform."""
    turn = row.theta.about(Z) @ Transform.translation(0, 0, row.d)
    if convention == "dh":
        return turn @ Transform.translation(row.a, 0, 0) @ row.alpha.about(X)
    return row.alpha.about(X) @ Transform.translation(row.a, 0, 0) @ turn


def tidy(T: Transform, exact: bool, model: RobotModel) -> Transform:
    """A transform as it is, or with its angles in decimals where it is not exact."""
    if exact:
        return T
    R = [[model.number(x) for x in row] for row in T.R]
    angles = vector(rounded(x) for x in numeric_rpy(R, flat=TOLERANCE))
    return frame(_vector(T.p, exact=False), angles)


def _turned_round(frame: Pose, model: RobotModel) -> Pose:
    """The old frame in the new one; in decimals where that is not exact."""
    T = inverse(frame.T)
    if frame.exact:
        return Pose(T)
    R = vector(vector(rounded(model.number(x)) for x in row) for row in T.R)
    return Pose(Transform(R, _vector(T.p, exact=False)), exact=False)


def _vector(v: Vector, exact: bool) -> Vector:
    return v if exact else vector(rounded(x) for x in v)


def _moving(link: Link, row: FoundRow, parent: str, convention: Convention, placed: Placed) -> Link:
    T = transform_of(row, convention)
    before, after = (Transform(), T) if convention == "dh" else (T, Transform())
    old = placed[link.name]
    return replace(
        link,
        parent=parent,
        before=before,
        axis=Z,
        after=after,
        inertia=_body(link.inertia, old),
        motor=_motor(link.motor, placed),
    )


def _fixed(link: Link, placed: Placed, model: RobotModel) -> Link:
    """The fixed link, which stays where it is on its parent."""
    old = placed.get(link.parent)
    if old is None:
        return link
    return replace(link, before=tidy(old.T @ link.before, old.exact, model))


def _body(inertia: Inertia, old: Pose) -> Inertia:
    found = inertia.placed(old.T.R, old.T.p)
    return found if old.exact else Inertia.of([rounded(x) for x in found.entries])


def _motor(motor: Motor | None, placed: Placed) -> Motor | None:
    """The motor in the new frame of its carrier; fixed links keep theirs."""
    if motor is None or motor.carrier not in placed:
        return motor
    old = placed[motor.carrier]
    axis = apply(old.T.R, motor.axis)
    if not old.exact:
        axis = unit_vector([Expression.of(rounded(x)) for x in axis])
    return replace(motor, axis=axis, position=_point(motor.position, old))


def _point(p: Vector, old: Pose | None) -> Vector:
    """A point of a link in the link's new frame; None: it has kept its frame."""
    return p if old is None else _vector(add(apply(old.T.R, p), old.T.p), old.exact)


def _spring(spring: PointSpring, placed: Placed) -> PointSpring:
    a, b = (_point(p, placed.get(name)) for name, p in zip(spring.between, spring.at, strict=True))
    return replace(spring, at=(a, b))


def _loop(loop: ClosingJoint, placed: Placed, model: RobotModel) -> ClosingJoint:
    frames = []
    for name, T in zip(loop.between, loop.at, strict=True):
        old = placed.get(name)
        frames.append(T if old is None else tidy(old.T @ T, old.exact, model))
    return replace(loop, at=(frames[0], frames[1]))


# ------------------------------------------------------------------------------------------------------------
# The table.


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
        return "\n".join([title, *(line.rstrip() for line in lines), *self.footnotes])

    @property
    def footnotes(self) -> list[str]:
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
    """Words and the text between them."""
    return re.findall(r"\w+|\W+", text)
