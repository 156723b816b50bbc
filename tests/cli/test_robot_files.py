"""The verbs new, copy and diff."""

import sys
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from armdyn import ExportWarning, Robot, bundled_robots
from armdyn.cli import app, main
from armdyn.description.source import bundled_text
from arms import quietly
from commands import refused, rows, run

TABLE = """\
# a comment
name,    joint, d,   a,   alpha, theta
shoulder,     , d1,  0,   pi/2,  0
slider,  P,     0.1, 0.5, -pi/2, pi/6   # another
hand,    fixed, 0.2, 0,   0,     0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def asked(text, *arguments):
    """What a command prints whose questions get these answers."""
    result = CliRunner().invoke(app, list(arguments), input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def shown(path):
    """Load a new robot file and show it."""
    assert "placeholder" in Path(path).read_text("utf-8")
    robot = Robot.load(path)
    assert robot.name in run("show", path)
    return robot


# ---- new ---------------------------------------------------------------------------------------------------


def test_a_robot_file_from_rows():
    said = run("new", "my.toml", "--dh", "0 pi/2 0.4 0; 0.5 0 0 0\n0.3 0 0 pi/6 P")
    assert "wrote my.toml: <Robot 'my' RRP" in said
    robot = shown("my.toml")
    assert robot.to_dict()["convention"] == "dh"
    rows = [{key: link[key] for key in ("a", "alpha", "d", "theta")} for link in robot.to_dict()["link"]]
    assert rows == [
        {"a": 0, "alpha": "pi/2", "d": 0.4, "theta": 0},
        {"a": 0.5, "alpha": 0, "d": 0, "theta": 0},
        {"a": 0.3, "alpha": 0, "d": 0, "theta": "pi/6"},
    ]
    assert [float(x) for x in robot.model.links[0].inertia.com] == [0, -0.2, 0]
    assert robot.warnings == []


def test_a_robot_file_from_a_table_with_headings_and_symbols():
    Path("table.csv").write_text(TABLE, "utf-8")
    run("new", "my.toml", "--dh", "table.csv", "--mdh", "--name", 'my "robot"')
    robot = shown("my.toml")
    assert robot.name == 'my "robot"'
    assert [(link.name, link.joint) for link in robot.model.links] == [
        ("shoulder", "revolute"),
        ("slider", "prismatic"),
        ("hand", "fixed"),
    ]
    assert robot.symbols == {"g": 9.81, "d1": None}
    assert robot.model.links[1].before.p[0] == 0.5
    assert 'convention = "mdh"' in Path("my.toml").read_text("utf-8")
    assert robot.with_symbols(d1=0.3).inertia([0.1, 0.2]).shape == (2, 2)


def test_g_as_a_length_is_not_gravity():
    run("new", "my.toml", "--dh", "g 0 0 0")
    robot = shown("my.toml")
    assert robot.symbols == {"g": None}
    assert float(robot.model.gravity[2]) == -9.81


def test_a_robot_file_from_answers():
    said = asked("\n3x\n2\n\n0.5 0 0 0\nwheel\nP\n1 2\n0 pi/2 0 0\n", "new", "my.toml")
    assert "expected a whole number from 1 to 50, found '3x'" in said
    assert "kind: found 'wheel'; allowed: revolute, prismatic" in said
    assert "expected a alpha d theta" in said
    robot = shown("my.toml")
    assert robot.name == "my"
    assert [link.joint for link in robot.model.links] == ["revolute", "prismatic"]
    assert robot.model.links[1].after.R[2][1] == 1


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("1 2 3", ["--dh: line 1", "expected a alpha d theta", "found 3"]),
        ("0 0 0 0; 0 x+ 0 0", ["--dh: line 2: alpha: 'x+' is not an expression"]),
        ("0 0 0 0 wheel", ["--dh: line 1: kind: found 'wheel'; allowed: revolute, prismatic, fixed"]),
        (" ;; ", ["--dh: found no row"]),
        ("", ["--dh: found no row"]),
        ("0 0 0 0 f", ["no moving joint"]),
        ("0 0 lambda 0", ["line 1: d: 'lambda' is not an expression"]),
        ("0 0 c1 0", ["symbol 'c1'", "taken"]),
        ("0 0 0 0 r arm; 0 0 0 0 r arm", ["two links are named 'arm'"]),
        ("missing.csv", ["--dh: cannot read 'missing.csv'"]),
        ("a,alpha,d\n1,2,3", ["line 1: the column 'theta' is missing"]),
    ],
)
def test_wrong_tables_write_nothing(monkeypatch, capsys, table, parts):
    line = refused(monkeypatch, capsys, "new", "my.toml", "--dh", table)
    assert all(part in line for part in parts), line
    assert not Path("my.toml").exists()


# ---- copy --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", bundled_robots())
def test_a_bundled_robot_is_copied_with_its_comments(name):
    run("copy", name, "my.toml")
    assert Path("my.toml").read_text("utf-8") == bundled_text(name)
    assert run("diff", name, "my.toml") == "the same robot\n"


def test_a_robot_file_is_copied_as_it_is():
    text = "# mine\n" + bundled_text("planar")
    Path("mine.toml").write_text(text, "utf-8")
    assert run("copy", "mine.toml", "my.toml") == "wrote my.toml: two-link planar arm\n"
    assert Path("my.toml").read_text("utf-8") == text


def test_a_copy_in_another_folder_has_the_numbers_of_meshes():
    corners, faces = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"], ["1 3 2", "1 2 4", "1 4 3", "2 3 4"]
    lines = [*(f"v {x}" for x in corners), *(f"f {x}" for x in faces)]
    Path("link.obj").write_text("\n".join(lines))
    text = "# mine\nname = 'one'\nconvention = 'dh'\ngravity = [0, -9.81, 0]\n[[link]]\njoint = 'revolute'\n"
    text += "a = 1\nalpha = 0\nd = 0\ninertia = { mesh = 'link.obj', density = 6 }\n"
    Path("mine.toml").write_text(text)
    assert run("copy", "mine.toml", "near.toml") == "wrote near.toml: one\n"
    assert Path("near.toml").read_text() == text
    Path("other").mkdir()
    assert "the paths of its meshes lead nowhere" in run("copy", "mine.toml", "other/far.toml")
    assert Robot.load("other/far.toml") == Robot.load("mine.toml")


@pytest.mark.parametrize("command", [("copy", "planar"), ("new", "--dh", "1 0 0 0")])
def test_an_old_file_is_replaced_by_force_alone(monkeypatch, capsys, command):
    Path("my.toml").write_text("mine", "utf-8")
    verb, *rest = command
    line = refused(monkeypatch, capsys, verb, *rest, "my.toml")
    assert line == "error: 'my.toml' exists; --force replaces it"
    assert Path("my.toml").read_text("utf-8") == "mine"
    run(verb, *rest, "my.toml", "--force")
    assert quietly(lambda: Robot.load("my.toml")).n


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ("copy", "planar", "my.json"),
            "ends in .toml or .urdf or .xml or .mjcf, found 'my.json'",
        ),
        (("new", "my.urdf", "--dh", "1 0 0 0"), "a name that ends in .toml, found 'my.urdf'"),
        (("copy", "planar", "none/my.toml"), "there is no folder 'none'"),
        (("copy", "nobody", "my.toml"), "cannot read 'nobody'"),
        (("copy", "mine.toml", "mine.toml", "--force"), "'mine.toml' is also an input"),
        (("new", "t.toml", "--dh", "t.toml", "--force"), "'t.toml' is also an input"),
        (("diff", "planar", "nobody"), "cannot read 'nobody'"),
    ],
)
def test_what_cannot_be_written_or_read(monkeypatch, capsys, arguments, reason):
    Path("mine.toml").write_text(bundled_text("planar"), "utf-8")
    Path("t.toml").write_text("1 0 0 0", "utf-8")
    assert reason in refused(monkeypatch, capsys, *arguments)
    assert Path("mine.toml").read_text("utf-8") == bundled_text("planar")


# ---- diff --------------------------------------------------------------------------------------------------


def test_what_differs_is_one_line_each():
    Path("my.toml").write_text(bundled_text("planar").replace("a1 = 1\n", "a1 = 0.8\n"), "utf-8")
    assert run("diff", "planar", "my.toml") == "symbol 'a1': 1 -> 0.8 (-20 %)\n"
    assert run("diff", "planar", "planar") == "the same robot\n"


# ---- other formats -----------------------------------------------------------------------------------------

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0.01"/></inertial></link>
  <link name="fore"><inertial><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
  <joint name="j2" type="prismatic"><parent link="upper"/><child link="fore"/><axis xyz="1 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
</robot>
"""


