"""What the diagonal rotor model misses along a motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armdyn.analysis.rotor_error import RotorError, rotor_error
from armdyn.motion.torques import torques_along
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot


@dataclass(frozen=True)
class RotorsFinding:
    """Torques of both rotor models along a motion."""

    robot: Robot
    t: np.ndarray
    error: RotorError

    @property
    def coupled(self) -> bool:
        """Whether a motor turns with several joints."""
        return any(link.motor and link.motor.coupling for link in self.robot.model.links)

    @property
    def worst(self) -> int:
        """The joint with the largest relative error."""
        return int(self.error.percent.argmax())

    @property
    def share(self) -> np.ndarray:
        """(N, n): the error in percent of each joint's largest torque."""
        largest = np.abs(self.error.torque).max(0)
        return np.asarray(100 * self.error.error / np.where(largest > 0, largest, 1.0))


def find_rotors(subject: Subject) -> RotorsFinding:
    """Loads and wrenches change the torques, not the error: they act alike on both models."""
    at, exact = subject.samples, subject.robot.with_rotors("exact")
    found = rotor_error(subject.robot, at.q, at.qd, at.qdd)
    torque = torques_along(subject.trajectory.loaded(exact), at, subject.wrench)
    return RotorsFinding(subject.robot, at.t, replace(found, torque=torque))
