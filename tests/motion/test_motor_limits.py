"""Limits at the motors' shafts: kept, used up, and named where they make a motion impossible."""

import warnings
from typing import Any

import numpy as np
import pytest

from armdyn import MotionError, PhysicsWarning, Robot, Trajectory, scale_to_limits, time_optimal
from arms import Part, Plan, slowly, table_of
from golden_messages import golden_error
from motions_with_dwells import carried, lengths, most, stations

M, m, k, TAU, V, D = 3.0, 1.0, 5.0, 0.6, 4.0, 0.8  # a gantry's masses, gear, motor limits, and a distance


def gantry(friction: dict[str, Any] | None = None, gravity: float = 0.0, **limits: float) -> Robot:
    """x carries y; two motors in the base move both: θ₁ = k (x + y), θ₂ = k (x − y), as belts do."""
    axes, masses = ([1, 0, 0], [0, 1, 0]), (M - m, m)
    links = [
        {
            "name": name,
            "parent": parent,
            "joint": "prismatic",
            "axis": axis,
            "origin": {"xyz": [0, 0, 0]},
            "mass": mass,
            "inertia": {"xx": 0.01, "yy": 0.01, "zz": 0.01},
            "friction": friction or {},
            "motor": {
                "carrier": "base",
                "axis": [0, 0, 1],
                "gear": sign * k,
                "coupling": {other: k},
                "inertia": {"axial": 0},
                "limits": limits,
            },
        }
        for name, parent, axis, mass, sign, other in (
            ("x", "base", axes[0], masses[0], 1, "y"),
            ("y", "x", axes[1], masses[1], -1, "x"),
        )
    ]
    return Robot.from_dict(
        {"name": "gantry", "convention": "frames", "gravity": [0, gravity, 0], "link": links}
    )


WAYS = {  # direction, and what the more heavily loaded motor bears of a unit of acceleration
    "along x": ((1.0, 0.0), M / (2 * k)),
    "along y": ((0.0, 1.0), m / (2 * k)),
    "both": ((1.0, 1.0), (M + m) / (2 * k)),
    "against each other": ((1.0, -1.0), (M + m) / (2 * k)),
}


@pytest.mark.parametrize("way", WAYS)
def test_belts_on_paper(way: str) -> None:
    direction, load = WAYS[way]
    robot, motion = gantry(torque=TAU), Trajectory.quintic([0, 0], np.multiply(D, direction), 1.0)
    a = TAU / load
    fast = time_optimal(robot, motion)
    assert fast.duration == pytest.approx(2 * np.sqrt(D / a), rel=1e-6)
    assert most(robot, fast)["motor torque"] == pytest.approx(1, abs=1e-6)
    # A triangle has the same torques; as given it takes 1 s.
    slow = scale_to_limits(robot, Trajectory.triangular([0, 0], np.multiply(D, direction), 1.0), faster=True)
    assert slow.factor == pytest.approx(2 * np.sqrt(D / a), rel=1e-9)
    assert slow.kind == "motor torque"
    assert slow.joint in (0, 1)
    speed = k * sum(np.abs(direction))
    quick = gantry(torque=TAU, velocity=V)
    v = V / speed
    assert v < np.sqrt(a * D)
    limited = time_optimal(quick, motion)
    assert limited.duration == pytest.approx(D / v + v / a, rel=1e-4)
    assert most(quick, limited)["motor velocity"] == pytest.approx(1, abs=1e-6)
    only_speed = scale_to_limits(quick, motion, faster=True, motor_torque=np.inf)
    assert only_speed.kind == "motor velocity"
    assert only_speed.factor == pytest.approx(15 / 8 * D / v, rel=1e-6)  # the quintic's top speed


