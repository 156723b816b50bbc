"""The solids of an arm move with it: in any posture they are where its skeleton is."""

from itertools import pairwise

import numpy as np
import pytest

import armdyn
from armdyn import Robot, bundled_robots
from armdyn.description.source import bundled_table
from armdyn.drawing.skeleton import skeleton
from armdyn.drawing.solids import ball, box, cone, cylinder, solids
from armdyn.model.mechanism import FIXED_BASE
from arms import generators, in_suites, law, quietly, robots, state
from branched_arms import dual_arm
from closed_chains import closed_states, random_loop
from elastic_arms import elastic_robots
from spring_arms import sprung


@pytest.fixture(autouse=True)
def _evaluated():
    with armdyn.backend("evaluator"):  # a few postures of many robots: not worth compiling
        yield


def distance_to_line(points, line):
    """(N,): from points (N, 3) to a line of several pieces."""
    found = np.full(len(points), np.inf)
    for a, b in pairwise(line):
        along = b - a
        part = np.clip((points - a) @ along / (along @ along), 0.0, 1.0)
        found = np.minimum(found, np.linalg.norm(points - a - part[:, None] * along, axis=1))
    return found


def assert_where_the_skeleton_is(robot, q):
    arm = solids(robot)
    poses = robot.poses(q)
    drawn = skeleton(robot, q, sliding=True)
    placed = [(s, s.vertices @ poses[s.body, :3, :3].T + poses[s.body, :3, 3]) for s in arm.solids]
    close = 1e-8 * max(1.0, arm.size, drawn.size)

    def of(kind):
        return [(solid, vertices) for solid, vertices in placed if solid.kind == kind]

    for solid, vertices in of("link"):
        lines = drawn.lines[solid.body]
        far = np.min([distance_to_line(vertices, line) for line in lines], axis=0)
        assert far.max() < 0.015 * arm.size
        for point in np.vstack(lines):
            assert np.linalg.norm(vertices - point, axis=1).min() < 0.015 * arm.size
    boxes = [x for x in of("joint") if len(x[0].vertices) == 8]
    rails = [x for x in of("joint") if len(x[0].vertices) == 42]
    tubes = [x for x in of("joint") if len(x[0].vertices) not in (8, 42)]
    sliding = [(i, joint) for i, joint in enumerate(drawn.joints) if not joint.revolute]
    turning = [(i, joint) for i, joint in enumerate(drawn.joints) if joint.revolute]
    assert (len(boxes), len(rails), len(tubes)) == (len(sliding), len(sliding), len(turning))
    for (i, joint), (solid, vertices) in zip(turning, tubes, strict=True):
        assert solid.body == i
        assert np.abs(vertices.mean(0) - joint.point).max() < close
        assert np.abs((vertices[-1] - vertices[-2]) @ joint.axis) > 0.04 * arm.size  # its ends
    for (i, joint), (solid, vertices), (rail, along) in zip(sliding, boxes, rails, strict=True):
        assert (solid.body, rail.body) == (i, robot.mechanism.bodies[i].parent)
        assert np.abs(vertices.mean(0) - joint.slider).max() < close
        off = along - joint.point
        off -= np.outer(off @ joint.axis, joint.axis)
        assert np.linalg.norm(off, axis=1).max() < 0.01 * arm.size
    assert len(of("motor")) == len(drawn.motors)
    for motor, (_, vertices) in zip(drawn.motors, of("motor"), strict=True):
        assert np.abs(vertices.mean(0) - motor.point).max() < close
    for place, (solid, vertices) in zip(drawn.closings, of("closing"), strict=True):
        assert solid.body == place.tied[0]
        assert np.abs(vertices.mean(0) - place.point).max() < close
    for strut, ends in zip(arm.struts, drawn.springs, strict=True):
        for body, point, end in zip(strut.tied, strut.points, ends, strict=True):
            assert np.abs(poses[body, :3, :3] @ point + poses[body, :3, 3] - end).max() < close


