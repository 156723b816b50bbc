"""Measures of a design, for `optimise`: what is minimised and what is bounded, with exact derivatives.

A `Measure` is made without a robot: `rms_torque(motion)`, `mass()`, `formula("a2 + a3")`. It is a number or
an array of them in each design, and it pulls derivatives back: from λ, of something by these numbers, to
derivatives of that by the free symbols. So a sum of squares over all joints and a thousand samples takes one
reverse sweep of each program, however many symbols there are.

Measures are added, multiplied and compared: `rms_torque(motion).norm() + 0.5*mass()` is one again, and
`peak_torque(motion) <= 80` is a `Constraint`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.analysis.task import checked_rows, moving_rows
from armdyn.expression import ArmdynError, Expression, expression, shown
from armdyn.kernels import Kernel
from armdyn.kernels.derivatives import adjoint_of
from armdyn.motion.torques import steady_wrench
from armdyn.program.program import Recorder, Tape, finished
from armdyn.robot import Robot
from armdyn.robot.assembly import Related
from armdyn.robot.functions import FUNCTIONS, PAYLOAD, SYMBOLS
from armdyn.studies.courses import STATE, Family, Where
from armdyn.studies.errors import StudyError, check

Pull: TypeAlias = Callable[[np.ndarray], np.ndarray]
Index: TypeAlias = tuple[int, ...]
At: TypeAlias = Literal["joints", "motors"]


# ------------------------------------------------------------------------------------------------------------
# Numbers in a design, with their derivatives.


@dataclass(frozen=True)
class Value:
    """Numbers x in a design.

    `pull` takes derivatives (..., *shape) of something by x to derivatives (..., symbols) of it; `slopes`
    gives all derivatives of x, (*shape, symbols). `name(index)` says which number one of them is.
    """

    x: np.ndarray
    pull: Pull
    slopes: Callable[[], np.ndarray]
    name: Callable[[Index], str] = lambda index: ""

    @classmethod
    def few(cls, x: Any, pull: Pull, name: Callable[[Index], str] = lambda index: "") -> Value:
        """Numbers so few that each is pulled by itself."""
        found = np.asarray(x)

        def slopes() -> np.ndarray:
            unit = np.eye(found.size).reshape(found.size, *found.shape)
            return np.asarray(pull(unit)).reshape(*found.shape, -1)

        return cls(found, pull, slopes, name)

    def mapped(self, y: Any, slope: Any) -> Value:
        """y, number by number a function of x whose derivative is `slope`."""
        by_x = np.broadcast_to(slope, self.x.shape)
        return Value(
            np.asarray(y),
            lambda bar: self.pull(bar * by_x),
            lambda: by_x[..., None] * self.slopes(),
            self.name,
        )

    def __add__(self, other: Value) -> Value:
        a, b = _matched(self, other)
        return Value(
            a.x + b.x, lambda bar: a.pull(bar) + b.pull(bar), lambda: a.slopes() + b.slopes(), a.name
        )

    def __mul__(self, other: Value) -> Value:
        a, b = _matched(self, other)
        by_a, by_b = a.mapped(a.x * b.x, b.x), b.mapped(a.x * b.x, a.x)
        return replace(by_a + by_b, x=a.x * b.x)


def _matched(a: Value, b: Value) -> tuple[Value, Value]:
    """Both with one shape: one number is as good as an array of it."""
    if a.x.shape == b.x.shape:
        return a, b
    if a.x.size == 1:
        return _spread(a, b.x.shape, b.name), b
    if b.x.size == 1:
        return a, _spread(b, a.x.shape, a.name)
    raise StudyError(f"measures of shapes {a.x.shape} and {b.x.shape} do not fit together")


def _spread(value: Value, shape: Index, name: Callable[[Index], str]) -> Value:
    """One number as an array."""

    def pull(bar: np.ndarray) -> np.ndarray:
        lead = bar.shape[: bar.ndim - len(shape)]
        return value.pull(np.reshape(bar.reshape(*lead, -1).sum(-1), (*lead, *value.x.shape)))

    def slopes() -> np.ndarray:
        return np.broadcast_to(value.slopes().reshape(-1), (*shape, value.slopes().shape[-1]))

    return Value(np.broadcast_to(value.x.reshape(()), shape), pull, slopes, name)


class Sampled(NamedTuple):
    """Numbers y (N, k) at samples; `pull` takes λ (..., N, k) to derivatives (..., N, symbols)."""

    y: np.ndarray
    pull: Pull

    def value(self, name: Callable[[Index], str] = lambda index: "") -> Value:
        """All of them, as numbers of the design: what a sample has depends on that sample alone."""
        N, k = self.y.shape

        def slopes() -> np.ndarray:
            unit = np.zeros((k, N, k))
            unit[np.arange(k), :, np.arange(k)] = 1.0
            return np.moveaxis(self.pull(unit), 0, 1)

        return Value(self.y, lambda bar: self.pull(bar).sum(-2), slopes, name)


# ------------------------------------------------------------------------------------------------------------
# A design, and what the programs say about it.


class Design:
    """The robot at one set of values of the free symbols; what several measures need is found once."""

    def __init__(self, family: Family, values: np.ndarray) -> None:
        self.family, self.values = family, values
        self._found: dict[Any, Any] = {}

    @property
    def robot(self) -> Robot:
        """The robot as it is given, with its own values of the symbols."""
        return self.family.robot

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._found:
            self._found[key] = make()
        return self._found[key]

    def states(self, where: Where) -> Any:
        return self.once(("states", id(where)), lambda: self.family.states(where, self.values))

    def output(self, function: str, where: Where, wrench: Any = None) -> Sampled:
        """A function of the robot at all samples, its results flat."""
        key = (function, id(where), repr(wrench))
        return self.once(key, lambda: self._output(function, where, wrench))  # type: ignore[no-any-return]

    def _output(self, function: str, where: Where, wrench: Any) -> Sampled:
        family, states, values = self.family, self.states(where), self.values
        inputs = FUNCTIONS[function].inputs
        given = {name: getattr(states, name) for name in inputs}
        if self.robot.model.loops:
            given["q"] = self.robot.assembly(states.q)
        more, links = self._beside(function, where, wrench)
        arrays = (*given.values(), *more.values(), values)
        kernel = family.kernel(function, list(more), links)
        y = np.asarray(kernel(*arrays))
        pull = _pull(kernel, [*(inputs if states.moving else ()), SYMBOLS])
        N = len(states.q)

        def pulled(bar: np.ndarray) -> np.ndarray:
            *of_states, of_symbols = pull(arrays, bar)
            if not states.moving:
                return np.asarray(of_symbols)
            zero = np.zeros((*bar.shape[:-1], self.robot.n))
            bars = dict.fromkeys(STATE, zero) | dict(zip(inputs, of_states, strict=True))
            return np.asarray(of_symbols + states.pull(bars))

        return Sampled(y.reshape(N, -1), pulled)

    def _beside(self, function: str, where: Where, wrench: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Further inputs: a wrench, and the links it acts on; what the tip carries."""
        more: dict[str, Any] = {}
        links: tuple[str, ...] = ()
        if wrench is not None:
            found = steady_wrench(self.robot, wrench)
            if isinstance(found, dict):
                links, found = tuple(found), np.concatenate(list(found.values()))
            more["wrench"] = found
        payload = self.family.course(where).payload
        if payload is not None and "parameters" in FUNCTIONS[function].optional:
            more[PAYLOAD] = payload
        return more, links

    # ---- joints and motors -----------------------------------------------------------------------------

    def torque(self, where: Where, at: At, wrench: Any) -> Sampled:
        """Torques (N, m) of joints or motors."""
        joints = self.output("inverse_dynamics", where, wrench)
        if at == "joints":
            return joints
        K, slopes = self.transmission
        P, of_P = self.robot.drives.to_motors, None
        if slopes is not None:
            P = np.linalg.inv(K).T
            of_P = -np.einsum("mi,jis,jn->mns", P, slopes, P)  # of K⁻ᵀ
        return _through(joints, P, of_P)

    def speed(self, where: Where, at: At) -> Sampled:
        """Speeds (N, m) of joints or motors."""
        states = self.states(where)
        zero = np.zeros(len(self.values))

        def pull(bar: np.ndarray) -> np.ndarray:
            if not states.moving:
                return np.zeros((*bar.shape[:-1], len(zero)))
            off = np.zeros_like(bar)
            return np.asarray(states.pull({"q": off, "qd": bar, "qdd": off}))

        joints = Sampled(states.qd, pull)
        return joints if at == "joints" else _through(joints, *self.transmission)

    @property
    def transmission(self) -> tuple[np.ndarray, np.ndarray | None]:
        """K (m, n) with θ̇_m = K q̇, and its derivatives (m, n, symbols) where gears are free."""
        return self.once("transmission", self._transmission)  # type: ignore[no-any-return]

    def _transmission(self) -> tuple[np.ndarray, np.ndarray | None]:
        model, drives, values = self.robot.model, self.robot.drives, self.values
        place = {link.name: j for j, link in enumerate(model.moving)}
        entries: list[Any] = [0] * (len(drives) * len(place))
        for i, link in enumerate(drives.links):
            row = i * len(place)
            entries[row + place[link.name]] = 1 if link.motor is None else link.motor.gear
            for name, factor in () if link.motor is None else link.motor.coupling:
                entries[row + place[name]] = factor
        used = {name for x in entries for name in Expression.of(x).symbols()}
        if not used & {*self.family.names}:
            return drives.transmission, None
        if len(drives) != self.robot.n:
            raise StudyError(
                f"{self.robot.name}: {len(drives)} motors drive {self.robot.n} joints; "
                f"{shown(min(used))} of a gear cannot be free where motors share the work"
            )
        kernel = self.family.of_symbols("transmission", entries)
        (slopes,) = _pull(kernel, [SYMBOLS])((values,), np.eye(len(entries)))
        shape = (len(drives), len(place))
        S = Related.of(model).S
        if model.choice is not None:
            S = S[:, list(model.choice.free)]
        return kernel(values).reshape(shape) @ S, np.einsum("mjs,jn->mns", slopes.reshape(*shape, -1), S)


