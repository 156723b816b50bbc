"""The torques' parts with other parameters, against those of the robot that has them; nothing compiles."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import AnalysisError, contributions
from armdyn.analysis.contributions import Contributions
from armdyn.kernels.llvm import machine
from arms import ROTORS, assert_same, generators, law, quietly, robots, state
from closed_chains import closed_states, five_bar, random_loop
from elastic_arms import elastic_robots
from friction_arms import rubbing
from spring_arms import sprung

# Read through a spring's rest length or a stiffness: they stay what a description can have.
_POSITIVE = ("Ks", "Ke", "De", "Kp", "Fl")


def others(robot: Robot, rng: np.random.Generator) -> np.ndarray:
    """Other parameters: every one of them changed that a description can change."""
    factors = rng.uniform(0.5, 1.5, len(robot.parameter_names))
    found = robot.parameters * factors
    for i, name in enumerate(robot.parameter_names):
        symbol = name.rstrip("0123456789")
        if symbol == "Fl":
            found[i] = min(found[i], 0.5)
        elif symbol not in ("Im", "Kr", *_POSITIVE) and not found[i]:
            found[i] = rng.normal()  # zeros too: a link gets a product of inertia, a joint gets friction
    return found


def assert_parts_are_those_of_the_robot(robot: Robot, rng: np.random.Generator, *states: np.ndarray) -> None:
    pi, wrench = others(robot, rng), rng.normal(size=6) * 20
    changed = quietly(lambda: robot.with_parameters(pi))
    tau = robot.inverse_dynamics(*states, wrench, parameters=pi)
    for rotors in ("separate", "within"):
        found = contributions(robot, *states, wrench, rotors=rotors, parameters=pi)
        assert_same(found.total, tau, 1e-10)
        assert_equal(found, contributions(changed, *states, wrench, rotors=rotors), np.abs(tau).max())


def assert_equal(found: Contributions, expected: Contributions, scale: float) -> None:
    for name, part in expected.parts.items():
        assert_same(found.parts[name], part, 1e-10, scale)
    for name in ("inertia", "centrifugal", "coriolis_pairs"):
        assert_same(getattr(found, name), getattr(expected, name), 1e-10, scale)


@law(robots((1, 4), rotors=ROTORS), generators(), examples=2, thorough=40)
def test_arms_with_motors_on_any_link(robot, rng):
    assert_parts_are_those_of_the_robot(robot, rng, *state(robot, rng, (2,)))


@law(rubbing((1, 3)), generators(), examples=2, thorough=40)
def test_every_kind_of_friction(robot, rng):
    assert_parts_are_those_of_the_robot(robot, rng, *state(robot, rng, (2,)))


@law(robots((1, 3)), generators(), examples=2, thorough=40)
def test_springs(robot, rng):
    robot = Robot(sprung(robot.model, 3))
    assert_parts_are_those_of_the_robot(robot, rng, *state(robot, rng, (2,)))


@law(elastic_robots((1, 3)), generators(), examples=2, thorough=40)
def test_elastic_joints(robot, rng):
    assert_parts_are_those_of_the_robot(robot, rng, *state(robot, rng, (2,)))


@pytest.mark.parametrize("seed", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in range(2, 8))])
def test_loops(seed):
    robot = five_bar(friction={"viscous": 1, "coulomb": 2}) if seed == 1 else random_loop(seed)
    rng = np.random.default_rng(seed)
    assert_parts_are_those_of_the_robot(robot, rng, *closed_states(robot, rng, 2))


@pytest.mark.parametrize("make", [lambda: Robot.load("planar3"), five_bar])
def test_other_parameters_compile_nothing(make, monkeypatch):
    robot = make()
    rng = np.random.default_rng(5)
    states = state(robot, rng) if not robot.model.loops else [x[0] for x in closed_states(robot, rng, 1)]
    contributions(robot, *states, np.ones(6), parameters=robot.parameters)

    def refuse(*_):
        raise AssertionError("something was compiled")

    monkeypatch.setattr(machine, "compile_ir", refuse)
    monkeypatch.setattr("armdyn.robot.robot.make_kernel", refuse)
    first = contributions(robot, *states, np.ones(6), parameters=others(robot, rng)).total
    second = contributions(robot, *states, np.ones(6), parameters=others(robot, rng)).total
    assert np.abs(first - second).max() > 1e-3


def test_its_own_parameters_change_nothing():
    robot = Robot.load("planar")
    given = ([0.3, 0.7], [1.0, 2.0], [2.0, -3.0])
    assert_equal(contributions(robot, *given, parameters=robot.parameters), contributions(robot, *given), 1e3)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (np.ones(3), "parameters: expected (26,), as robot.parameter_names, found (3,)"),
        (np.ones((2, 26)), "parameters: expected (26,), as robot.parameter_names, found (2, 26)"),
        (1.0, "parameters: expected (26,), as robot.parameter_names, found ()"),
        (np.full(26, np.nan), "parameters: expected finite numbers, found nan at (0,)"),
        ("heavy", "parameters: expected numbers, found 'heavy'"),
    ],
)
def test_wrong_parameters_are_named(parameters, words):
    with pytest.raises(AnalysisError) as caught:
        contributions(Robot.load("planar"), [0, 0], [0, 0], [0, 0], parameters=parameters)
    assert words in str(caught.value)
