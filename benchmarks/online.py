"""Online fits: one sample of one arm, one of many arms, and the estimate, beside one inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from run import best

from armdyn import OnlineFit, Robot

TITLE = "Online fits: time of one sample"
ROWS, ARMS = 5000, 200
FITS = {"payload": "payload", "friction": "friction", "payload and friction": ["payload", "friction"]}


def measure() -> Iterator[tuple[str, float]]:
    for name in ("puma560", "panda"):
        robot = Robot.load(name)
        t = 1e-3 * np.arange(ROWS)[:, None] + np.arange(robot.n)
        q, qd = np.sin(3 * t), 3 * np.cos(3 * t)
        tau = robot.inverse_dynamics(q, qd, -9 * q)
        calls = best(lambda: None, lambda _: [robot.inverse_dynamics(q[0], qd[0], qd[0]) for _ in t], 5)
        yield f"{robot.name}: a call of inverse dynamics", calls / ROWS
        for words, parameters in FITS.items():
            fit = OnlineFit(robot, parameters)
            what = f"{robot.name}: {words}, {len(fit.names)} parameters"
            yield f"{what}, a sample", _of_samples(fit, (q, qd, tau)) / ROWS
            many = OnlineFit(robot, parameters)
            arms = [np.repeat(x[: ROWS // 10, None], ARMS, axis=1) for x in (q, qd, tau)]
            yield f"{what}, a sample of one of {ARMS} arms", _of_samples(many, arms) / (ROWS // 10 * ARMS)
            calls = best(lambda: None, lambda _: [fit.update(*x) for x in zip(q, qd, tau, strict=True)], 3)
            yield f"{what}, a call of update", calls / ROWS


def _of_samples(fit: OnlineFit, samples: list[np.ndarray] | tuple[np.ndarray, ...]) -> float:
    fit.run(*samples, every=len(samples[0]))  # compiled
    return best(lambda: None, lambda _: fit.run(*samples, every=len(samples[0])), 5)