def _pull(kernel: Kernel, by: Sequence[str]) -> Callable[[tuple[Any, ...], np.ndarray], tuple[Any, ...]]:
    """Derivatives by some inputs, from those by the one output, which is flat."""
    adjoint = adjoint_of(kernel, by)

    def pull(arrays: tuple[Any, ...], bar: np.ndarray) -> tuple[Any, ...]:
        found = adjoint(*arrays, np.ascontiguousarray(bar))
        return found if isinstance(found, tuple) else (found,)

    return pull


def _through(signal: Sampled, matrix: np.ndarray, slopes: np.ndarray | None) -> Sampled:
    """Of y the numbers M y at each sample; M (m, n) has derivatives (m, n, symbols), or none."""

    def pull(bar: np.ndarray) -> np.ndarray:
        found = signal.pull(bar @ matrix)
        if slopes is None:
            return found
        return np.asarray(found + np.einsum("...km,kn,mns->...ks", bar, signal.y, slopes))

    return Sampled(signal.y @ matrix.T, pull)


# ------------------------------------------------------------------------------------------------------------
# Measures.


class Measure:
    """A number, or an array of them, in each design; with derivatives by the free symbols.

    `+ - * /` combine measures and numbers; `<= >=` and `equals` make constraints. `sum`, `norm` and
    `largest` make one number of an array. Where there is a row for each sample, `mean` and `rms` are those
    over time (over postures, where there is no time).
    """

    __array_ufunc__ = None  # NumPy leaves arithmetic with arrays to it

    def __init__(
        self,
        text: str,
        at: Callable[[Design], Value],
        *,
        square: Measure | None = None,
        where: Where | None = None,
    ) -> None:
        self.text, self.at, self.where = text, at, where
        self.square = square  # smooth where the measure, a root, is zero

    # ---- one number of many ------------------------------------------------------------------------------

    def sum(self) -> Measure:
        """The sum of all numbers."""

        def at(design: Design) -> Value:
            value = self.at(design)
            spread = (1,) * value.x.ndim
            return Value.few(
                value.x.sum(),
                lambda bar: value.pull(np.broadcast_to(_at_end(bar, spread), (*bar.shape, *value.x.shape))),
            )

        return Measure(f"sum of {self.text}", at)

    def norm(self) -> Measure:
        """The root of the sum of squares."""
        return root((self**2).sum(), f"norm of {self.text}")

    def largest(self) -> Largest:
        """The largest number, as an objective."""
        return Largest(self)

    def mean(self) -> Measure:
        """The mean over time, by the trapezoidal rule, of each column; or over postures."""
        where = self._samples("mean")

        def at(design: Design) -> Value:
            value, w = self.at(design), design.family.course(where).weights

            def pull(bar: np.ndarray) -> np.ndarray:
                return value.pull(w[:, None] * bar[..., None, :])

            return Value.few(w @ value.x, pull, lambda index: value.name((0, *index)).split(" at ")[0])

        return Measure(f"mean of {self.text}", at)

    def rms(self) -> Measure:
        """The root of the mean square over time of each column, as in `mean`; or over postures."""
        self._samples("rms")
        return root((self**2).mean(), f"rms of {self.text}")

    def _samples(self, word: str) -> Where:
        if self.where is None:
            raise StudyError(f"{word}: {self.text} is no row of numbers for each sample")
        return self.where

    # ---- arithmetic ----------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Measure:
        b = measure(other)
        return Measure(f"{self.text} + {b.text}", lambda d: self.at(d) + b.at(d), where=_common(self, b))

    def __radd__(self, other: Any) -> Measure:
        return measure(other) + self

    def __neg__(self) -> Measure:
        return self * -1.0

    def __sub__(self, other: Any) -> Measure:
        b = measure(other)
        found = self + (-b)
        found.text = f"{self.text} - {b.text}"
        return found

    def __rsub__(self, other: Any) -> Measure:
        return measure(other) - self

    def __mul__(self, other: Any) -> Measure:
        if not isinstance(other, Measure | str):
            factor = check.numbers("factor", other)
            text = f"{factor:g}" if factor.ndim == 0 else "factors"
            square = None if self.square is None else self.square * factor**2

            def at(design: Design) -> Value:
                value = self.at(design)
                return value.mapped(_fitting(factor, value) * value.x, _fitting(factor, value))

            return Measure(f"{text}*({self.text})", at, square=square, where=self.where)
        b = measure(other)
        return Measure(f"({self.text})*({b.text})", lambda d: self.at(d) * b.at(d), where=_common(self, b))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Measure:
        if not isinstance(other, Measure | str):
            divisor = check.numbers("divisor", other)
            if (divisor == 0).any():
                raise StudyError(f"{self.text}: divided by zero")
            found = self * (1 / divisor)
            found.text = f"({self.text})/{divisor:g}" if divisor.ndim == 0 else f"({self.text})/limits"
            return found
        b = measure(other)
        found = self * b**-1
        found.text = f"({self.text})/({b.text})"
        return found

    def __rtruediv__(self, other: Any) -> Measure:
        return measure(other) / self

    def __pow__(self, power: float) -> Measure:
        exponent = check.number("power", power)
        if exponent == 2 and self.square is not None:
            return self.square

        def at(design: Design) -> Value:
            value = self.at(design)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = exponent * value.x ** (exponent - 1)
                return value.mapped(value.x**exponent, slope)

        return Measure(f"({self.text})**{exponent:g}", at, where=self.where)

    def __abs__(self) -> Measure:
        def at(design: Design) -> Value:
            value = self.at(design)
            return value.mapped(np.abs(value.x), np.sign(value.x))

        return Measure(f"|{self.text}|", at, where=self.where)

    # ---- constraints ---------------------------------------------------------------------------------------

    def __le__(self, other: Any) -> Constraint:
        """At most a number, or one for each column; or another measure."""
        if isinstance(other, Measure | str):
            return Constraint(self - other, None, 0.0, f"{self.text} <= {measure(other).text}")
        return Constraint(self, None, other)

    def __ge__(self, other: Any) -> Constraint:
        """At least a number, or one for each column; or another measure."""
        if isinstance(other, Measure | str):
            return Constraint(self - other, 0.0, None, f"{self.text} >= {measure(other).text}")
        return Constraint(self, other, None)

    def equals(self, other: Any) -> Constraint:
        """Equal to a number, or to one for each column; or to another measure."""
        if isinstance(other, Measure | str):
            return Constraint(self - other, 0.0, 0.0, f"{self.text} = {measure(other).text}")
        return Constraint(self, other, other)

    def __repr__(self) -> str:
        return f"<Measure {self.text}>"


