"""What the workbench writes: tables, robots, reports and Python lines say what the page shows."""

import io
import warnings
from pathlib import Path

import imageio.v3 as images
import numpy as np
import pytest

import armdyn
from armdyn import Robot, Trajectory
from armdyn.description import bundled_robots
from armdyn.names import file_stem
from armdyn.report.page import Markup
from armdyn.workbench.bench import literal, loading_lines
from armdyn.workbench.moment import ViewError
from armdyn.workbench.tabs import export as exported
from armdyn.workbench.tabs.export import listing
from golden_messages import golden_error

NASTY = "<script>alert('x')</script> 100 % \"\\\n''' \u202e\x07"


def executed(lines):
    """The names that Python lines leave."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(lines, "lines", "exec"), found)
    return found


def slowly(name):
    return pytest.param(name, marks=pytest.mark.slow, id=f"{name} of all")


def robot_of(lines):
    return executed("from armdyn import Robot\n" + "\n".join(lines))["robot"]


# ---- the Python lines --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["planar", "puma560", "five_bar", *map(slowly, bundled_robots())])
def test_bundled_robots_are_loaded_by_name(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = Robot.load(name)
    assert loading_lines(robot, name) == [f"robot = Robot.load('{name}')"]
    assert loading_lines(robot, None) == [f"robot = Robot.load('{name}')"]  # given as an object


def variants():
    planar, puma, elastic = (Robot.load(name) for name in ("planar", "rp", "elastic_link"))
    yield "payload", planar.with_payload(2.5, (0.1, 0, 0.2), [0.1, 0, 0, 0.2, 0, 0.3]), None
    yield "rotors", planar.with_rotors("reflected"), "planar"
    yield "tip", planar.with_tip("link 1"), "planar"
    yield "rotors and tip", planar.with_rotors("none").with_tip("link 1"), "planar"
    yield "other source", puma, "planar"
    yield "no source", planar.with_symbols(a1=0.7), "no/such/file.toml"
    yield "loop", Robot.load("five_bar").with_payload(1.25), None
    yield "elastic", elastic.with_payload(0.1), None
    table = planar.to_dict()
    table["name"] = NASTY
    table["link"][0]["name"] = "1 '''" + '"\\'
    yield "names", Robot.from_dict(table), None


@pytest.mark.parametrize(("robot", "source"), [pytest.param(r, s, id=i) for i, r, s in variants()])
def test_other_robots_are_made_by_the_lines(robot, source):
    assert robot_of(loading_lines(robot, source)).model == robot.model


def test_what_the_command_line_changes_is_a_call():
    robot = Robot.load("planar").with_rotors("reflected").with_tip("link 1")
    assert loading_lines(robot, "planar") == [
        "robot = Robot.load('planar').with_rotors('reflected').with_tip('link 1')"
    ]


@pytest.mark.parametrize(
    "text", ["plain\n", NASTY, "''' \n", "no end", "\\\n", "\\", "'", "", "é\n", "\r", "'\n"]
)
def test_literals(text):
    assert eval(literal(text)) == text


def test_lines_are_shown_as_they_are():
    shown = listing(f"x = 5 % 3  # {NASTY}")
    assert isinstance(shown, Markup)
    assert "5 % 3" in shown
    assert "\N{NO-BREAK SPACE}" not in shown
    assert "<script>" not in shown


@pytest.fixture
def opened():
    """`opened(robot, …)`: a bench without a page."""
    benches = []

    def open_(*arguments, **options):
        benches.append(armdyn.view(*arguments, port=0, browser=False, **options))
        return benches[-1]

    yield open_
    for bench in benches:
        bench.close()


@pytest.mark.parametrize(
    "robot",
    ["planar", pytest.param("four_bar", marks=pytest.mark.slow), Robot.load("planar").with_payload(3)],
    ids=str,
)
def test_the_lines_give_the_torques(opened, robot):
    bench = opened(robot)
    n = bench.robot.n
    q, qd, qdd = bench.q + 0.1, np.linspace(0.2, 0.9, n), np.linspace(1.2, -0.9, n)
    bench._bench.change(q=q, qd=qd, qdd=qdd, wrench=np.arange(6.0))
    found = executed(bench.python)
    expected = bench.robot.inverse_dynamics(q, qd, qdd, np.arange(6.0))
    assert np.abs(found["tau"] - expected).max() <= 1e-12 * max(1, np.abs(expected).max())
    assert np.abs(bench._bench.moment.tau - found["tau"]).max() <= 1e-12 * max(1, np.abs(expected).max())


# ---- files -------------------------------------------------------------------------------------------------


def read(file):
    return np.genfromtxt(io.BytesIO(file.content), delimiter=",", names=True)


def joined(table, name, n):
    return np.column_stack([np.atleast_1d(table[f"{name}{i + 1}"]) for i in range(n)])


def test_the_state_as_a_table(opened):
    bench = opened("planar")
    bench._bench.change(q=[0.1, 0.2], qd=[0.3, 0.4], qdd=[0.5, 0.6], time=None)
    file = exported.table(bench._bench)
    assert file.name == "two-link_planar_arm_state.csv"
    table = read(file)
    for name in ("q", "qd", "qdd", "tau"):
        assert np.array_equal(joined(table, name, 2)[0], getattr(bench._bench.moment, name))


def test_a_motion_as_a_table(opened, tmp_path):
    robot = Robot.load("planar")
    motion = Trajectory.cubic([0, 0], [1, 0.5], duration=0.4)
    bench = opened(robot, motion)
    bench._bench.change(time=0.1)
    file = exported.table(bench._bench)
    assert file.name == "two-link_planar_arm_motion.csv"
    assert file == exported.table(bench._bench, exported.MOTION)
    table = read(file)
    states = [joined(table, name, 2) for name in ("q", "qd", "qdd")]
    assert np.array_equal(joined(table, "tau", 2), robot.inverse_dynamics(*states))
    (tmp_path / "x.csv").write_bytes(file.content)
    again = Trajectory.from_csv(tmp_path / "x.csv")
    t = np.linspace(0, motion.duration, 7)
    for one, other in zip(motion(t), again(t), strict=True):
        assert np.abs(one - other).max() < 1e-9


def test_a_simulation_as_a_table(opened):
    robot = Robot.load("planar")
    bench = opened(robot)
    with golden_error(ViewError):
        exported.table(bench._bench, exported.SIMULATION)
    bench._bench.run = armdyn.simulate(robot, [0, 0], [0, 0], duration=0.02)
    table = read(exported.table(bench._bench, exported.SIMULATION))
    assert np.array_equal(joined(table, "q", 2), bench._bench.run.q)


@pytest.mark.parametrize("suffix", exported.FORMATS.values())
def test_the_robot_as_a_file(opened, suffix, tmp_path):
    robot = Robot.load("rp").with_payload(1.5)
    file = exported.robot_file(opened(robot)._bench, suffix)
    assert file.name == file_stem(robot.name) + suffix
    (tmp_path / file.name).write_bytes(file.content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = Robot.load(tmp_path / file.name)
    q = [0.3, 0.4]
    assert np.allclose(again.inertia(q), robot.inertia(q), rtol=1e-9)  # gravity is not in every format
    assert suffix != ".toml" or again.model == robot.model


def test_what_a_format_cannot_say_is_told(opened):
    bench = opened("planar")._bench
    assert exported.robot_file(bench, ".toml").notes == ()
    notes = exported.robot_file(bench, ".urdf").notes
    assert notes
    assert not any("/" in note.partition(" ")[0] for note in notes)  # not where it was written


@pytest.mark.slow
def test_the_report_is_of_the_robot_and_the_motion(opened):
    bench = opened("pendulum", Trajectory.cubic([0], [1], duration=0.625))
    file = exported.report_file(bench._bench)
    assert file.name == "pendulum_report.html"
    assert b"0.625" in file.content


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("two-link planar arm", "two-link_planar_arm"),
        ("../../etc/passwd", "etc_passwd"),
        ("C:\\x", "C_x"),
        (NASTY, "script_alert_x_script_100"),
        ("", "robot"),
        ("...", "robot"),
        ("機械", "robot"),
        ("nul", "nul_"),
        ("COM1.txt", "COM1.txt_"),
        ("-rf", "rf"),
        ("a" * 500, "a" * 60),
        ("UR5e.v2", "UR5e.v2"),
    ],
)
def test_names_of_files(name, stem):
    assert file_stem(name) == stem


# ---- in the page -------------------------------------------------------------------------------------------


def downloaded(page, button):
    with page.page.expect_download(timeout=120_000) as waiting:
        page.button(button)
    found = waiting.value
    return found.suggested_filename, Path(found.path()).read_bytes()


@pytest.mark.slow
def test_downloads(workbench, tmp_path):
    table = Robot.load("planar").with_payload(2).to_dict()
    table["name"] = NASTY
    robot = Robot.from_dict(table)
    page = workbench(robot, Trajectory.cubic([0, 0], [1, 0.5], duration=0.4))
    page.tab("Export")

    name, content = downloaded(page, "Picture (.png)")
    assert name == file_stem(NASTY) + ".png"
    picture = images.imread(content)
    assert picture.ndim == 3
    assert len(np.unique(picture.reshape(-1, picture.shape[2]), axis=0)) > 20  # something is drawn

    name, content = downloaded(page, "Save table")
    found = np.genfromtxt(io.BytesIO(content), delimiter=",", names=True)  # the motion, which is shown
    tau = joined(found, "tau", 2)
    assert np.array_equal(tau, robot.inverse_dynamics(*(joined(found, x, 2) for x in ("q", "qd", "qdd"))))
    assert np.array_equal(joined(found, "q", 2)[[0, -1]], [[0, 0], [1, 0.5]])

    name, content = downloaded(page, "Save robot")
    again = Robot.from_toml(content.decode())
    assert again.model == robot.model

    name, content = downloaded(page, "Save lines (.py)")
    assert np.abs(executed(content.decode())["tau"] - page.torques()).max() <= 1e-12 * np.abs(tau).max()
    page.wait(
        lambda: page.page.inner_text("[data-armdyn=python]").strip() == content.decode().strip(), "lines"
    )

    name, content = downloaded(page, "Save report")
    assert name.endswith("_report.html")
    assert content.startswith(b"<!doctype html>")
    assert b"<script>alert" not in content
