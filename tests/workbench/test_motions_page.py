"""Motions, least time, simulations and logs driven in the page."""

import numpy as np
import pytest

from armdyn import Log, Robot, Trajectory, identify, time_optimal
from armdyn.report import default_motion
from arms import slowly

pytestmark = pytest.mark.slow


def clock(page):
    """The time that the page shows, with all digits; None: posed by hand."""
    text = page.page.get_attribute("[data-armdyn=clock]", "data-time")
    return float(text) if text else None


def check_torques(page, robot, motion):
    """The torques are those of the time that the page shows; the arm has to stand still."""
    page.tab("Curves")
    page.wait(lambda: page.page.locator("[data-armdyn=clock]").count() == 1, "the clock")
    time = clock(page)
    page.tab("Torques")
    page.page.wait_for_selector("[data-armdyn=torques]")
    page.wait_for_torques(robot.inverse_dynamics(*motion(time)))
    page.tab("Curves")
    page.page.wait_for_selector("[data-armdyn=clock]")
    assert clock(page) == time


@pytest.mark.parametrize("name", ["planar", slowly("panda"), slowly("four_bar")])
def test_a_motion_is_played_and_scrubbed(workbench, name):
    robot = Robot.load(name)
    motion = default_motion(robot).trajectory
    page = workbench(robot, motion)
    page.tab("Curves")
    page.tab("Motion")
    page.wait(lambda: clock(page) == 0.0, "the start")
    page.button("Play")
    page.wait(lambda: clock(page) not in (0.0, None), "time to pass")
    first = clock(page)
    page.wait(lambda: clock(page) not in (first, None), "more time to pass")
    page.button("Pause")
    page.wait(lambda: not page.bench._bench.player.playing, "the pause")
    page.wait(lambda: clock(page) == page.bench._bench.player.time, "the time at which it stopped")
    check_torques(page, robot, motion)
    page.fill("Time", round(motion.duration * 0.7, 3))
    page.wait(lambda: abs(clock(page) - motion.duration * 0.7) < 2e-3, "the scrubbed time")
    check_torques(page, robot, motion)
    assert page.page.locator("[data-armdyn=curves] svg").count() == robot.n


def test_a_hand_on_a_joint_stops_the_motion(workbench):
    robot = Robot.load("planar")
    page = workbench(robot, Trajectory.quintic([0, 0], [1, 1], 3.0))
    page.tab("Curves")
    page.tab("Motion")
    page.button("Play")
    page.wait(lambda: clock(page) not in (0.0, None), "time to pass")
    page.tab("Pose")
    page.fill(f"1 {robot.model.coordinates[0].joint_label}", 0.5)
    page.wait(lambda: clock(page) is None, "the motion to stop")
    assert not page.bench._bench.player.playing


@pytest.mark.slow
def test_least_time_before_and_after(workbench):
    robot = Robot.load("planar")
    motion = default_motion(robot).trajectory
    page = workbench("planar", motion)
    page.tab("Curves")
    page.tab("Motion")
    page.button("Least time")
    page.page.wait_for_selector("[data-armdyn=durations]")
    found = page.page.locator("[data-armdyn=durations]")
    best = time_optimal(robot, motion).trajectory
    assert float(found.get_attribute("data-after")) == best.duration
    assert float(found.get_attribute("data-before")) == motion.duration
    page.wait(lambda: page.page.locator("[data-armdyn=curves] path").count() == 2 * robot.n, "both curves")
    page.fill("Time", 0.25)
    page.wait(lambda: clock(page) is not None and abs(clock(page) - 0.25) < 1e-3, "the time")
    check_torques(page, robot, best)
    lines = {}
    exec(page.bench.python, lines)
    assert lines["motion"].duration == pytest.approx(best.duration, rel=1e-9)
    np.testing.assert_allclose(lines["tau"], robot.inverse_dynamics(*best(clock(page))), rtol=1e-9)


@pytest.mark.slow
def test_a_robot_without_limits_gets_one_clear_note(workbench):
    page = workbench(Robot.load("pendulum"))
    page.tab("Motion")
    page.button("Least time")
    page.page.get_by_text("has no limits of torque").wait_for()


def test_motors_off_is_simulated_and_shown(workbench):
    page = workbench("planar")
    page.tab("Curves")
    page.tab("Simulate")
    page.fill("Duration", 0.5)
    page.button("Simulate")
    page.page.wait_for_selector("[data-armdyn=run]", timeout=60_000)
    shown = page.page.locator("[data-armdyn=run]")
    run = page.bench._bench.run
    assert float(shown.get_attribute("data-duration")) == pytest.approx(0.5)
    assert float(shown.get_attribute("data-drift")) < 1e-6 * np.abs(run.kinetic).max()
    page.wait(lambda: page.page.get_by_text("potential, from the start").count() > 0, "the energies")
    page.wait(lambda: clock(page) not in (0.0, None), "time to pass")
    lines = {}
    exec(page.bench.python, lines)
    np.testing.assert_array_equal(lines["run"].q, run.q)


