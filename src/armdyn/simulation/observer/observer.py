"""`MomentumObserver`: external torques and collisions from positions, velocities and motor torques."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, torque_unit
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.observer.law import observer_kernel, state_size

Batch = tuple[int, ...]
LARGEST = 1e100  # of gains, 1/step and 1/threshold: products of them are numbers still


class Collision(NamedTuple):
    """The first of some samples in a row at which a residual is over its threshold."""

    time: float  # s
    joint: int  # its place in q: the one furthest over its threshold
    name: str
    torque: float  # the residual [N m or N]
    arm: Batch = ()  # which of a batch


@dataclass(frozen=True, eq=False)
class Observation:
    """What an observer saw in T samples of any batch of arms.

    `t` (T,) [s] from the first sample; `residual` (T, ..., n) [N m or N]; `joint` (T, ...): the joint
    furthest over its threshold, counted from 0, or -1 where there is none.
    """

    robot: Robot = field(repr=False)
    t: np.ndarray = field(repr=False)
    residual: np.ndarray = field(repr=False)
    joint: np.ndarray = field(repr=False)

    @property
    def peak(self) -> np.ndarray:
        """The largest residuals (n,): in a run without contacts, what thresholds must exceed."""
        return np.asarray(np.abs(self.residual).max(axis=tuple(range(self.residual.ndim - 1))))

    @cached_property
    def collisions(self) -> tuple[Collision, ...]:
        """Where residuals pass their thresholds, in the order of time."""
        over = self.joint >= 0
        begins = over & ~np.concatenate([np.zeros_like(over[:1]), over[:-1]])
        found = []
        for k, *arm in np.argwhere(begins).tolist():
            j = int(self.joint[(k, *arm)])
            torque = float(self.residual[(k, *arm, j)])
            found.append(Collision(float(self.t[k]), j, joint_name(self.robot, j), torque, tuple(arm)))
        return tuple(found)

    def __repr__(self) -> str:
        first = self.collisions[0] if self.collisions else None
        seen = "no collision"
        if first is not None:
            unit = torque_unit(self.robot, first.joint)
            seen = f"first collision at {first.time:g} s, {first.name}, {first.torque:.3g} {unit}"
        return f"<Observation of '{self.robot.name}', {len(self.t)} samples: {seen}>"


class MomentumObserver:
    """The generalized-momentum observer (De Luca and Mattone, 2003), discrete.

    The residual r (n) follows the torques τ_ext that surroundings exert on the joints, as a filter of first
    order with the `gain` K [1/s], one number or (n,): ṙ = K (τ_ext − r). No acceleration is needed. A wrench
    h_e that a link exerts on its surroundings (`simulate`) appears as −Jᵀ h_e.

    `step` [s] is the time between samples. `threshold` [N m or N], one number or (n,), is what |r| must
    exceed for a collision; a residual that is not a number exceeds all. None: none is reported. `held`: the
    torques are commands that stay from one sample to the next, as a digital controller gives them; otherwise
    they are samples of what changes smoothly.

    Friction of the robot's model counts. Of a joint at rest, sgn(0) = 0: what friction holds there appears in
    the residual. A threshold below the level of dry friction needs joints that move.

    `run` looks at a whole recording; `update` takes one sample after the other and remembers the last.
    """

    def __init__(
        self, robot: Robot, gain: Any, step: float = 1e-3, threshold: Any = None, *, held: bool = False
    ) -> None:
        self.robot = check.robot(robot)
        n = robot.n
        self.gain = _positive("gain", gain, n)
        self.step = check.positive_time("step", step)
        if self.step < 1 / LARGEST:
            raise SimulationError(f"step: found {self.step:g} s; at least {1 / LARGEST:g} s is expected")
        self.threshold = np.full(n, np.inf) if threshold is None else _positive("threshold", threshold, n)
        if not isinstance(held, bool):
            raise SimulationError(f"held: found {held!r}; True or False is expected")
        self.held = held
        self.reset()

    def reset(self) -> None:
        """Forget all samples: the next one begins anew, with residuals of zero."""
        self._state: np.ndarray | None = None
        self._batch: Batch = ()
        self.residual: np.ndarray = np.zeros(self.robot.n)
        self.joint: np.ndarray = np.full((), -1)

    @cached_property
    def settings(self) -> np.ndarray:
        """What the compiled loop is told: 1/step; 1 − exp(−K h) (n); 1/threshold (n)."""
        return np.concatenate([[1 / self.step], -np.expm1(-self.gain * self.step), 1 / self.threshold])

    def update(self, q: Any, qd: Any, tau: Any) -> np.ndarray:
        """The residual (..., n) after one more sample q, q̇, τ (..., n).

        `residual` keeps it, and `joint` (...) the joint furthest over its threshold, or -1.
        """
        samples = check.joint_arrays(self.robot, q=q, qd=qd, tau=tau)
        batch = samples[0].shape[:-1]
        if self._state is None:
            self._batch = batch
        elif batch != self._batch:
            raise SimulationError(
                f"q, qd, tau: found arms {batch}, before {self._batch}; reset() begins with others"
            )
        self._state, residual, joint = self._advanced(self._state, [x[None] for x in samples])
        self.residual, self.joint = residual[0], joint[0]
        return self.residual

    def run(self, q: Any, qd: Any, tau: Any) -> Observation:
        """The residuals of T samples q, q̇, τ (T, ..., n), as `simulate` gives; `update` goes on as before."""
        samples = check.joint_arrays(self.robot, q=q, qd=qd, tau=tau)
        if samples[0].ndim < 2 or not samples[0].size:
            raise SimulationError(
                f"q, qd, tau: expected samples over time (T, ..., {self.robot.n}), found {samples[0].shape}"
            )
        _, residual, joint = self._advanced(None, samples)
        return Observation(self.robot, self.step * np.arange(len(residual)), residual, joint)

    def _advanced(self, state: np.ndarray | None, samples: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """State, residuals (T, ..., n) and joints (T, ...) after T samples."""
        n, shape = self.robot.n, samples[0].shape
        rows, arms = shape[0], int(np.prod(shape[1:-1]))
        state = np.zeros((1, arms, state_size(n))) if state is None else state
        residual, joint = np.empty((rows, arms, n)), np.empty((rows, arms, 1))
        if self.robot.model.loops:
            samples = [self.robot.assembly(samples[0]), *samples[1:]]
        q, qd, tau = (np.ascontiguousarray(x).reshape(rows, arms, x.shape[-1]) for x in samples)
        arguments = {"settings": self.settings[None, None], "q": q, "qd": qd, "tau": tau}
        arguments |= {"state": state, "residual": residual, "joint": joint}
        observer_kernel(self.robot, self.held)(arms, {"rows": rows}, arguments)
        return state, residual.reshape(shape), joint.astype(int).reshape(shape[:-1]) - 1

    def __repr__(self) -> str:
        return (
            f"<MomentumObserver of '{self.robot.name}', gain {self.gain.max():g} 1/s, step {self.step:g} s>"
        )


def _positive(name: str, x: Any, n: int) -> np.ndarray:
    found = np.array(check.per_joint(name, x, n))
    most = LARGEST if name == "gain" else np.inf
    right = (found >= 1 / LARGEST) & (found <= most)
    if not right.all():
        raise SimulationError(f"{name}: found {found[~right][0]:g}; positive numbers are expected")
    return found
