"""Base parameters: the combinations of dynamic parameters that the torques of a robot depend on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from armdyn.display import Shown
from armdyn.exact import base
from armdyn.exact.base import BaseEquations, Grouping, Zeros, considered, exact_grouping, written_values
from armdyn.exact.basis import Basis
from armdyn.exact.printing import document
from armdyn.exact.printing.styles import LATEX, PAGE, TEXT
from armdyn.exact.ring import SizeError
from armdyn.expression import ArmdynError, Expression, MissingValueError, shown
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers
from armdyn.model.errors import word
from armdyn.model.parameters import Parameter, layout
from armdyn.program import Program
from armdyn.progress import stage
from armdyn.robot.assembly import ClosedKernel
from armdyn.robot.functions import make_kernel
from armdyn.robot.joints import RobotLike
from armdyn.robot.postures import random_postures

# ---- from numbers: the regressor at random states, and what its columns span -------------------------------
#
# Geometry that is measured or rounded makes every column a little independent of the others. So the rank is
# that of a matrix whose columns have length 1, with a tolerance, and it is said how clear it is.


TOLERANCE = 1e-6  # of singular values, against the largest
CLEAR_GAP = 1e3  # between singular values that count and those that do not
CLEAR_VALUE = 1e-5  # a singular value that counts without doubt
_STATES = 40  # at least; joints take part alike
_EQUATIONS = 5  # times as many as columns
_ROUNDING = 1e-11  # of coefficients, where no singular value is larger
_ZERO = 1e-12  # of a column, against the longest of all


@dataclass(frozen=True)
class Rank:
    """The rank of a regressor with columns of length 1; singular values are against the largest."""

    rank: int
    singular_values: np.ndarray
    tolerance: float

    @property
    def smallest_kept(self) -> float:
        """The smallest singular value that counts."""
        return float(self.singular_values[self.rank - 1]) if self.rank else 1.0

    @property
    def largest_dropped(self) -> float:
        """The largest singular value that does not count; 0 if all do."""
        rest = self.singular_values[self.rank :]
        return float(rest[0]) if len(rest) else 0.0

    @property
    def gap(self) -> float:
        """The one divided by the other."""
        return self.smallest_kept / self.largest_dropped if self.largest_dropped else np.inf

    @property
    def is_clear(self) -> bool:
        return self.gap >= CLEAR_GAP and self.smallest_kept >= CLEAR_VALUE

    def __str__(self) -> str:
        dropped = f"largest dropped {self.largest_dropped:.1e}" if self.largest_dropped else "none dropped"
        return (
            f"rank {self.rank}, tolerance {self.tolerance:.0e}, smallest singular value kept "
            f"{self.smallest_kept:.1e}, {dropped}"
        )


@dataclass(frozen=True)
class SampledRegressor:
    """Columns of the regressor at random states, each scaled to length 1 unless it is zero."""

    W: np.ndarray  # (equations, columns)
    lengths: np.ndarray  # before the columns were scaled; 0 for those that count as zero
    tolerance: float

    @staticmethod
    def of(
        regressor: Callable[[Any, Any, Any], np.ndarray],
        joints: Sequence[str],
        columns: Sequence[Parameter],
        tolerance: float = TOLERANCE,
        postures: Callable[[np.random.Generator, int], np.ndarray] | None = None,
    ) -> SampledRegressor:
        """`regressor` (..., n, columns) at states (..., n); `joints` are "revolute" or "prismatic".

        `postures` draws q (count, n), where not any will do.
        """
        n, p = len(joints), len(columns)
        if not p:
            return SampledRegressor(np.zeros((0, 0)), np.zeros(0), tolerance)
        states = max(_STATES, -(-_EQUATIONS * p // max(n, 1)))
        rng = np.random.default_rng(1)
        reach = np.array([np.pi if kind == "revolute" else 1.0 for kind in joints])
        q, qd, qdd = (rng.uniform(-x, x, (states, n)) for x in (reach, np.full(n, 3.0), np.full(n, 9.0)))
        if postures is not None:
            q = postures(rng, states)
        qd[1::2] *= 10.0 ** rng.uniform(-3, 0, qd[1::2].shape)  # slow as well, where friction may change
        W = np.asarray(regressor(q, qd, qdd)).reshape(-1, p)
        lengths = np.linalg.norm(W, axis=0)
        lengths[_are_zero(lengths, columns, tolerance)] = 0
        scale = np.where(lengths > 0, lengths, 1)
        return SampledRegressor(np.where(lengths > 0, W / scale, 0), lengths, tolerance)

    @property
    def present(self) -> np.ndarray:
        """The columns that are not zero."""
        return np.flatnonzero(self.lengths)

    def rank(self) -> Rank:
        """By singular values."""
        if not len(self.present):
            return Rank(0, np.zeros(0), self.tolerance)
        values = np.linalg.svd(self.W[:, self.present], compute_uv=False)
        values = values / values[0]
        return Rank(int((values > self.tolerance).sum()), values, self.tolerance)

    def dependent(self) -> dict[int, dict[int, float]]:
        """For each column that depends on independent ones before it, its coefficients in these."""
        rank = self.rank()
        kept = self._independent(rank)
        rounding = max(_ROUNDING, 10 * rank.largest_dropped)
        others = [int(j) for j in self.present if j not in kept]
        x = np.linalg.lstsq(self.W[:, kept], self.W[:, others], rcond=None)[0]
        return {
            j: {
                p: float(c * self.lengths[j] / self.lengths[p])
                for p, c in zip(kept, solution, strict=True)
                if abs(c) > rounding
            }
            for j, solution in zip(others, x.T, strict=True)
        }

    def _independent(self, rank: Rank) -> list[int]:
        """As many columns as the rank, if a threshold for what is new in a column gives so many.

        The first threshold lies between the singular values kept and dropped; others are tried around it.
        """
        low, high = 1e-14, 1.0
        threshold = np.sqrt(max(rank.largest_dropped, 1e-14) * rank.smallest_kept)
        for _ in range(50):
            kept = independent(self.W, threshold)
            if len(kept) == rank.rank:
                break
            low, high = (threshold, high) if len(kept) > rank.rank else (low, threshold)
            threshold = np.sqrt(low * high)
        return kept


def independent(W: np.ndarray, threshold: float) -> list[int]:
    """Columns, in order, whose part orthogonal to those taken before is longer than the threshold.

    Columns of W (rows, p) have length 1 or 0 (Gram and Schmidt's method).
    """
    kept: list[int] = []
    Q = np.empty((len(W), min(W.shape)))
    for j in np.flatnonzero(W.any(0)):
        new, basis = W[:, j].copy(), Q[:, : len(kept)]
        for _ in range(2):  # once leaves rounding errors of the size of what is taken off
            new -= basis @ (basis.T @ new)
        size = np.linalg.norm(new)
        if size > threshold and len(kept) < Q.shape[1]:
            Q[:, len(kept)] = new / size
            kept.append(int(j))
    return kept


def _are_zero(lengths: np.ndarray, columns: Sequence[Parameter], tolerance: float) -> np.ndarray:
    """Which columns are zero: against the longest with the same unit, and against the longest of all."""
    units = [_unit(parameter) for parameter in columns]
    longest = {unit: max(x for x, u in zip(lengths, units, strict=True) if u == unit) for unit in set(units)}
    bound = np.array([max(tolerance * longest[u], _ZERO * lengths.max(initial=0)) for u in units])
    return np.asarray(lengths <= bound)


def _unit(parameter: Parameter) -> str:
    """What can be compared: masses, first moments, tensors, rotors; each term of friction."""
    kind = parameter.kind
    return f"body {len(kind.entry)} {kind.entry[0]}" if kind.part == "body" else f"{kind.part} {kind.entry}"


# ---- what is found -----------------------------------------------------------------------------------------

Route = Literal["exact", "numeric"]
_WHOLE = 1e-10  # a number this near to a whole one is that
_SAME = 1e-6  # of a row's largest coefficient: how far exact ones may be from those found in numbers
LABEL = 40  # characters of a label
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _short(text: str) -> str:
    """A number of four digits, without an exponent where it is large."""
    if "." not in text:
        return text
    return f"{float(text):.4g}" if abs(float(text)) < 1e4 else str(round(float(text)))


_LABELS = replace(
    TEXT,
    numeral=_short,
    times="·",
    minus=" − ",
    negative="−",
    power=lambda x, e: x if e == 1 else x + str(e).translate(_RAISED),
    quotient=lambda above, below: f"{above}/" + (below[0] if len(below) == 1 else f"({'·'.join(below)})"),
)


class BaseParameterWarning(UserWarning):
    """How many base parameters a robot has is not clear."""


class BaseParameters(Shown):
    """What the torques depend on: τ = Y π = Y_b π_b, π_b = matrix @ π, with as few π_b as there can be.

    b base parameters follow from the p parameters of the robot. Each has a leading parameter, whose column of
    the regressor is kept; other parameters of its combination add to it.
    """

    def __init__(
        self, robot: RobotLike, grouping: Grouping, route: Route, rank: Rank | None, asked: tuple[Zeros, bool]
    ) -> None:
        self.robot = robot
        self.grouping = grouping  # exact coefficients, by row
        self.asked = asked  # zeros, and whether friction counts
        self.route = route  # how they were found: "exact" or "numeric"
        self.rank = rank  # of the regressor in numbers; None where symbols have no values

    def __len__(self) -> int:
        """b."""
        return len(self.grouping.rows)

    # ---- by name ---------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """pi1 … pib."""
        return tuple(base.name(k) for k in range(len(self)))

    @property
    def combinations(self) -> tuple[str, ...]:
        """How each is written in the robot's parameters: "Izz1 - a1**2*m1 + …"."""
        return tuple(TEXT.sum(base.combination(self.grouping, row)) for row in self.grouping.rows)

    def labels(self, width: float = LABEL) -> tuple[str, ...]:
        """How each reads in a table: "Izz2 − a2²·m2"; of a wider one the first terms, and "…".

        Coefficients are in the symbols of the description where it has them, else numbers of four digits.
        """
        rows = self._written.rows
        return tuple(_cut(base.combination(self._written, row, _LABELS), width) for row in rows)

    @cached_property
    def _written(self) -> Grouping:
        """The grouping in the symbols of the description, where these give the numbers that were found."""
        found, model = self.grouping, self.robot.model
        if self.route == "exact" or not model.symbols or _no_closed_form(self.robot):
            return found
        try:
            exact = exact_grouping(model, *self.asked)
        except SizeError:
            return found
        rows = zip(found.rows, exact.rows, strict=False)
        alike = exact.leading == found.leading and all(_are_alike(model.number, *pair) for pair in rows)
        return exact if alike else found

    @property
    def leading(self) -> tuple[str, ...]:
        """The leading parameter of each."""
        return self._named(self.grouping.leading)

    @property
    def absent(self) -> tuple[str, ...]:
        """Parameters that never appear in the torques."""
        return self._named(self.grouping.absent)

    @property
    def alone(self) -> tuple[str, ...]:
        """Parameters that are base parameters by themselves."""
        return self._named(self.grouping.alone)

    @property
    def combined(self) -> tuple[str, ...]:
        """Parameters that appear only in combinations."""
        return self._named(self.grouping.combined)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters not asked about: friction, and with zeros="given" those that are zero; never springs.

        Load friction is always left out: the torque is not linear in its coefficients.
        """
        return self._named(self.grouping.left_out)

    def _named(self, parameters: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.grouping.layout[p].name for p in parameters)

    # ---- as numbers ------------------------------------------------------------------------------------

    @cached_property
    def matrix(self) -> np.ndarray:
        """(b, p): base parameters from all parameters. Columns of parameters left out are zero."""
        found = np.zeros((len(self), len(self.grouping.layout)))
        for k, row in enumerate(self.grouping.rows):
            for p, x in row.items():
                found[k, p] = self.robot.model.number(x)
        return found

    @cached_property
    def right_inverse(self) -> np.ndarray:
        """(p, b): parameters that have given base parameters, by the leading ones alone.

        matrix @ right_inverse is the identity, Y @ right_inverse is Y_b.
        """
        found = np.zeros((len(self.grouping.layout), len(self)))
        found[list(self.grouping.leading), range(len(self))] = 1
        return found

    @property
    def values(self) -> np.ndarray:
        """(b,): what they are for this robot."""
        return np.asarray(self.matrix @ self.robot.parameters)

    @cached_property
    def expressions(self) -> tuple[Expression, ...]:
        """What they are in the symbols of the description, exactly."""
        return tuple(written_values(self.grouping, Basis(self.robot.model).parameters))

    # ---- the regressor ---------------------------------------------------------------------------------

    def regressor(self, q: Numbers, qd: Numbers, qdd: Numbers, *, out: Floats | None = None) -> Floats:
        """Y_b, (..., n, b): tau = Y_b @ values, without what was left out."""
        state = (q, qd, qdd)
        if not len(self):  # NumPy's gufuncs have no empty axes
            return np.asarray(self._kernel.on("evaluator")(state, out))
        found: Floats = self._kernel.call(state, out)
        return found

    @property
    def program(self) -> Program:
        """The straight-line program of `regressor`, to count its operations or to write it as C.

        Of a robot with loops its input q is that of all positions, `robot.assembly(q)`.
        """
        return self._kernel.program

    @cached_property
    def _kernel(self) -> Kernel:
        kept = tuple(self.grouping.layout[p] for p in self.grouping.leading)
        kernel = make_kernel("regressor", self.robot.mechanism, kept)
        return ClosedKernel(kernel, self.robot.assembly) if self.robot.mechanism.loops else kernel

    def equations(self) -> BaseEquations:
        """τ = Y_b π_b exactly: `.regressor` (n, b), `.text()`, `.latex()`, `.markdown()`."""
        return BaseEquations(self.robot.model, self.grouping)

    # ---- to read ---------------------------------------------------------------------------------------

    def text(self) -> str:
        """Every base parameter and what never appears, as plain text; also `str(base)`."""
        return document.text(self._title, base.sections(self.grouping, TEXT, self._notes))

    def latex(self, width: str = PAGE) -> str:
        """The same as LaTeX (amsmath), in rows of at most a width."""
        return document.latex(self._title, base.sections(self.grouping, LATEX, self._notes), width)

    def markdown(self, width: str = PAGE) -> str:
        """The same as Markdown with formulas, in rows of at most a width."""
        return document.markdown(self._title, base.sections(self.grouping, LATEX, self._notes), width)

    @property
    def _title(self) -> str:
        return f"{self.robot.name}: base parameters"

    @property
    def _notes(self) -> list[str]:
        return [f"Found in numbers: {self.rank}."] if self.route == "numeric" else []

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        considered = len(self.grouping.considered)
        return f"<BaseParameters of '{self.robot.name}': {len(self)} of {considered}, {self.route}>"

    def __getstate__(self) -> dict[str, Any]:
        return {key: x for key, x in vars(self).items() if key != "_kernel"}


def _cut(terms: Sequence[str], width: float) -> str:
    """A sum, or its first terms where it is wider."""
    for count in range(len(terms), 1, -1):
        text = _LABELS.sum(terms[:count]) + " …" * (count < len(terms))
        if len(text) <= width:
            return text
    return _LABELS.sum(terms[:1]) + " …" * (len(terms) > 1)


def _are_alike(
    number: Callable[[Expression], float], one: dict[int, Expression], other: dict[int, Expression]
) -> bool:
    """Whether two combinations have the same coefficients."""
    a, b = ({p: number(x) for p, x in row.items()} for row in (one, other))
    most = _SAME * max(map(abs, a.values()))
    return all(abs(a.get(p, 0.0) - b.get(p, 0.0)) <= most for p in a.keys() | b.keys())


# ---- making ------------------------------------------------------------------------------------------------


def _no_closed_form(robot: RobotLike) -> str:
    """What of a robot has no closed form, and why; empty if nothing."""
    if robot.model.loops:
        return "loops, whose joints follow by equations that have no closed form"
    return "springs between points, whose lengths are not polynomials" if robot.model.springs else ""


@stage("base parameters")
def base_parameters(
    robot: RobotLike, zeros: Zeros, friction: bool, route: Route | None, tolerance: float
) -> BaseParameters:
    """By the route asked for; without one, exactly unless the equations are too large for that.

    Springs between points, whose lengths are not polynomials, and loops take numbers.
    """
    word("zeros", zeros, ("free", "given"))
    if route is not None:
        word("route", route, ("exact", "numeric"))
    asked: Any = friction
    if not isinstance(asked, bool):
        raise ArmdynError(f"friction: found {shown(friction)}; allowed: True, False")
    given: Any = tolerance
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < 1:
        raise ArmdynError(f"tolerance: found {shown(tolerance)}; a number between 0 and 1 is expected")
    columns = considered(robot.model, zeros, friction)
    if reason := _no_closed_form(robot):
        if route == "exact":
            raise ArmdynError(
                f"route: found 'exact', but '{robot.name}' has {reason}; allowed: 'numeric' or none"
            )
        route = "numeric"
    if route != "numeric":
        try:
            return _exact(robot, columns, zeros, friction, tolerance)
        except SizeError:
            if route == "exact" or any(value is None for value in robot.symbols.values()):
                raise
    return _numeric(robot, columns, tolerance, (zeros, friction))


def _exact(
    robot: RobotLike, columns: Sequence[int], zeros: Zeros, friction: bool, tolerance: float
) -> BaseParameters:
    """Compared with the rank in numbers, where there are numbers."""
    grouping = exact_grouping(robot.model, zeros, friction)
    try:
        rank = _sampled(robot, columns, tolerance).rank()
    except MissingValueError:
        return BaseParameters(robot, grouping, "exact", None, (zeros, friction))
    b = len(grouping.rows)
    if rank.rank != b:
        _warn(
            f"'{robot.name}' has {b} base parameters exactly, for general values of its symbols, but "
            f"{rank.rank} in numbers ({rank}). Rounded angles do this (load with snap=True), and symbols "
            'with special values; route="numeric" takes the numbers as they are'
        )
    elif not rank.is_clear:
        _warn(f"'{robot.name}' has {b} base parameters, but in numbers that is not clear: {rank}")
    return BaseParameters(robot, grouping, "exact", rank, (zeros, friction))


def _numeric(
    robot: RobotLike, columns: Sequence[int], tolerance: float, asked: tuple[Zeros, bool]
) -> BaseParameters:
    sampled = _sampled(robot, columns, tolerance)
    rank = sampled.rank()
    dependent = {
        columns[j]: {columns[k]: _number(x) for k, x in row.items()} for j, row in sampled.dependent().items()
    }
    absent = {p for p, length in zip(columns, sampled.lengths, strict=True) if not length}
    grouping = Grouping.of(layout(robot.model), columns, absent, dependent)
    if not rank.is_clear or len(grouping.rows) != rank.rank:
        _warn(
            f"how many base parameters '{robot.name}' has is not clear in numbers: {rank}; another tolerance "
            "may be in place"
        )
    return BaseParameters(robot, grouping, "numeric", rank, asked)


def _sampled(robot: RobotLike, columns: Sequence[int], tolerance: float) -> SampledRegressor:
    wanted = layout(robot.model)
    kept = tuple(wanted[p] for p in columns)
    kernel = make_kernel("regressor", robot.mechanism, kept).on("evaluator")  # once: not worth compiling
    joints = [link.joint for link in robot.model.coordinates]
    if not robot.mechanism.loops:
        return SampledRegressor.of(lambda *state: kernel(state, None), joints, kept, tolerance)
    return SampledRegressor.of(
        lambda q, qd, qdd: kernel((robot.assembly(q), qd, qdd), None),
        joints,
        kept,
        tolerance,
        postures=lambda rng, count: random_postures(robot.assembly, rng, count),
    )


def _number(x: float) -> Expression:
    whole = round(x)
    return Expression.of(whole if abs(x - whole) < _WHOLE * max(1, abs(x)) else x)


def _warn(message: str) -> None:
    warnings.warn(message, BaseParameterWarning, stacklevel=5)
