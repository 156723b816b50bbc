"""Joints that follow others, q = S x + s₀: every function is that of the freed robot, reduced by S."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import BaseMotion, Robot, simulate
from armdyn.description import DescriptionError
from armdyn.dynamics import inertia_by_jacobians
from armdyn.exact import Equations
from armdyn.expression import Expression
from armdyn.model.closures import Relation
from armdyn.robot.joints import followers
from arms import assert_same, generators, law, models, related, robots, state
from golden_messages import golden_error


def matrices(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """S and s₀ from positions of the joints alone."""
    s0 = robot.joint_positions(np.zeros(robot.n))
    return (robot.joint_positions(np.eye(robot.n)) - s0).T, s0


@law(robots((2, 5), rotors=("exact", "reflected")), generators(), examples=8, thorough=75)
def test_every_function_is_that_of_the_freed_robot_reduced_by_S(free, rng):
    robot = Robot(related(free.model, int(rng.integers(2**31))))
    S, s0 = matrices(robot)
    assert S.shape == (free.n, robot.n) == (len(robot.joints), len(robot.coordinates))
    x, xd, xdd = state(robot, rng)
    q, qd, qdd = S @ x + s0, S @ xd, S @ xdd
    assert_same(robot.joint_velocities(xd), qd)
    h = rng.normal(size=6)
    base = BaseMotion(*rng.normal(size=(3, 3)))
    tau = robot.inverse_dynamics(x, xd, xdd)
    assert_same(tau, S.T @ free.inverse_dynamics(q, qd, qdd))
    moved = free.inverse_dynamics(q, qd, qdd, h, base=base)
    assert_same(robot.inverse_dynamics(x, xd, xdd, h, base=base), S.T @ moved)
    scale = max(1.0, float(np.linalg.cond(robot.inertia(x))))
    assert_same(robot.forward_dynamics(x, xd, S.T @ moved, h, base=base), xdd, 1e-11 * scale)
    assert_same(robot.inertia(x), S.T @ free.inertia(q) @ S)
    assert_same(robot.coriolis(x, xd), S.T @ free.coriolis(q, qd) @ S)
    assert_same(robot.gravity(x), S.T @ free.gravity(q))
    assert_same(robot.friction(xd), S.T @ free.friction(qd))
    assert_same(robot.kinetic_energy(x, xd), free.kinetic_energy(q, qd))
    assert_same(robot.potential_energy(x), free.potential_energy(q))
    assert_same(robot.pose(x), free.pose(q))
    assert_same(robot.jacobian(x), free.jacobian(q) @ S)
    assert_same(robot.jacobian_dot(x, xd), free.jacobian_dot(q, qd) @ S)
    assert_same(robot.joint_wrenches(x, xd, xdd, h), free.joint_wrenches(q, qd, qdd, h))
    assert_same(robot.regressor(x, xd, xdd), S.T @ free.regressor(q, qd, qdd))
    assert robot.parameter_names == free.parameter_names
    assert_same(robot.regressor(x, xd, xdd) @ robot.parameters, tau)
    for found, expected in zip(
        robot.inverse_dynamics_derivatives(x, xd, xdd, h),
        free.inverse_dynamics_derivatives(q, qd, qdd, h),
        strict=True,
    ):
        assert_same(found, S.T @ expected @ S)
    parameters = rng.normal(size=len(robot.parameters))
    other = free.inverse_dynamics(q, qd, qdd, parameters=parameters)
    assert_same(robot.inverse_dynamics(x, xd, xdd, parameters=parameters), S.T @ other)
    condition = np.linalg.cond(robot.inertia(x))
    assert_same(robot.forward_dynamics(x, xd, tau), xdd, 1e-13 * max(100.0, condition))


@law(robots((2, 5), rotors=("exact", "reflected")), generators(), examples=8, thorough=75)
def test_a_robot_opened_is_the_tree_that_its_relations_close(free, rng):
    """With passive joints, which are ordinary ones there; the others stay what they are."""
    made = related(free.model, int(rng.integers(2**31)))
    tied = {name for relation in made.relations for name, _ in relation.coefficients}
    links = [replace(x, actuated=x.joint == "fixed" or rng.random() < 0.5) for x in made.links]
    robot = Robot(replace(made, links=tuple(links)))
    tree = robot.opened()
    assert tree.coordinates == robot.joints
    assert {x.name for x in tree.model.links if not x.actuated} == {
        x.name for x in links if not x.actuated and x.name not in tied
    }
    S, s0 = matrices(robot)
    x, xd, xdd = state(robot, rng)
    motion = S @ x + s0, S @ xd, S @ xdd
    assert_same(tree.inverse_dynamics(*motion), free.inverse_dynamics(*motion))
    assert_same(robot.inertia(x), S.T @ tree.inertia(motion[0]) @ S)
    assert_same(robot.gravity(x), S.T @ tree.gravity(motion[0]))


@law(models((2, 4), motors="any"), generators(), examples=6, thorough=20)
def test_equations_with_relations_are_proved(model, rng):
    """Also where cosines of half angles stay opaque; and they are the kernels' numbers."""
    model = related(model, int(rng.integers(2**31)), whole=bool(rng.integers(2)))
    robot, equations = Robot(model), Equations(model)
    if equations.terms > 30_000:
        return
    equations.prove()
    handed = equations.sympy()
    x, xd, _ = state(robot, rng)
    values = dict(zip([*handed.q, *handed.qd], [*x, *xd], strict=True))
    B, C, g, friction = (
        np.array(M.subs(values).evalf(30), float) for M in (handed.B, handed.C, handed.g, handed.friction)
    )
    assert_same(B, robot.inertia(x))
    assert_same(C, robot.coriolis(x, xd))
    assert_same(g[:, 0], robot.gravity(x))
    assert_same(friction[:, 0], robot.friction(xd))


