"""Loads of chosen drives: columns of the regressor, motor_loads of the robot file with these motors."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, motor_loads
from armdyn.studies.catalogue import Pair, load_catalogue
from armdyn.studies.drive_limits import PairTable, TorqueBounds, points
from armdyn.studies.drive_loads import DriveLoads, DriveNumbers, Reference
from arms import assert_same, bundled, generators, law, quietly, robots, slowly


def random_catalogue(rng, motors=4, gears=3, efficiency=1.0):
    """A table of motors and gears of any numbers, none of which limits anything."""
    return {
        "motor": [
            {
                "name": f"M{i}",
                "mass": rng.uniform(0.3, 5),
                "inertia": 10 ** rng.uniform(-5, -2.5),
                "transverse_inertia": 10 ** rng.uniform(-5, -2.5),
                "continuous_torque": 1e4,
                "peak_torque": 1e5,
                "max_speed": 1e5,
                "torque_constant": rng.uniform(0.1, 1),
                "resistance": rng.uniform(0.1, 5),
                "viscous": 10 ** rng.uniform(-5, -3),
                "coulomb": 10 ** rng.uniform(-3, -1),
            }
            for i in range(motors)
        ],
        "gear": [
            {
                "name": f"G{i}",
                "ratio": rng.uniform(5, 120),
                "mass": rng.uniform(0.1, 3),
                "inertia": 10 ** rng.uniform(-6, -4),
                "peak_torque": 1e6,
                "efficiency": efficiency,
                "back_efficiency": efficiency,
            }
            for i in range(gears)
        ],
    }


def motion_of(robot, rng, duration=1.0):
    """A motion with a load for a part of it, from where loops can be closed."""
    q0 = rng.uniform(-1, 1, robot.n)
    if (choice := robot.model.choice) is not None:
        q0 = np.array(choice.posture)[list(choice.free)]
    q1 = q0 + rng.uniform(-0.5, 0.5, robot.n)
    there = Trajectory.quintic(q0, q1, duration=duration)
    return there.carrying(2.0, [0.05, -0.1, 0.2]) + Trajectory.trapezoidal(
        q1, q0, duration=duration, acceleration_time=duration / 4
    )


def stages_of(robot):
    """The gear's output for a metre of the joints that slide."""
    return {link.name: 30.0 for link in robot.drives.links if link.joint == "prismatic"}


def loads_both_ways(robot, rng, motion, wrench=None):
    """Motor torques (R, k) by columns, and those of the robot with the motors written in."""
    reference = Reference.of(robot, None, stages_of(robot))
    loads = DriveLoads(reference, [motion], np.ones(1), points=60, wrench=wrench)
    catalogue = load_catalogue(random_catalogue(rng))
    pairs = [catalogue.pairs[i] for i in rng.integers(len(catalogue.pairs), size=loads.k)]
    table = PairTable(pairs)
    found = []
    for i in range(loads.k):
        y = loads.base[i] + sum(loads.by_drive(i, j, table.phi[j]) for j in range(loads.k) if j != i)
        found.append(points(loads, i, TorqueBounds(y, y), table, np.array([i])).motor[0][0])
    text = reference.with_drives([DriveNumbers.of(pair) for pair in pairs]).to_toml()
    chosen = quietly(lambda: Robot.from_toml(text))
    written = motor_loads(chosen, motion.with_step(motion.duration / 60), wrench=wrench)
    return np.array(found).T, written.torque[:, list(reference.places)]


@law(robots((1, 4), plates=True), generators())
def test_columns_are_the_loads_of_the_robot_file_on_random_arms(robot, rng):
    found, expected = loads_both_ways(robot, rng, motion_of(robot, rng))
    assert_same(found, expected, 1e-10)


@law(robots((2, 3), rotors=("reflected",)), generators(), examples=3)
def test_columns_are_the_loads_with_reflected_rotors(robot, rng):
    found, expected = loads_both_ways(robot, rng, motion_of(robot, rng))
    assert_same(found, expected, 1e-10)


@pytest.mark.parametrize("name", ["puma560", slowly("tx40"), slowly("fr3"), slowly("palletizer"), "four_bar"])
def test_columns_are_the_loads_of_bundled_robots(name):
    robot, rng = bundled(name), np.random.default_rng(1)
    if len(robot.drives) != robot.n or robot.drives.passive:
        pytest.skip("not one motor for each coordinate")
    wrench = np.array([3.0, -5.0, 10.0, 0.5, 0.2, -0.4])
    found, expected = loads_both_ways(robot, rng, motion_of(robot, rng), wrench)
    assert_same(found, expected, 1e-10)


