"""Ellipsoids at singular postures, in batches, and on bad input."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import (
    AnalysisError,
    dynamic_manipulability,
    force_ellipsoid,
    manipulability,
    velocity_ellipsoid,
)
from arms import assert_same, quietly
from golden_messages import golden_error


@pytest.mark.parametrize("kind", ["minimum_norm", "reachable"])
def test_stretched_arm_cannot_accelerate_along_itself(kind):
    robot = Robot.load("planar")
    found = dynamic_manipulability(robot, [0, 0], kind=kind)
    assert found.lengths[1] == 0
    assert_same(np.abs(found.axes), [[0, 1], [1, 0]])
    near = dynamic_manipulability(robot, [0, 1e-6], kind=kind)
    assert_same(near.lengths[1], 0, 1e-5)
    J, B = robot.jacobian([0, 0])[1], robot.inertia([0, 0])
    if kind == "reachable":
        assert_same(found.lengths[0], np.linalg.norm(np.linalg.solve(B, J)))
        assert_same(near.lengths[0], found.lengths[0], 1e-5)
    else:
        assert_same(found.lengths[0], 1 / np.linalg.norm(B @ J / (J @ J)))


@pytest.mark.parametrize("kind", ["minimum_norm", "reachable"])
@pytest.mark.parametrize("q", [[0.7, 0], [-2.1, 0], [0.7, np.pi], [1.3, -np.pi]])
def test_singular_but_for_rounding_is_singular(kind, q):
    assert dynamic_manipulability(Robot.load("planar"), q, kind=kind).lengths[1] == 0
    assert manipulability(Robot.load("planar"), q) == 0


def test_stretched_arm_bears_forces_along_itself():
    robot = Robot.load("planar")
    found = force_ellipsoid(robot, [0, 0])
    assert np.isinf(found.lengths[0])
    assert_same(np.abs(found.axes[:, 0]), [1, 0])
    with golden_error(AnalysisError):
        found.boundary(10)
    with golden_error(AnalysisError):
        force_ellipsoid(robot, [[0, 1], [0, 0]]).boundary(10)
    assert manipulability(robot, [0, 0]) == 0
    assert velocity_ellipsoid(robot, [0, 0]).lengths[1] == 0


def test_arm_with_fewer_joints_than_directions_has_a_flat_ellipsoid():
    """A pendulum's tip moves across itself only."""
    robot = Robot.load("pendulum")
    for kind in ("minimum_norm", "reachable"):
        found = dynamic_manipulability(robot, [0.4], kind=kind)
        assert found.m == 2
        J = robot.jacobian([0.4])[[int("xyz".index(name)) for name in found.names], 0]
        assert_same(found.lengths, [np.linalg.norm(J) / robot.inertia([0.4])[0, 0], 0])
        assert_same(abs(found.axes[:, 0] @ J), np.linalg.norm(J))


@pytest.mark.parametrize("name", ["planar3", "panda"])
@pytest.mark.parametrize("function", [dynamic_manipulability, velocity_ellipsoid, force_ellipsoid])
def test_batches_are_their_samples(name, function):
    robot = Robot.load(name)
    q = np.random.default_rng(4).uniform(-2, 2, (2, 3, robot.n))
    found = function(robot, q)
    for index in np.ndindex(2, 3):
        one = function(robot, q[index])
        assert_same(found.lengths[index], one.lengths, 1e-10)
        assert_same(found.boundary(7)[index], one.boundary(7), 1e-9)
    assert found.boundary(7).shape == (2, 3, 7, found.m)
    assert found.joints(found.boundary(7)).shape == (2, 3, 7, robot.n)
    assert (np.diff(found.lengths, axis=-1) <= 0).all()


def test_rows_of_angular_acceleration():
    found = dynamic_manipulability(Robot.load("planar3"), [0.1, 0.2, 0.3], rows=(0, 1, 5))
    assert found.names == ("x", "y", "wz")
    assert found.lengths.shape == (3,)


