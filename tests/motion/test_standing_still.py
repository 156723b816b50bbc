"""Joints that stand still along lines and circles, and directions of those that move: exact arithmetic."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi

import numpy as np
import pytest

from armdyn import ComputedTorque, Robot, contributions, inverse_kinematics, simulate
from armdyn.analysis.task import tip_freedom
from armdyn.motion import MotionError, Trajectory
from armdyn.motion.inverse_kinematics import tip_task
from arms import assert_same, in_suites, open_chains, slowly
from exact_paths import ExactPath

STAYS = 1e-12
TOLD = 1e-9  # of the fastest joint: what is faster must not be taken for rest
FOLLOWING = [name for name in open_chains() if name != "pendulum"]  # which goes in a circle of its own


@dataclass(frozen=True)
class Case:
    """A motion along a path, and the path."""

    motion: Trajectory
    path: ExactPath


def rubbing(name: str) -> Robot:
    """A bundled robot with dry friction at every joint, and at no motor that turns with several joints."""
    robot = Robot.load(name)
    if name == "tx40":
        robot = robot.with_rotors("none")
    dry, lopsided = ([x.startswith(kind) for x in robot.parameter_names] for kind in ("Fs", "Fa"))
    return robot.with_parameters(np.where(dry, 2.0, np.where(lopsided, 0.0, robot.parameters)))


def directions(robot: Robot, q: np.ndarray, keeps: bool) -> np.ndarray:
    """Orthogonal directions (k, 3) in which the tip can go, without turning if it keeps its orientation."""
    J = robot.jacobian(q)
    joints = np.eye(robot.n)
    if keeps:
        _, sigma, Vt = np.linalg.svd(J[3:])
        joints = Vt[int((sigma > 1e-9).sum()) :]
    U, sigma, _ = np.linalg.svd(J[:3] @ joints.T)
    return np.asarray(U.T[: int((sigma > 1e-6).sum())])


def cases(name: str, count: int) -> Iterator[Case]:
    """Random lines, circles and vertical lines, in turns, as many as asked for."""
    robot, rng = rubbing(name), np.random.default_rng(8)
    keeps = tip_freedom(robot).keeps_orientation
    task, law = tip_task(robot, keeps), {"profile": "quintic", "duration": 1.0, "step": 0.01}
    up = -np.array([float(robot.model.number(x)) for x in robot.model.gravity])
    made = 0
    for _ in range(40 * count):
        q0 = rng.uniform(-1.5, 1.5, robot.n)
        axes, size = directions(robot, q0, keeps), 0.3 * task.length
        way = rng.uniform(-1, 1, len(axes)) @ axes * size
        rise = rng.uniform(-1, 1) * size * up / (np.linalg.norm(up) or 1.0)
        kind = ("line", "circle", "vertical")[made % 3]
        if kind == "vertical" and np.linalg.norm(rise - axes.T @ (axes @ rise)) > 1e-9 * size:
            kind = "line"
        if kind == "circle" and len(axes) < 2:
            kind = "line"
        try:
            if kind == "circle":
                centre, axis = robot.pose(q0)[:3, 3] + way, np.cross(way, axes[0] if made % 2 else axes[1])
                angle = float(rng.uniform(-4, 4))
                motion = Trajectory.circle(robot, q0, centre, axis, angle, check_limits=False, **law)
                path = ExactPath(robot, task, q0, centre=centre, axis=axis, angle=angle)
            else:
                way = way if kind == "line" else rise
                motion = Trajectory.line(robot, q0, displacement=way, check_limits=False, **law)
                path = ExactPath(robot, task, q0, way=way)
        except MotionError:
            continue  # out of reach, or singular on the way
        yield Case(motion, path)
        made += 1
        if made == count:
            return
    raise AssertionError(f"{name}: only {made} paths can be followed")


def looked_at(signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Some inner samples at random, and those between which a sign changes."""
    changes = np.flatnonzero((signs[2:-1] != signs[1:-2]).any(1)) + 1
    return np.unique(np.concatenate([rng.integers(1, len(signs) - 1, 4), changes, changes + 1]))


def check(case: Case, rng: np.random.Generator) -> int:
    """What is to be true of a motion; how many joints stand still."""
    motion, robot = case.motion, case.path.robot
    friction, signs = robot.friction(motion.qd), np.sign(motion.qd)
    still = np.ptp(motion.q, axis=0) <= STAYS
    for x in (motion.qd, motion.qdd, friction):
        assert not x[:, still].any()
    assert (motion.q[:, still] == case.path.q0[still]).all()
    assert not motion.qd[[0, -1]].any()
    u = Trajectory.quintic([0.0], [1.0], 1.0)(motion.t)[0][:, 0]
    for k in looked_at(signs, rng):
        q, slope = case.path.slopes(float(u[k]), motion.q[k])
        true, fastest = np.array([float(x) for x in slope]), max(abs(float(x)) for x in slope)
        assert max(abs(float(x - float(y))) for x, y in zip(q, motion.q[k], strict=True)) < 1e-10
        rests = signs[k] == 0
        assert (np.abs(true[rests]) <= TOLD * fastest).all()
        assert (np.sign(true[~rests]) == signs[k][~rests]).all()
    assert (np.sign(friction) == signs).all()
    return int(still.sum())


