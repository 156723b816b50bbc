"""armdyn size: the drives that it prints are those of size_drives, and the files that it writes hold them."""

import json
import xml.etree.ElementTree as ET

import pytest

from armdyn import Robot, Trajectory, size_drives
from commands import refused, rows, run


@pytest.fixture
def motion(tmp_path):
    path = tmp_path / "cycle.csv"
    Trajectory.quintic([0, 0, 0], [1, -1, 0.5], duration=1.5, step=0.01).to_csv(path)
    return path


def test_size_prints_and_writes_what_size_drives_finds(motion, tmp_path):
    robot, table = tmp_path / "sized.toml", tmp_path / "sized.json"
    text = run("size", "planar3", "--trajectory", motion, "-o", robot, "--json", table, "--count", 2)
    found = size_drives(Robot.load("planar3"), Trajectory.from_csv(motion), count=2)
    assert [row[1] for row in rows(text) if row[0]] == [pair.name for pair in found.best.pairs]
    assert f"{found.best.mass:.5g} kg" in text
    assert Robot.load(robot) == found.robot
    assert json.loads(table.read_text("utf-8")) == found.to_dict()


def test_size_takes_joints_with_what_they_may_have(motion, tmp_path):
    options = ("--joint", "link 3", "--only", "link 3=S60-1,P60", "--stage", "link 3=2", "--life", 100)
    picture, page = tmp_path / "sized.svg", tmp_path / "sized.md"
    text = run("size", "planar3", "--trajectory", motion, *options, "--plot", picture, "--markdown", page)
    assert [row[1].startswith("S60-1 + P60-") for row in rows(text)] == [True]
    assert ET.fromstring(picture.read_text("utf-8")).tag.endswith("svg")
    assert "| link 3 | S60-1 + P60-" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--only", "S60-1"), "--only: expected JOINT=…, found 'S60-1'"),
        (("--stage", "link 3=a"), "--stage: "),
        (("--plot", "x.png"), "--plot: cannot write 'x.png': a picture's name ends with .svg"),
        (("--catalogue", "nothing.toml"), "cannot read 'nothing.toml'"),
    ],
)
def test_what_size_refuses(options, told, motion, monkeypatch, capsys):
    assert told in refused(monkeypatch, capsys, "size", "planar3", "--trajectory", motion, *options)


def test_size_needs_a_cycle(monkeypatch, capsys):
    assert "--cycle, or --trajectory" in refused(monkeypatch, capsys, "size", "planar3")
