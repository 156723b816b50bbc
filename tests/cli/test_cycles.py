"""A cycle on the command line: the same motion, loads included, for every verb that takes a motion."""

import re

import numpy as np
import pytest

from armdyn import Robot, Trajectory, load_cycle
from armdyn.motion.torques import torques_along
from commands import refused, rows, run

PUMA = Robot.load("puma560")
NAME = "puma560_pick_and_place"
FILE = """
start = [0.3, 0.9]
[[move]]
to = [0.6, 0.4]
duration = 0.5
pick = { mass = 50, com = [0, 0, 0] }
[[move]]
to = "start"
duration = 0.5
"""


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(FILE, "utf-8")
    return path


def test_a_cycle_becomes_a_file_that_keeps_its_loads(tmp_path):
    path = tmp_path / "cycle.csv"
    printed = run("trajectory", "puma560", "--cycle", NAME, "-o", path)
    assert "rests from 0.406667 to 0.706667 s" in printed
    assert "carries 1.7 kg from 0.706667 to" in printed
    cycle, again = load_cycle(PUMA, NAME), Trajectory.from_csv(path)
    assert again.duration == pytest.approx(cycle.duration)
    assert np.ravel(again.dwells) == pytest.approx(np.ravel(cycle.dwells))
    by_name, by_file = (
        rows(run("torque", "puma560", *given)) for given in (("--cycle", NAME), ("--trajectory", path))
    )
    assert [row[2] for row in by_name] == [row[2] for row in by_file]
    samples = cycle.samples()
    tau = torques_along(cycle.loaded(PUMA), samples)
    worst = np.abs(tau).argmax(0)
    largest = [tau[k, i] for i, k in enumerate(worst)]
    assert [float(row[2]) for row in by_name] == pytest.approx(largest, rel=1e-6)
    parts = np.array([[float(x) for x in row[5:]] for row in by_name])
    assert parts.sum(1) == pytest.approx(largest, abs=2e-3)


@pytest.mark.slow
def test_a_file_of_ones_own_serves_all_verbs(tmp_path, mine):
    out = tmp_path / "x.csv"
    found = rows(run("torque", "planar", "--cycle", mine, "-o", out))
    motion = load_cycle(Robot.load("planar"), mine)
    bare = np.abs(Robot.load("planar").inverse_dynamics(motion.q, motion.qd, motion.qdd)).max(0)
    assert all(abs(float(row[2])) > x + 100 for row, x in zip(found, bare, strict=True))
    assert "-> " in run("scale", "planar", "--cycle", mine, "--torque", "5000", "-o", out)
    printed = run("simulate", "planar", "--controller", "computed-torque", "--cycle", mine, "-o", out)
    assert "1 s; energy" in printed
    assert re.search(r"loads brought [0-9.]+ J, friction took", printed)


@pytest.mark.slow
def test_a_report_takes_a_cycle(tmp_path, mine):
    assert run("report", "planar", "--cycle", mine, "-o", tmp_path / "r.html").startswith("wrote")
    assert "The motion given takes 1 s (cycle)." in (tmp_path / "r.html").read_text("utf-8")


def test_a_circle_is_that_of_trajectory(tmp_path):
    out = tmp_path / "circle.csv"
    law = ("--profile", "quintic", "--duration", "1", "--from", "0.3, 0.9", "-o", out)
    run("trajectory", "planar", "--circle", "1, 0.8, 0, 0, 0, 1, pi/4", *law)
    made = Trajectory.from_csv(out)
    expected = Trajectory.circle(
        Robot.load("planar"),
        [0.3, 0.9],
        [1, 0.8, 0],
        [0, 0, 1],
        np.pi / 4,
        profile="quintic",
        duration=1,
    )
    assert made.q == pytest.approx(expected.q, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("trajectory", "planar"), "give one of --to (a posture), --line"),
        (
            ("trajectory", "planar", "--to", "1, 1", "--cycle", "{mine}"),
            "give one of --to (a posture), --line",
        ),
        (("trajectory", "planar", "--cycle", "{mine}", "--duration", "1"), "--duration: the file of --cycle"),
        (("trajectory", "planar", "--cycle", "{mine}", "--from", "1, 1"), "--from: the file of --cycle"),
        (("trajectory", "planar", "--cycle", "{mine}", "--synchronised"), "--synchronised: the file of"),
        (
            ("trajectory", "planar", "--cycle", "{mine}", "--profile", "cubic"),
            "--profile: the file of --cycle",
        ),
        (("trajectory", "planar", "--cycle", "{mine}", "--step", "-1"), "--step: "),
        (
            ("trajectory", "planar", "--line=0.1,0,0", "--synchronised", "--profile=cubic", "--duration=1"),
            "--synchronised: it goes with --to",
        ),
        (("scale", "planar"), "give a motion: a file that `armdyn trajectory` writes, or --cycle"),
        (("scale", "planar", "m.csv", "--cycle", "{mine}"), "give either a file with a motion or --cycle"),
        (("torque", "planar", "--q", "1, 1", "--cycle", "{mine}"), "give either --q (a posture) or"),
        (("torque", "planar", "--cycle", "{mine}", "--qd", "1, 1"), "--qd and --qdd go with --q"),
        (
            ("simulate", "planar", "--cycle", "{mine}", "--to", "1, 1", "--controller", "pd"),
            "give one of --trajectory, --cycle and --to",
        ),
        (("simulate", "planar", "--cycle", "{mine}"), "--controller goes with --trajectory, --cycle or --to"),
    ],
)
def test_what_does_not_go_together_is_one_line(tmp_path, monkeypatch, capsys, mine, arguments, message):
    given = [str(mine) if x == "{mine}" else x for x in arguments]
    line = refused(monkeypatch, capsys, *given, "-o", tmp_path / "x.csv")
    assert message in line


def test_the_file_of_a_cycle_is_not_overwritten(monkeypatch, capsys, mine):
    line = refused(monkeypatch, capsys, "trajectory", "planar", "--cycle", mine, "-o", mine)
    assert "is also an input" in line
