"""Inverse kinematics and the pose: closed forms with all their solutions, and the damped method."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import armdyn
from armdyn import Robot
from armdyn.analysis.task import tip_freedom
from armdyn.motion import MotionError, inverse_kinematics
from armdyn.motion.inverse_kinematics import closed_form_solutions, damped, tip_task
from arms import WITHOUT_LOOPS, assert_same, bundled, in_suites, quietly, slowly
from golden_messages import golden_error

ROBOTS = [name for name in WITHOUT_LOOPS if not bundled(name).model.elastic]  # elastic ones are refused
SOME = in_suites(ROBOTS, ("rp", "planar3", "scara", "puma560", "ur10", "palletizer", "so101"))

# How many postures meet a pose, and how many a position, in general; None: no closed form, or too many.
SOLUTIONS: dict[str, tuple[set[int] | None, set[int] | None]] = {
    "pendulum": ({1}, {1}),
    "cartesian": ({1}, {1}),
    "cartesian45": ({1}, {1}),
    "planar": ({1}, {2}),
    "planar3": ({2}, None),
    "pr": ({1}, {2}),
    "pr_vertical": ({1}, {2}),
    "rp": ({1}, {2}),
    "rmit2r": ({1}, {2}),
    "scara": ({2}, None),
    "parallelogram": (None, None),
    "palletizer": (None, None),
    "elbow": ({1}, {4}),
    "manutec_r3": ({1}, {4}),
    "stanford": ({8}, None),
    "puma560": ({8}, None),
    "ur10": ({2, 4, 6, 8}, None),
    "panda": (None, None),
    "ur5e": ({2, 4, 6, 8}, None),
    "irb120": ({8}, None),
    "tx40": ({8}, None),
    "so101": ({1, 2}, None),  # five joints move its tip
    "fr3": (None, None),
    "gen3": (None, None),
    "xarm7": (None, None),
    "lwr4": (None, None),
}


@pytest.fixture
def evaluator() -> Iterator[None]:
    """For arms that are used once."""
    with armdyn.backend("evaluator"):
        yield


def postures(robot: Robot, count: int, seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.5, 2.5, (count, robot.n))


def angle_gap(robot: Robot, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The largest difference of joints that move the tip, up to full turns."""
    gap = (a - b) * tip_freedom(robot).active
    turns = [link.joint == "revolute" for link in robot.model.moving]
    return np.abs(np.where(turns, (gap + np.pi) % (2 * np.pi) - np.pi, gap)).max(-1)


def assert_all_found(robot: Robot, q: np.ndarray, orientation: bool, counts: set[int]) -> None:
    """The solutions at the tip's pose all meet it, differ, number as expected, and one is q itself."""
    pose = robot.pose(q)
    found = closed_form_solutions(robot, pose, orientation)
    assert found is not None
    assert len(found) in counts
    reached = robot.pose(found)
    scale = tip_task(robot, orientation).length
    assert_same(reached[:, :3, 3], np.tile(pose[:3, 3], (len(found), 1)), 1e-12, scale)
    if orientation:
        assert_same(reached, np.tile(pose, (len(found), 1, 1)), 1e-12, scale)
    assert angle_gap(robot, found, q).min() < 1e-7
    for i, one in enumerate(found):
        assert (angle_gap(robot, found[i + 1 :], one) > 1e-6).all()


# ---- closed forms ------------------------------------------------------------------------------------------


def test_every_bundled_robot_is_in_the_table() -> None:
    assert set(ROBOTS) == set(SOLUTIONS)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("orientation", [True, False])
def test_closed_forms_of_the_bundled_robots_and_their_poses(name: str, orientation: bool) -> None:
    robot, counts = Robot.load(name), SOLUTIONS[name][0 if orientation else 1]
    for q in postures(robot, 12):
        if counts is None:
            assert closed_form_solutions(robot, robot.pose(q), orientation) is None
        else:
            assert_all_found(robot, q, orientation, counts)


def frames(rng: np.random.Generator, joints: str, wrist: int = 0) -> Robot:
    """An arm of joints R and P anywhere, followed by revolute ones through one point."""
    links = []
    for i, joint in enumerate(joints + "R" * wrist):
        place = rng.uniform(-0.5, 0.5, 3) if i <= len(joints) else np.zeros(3)
        links.append(
            {
                "name": f"link {i + 1}",
                "joint": "revolute" if joint == "R" else "prismatic",
                "origin": {"xyz": place.tolist(), "rpy": rng.uniform(-1.5, 1.5, 3).tolist()},
                "axis": [0, 0, 1],
                "mass": 1,
            }
        )
    tool = {"xyz": rng.uniform(-0.5, 0.5, 3).tolist(), "rpy": rng.uniform(-1, 1, 3).tolist()}
    table = {"name": "arm", "convention": "frames", "gravity": [0, 0, 0], "tool": tool, "link": links}
    return quietly(lambda: Robot.from_dict(table))  # geometry alone


