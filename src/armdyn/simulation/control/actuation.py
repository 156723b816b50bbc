"""What drives an arm, however given: torques and tip wrench as constants, signals or functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.checks import floats
from armdyn.simulation.control.controllers import Controller
from armdyn.simulation.engine.integrand import Drive, Held, Law, tau_as_given
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.frozen import frozen

Function: TypeAlias = Callable[[float, np.ndarray, np.ndarray], Any]  # t, q, q̇ -> a vector


@dataclass(frozen=True, eq=False)
class Sampled:
    """Rows (T, arms or 1, size) at instants evenly over the duration, linear in between."""

    rows: np.ndarray
    duration: float

    def at(self, t: np.ndarray) -> np.ndarray:
        """(N, arms or 1, size) at times (N,)."""
        rows, last = self.rows, len(self.rows) - 1
        place = np.clip(t / self.duration * last, 0.0, last)
        halves = np.rint(2 * place)
        place = np.where(np.abs(2 * place - halves) < 1e-9, halves / 2, place)
        k = np.minimum(place.astype(int), last - 1)
        if len(t) % 2 and np.array_equal(
            2 * place, 2 * k[0] + np.arange(len(t))
        ):  # fixed steps: as many as samples
            first, found = k[0], np.empty((len(t), *rows.shape[1:]))
            found[::2] = rows[first : first + (len(t) + 1) // 2]
            np.add(found[:-1:2], found[2::2], out=found[1::2])
            found[1::2] *= 0.5
            return found
        part = (place - k)[:, None, None]
        return np.asarray((1 - part) * rows[k] + part * rows[k + 1])


@dataclass(frozen=True, eq=False)
class Source:
    """One vector (arms, size) over time: nothing, constant, sampled, a controller's or a function's."""

    size: int
    constant: np.ndarray | None = None  # (arms or 1, size)
    sampled: Sampled | None = None
    controller: Controller | None = None
    gains: tuple[np.ndarray, ...] = ()  # the controller's constants, (arms or 1, …) each
    function: Function | None = None

    @property
    def is_absent(self) -> bool:
        given = (self.constant, self.sampled, self.controller, self.function)
        return all(x is None for x in given)


@dataclass(frozen=True, eq=False)
class Actuation:
    """Torques and wrench of a number of arms of one batch shape."""

    robot: Robot
    batch: tuple[int, ...]
    duration: float
    torque: Source
    wrench: Source
    breaks: np.ndarray = field(default_factory=lambda: np.zeros(0))  # instants at which they may jump [s]

    # ---- for the loops ---------------------------------------------------------------------------------

    def drive(self) -> Drive:
        """The law and its inputs as they are recorded."""
        constants: list[tuple[str, int]] = []
        signals: list[tuple[str, int]] = []
        asked: list[tuple[str, int]] = []
        law: Law | None = None if self.torque.is_absent else tau_as_given
        held = None
        if (controller := self.torque.controller) is not None:
            if self.period is None:
                law = controller.law
                constants += controller.sizes[0]
                signals += controller.sizes[1]
            else:
                held = Held(controller.law, *controller.sizes)
        for name, source in (("tau", self.torque), ("wrench", self.wrench)):
            if source.constant is not None:
                constants.append((name, source.size))
            elif source.sampled is not None:
                signals.append((name, source.size))
            elif source.function is not None:
                asked.append((name, source.size))
        return Drive(law, tuple(constants), tuple(signals), tuple(asked), held)

    def constants(self) -> np.ndarray:
        """The columns of the drive's constants, (arms or 1, columns)."""
        parts = [*self.torque.gains] if self.period is None else []
        parts += [s.constant for s in (self.torque, self.wrench) if s.constant is not None]
        return _side_by_side(parts)

    def signals(self, t: np.ndarray) -> np.ndarray:
        """The columns of the drive's signals at times (N,), (N, arms or 1, columns); (1, 1, 0) if none."""
        parts: list[np.ndarray] = []
        if self.torque.controller is not None and self.period is None and self.torque.controller.sizes[1]:
            parts.append(self.targets(t)[:, None, :])
        parts += [s.sampled.at(t) for s in (self.torque, self.wrench) if s.sampled is not None]
        return parts[0] if len(parts) == 1 else _side_by_side(parts) if parts else np.zeros((1, 1, 0))

    # ---- sampled controllers ---------------------------------------------------------------------------

    @property
    def period(self) -> float | None:
        """The time from one sample of the controller to the next [s]; None: continuous."""
        return None if self.torque.controller is None else self.torque.controller.period

    def sample_index(self, t: np.ndarray) -> np.ndarray:
        """The number of the last sample at or before times (N,)."""
        assert self.period is not None
        return np.floor(t / self.period * (1 + 1e-12) + 1e-9).astype(int)

    def gains(self) -> np.ndarray:
        """The controller's constants side by side, (arms or 1, columns)."""
        return _side_by_side([*self.torque.gains])

    def targets(self, t: np.ndarray) -> np.ndarray:
        """The controller's signals side by side, (N, columns) at times (N,)."""
        assert self.torque.controller is not None
        parts = list(self.torque.controller.signals(frozen(t)).values())
        return np.concatenate(parts, axis=-1) if parts else np.zeros((len(t), 0))

    def law_at(self, target: np.ndarray, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The controller's torques (n,) of one arm, its signals side by side."""
        controller = self.torque.controller
        assert controller is not None
        parts, start = [x[0] for x in self.torque.gains], 0
        for _, size in controller.sizes[1]:
            parts.append(target[start : start + size])
            start += size
        return np.asarray(controller.kernel(q, qd, *parts))

    # ---- functions of the user -------------------------------------------------------------------------

    def ask(self, name: str, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """What the function "torque" or "wrench" gives (arms, size) in the states (arms, n) of all arms."""
        source = self.torque if name == "torque" else self.wrench
        assert source.function is not None
        states = (frozen(x.reshape(*self.batch, self.robot.n)) for x in (q, qd))
        found = _answer(name, source.function(t, *states), (*self.batch, source.size))
        return found.reshape(len(q), source.size)

    def asked(self, times: np.ndarray) -> dict[str, Callable[..., np.ndarray]]:
        """What the loops ask for: by name, functions of a place in `times` and q, q̇ (arms, n)."""
        return {
            "tau": lambda row, q, qd: self.ask("torque", float(times[row]), q, qd),
            "wrench": lambda row, q, qd: self.ask("wrench", float(times[row]), q, qd),
        }

    def longest_step(self, output: float) -> float:
        """Steps in which no torque or wrench that changes with time is overlooked [s].

        DOP853 looks at no less than a quarter of a step: at each sample, so; of what a function or a moving
        target does, at all that lasts longer than three outputs or a hundredth of the time.
        """
        longest = np.inf
        for source in (self.torque, self.wrench):
            if source.sampled is not None:
                longest = min(longest, 4 * source.sampled.duration / (len(source.sampled.rows) - 1))
            moving = source.controller is not None and self.period is None and source.controller.sizes[1]
            if source.function is not None or moving:
                longest = min(longest, 10 * output, self.duration / 30)
        return float(longest)

    def of_arm(self, k: int) -> Actuation:
        """The actuation of one arm alone."""
        return replace(self, batch=(), torque=_of_arm(self.torque, k), wrench=_of_arm(self.wrench, k))


def _answer(name: str, found: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What a function gave, as numbers for every arm."""
    array = floats(SimulationError, f"{name}(t, q, qd)", found)
    if array.shape[-1:] != shape[-1:]:
        raise SimulationError(f"{name}(t, q, qd): expected (..., {shape[-1]}), found {array.shape}")
    try:
        return np.broadcast_to(array, shape)  # a copy: the function may use its array again
    except ValueError:
        raise SimulationError(f"{name}(t, q, qd): expected {shape}, found {array.shape}") from None


def _side_by_side(parts: list[np.ndarray]) -> np.ndarray:
    """Columns next to each other, repeated over arms (and instants) where only some parts differ there."""
    if not parts:
        return np.zeros((1, 0))
    rows = np.broadcast_shapes(*(x.shape[:-1] for x in parts))
    return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in parts], axis=-1)


def _by_arm(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """(..., size) as (arms, size), or (1, size) where all arms share it."""
    if all(length == 1 for length in x.shape[:-1]):
        return x.reshape(1, x.shape[-1])
    try:
        return np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1])
    except ValueError:
        raise SimulationError(f"controller: an entry of shape {x.shape} does not fit arms {batch}") from None


def _of_arm(source: Source, k: int) -> Source:
    def own(x: np.ndarray) -> np.ndarray:
        return x[..., k : k + 1, :] if x.shape[-2] > 1 else x

    return replace(
        source,
        constant=None if source.constant is None else own(source.constant),
        sampled=source.sampled and replace(source.sampled, rows=own(source.sampled.rows)),
        gains=tuple(own(x) for x in source.gains),
    )


# ---- what enters -------------------------------------------------------------------------------------------


def actuation(robot: Robot, batch: tuple[int, ...], duration: float, torque: Any, wrench: Any) -> Actuation:
    """The actuation of what `simulate` was given."""
    source, breaks = _source("torque", torque, robot.n, batch, duration), np.zeros(0)
    if source.controller is not None:
        controller = source.controller
        if controller.robot.n != robot.n:
            raise SimulationError(
                f"torque: the controller is for {controller.robot.n} joints, the robot has {robot.n}"
            )
        breaks = np.asarray(controller.jumps, float)
    tip = _source("wrench", wrench, 6, batch, duration)
    if tip.controller is not None:
        raise SimulationError("wrench: expected an array or a function of (t, q, qd), found a controller")
    return Actuation(robot, batch, duration, source, tip, breaks[(breaks > 0) & (breaks < duration)])


def _source(name: str, given: Any, size: int, batch: tuple[int, ...], duration: float) -> Source:
    if given is None:
        return Source(size)
    if isinstance(given, Controller):
        return Source(
            size, controller=given, gains=tuple(frozen(_by_arm(x, batch)) for x in given.constants().values())
        )
    if callable(given) and not isinstance(given, type | Trajectory):
        return Source(size, function=given)
    controller = " or a controller" if name == "torque" else ""
    array = floats(SimulationError, name, given, f"an array, a function of (t, q, qd){controller}")
    allowed = f"(..., {size}) for arms {batch}, or samples over time (T, ..., {size})"
    if array.ndim == 0 or array.shape[-1] != size or array.ndim > len(batch) + 2:
        raise SimulationError(f"{name}: found shape {array.shape}; allowed: {allowed}")
    if not np.isfinite(array).all():
        raise SimulationError(f"{name}: all numbers must be finite")
    sampled = array.ndim == len(batch) + 2
    own = array.shape[1:-1] if sampled else array.shape[:-1]
    if sampled and len(array) < 2:
        raise SimulationError(f"{name}: samples over time are at least two, found {len(array)}")
    try:
        np.broadcast_shapes(own, batch)
        shared = all(length == 1 for length in own)
        rows = (1,) if shared else (int(np.prod(batch)),)
        target = ((len(array),) if sampled else ()) + (own if shared else batch) + (size,)
        flat = np.broadcast_to(array, target).reshape(*target[: int(sampled)], *rows, size)
    except ValueError:
        raise SimulationError(f"{name}: found shape {array.shape}; allowed: {allowed}") from None
    return Source(size, sampled=Sampled(flat, duration)) if sampled else Source(size, constant=flat)
