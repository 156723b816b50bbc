"""Operational space where the answer is known, at singularities, in batches, and on bad input."""

import random
import warnings

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import (
    AnalysisError,
    Operational,
    OperationalWarning,
    dynamic_manipulability,
    operational,
)
from arms import assert_same, cloud, fraction, point
from golden_messages import golden_error
from spring_arms import sprung

X, Y, Z = [1, 0, 0], [0, 1, 0], [0, 0, 1]
QUIET = pytest.mark.filterwarnings("ignore::armdyn.analysis.OperationalWarning")


def gantry(*wrist):
    """Three slides along x, y, z and a wrist whose three axes meet at the tip: x = q is its own task."""
    rng = random.Random(11)
    axes = [X, Y, Z, *wrist]
    links = [
        {
            "joint": "prismatic" if i < 3 else "revolute",
            "axis": axis,
            "origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]},
            "friction": {"viscous": fraction(rng, 0, 3), "coulomb": fraction(rng, 0, 2)},
            **cloud(rng),
            "motor": {"gear": 30, "inertia": "0.0002", "mass": 1, "position": point(rng), "axis": X},
        }
        for i, axis in enumerate(axes)
    ]
    return Robot.from_dict(
        {"name": "gantry", "convention": "frames", "gravity": [0, 0, "-9.81"], "link": links}
    )


@pytest.mark.parametrize(
    ("wrist", "representation", "order"),
    [((Z, Y, Z), "zyz", [0, 1, 2, 3, 4, 5]), ((Z, Y, X), "rpy", [0, 1, 2, 5, 4, 3])],
    ids=["zyz", "rpy"],
)
def test_arm_whose_joints_are_the_task(wrist, representation, order):
    """x is q up to order, so B_A, C_A and g_A are B, C and g."""
    robot = gantry(*wrist)
    q, qd = np.array([0.3, -0.2, 0.5, 0.7, 0.9, -0.4]), np.array([1.0, 0.5, -2.0, 1.2, -0.7, 0.8])
    found = operational(robot, q, qd, representation=representation)
    assert found.task.rows == (0, 1, 2, 3, 4, 5)
    assert_same(found.x, q[order])
    assert_same(found.xd, qd[order])
    assert_same(found.J_A, np.eye(6)[order])
    assert_same(found.Jdot_A, np.zeros((6, 6)))
    assert_same(found.B_A, robot.inertia(q)[np.ix_(order, order)])
    assert_same(found.C_A, robot.coriolis(q, qd)[np.ix_(order, order)])
    assert_same(found.g_A, robot.gravity(q)[order])
    assert_same(found.friction_A, robot.friction(qd)[order])


def test_two_link_arm_in_closed_form():
    """J_A of the planar arm, and B_A from it."""
    robot = Robot.load("planar")
    found = operational(robot, [0.4, 1.1], [0.5, -0.3])
    s, c = np.sin([0.4, 1.5]), np.cos([0.4, 1.5])
    J = np.array([[-s.sum(), -s[1]], [c.sum(), c[1]]])
    assert found.task.names == ("x", "y")
    assert_same(found.x, [c.sum(), s.sum()])
    assert_same(found.J_A, J)
    assert_same(found.B_A, np.linalg.inv(J).T @ robot.inertia([0.4, 1.1]) @ np.linalg.inv(J))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("planar", "x y"),
        ("planar3", "x y yaw"),
        ("cartesian", "x z"),
        ("scara", "x y z yaw"),
        ("elbow", "x y z"),
        ("puma560", "x y z roll pitch yaw"),
        ("panda", "x y z roll pitch yaw"),
    ],
)
def test_default_rows_are_what_the_arm_can_move(name, names):
    robot = Robot.load(name)
    state = np.linspace(0.3, 0.9, robot.n)
    assert " ".join(operational(robot, state, state).task.names) == names


def test_batches_are_their_samples():
    robot = Robot.load("panda")
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (4, 3, 7)), rng.normal(size=(3, 7))
    wrench, tau0, xdd = rng.normal(size=(4, 1, 6)), rng.normal(size=7), rng.normal(size=(4, 3, 6))
    found = operational(robot, q, qd, wrench=wrench)
    torques = found.torques(xdd, tau0)
    assert torques.shape == (4, 3, 7)
    for i, j in np.ndindex(4, 3):
        one = operational(robot, q[i, j], qd[j], wrench=wrench[i, 0])
        for name in (
            "x",
            "J_A",
            "Jdot_A",
            "B_A",
            "C_A_xd",
            "g_A",
            "h_A",
            "null_space",
            "margin",
            "condition",
        ):
            assert_same(getattr(found, name)[i, j], getattr(one, name), 1e-10)
        assert_same(torques[i, j], one.torques(xdd[i, j], tau0), 1e-10)


