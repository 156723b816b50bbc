"""`optimise`: the values of a robot's symbols for which an objective is least, found with exact gradients.

Where to read on: what can be minimised is in `measures`, states along motions and how they follow the
symbols in `courses`. SciPy's SLSQP or trust-constr looks for the minimum, in scaled unknowns: a symbol in
parts of its range, the objective and each constraint in parts of their size at the start. What was found is
judged here, by the first-order conditions, whatever SciPy says of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.optimize import BFGS, Bounds, NonlinearConstraint, lsq_linear, minimize

from armdyn.expression import ArmdynError, shown
from armdyn.names import listed
from armdyn.progress import Update, progress_bar
from armdyn.robot import Robot
from armdyn.studies.courses import Family, OutOfReach
from armdyn.studies.errors import StudyError, check
from armdyn.studies.measures import Constraint, Design, Largest, Measure, Value, measure

Method: TypeAlias = Literal["SLSQP", "trust-constr"]
Objective: TypeAlias = Measure | Largest | str

NEAR = 1e-6  # of its size: a bound this close is reached
KEPT = 1e-6  # of its size: a constraint exceeded by no more is kept
STATIONARY = 1e-5  # of the objective, over the whole range of a symbol: a slope that is none
ENDLESS = 1e9  # of the range of a symbol, or of its start: beyond it there is no end
BEYOND = 1e10  # in the place of an objective that has no value
UNMOVED = 1e-10  # of the range of a symbol
EDGED = 1e-3  # of the objective: not worth another start where designs beside it are out of the tip's reach
SETTLED = 1e-8  # below this SciPy is not started again from what it found with a new estimate of curvature
SMALL = 1e-6  # of the objective at the start, squared where it is a root: nothing is left of it
POLISHING = 50  # iterations


# ------------------------------------------------------------------------------------------------------------
# What is found.


@dataclass(frozen=True)
class Active:
    """A bound that the best design reaches: without it the objective could be less."""

    text: str  # such as "a2 <= 0.6", or what a constraint is about
    value: float
    sensitivity: float  # change of the objective for each unit that the bound is raised

    def __str__(self) -> str:
        return f"{self.text}: {self.sensitivity:+.4g} of the objective for each unit that the bound is raised"


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best design found: the robot with its values, the objective before and after, what holds it back.

    `converged`: the constraints are kept, and to first order no change of the free symbols within their
    bounds makes the objective less: `slope` is what is left, in parts of the objective over the whole range
    of a symbol. It is a minimum near the start; another start may lead to another.
    """

    robot: Robot
    values: dict[str, float]
    start: dict[str, float]
    objective: float
    objective_at_start: float
    text: str = field(repr=False)  # of the objective
    active: tuple[Active, ...] = field(repr=False)
    converged: bool
    message: str
    slope: float = field(repr=False)
    exceeded: float = field(repr=False)  # the largest excess of a constraint, in parts of its size
    iterations: int = field(repr=False)
    evaluations: int = field(repr=False)
    idle: tuple[str, ...] = field(default=(), repr=False)  # symbols that change nothing that was asked for

    def __str__(self) -> str:
        widths = max(map(len, self.values), default=0)
        lines = [f"{self.text}: {self.objective_at_start:.6g} -> {self.objective:.6g}"]
        lines += [
            f"  {name.ljust(widths)}  {self.start[name]:.6g} -> {x:.6g}" for name, x in self.values.items()
        ]
        lines += [f"at its bound: {one}" for one in self.active]
        if self.idle:
            lines.append(f"neither the objective nor a constraint depends on {listed(list(self.idle))}")
        return "\n".join([*lines, self.message])


# ------------------------------------------------------------------------------------------------------------
# The function.


