"""A simulated recording of an arm with all that makes identification hard, for tests to damage."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from armdyn import Robot
from armdyn.identification import Log
from arms import Part, Plan, quietly, table_of

PARTS = (
    Part("link 1", "base", "revolute", "base", (), True),
    Part("link 2", "link 1", "prismatic", "link 1", (), True),
    Part("link 3", "link 2", "revolute", "link 1", ("link 1",), True),
)


@lru_cache
def arm() -> Robot:
    """Three joints, one of them sliding; full inertias, dry friction, motors anywhere, one coupled."""
    return quietly(lambda: Robot.from_dict(table_of(Plan(PARTS, "exact", "link 3", 5))))


def motion(t, seed=0, joints=3):
    """q, q̇, q̈ of sums of sines, with many reversals."""
    rng = np.random.default_rng(seed)
    w = 2 * np.pi * np.array([0.2, 0.5, 0.9])
    a, b = rng.normal(size=(2, 3, joints)) * np.array([0.6, 0.3, 0.15])[:, None]
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = s @ a + c @ b
    return q, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


def recording(rate=250.0, duration=8.0, seed=0, noise=0.01, derivatives=False) -> Log:
    """A clean log: torques with noise, relative to each joint's."""
    t = np.arange(int(rate * duration)) / rate
    q, qd, qdd = motion(t, seed)
    tau = arm().inverse_dynamics(q, qd, qdd)
    rng = np.random.default_rng(seed + 1)
    tau = tau + noise * tau.std(0) * rng.normal(size=tau.shape)
    known = {"qd": qd, "qdd": qdd} if derivatives else {}
    return Log(t, q, tau, **known, name="test")


def changed(log: Log, **arrays) -> Log:
    """The log with some of its channels replaced."""
    given = {name: getattr(log, name) for name in log.channels} | arrays
    return Log(**given, name=log.name)


def edited(log: Log, channel: str, rows, value, column=...) -> Log:
    """The log with some values replaced."""
    x = getattr(log, channel).copy()
    x[(rows, column) if x.ndim == 2 else rows] = value
    return changed(log, **{channel: x})
