"""Limits of positions: said, stopped at or ignored, at the instants on paper."""

import warnings

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.simulation import SimulationError, SimulationWarning, simulate
from arms import slowly
from golden_messages import golden_error
from sliders import without_friction

METHODS = ("adaptive", "rk4")
PUMA = Robot.load("puma560")
Q0 = np.array([0.1, 0.3, -0.2, 0.4, 0.5, 0.1])


def carriages(lower=-1.0, upper=0.5, coulomb=0.0):
    """Two carriages at right angles, 2 kg and 1 kg to push, the first with limits."""

    def link(name, axis, mass, **more):
        place = {"joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": axis, "mass": mass}
        return {"name": name, "friction": {"coulomb": coulomb}} | place | more

    links = [
        link("x", [1, 0, 0], 1.0, limits={"position": [lower, upper]}),
        link("y", [0, 1, 0], 1.0, limits={"position": [-1, 2]}),
    ]
    return Robot.from_dict({"name": "carriages", "convention": "frames", "gravity": [0, 0, 0], "link": links})


def quiet(*arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        return simulate(*arguments, **named)


@pytest.mark.parametrize("output", [1e-3, 0.4, 2.0])
@pytest.mark.parametrize("method", METHODS)
def test_a_limit_passed_and_the_instant_on_paper(method, output):
    """4 N on 2 kg: x = t², so 0.5 m at √½ s; the other joint, at rest in it, stays. Whatever is kept."""
    told = r"joint 1 \('x'\) passes its limit of 0\.5 m at t = 0\.707107 s; limits='stop'"
    with pytest.warns(SimulationWarning, match=told) as found:
        run = simulate(carriages(), [0, 0.1], [0, 0], 2.0, [4.0, 0.0], method=method, output=output)
    assert len(found) == 1
    assert run.completed
    (passed,) = run.limits_passed
    assert (passed.joint, passed.name, passed.limit, passed.unit) == (0, "joint 1 ('x')", 0.5, "m")
    assert passed.arm == ()
    np.testing.assert_allclose(passed.time, np.sqrt(0.5), atol=1e-8 if method == "adaptive" else 1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_both_joints_and_both_ways_in_the_order_of_time(method):
    run = quiet(carriages(), [0, 0], [-2.0, 5.0], 1.0, method=method)
    found = [(passed.joint, passed.limit, round(passed.time, 8)) for passed in run.limits_passed]
    assert found == [(1, 2.0, 0.4), (0, -1.0, 0.5)]


@pytest.mark.parametrize("method", METHODS)
def test_beyond_and_back_between_two_instants_kept(method):
    """x = 2t − 1.9t²: 0.526 m at most, at 0.526 s, and back within its range at the end."""
    run = quiet(carriages(), [0, 0], [2, 0], 1.0, [-7.6, 0], method=method, output=1.0, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(run.q[-1, 0], 0.1)
    (passed,) = run.limits_passed
    np.testing.assert_allclose(passed.time, (2 - np.sqrt(4 - 3.8)) / 3.8, atol=1e-5)
    assert run.limits_passed[0].limit == 0.5


@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_stops_at_a_limit(method):
    """It ends there: the last state is that of the instant, or of the end of the step."""
    arguments = carriages(), [0, 0.1], [0, 0], 2.0, [4.0, 0.0]
    with pytest.warns(SimulationWarning, match=r"passes its limit of 0\.5 m at t = 0\.707107 s, q = \[0\.5"):
        run = simulate(*arguments, method=method, limits="stop", output=0.1)
    assert not run.completed
    assert run.message.startswith("joint 1 ('x') passes its limit")
    end = np.sqrt(0.5) if method == "adaptive" else 0.708
    np.testing.assert_allclose(run.t, [*np.arange(8) * 0.1, end], atol=1e-8)
    np.testing.assert_allclose(run.q[:, 0], run.t**2, atol=1e-9)
    np.testing.assert_allclose(run.torque_work, 4 * run.q[:, 0], atol=1e-9)
    assert np.abs(run.balance).max() < 1e-9
    assert len(run.tau) == len(run.energy) == len(run.t)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_ignored_is_not_said(method):
    run = simulate(carriages(), [0, 0], [0, 0], 2.0, [4.0, 0.0], method=method, limits="ignore")
    assert run.completed
    assert run.limits_passed == ()


@pytest.mark.parametrize("method", METHODS)
def test_what_stays_at_its_limit_or_within_is_not_said(method):
    simulate(carriages(), [0.5, 2.0], [0, 0], 0.5, method=method)
    simulate(carriages(coulomb=3.0), [0.5, 2.0], [0, 0], 0.5, [2.0, 2.0], method=method, limits="stop")
    rubbing = simulate(carriages(coulomb=3.0), [0, 0], [0.5, 0], 2.0, method=method, limits="stop")
    assert rubbing.completed
    assert rubbing.qd[-1, 0] == 0


@pytest.mark.parametrize("method", METHODS)
def test_a_start_beyond_a_limit(method):
    with pytest.warns(SimulationWarning, match=r"joint 1 .* passes its limit of 0\.5 m at t = 0 s"):
        run = simulate(carriages(), [0.7, 0], [-1, 0], 0.5, method=method)
    assert [passed.time for passed in run.limits_passed] == [0.0]
    told = r"q0: expected joint 1 \('x'\) within its limits, -1 to 0\.5, where limits='stop'; found 0\.7"
    with pytest.raises(SimulationError, match=told):
        simulate(carriages(), [0.7, 0], [-1, 0], 0.5, method=method, limits="stop")


@pytest.mark.parametrize("method", METHODS)
def test_arms_of_a_batch(method):
    """x = v t: three of four pass 0.5 or −1; each alone tells the same."""
    q, qd = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    qd[..., 0] = [[1.0, 0.1], [2.0, -3.0]]
    told = r"3 of 4 arms pass limits; first, joint 1 .* of 0\.5 m at t = 0\.25 s in arm \(1, 0\)"
    arguments = {"method": method, "output": 0.1}
    with pytest.warns(SimulationWarning, match=told):
        run = simulate(carriages(), q, qd, 1.0, **arguments)
    found = [(passed.arm, passed.limit) for passed in run.limits_passed]
    assert found[0] == ((1, 0), 0.5)
    assert sorted(found) == [((0, 0), 0.5), ((1, 0), 0.5), ((1, 1), -1.0)]
    stopped = quiet(carriages(), q, qd, 1.0, **arguments, limits="stop")
    assert not stopped.completed
    assert stopped.t[-1] == 1.0
    assert (np.isfinite(stopped.q[..., 0]).sum(axis=0) == [[6, 11], [3, 4]]).all()
    assert (np.abs(stopped.q[np.isfinite(stopped.q)]) <= 1.0 + 1e-6).all()
    for arm in np.ndindex(2, 2):
        alone = quiet(carriages(), q[arm], qd[arm], 1.0, **arguments)
        own = [passed._replace(arm=()) for passed in run.limits_passed if passed.arm == arm]
        assert list(alone.limits_passed) == own


@pytest.mark.slow
@pytest.mark.parametrize("stops", [slowly("warn"), "stop"])
def test_compiled_and_evaluated_limits(stops):
    rng, robot = np.random.default_rng(2), without_friction(PUMA)
    q, qd = rng.uniform(-1, 1, (11, 6)), rng.uniform(-9, 9, (11, 6))
    q[:, 1] = np.abs(q[:, 1])
    q[:, 2] = -np.abs(q[:, 2])
    runs = []
    for backend in ("compiled", "evaluator"):
        with armdyn.backend(backend):
            runs.append(quiet(robot, q, qd, 0.2, method="rk4", output=0.05, limits=stops))
    one, other = runs
    assert len(one.limits_passed) > 3
    assert [p._replace(time=0) for p in one.limits_passed] == [
        p._replace(time=0) for p in other.limits_passed
    ]
    times = [[p.time for p in run.limits_passed] for run in runs]
    np.testing.assert_allclose(times[0], times[1], atol=1e-11)
    np.testing.assert_allclose(one.q, other.q, atol=1e-11)


def test_fixed_steps_and_adaptive_pass_limits_at_the_same_instants():
    robot = without_friction(PUMA)
    fixed = quiet(robot, Q0, np.zeros(6), 1.5, method="rk4", output=0.1)
    adaptive = quiet(robot, Q0, np.zeros(6), 1.5, output=0.1)
    assert len(adaptive.limits_passed) > 1
    assert [p.joint for p in fixed.limits_passed] == [p.joint for p in adaptive.limits_passed]
    times = [[p.time for p in run.limits_passed] for run in (fixed, adaptive)]
    np.testing.assert_allclose(times[0], times[1], atol=1e-5)


@pytest.mark.parametrize("wrong", ["halt", None, 3, True, ["warn"]])
def test_other_words_are_refused(wrong):
    with golden_error(SimulationError):
        simulate(carriages(), [0, 0], [0, 0], 1.0, limits=wrong)
