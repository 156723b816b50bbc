"""The regressor: linear in the parameters, and block triangular for plain chains."""

from arms import ROTORS, assert_same, generators, law, robots, state


@law(robots(rotors=ROTORS), generators())
def test_regressor_times_parameters_and_inverse_dynamics(robot, rng):
    """Y π = τ (7.81)."""
    q, qd, qdd = state(robot, rng)
    Y = robot.regressor(q, qd, qdd)
    assert Y.shape == (robot.n, len(robot.parameters)) == (robot.n, len(robot.parameter_names))
    assert_same(Y @ robot.parameters, robot.inverse_dynamics(q, qd, qdd))


@law(robots(rotors=ROTORS), generators())
def test_regressor_and_a_robot_with_other_parameters(robot, rng):
    """Y depends on geometry only: it gives the torques of a robot with other masses too."""
    q, qd, qdd = state(robot, rng)
    other = robot.with_payload(2.5, [0.1, -0.2, 0.3], {"xx": 0.02, "yy": 0.03, "zz": 0.04, "xy": 0.001})
    Y = robot.regressor(q, qd, qdd)
    assert_same(Y, other.regressor(q, qd, qdd), 1e-13)
    assert_same(Y @ other.parameters, other.inverse_dynamics(q, qd, qdd))


@law(robots(tree=False, motors="parent", couplings=False, rotors=ROTORS), generators())
def test_regressor_and_its_upper_block_triangle(robot, rng):
    """In a chain with each motor on the link before, joint i feels nothing of the links before it (7.80)."""
    Y = robot.regressor(*state(robot, rng))
    for i in range(robot.n):
        assert (Y[i, : 13 * i] == 0).all(), i
        assert (Y[i, 13 * i : 13 * (i + 1)] != 0).any(), i