def test_load_friction_on_paper() -> None:
    """Speeding up it works against the motor; braking it would help, which is not counted."""
    share = 0.2
    robot = gantry({"load": share}, torque=TAU)
    fast = time_optimal(robot, Trajectory.quintic([0, 0], [D, D], 1.0))
    a = TAU * 2 * k / (M + m)
    up, down = a / (1 + share), a
    assert fast.duration == pytest.approx(np.sqrt(2 * D * (1 / up + 1 / down)), rel=1e-3)
    found = most(robot, fast, 1e-4)
    assert found["motor torque"] == pytest.approx(1, abs=1e-3)


EVERY = {
    "viscous": 0.6,
    "coulomb": 0.3,
    "cubic": 0.05,
    "stribeck": {"level": 0.2, "velocity": 0.1},
}


@pytest.mark.parametrize("load", [slowly(0.0), 0.15])
def test_belts_with_friction_of_every_kind(load: float) -> None:
    robot = gantry(EVERY | {"load": load}, gravity=-0.4, torque=TAU, velocity=V)
    points = [[0, 0], [0.5, 0.2], [0.1, 0.6], [-0.3, 0.1]]
    motion = Trajectory.through(points, [0, 1, 2, 3], kind="quintic", step=0.01)
    fast = time_optimal(robot, motion, grid=150)
    slow = scale_to_limits(robot, motion, faster=True)
    for result in (fast, slow):
        found = most(robot, result, 1e-3)
        assert max(found.values()) == pytest.approx(1, abs=3e-3)
    assert fast.duration < slow.trajectory.duration


