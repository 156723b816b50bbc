"""Actuation of an arm: torques and tip wrench, given as constants, samples, functions or laws."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from armdyn.kernels.arrays import array, host, is_cupy, like
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.functions import label, of_links
from armdyn.robot.joints import joint_name
from armdyn.simulation.controller import Controller, frozen, side_by_side
from armdyn.simulation.errors import CPU, FUNCTION_ON_GPU, SimulationError, Where, check
from armdyn.simulation.integrand import Drive, SampledLaw, tau_as_given, wrench_names

Batch: TypeAlias = tuple[int, ...]

_ROUNDING = 1e-9  # of the largest torque: less on a link of an elastic joint is none


@dataclass(frozen=True, eq=False)
class DriveInput:
    """A vector over time for each arm of a batch; this one is absent, others are below."""

    size: int
    batch: Batch
    rows: np.ndarray = field(default_factory=lambda: np.zeros((1, 0)))  # (..., arms or 1, columns)
    kind: ClassVar[str] = ""  # which of a drive's inputs the vector is

    @property
    def constants(self) -> np.ndarray:
        """Numbers that stay, (arms or 1, columns)."""
        return np.zeros((1, 0))

    def signals(self, t: np.ndarray) -> np.ndarray:
        """Numbers that change with time, (N, arms or 1, columns) at times (N,)."""
        return np.zeros((1, 1, 0))

    def values(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, followers: np.ndarray, alone: bool) -> Any:
        """The vector at times (N,) in states (N, arms, n); `alone`: as arms on their own were driven.

        `followers` (N, arms, d) are positions that follow in closed chains.
        """
        return np.zeros(self.size)

    def of_arm(self, k: int) -> DriveInput:
        """The source of one arm alone."""
        rows = self.rows if self.rows.shape[-2] == 1 else self.rows[..., k : k + 1, :]
        return replace(self, batch=(), rows=rows)

    def later(self, start: float) -> DriveInput:
        """The same with a time that begins at `start` [s]."""
        return self


class ConstantInput(DriveInput):
    """One row for each arm, or for all."""

    kind = "constants"

    @property
    def constants(self) -> np.ndarray:
        return self.rows

    def values(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, followers: np.ndarray, alone: bool) -> Any:
        return self.rows


@dataclass(frozen=True, eq=False)
class SampledInput(DriveInput):
    """Rows (T, arms or 1, size) at instants evenly over the duration, linear in between."""

    duration: float = field(kw_only=True)
    start: float = field(kw_only=True, default=0.0)
    kind = "signals"

    def later(self, start: float) -> SampledInput:
        return replace(self, start=self.start + start)

    def signals(self, t: np.ndarray) -> np.ndarray:
        rows, last = self.rows, len(self.rows) - 1
        place = np.clip((t + self.start) / self.duration * last, 0.0, last)
        halves = np.rint(2 * place)
        place = np.where(np.abs(2 * place - halves) < 1e-9, halves / 2, place)
        k = np.minimum(place.astype(int), last - 1)
        in_steps = len(t) % 2 and np.array_equal(2 * place, 2 * k[0] + np.arange(len(t)))
        if in_steps and not is_cupy(rows):  # a sample for each step
            first, found = k[0], np.empty((len(t), *rows.shape[1:]))
            found[::2] = rows[first : first + (len(t) + 1) // 2]
            np.add(found[:-1:2], found[2::2], out=found[1::2])
            found[1::2] *= 0.5
            return found
        part = like(rows, place - k)[:, None, None]
        return array((1 - part) * rows[k] + part * rows[k + 1])

    def values(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, followers: np.ndarray, alone: bool) -> Any:
        return self.signals(t)


def _check_driven(robot: Robot, tau: np.ndarray, scale: float) -> None:
    """Refuse torques (..., n) on passive joints and links of elastic ones that no motor gives, but for
    rounding.
    """
    given = tau @ robot.drives.given.T
    off = np.abs(tau - given).reshape(-1, robot.n)
    if off.size == 0 or off.max() <= _ROUNDING * scale:
        return
    row, i = np.unravel_index(int(off.argmax()), off.shape)
    found, expected = (x.reshape(-1, robot.n)[row, i] for x in (tau, given))
    passive = int(i) in robot.drives.passive
    if robot.drives.given[i].any():
        why = (
            f"but {expected:g} is what motors coupled to it give there with the torques on the others: "
            "motor torques @ robot.transmission are torques that motors can give"
        )
    elif passive:
        why = "which nothing drives (actuated = false); 0 is allowed there"
    else:
        why = "where none acts; torques act on its motor, whose coordinate comes after the links"
    where = joint_name(robot, int(i)) + ("" if passive else ", the link of an elastic joint")
    raise SimulationError(f"torque: found {found:g} on {where}, {why}")


@dataclass(frozen=True, eq=False)
class FunctionInput(DriveInput):
    """A function of (t, q, qd) that the user wrote."""

    name: str = field(kw_only=True)
    function: Callable[[float, np.ndarray, np.ndarray], Any] = field(kw_only=True)
    start: float = field(kw_only=True, default=0.0)
    driven: Robot | None = field(kw_only=True, default=None)  # an arm with elastic or passive joints
    kind = "asked"

    def later(self, start: float) -> FunctionInput:
        return replace(self, start=self.start + start)

    def ask(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Values (arms, size) of the function in the states (arms, n) of all arms."""
        found = self.function(t + self.start, *(frozen(x.reshape(*self.batch, x.shape[-1])) for x in (q, qd)))
        name, shape = f"{self.name}(t, q, qd)", (*self.batch, self.size)
        array = check.floats(name, found)  # a copy: the function may use its array again
        if array.shape[-1:] != shape[-1:]:
            raise SimulationError(f"{name}: expected (..., {shape[-1]}), found {array.shape}")
        if self.driven is not None:
            _check_driven(self.driven, array, max(1.0, float(np.abs(array).max(initial=0.0))))
        try:
            return np.broadcast_to(array, shape).reshape(len(q), self.size)
        except ValueError:
            raise SimulationError(f"{name}: expected {shape}, found {array.shape}") from None

    def values(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, followers: np.ndarray, alone: bool) -> Any:
        """Values of the function, which is not shown the NaN of an arm that has ended."""
        found, arms = np.zeros((*q.shape[:2], self.size)), range(q.shape[1])
        groups = [(self.of_arm(k), [k]) for k in arms] if alone else [(self, list(arms))]
        for source, group in groups:
            for i in np.flatnonzero(np.isfinite(q[:, group, 0]).any(axis=1)):
                states = (np.nan_to_num(x[i, group]) for x in (q, qd))
                found[i, group] = source.ask(float(t[i]), *states)  # type: ignore[attr-defined]
        return found