def gripper(**closure: object) -> dict:
    """A turning base with a sliding finger and a finger that turns."""

    def finger(name: str, joint: str, axis: list[int]) -> dict:
        return {
            "name": name,
            "parent": "wrist",
            "joint": joint,
            "origin": {"xyz": [0.1, 0, 0]},
            "axis": axis,
            "mass": 0.5,
            "com": [0.05, 0.02, 0.01],
            "inertia": {"xx": 0.01, "yy": 0.012, "zz": 0.009, "xy": 0.001, "xz": -0.002, "yz": 0.0015},
            "friction": {"viscous": 0.2, "coulomb": 0.1},
        }

    wrist = {
        "name": "wrist",
        "joint": "revolute",
        "origin": {"xyz": [0, 0, 0.2], "rpy": ["pi/2", 0, 0.3]},
        "axis": [0, 0, 1],
        "mass": 2,
        "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
    }
    return {
        "name": "gripper",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "link": [wrist, finger("left", "prismatic", [0, 1, 0]), finger("right", "revolute", [1, 0, 0])],
        "closure": [{"relation": {"right": 1, "left": -8.0}, "offset": 0.1} | closure],
    }


@pytest.mark.slow
def test_a_slide_that_turns_a_joint_is_proved_and_simulated():
    """cos(8 d) has no polynomial form in d; its derivative is known all the same."""
    robot = Robot.from_dict(gripper())
    assert (robot.n, robot.joints, robot.coordinates) == (2, ("wrist", "left", "right"), ("wrist", "left"))
    robot.equations().prove()
    assert "cos(8*q2" in str(robot.equations().B)
    exact = simulate(robot, [0.3, 0.02], [0.5, 0.1], 0.4)
    steps = simulate(robot, [0.3, 0.02], [0.5, 0.1], 0.4, method="rk4", step=1e-4)
    assert_same(steps.q[-1], exact.q[-1], 1e-4)  # where friction changes, rk4 is of first order
    assert abs(exact.balance).max() < 1e-8


