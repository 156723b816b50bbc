"""What is drawn of an arm is where the arm is."""

from dataclasses import replace

import numpy as np
import pytest

import armdyn
from armdyn import Robot, bundled_robots
from armdyn.description.source import bundled_table
from armdyn.drawing.skeleton import skeleton
from armdyn.drawing.style import svg
from armdyn.drawing.views import plane_normal, view_of
from armdyn.report import plot_arm
from armdyn.report.subject import default_motion
from arms import assert_same, freed, generators, in_suites, law, robots, state
from branched_arms import dual_arm

PLANAR = {"pendulum", "planar", "planar3", "pr", "pr_vertical", "rp", "rmit2r", "cartesian", "cartesian45"}
PLANAR |= {"elastic_link", "four_bar", "five_bar", "gripper", "parallelogram"}


@pytest.fixture(autouse=True)
def _evaluated():
    with armdyn.backend("evaluator"):  # a few postures of many robots: not worth compiling
        yield


def posture(robot, seed):
    """None in particular; where loops can be closed."""
    if robot.model.loops:
        return state(robot, np.random.default_rng(seed))[0]
    return np.random.default_rng(seed).uniform(0.1, 0.9, robot.n)


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_tip_joints_and_links_hang_together(name):
    robot = Robot.load(name)
    q = posture(robot, 1)
    drawn = skeleton(robot, q)
    pose = robot.pose(q)
    assert np.allclose(drawn.tip, pose[:3, 3])
    assert np.allclose(drawn.tip_axes, pose[:3, :3])
    assert len(drawn.joints) == len(robot.joints)
    ends = [line[k] for body in drawn.lines for line in body for k in (0, -1)]
    known = [np.zeros(3), drawn.tip, *drawn.joined, *(end.point for end in drawn.ends)]
    known += [robot.pose(q, link.name)[:3, 3] for link in robot.model.links]
    for end in ends:
        assert min(np.abs(end - point).max() for point in known) < 1e-9


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_a_joint_moves_its_link_and_the_tip_about_its_drawn_axis(name):
    """The tip where the joint carries it: not from another branch, as the jaw of the SO-101."""
    robot = freed(Robot.load(name))
    q = posture(robot, 2)
    drawn, J = skeleton(robot, q), robot.jacobian(q)
    for i, (joint, link) in enumerate(zip(drawn.joints, robot.model.moving, strict=True)):
        moved = [(robot.jacobian(q, link.name), robot.pose(q, link.name)[:3, 3])]
        moved += [(J, drawn.tip)] if np.abs(J[:, i]).any() else []
        for rows, point in moved:
            by_joint = np.cross(joint.axis, point - joint.point) if joint.revolute else joint.axis
            assert np.allclose(rows[:3, i], by_joint)


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_planar_arms_are_seen_at_right_angles_and_upright(name):
    robot = Robot.load(name)
    drawn = skeleton(robot, posture(robot, 3) if robot.model.loops else np.full(robot.n, 0.5))
    view = view_of(robot, drawn)
    axes = np.array([view.right, view.up, view.towards])
    assert np.allclose(axes @ axes.T, np.eye(3))
    assert np.linalg.det(axes) == pytest.approx(1)
    assert view.planar == (name in PLANAR)
    gravity = np.array([robot.model.number(x) for x in robot.model.gravity])
    if np.abs(view.matrix @ gravity).max() > 1e-9:
        assert view.flat(gravity)[1] < 0  # things fall down on paper
        assert abs(view.flat(gravity)[0]) < 1e-9


def test_a_placed_arm_is_drawn_upright_and_where_it_stands():
    """Gravity is given in base axes, drawings are in the world's."""
    base = {"xyz": [100, 20, -30], "rpy": ["pi/2", 0.3, -1]}
    place = Robot.from_dict(Robot.load("planar").to_dict() | {"base": base}).model.base
    for name in ("planar", "puma560"):
        plain = Robot.load(name)
        robot = Robot(replace(plain.model, base=place))
        R = robot.pose(np.zeros(robot.n), "base")[:3, :3]
        gravity = R @ [plain.model.number(x) for x in plain.model.gravity]
        drawn = skeleton(robot, np.full(robot.n, 0.5))
        view = view_of(robot, drawn)
        assert view.flat(gravity)[1] < 0
        assert abs(view.flat(gravity)[0]) < 1e-9
        assert_same(drawn.base, [100, 20, -30])
        assert_same(drawn.base_axes, R)
        assert drawn.size < 3  # the arm, and not its way to the world's origin
        if name == "puma560":  # a planar arm may be seen from its other side
            placed, free = (default_motion(x).trajectory.samples().q for x in (robot, plain))
            assert_same(placed, free)