def limited(robot: Robot, **limits: Any) -> Robot:
    """The robot with limits of its motors [one per motor], and none of its joints' torques and speeds."""
    table = robot.to_dict()
    for i, link in enumerate(table["link"]):
        link.pop("limits", None)
        link["motor"]["limits"] = {name: float(values[i]) for name, values in limits.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return Robot.from_dict(table)


def test_uncoupled_motors_are_joints() -> None:
    """Exactly: a motor of one joint has the limits k τ_m and θ̇_m / k there."""
    puma = Robot.load("puma560")
    gear = np.abs(np.diag(puma.transmission))
    torque, velocity = np.array([1.5, 1.7, 1.3, 0.2, 0.2, 0.25]), np.array([190, 200, 180, 180, 170, 200.0])
    motors = limited(puma, torque=torque, velocity=velocity)
    joints = {"torque": torque * gear, "velocity": velocity / gear}
    motion = stations(
        Trajectory.quintic([-0.4, -0.2, -1.2, 0, 0.4, 0], [-1.6, 0.5, -2.0, 0.8, 0.5, 1], 1.0),
        0.2,
        Trajectory.triangular([-1.6, 0.5, -2.0, 0.8, 0.5, 1], [-1, 0.3, -1.5, 0.2, 0.1, 0], 1.0),
        loads=[carried(1.1, 1.9, 2.0)],
    )
    for function, options in ((scale_to_limits, {"faster": True}), (time_optimal, {"grid": 200})):
        one = function(motors, motion, **options)
        other = function(puma, motion, **options, **joints)
        given = function(
            puma,
            motion,
            **options,
            torque=np.inf,
            velocity=np.inf,
            motor_torque=torque,
            motor_velocity=velocity,
        )
        for found in (one, given):
            np.testing.assert_array_equal(found.t, other.t)
            np.testing.assert_array_equal(found.torque, other.torque)
            np.testing.assert_array_equal(found.motor_limits.torque, torque)
        np.testing.assert_array_equal(other.limits.torque, joints["torque"])
    slow = scale_to_limits(motors, motion, faster=True)
    same = scale_to_limits(puma, motion, faster=True, **joints)
    assert slow.kind == f"motor {same.kind}"
    assert slow.joint == same.joint
    assert slow.instant == same.instant


def test_current_limits_torque() -> None:
    table = gantry(torque=TAU).to_dict()
    for link in table["link"]:
        link["motor"]["torque_constant"] = 0.05
        link["motor"]["limits"] = {"current": TAU / 0.05}
    robot, motion = Robot.from_dict(table), Trajectory.quintic([0, 0], [D, D], 1.0)
    expected = scale_to_limits(gantry(torque=TAU), motion, faster=True).factor
    assert scale_to_limits(robot, motion, faster=True).factor == pytest.approx(expected, rel=1e-12)
    other = scale_to_limits(robot, motion, faster=True, motor_torque=2 * TAU)
    assert other.factor == pytest.approx(expected / np.sqrt(2), rel=1e-9)


# ---- a wrist, and arms of any kind -------------------------------------------------------------------------


def test_coupled_wrist_with_friction_dwell_and_load() -> None:
    """Motor 6 of the TX40 turns with joints 5 and 6, and holds joint 5 too."""
    robot = Robot.load("tx40")
    K = robot.transmission
    assert K[5, 4]
    assert K[5, 5]
    gear = np.abs(np.diag(K))
    given = {
        "motor_torque": np.array([131.84, 131.84, 103.49, 46.08, 43.19, 12.0]) / gear,
        "motor_velocity": np.array([5.0, 5.0, 7.5, 7.0, 5.5, 6.0]) * gear,
        "torque": np.inf,
        "velocity": np.inf,
    }
    a, b, c = np.random.default_rng(5).uniform(-1, 1, (3, 6))
    motion = stations(
        Trajectory.quintic(a, b, 1.0), 0.3, Trajectory.quintic(b, c, 1.0), loads=[carried(1.1, 1.8, 1.5)]
    )
    slow, fast = (
        scale_to_limits(robot, motion, faster=True, **given),
        time_optimal(robot, motion, grid=300, **given),
    )
    for result in (slow, fast):
        found = most(robot, result, 2e-4)
        assert max(found.values()) == pytest.approx(1, abs=1e-3)
        np.testing.assert_allclose(lengths(result.trajectory), [0.3], atol=1e-12)
    assert fast.duration < slow.trajectory.duration
    assert most(robot, time_optimal(robot, motion, grid=300), 2e-4)["motor torque"] == 0  # it has none itself


@pytest.mark.parametrize("seed", [0, *map(slowly, range(1, 4))])
def test_random_arms_with_coupled_motors(seed: int) -> None:
    """Motors anywhere that turn with several joints, sliding ones too, with friction: limits kept, used."""
    robot, motion, options = random_case(seed)
    slow = scale_to_limits(robot, motion, faster=True, **options)
    fast = time_optimal(robot, motion, grid=200, **options)
    assert max(most(robot, slow).values()) == pytest.approx(1, abs=5e-3)
    assert max(most(robot, fast).values()) == pytest.approx(1, abs=2e-3)
    assert fast.duration <= slow.trajectory.duration
    # Brute force: no faster factor is allowed nearby, and a hair slower one is.
    assert share(robot, motion, slow, 0.995 * slow.factor) > 1
    assert share(robot, motion, slow, 1.001 * slow.factor) <= 1


def random_case(seed: int) -> tuple[Robot, Trajectory, dict[str, Any]]:
    """An arm whose K has a row of several joints, a motion, and motor limits that it can hold itself with."""
    rng = np.random.default_rng(seed)
    names = [f"link {i + 1}" for i in range(2 + seed % 3)]
    parts = []
    for i, name in enumerate(names):
        kind = ("revolute", "prismatic")[int(rng.random() < 0.3)]
        others = [other for other in names if other != name]
        coupled = tuple(rng.choice(others, 1 + i % len(others), replace=False)) if i != 1 else ()
        carrier = ["base", *names][int(rng.integers(i + 1))]
        parts.append(Part(name, ["base", *names][i], kind, carrier, coupled, bool(i % 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        robot = Robot.from_dict(table_of(Plan(tuple(parts), "exact", names[-1], seed)))
    K = robot.transmission
    assert (np.count_nonzero(K, axis=1) > 1).any()
    assert np.linalg.cond(K) < 1e3
    points = rng.uniform(-0.5, 0.5, (4, robot.n))
    motion = Trajectory.through(points, [0, 0.5, 1.2, 1.5], kind="quintic")
    at = motion.samples()
    slow = robot.inverse_dynamics(at.q, 0.02 * at.qd, 4e-4 * at.qdd)  # gravity and friction
    shaft = np.abs(np.linalg.solve(K.T, slow.T)).max(1)
    speed = np.abs(at.qd @ K.T).max(0)
    return robot, motion, {"motor_torque": 1.5 * shaft + 1e-3, "motor_velocity": 3 * speed}


def share(robot: Robot, motion: Trajectory, result: Any, factor: float) -> float:
    """The largest share of a motor limit when the motion takes `factor` times as long."""
    at = motion.samples(1e-4)
    tau = robot.inverse_dynamics(at.q, at.qd / factor, at.qdd / factor**2)
    K, motors = robot.transmission, result.motor_limits
    torque = np.abs(np.linalg.solve(K.T, tau.T).T) / motors.torque
    return float(max(torque.max(), (np.abs(at.qd @ K.T) / factor / motors.velocity).max()))


# ---- messages ----------------------------------------------------------------------------------------------


def test_a_motor_that_is_too_weak_is_named() -> None:
    robot = gantry(gravity=-9.81, torque=TAU)  # 1 kg on y: 9.81 N, 0.981 N m at each motor
    motion = Trajectory.quintic([0, 0], [D, D], 1.0)
    message = r"motor [12] \('[xy]'\) at .*need -?0\.981 N m, the limit is 0\.6 N m"
    with pytest.raises(MotionError, match=message):
        scale_to_limits(robot, motion)
    with pytest.raises(MotionError, match=message):
        time_optimal(robot, motion)
    held = stations(Trajectory.quintic([0, 0], [0.1, 0], 1.0), 0.5)
    with pytest.raises(MotionError, match=r"motor [12] \('[xy]'\) at the dwell from 1 to 1\.5 s"):
        time_optimal(robot, held)
    # A motor of one joint: in its own numbers, too.
    table = Robot.load("planar").to_dict()
    for link in table["link"]:
        link["motor"]["limits"] = {"torque": 1.0}
    weak, there = Robot.from_dict(table), Trajectory.quintic([0.1, 0.2], [0.4, 0.3], 1.0)
    for function in (scale_to_limits, time_optimal):
        with golden_error(MotionError):
            function(weak, there)


def test_wrong_motor_limits() -> None:
    robot, motion = gantry(torque=TAU), Trajectory.quintic([0, 0], [D, D], 1.0)
    for function in (scale_to_limits, time_optimal):
        with golden_error(MotionError):
            function(robot, motion, motor_torque=[1, 2, 3])
        with golden_error(MotionError):
            function(robot, motion, motor_velocity=[1, 0])
        with golden_error(MotionError):
            function(robot, motion, motor_torque="much")


def test_motors_that_cannot_move_all_joints() -> None:
    table = gantry(torque=TAU).to_dict()
    table["link"][1]["motor"]["gear"] = k  # both turn with x + y
    robot, motion = Robot.from_dict(table), Trajectory.quintic([0, 0], [D, D], 1.0)
    with golden_error(MotionError):
        scale_to_limits(robot, motion)
    assert scale_to_limits(robot, motion, motor_torque=np.inf, motor_velocity=V, faster=True).kind == (
        "motor velocity"
    )


def test_more_motors_than_joints_share_the_torque() -> None:
    """Two joints that turn alike, each with a motor: the least torques are half of it each."""
    table = gantry(torque=TAU).to_dict()
    for link in table["link"]:
        link["motor"].pop("coupling")
        link["motor"]["gear"] = k
    table["closure"] = [{"relation": {"x": 1, "y": -1}}]
    robot = Robot.from_dict(table)
    assert robot.n == 1
    assert robot.transmission.shape == (2, 1)
    a = 2 * k * TAU / (M + m)
    fast = time_optimal(robot, Trajectory.quintic([0], [D], 1.0))
    assert fast.duration == pytest.approx(2 * np.sqrt(D / a), rel=1e-6)