def _common(a: Measure, b: Measure) -> Where | None:
    """Where both have their samples; a measure without samples goes with those of the other."""
    if a.where is None or b.where is None:
        return b.where if a.where is None else a.where
    return a.where if a.where is b.where else None


def _at_end(x: np.ndarray, ones: Index) -> np.ndarray:
    return x.reshape(*x.shape, *ones)


def _fitting(factor: np.ndarray, value: Value) -> np.ndarray:
    try:
        return np.broadcast_to(factor, value.x.shape)
    except ValueError:
        raise StudyError(
            f"numbers of shape {factor.shape} do not fit a measure of shape {value.x.shape}"
        ) from None


@dataclass(frozen=True)
class Largest:
    """The largest number of a measure, as an objective: minimised with a bound of its own that all keep."""

    of: Measure

    @property
    def text(self) -> str:
        return f"largest {self.of.text}"


class Constraint:
    """Bounds of a measure, `lower` and `upper`: a number, one for each column, or None."""

    def __init__(self, of: Measure, lower: Any, upper: Any, text: str | None = None) -> None:
        self.of = of
        self.lower, self.upper = (
            None if x is None else check.numbers(f"bound of {of.text}", x) for x in (lower, upper)
        )
        self.text = text or self._text()

    def _text(self) -> str:
        low, high = (
            None if x is None else f"{x:.6g}" if x.ndim == 0 else str(x.tolist())
            for x in (self.lower, self.upper)
        )
        if low is not None and high is not None:
            return f"{self.of.text} = {low}"
        return f"{self.of.text} {'<=' if low is None else '>='} {high if low is None else low}"

    def __bool__(self) -> bool:
        raise StudyError(
            f"{self.text}: a constraint is neither true nor false; two bounds are two constraints, "
            "[q >= 1, q <= 2]"
        )

    def __repr__(self) -> str:
        return f"<Constraint {self.text}>"


