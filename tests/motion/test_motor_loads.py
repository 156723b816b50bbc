"""Motor loads: at the shafts what the joints ask for, and what peaks, means and energies are on paper."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from armdyn import MotorLoads, Robot, Trajectory, motor_loads, simulate
from armdyn.expression import ArmdynError, Expression
from armdyn.model import Relation
from armdyn.motion import MotionError
from armdyn.motion.loads import Carried, Load
from armdyn.simulation import ComputedTorque
from arms import assert_same, generator_values, generators, law, robots
from golden_messages import golden_error

GEAR, ROTOR, LINK = 50, 0.002, 3.0


def slider(**motor):
    """One carriage of 3 kg on a screw, level: the motor turns 50 rad for each metre."""
    table = {"gear": GEAR, "inertia": ROTOR, "axis": [1, 0, 0]} | motor
    place = {"joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [1, 0, 0], "mass": LINK}
    links = [{"name": "carriage"} | place | {"motor": table}]
    return Robot.from_dict(
        {"name": "slider", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}
    )


def motion_of(robot, rng, step=1e-2):
    ends = rng.uniform(-1, 1, (2, robot.n))
    return Trajectory.trapezoidal(*ends, duration=0.8, acceleration_time=0.3, step=step)


@law(robots(rotors=("exact", "reflected", "none")), generators(), examples=6, thorough=60)
def test_joint_torques_are_k_transposed_times_motor_torques(robot, rng):
    motion = motion_of(robot, rng)
    at = motion.samples()
    wrench = rng.uniform(-5, 5, 6)
    loads = motor_loads(robot, motion, wrench=wrench)
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd, wrench)
    assert_same(loads.joint_torque, tau, 1e-12)
    assert_same(loads.torque @ robot.transmission, tau, 1e-12)
    assert_same(loads.speed, at.qd @ robot.transmission.T, 1e-14)
    assert_same(loads.power.sum(-1), (tau * at.qd).sum(-1), 1e-11, scale=np.abs(loads.power).max())


@law(robots(n=(2, 4), friction=False), generators(), examples=4)
def test_without_friction_all_energy_from_rest_to_rest_is_potential(robot, rng):
    motion = motion_of(robot, rng, step=1e-3)
    q = motion.samples().q[[0, -1]]
    loads = motor_loads(robot, motion)
    change = np.diff(robot.potential_energy(q))[0]
    assert_same(loads.total_energy, change, 2e-5, scale=float(loads.total_drawn))
    assert loads.total_energy <= loads.bus_energy + 1e-9 * loads.total_drawn
    assert loads.bus_energy <= loads.total_drawn * (1 + 1e-9)


def test_a_carriage_on_a_screw_as_on_paper():
    """Triangular: half of the time forward, half back, with the torques' jump in the middle on both sides."""
    way, T = 0.6, 0.7
    loads = motor_loads(slider(torque_constant=0.05), Trajectory.triangular([0.0], [way], T, step=0.013))
    a, v = 4 * way / T**2, 2 * way / T
    # m a = k τ_m − k² I a: force through the screw, and the rotor's own inertia
    torque = (LINK + GEAR**2 * ROTOR) * a / GEAR
    energy = (LINK + GEAR**2 * ROTOR) * v**2 / 2
    assert_same([loads.peak_torque[0], loads.rms_torque[0]], [torque, torque], 1e-12)
    assert_same(loads.peak_speed[0], GEAR * v, 1e-12)
    assert_same(loads.rms_speed[0], GEAR * v / np.sqrt(3), 1e-3)
    assert_same(loads.peak_power[0], torque * GEAR * v, 1e-12)
    assert_same(loads.energy_drawn[0], energy, 1e-12)
    assert_same(loads.energy[0], 0.0, 1e-12)
    assert_same(loads.mean_power[0], 0.0, 1e-12)
    assert_same([loads.peak_current[0], loads.rms_current[0]], [torque / 0.05, torque / 0.05], 1e-12)
    assert loads.units[0].torque == "N m"


