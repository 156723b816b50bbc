"""All joints of a robot from its coordinates, as arrays: q = S x + s₀."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from armdyn.kernels.arrays import Floats, Numbers, real_array
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel


@lru_cache(maxsize=64)
def dependence(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """S (joints, n) and s₀ (joints,)."""
    found = model.dependence
    S = np.zeros((len(found.rows), model.n))
    for j, row in enumerate(found.rows):
        S[j, [k for k, _ in row]] = [model.number(factor) for _, factor in row]
    return S, np.array([model.number(x) for x in found.offsets])


def joint_positions(model: RobotModel, q: Numbers) -> Floats:
    """S q + s₀, (..., joints)."""
    return np.asarray(joint_velocities(model, q, "q") + dependence(model)[1])


def joint_velocities(model: RobotModel, qd: Numbers, name: str = "qd") -> Floats:
    """S q̇, (..., joints)."""
    x = np.array(real_array(name, qd, f"numbers (..., {model.n})", ModelError), float)
    if x.shape[-1:] != (model.n,):
        raise ModelError(f"{name}: expected (..., {model.n}), found {x.shape}")
    return np.asarray(x @ dependence(model)[0].T)
