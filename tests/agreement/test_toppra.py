"""Least time along a path against TOPP-RA: interpolation scheme, constant-acceleration parametrization.

It knows torques without viscous friction and with symmetric dry friction, so the arms have only these.
"""

import warnings
from typing import Any

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion.least_time.time_optimal import time_optimal
from armdyn.robot.friction import friction_parts
from armdyn.robot.joints import JointLimits
from one_joint import shares, waypoints

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its own, about its source
    toppra = pytest.importorskip("toppra")
    constraint = pytest.importorskip("toppra.constraint")
    algorithm = pytest.importorskip("toppra.algorithm")

GRID = 500


def with_dry_friction_only(robot: Robot, dry: bool) -> Robot:
    """The robot without viscous friction and asymmetry, and without any dry friction unless wanted."""
    gone = ("Fv", "Fa", "off") if dry else ("Fv", "Fa", "off", "Fs")
    return robot.with_parameters(
        np.where([name.startswith(gone) for name in robot.parameter_names], 0.0, robot.parameters)
    )


def with_toppra(robot: Robot, points: np.ndarray, limits: JointLimits, grid: int) -> float:
    """The duration it finds on the spline through waypoints."""
    levels = friction_parts(robot)
    coulomb = np.zeros(robot.n)
    coulomb[levels.rows.argmax(1)] = levels.forward
    bare = with_dry_friction_only(robot, dry=False)
    scheme = constraint.DiscretizationType.Interpolation

    def both_ways(limit: np.ndarray) -> np.ndarray:
        return np.column_stack([-limit, limit])

    constraints: list[Any] = [
        constraint.JointTorqueConstraint(
            bare.inverse_dynamics, both_ways(limits.torque), coulomb, discretization_scheme=scheme
        )
    ]
    if np.isfinite(limits.velocity).all():
        constraints.append(constraint.JointVelocityConstraint(both_ways(limits.velocity)))
    if np.isfinite(limits.acceleration).all():
        bounds = both_ways(limits.acceleration)
        constraints.append(constraint.JointAccelerationConstraint(bounds, discretization_scheme=scheme))
    path = toppra.SplineInterpolator(np.linspace(0, 1, len(points)), points)
    instance = algorithm.TOPPRA(
        constraints,
        path,
        gridpoints=np.linspace(0, 1, grid + 1),
        solver_wrapper="seidel",
        parametrizer="ParametrizeConstAccel",
    )
    return float(instance.compute_trajectory(0, 0).duration)


# Arm, limits other than its own, dry friction, TOPP-RA's grid: ours, or a finer one where its error is 0.9 %.
CASES: dict[str, tuple[str, dict[str, Any], bool, int]] = {
    "planar": ("planar", {}, False, GRID),
    "planar, slow and gentle": ("planar", {"velocity": 3.0, "acceleration": 20.0}, False, GRID),
    "puma560": ("puma560", {}, False, GRID),
    "puma560 with dry friction": ("puma560", {}, True, GRID),
    "panda": ("panda", {}, False, GRID),
    "panda, torques only": (
        "panda",
        {"torque": [60, 60, 50, 50, 8, 8, 8], "velocity": np.inf, "acceleration": np.inf},
        False,
        4 * GRID,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_durations_agree_and_limits_are_kept(case: str, seed: int) -> None:
    name, given, dry, grid = CASES[case]
    robot = with_dry_friction_only(Robot.load(name), dry)
    points = np.random.default_rng(seed).uniform(-1, 1, (5, robot.n))
    if name == "panda":  # within its joints' ranges
        points += [0, 0, 0, -1.6, 0, 1.6, 0]
    fast = time_optimal(robot, waypoints(points), grid=GRID, **given)
    assert fast.duration == pytest.approx(with_toppra(robot, points, fast.limits, grid), rel=5e-3)
    found = shares(robot, fast, 10)
    assert max(found) <= 1.001
    assert max(found) == pytest.approx(1, abs=1e-3)  # some limit is reached
