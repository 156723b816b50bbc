"""All joints of a robot from its positions, as arrays: q = S y + s₀. Without loops these are coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from armdyn.dynamics.closures import Following
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats, Numbers, real_array
from armdyn.model import Mechanism
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

    def kernel(self, function: str, mechanism: Mechanism) -> Kernel:
        """`joint_positions` or `joint_velocities` for arrays of other libraries than NumPy.

        As in all kernels, q are all positions. Without loops, velocities do not depend on them.
        """
        q, qd = ("q", mechanism.positions), ("qd", mechanism.n)
        outputs = [("joints", (len(self.s0),))]
        if function == "joint_positions":
            program = record(lambda y: self._of_scalars(y, self.s0), [q], outputs)
        elif not mechanism.loops:
            program = record(self._of_scalars, [qd], outputs)
        else:
            program = record(
                lambda y, qd: self._of_scalars(Following(mechanism, y).velocities(qd)), [q, qd], outputs
            )
        return Kernel.of(function, program)

    def _of_scalars(self, x: Sequence[Any], start: np.ndarray | None = None) -> list[Any]:
        rows = zip(self.S.tolist(), np.zeros(len(self.S)) if start is None else start, strict=True)
        return [sum((k * y for k, y in zip(row, x, strict=True) if k), float(first)) for row, first in rows]

    def _moved(self, name: str, x: Numbers) -> Floats:
        n = self.S.shape[1]
        found = np.array(real_array(name, x, f"numbers (..., {n})", ModelError), float)
        if found.shape[-1:] != (n,):
            raise ModelError(f"{name}: expected (..., {n}), found {found.shape}")
        return np.asarray(found @ self.S.T)
