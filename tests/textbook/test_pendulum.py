"""The pendulum: 000, example 7.1; 004, "Dynamics of an actuated pendulum" (its d, l, n_r: l, L, kr here)."""

import pytest

from armdyn import Robot
from textbook_arm import Arm


@pytest.fixture(scope="module")
def pendulum():
    return Arm(Robot.load("pendulum"))


def test_kinetic_energy_is_that_of_link_and_rotor(pendulum):
    """Example 7.1: T = ½ I ϑ̇² + ½ Im kr² ϑ̇², with I = Il + m l² as 004 splits it."""
    expected = "(I + Im*kr**2)*qd1**2/2"
    assert pendulum.differences(pendulum.eq.kinetic_energy, expected, I="Il + m*l**2") == {}


def test_potential_energy_is_the_books_up_to_its_constant(pendulum):
    """Example 7.1: U = m g l (1 − cos ϑ); 004: U = U_0 − m g d cos θ."""
    assert pendulum.differences(pendulum.eq.potential_energy, "m*g*l*(1 - c1) - m*g*l") == {}


def test_model_is_the_complete_one_on_the_joint_side(pendulum):
    """Example 7.1: (I + Im kr²) ϑ̈ + (F + Fm kr²) ϑ̇ + m g l sin ϑ = τ."""
    expected = "(Il + m*l**2 + Im*kr**2)*qdd1 + (F + Fm*kr**2)*qd1 + m*g*l*s1"
    assert pendulum.differences(pendulum.eq.tau, [expected]) == {}
    assert pendulum.differences(pendulum.newton_euler().tau, [expected]) == {}


def test_friction_of_the_motor_is_referred_by_the_square_of_the_gear(pendulum):
    """004: b_l + b_m n_r²."""
    assert pendulum.differences(pendulum.eq.friction, ["(F + Fm*kr**2)*qd1"]) == {}


def test_force_on_the_tip_relieves_the_actuator_by_its_lever_arm(pendulum):
    """004: u = n_r τ_m − … + l cos θ F_x for a horizontal force F_x on the arm.

    Horizontal is y_0. The wrench is what the arm exerts on its surroundings, −F_x; the torque needed falls.
    """
    push_on_arm = [0, -1, 0, 0, 0, 0]
    with_force, without = pendulum.newton_euler(push_on_arm), pendulum.newton_euler()
    assert pendulum.differences(with_force.tau[0] - without.tau[0], "-L*c1") == {}


def test_mass_of_the_motor_on_the_base_does_not_appear():
    """Only the rotor's inertia moves: a mass at the fixed joint adds nothing to (7.42)."""
    table = {
        "name": "pendulum",
        "convention": "dh",
        "gravity": ["g", 0, 0],
        "symbols": dict.fromkeys(("g", "m", "l", "Im", "kr", "mm"), "free"),
        "link": [
            {
                "joint": "revolute",
                "a": "l",
                "alpha": 0,
                "d": 0,
                "mass": "m",
                "motor": {"gear": "kr", "inertia": "Im", "mass": "mm"},
            }
        ],
    }
    arm = Arm(Robot.from_dict(table))
    assert arm.differences(arm.eq.tau, ["(m*l**2 + Im*kr**2)*qdd1 + m*g*l*s1"]) == {}
