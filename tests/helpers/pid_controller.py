"""A controller with a memory, as a user would write one: PID, whose memory is the integral of the error."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn import Robot
from armdyn.simulation import Controller


@dataclass(frozen=True, eq=False)
class PID(Controller):
    """τ = K_P e − K_D q̇ + K_I ∫e, and a counter of samples."""

    robot: Robot
    target: Any
    gains: tuple[float, float, float] = (400.0, 100.0, 300.0)
    start: Any = 0.0
    saturated: bool = False
    rate: Any = "auto"

    @property
    def memory(self):
        integral = np.asarray(self.start, float) * np.ones(self.robot.n)
        return np.concatenate([integral, np.zeros((*integral.shape[:-1], 1))], axis=-1)

    def constants(self):
        return {"target": np.asarray(self.target, float), "period": np.array([self.period])}

    def torques(self, q, qd, given):
        *integral, count = given["memory"]
        kp, kd, ki = self.gains
        errors = [r - x for r, x in zip(given["target"], q, strict=True)]
        tau = [kp * e - kd * v + ki * i for e, v, i in zip(errors, qd, integral, strict=True)]
        later = [i + given["period"][0] * e for i, e in zip(integral, errors, strict=True)]
        return tau, [*later, count + 1]
