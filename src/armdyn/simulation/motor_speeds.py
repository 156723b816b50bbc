"""Motors that turn faster than they may: said after a run; nothing stops them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armdyn.kernels.cuda.arrays import host, like
from armdyn.robot import Robot
from armdyn.robot.motors import by_position, driven_links, shaft_limits

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

    With loops, motors at joints that follow count too, at all positions (N, ..., positions).
    """
    limits = shaft_limits(robot.model).velocity
    if not np.isfinite(limits).any():
        return ()
    K, _ = by_position(robot.model)
    if robot.model.loops:
        qd = robot.assembly.velocities(positions, qd)
    names = [link.joint_label for link in driven_links(robot.model)]
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


def warning_of(passed: Sequence[SpeedPassed], batch: tuple[int, ...]) -> str:
    """Each motor once, with the first arm in which it does."""
    first: dict[int, SpeedPassed] = {}
    for one in passed:
        first.setdefault(one.motor, one)
    return "; ".join(one.text + f" in arm {one.arm}" * bool(batch) for one in first.values())