@dataclass(frozen=True, eq=False)
class LawInput(DriveInput):
    """The torques of a controller; the rows are its gains and set points, side by side."""

    controller: Controller = field(kw_only=True)
    memory: np.ndarray = field(kw_only=True)  # at the start, (arms or 1, m)
    start: float = field(kw_only=True, default=0.0)

    def later(self, start: float) -> LawInput:
        return replace(self, start=self.start + start)

    def targets(self, t: np.ndarray) -> np.ndarray:
        """The controller's signals side by side, (N, columns) at times (N,)."""
        return self.controller.targets(t + self.start)

    @property
    def constants(self) -> np.ndarray:
        return self.rows if self.controller.period is None else super().constants

    def signals(self, t: np.ndarray) -> np.ndarray:
        moving = self.controller.period is None and self.controller.sizes[1]
        return self.targets(t)[:, None] if moving else super().signals(t)

    def values(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, followers: np.ndarray, alone: bool) -> Any:
        return self.controller.evaluate(self.rows, self.targets(t)[:, None], q, qd, followers=followers)

    def of_arm(self, k: int) -> DriveInput:
        own = super().of_arm(k)
        assert isinstance(own, LawInput)
        return own if len(self.memory) == 1 else replace(own, memory=self.memory[k : k + 1])


