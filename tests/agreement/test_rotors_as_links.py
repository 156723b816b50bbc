"""`[link.motor]` against the same rotor as a link of its own, which a relation gears to the joints."""

import numpy as np
import pytest

from armdyn import Robot, backend, simulate
from armdyn.exact import Equations
from arms import assert_same, generators, law, related, robots, state
from elastic_arms import elastic_robots
from rotor_links import rotors_as_links


@law(robots((1, 4), motors="any"), generators(), examples=2, thorough=60)
def test_motors_are_links_geared_by_relations(robot, rng):
    """Any carrier, axis, place and coupling; also on robots whose joints are related themselves."""
    if rng.integers(2) and robot.n > 1:
        robot = Robot(related(robot.model, int(rng.integers(2**31))))
    other = Robot(rotors_as_links(robot.model))
    assert other.n == robot.n
    assert other.coordinates == robot.coordinates
    q, qd, qdd = state(robot, rng)
    h = rng.normal(size=6)
    assert_same(other.inertia(q), robot.inertia(q), 1e-12)
    assert_same(other.coriolis(q, qd) @ qd, robot.coriolis(q, qd) @ qd, 1e-12)
    assert_same(other.gravity(q), robot.gravity(q), 1e-12, scale=9.81)
    assert_same(other.friction(qd), robot.friction(qd), 1e-12)
    assert_same(other.kinetic_energy(q, qd), robot.kinetic_energy(q, qd), 1e-12)
    assert_same(
        other.inverse_dynamics(q, qd, qdd, h), robot.inverse_dynamics(q, qd, qdd, h), 1e-12, scale=9.81
    )


@law(elastic_robots((2, 4), motors="parent"), generators(), examples=3, thorough=100)
def test_motors_of_elastic_joints_are_links_behind_springs(robot, rng):
    with backend("evaluator"):
        check_links_behind_springs(robot, rng)


def check_links_behind_springs(robot, rng):
    """θ_m = k_ii θ_i + Σ k_ij q_j: a motor that is coupled to an elastic joint counts the angle of its link.

    The rotors of elastic joints are links with angles of their own, y = T q; their springs and dampers are
    written out here. By virtual work, the torques are Tᵀ times those of the separate links.
    """
    separate = Robot(rotors_as_links(robot.model))
    T, springs, dampers = written_out(robot)
    q, qd, qdd = state(robot, rng)
    h = rng.normal(size=6)
    y, yd, ydd = T @ q, T @ qd, T @ qdd
    assert_same(robot.inertia(q), T.T @ separate.inertia(y) @ T, 1e-11)
    assert_same(robot.coriolis(q, qd) @ qd, T.T @ separate.coriolis(y, yd) @ yd, 1e-10)
    assert_same(robot.friction(qd), T.T @ separate.friction(yd) + dampers @ qd, 1e-11)
    assert_same(robot.springs(q), springs @ q, 1e-11)
    tau = T.T @ separate.inverse_dynamics(y, yd, ydd, h) + springs @ q + dampers @ qd
    assert_same(robot.inverse_dynamics(q, qd, qdd, h), tau, 1e-10)
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, robot.inverse_dynamics(q, qd, qdd), 1e-10)
    angles = dict(zip(separate.joints, separate.joint_positions(y), strict=True))
    driven = [link.name for link in robot.model.moving if link.motor]
    assert_same(robot.transmission @ q, [angles[f"rotor of {name}"] for name in driven], 1e-12)


def written_out(robot):
    """T (n, n) with y = T q of the separate links, and the matrices of springs and dampers over q."""
    model = robot.model
    place = {name: i for i, name in enumerate(robot.coordinates)}
    T, springs, dampers = np.eye(robot.n), np.zeros((robot.n, robot.n)), np.zeros((robot.n, robot.n))
    for link in model.elastic:
        i, m = place[link.name], place[f"{link.name} motor"]
        T[m] = 0.0
        T[m, m] = model.number(link.motor.gear)
        for name, k in link.motor.coupling:
            T[m, place[name]] = model.number(k)
        between = np.zeros(robot.n)
        between[[i, m]] = 1, -1
        springs += model.number(link.motor.stiffness) * np.outer(between, between)
        dampers += model.number(link.motor.damping) * np.outer(between, between)
    return T, springs, dampers


SHARED = ["g", "k", "J", "fv", "fc"]
FRICTION = {"viscous": "fv", "coulomb": "fc"}


def planar(motor_2: dict) -> Robot:
    """Two links in a vertical plane with all symbols free."""

    def link(i: int, motor: dict) -> dict:
        com, inertia = [f"lc{i} - l{i}", 0, 0], {"zz": f"I{i}"}
        place = {"a": f"l{i}", "alpha": 0, "d": 0}
        body = {"mass": f"m{i}", "com": com, "inertia": inertia, "motor": motor}
        return {"name": f"link {i}", "joint": "revolute", **place, **body}

    names = [
        *SHARED,
        "k1",
        "J1",
        *(f"{x}{i}" for i in (1, 2) for x in ("l", "lc", "m", "I")),
    ]
    return Robot.from_dict(
        {
            "name": "remotely driven manipulator",
            "convention": "dh",
            "gravity": [0, "-g", 0],
            "symbols": dict.fromkeys(names, "free"),
            "link": [link(1, {"gear": "k1", "inertia": "J1"}), link(2, motor_2)],
        }
    )


