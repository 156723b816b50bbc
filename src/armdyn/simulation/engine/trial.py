"""One arm's adaptive steps: the arrays of the loop `one_step`, and what is read out of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

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
    """Made once for a robot and a drive; torques that are held are constants here."""
    if drive.held is not None:
        drive = replace(drive, constants=(*drive.constants, ("tau", robot.n)), held=None)
    return _kernel(robot, drive)


@lru_cache(maxsize=64)
def _kernel(robot: Robot, drive: Drive) -> tuple[Integrand, LoopKernel]:
    integrand = Integrand(robot, drive)
    return integrand, LoopKernel(one_step(integrand))


class Trial:
    """A state (q, q̇, modes, works) at a time, a step from there, and the dense output of the step."""

    def __init__(
        self, integrand: Integrand, kernel: LoopKernel, actuation: Actuation, effort: Effort
    ) -> None:
        self.integrand, self.kernel, self.actuation = integrand, kernel, actuation
        self.columns = Stepping(integrand)
        w = self.width = self.columns.width
        self.start = np.zeros((1, 1, 2 * w + 4))
        self.start[..., 2 * w + 1 :] = effort.rtol, effort.atol, max(effort.rtol, effort.atol)  # works: J
        self.end = np.zeros((1, 1, 2 * w + 2))
        self.polynomial = np.zeros((1, 1, POLYNOMIAL * w))
        self.found = np.zeros((len(LOOKS), 1, 2 * w))
        self.constants = actuation.constants()[None]
        self.t, self.h, self.limit = 0.0, 0.0, np.inf  # `limit`: torques may jump there
        self.has_dense = False

    # ---- the state at the start ------------------------------------------------------------------------

    @property
    def x(self) -> np.ndarray:
        return self.start[0, 0, : self.width]

    @property
    def rate(self) -> np.ndarray:
        return self.start[0, 0, self.width : 2 * self.width]

    @property
    def modes(self) -> np.ndarray:
        return self.x[self.columns.modes]

    @property
    def qd(self) -> np.ndarray:
        return self.x[self.integrand.n : 2 * self.integrand.n]

    def hold(self, tau: np.ndarray) -> None:
        """Torques (n,) that are held from now on."""
        self.constants = np.concatenate([self.actuation.constants(), tau[None]], axis=-1)[None]

    # ---- calls -----------------------------------------------------------------------------------------

    def step(self, h: float, decide: bool = False, dense: bool = True) -> float:
        """Try a step: its error, relative to what is allowed."""
        self.h, self.has_dense = h, dense
        self._call(self.t, h, LOOKS if dense else NOWHERE, decide=decide, trial=True, dense=dense)
        fifth, third = self.end[0, 0, -2:]
        if fifth == 0:
            return 0.0
        return float(h * fifth / np.sqrt((fifth + 0.01 * third) * len(self.columns.moving)))

    def state_after(self, h: float) -> np.ndarray:
        """The state after a shorter step; more accurate than dense output. That one stays."""
        if h > 0:
            kept = self.end.copy()
            self._call(self.t, h, NOWHERE, trial=True)
            found = self.end[0, 0, : self.width].copy()
            self.end[:] = kept
            return found
        return self.x.copy()

    def decide(self) -> None:
        """Modes and rate at the state."""
        self._call(self.t, 0.0, NOWHERE, decide=True)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """State and rate at an instant of the step, by dense output."""
        self._call(self.t, self.h, np.array([(t - self.t) / self.h]))
        return self.found[0, 0, : self.width].copy(), self.found[0, 0, self.width :].copy()

    def rate_at(self, t: float, x: np.ndarray, decide: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """State and rate at any time in any state; with `decide`, in modes that fit."""
        kept = self.start.copy(), self.polynomial
        self.polynomial = np.zeros_like(self.polynomial)
        self.x[:] = x
        self._call(t, 0.0, np.zeros(1), decide=decide)
        self.start, self.polynomial = kept
        return self.found[0, 0, : self.width].copy(), self.found[0, 0, self.width :].copy()

    def dense(self, t: float | np.ndarray) -> np.ndarray:
        """States (width,) or (N, width) at instants of the step."""
        if not self.has_dense:
            self.step(self.h)
        place = np.expand_dims((np.asarray(t) - self.t) / self.h, -1)
        return np.asarray(interpolated(self.x, self.polynomial.reshape(POLYNOMIAL, -1), place))

    def looks(self) -> tuple[np.ndarray, np.ndarray]:
        """States and rates at the LOOKS."""
        return self.found[:, 0, : self.width], self.found[:, 0, self.width :]

    def _call(
        self,
        t: float,
        h: float,
        places: np.ndarray,
        decide: bool = False,
        trial: bool = False,
        dense: bool = False,
    ) -> None:
        self.start[0, 0, 2 * self.width] = h
        drive, asked = self.integrand.drive, {}
        arguments = {
            "start": self.start,
            "constants": self.constants,
            "end": self.end,
            "polynomial": self.polynomial,
            "places": places.reshape(-1, 1, 1),
            "found": self.found,
        }
        if drive.signals or drive.asked:
            times = np.minimum(t + h * np.append(TIMES, places), max(np.nextafter(self.limit, 0.0), 0.0))
            arguments["signals"] = self.actuation.signals(times)
            asked = self.actuation.asked(times)
        counts = {"decide": int(decide), "trial": int(trial), "dense": int(dense), "points": len(places)}
        self.kernel(1, counts, arguments, asked)