def test_friction_of_a_follower_holds_the_joint_it_follows():
    """0.1 N of the slide and 8 times 0.1 N m of the turning finger: 0.9 N are needed to move."""
    table = gripper()
    table["gravity"] = [0, 0, 0]
    robot = Robot.from_dict(table)
    still = simulate(robot, [0, 0], [0, 0], 0.2, torque=[0, 0.89])
    moving = simulate(robot, [0, 0], [0, 0], 0.2, torque=[0, 0.91])
    assert still.q[-1, 1] == 0
    assert moving.q[-1, 1] > 0
    batch = simulate(
        robot, [[0, 0], [0, 0]], [[0, 0], [0, 0]], 0.2, torque=[0, 0.89], method="rk4", step=1e-3
    )
    assert (batch.q[..., 1] == 0).all()


def test_a_joint_that_a_relation_holds_in_place_is_proved_and_simulated():
    """right = π/3: its row of S is empty, and its friction acts on nothing."""
    table = gripper(relation={"right": 1}, offset="pi/3")
    robot = Robot.from_dict(table)
    del table["link"][2]["friction"]
    free = Robot.from_dict(table)
    robot.equations().prove()
    assert "sgn" in str(robot.equations().friction)
    assert_same(robot.inertia([0.3, 0.02]), free.inertia([0.3, 0.02]))
    for method in ({}, {"method": "rk4", "step": 1e-3}):
        found, expected = (simulate(x, [0.3, 0.02], [0.5, 0.1], 0.1, **method) for x in (robot, free))
        assert_same(found.q[-1], expected.q[-1])


def test_what_cancels_in_the_speed_of_a_motor_is_left_out():
    """The motor of "right" turns by 2 wrist + 0.3 left - 3 right, right = 0.1 left: with the wrist."""
    table = gripper(relation={"right": 1, "left": -0.1}, offset=0)
    coupling = {"wrist": 2, "left": 0.3}
    motor = {"inertia": 1e-4, "gear": -3, "coupling": coupling, "friction": {"coulomb": 5.0}}
    table["link"][2]["motor"] = motor | {"carrier": "wrist", "axis": [0, 0.6, 0.8]}
    robot = Robot.from_dict(table)
    assert_same(robot.friction([1.0, 1.0]), [10, 0.2 * (1 + 0.1**2) + 0.1 * (1 + 0.1)])
    assert robot.mechanism.friction[-1].row == ((0, 2),)
    robot.equations().prove()
    assert "sgnm" not in str(robot.equations())
    sliding = simulate(robot, [0, 0], [0.1, 0], 0.05)
    assert sliding.qd[-1, 0] == 0
    assert abs(sliding.balance).max() < 1e-8


def test_a_factor_of_value_zero_limits_nothing():
    from armdyn.robot.joints import joint_limits

    table = gripper(relation={"right": 1, "left": "k"}, offset=-0.3) | {"symbols": {"k": 0}}
    table["link"][2]["limits"] = {"position": [-0.3, 0.5], "velocity": 4.0}
    limits = joint_limits(Robot.from_dict(table))
    assert (limits.lower[1], limits.upper[1], limits.velocity[1]) == (-np.inf, np.inf, np.inf)


def test_limits_of_a_follower_limit_what_it_follows():
    from armdyn.robot.joints import joint_limits

    table = gripper()
    table["link"][1]["limits"] = {"position": [-0.1, 0.1], "velocity": 2.0}
    table["link"][2]["limits"] = {"position": [-0.3, 0.5], "velocity": 4.0, "torque": 1.0}
    limits = joint_limits(Robot.from_dict(table))
    assert_same([limits.lower[1], limits.upper[1], limits.velocity[1]], [-0.05, 0.05, 0.5])
    assert np.isinf(limits.torque).all()


def test_limits_of_a_joint_that_follows_several_are_rows():
    table = gripper()
    table["link"][2]["limits"] = {"velocity": 4.0, "position": [-1, 2]}
    table["closure"] = [{"relation": {"right": 1, "left": -8, "wrist": 1}, "offset": 0.5}]
    found = followers(Robot.from_dict(table))
    limits = found.limits
    assert found.linear.S.tolist() == [[-1, 8]]
    assert (limits.velocity, limits.lower, limits.upper, found.linear.s0) == (4, -1, 2, 0.5)
    assert_same(found.excess(np.array([[0.0, 0.0], [0.5, 0.5]])), [[-1.5], [2.0]])