def wrist() -> Robot:
    """Pitch and roll of a differential: motors beside each other turn by k(q1 + q2) and k(q1 − q2)."""

    def link(name: str, axis: list[int], i: int, gear: str, other: str) -> dict:
        motor = {"gear": gear, "inertia": "J", "mass": "mm", "carrier": "forearm", "axis": [0, 1, 0]}
        motor |= {"position": [0, 0, "d" if i == 1 else "-d"], "coupling": {other: "k"}, "friction": FRICTION}
        inertia = {"xx": f"I{i}x", "yy": f"I{i}y", "zz": f"I{i}z"}
        body = {"mass": f"m{i}", "com": [f"l{i}", 0, 0], "inertia": inertia, "motor": motor}
        return {"name": name, "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": axis, **body}

    forearm = {"name": "forearm", "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]}
    forearm |= {"inertia": {"zz": "I0"}, "mass": 0, "motor": {"gear": "k0", "inertia": "J"}}
    names = [
        *SHARED,
        "k0",
        "mm",
        "d",
        "I0",
        *(f"{x}{i}" for i in (1, 2) for x in ("m", "l")),
    ]
    return Robot.from_dict(
        {
            "name": "differential wrist",
            "convention": "frames",
            "gravity": [0, 0, "-g"],
            "symbols": dict.fromkeys([*names, *(f"I{i}{a}" for i in (1, 2) for a in "xyz")], "free"),
            "link": [
                forearm,
                link("pitch", [0, 1, 0], 1, "k", "roll"),
                link("roll", [1, 0, 0], 2, "-k", "pitch"),
            ],
        }
    )


def remote() -> Robot:
    """001, example 5-3: actuator 2 stands on the base and turns by k(θ1 + θ2)."""
    on_base = {"inertia": "J", "carrier": "base", "axis": [0, 0, 1], "friction": FRICTION}
    return planar({"gear": "k", "coupling": {"link 1": "k"}, **on_base})


def carried() -> Robot:
    """The same arm with the actuator of joint 2 on link 1."""
    return planar({"gear": "k", "inertia": "J"})


@pytest.mark.parametrize("make", [remote, carried, wrist])
def test_equations_with_motors_are_those_of_separate_rotors_exactly(make):
    """B, C and g, entry by entry, with all symbols free; the rotors' own angles cancel."""
    robot = make()
    equations, separate = robot.equations(), Equations(rotors_as_links(robot.model))
    separate.prove()
    for name in ("B", "C"):
        found, expected = getattr(separate, name), getattr(equations, name)
        for i in range(robot.n):
            for j in range(robot.n):
                assert expected[i, j] == str(found[i, j]), f"{name}[{i}, {j}]"
    assert [x == str(y) for x, y in zip(equations.g, separate.g, strict=True)] == [True] * robot.n


def test_the_remote_drive_differs_from_the_carried_one_by_what_its_reaction_does():
    """The rotor on link 1 turns with it: Im (q̇1 + k q̇2)² against Im (k q̇1 + k q̇2)²."""
    B, other = remote().equations().B, carried().equations().B
    assert B[0, 0] - other[0, 0] == "k**2*J - J"
    assert B[0, 1] - other[0, 1] == "k**2*J - k*J"
    assert B[1, 1] - other[1, 1] == 0


NUMBERS = {
    "g": 9.81,
    "fv": 2e-4,
    "fc": 0.004,
    "k": 30,
    "k0": 50,
    "k1": 40,
    "J": 2e-4,
    "J1": 3e-4,
    "mm": 0.4,
    "d": 0.03,
    "I0": 0.1,
}
NUMBERS |= {"l1": 0.3, "l2": 0.2, "lc1": 0.14, "lc2": 0.11, "m1": 3, "m2": 2, "I1": 0.02, "I2": 0.01}
NUMBERS |= {"I1x": 0.004, "I1y": 0.003, "I1z": 0.0035, "I2x": 0.001, "I2y": 0.006, "I2z": 0.0055}


@pytest.mark.parametrize("make", [remote, wrist])
def test_a_run_with_motors_is_that_of_separate_rotors(make):
    """Released from rest, with dry friction in the motors."""
    robot = make()
    model = robot.with_symbols({k: v for k, v in NUMBERS.items() if k in dict(robot.model.symbols)}).model
    found, expected = (
        simulate(Robot(x), np.full(robot.n, 0.3), np.zeros(robot.n), 0.5)
        for x in (rotors_as_links(model), model)
    )
    assert_same(found.q[-1], expected.q[-1], 1e-7)
