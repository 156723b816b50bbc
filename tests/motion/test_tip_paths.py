"""Lines and circles of the tip: the joints' states against the tip's motion and against their differences."""

from math import acos, pi
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from armdyn import Robot
from armdyn.motion import MotionError, Trajectory
from arms import assert_same, in_suites, quietly, slowly

PLANAR = np.array([-acos(0.1), 2 * acos(0.1)])  # the tip at (0.2, 0), the elbow below
START = {
    "planar": PLANAR,
    "planar3": np.array([0.3, 0.8, 0.6]),
    "elbow": np.array([0.3, 0.8, -1.2]),
    "manutec_r3": np.array([0.3, 0.6, -1.2]),
    "scara": np.array([0.3, 1.6, 0.6, 0.4]),
    "stanford": np.array([0.3, 0.8, 0.6, 0.4, 0.7, 0.2]),
    "puma560": np.array([0.3, 0.8, -2.8, 0.4, 0.7, 0.2]),
    "ur10": np.array([0.3, -1.0, 1.4, 0.2, 1.1, 0.3]),
    "panda": np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.3]),
    "rp": np.array([0.4, 0.7]),
    "pr": np.array([0.4, 0.7]),
    "rmit2r": np.array([0.4, 0.7]),
    "cartesian": np.array([0.4, 0.7]),
}


def way(name: str) -> np.ndarray:
    """A displacement that the arm can make."""
    robot, q = Robot.load(name), START[name]
    J = robot.jacobian(q)[:3]
    wish = np.array([0.12, -0.07, 0.06]) * np.linalg.norm(robot.pose(q)[:3, 3])
    return np.asarray(J @ np.linalg.pinv(J) @ wish)


def assert_fits(robot: Robot, trajectory: Trajectory, h: float = 1e-4, tolerance: float = 1e-8) -> None:
    """q̇ and q̈ are differences of q and q̇, on either side of jumps."""
    knots = np.concatenate([[0.0], trajectory.motion.knots, [trajectory.duration]])
    t = np.random.default_rng(3).uniform(0, trajectory.duration, 200)
    t = t[np.abs(t[:, None] - knots).min(1) > 3 * h]
    around = {k: trajectory(t + k * h) for k in (-2, -1, 1, 2)}
    here = trajectory(t)
    for k in (0, 1):
        rate = (8 * (around[1][k] - around[-1][k]) - (around[2][k] - around[-2][k])) / (12 * h)
        assert_same(rate, here[k + 1], tolerance, np.abs(here[k]).max())
    # and the tip's acceleration is J q̈ + J̇ q̇, which the differences of its position know too
    p = {k: robot.pose(around[k][0])[:, :3, 3] for k in around}
    middle = robot.pose(here[0])[:, :3, 3]
    second = (16 * (p[1] + p[-1]) - (p[2] + p[-2]) - 30 * middle) / (12 * h**2)
    J, Jd = robot.jacobian(here[0])[:, :3], robot.jacobian_dot(here[0], here[1])[:, :3]
    exact = (J @ here[2][..., None] + Jd @ here[1][..., None])[..., 0]
    assert_same(second, exact, 1e-5)


# ---- example 7.2 -------------------------------------------------------------------------------------------


def test_figure_7_9_line_of_the_tip_with_a_trapezoidal_profile() -> None:
    robot = Robot.load("planar")
    trajectory = Trajectory.line(
        robot, PLANAR, displacement=[1.6, 0, 0], acceleration_time=0.15, max_velocity=5
    )
    assert trajectory.duration == pytest.approx(0.47, rel=1e-15)
    assert_same(trajectory.jumps, [0.15, 0.32])
    t, q, qd, qdd = trajectory.t, trajectory.q, trajectory.qd, trajectory.qdd
    a = 5 / 0.15
    s = np.where(t < 0.15, a * t**2 / 2, np.where(t < 0.32, 5 * (t - 0.075), 1.6 - a * (0.47 - t) ** 2 / 2))
    tip = robot.pose(q)[:, :3, 3]
    assert_same(tip, np.column_stack([0.2 + s, 0 * s, 0 * s]), 1e-14)
    J, Jd = robot.jacobian(q)[:, :3], robot.jacobian_dot(q, qd)[:, :3]
    speed = np.minimum(5.0, a * np.minimum(t, 0.47 - t))
    assert_same((J @ qd[..., None])[:, 0, 0], speed, 1e-13)
    acceleration = (J @ qdd[..., None] + Jd @ qd[..., None])[..., 0]
    inside = np.abs(t[:, None] - [0.15, 0.32]).min(1) > 1e-9
    assert_same(acceleration[inside, 0], np.where(t < 0.15, a, np.where(t < 0.32, 0, -a))[inside], 1e-12)
    # the elbow stays below; the arm is an isosceles triangle over the tip's way
    assert_same(q, np.column_stack([-np.arccos(tip[:, 0] / 2), 2 * np.arccos(tip[:, 0] / 2)]), 1e-13)
    assert_fits(robot, trajectory)