@pytest.mark.parametrize(
    "closure",
    [
        [{"relation": {"right": 1, "thumb": 1}}],
        [{"relation": {"right": 1}}, {"relation": {"right": 2}}],
        [{"relation": {"right": 1}}, {"relation": {"right": 2}, "offset": 1}],
        [{"relation": {x: 1}} for x in ("wrist", "left", "right")],
        [{"relation": {"right": "z", "left": 1}}],
        [{}],
        [{"relation": 3}],
        [{"relation": {"right": 1}, "ofset": 0}],
        3,
    ],
)
def test_relations_that_make_no_sense_are_refused(closure):
    table = gripper() | {"closure": closure, "symbols": {"z": 0}}
    with golden_error(DescriptionError):
        Robot.from_dict(table)


@law(robots((1, 4)), generators(), examples=10)
def test_a_placed_base_moves_poses_and_turns_wrenches(robot, rng):
    """World = base · robot; what needs no world (torques without wrench, B, C, g) is unchanged."""
    T = robot.model.tool  # any exact transform
    placed = Robot(replace(robot.model, base=T))
    R = np.array([[robot.model.number(x) for x in row] for row in T.R])
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = R, [robot.model.number(x) for x in T.p]
    both = np.kron(np.eye(2), R)
    q, qd, qdd = state(robot, rng)
    h, motion = rng.normal(size=6), rng.normal(size=(3, 3))
    assert_same(placed.pose(q), world @ robot.pose(q))
    assert_same(placed.jacobian(q), both @ robot.jacobian(q))
    assert_same(placed.jacobian_dot(q, qd), both @ robot.jacobian_dot(q, qd))
    assert_same(placed.inertia(q), robot.inertia(q))
    assert_same(placed.gravity(q), robot.gravity(q))
    assert_same(inertia_by_jacobians(placed.mechanism, list(q)), robot.inertia(q))
    expected = robot.inverse_dynamics(q, qd, qdd, h, base=BaseMotion(*motion))
    turned_motion = BaseMotion(*(motion @ R.T))
    assert_same(placed.inverse_dynamics(q, qd, qdd, both @ h, base=turned_motion), expected)
    forward = robot.forward_dynamics(q, qd, qdd, h)
    assert_same(placed.forward_dynamics(q, qd, qdd, both @ h), forward, 1e-9)
    rise = placed.potential_energy(q) - robot.potential_energy(q)
    assert_same(rise, placed.potential_energy(0 * q) - robot.potential_energy(0 * q), 1e-10)


# ---- which joints are coordinates --------------------------------------------------------------------------


def passive(*names: str, closures: list[dict]) -> Robot:
    """The gripper's three joints under some relations, of which some are passive."""
    table = gripper()
    table["closure"] = closures
    for link in table["link"]:
        link["actuated"] = link["name"] not in names
    return Robot.from_dict(table)


def test_a_relation_is_solved_for_the_joint_named_first():
    for first, others in (("left", ("wrist", "right")), ("right", ("wrist", "left"))):
        (second,) = {"left", "right"} - {first}
        assert passive(closures=[{"relation": {first: 1, second: 2}}]).coordinates == others


def test_a_relation_is_solved_for_a_passive_joint_wherever_it_stands():
    closures = [{"relation": {"left": 1, "wrist": -3, "right": 2}, "offset": 0.1}]
    for name in ("wrist", "left", "right"):
        robot = passive(name, closures=closures)
        assert robot.coordinates == tuple(x for x in robot.joints if x != name)
        x = np.array([0.3, 0.2])
        q = dict(zip(robot.joints, robot.joint_positions(x), strict=True))
        assert q["left"] - 3 * q["wrist"] + 2 * q["right"] == pytest.approx(0.1)


def test_passive_joints_are_found_behind_those_solved_before():
    """left = wrist by the first relation; the second names left and right, and is solved for right."""
    closures = [{"relation": {"left": 1, "wrist": -1}}, {"relation": {"left": 1, "right": -2}}]
    assert passive("right", closures=closures).coordinates == ("wrist",)
    robot = passive("wrist", "right", closures=closures)
    assert robot.coordinates == ("left",)
    assert_same(robot.joint_positions([0.4]), [0.4, 0.4, 0.2])


