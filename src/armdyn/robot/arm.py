"""`Arm`: what the modules that `Robot` itself calls ask of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from armdyn.kernels.arrays import Floats, Numbers
from armdyn.model import Mechanism, RobotModel
from armdyn.program import Program
from armdyn.robot.loops.assembly import Assembly


class Arm(Protocol):
    """A robot, whose class comes later; each member is as `Robot` says."""

    @property
    def model(self) -> RobotModel: ...
    @property
    def name(self) -> str: ...
    @property
    def symbols(self) -> Mapping[str, float | None]: ...
    @property
    def mechanism(self) -> Mechanism: ...
    @property
    def parameters(self) -> np.ndarray: ...
    @property
    def assembly(self) -> Assembly: ...
    def joint_positions(self, q: Numbers) -> Floats: ...
    def joint_velocities(self, qd: Numbers, q: Numbers | None = None) -> Floats: ...
    def program(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Program: ...
