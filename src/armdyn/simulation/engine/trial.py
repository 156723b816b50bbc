"""One arm's adaptive steps: the arrays of the loop `one_step`, and what is read out of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.integrand import Drive, Integrand
from armdyn.simulation.engine.one_step import POLYNOMIAL, TIMES, interpolated, one_step
from armdyn.simulation.engine.steps import Stepping

LOOKS = np.array([0.25, 0.5, 0.75, 1.0])  # where within a step changes of mode are looked for
NOWHERE = np.zeros(0)
STEPS, STEPS_A_SECOND = 50_000, 20_000  # default bound on steps


@dataclass(frozen=True)
class Effort:
    """Tolerances, and the bound on steps for an arm (None: by the duration)."""

    rtol: float
    atol: float
    max_steps: int | None = None

    def most(self, duration: float, longest: float) -> int:
        """The bound on steps of which none is longer than `longest`."""
        if self.max_steps is not None:
            return self.max_steps
        return int(STEPS + STEPS_A_SECOND * duration + 2 * duration / longest)


def step_kernel(robot: Robot, drive: Drive) -> tuple[Integrand, LoopKernel]:
    """Made once for robots of one structure and a drive; torques that are held are constants here."""
    if drive.held is not None:
        drive = replace(drive, constants=(*drive.constants, ("tau", robot.n)), held=None)
    integrand = Integrand.shared(robot, drive)
    return integrand, _kernel(integrand)


@lru_cache(maxsize=64)
def _kernel(integrand: Integrand) -> LoopKernel:
    return LoopKernel(one_step(integrand))


class Trial:
    """A state (q, q̇, modes, works) at a time, a step from there, and the dense output of the step."""

    def __init__(
        self, integrand: Integrand, kernel: LoopKernel, actuation: Actuation, effort: Effort
    ) -> None:
        self.integrand, self.kernel, self.actuation = integrand, kernel, actuation
        self.columns = Stepping(integrand)
        w = self.width = self.columns.width
        sizes = {
            "x": w,
            "rate": w,
            "settings": 4,
            "new": w,
            "last": w,
            "squares": 2,
            "polynomial": POLYNOMIAL * w,
        }
        self.arrays = {name: np.zeros((1, 1, size)) for name, size in sizes.items()}
        self.arrays |= {name: np.zeros((len(LOOKS), 1, w)) for name in ("states", "rates")}
        self.numbers = np.array(integrand.values)
        self.arrays["constants"] = np.append(self.numbers, actuation.constants())[None, None]
        self.x, self.rate, self.settings, self.new, self.last, self.squares, self.polynomial = (
            self.arrays[name][0, 0] for name in sizes
        )
        self.settings[1:] = effort.rtol, effort.atol, max(effort.rtol, effort.atol)  # works: J
        self.modes, self.qd = self.x[self.columns.modes], self.x[integrand.n : 2 * integrand.n]
        self.t, self.h, self.limit = 0.0, 0.0, np.inf  # `limit`: torques may jump there
        self.has_dense = False

    def hold(self, tau: np.ndarray) -> None:
        """Torques (n,) that are held from now on."""
        given = (self.numbers, self.actuation.constants()[0], tau)
        self.arrays["constants"] = np.concatenate(given)[None, None]

    def step(self, h: float, decide: bool = False, dense: bool = True, looks: bool = False) -> float:
        """Try a step: its error, relative to what is allowed. With `looks`, also states and rates there."""
        self.h, self.has_dense = h, dense
        self._call(self.t, h, LOOKS if looks else NOWHERE, decide=decide, trial=True, dense=dense)
        fifth, third = self.squares
        if fifth == 0:
            return 0.0
        return float(h * fifth / np.sqrt((fifth + 0.01 * third) * len(self.columns.moving)))

    def state_after(self, h: float) -> np.ndarray:
        """The state after a shorter step; more accurate than dense output. That one stays."""
        if h <= 0:
            return np.array(self.x)
        self._call(self.t, h, NOWHERE, trial=True)
        return np.array(self.new)

    def decide(self) -> None:
        """Modes and rate at the state."""
        self._call(self.t, 0.0, NOWHERE, decide=True)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """State and rate at an instant of the step, by dense output."""
        self._call(self.t, self.h, np.array([(t - self.t) / self.h]))
        return self.arrays["states"][0, 0].copy(), self.arrays["rates"][0, 0].copy()

    def rate_at(self, t: float, x: np.ndarray) -> np.ndarray:
        """The rate at any time in any state."""
        kept = {name: self.arrays[name].copy() for name in ("x", "polynomial", "states", "rates")}
        self.x[:], self.polynomial[:] = x, 0
        self._call(t, 0.0, np.zeros(1))
        found = np.array(self.arrays["rates"][0, 0])
        for name, values in kept.items():
            self.arrays[name][:] = values
        return found

    def dense(self, t: float | np.ndarray) -> np.ndarray:
        """States (width,) or (N, width) at instants of the step."""
        if not self.has_dense:
            self.step(self.h)
        place = np.expand_dims((np.asarray(t) - self.t) / self.h, -1)
        return np.asarray(interpolated(self.x, self.polynomial.reshape(POLYNOMIAL, -1), place))

    def looks(self) -> tuple[np.ndarray, np.ndarray]:
        """States and rates at the LOOKS."""
        return self.arrays["states"][:, 0], self.arrays["rates"][:, 0]

    def _call(
        self,
        t: float,
        h: float,
        places: np.ndarray,
        decide: bool = False,
        trial: bool = False,
        dense: bool = False,
    ) -> None:
        self.settings[0] = h
        self.arrays["places"] = places.reshape(-1, 1, 1)
        drive, asked = self.integrand.drive, {}
        if drive.signals or drive.asked:
            times = np.minimum(t + h * np.append(TIMES, places), max(np.nextafter(self.limit, 0.0), 0.0))
            self.arrays["signals"] = self.actuation.signals(times)
            asked = self.actuation.asked(times)
        counts = {"decide": int(decide), "trial": int(trial), "dense": int(dense), "points": len(places)}
        self.kernel(1, counts, self.arrays, asked)


def first_zero(margin: Callable[[float], float], a: float, b: float) -> float:
    """Where a margin that is positive at a and negative at b is zero; a or b if it is zero there.

    Where it jumps, the first instant after the jump.
    """
    known = {a: margin(a), b: margin(b)}  # evaluated once: a torque with noise gives another value each time
    if not known[a] > 0 > known[b]:  # dense output and step differ by rounding
        return b if known[a] > 0 else a

    def at(t: float) -> float:
        if t not in known:
            known[t] = margin(t)
        return known[t]

    root = float(brentq(at, a, b, xtol=1e-15 + 1e-15 * b, rtol=8.9e-16))
    after = min(t for t, x in known.items() if x < 0)
    return after if after - root < 1e-14 * (1 + b) else root
