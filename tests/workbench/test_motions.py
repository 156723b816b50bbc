"""Motions, least time, simulations and logs of the workbench, without a browser."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from armdyn import Log, Robot, Trajectory, identify, scale_to_limits, time_optimal
from armdyn.report import default_motion
from armdyn.workbench.bench import spelled
from armdyn.workbench.charts import motion_charts
from armdyn.workbench.moment import ViewError
from armdyn.workbench.tabs import motion
from armdyn.workbench.tabs.data import columns_of, data_of, log_of
from armdyn.workbench.tabs.motion import check_limits, make_motion, take_file
from armdyn.workbench.tabs.simulation import (
    AT_JOINT,
    AT_TIP,
    CT_FOLLOW,
    PD_HOLD,
    Push,
    SimulationTrial,
    run_clip,
)
from arms import slowly
from golden_messages import golden_error
from waiting import wait_until


def sent(name, content):
    return SimpleNamespace(name=name, content=content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def bench(opened):
    return opened("planar")


# ---- motions -----------------------------------------------------------------------------------------------


def test_a_motion_is_there_from_the_start_and_the_arm_stays(bench):
    assert bench.motion == default_motion(bench.robot).trajectory
    assert bench.moment.time is None


def test_an_uploaded_motion_is_the_file_and_its_python_too(bench, tmp_path, monkeypatch):
    given = Trajectory.cubic([0, 0.1], [1, -1], 0.7)
    given.to_csv(tmp_path / "my motion.csv")
    take_file(bench, sent("my motion.csv", (tmp_path / "my motion.csv").read_bytes()))
    assert bench.motion.duration == pytest.approx(0.7)
    assert bench.moment.time == 0.0
    bench.player.seek(0.3)
    monkeypatch.chdir(tmp_path)
    lines = {}
    exec(bench.python(), lines)
    np.testing.assert_allclose(lines["motion"](0.3)[0], bench.moment.q, atol=1e-12)
    np.testing.assert_allclose(lines["tau"], bench.moment.tau, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.csv", "t,q1,q2\n0,0,0\n1,x,1\n", "bad.csv"),
        ("empty.csv", "", "empty.csv"),
        ("three.csv", "t,q1,q2,q3\n0,0,0,0\n1,1,1,1\n2,0,0,0\n", "three.csv: it moves 3 joints"),
        ("bytes.csv", b"\xff\xfe\x00\x01", "bytes.csv"),
        ("cycle.toml", "start = [0, 0]\nmove = 3", "cycle.toml"),
        ("cut.toml", "start = [0,", "cut.toml"),
        ("<b>.exe", "x", "<b>.exe: expected a motion in .csv, or a cycle in .toml"),
        ("../../etc/passwd", "x", "passwd: expected"),
    ],
)
def test_a_damaged_upload_is_one_error_that_names_the_file(bench, name, content, message):
    before = bench.motion
    with pytest.raises(ViewError) as error:
        take_file(bench, sent(name, content))
    assert message in str(error.value)
    assert "/tmp" not in str(error.value)
    assert "upload." not in str(error.value)
    assert bench.motion is before


@pytest.mark.parametrize(
    "law", ["quintic", "cubic", "7th degree", "trapezoidal velocity", "triangular velocity"]
)
def test_a_motion_made_from_here_to_there_goes_there(bench, law):
    start, end = np.array([0.1, 0.2]), np.array([0.9, -0.4])
    make_motion(bench, start, end, law, 1.5)
    assert bench.motion.duration == pytest.approx(1.5)
    np.testing.assert_allclose(bench.motion([0.0, 1.5])[0], [start, end], atol=1e-12)
    lines = {}
    exec(bench.python(), lines)
    assert lines["motion"] == bench.motion


def test_a_straight_line_of_the_tip_is_straight(bench):
    start, end = np.array([0.3, 0.9]), np.array([0.6, 1.2])
    make_motion(bench, start, end, "straight line of the tip", 1.0)
    tips = bench.robot.pose(bench.motion(np.linspace(0, 1, 21))[0])[:, :3, 3]
    along = tips[-1] - tips[0]
    assert np.abs(np.cross(tips - tips[0], along / np.linalg.norm(along))).max() < 1e-9


def test_the_same_posture_twice_is_no_motion(bench):
    with golden_error(ViewError):
        make_motion(bench, np.ones(2), np.ones(2), "cubic", 1.0)


@pytest.mark.parametrize(
    "motion",
    [
        Trajectory.quintic([0, 1], [2, 0], 1.5),
        Trajectory.trapezoidal([0, 1], [2, 0], acceleration_time=0.25, duration=1.0),
        Trajectory.smooth([0, 1], [2, 0], 1.0),
    ],
)
def test_a_motion_that_was_given_is_spelled_out(motion):
    lines = {"Trajectory": Trajectory}
    exec("\n".join(spelled(motion)), lines)
    t = np.linspace(0, motion.duration, 101)
    for found, wanted in zip(lines["motion"](t), motion(t), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


# ---- limits ------------------------------------------------------------------------------------------------


def pressed(bench, label):
    """Press the last button of a name, and wait for the job."""
    handles = bench.gui._gui_input_handle_from_uuid.values()
    *_, button = [x for x in handles if getattr(x, "label", None) == label]
    for call in button._impl.update_cb:
        call(SimpleNamespace(client=None, client_id=None, target=button))
    wait_until(lambda: not bench.busy, label)


@pytest.mark.parametrize(
    ("label", "function"), [("Least time", time_optimal), ("Scale to limits", scale_to_limits)]
)
def test_timing_is_that_of_the_function_and_so_is_its_python(bench, label, function):
    before = bench.motion
    pressed(bench, label)
    assert bench.motion.duration == function(bench.robot, before).trajectory.duration
    lines = {}
    exec(bench.python(), lines)
    assert lines["motion"] == bench.motion


@pytest.mark.parametrize("first", ["timed", slowly("edited")])
def test_the_lines_know_the_robot_of_each_step(bench, first):
    """A robot that is edited after a motion was made or timed does not change what these lines give."""
    heavy = bench.given.with_symbols(ml1=80.0, a1=1.2)
    steps = [lambda: pressed(bench, "Least time"), lambda: edit(bench, heavy)]
    for step in steps if first == "timed" else steps[::-1]:
        step()
    lines = {}
    exec(bench.python(), lines)
    assert lines["motion"] == bench.motion
    assert lines["robot"] == heavy
    np.testing.assert_allclose(lines["tau"], bench.moment.tau, rtol=1e-12)
    assert bench.python().count("with_symbols") == 1  # no robot is made twice


def edit(bench, robot):
    """As the editor does."""
    bench.script.say("robot", *bench.loads, "robot = robot.with_symbols(ml1=80.0, a1=1.2)", imports=["Robot"])
    bench.change(subject=bench.moment.subject.changed(robot))


def test_a_motion_timed_for_one_that_is_gone_is_dropped(bench, monkeypatch):
    going, notes, motions = threading.Event(), [], bench.motions
    bench.tell = lambda title, text, colour="blue": notes.append(text)

    def slowly(*given, **more):
        going.wait(60)
        return time_optimal(*given, **more)

    monkeypatch.setattr(motion, "time_optimal", slowly)
    threading.Thread(target=pressed, args=(bench, "Least time")).start()
    wait_until(lambda: bench.busy)
    other = Trajectory.cubic([0, 0], [1, 1], 2.0)
    motions.take(other)
    going.set()
    wait_until(lambda: not bench.busy)
    assert bench.motion is other
    assert motions.after is None
    assert any("another motion was loaded" in note for note in notes)


def test_a_robot_without_limits_is_told_what_is_missing():
    with golden_error(ViewError):
        check_limits(Robot.load("pendulum"))


def test_charts_show_the_torques_of_the_motion(bench):
    charts = motion_charts(bench.robot, [("motion", bench.motion)])
    at = bench.motion.samples()
    tau = bench.robot.inverse_dynamics(at.q, at.qd, at.qdd)
    torques = charts["Torques"](bench.moment.subject, 0, None)
    by_cause = charts["Torques by cause"](bench.moment.subject, 1, None)
    np.testing.assert_allclose(torques.panels[1].lines[0].y, tau[:, 1], rtol=1e-12, atol=1e-9)
    total, *parts = by_cause.panels[0].lines
    np.testing.assert_allclose(total.y, sum(part.y for part in parts), atol=1e-6)
    np.testing.assert_allclose(total.y, tau[:, 1], atol=1e-6)
    assert torques.panels[0].bounds == (-3000.0, 3000.0)
    for title in charts:
        assert charts[title](bench.moment.subject, 0, None).panels


# ---- simulation --------------------------------------------------------------------------------------------


def trial(**further):
    robot = Robot.load("planar")
    return SimulationTrial(robot, robot, np.array([0.3, 0.4]), np.zeros(2), 0.2, **further)


@pytest.mark.parametrize(
    "further",
    [
        {},
        pytest.param(
            {"push": Push(AT_JOINT, joint=1, torque=20.0, start=0.05, length=0.1)}, marks=pytest.mark.slow
        ),
        pytest.param(
            {"drive": PD_HOLD, "push": Push(AT_TIP, (0.0, 30.0, 0.0), start=0.0, length=0.1)},
            marks=pytest.mark.slow,
        ),
        {"drive": CT_FOLLOW, "motion": Trajectory.cubic([0.3, 0.4], [0.5, 0.3], 0.2), "saturated": True},
    ],
)
def test_a_simulation_and_its_python_are_the_same(further):
    asked = trial(**further)
    run = asked.run()
    assert run.completed
    lines, names = asked.lines(["robot = Robot.load('planar')"])
    found = {"np": np, "robot": asked.robot, "motion": asked.motion}
    exec(f"from armdyn import {', '.join(names)}\n" + "\n".join(lines), found)
    np.testing.assert_array_equal(found["run"].q, run.q)
    clip = run_clip(run, asked.motion, asked.wrench())
    np.testing.assert_allclose(clip.at(clip.duration)[0], run.q[-1], atol=1e-12)
    for title, chart in clip.charts.items():
        assert chart(None, 0, None).panels, title


def test_a_push_moves_the_tip_where_it_pushes():
    free = trial()
    pushed = trial(push=Push(AT_TIP, (0.0, 500.0, 0.0), start=0.0, length=0.2))
    tips = [x.robot.pose(x.run().q[-1])[:3, 3] for x in (free, pushed)]
    assert tips[1][1] > tips[0][1]


def test_progress_is_told_and_a_joint_torque_needs_motors_off():
    told = []
    trial().run(told.append)
    assert told
    assert min(told) >= 0
    assert max(told) <= 1 + 1e-9
    with golden_error(ViewError):
        trial(drive=PD_HOLD, push=Push(AT_JOINT)).run()


# ---- data --------------------------------------------------------------------------------------------------


def test_a_log_of_the_robot_leaves_no_residual(bench, tmp_path):
    motion = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.01)
    Log.from_trajectory(bench.robot, motion).save(tmp_path / "log.csv")
    log = log_of(sent("a log.csv", (tmp_path / "log.csv").read_bytes()))
    assert log.name == "a log.csv"
    data = data_of(bench.robot, log, None, 10.0)
    scale = np.abs(data.measured).max()
    assert data.residual_rms(data.predicted(bench.moment.subject)).max() < 1e-9 * scale
    heavier = bench.moment.subject.changed(bench.robot.with_payload(5.0))
    assert data.residual_rms(data.predicted(heavier)).min() > 1e-3 * scale


def test_a_log_in_contact_leaves_no_residual_beside_its_wrench(bench):
    robot = bench.robot
    at = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.01).samples()
    h = np.outer(np.sin(5 * at.t), [30.0, -20.0, 0, 0, 0, 4.0])
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd, wrench=h)
    log = Log(at.t, at.q, tau, qd=at.qd, qdd=at.qdd, wrench=h)
    fit = identify(robot, log, friction="given", damping=0.0)
    for found in (None, fit):
        data = data_of(robot, log, found, 10.0)
        assert data.residual_rms(data.predicted(bench.moment.subject)).max() < 1e-9 * np.abs(tau).max()
    assert data.residual_rms(data.fitted).max() < 1e-9 * np.abs(tau).max()


@pytest.mark.parametrize(
    ("name", "content"), [("log.csv", "t,q1\n0,1\n"), ("log.txt", ""), ("log.npz", b"no"), ("log.csv", "")]
)
def test_a_damaged_log_is_one_error_that_names_the_file(name, content):
    with pytest.raises(ViewError) as error:
        log_of(sent(name, content))
    assert name in str(error.value)
    assert "/tmp" not in str(error.value)


def test_columns_are_said_in_the_page(bench, tmp_path):
    motion = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.01)
    log = Log.from_trajectory(bench.robot, motion)
    rows = np.column_stack([log.t, log.q, log.tau])
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",", header="t,a1,a2,b1,b2", comments="")
    file = sent("x.csv", (tmp_path / "x.csv").read_bytes())
    with pytest.raises(ViewError, match="say which in the field Columns, such as q=NAME") as error:
        log_of(file)
    assert "columns=" not in str(error.value)
    told = columns_of(" q = a1, a2 ; tau=b* ")
    assert told == {"q": ["a1", "a2"], "tau": "b*"}
    np.testing.assert_array_equal(log_of(file, told).q, log_of(file, columns_of("q=1,2; tau=3,4")).q)
    assert columns_of(" ; ") is None
    with pytest.raises(ViewError, match="Columns: expected such as"):
        columns_of("q a1")


def test_a_refused_log_leaves_the_good_one(bench, tmp_path):
    """In what is shown, in what other fields act on, and in the Python lines."""
    notes, labels = [], {getattr(x, "label", None): x for x in bench.gui._gui_input_handle_from_uuid.values()}
    bench.tell = lambda title, text, colour="blue": notes.append(text)
    for name, n in (("good.csv", 2), ("other.csv", 3)):
        motion = Trajectory.quintic(np.zeros(n), np.ones(n), 1.0, step=0.01)
        robot = bench.robot if n == 2 else Robot.load("planar3")
        Log.from_trajectory(robot, motion).save(tmp_path / name)
        button = labels["Log file"]
        button._impl.value = sent(name, (tmp_path / name).read_bytes())
        for call in button._impl.update_cb:
            call(SimpleNamespace(client=None, client_id=None, target=button))
    assert len(notes) == 1
    assert "other.csv" in notes[0]
    assert bench.log.name == "good.csv"
    assert "Log.load('good.csv')" in bench.python()
    for field in bench.fields._fields.values():
        if field.handle.label == "Cut-off":
            field.type(0, "4")
    assert len(notes) == 1
    assert bench.player.clip.name == "good.csv"


def test_a_simulation_can_be_stopped(bench):
    """Long ones would keep every other computation waiting."""
    notes, labels = [], {getattr(x, "label", None): x for x in bench.gui._gui_input_handle_from_uuid.values()}
    bench.tell = lambda title, text, colour="blue": notes.append(text)

    def press(label):
        for call in labels[label]._impl.update_cb:
            call(SimpleNamespace(client=None, client_id=None, target=labels[label]))

    durations = [
        x for x in bench.gui._gui_input_handle_from_uuid.values() if getattr(x, "label", None) == "Duration"
    ]
    for field in durations:
        field.value = 600.0
    press("Simulate")
    wait_until(lambda: labels["Stop"].visible)
    press("Stop")
    wait_until(lambda: not bench.busy)
    assert "the simulation was stopped" in notes
    assert bench.run is None
    assert not labels["Stop"].visible
