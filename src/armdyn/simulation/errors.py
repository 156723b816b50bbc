"""What is wrong about a simulation, and checks of what it is given: NumPy arrays, or CuPy arrays on a GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels.arrays import dtype_text, is_cupy, is_real, like
from armdyn.robot.checks import Checks


class SimulationError(ArmdynError):
    """A simulation that cannot be set up; the message says what was found and what is allowed."""


class SimulationWarning(UserWarning):
    """A simulated motion stopped early, cannot be right, or passes limits of positions or of motor speeds."""


check = Checks(SimulationError)


# ---- the place where it runs -------------------------------------------------------------------------------


FUNCTION_ON_GPU = (
    "found a function of Python, which a GPU cannot call; with CuPy arrays q0 and qd0, arrays{or_controller} "
    "are allowed"
)


@dataclass(frozen=True)
class Where:
    """A place to run. `first` is None on the CPU, else a CuPy array of the type and device of all others."""

    first: Any = None

    def floats(self, name: str, x: Any, expected: str = "numbers") -> np.ndarray:
        """A new array of floats, which need not be finite."""
        if self.first is None:
            if is_cupy(x):
                raise SimulationError(f"{name}: found a CuPy array; then q0 and qd0 must be CuPy arrays too")
            return check.floats(name, x, expected)
        if not is_cupy(x):
            return like(self.first, check.floats(name, x, expected))
        if not is_real(x.dtype):
            raise SimulationError(f"{name}: expected {expected}, found an array of {dtype_text(x.dtype)}")
        if x.device.id != self.first.device.id:
            raise SimulationError(
                f"{name}: found an array on device {x.device.id}; others are on {self.first.device.id}"
            )
        found: np.ndarray = x.astype(self.first.dtype)
        return found

    def wide(self, name: str, x: Any, size: int) -> np.ndarray:
        """An array (..., size) from one number or an array (..., size)."""
        if self.first is None and not is_cupy(x):
            return check.wide(name, x, size)
        found = self.floats(name, x)
        if found.ndim and found.shape[-1] != size:
            raise SimulationError(f"{name}: expected one number or (..., {size}), found {found.shape}")
        return found if found.ndim else np.broadcast_to(found, (size,))

    def finite(self, name: str, x: np.ndarray) -> np.ndarray:
        """Refuse numbers that are not finite; this waits for the GPU."""
        if self.first is None:
            return check.numbers(name, x)
        if not bool(np.isfinite(x).all()):
            check.numbers(name, x.get())  # type: ignore[attr-defined]
        return x


CPU = Where()


def of_states(q0: Any, qd0: Any, method: str) -> Where:
    """The place of the states; the first checks of them."""
    given = [x for x in (q0, qd0) if is_cupy(x)]
    if not given:
        return CPU
    if method != "rk4":
        raise SimulationError(f"method: found '{method}'; CuPy arrays are simulated with method='rk4'")
    single = len(given) == 2 and all(x.dtype == np.float32 for x in given)
    return Where(given[0].ravel()[:0].astype(np.float32 if single else np.float64))


def memory_of(x: Any) -> int | None:
    """Size of the memory in which an array is [bytes]; None if the system does not tell."""
    if is_cupy(x):
        return int(x.device.mem_info[1])
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # a system that does not tell
        return None