@law(robots((3, 5), rotors=("exact", "reflected")), generators(), examples=2, thorough=30)
def test_the_choice_of_coordinates_does_not_change_the_robot(free, rng):
    """The same relations solved for other joints: x' = T x, and torques go with it."""
    names = [link.name for link in free.model.moving]
    factors = rng.integers(1, 4, size=(1, len(names))) * rng.choice([-1, 1], size=len(names))
    relation = Relation(tuple((n, Expression.of(int(k))) for n, k in zip(names, factors[0], strict=True)))
    made = []
    for chosen in (names[0], names[-1]):
        links = [replace(x, actuated=x.name != chosen, motor=None) for x in free.model.links]
        made.append(Robot(replace(free.model, links=tuple(links), relations=(relation,))))
    one, other = made
    x, xd, xdd = state(one, rng)
    (S, _), (R, _) = matrices(one), matrices(other)
    T = np.linalg.pinv(R) @ S
    assert_same(R @ T, S)
    assert_same(one.inverse_dynamics(x, xd, xdd), T.T @ other.inverse_dynamics(T @ x, T @ xd, T @ xdd), 1e-10)
    assert_same(one.inertia(x), T.T @ other.inertia(T @ x) @ T, 1e-10)
    assert_same(one.pose(x), other.pose(T @ x))


# ---- printing ----------------------------------------------------------------------------------------------


@law(models((2, 3), motors="any"), generators(), examples=3, thorough=40)
def test_printed_entries_are_read_as_what_they_are(model, rng):
    """cos(q2 - q1), sin(2*q1) and the like stand for the products they came from."""
    equations = Equations(related(model, int(rng.integers(2**31)), whole=True))
    entries = [x for M in (equations.B, equations.C) for row in M for x in row]
    for entry in (*entries, *equations.g):
        if entry.size < 2000 and "where" not in (text := str(entry)):
            rest = (entry - text).poly.terms().values()  # numbers are printed to 12 digits
            size = max(map(abs, entry.expanded.terms().values()), default=0)
            assert max(map(abs, rest), default=0) <= 1e-9 * size


def coupled(factor: int) -> Robot:
    """Two links with parallel axes in a vertical plane, the second by a multiple of the first."""

    def link(i: int) -> dict:
        place = {"name": f"link {i}", "joint": "revolute", "a": f"a{i}", "alpha": 0, "d": 0}
        return place | {"mass": f"m{i}", "com": [0, 0, 0]}

    table = {"name": "finger", "convention": "dh", "gravity": [0, "-g", 0], "link": [link(1), link(2)]}
    table["symbols"] = dict.fromkeys(["g", "a1", "a2", "m1", "m2"], "free")
    return Robot.from_dict(table | {"closure": [{"relation": {"link 2": 1, "link 1": -factor}}]})


def test_multiples_of_an_angle_are_printed_as_one():
    assert str(coupled(1).equations().g[0]) == "a1*(m1 + m2)*g*c1 + 2*m2*a2*g*cos(2*q1)"
    assert str(coupled(2).equations().B[0, 0]) == "m1*a1**2 + m2*(a1**2 + 9*a2**2 + 6*a1*a2*cos(2*q1))"
    assert r"\cos(2 \vartheta_{1})" in coupled(1).equations().latex()
    assert str(coupled(-1).equations().g[0]) == "a1*(m1 + m2)*g*c1"  # the second link stays level


def test_the_rods_of_the_palletiser_end_where_they_are_held():
    """Relations close the chain: frames on both sides of each cut coincide in every posture."""
    robot = Robot.load("palletizer")
    q = np.random.default_rng(6).normal(size=(200, robot.n))
    for rod, held in (
        ("rod end", "forearm tail"),
        ("lower rod end", "bracket arm"),
        ("upper rod end", "wrist arm"),
    ):
        assert_same(robot.pose(q, rod)[:, :3, 3], robot.pose(q, held)[:, :3, 3], 1e-13)
    assert_same(robot.pose(q)[:, 2, 2], np.ones(200))
