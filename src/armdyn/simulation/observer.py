"""`MomentumObserver`: external torques and collisions from positions, velocities and motor torques."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from armdyn.dynamics.friction import rigid_of
from armdyn.dynamics.momentum import momentum
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression.functions import select
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model import Inertia, Mechanism, impossible_inertia
from armdyn.model.inertia import tensor
from armdyn.model.vector import vector
from armdyn.motion.loads import Load as Payload
from armdyn.motion.loads import Loaded, payload_numbers
from armdyn.motion.motion import snapped
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Count, Counter, Fetch, For, If, Local, Loop, Save
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, torque_unit
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.laws import Scalars

# ------------------------------------------------------------------------------------------------------------
# One sample of the generalized-momentum observer, and the loop over samples.
#
# With p = B q̇ and Ḃ = C + Cᵀ (Christoffel's C), the equations of motion are
#
#     ṗ = τ + τ_ext + β,        β = Cᵀ q̇ − g − springs − friction.
#
# The observer of De Luca and Mattone (2003) is ṙ = K (τ_ext − r), with τ_ext replaced by ṗ − τ − β. Over a
# step h the mean of τ_ext is e = (p_k − p_{k−1})/h − mean(τ + β), by the trapezoidal rule, and
#
#     r_k = r_{k−1} + (1 − exp(−K h)) (e − r_{k−1})
#
# is the exact answer of the filter to a torque that is e throughout the step. This is the integral form
# r = K (p − p_0 − Σ (τ + β + r) h) taken from one sample to the next: no sum grows, and any gain is stable.
#
# When the load changes, p and β jump, as B does, and no torque from outside has caused it. A
# payload counts from its sample on: the step before ends with the old payload, and with the torque that was
# there before the change. Then p and β are computed again, and the next step begins with the new payload.


ROWS, ROW = Count("rows"), Counter("row")


LEAST = 1e30  # 1/change of a payload that is none


@dataclass(frozen=True)
class Observed:
    """All that the code of an observer depends on.

    `held`: torques stay from one sample to the next. `links` carry payloads; None is the tip.
    `timed`: each sample has settings of its own.
    """

    robot: Robot
    held: bool
    links: tuple[str | None, ...] = ()
    timed: bool = False

    @property
    def settings(self) -> int:
        """1/h; for each joint 1 − exp(−K h); for each joint 1/threshold, 0 where there is none."""
        return 1 + 2 * self.robot.n

    @property
    def payload(self) -> int:
        """Ten numbers for each link."""
        return 10 * len(self.links)

    @property
    def state(self) -> int:
        """1 once a sample has been seen; momenta, β, torques and residuals of it; the payload since then."""
        return 1 + 4 * self.robot.n + self.payload

    def mechanism(self, payload: Scalars) -> Mechanism:
        """The mechanism with its payloads."""
        M = self.robot.mechanism
        for k, link in enumerate(self.links):
            at = M if link is None else replace(self.robot.model.mechanism_to(link), bodies=M.bodies)
            M = replace(M, bodies=at.carrying(payload[10 * k : 10 * k + 10]).bodies)
        return M


@lru_cache(32)
def observer_kernel(observed: Observed) -> LoopKernel:
    return LoopKernel(observer_loop(observed))


def observer_loop(observed: Observed) -> Loop:
    """The loop. Arguments: `settings`; `q`, `qd`, `tau` and, where links carry it, `payload` of each row; the
    `state`, which is changed; of each row the `residual` and the `joint` over its threshold, counted from 1,
    or 0. With closed chains q is all positions.
    """
    n, size = observed.robot.n, observed.robot.mechanism.positions
    settings = Argument("settings", observed.settings)
    state = Argument("state", observed.state, written=True)
    samples = [Argument("q", size), *(Argument(name, n) for name in ("qd", "tau"))]
    samples += [Argument("payload", observed.payload)] if observed.links else []
    residual, joint = Argument("residual", n, written=True), Argument("joint", 1, written=True)
    given = [Local(argument.name, argument.columns) for argument in samples]
    told, before = Local("settings", settings.columns), Local("state", state.columns)
    found, changed = Local("joint", 1), Local("changed", 1)
    columns = tuple(x.all for x in given)
    advance = Call("advance", (*columns, told.all, before.all), (before.all, found.all, changed.all))
    again: Block = (If(changed.all, (Call("loaded", (*columns, before.all), (before.all,)),)),)
    body: Block = (
        *([Fetch(told.all, settings, ROW)] if observed.timed else []),
        *(Fetch(local.all, argument, ROW) for local, argument in zip(given, samples, strict=True)),
        advance if observed.links else replace(advance, outputs=advance.outputs[:2]),
        *(again if observed.links else ()),
        Save(residual, ROW, before[1 + 3 * n : 1 + 4 * n]),
        Save(joint, ROW, found.all),
    )
    statements: Block = (
        *([] if observed.timed else [Fetch(told.all, settings)]),
        Fetch(before.all, state),
        For(ROW, 0, ROWS, body),
        Save(state, 0, before.all),
    )
    arguments = (settings, *samples, state, residual, joint)
    programs = {"advance": _advance(observed)}
    programs |= {"loaded": _loaded(observed)} if observed.links else {}
    return Loop("observer", (ROWS,), arguments, statements, programs)


def balance(M: Mechanism, q: Scalars, qd: Scalars, tau: Scalars) -> tuple[Scalars, Scalars]:
    """p and β."""
    still = [0] * M.n
    p, d = momentum(M, q, qd)
    g = rigid_torques(M, q, still, still)  # with springs
    free = rigid_of(M, qd, tau, q)  # τ − friction
    return p, [d[i] - g[i] + (free[i] - tau[i]) for i in range(M.n)]


def _inputs(observed: Observed) -> list[tuple[str, int]]:
    n = observed.robot.n
    found = [("q", observed.robot.mechanism.positions), ("qd", n), ("tau", n)]
    return found + ([("payload", observed.payload)] if observed.links else [])


def _advance(observed: Observed) -> Program:
    """Program from a sample and the state before to the state after a step with the old payload, the joint
    over its threshold, and whether the payload is another.
    """
    n = observed.robot.n

    def advance(q: Scalars, qd: Scalars, tau: Scalars, *others: Scalars) -> Any:
        *payload, settings, state = others
        seen, (p_old, beta_old, tau_old, r_old) = state[0], [state[1 + n * k :][:n] for k in range(4)]
        carried = state[1 + 4 * n :]
        rate, weights, levels = settings[0], settings[1 : 1 + n], settings[1 + n :]
        changed = _differs(payload[0], carried) if payload else 0
        if payload:
            tau = [select(changed, old, new) for old, new in zip(tau_old, tau, strict=True)]
        p, beta = balance(observed.mechanism(carried), q, qd, tau)
        r: Scalars = []
        for i in range(n):
            acting = tau_old[i] if observed.held else (tau_old[i] + tau[i]) / 2
            mean = acting + (beta_old[i] + beta[i]) / 2
            external = (p[i] - p_old[i]) * rate - mean
            r.append(select(seen, r_old[i] + weights[i] * (external - r_old[i]), 0))
        after = [1, *p, *beta, *tau, *r, *carried]
        return (after, [_furthest(r, levels)], [changed])[: 2 + bool(payload)]

    inputs = [*_inputs(observed), ("settings", observed.settings), ("state", observed.state)]
    outputs = [("state", (observed.state,)), ("joint", (1,)), ("changed", (1,))]
    return record(advance, inputs, outputs[: 2 + bool(observed.links)])


def _differs(a: Scalars, b: Scalars) -> Any:
    """1 where two payloads differ or are not numbers, else 0."""
    total: Any = 0
    for x, y in zip(a, b, strict=True):
        total = total + abs(x - y)
    return select(1 - LEAST * total, 0, 1)


def _furthest(r: Scalars, levels: Scalars) -> Any:
    """The joint furthest over its threshold, counted from 1, or 0."""
    most: Any = 1
    joint: Any = 0
    for i, (x, level) in enumerate(zip(r, levels, strict=True)):
        ratio = abs(x) * level
        joint = select(ratio + 1, select(ratio - most, i + 1, joint), i + 1)  # NaN is an alarm, too
        most = ratio.maximum(most)
    return joint


def _loaded(observed: Observed) -> Program:
    """The state of a sample with another payload."""
    n = observed.robot.n

    def loaded(q: Scalars, qd: Scalars, tau: Scalars, payload: Scalars, state: Scalars) -> Any:
        p, beta = balance(observed.mechanism(payload), q, qd, tau)
        return [state[0], *p, *beta, *tau, *state[1 + 3 * n : 1 + 4 * n], *payload]

    inputs = [*_inputs(observed), ("state", observed.state)]
    return record(loaded, inputs, [("state", (observed.state,))])


# ------------------------------------------------------------------------------------------------------------
# The observer, and what it sees.


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
    """Residuals and collisions that an observer saw in T samples of any batch of arms.

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
        """Collisions, where residuals pass their thresholds, in the order of time."""
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
        """Settings of the compiled loop: 1/step; 1 − exp(−K h) (n); 1/threshold (n)."""
        return np.asarray(self._settings(np.array([self.step]))[0])

    def _settings(self, steps: np.ndarray) -> np.ndarray:
        """Settings for steps (T,)."""
        levels = np.broadcast_to(1 / self.threshold, (len(steps), self.robot.n))
        return np.column_stack([1 / steps, -np.expm1(-self.gain * steps[:, None]), levels])

    @property
    def links(self) -> tuple[str | None, ...]:
        """Links that carry the loads that are known; None is the tip."""
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
        if isinstance(payload, Inertia | Payload) or hasattr(payload, "arguments") or np.ndim(payload) == 0:
            load = Payload.of(payload)
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
