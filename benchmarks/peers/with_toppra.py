"""TOPP-RA: least time along a path, its constraints, its passes and its parametrization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import toppra
from toppra.algorithm import TOPPRA
from toppra.constraint import (
    DiscretizationType,
    JointAccelerationConstraint,
    JointTorqueConstraint,
    JointVelocityConstraint,
)

from armdyn.robot.joints import JointLimits

PACKAGE = "toppra"


def least_time(
    inverse_dynamics: Callable[..., Any],
    points: np.ndarray,
    limits: JointLimits,
    grid: int,
    coulomb: np.ndarray | None = None,
) -> Callable[[], Any]:
    """What computes the fastest motion on the spline through waypoints (k, n), everything included.

    The inverse dynamics it calls, once for each grid point, is armdyn's own: without friction, compiled. Dry
    friction is `coulomb` (n,); none where that is not given.
    """
    s, nodes = np.linspace(0, 1, len(points)), np.linspace(0, 1, grid + 1)
    torque, velocity, acceleration = (
        np.column_stack([-x, x]) for x in (limits.torque, limits.velocity, limits.acceleration)
    )
    dry = np.zeros(points.shape[1]) if coulomb is None else coulomb
    scheme = DiscretizationType.Interpolation

    def compute() -> Any:
        constraints = [JointTorqueConstraint(inverse_dynamics, torque, dry, scheme)]
        if np.isfinite(velocity).all():
            constraints.append(JointVelocityConstraint(velocity))
        if np.isfinite(acceleration).all():
            constraints.append(JointAccelerationConstraint(acceleration, scheme))
        path = toppra.SplineInterpolator(s, points)
        solver = TOPPRA(
            constraints,
            path,
            gridpoints=nodes,
            solver_wrapper="seidel",
            parametrizer="ParametrizeConstAccel",
        )
        return solver.compute_trajectory(0, 0)

    return compute
