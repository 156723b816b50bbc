"""`MomentumObserver`: external torques and collisions from positions, velocities and motor torques."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from armdyn.model import Inertia, impossible_inertia
from armdyn.model.inertia import tensor
from armdyn.model.vector import vector
from armdyn.motion.trajectories.instants import snapped
from armdyn.motion.trajectories.loads import Load, Loaded, payload_numbers
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, torque_unit
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.observer.law import Observed, observer_kernel

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

    `t` (T,) [s], from the first sample unless `run` was given instants; `residual` (T, ..., n) [N m or N];
    `joint` (T, ...): the joint furthest over its threshold, counted from 0, or -1 where there is none.
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

    What the arm carries must be known: otherwise its weight looks like a push. In the place of the robot
    there may be one that picks up and puts down loads at known times, `motion.loaded(robot)`. Its time begins
    with the first sample. Or `update` and `run` are told the `payload`. It counts from its sample on; where
    the arm moves, its momentum jumps with the load, which is no torque from outside.
    """

    def __init__(
        self,
        robot: Robot | Loaded,
        gain: Any,
        step: float = 1e-3,
        threshold: Any = None,
        *,
        held: bool = False,
    ) -> None:
        self.loaded = robot if isinstance(robot, Loaded) and robot.loads else None
        self.robot = check.robot(robot.robot if isinstance(robot, Loaded) else robot)
        n = self.robot.n
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
        self._count = 0
        self._payload: np.ndarray | None = None
        self.residual: np.ndarray = np.zeros(self.robot.n)
        self.joint: np.ndarray = np.full((), -1)

    @cached_property
    def settings(self) -> np.ndarray:
        """What the compiled loop is told: 1/step; 1 − exp(−K h) (n); 1/threshold (n)."""
        return np.asarray(self._settings(np.array([self.step]))[0])

    def _settings(self, steps: np.ndarray) -> np.ndarray:
        """For steps (T,)."""
        levels = np.broadcast_to(1 / self.threshold, (len(steps), self.robot.n))
        return np.column_stack([1 / steps, -np.expm1(-self.gain * steps[:, None]), levels])

    @property
    def links(self) -> tuple[str | None, ...]:
        """What carries the loads that are known, None being the tip."""
        return () if self.loaded is None else self.loaded.links

    def update(self, q: Any, qd: Any, tau: Any, payload: Any = None) -> np.ndarray:
        """The residual (..., n) after one more sample q, q̇, τ (..., n).

        `residual` keeps it, and `joint` (...) the joint furthest over its threshold, or -1. `payload` is what
        the tip carries from this sample on: ten numbers (..., 10), mass, centre of mass and the tensor about
        it (xx xy xz yy yz zz) in the tip frame; or a mass at the tip, a body such as `box(…)`, or what
        `identify_payload` gives. None: as before; 0: nothing.
        """
        samples = check.joint_arrays(self.robot, q=q, qd=qd, tau=tau)
        batch = samples[0].shape[:-1]
        if self._state is None:
            self._batch = batch
        elif batch != self._batch:
            raise SimulationError(
                f"q, qd, tau: found arms {batch}, before {self._batch}; reset() begins with others"
            )
        if payload is not None:
            self._payload = self._checked_payload(payload, batch)
        carried = self._payload
        if self.loaded is not None:
            carried = self._carried(np.array([self.step * self._count]))[0]
        rows = [x[None] for x in samples]
        self._state, residual, joint = self._advanced(
            self._state, rows, None if carried is None else carried[None]
        )
        self._count += 1
        self.residual, self.joint = residual[0], joint[0]
        return self.residual

    def run(self, q: Any, qd: Any, tau: Any, payload: Any = None, t: Any = None) -> Observation:
        """The residuals of T samples q, q̇, τ (T, ..., n), as `simulate` gives; `update` goes on as before.

        `payload` is what the tip carries from each sample on, as in `update`: (10,) or (T, ..., 10). `t` (T,)
        are the instants of the samples [s] where these are not all `step` apart: `run.t` of a simulation in
        which loads are picked up, say.
        """
        samples = check.joint_arrays(self.robot, q=q, qd=qd, tau=tau)
        if samples[0].ndim < 2 or not samples[0].size:
            raise SimulationError(
                f"q, qd, tau: expected samples over time (T, ..., {self.robot.n}), found {samples[0].shape}"
            )
        rows, *batch = samples[0].shape[:-1]
        times = self.step * np.arange(rows) if t is None else self._instants(t, rows)
        carried = None if payload is None else self._checked_payload(payload, (rows, *batch))
        if self.loaded is not None:
            carried = self._carried(times).reshape(rows, *[1] * len(batch), -1)
        steps = None if t is None else np.diff(times, prepend=times[0] - self.step)
        _, residual, joint = self._advanced(None, samples, carried, steps)
        return Observation(self.robot, times, residual, joint)

    def _instants(self, t: Any, rows: int) -> np.ndarray:
        times = check.numbers("t", t)
        if times.shape != (rows,):
            raise SimulationError(f"t: expected ({rows},), an instant for each sample, found {times.shape}")
        if not (np.diff(times) >= 1 / LARGEST).all():
            k = int(np.argmin(np.diff(times)))
            raise SimulationError(f"t: found {times[k + 1]:g} s after {times[k]:g} s; times must grow")
        return times

    def _carried(self, times: np.ndarray) -> np.ndarray:
        """The payloads (T, 10 links) at instants of the motion."""
        assert self.loaded is not None
        index = self.loaded.index(snapped(times, self.loaded.boundaries))
        return np.asarray(self.loaded.payloads[index])

    def _checked_payload(self, payload: Any, lead: tuple[int, ...]) -> np.ndarray:
        """The numbers (..., 10) of what the tip carries; (…) broadcast against `lead`."""
        if self.loaded is not None:
            raise SimulationError("payload: the loads of the motion are known; leave it out, or give a Robot")
        if isinstance(payload, Inertia | Load) or hasattr(payload, "arguments") or np.ndim(payload) == 0:
            load = Load.of(payload)
            if load.link is not None:
                raise SimulationError(f"payload: it is on '{load.link}'; one at the tip is expected")
            payload = payload_numbers(self.robot, load.body)
        found = check.numbers("payload", payload, 10)
        try:
            np.broadcast_to(found, (*lead, 10))
        except ValueError:
            raise SimulationError(f"payload: expected {(*lead, 10)}, found {found.shape}") from None
        for row in np.unique(found.reshape(-1, 10), axis=0).tolist():
            body = Inertia.at_com(row[0], vector(row[1:4]), tensor(row[4:]))
            for problem in impossible_inertia(self.robot.model, body):
                raise SimulationError(f"payload: {problem}")
        return found

    def _advanced(
        self,
        state: np.ndarray | None,
        samples: Any,
        carried: np.ndarray | None = None,
        steps: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """State, residuals (T, ..., n), joints (T, ...) after T samples with what is carried (T, ..., k)."""
        n, shape = self.robot.n, samples[0].shape
        rows, arms = shape[0], int(np.prod(shape[1:-1]))
        links = () if carried is None else self.links or (None,)
        observed = Observed(self.robot, self.held, links, steps is not None)
        state = np.zeros((1, arms, observed.state)) if state is None else state
        if state.shape[-1] < observed.state:  # the first payload that is given
            state = np.concatenate([state, np.zeros((1, arms, observed.payload))], axis=-1)
        residual, joint = np.empty((rows, arms, n)), np.empty((rows, arms, 1))
        if self.robot.model.loops:
            samples = [self.robot.assembly(samples[0]), *samples[1:]]
        told = self.settings[None, None] if steps is None else self._settings(steps)[:, None]
        given = dict(zip(("q", "qd", "tau"), samples, strict=True))
        if carried is not None:
            given["payload"] = np.broadcast_to(carried, (*shape[:-1], observed.payload))
        arguments = {x: np.ascontiguousarray(y).reshape(rows, arms, y.shape[-1]) for x, y in given.items()}
        arguments |= {"settings": told, "state": state, "residual": residual, "joint": joint}
        observer_kernel(observed)(arms, {"rows": rows}, arguments)
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
