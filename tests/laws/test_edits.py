"""Robots made from robots, and descriptions that say the same thing in other words."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import ArmdynError, Robot, bundled_robots
from armdyn.expression import Expression
from armdyn.model import Inertia, Link, Transform
from armdyn.model.vector import apply, neg, transpose
from arms import (
    KEYS,
    ROTORS,
    assert_same,
    cloud,
    generators,
    in_suites,
    law,
    models,
    rational_transform,
    robots,
    state,
)


def same_dynamics(a, b, rng, tolerance=1e-11):
    q, qd, qdd = state(a, rng)
    wrench = rng.uniform(-9, 9, 6)
    assert_same(a.inverse_dynamics(q, qd, qdd, wrench), b.inverse_dynamics(q, qd, qdd, wrench), tolerance)
    assert_same(a.inertia(q), b.inertia(q), tolerance)
    assert_same(a.coriolis(q, qd), b.coriolis(q, qd), tolerance)
    assert_same(a.friction(qd, q=q), b.friction(qd, q=q), tolerance)
    assert_same(a.kinetic_energy(q, qd), b.kinetic_energy(q, qd), tolerance)


@law(robots(rotors=ROTORS), generators())
def test_with_parameters_and_the_same_robot(robot, rng):
    same = robot.with_parameters(robot.parameters)
    assert same.parameter_names == robot.parameter_names
    assert_same(same.parameters, robot.parameters, 1e-15)
    same_dynamics(same, robot, rng)


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_with_parameters_and_the_same_bundled_robot(name):
    robot = Robot.load(name)
    same = robot.with_parameters(robot.parameters)
    assert_same(same.parameters, robot.parameters, 1e-15)
    same_dynamics(same, robot, np.random.default_rng(1))


def test_with_parameters_of_a_massless_link_that_carries_a_motor():
    """Rounding of the vector must not make the link's own share of it an impossible body."""
    motor = {"gear": 30, "inertia": 0.001, "mass": "1/3", "position": ["1/3", "1/7", 0]}
    link = {"joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 0, 1]}
    table = {
        "name": "light",
        "convention": "frames",
        "gravity": [0, 0, -10],
        "link": [
            {**link, "name": "a"},
            {
                **link,
                "name": "b",
                "mass": 1,
                "inertia": {"zz": 1, "xx": 1},
                "motor": {**motor, "carrier": "a"},
            },
        ],
    }
    robot = Robot.from_dict(table)
    assert_same(robot.with_parameters(robot.parameters).parameters, robot.parameters, 1e-15)


def test_with_parameters_of_motor_friction_only():
    """The joint's own share of the viscous friction is what rounding leaves: it may be below zero."""
    motor = {"gear": "62.6111", "inertia": 0.001, "friction": {"viscous": "0.00148", "coulomb": "1/3"}}
    link = {"joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 0, 1], "motor": motor}
    for gear in (62.6111, -53.7063, 76.0364, 71.923, 76.686, 107.815, "100/3"):
        table = {"name": "arm", "convention": "frames", "gravity": [0, 0, 0]}
        robot = Robot.from_dict(table | {"link": [link | {"motor": motor | {"gear": gear}}]})
        assert_same(robot.with_parameters(robot.parameters).parameters, robot.parameters, 1e-15)


@law(robots(rotors=ROTORS), generators())
def test_with_parameters_and_the_regressor(robot, rng):
    """The robot with other parameters has them, and its torques are Y π with the old robot's Y."""
    values = np.array(robot.parameters)
    for j, link in enumerate(robot.model.moving):
        values[13 * j] += 5
        values[[13 * j + 4, 13 * j + 7, 13 * j + 9]] += 5
        values[13 * j + 5] += 0.25
        values[13 * j + 10] *= 1.5
        values[13 * j + 11 : 13 * j + 13] += 1
        assert link.motor or values[13 * j + 10] == 0
    values[13 * robot.n :] *= 1.25
    other = robot.with_parameters(values)
    assert_same(other.parameters, values, 1e-14)
    q, qd, qdd = state(robot, rng)
    assert_same(other.inverse_dynamics(q, qd, qdd), robot.regressor(q, qd, qdd) @ values)


@law(robots((1, 4), rotors=ROTORS), generators(), examples=10)
def test_with_parameters_and_half_of_each(robot, rng):
    """Every vector of possible bodies is met, also where a motor alone has more mass than that."""
    values = robot.parameters / 2
    other = robot.with_parameters(values)
    assert_same(other.parameters, values, 1e-14)
    q, qd, qdd = state(robot, rng)
    assert_same(other.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd) / 2)


def test_with_parameters_of_a_bundled_robot_without_viscous_friction():
    """The vector refers a motor's friction to its joint, so a joint may be left with less than that."""
    robot = Robot.load("puma560")
    values = np.array(robot.parameters)
    values[11] = 0
    assert_same(robot.with_parameters(values).parameters, values, 1e-15)


def test_with_parameters_of_the_wrong_number():
    robot = Robot.load("planar")
    with pytest.raises(ArmdynError, match=r"expected 26 parameters .* found 25"):
        robot.with_parameters(robot.parameters[:-1])


def test_with_parameters_and_an_inertia_of_no_rotor():
    robot = Robot.load("ur10")
    values = np.array(robot.parameters)
    values[10] = 0.1
    with pytest.raises(ArmdynError, match=r"Im1 is 0\.1"):
        robot.with_parameters(values)


@law(robots(rotors=ROTORS), generators(), st.integers(0, 9999), st.data())
def test_payload_and_a_further_link(robot, rng, seed, data):
    """A payload at the tip is a fixed link at the tip frame; one on a link, a fixed link at its frame."""
    body = cloud(random.Random(seed))
    link = data.draw(st.sampled_from([None, *robot.model.index]))
    loaded = robot.with_payload(body["mass"], body["com"], body["inertia"], link)
    tensor = tuple(Expression.of(body["inertia"][key]) for key in KEYS)
    com = tuple(Expression.of(x) for x in body["com"])
    inertia = Inertia.at_com(Expression.of(body["mass"]), com, tensor)
    place = robot.model.tool if link is None else Transform()
    plate = Link("payload", link or robot.model.tip, "fixed", place, inertia=inertia)
    same_dynamics(loaded, Robot(replace(robot.model, links=(*robot.model.links, plate))), rng)
    q, qd, _ = state(robot, rng)
    if link is None:  # energy of the body itself
        T, v = robot.pose(q), robot.jacobian(q) @ qd
        c = T[:3, :3] @ [float(x) for x in body["com"]]
        e = {key: float(x) for key, x in body["inertia"].items()}
        I = [[e["xx"], e["xy"], e["xz"]], [e["xy"], e["yy"], e["yz"]], [e["xz"], e["yz"], e["zz"]]]
        speed, w = v[:3] + np.cross(v[3:], c), T[:3, :3].T @ v[3:]
        more = float(body["mass"]) * speed @ speed / 2 + w @ I @ w / 2
        assert_same(loaded.kinetic_energy(q, qd) - robot.kinetic_energy(q, qd), more, 1e-10)


@law(robots(rotors=ROTORS))
def test_payload_of_nothing_and_the_same_robot(robot):
    for link in (None, robot.model.moving[0].name):
        same = robot.with_payload(0, [0.1, 0.2, 0.3], link=link)
        assert same == robot
        assert hash(same) == hash(robot)


@law(robots(), generators())
def test_gravity_turned_off_and_no_gravity_torque(robot, rng):
    q, qd, qdd = state(robot, rng)
    still = robot.with_gravity([0, 0, 0])
    assert (still.gravity(q) == 0).all()
    torque = robot.inverse_dynamics(q, qd, qdd) - robot.gravity(q)
    assert_same(still.inverse_dynamics(q, qd, qdd), torque)
    assert still.with_gravity(robot.model.gravity) == robot


@law(robots((1, 4), rotors=ROTORS), generators(), examples=10)
def test_symbolic_robot_and_the_robot(robot, rng):
    """Every number a symbol with that number as its value: nothing changes but what can be read."""
    symbolic = robot.symbolic()
    same_dynamics(symbolic, robot, rng)
    assert_same(symbolic.parameters, robot.parameters, 1e-12)
    free = robot.symbolic(zeros="free")
    assert_same(free.parameters, robot.parameters, 1e-12)


@law(robots((1, 4)), examples=10)
def test_symbols_of_a_symbolic_robot_are_names(robot):
    """They are printed and read again, so a link's name with a blank in it must not end up in one."""
    names = [name for name, _ in robot.symbolic(zeros="free").model.symbols]
    assert all(name.isidentifier() for name in names), names
    assert len(set(names)) == len(names)


def dh_arm(convention, symbols=None, **first):
    row = {
        "joint": "revolute",
        "a": 0,
        "alpha": 0,
        "d": 0,
        "theta": 0,
        "mass": 1,
        "inertia": {"xx": 1, "yy": 1, "zz": 1},
    }
    rows = [
        row | {"d": "2/5", "alpha": "pi/2"} | first,
        row | {"a": "3/4", "theta": "1/5"},
        row | {"joint": "prismatic", "d": "-1/8", "alpha": "-pi/2", "a": "1/3", "theta": "pi/3"},
    ]
    return Robot.from_dict(
        {
            "name": "named",
            "convention": convention,
            "gravity": [0, 0, -10],
            "symbols": symbols or {},
            "link": rows,
        }
    )


@pytest.mark.parametrize(
    ("convention", "named"),
    [
        ("dh", {"d1": 0.4, "a2": 0.75, "d3": -0.125, "a3": 1 / 3}),
        ("mdh", {"d1": 0.4, "a1": 0.75, "d3": -0.125, "a2": 1 / 3}),
    ],
)
def test_lengths_of_a_dh_table_have_its_names(convention, named):
    """One symbol a length, also where a is turned by theta; written down and read again."""
    robot = dh_arm(convention)
    symbolic = robot.symbolic()
    lengths = {name: x for name, x in symbolic.symbols.items() if name[0] in "adp"}
    assert lengths == named
    same_dynamics(symbolic, robot, np.random.default_rng(1))
    assert Robot.from_dict(symbolic.to_dict()) == symbolic
    assert symbolic.symbolic() == symbolic


def test_a_name_that_is_taken_and_a_length_that_has_one():
    robot = dh_arm("dh", {"a2": 3, "d1": 2}, d="d1", mass="a2")
    assert {name: x for name, x in robot.symbolic().symbols.items() if name[0] in "ad"} == {
        "a2": 3,
        "d1": 2,
        "a2_": 0.75,
        "d3": -0.125,
        "a3": 1 / 3,
    }


def test_positions_of_frames_are_positions():
    link = {
        "joint": "revolute",
        "origin": {"xyz": [1, 2, 3]},
        "axis": [0, 1, 0],
        "mass": 1,
        "inertia": {"yy": 1, "xx": 1},
    }
    table = {"name": "frames", "convention": "frames", "gravity": [0, 0, -10], "link": [link]}
    assert list(Robot.from_dict(table).symbolic().symbols)[:3] == ["px1", "py1", "pz1"]


@law(models((1, 4), plates=False), generators(), st.integers(0, 9999), st.data())
def test_a_fixed_link_in_between_and_none(model, rng, seed, data):
    """A plate inserted before a joint, taking half of the parent's body with it, changes nothing."""
    k = data.draw(st.integers(0, len(model.links) - 1))
    X = rational_transform(random.Random(seed))
    back = Transform(transpose(X.R), neg(apply(transpose(X.R), X.p)))
    child = model.links[k]
    parent = next((link for link in model.links if link.name == child.parent), None)
    half = Inertia()
    if parent is not None:
        half = Inertia(
            parent.inertia.mass / 2,
            tuple(x / 2 for x in parent.inertia.moment),
            tuple(x / 2 for x in parent.inertia.tensor),
        )
    plate = Link("plate", child.parent, "fixed", X, inertia=half.placed(back.R, back.p))
    links = []
    for link in model.links:
        if link is child:
            links += [plate, replace(link, parent="plate", before=back @ link.before)]
        elif link is parent:
            links.append(replace(link, inertia=half))
        else:
            links.append(link)
    if parent is not None:  # the plate must stand after its parent, which keeps its place
        assert [link.name for link in links if link.name != "plate"] == [link.name for link in model.links]
    split = Robot(replace(model, links=tuple(links)))
    assert_same(split.parameters, Robot(model).parameters, 1e-13)
    same_dynamics(split, Robot(model), rng)
