"""`optimise` against designs that are known in closed form, a grid, and the sensitivities it gives itself."""

import re
from typing import Any

import numpy as np
import pytest

from armdyn import Robot, Trajectory, inverse_kinematics
from armdyn.studies import (
    Constraint,
    Optimum,
    StudyError,
    TipMotion,
    along,
    energy,
    formula,
    isotropy,
    manipulability_measure,
    mass,
    optimise,
    peak_torque,
    potential_spread,
    rms_torque,
    speed,
    torque,
)
from armdyn.studies.courses import Family
from armdyn.studies.measures import Design
from arms import slowly
from helpers.golden_messages import golden_error

POSTURES = np.linspace(-3, 3, 25)[:, None]


def arm(**more: Any) -> Robot:
    """A beam that turns in a vertical plane, with a spring from a point above the joint."""
    table: dict[str, Any] = {
        "name": "beam",
        "convention": "frames",
        "gravity": [0, 0, "-g"],
        "symbols": {"g": 9.81, "m": 8, "r": 0.7, "h": 0.5, "b": 0.4, "k": 100, "c": 1, "kr": 20, "J": 1.3},
        "link": [
            {
                "name": "column",
                "joint": "fixed",
                "origin": {"xyz": [0, 0, 1]},
                "mass": 10,
                "inertia": {"xx": 1, "yy": 1, "zz": 1},
            },
            {
                "name": "beam",
                "joint": "revolute",
                "origin": {"xyz": [0, 0, 0]},
                "axis": [0, -1, 0],
                "mass": "m",
                "com": ["r", 0, 0],
                "inertia": {"xx": 0.05, "yy": "J", "zz": "J"},
            },
        ],
    }
    table["link"][1] |= more.pop("link", {})
    return Robot.from_dict(table | more)


def springs(**more: Any) -> list[dict[str, Any]]:
    return [{"between": ["column", "beam"], "at": [[0, 0, "h"], ["b", 0, 0]], "stiffness": "k", **more}]


# ---- closed forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", [potential_spread(POSTURES), rms_torque(POSTURES).norm()], ids=str)
def test_the_stiffness_that_balances_a_beam(objective: Any) -> None:
    """k h b = m g r: the spring without rest length and gravity cancel in every posture."""
    best = optimise(arm(spring=springs()), {"k": (0, 2000)}, objective)
    assert best.converged
    assert np.isclose(best.values["k"], 8 * 9.81 * 0.7 / (0.5 * 0.4), rtol=1e-9)
    assert best.objective < 1e-6 * best.objective_at_start
    assert np.abs(best.robot.inverse_dynamics(POSTURES, 0 * POSTURES, 0 * POSTURES)).max() < 1e-6


def test_the_attachment_that_balances_a_beam_under_a_bound() -> None:
    """k is at its bound; of all h b = m g r / k, the one with h = b is nearest to the joint."""
    robot, ideal = arm(spring=springs()), 8 * 9.81 * 0.7 / 400
    best = optimise(
        robot,
        {"k": (50, 400), "h": (0.1, 1), "b": (0.1, 1)},
        "h**2 + b**2",
        formula("k*h*b").equals("m*g*r"),
    )
    assert best.converged
    assert np.allclose([best.values[x] for x in "khb"], [400, ideal**0.5, ideal**0.5], rtol=1e-6)
    (bound,) = [x for x in best.active if x.text.startswith("k <=")]
    assert np.isclose(bound.sensitivity, -2 * ideal / 400, rtol=1e-5)  # of 2 m g r / k


def test_the_counterweight_that_balances_a_beam() -> None:
    """A counterweight of c = m r / 0.3 behind the joint; half of it where that is all there may be."""
    weight = {
        "name": "counterweight",
        "joint": "fixed",
        "parent": "beam",
        "origin": {"xyz": [-0.3, 0, 0]},
        "mass": "c",
        "inertia": {"xx": 0, "yy": 0, "zz": 0},
    }
    table = arm().to_dict()
    table["link"].append(weight)
    robot = Robot.from_dict(table)
    best = optimise(robot, {"c": (0, 50)}, potential_spread(POSTURES))
    assert np.isclose(best.values["c"], 8 * 0.7 / 0.3, rtol=1e-9)
    half = optimise(robot, ["c"], potential_spread(POSTURES), mass() <= 10 + 8 + 4 * 0.7 / 0.3)
    assert half.converged
    assert np.isclose(half.values["c"], 4 * 0.7 / 0.3, rtol=1e-6)
    assert len(half.active) == 1


