"""Motors that turn faster than they may: said after a run; nothing stops them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
    names = [link.name for link in driven_links(robot.model)]
    found = []
    for motor in np.flatnonzero(np.isfinite(limits)).tolist():
        speed, most = np.abs(qd @ K[motor]), float(limits[motor])
        beyond = speed > most * (1 + WITHIN)
        for arm in map(tuple, np.argwhere(beyond.any(0)).tolist()):
            own = speed[(slice(None), *arm)]
            k = int(beyond[(slice(None), *arm)].argmax())
            time = float(t[0] if k == 0 else np.interp(most, own[k - 1 : k + 1], t[k - 1 : k + 1]))
            found.append(SpeedPassed(time, motor, names[motor], most, float(np.nanmax(own)), arm))
    return tuple(sorted(found))


def warning_of(passed: Sequence[SpeedPassed], batch: tuple[int, ...]) -> str:
    """Each motor once, with the first arm in which it does."""
    first: dict[int, SpeedPassed] = {}
    for one in passed:
        first.setdefault(one.motor, one)
    return "; ".join(one.text + f" in arm {one.arm}" * bool(batch) for one in first.values())