@dataclass(frozen=True, eq=False)
class Actuation:
    """Torques and wrench of the arms of one batch."""

    batch: Batch
    duration: float
    torque: DriveInput
    wrenches: tuple[DriveInput, ...]  # one at the tip, or one for each of `links`
    links: tuple[str, ...] = ()
    first: Any = None  # on a GPU, an array of CuPy of the type of all others

    @property
    def sources(self) -> dict[str, DriveInput]:
        """Sources by the name of their input."""
        return {"tau": self.torque, **dict(zip(wrench_names(self.links), self.wrenches, strict=True))}

    def drive(self) -> Drive:
        """The law and its inputs as they are recorded."""
        inputs: dict[str, list[tuple[str, int]]] = {"constants": [], "signals": [], "asked": []}
        law, held = tau_as_given if self.torque.kind else None, None
        if (controller := self.controller) is not None:
            law = controller.law if self.period is None else tau_as_given
            if self.period is None:
                inputs["constants"] += controller.sizes[0]
                inputs["signals"] += controller.sizes[1]
            else:
                held = SampledLaw(controller.law, *controller.sizes, controller.remembered)
        for name, source in self.sources.items():
            if source.kind:
                inputs[source.kind].append((name, source.size))
        constants, signals, asked = (tuple(found) for found in inputs.values())
        return Drive(law, constants, signals, asked, held, self.links)

    def constants(self) -> np.ndarray:
        """The columns of the drive's constants, (arms or 1, columns)."""
        return self._joined(*(source.constants for source in self.sources.values()))

    def signals(self, t: np.ndarray) -> np.ndarray:
        """The columns of the drive's signals at times (N,), (N, arms or 1, columns); (1, 1, 0) if none."""
        return self._joined(*(source.signals(t) for source in self.sources.values()))

    def _joined(self, *parts: np.ndarray) -> np.ndarray:
        """Parts side by side; on a GPU, all of them there."""
        return _joined(*(parts if self.first is None else [like(self.first, x) for x in parts]))

    def asked(self, times: np.ndarray) -> dict[str, Callable[..., np.ndarray]]:
        """Functions that loops ask, by name; each takes a place in `times` and q, q̇ (arms, n)."""

        def at(source: FunctionInput) -> Callable[..., np.ndarray]:
            return lambda row, q, qd: source.ask(float(times[row]), q, qd)

        return {
            name: at(source) for name, source in self.sources.items() if isinstance(source, FunctionInput)
        }

    def of_arm(self, k: int) -> Actuation:
        """The actuation of one arm alone."""
        wrenches = tuple(source.of_arm(k) for source in self.wrenches)
        return replace(self, batch=(), torque=self.torque.of_arm(k), wrenches=wrenches)

    # ---- in time ---------------------------------------------------------------------------------------

    def later(self, start: float, duration: float) -> Actuation:
        """The part of a `duration` from `start` on, with a time that begins there [s]."""
        torque, *wrenches = (source.later(start) for source in (self.torque, *self.wrenches))
        return replace(self, duration=duration, torque=torque, wrenches=tuple(wrenches))

    @property
    def law(self) -> LawInput | None:
        """The torques, where they are those of a controller."""
        return self.torque if isinstance(self.torque, LawInput) else None

    @property
    def controller(self) -> Controller | None:
        return None if self.law is None else self.law.controller

    @property
    def memory(self) -> np.ndarray:
        """The memory of the controller at the start, (arms or 1, m); m is 0 where there is none."""
        return np.zeros((1, 0)) if self.law is None else self.law.memory

    @property
    def period(self) -> float | None:
        """The time from one sample of the controller to the next [s]; None: continuous."""
        return None if self.controller is None else self.controller.period

    def sample_index(self, t: np.ndarray) -> np.ndarray:
        """The number of the last sample at or before times (N,)."""
        assert self.period is not None
        return np.floor(t / self.period * (1 + 1e-12) + 1e-9).astype(int)

    @property
    def breaks(self) -> np.ndarray:
        """Instants within the duration at which torques may jump [s]."""
        law = self.law
        found = np.zeros(0) if law is None else np.asarray(law.controller.jumps, float) - law.start
        return found[(found > 0) & (found < self.duration)]

    def longest_step(self, output: float) -> float:
        """Steps in which no torque or wrench that changes with time is overlooked [s].

        DOP853 looks at no less than a quarter of a step: at each sample, so; of what a function or a moving
        target does, at all that lasts longer than three outputs or a hundredth of the time.
        """
        longest = np.inf
        for source in self.sources.values():
            if isinstance(source, SampledInput):
                longest = min(longest, 4 * source.duration / (len(source.rows) - 1))
            elif isinstance(source, FunctionInput) or source.signals(np.zeros(1)).size:
                longest = min(longest, 10 * output, self.duration / 30)
        return float(longest)


def _joined(*parts: np.ndarray) -> np.ndarray:
    """Parts that have columns, side by side."""
    found = [x for x in parts if x.shape[-1]] or parts[:1]
    return found[0] if len(found) == 1 else side_by_side(found)


def _by_arm(x: np.ndarray, batch: Batch, lead: int = 0) -> np.ndarray:
    """Array (..., size) as (arms, size), or (1, size) where arms share it; after `lead` axes that stay."""
    before, own, size = x.shape[:lead], x.shape[lead:-1], x.shape[-1]
    if any(length != 1 for length in own):
        x = np.broadcast_to(x, (*before, *batch, size))
    return x.reshape(*before, -1, size)


# ---- what enters -------------------------------------------------------------------------------------------