@pytest.mark.usefixtures("evaluator")
@pytest.mark.parametrize("seed", [0, *map(slowly, range(1, 4))])
@pytest.mark.parametrize("joints", ["RR", "RP", "PR", "PP", "RRR", "RRP"])
def test_closed_forms_of_random_arms_at_a_position(joints: str, seed: int) -> None:
    robot = frames(np.random.default_rng(seed), joints)
    for q in postures(robot, 3, seed):
        counts = {1, 2} if len(joints) == 2 else {2, 4}
        assert_all_found(robot, q, False, counts)


@pytest.mark.usefixtures("evaluator")
@pytest.mark.parametrize("seed", [0, slowly(1)])
@pytest.mark.parametrize(("joints", "wrist"), [("RRR", 3), ("RRP", 3), ("RRR", 2), ("RRR", 1), ("RR", 2)])
def test_closed_forms_of_random_arms_with_a_wrist(joints: str, wrist: int, seed: int) -> None:
    robot = frames(np.random.default_rng(seed), joints, wrist)
    for q in postures(robot, 2, seed):
        assert_all_found(robot, q, True, set(range(1, 9)))


@pytest.mark.usefixtures("evaluator")
def test_arms_without_a_closed_form_say_so() -> None:
    rng = np.random.default_rng(0)
    for joints in ("RRRRRR", "PRR", "RRRRR"):
        robot = frames(rng, joints)
        assert closed_form_solutions(robot, robot.pose(postures(robot, 1)[0]), len(joints) > 3) is None


def test_out_of_reach_has_no_solutions() -> None:
    for name in ("planar", "elbow", "puma560", "ur10", "scara"):
        robot = Robot.load(name)
        pose = robot.pose(postures(robot, 1)[0])
        pose[:3, 3] *= 50
        found = closed_form_solutions(robot, pose, name not in ("planar", "elbow"))
        assert found is not None
        assert found.shape == (0, robot.n)


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("planar", [0.3, 0.0]),  # stretched
        ("elbow", [0.3, 0.4, 0.0]),
        ("puma560", [0.3, 0.8, -2.0, 0.4, 0.0, 0.2]),  # two axes of the wrist in line
        ("ur10", [0.3, -1.0, 1.4, 0.2, 0.0, 0.3]),
        ("scara", [0.3, 0.0, 0.2, 0.4]),
    ],
)
def test_singular_targets_still_have_a_solution(name: str, q: list[float]) -> None:
    robot = Robot.load(name)
    pose = robot.pose(q)
    found = inverse_kinematics(robot, pose, q, orientation=robot.n > 3)
    reached = robot.pose(found)
    assert_same(reached[:3, 3], pose[:3, 3], 1e-9)
    if robot.n > 3:
        assert_same(reached, pose, 1e-9)


# ---- the damped method -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("orientation", [True, False])
def test_the_damped_method_and_poses_near_its_start(name: str, orientation: bool) -> None:
    robot = Robot.load(name)
    task = tip_task(robot, orientation)
    rng = np.random.default_rng(2)
    for q in postures(robot, 20, 3):
        pose = robot.pose(q)
        found, missing = damped(task, pose, q + rng.uniform(-0.3, 0.3, robot.n))
        assert missing < 1e-12 * task.length
        assert_same(robot.pose(found)[:3, 3], pose[:3, 3], 1e-12, task.length)
        if orientation:
            assert_same(robot.pose(found), pose, 1e-12, task.length)


@pytest.mark.parametrize("name", SOME)
def test_inverse_kinematics_and_the_pose_from_far_away(name: str) -> None:
    robot = Robot.load(name)
    for q, start in zip(postures(robot, 6, 1), postures(robot, 6, 2), strict=True):
        pose = robot.pose(q)
        found = inverse_kinematics(robot, pose, start)
        assert_same(robot.pose(found), pose, 1e-11)
        turns = [link.joint == "revolute" for link in robot.model.coordinates]
        assert (np.abs(found - start)[turns] <= np.pi + 1e-9).all()
        found = inverse_kinematics(robot, pose[:3, 3], start)
        assert_same(robot.pose(found)[:3, 3], pose[:3, 3], 1e-11)
        assert_same(inverse_kinematics(robot, pose, start, orientation=False), found, 0.0)