def root(square: Measure, text: str) -> Measure:
    """The root of a measure that is a square; where that is zero, its derivatives count as zero."""

    def at(design: Design) -> Value:
        value = square.at(design)
        y = np.sqrt(np.maximum(value.x, 0.0))
        return value.mapped(y, np.divide(0.5, y, out=np.zeros_like(y), where=y > 0))

    return Measure(text, at, square=square)


def measure(x: Any) -> Measure:
    """A measure, from one, a number or an expression in symbols."""
    if isinstance(x, Measure):
        return x
    if isinstance(x, str):
        return formula(x)
    if isinstance(x, Largest):
        raise StudyError(f"{x.text}: it stands alone, as the objective")
    if callable(x):
        raise StudyError(
            f"found {shown(x)}: a function of a robot says nothing of its derivatives; along(motion, "
            "function) takes functions of q, qd, qdd and tau, formula(…) expressions in symbols"
        )
    if not isinstance(x, int | float | np.number | np.ndarray | list | tuple) or isinstance(x, bool):
        raise StudyError(
            f"found {shown(x)}; a measure such as rms_torque(motion), a number or an expression in symbols "
            "is expected"
        )
    number = check.numbers("measure", x)
    return Measure(f"{number:g}" if number.ndim == 0 else "numbers", lambda design: _constant(design, number))


