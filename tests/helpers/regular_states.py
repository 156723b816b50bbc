"""States of an arm away from the singularities of its task."""

import warnings
from typing import Any

import numpy as np

from armdyn import Robot
from armdyn.analysis import Operational, OperationalWarning, operational
from arms import state


def regular_state(robot: Robot, rng: np.random.Generator, **choices: Any) -> tuple[np.ndarray, ...]:
    """q, q̇, q̈: of a number of random states the one farthest from a singularity."""
    q, qd, qdd = state(robot, rng, (20,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OperationalWarning)
        best = int(np.argmax(operational(robot, q, qd, **choices).margin))
    return q[best], qd[best], qdd[best]


def regular_model(
    robot: Robot, rng: np.random.Generator, **choices: Any
) -> tuple[np.ndarray, np.ndarray, Operational]:
    q, qd, _ = regular_state(robot, rng, **choices)
    return q, qd, operational(robot, q, qd, **choices)
