"""A motion written out in Python, where nobody knows how it was made."""

from __future__ import annotations

import numpy as np

from armdyn.motion.trajectories.trajectory import Samples, Trajectory

_CLOSE = 1e-9  # of the largest entry: samples between which quintics are this near
_ROWS = 400  # more of them would be no script any more


def spelled(motion: Trajectory) -> list[str]:
    """Lines that make `motion` from as few samples as show it.

    Loads are left out: the state that is seen says what the arm carries.
    """
    parts = 1
    while True:
        at = motion.samples(motion.duration / parts, knots=True)
        if len(at.t) > _ROWS or _is_enough(motion, at):
            break
        parts *= 2
    lines = ["# The motion as samples of t, q, qd and qdd."]
    lines += [
        f"{name} = {_matrix(x)}" for name, x in (("t", at.t), ("q", at.q), ("qd", at.qd), ("qdd", at.qdd))
    ]
    return [*lines, "motion = Trajectory.from_samples(t, q, qd, qdd)"]


def _is_enough(motion: Trajectory, at: Samples) -> bool:
    made = Trajectory.from_samples(at.t, at.q, at.qd, at.qdd)
    t = np.linspace(0, motion.duration, 257)
    pairs = zip(motion(t), made(t), strict=True)
    return all(np.abs(x - y).max() <= _CLOSE * max(1.0, np.abs(x).max()) for x, y in pairs)


def _matrix(x: np.ndarray) -> str:
    return repr(x.tolist())