def actuation(
    robot: Robot, batch: Batch, duration: float, torque: Any, wrench: Any, where: Where = CPU
) -> Actuation:
    """The actuation that `simulate` was given, on the device of the states."""
    by_link = of_links(robot.model, wrench) if isinstance(wrench, Mapping) else {}
    links = tuple(by_link)
    given = {label(link): x for link, x in by_link.items()}
    given = given or {"wrench": None if isinstance(wrench, Mapping) else wrench}
    wrenches = tuple(_source(name, x, 6, batch, duration, where) for name, x in given.items())
    if not isinstance(torque, Controller):
        source = _source("torque", torque, robot.n, batch, duration, where)
        return Actuation(batch, duration, _driven(robot, source), wrenches, links, where.first)
    if torque.robot.n != robot.n:
        raise SimulationError(
            f"torque: the controller is for {torque.robot.n} joints, the robot has {robot.n}"
        )
    check_loops(robot, torque.robot)
    _check_same_passive(robot, torque.robot)
    gains, memory = [np.zeros((1, 0))], np.zeros((1, 0))
    named = torque.checked_constants | ({"memory": torque.first_memory} if torque.remembered else {})
    for name, x in named.items():
        try:
            gains.append(_by_arm(x, batch))
        except ValueError:
            raise SimulationError(f"{name}: found shape {x.shape}; it does not fit arms {batch}") from None
    if torque.remembered:
        memory = frozen(gains.pop())
    source = LawInput(robot.n, batch, frozen(_joined(*gains)), controller=torque, memory=memory)
    return Actuation(batch, duration, source, wrenches, links, where.first)


def _driven(robot: Robot, torque: DriveInput) -> DriveInput:
    """Refuse torques that motors cannot give, on passive joints and on links of elastic ones: at once, or
    when a function does.
    """
    if not robot.model.elastic and not robot.drives.passive:
        return torque
    if isinstance(torque, FunctionInput):
        return replace(torque, driven=robot)
    if torque.rows.shape[-1]:
        rows = host(torque.rows)
        _check_driven(robot, rows, float(np.abs(rows).max(initial=0.0)))
    return torque


def _check_same_passive(robot: Robot, model: Robot) -> None:
    """Refuse a controller whose model drives joints that nothing drives."""
    if undriven := [i for i in robot.drives.passive if i not in model.drives.passive]:
        raise SimulationError(
            f"torque: nothing drives {joint_name(robot, undriven[0])} of the robot (actuated = false), but "
            "the controller's model has a drive there; its joint must be passive too"
        )


def check_loops(robot: Robot, model: Robot) -> None:
    """Refuse a controller whose model has closed chains of its own: it gets the robot's positions."""
    if not model.model.loops:
        return
    of_both = [(x.mechanism.positions, x.mechanism.free) for x in (robot, model)]
    if not robot.model.loops or of_both[0] != of_both[1]:
        raise SimulationError(
            "torque: the controller's model has loops; the robot must have the same joints, coordinates and "
            f"loops. Found coordinates {', '.join(model.coordinates)} of joints {', '.join(model.joints)}, "
            f"the robot's are {', '.join(robot.coordinates)} of {', '.join(robot.joints)}"
        )


def _source(name: str, given: Any, size: int, batch: Batch, duration: float, where: Where) -> DriveInput:
    if given is None:
        return DriveInput(size, batch)
    if isinstance(given, Controller):
        raise SimulationError(f"{name}: expected an array or a function of (t, q, qd), found a controller")
    controller = " or a controller" if name == "torque" else ""
    if callable(given) and not isinstance(given, type | Trajectory):
        if where.first is not None:
            raise SimulationError(f"{name}: {FUNCTION_ON_GPU.format(or_controller=controller)}")
        return FunctionInput(size, batch, name=name, function=given)
    array = where.floats(name, given, f"an array, a function of (t, q, qd){controller}")
    sampled = array.ndim == len(batch) + 2
    try:
        if array.shape[-1:] != (size,) or array.ndim > len(batch) + 2:
            raise ValueError
        rows = _by_arm(array, batch, int(sampled))
    except ValueError:
        allowed = f"(..., {size}) for arms {batch}, or samples over time (T, ..., {size})"
        raise SimulationError(f"{name}: found shape {array.shape}; allowed: {allowed}") from None
    if sampled and len(array) < 2:
        raise SimulationError(f"{name}: samples over time are at least two, found {len(array)}")
    where.finite(name, array)
    return SampledInput(size, batch, rows, duration=duration) if sampled else ConstantInput(size, batch, rows)
