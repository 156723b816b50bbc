"""Limits that motions are held against: of joints, and of motors at their shafts.

Motors turn by θ_m = K q and drive the joints with τ = Kᵀ τ_m (7.22). Limits are rows: |R τ| ≤ limit and
|R q̇| ≤ limit. The first n rows are the joints themselves; a motor that belongs to one joint alone lowers the
limit of that joint. Motors that drive or follow several joints have rows of their own: R is K for velocities
and K^{-T} for torques. With more motors than joints τ_m is the one with the least norm, K (Kᵀ K)⁻¹ τ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.model import ModelError
from armdyn.motion.errors import MotionError, check
from armdyn.robot import Robot
from armdyn.robot.drives import ShaftLimits
from armdyn.robot.joints import (
    UNITS,
    Followers,
    JointLimits,
    follower_name,
    followers,
    joint_limits,
    joint_name,
    joint_units,
)

NOTHING = 1e-13  # of the largest entry of a row: smaller ones are rounding errors


@dataclass(frozen=True)
class Limit:
    """A limited quantity: "position", "velocity", "acceleration", "jerk" or "torque" of a joint.

    For motors it is "motor torque", "motor velocity" or "motor current"; for joints that follow others
    "follower position", "follower velocity" or "follower acceleration".
    """

    kind: str
    index: int  # of the joint or motor, counted from 0; of a follower, among `robot.joints`

    @property
    def of_motor(self) -> bool:
        return self.kind.startswith("motor ")

    @property
    def of_follower(self) -> bool:
        return self.kind.startswith("follower ")

    @property
    def quantity(self) -> str:
        """The kind without the word that says whose it is: "torque", "velocity" and so on."""
        return self.kind.removeprefix("motor ").removeprefix("follower ")

    def name(self, robot: Robot) -> str:
        """Name of the joint or motor in messages."""
        if self.of_follower:
            return follower_name(robot, self.index)
        if not self.of_motor:
            return joint_name(robot, self.index)
        return f"motor {self.index + 1} ('{robot.drives.names[self.index]}')"

    def unit(self, robot: Robot) -> str:
        """Unit of the quantity."""
        if self.quantity == "current":
            return "A"
        if self.of_follower:
            units = UNITS[robot.model.moving[self.index].joint]
        elif self.of_motor:
            units = robot.drives.units[self.index]
        else:
            units = joint_units(robot, self.index)
        return str(getattr(units, self.quantity))


@dataclass(frozen=True)
class LimitRows:
    """|R x| ≤ bound for x (..., n): R is the unit matrix over `coupled`.

    With limits of joints that follow others, these are among the x: n counts them too.
    """

    coupled: np.ndarray  # (r, n)
    bound: np.ndarray  # (n + r,)
    limits: tuple[Limit, ...]  # n + r of them
    scale: np.ndarray  # (n,) what joint rows are multiplied with in messages: 1, or that of a motor

    def of(self, x: np.ndarray) -> np.ndarray:
        """R x (..., n + r)."""
        if not len(self.coupled):
            return x
        return np.concatenate([x, x @ self.coupled.T], -1)

    def share(self, x: np.ndarray) -> np.ndarray:
        """|R x| in parts of its bound (..., n + r)."""
        return np.asarray(np.abs(self.of(x)) / self.bound)

    def as_limited(self, row: int, value: float) -> float:
        """A value of a row, as the joint or motor that it limits has it."""
        return float(value * self.scale[row]) if row < len(self.scale) else float(value)


@dataclass(frozen=True)
class MotionLimits:
    """Limits as they were given, and as rows."""

    joint: JointLimits
    motor: ShaftLimits
    torque: LimitRows
    velocity: LimitRows
    acceleration: LimitRows
    followers: Followers | None = None

    @property
    def kinds(self) -> tuple[LimitRows, LimitRows, LimitRows]:
        return self.torque, self.velocity, self.acceleration

    @property
    def any(self) -> bool:
        """Whether something is limited."""
        return any(bool(np.isfinite(rows.bound).any()) for rows in self.kinds)

    def largest(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, tau: np.ndarray
    ) -> tuple[float, Limit, int]:
        """The largest share of a limit that samples (N, n) use, of which limit, and at which sample."""
        states = tau, self.velocities(q, qd), self.accelerations(q, qd, qdd)
        shares = [rows.share(x) for rows, x in zip(self.kinds, states, strict=True)]
        kind = max(range(len(shares)), key=lambda k: float(shares[k].max()))
        sample, row = np.unravel_index(int(shares[kind].argmax()), shares[kind].shape)
        return float(shares[kind][sample, row]), self.kinds[kind].limits[row], int(sample)

    def velocities(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Velocities that the rows bound: q̇ (..., n), then those of joints that follow others."""
        if self.followers is None:
            return qd
        return np.concatenate([qd, self.followers.velocities(q, qd)], -1)

    def accelerations(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Accelerations that the rows bound, in the same order."""
        if self.followers is None:
            return qdd
        return np.concatenate([qdd, self.followers.accelerations(q, qd, qdd)], -1)


def limits_for(
    robot: Robot,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    motor_torque: Any = None,
    motor_velocity: Any = None,
) -> MotionLimits:
    """The robot's own limits, those given instead: positive, infinite for none.

    Those of joints are one number or one per joint, those of motors one number or one per motor.
    """
    joint = _of_joints(robot, {"torque": torque, "velocity": velocity, "acceleration": acceleration})
    motor = _of_motors(robot, {"torque": motor_torque, "velocity": motor_velocity})
    K = _transmission(robot) if motor.any else np.zeros((len(motor.torque), robot.n))
    found = MotionLimits(
        joint,
        motor,
        _rows("torque", joint.torque, _torques_of(robot, K, motor.torque), motor.torque, K),
        _rows("velocity", joint.velocity, K, motor.velocity),
        _rows("acceleration", joint.acceleration, K[:0], motor.torque[:0]),
    )
    return _with_followers(robot, found)


def _transmission(robot: Robot) -> np.ndarray:
    try:
        return robot.transmission
    except ModelError as problem:
        raise MotionError(
            f"{problem}; motor_torque=np.inf and motor_velocity=np.inf leave out their limits"
        ) from None


def _with_followers(robot: Robot, found: MotionLimits) -> MotionLimits:
    """Limits with rows for the joints that follow others and have limits of velocity or acceleration."""
    others = followers(robot)
    if others is None or not np.isfinite([others.limits.velocity, others.limits.acceleration]).any():
        return found
    return replace(
        found,
        velocity=_widened(found.velocity, "follower velocity", others, others.limits.velocity),
        acceleration=_widened(
            found.acceleration, "follower acceleration", others, others.limits.acceleration
        ),
        followers=others,
    )


def _widened(rows: LimitRows, kind: str, others: Followers, bound: np.ndarray) -> LimitRows:
    n, f = len(rows.scale), len(bound)
    return LimitRows(
        np.concatenate([rows.coupled, np.zeros((len(rows.coupled), f))], 1),
        np.concatenate([rows.bound[:n], bound, rows.bound[n:]]),
        (*rows.limits[:n], *(Limit(kind, j) for j in others.joints), *rows.limits[n:]),
        np.append(rows.scale, np.ones(f)),
    )


def _of_joints(robot: Robot, given: dict[str, Any]) -> JointLimits:
    arrays = {name: np.array(check.per_joint(name, x, robot.n)) for name, x in given.items() if x is not None}
    limits = replace(joint_limits(robot), **arrays)
    for name in given:
        _check_positive(robot, name, name, getattr(limits, name))
    return limits


def _of_motors(robot: Robot, given: dict[str, Any]) -> ShaftLimits:
    limits = robot.drives.limits
    m = len(limits.torque)
    for name, x in given.items():
        if x is not None:
            found = check.floats(f"motor_{name}", x, "one number or one per motor")
            if found.shape not in ((), (m,)):
                raise MotionError(
                    f"motor_{name}: expected one number or ({m},), one per motor, found {found.shape}"
                )
            limits = replace(limits, **{name: np.array(np.broadcast_to(found, (m,)))})
            if name == "torque":  # that of the currents is among those replaced
                limits = replace(limits, current=np.full(m, np.inf))
        _check_positive(robot, f"motor_{name}", f"motor {name}", getattr(limits, name))
    return limits


def _check_positive(robot: Robot, argument: str, kind: str, limits: np.ndarray) -> None:
    bad = np.flatnonzero(~(limits > 0))
    if bad.size:
        where = Limit(kind, int(bad[0])).name(robot)
        raise MotionError(f"{argument}: the limit of {where} is {limits[bad[0]]:g}; positive is expected")


def _torques_of(robot: Robot, K: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """R (m, n) with τ_m = R τ; of a K that leaves τ_m open, or allows no τ, an error."""
    if not np.isfinite(limits).any():
        return np.zeros_like(K)
    try:
        R = robot.drives.to_motors
    except ModelError as problem:
        raise MotionError(f"{problem}; motor_torque=np.inf leaves out their limits") from None
    return np.where(np.abs(R) > NOTHING * np.abs(R).max(1, keepdims=True), R, 0.0)


def _rows(
    quantity: str, own: np.ndarray, R: np.ndarray, limits: np.ndarray, K: np.ndarray | None = None
) -> LimitRows:
    """Rows of joints with limits `own` (n,), and of motors with limits (m,) of R x.

    For torques K is given: that of a motor of one joint is τ / k, so its limit is k times as large there.
    """
    bound, scale, n = own.copy(), np.ones(len(own)), len(own)
    labels = [Limit(quantity, j) for j in range(n)]
    coupled = []
    for i in np.flatnonzero(np.isfinite(limits)):
        places = np.flatnonzero(R[i])
        if len(places) > 1:
            coupled.append(i)
        elif len(places):
            j = int(places[0])
            ratio = abs(R[i, j])
            exact = K is not None and np.count_nonzero(K[:, j]) == np.count_nonzero(K[i]) == 1
            found = limits[i] * abs(K[i, j]) if exact and K is not None else limits[i] / ratio
            if found < bound[j]:
                bound[j], scale[j], labels[j] = found, R[i, j], Limit(f"motor {quantity}", int(i))
    labels += [Limit(f"motor {quantity}", int(i)) for i in coupled]
    return LimitRows(R[coupled], np.append(bound, limits[coupled]), tuple(labels), scale)