def test_joints_that_follow_others_are_drawn_with_their_names():
    """Numbers are those of coordinates, as in the tables and figures of torques."""
    table = Robot.load("planar3").to_dict()
    first, second, _ = (link["name"] for link in table["link"])
    robot = Robot.from_dict(table | {"closure": [{"relation": {second: 1, first: -2}}]})
    assert skeleton(robot, [0.1, 0.2]).labels == ("1", second, "2")
    texts = [text.get_text() for text in plot_arm(robot, [0.1, 0.2]).axes[0].texts]
    assert {"1", second, "2"} <= set(texts)
    assert "3" not in texts


def test_motors_sit_on_their_carriers():
    robot = Robot.load("planar")
    drawn = skeleton(robot, [0.4, 0.7])
    first, second = drawn.motors
    assert np.allclose(first.point, 0)
    assert np.allclose(second.point, robot.pose([0.4, 0.7], "link 1")[:3, 3])
    assert [motor.joint for motor in drawn.motors] == [0, 1]
    assert skeleton(robot.with_rotors("none"), [0.4, 0.7]).motors == ()


@pytest.fixture
def evaluated():
    """Random arms are used once: they are evaluated, not compiled."""
    with armdyn.backend("evaluator"):
        yield


@pytest.mark.usefixtures("evaluated")
@law(robots(), generators(), examples=10)
def test_random_arms_are_drawn_where_they_are(robot, rng):
    q, _, _ = state(robot, rng)
    drawn, J = skeleton(robot, q), robot.jacobian(q)
    assert_same(drawn.tip, robot.pose(q)[:3, 3])
    for i, joint in enumerate(drawn.joints):
        if J[:, i].any():  # a joint on the way to the tip
            by_joint = np.cross(joint.axis, drawn.tip - joint.point) if joint.revolute else joint.axis
            assert_same(J[:3, i], by_joint, 1e-9)
    svg(plot_arm(robot, q))


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_default_motion_keeps_to_the_limits(name):
    robot = Robot.load(name)
    motion = default_motion(robot).trajectory
    q, qd = robot.joint_positions(motion.q), robot.joint_velocities(motion.qd, q=motion.q)
    related = not robot.model.loops
    qdd = (
        robot.joint_velocities(motion.qdd)
        if related
        else robot.assembly.accelerations(motion.q, motion.qd, motion.qdd)
    )
    for i, link in enumerate(robot.model.moving):
        limits = link.limits
        if limits.position is not None:
            low, high = (robot.model.number(x) for x in limits.position)
            assert low <= q[:, i].min()
            assert q[:, i].max() <= high
        if limits.velocity is not None:
            assert np.abs(qd[:, i]).max() <= 0.8001 * robot.model.number(limits.velocity)
        if limits.acceleration is not None:
            assert np.abs(qdd[:, i]).max() <= 0.8001 * robot.model.number(limits.acceleration)


def test_default_motion_of_the_planar_arm_is_that_of_figure_7_5():
    robot = Robot.load("planar")
    motion = default_motion(robot).trajectory
    assert motion.duration == 0.5
    assert np.allclose(robot.pose(motion.q[0])[:3, 3], [0.2, 0, 0])
    assert np.allclose(motion.q[-1] - motion.q[0], np.pi / 2)
    assert robot.pose(motion.q[0], "link 1")[1, 3] < 0  # elbow down
    assert np.abs(motion.qd).max() == pytest.approx(2 * np.pi / 2 / 0.5)


