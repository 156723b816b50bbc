"""Every feature of a robot or a task in every verb: it counts there, or it is refused in one sentence.

A row of FEATURES is an arm of few joints with one feature; a row of VERBS checks what a verb makes of it by
another route than the verb's own. What no verb takes stands in REFUSED, with the words of the refusal.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armdyn import (
    ArmdynError,
    Log,
    Robot,
    Trajectory,
    backend,
    contributions,
    identify,
    motor_loads,
    scale_to_limits,
    simulate,
    time_optimal,
)
from armdyn.report import write_report
from arms import assert_same, bundled, exact_array, quietly, slowly
from closed_chains import five_bar_table, reference
from elastic_arms import two_links
from page_checks import check_page
from simulated_logs import motion_of
from spring_arms import sprung

LIMITS = {"velocity": 8, "acceleration": 80, "torque": 150}
MOTOR = {"gear": 20, "inertia": 1e-4}


def plane(**second: Any) -> Robot:
    """Two links in a vertical plane with motors and limits; `second`: further keys of the second."""
    link = {
        "joint": "revolute",
        "a": 0.4,
        "alpha": 0,
        "d": 0,
        "mass": 3,
        "com": [-0.2, 0.01, 0.02],
        "inertia": {"xx": 0.02, "yy": 0.04, "zz": 0.05},
        "limits": LIMITS,
    }
    first = {"name": "first", **link, "motor": MOTOR}
    last = {"name": "last", **link, "motor": MOTOR | {"carrier": "first"}, **second}
    return Robot.from_dict(
        {"name": "plane", "convention": "dh", "gravity": [0, -9.81, 0], "link": [first, last]}
    )


def related() -> Robot:
    """The parallelogram of the book, with limits."""
    table = bundled("parallelogram").to_dict()
    for link in table["link"]:
        if "motor" in link:
            link["limits"] = LIMITS | {"torque": 2000}
    return Robot.from_dict(table)


def closed() -> Robot:
    return Robot.from_dict(five_bar_table(limits=LIMITS, motor=MOTOR, friction={"viscous": 0.4}))


@dataclass(frozen=True)
class Feature:
    """An arm, and what the task adds: a wrench that it exerts, a load that it carries."""

    make: Callable[[], Robot]
    wrench: Any = None
    load: tuple[Any, ...] | None = None
    exact: bool = field(default=True, kw_only=True)  # torques are linear in the parameters

    @property
    def robot(self) -> Robot:
        return quietly(self.make)

    def motion(self, robot: Robot, duration: float = 0.5) -> Trajectory:
        """From rest to rest; the load is carried all the time."""
        q = reference(robot) if robot.model.loops else np.full(robot.n, 0.3)
        way = np.resize([0.4, -0.5], robot.n)
        motion = Trajectory.quintic(q, q + way, duration)
        return motion if self.load is None else motion.carrying(*self.load)

    def carrying(self, robot: Robot) -> Robot:
        """The robot with the load as a part of it."""
        return robot if self.load is None else robot.with_payload(*self.load)


STRIBECK = {"level": 0.2, "velocity": 0.5}
DRY = {"viscous": 0.4, "coulomb": [0.5, -0.3], "offset": 0.1}
FEATURES = {
    "nothing": Feature(plane),
    "dry friction": Feature(lambda: plane(friction=DRY)),
    "stribeck": Feature(
        lambda: plane(friction={"coulomb": 0.3, "stribeck": {"level": 0.2, "velocity": 0.5}})
    ),
    "cubic friction": Feature(lambda: plane(friction={"cubic": 0.05})),
    "load friction": Feature(lambda: plane(friction={"load": 0.1}), exact=False),
    "springs": Feature(lambda: Robot(sprung(plane().model, 4, struts=1))),
    "relations": Feature(related),
    "loops": Feature(closed),
    "elastic joints": Feature(lambda: two_links().with_rotors("reflected")),
    "a wrench": Feature(plane, [3.0, -5.0, 0.0, 0.0, 0.0, 1.0]),
    "wrenches on links": Feature(
        plane, {"first": [0.0, 4.0, 0.0, 0.0, 0.0, 0.0], "last": [3.0, 0, 0, 0, 0, 0]}
    ),
    "a load": Feature(plane, None, (1.5, (0.05, 0.02, 0.0))),
}


def states(feature: Feature, robot: Robot, rows: int = 3) -> tuple[np.ndarray, ...]:
    """Some states in which every joint moves."""
    rng = np.random.default_rng(3)
    q = (reference(robot) if robot.model.loops else 0.0) + rng.uniform(-0.3, 0.3, (rows, robot.n))
    qd, qdd = rng.uniform(0.3, 1.2, (2, rows, robot.n)) * np.sign(rng.uniform(-1, 1, (2, rows, robot.n)))
    return q, qd, qdd


def torque_of_wrench(feature: Feature, robot: Robot, q: np.ndarray) -> Any:
    """Jᵀ h of all wrenches."""
    given = feature.wrench
    if given is None:
        return 0.0
    by_link = given if isinstance(given, dict) else {None: given}
    return sum(
        np.einsum("sij,i->sj", robot.jacobian(q, link), np.array(h, float)) for link, h in by_link.items()
    )


# ---- verbs -------------------------------------------------------------------------------------------------


def inverse_dynamics(feature: Feature, robot: Robot) -> None:
    """Power of the torques = rate of the energy + power of friction + power of the wrench."""
    robot = feature.carrying(robot)
    q, qd, qdd = states(feature, robot)
    tau = robot.inverse_dynamics(q, qd, qdd, feature.wrench)
    rubs = contributions(robot, q, qd, qdd, feature.wrench).friction
    rest = tau - rubs - torque_of_wrench(feature, robot, q)

    def energy(t: float) -> np.ndarray:
        x, v = q + qd * t + qdd * t**2 / 2, qd + qdd * t
        return np.asarray(robot.kinetic_energy(x, v) + robot.potential_energy(x))

    h = 1e-3
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert_same((rest * qd).sum(1), rate, 1e-8, np.abs(rate).max())


def forward_dynamics(feature: Feature, robot: Robot) -> None:
    robot = feature.carrying(robot)
    q, qd, qdd = states(feature, robot)
    tau = robot.inverse_dynamics(q, qd, qdd, feature.wrench)
    assert_same(robot.forward_dynamics(q, qd, tau, feature.wrench), qdd, 1e-9)


def second_derivatives(feature: Feature, robot: Robot) -> None:
    """Differences of the first derivatives, along a direction of q and q̇; products are sums of them."""
    robot = feature.carrying(robot)
    q, qd, qdd = (x[0] for x in states(feature, robot))
    tau = robot.inverse_dynamics(q, qd, qdd, feature.wrench)
    along, multipliers = np.resize([0.6, -0.8], robot.n), np.resize([1.5, 0.7], robot.n)
    for kind, third in (("inverse", qdd), ("forward", tau)):
        first = getattr(robot, f"{kind}_dynamics_derivatives")
        h = 1e-4
        ahead, behind = (first(q + s * along, qd, third, feature.wrench) for s in (h, -h))
        expected = [(a - b) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
        ahead, behind = (first(q, qd + s * along, third, feature.wrench) for s in (h, -h))
        expected.append((ahead[1] - behind[1]) / (2 * h))
        found = getattr(robot, f"{kind}_dynamics_second_derivatives")(q, qd, third, feature.wrench)
        size = max(np.abs(x).max() for x in expected)
        for x, y in zip(found, expected, strict=True):
            assert_same(x @ along, y, 1e-6, size)
        product = getattr(robot, f"{kind}_dynamics_hessian_product")
        H = product(q, qd, third, multipliers, feature.wrench)
        rows = np.concatenate([np.einsum("i,ijk->jk", multipliers, x) for x in found[:3]])
        assert_same(H[:, : robot.n], rows, 1e-10, size)


def regressor(feature: Feature, robot: Robot) -> None:
    """Torques are linear in the parameters, but for load friction and what the wrench takes."""
    robot = feature.carrying(robot)
    q, qd, qdd = states(feature, robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    if not feature.exact:
        tau = plane().inverse_dynamics(q, qd, qdd)
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, tau, 1e-10)


def exact(feature: Feature, robot: Robot) -> None:
    """The closed form at numbers, and the proof of it."""
    robot = feature.carrying(robot)
    equations = robot.equations()
    assert equations.prove()
    q, _, _ = (x[0] for x in states(feature, robot))
    assert_same(exact_array(equations, equations.B, q), robot.inertia(q), 1e-10)


def contributions_(feature: Feature, robot: Robot) -> None:
    robot = feature.carrying(robot)
    state = states(feature, robot)
    found = contributions(robot, *state, feature.wrench).total
    assert_same(found, robot.inverse_dynamics(*state, feature.wrench), 1e-10)


def _used(feature: Feature, robot: Robot, trajectory: Trajectory) -> float:
    """The largest share of any limit, by inverse dynamics along the motion."""
    at = trajectory.samples(trajectory.duration / 2000)
    tau = feature.carrying(robot).inverse_dynamics(at.q, at.qd, at.qdd, feature.wrench)
    most = [link.limits for link in robot.model.links if link.actuated and link.limits.torque is not None]
    torque, velocity, acceleration = (
        np.array([robot.model.number(getattr(x, kind)) for x in most])
        for kind in ("torque", "velocity", "acceleration")
    )
    shares = (np.abs(tau) / torque, np.abs(at.qd) / velocity, np.abs(at.qdd) / acceleration)
    return float(max(x.max() for x in shares))


def scaling(feature: Feature, robot: Robot) -> None:
    """Made as fast as limits allow, a motion uses one up and exceeds none."""
    found = scale_to_limits(robot, feature.motion(robot), wrench=feature.wrench, faster=True)
    assert _used(feature, robot, found.trajectory) == pytest.approx(1, abs=2e-3)


def least_time(feature: Feature, robot: Robot) -> None:
    motion = feature.motion(robot)
    scaled = scale_to_limits(robot, motion, wrench=feature.wrench, faster=True)
    found = time_optimal(robot, motion, wrench=feature.wrench, grid=100)
    assert found.duration <= scaled.trajectory.duration * (1 + 1e-9)
    assert _used(feature, robot, found.trajectory) == pytest.approx(1, abs=1e-2)


def simulation(feature: Feature, robot: Robot) -> None:
    """Accelerations, as differences of the velocities of a run, are those of direct dynamics."""
    q = states(feature, robot)[0][0]
    qd, tau = np.resize([2.5, -2.0], robot.n), np.zeros(robot.n)
    tau[-1] = 2.0
    options = {} if feature.load is None else {"loads": feature.motion(robot, 0.02).loads}
    run = simulate(
        robot, q, qd, 0.02, tau, wrench=feature.wrench, method="rk4", step=1e-3, limits="ignore", **options
    )
    k = np.arange(2, len(run.t) - 2)
    h = run.t[1] - run.t[0]
    rate = (8 * (run.qd[k + 1] - run.qd[k - 1]) - (run.qd[k + 2] - run.qd[k - 2])) / (12 * h)
    expected = feature.carrying(robot).forward_dynamics(run.q[k], run.qd[k], tau, feature.wrench)
    assert_same(rate, expected, 1e-5, np.abs(expected).max())


def identification(feature: Feature, robot: Robot) -> None:
    """From a log of exact states: the torques of another motion."""
    true = feature.carrying(robot)

    def recorded(seed: int) -> tuple[np.ndarray, ...]:
        t, q, qd, qdd = motion_of(true, seed, duration=4.0, rate=50.0, size=0.3)
        q = q - q.mean(0) + (reference(true) if true.model.loops else 0.0)
        return t, q, qd, qdd, true.inverse_dynamics(q, qd, qdd, feature.wrench)

    t, q, qd, qdd, tau = recorded(1)
    guess = robot.with_parameters(1.2 * robot.parameters)
    wrench = None if feature.wrench is None else np.tile(feature.wrench, (len(t), 1))
    log = Log(t, q, tau, qd=qd, qdd=qdd, wrench=wrench)
    fit = identify(guess, log, friction="given" if feature.exact else "choose")
    _, q, qd, qdd, tau = recorded(2)
    tau = tau - torque_of_wrench(feature, true, q)
    assert np.abs(fit.robot.inverse_dynamics(q, qd, qdd) - tau).max() < 0.02 * np.abs(tau).max()


def loads_of_motors(feature: Feature, robot: Robot) -> None:
    """Torques of the joints = Kᵀ times those of the motors."""
    motion = feature.motion(robot)
    found = motor_loads(robot, motion, wrench=feature.wrench)
    at = motion.samples()
    tau = feature.carrying(robot).inverse_dynamics(at.q, at.qd, at.qdd, feature.wrench)
    assert_same(found.torque @ robot.transmission, tau, 1e-9)


VERBS = {
    "inverse dynamics": inverse_dynamics,
    "forward dynamics": forward_dynamics,
    "second derivatives": second_derivatives,
    "regressor": regressor,
    "exact": exact,
    "contributions": contributions_,
    "scaling": scaling,
    "least time": least_time,
    "simulation": simulation,
    "identification": identification,
    "motor loads": loads_of_motors,
}
REFUSED = {
    ("springs", "exact"): "hold the square root of a sum, which exact equations do not have",
    ("loops", "exact"): "closed forms exist for trees and linear relations between joints",
    ("elastic joints", "scaling"): "a path of all coordinates cannot be timed by limits of torque",
    ("elastic joints", "least time"): "a path of all coordinates cannot be timed by limits of torque",
    ("elastic joints", "motor loads"): "on the link of an elastic joint that no motor gives",
}


def cases() -> Iterator[Any]:
    """Each feature with each verb that has an argument for it; the arm without any is left to other tests."""
    for name, feature in FEATURES.items():
        for verb in VERBS:
            without = (
                "regressor",
                "exact",
                *(["identification"] if isinstance(feature.wrench, dict) else []),
            )
            if feature.wrench is None or verb not in without:
                yield (slowly if name == "nothing" else pytest.param)(name, verb, id=f"{name}-{verb}")


@pytest.mark.parametrize(("name", "verb"), list(cases()))
def test_a_feature_in_a_verb(name: str, verb: str) -> None:
    feature = FEATURES[name]
    with backend("evaluator"):
        if (name, verb) in REFUSED:
            with pytest.raises(ArmdynError, match=REFUSED[name, verb]):
                VERBS[verb](feature, feature.robot)
        else:
            VERBS[verb](feature, feature.robot)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("name", [x for x, feature in FEATURES.items() if feature.wrench is None])
def test_a_feature_in_c(name: str, tmp_path: Path) -> None:
    """The test program that is written beside the code compares it with numbers of Python."""
    feature = FEATURES[name]
    robot = feature.carrying(feature.robot)
    robot.export_c(["inverse_dynamics", "forward_dynamics"], prefix="arm").write(tmp_path)
    subprocess.run(["cc", "arm.c", "test_arm.c", "-lm", "-o", "test"], cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "test"], check=True, capture_output=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FEATURES)
def test_a_feature_in_a_report(name: str, tmp_path: Path) -> None:
    feature = FEATURES[name]
    robot = feature.robot
    path = write_report(robot, tmp_path / "report.html", feature.motion(robot), wrench=feature.wrench)
    assert robot.name in check_page(path.read_text("utf-8")).words
