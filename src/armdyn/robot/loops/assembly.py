"""Assembly: all positions of a robot with loops from its coordinates, compiled, for any number of states.

A posture is followed from one in which the loops are closed: the coordinates go straight to where they should
be, in steps that are shorter where another mode is near (`steps.py`). So a result depends on the coordinates
and that first posture alone: it is the assembly mode that can be reached from there. A singular posture that
is met on the way ends it. Where the coordinates are at their end, the loops are closed to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.dynamics.constraints.loops import Following
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, dtype_text, is_real, real_array
from armdyn.kernels.cuda.arrays import array, host, is_cupy, like, on_device, zeros_by_instance
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel
from armdyn.program import record
from armdyn.robot.loops.closing import Closed, least_follower
from armdyn.robot.loops.steps import assembly_loop
from armdyn.robot.related import turning_positions

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
        given = self._numbers("q", q, self.model.mechanism.n)
        if not is_cupy(given):
            return self._found(given, near)
        with on_device(given):
            return self._found(given, near)

    def _found(self, given: np.ndarray, near: Any) -> Floats:
        if near is None and given.shape[-1:] == (self.model.mechanism.positions,):
            return self._posture(given)
        x, target, y, state = self._followed(given, near)
        self._check(x, target, y, state)
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
        _, target, y, state = self._followed(given, None)
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
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates (N, n), the same without turns, positions (N, positions) there, how it ended (N, 3)."""
        mechanism = self.model.mechanism
        if given.shape[-1:] != (mechanism.n,):
            allowed = f"(..., {mechanism.n}), or all positions (..., {mechanism.positions})"
            raise ModelError(f"q: expected {allowed}, found {given.shape}")
        x = _doubles(given).reshape(-1, mechanism.n)
        target = self._without_turns(x) if near is None else x
        start = self._start if near is None else self._beginnings(near, x, given.shape[:-1])
        return x, target, *self.sought(target, start)

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

        And the state of each (samples, 3), as `steps.py` has it.
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

    def _check(self, x: np.ndarray, target: np.ndarray, y: np.ndarray, state: np.ndarray) -> None:
        """Refuse states whose loops stay open or whose joints do not follow; NaN stays NaN."""
        open_loops, singular = state[:, 0] > 0, state[:, 1] < SINGULAR
        if not (open_loops | singular).any():
            return
        x, target, y = (host(one) for one in (x, target, y))
        i = int((open_loops | singular).argmax())
        where = f"q = [{_text(x[i])}]"
        if len(x) > 1:
            where += f" (row {i})"
        free = list(self.model.mechanism.free)
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
        raise LoopError(
            f"{where}: {text}; no way was found there from the posture [{_short(self.reference)}] "
            f"in which the loops are closed{end}"
        )

    def stuck(self, y: np.ndarray) -> str:
        """Which joints do not follow the coordinates there."""
        return least_follower(self.model, y)[1]

    @cached_property
    def _kernel(self) -> LoopKernel:
        return LoopKernel(assembly_loop(Closed.of(self.model)))


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
