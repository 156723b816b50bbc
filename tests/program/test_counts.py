"""How many operations arms take."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.program import OPS, record
from armdyn.robot.functions import FUNCTIONS, OF_TIP
from arms import slowly
from branched_arms import dual_arm
from long_chains import chain, plain_chain
from public_files import FOLDER, needs_files, quiet_load

BAXTER = FOLDER / "baxter.urdf"


def test_operations_are_counted():
    program = record(
        lambda x: [x[0] + x[1] * x[0], x[1] / x[0] - x[0].sin(), -x[0].cos(), abs(x[1]).sqrt()],
        [("x", 2)],
        [("y", (4,))],
    )
    assert program.counts == {
        "abs": 1,
        "add": 1,
        "cos": 1,
        "div": 1,
        "mul": 1,
        "neg": 1,
        "sin": 1,
        "sqrt": 1,
        "sub": 1,
    }
    assert program.operations == 6  # without trigonometry and changes of sign
    assert set(program.counts) <= set(OPS)


def test_inverse_dynamics_of_the_panda():
    program = Robot.load("panda").program("inverse_dynamics")
    assert program.operations <= 805
    assert (program.counts["sin"], program.counts["cos"]) == (6, 6)


@pytest.mark.parametrize(
    ("function", "limit"), [("gravity", 250), ("inertia", 500), ("kinetic_energy", 350), ("coriolis", 1800)]
)
def test_other_functions_of_the_panda(function, limit):
    assert Robot.load("panda").program(function).operations <= limit


def test_derivatives_of_inverse_dynamics():
    panda = Robot.load("panda")
    assert panda.program("inverse_dynamics_derivatives").operations <= 2710
    assert panda.program("inverse_dynamics_derivatives", ["wrench", "parameters"]).operations <= 3150


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "limit"), [(plain_chain, 47_000), (chain, 71_500)])
def test_derivatives_of_inverse_dynamics_of_thirty_joints(arm, limit):
    """Further joints cost the same, and further pairs of joints, up to entries that happen to be zero."""
    counts = [arm(n).program("inverse_dynamics_derivatives").operations for n in (15, 20, 25, 30)]
    assert counts[-1] <= limit
    first, second = np.diff(counts, 2)
    assert abs(first - second) <= 0.03 * first


def test_inverse_dynamics_is_linear_in_the_joints():
    counts = {n: chain(n).program("inverse_dynamics").operations for n in (5, 6, 10, 20, 35, 50)}
    per_joint = [counts[n] / n for n in counts]
    assert max(per_joint) <= 1.2 * min(per_joint)
    assert counts[50] - counts[35] == 15 * (counts[6] - counts[5])  # each further joint costs the same


@pytest.mark.slow
def test_forward_dynamics_of_long_chains_is_linear_too():
    counts = {n: chain(n).program("forward_dynamics").operations for n in (20, 32)}
    assert counts[32] / 32 <= 1.1 * counts[20] / 20


EACH = [
    name if name in ("forward_dynamics", "regressor", "inertia") else slowly(name)
    for name in FUNCTIONS
    if name not in OF_TIP
]


# The inverse of B has no zeros: products with it, and derivatives of it, are between the branches too.
MOST = {
    "forward_dynamics_derivatives": 2.3,
    "forward_dynamics_hessian_product": 2.3,
    "forward_dynamics_second_derivatives": 4,  # a matrix product for each of n directions
}


@pytest.mark.parametrize("function", EACH)
def test_two_arms_cost_what_one_costs_twice(function):
    """On a torso they share: nothing is computed between the branches, nor filled in where B is zero."""
    one, two = dual_arm("panda", sides=("left",)), dual_arm("panda")
    most = MOST.get(function, 2.02)
    assert two.program(function).operations <= most * one.program(function).operations


@pytest.mark.slow
@needs_files
@pytest.mark.parametrize("function", EACH)
def test_a_joint_of_baxter_costs_what_a_joint_of_its_arm_costs(function):
    """Fingers that follow others count as joints."""
    tree, arm = quiet_load(BAXTER), quiet_load(BAXTER, tip="l_gripper_l_finger_tip")
    assert (len(tree.model.moving), len(arm.model.moving)) == (19, 9)
    a_joint = [robot.program(function).operations / len(robot.model.moving) for robot in (tree, arm)]
    assert a_joint[0] <= 1.02 * a_joint[1]


def test_parameters_that_are_known_save_operations():
    robot = Robot.load("puma560")
    assert (
        robot.program("inverse_dynamics").operations
        < robot.program("inverse_dynamics", ["parameters"]).operations
    )