def _constant(design: Design, number: np.ndarray) -> Value:
    s = len(design.values)
    return Value(
        number,
        lambda bar: np.zeros((*bar.shape[: bar.ndim - number.ndim], s)),
        lambda: np.zeros((*number.shape, s)),
    )


# ---- of the design itself ----------------------------------------------------------------------------------


def formula(text: str) -> Measure:
    """An expression in the robot's symbols, such as "rho*A*a2"."""
    if not isinstance(text, str):
        raise StudyError(f"formula: expected an expression in text, found {shown(text)}")

    def at(design: Design) -> Value:
        try:
            x = expression(text, [name for name, _ in design.robot.model.symbols])
        except ArmdynError as error:
            raise StudyError(f"{text!r}: {error}") from None
        return _of_symbols(design, ("formula", text), [x])

    return Measure(text, at)


def mass(links: Sequence[str] | str | None = None) -> Measure:
    """The mass [kg] of all links and motors; or of some links, with the motors of their joints."""

    def at(design: Design) -> Value:
        model = design.robot.model
        chosen = [*model.index] if links is None else [links] if isinstance(links, str) else [*links]
        if unknown := [name for name in chosen if name not in model.index]:
            raise StudyError(f"mass: no link {shown(unknown[0])}; links: {', '.join(model.index)}")
        total = Expression.of(0)
        for link in (model.links[model.index[name]] for name in chosen):
            total = total + Expression.of(link.inertia.mass)
            if link.motor is not None and model.rotors != "none":
                total = total + link.motor.mass
        return _of_symbols(design, ("mass", str(links)), [total])

    return Measure("mass", at)