def test_a_urdf_is_copied_to_a_robot_file():
    Path("arm.urdf").write_text(ARM, "utf-8")
    run("copy", "arm.urdf", "my.toml")
    assert Robot.load("my.toml") == Robot.load("arm.urdf")
    assert run("diff", "arm.urdf", "my.toml") == "the same robot\n"
    assert "rpy = [0.1, 0.2, 0.3]" in Path("my.toml").read_text("utf-8")
    run("copy", "arm.urdf", "locked.toml", "--lock", "j1=0.5")
    assert Robot.load("locked.toml") == Robot.load("arm.urdf", lock={"j1": 0.5})


def test_tables_and_messages_call_joints_by_their_names(monkeypatch, capsys):
    """The names that `robot.coordinates` has; an import's links have others."""
    Path("arm.urdf").write_text(ARM, "utf-8")
    quietly(lambda: Robot.load("arm.urdf")).with_motors({"j1": {"gear": 9, "inertia": 1e-3}}).save("arm.toml")
    run("trajectory", "arm.toml", "--to", "0.1, 0.1", "--profile", "cubic", "--duration", "1", "-o", "m.csv")
    for arguments in (
        ("torque", "arm.toml", "--q", "0, 0"),
        (
            "trajectory",
            "arm.toml",
            "--to",
            "0.1, 0.1",
            "--profile",
            "cubic",
            "--duration",
            "1",
            "-o",
            "n.csv",
        ),
        ("scale", "arm.toml", "m.csv", "-o", "n.csv"),
        ("motors", "arm.toml", "--trajectory", "m.csv"),
        ("simulate", "arm.toml", "--duration", "0.01", "-o", "s.csv"),
    ):
        cells = [row[0].removesuffix(" (no motor)") for row in rows(run(*arguments))]
        assert {"j1", "j2"} <= set(cells), (arguments, cells)
        assert not {"upper", "fore"} & set(cells), arguments
    shown = [row[0] for row in rows(run("show", "arm.toml"))]
    assert shown.count("j1") == 2  # limits and motor; bodies and frames are those of links
    line = refused(monkeypatch, capsys, "scale", "arm.toml", "m.csv", "--torque", "0.001", "-o", "x.csv")
    assert "('j1')" in line or "('j2')" in line


