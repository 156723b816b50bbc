"""Online fits: one sample of one arm, one of many arms, and the estimate, beside one inverse dynamics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from run import best

from armdyn import OnlineFit, Robot

TITLE = "Online fits: time of one sample"
ROWS, ARMS = 5000, 200
Samples: TypeAlias = tuple[np.ndarray, ...]
FITS = {"payload": "payload", "friction": "friction", "payload and friction": ["payload", "friction"]}


def measure() -> Iterator[tuple[str, float]]:
    for name in ("puma560", "panda"):
        robot = Robot.load(name)
        t = 1e-3 * np.arange(ROWS)[:, None] + np.arange(robot.n)
        q, qd = np.sin(3 * t), 3 * np.cos(3 * t)
        tau = robot.inverse_dynamics(q, qd, -9 * q)
        yield f"{robot.name}: a call of inverse dynamics", _of_calls(robot) / ROWS
        for words, parameters in FITS.items():
            yield from _of_fit(OnlineFit(robot, parameters), words, (q, qd, tau))


def _of_fit(fit: OnlineFit, words: str, samples: Samples) -> Iterator[tuple[str, float]]:
    what = f"{fit.robot_before.name}: {words}, {len(fit.names)} parameters"
    yield f"{what}, a sample", _of_samples(fit, samples) / ROWS
    calls = best(lambda: fit, lambda x: [x.update(*one) for one in zip(*samples, strict=True)], 3)
    yield f"{what}, a call of update", calls / ROWS
    fit.reset()
    rows = ROWS // 10
    arms = tuple(np.repeat(x[:rows, None], ARMS, axis=1) for x in samples)
    yield f"{what}, a sample of one of {ARMS} arms", _of_samples(fit, arms) / (rows * ARMS)


def _of_calls(robot: Robot) -> float:
    q = np.zeros(robot.n)
    return best(lambda: robot, lambda x: [x.inverse_dynamics(q, q, q) for _ in range(ROWS)], 5)


def _of_samples(fit: OnlineFit, samples: Samples) -> float:
    rows = len(samples[0])
    fit.run(*samples, every=rows)  # compiled
    return best(lambda: fit, lambda x: x.run(*samples, every=rows), 5)