# ---- singularities -----------------------------------------------------------------------------------------


def test_stretched_arm_warns_and_says_what_is_damped():
    # Some processors find a singular value of 0 here, others 1e-17.
    said = r"sample \(1,\) is near a singularity of the arm in x, y: .* damped below 0.01, here 1 of 3 states"
    with pytest.warns(OperationalWarning, match=said) as caught:
        found = operational(Robot.load("planar"), [[0, 1], [0.3, 0], [0, 2]], [0, 0])
    assert len(caught) == 1
    assert found.damped.tolist() == [False, True, False]
    assert found.damping[1] == pytest.approx(found.threshold)
    assert found.damping[[0, 2]].tolist() == [0, 0]
    assert found.rank.tolist() == [2, 1, 2]
    assert np.isinf(found.condition[1])
    assert all(np.isfinite(x).all() for x in vars(found).values() if isinstance(x, np.ndarray))


@QUIET
def test_direction_that_is_left_at_a_singularity_stays_exact():
    """The arm stretched along x still moves its tip along y as asked, and along x not at all."""
    robot = Robot.load("planar")
    found = operational(robot, [0, 0], [0, 0])
    tau = found.torques([5.0, 2.0])
    tip = robot.jacobian([0, 0])[:2] @ robot.forward_dynamics([0, 0], [0, 0], tau)
    assert_same(tip, [0, 2])
    assert_same(found.acceleration(tau), [0, 2])


@QUIET
def test_damped_answers_join_the_others_without_a_step():
    robot = Robot.load("planar")
    bend = np.linspace(1e-4, 0.1, 4001)
    found = operational(robot, np.stack([0 * bend + 0.3, bend], -1), [0.4, 0.2])
    assert 0.02 < found.damped.mean() < 0.8
    first = int(np.argmin(found.damped))
    for values in (found.B_A, found.C_A_xd, found.torques([1.0, 1.0]), found.consistent_inverse):
        steps = np.abs(np.diff(values, axis=0)).reshape(4000, -1).max(-1)
        assert steps[first - 1] <= 3 * np.median(steps[max(0, first - 10) : first + 10])
    largest = np.linalg.norm(found.consistent_inverse, axis=(-2, -1))
    assert np.argmax(largest) in range(first - 2, first + 2)


@pytest.mark.parametrize(("representation", "wrist"), [("zyz", (Z, Y, Z)), ("rpy", (Z, Y, X))])
def test_singular_angles_are_named(representation, wrist):
    bend = 0.0 if representation == "zyz" else np.pi / 2
    robot, q = gantry(*wrist), np.array([0.1, 0.2, 0.3, 0.4, bend, 0.5])
    where = "sin theta = 0" if representation == "zyz" else "cos pitch = 0"
    with pytest.warns(OperationalWarning, match=f"{representation} angles \\({where}\\)"):
        found = operational(robot, q, 0 * q, representation=representation)
    assert found.damped
    assert found.angle_margin < 1e-6
    assert np.isfinite(found.B_A).all()
    with golden_error(AnalysisError):
        operational(robot, q, 0 * q, representation=representation, damping=0)
    by_position = operational(robot, q, 0 * q, representation="position")
    assert not by_position.damped


def test_without_damping_a_singular_posture_is_refused_and_a_near_one_exact():
    robot = Robot.load("planar")
    with golden_error(AnalysisError):
        operational(robot, [[0, 1], [0, 2], [0, 0]], [0, 0], damping=0)
    found = operational(robot, [0.3, 1e-3], [0.1, 0.1], damping=0)
    assert not found.damped
    assert_same(
        found.B_A @ found.J_A @ np.linalg.inv(robot.inertia([0.3, 1e-3])) @ found.J_A.T, np.eye(2), 1e-8
    )


def test_regular_states_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(operational(Robot.load("planar"), [0, 1], [0, 0]), Operational)