def _of_symbols(design: Design, key: Any, entries: Sequence[Any]) -> Value:
    """One expression, as a number of the design."""
    kernel = design.family.of_symbols(key, entries)
    (x,) = kernel(design.values)

    def pull(bar: np.ndarray) -> np.ndarray:
        (found,) = _pull(kernel, [SYMBOLS])((design.values,), bar[..., None])
        return np.asarray(found)

    return Value.few(x, pull)


# ---- along motions -----------------------------------------------------------------------------------------


def torque(where: Where, joints: Any = None, *, at: At = "joints", wrench: Any = None) -> Measure:
    """Torques (N, k) at the samples of a motion, or that hold postures [N m or N]; with their signs.

    `joints` are names or numbers, all by default. With at="motors" they are torques at motor shafts, as in
    `motor_loads`, and `joints` the joints that these drive. `wrench` is what the tip exerts all along, (6,),
    or {link: (6,)}.
    """
    check.one_of("at", at, "joints", "motors")

    def found(design: Design) -> Value:
        return _columns(design, where, joints, at, design.torque(where, at, wrench), "torque")

    return Measure(f"torque of {_whose(joints, at)}", found, where=where)


def speed(where: Where, joints: Any = None, *, at: At = "joints") -> Measure:
    """Speeds (N, k) of joints or motors at the samples of a motion [rad/s or m/s]; with their signs."""
    check.one_of("at", at, "joints", "motors")

    def found(design: Design) -> Value:
        return _columns(design, where, joints, at, design.speed(where, at), "speed")

    return Measure(f"speed of {_whose(joints, at)}", found, where=where)


def rms_torque(where: Where, joints: Any = None, *, at: At = "joints", wrench: Any = None) -> Measure:
    """Root mean square over time of the torque of each joint or motor (k,), which warms it; see `torque`."""
    found = torque(where, joints, at=at, wrench=wrench).rms()
    found.text = f"rms torque of {_whose(joints, at)}"
    return found


def peak_torque(where: Where, joints: Any = None, *, at: At = "joints", wrench: Any = None) -> Measure:
    """|τ| (N, k) at all samples: bounded, all are; its `largest()` is an objective. See `torque`."""
    found = abs(torque(where, joints, at=at, wrench=wrench))
    found.text = f"peak torque of {_whose(joints, at)}"
    return found


def peak_speed(where: Where, joints: Any = None, *, at: At = "joints") -> Measure:
    """The magnitude (N, k) of speeds at all samples: bounded, all are; its `largest()` is an objective."""
    found = abs(speed(where, joints, at=at))
    found.text = f"peak speed of {_whose(joints, at)}"
    return found


