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

from armdyn.expression import shown
from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.motors.table import MotorRow, text_of
from armdyn.motion.timing.exceeded import WITHIN, Exceeded, Recorded, exceeded_by_motors
from armdyn.motion.timing.speed_parts import check_robot, steady_wrench
from armdyn.motion.torques import torques_along
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import Shown
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, Units, joint_name, torque_unit
from armdyn.robot.motors import (
    ShaftLimits,
    driven_links,
    given_by_motors,
    shaft_limits,
    to_motors,
    torque_constants,
)


@dataclass(frozen=True, eq=False)
class MotorLoads(Shown):
    """What each of m motors gives at N instants, for one arm or any batch of them.

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
        """From joint velocities and torques (N, ..., n) at instants t (N,), which do not decrease."""
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
        P = to_motors(robot.model)
        if robot.model.elastic:
            _check_elastic(robot, arrays["tau"])
        return cls(robot, times, arrays["tau"] @ P.T, arrays["qd"] @ robot.transmission.T)

    # ---- the motors ------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that the motors drive (m)."""
        return tuple(link.joint_label for link in driven_links(self.robot.model))

    @property
    def geared(self) -> tuple[bool, ...]:
        """Whether there is a motor in the description (m); otherwise it is the joint's own torque."""
        return tuple(link.motor is not None for link in driven_links(self.robot.model))

    @property
    def units(self) -> tuple[Units, ...]:
        """Of angle, speed and torque at each shaft (m)."""
        links = driven_links(self.robot.model)
        return tuple(UNITS["revolute" if link.motor else link.joint] for link in links)

    @cached_property
    def limits(self) -> ShaftLimits:
        """What the shafts bear: torque, that of the current included, velocity and current, (m,) each."""
        return shaft_limits(self.robot.model)

    @cached_property
    def torque_constant(self) -> np.ndarray:
        """N m/A (m,); NaN where there is no motor. A description that says none means 1 N m/A."""
        return torque_constants(self.robot.model)

    @property
    def constant_given(self) -> np.ndarray:
        """(m,): whether currents mean something: a torque constant other than 1, or a limit of current."""
        told = (self.torque_constant != 1) | np.isfinite(self.limits.current)
        return np.asarray(told & np.isfinite(self.torque_constant) & (self.torque_constant != 0))

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
        """(N, ..., m) [W]: mechanical, positive where the motor drives. No losses in the windings."""
        return np.asarray(self.torque * self.speed)

    @cached_property
    def current(self) -> np.ndarray:
        """(N, ..., m) [A]: torque over torque constant; NaN without a motor or with a constant of zero."""
        constant = np.where(self.torque_constant == 0, np.nan, self.torque_constant)
        return np.asarray(self.torque / constant)

    @cached_property
    def joint_torque(self) -> np.ndarray:
        """(N, ..., n): Kᵀ τ_m."""
        return np.asarray(self.torque @ self.robot.transmission)

    # ---- peaks and means -------------------------------------------------------------------------------

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1] - self.t[0])

    @property
    def peak_torque(self) -> np.ndarray:
        """(..., m): the largest magnitude."""
        return _peak(self.torque)

    @property
    def peak_speed(self) -> np.ndarray:
        """(..., m): the largest magnitude."""
        return _peak(self.speed)

    @property
    def peak_power(self) -> np.ndarray:
        """(..., m): the largest magnitude."""
        return _peak(self.power)

    @property
    def peak_current(self) -> np.ndarray:
        """(..., m): the largest magnitude."""
        return _peak(self.current)

    @property
    def peak_time(self) -> np.ndarray:
        """(..., m): when the torque is largest [s]."""
        return np.asarray(self.t[np.abs(self.torque).argmax(0)])

    @property
    def rms_torque(self) -> np.ndarray:
        """(..., m): root of the mean square over time; what warms a motor."""
        return self._rms(self.torque)

    @property
    def rms_speed(self) -> np.ndarray:
        """(..., m): root of the mean square over time."""
        return self._rms(self.speed)

    @property
    def rms_current(self) -> np.ndarray:
        """(..., m): root of the mean square over time."""
        return self._rms(self.current)

    @property
    def mean_power(self) -> np.ndarray:
        """(..., m) [W]: what comes back counted as negative."""
        return np.asarray(self.energy / self.duration)

    # ---- energy ----------------------------------------------------------------------------------------

    @property
    def energy(self) -> np.ndarray:
        """(..., m) [J]: ∫ P dt, with recuperation: all that comes back is used again."""
        return self._integral(self.power)

    @property
    def energy_drawn(self) -> np.ndarray:
        """(..., m) [J]: ∫ max(P, 0) dt, without recuperation: what comes back is lost."""
        return self._integral(np.maximum(self.power, 0.0))

    @property
    def total_energy(self) -> np.ndarray:
        """(...) [J]: of all motors, with recuperation."""
        return np.asarray(self.energy.sum(-1))

    @property
    def total_drawn(self) -> np.ndarray:
        """(...) [J]: of all motors, without recuperation."""
        return np.asarray(self.energy_drawn.sum(-1))

    @property
    def bus_energy(self) -> np.ndarray:
        """(...) [J]: ∫ max(Σ P, 0) dt, on a common DC bus that stores nothing.

        What one motor gives back another may use at the same instant; the rest is lost.
        """
        return self._integral(np.maximum(self.power.sum(-1), 0.0))

    # ---- against the limits ----------------------------------------------------------------------------

    @property
    def torque_share(self) -> np.ndarray:
        """(..., m): the largest torque in parts of its limit; zero where there is none."""
        return _share(self.peak_torque, self.limits.torque)

    @property
    def speed_share(self) -> np.ndarray:
        """(..., m): the largest speed in parts of its limit; zero where there is none."""
        return _share(self.peak_speed, self.limits.velocity)

    @property
    def within_limits(self) -> bool:
        """Whether every motor stays within its limits, but for rounding."""
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


def motor_loads(robot: Robot, motion: Trajectory | Recorded, *, wrench: Any = None) -> MotorLoads:
    """Torque, speed, power and current of each motor over a motion, at its shaft.

    `motion` is a Trajectory, whose torques are those of inverse dynamics with what the arm carries at each
    time and a `wrench` (6,) of the tip (or {link: (6,)}) all along; or a Run of `simulate`, whose torques are
    those applied, for a batch of arms too. From arrays: `MotorLoads.from_torques(robot, t, qd, tau)`. With
    more motors than joints, the motor torques are those with the least sum of squares.
    """
    check.robot(robot)
    if not isinstance(motion, Trajectory):
        if not all(hasattr(motion, name) for name in ("t", "qd", "tau")):
            found = type(motion).__name__
            raise MotionError(f"motion: expected a Trajectory or a Run of simulate, found {found}")
        if wrench is not None:
            raise MotionError("wrench: it goes with a Trajectory; the torques of a run include it")
        return MotorLoads.from_torques(robot, motion.t, motion.qd, motion.tau)
    check_robot(robot, motion)
    h, at = steady_wrench(robot, wrench), motion.samples()
    return MotorLoads.from_torques(robot, at.t, at.qd, torques_along(motion.loaded(robot), at, h))


def _check_elastic(robot: Robot, tau: np.ndarray) -> None:
    """Refuse torques on the links of elastic joints that no motor can give."""
    off = np.abs(tau - tau @ given_by_motors(robot.model).T)
    for i in range(robot.n):
        most = np.nanmax(off[..., i])
        if most > 1e-6 * np.nanmax(np.abs(tau), initial=1e-300):
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
