"""Runs: what goes in, what comes out, what is said when it goes wrong."""

import pickle
from contextlib import contextmanager

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion import Trajectory
from armdyn.simulation import SimulationError, SimulationWarning, simulate
from arms import slowly
from golden_messages import golden_error, golden_warning
from sliders import slider

PLANAR = Robot.load("planar")
Q0 = np.array([0.3, 0.5])
METHODS = ("adaptive", "rk4")


# ---- torques -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_torques_as_array_samples_and_function(method):
    """Linear in time, given three ways."""
    end = np.array([100.0, -50.0])
    samples = np.linspace(0, 1, 11)[:, None] * end
    by_samples = simulate(PLANAR, Q0, [0, 0], 0.2, samples, method=method, output=0.05)
    by_function = simulate(
        PLANAR, Q0, [0, 0], 0.2, lambda t, q, qd: t / 0.2 * end, method=method, output=0.05
    )
    np.testing.assert_allclose(by_samples.q, by_function.q, atol=1e-10)
    np.testing.assert_allclose(by_samples.tau, by_function.tau, atol=1e-10)
    np.testing.assert_allclose(by_samples.tau, np.linspace(0, 1, 5)[:, None] * end, atol=1e-12)
    constant = simulate(PLANAR, Q0, [0, 0], 0.2, end, method=method, output=0.05)
    function = simulate(PLANAR, Q0, [0, 0], 0.2, lambda t, q, qd: end, method=method, output=0.05)
    np.testing.assert_allclose(constant.q, function.q, atol=1e-12)
    assert np.abs(constant.q[-1] - by_samples.q[-1]).max() > 1e-3


def test_functions_of_one_arm_and_of_all():
    """The adaptive method asks for one arm at a time; the torques it tells are those it was given."""
    q = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])

    def of_one(t, q, qd):
        return np.array([-30 * q[0], 20 * q[1]])

    for arms in (2, 3):
        run = simulate(PLANAR, q[:arms], [0, 0], 0.1, of_one, output=0.05)
        np.testing.assert_allclose(run.tau, run.q * [-30, 20], rtol=1e-14)
        alone = simulate(PLANAR, q[1], [0, 0], 0.1, of_one, output=0.05)
        np.testing.assert_array_equal(run.q[:, 1], alone.q)
        of_all = simulate(
            PLANAR, q[:arms], [0, 0], 0.1, lambda t, q, qd: q * [-30, 20], method="rk4", output=0.05
        )
        np.testing.assert_allclose(of_all.tau, run.tau, atol=1e-6)


def test_samples_at_every_step_of_every_arm():
    """As many samples as steps, or any other number; shared by the arms or not."""
    rng = np.random.default_rng(0)
    q, tau = rng.uniform(-1, 1, (3, 2)), np.cumsum(rng.uniform(-20, 20, (101, 3, 2)), axis=0)
    run = simulate(PLANAR, q, [0, 0], 0.1, tau, method="rk4")
    np.testing.assert_allclose(run.tau, tau, atol=1e-10)
    finer = np.empty((201, 3, 2))
    finer[::2], finer[1::2] = tau, (tau[1:] + tau[:-1]) / 2
    np.testing.assert_allclose(simulate(PLANAR, q, [0, 0], 0.1, finer, method="rk4").q, run.q, atol=1e-13)
    shared = simulate(PLANAR, q, [0, 0], 0.1, tau[:, :1], method="rk4")
    np.testing.assert_allclose(shared.q[:, 0], run.q[:, 0], atol=1e-14)
    alone = simulate(PLANAR, q[1], [0, 0], 0.1, tau[:, 0], method="rk4")
    np.testing.assert_allclose(alone.q, shared.q[:, 1], atol=1e-14)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_wrench_as_array_and_function(method):
    wrench = np.array([5.0, -3, 0, 0, 0, 1])
    q = np.stack([Q0, -Q0])
    given = simulate(PLANAR, q, [0, 0], 0.1, wrench=wrench, method=method, output=0.05)
    asked = simulate(PLANAR, q, [0, 0], 0.1, wrench=lambda t, q, qd: wrench, method=method, output=0.05)
    np.testing.assert_allclose(given.q, asked.q, atol=1e-13)
    np.testing.assert_allclose(given.wrench_work, asked.wrench_work, atol=1e-13)
    held = simulate(
        PLANAR, Q0, [0, 0], 0.1, PLANAR.gravity(Q0) + PLANAR.jacobian(Q0).T @ wrench, wrench=wrench
    )
    np.testing.assert_allclose(held.q, np.broadcast_to(Q0, held.q.shape), atol=1e-11)


