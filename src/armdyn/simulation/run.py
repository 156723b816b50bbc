"""`Run`, the result of a simulation, and remarks about motors that turn too fast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.kernels.arrays import array, host, like, zeros
from armdyn.motion import csv_files
from armdyn.motion.loads import Loaded
from armdyn.remarks import Remark, notes_of
from armdyn.robot import Robot
from armdyn.simulation.errors import SimulationError
from armdyn.tables import write_mat

# ------------------------------------------------------------------------------------------------------------
# Motors that turn faster than their limits. A run tells them; nothing stops them.


WITHIN = 1e-9  # in parts of the limit: what exceeds it by less does not


class SpeedPassed(NamedTuple):
    """The first time that a motor exceeds its limit of speed."""

    time: float  # s, interpolated
    motor: int  # its row of K
    name: str  # the link it drives
    limit: float  # rad/s
    largest: float  # rad/s, over the whole run
    arm: tuple[int, ...] = ()  # which of a batch

    @property
    def text(self) -> str:
        return (
            f"the motor of '{self.name}' exceeds its limit of {self.limit:.6g} rad/s from t = "
            f"{self.time:.6g} s on and reaches {self.largest:.6g} rad/s"
        )


def speeds_passed(
    robot: Robot, t: np.ndarray, qd: np.ndarray, positions: np.ndarray | None = None
) -> tuple[SpeedPassed, ...]:
    """Motors whose speed |K q̇| exceeds their limit at velocities qd (N, ..., n), the first one first.

    With closed chains, motors at joints that follow count too, at all positions (N, ..., positions).
    """
    limits, names = robot.drives.limits.velocity, robot.drives.names
    if not np.isfinite(limits).any():
        return ()
    K = robot.drives.by_position
    if robot.model.loops:
        qd = robot.assembly.velocities(positions, qd)
    found = []
    for motor in np.flatnonzero(np.isfinite(limits)).tolist():
        speed, most = np.abs(qd @ like(qd, K[motor])), float(limits[motor])
        speed = speed.reshape(len(t), -1)
        beyond = speed > most * (1 + WITHIN)
        arms = np.flatnonzero(host(beyond.any(0)))
        if not arms.size:
            continue
        places = np.stack(np.unravel_index(arms, qd.shape[1:-1]), -1) if qd.ndim > 2 else arms[:, None][:, :0]
        first, largest = beyond[:, arms].argmax(0), host(np.nanmax(speed[:, arms], axis=0))
        before, after = (host(speed[np.maximum(first - k, 0), arms]) for k in (1, 0))
        for arm, k, *own, top in zip(places.tolist(), host(first), before, after, largest, strict=True):
            time = float(t[0] if k == 0 else np.interp(most, own, t[k - 1 : k + 1]))
            found.append(SpeedPassed(time, motor, names[motor], most, float(top), tuple(arm)))
    return tuple(sorted(found))


def speeds_text(passed: Sequence[SpeedPassed], batch: tuple[int, ...]) -> str:
    """Words for motors that turn too fast: each once, with the first arm in which it does."""
    first: dict[int, SpeedPassed] = {}
    for one in passed:
        first.setdefault(one.motor, one)
    return "; ".join(one.text + f" in arm {one.arm}" * bool(batch) for one in first.values())


# ------------------------------------------------------------------------------------------------------------
# The run.


EventKind: TypeAlias = Literal["stick", "slip", "reverse"]


class Event(NamedTuple):
    """A joint (or a coupled motor) that begins to stick or to slip, or turns round without resting."""

    time: float  # s
    surface: str
    kind: EventKind
    arm: tuple[int, ...] = ()  # which of a batch


class LimitPassed(NamedTuple):
    """The first time that a joint passes a position limit."""

    time: float  # s, interpolated
    joint: int  # its place in q; from n on joints that follow others and have limits
    name: str
    limit: float
    unit: str  # rad or m
    arm: tuple[int, ...] = ()  # which of a batch

    @property
    def event(self) -> str:
        """Words for the event, without the instant."""
        return f"{self.name} passes its limit of {self.limit:.6g} {self.unit}"

    @property
    def text(self) -> str:
        return f"{self.event} at t = {self.time:.6g} s"


@dataclass(frozen=True, eq=False)
class Run(Shown):
    """A simulated motion: N instants, any batch of arms.

    `t` (N,) [s]; `q`, `qd`, `tau` (N, ..., n): positions, velocities and the torques applied. `torque_work`,
    `wrench_work` and `dissipated` (N, ...) [J] are the work of the torques, of the surroundings at the tip,
    and what friction has taken. An arm that diverged or was stopped has NaN from there on; instants that no
    arm reached are left out, `completed` is False and `message` says when and where. A run of one arm that a
    limit stopped ends with the instant it stopped at. `completed` is also False where the energies do not
    add up (`balance`). `events` are the instants at which joints began to stick or to slip; with fixed steps,
    those that can be seen between the instants kept. `limits_passed` are the joints that passed position
    limits, in the order in which they did. `notes` are remarks about the accuracy. `memory` (N, ..., m) is
    what a controller remembers: that with which a sample at the instant begins, so the first is that of the
    start. Without a memory, m is 0. `carried` is the robot with the loads that it picks up and puts down,
    where there are any; `robot` carries none of them. `closed` (N, ..., positions) are all positions of a
    robot with closed chains; None without. `wrench` (N, ..., 6) is what the tip exerted on its surroundings,
    world axes; by link, where `simulate` was given it so; None without.
    """

    robot: Robot = field(repr=False)
    t: np.ndarray = field(repr=False)
    q: np.ndarray = field(repr=False)
    qd: np.ndarray = field(repr=False)
    tau: np.ndarray = field(repr=False)
    torque_work: np.ndarray = field(repr=False)
    wrench_work: np.ndarray = field(repr=False)
    dissipated: np.ndarray = field(repr=False)
    events: tuple[Event, ...] = field(default=(), repr=False)
    completed: bool = True
    message: str = ""
    limits_passed: tuple[LimitPassed, ...] = field(default=(), repr=False)
    remarks: tuple[Remark, ...] = field(default=(), repr=False)
    memory: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    carried: Loaded | None = field(default=None, repr=False)
    closed: np.ndarray | None = field(default=None, repr=False)
    wrench: np.ndarray | dict[str, np.ndarray] | None = field(default=None, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks about the accuracy."""
        return notes_of(self.remarks)

    @property
    def positions(self) -> np.ndarray:
        """All positions (N, ..., positions): q, and with closed chains also those that follow."""
        return self.q if self.closed is None else self.closed

    @cached_property
    def joints(self) -> np.ndarray:
        """Positions (N, ..., joints) of all moving joints, those that follow others included.

        With closed chains turns count: a joint beside a crank that turns and turns does so too, where
        `robot.joint_positions(q)` takes whole turns off.
        """
        return array(self.robot.joint_positions(self.positions))

    @cached_property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy (N, ...) [J], loads included."""
        if self.carried is None:
            return array(self.robot.kinetic_energy(self.positions, self.qd))
        after = np.zeros(len(self.t), bool)
        return self.carried.evaluate(Robot.kinetic_energy, self.t, self.positions, self.qd, before=after)

    @cached_property
    def potential(self) -> np.ndarray:
        """Potential energy (N, ...) [J], loads included."""
        if self.carried is None:
            return array(self.robot.potential_energy(self.positions))
        after = np.zeros(len(self.t), bool)
        return self.carried.evaluate(Robot.potential_energy, self.t, self.positions, before=after)

    @cached_property
    def load_energy(self) -> np.ndarray:
        """The energy that loads bring when taken up, less what they take away (N, ...) [J]."""
        total = zeros(self.q, self.q.shape[:-1])
        if self.carried is None:
            return total
        for k, t in enumerate(self.carried.boundaries):
            row = int(np.searchsorted(self.t, t))
            if row >= len(self.t):
                break
            energies = [
                array(r.kinetic_energy(self.positions[row], self.qd[row]))
                + array(r.potential_energy(self.positions[row]))
                for r in self.carried.robots[k : k + 2]
            ]
            total[row:] += energies[1] - energies[0]
        return total

    @cached_property
    def energy(self) -> np.ndarray:
        """Total energy (N, ...) [J]."""
        return array(self.kinetic + self.potential)

    @cached_property
    def balance(self) -> np.ndarray:
        """E(t) − E(0) − work of torques − work at the tip + dissipated (N, ...) [J]: zero if all is exact.

        The energy of loads that are taken up or put down is not counted as gained.
        """
        return self.unexplained(self.load_energy)

    def unexplained(self, load_energy: np.ndarray) -> np.ndarray:
        """The balance with this energy of loads, which a run at some of its instants only takes from all."""
        gained = self.energy - self.energy[:1] - load_energy
        return array(gained - self.torque_work - self.wrench_work + self.dissipated)

    @cached_property
    def speeds_passed(self) -> tuple[SpeedPassed, ...]:
        """The motors that exceeded their limits of velocity, in the order in which they did."""
        return speeds_passed(self.robot, self.t, self.qd, self.closed)

    def place_of(self, arm: Any = None) -> tuple[int, ...]:
        """The index of one arm in the batch, checked; () where the run has one arm and none is named."""
        batch = self.q.shape[1:-1]
        index = () if arm is None else tuple(np.atleast_1d(arm).tolist())
        if len(index) != len(batch) or any(i not in range(-s, s) for i, s in zip(index, batch, strict=True)):
            raise SimulationError(f"arm: found {shown(arm)}; one index into the batch {batch} is expected")
        return tuple(int(i) % size for i, size in zip(index, batch, strict=True))

    def to_csv(self, path: str | Path, arm: Any = None) -> None:
        """Columns t, q1…, qd1…, tau1…, energy; of a batch, those of one `arm` (its index).

        With a wrench at the tip, also wrench1…wrench6.
        """
        at: Any = (slice(None), *self.place_of(arm))
        csv_files.write(path, self.t, {name: x[at] for name, x in self._columns().items()})

    def to_mat(self, path: str | Path) -> None:
        """Write the same to a MAT file: t, energy (N, 1) and q, qd, tau (N, n); of a batch (N, ..., n)."""
        write_mat(path, {"t": host(self.t), **self._columns()}, SimulationError)

    def _columns(self) -> dict[str, np.ndarray]:
        """What files have beside the time, a row per instant."""
        at_tip = self.wrench is not None and not isinstance(self.wrench, dict)
        names = ["q", "qd", "tau", "energy", *(["wrench"] if at_tip else [])]
        return {name: host(getattr(self, name)) for name in names}

    def __repr__(self) -> str:
        arms = f", arms {self.q.shape[1:-1]}" if self.q.ndim > 2 else ""
        state = "completed" if self.completed else self.message
        return f"<Run of '{self.robot.name}', {self.t[-1]:g} s, {len(self.t)} instants{arms}: {state}>"
