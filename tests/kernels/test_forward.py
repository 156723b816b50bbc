"""Forward dynamics: factorised inertia and articulated bodies agree; the cheaper one is taken."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, dynamics
from armdyn.model.parameters import layout
from armdyn.robot.functions import FUNCTIONS, Context, _recorded
from arms import generators, law, quietly, robots, slowly, state
from golden_messages import golden_error
from long_chains import chain


def tolerance(robot, q):
    """1e-15·n·cond(B)."""
    B = np.array(dynamics.inertia_matrix(robot.mechanism, q.tolist()), float)
    return 1e-15 * robot.n * np.linalg.cond(B)


def both(robot, q, qd, tau, wrench=None):
    """q̈ by either way, on floats."""
    arguments = [x.tolist() for x in (q, qd, tau)]
    given = None if wrench is None else wrench.tolist()
    return [
        np.array(way(robot.mechanism, *arguments, given), float)
        for way in (dynamics.forward_dynamics, dynamics.forward_dynamics_articulated)
    ]


def assert_agree(x, y, limit):
    assert np.abs(x - y).max() <= limit * max(np.abs(x).max(), np.abs(y).max())


@law(
    robots((1, 5), motors="parent", couplings=False, rotors=("exact", "reflected", "none")),
    generators(),
    examples=25,
)
def test_articulated_is_factorised(robot, rng):
    """Chains and trees, revolute and prismatic, motors on the parents, friction, tip wrench."""
    assert dynamics.articulated_is_possible(robot.mechanism)
    q, qd, tau = state(robot, rng)
    for wrench in (None, rng.uniform(-5, 5, 6)):
        factorised, articulated = both(robot, q, qd, tau, wrench)
        assert_agree(articulated, factorised, max(1e-13, 10 * tolerance(robot, q)))


@law(
    robots((2, 4), motors="parent", couplings=False, joints=("prismatic", "revolute")),
    generators(),
    examples=10,
)
def test_articulated_undoes_inverse_dynamics(robot, rng):
    q, qd, qdd = state(robot, rng)
    wrench = rng.uniform(-5, 5, 6)
    tau = dynamics.inverse_dynamics(robot.mechanism, q.tolist(), qd.tolist(), qdd.tolist(), wrench.tolist())
    _, found = both(robot, q, qd, np.array(tau, float), wrench)
    assert_agree(found, qdd, max(1e-12, 10 * tolerance(robot, q)))


@pytest.mark.parametrize("rotors", ["exact", "reflected"])
def test_bundled_robots_with_motors_on_their_parents(rotors):
    tried = 0
    for name in ("planar", "puma560", "manutec_r3", "rp", "pr", "scara", "stanford"):
        robot = Robot.load(name).with_rotors(rotors)
        if not dynamics.articulated_is_possible(robot.mechanism):
            continue
        tried += 1
        q, qd, tau = state(robot, np.random.default_rng(1))
        factorised, articulated = both(robot, q, qd, tau)
        assert_agree(articulated, factorised, max(1e-13, 10 * tolerance(robot, q)))
    assert tried


LINK = {
    "joint": "revolute",
    "a": 0.4,
    "alpha": 1,
    "d": 0.1,
    "theta": 0,
    "mass": 2,
    "com": [0.1, 0.02, 0.03],
    "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
}
MOTOR = {"gear": 20, "inertia": 0.001, "mass": 0.5}


def arm(*motors):
    """A chain with these changes to its motors, None for no motor."""
    links = [
        {"name": f"link {i + 1}", **LINK, **({} if motor is None else {"motor": MOTOR | motor})}
        for i, motor in enumerate(motors)
    ]
    return Robot.from_dict({"name": "arm", "convention": "dh", "gravity": [0, 0, -9.81], "link": links})


def test_where_the_recursion_is_possible():
    def possible(*motors):
        return dynamics.articulated_is_possible(arm(*motors).mechanism)

    assert possible(None, None)
    assert possible({}, {}, {})
    assert possible({}, None, {})
    assert not possible({}, {"coupling": {"link 1": 2.0}})
    assert not possible({}, {}, {"carrier": "base", "axis": [0, 0, 1]})
    assert not possible({}, {"carrier": "link 2", "axis": [0, 0, 1]})
    assert possible({}, {"coupling": {"link 1": 0.0}})


@pytest.mark.parametrize(
    "motors",
    [({}, {"coupling": {"link 1": 2.0}}), ({}, {}, {"carrier": "base", "axis": [0, 0, 1]})],
    ids=["coupled row", "another carrier"],
)
def test_where_it_is_not_the_inertia_is_factorised(motors):
    robot = arm(*motors)
    assert str(robot.program("forward_dynamics")) == str(recorded(robot, dynamics.forward_dynamics))
    q, qd, qdd = state(robot, np.random.default_rng(3), (9,))
    found = robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd))
    condition = np.linalg.cond(robot.inertia(q)).max()
    assert_agree(found, qdd, 1e-14 * robot.n * condition)


def recorded(robot, algorithm):
    row = replace(FUNCTIONS["forward_dynamics"], algorithm=algorithm)
    inputs = [(name, robot.n) for name in row.inputs]
    return _recorded(row, inputs, Context("forward_dynamics", robot.mechanism, layout(robot.model)))


@pytest.mark.parametrize(
    ("n", "way"), [(7, dynamics.forward_dynamics), slowly(30, dynamics.forward_dynamics_articulated)]
)
def test_the_cheaper_way_is_taken(n, way):
    robot = chain(n)
    assert str(robot.program("forward_dynamics")) == str(recorded(robot, way))


def test_the_panda_is_factorised():
    robot = Robot.load("panda")
    assert str(robot.program("forward_dynamics")) == str(recorded(robot, dynamics.forward_dynamics))


@pytest.mark.slow
def test_thirty_joints_compiled():
    robot = chain(30)
    q, qd, qdd = state(robot, np.random.default_rng(3), (11,))
    tau = robot.inverse_dynamics(q, qd, qdd)
    condition = np.linalg.cond(robot.inertia(q)).max()
    assert_agree(robot.forward_dynamics(q, qd, tau), qdd, 1e-15 * 30 * condition)


@pytest.mark.parametrize("name", ["puma560", slowly("ur10"), slowly("panda")])
def test_forward_of_inverse_compiled(name):
    robot = Robot.load(name)
    q, qd, qdd = state(robot, np.random.default_rng(3), (21,))
    wrench = np.random.default_rng(4).uniform(-5, 5, (21, 6))
    condition = np.linalg.cond(robot.inertia(q)).max()
    for given in (None, wrench):
        tau = robot.inverse_dynamics(q, qd, qdd, given)
        scale = np.abs(tau).max() / np.abs(robot.inertia(q)).max()  # gravity may be most of τ
        limit = 1e-15 * robot.n * condition * max(1, scale)
        assert_agree(robot.forward_dynamics(q, qd, tau, given), qdd, limit)


def test_a_joint_that_moves_no_inertia_is_named():
    link = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0}
    weightless = {"name": "bare", "convention": "dh", "gravity": [0, -9.81, 0], "link": [link]}
    robot = quietly(lambda: Robot.from_dict(weightless))
    with golden_error(ArmdynError):
        robot.forward_dynamics([0.0], [0.0], [1.0])
    assert robot.inverse_dynamics([0.0], [0.0], [1.0]) == 0