def test_plane_of_an_arm_is_found_only_where_there_is_one():
    assert np.allclose(plane_normal(skeleton(Robot.load("planar"), [0.1, 0.2])), [0, 0, 1])
    assert plane_normal(skeleton(Robot.load("scara"), [0.1, 0.2, 0.1, 0.3])) is None


def test_branches_of_a_tree_are_drawn_to_their_ends():
    """The line of the other arm ends at its gripper, and both are named in the drawing."""
    robot = dual_arm("panda")
    q = np.random.default_rng(4).uniform(0.1, 0.9, robot.n)
    drawn = skeleton(robot, q)
    left = robot.pose(q, "left gripper")[:3, 3]
    assert [(end.link, drawn.joints[end.body].revolute) for end in drawn.ends] == [("left gripper", True)]
    last = [link.name for link in robot.model.moving].index("left link 7")
    assert_same(drawn.lines[last][-1][-1], left)
    assert np.abs(drawn.points - left).max(1).min() < 1e-9
    picture = svg(plot_arm(robot, q))
    assert "left gripper" in picture
    assert "right gripper" in picture
    assert skeleton(Robot.load("panda"), q[:7]).ends == ()


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "delta", "gripper"])
def test_loops_are_drawn_closed(name):
    """Both links of a loop reach what closes it, and only coordinates have numbers."""
    robot = Robot.load(name)
    drawn = skeleton(robot, posture(robot, 5))
    assert len(drawn.closings) == len(robot.model.loops)
    for place in drawn.closings:
        for body in place.tied:
            ends = [line[-1] for line in drawn.lines[body]]
            assert min(np.abs(end - place.point).max() for end in ends) < 1e-9
    assert [x for x in drawn.labels if x] == [str(i + 1) for i in range(robot.n)]
    assert drawn.ends == ()
    picture = svg(plot_arm(robot, posture(robot, 5)))
    assert all(link.name in picture for link in robot.model.moving if robot.model.number(link.inertia.mass))


def test_a_motion_about_where_loops_are_closed():
    """A five-bar without limits: the whole span would open the loop."""
    table = bundled_table("five_bar")
    links = [{key: x for key, x in link.items() if key != "limits"} for link in table["link"]]
    robot = Robot.from_dict({**table, "link": links})
    motion = default_motion(robot).trajectory
    assert np.ptp(motion.q, axis=0).min() > 0.1
    robot.pose(motion.q)  # loops stay closed


def test_springs_between_points_are_drawn_where_they_are_tied():
    table = bundled_table("four_bar")
    spring = {
        "between": ["base", "rocker"],
        "at": [[0.1, 0.2, 0], [0.1, 0, 0]],
        "stiffness": 100,
        "rest": 0.1,
    }
    robot = Robot.from_dict({**table, "spring": [spring]})
    drawn = skeleton(robot, [0.7])
    T = robot.pose([0.7], "rocker")
    assert_same(drawn.springs[0], [[0.1, 0.2, 0], T[:3, :3] @ [0.1, 0, 0] + T[:3, 3]])
    assert len(svg(plot_arm(robot, [0.7]))) > len(svg(plot_arm(Robot.load("four_bar"), [0.7])))


def test_springs_hang_on_lines_of_their_links():
    """Also where a link reaches nowhere else; not twice where it does."""
    link = {"name": "arm", "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, -1, 0]}
    link |= {"mass": 1, "com": [0.3, 0, 0], "inertia": {"yy": 0.1, "zz": 0.1}}
    table = {"convention": "frames", "name": "balanced", "gravity": [0, 0, -9.81], "link": [link]}
    table["spring"] = [{"between": ["base", "arm"], "at": [[0, 0, 0.5], [0.4, 0, 0]], "stiffness": 100}]
    alone = skeleton(Robot.from_dict(table), [0.3])
    assert len(alone.lines[0]) == 1
    assert np.allclose(alone.lines[0][0][-1], alone.springs[0][1])
    reaching = skeleton(Robot.from_dict(table | {"tool": {"xyz": [0.6, 0, 0]}}), [0.3])
    assert len(reaching.lines[0]) == 1
    assert np.allclose(np.linalg.norm(reaching.lines[0][0][-1]), 0.6)
