"""What enters: arrays of numbers, checked once; those of this folder are over the moving joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import real_array
from armdyn.robot import Robot

__all__ = ["AnalysisError", "fit_together", "floats", "joint_arrays", "numbers", "with_wrench"]


class AnalysisError(ArmdynError):
    """Something given to an analysis is wrong, or the robot lacks what it needs."""


def floats(error: type[ArmdynError], name: str, x: Any, expected: str = "numbers") -> np.ndarray:
    """`x` as a new array of floats."""
    return np.array(real_array(name, x, expected, error), float)


def numbers(name: str, value: Any, size: int) -> np.ndarray:
    """`value` as finite floats (..., size)."""
    array = floats(AnalysisError, name, value, f"numbers (..., {size})")
    if array.shape[-1:] != (size,):
        raise AnalysisError(f"{name}: expected (..., {size}), found {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise AnalysisError(f"{name}: expected finite numbers, found {array[where]} at {where}")
    return array


def joint_arrays(robot: Robot, **values: Any) -> tuple[np.ndarray, ...]:
    """Arrays by name, each (..., n), broadcast against each other."""
    arrays = [numbers(name, value, robot.n) for name, value in values.items()]
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(values, arrays, strict=True))
        raise AnalysisError(f"shapes do not fit together: {shapes}") from None


def fit_together(lead: tuple[int, ...], **arrays: np.ndarray) -> None:
    """Refuse arrays (..., k) whose leading axes do not broadcast against `lead` and each other."""
    try:
        np.broadcast_shapes(lead, *(x.shape[:-1] for x in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise AnalysisError(
            f"shapes do not fit together: {shapes}, with leading axes {lead} before"
        ) from None


def with_wrench(wrench: Any, *states: np.ndarray) -> tuple[np.ndarray, ...]:
    """h_e (..., 6), zero where none is given, then the states (..., n), broadcast against each other."""
    h = np.zeros(6) if wrench is None else numbers("wrench", wrench, 6)
    try:
        lead = np.broadcast_shapes(h.shape[:-1], *(x.shape[:-1] for x in states))
    except ValueError:
        raise AnalysisError(
            f"wrench: found shape {h.shape}; it does not fit states of shape {states[0].shape}"
        ) from None
    return tuple(np.broadcast_to(x, (*lead, x.shape[-1])) for x in (h, *states))
