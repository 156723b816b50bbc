"""All joints of a robot from its positions, as arrays: q = S y + s₀. Without loops these are coordinates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers, real_array
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel
from armdyn.program import record


def turning_positions(model: RobotModel) -> np.ndarray:
    """(positions,): whether a full turn of a position brings back the frames of all joints that follow it."""
    found = np.array([link.joint == "revolute" for link in model.positions])
    for link, row in zip(model.moving, model.dependence.rows, strict=True) if model.relations else ():
        for k, factor in row:
            found[k] &= link.joint == "revolute" and model.number(factor).is_integer()
    return found


class Related(NamedTuple):
    """How all moving joints follow from the positions."""

    S: np.ndarray  # (joints, positions)
    s0: np.ndarray  # (joints,)

    @staticmethod
    def of(model: RobotModel) -> Related:
        found = model.dependence
        S = np.zeros((len(found.rows), len(model.positions)))
        for j, row in enumerate(found.rows):
            S[j, [k for k, _ in row]] = [model.number(factor) for _, factor in row]
        return Related(S, np.array([model.number(x) for x in found.offsets]))

    def positions(self, q: Numbers) -> Floats:
        """S q + s₀, (..., joints)."""
        return np.asarray(self._moved("q", q) + self.s0)

    def velocities(self, qd: Numbers) -> Floats:
        """S q̇, (..., joints)."""
        return self._moved("qd", qd)

    def kernel(self, name: str) -> Kernel:
        """S x + s₀ as a kernel of an input of that name, for arrays of other libraries than NumPy."""
        joints, n = self.S.shape
        rows = [(*zip(row.tolist(), range(n), strict=True),) for row in self.S]

        def function(x: list[Any]) -> list[Any]:
            return [
                sum((k * x[i] for k, i in row if k), float(s0)) for row, s0 in zip(rows, self.s0, strict=True)
            ]

        return Kernel.of("all_joints", record(function, [(name, n)], [("joints", (joints,))]))

    def _moved(self, name: str, x: Numbers) -> Floats:
        n = self.S.shape[1]
        found = np.array(real_array(name, x, f"numbers (..., {n})", ModelError), float)
        if found.shape[-1:] != (n,):
            raise ModelError(f"{name}: expected (..., {n}), found {found.shape}")
        return np.asarray(found @ self.S.T)