@pytest.mark.parametrize("rotors", ["exact", "reflected"])
def test_the_gear_that_matches_inertias(rotors: str) -> None:
    """Without gravity and friction the motor's torque is least where kr² Im is the inertia of the load."""
    motor = {"gear": "kr", "inertia": 0.0004}
    robot = arm(link={"motor": motor}, gravity=[0, 0, 0], rotors=rotors)
    load = 1.3 + 8 * 0.7**2
    motion = Trajectory.cubic([0], [1], 1.0, step=0.02)
    for objective in (rms_torque(motion, at="motors"), peak_torque(motion, at="motors").largest()):
        best = optimise(robot, {"kr": (1, 500)}, objective)
        assert best.converged
        assert np.isclose(best.values["kr"], (load / 0.0004) ** 0.5, rtol=1e-6)


def two_links() -> Robot:
    """Two slender rods of the lengths a1 and a2 in a horizontal plane."""
    rods = [
        {
            "name": f"rod {i}",
            "joint": "revolute",
            "a": f"a{i}",
            "alpha": 0,
            "d": 0,
            "mass": f"2*a{i}",
            "com": [f"-a{i}/2", 0, 0],
            "inertia": {"yy": f"a{i}**3/6", "zz": f"a{i}**3/6"},
        }
        for i in (1, 2)
    ]
    return Robot.from_dict(
        {
            "name": "two rods",
            "convention": "dh",
            "gravity": [0, -9.81, 0],
            "symbols": {"a1": 0.9, "a2": 0.6},
            "link": rods,
        }
    )


def test_equal_links_are_most_manipulable() -> None:
    """w = a1 a2 |sin q2| is largest for a1 = a2, of a given sum (Yoshikawa, IJRR 4(2), 1985)."""
    best = optimise(two_links(), ["a1", "a2"], -manipulability_measure([[0.3, 1.1]]), ["a1 + a2 == 1.5"])
    assert best.converged
    assert np.allclose([best.values["a1"], best.values["a2"]], 0.75, rtol=1e-6)
    (sum_of_lengths,) = best.active
    assert np.isclose(sum_of_lengths.sensitivity, -0.75 * np.sin(1.1), rtol=1e-6)  # of −(1.5/2)² sin q2


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_the_isotropic_two_link_arm(method: Any) -> None:
    """At a1 = √2 a2, q2 = 135°, J is isotropic (Salisbury, Craig, IJRR 1(1), 1982); the tip is a2 away."""
    point = TipMotion.at([[1, 0, 0]], near=[0.9, -2.0])
    start = {"a1": 1.2, "a2": 0.8}
    best = optimise(
        two_links(), dict.fromkeys(start, (0.5, 2)), 1 - isotropy(point), start=start, method=method
    )
    assert np.allclose([best.values["a1"], best.values["a2"]], [2**0.5, 1], rtol=1e-5)
    assert best.objective < 1e-9


# ---- a grid, and what bounds cost --------------------------------------------------------------------------


def reaching() -> tuple[Robot, TipMotion]:
    robot = two_links()
    return robot, TipMotion(along_line(robot, [0.4, 1.3]))


def along_line(robot: Robot, q0: Any) -> Trajectory:
    return Trajectory.line(robot, q0, displacement=[-0.4, 0.3, 0], duration=1.0, profile="quintic", step=0.05)


FREE = {"a1": (0.4, 1.0), "a2": (0.4, 1.0)}


