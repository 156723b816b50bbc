"""Wrenches on links in compiled code: the evaluator's results, arrays that broadcast, code that is shared."""

import numpy as np
import pytest

import armdyn
from armdyn import ArmdynError, Robot
from armdyn.model import ModelError
from arms import assert_same, state
from branched_arms import dual_arm
from golden_messages import golden_error

TAKE_WRENCHES = (
    "inverse_dynamics",
    "forward_dynamics",
    "joint_wrenches",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


@pytest.fixture(scope="module")
def robot():
    return dual_arm()


def case(robot, rows=(3,), seed=0):
    rng = np.random.default_rng(seed)
    hands = {link: rng.uniform(-20, 20, (*rows, 6)) for link in ("right gripper", "left hand", "torso")}
    return state(robot, rng, rows), hands


@pytest.mark.parametrize("function", TAKE_WRENCHES[:3])
def test_compiled_and_evaluated(robot, function):
    states, hands = case(robot)
    found = getattr(robot, function)(*states, hands)
    with armdyn.backend("evaluator"):
        assert_same(found, getattr(robot, function)(*states, hands), 1e-10)


@pytest.mark.parametrize("function", TAKE_WRENCHES[3:])
def test_compiled_and_evaluated_derivatives(function):
    arm = Robot.load("scara")
    rng = np.random.default_rng(4)
    hands = {link: rng.uniform(-9, 9, 6) for link in list(arm.model.index)[1:3]}
    states = state(arm, rng, (5,))
    found = getattr(arm, function)(*states, hands)
    with armdyn.backend("evaluator"):
        for x, y in zip(found, getattr(arm, function)(*states, hands), strict=True):
            assert_same(x, y, 1e-10)


def test_inverse_of_forward_dynamics(robot):
    (q, qd, qdd), hands = case(robot)
    tau = robot.inverse_dynamics(q, qd, qdd, hands)
    assert_same(robot.forward_dynamics(q, qd, tau, hands), qdd, 1e-8)


def test_wrenches_broadcast_against_states_and_each_other(robot):
    (q, qd, qdd), _ = case(robot, (4, 1))
    rng = np.random.default_rng(2)
    hands = {"left hand": rng.uniform(-9, 9, (5, 6)), "right gripper": rng.uniform(-9, 9, 6).tolist()}
    found = robot.inverse_dynamics(q, qd, qdd, hands)
    assert found.shape == (4, 5, robot.n)
    for k in range(5):
        one = {"left hand": hands["left hand"][k], "right gripper": hands["right gripper"]}
        assert_same(found[:, k], robot.inverse_dynamics(q[:, 0], qd[:, 0], qdd[:, 0], one))


def test_order_of_the_mapping(robot):
    states, hands = case(robot)
    turned = dict(reversed(hands.items()))
    before = len(robot._kernels)
    found = robot.inverse_dynamics(*states, hands)
    np.testing.assert_array_equal(robot.inverse_dynamics(*states, turned), found)
    assert len(robot._kernels) <= before + 1


def test_wrenches_and_parameters(robot):
    states, hands = case(robot)
    found = robot.inverse_dynamics(*states, hands, parameters=robot.parameters)
    assert_same(found, robot.inverse_dynamics(*states, hands))


def test_single_precision_stays(robot):
    states, hands = case(robot)
    states = [x.astype(np.float32) for x in states]
    hands = {link: h.astype(np.float32) for link, h in hands.items()}
    assert robot.inverse_dynamics(*states, hands).dtype == np.float32


def test_program_with_wrenches_on_links(robot):
    program = robot.program("inverse_dynamics", ["wrench"], links=["left hand", "torso"])
    assert dict(program.inputs)["wrench"] == 12
    with golden_error(ModelError):
        robot.program("inverse_dynamics", ["wrench"], links=["tail"])


def test_robots_with_other_tips_share_code():
    """The equations of motion do not depend on the tip."""
    arm = Robot.load("puma560")
    other = arm.with_tip("forearm", {"xyz": [0.1, 0, 0.2]})
    for function in ("gravity", "inertia", "inverse_dynamics"):
        mine, its = (x._kernels[function].specification for x in (arm, other))
        assert mine.identity == its.identity
        assert mine.shared.specification.identity == its.shared.specification.identity
    same = arm._kernels[("inverse_dynamics", ("forearm",), "wrench")].specification
    assert arm.with_tip("forearm")._kernels[("inverse_dynamics", "", "wrench")].specification.identity == (
        same.identity
    )
    assert arm._kernels["pose"].specification.identity != other._kernels["pose"].specification.identity
    assert arm.with_tip("forearm") is arm.with_tip("forearm")


def test_wrong_wrenches(robot):
    states, _ = case(robot)
    known = ", ".join(["base", *robot.model.index])
    with pytest.raises(ModelError) as raised:
        robot.inverse_dynamics(*states, {"tail": np.zeros(6)})
    assert str(raised.value).startswith("wrench: found 'tail'; links: base, torso, left")
    assert len(str(raised.value)) < 60 + len(known)
    with pytest.raises(ModelError, match=r"^wrench: found 3; links: base, "):
        robot.forward_dynamics(*states, {3: np.zeros(6)})
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*states, {"left hand": np.zeros(3)})
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*states, {"torso": 3.0})
    with pytest.raises(TypeError, match=r"^wrench\['torso'\]: expected numbers \(\.\.\., 6\), found 'up'"):
        robot.inverse_dynamics(*states, {"torso": "up"})
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*states, {"left hand": np.zeros((4, 6)), "torso": np.zeros((2, 6))})
    with pytest.raises(ArmdynError, match=r"shapes do not fit together: q \(3, 13\), .*wrench \(4, 6\)"):
        robot.inverse_dynamics(*states, {"left hand": np.zeros((4, 6))})
    with golden_error(ModelError):
        robot.pose(states[0], "tail")
    with golden_error(ArmdynError):
        robot.with_tip("torso", {"xyz": "there"})
