"""`motor_loads`: torque, speed, power and current of each motor over a motion, at its shaft.

θ̇_m = K q̇ and τ = Kᵀ τ_m (7.22), (7.23): power at the shafts is power at the joints, τ_mᵀ θ̇_m = τᵀ q̇. The
joint torques τ are those of (7.42) with the rotors as bodies, so τ_m is what the magnetic field gives to the
rotor: what accelerates the rotor itself is part of it, and so is friction in the motor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.timing.exceeded import WITHIN, Exceeded, exceeded_by_motors
from armdyn.motion.torques import RecordedMotion, with_torques
from armdyn.motion.trajectory import Trajectory
from armdyn.names import one_line
from armdyn.robot import Robot
from armdyn.robot.drives import Drives, ShaftLimits
from armdyn.robot.joints import Units, joint_name, torque_unit

# ---- as a table: rows of numbers, and as text --------------------------------------------------------------

ROUNDING = 1e-9  # of the energy exchanged: what is less is nothing

_NUMBERS = (
    *("peak_torque", "peak_time", "rms_torque", "peak_speed", "peak_current", "rms_current"),
    *("peak_power", "mean_power", "energy", "energy_drawn"),
)


@dataclass(frozen=True)
class MotorRow:
    """One motor's line of a table; magnitudes at the shaft."""

    motor: str  # the link it drives
    geared: bool  # False: no motor in the description; the joint's own torque and speed
    torque_unit: str
    speed_unit: str
    peak_torque: float
    peak_time: float  # when the torque is largest [s]
    rms_torque: float
    torque_limit: float  # infinite for none
    peak_speed: float
    speed_limit: float
    peak_current: float  # A; NaN where the description has no torque constant
    rms_current: float  # A
    peak_power: float  # W
    mean_power: float  # W
    energy: float  # J, with recuperation
    energy_drawn: float  # J, without

    @classmethod
    def of(cls, loads: MotorLoads, i: int) -> MotorRow:
        """Motor i of one arm."""
        numbers = {name: float(getattr(loads, name)[i]) for name in _NUMBERS}
        if not loads.constant_given[i]:
            numbers |= {"peak_current": np.nan, "rms_current": np.nan}
        return cls(
            motor=loads.names[i],
            geared=loads.geared[i],
            torque_unit=loads.units[i].torque,
            speed_unit=loads.units[i].velocity,
            torque_limit=float(loads.limits.torque[i]),
            speed_limit=float(loads.limits.velocity[i]),
            **numbers,
        )

    @property
    def torque_share(self) -> float:
        """The largest torque in parts of its limit."""
        return self.peak_torque / self.torque_limit if self.peak_torque else 0.0

    @property
    def speed_share(self) -> float:
        """The largest speed in parts of its limit."""
        return self.peak_speed / self.speed_limit if self.peak_speed else 0.0

    def is_rounding(self, energy: float) -> bool:
        """True if an energy is zero, but for rounding, next to what the motor takes and gives back."""
        exchanged = 2 * self.energy_drawn - self.energy  # ∫ |P| dt
        return abs(energy) <= ROUNDING * exchanged


def cells_of(loads: MotorLoads) -> tuple[list[str], list[list[str]]]:
    """Headings and cells for the terminal; columns that say nothing for any motor are left out."""
    rows = loads.table()
    one = len({row.torque_unit for row in rows}) == 1
    torque, speed = [f" [{x}]" if one else "" for x in (rows[0].torque_unit, rows[0].speed_unit)]
    torques = [_with(row.peak_torque, row.torque_unit, one) for row in rows]
    speeds = [_with(row.peak_speed, row.speed_unit, one) for row in rows]
    columns = [
        ("motor of", [_name(row) for row in rows]),
        (f"peak torque{torque}", torques),
        ("at [s]", [_figure(row.peak_time) for row in rows]),
        ("of limit", [_percent(row.torque_share, row.torque_limit) for row in rows]),
        ("rms torque", [_figure(row.rms_torque) for row in rows]),
        (f"peak speed{speed}", speeds),
        ("of limit", [_percent(row.speed_share, row.speed_limit) for row in rows]),
        ("peak current [A]", [_figure(row.peak_current) for row in rows]),
        ("rms current", [_figure(row.rms_current) for row in rows]),
        ("peak power [W]", [_figure(row.peak_power) for row in rows]),
        ("mean power", [_energy(row, row.energy, row.mean_power) for row in rows]),
        ("energy [J]", [_energy(row, row.energy) for row in rows]),
        ("drawn [J]", [_energy(row, row.energy_drawn) for row in rows]),
    ]
    kept = [column for column in columns if any(column[1])]
    return [name for name, _ in kept], [list(row) for row in zip(*(cells for _, cells in kept), strict=True)]


