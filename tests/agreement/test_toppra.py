"""Least time along a path against TOPP-RA: interpolation scheme, constant-acceleration parametrization.

It knows torques without viscous friction and with symmetric dry friction, so the arms have only these.
"""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion.timing.time_optimal import time_optimal
from armdyn.robot.friction import friction_parts
from armdyn.robot.joints import JointLimits
from arms import slowly
from motions_with_dwells import most
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
    return its_duration(bare.inverse_dynamics, coulomb, points, limits, grid)


def its_duration(torques: Any, coulomb: np.ndarray, points: np.ndarray, limits: Any, grid: int) -> float:
    """The same for a function of q, qd and qdd."""
    scheme = constraint.DiscretizationType.Interpolation

    def both_ways(limit: np.ndarray) -> np.ndarray:
        return np.column_stack([-limit, limit])

    constraints: list[Any] = [
        constraint.JointTorqueConstraint(
            torques, both_ways(limits.torque), coulomb, discretization_scheme=scheme
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
@pytest.mark.parametrize("seed", [0, slowly(1), slowly(2)])
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


@pytest.mark.parametrize("seed", [0, slowly(1), slowly(2)])
def test_coupled_motors_and_the_same_in_their_own_coordinates(seed: int) -> None:
    """The wrist of the TX40: to TOPP-RA the arm's coordinates are the angles θ = K q of its motors."""
    robot = with_dry_friction_only(Robot.load("tx40"), dry=False)
    points = np.random.default_rng(seed).uniform(-1, 1, (5, robot.n))
    K = robot.transmission
    back, gear = np.linalg.inv(K), np.abs(np.diag(K))
    torque = np.array([131.84, 131.84, 103.49, 46.08, 20.0, 1.0]) / gear
    velocity = np.array([5.0, 5.0, 7.5, 7.1, 5.5, 6.0]) * gear
    given = {"torque": np.inf, "velocity": np.inf, "motor_torque": torque, "motor_velocity": velocity}
    fast = time_optimal(robot, waypoints(points), grid=GRID, **given)

    def torques(*states: np.ndarray) -> np.ndarray:
        return np.asarray(back.T @ robot.inverse_dynamics(*(back @ x for x in states)))

    limits = SimpleNamespace(torque=torque, velocity=velocity, acceleration=np.full(6, np.inf))
    found = its_duration(torques, np.zeros(6), points @ K.T, limits, GRID)
    assert fast.duration == pytest.approx(found, rel=5e-3)
    assert max(most(robot, fast).values()) == pytest.approx(1, abs=1e-3)
    uncoupled = {**given, "motor_torque": np.append(torque[:5], np.inf), "motor_velocity": np.inf}
    assert fast.duration > 1.01 * time_optimal(robot, waypoints(points), grid=GRID, **uncoupled).duration
