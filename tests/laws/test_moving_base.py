"""A moving base: as gravity, as further joints before the arm, and both ways."""

from dataclasses import replace

import numpy as np

from armdyn import BaseMotion, Robot
from armdyn.expression import Expression
from armdyn.model import Link, Transform
from arms import ROTORS, assert_same, generators, law, robots, state


@law(robots(rotors=ROTORS), generators())
def test_accelerating_base_and_gravity(robot, rng):
    """A base that accelerates with a, is an arm under gravity g − a."""
    q, qd, qdd = state(robot, rng)
    a, wrench = rng.uniform(-9, 9, 3), rng.uniform(-9, 9, 6)
    g = np.array([robot.model.number(x) for x in robot.model.gravity])
    moving = robot.inverse_dynamics(q, qd, qdd, wrench, base=BaseMotion(linear_acceleration=a))
    assert_same(moving, robot.with_gravity(g - a).inverse_dynamics(q, qd, qdd, wrench))


@law(robots(rotors=ROTORS), generators())
def test_resting_base_and_no_base(robot, rng):
    q, qd, qdd = state(robot, rng)
    assert_same(
        robot.inverse_dynamics(q, qd, qdd, base=BaseMotion()), robot.inverse_dynamics(q, qd, qdd), 1e-14
    )


def on_joints(robot: Robot, joints: str) -> Robot:
    """The arm on massless carriages: one joint per letter, p and r, along x, y, z in turn."""
    parent, carriages = "base", []
    for i, letter in enumerate(joints):
        name = f"carriage {i + 1}"
        axis = tuple(int(i % 3 == k) for k in range(3))
        shift = tuple(Expression.of(x) for x in (0.1 * i, -0.2, 0.3))
        kind = "prismatic" if letter == "p" else "revolute"
        carriages.append(Link(name, parent, kind, Transform(p=shift), axis))
        parent = name
    model = robot.model

    def moved(name: str) -> str:
        return parent if name == "base" else name

    links = [
        replace(
            link,
            parent=moved(link.parent),
            motor=link.motor and replace(link.motor, carrier=moved(link.motor.carrier)),
        )
        for link in model.links
    ]
    return Robot(replace(model, links=(*carriages, *links)))


def check_base_and_joints(robot: Robot, joints: str, rng: np.random.Generator) -> None:
    whole, count = on_joints(robot, joints), len(joints)
    mount = f"carriage {count}"
    x, xd, xdd = state(whole, rng)
    wrench = rng.uniform(-9, 9, 6)  # in axes of the mount
    R = whole.pose(x, mount)[:3, :3]
    J, Jd = whole.jacobian(x, mount), whole.jacobian_dot(x, xd, mount)
    motion = [R.T @ v for v in (J[3:] @ xd, J[3:] @ xdd + Jd[3:] @ xd, J[:3] @ xdd + Jd[:3] @ xd)]
    g = R.T @ [robot.model.number(v) for v in robot.model.gravity]
    turned = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    q, qd, qdd = (v[count:] for v in (x, xd, xdd))
    standing, base = robot.with_gravity(g), BaseMotion(*motion)
    found = standing.inverse_dynamics(q, qd, qdd, wrench, base=base)
    assert_same(found, whole.inverse_dynamics(x, xd, xdd, turned)[count:], 1e-10)
    scale = max(1.0, float(np.linalg.cond(robot.inertia(q))))
    assert_same(standing.forward_dynamics(q, qd, found, wrench, base=base), qdd, 1e-11 * scale)


@law(robots((1, 4), rotors=ROTORS), generators())
def test_moving_base_and_one_revolute_joint(robot, rng):
    check_base_and_joints(robot, "r", rng)


@law(robots((1, 4), motors="base"), generators(), examples=10)
def test_moving_base_with_motors_on_it_and_one_revolute_joint(robot, rng):
    check_base_and_joints(robot, "r", rng)


@law(robots((1, 3), rotors=ROTORS), generators(), examples=10)
def test_moving_base_and_six_joints(robot, rng):
    check_base_and_joints(robot, "ppprrr", rng)
