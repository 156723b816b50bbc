"""What a motion asks of the motors, against what their shafts bear."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.motion.motors.loads import MotorLoads
from armdyn.report.findings.subject import Subject


@dataclass(frozen=True)
class MotorsFinding:
    """The loads of the motors; None where the description has no motors."""

    loads: MotorLoads | None

    @property
    def has_limits(self) -> bool:
        return self.loads is not None and self.loads.limits.any

    @property
    def coupled(self) -> bool:
        """Whether a motor turns with several joints."""
        return self.loads is not None and bool(((self.loads.robot.transmission != 0).sum(1) > 1).any())


def find_motors(subject: Subject) -> MotorsFinding:
    if not any(link.motor for link in subject.robot.model.moving):
        return MotorsFinding(None)
    at = subject.samples
    return MotorsFinding(MotorLoads.from_torques(subject.robot, at.t, at.qd, subject.torque))