def energy(where: Where, joints: Any = None, *, at: At = "joints", recuperation: bool = False) -> Measure:
    """Mechanical energy ∫ max(P, 0) dt [J] of joints or motors over a motion; with recuperation ∫ P dt."""
    power = torque(where, joints, at=at) * speed(where, joints, at=at)

    def used(design: Design) -> Value:
        course = design.family.course(where)
        if course.t is None:
            raise StudyError("energy: postures and points take no time; give a motion")
        value, duration = power.at(design), float(course.t[-1] - course.t[0])
        drawn = np.ones_like(value.x) if recuperation else np.where(value.x > 0, 1.0, 0.0)
        return value.mapped(duration * drawn * value.x, duration * drawn)

    found = Measure("power", used, where=where).mean().sum()
    found.text = f"energy of {_whose(joints, at)}"
    return found


def along(where: Where, function: Callable[..., Any], text: str = "function") -> Measure:
    """`function(q, qd, qdd, tau)` (N, k) at all samples of a motion.

    The function takes lists of n scalars and gives one, or a list of k. It is recorded as a program, as the
    robot's own functions are: written with + - * /, `abs` and the functions of `armdyn.expression.functions`
    (sin, cos, sqrt, sign, larger, select), without `if` about its arguments.
    """
    if not callable(function):
        raise StudyError(f"along: expected a function of q, qd, qdd and tau, found {shown(function)}")

    def at(design: Design) -> Value:
        n = design.robot.n
        kernel = design.family.once(("along", id(function)), lambda: (function, _recorded(function, n)))[1]
        states, tau = design.states(where), design.output("inverse_dynamics", where)
        arrays = (states.q, states.qd, states.qdd, tau.y)
        pull = _pull(kernel, [*STATE, "tau"])

        def pulled(bar: np.ndarray) -> np.ndarray:
            *of_states, of_tau = pull(arrays, bar)
            return np.asarray(tau.pull(of_tau) + states.pull(dict(zip(STATE, of_states, strict=True))))

        name = design.family.course(where).name
        return Sampled(kernel(*arrays), pulled).value(lambda index: f"{text} at {name(index[0])}")

    return Measure(text, at, where=where)


def _recorded(function: Callable[..., Any], n: int) -> Kernel:
    """The kernel of a function of q, q̇, q̈ and τ, n scalars each."""
    tape = Tape()
    columns = [[Recorder(tape, tape.input(n * i + j)) for j in range(n)] for i in range(4)]
    try:
        found = function(*columns)
    except TypeError as error:
        raise StudyError(f"along: the function cannot be recorded: {error}") from None
    flat = list(found) if isinstance(found, list | tuple) else [found]
    results = [x.index if isinstance(x, Recorder) else tape.constant(x) for x in flat]
    inputs = [(name, n) for name in (*STATE, "tau")]
    return Kernel.of("a function along a motion", finished(tape, inputs, [("y", (len(flat),))], results))


def _columns(design: Design, where: Where, joints: Any, at: At, signal: Sampled, what: str) -> Value:
    """Of joints or motors the chosen ones."""
    names = design.robot.coordinates if at == "joints" else design.robot.drives.names
    chosen = _chosen(names, joints, at)
    sample = design.family.course(where).name
    kind = "joint" if at == "joints" else "motor of"

    def pull(bar: np.ndarray) -> np.ndarray:
        whole = np.zeros((*bar.shape[:-1], len(names)))
        whole[..., chosen] = bar
        return signal.pull(whole)

    return Sampled(signal.y[:, chosen], pull).value(
        lambda index: f"{what} of {kind} '{names[chosen[index[1]]]}' at {sample(index[0])}"
    )


def _chosen(names: Sequence[str], joints: Any, at: At) -> list[int]:
    """Places of the joints named, or counted from 0."""
    if joints is None:
        return list(range(len(names)))
    asked = [joints] if isinstance(joints, str | int) else list(joints)
    found = []
    for x in asked:
        if isinstance(x, str) and x in names:
            found.append(names.index(x))
        elif isinstance(x, int | np.integer) and not isinstance(x, bool) and 0 <= x < len(names):
            found.append(int(x))
        else:
            kind = "joints" if at == "joints" else "motors of"
            raise StudyError(f"joints: found {shown(x)}; {kind}: {', '.join(names)}")
    return found


