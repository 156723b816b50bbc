"""All positions and joints of a robot from its coordinates: by relations, and by assembly where loops are.

A posture is followed from one in which the loops are closed: the coordinates go straight to where they should
be, in steps that are shorter where another mode is near (`assembly_loop`). So a result depends on the
coordinates and that first posture alone: it is the assembly mode that can be reached from there. A singular
posture that is met on the way ends it. Where the coordinates are at their end, the loops are closed to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from armdyn.dynamics.closures import Following, turned
from armdyn.expression.functions import larger, select, sqrt
from armdyn.kernels import Kernel, Specification
from armdyn.kernels.arrays import (
    Floats,
    Numbers,
    array,
    dtype_text,
    host,
    is_cupy,
    is_real,
    like,
    on_device,
    real_array,
    zeros_by_instance,
)
from armdyn.kernels.kernel import get_backend, library_of, opaque
from armdyn.kernels.llvm.compiled import single_call
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model import Mechanism
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Fetch, Local, Loop, Save, Set, While
from armdyn.robot.closing import Closed, least_follower

# ------------------------------------------------------------------------------------------------------------
# All joints of a robot from its positions, as arrays: q = S y + s₀. Without loops these are coordinates.


def turning_positions(model: RobotModel) -> np.ndarray:
    """(positions,): whether a full turn of a position brings back the frames of all joints that follow it."""
    found = np.array([link.joint == "revolute" for link in model.positions])
    for link, row in zip(model.moving, model.dependence.rows, strict=True) if model.relations else ():
        for k, factor in row:
            found[k] &= link.joint == "revolute" and model.number(factor).is_integer()
    return found


class Related(NamedTuple):
    """How all moving joints follow from the positions."""

    S: np.ndarray  # (joints, positions)
    s0: np.ndarray  # (joints,)

    @staticmethod
    def of(model: RobotModel) -> Related:
        found = model.dependence
        S = np.zeros((len(found.rows), len(model.positions)))
        for j, row in enumerate(found.rows):
            S[j, [k for k, _ in row]] = [model.number(factor) for _, factor in row]
        return Related(S, np.array([model.number(x) for x in found.offsets]))

    def positions(self, q: Numbers) -> Floats:
        """S q + s₀, (..., joints)."""
        return np.asarray(self._moved("q", q) + self.s0)

    def velocities(self, qd: Numbers) -> Floats:
        """S q̇, (..., joints)."""
        return self._moved("qd", qd)

    def kernel(self, function: str, mechanism: Mechanism) -> Kernel:
        """`joint_positions` or `joint_velocities` for arrays of other libraries than NumPy.

        As in all kernels, q are all positions. Without loops, velocities do not depend on them.
        """
        q, qd = ("q", mechanism.positions), ("qd", mechanism.n)
        outputs = [("joints", (len(self.s0),))]
        if function == "joint_positions":
            program = record(lambda y: self._of_scalars(y, self.s0), [q], outputs)
        elif not mechanism.loops:
            program = record(self._of_scalars, [qd], outputs)
        else:
            program = record(
                lambda y, qd: self._of_scalars(Following(mechanism, y).velocities(qd)), [q, qd], outputs
            )
        return Kernel.of(function, program)

    def _of_scalars(self, x: Sequence[Any], start: np.ndarray | None = None) -> list[Any]:
        rows = zip(self.S.tolist(), np.zeros(len(self.S)) if start is None else start, strict=True)
        return [sum((k * y for k, y in zip(row, x, strict=True) if k), float(first)) for row, first in rows]

    def _moved(self, name: str, x: Numbers) -> Floats:
        n = self.S.shape[1]
        found = np.array(real_array(name, x, f"numbers (..., {n})", ModelError), float)
        if found.shape[-1:] != (n,):
            raise ModelError(f"{name}: expected (..., {n}), found {found.shape}")
        return np.asarray(found @ self.S.T)


# ---- the steps, as a loop that is compiled or written in C -------------------------------------------------

STEP = 0.3  # the most that a position moves in a step [rad, or of the robot's size]
LEAST = 1e-6  # part of a step: shorter ones end it
FALL = 0.25  # of the squared sine of a joint's column: to less than this it may not fall in a step
BACK, ON = 0.3, 1.5  # what a step taken back has of its length, and how others grow
TRUST = 0.2  # what closing a posture may take, of the sine of a joint's column against the others
MOST = 400  # steps
TOO_MANY = 40  # steps in which the loops gape too far to be closed at once: there is no way
FINE = 1e-8  # a last correction of this size leaves an error of its square
OPEN = 100  # times that, in rad or of the robot's size: a row that gapes further is open


def assembly_loop(closed: Closed, fine: float = FINE) -> Loop:
    """Coordinates x to positions y; a last correction of at most `fine` ends it.

    `state` is 1 where loops stay open, the least squared sine of a joint that follows against the others, and
    how many steps gaped. Where no way leads to x, y is the last posture on it.
    """
    n, positions = closed.model.mechanism.n, closed.positions
    x, y, state = Local("x", n), Local("y", positions), Local("state", 3)
    X, START = Argument("x", n), Argument("start", positions)
    Y, STATE = Argument("y", positions, written=True), Argument("state", 3, written=True)
    steps, programs = _steps(closed, fine, x, START, y, state)
    body = (Fetch(x.all, X), *steps, Save(Y, 0, y.all), Save(STATE, 0, state.all))
    return Loop("assembly", (), (X, START, Y, STATE), body, programs)


def _steps(
    closed: Closed, fine: float, x: Local, START: Argument, y: Local, state: Local
) -> tuple[Block, dict[str, Program]]:
    """Statements that find y at x, beginning at START, and their programs."""
    going, good, trust = Local("going", 1), Local("good", closed.positions), Local("trust", 2)
    step = Call(
        "step",
        (y.all, x.all, state[2], good.all, trust.all),
        (y.all, state.all, good.all, trust.all, going.all),
    )
    body = (
        Fetch(y.all, START),
        Fetch(good.all, START),
        Set(trust[0], 0),
        Set(trust[1], 1),
        Set(going.all, 1),
        While(going.all, (step,), MOST),
        Call("checked", (y.all, state[0]), (state[0],)),
    )
    return body, {"step": _step(closed, fine), "checked": _checked(closed, fine)}


def _checked(closed: Closed, fine: float) -> Program:
    """1 where a loop is open after all: by the rows left out, or upside down."""

    def function(y: list[Any], open_loops: list[Any]) -> Any:
        gap, upright = closed.gaps(Following(closed.mechanism, y))
        off = _largest([abs(g) * float(1 / scale) for g, scale in zip(gap, closed.scales, strict=True)])
        found = select(off - OPEN * fine, 1, open_loops[0])
        for x in upright:
            found = select(-x, 1, found)
        return [found]

    return record(function, [("y", closed.positions), ("open", 1)], [("open", (1,))])


def _step(closed: Closed, fine: float) -> Program:
    """One step from positions y towards coordinates x: the new positions, the state, whether to go on.

    A posture is trusted if closing its loops takes less than `TRUST` of the way to another mode, and if det
    A_d keeps its sign and A_d does not come much nearer to being singular. Otherwise the step is taken back
    to the last `good` posture, and made again with a part of its length. So steps end at a singular posture
    that they meet. (Two loops that turn over within one step keep the sign and are not seen.) `trust` is the
    squared sine of the last posture trusted with the sign of det A_d, 0 as long as there is none, and the
    part of its length that a step has.
    """
    mechanism, weights = closed.model.mechanism, [float(1 / unit) for unit in closed.units]

    def function(y: list[Any], x: list[Any], gaping: list[Any], good: list[Any], trust: list[Any]) -> Any:
        following = Following(mechanism, y)
        left = [goal - y[i] for goal, i in zip(x, mechanism.free, strict=True)]
        moved = following.velocities(left)
        correction = following.factor.solve([-gap for gap in following.gaps])
        far = _largest([abs(w * m) for w, m in zip(weights, moved, strict=True)])
        off = _largest([abs(weights[d] * c) for d, c in zip(following.dependent, correction, strict=True)])
        margin = -_largest([-x for x in following.factor.margins])
        # columns at an angle β part by about β from another mode
        astray, side = select(off - TRUST * sqrt(margin), 1, 0), margin * turned(following.columns)
        before, part = trust
        fallen = select(FALL * abs(before) - side * select(before, 1, -1), 1, 0)
        back = select(abs(before), select(fallen, 1, astray), 0)
        before = select(back, before, select(astray, 0, side))
        part = select(back, BACK * part, -larger(-1, -ON * part))
        step = STEP * part
        share, mend = step / larger(far, step), STEP / larger(off, STEP)
        new = [a + share * m for a, m in zip(y, moved, strict=True)]
        for d, c in zip(following.dependent, correction, strict=True):
            new[d] = new[d] + mend * c
        for i, goal in zip(mechanism.free, x, strict=True):
            new[i] = select(far - step, new[i], goal)
        new = [select(back, a, b) for a, b in zip(good, new, strict=True)]
        count = gaping[0] + select(off - STEP, 1, 0)
        still_open = select(back, 1, select(far, 1, select(off - fine, 1, 0)))
        going = select(LEAST - part, 0, select(count - TOO_MANY, 0, still_open))
        kept = [select(back, a, b) for a, b in zip(good, y, strict=True)]
        return new, [still_open, margin, count], kept, [before, part], [going]

    positions = mechanism.positions
    inputs = [("y", positions), ("x", mechanism.n), ("gaping", 1), ("good", positions), ("trust", 2)]
    outputs = [("y", (positions,)), ("state", (3,)), ("good", (positions,)), ("trust", (2,)), ("going", (1,))]
    return record(function, inputs, outputs)


def assembled_loop(closed: Closed, function: Program, posture: bool) -> Loop:
    """A function of all positions, its first input, from coordinates: assembly and function in one.

    It takes the coordinates, the function's other inputs, and where to begin; or a `posture` in the place of
    the first and the last. Its last result is positive where the caller has to look closer: loops are open
    or the posture is singular, a turn may have to be taken off, or the posture given was not closed.
    """
    model, positions = closed.model, closed.positions
    (first, _), *others = function.inputs
    given = [Argument(name, size) for name, size in others]
    Q = Argument(first, positions if posture else model.mechanism.n)
    START = Q if posture else Argument("near", positions)
    x, y, state = Local("x", model.mechanism.n), Local("y", positions), Local("state", 3)
    start, parts = Local("start", positions), [Local(name, size) for name, size in others]
    results = [Local(f"result{k}", prod(shape)) for k, (_, shape) in enumerate(function.outputs)]
    declines = Local("declines", 1)
    outputs = [Argument(f"y{k}", part.size, written=True) for k, part in enumerate([*results, declines])]
    steps, programs = _steps(closed, FINE, x, START, y, state)
    programs |= {"function": function, "declines": _declines(closed, posture)}
    if posture:
        programs["coordinates"] = record(
            lambda y: [[y[i] for i in model.mechanism.free]], [("y", positions)], [("x", (x.size,))]
        )
    body = (
        *(Fetch(part.all, source) for part, source in zip(parts, given, strict=True)),
        Fetch(start.all, START),
        Call("coordinates", (start.all,), (x.all,)) if posture else Fetch(x.all, Q),
        *steps,
        Call("declines", (y.all, x.all, start.all, state.all), (declines.all,)),
        Call("function", (y.all, *(part.all for part in parts)), tuple(part.all for part in results)),
        *(Save(out, 0, part.all) for out, part in zip(outputs, [*results, declines], strict=True)),
    )
    inputs = (Q, *given) if posture else (Q, *given, START)
    return Loop(f"{function.outputs[0][0]} with assembly", (), (*inputs, *outputs), body, programs)


def _declines(closed: Closed, posture: bool) -> Program:
    """1 where what `assembled_loop` found is not to be handed out."""
    free, units = closed.model.mechanism.free, closed.units.tolist()

    def function(y: list[Any], x: list[Any], start: list[Any], state: list[Any]) -> Any:
        found = select(SINGULAR - state[1], 1, state[0])
        if posture:
            gone = [abs(a - b) - CLOSED * unit for a, b, unit in zip(y, start, units, strict=True)]
        else:
            gone = [abs(goal - start[i]) - TURN for goal, i in zip(x, free, strict=True)]
        for far in gone:
            found = select(far, 1, found)
        return [found]

    positions = closed.positions
    inputs = [("y", positions), ("x", len(free)), ("start", positions), ("state", 3)]
    return record(function, inputs, [("declines", (1,))])


def _largest(values: list[Any]) -> Any:
    found = values[0]
    for x in values[1:]:
        found = larger(found, x)
    return found


# ---- all positions from the coordinates, for any number of states ------------------------------------------

CLOSED = 1e-6  # a posture that closing the loops moves by less is closed [rad, or of the robot's size]
NEAR = 1e-3  # a way that ends so near to a singular posture, as a sine, ends because of it
SINGULAR = 1e-12  # squared sine of a joint's column against the others: less than this is no column
TURN = 2 * np.pi


class LoopError(ModelError):
    """Loops that cannot be closed, or a posture in which joints do not follow."""


@dataclass(frozen=True)
class Assembly:
    """The assembly of a model, whose choice of coordinates is made."""

    model: RobotModel

    def __call__(self, q: Any, near: Any = None) -> Floats:
        """All positions (..., positions) at q (..., n); `near` (..., positions) is where to begin.

        Where q is (..., positions), it is a posture already: another assembly mode, or turns that count. Its
        loops must be closed; rounding is taken off.

        Of CuPy arrays it is computed on the GPU; to see whether it succeeded, it waits for that.
        """
        found = self._at_once((q,), near)
        if found is not None:
            return found  # type: ignore[no-any-return]
        given = self._numbers("q", q, self.model.mechanism.n)
        if not is_cupy(given):
            return self._found(given, near)
        with on_device(given):
            return self._found(given, near)

    def _found(self, given: np.ndarray, near: Any) -> Floats:
        if near is None and given.shape[-1:] == (self.model.mechanism.positions,):
            return self._posture(given)
        x, target, start, y, state = self._followed(given, near)
        self._check(x, target, start, y, state)
        if target is not x:
            y[:, list(self.model.mechanism.free)] = x
        found = y.reshape(*given.shape[:-1], y.shape[-1])
        return found.astype(np.float32) if given.dtype == np.float32 else found

    def closes(self, q: Any, margin: float = SINGULAR, legs: int = 1) -> np.ndarray:
        """(...): whether the loops can be closed at q (..., n), and the posture is not a singular one.

        `margin` is the least squared sine of the column of a joint that follows against the others. With
        several `legs`, the way there is gone in so many parts too, and must end in the same posture: near a
        singular posture, rounding would decide where it leads.
        """
        given = real_array("q", q, f"numbers (..., {self.model.mechanism.n})", ModelError)
        _, target, _, y, state = self._followed(given, None)
        fine = (state[:, 0] <= 0) & (state[:, 1] >= margin)
        at = np.broadcast_to(self._start, y.shape)
        for k in range(1, legs + 1 if legs > 1 else 1):
            at, state = self.sought(self.reference + (target - self.reference) * (k / legs), at)
            fine &= (state[:, 0] <= 0) & (state[:, 1] >= margin)
            at = np.where(fine[:, None], at, self._start)
        if legs > 1:
            fine &= (np.abs(at - y) / self.units).max(1, initial=0.0) < CLOSED
        return np.asarray(fine).reshape(np.shape(q)[:-1])

    def _numbers(self, name: str, x: Any, size: int) -> np.ndarray:
        if not is_cupy(x):
            return real_array(name, x, f"numbers (..., {size})", ModelError)
        if not is_real(x.dtype):
            found = dtype_text(x.dtype)
            raise ModelError(f"{name}: expected numbers (..., {size}), found an array of {found}")
        return array(x)

    def _followed(
        self, given: np.ndarray, near: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (N, n), the same without turns, where it begins, positions there, how it ended (N, 3).

        Positions are (N, positions); where all begin at one posture, (1, positions).
        """
        mechanism = self.model.mechanism
        if given.shape[-1:] != (mechanism.n,):
            allowed = f"(..., {mechanism.n})"
            allowed += f", or all positions (..., {mechanism.positions})" if near is None else " beside near"
            raise ModelError(f"q: expected {allowed}, found {given.shape}")
        x = _doubles(given).reshape(-1, mechanism.n)
        target = self._without_turns(x) if near is None else x
        start = self._start if near is None else self._beginnings(near, x, given.shape[:-1])
        return x, target, start, *self.sought(target, start)

    def _beginnings(self, near: Any, x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
        """Postures (N, positions) to begin with, one for each state; where the states x are."""
        positions = self.model.mechanism.positions
        given = self._numbers("near", near, positions)
        if is_cupy(given) and not is_cupy(x):
            raise ModelError("near: found a CuPy array; then q must be a CuPy array too")
        try:
            found = np.broadcast_to(like(x, given), (*batch, positions))
        except ValueError:
            raise ModelError(f"near: expected {(*batch, positions)}, found {given.shape}") from None
        return _doubles(found).reshape(-1, positions)

    def _posture(self, given: np.ndarray) -> Floats:
        """A posture whose loops are closed but for rounding."""
        found = self(given[..., list(self.model.mechanism.free)], near=given)
        off = np.abs(found - given) / like(found, self.units)
        if (off > CLOSED).any():
            rows = host(given.reshape(-1, given.shape[-1]))
            i = int((off > CLOSED).any(-1).argmax())
            text = Closed.of(self.model).gap_text(rows[i])
            raise LoopError(f"q: all positions are given, [{_text(rows[i])}], but {text}")
        return found

    def sought(self, x: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (samples, positions) at x (samples, n), from postures `start` (samples or 1, positions).

        And the state of each (samples, 3), as `assembly_loop` has it.
        """
        y, state = (zeros_by_instance(x, (1, len(x), columns)) for columns in (start.shape[1], 3))
        if len(x):
            arguments = {"x": _doubles(x)[None], "start": like(x, start)[None], "y": y, "state": state}
            self._kernel(len(x), {}, arguments)
        return y[0], state[0]

    @cached_property
    def _start(self) -> np.ndarray:
        assert self.model.choice is not None
        return np.array(self.model.choice.posture).reshape(1, -1)

    @cached_property
    def units(self) -> np.ndarray:
        """(positions,): what positions are compared in: 1 rad, or the robot's size [m]."""
        return Closed.of(self.model).units

    @cached_property
    def size(self) -> float:
        """A length of the robot's [m]."""
        return Closed.of(self.model).size

    @cached_property
    def reference(self) -> np.ndarray:
        """(n,): the coordinates of the first posture."""
        return np.asarray(self._start[0, list(self.model.mechanism.free)])

    def _without_turns(self, x: np.ndarray) -> np.ndarray:
        """Coordinates less than a turn from the first posture's, where turns do not matter."""
        away = x - like(x, self.reference)
        if not is_cupy(x) and not (np.abs(away) > TURN).any():
            return x
        turns = np.trunc(np.where(np.isfinite(away), away, 0) / TURN) * like(x, self.turning)
        return array(x - TURN * turns)

    @cached_property
    def turning(self) -> np.ndarray:
        """(n,): whether a full turn of a coordinate brings back the frames."""
        return np.asarray(turning_positions(self.model)[list(self.model.mechanism.free)])

    def velocities(self, q: Any, qd: Any) -> Floats:
        """Of all positions, (..., positions), at q and q̇ (..., n)."""
        return array(self._velocities(self(q), qd))

    def rates(self, q: Any) -> Floats:
        """S (..., positions, n) with ẏ = S q̇, at q (..., n)."""
        y = self(q)
        columns = self._velocities(y[..., None, :], like(y, np.eye(self.model.mechanism.n)))
        return array(np.swapaxes(columns, -1, -2))

    def accelerations(self, q: Any, qd: Any, qdd: Any) -> Floats:
        """Of all positions, (..., positions), at q, q̇ and q̈ (..., n)."""
        return array(self._accelerations(self(q), qd, qdd))

    @cached_property
    def _accelerations(self) -> Kernel:
        mechanism = self.model.mechanism
        program = record(
            lambda y, qd, qdd: Following(mechanism, y).moved([y, qd, qdd])[2],
            [("y", mechanism.positions), ("qd", mechanism.n), ("qdd", mechanism.n)],
            [("accelerations", (mechanism.positions,))],
        )
        return Kernel.of("accelerations of positions", program)

    @cached_property
    def _velocities(self) -> Kernel:
        mechanism = self.model.mechanism
        program = record(
            lambda y, qd: Following(mechanism, y).velocities(qd),
            [("y", mechanism.positions), ("qd", mechanism.n)],
            [("velocities", (mechanism.positions,))],
        )
        return Kernel.of("velocities of positions", program)

    def _check(
        self, x: np.ndarray, target: np.ndarray, start: np.ndarray, y: np.ndarray, state: np.ndarray
    ) -> None:
        """Refuse states whose loops stay open or whose joints do not follow; NaN stays NaN."""
        open_loops, singular = state[:, 0] > 0, state[:, 1] < SINGULAR
        if not (open_loops | singular).any():
            return
        x, target, start, y = (host(one) for one in (x, target, start, y))
        i = int((open_loops | singular).argmax())
        where = f"q = [{_text(x[i])}]"
        if len(x) > 1:
            where += f" (row {i})"
        free = list(self.model.mechanism.free)
        beginning = f"[{_short(self.reference)}] in which the loops are closed"
        if start is not self._start:
            beginning = f"given, [{_short(start[i])}]"
        if not np.isfinite(y[i]).all():
            stuck = least_follower(self.model, start[i if len(start) > 1 else 0])[1]
            raise LoopError(f"{where}: no way leads there from the posture {beginning}: {stuck}")
        left = np.abs(target[i] - y[i, free]) / self.units[free]
        margin, stuck = least_follower(self.model, y[i])
        if left.max() < NEAR and margin < NEAR**2:
            raise LoopError(f"{where}: a singular posture: {stuck}")
        text = Closed.of(self.model).gap_text(_placed(y[i], free, x[i]))
        end = (
            f"; it ends in a singular posture near [{_short(y[i, free])}]: {stuck}"
            if margin < NEAR**2
            else ""
        )
        raise LoopError(f"{where}: {text}; no way was found there from the posture {beginning}{end}")

    def stuck(self, y: np.ndarray) -> str:
        """Which joints do not follow the coordinates there."""
        return least_follower(self.model, y)[1]

    @cached_property
    def _kernel(self) -> LoopKernel:
        return LoopKernel(assembly_loop(Closed.of(self.model)))

    @cached_property
    def _at_once(self) -> AtOnce:
        size = self.model.mechanism.positions
        form = Specification("positions", (("q", size),), ((size,),), partial(_same, size), "")
        return AtOnce(self, form)


def _same(size: int) -> Program:
    return record(lambda y: y, [("y", size)], [("positions", (size,))])


def _doubles(x: np.ndarray) -> np.ndarray:
    """As float64, contiguous in NumPy."""
    return x.astype(np.float64, copy=False) if is_cupy(x) else np.ascontiguousarray(x, float)


def _placed(y: np.ndarray, free: list[int], x: np.ndarray) -> np.ndarray:
    """The posture y with coordinates x."""
    found = y.copy()
    found[free] = x
    return found


def _short(x: np.ndarray) -> str:
    return ", ".join(f"{v:.4g}" for v in x)


def _text(x: np.ndarray) -> str:
    return ", ".join(f"{v:.6g}" for v in x)


# ---- kernels that take coordinates -------------------------------------------------------------------------


class AtOnce:
    """A function of all positions for one state, with their assembly, as one compiled call.

    None where there is no such call or it declines: for batches, lists and other precisions, on the
    evaluator, and where the loops stay open or the posture is singular. Then it goes step by step, which
    finds the words.
    """

    def __init__(self, assembly: Assembly, function: Specification) -> None:
        self.assembly, self.function = assembly, function
        mechanism = assembly.model.mechanism
        self._start = np.array(assembly._start[0])
        self._sizes = (mechanism.n, mechanism.positions)
        self._calls: dict[int, Callable[..., Any]] = {}  # by the size of q

    def __call__(self, arrays: tuple[Any, ...], near: Any) -> Any:
        q = arrays[0]
        if type(q) is not np.ndarray or q.ndim != 1 or get_backend() != "compiled":
            return None
        call = self._calls.get(q.size) or self._made(q.size)
        if q.size == self._sizes[0]:
            return call((*arrays, self._start if near is None else near))
        return call(arrays) if near is None else None

    def get_ready(self) -> None:
        for size in self._sizes:
            self._made(size)

    def _made(self, size: int) -> Callable[..., Any]:
        call: Callable[..., Any] = _declining
        if size in self._sizes and not self.function.loop:
            call = single_call(self._form(size))
        self._calls[size] = call if all(self.function.outputs) else partial(_number, call)
        return self._calls[size]

    def _form(self, size: int) -> Specification:
        """Of coordinates and a posture near them, or of a posture."""
        function, model = self.function, self.assembly.model
        posture = size == self._sizes[1]
        inputs = (("q", size), *function.inputs[1:], *([] if posture else [("near", self._sizes[1])]))

        def loop() -> Loop:
            return assembled_loop(Closed.of(model), function.program, posture)

        return Specification(
            f"{function.name} with assembly",
            inputs,
            (*(shape or (1,) for shape in function.outputs), (1,)),
            lambda: function.program,
            f"{function.identity} {model.mechanism!r} {model.choice!r} {posture}",
            loop=loop,
        )


def _declining(arrays: tuple[Any, ...]) -> None:
    """Where there is no call for one state."""


def _number(call: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    """The number that an array of one holds."""
    found = call(arrays)
    return None if found is None else found[0]


class ClosedKernel(Kernel):
    """A kernel whose first input, all positions, is assembled from the coordinates."""

    def __init__(self, kernel: Kernel, assembly: Assembly) -> None:
        super().__init__(kernel.specification)
        self.assembly = assembly
        self._at_once = AtOnce(assembly, kernel.specification)

    @property
    def speeds(self) -> Kernel:
        """Velocities of all positions, S q̇, from all positions and q̇ (n)."""
        return self.assembly._velocities

    @property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        mechanism = self.assembly.model.mechanism
        return ((mechanism.n, mechanism.positions), *super().sizes[1:])

    @opaque
    def call(self, arrays: tuple[Any, ...], out: Any, near: Any = None) -> Any:
        """The same, with assembly that begins at the postures `near` (..., positions)."""
        if out is None:
            found = self._at_once(arrays, near)
            if found is not None:
                return found
        library = library_of(arrays)
        if library is not None and not library.ASSEMBLES:
            if near is not None:
                raise ModelError("near: taken beside arrays of NumPy and CuPy, lists and numbers only")
            return library.call(self, arrays, out)
        q, *others = arrays
        return super().call((self.assembly(q, near), *others), out)

    def compile(self) -> None:
        super().compile()
        self._at_once.get_ready()


def refuse_loops(model: RobotModel, library: str) -> None:
    """For libraries that run programs by themselves: no program assembles."""
    if model.loops:
        raise ModelError(
            f"{library}: {model.name} has loops; all positions are found from q by iteration, which is no "
            "part of a program. robot.opened() is the tree without its closures, which has programs; "
            "robot.assembly(q) gives all positions"
        )