def energy_of(loads: MotorLoads) -> float:
    """Energy of all motors of one arm [J]; zero where it is only rounding next to what they exchange."""
    total = float(loads.total_energy)
    return total if abs(total) > ROUNDING * (2 * float(loads.total_drawn) - total) else 0.0


def sentences(loads: MotorLoads) -> list[str]:
    """Sentences about all motors of one arm together."""
    total, drawn, bus = energy_of(loads), float(loads.total_drawn), float(loads.bus_energy)
    energies = f"{total:.5g} J with recuperation (energy), {drawn:.5g} J without (drawn)"
    bus_text = f"{bus:.5g} J on a common bus that stores nothing"
    text = [f"energy of all motors over {loads.duration:.6g} s: {energies}, {bus_text}"]
    if not all(loads.geared):
        text.append("joints without a motor count as driven directly")
    m, n = loads.robot.transmission.shape
    if m > n:
        shared = f"{m} motors drive {n} joint{'s' * (n > 1)}"
        text.append(f"{shared}: their torques are those with the least sum of squares")
    return text


def text_of(loads: MotorLoads) -> str:
    """The table in plain text, a line about all motors together, and the limits they exceed."""
    headings, rows = cells_of(loads)
    lines = [headings, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(headings))]
    made = [
        "  ".join(
            [line[0].ljust(widths[0]), *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*made, *sentences(loads), *(f"warning: {one}" for one in loads.exceeded)])


def _name(row: MotorRow) -> str:
    return one_line(row.motor) if row.geared else f"{one_line(row.motor)} (no motor)"


def _figure(x: float) -> str:
    """Number to five digits; empty where it is not known."""
    return "" if np.isnan(x) else f"{x:.5g}"


def _energy(row: MotorRow, energy: float, x: float | None = None) -> str:
    """An energy, or `x` that follows from it; zero for rounding errors."""
    return "0" if row.is_rounding(energy) else _figure(energy if x is None else x)


def _with(x: float, unit: str, one: bool) -> str:
    return _figure(x) if one else f"{_figure(x)} {unit}"


def _percent(share: float, limit: float) -> str:
    """A share of a limit, marked where it is more than all of it."""
    mark = " !" if share > 1 + WITHIN else ""
    return f"{100 * share:.3g} %{mark}" if np.isfinite(limit) else ""


# ---- over time ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MotorLoads(Shown):
    """Torque, speed, power and current of m motors at N instants, for one arm or any batch of them.

    The motors are in the order of the rows of `robot.transmission`. A joint without a motor counts as driven
    directly: its row has the joint's own torque and speed (N and m/s where it slides). An instant that
    appears twice has a jump of the torques, both sides of which are kept. Means and energies are integrals by
    the trapezoidal rule. An arm of a batch that stopped early has NaN.
    """

    robot: Robot = field(repr=False)
    t: np.ndarray = field(repr=False)  # (N,) [s]
    torque: np.ndarray = field(repr=False)  # (N, ..., m) [N m]
    speed: np.ndarray = field(repr=False)  # (N, ..., m) [rad/s]: K q̇

    @classmethod
    def from_torques(cls, robot: Robot, t: Any, qd: Any, tau: Any) -> MotorLoads:
        """Loads of motors by joint velocities and torques (N, ..., n) at instants t (N,) in order."""
        check.robot(robot)
        times = check.numbers("t", t)
        if times.ndim != 1 or len(times) < 2 or (np.diff(times) < 0).any() or times[0] == times[-1]:
            raise MotionError(f"t: found {shown(times.tolist())}; two or more instants in order are expected")
        arrays = {"qd": check.floats("qd", qd), "tau": check.floats("tau", tau)}
        for name, x in arrays.items():
            if x.ndim < 2 or x.shape[0] != len(times) or x.shape[-1] != robot.n:
                raise MotionError(f"{name}: expected ({len(times)}, ..., {robot.n}), found {x.shape}")
        if arrays["qd"].shape != arrays["tau"].shape:
            raise MotionError(f"qd, tau: shapes {arrays['qd'].shape} and {arrays['tau'].shape} differ")
        P = robot.drives.to_motors
        if robot.model.elastic or robot.drives.passive:
            _check_given(robot, arrays["tau"])
        return cls(robot, times, arrays["tau"] @ P.T, arrays["qd"] @ robot.transmission.T)

    # ---- the motors ------------------------------------------------------------------------------------

    @property
    def drives(self) -> Drives:
        """The motors: `robot.drives`."""
        return self.robot.drives

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that the motors drive (m)."""
        return self.drives.names

    @property
    def geared(self) -> tuple[bool, ...]:
        """Whether there is a motor in the description (m); otherwise it is the joint's own torque."""
        return self.drives.geared

    @property
    def units(self) -> tuple[Units, ...]:
        """Of angle, speed and torque at each shaft (m)."""
        return self.drives.units

    @property
    def limits(self) -> ShaftLimits:
        """What the shafts bear: torque, that of the current included, velocity and current, (m,) each."""
        return self.drives.limits

    @property
    def torque_constant(self) -> np.ndarray:
        """N m/A (m,); NaN where there is no motor. A description that says none means 1 N m/A."""
        return self.drives.torque_constant

    @property
    def constant_given(self) -> np.ndarray:
        """(m,): whether currents mean something: a torque constant other than 1, or a limit of current."""
        return self.drives.constant_given

    def arm(self, *index: int) -> MotorLoads:
        """One arm of a batch."""
        batch = self.torque.shape[1:-1]
        if len(index) != len(batch) or any(i not in range(-s, s) for i, s in zip(index, batch, strict=True)):
            raise MotionError(f"arm: found {index}; one index into the batch {batch} is expected")
        at: Any = (slice(None), *index)
        return MotorLoads(self.robot, self.t, self.torque[at], self.speed[at])

    # ---- over time -------------------------------------------------------------------------------------

    @cached_property
    def power(self) -> np.ndarray:
        """Mechanical power (N, ..., m) [W], positive where the motor drives. No losses in the windings."""
        return np.asarray(self.torque * self.speed)

    @cached_property
    def current(self) -> np.ndarray:
        """Current (N, ..., m) [A]: torque over its constant; NaN without a motor or where that is zero."""
        constant = np.where(self.torque_constant == 0, np.nan, self.torque_constant)
        return np.asarray(self.torque / constant)

    @cached_property
    def joint_torque(self) -> np.ndarray:
        """Joint torques Kᵀ τ_m (N, ..., n)."""
        return np.asarray(self.torque @ self.robot.transmission)

    # ---- peaks and means -------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def peak_torque(self) -> np.ndarray:
        """Largest torque (..., m), by magnitude."""
        return _peak(self.torque)

    @property
    def peak_speed(self) -> np.ndarray:
        """Largest speed (..., m), by magnitude."""
        return _peak(self.speed)

    @property
    def peak_power(self) -> np.ndarray:
        """Largest power (..., m), by magnitude."""
        return _peak(self.power)

    @property
    def peak_current(self) -> np.ndarray:
        """Largest current (..., m), by magnitude."""
        return _peak(self.current)

    @property
    def peak_time(self) -> np.ndarray:
        """Instant (..., m) at which the torque is largest [s]."""
        return np.asarray(self.t[np.abs(self.torque).argmax(0)])

    @property
    def rms_torque(self) -> np.ndarray:
        """Root of the mean square of the torque over time (..., m), which warms a motor."""
        return self._rms(self.torque)

    @property
    def rms_speed(self) -> np.ndarray:
        """Root of the mean square of the speed over time (..., m)."""
        return self._rms(self.speed)

    @property
    def rms_current(self) -> np.ndarray:
        """Root of the mean square of the current over time (..., m)."""
        return self._rms(self.current)

    @property
    def mean_power(self) -> np.ndarray:
        """Mean power (..., m) [W]; power that comes back counts as negative."""
        return np.asarray(self.energy / self.duration)

    # ---- energy ----------------------------------------------------------------------------------------

    @property
    def energy(self) -> np.ndarray:
        """Energy ∫ P dt (..., m) [J], with recuperation: all that comes back is used again."""
        return self._integral(self.power)

    @property
    def energy_drawn(self) -> np.ndarray:
        """Energy ∫ max(P, 0) dt (..., m) [J], without recuperation: what comes back is lost."""
        return self._integral(np.maximum(self.power, 0.0))

    @property
    def total_energy(self) -> np.ndarray:
        """Energy of all motors (...) [J], with recuperation."""
        return np.asarray(self.energy.sum(-1))

    @property
    def total_drawn(self) -> np.ndarray:
        """Energy of all motors (...) [J], without recuperation."""
        return np.asarray(self.energy_drawn.sum(-1))

    @property
    def bus_energy(self) -> np.ndarray:
        """Energy ∫ max(Σ P, 0) dt (...) [J], on a common DC bus that stores nothing.

        What one motor gives back another may use at the same instant; the rest is lost.
        """
        return self._integral(np.maximum(self.power.sum(-1), 0.0))

    # ---- against the limits ----------------------------------------------------------------------------

    @property
    def torque_share(self) -> np.ndarray:
        """Largest torque (..., m) in parts of its limit; zero where there is none."""
        return _share(self.peak_torque, self.limits.torque)

    @property
    def speed_share(self) -> np.ndarray:
        """Largest speed (..., m) in parts of its limit; zero where there is none."""
        return _share(self.peak_speed, self.limits.velocity)

    @property
    def within_limits(self) -> bool:
        """True if every motor stays within its limits, but for rounding."""
        return bool((np.maximum(self.torque_share, self.speed_share) <= 1 + WITHIN).all())

    @property
    def exceeded(self) -> tuple[Exceeded, ...]:
        """The limits of the motors of one arm that are exceeded: largest values and instants."""
        self._check_one_arm("exceeded")
        return exceeded_by_motors(self.robot, self.t, self.torque, self.speed)

    # ---- looking ---------------------------------------------------------------------------------------

    def table(self) -> list[MotorRow]:
        """A row for each motor of one arm."""
        self._check_one_arm("table")
        return [MotorRow.of(self, i) for i in range(self.torque.shape[-1])]

    def _check_one_arm(self, name: str) -> None:
        if self.torque.ndim > 2:
            batch = self.torque.shape[1:-1]
            one = f".arm({', '.join('0' * len(batch))})"
            raise MotionError(f"{name}: found a batch {batch}; one arm has one: {one}")

    def __str__(self) -> str:
        return repr(self) if self.torque.ndim > 2 else text_of(self)

    def __repr__(self) -> str:
        arms = f", arms {self.torque.shape[1:-1]}" if self.torque.ndim > 2 else ""
        beyond = "" if self.within_limits else ", beyond limits"
        motors = f"{self.torque.shape[-1]} motors"
        return f"<MotorLoads of '{self.robot.name}', {motors}, {self.duration:g} s{arms}{beyond}>"

    def _integral(self, x: np.ndarray) -> np.ndarray:
        """∫ x dt of x (N, ...)."""
        return np.asarray(np.trapezoid(x, self.t, axis=0))

    def _rms(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(self._integral(x**2) / self.duration))


def motor_loads(robot: Robot, motion: Trajectory | RecordedMotion, *, wrench: Any = None) -> MotorLoads:
    """Torque, speed, power and current of each motor over a motion, at its shaft.

    `motion` is a Trajectory, whose torques are those of inverse dynamics with what the arm carries at each
    time and a `wrench` (6,) of the tip (or {link: (6,)}) all along; or a Run of `simulate`, whose torques are
    those applied, for a batch of arms too. From arrays: `MotorLoads.from_torques(robot, t, qd, tau)`. With
    more motors than joints, the motor torques are those with the least sum of squares.
    """
    t, _, qd, _, tau = with_torques(robot, motion, wrench)
    return MotorLoads.from_torques(robot, t, qd, tau)


def _check_given(robot: Robot, tau: np.ndarray) -> None:
    """Refuse torques on passive joints and on the links of elastic ones that no motor can give."""
    off = np.abs(tau - tau @ robot.drives.given.T)
    for i in range(robot.n):
        most = np.nanmax(off[..., i])
        if most > 1e-6 * np.nanmax(np.abs(tau), initial=1e-300):
            if i in robot.drives.passive:
                raise MotionError(
                    f"{joint_name(robot, i)}: the motion needs {most:g} {torque_unit(robot, i)} there, and "
                    "nothing drives this joint (actuated = false): it cannot follow; motions of simulate "
                    "need none"
                )
            raise MotionError(
                f"{joint_name(robot, i)}: the motion needs {most:g} {torque_unit(robot, i)} on the link of "
                "an elastic joint that no motor gives; motions of elastic_feedforward and of simulate need "
                "none"
            )


def _peak(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(x).max(0))


def _share(x: np.ndarray, limit: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(x == 0, 0.0, x / limit))
