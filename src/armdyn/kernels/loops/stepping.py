"""Steps of fourth-order Runge–Kutta by NumPy: what the compiled integrator means.

It also serves torques that only Python knows: the signal is asked for at every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from armdyn.kernels.loops.integrator_layout import Layout, rounds

Body: TypeAlias = Callable[[np.ndarray], np.ndarray]  # columns (arms, inputs) -> (arms, outputs)
# Step, half steps from its start (0, 1, 2), q and q̇ (arms, n) -> constants and signal (arms, columns).
At: TypeAlias = Callable[[int, int, np.ndarray, np.ndarray], np.ndarray]


def take_steps(
    bodies: Mapping[str, Body],
    layout: Layout,
    state: np.ndarray,
    at: At,
    saved: np.ndarray,
    every: int,
    h: float,
    limit: float,
) -> None:
    """every · len(saved) steps of h from `state` (arms, layout.state), in place."""
    with np.errstate(all="ignore"):
        for step in range(every * len(saved)):
            _step(bodies, layout, state, at, step, h, limit)
            if (step + 1) % every == 0:
                alive = state[:, layout.saved, None] > 0
                saved[step // every] = np.where(alive, state[:, : layout.saved], np.nan)


def _step(
    bodies: Mapping[str, Body],
    layout: Layout,
    state: np.ndarray,
    at: At,
    step: int,
    h: float,
    limit: float,
) -> None:
    n, quadratures, saved = layout.n, layout.quadratures, layout.saved
    q, qd = state[:, :n], state[:, n : 2 * n]
    if layout.modes:
        rate = _decided(bodies, layout, state, at(step, 0, q, qd))
    else:
        rate = _rate(bodies, layout, state[:, :quadratures], at(step, 0, q, qd))
    modes, total = state[:, 2 * n : quadratures], rate
    for half, part, weight in ((1, h / 2, 2.0), (1, h / 2, 2.0), (2, h, 1.0)):
        x = state[:, : 2 * n] + part * rate[:, : 2 * n]
        given = at(step, half, x[:, :n], x[:, n:])
        rate = _rate(bodies, layout, np.concatenate([x, modes], axis=-1), given)
        total = total + weight * rate
    new = state[:, :saved].copy()
    new[:, : 2 * n] += h / 6 * total[:, : 2 * n]
    new[:, quadratures:] += h / 6 * total[:, 2 * n :]
    alive = (state[:, saved] > 0) & (np.abs(new[:, n : 2 * n]) <= limit).all(axis=-1)
    goes_on = _watch(layout, state, new, alive)
    state[:, :saved] = np.where(alive[:, None], new, state[:, :saved])
    if layout.modes:
        state[:, n:quadratures] = bodies["settle"](state[:, n:quadratures])
    state[:, saved] = goes_on
    state[:, saved + 1] += alive


def _watch(layout: Layout, state: np.ndarray, new: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Record the joints that are out of their ranges after this step; which arms go on."""
    goes_on = alive
    for k, (joint, lower, upper) in enumerate(layout.watch.joints, layout.passed):
        x, y, noted = state[:, joint], new[:, joint], state[:, k]
        above = y > upper
        part = (np.where(above, upper, lower) - x) / (y - x)
        instant = np.where(above, 1.0, -1.0) * (state[:, layout.saved + 1] + 1.0 + part)
        out = alive & (above | (y < lower))
        noted[:] = np.where(out & (noted == 0), instant, noted)
        if layout.watch.stops:
            goes_on = goes_on & ~out
    return goes_on


def _rate(bodies: Mapping[str, Body], layout: Layout, x: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The derivative (arms, 2n + rates) of q, q̇ and quadratures."""
    n = layout.n
    out = bodies["rate"](np.concatenate([x, given], axis=-1))
    return np.concatenate([x[:, n : 2 * n], out[:, :n], out[:, n + layout.modes :]], axis=-1)


def _decided(bodies: Mapping[str, Body], layout: Layout, state: np.ndarray, given: np.ndarray) -> np.ndarray:
    """The derivative at the start of a step, in the modes that fit it; these go into the state."""
    n, quadratures = layout.n, layout.quadratures
    together, most = rounds(layout)
    modes = state[:, 2 * n : quadratures]
    for k in range(most):
        x = np.concatenate([state[:, : 2 * n], modes], axis=-1)
        out = bodies["rate"](np.concatenate([x, given], axis=-1))
        late = np.full((len(x), 1), float(k >= together))
        asked = [x[:, n:], out[:, : n + layout.modes], late]
        answer = bodies["decide"](np.concatenate(asked, axis=-1))
        if not (answer[:, -1] > 0).any():
            break
        if k + 1 < most:
            modes = answer[:, :-1]
    state[:, 2 * n : quadratures] = modes
    return np.concatenate([x[:, n : 2 * n], out[:, :n], out[:, n + layout.modes :]], axis=-1)
