"""What enters the makers of trajectories, as arrays of the right shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.motion.errors import MotionError


def numbers(name: str, x: Any) -> np.ndarray:
    """An array of finite floats."""
    try:
        found = np.array(x, float)
    except (TypeError, ValueError):
        raise MotionError(f"{name}: found {x!r}; numbers are expected") from None
    if not np.isfinite(found).all():
        raise MotionError(f"{name}: finite numbers are expected, found {found[~np.isfinite(found)].flat[0]}")
    return found


def posture(name: str, x: Any, n: int | None = None) -> np.ndarray:
    """Joint positions (n,); one number is one joint's."""
    found = np.atleast_1d(numbers(name, x))
    if found.ndim != 1 or found.size == 0 or (n is not None and found.size != n):
        expected = "a list with one number per joint" if n is None else f"{n} numbers, one per joint,"
        raise MotionError(f"{name}: {expected} expected, found an array of shape {found.shape}")
    return found


def per_joint(name: str, x: Any, n: int) -> list[float]:
    """A number for each of n joints, from one for all or a list."""
    try:
        found = np.array(x, float)
    except (TypeError, ValueError):
        raise MotionError(f"{name}: found {x!r}; a number, or one per joint, is expected") from None
    if found.shape not in ((), (n,)):
        raise MotionError(
            f"{name}: one number, or {n}, one per joint, expected, found an array of shape {found.shape}"
        )
    return [float(value) for value in np.broadcast_to(found, (n,))]


def point(name: str, x: Any) -> np.ndarray:
    """A point or a vector (3,)."""
    found = numbers(name, x)
    if found.shape != (3,):
        raise MotionError(f"{name}: three coordinates are expected, found an array of shape {found.shape}")
    return found


def rotation(name: str, x: Any) -> np.ndarray:
    """A rotation matrix (3, 3)."""
    found = numbers(name, x)
    if found.shape != (3, 3) or np.abs(found @ found.T - np.eye(3)).max() > 1e-6 or np.linalg.det(found) < 0:
        raise MotionError(f"{name}: a 3×3 rotation matrix is expected, found {found.tolist()}")
    U, _, V = np.linalg.svd(found)  # the nearest rotation: what is given in six digits still works
    return np.asarray(U @ V)