def assert_poses_are_those_of_links(robot, q):
    poses = robot.poses(q)
    assert poses.shape == (*np.shape(q)[:-1], len(robot.joints) + 1, 4, 4)
    for i, link in enumerate(robot.model.moving):
        assert np.allclose(poses[..., i, :, :], robot.pose(q, link.name), atol=1e-10)
    assert np.allclose(poses[..., FIXED_BASE, :3, 3], np.array(robot.mechanism.p_base, float))


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_solids_are_where_the_skeleton_is(name):
    robot = Robot.load(name)
    q = state(robot, np.random.default_rng(5))[0]
    assert_where_the_skeleton_is(robot, q)
    assert_poses_are_those_of_links(robot, q)


@law(robots((1, 4)), generators(), examples=1)
def test_solids_of_random_arms_are_where_the_skeleton_is(robot, rng):
    q = state(robot, rng)[0]
    assert_where_the_skeleton_is(robot, q)
    assert_poses_are_those_of_links(robot, q)


@law(robots((2, 4)), generators(), examples=2)
def test_springs_between_points_are_where_the_skeleton_has_them(robot, rng):
    robot = Robot(sprung(robot.model, int(rng.integers(1000))))
    assert solids(robot).struts
    assert_where_the_skeleton_is(robot, state(robot, rng)[0])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_solids_of_random_closed_chains_are_where_the_skeleton_is(seed):
    robot = random_loop(seed)
    q = closed_states(robot, np.random.default_rng(seed), 3)[0]
    assert_where_the_skeleton_is(robot, q[0])
    assert_poses_are_those_of_links(robot, q)


def test_a_rail_reaches_the_postures_given_and_the_limits_of_its_joint():
    table = bundled_table("rp")
    robot = Robot.from_dict(table)
    slides = next(i for i, link in enumerate(robot.model.moving) if link.joint == "prismatic")
    along = np.array([[0.3, 2.5], [0.1, -1.5]])
    rail = rail_of(solids(robot, along))
    for q in along:
        R, p = np.split(robot.poses(q)[rail.body, :3], [3], axis=1)
        joint = skeleton(robot, q).joints[slides]
        ends = (rail.vertices @ R.T + p.T - joint.point) @ joint.axis
        assert ends.min() < (joint.slider - joint.point) @ joint.axis < ends.max()
    table["link"][slides]["limits"] = {"position": [0, 0.9]}
    short = rail_of(solids(Robot.from_dict(table))).vertices
    assert 0.9 < np.linalg.norm(short[-1] - short[-2]) < 1.3


def rail_of(arm):
    return next(solid for solid in arm.solids if solid.kind == "joint" and len(solid.vertices) == 42)


def test_names_are_on_one_line():
    table = bundled_table("planar")
    table["link"][0]["name"] = "new\nline"
    names = {solid.name for solid in solids(quietly(lambda: Robot.from_dict(table))).solids}
    assert names
    assert not any("\n" in name for name in names)


@law(elastic_robots((1, 3)), generators(), examples=2)
def test_motors_of_elastic_joints_are_no_bodies(robot, rng):
    q = state(robot, rng)[0]
    assert len(robot.poses(q)) == len(robot.joints) + 1
    assert_where_the_skeleton_is(robot, q)


def test_solids_of_a_tree():
    robot = dual_arm()
    assert_where_the_skeleton_is(robot, state(robot, np.random.default_rng(5))[0])


def test_many_postures_at_once_are_each_alone():
    robot = Robot.load("four_bar")
    q = state(robot, np.random.default_rng(5), (2, 3))[0]
    found = robot.poses(q)
    assert found.shape[:2] == (2, 3)
    assert np.allclose(found[1, 2], robot.poses(q[1, 2]), atol=1e-12)


@pytest.mark.parametrize(
    "mesh",
    [
        box(np.ones(3), np.array([0.6, 0.8, 0.0]), 2.0, 1.0),
        ball(np.ones(3), 0.5),
        cylinder(np.ones(3), np.array([0.0, 0.6, 0.8]), 1.0, 2.0),
        cone(np.zeros(3), np.ones(3), 1.0, 0.5),
    ],
)
def test_shapes_are_closed_and_turned_outwards(mesh):
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert np.allclose(np.cross(b - a, c - a).sum(0), 0, atol=1e-12)
    assert np.einsum("fi,fi->f", np.cross(b - a, c - a), (a + b + c) / 3 - mesh.vertices.mean(0)).min() > 0
