"""Springs and balancers of known behaviour, and robots with springs that are changed."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model.errors import ModelError
from armdyn.model.parts import JointSpring, PointSpring
from arms import assert_same, related
from golden_messages import golden_error
from spring_arms import sprung


def exact(*entries):
    return tuple(Expression.of(x) for x in entries)


def strut(between, at, stiffness=0, rest=0, force=0, name=""):
    a, b = (exact(*p) for p in at)
    return PointSpring(between, (a, b), *exact(stiffness, rest, force), name)


def tower():
    """A column that turns about the vertical and an arm that it carries, raised by q2."""
    frames = {"convention": "frames", "gravity": [0, 0, "-g"], "symbols": {"g": 9.81, "m": 8, "r": 0.7}}
    column = {"name": "column", "joint": "revolute", "axis": [0, 0, 1], "mass": 5, "com": [0.1, 0, 0]}
    column |= {"origin": {"xyz": [0, 0, 0]}, "inertia": {"xx": 1, "yy": 1, "zz": 1}}
    arm = {"name": "arm", "joint": "revolute", "axis": [0, -1, 0], "mass": "m", "com": ["r", 0, 0]}
    arm |= {"origin": {"xyz": [0.3, 0, 1]}, "inertia": {"xx": 0.1, "yy": 1, "zz": 1}}
    return Robot.from_dict({"name": "tower", **frames, "link": [column, arm]}).model


def balanced():
    """With a spring of rest length 0 from 0.5 m above the pitch axis to 0.4 m along the arm."""
    m, g, r = (Expression.symbol(name) for name in "mgr")
    high, along = Expression.of(0.5), Expression.of(0.4)
    zero = Expression.of(0)
    spring = PointSpring(
        ("column", "arm"),
        ((Expression.of(0.3), zero, 1 + high), (along, zero, zero)),
        m * g * r / (high * along),
    )
    return Robot(replace(tower(), springs=(spring,)))


def test_a_zero_length_spring_balances_an_arm_in_every_posture():
    robot = balanced()
    q = np.random.default_rng(1).uniform(-4, 4, (50, 2))
    held = robot.gravity(q) + robot.springs(q)
    assert np.abs(robot.gravity(q)).max() > 50
    assert np.abs(held).max() < 1e-12
    assert np.ptp(robot.potential_energy(q)) < 1e-12


def test_the_balance_is_exact_in_symbols():
    equations = balanced().equations()
    assert all((g + e).is_zero for g, e in zip(equations.g, equations.springs, strict=True))
    assert equations.springs[1] == "-m*g*r*c2"
    assert equations.prove()


def test_a_payload_upsets_the_balance_by_its_weight_alone():
    robot = balanced()
    q = np.random.default_rng(2).uniform(-3, 3, (5, 2))
    loaded = robot.with_payload(2.0, [0.1, 0, 0], link="arm")
    zero = np.zeros((5, 2))
    expected = np.stack([np.zeros(5), 2 * 9.81 * 0.1 * np.cos(q[:, 1])], -1)
    assert_same(loaded.inverse_dynamics(q, zero, zero), expected, 1e-12, scale=100)
    assert_same(loaded.springs(q), robot.springs(q), 1e-14)


def lift():
    link = {"name": "carriage", "joint": "prismatic", "axis": [0, 0, 1], "mass": 4}
    link |= {"origin": {"xyz": [0, 0, 0]}, "com": [0.2, 0, 0]}
    return Robot.from_dict(
        {"name": "lift", "convention": "frames", "gravity": [0, 0, -10], "link": [link]}
    ).model


def test_a_constant_force_carries_a_carriage_at_every_height():
    """Pulled up by 40 N to a pulley 2 m above; beyond the pulley it would pull down."""
    pulley = strut(("base", "carriage"), ((0, 0, 2), (0, 0, 0)), force=40)
    robot = Robot(replace(lift(), springs=(pulley,)))
    heights = np.array([[-3.0], [0.0], [1.9]])
    assert_same(robot.gravity(heights) + robot.springs(heights), np.zeros((3, 1)), 1e-14)
    assert robot.gravity([2.5]) + robot.springs([2.5]) == 80
    assert_same(robot.potential_energy(heights), np.full(3, 80.0), 1e-14)  # 40 q + 40 (2 − q)


def test_a_gas_spring_pushes_and_weakens_as_it_extends():
    """300 N at 0.5 m, 20 N less for each further decimetre."""
    gas = strut(("base", "carriage"), ((0, 0, -0.5), (0, 0, 0)), stiffness=200, rest=0.5, force=-300)
    robot = Robot(replace(lift(), springs=(gas,)))
    assert_same(robot.springs([[0.0], [0.1], [0.5]]), [[-300], [-280], [-200]], 1e-13)


def test_points_that_meet_have_no_direction():
    preloaded = strut(("base", "carriage"), ((0, 0, 0), (0, 0, 0)), stiffness=10, rest=0.2)
    bare = strut(("base", "carriage"), ((0, 0, 0), (0, 0, 0)), stiffness=10)
    with np.errstate(invalid="ignore", divide="ignore"):
        assert np.isnan(Robot(replace(lift(), springs=(preloaded,))).springs([0.0]))
    assert Robot(replace(lift(), springs=(bare,))).springs([0.0]) == 0
    assert Robot(replace(lift(), springs=(bare,))).springs([0.3]) == 3


def test_a_spring_within_one_body_does_nothing():
    """Its ends on a link and on a plate that is welded to it."""
    model = lift()
    plate = replace(model.links[0], name="plate", parent="carriage", joint="fixed")
    spring = strut(("carriage", "plate"), ((0, 0, 0), (0, 1, 0)), stiffness=10, rest=0.2)
    robot = Robot(replace(model, links=(*model.links, plate), springs=(spring,)))
    assert robot.springs([0.4]) == 0
    assert not robot.joint_wrenches([0.4], [0.0], [0.0])[0, 1]


def test_batches_and_out():
    robot = Robot(sprung(Robot.load("elbow").model, 5, struts=3))
    q = np.random.default_rng(0).uniform(-1, 1, (2, 5, robot.n))
    whole = robot.springs(q)
    assert whole.shape == q.shape
    assert_same(whole[1, 3], robot.springs(q[1, 3]), 1e-14)
    out = np.empty_like(q)
    assert robot.springs(q, out=out) is out
    assert np.array_equal(out, whole)
    mine = robot.parameters * np.linspace(0.9, 1.1, 5)[:, None]
    rows = robot.springs(q, parameters=mine)
    assert_same(rows[:, 2], robot.with_parameters(mine[2]).springs(q[:, 2]), 1e-12)


# ---- changed robots ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mimic", [False, True])
def test_parameters_put_back_give_the_same_robot(mimic):
    model = sprung(Robot.load("puma560").model, 7, struts=3)
    robot = Robot(related(model, 2) if mimic else model)
    q = np.random.default_rng(3).uniform(-1, 1, (4, robot.n))
    again = robot.with_parameters(robot.parameters)
    assert_same(again.parameters, robot.parameters, 1e-14)
    assert_same(again.springs(q), robot.springs(q), 1e-13)
    pi = robot.parameters * np.random.default_rng(4).uniform(0.5, 1.5, robot.parameters.shape)
    other = robot.with_parameters(pi)
    assert_same(other.parameters, pi, 1e-13)
    assert_same(other.springs(q), robot.springs(q, parameters=pi), 1e-12)
    assert other.model.springs[2].force != robot.model.springs[2].force  # a force stays a force
    assert other.model.springs[1].rest == robot.model.springs[1].rest == 0


def test_a_spring_without_stiffness_cannot_have_a_torque():
    model = Robot.load("pendulum").model
    robot = Robot(replace(model, links=(replace(model.links[0], spring=JointSpring(*exact(3, 1))),)))
    pi = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    assert (pi["Ks1"], pi["Kr1"]) == (3, 3)
    with golden_error(ModelError):
        robot.with_parameters(list((pi | {"Ks1": 0}).values()))
    without = robot.with_parameters(list((pi | {"Ks1": 0, "Kr1": 0}).values()))
    assert not without.springs([0.5])


def test_symbols_of_springs():
    robot = Robot(sprung(Robot.load("planar").model, 7, struts=3))
    named = robot.symbolic()
    assert {"Ks1", "qr1", "Kp1", "lr1", "fp1", "Kp2", "fp3"} <= set(named.symbols)
    assert not {"lr2", "fp2", "Kp3", "lr3"} & set(named.symbols)
    q = np.random.default_rng(3).uniform(-1, 1, (4, 2))
    assert_same(named.springs(q), robot.springs(q), 1e-13)
    stiff = named.with_symbols(Ks1=2 * named.symbols["Ks1"], Kp1=0)
    parameters = dict(zip(robot.parameter_names, robot.parameters, strict=True))
    changed = parameters | {"Ks1": 2 * parameters["Ks1"], "Kr1": 2 * parameters["Kr1"], "Kp1": 0}
    changed["Pp1"] = -float(named.symbols["fp1"])
    assert_same(stiff.parameters, list(changed.values()), 1e-13)


def test_robots_that_differ_in_springs_are_different():
    robot = balanced()
    assert robot != Robot(tower())
    assert robot == balanced()
    assert hash(robot) == hash(balanced())


def test_a_spring_within_one_body_does_nothing_even_without_length():
    model = tower()
    plate = replace(model.links[1], name="plate", joint="fixed", parent="arm", motor=None)
    springs = (strut(("arm", "plate"), ((0.3, 0, 1), (0, 0, 0)), 10, 0.5, 3),)
    bare = Robot(replace(model, links=(*model.links, plate), tip="arm"))
    robot = Robot(replace(bare.model, springs=springs))
    state = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    for name in ("inverse_dynamics", "forward_dynamics", "joint_wrenches"):
        np.testing.assert_array_equal(getattr(robot, name)(*state), getattr(bare, name)(*state))
    assert not robot.regressor(*state)[:, -2:].any()
