"""Every public function that takes numbers × everything that is no numbers: one error, in one line."""

import re

import numpy as np
import pytest

from agreement.test_arrays import NO_NUMBERS
from armdyn import (
    ArmdynError,
    ComputedTorque,
    PDGravity,
    Robot,
    Trajectory,
    contributions,
    dynamic_manipulability,
    force_ellipsoid,
    inverse_kinematics,
    manipulability,
    operational,
    retime,
    rotor_error,
    scale_to_limits,
    set_backend,
    set_threads,
    simulate,
    time_optimal,
    velocity_ellipsoid,
)

PUMA = Robot.load("puma560")
HOME = np.array([0.1, 0.8, -2.6, 0.2, 0.3, 0.1])
ZERO = np.zeros(6)
MOTION = Trajectory.quintic(HOME, HOME + 0.3, 1.0)

CALLS = {
    "contributions q": lambda x: contributions(PUMA, x, ZERO, ZERO),
    "contributions qd": lambda x: contributions(PUMA, HOME, x, ZERO),
    "contributions qdd": lambda x: contributions(PUMA, HOME, ZERO, x),
    "contributions wrench": lambda x: contributions(PUMA, HOME, ZERO, ZERO, x),
    "rotor_error q": lambda x: rotor_error(PUMA, x, ZERO, ZERO),
    "operational q": lambda x: operational(PUMA, x, ZERO),
    "operational qd": lambda x: operational(PUMA, HOME, x),
    "operational torques": lambda x: operational(PUMA, HOME, ZERO).torques(x),
    "dynamic_manipulability q": lambda x: dynamic_manipulability(PUMA, x),
    "dynamic_manipulability weights": lambda x: dynamic_manipulability(PUMA, HOME, weights=x),
    "velocity_ellipsoid q": lambda x: velocity_ellipsoid(PUMA, x),
    "force_ellipsoid q": lambda x: force_ellipsoid(PUMA, x),
    "manipulability q": lambda x: manipulability(PUMA, x),
    "inverse_kinematics target": lambda x: inverse_kinematics(PUMA, x, HOME),
    "inverse_kinematics q0": lambda x: inverse_kinematics(PUMA, PUMA.pose(HOME), x),
    "quintic q0": lambda x: Trajectory.quintic(x, HOME, 1.0),
    "quintic q1": lambda x: Trajectory.quintic(HOME, x, 1.0),
    "quintic duration": lambda x: Trajectory.quintic(HOME, HOME, x),
    "trapezoidal max_velocity": lambda x: Trajectory.trapezoidal(
        HOME, ZERO, max_velocity=x, acceleration_time=0.1
    ),
    "jerk_limited max_jerk": lambda x: Trajectory.jerk_limited(HOME, ZERO, 1.0, 1.0, x),
    "through points": lambda x: Trajectory.through(x, [0, 1, 2]),
    "through times": lambda x: Trajectory.through([ZERO, HOME, ZERO], x, max_velocity=None),
    "from_samples t": lambda x: Trajectory.from_samples(x, [ZERO, HOME]),
    "from_samples q": lambda x: Trajectory.from_samples([0.0, 1.0], x),
    "line q0": lambda x: Trajectory.line(PUMA, x, displacement=[0, 0, -0.1], duration=1, profile="quintic"),
    "line displacement": lambda x: Trajectory.line(PUMA, HOME, displacement=x, duration=1, profile="quintic"),
    "circle centre": lambda x: Trajectory.circle(
        PUMA, HOME, x, [0, 0, 1], 0.1, duration=1, profile="quintic"
    ),
    "circle axis": lambda x: Trajectory.circle(PUMA, HOME, ZERO[:3], x, 0.1, duration=1, profile="quintic"),
    "circle angle": lambda x: Trajectory.circle(
        PUMA, HOME, ZERO[:3], [0, 0, 1], x, duration=1, profile="quintic"
    ),
    "trajectory t": MOTION,
    "scale_to_limits torque": lambda x: scale_to_limits(PUMA, MOTION, torque=x),
    "scale_to_limits motion": lambda x: scale_to_limits(PUMA, x),
    "retime law": lambda x: retime(PUMA, MOTION, x),
    "time_optimal velocity": lambda x: time_optimal(PUMA, MOTION, velocity=x, torque=100.0),
    "time_optimal motion": lambda x: time_optimal(PUMA, x),
    "simulate q0": lambda x: simulate(PUMA, x, ZERO, 0.1),
    "simulate qd0": lambda x: simulate(PUMA, HOME, x, 0.1),
    "simulate duration": lambda x: simulate(PUMA, HOME, ZERO, x),
    "simulate torque": lambda x: simulate(PUMA, HOME, ZERO, 0.1, x),
    "simulate wrench": lambda x: simulate(PUMA, HOME, ZERO, 0.1, wrench=x),
    "simulate step": lambda x: simulate(PUMA, HOME, ZERO, 0.1, step=x),
    "PDGravity stiffness": lambda x: PDGravity(PUMA, HOME, x, 1.0),
    "ComputedTorque target": lambda x: ComputedTorque(PUMA, x),
    "with_gravity": PUMA.with_gravity,
    "with_parameters": PUMA.with_parameters,
    "with_payload mass": PUMA.with_payload,
    "with_payload com": lambda x: PUMA.with_payload(1.0, x),
}
# None means "not given" to these.
OPTIONAL = (
    "contributions wrench",
    "dynamic_manipulability weights",
    "through times",
    "scale_to_limits torque",
    "time_optimal velocity",
    "simulate torque",
    "simulate wrench",
)
# A function may drive a simulation, and exact numbers may be written as expressions.
ALLOWED = {("simulate torque", "function"), ("simulate wrench", "function"), ("with_payload mass", "text")}
KINDS = {name: x for name, (x, _) in NO_NUMBERS.items() if name != "generator"}

CHOICES = {
    "backend": set_backend,
    "threads": set_threads,
    "rotors": PUMA.with_rotors,
    "function": PUMA.program,
    "link": lambda x: PUMA.pose(HOME, link=x),
    "notation": lambda x: Robot.load("planar").equations().text(x),
    "kind": lambda x: dynamic_manipulability(PUMA, HOME, kind=x),
    "damping": lambda x: operational(PUMA, HOME, ZERO, damping=x),
    "side": lambda x: MOTION(0.5, x),
    "grid": lambda x: time_optimal(PUMA, MOTION, grid=x),
    "method": lambda x: simulate(PUMA, HOME, ZERO, 0.1, method=x),
    "limits": lambda x: simulate(PUMA, HOME, ZERO, 0.1, limits=x),
}


@pytest.mark.parametrize("name", CHOICES)
def test_an_integer_too_long_to_print_in_the_place_of_a_choice(name):
    with pytest.raises((ArmdynError, ValueError), match=f"^{name}: .*found an integer of 5001 digits or so"):
        CHOICES[name](10**5000)


@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_numbers_everywhere(call):
    for kind, x in KINDS.items():
        if (call, kind) in ALLOWED or (x is None and call in OPTIONAL):
            continue
        with pytest.raises((ArmdynError, TypeError, ValueError)) as caught:
            CALLS[call](x)
        message = str(caught.value)
        assert "\n" not in message, (kind, message)
        assert re.search(r"found|expected|allowed|takes", message), (kind, message)