def test_a_common_bus_uses_at_once_what_comes_back():
    robot = Robot.load("planar")
    # powers at the joints: 2 and −1 W for 1 s, then −1 and −3 W for 1 s
    tau = np.array([[2, -1], [2, -1], [-1, -3], [-1, -3]], float)
    loads = MotorLoads.from_torques(robot, [0, 1, 1, 2], np.ones((4, 2)), tau)
    assert_same(loads.energy, [1, -4], 1e-14)
    assert_same(loads.energy_drawn, [2, 0], 1e-14)
    assert_same([loads.total_energy, loads.total_drawn, loads.bus_energy], [-3, 2, 1], 1e-14)
    assert_same(loads.rms_torque, np.sqrt([2.5, 5]) / 100, 1e-14)


def test_a_load_counts_from_when_it_is_taken_up():
    robot = Robot.load("planar")
    plain = Trajectory.cubic([0, 0.3], [0.5, 1], 1.0)
    carried = Carried(0.4, 0.7, Load.of(8, [0.1, 0, 0]))
    moved = Trajectory(replace(plain.motion, loads=(carried,)))
    at, loads = moved.samples(), motor_loads(robot, moved)
    before, after = np.flatnonzero(at.t == 0.4)
    empty, full = (r.inverse_dynamics(at.q, at.qd, at.qdd) for r in (robot, carried.load.on(robot)))
    assert_same(loads.joint_torque[: before + 1], empty[: before + 1], 1e-12)
    assert_same(loads.joint_torque[after : after + 100], full[after : after + 100], 1e-12)
    assert_same(loads.joint_torque[-1], empty[-1], 1e-12)
    assert np.abs(loads.torque[after] - loads.torque[before]).max() > 0.1


def test_the_coupled_wrist_of_the_tx40():
    robot = Robot.load("tx40")
    rng = np.random.default_rng(4)
    motion = motion_of(robot, rng)
    at, loads = motion.samples(), motor_loads(robot, motion)
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    # θ_m5 = 45 q5, θ_m6 = 32 (q5 + q6): motor 6 alone moves joint 6 and helps with joint 5
    sixth = tau[:, 5] / 32
    assert_same(loads.torque[:, 5], sixth, 1e-12)
    assert_same(loads.torque[:, 4], (tau[:, 4] - tau[:, 5]) / 45, 1e-12)
    assert_same(loads.speed[:, 5], 32 * (at.qd[:, 4] + at.qd[:, 5]), 1e-12)


def test_more_motors_than_joints_share_by_least_squares():
    robot = Robot.load("planar")
    same = Relation((("link 2", Expression.of(1)), ("link 1", Expression.of(Fraction(-1, 2)))))
    robot = Robot(replace(robot.model, relations=(same,)))
    assert_same(robot.transmission, [[100], [50]], 1e-14)
    motion = Trajectory.cubic([0.1], [1.0], 1.0, step=0.05)
    loads = motor_loads(robot, motion)
    at = motion.samples()
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    assert_same(loads.torque, tau * [100, 50] / 12500, 1e-12)
    assert_same(loads.joint_torque, tau, 1e-12)
    assert "2 motors drive 1 joint: their torques are those with the least sum of squares" in str(loads)


def test_motors_that_cannot_give_every_torque_are_refused():
    coupled = Robot.load("planar").with_motors(
        {
            "link 1": {"coupling": {"link 2": 100}},
            "link 2": {"coupling": {"link 1": 100}},
        },
    )
    with golden_error(ArmdynError):
        motor_loads(coupled, Trajectory.cubic([0, 0], [1, 1], 1.0))


def test_motor_torques_are_those_of_the_exact_equations():
    """τ_m = K⁻ᵀ τ as closed forms, at numbers: for the planar arm with a belt from motor 2 over joint 1."""
    robot = Robot.load("planar").with_motors({"link 2": {"coupling": {"link 1": 40}}})
    equations = robot.equations().substitute(robot.symbols)
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 2))
    values = generator_values(equations, q, qd, qdd)
    exact = [entry.value(values) for entry in equations.motor_torques()]
    tau = robot.inverse_dynamics(q, qd, qdd)
    loads = MotorLoads.from_torques(robot, [0, 1], [qd, qd], [tau, tau])
    assert_same(loads.torque[0], exact, 1e-12)