def optimise(
    robot: Robot,
    free: Mapping[str, tuple[float | None, float | None]] | Sequence[str],
    objective: Objective,
    subject_to: Sequence[Constraint | str] | Constraint | str = (),
    *,
    start: Mapping[str, float] | None = None,
    method: Method = "SLSQP",
    iterations: int = 200,
    progress: bool | Update | None = None,
) -> Optimum:
    """The robot whose free symbols make an objective least, within bounds and constraints.

        >>> best = optimise(
        ...     robot,
        ...     {"a1": (0.2, 0.8), "a2": (0.2, 0.8)},
        ...     rms_torque(TipMotion(motion)).norm(),
        ...     ["a1 + a2 <= 1.1"],
        ... )
        >>> best.robot.save("better.toml")

    `free` are symbols of the robot with their bounds, None for none; a list of names has no bounds. The
    objective is a measure (`rms_torque`, `energy`, `potential_spread`, `mass`, …), a weighted sum of some,
    the `largest()` of one, or an expression in symbols. `subject_to` are constraints, `measure <= number`
    or text such as "a1 + a2 <= 1.1". `start` gives values to begin with in the place of the robot's own;
    motions of the tip are always those of the robot as given. `method`: "SLSQP", or "trust-constr", which
    takes longer and may find its way where the first does not. `progress` shows or hides the display, or is
    called with the part of the `iterations` that is done.
    """
    check.robot(robot)
    check.one_of("method", method, "SLSQP", "trust-constr")
    most = check.whole_number("iterations", iterations, least=1)
    symbols = _symbols(robot, free, start)
    problem = _Scaled(symbols, objective, subject_to)
    with progress_bar("optimise", progress) as update:
        found = problem.solved(method, most, update)
    return problem.judged(*found)


@dataclass(frozen=True)
class _Symbols:
    """The free symbols: the robot as given, bounds and values to start with."""

    robot: Robot
    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray

    @cached_property
    def scale(self) -> np.ndarray:
        """What counts as one: the whole range, or the size of the start."""
        width = self.upper - self.lower
        size = np.where(self.start != 0, np.abs(self.start), 1.0)
        return np.where(np.isfinite(width), width, size)


def _symbols(robot: Robot, free: Any, start: Any) -> _Symbols:
    bounds = _bounds(robot, free)
    given = {} if start is None else start
    if not isinstance(given, Mapping):
        raise StudyError(f"start: expected values by symbol, found {shown(start)}")
    if unknown := [name for name in given if name not in bounds]:
        raise StudyError(f"start: {shown(unknown[0])} is not among the free symbols: {listed(list(bounds))}")
    values = {name: robot.symbols[name] for name in bounds} | {
        name: check.number(f"start: {name}", x) for name, x in given.items()
    }
    if missing := [name for name, x in values.items() if x is None]:
        raise StudyError(f"{listed(missing)}: no value to start with; start={{{missing[0]!r}: …}} gives one")
    begin = np.array([values[name] for name in bounds], float)
    for (name, (low, high)), x in zip(bounds.items(), begin, strict=True):
        if np.isnan(x):
            raise StudyError(f"start: {name}: found nan; a number is expected")
        if not low <= x <= high:
            raise StudyError(
                f"{name}: it starts at {x:g}, outside of its bounds {low:g} … {high:g}; start=… moves it"
            )
    valueless = {name: values[name] for name in bounds if robot.symbols[name] is None}
    return _Symbols(
        robot.with_symbols(valueless) if valueless else robot,
        tuple(bounds),
        np.array([low for low, _ in bounds.values()]),
        np.array([high for _, high in bounds.values()]),
        begin,
    )


def _bounds(robot: Robot, free: Any) -> dict[str, tuple[float, float]]:
    """Bounds by symbol."""
    if isinstance(free, str) or not isinstance(free, Mapping | Sequence) or not free:
        raise StudyError(
            f"free: found {shown(free)}; bounds by symbol, {{'a2': (0.2, 0.6)}}, or a list of symbols is "
            "expected"
        )
    given = dict(free) if isinstance(free, Mapping) else dict.fromkeys(free, (None, None))
    if unknown := [name for name in given if name not in robot.symbols]:
        raise StudyError(
            f"free: {listed(list(map(str, unknown)))}: no {'symbol' if len(unknown) == 1 else 'symbols'} of "
            f"this robot; its symbols: {listed(list(robot.symbols)) or 'none'}"
        )
    found = {}
    for name, pair in given.items():
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise StudyError(f"{name}: found {shown(pair)}; two bounds, (lower, upper), are expected")
        low = -np.inf if pair[0] is None else check.number(f"{name}: lower bound", pair[0])
        high = np.inf if pair[1] is None else check.number(f"{name}: upper bound", pair[1])
        if np.isnan([low, high]).any():
            raise StudyError(f"{name}: found {shown(pair)}; bounds are numbers, or None for none")
        if not low < high:
            raise StudyError(f"{name}: found bounds {low:g} … {high:g}; the lower one comes first")
        found[name] = (low, high)
    return found


