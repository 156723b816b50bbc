"""Files that verbs write: never the file that is read, never a folder, whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from armdyn import Trajectory
from arms import slowly
from commands import refused, run

ARM = """
name = "slider"
convention = "dh"
gravity = [0, 0, -9.81]
[[link]]
joint = "prismatic"
a = 0
alpha = 0
theta = 0
mass = 1
limits = { torque = 100 }
"""
LAW = ("--to", "1", "--profile", "cubic", "--duration", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A robot, a motion, torques, and links to them."""
    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text(ARM, "utf-8")
    Path("arm.c").write_text(ARM, "utf-8")
    Trajectory.cubic([0], [1], 1.0).to_csv("m.csv", step=0.1)
    run("torque", "arm.toml", "--trajectory", "m.csv", "-o", "tau.csv")
    for name in ("arm.toml", "m.csv", "tau.csv"):
        Path(f"link to {name}").symlink_to(name)
    Path("here").symlink_to(".")
    return tmp_path


READ_AND_WRITTEN = [
    (("derive", "{}"), "arm.toml"),
    (("derive", "{}", "--latex", "--prove"), "arm.toml"),
    (("trajectory", "{}", *LAW), "arm.toml"),
    (("torque", "{}", "--trajectory", "m.csv"), "arm.toml"),
    (("torque", "arm.toml", "--trajectory", "{}"), "m.csv"),
    (("scale", "{}", "m.csv"), "arm.toml"),
    (("scale", "arm.toml", "{}"), "m.csv"),
    (("simulate", "{}", "--duration", "1"), "arm.toml"),
    (("simulate", "arm.toml", "--torque", "{}"), "tau.csv"),
    (("simulate", "arm.toml", "--controller", "computed-torque", "--trajectory", "{}"), "m.csv"),
    (("report", "{}"), "arm.toml"),
    (("report", "arm.toml", "--trajectory", "{}"), "m.csv"),
]


@pytest.mark.parametrize(("command", "name"), READ_AND_WRITTEN)
@pytest.mark.parametrize(
    ("read", "written"), [("{}", "{}"), ("link to {}", "here/{}"), slowly("here/{}", "link to {}")]
)
def test_what_is_read_is_not_written(folder, monkeypatch, capsys, command, name, read, written):
    before = Path(name).read_bytes()
    given = [part.format(read.format(name)) for part in command]
    line = refused(monkeypatch, capsys, *given, "-o", written.format(name))
    assert line == f"error: --output: '{Path(written.format(name))}' is also an input; choose another file"
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize("output", [".", "here"])
def test_code_is_not_written_over_the_robot_file(folder, monkeypatch, capsys, output):
    line = refused(monkeypatch, capsys, "export", "c", "arm.c", "--prefix", "arm", "-o", output)
    assert "arm.c' is also an input; choose another folder" in line
    assert Path("arm.c").read_text("utf-8") == ARM


def test_a_bundled_robot_is_no_file_of_its_name(folder):
    for _ in range(2):  # the second time there is a file called planar, which is not read
        run("derive", "planar", "-o", "planar")


@pytest.mark.parametrize(
    "command",
    [
        *(tuple(x.format(name) for x in command) for command, name in READ_AND_WRITTEN),
        ("export", "c", "arm.toml"),
    ],
)
def test_no_folder_is_made_for_a_mistyped_path(folder, monkeypatch, capsys, command):
    """And it is said before the work: nothing of it is read, the robot file least of all."""
    Path("arm.toml").write_text("this is no robot", "utf-8")
    line = refused(monkeypatch, capsys, *command, "-o", "reslts/new/x")
    assert "there is no folder 'reslts/new'" in line
    assert not Path("reslts").exists()


def test_export_makes_the_folder_itself_but_none_above_it(folder):
    run("export", "c", "planar", "-o", "c")
    assert {path.name for path in Path("c").iterdir()} > {"two_link_planar_arm.c", "CMakeLists.txt"}


@pytest.mark.skipif(sys.platform != "linux", reason="limits on the size of files")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("derive", "panda", "-o", "kept"), marks=pytest.mark.slow),
        slowly(("torque", "arm.toml", "--trajectory", "long.csv", "-o", "kept")),
        ("simulate", "arm.toml", "--duration", "1", "-o", "kept"),
    ],
)
def test_a_file_that_cannot_be_written_to_its_end_stays_as_it_was(folder, arguments):
    """As on a full disk: the old file, one line, nothing left behind."""
    Trajectory.cubic([0], [1], 1.0).to_csv("long.csv")
    Path("kept").write_text("old", "utf-8")
    before = sorted(folder.iterdir())
    script = """
import resource, signal, sys
import armdyn.cli
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
sys.argv[0] = "armdyn"
armdyn.cli.main()
"""
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "ARMDYN_CACHE": str(folder.parent / "cache")},
    )
    assert result.returncode == 2
    assert result.stderr == "error: cannot write 'kept': File too large\n"
    assert Path("kept").read_text("utf-8") == "old"
    assert sorted(folder.iterdir()) == before


def test_devices_and_pipes_are_written_to(folder):
    """A device is read and written at once without harm."""
    run("derive", "planar", "-o", os.devnull)