# ---- runs, batches -----------------------------------------------------------------------------------------


def test_a_run_has_the_torques_it_was_given_and_their_work():
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0, 0.5], [1, 1], 0.5)
    run = simulate(robot, motion.q[0], [0, 0], 0.5, ComputedTorque(robot, motion))
    loads = motor_loads(robot, run)
    assert_same(loads.joint_torque, run.tau, 1e-12)
    assert_same(loads.total_energy, run.torque_work[-1], 1e-5)
    assert_same(loads.torque, motor_loads(robot, motion).torque, 1e-6)


def test_a_batch_has_the_loads_of_each_arm():
    robot = Robot.load("scara")
    rng = np.random.default_rng(3)
    t = np.linspace(0, 1, 11)
    qd, tau = rng.normal(size=(2, 11, 2, 3, robot.n))
    loads = MotorLoads.from_torques(robot, t, qd, tau)
    assert loads.energy.shape == (2, 3, robot.n)
    assert loads.bus_energy.shape == (2, 3)
    alone = MotorLoads.from_torques(robot, t, qd[:, 1, 2], tau[:, 1, 2])
    for name in (
        "peak_torque",
        "rms_torque",
        "peak_time",
        "energy",
        "energy_drawn",
        "bus_energy",
        "rms_speed",
    ):
        assert_same(getattr(loads, name)[1, 2], getattr(alone, name), 1e-14)
        assert_same(getattr(loads.arm(1, 2), name), getattr(alone, name), 1e-14)
    assert "arms (2, 3)" in str(loads)
    stopped = tau.copy()
    stopped[6:, 0, 0] = np.nan
    found = MotorLoads.from_torques(robot, t, qd, stopped)
    assert np.isnan(found.energy[0, 0]).all()
    assert_same(found.energy[1], loads.energy[1], 1e-14)
    with golden_error(MotionError):
        loads.arm(1)
    with golden_error(MotionError):
        loads.table()


# ---- limits, currents, tables ------------------------------------------------------------------------------


def test_shares_of_limits_and_what_is_beyond():
    robot = slider(torque_constant=0.05, limits={"torque": 0.5, "velocity": 50, "current": 4})
    motion = Trajectory.triangular([0.0], [0.6], 0.7)
    loads = motor_loads(robot, motion)
    assert_same(loads.torque_share, loads.peak_torque / 0.2, 1e-14)  # 4 A · 0.05 N m/A is less than 0.5 N m
    assert_same(loads.speed_share, loads.peak_speed / 50, 1e-14)
    assert not loads.within_limits
    current, speed = loads.exceeded
    assert (current.kind, speed.kind) == ("motor current", "motor velocity")
    assert "391.8 % of its limit of 4 A" in str(current)
    assert str(loads).endswith(f"warning: {current}\nwarning: {speed}")
    assert str(loads).count(" !") == 2
    assert repr(loads).endswith("beyond limits>")
    wide = slider(limits={"torque": 1.0, "velocity": 90})
    assert motor_loads(wide, motion).within_limits
    assert not motor_loads(slider(), motion).torque_share.any()


def test_no_share_is_told_of_a_motor_without_a_limit():
    table = Robot.load("planar").to_dict()
    table["link"][0]["motor"]["limits"] = {"torque": 100}
    robot = Robot.from_dict(table)
    lines = str(motor_loads(robot, Trajectory.cubic([0, 0], [1, 1], 1.0))).splitlines()
    assert [line.count("%") for line in lines[:3]] == [0, 1, 0]