def test_the_solution_nearest_to_the_given_posture_is_taken() -> None:
    robot = Robot.load("puma560")
    for q in postures(robot, 5):
        pose = robot.pose(q)
        solutions = closed_form_solutions(robot, pose)
        assert solutions is not None
        for one in solutions:
            shifted = one + 2 * np.pi * np.array([1, 0, -1, 0, 2, 0]) + 0.01
            assert_same(inverse_kinematics(robot, pose, shifted), shifted - 0.01, 1e-11)


def test_a_redundant_arm_stays_near_its_posture() -> None:
    robot = Robot.load("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.3])
    pose = robot.pose(q)
    pose[:3, 3] += [0.01, -0.01, 0.005]
    found = inverse_kinematics(robot, pose, q)
    assert_same(robot.pose(found), pose, 1e-12)
    assert np.abs(found - q).max() < 0.1


@pytest.mark.slow
def test_which_arms_can_keep_the_orientation_of_their_tip() -> None:
    able = {name for name in ROBOTS if tip_freedom(Robot.load(name)).keeps_orientation}
    assert able == {
        *("cartesian", "cartesian45", "planar3", "scara", "stanford", "puma560", "ur10", "panda"),
        *("ur5e", "irb120", "tx40", "fr3", "gen3", "xarm7", "lwr4", "palletizer"),
    }


def test_ranks_of_tasks() -> None:
    ranks = {"planar": (2, 2), "planar3": (2, 3), "elbow": (3, 3), "scara": (3, 4), "panda": (3, 6)}
    for name, (position, pose) in ranks.items():
        robot = Robot.load(name)
        assert (tip_task(robot, False).rank, tip_task(robot, True).rank) == (position, pose)


# ---- what is refused ---------------------------------------------------------------------------------------


def test_unreachable_targets_are_refused_with_what_is_missing() -> None:
    planar, puma = Robot.load("planar"), Robot.load("puma560")
    with golden_error(MotionError):
        inverse_kinematics(planar, [3, 0, 0], [0.1, 0.2])
    with pytest.raises(MotionError, match=r"cannot reach \(1, 0, 0.5\) m: .* misses it by 0.5 m"):
        inverse_kinematics(planar, [1, 0, 0.5], [0.1, 0.2])
    far = np.eye(4)
    far[0, 3] = 2.0
    with golden_error(MotionError):
        inverse_kinematics(puma, far, np.zeros(6))
    turned = np.eye(4)
    turned[:3, :3] = Rotation.from_euler("x", 1.0).as_matrix()
    turned[:3, 3] = [1.0, 0.5, 0.0]
    with pytest.raises(MotionError, match=r"cannot reach \(1, 0.5, 0\) m"):
        inverse_kinematics(planar, turned, [0.1, 0.2])
    assert_same(
        planar.pose(inverse_kinematics(planar, turned, [0.1, 0.2], orientation=False))[:2, 3], [1, 0.5]
    )


@pytest.mark.parametrize(
    ("target", "q0", "message"),
    [
        ([1, 2], [0, 0], "target: expected a position (3,) or a pose (4, 4), found"),
        (2 * np.eye(4), [0, 0], "target: expected a pose (4, 4), its last row 0, 0, 0, 1"),
        (np.diag([2, 1, 1, 1]), [0, 0], "target[:3, :3]: expected a rotation matrix (3, 3), found"),
        (np.diag([1, 1, -1, 1]), [0, 0], "target[:3, :3]: expected a rotation matrix (3, 3), found"),
        ([1, np.nan, 0], [0, 0], "target: expected finite numbers"),
        ([1, 0, 0], [0, 0, 0], "q0: expected (2,), one number per joint, found (3,)"),
    ],
)
def test_wrong_targets_are_refused(target: Any, q0: Any, message: str) -> None:
    with pytest.raises(MotionError) as caught:
        inverse_kinematics(Robot.load("planar"), target, q0)
    assert message in str(caught.value)


def test_a_position_has_no_orientation() -> None:
    with golden_error(MotionError):
        inverse_kinematics(Robot.load("planar"), [1, 0, 0], [0, 1], orientation=True)