# ------------------------------------------------------------------------------------------------------------
# The problem in scaled unknowns.
#
# Unknowns are y = (s − start)/scale, and with the largest number of a measure as the objective one more: a
# bound of all its numbers, in parts of the objective at the start, which is what is minimised.


@dataclass(frozen=True)
class _Point:
    """The problem at one design: the objective and all constraints, scaled, and how to find derivatives."""

    objective: float  # scaled
    rows: np.ndarray  # of all constraints, scaled
    values: list[Value]  # the objective's and the constraints'


class _Scaled:
    def __init__(self, symbols: _Symbols, objective: Any, subject_to: Any) -> None:
        self.symbols = symbols
        self.family = Family(symbols.robot, symbols.names)
        self.largest = isinstance(objective, Largest)
        self.objective = objective.of if isinstance(objective, Largest) else measure(objective)
        self.text = objective.text if isinstance(objective, Largest) else self.objective.text
        self.minimised = self.objective
        if not self.largest and self.objective.square is not None:
            self.minimised = self.objective.square  # as small, and smooth where it is zero
        given = [subject_to] if isinstance(subject_to, Constraint | str) else list(subject_to)
        self.constraints = [_constraint(x) for x in given]
        self.evaluations = 0
        self._last: tuple[np.ndarray, _Point | None] | None = None
        self._good: tuple[np.ndarray, _Point] | None = None
        self._slopes: tuple[_Point, np.ndarray, np.ndarray] | None = None
        self._lost = ""  # why the last design that the tip ruled out was
        self._scale_at_start()
        self._check_slopes()

    def _scale_at_start(self) -> None:
        """Sizes of the objective and of the constraints, and their bounds; a start must have values."""
        s = self.symbols
        try:
            s.robot.with_symbols(dict(zip(s.names, s.start.tolist(), strict=True)))
        except ArmdynError as error:
            raise StudyError(f"start: {error}") from None
        try:
            design = Design(self.family, s.start)
            first, rows = self.minimised.at(design), [c.of.at(design) for c in self.constraints]
        except OutOfReach as lost:
            raise StudyError(f"start: the tip cannot go where it has to, at {lost.why}") from None
        if not self.largest and first.x.size != 1:
            raise StudyError(
                f"objective: {self.text} is {first.x.size} numbers, {first.x.shape}; sum(), norm() and "
                "largest() make one"
            )
        for what, value in [
            (self.text, first),
            *((c.text, x) for c, x in zip(self.constraints, rows, strict=True)),
        ]:
            if not np.isfinite(value.x).all():
                raise StudyError(
                    f"start: {what} is {value.x[~np.isfinite(value.x)].flat[0]} there; a number is needed"
                )
        self.size = float(np.abs(first.x).max()) or 1.0
        self.shapes = [x.x.shape for x in rows]
        self.lower, self.upper, self.sizes = [], [], []
        for constraint, value in zip(self.constraints, rows, strict=True):
            low = _wide(constraint, constraint.lower, -np.inf, value)
            high = _wide(constraint, constraint.upper, np.inf, value)
            bound = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in (low, high)]
            size = max(*bound, 0.0) or float(np.abs(value.x).max()) or 1.0
            self.lower.append(low / size)
            self.upper.append(high / size)
            self.sizes.append(size)
        self.first_objective = float(np.max(self.objective.at(design).x))

    def _check_slopes(self) -> None:
        """A start must have derivatives, too."""
        gradient, jacobian = self._slopes_at(self.start)
        for what, row in ((self.text, gradient), *((self._row_text(i), x) for i, x in enumerate(jacobian))):
            if not np.isfinite(row).all():
                name = self.symbols.names[int(np.argmin(np.isfinite(row)))]
                raise StudyError(
                    f"start: {what} has no derivative by {name!r} there; start=… begins elsewhere"
                )

    # ---- at a design -----------------------------------------------------------------------------------

    @property
    def start(self) -> np.ndarray:
        zero = np.zeros(len(self.symbols.names))
        return np.append(zero, 1.0) if self.largest else zero

    def values(self, y: np.ndarray) -> np.ndarray:
        """The symbols' values, within their bounds to the last digit."""
        s = self.symbols
        return np.asarray(np.clip(s.start + s.scale * y[: len(s.names)], s.lower, s.upper))

    def point(self, y: np.ndarray) -> _Point | None:
        """The problem at a design; None where it has no value."""
        s = self.values(y)
        if self._last is None or not np.array_equal(self._last[0], s):
            self._last = s, self._evaluated(s)
            if self._last[1] is not None:
                self._good = s, self._last[1]
        return self._last[1]

    def _evaluated(self, s: np.ndarray) -> _Point | None:
        self.evaluations += 1
        try:
            design = Design(self.family, s)
            values = [self.minimised.at(design), *(c.of.at(design) for c in self.constraints)]
        except OutOfReach as lost:
            self._lost = lost.why
            return None
        if not all(np.isfinite(x.x).all() for x in values):
            return None
        rows = [x.x.ravel() / size for x, size in zip(values[1:], self.sizes, strict=True)]
        if self.largest:
            rows.insert(0, values[0].x.ravel() / self.size)
        objective = float(values[0].x.max()) / self.size
        return _Point(objective, np.concatenate([np.zeros(0), *rows]), values)

    def slopes(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives for SciPy; those that are no numbers, as where a spring has no length, are zero."""
        gradient, jacobian = self._slopes_at(y)
        return np.nan_to_num(gradient), np.nan_to_num(jacobian)

    def _slopes_at(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the objective and the Jacobian of the rows, by the scaled unknowns."""
        point = self.point(y)
        if point is None:  # SciPy asks only where it stays; there was a value there or nowhere
            assert self._good is not None
            point = self._good[1]
        if self._slopes is None or self._slopes[0] is not point:
            self._slopes = point, *self._derived(point)
        _, gradient, jacobian = self._slopes
        return gradient, jacobian

    def _derived(self, point: _Point) -> tuple[np.ndarray, np.ndarray]:
        first, *others = point.values
        scale, k = self.symbols.scale, len(self.symbols.names)
        rows = [
            value.slopes().reshape(-1, k) * scale / size
            for value, size in zip(others, self.sizes, strict=True)
        ]
        if not self.largest:
            gradient = first.pull(np.ones(first.x.shape)) * scale / self.size
            return gradient, np.concatenate([np.zeros((0, k)), *rows])
        below = first.slopes().reshape(-1, k) * scale / self.size
        jacobian = np.concatenate([below, *rows])
        bound = np.append(-np.ones(len(below)), np.zeros(len(jacobian) - len(below)))
        return np.append(np.zeros(k), 1.0), np.column_stack([jacobian, bound])

    # ---- for SciPy -------------------------------------------------------------------------------------

    def f(self, y: np.ndarray) -> float:
        point = self.point(y)
        if point is None:
            return BEYOND
        return float(y[-1]) if self.largest else point.objective

    def rows(self, y: np.ndarray) -> np.ndarray:
        """All constraints; where they have no value, those of the last design that had one."""
        point = self.point(y)
        if point is None:
            assert self._good is not None
            point = self._good[1]
        rows = point.rows.copy()
        if self.largest:
            rows[: point.values[0].x.size] -= y[-1]
        return rows

    @cached_property
    def ranges(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the rows."""
        low, high = ([x.ravel() for x in side] for side in (self.lower, self.upper))
        if self.largest:
            assert self._good is not None
            n = self._good[1].values[0].x.size
            low, high = [np.full(n, -np.inf), *low], [np.zeros(n), *high]
        return np.concatenate([np.zeros(0), *low]), np.concatenate([np.zeros(0), *high])

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the unknowns."""
        s = self.symbols
        low, high = (s.lower - s.start) / s.scale, (s.upper - s.start) / s.scale
        return (np.append(low, -np.inf), np.append(high, np.inf)) if self.largest else (low, high)

    def solved(self, method: Method, most: int, update: Update) -> tuple[np.ndarray, int]:
        """The unknowns found, and how many iterations it took."""
        y, done = self.start, 0
        self.point(y)
        if method == "trust-constr":  # it ends inside of the bounds; the other then goes up to them
            y, done = self._trust_constr(y, most, update)
            most += POLISHING
        while True:
            self._lost, before = "", self.f(y)
            found, took = self._slsqp(y, most - done, partial(_told, update, done, most))
            done += took
            moved = np.abs(found - y).max()
            y = found if self.point(found) is not None else y
            settled = self.standing(y)[0] <= SETTLED and self.excess(y) <= SETTLED
            edged = bool(self._lost) and before - self.f(y) <= EDGED * abs(before)
            if done >= most or moved < UNMOVED or settled or edged:
                return y, done

    def _slsqp(self, y: np.ndarray, most: int, update: Callable[[int], None]) -> tuple[np.ndarray, int]:
        low, high = self.ranges
        equal = low == high
        above, below = np.isfinite(low) & ~equal, np.isfinite(high) & ~equal
        constraints = []
        if equal.any():
            constraints.append(
                {
                    "type": "eq",
                    "fun": lambda y: self.rows(y)[equal] - low[equal],
                    "jac": lambda y: self.slopes(y)[1][equal],
                }
            )
        if above.any() or below.any():
            constraints.append(
                {
                    "type": "ineq",
                    "fun": lambda y: np.append(
                        self.rows(y)[above] - low[above], high[below] - self.rows(y)[below]
                    ),
                    "jac": lambda y: np.vstack([self.slopes(y)[1][above], -self.slopes(y)[1][below]]),
                }
            )
        point, count = self.point(y), [0]
        unit = 1.0  # SLSQP ends at small changes of the objective: in parts of what is left of it
        if point is not None and not self.largest:
            unit = max(abs(point.objective), SMALL)

        def told(_: Any) -> None:
            count[0] += 1
            update(count[0])

        found = minimize(
            lambda y: self.f(y) / unit,
            y,
            jac=lambda y: self.slopes(y)[0] / unit,
            method="SLSQP",
            bounds=Bounds(*self.bounds),
            constraints=constraints,
            options={"maxiter": max(most, 1), "ftol": 1e-14},
            callback=told,
        )
        return np.asarray(found.x), int(found.nit)

    def _trust_constr(self, y: np.ndarray, most: int, update: Update) -> tuple[np.ndarray, int]:
        low, high = self.ranges
        constraints = []
        if len(low):
            rows = NonlinearConstraint(self.rows, low, high, jac=lambda y: self.slopes(y)[1], hess=BFGS())
            constraints.append(rows)

        def told(_: Any, state: Any) -> None:
            update(min(state.nit / most, 1.0))

        with (
            warnings.catch_warnings()
        ):  # SciPy warns of gradients that do not change, as of linear objectives
            warnings.simplefilter("ignore", UserWarning)
            found = minimize(
                self.f,
                y,
                jac=lambda y: self.slopes(y)[0],
                hess=BFGS(),
                method="trust-constr",
                bounds=Bounds(*self.bounds, keep_feasible=True),
                constraints=constraints,
                options={"maxiter": most, "gtol": 1e-7, "xtol": 1e-8, "barrier_tol": 1e-6},
                callback=told,
            )
        return np.asarray(found.x), int(found.nit)

    # ---- what was found --------------------------------------------------------------------------------

    def excess(self, y: np.ndarray) -> float:
        """The largest excess of a constraint, in parts of its size."""
        rows, (low, high) = self.rows(y), self.ranges
        return float(np.maximum(low - rows, rows - high).max(initial=0.0))

    def standing(self, y: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """What is left of the gradient, and multipliers of the unknowns' bounds and of the rows.

        They are the changes of the scaled objective for each unit that a bound is raised, found by least
        squares: ∇f = Σ λ ∇c over what is at its bound, λ ≤ 0 where that is the upper one.
        """
        gradient, jacobian = self._slopes_at(y)
        if not (np.isfinite(gradient).all() and np.isfinite(jacobian).all()):
            return np.nan, np.zeros(len(y)), np.zeros(len(jacobian))
        columns, least, most, place = [], [], [], []
        low, high = self.bounds
        for values, lows, highs, normals, first in (
            (y, low, high, np.eye(len(y)), 0),
            (self.rows(y), *self.ranges, jacobian, len(y)),
        ):
            at_low, at_high = values - lows <= NEAR, highs - values <= NEAR
            for i in np.flatnonzero(at_low | at_high):
                columns.append(normals[i])
                least.append(-np.inf if at_high[i] else 0.0)
                most.append(np.inf if at_low[i] else 0.0)
                place.append(first + i)
        multipliers = np.zeros(len(y) + len(jacobian))
        left = gradient
        if columns:
            A = np.array(columns).T
            found = lsq_linear(A, gradient, (least, most), method="bvls", tol=1e-14).x
            multipliers[place] = found
            left = gradient - A @ found
        point = self.point(y)
        now = abs(point.objective) if point is not None else 1.0
        size = 1.0 if self.largest else max(now, 1e-3)
        return float(np.abs(left).max()) / size, multipliers[: len(y)], multipliers[len(y) :]

    def judged(self, y: np.ndarray, iterations: int) -> Optimum:
        s, values = self.symbols, self.values(y)
        left, of_bounds, of_rows = self.standing(y)
        excess = self.excess(y)
        design = Design(self.family, values)
        objective = float(np.max(self.objective.at(design).x))
        named = dict(zip(s.names, values.tolist(), strict=True))
        try:
            robot = s.robot.with_symbols(named)
        except ArmdynError as error:
            raise StudyError(
                f"the best design is no possible robot: {error}; bounds or constraints have to keep it "
                "possible"
            ) from None
        unit = self.size
        if self.minimised is not self.objective:  # of the root of what was minimised
            unit = self.size / (2 * objective) if objective > 0 else 0.0
        kept = excess <= KEPT
        return Optimum(
            robot=robot,
            values=named,
            start=dict(zip(s.names, s.start.tolist(), strict=True)),
            objective=objective,
            objective_at_start=self.first_objective,
            text=self.text,
            active=(*self._bounds_reached(y, of_bounds * unit), *self._rows_reached(y, of_rows * unit)),
            converged=kept and left <= STATIONARY and not self._endless(y),
            message=self._message(y, left, excess, iterations),
            slope=left,
            exceeded=excess,
            iterations=iterations,
            evaluations=self.evaluations,
            idle=self._idle(y),
        )

    def _endless(self, y: np.ndarray) -> bool:
        """Whether the search has gone so far that there is no end in sight."""
        return bool(np.abs(y).max() > ENDLESS)

    def _idle(self, y: np.ndarray) -> tuple[str, ...]:
        """Symbols by which all derivatives are zero: at the end, and in designs around the start."""
        names = self.symbols.names
        seen = [np.zeros(len(names))]
        for at in (y, self.start, self.start + 0.1, self.start - 0.1):
            if self.point(at) is not None:
                seen += [row[: len(names)] for row in np.vstack(self._slopes_at(at))]
        return tuple(name for name, alone in zip(names, ~np.any(seen, axis=0), strict=True) if alone)

    def _bounds_reached(self, y: np.ndarray, multipliers: np.ndarray) -> list[Active]:
        s, found = self.symbols, []
        low, high = self.bounds
        for i, name in enumerate(s.names):
            for bound, near, sign in ((s.lower[i], y[i] - low[i], ">="), (s.upper[i], high[i] - y[i], "<=")):
                if near <= NEAR:
                    found.append(
                        Active(f"{name} {sign} {bound:g}", float(bound), multipliers[i] / s.scale[i])
                    )
        return found

    def _rows_reached(self, y: np.ndarray, multipliers: np.ndarray) -> list[Active]:
        """Constraints at their bounds; of many samples those that hold the design back."""
        assert self._good is not None
        values, found = self._good[1].values, []
        k = values[0].x.size if self.largest else 0
        rows, (low, high) = self.rows(y), self.ranges
        near = np.minimum(np.abs(rows - low), np.abs(rows - high)) <= NEAR
        for constraint, value, size in zip(self.constraints, values[1:], self.sizes, strict=True):
            part = slice(k, k + value.x.size)
            k += value.x.size
            reached = np.flatnonzero(near[part])
            held = [i for i in reached if multipliers[part][i] != 0] or list(reached[:1])
            for i in held:
                index = tuple(int(j) for j in np.unravel_index(i, value.x.shape))
                name = value.name(index)
                text = f"{constraint.text} ({name})" if name else constraint.text
                found.append(Active(text, float(value.x.flat[i]), multipliers[part][i] / size))
        return found

    def _message(self, y: np.ndarray, left: float, excess: float, iterations: int) -> str:
        if excess > KEPT:
            rows, (low, high) = self.rows(y), self.ranges
            i = int(np.maximum(low - rows, rows - high).argmax())
            return (
                f"no design was found that keeps the constraints: {self._row_text(i)} is missed by "
                f"{excess * self._row_size(i):.3g}"
            )
        steps = f"{iterations} iterations, {self.evaluations} designs"
        if self._endless(y):
            far = self.symbols.names[int(np.abs(y[: len(self.symbols.names)]).argmax())]
            return f"the objective falls without end ({steps}) with {far}, which needs a bound"
        if np.isnan(left):
            return f"where it ended there are no derivatives ({steps}); another start may lead elsewhere"
        if left <= STATIONARY:
            return (
                f"a minimum to first order ({steps}): what is left of the slope is {left:.1g} of the "
                "objective over the range of a symbol"
            )
        lost = f"; the tip rules designs beside it out ({self._lost})" if self._lost else ""
        return (
            f"not a minimum yet ({steps}): what is left of the slope is {left:.2g} of the objective over the "
            f"range of a symbol{lost}; more iterations, another start or method='trust-constr' may go on"
        )

    def _row_size(self, i: int) -> float:
        assert self._good is not None
        counts = [x.x.size for x in self._good[1].values]
        sizes = np.repeat(
            [self.size, *self.sizes] if self.largest else self.sizes, counts[not self.largest :]
        )
        return float(sizes[i])

    def _row_text(self, i: int) -> str:
        assert self._good is not None
        values = self._good[1].values
        i -= values[0].x.size if self.largest else 0
        for constraint, value in zip(self.constraints, values[1:], strict=True):
            if i < value.x.size:
                index = tuple(int(j) for j in np.unravel_index(max(i, 0), value.x.shape))
                name = value.name(index)
                return f"{constraint.text} ({name})" if name else constraint.text
            i -= value.x.size
        return self.text


def _told(update: Update, done: int, most: int, k: int) -> None:
    update(min((done + k) / most, 1.0))


def _constraint(x: Any) -> Constraint:
    """A constraint, also from text such as "a1 + a2 <= 1.1"."""
    if isinstance(x, Constraint):
        return x
    if isinstance(x, str):
        for sign in ("<=", ">=", "=="):
            if x.count(sign) == 1:
                left, right = (measure(part.strip()) for part in x.split(sign))
                made = (
                    left <= right if sign == "<=" else left >= right if sign == ">=" else left.equals(right)
                )
                made.text = x
                return made
    raise StudyError(
        f"subject_to: found {shown(x)}; measure <= number, or text such as 'a1 + a2 <= 1.1' (also >=, ==), "
        "is expected"
    )


def _wide(constraint: Constraint, bound: np.ndarray | None, none: float, value: Value) -> np.ndarray:
    """A bound for each number; `none` where there is none."""
    try:
        return np.broadcast_to(none if bound is None else bound, value.x.shape).astype(float)
    except ValueError:
        shape = () if bound is None else bound.shape
        raise StudyError(
            f"{constraint.text}: bounds of shape {shape} do not fit numbers of shape {value.x.shape}"
        ) from None
