"""The verb motors: example 7.2's motors from the command line, files, and what is refused."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from armdyn import Robot, Trajectory, motor_loads
from commands import refused, rows, run


def test_the_table_the_csv_file_and_the_picture(tmp_path):
    csv, picture = tmp_path / "loads.csv", tmp_path / "loads.svg"
    text = run("motors", "planar", "--csv", csv, "--plot", picture)
    assert "the motion of figure 7.5" in text
    assert [row[:2] for row in rows(text)] == [["link 1", "60.448"], ["link 2", "39.801"]]
    assert "371.33 J with recuperation (energy), 5712.9 J without (drawn)" in text
    names = csv.read_text("utf-8").splitlines()[0].split(",")
    assert names == ["t", *(f"{name}{i}" for name in ("torque", "speed", "power") for i in (1, 2))]
    first = np.loadtxt(csv, delimiter=",", skiprows=1)[0]
    assert first[1:3] == pytest.approx(
        [38.731675, 30.781531], abs=1e-6
    )  # tests/textbook/test_motor_torques.py
    assert ET.fromstring(picture.read_text("utf-8")).tag.endswith("svg")


def test_a_motion_from_a_file_and_a_wrench(tmp_path):
    motion, file = Trajectory.cubic([0, 0], [1, 1], 1.0), tmp_path / "motion.csv"
    motion.to_csv(file)
    found = motor_loads(Robot.load("planar"), motion, wrench=[0, 30, 0, 0, 0, 0])
    text = run("motors", "planar", "--trajectory", file, "--wrench", "0, 30, 0, 0, 0, 0")
    peaks = [float(row[1]) for row in rows(text)]
    assert peaks == pytest.approx(found.peak_torque.tolist(), rel=1e-4)


def test_scaling_shows_the_motors_that_have_limits(tmp_path):
    Trajectory.cubic([0, 0], [1, 1], 1.0).to_csv(tmp_path / "m.csv")
    given = ("scale", "planar", tmp_path / "m.csv", "--motor-torque", "20, 900", "-o", tmp_path / "s.csv")
    for further in ((), ("--time-optimal", "--torque", "5000")):
        one, two = rows(run(*given, *further))[-2:]
        assert (one[0], two[0]) == ("motor 1 ('link 1')", "motor 2 ('link 2')")
        assert float(one[1]) == pytest.approx(20, rel=1e-3)
        assert (one[2:], two[2:]) == (["20", "N m"], ["900", "N m"])


def test_refusals(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Trajectory.cubic([0, 0, 0], [1, 1, 1], 1.0).to_csv("three.csv", step=0.1)
    line = refused(monkeypatch, capsys, "motors", "planar", "--trajectory", "three.csv")
    assert line == "error: three.csv: it moves 3 joints, but two-link planar arm has 2"
    line = refused(monkeypatch, capsys, "motors", "planar", "--plot", "x.png")
    assert line == "error: --plot: cannot write 'x.png': a picture's name ends with .svg"
    line = refused(monkeypatch, capsys, "motors", "planar", "--trajectory", "three.csv", "--csv", "three.csv")
    assert line == "error: --csv: 'three.csv' is also an input; choose another file"