def test_currents_are_shown_where_the_description_has_a_torque_constant():
    motion = Trajectory.triangular([0.0], [0.6], 0.7)
    assert "current" not in str(motor_loads(slider(), motion))
    assert np.isnan(motor_loads(slider(), motion).table()[0].peak_current)
    told = motor_loads(slider(torque_constant=0.05), motion)
    assert "peak current [A]" in str(told)
    assert_same(told.table()[0].peak_current, told.peak_torque[0] / 0.05, 1e-14)
    assert np.isnan(motor_loads(slider(torque_constant=0), motion).current).all()


def test_joints_without_motors_count_as_driven_directly():
    robot = Robot.load("rmit2r")
    motion = Trajectory.cubic(np.zeros(2), np.full(2, 0.3), 1.0, step=0.1)
    loads = motor_loads(robot, motion)
    at = motion.samples()
    assert_same(loads.torque, robot.inverse_dynamics(at.q, at.qd, at.qdd), 1e-14)
    assert np.isnan(loads.current).all()
    assert not any(loads.geared)
    assert "(no motor)" in str(loads)
    assert "count as driven directly" in str(loads)
    sliding = Robot.from_dict(
        {
            "name": "two",
            "convention": "frames",
            "gravity": [0, 0, -9.81],
            "link": [
                {
                    "name": "a",
                    "joint": "prismatic",
                    "axis": [1, 0, 0],
                    "origin": {"xyz": [0, 0, 0]},
                    "mass": 1,
                },
                {
                    "name": "b",
                    "joint": "revolute",
                    "axis": [0, 0, 1],
                    "origin": {"xyz": [0, 0, 0]},
                    "mass": 1,
                    "inertia": {"zz": 1},
                    "motor": {"gear": 10, "inertia": 0.1},
                },
            ],
        }
    )
    text = str(motor_loads(sliding, Trajectory.cubic([0, 0], [1, 1], 1.0)))
    assert "6 N " in text
    assert "m/s" in text
    assert "rad/s" in text


def test_a_row_of_the_table():
    (row,) = motor_loads(slider(), Trajectory.triangular([0.0], [0.6], 0.7)).table()
    assert (row.motor, row.geared, row.torque_unit, row.speed_unit) == ("carriage", True, "N m", "rad/s")
    assert row.torque_limit == np.inf
    assert row.torque_share == 0
    assert row.energy_drawn > 0
    assert abs(row.energy) < 1e-12


def test_motor_torques_of_the_inverse_transmission():
    for name in ("planar", "tx40", "puma560", "scara"):
        robot = Robot.load(name)
        assert_same(robot.transmission.T @ robot.drives.to_motors, np.eye(robot.n), 1e-13)


def test_refusals():
    robot = Robot.load("planar")
    motion = Trajectory.cubic([0, 0], [1, 1], 1.0)
    run = simulate(robot, [0, 0], [0, 0], 0.01)
    for arguments, named, message in [
        ((robot, 3), {}, "motion: expected a Trajectory or a Run of simulate, found int"),
        ((3, motion), {}, "robot: expected a Robot, found int"),
        ((Robot.load("panda"), motion), {}, "trajectory: it moves 2 joints"),
        ((robot, motion), {"wrench": [1, 2]}, "wrench: found shape"),
        ((robot, run), {"wrench": np.ones(6)}, "wrench: it goes with a Trajectory"),
    ]:
        with pytest.raises(MotionError, match=message):
            motor_loads(*arguments, **named)
    x = np.zeros((3, 2))
    for arguments, message in [
        (([0, 2, 1], x, x), "t: found .* two or more instants in order"),
        (([0], x[:1], x[:1]), "t: found"),
        (([1, 1, 1], x, x), "t: found"),
        (([0, 1, np.nan], x, x), "t: expected finite numbers"),
        (([0, 1, 2], x[:2], x), r"qd: expected \(3, ..., 2\), found \(2, 2\)"),
        (([0, 1, 2], x, x[:, :1]), r"tau: expected \(3, ..., 2\)"),
        (([0, 1, 2], x, x[:, None]), "qd, tau: shapes"),
    ]:
        with pytest.raises(MotionError, match=message):
            MotorLoads.from_torques(robot, *arguments)