def test_options_of_robots_and_the_methods_that_they_stand_for():
    options = (
        "--lock",
        "link 1=pi/3",
        "--payload",
        "2, 0.1, 0, 0, 0, 0, 0, 0, 0, 0.5",
        "--rotors",
        "reflected",
    )
    run("copy", "planar", "made.toml", *options)
    robot = Robot.load("planar").with_rotors("reflected").locked({"link 1": "pi/3"})
    assert Robot.load("made.toml") == robot.with_payload(2, [0.1, 0, 0], {"zz": 0.5})
    run("copy", "planar", "tip.toml", "--tip", "link 1")
    assert Robot.load("tip.toml") == Robot.load("planar", tip="link 1")
    cells = [row for row in rows(run("torque", "planar", "--q", "0.4", *options)) if row[0] == "link 2"]
    assert float(cells[0][2]) == pytest.approx(Robot.load("made.toml").gravity([0.4])[0], rel=1e-7)


@pytest.mark.parametrize("suffix", ["urdf", "xml", "mjcf", "XML"])
def test_a_robot_is_converted_by_the_ending_of_the_name(monkeypatch, capsys, suffix):
    if suffix != "urdf":
        pytest.importorskip("mujoco")
    Path("arm.urdf").write_text(ARM, "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExportWarning)
        assert run("copy", "arm.urdf", f"my.{suffix}") == f"wrote my.{suffix}: arm\n"
    there = quietly(lambda: Robot.load(f"my.{suffix}"))
    assert there.inertia([0.3, -0.2]) == pytest.approx(Robot.load("arm.urdf").inertia([0.3, -0.2]), rel=1e-12)
    line = refused(monkeypatch, capsys, "copy", "planar", f"my.{suffix}")
    assert line == f"error: 'my.{suffix}' exists; --force replaces it"


@pytest.mark.filterwarnings("always")
def test_what_a_format_cannot_say_is_warned_of_in_one_line_each(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["armdyn", "copy", "manutec_r3", "my.urdf"])
    main()
    captured = capsys.readouterr()
    assert captured.out == "wrote my.urdf: Manutec r3\n"
    assert captured.err.startswith(
        "warning: my.urdf: exact rotors ('arm 1', 'arm 2', 'arm 3') become reflected"
    )
    assert quietly(lambda: Robot.load("my.urdf")).n == 3


def test_a_free_symbol_cannot_be_converted(monkeypatch, capsys):
    text = bundled_text("planar").replace("a1 = 1\n", 'a1 = "free"\n')
    Path("free.toml").write_text(text, "utf-8")
    line = refused(monkeypatch, capsys, "copy", "free.toml", "my.urdf")
    assert "the symbol 'a1' of 'two-link planar arm' is free" in line
    assert not Path("my.urdf").exists()
