"""Measures of designs: derivatives by programs against differences, values against functions of robots."""

from collections.abc import Callable

import numpy as np
import pytest

import armdyn
from armdyn import Robot, Trajectory, inverse_kinematics, motor_loads
from armdyn.expression.functions import larger, sin
from armdyn.model.mechanism import FIXED_BASE
from armdyn.studies import (
    Measure,
    TipMotion,
    along,
    energy,
    formula,
    isotropy,
    manipulability_measure,
    mass,
    peak_speed,
    peak_torque,
    potential_spread,
    rms_torque,
)
from armdyn.studies.courses import Family
from armdyn.studies.measures import Design, Value
from helpers.arms import generators, law, quietly, robots


def differences(made: Measure, family: Family, s: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """Derivatives (*shape, symbols) by central differences of fourth order."""

    def at(step: np.ndarray) -> np.ndarray:
        return made.at(Design(family, s + step)).x

    steps = h * np.maximum(np.abs(s), 0.05)
    return np.stack(
        [(8 * (at(d) - at(-d)) - (at(2 * d) - at(-2 * d))) / (12 * d.sum()) for d in np.diag(steps)],
        -1,
    )


def assert_derivatives(made: Measure, family: Family, s: np.ndarray, tolerance: float = 1e-7) -> None:
    """Slopes are those of differences, and pulling back is multiplying by them."""
    value = made.at(Design(family, s))
    slopes = value.slopes()
    expected = differences(made, family, s)
    size = np.abs(expected * s).max() + np.abs(value.x).max()
    assert np.abs((slopes - expected) * s).max() <= tolerance * size, made.text
    bar = np.random.default_rng(1).normal(size=(2, *value.x.shape))
    pulled = np.tensordot(bar, slopes, value.x.ndim)
    assert np.allclose(value.pull(bar), pulled, rtol=1e-9, atol=1e-12 * np.abs(slopes).max())


def values(robot: Robot) -> np.ndarray:
    return np.array([float(x) for x in robot.symbols.values() if x is not None])


def swinging(robot: Robot, rng: np.random.Generator) -> Trajectory:
    """A motion in which no joint reverses, so that dry friction keeps its direction."""
    q0 = rng.uniform(-1, 1, robot.n)
    return Trajectory.cubic(q0, q0 + rng.uniform(0.5, 1, robot.n), 1.0, qd0=0.3, qd1=0.2, step=0.25)


@law(robots((2, 3)), generators(), examples=6, thorough=60)
def test_derivatives_by_all_numbers_of_a_random_arm(robot: Robot, rng: np.random.Generator) -> None:
    """Full tensors, joints that slide, motors with any axis and carrier, couplings: each number is free."""
    arm = quietly(robot.symbolic)
    family, s, motion = Family(arm, list(arm.symbols)), values(arm), swinging(arm, rng)
    wrench = rng.normal(size=6)
    with armdyn.backend("evaluator"):
        on_base = arm.mechanism.tip == FIXED_BASE  # which carries nothing
        loaded = motion if on_base else motion.carrying(1.5, [0.1, 0.2, -0.1])
        assert_derivatives(rms_torque(loaded, wrench=wrench).norm() + 0.5 * mass(), family, s)
        assert_derivatives(peak_torque(motion, at="motors"), family, s)
        assert_derivatives(energy(motion, at="motors", recuperation=True), family, s)
        assert_derivatives(potential_spread(rng.uniform(-1, 1, (5, arm.n))) / 2, family, s)
        reach = manipulability_measure(motion, rows=[0, 1])
        if reach.at(Design(family, s)).x.min() > 0.01:  # a singular posture has none
            assert_derivatives(reach.mean(), family, s)


WRIST = np.array([[-0.4, -0.6, -0.9, 0.3, 0.9, -0.2], [0.3, -0.2, -0.4, 0.8, 1.2, 0.5]])
LENGTHS = ["a2", "a3", "d3", "d4", "m3", "kr2"]


@pytest.fixture(scope="module")
def puma() -> Family:
    """Six joints that follow the pose of the tip."""
    return Family(Robot.load("puma560").symbolic(), LENGTHS)


def moved(family: Family) -> np.ndarray:
    """Another design."""
    start = np.array([family.robot.symbols[name] for name in family.names], float)
    return start * (1 + 0.02 * np.cos(np.arange(len(start))))


@pytest.mark.parametrize("free", [True, False], ids=["position", "pose"])
def test_derivatives_where_joints_follow_the_tip(free: bool, puma: Family) -> None:
    family = puma
    motion = Trajectory.cubic(*WRIST, 1.0, qd0=0.3, qd1=0.1, step=0.1)
    if free:  # three joints take the tip to a point
        robot = puma.robot.with_tip("wrist 1")
        locked = robot.locked(dict.fromkeys(robot.coordinates[3:], 0))
        family = Family(locked, LENGTHS)
        motion = Trajectory.cubic(*WRIST[:, :3], 1.0, qd0=0.3, qd1=0.1, step=0.1)
    tip, s = TipMotion(motion), moved(family)
    assert_derivatives(rms_torque(tip).norm(), family, s)
    assert_derivatives(peak_torque(tip, [1, 2], at="motors"), family, s)
    assert_derivatives(peak_speed(tip, at="motors"), family, s)
    assert_derivatives(isotropy(tip, rows=[0, 1, 2]), family, s)

    def integrand(q: list, qd: list, qdd: list, tau: list) -> list:
        return [sin(q[1]) * qd[0] * qdd[2], larger(tau[1] * qd[1], 0.1 * tau[2]) / (1 + q[0] * q[0])]

    assert_derivatives(along(tip, integrand), family, s)


def test_joints_that_follow_the_tip_agree_with_inverse_kinematics(puma: Family) -> None:
    motion = Trajectory.quintic(*WRIST, 1.0, step=0.05)
    tip, s = TipMotion(motion), moved(puma)
    other = puma.robot.with_symbols(dict(zip(puma.names, s.tolist(), strict=True)))
    assert (
        abs(rms_torque(tip).at(Design(puma, s)).x / rms_torque(motion).at(Design(puma, s)).x - 1).max()
        > 0.005
    )
    states = Design(puma, s).states(tip)
    at = motion.samples()
    found = np.array(
        [
            inverse_kinematics(other, target, near)
            for target, near in zip(puma.robot.pose(at.q), at.q, strict=True)
        ]
    )
    assert np.abs(states.q - found).max() < 1e-9

    # The tip's velocity and acceleration, by differences of its pose, are those it has in the first design.
    def tip_states(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        J, Jdot = robot.jacobian(q), robot.jacobian_dot(q, qd)
        return np.einsum("kij,kj->ki", np.concatenate([J, J]), np.concatenate([qd, qdd])) + np.concatenate(
            [0 * J[..., 0], np.einsum("kij,kj->ki", Jdot, qd)]
        )

    before = tip_states(puma.robot, at.q, at.qd, at.qdd)
    assert np.allclose(tip_states(other, states.q, states.qd, states.qdd), before, atol=1e-10)


def value_of(made: Measure, robot: Robot, names: list[str]) -> Value:
    return made.at(Design(Family(robot, names), np.array([robot.symbols[name] for name in names], float)))


def test_values_are_those_of_motor_loads() -> None:
    robot = Robot.load("puma560").symbolic()
    motion = Trajectory.quintic(*WRIST, 1.0, step=0.01).carrying(1.0)
    loads, plain = motor_loads(robot, motion), ["m2"]
    same: list[tuple[Measure, np.ndarray]] = [
        (rms_torque(motion, at="motors"), loads.rms_torque),
        (energy(motion, at="motors"), loads.energy_drawn.sum()),
        (energy(motion, recuperation=True), loads.energy.sum()),
    ]
    for made, expected in same:
        assert np.allclose(value_of(made, robot, plain).x, expected, rtol=1e-12), made.text
    assert np.allclose(value_of(peak_torque(motion, at="motors"), robot, plain).x.max(0), loads.peak_torque)
    assert np.allclose(value_of(peak_speed(motion, at="motors"), robot, plain).x.max(0), loads.peak_speed)
    q = motion.samples().q[::10]
    w = armdyn.manipulability(robot, q)
    assert np.allclose(value_of(manipulability_measure(q), robot, plain).x[:, 0], w)
    total = sum(link.inertia.mass for link in robot.model.links) + sum(
        link.motor.mass for link in robot.model.links if link.motor
    )
    assert np.isclose(value_of(mass(), robot, plain).x, robot.model.number(total))


@pytest.mark.parametrize("name", ["palletizer", "four_bar"])
def test_derivatives_of_closed_chains_by_masses_and_springs(name: str) -> None:
    """The palletizer has relations between its joints, the four-bar linkage a loop closed by iteration."""
    table = Robot.load(name).to_dict()
    links = [link for link in table["link"] if "mass" in link]
    table.setdefault("symbols", {}).update({"mass_1": 5.0, "k_1": 800.0})
    links[-1]["mass"] = "mass_1"
    first, second = table["link"][0]["name"], table["link"][1]["name"]
    table["spring"] = [{"between": [first, second], "at": [[0, 0.1, 0.4], [0.1, 0, 0.2]], "stiffness": "k_1"}]
    robot = quietly(lambda: Robot.from_dict(table))
    family, s = Family(robot, ["mass_1", "k_1"]), np.array([5.0, 800.0])
    rng = np.random.default_rng(3)
    q = 0.1 * rng.uniform(size=(4, robot.n)) + (
        robot.assembly.reference[: robot.n] if name == "four_bar" else 0
    )
    assert_derivatives(rms_torque(q).norm() + potential_spread(q) * formula("mass_1"), family, s)


CHANGES: dict[str, Callable[[Measure, Measure], Measure]] = {
    "a + b": lambda a, b: a + 2 * b,
    "a - b": lambda a, b: 3 - a - b,
    "a * b": lambda a, b: a * b,
    "a / b": lambda a, b: 1 / a / (b + 1),
    "powers": lambda a, b: a**3 + abs(-b) ** 0.5,
    "norm": lambda a, b: (a * b).norm() - b.sum(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_arithmetic_and_its_derivatives(change: str) -> None:
    family, s = Family(Robot.load("planar"), ["a1", "l1"]), np.array([0.8, 0.3])
    a, b = formula("a1*cos(l1)"), manipulability_measure(np.array([[0.1, 0.5], [0.3, 1.2]]))
    made = CHANGES[change](a, b)
    assert_derivatives(made, family, s, 1e-9)
    x, y = (v.at(Design(family, s)).x for v in (a, b))
    expected = {
        "a + b": x + 2 * y,
        "a - b": 3 - x - y,
        "a * b": x * y,
        "a / b": 1 / x / (y + 1),
        "powers": x**3 + abs(y) ** 0.5,
        "norm": np.linalg.norm(x * y) - y.sum(),
    }
    assert np.allclose(made.at(Design(family, s)).x, expected[change], rtol=1e-14)