def _whose(joints: Any, at: At) -> str:
    """Joints or motors in the name of a measure."""
    if joints is None:
        return f"all {at}"
    names = [joints] if isinstance(joints, str | int) else joints
    return f"{at} {', '.join(map(str, names))}"


# ---- at postures -------------------------------------------------------------------------------------------


def potential_spread(where: Where) -> Measure:
    """Root mean square of the potential energy [J] about its mean over postures: 0 for a balanced arm.

    It is the energy of gravity and of springs. Without it, no torque holds the arm in any posture, friction
    aside.
    """

    def square(design: Design) -> Value:
        signal, w = design.output("potential_energy", where), design.family.course(where).weights
        off = signal.y[:, 0] - w @ signal.y[:, 0]
        return Value.few(
            w @ off**2, lambda bar: signal.pull(2 * bar[..., None, None] * (w * off)[:, None]).sum(-2)
        )

    return root(Measure("spread of potential energy, squared", square), "spread of potential energy")


def manipulability_measure(where: Where, rows: Sequence[int] | None = None) -> Measure:
    """The manipulability measure w = √det(J Jᵀ) (3.56) at each sample, (N,): 0 in a singular posture.

    `rows` picks among x, y, z (0, 1, 2) and turning about them (3, 4, 5); by default the linear ones in which
    the tip can move.
    """

    def found_of(J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        G = J @ J.swapaxes(-1, -2)
        w = np.sqrt(np.maximum(np.linalg.det(G), 0.0))
        return w, w[:, None, None] * np.linalg.pinv(J).swapaxes(-1, -2)

    return _of_jacobian("manipulability", where, rows, found_of)


def isotropy(where: Where, rows: Sequence[int] | None = None) -> Measure:
    """Geometric over arithmetic mean of the eigenvalues of J Jᵀ at each sample, (N,): 1 where it is a circle.

    It is 0 in a singular posture (Kim and Khosla, IROS 1991, measure of isotropy). `rows` as in
    `manipulability_measure`, but all linear or all angular: metres and radians do not compare.
    """

    def found_of(J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        m = J.shape[1]
        G = J @ J.swapaxes(-1, -2)
        trace = np.trace(G, axis1=1, axis2=2)
        found = m * np.maximum(np.linalg.det(G), 0.0) ** (1 / m) / trace
        slope = np.linalg.pinv(J).swapaxes(-1, -2) / m - J / trace[:, None, None]
        return found, 2 * found[:, None, None] * slope

    if rows is not None and len({x > 2 for x in rows}) > 1:
        raise StudyError(f"rows: found {list(rows)}; linear (0, 1, 2) or angular (3, 4, 5) ones are allowed")
    return _of_jacobian("isotropy", where, rows, found_of)


def _of_jacobian(
    text: str,
    where: Where,
    rows: Sequence[int] | None,
    found_of: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
) -> Measure:
    """A measure (N,) of rows of the Jacobian (N, m, n), which comes with its derivatives by them."""

    def at(design: Design) -> Value:
        chosen = list(moving_rows(design.robot) if rows is None else checked_rows("geometric", rows))
        signal, n = design.output("jacobian", where), design.robot.n
        if len(chosen) > n:
            raise StudyError(f"{text}: {n} joints cannot move {len(chosen)} rows at once; rows=… picks some")
        J = signal.y.reshape(-1, 6, n)
        y, of_rows = found_of(J[:, chosen])
        slope = np.zeros_like(J)
        slope[:, chosen] = of_rows
        flat = slope.reshape(len(J), -1)
        name = design.family.course(where).name
        found = Sampled(y[:, None], lambda bar: signal.pull(bar * flat))
        return found.value(lambda index: f"{text} at {name(index[0])}")

    return Measure(text, at, where=where)