def test_samples_over_time_and_their_instants():
    run = simulate(PLANAR, Q0, [0, 0], 1.0, output=0.3)
    np.testing.assert_allclose(run.t, [0, 0.3, 0.6, 0.9, 1.0])
    run = simulate(PLANAR, Q0, [0, 0], 0.01, method="rk4", step=0.004, output=1.0)
    np.testing.assert_allclose(run.t, [0, 0.01])
    assert simulate(PLANAR, Q0, [0, 0], 0.1).t.shape == (101,)


# ---- energy and files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_power_balance_of_a_driven_arm(method):
    def torque(t, q, qd):
        return 100 * np.sin(5 * t) * np.array([1, -0.5]) + PLANAR.gravity(q)

    run = simulate(PLANAR, Q0, [0, 0], 0.5, torque, method=method, output=0.1)
    assert np.abs(run.torque_work).max() > 1
    assert np.abs(run.balance).max() < 1e-8
    np.testing.assert_allclose(run.energy, run.kinetic + run.potential)


def test_a_file_and_the_trajectory_it_is(tmp_path):
    run = simulate(PLANAR, Q0, [0.1, 0.2], 0.5, output=0.01)
    run.to_csv(tmp_path / "run.csv")
    header, first = (tmp_path / "run.csv").read_text().splitlines()[:2]
    assert header == "t,q1,q2,qd1,qd2,tau1,tau2,energy"
    assert [float(x) for x in first.split(",")] == [0, 0.3, 0.5, 0.1, 0.2, 0, 0, run.energy[0]]
    trajectory = Trajectory.from_csv(tmp_path / "run.csv")
    np.testing.assert_allclose(trajectory(run.t)[0], run.q, atol=1e-12)
    np.testing.assert_allclose(trajectory(run.t)[1], run.qd, atol=1e-10)


def test_the_file_of_one_arm_of_a_batch(tmp_path):
    run = simulate(PLANAR, np.stack([Q0, -Q0]), [0, 0], 0.02, method="rk4", output=0.01)
    run.to_csv(tmp_path / "run.csv", arm=1)
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["q1"], run.q[:, 1, 0])
    for arm in (None, 2, (0, 0), 0.5, "a"):
        with golden_error(SimulationError):
            run.to_csv(tmp_path / "run.csv", arm=arm)


def test_a_run_tells_what_it_is():
    run = simulate(PLANAR, np.stack([Q0, -Q0]), [0, 0], 0.02, method="rk4", output=0.01)
    assert repr(run) == "<Run of 'two-link planar arm', 0.02 s, 3 instants, arms (2,): completed>"


def test_a_run_survives_pickling():
    run = simulate(slider(), [0.0], [1.0], 1.0, output=0.1)
    copy = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(copy.energy, run.energy)
    assert copy.events == run.events != ()


# ---- what goes wrong on the way ----------------------------------------------------------------------------


def unstable(t, q, qd):
    return 1e4 * q + 200 * qd * np.abs(qd)


@pytest.mark.parametrize("method", METHODS)
def test_a_motion_that_diverges_stops_and_keeps_what_was_computed(method):
    with pytest.warns(SimulationWarning, match=r"diverged at t = 0\.2\d* s, q = \[.*\], qd = \["):
        run = simulate(PLANAR, [0.1, 0.2], [0, 0], 5.0, unstable, method=method, output=0.01)
    assert not run.completed
    assert "diverged" in run.message
    assert 10 < len(run.t) < 40
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.tau).all()
    assert "diverged" in repr(run)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("instant", [-1.0, 0.5])
def test_torques_that_are_not_numbers(method, instant):
    def torque(t, q, qd):
        return np.where(t > instant, np.nan, 0.0) + 0 * q

    with golden_warning(SimulationWarning):
        run = simulate(PLANAR, Q0, [0, 0], 1.0, torque, method=method, output=0.01)
    assert "max_steps" not in run.message
    np.testing.assert_allclose(run.t[-1], max(instant, 0), atol=0.011)
    assert np.isfinite(run.q).all()


@pytest.mark.parametrize("method", METHODS)
def test_torques_that_are_not_numbers_on_what_sticks(method):
    for torque, wrench in ((lambda t, q, qd: np.nan * q, None), (None, lambda t, q, qd: np.full(6, np.nan))):
        with golden_warning(SimulationWarning):
            run = simulate(slider(), [0.1], [0.0], 1.0, torque, wrench=wrench, method=method, output=0.1)
        assert (run.q == [[0.1]]).all()


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_arms_that_diverge_and_arms_that_do_not(method):
    """Each for itself: which and when is said, the others go on."""
    robot = slider(1.0, 0.0)
    q = np.array([[0.0], [1.0], [0.0], [2.0]])
    with golden_warning(SimulationWarning):
        run = simulate(robot, q, 0 * q, 2.0, lambda t, q, qd: 100 * q, method=method, output=0.1)
    assert run.t[-1] == 2.0
    assert (run.q[:, [0, 2]] == 0).all()
    assert np.isnan(run.q[-1, [1, 3]]).all()
    assert np.isnan(run.energy[-1, 3])
    assert np.isfinite(run.q[5]).all()


