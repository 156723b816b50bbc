"""One sample of the generalized-momentum observer, and the loop over samples.

With p = B q̇ and Ḃ = C + Cᵀ (Christoffel's C), the equations of motion are

    ṗ = τ + τ_ext + β,        β = Cᵀ q̇ − g − springs − friction.

The observer of De Luca and Mattone (2003) is ṙ = K (τ_ext − r), with τ_ext replaced by ṗ − τ − β. Over a
step h the mean of τ_ext is e = (p_k − p_{k−1})/h − mean(τ + β), by the trapezoidal rule, and

    r_k = r_{k−1} + (1 − exp(−K h)) (e − r_{k−1})

is the exact answer of the filter to a torque that is e throughout the step. This is the integral form
r = K (p − p_0 − Σ (τ + β + r) h) taken from one sample to the next: no sum grows, and any gain is stable.

Where what the arm carries changes, p and β jump, as B does, and no torque from outside has caused it. A
payload counts from its sample on: the step before ends with the old payload, and with the torque that was
there before the change. Then p and β are computed again, and the next step begins with the new payload.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from armdyn.dynamics import coriolis_matrix, inertia_matrix
from armdyn.dynamics.friction import rigid_of
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression.functions import select
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model import Mechanism
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Count, Counter, For, If, Load, Local, Loop, Save
from armdyn.robot import Robot
from armdyn.simulation.control.laws import Scalars, dot

ROWS, ROW = Count("rows"), Counter("row")


LEAST = 1e30  # 1/change of a payload that is none


@dataclass(frozen=True)
class Observed:
    """What an observer is compiled for.

    `held`: torques stay from one sample to the next. `links` are what carries payloads, None being the tip.
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
        """The robot with what it carries."""
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
    or 0. With loops q is all positions.
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
        *([Load(told.all, settings, ROW)] if observed.timed else []),
        *(Load(local.all, argument, ROW) for local, argument in zip(given, samples, strict=True)),
        advance if observed.links else replace(advance, outputs=advance.outputs[:2]),
        *(again if observed.links else ()),
        Save(residual, ROW, before[1 + 3 * n : 1 + 4 * n]),
        Save(joint, ROW, found.all),
    )
    statements: Block = (
        *([] if observed.timed else [Load(told.all, settings)]),
        Load(before.all, state),
        For(ROW, 0, ROWS, body),
        Save(state, 0, before.all),
    )
    arguments = (settings, *samples, state, residual, joint)
    programs = {"advance": _advance(observed)}
    programs |= {"loaded": _loaded(observed)} if observed.links else {}
    return Loop("observer", (ROWS,), arguments, statements, programs)


def _momentum(M: Mechanism, q: Scalars, qd: Scalars, tau: Scalars) -> tuple[Scalars, Scalars]:
    """p and β."""
    n, still = M.n, [0] * M.n
    C, g = coriolis_matrix(M, q, qd), rigid_torques(M, q, still, still)  # with springs
    free = rigid_of(M, qd, tau, q)  # τ − friction
    p = [dot(row, qd) for row in inertia_matrix(M, q)]
    return p, [dot([row[i] for row in C], qd) - g[i] + (free[i] - tau[i]) for i in range(n)]


def _inputs(observed: Observed) -> list[tuple[str, int]]:
    n = observed.robot.n
    found = [("q", observed.robot.mechanism.positions), ("qd", n), ("tau", n)]
    return found + ([("payload", observed.payload)] if observed.links else [])


def _advance(observed: Observed) -> Program:
    """From a sample and the state before: the state after a step with the old payload; the joint over its
    threshold; and whether the payload is another.
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
        p, beta = _momentum(observed.mechanism(carried), q, qd, tau)
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
        p, beta = _momentum(observed.mechanism(payload), q, qd, tau)
        return [state[0], *p, *beta, *tau, *state[1 + 3 * n : 1 + 4 * n], *payload]

    inputs = [*_inputs(observed), ("state", observed.state)]
    return record(loaded, inputs, [("state", (observed.state,))])