def by_hand(robot: Robot, tip: TipMotion, a1: float, a2: float) -> tuple[float, float]:
    """Torque and isotropy of a design whose joints follow `Trajectory.line`."""
    targets = robot.pose(tip.motion.samples().q)[:, :2, 3]
    c = ((targets**2).sum(1) - a1**2 - a2**2) / (2 * a1 * a2)
    if np.abs(c).max() >= 1:
        return np.inf, 0.0
    q2 = np.arccos(c[0])
    q1 = np.arctan2(*targets[0, ::-1]) - np.arctan2(a2 * np.sin(q2), a1 + a2 * np.cos(q2))
    other = robot.with_symbols(a1=a1, a2=a2)
    at = along_line(other, [q1, q2]).samples()
    square = np.trapezoid((other.inverse_dynamics(at.q, at.qd, at.qdd) ** 2).sum(1), at.t)
    J = other.jacobian(at.q)[:, :2]
    G = J @ J.swapaxes(1, 2)
    return square**0.5, (2 * np.sqrt(np.linalg.det(G)) / np.trace(G, axis1=1, axis2=2)).min()


@pytest.mark.slow
def test_lengths_for_a_path_of_the_tip_agree_with_a_grid() -> None:
    """No design of a grid that keeps the bound is better, and one of them is nearly as good."""
    robot, tip = reaching()
    best = optimise(robot, FREE, rms_torque(tip).norm(), isotropy(tip) >= 0.25)
    assert best.converged
    torque_there, isotropy_there = by_hand(robot, tip, *best.values.values())
    assert np.isclose(torque_there, best.objective, rtol=1e-9)
    assert np.isclose(isotropy_there, 0.25, rtol=1e-6)
    lengths = np.linspace(0.4, 1.0, 13)
    grid = [by_hand(robot, tip, a1, a2) for a1 in lengths for a2 in lengths]
    least = min(cost for cost, round_ in grid if round_ >= 0.25)
    assert best.objective <= least <= 1.05 * best.objective


def test_sensitivities_are_those_of_designs_with_other_bounds() -> None:
    robot, tip = reaching()

    def best(bound: float) -> Optimum:
        return optimise(robot, FREE, rms_torque(tip).norm() + 0.1 * mass(), isotropy(tip) >= bound)

    h = 1e-4
    middle = best(0.25)
    told = sum(x.sensitivity for x in middle.active if x.text.startswith("isotropy"))
    assert told > 0
    assert np.isclose((best(0.25 + h).objective - best(0.25 - h).objective) / (2 * h), told, rtol=1e-3)


def test_the_largest_torque_is_minimised_and_bounded() -> None:
    """What is minimised as the largest torque is the least bound that a design can keep."""
    robot, tip = reaching()
    reach = isotropy(tip) >= 0.25
    least = optimise(robot, FREE, peak_torque(tip).largest(), reach)
    assert least.converged
    assert np.isclose(least.objective, np.abs(peak_of(least.robot, tip)).max(), rtol=1e-6)
    nimble = -isotropy(tip).mean()
    kept = optimise(robot, FREE, nimble, peak_torque(tip) <= 1.2 * least.objective)
    assert kept.converged
    assert np.isclose(peak_of(kept.robot, tip), 1.2 * least.objective, rtol=1e-5)
    with_less = optimise(robot, FREE, nimble, [reach, peak_torque(tip) <= 0.9 * least.objective])
    assert not with_less.converged
    assert "is missed by" in with_less.message


def peak_of(robot: Robot, tip: TipMotion) -> float:
    """The largest torque of another robot whose tip starts where that of the first one does."""
    first, _ = reaching()
    at = tip.motion.samples()
    q0 = inverse_kinematics(robot, first.pose(at.q[0])[:3, 3], at.q[0])
    line = along_line(robot, q0).samples()
    return float(np.abs(robot.inverse_dynamics(line.q, line.qd, line.qdd)).max())


# ---- a palletiser ------------------------------------------------------------------------------------------

STRETCHED = {"k1": (1e3, 60e3), "h1": (0.4, 0.7), "b1": (0.1, 0.35)}
CRANKED = {"k2": (1e3, 60e3), "h2": (0.4, 0.7), "b2": (0.1, 0.35)}