def test_files_are_uploaded(workbench, tmp_path):
    robot = Robot.load("planar")
    motion = Trajectory.cubic([0, 0.1], [1, -1], 0.8, step=0.01)
    motion.to_csv(tmp_path / "good.csv")
    (tmp_path / "bad.csv").write_text("t,q1,q2\n0,0,0\n1,<script>,1\n", "utf-8")
    Log.from_trajectory(robot, motion).save(tmp_path / "log.csv")
    page = workbench(robot)
    page.tab("Curves")
    page.tab("Motion")
    send(page, "CSV or cycle file", tmp_path / "bad.csv")
    page.page.get_by_text("bad.csv:").wait_for()
    send(page, "CSV or cycle file", tmp_path / "good.csv")
    page.wait(lambda: clock(page) == 0.0, "the motion")
    page.wait(lambda: page.bench._bench.motion.duration == pytest.approx(0.8), "the motion")
    page.tab("Data")
    send(page, "Log file", tmp_path / "log.csv")
    page.page.wait_for_selector("[data-armdyn=residuals]")
    left = page.page.eval_on_selector_all("[data-rms]", "rows => rows.map(row => +row.dataset.rms)")
    assert max(left) < 1e-6
    assert page.page.get_by_text("predicted by the robot").count() == 1


def send(page, label, path):
    with page.page.expect_file_chooser() as chooser:
        page.button(label)
    chooser.value.set_files(path)


@pytest.mark.slow
def test_measured_and_predicted_torques_of_a_fit(workbench):
    robot = Robot.load("planar")
    points = [[0, 0], [1, -1], [-0.5, 1], [0.8, 0.4], [0, 0]]
    motion = Trajectory.through(points, [0, 1, 2, 3, 4], kind="quintic", step=0.01)
    exact = Log.from_trajectory(robot, motion)
    noise = np.random.default_rng(3).normal(size=exact.tau.shape)
    log = Log(exact.t, exact.q, exact.tau + 2.0 * noise, qd=exact.qd, qdd=exact.qdd)
    fit = identify(robot, log)
    page = workbench(robot, fit=fit, log=log)
    page.tab("Curves")
    page.tab("Data")
    page.page.wait_for_selector("[data-armdyn=residuals]")
    left = page.page.eval_on_selector_all("[data-rms]", "rows => rows.map(row => +row.dataset.rms)")
    (compared,) = fit.compare(log)
    wanted = np.sqrt(np.nanmean(np.where(compared.use, compared.residual, np.nan) ** 2, axis=0))
    np.testing.assert_allclose(left, wanted, rtol=1e-9)
    assert page.page.get_by_text("predicted by the fit").count() == 1
    page.tab("Motion")
    page.fill("Time", 2.5)
    page.wait(lambda: clock(page) is not None and abs(clock(page) - 2.5) < 1e-3, "the time")
    np.testing.assert_allclose(page.bench.q, motion(clock(page))[0], atol=1e-3)


@pytest.mark.slow
def test_fit_finds_the_parameters_of_an_uploaded_log(workbench, tmp_path):
    """Of columns that the page is told about, as their names say nothing."""
    robot = Robot.load("planar")
    points = [[0, 0], [1, -1], [-0.5, 1], [0.8, 0.4], [0, 0]]
    motion = Trajectory.through(points, [0, 1, 2, 3, 4], kind="quintic", step=0.01)
    exact = Log.from_trajectory(robot, motion)
    path, rows = tmp_path / "log.csv", np.column_stack([exact.t, exact.q, exact.tau])
    np.savetxt(path, rows, delimiter=",", header="t,a1,a2,b1,b2", comments="")
    page = workbench(robot)
    page.tab("Curves")
    page.tab("Data")
    send(page, "Log file", path)
    page.page.get_by_text("in the field Columns").wait_for(timeout=60_000)
    page.page.get_by_label("Columns").fill("q=a1, a2; tau=b1, b2")
    page.button("Read the file again")
    page.page.wait_for_selector("[data-armdyn=residuals]", timeout=60_000)
    page.button("Fit")
    page.page.get_by_text("predicted by the fit").first.wait_for(timeout=300_000)
    found = page.bench._bench.fit
    wanted = identify(robot, Log.load(path, {"q": ["a1", "a2"], "tau": ["b1", "b2"]}))
    assert found.training_error == wanted.training_error
    lines = {}
    exec(page.bench.python.replace("'log.csv'", repr(str(path))), lines)
    assert lines["fit"].training_error == wanted.training_error