def test_columns_with_load_friction_and_a_width():
    robot = bundled("manutec_r3")
    robot = robot.with_friction(
        {robot.joints[1]: {"load": 0.1, "coulomb": 3.0}, robot.joints[2]: {"coulomb": 4.0, "width": 0.3}}
    )
    rng = np.random.default_rng(3)
    found, expected = loads_both_ways(robot, rng, motion_of(robot, rng))
    assert_same(found, expected, 1e-10)


def one_joint():
    return Robot.from_dict(
        {
            "name": "one joint",
            "convention": "dh",
            "gravity": [0, "-9.81", 0],
            "link": [
                {
                    "name": "arm",
                    "joint": "revolute",
                    "a": 1,
                    "alpha": 0,
                    "d": 0,
                    "mass": 8,
                    "com": [-0.5, 0, 0],
                }
            ],
        }
    )


def test_gear_losses_are_those_of_the_quadrant():
    """The gear passes what the rotor does not take: less forward, and less back."""
    robot, eta, back = one_joint(), 0.8, 0.6
    motion = Trajectory.quintic([0.0], [2.5], duration=1.5)
    reference = Reference.of(robot, None, None)
    loads = DriveLoads(reference, [motion], np.ones(1), points=300)
    rng = np.random.default_rng(5)
    given = random_catalogue(rng, 1, 1)
    given["gear"][0] |= {"efficiency": eta, "back_efficiency": back}
    pair = load_catalogue(given).pairs[0]
    at = motion.samples(motion.duration / 300)
    found = points(loads, 0, TorqueBounds(loads.base[0], loads.base[0]), PairTable([pair]), np.array([0]))
    # By hand: the load of the arm alone at the output, the rotor on the base.
    load = robot.inverse_dynamics(at.q, at.qd, at.qdd)[:, 0]
    w, N, J = at.qd[:, 0], pair.ratio, pair.inertia
    own = J * N * at.qdd[:, 0] + pair.viscous * N * w + pair.coulomb * np.sign(w)
    passed = np.where(load * w > 0, load / eta, np.where(load * w < 0, load * back, load)) / N
    assert_same(found.output[0][0], load, 1e-10)
    assert_same(found.motor[0][0], own + passed, 1e-10)
    assert (load * w > 1).any()
    assert (load * w < -1).any()


def test_inertia_and_holding_torque_are_those_of_the_robot_with_the_drives():
    robot, rng = bundled("manutec_r3"), np.random.default_rng(2)
    motion = motion_of(robot, rng)
    reference = Reference.of(robot, None, None)
    loads = DriveLoads(reference, [motion], np.ones(1), points=60)
    catalogue = load_catalogue(random_catalogue(rng))
    pairs = [Pair(x.motor, x.gear) for x in catalogue.pairs[:3]]
    table, new = PairTable(pairs), reference.with_drives([DriveNumbers.of(x) for x in pairs])
    R, S = len(loads.at.t), len(loads.at.still)
    at, loaded = loads.at, motion.loaded(new)
    carried = loaded.index(at.t)
    for row, s in enumerate(at.still):
        there = loaded.robots[int(carried[s])]
        B = np.atleast_2d(there.inertia(at.q[s]))
        g = there.gravity(at.q[s])
        signs = np.array(reference.stages)
        for i in range(3):
            y = loads.base[i] + sum(loads.by_drive(i, j, table.phi[j]) for j in range(3))
            spin = pairs[i].ratio ** 2 * pairs[i].inertia
            assert np.isclose(y[R + row], g[i] * signs[i], atol=1e-9)
            assert np.isclose(y[R + S + row] + spin, B[i, i], rtol=1e-9)


def test_which_joints_depend_on_which_drives():
    """Of a serial arm whose motors sit on the parents, only the joints before a drive bear it."""
    loads = DriveLoads(
        Reference.of(bundled("manutec_r3"), None, None),
        [Trajectory.quintic([0, 0, 0], [1, -0.5, 0.7], duration=1)],
        np.ones(1),
        points=30,
    )
    assert (loads.depends == np.triu(np.ones((3, 3), bool))).all()