def palletiser(rest: float, **values: float) -> Robot:
    """The bundled one with 60 kg, and springs from its column to the upper arm and to the crank."""
    table = Robot.load("palletizer").with_payload(60).to_dict()
    table["symbols"] |= {"k1": 20e3, "h1": 0.5, "b1": 0.25, "k2": 20e3, "h2": 0.5, "b2": 0.3} | values
    ends = {
        "upper arm": ([0.3, 0.2, "0.5 + h1"], [0, 0.2, "b1"], "k1"),
        "crank": ([0.3, -0.2, "0.5 - h2"], ["-b2", -0.2, 0], "k2"),
    }
    table["spring"] = [
        {"between": ["column", link], "at": [a, b], "stiffness": k, "rest": rest}
        for link, (a, b, k) in ends.items()
    ]
    return Robot.from_dict(table)


def palletising() -> np.ndarray:
    """Postures of the upper arm and the crank."""
    upper, crank = (x.ravel() for x in np.meshgrid(np.linspace(-0.6, 1.2, 7), np.linspace(-0.3, 1.3, 7)))
    q = np.column_stack([0 * upper, upper, crank, 0 * upper])
    return q[np.abs(upper - crank) < 1.2]


def held(robot: Robot, q: np.ndarray) -> np.ndarray:
    """The largest torques of the upper arm and of the crank that hold postures."""
    return np.abs(robot.gravity(q) + robot.springs(q)).max(0)[1:3]


def test_springs_without_rest_length_balance_a_palletiser_as_by_hand() -> None:
    """k h b of each is the largest torque of gravity about its joint, by the masses of the description."""
    table, q = palletiser(0).to_dict(), palletising()
    (forearm,) = (link for link in table["link"] if link["name"] == "forearm")
    forearm["com"] = [0.28, 0, 0]  # in line with the crank: what a spring on the crank can balance
    best = optimise(Robot.from_dict(table), {"k1": (1e3, 1e5), "k2": (1e3, 1e5)}, potential_spread(q))
    assert best.converged
    hung = 12 + 6 + 60  # hand, its motor, load
    upper = 140 * 0.46 + (16 + 7) * 0.5 + (95 + 10 + 8 + 22 + hung) * 1.0  # half-way along it: two rods
    crank = 95 * 0.28 + 8 * 0.6 + (22 + hung) * 1.2 - 42 * 0.16 - 16 * 0.4
    assert np.isclose(best.values["k1"] * 0.5 * 0.25, 9.81 * upper, rtol=1e-9)
    assert np.isclose(best.values["k2"] * 0.5 * 0.3, 9.81 * crank, rtol=1e-9)
    assert held(best.robot, q).max() < 1e-6


@pytest.mark.parametrize("objective", [potential_spread, slowly(rms_torque)])
def test_springs_that_balance_a_palletiser_and_a_grid(objective: Any) -> None:
    """With a rest length of 0.2 m: no value of one of them is better, and torques fall to 3 %."""
    q = palletising()
    measured = objective(q) if objective is potential_spread else rms_torque(q).norm()
    best = optimise(palletiser(0.2), STRETCHED | CRANKED, measured)
    assert best.converged
    assert (held(best.robot, q) < 0.03 * held(Robot.load("palletizer").with_payload(60), q)).all()
    other = np.inf
    for name, (low, high) in (STRETCHED | CRANKED).items():
        for x in np.linspace(low, high, 5):
            robot = palletiser(0.2, **(best.values | {name: float(x)}))
            other = min(other, figure(robot, q, objective))
    assert best.objective <= other * (1 + 1e-9)
    assert np.isclose(best.objective, figure(best.robot, q, objective), rtol=1e-9)


@pytest.mark.parametrize("objective", [potential_spread, slowly(rms_torque)])
def test_gradients_of_a_palletiser_and_differences_of_its_functions(objective: Any) -> None:
    q, robot = palletising(), palletiser(0.2)
    names = [*(STRETCHED | CRANKED), "L1", "L2", "r"]  # lengths of rods that relations tie, too
    s = np.array([robot.symbols[name] for name in names], float)
    measured = objective(q) if objective is potential_spread else rms_torque(q).norm()
    slopes = measured.at(Design(Family(robot, names), s)).slopes()
    for name, slope, x in zip(names, slopes, s, strict=True):
        h = 1e-4 * x
        ahead, behind = (figure(robot.with_symbols({name: x + d}), q, objective) for d in (h, -h))
        assert np.isclose((ahead - behind) / (2 * h), slope, rtol=1e-6, atol=1e-9 * abs(slopes * s).max() / x)


