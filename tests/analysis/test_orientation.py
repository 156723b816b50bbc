"""Angles, rotations and the transforms between rates and angular velocity."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from armdyn import Robot
from armdyn.analysis.task import (
    rpy_from_rotation,
    rpy_transform,
    rpy_transform_dot,
    zyz_from_rotation,
    zyz_transform,
    zyz_transform_dot,
)
from arms import assert_same, difference, quietly


def rotation_from_zyz(angles):
    """Rz(φ) Ry(ϑ) Rz(ψ)."""
    return Rotation.from_euler("ZYZ", np.reshape(angles, (-1, 3))).as_matrix().reshape(*np.shape(angles), 3)


def rotation_from_rpy(angles):
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    return Rotation.from_euler("xyz", np.reshape(angles, (-1, 3))).as_matrix().reshape(*np.shape(angles), 3)


ZYZ = (rotation_from_zyz, zyz_from_rotation, zyz_transform, zyz_transform_dot)
RPY = (rotation_from_rpy, rpy_from_rotation, rpy_transform, rpy_transform_dot)
HALF = np.pi / 2
both = pytest.mark.parametrize("functions", [ZYZ, RPY], ids=["zyz", "rpy"])


@pytest.mark.parametrize(
    ("functions", "low", "high"),
    [(ZYZ, (-np.pi, 0, -np.pi), (np.pi, np.pi, np.pi)), (RPY, (-np.pi, -HALF, -np.pi), (np.pi, HALF, np.pi))],
    ids=["zyz", "rpy"],
)
def test_angles_rotation_angles(functions, low, high):
    rotation, angles, *_ = functions
    given = np.random.default_rng(0).uniform(low, high, (20, 5, 3))
    assert_same(angles(rotation(given)), given, 1e-11)


@both
def test_rotation_angles_rotation_at_and_near_singularities(functions):
    rotation, angles, *_ = functions
    rng = np.random.default_rng(1)
    for middle in (0, HALF, -HALF, np.pi):
        for off in (0, 1e-16, 1e-13, 1e-9, 1e-5):
            given = rng.uniform(-3, 3, (10, 3))
            given[:, 1] = middle + off
            R = rotation(given)
            assert_same(rotation(angles(R)), R, 1e-14)


@both
def test_transform_gives_the_angular_velocity(functions):
    """Ṙ = S(ω) R with ω = T · rates."""
    rotation, _, transform, _ = functions
    angles, rates = np.random.default_rng(2).uniform(-2, 2, (2, 3))
    S = difference(lambda t: rotation(angles + t * rates)) @ rotation(angles).T
    assert_same([S[2, 1], S[0, 2], S[1, 0]], transform(angles) @ rates, 1e-9)


@both
def test_derivative_of_the_transform(functions):
    _, _, transform, transform_dot = functions
    angles, rates = np.random.default_rng(3).uniform(-2, 2, (2, 3))
    expected = difference(lambda t: transform(angles + t * rates))
    assert_same(transform_dot(angles, rates), expected, 1e-9)


def test_determinants_show_the_singularities():
    angles = np.random.default_rng(4).uniform(-3, 3, (6, 3))
    assert_same(np.linalg.det(zyz_transform(angles)), -np.sin(angles[:, 1]))
    assert_same(np.linalg.det(rpy_transform(angles)), np.cos(angles[:, 1]))


def test_rpy_is_that_of_the_robot_file():
    rpy = [0.3, -0.8, 1.9]
    table = {
        "name": "plate",
        "convention": "frames",
        "gravity": [0, 0, 0],
        "tool": {"xyz": [0, 0, 0], "rpy": [str(x) for x in rpy]},
        "link": [{"joint": "prismatic", "axis": [0, 0, 1], "origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]}}],
    }
    R = quietly(lambda: Robot.from_dict(table)).pose([0.2])[:3, :3]
    assert_same(rpy_from_rotation(R), rpy)
    assert_same(rotation_from_rpy(rpy), R)