def test_one_row_has_two_surface_points():
    found = dynamic_manipulability(Robot.load("planar"), [0.2, 0.9], rows=(1,))
    for k in (2, 3, 8, 51):
        points = found.boundary(k)
        assert_same(np.abs(points - found.centre), np.full((k, 1), found.lengths[0]))
        assert np.unique(points.round(9)).size == 2


def test_one_direction_is_a_row_of_one():
    q = np.random.default_rng(5).uniform(-2, 2, (3, 2))
    found = dynamic_manipulability(Robot.load("planar"), q)
    assert_same(found.points([0, 1]), found.points([[0, 1]]))
    assert_same(found.points([0, 1]), (found.centre + found.axes[..., 1] * found.lengths[:, 1:])[:, None])
    assert_same(found.joints([3, 1]), found.joints([[3, 1]]))


def test_shapes_that_do_not_fit_are_named():
    found = velocity_ellipsoid(Robot.load("planar"), np.full((3, 2), 0.5))
    with golden_error(AnalysisError):
        found.joints(np.zeros((5, 4, 2)))
    with golden_error(AnalysisError):
        found.points(np.zeros((5, 4, 2)))


def test_arm_with_a_link_without_mass():
    """Velocities and forces need no inertia; accelerations do."""
    place = {"xyz": [1, 0, 0], "rpy": [0, 0, 0]}
    joint = {"joint": "revolute", "axis": [0, 0, 1], "origin": place}
    table = {"name": "bare", "convention": "frames", "gravity": [0, "-9.81", 0], "tool": place}
    links = [{**joint, "mass": 1, "inertia": {"xx": 1, "yy": 1, "zz": 1}}, joint]
    robot = quietly(lambda: Robot.from_dict(table | {"link": links}))
    assert_same(manipulability(robot, [0.3, 0.8]), np.sin(0.8))
    assert_same(force_ellipsoid(robot, [0.3, 0.8]).measure, 1 / np.sin(0.8))
    for kind in ("minimum_norm", "reachable"):
        for rows in (None, (0, 1)):
            with golden_error(AnalysisError):
                dynamic_manipulability(robot, [0.3, 0.8], rows=rows, kind=kind)


def test_ellipse_is_closed():
    points = velocity_ellipsoid(Robot.load("planar"), [0, 1]).boundary(50)
    assert_same(points[0], points[-1])


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"kind": ["reachable"]}, "kind: found ['reachable']; allowed"),
        ({"rows": (np.inf,)}, "rows: found (inf,)"),
        ({"kind": "all"}, "kind: found 'all'; allowed: 'minimum_norm', 'reachable'"),
        ({"rows": (0, 9)}, "rows: found (0, 9)"),
        ({"weights": "velocity_limits"}, "weights: found 'velocity_limits'; allowed: 'torque_limits'"),
        (
            {"weights": [1, 2]},
            "weights: expected a positive number, 3 of them, or 'torque_limits', found [1, 2]",
        ),
        ({"weights": -1}, "found -1"),
        (
            {"weights": "torque_limits"},
            "no torque limit is given for joint 1 ('link 1'), joint 2 ('link 2'), joint 3 ('link 3')",
        ),
    ],
)
def test_bad_choices_are_named(choices, words):
    with pytest.raises(AnalysisError) as caught:
        dynamic_manipulability(Robot.load("planar3"), [0, 0.5, 1], **choices)
    assert words in str(caught.value)


def test_bad_postures_are_named():
    with golden_error(AnalysisError):
        velocity_ellipsoid(Robot.load("planar3"), [0, 1])
    with golden_error(AnalysisError):
        velocity_ellipsoid(Robot.load("planar"), [0, 1]).boundary(1)


def test_torques_without_measure_accelerate_without_end():
    """As long as numbers reach, in proportion to them."""
    robot, q = Robot.load("five_bar"), [2.2, 0.94]
    one = dynamic_manipulability(robot, q).lengths
    assert_same(dynamic_manipulability(robot, q, weights=[1e300] * 2).lengths / 1e300, one, 1e-9)
    assert np.isinf(dynamic_manipulability(robot, q, weights=[1.7e308] * 2).lengths).all()
