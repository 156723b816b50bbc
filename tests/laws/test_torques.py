"""Torques: inverse and forward dynamics, the terms of (7.42), tip and joint wrenches."""

import numpy as np
from hypothesis import strategies as st

from armdyn import Robot
from armdyn.dynamics import newton_euler
from armdyn.model import lower
from arms import ROTORS, assert_same, generators, law, plans, robots, state, table_of


@law(robots(rotors=ROTORS), generators())
def test_inverse_dynamics_and_the_terms_of_the_equations(robot, rng):
    """τ = B q̈ + C q̇ + friction + g (7.42)."""
    q, qd, qdd = state(robot, rng)
    terms = robot.inertia(q) @ qdd + robot.coriolis(q, qd) @ qd + robot.friction(qd) + robot.gravity(q)
    assert_same(robot.inverse_dynamics(q, qd, qdd), terms)


@law(robots(rotors=ROTORS), generators())
def test_forward_dynamics_of_inverse_dynamics(robot, rng):
    q, qd, qdd = state(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)
    condition = np.linalg.cond(robot.inertia(q))
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-13 * condition, scale=np.abs(tau).max())


@law(robots(rotors=ROTORS), generators())
def test_inverse_dynamics_of_forward_dynamics_with_tip_wrench(robot, rng):
    q, qd, tau = state(robot, rng)
    wrench = rng.uniform(-9, 9, 6)
    qdd = robot.forward_dynamics(q, qd, tau, wrench)
    scale = np.abs(robot.inertia(q)).max() * np.abs(qdd).max()
    assert_same(robot.inverse_dynamics(q, qd, qdd, wrench), tau, 1e-11, scale=scale)


@law(robots(rotors=ROTORS), generators())
def test_tip_wrench_and_jacobian_transpose(robot, rng):
    """h_e, exerted on the environment, adds Jᵀh_e to the torques needed."""
    q, qd, qdd = state(robot, rng)
    wrench = rng.uniform(-9, 9, 6)
    free, loaded = robot.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd, wrench)
    assert_same(loaded - free, robot.jacobian(q).T @ wrench, scale=np.abs(free).max())


@law(robots(rotors=ROTORS), generators())
def test_joint_wrench_along_the_axis_and_torque(robot, rng):
    """What a joint bears along its axis is its torque, less friction and its motors' spin."""
    q, qd, qdd = state(robot, rng)
    wrench = rng.uniform(-9, 9, 6)
    mechanism = lower(robot.model, robot.model.number)
    run = newton_euler(mechanism, q, qd, qdd, wrench)
    spin = np.zeros(robot.n)
    for rotor, dw_m in zip(mechanism.rotors, run.dw_m, strict=True):
        theta = sum(k * qdd[j] for j, k in rotor.row)  # the reflected model has no axis to project on
        along = np.dot(rotor.axis, dw_m) if robot.model.rotors == "exact" else theta
        for j, k in rotor.row:
            spin[j] += k * rotor.inertia * along
    bare = robot.inverse_dynamics(q, qd, qdd, wrench) - robot.friction(qd) - spin
    wrenches = robot.joint_wrenches(q, qd, qdd, wrench)
    for j, link in enumerate(robot.model.moving):
        axis = [robot.model.number(x) for x in link.axis]  # "frames": joint axes are link axes
        f, mu = wrenches[j, :3], wrenches[j, 3:]
        assert_same(np.dot(axis, mu if link.joint == "revolute" else f), bare[j], 1e-10)