@pytest.mark.parametrize("name", in_suites(FOLLOWING, ("rp", "planar", "scara")))
@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_directions_of_joints_and_exact_arithmetic(name: str, count: int) -> None:
    rng = np.random.default_rng(1)
    stood = sum(check(case, rng) for case in cases(name, count))
    if name in (
        "puma560",
        "ur10",
        "scara",
        "stanford",
        "elbow",
        "manutec_r3",
    ):  # their first joint is upright
        assert stood >= count // 3


def vertical_line(robot: Robot) -> Trajectory:
    """Straight down in front of the arm: the shoulder and two joints of the wrist have nothing to do."""
    q0 = [0, pi / 4, -pi, 0, pi / 4, 0]
    return Trajectory.line(robot, q0, displacement=[0, 0, -0.1], profile="quintic", duration=0.5)


def test_a_vertical_line_of_the_puma_and_its_dry_friction() -> None:
    robot = Robot.load("puma560")
    motion = vertical_line(robot)
    at = motion.samples()
    dry = contributions(robot, at.q, at.qd, at.qdd).dry
    still = [0, 3, 5]
    assert not dry[:, still].any()
    assert (np.abs(np.diff(np.sign(at.qd[1:-1][:, [1, 2, 4]]), axis=0)) == 0).all()
    friction = [x.startswith("F") for x in robot.parameter_names]
    smooth = robot.with_parameters(np.where(friction, 0.0, robot.parameters))
    tau, other = (x.inverse_dynamics(at.q, at.qd, at.qdd)[:, still] for x in (robot, smooth))
    assert_same(tau, other, 1e-12)


def test_a_vertical_line_simulated_and_the_torque_of_the_shoulder() -> None:
    robot = Robot.load("puma560")
    motion = vertical_line(robot)
    run = simulate(robot, motion.q[0], motion.qd[0], 0.5, ComputedTorque(robot, motion), method="rk4")
    assert np.abs(run.tau[:, 0]).max() < 5.0  # N m: couplings; Coulomb friction would be 26


@pytest.mark.parametrize("name", ["puma560", *map(slowly, ("panda", "scara", "planar3"))])
def test_inverse_kinematics_and_joints_that_need_not_move(name: str) -> None:
    robot, rng = Robot.load(name), np.random.default_rng(2)
    q0 = rng.uniform(0.2, 1.2, robot.n)
    assert (inverse_kinematics(robot, robot.pose(q0), q0) == q0).all()
    for i in range(robot.n):
        there = q0 + 0.1 * (np.arange(robot.n) == i)
        found = inverse_kinematics(robot, robot.pose(there), q0)
        if name != "panda":  # which has other ways to get there
            assert (np.delete(found, i) == np.delete(q0, i)).all()
            assert_same(found, there, 1e-9)


def test_an_arc_of_a_huge_circle_and_a_line() -> None:
    robot = Robot.load("puma560")
    q0, radius = [0, pi / 4, -pi, 0, pi / 4, 0], 1e8
    centre = robot.pose(q0)[:3, 3] + [radius, 0, 0]
    law = {"profile": "quintic", "duration": 0.5}
    arc = Trajectory.circle(robot, q0, centre, [0, 1, 0], -0.1 / radius, **law)
    line = vertical_line(robot)
    assert_same(arc.q, line.q, 1e-8)
    assert not arc.qd[:, [0, 3, 5]].any()
    assert not arc.qdd[:, [0, 3, 5]].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", [slowly("stanford"), "puma560", slowly("panda")])
def test_what_rounding_does_and_what_it_is_said_to_do(name: str) -> None:
    """At postures from Newton's method: q, and q' without the step that takes rounding for rest."""
    rng = np.random.default_rng(6)
    for case in cases(name, 2):
        task = case.path.task
        for t in rng.uniform(0.1, 0.9, 3):
            place = float(Trajectory.quintic([0.0], [1.0], 1.0)(t)[0][0])
            q = case.motion(t)[0]
            exact, slope = case.path.slopes(place, q)
            assert max(abs(float(x - float(y))) for x, y in zip(exact, q, strict=True)) < 1e-12
            inverse, _ = task.inverse(task.jacobian(q))
            q = q + inverse @ task.error(q[None], case.path.pose(place)[None])[0]
            slopes = np.array([float(x) for x in case.path.rows(place)])
            found = inverse @ task.metres(slopes[:, None])[:, 0]
            true = np.array([float(x) for x in slope])
            off = np.array([abs(float(x - float(y))) for x, y in zip(exact, q, strict=True)])
            assert (off <= task.accuracy(q, inverse) / 2).all()
            assert (np.abs(found - true) <= task.slope_accuracy(q, inverse, true) / 2).all()