def test_a_long_list_of_arms_is_cut_short():
    robot = slider(1.0, 0.0)
    q = np.ones((9, 1))
    with golden_warning(SimulationWarning):
        simulate(robot, q, 0 * q, 2.0, lambda t, q, qd: 100 * q, method="rk4", output=0.1)


# ---- progress ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_progress_is_shown_where_wanted_and_only_there(method, monkeypatch, capsys):
    simulate(PLANAR, Q0, [0, 0], 0.05, method=method)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("armdyn.progress.AFTER", 0.0)
    simulate(PLANAR, Q0, [0, 0], 0.05, method=method, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "simulating two-link planar arm" in err
    simulate(PLANAR, Q0, [0, 0], 0.05, method=method, progress=False)
    assert capsys.readouterr() == ("", "")


def test_pieces_of_a_long_run_and_the_run_in_one(monkeypatch):
    """Reports of progress do not change a bit of the result."""
    samples = np.random.default_rng(3).uniform(-30, 30, (21, 2))
    whole = simulate(PLANAR, Q0, [0, 0], 0.2, samples, method="rk4", output=0.01)
    reports = []

    @contextmanager
    def bar(label, shown):
        yield reports.append

    monkeypatch.setattr("armdyn.simulation.simulation.progress_bar", bar)
    monkeypatch.setattr(
        "armdyn.simulation.fixed_steps.CHUNK", 1000
    )  # some steps: more than one, less than a row
    parts = simulate(PLANAR, Q0, [0, 0], 0.2, samples, method="rk4", output=0.01)
    np.testing.assert_array_equal(parts.q, whole.q)
    np.testing.assert_array_equal(parts.tau, whole.tau)
    assert 20 < len(reports) < 200
    assert (np.diff(reports) > 0).all()
    assert reports[-1] == 1.0
    monkeypatch.setattr("armdyn.simulation.fixed_steps.CHUNK", 2_000_000_000)
    monkeypatch.setattr("armdyn.simulation.fixed_steps.SIGNALS", 1)
    parts = simulate(PLANAR, Q0, [0, 0], 0.2, samples, method="rk4", output=0.01)
    np.testing.assert_array_equal(parts.q, whole.q)


def test_progress_does_not_wait_for_a_state_to_keep(monkeypatch):
    for method in METHODS:
        reports = []

        @contextmanager
        def bar(label, shown, reports=reports):
            yield reports.append

        monkeypatch.setattr("armdyn.simulation.simulation.progress_bar", bar)
        run = simulate(PLANAR, Q0, [0, 0], 1.0, lambda t, q, qd: -q, method=method, output=1.0)
        assert len(run.t) == 2
        assert len(reports) > 5
        assert reports[-1] == 1.0


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"robot": "planar"},
        {"q0": [1.0]},
        {"qd0": "fast"},
        {"q0": [np.nan, 0]},
        {"q0": np.zeros((3, 2)), "qd0": np.zeros((4, 2))},
        {"q0": np.zeros((0, 2))},
        {"duration": 0.0},
        {"duration": np.inf},
        {"duration": "long"},
        {"step": -1e-3},
        {"output": 0},
        {"rtol": 0},
        {"method": "euler"},
        {"torque": [1.0]},
        {"torque": "hard"},
        {"torque": [np.inf, 0]},
        {"torque": np.zeros((1, 2))},
        {"torque": np.zeros((2, 3, 2))},
        {"torque": lambda t, q, qd: [1.0]},
        {"torque": lambda t, q, qd: "ab"},
        {"torque": lambda t, q, qd: 1j * q},
        {"wrench": lambda t, q, qd: np.zeros((3, 6))},
        {"torque": Trajectory.quintic([0, 0], [1, 1], 1.0)},
        {"wrench": [1, 2, 3]},
        {"q0": np.zeros((3, 2)), "torque": np.zeros((4, 2))},
        {"duration": 1e30, "method": "rk4"},
        {"duration": 1e9},
    ],
)
def test_what_makes_no_sense_is_refused(change):
    given = {"robot": PLANAR, "q0": Q0, "qd0": [0, 0], "duration": 0.1} | change
    with golden_error(SimulationError):
        simulate(**given)


@pytest.mark.parametrize("wrong", [[True, False], ["1", "2"], [1j, 0]])
def test_words_truth_values_and_complex_numbers_are_no_positions(wrong):
    with golden_error(SimulationError):
        simulate(Robot.load("planar"), wrong, [0, 0], 0.1)