def figure(robot: Robot, q: np.ndarray, objective: Any) -> float:
    """What is minimised, by functions of the robot."""
    if objective is potential_spread:
        return float(np.std(robot.potential_energy(q)))
    return float((robot.inverse_dynamics(q, 0 * q, 0 * q) ** 2).mean(0).sum() ** 0.5)


# ---- what is told ------------------------------------------------------------------------------------------


def test_an_optimum_says_what_it_found() -> None:
    told: list[float] = []
    best = optimise(
        arm(spring=springs()),
        {"k": (0, 2000), "h": (0.1, 0.6)},
        potential_spread(POSTURES),
        progress=told.append,
    )
    text = str(best)
    assert "k" in text
    assert best.message in text
    assert told == sorted(told)
    assert told[-1] <= 1
    saved = Robot.from_toml(best.robot.to_toml())
    assert saved == best.robot
    assert saved.symbols["k"] == best.values["k"]


def test_symbols_that_change_nothing_are_named() -> None:
    robot = arm(spring=springs())
    best = optimise(robot, {"k": (0, 2000), "c": (0, 3), "kr": (1, 50)}, potential_spread(POSTURES))
    assert best.converged
    assert best.idle == ("c", "kr")
    assert "neither the objective nor a constraint depends on c, kr" in str(best)
    assert optimise(robot, {"k": (0, 2000), "c": (0, 3)}, potential_spread(POSTURES), "c <= 2").idle == ()


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_that_cannot_be_kept_are_told_with_what_is_missing(method: Any) -> None:
    robot = arm(spring=springs())
    best = optimise(
        robot, {"k": (0, 2000)}, potential_spread(POSTURES), ["k >= 300", "k <= 200"], method=method
    )
    assert not best.converged
    bound, missed = re.search(r"(k [<>]= \d+) is missed by ([\d.]+)", best.message).groups()
    assert np.isclose(abs(best.values["k"] - float(bound.split()[2])), float(missed), rtol=0.01)


def test_an_objective_without_end_is_no_minimum() -> None:
    best = optimise(arm(spring=springs()), ["k"], "-k")
    assert not best.converged
    assert "falls without end" in best.message
    assert "with k, which needs a bound" in best.message


def test_the_edge_of_reach_is_named() -> None:
    """The lightest arm that reaches is stretched out: there the joints no longer follow from the tip."""
    tip = TipMotion.at([[1.2, 0, 0]], near=[0.2, 0.5])
    best = optimise(
        two_links(), {"a1": (0.1, 1), "a2": (0.1, 1)}, mass(), manipulability_measure(tip) >= -1, iterations=5
    )
    assert not best.converged
    assert sum(best.values.values()) > 1.2 - 1e-9
    assert best.idle == ()
    assert "the tip rules designs beside it out (point 0: " in best.message


