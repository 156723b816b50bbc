"""A simulation as it is asked for in the page: what drives and what pushes the arm; in Python too."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation import ComputedTorque, GravityCompensation, PDGravity, Run, SimulationWarning, simulate
from armdyn.workbench.bench.script import listed
from armdyn.workbench.errors import ViewError

_MOST = 20_000  # instants that are kept

OFF = "off"
GRAVITY = "hold against gravity"
PD_HOLD, PD_FOLLOW = "PD: hold the posture", "PD: follow the motion"
CT_HOLD, CT_FOLLOW = "computed torque: hold the posture", "computed torque: follow the motion"
DRIVES = (OFF, GRAVITY, PD_HOLD, PD_FOLLOW, CT_HOLD, CT_FOLLOW)
FOLLOWING = (PD_FOLLOW, CT_FOLLOW)
NO_PUSH, AT_TIP, AT_JOINT = "none", "force at the tip", "torque at a joint"
PUSHES = (NO_PUSH, AT_TIP, AT_JOINT)


@dataclass(frozen=True)
class Push:
    """Something that acts from `start` for `length` seconds."""

    kind: str = NO_PUSH
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)  # on the tip [N], world axes
    joint: int = 0
    torque: float = 0.0  # N m or N
    start: float = 0.0
    length: float = 0.1

    def values(self, n: int) -> np.ndarray:
        """What `simulate` is given while it acts: h_e (6,), what the tip exerts, or torques (n,)."""
        if self.kind == AT_TIP:
            return np.array([*(-x for x in self.force), 0.0, 0.0, 0.0]) + 0.0
        found = np.zeros(n)
        found[self.joint] = self.torque
        return found

    def function(self, n: int) -> Callable[..., np.ndarray]:
        """Of (t, q, qd)."""
        values, nothing = self.values(n), np.zeros_like(self.values(n))
        return lambda t, q=None, qd=None: values if self.start <= t < self.start + self.length else nothing

    def lines(self, n: int) -> list[str]:
        values = f"np.array({listed(self.values(n))})"
        return [
            "def push(t, q, qd):",
            f"    return {values} * ({self.start!r} <= t < {self.start + self.length!r})",
            "",
        ]


@dataclass(frozen=True)
class Trial:
    """`stiffness` [1/s²] and `damping` [1/s] are per unit of inertia; of PD, times b_ii at the start."""

    robot: Robot  # the plant
    model: Robot  # what the controller computes with
    q0: np.ndarray
    qd0: np.ndarray
    duration: float
    drive: str = OFF
    push: Push = Push()
    stiffness: float = 100.0
    damping: float = 20.0
    saturated: bool = False
    motion: Trajectory | None = None

    @property
    def follows(self) -> bool:
        return self.drive in FOLLOWING

    @cached_property
    def _gains(self) -> dict[str, Any]:
        if self.drive in (CT_HOLD, CT_FOLLOW):
            return {"stiffness": self.stiffness, "damping": self.damping}
        inertia = np.diag(np.asarray(self.model.inertia(self.q0)))
        return {"stiffness": self.stiffness * inertia, "damping": self.damping * inertia}

    def controller(self) -> Any:
        """What the motors do; None: nothing."""
        target = self.motion if self.follows else self.q0
        if self.drive == OFF:
            return None
        if self.drive == GRAVITY:
            return GravityCompensation(self.model, saturated=self.saturated)
        kind = ComputedTorque if self.drive in (CT_HOLD, CT_FOLLOW) else PDGravity
        return kind(self.model, target, saturated=self.saturated, **self._gains)

    def run(self, progress: Callable[[float], None] | None = None) -> Run:
        """Simulate; what it warns of is in the run."""
        self._check()
        torque, n = self.controller(), self.robot.n
        given: dict[str, Any] = {"wrench": self.push.function(n)} if self.push.kind == AT_TIP else {}
        if self.push.kind == AT_JOINT:
            torque = self.push.function(n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            return simulate(
                self.robot,
                self.q0,
                self.qd0,
                self.duration,
                torque,
                step=self.step,
                progress=False if progress is None else progress,
                **given,
            )

    @property
    def step(self) -> float:
        return max(1e-3, self.duration / _MOST)

    def _check(self) -> None:
        if self.push.kind == AT_JOINT and self.drive != OFF:
            raise ViewError(f"a {AT_JOINT} goes with motors that are off; a {AT_TIP} goes with all")
        if self.follows and self.motion is None:
            raise ViewError("there is no motion to follow: load or make one")

    def wrench(self) -> Callable[[float], np.ndarray | None] | None:
        """What the tip exerts on its surroundings over time, for the state that is shown."""
        push = self.push
        if push.kind != AT_TIP:
            return None
        values = push.values(self.robot.n)
        return lambda t: values if push.start <= t < push.start + push.length else None

    # ---- in Python -----------------------------------------------------------------------------------------

    def lines(self, loads: Sequence[str]) -> tuple[list[str], list[str]]:
        """Lines that do the same, and the names of armdyn they need; `loads` make the robot as it was."""
        names, lines = ["simulate"], []
        call = [f"q0={listed(self.q0)}", f"qd0={listed(self.qd0)}", f"duration={self.duration!r}"]
        if self.push.kind != NO_PUSH:
            lines += self.push.lines(self.robot.n)
            call.append("wrench=push" if self.push.kind == AT_TIP else "torque=push")
        if self.drive != OFF:
            name = type(self.controller()).__name__
            names.append(name)
            model = "robot"
            if self.model is not self.robot:
                names.append("Robot")
                lines += [line.replace("robot = ", "model = ", 1) for line in loads]
                model = "model"
            lines.append(f"controller = {name}({', '.join([model, *self._arguments()])})")
            call.append("torque=controller")
        call.append(f"step={self.step!r}")
        return [*lines, f"run = simulate(robot, {', '.join(call)})"], names

    def _arguments(self) -> list[str]:
        saturated = ["saturated=True"] if self.saturated else []
        if self.drive == GRAVITY:
            return saturated
        target = "motion" if self.follows else listed(self.q0)
        gains = (
            f"{name}={x!r}" if isinstance(x, float) else f"{name}={listed(x)}"
            for name, x in self._gains.items()
        )
        return [target, *gains, *saturated]
