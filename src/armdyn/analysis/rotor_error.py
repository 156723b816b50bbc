"""Error of the diagonal rotor model: exact against reflected rotors along a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.analysis.errors import AnalysisError, check
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, torque_unit

ROUNDING = 1e-14  # in parts of the largest torque of all joints: a smaller error is rounding


@dataclass(frozen=True)
class RotorErrorRow:
    """One joint's line of a table."""

    joint: str
    unit: str  # of the torques: N m, or N for a prismatic joint
    largest_torque: float
    largest_error: float
    rms_error: float
    percent: float  # largest error in percent of the largest torque
    worst_sample: int
    percent_there: float  # largest error in percent of the torque at the same sample


@dataclass(frozen=True)
class RotorError:
    """Torques of the exact rotor model, and what the reflected one misses, at samples (..., n)."""

    torque: np.ndarray  # (..., n): exact
    error: np.ndarray  # (..., n): exact minus reflected
    joints: tuple[str, ...]
    units: tuple[str, ...]
    note: str  # what to say about the robot; "" if nothing

    @property
    def largest(self) -> np.ndarray:
        """Largest magnitude of the error (n,)."""
        return np.asarray(np.abs(self._flat(self.error)).max(0))

    @property
    def rms(self) -> np.ndarray:
        """Root of the mean square of the error (n,)."""
        return np.asarray(np.sqrt((self._flat(self.error) ** 2).mean(0)))

    @property
    def percent(self) -> np.ndarray:
        """Largest error (n,) in percent of the joint's largest torque."""
        return _percent(self.largest, np.abs(self._flat(self.torque)).max(0))

    @property
    def worst(self) -> np.ndarray:
        """Sample of the largest error (n,), an index into the flattened leading axes."""
        return np.asarray(np.abs(self._flat(self.error)).argmax(0))

    @property
    def percent_at_worst(self) -> np.ndarray:
        """Largest error (n,) in percent of the torque at the same sample; infinite where that is zero."""
        there = np.take_along_axis(self._flat(self.torque), self.worst[None], 0)[0]
        return _percent(self.largest, np.abs(there))

    def table(self) -> list[RotorErrorRow]:
        """A row for each joint."""
        torque = np.abs(self._flat(self.torque)).max(0)
        columns = (torque, self.largest, self.rms, self.percent, self.worst, self.percent_at_worst)
        return [
            RotorErrorRow(
                joint, unit, float(t), float(largest), float(rms), float(percent), int(worst), float(there)
            )
            for joint, unit, t, largest, rms, percent, worst, there in zip(
                self.joints, self.units, *columns, strict=True
            )
        ]

    def _flat(self, x: np.ndarray) -> np.ndarray:
        return x.reshape(-1, len(self.joints))


def rotor_error(robot: Robot, q: Any, qd: Any, qdd: Any) -> RotorError:
    """Exact minus reflected inverse dynamics at samples (..., n) of a motion, for any `rotors` of the robot.

    The reflected model has k_r² I_m at the joint and the rotor's mass on its carrier; it misses the rotor's
    tensor in the carrier and the torques between the spinning rotor and the turning carrier.
    """
    q, qd, qdd = check.joint_arrays(robot, q=q, qd=qd, qdd=qdd)
    if not q.size:
        raise AnalysisError(f"q: found shape {q.shape}; at least one sample is expected")
    exact, reflected = (
        np.asarray(robot.with_rotors(kind).inverse_dynamics(q, qd, qdd)) for kind in ("exact", "reflected")
    )
    error = exact - reflected
    error[np.abs(error) < ROUNDING * np.abs(exact).max()] = 0.0
    note = ""
    if all(link.motor is None for link in robot.model.links):
        note = f"'{robot.name}' has no motors in its description, so both models are the same"
        error = np.zeros_like(error)
    joints = range(robot.n)
    return RotorError(
        exact,
        error,
        tuple(joint_name(robot, i) for i in joints),
        tuple(torque_unit(robot, i) for i in joints),
        note,
    )


def _percent(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(part == 0, 0.0, 100 * part / whole))