@law(robots((1, 4), tree=False, motors="none", joints=("revolute",)), generators())
def test_first_joint_wrench_and_momentum_of_the_whole_arm(robot, rng):
    """Force and moment at the first joint move the whole arm: the rate of its momentum, and its weight."""
    q, qd, qdd = state(robot, rng)
    model, number = robot.model, robot.model.number

    def momentum(t):
        """Linear and angular momentum about the base origin, and first moment, from link positions."""
        total = np.zeros(9)
        p, v = q + qd * t + qdd * t * t / 2, qd + qdd * t
        for link in model.links:
            body, T, J = link.inertia, robot.pose(p, link.name), robot.jacobian(p, link.name)
            m, h = number(body.mass), T[:3, :3] @ [number(x) for x in body.moment]
            xx, xy, xz, yy, yz, zz = (number(x) for x in body.tensor)
            I = T[:3, :3] @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ T[:3, :3].T
            velocity, w, origin = J[:3] @ v, J[3:] @ v, T[:3, 3]
            linear = m * velocity + np.cross(w, h)
            angular = np.cross(h, velocity) + I @ w + np.cross(origin, linear)
            total += np.concatenate([linear, angular, m * origin + h])
        return total

    rate = (momentum(1e-4) - momentum(-1e-4))[:6] / 2e-4
    gravity = np.array([number(x) for x in model.gravity])
    moved = [link for link in model.links if not link.name.startswith("plate 1")]
    fixed = [link for link in model.links if link not in moved]
    mass = sum(number(link.inertia.mass) for link in model.links) - sum(number(x.inertia.mass) for x in fixed)
    moment = momentum(0)[6:] - sum(
        (
            number(x.inertia.mass) * robot.pose(q, x.name)[:3, 3]
            + robot.pose(q, x.name)[:3, :3] @ [number(y) for y in x.inertia.moment]
            for x in fixed
        ),
        np.zeros(3),
    )
    first = model.moving[0].name
    T = robot.pose(q, first)
    f, mu = np.split(robot.joint_wrenches(q, qd, qdd)[0], 2)
    force, about_joint = T[:3, :3] @ f, T[:3, :3] @ mu
    assert_same(force, rate[:3] - mass * gravity, 1e-6)
    assert_same(
        about_joint + np.cross(T[:3, 3], force), rate[3:] - np.cross(moment, gravity), 1e-6
    )  # "frames": the joint is at its link's origin


@law(plans(), generators())
def test_friction_and_its_description(plan, rng):
    """Joint friction by the joint's direction; motor friction by the motor's own, through Kᵀ."""
    table = table_of(plan)
    robot = Robot.from_dict(table)
    links = [link for link in table["link"] if link["joint"] != "fixed"]
    names = [link["name"] for link in links]
    qd = rng.uniform(-2, 2, robot.n) * rng.integers(0, 2, robot.n)  # some joints at rest

    def rub(friction, speed):
        coulomb = friction.get("coulomb", 0)
        forward, backward = coulomb if isinstance(coulomb, list) else (coulomb, -coulomb)
        dry = forward if speed > 0 else backward if speed < 0 else 0
        return float(friction.get("viscous", 0)) * speed + float(dry) + float(friction.get("offset", 0))

    tau = np.array([rub(link.get("friction", {}), v) for link, v in zip(links, qd, strict=True)])
    for j, link in enumerate(links):
        if motor := link.get("motor"):
            row = {j: motor["gear"]} | {names.index(k): v for k, v in motor["coupling"].items()}
            speed = sum(float(k) * qd[i] for i, k in row.items())
            for i, k in row.items():
                tau[i] += float(k) * rub(motor.get("friction", {}), speed)
    assert_same(robot.friction(qd), tau)
    q, _, qdd = state(robot, rng)
    smooth = Robot.from_dict(table_of(plan) | {"link": [_smooth(link) for link in table["link"]]})
    with_friction = robot.inverse_dynamics(q, qd, qdd)
    assert_same(with_friction - smooth.inverse_dynamics(q, qd, qdd), tau, scale=np.abs(with_friction).max())


def _smooth(link):
    link = {key: value for key, value in link.items() if key != "friction"}
    if "motor" in link:
        link["motor"] = {key: value for key, value in link["motor"].items() if key != "friction"}
    return link


@law(robots(rotors=ROTORS), generators(), st.integers(0, 5))
def test_a_row_of_a_batch_and_one_sample(robot, rng, row):
    q, qd, qdd = state(robot, rng, (6,))
    for name in ("inverse_dynamics", "forward_dynamics", "joint_wrenches", "regressor"):
        method = getattr(robot, name)
        assert_same(method(q, qd, qdd)[row], method(q[row], qd[row], qdd[row]), 1e-13)
    assert_same(robot.coriolis(q, qd)[row], robot.coriolis(q[row], qd[row]), 1e-13)