MOTION = Trajectory.cubic([0], [1], 1.0, step=0.1)
ALONG = [{"between": ["column", "beam"], "at": [["h", 0, 0], ["b", 0, 0]], "stiffness": "k", "rest": 0.1}]
WRONG: dict[str, Any] = {
    "unknown symbols": lambda r: optimise(r, ["k", "x", "y"], mass()),
    "no symbols": lambda r: optimise(r, [], mass()),
    "bounds the wrong way round": lambda r: optimise(r, {"k": (3, 2)}, mass()),
    "one bound": lambda r: optimise(r, {"k": 3}, mass()),
    "start outside": lambda r: optimise(r, {"k": (200, 300)}, mass()),
    "a bound that is no number": lambda r: optimise(r, {"k": (float("nan"), 300)}, mass()),
    "start that is no number": lambda r: optimise(r, {"k": (0, 300)}, mass(), start={"k": float("nan")}),
    "start without derivatives": lambda r: optimise(
        arm(spring=ALONG).with_symbols(h=0.4), {"h": (0.1, 1)}, potential_spread([[0], [1]])
    ),
    "no start": lambda r: optimise(r.with_symbols(k=None), {"k": (200, 300)}, mass()),
    "start of another": lambda r: optimise(r, {"k": (0, 300)}, mass(), start={"h": 1}),
    "start that is no robot": lambda r: optimise(r, {"m": (-2, 3)}, mass(), start={"m": -1}),
    "many numbers": lambda r: optimise(r, ["k"], torque(POSTURES)),
    "function of a robot": lambda r: optimise(r, ["k"], lambda robot: 1.0),
    "no measure": lambda r: optimise(r, ["k"], None),
    "unknown symbol in a formula": lambda r: optimise(r, ["k"], "2*z"),
    "sum with the largest": lambda r: mass() + peak_torque(MOTION).largest(),
    "constraint": lambda r: optimise(r, ["k"], mass(), "k < 3"),
    "two bounds at once": lambda r: 1 <= mass() <= 3,
    "bounds that do not fit": lambda r: optimise(r, ["k"], mass(), [peak_torque(MOTION) <= [1, 2, 3]]),
    "shapes that do not fit": lambda r: optimise(r, ["k"], (torque(MOTION) + torque(POSTURES)).norm()),
    "not a number": lambda r: optimise(r, ["k"], (mass() - 18) ** -1),
    "energy of postures": lambda r: optimise(r, ["k"], energy(POSTURES)),
    "mean of a number": lambda r: mass().mean(),
    "postures of another robot": lambda r: optimise(r, ["k"], rms_torque([[0, 1]])),
    "motion of another robot": lambda r: optimise(r, ["k"], rms_torque(Trajectory.cubic([0, 0], [1, 1], 1))),
    "unknown joint": lambda r: optimise(r, ["k"], rms_torque(MOTION, "elbow")),
    "unknown link": lambda r: optimise(r, ["k"], mass("elbow")),
    "neither joints nor motors": lambda r: speed(MOTION, at="rotors"),
    "a function that asks": lambda r: optimise(r, ["k"], along(MOTION, lambda q, *_: float(q[0])).mean()),
    "method": lambda r: optimise(r, ["k"], mass(), method="Newton"),
    "mixed rows": lambda r: isotropy(MOTION, rows=[0, 5]),
    "motion of the tip": lambda r: TipMotion([0, 1]),
    "a load on a link": lambda r: optimise(r, ["k"], rms_torque(MOTION.carrying(1, link="beam"))),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_optimised_is_refused(wrong: str) -> None:
    with golden_error(StudyError):
        WRONG[wrong](arm(spring=springs()))


def test_designs_that_the_tip_rules_out_are_refused_or_avoided() -> None:
    robot, _ = reaching()
    points = TipMotion.at([[1.2, 0, 0], [0, 1.2, 0]], near=[[0.2, 0.5], [1.2, 0.5]])
    with golden_error(StudyError):  # as it is given, it does not reach
        optimise(
            robot, ["a1"], mass(), manipulability_measure(TipMotion.at([[3, 0, 0]], near=[0.1, 0.1])) >= 0
        )
    with golden_error(StudyError):  # the start does not
        optimise(robot, {"a1": (0.1, 1)}, manipulability_measure(points).mean(), start={"a1": 0.3})
    best = optimise(robot, {"a1": (0.1, 1), "a2": (0.1, 1)}, mass(), manipulability_measure(points) >= 0.05)
    assert best.converged  # its way leads past designs that are too short
    a1, a2 = best.values["a1"], best.values["a2"]
    q2 = np.arccos((1.2**2 - a1**2 - a2**2) / (2 * a1 * a2))
    assert np.isclose(a1 * a2 * np.sin(q2), 0.05, rtol=1e-5)
    with golden_error(StudyError):
        optimise(Robot.load("panda").symbolic(), ["d1"], rms_torque(TipMotion(standing("panda"))).norm())
    with golden_error(StudyError):
        optimise(Robot.load("four_bar"), ["g"], rms_torque(TipMotion(standing("four_bar"))).norm())
    with golden_error(StudyError):
        optimise(Robot.load("elastic_link"), ["g"], rms_torque([[0, 0]]).norm())


def standing(name: str) -> Trajectory:
    n = Robot.load(name).n
    return Trajectory.cubic(np.full(n, 0.3), np.full(n, 0.4), 1.0, step=0.5)


def test_constraints_are_texts_too() -> None:
    made = mass() >= 3
    assert isinstance(made, Constraint)
    assert "mass >= 3" in repr(made)
