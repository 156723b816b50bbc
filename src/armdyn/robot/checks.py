"""Checks of arrays and numbers that callers give: a message says what was expected and what was found.

A folder keeps only which error it raises, `check = Checks(MotionError)`. Exact numbers are checked by
`model/errors.py`; arguments of kernels, which are called too often for these checks, by `kernels/arrays.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.kernels.arrays import real_array
from armdyn.robot.functions import label, of_links
from armdyn.robot.robot import Robot

ROTATION = 1e-6  # how far R Rᵀ of a rotation matrix may be from the identity


def floats(error: type[ArmdynError], name: str, x: Any, expected: str = "numbers") -> np.ndarray:
    """`x` as a new array of floats."""
    return np.array(real_array(name, x, expected, error), float)


@dataclass(frozen=True)
class Checks:
    """Each check takes the argument's name and its value, and gives the value in the form wanted."""

    error: type[ArmdynError]

    # ---- arrays ----------------------------------------------------------------------------------------

    def floats(self, name: str, x: Any, expected: str = "numbers") -> np.ndarray:
        """A new array of floats, which need not be finite."""
        return floats(self.error, name, x, expected)

    def numbers(self, name: str, x: Any, size: int | None = None) -> np.ndarray:
        """Finite floats; with `size`, (..., size)."""
        found = self.floats(name, x, "numbers" if size is None else f"numbers (..., {size})")
        if size is not None and found.shape[-1:] != (size,):
            raise self.error(f"{name}: expected (..., {size}), found {found.shape}")
        wrong = np.argwhere(~np.isfinite(found))
        if len(wrong):
            where = tuple(int(i) for i in wrong[0])
            place = f" at {where}" if where else ""
            raise self.error(f"{name}: expected finite numbers, found {found[where]}{place}")
        return found

    def wide(self, name: str, x: Any, size: int) -> np.ndarray:
        """(..., size) from one number or an array (..., size); not necessarily finite."""
        found = self.floats(name, x)
        if found.ndim and found.shape[-1] != size:
            raise self.error(f"{name}: expected one number or (..., {size}), found {found.shape}")
        return found if found.ndim else np.full(size, float(found))

    def joint_arrays(self, robot: Robot, **values: Any) -> tuple[np.ndarray, ...]:
        """Arrays by name, each finite and (..., n), broadcast against each other."""
        arrays = {name: self.numbers(name, value, robot.n) for name, value in values.items()}
        try:
            return tuple(np.broadcast_arrays(*arrays.values()))
        except ValueError:
            raise self.error(f"shapes do not fit together: {_shapes(arrays)}") from None

    def fit_together(self, lead: tuple[int, ...], **arrays: np.ndarray) -> None:
        """Refuse arrays (..., k) whose leading axes do not broadcast against `lead` and each other."""
        try:
            np.broadcast_shapes(lead, *(x.shape[:-1] for x in arrays.values()))
        except ValueError:
            message = f"shapes do not fit together: {_shapes(arrays)}, with leading axes {lead} before"
            raise self.error(message) from None

    def wrenches(self, robot: Robot, wrench: Any, size: int | None = 6) -> dict[str | None, np.ndarray]:
        """Wrenches (..., 6) by link, None being the tip; finite, with size=None not yet of that shape."""
        if wrench is None:
            return {}
        if isinstance(wrench, Mapping):
            return {
                link: self.numbers(label(link), h, size) for link, h in of_links(robot.model, wrench).items()
            }
        return {None: self.numbers("wrench", wrench, size)}

    def beside_wrenches(self, robot: Robot, wrench: Any, *states: np.ndarray) -> tuple[np.ndarray, ...]:
        """States (..., n) with the leading axes of wrenches beside them; wrong wrenches are refused."""
        lead = states[0].shape[:-1]
        for link, h in self.wrenches(robot, wrench).items():
            try:
                lead = np.broadcast_shapes(lead, h.shape[:-1])
            except ValueError:
                name = "wrench" if link is None else label(link)
                found = f"found shape {h.shape}; it does not fit states of shape {states[0].shape}"
                raise self.error(f"{name}: {found}") from None
        return tuple(np.broadcast_to(x, (*lead, robot.n)) for x in states)

    def felt(self, robot: Robot, wrench: Any, *states: np.ndarray) -> tuple[np.ndarray, ...]:
        """Σ Jᵀ h (..., n) of wrenches, then the states (..., n), q first, broadcast against each other."""
        states = self.beside_wrenches(robot, wrench, *states)
        torques = np.zeros(states[0].shape)
        for link, h in self.wrenches(robot, wrench).items():
            torques += np.einsum("...ij,...i->...j", robot.jacobian(states[0], link), h)
        return torques, *states

    @contextmanager
    def computable(self) -> Iterator[None]:
        """Numbers so large or small that computing with them overflows are an error like any other."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                yield
        except (ArithmeticError, np.linalg.LinAlgError):
            raise self.error("the numbers given are too large or too small to compute with") from None

    # ---- one value -------------------------------------------------------------------------------------

    def number(self, name: str, x: Any) -> float:
        """One float; it need not be finite."""
        found = self.floats(name, x, "one number")
        if found.ndim:
            raise self.error(f"{name}: expected one number, found {shown(x)}")
        return float(found)

    def positive(self, name: str, x: Any) -> float:
        """One finite float above zero."""
        found = self.number(name, x)
        if not 0 < found < np.inf:
            raise self.error(f"{name}: found {shown(x)}; a positive number is expected")
        return found

    def positive_time(self, name: str, x: Any) -> float:
        """A time [s]."""
        found = self.number(name, x)
        if not 0 < found < np.inf:
            raise self.error(f"{name}: found {found:g} s; a positive time is expected")
        return found

    def whole_number(self, name: str, x: Any, least: int = 0) -> int:
        """An integer, `least` or more."""
        if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < least:
            raise self.error(f"{name}: found {shown(x)}; a whole number, {least} or more, is expected")
        return int(x)

    def one_of(self, name: str, x: Any, *allowed: str) -> None:
        """Refuse what is not one of the words allowed."""
        if not isinstance(x, str) or x not in allowed:
            raise self.error(f"{name}: found {shown(x)}; allowed: {', '.join(map(repr, allowed))}")

    def robot(self, x: Any) -> Robot:
        if not isinstance(x, Robot):
            raise self.error(f"robot: expected a Robot, found {type(x).__name__}")
        return x

    # ---- joints and the tip ----------------------------------------------------------------------------

    def posture(self, name: str, x: Any, n: int | None = None) -> np.ndarray:
        """Joint positions (n,); one number is one joint's."""
        found = np.atleast_1d(self.numbers(name, x))
        if found.ndim != 1 or found.size == 0 or (n is not None and found.size != n):
            expected = "(n,)" if n is None else f"({n},)"
            raise self.error(f"{name}: expected {expected}, one number per joint, found {found.shape}")
        return found

    def per_joint(self, name: str, x: Any, n: int) -> list[float]:
        """A number for each of n joints, from one for all or a list; not necessarily finite."""
        found = self.floats(name, x, "one number or one per joint")
        if found.shape not in ((), (n,)):
            raise self.error(f"{name}: expected one number or ({n},), one per joint, found {found.shape}")
        return [float(value) for value in np.broadcast_to(found, (n,))]

    def point(self, name: str, x: Any) -> np.ndarray:
        """A point or a vector (3,)."""
        found = self.numbers(name, x)
        if found.shape != (3,):
            raise self.error(f"{name}: expected (3,), three coordinates, found {found.shape}")
        return found

    def rotation(self, name: str, x: Any) -> np.ndarray:
        """A rotation matrix (3, 3): the nearest one, so that six digits are enough."""
        found = self.numbers(name, x)
        if found.shape != (3, 3) or not rotates(found):
            raise self.error(f"{name}: expected a rotation matrix (3, 3), found {shown(found.tolist())}")
        U, _, V = np.linalg.svd(found)
        return np.asarray(U @ V)

    def pose(self, name: str, x: Any) -> np.ndarray:
        """A homogeneous transform (4, 4), its rotation the nearest one."""
        found = self.numbers(name, x)
        if found.shape != (4, 4) or np.abs(found[3] - [0, 0, 0, 1]).max() > ROTATION:
            raise self.error(f"{name}: expected a pose (4, 4), its last row 0, 0, 0, 1, found {shown(x)}")
        found[:3, :3] = self.rotation(f"{name}[:3, :3]", found[:3, :3])
        found[3] = [0, 0, 0, 1]
        return found


def rotates(R: np.ndarray) -> bool:
    """Whether a matrix (3, 3) is a rotation, but for six digits."""
    return bool(np.abs(R @ R.T - np.eye(3)).max() <= ROTATION and np.linalg.det(R) > 0)


def _shapes(arrays: dict[str, np.ndarray]) -> str:
    return ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