# ---- every arm ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", in_suites(START, ("planar", "rp", "scara", "puma560")))
@pytest.mark.parametrize("orientation", ["auto", "free"])
def test_lines_of_every_arm_and_their_differences(name: str, orientation: str) -> None:
    robot, q0, along = Robot.load(name), START[name], way(name)
    trajectory = Trajectory.line(
        robot, q0, displacement=along, orientation=orientation, duration=0.8, acceleration_time=0.2
    )
    assert_fits(robot, trajectory)
    assert_same(trajectory.q[0], q0, 1e-14)
    poses, start = robot.pose(trajectory.q), robot.pose(q0)
    part = (poses[:, :3, 3] - start[:3, 3]) @ along / (along @ along)
    assert_same(poses[:, :3, 3], start[:3, 3] + part[:, None] * along, 1e-12)
    assert_same(part[[0, -1]], [0, 1], 1e-12)
    if orientation == "auto" and robot.n > 3:
        assert_same(poses[:, :3, :3], np.tile(start[:3, :3], (len(poses), 1, 1)), 1e-12)
    assert not trajectory.qd[[0, -1]].any()


@pytest.mark.parametrize("name", ["puma560", slowly("panda"), slowly("ur10")])
def test_lines_with_a_rotation_to_a_pose(name: str) -> None:
    robot, q0 = Robot.load(name), START[name]
    start = robot.pose(q0)
    turn = np.array([0.3, -0.2, 0.25])
    end = start.copy()
    end[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ start[:3, :3]
    for way in ([0.05, 0.06, -0.08], [0.0, 0.0, 0.0]):
        end[:3, 3] = start[:3, 3] + way
        trajectory = Trajectory.line(robot, q0, end, profile="quintic", duration=1.0)
        assert_same(robot.pose(trajectory.q[-1]), end, 1e-12)
        middle = robot.pose(trajectory(0.5)[0])
        assert_same(middle[:3, :3], Rotation.from_rotvec(turn / 2).as_matrix() @ start[:3, :3], 1e-12)
        assert_same(middle[:3, 3], start[:3, 3] + np.array(way) / 2, 1e-12)
        assert_fits(robot, trajectory)
    same = Trajectory.line(
        robot, q0, end[:3, 3], orientation=end[:3, :3], profile="quintic", duration=1.0
    )  # the rotation on its own
    assert_same(same.q, trajectory.q, 1e-12)


@pytest.mark.parametrize("profile", ["cubic", "quintic", "triangular", "trapezoidal", "jerk_limited"])
def test_laws_along_a_line(profile: str) -> None:
    data: dict[str, Any] = {"duration": 0.6}
    if profile == "trapezoidal":
        data = {"max_velocity": 1.0, "max_acceleration": 4.0}
    if profile == "jerk_limited":
        data = {"max_velocity": 1.0, "max_acceleration": 4.0, "max_jerk": 40.0}
    robot = Robot.load("planar")
    trajectory = Trajectory.line(robot, PLANAR, [1.0, 0.5, 0.0], profile=profile, **data)
    assert_fits(robot, trajectory)
    tip = robot.pose(trajectory.q)[:, :3, 3]
    assert_same(tip[-1], [1.0, 0.5, 0.0], 1e-13)
    speed = np.linalg.norm((robot.jacobian(trajectory.q)[:, :3] @ trajectory.qd[..., None])[..., 0], axis=1)
    length = np.linalg.norm(tip[-1] - tip[0])
    peak = {"cubic": 1.5, "quintic": 1.875, "triangular": 2.0}.get(profile, 0.0) * length / 0.6
    assert speed.max() == pytest.approx(peak or 1.0, rel=1e-4)


@pytest.mark.parametrize("name", in_suites(["planar", "elbow", "scara", "puma560", "panda"]))
@pytest.mark.parametrize("angle", [2 * pi, -1.3])
def test_circles_and_their_radius(name: str, angle: float) -> None:
    robot, q0 = Robot.load(name), START[name]
    start = robot.pose(q0)[:3, 3]
    radius = 0.05 * np.linalg.norm(start)
    centre = start + radius * np.array([0.6, 0.8, 0.0])
    trajectory = Trajectory.circle(robot, q0, centre, [0, 0, 2], angle, duration=1.0, profile="quintic")
    assert_fits(robot, trajectory)
    out = robot.pose(trajectory.q)[:, :3, 3] - centre
    assert_same(np.linalg.norm(out, axis=1), np.full(len(out), radius), 1e-12)
    assert_same(out[:, 2], 0 * out[:, 2], 1e-12)
    turned = np.unwrap(np.arctan2(out[:, 1], out[:, 0]))
    assert turned[-1] - turned[0] == pytest.approx(angle)
    if angle == 2 * pi and name != "panda":  # a redundant arm need not come back to its posture
        assert_same(trajectory.q[-1], q0, 1e-10)


def test_a_circle_that_the_tip_turns_with() -> None:
    robot, q0 = Robot.load("puma560"), START["puma560"]
    start = robot.pose(q0)
    trajectory = Trajectory.circle(
        robot,
        q0,
        start[:3, 3] + [0.05, 0, 0],
        [0, 0, 1],
        0.7,
        orientation="follow",
        duration=1,
        profile="cubic",
    )
    end = Rotation.from_rotvec([0, 0, 0.7]).as_matrix() @ start[:3, :3]
    assert_same(robot.pose(trajectory.q[-1])[:3, :3], end, 1e-12)
    assert_fits(robot, trajectory)


def test_no_way_is_rest() -> None:
    robot = Robot.load("planar")
    trajectory = Trajectory.line(
        robot, PLANAR, displacement=[0, 0, 0], acceleration_time=0.15, max_velocity=5
    )
    assert trajectory.duration == 0.3
    assert (trajectory.q == PLANAR).all()
    trajectory = Trajectory.line(robot, PLANAR, robot.pose(PLANAR)[:3, 3], duration=1, profile="cubic")
    assert (trajectory.q == PLANAR).all()


def test_the_least_speed_of_a_redundant_arm() -> None:
    robot, q0 = Robot.load("panda"), START["panda"]
    trajectory = Trajectory.line(robot, q0, displacement=[0.1, 0.1, -0.1], duration=1, profile="quintic")
    J = robot.jacobian(trajectory.q)
    least = np.linalg.pinv(J) @ J @ trajectory.qd[..., None]
    assert_same(trajectory.qd, least[..., 0], 1e-10)


def test_joints_that_do_not_move_the_tip_rest() -> None:
    """A tree: the tip is on the branch of links 1, 2 and 4; link 3 hangs on link 1 too."""
    links = [
        {"name": f"link {i}", "parent": parent, "joint": "revolute", "axis": [0, 0, 1], "mass": 1}
        | {"origin": {"xyz": [1, 0, 0] if i > 1 else [0, 0, 0], "rpy": [0, 0, 0]}}
        for i, parent in ((1, "base"), (2, "link 1"), (3, "link 1"), (4, "link 2"))
    ]
    table = {"name": "tree", "convention": "frames", "gravity": [0, 0, 0], "link": links}
    table |= {"tip": "link 4", "tool": {"xyz": [0.5, 0, 0], "rpy": [0, 0, 0]}}
    robot = quietly(lambda: Robot.from_dict(table))  # geometry alone
    q0 = np.array([0.2, 0.9, 0.4, 0.7])
    for orientation in ("keep", "free"):
        trajectory = Trajectory.line(
            robot, q0, displacement=[-0.4, 0.3, 0], orientation=orientation, duration=1, profile="quintic"
        )
        assert (trajectory.q[:, 2] == 0.4).all()
        assert not np.any([trajectory.qd[:, 2], trajectory.qdd[:, 2]])
        assert_same(robot.pose(trajectory.q[-1])[:3, 3], robot.pose(q0)[:3, 3] + [-0.4, 0.3, 0], 1e-12)
        assert_fits(robot, trajectory)


# ---- what is refused ---------------------------------------------------------------------------------------

LAW = {"acceleration_time": 0.15, "max_velocity": 5.0}


@pytest.mark.parametrize(
    ("name", "q0", "data", "message"),
    [
        # the tip passes (2, 0), the end of its reach, where 1.9 m − s = a (T − t)²/2: after 0.4525 s
        (
            "planar",
            PLANAR,
            {"displacement": [1.9, 0, 0]},
            "line: sample 453, t = 0.453 s: the tip cannot reach (2",
        ),
        (
            "planar",
            PLANAR,
            {"displacement": [1.8, 0, 0]},
            "line: sample 510, t = 0.51 s: the posture is singular",
        ),
        # through the base: the tip is there after 0.2 m, at top speed of 0.4/0.15 m/s and half of the time
        (
            "planar",
            PLANAR,
            {"displacement": [-0.4, 0, 0]},
            "line: sample 150, t = 0.15 s: the posture is singular",
        ),
        (
            "planar",
            [0.3, 0.0],
            {"displacement": [-0.4, 0, 0]},
            "line: sample 0, t = 0 s: the posture is singular",
        ),
        (
            "planar",
            PLANAR,
            {"displacement": [0.4, 0, 0.1]},
            "line: sample 0, t = 0 s: the joints cannot move the tip",
        ),
        (
            "planar",
            PLANAR,
            {"displacement": [0.4, 0, 0], "orientation": "keep"},
            "line: sample 0, t = 0 s: the joints cannot turn and move the tip in the direction",
        ),
        (
            "puma560",
            [0.3, 0.8, -2.0, 0.4, 0.0, 0.2],
            {"displacement": [0.1, 0, 0]},
            "line: sample 0, t = 0 s: the posture is singular: the smallest singular value",
        ),
        ("puma560", START["puma560"], {"displacement": [2, 0, 0]}, "the tip cannot reach ("),
        slowly("panda", START["panda"], {"displacement": [2, 0, 0]}, "the tip cannot reach ("),
        (
            "panda",
            START["panda"],
            {"displacement": [-0.25, 0, -0.3]},
            "joint 4 ('link 4') is at -3.07",
        ),
    ],
)
def test_what_cannot_be_followed_is_named_with_sample_and_instant(
    name: str, q0: Any, data: dict[str, Any], message: str
) -> None:
    with pytest.raises(MotionError) as caught:
        Trajectory.line(Robot.load(name), q0, **data, **LAW)
    assert message in str(caught.value)
    assert "line: sample " in str(caught.value)


def test_positions_beyond_limits_are_named_unless_allowed() -> None:
    robot, q0 = Robot.load("puma560"), np.array([0.3, 0.8, -2.8, 0.4, -1.7, 0.2])
    with pytest.raises(
        MotionError, match=r"sample 0, t = 0 s: joint 5 \('.*'\) is at -1.*, beyond its limits -1.74"
    ):
        Trajectory.line(robot, q0 - [0, 0, 0, 0, 0.1, 0], displacement=[0.1, 0, 0], **LAW)
    trajectory = Trajectory.line(
        robot, q0 - [0, 0, 0, 0, 0.1, 0], displacement=[0.1, 0, 0], **LAW, check_limits=False
    )
    assert trajectory.q[0, 4] < -1.75


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "line: either an end or a displacement is expected"),
        ({"end": [1, 0, 0], "displacement": [1, 0, 0]}, "line: either an end or a displacement"),
        ({"end": [1, 0]}, "end: expected a position (3,) or a pose (4, 4)"),
        ({"displacement": [1, 0]}, "displacement: expected (3,), three coordinates, found (2,)"),
        (
            {"displacement": [1, 0, 0], "orientation": "up"},
            "orientation: found 'up'; allowed: 'auto', 'keep'",
        ),
        (
            {"displacement": [1, 0, 0], "profile": "linear"},
            "profile: found 'linear'; allowed: 'trapezoidal', 'tri",
        ),
        (
            {"displacement": [1, 0, 0], "profile": "cubic"},
            "acceleration_time: a cubic profile does not take it, but duration",
        ),
        ({"displacement": [1, 0, 0], "duration": 1}, "a trapezoidal profile takes two of"),
        (
            {"displacement": [1, 0, 0], "max_velocity": [1, 2]},
            "max_velocity: expected one number, found [1, 2]",
        ),
        ({"displacement": [1, 0, 0], "max_velocity": -1}, "max_velocity: found -1"),
        ({"displacement": [1, 0, 0], "step": -1}, "step: found -1 s"),
    ],
)
def test_impossible_lines_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        Trajectory.line(Robot.load("planar"), PLANAR, **(LAW | data))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"axis": [0, 0, 0]}, "axis: found a zero vector"),
        ({"centre": [0.2, 0, 3]}, "circle: the tip is on the axis, so the radius would be zero"),
        ({"angle": np.inf}, "angle: found inf"),
        ({"orientation": "up"}, "orientation: found 'up'; allowed: 'auto', 'keep', 'follow', 'free'"),
        ({"orientation": np.eye(3)}, "orientation: found"),
        (
            {"profile": "jerk_limited", "acceleration_time": None},
            "a jerk_limited profile needs max_acceleration",
        ),
    ],
)
def test_impossible_circles_are_refused(data: dict[str, Any], message: str) -> None:
    given = {"centre": [0.5, 0, 0], "axis": [0, 0, 1], "angle": 1.0} | LAW | data
    with pytest.raises(MotionError) as caught:
        Trajectory.circle(Robot.load("planar"), PLANAR, **given)
    assert message in str(caught.value)