# ---- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"representation": ["rpy"]}, "representation: found ['rpy']; allowed"),
        ({"rows": (0, np.inf)}, "rows: found (0, inf)"),
        ({"representation": "quaternion"}, "allowed: 'position', 'rpy', 'zyz', 'geometric'"),
        ({"rows": (0, 0)}, "rows: found (0, 0); allowed: some of 0 (x), 1 (y)"),
        ({"rows": (7,)}, "rows: found (7,)"),
        ({"rows": ()}, "rows: found ()"),
        ({"rows": ("x",)}, "rows: found ('x',)"),
        ({"rows": 3}, "rows: found 3"),
        ({"rows": (0, 2)}, "cannot move these independently at any posture; it can move: x, y"),
        ({"rows": (0, 1, 5)}, "it can move: x, y"),
        ({"rows": (5,), "representation": "zyz"}, "it can move: x, y"),
        ({"damping": -1}, "damping: found -1"),
        ({"damping": "much"}, "damping: found 'much'"),
        ({"wrench": [1, 2]}, "wrench: expected (..., 6), found (2,)"),
    ],
)
def test_bad_choices_are_named(choices, words):
    with pytest.raises(AnalysisError) as caught:
        operational(Robot.load("planar"), [0, 1], [0, 0], **choices)
    assert words in str(caught.value)


def test_bad_accelerations_and_torques_are_named():
    found = operational(Robot.load("planar3"), [0.1, 0.5, 0.7], [0, 0, 0], rows=(0, 1))
    with golden_error(AnalysisError):
        found.torques([1, 2, 3])
    with golden_error(AnalysisError):
        found.torques([1, 2], [1, 2])
    with golden_error(AnalysisError):
        found.acceleration([1, 2])
    with golden_error(AnalysisError):
        _ = found.C_A


def test_shapes_that_do_not_fit_are_named():
    found = operational(Robot.load("planar"), np.full((3, 2), 0.5), [0, 0])
    five, four = np.zeros((5, 2)), np.zeros((4, 3, 2))
    for call in (
        lambda: found.torques(five),
        lambda: found.torques([1, 2], five),
        lambda: found.torques([1, 2], h_A=five),
        lambda: found.torques(np.zeros((2, 3, 2)), h_A=four),
        lambda: found.torques(four, np.zeros((2, 1, 2))),
        lambda: found.acceleration(five),
        lambda: found.acceleration([1, 2], five),
        lambda: found.acceleration(np.zeros((2, 3, 2)), four),
    ):
        with golden_error(AnalysisError):
            call()
    assert found.torques(four, np.zeros((4, 1, 2)), [1, 2]).shape == (4, 3, 2)


def test_very_unequal_masses_still_have_a_scale():
    """A light slide along x + y that carries a very heavy one along y: J is regular, J B^(-1/2) hardly."""
    links = [
        {"joint": "prismatic", "axis": axis, "mass": mass, "origin": {"xyz": [0, 0, 0], "rpy": [0, 0, 0]}}
        for axis, mass in (([1, 1, 0], 1), (Y, 10**14))
    ]
    links.reverse()
    robot = Robot.from_dict({"name": "slides", "convention": "frames", "gravity": [0, 0, 0], "link": links})
    found = operational(robot, [0, 0], [0, 0], damping=0)
    assert np.isfinite(found.task.scale).all()
    assert np.isfinite(found.B_A).all()


def test_operational_space_and_forward_dynamics_with_springs():
    arm = Robot(sprung(Robot.load("planar").model, 4, struts=2))
    rng = np.random.default_rng(2)
    q, qd, tau = rng.uniform(0.3, 1.0, (3, 4, 2))
    found = operational(arm, q, qd)
    qdd = arm.forward_dynamics(q, qd, tau)
    J, Jd = arm.jacobian(q)[:, :2], arm.jacobian_dot(q, qd)[:, :2]
    expected = (J @ qdd[..., None] + Jd @ qd[..., None])[..., 0]
    assert_same(found.acceleration(tau), expected, 1e-10)
    assert_same(found.torques(expected), tau, 1e-9)
    ellipsoid = dynamic_manipulability(arm, q)
    rest = (arm.jacobian(q)[:, :2] @ arm.forward_dynamics(q, 0 * q, 0 * q)[..., None])[..., 0]
    assert_same(ellipsoid.centre, rest, 1e-10)
