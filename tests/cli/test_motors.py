"""The verb motors: example 7.2's motors from the command line, files, and what is refused."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner

from armdyn import Robot, Trajectory, motor_loads
from armdyn.cli import app
from armdyn.report import default_motion
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


def test_another_gear_turns_the_same_motor(tmp_path):
    """Its rotor, so k²·Im grows; limits at the joint stay, which a note says, those at the motor follow."""
    planar = Robot.load("planar").with_symbols(kr2=160)
    arguments = ["motors", "planar", "--gear", "link 2=160"]
    found = CliRunner().invoke(app, arguments, catch_exceptions=False)
    peaks = [float(row[1]) for row in rows(found.stdout)]
    assert peaks == pytest.approx(
        motor_loads(planar, default_motion(planar).trajectory).peak_torque, rel=1e-4
    )
    assert found.stderr == (
        "note: --gear: limits of joint 'link 2' are given there and not at the motor: no gear changes them\n"
    )
    limited = Robot.load("planar").with_limits(None).with_motors({"link 2": {"limits": {"torque": 40}}})
    limited.save(tmp_path / "arm.toml")
    run("copy", tmp_path / "arm.toml", tmp_path / "geared.toml", "--gear", "link 2=160")
    geared = Robot.load(tmp_path / "geared.toml")
    assert geared.name == "two-link planar arm, gear 160 at 'link 2'"
    assert geared.drives.limits.torque[1] == 40
    assert geared.transmission[1, 1] == 160
    np.testing.assert_allclose(geared.inertia([0.3, 0.5]), planar.inertia([0.3, 0.5]), rtol=1e-14)


def test_a_gear_that_a_file_does_not_know_is_not_exchanged(tmp_path, monkeypatch, capsys):
    arm = Robot.load("planar").with_rotors("reflected").with_symbols(kr1=1, Im1=100)
    arm.save(tmp_path / "arm.toml")
    line = refused(monkeypatch, capsys, "motors", tmp_path / "arm.toml", "--gear", "link 1=50")
    assert "joint 'link 1' as it counts at the joint, without its gear" in line


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
