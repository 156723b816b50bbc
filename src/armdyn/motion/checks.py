"""What enters the makers of trajectories, as arrays of the right shape."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from armdyn.analysis.arrays import floats
from armdyn.expression import shown
from armdyn.motion.errors import MotionError


@contextmanager
def computable() -> Iterator[None]:
    """Overflow, division by zero and the like become a `MotionError`."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError):
        raise MotionError("the numbers given are too large or too small to compute with") from None


def numbers(name: str, x: Any) -> np.ndarray:
    """An array of finite floats."""
    found = floats(MotionError, name, x)
    if not np.isfinite(found).all():
        raise MotionError(f"{name}: expected finite numbers, found {found[~np.isfinite(found)].flat[0]}")
    return found


def posture(name: str, x: Any, n: int | None = None) -> np.ndarray:
    """Joint positions (n,); one number is one joint's."""
    found = np.atleast_1d(numbers(name, x))
    if found.ndim != 1 or found.size == 0 or (n is not None and found.size != n):
        expected = "(n,)" if n is None else f"({n},)"
        raise MotionError(f"{name}: expected {expected}, one number per joint, found {found.shape}")
    return found


def number(name: str, x: Any) -> float:
    """One float; it need not be finite."""
    found = floats(MotionError, name, x, "one number")
    if found.ndim:
        raise MotionError(f"{name}: expected one number, found {shown(x)}")
    return float(found)


def whole_number(name: str, x: Any) -> int:
    """0, 1, 2 …"""
    if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < 0:
        raise MotionError(f"{name}: found {shown(x)}; a whole number, 0 or more, is expected")
    return int(x)


def one_of(name: str, x: Any, *allowed: str) -> None:
    """Refuse what is not one of the words allowed."""
    if not isinstance(x, str) or x not in allowed:
        raise MotionError(f"{name}: found {shown(x)}; allowed: {', '.join(map(repr, allowed))}")


def positive_time(name: str, x: Any) -> float:
    """A time [s]."""
    found = number(name, x)
    if not (np.isfinite(found) and found > 0):
        raise MotionError(f"{name}: found {found:g} s; a positive time is expected")
    return found


def per_joint(name: str, x: Any, n: int) -> list[float]:
    """A number for each of n joints, from one for all or a list."""
    found = floats(MotionError, name, x, "one number or one per joint")
    if found.shape not in ((), (n,)):
        raise MotionError(f"{name}: expected one number or ({n},), one per joint, found {found.shape}")
    return [float(value) for value in np.broadcast_to(found, (n,))]


def point(name: str, x: Any) -> np.ndarray:
    """A point or a vector (3,)."""
    found = numbers(name, x)
    if found.shape != (3,):
        raise MotionError(f"{name}: expected (3,), three coordinates, found {found.shape}")
    return found


def rotation(name: str, x: Any) -> np.ndarray:
    """A rotation matrix (3, 3)."""
    found = numbers(name, x)
    if found.shape != (3, 3) or np.abs(found @ found.T - np.eye(3)).max() > 1e-6 or np.linalg.det(found) < 0:
        raise MotionError(f"{name}: expected a rotation matrix (3, 3), found {shown(found.tolist())}")
    U, _, V = np.linalg.svd(found)  # the nearest rotation: what is given in six digits still works
    return np.asarray(U @ V)
