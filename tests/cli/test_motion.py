"""The verbs of motion: files that fit together, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from armdyn import Robot, Trajectory, load_cycle
from armdyn.cli import app
from arms import slowly
from commands import refused, rows, run

START = "-1.4706289056333368, 2.9412578112666736"  # tip at (0.2, 0), elbow below


def columns(path):
    """The columns of a CSV file by name."""
    names = path.read_text("utf-8").splitlines()[0].split(",")
    return dict(zip(names, np.loadtxt(path, delimiter=",", skiprows=1, unpack=True), strict=True))


def triangular(path):
    end = "0.10016742116155979, 4.51205413806157"  # π/2 further
    return run(
        *("trajectory", "planar", "--profile", "triangular", "--from", START, "--to", end),
        *("--duration", "0.5", "-o", path),
    )


def test_files_of_the_verbs_fit_together(tmp_path):
    """Problem 7.9, from a motion to its scaling and a simulation of it."""
    motion, torques, slow, fast, simulated = (
        tmp_path / f"{x}.csv" for x in ("motion", "tau", "slow", "fast", "run")
    )
    assert "0.5 s, 501 samples" in triangular(motion)
    found = rows(run("torque", "planar", "--trajectory", motion, "-o", torques))
    assert [row[3] for row in found] == ["3000", "3000"]
    assert [float(row[2].removesuffix(" !")) for row in found] == pytest.approx(
        [6044.757, -3980.084], abs=1e-2
    )
    assert abs(columns(torques)["tau1"]).max() == pytest.approx(6044.757, abs=1e-2)

    printed = run("scale", "planar", motion, "-o", slow)
    assert "c² = 2.1549" in printed.replace("2.15490", "2.1549")
    assert "limited by the torque of joint 1 ('link 1')" in printed
    assert Trajectory.from_csv(slow).duration == pytest.approx(0.73398, abs=1e-5)
    tau = columns_of_torques(slow, tmp_path)
    assert abs(tau).max() == pytest.approx(3000, abs=1e-6)

    assert "the least time on this path" in run("scale", "planar", motion, "--time-optimal", "-o", fast)
    assert Trajectory.from_csv(fast).duration < 0.6

    printed = run(
        *("simulate", "planar", "--controller", "computed-torque", "--trajectory", slow, "-o", simulated)
    )
    assert "balance to" in printed
    end = Trajectory.from_csv(slow).q[-1]
    final = columns(simulated)
    assert [final["q1"][-1], final["q2"][-1]] == pytest.approx(end, abs=1e-6)
    again = Trajectory.from_csv(simulated)  # a run is a motion too
    assert again.duration == pytest.approx(0.73398, abs=1e-5)


def columns_of_torques(path, folder):
    run("torque", "planar", "--trajectory", path, "-o", folder / "again.csv")
    found = columns(folder / "again.csv")
    return np.array([found["tau1"], found["tau2"]])


def test_line_of_the_tip(tmp_path):
    path = tmp_path / "line.csv"
    run(
        *("trajectory", "planar", "--from", START, "--line", "1.6, 0, 0"),
        *("--acceleration-time", "0.15", "--max-velocity", "5", "-o", path),
    )
    tip = Robot.load("planar").pose(Trajectory.from_csv(path).q)[:, :3, 3]
    assert tip[0] == pytest.approx([0.2, 0, 0], abs=1e-9)
    assert tip[-1] == pytest.approx([1.8, 0, 0], abs=1e-9)
    assert abs(tip[:, 1:]).max() < 1e-9


def test_every_profile_along_a_line(tmp_path):
    limits = ("--max-velocity", "1", "--max-acceleration", "5", "--max-jerk", "50")
    laws = {
        "triangular": ("--duration", "1"),
        "trapezoidal": ("--duration", "1", "--max-velocity", "1"),
        "cubic": ("--duration", "1"),
        "quintic": ("--duration", "1"),
        "jerk-limited": limits,
    }
    for profile, data in laws.items():
        path = tmp_path / f"{profile}.csv"
        run(
            *("trajectory", "planar", "--from", START, "--line", "0.3, 0, 0", "--step", "0.01"),
            *("--profile", profile, *data, "-o", path),
        )
        tip = Robot.load("planar").pose(Trajectory.from_csv(path).q[-1])[:3, 3]
        assert tip == pytest.approx([0.5, 0, 0], abs=1e-9)


def test_limits_of_each_joint_and_synchronised_joints(tmp_path):
    path = tmp_path / "motion.csv"
    law = (
        "--profile",
        "jerk-limited",
        "--max-velocity",
        "1, 2",
        "--max-acceleration",
        "4",
        "--max-jerk",
        "40",
    )
    run("trajectory", "planar", "--to", "pi/2, pi/4", *law, "--synchronised", "-o", path)
    motion = Trajectory.from_csv(path)
    assert motion.q[-1] == pytest.approx([np.pi / 2, np.pi / 4])
    assert abs(motion.qd[:, 0]).max() == pytest.approx(1)
    assert motion.qd[:, 1] == pytest.approx(motion.qd[:, 0] / 2)


def test_free_fall_of_an_arm_keeps_its_energy(tmp_path):
    path = tmp_path / "run.csv"
    run("simulate", "planar", "--from", "0.3, 0.5", "--duration", "1", "--step", "0.01", "-o", path)
    found = columns(path)
    assert len(found["t"]) == 101
    assert np.ptp(found["energy"]) < 1e-6 * abs(found["energy"][0])
    run(
        *("simulate", "planar", "--from", "0.3, 0.5", "--duration", "1", "--method", "rk4"),
        *("--step", "0.001", "-o", tmp_path / "rk4.csv"),
    )
    assert columns(tmp_path / "rk4.csv")["q1"][-1] == pytest.approx(found["q1"][-1], abs=1e-8)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_torques_of_a_file_drive_the_arm_along_their_motion(tmp_path, method):
    motion, torques, path = (tmp_path / f"{x}.csv" for x in ("motion", "tau", "run"))
    law = ("--profile", "quintic", "--duration", "0.8")
    run("trajectory", "planar", "--from", "0.2, 0.5", "--to", "1, -0.5", *law, "-o", motion)
    run("torque", "planar", "--trajectory", motion, "-o", torques)
    run("simulate", "planar", "--torque", torques, "--method", method, "-o", path)
    found = columns(path)
    assert found["t"][-1] == pytest.approx(0.8)
    assert [found["q1"][-1], found["q2"][-1]] == pytest.approx([1, -0.5], abs=1e-4)


def test_a_sampled_controller(tmp_path):
    path = tmp_path / "run.csv"
    gains = ("--stiffness", "4000", "--damping", "1500", "--to", "0.2, 0.1")
    run(
        *("simulate", "planar", "--controller", "pd", *gains, "--duration", "0.02"),
        *("--rate", "200", "-o", path),
    )
    tau = columns(path)["tau1"]
    assert len(set(tau[:5])) == 1
    assert len(set(tau[:20])) == 4


def test_motor_limits_of_a_scaled_motion(tmp_path):
    """Gear 100: 20 N m at the shaft are 2000 N m at the joint."""
    motion, one, other = (tmp_path / f"{x}.csv" for x in ("motion", "one", "other"))
    triangular(motion)
    printed = run("scale", "planar", motion, "--motor-torque", "20", "-o", one)
    assert "limited by the torque of motor 1 ('link 1')" in printed
    run("scale", "planar", motion, "--torque", "2000", "-o", other)
    assert one.read_bytes() == other.read_bytes()
    run("scale", "planar", motion, "--time-optimal", "--motor-velocity", "200, 900", "-o", one)
    assert abs(Trajectory.from_csv(one).qd[:, 0]).max() == pytest.approx(2, rel=1e-3)


def test_wrench_counts_when_a_motion_is_scaled(tmp_path):
    motion, slow = tmp_path / "motion.csv", tmp_path / "slow.csv"
    triangular(motion)
    run("scale", "planar", motion, "--wrench", "500, 500, 0, 0, 0, 0", "-o", slow)
    at = Trajectory.from_csv(slow).samples()
    tau = Robot.load("planar").inverse_dynamics(at.q, at.qd, at.qdd, [500, 500, 0, 0, 0, 0])
    assert abs(tau).max() == pytest.approx(3000, rel=1e-9)


@pytest.mark.slow
def test_report_is_written_for_a_motion(tmp_path):
    motion, page = tmp_path / "motion.csv", tmp_path / "report.html"
    triangular(motion)
    assert f"wrote {page}" in run("report", "planar", "--trajectory", motion, "-o", page)
    assert "<title>two-link planar arm" in page.read_text("utf-8")


TO = ("--to", "1, 1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give one of --to (a posture), --line"),
        ((*TO, "--line", "1, 0, 0"), "give one of --to (a posture), --line"),
        (TO, "for the joints: give --max-velocity and --max-acceleration, or --duration"),
        ((*TO, "--acceleration-time", "1"), "trapezoidal takes two of --acceleration-time, --max-velocity"),
        (("--line", "1, 0, 0"), "trapezoidal takes two of --acceleration-time, --max-velocity"),
        (("--to", "1", "--profile", "cubic", "--duration", "1"), "--to: expected 2 numbers"),
        ((*TO, "--profile", "cubic"), "cubic needs --duration"),
        ((*TO, "--profile", "cubic", "--duration", "0"), "--duration: found 0"),
        ((*TO, "--profile", "cubic", "--duration", "1", "--max-jerk", "1"), "--max-jerk: cubic takes"),
        ((*TO, "--profile", "jerk-limited", "--max-velocity", "1"), "give --max-acceleration and --max-jerk"),
        ((*TO, "--duration", "1", "--max-velocity", "x"), "--max-velocity: unknown symbol 'x'"),
        (("--line", "9, 0, 0", "--duration", "1", "--acceleration-time", "0.2"), "sample"),
    ],
)
def test_motions_that_cannot_be_made_are_refused(monkeypatch, capsys, tmp_path, arguments, message):
    path = tmp_path / "motion.csv"
    assert message in refused(monkeypatch, capsys, "trajectory", "planar", *arguments, "-o", path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("torque", "planar"), "give either --q (a posture) or --trajectory"),
        (("torque", "planar", "--q", "0, 0", "-o", "x.csv"), "--output goes with --trajectory"),
        (("torque", "planar", "--trajectory", "nosuch.csv"), "nosuch.csv: there is no such file"),
        (("torque", "puma560", "--trajectory", "{motion}"), "it moves 2 joints, but PUMA 560 has 6"),
        (("scale", "puma560", "{motion}", "-o", "x.csv"), "it moves 2 joints, but PUMA 560 has 6"),
        (("scale", "planar", "{motion}", "--torque", "1", "-o", "x.csv"), "gravity and dry friction alone"),
        (("scale", "planar", "{motion}", "--torque", "1, 2, 3", "-o", "x.csv"), "--torque: "),
        (("simulate", "planar", "-o", "x.csv"), "--duration: missing"),
        (
            ("simulate", "planar", "--torque", "{motion}", "-o", "x.csv"),
            "columns t, tau1 … taun are expected",
        ),
        (
            ("simulate", "planar", "--torque", "nosuch.csv", "-o", "x.csv"),
            "nosuch.csv: there is no such file",
        ),
        (("simulate", "puma560", "--torque", "{torques}", "-o", "x.csv"), "torques of 2 joints"),
        (("scale", "planar", "{motion}", "--wrench", "1", "-o", "x.csv"), "--wrench: expected 6 numbers"),
        (
            ("simulate", "planar", "--duration", "1", *TO, "-o", "x.csv"),
            "--controller goes with",
        ),
        (
            ("simulate", "planar", "--duration", "1", "--controller", "pd", "-o", "x.csv"),
            "--controller goes with",
        ),
        (
            ("simulate", "planar", "--duration", "1", "--controller", "pd", *TO, "-o", "x.csv"),
            "--controller pd needs --stiffness and --damping",
        ),
        (("simulate", "planar", "--duration", "1", "--rate", "9", "-o", "x.csv"), "go with --controller"),
        (
            ("simulate", "planar", "--controller", "computed-torque", *TO, "--rate", "often", "-o", "x.csv"),
            "--rate: expected a positive number, 'auto' or 'none', found 'often'",
        ),
        (
            ("simulate", "planar", "--controller", "computed-torque", *TO, "--rate", "inf", "-o", "x.csv"),
            "--rate: expected a positive number, 'auto' or 'none', found 'inf'",
        ),
        (("simulate", "planar", "--duration", "-1", "-o", "x.csv"), "--duration: found -1"),
        (("report", "puma560", "--trajectory", "{motion}", "-o", "x.html"), "2 joints"),
    ],
)
def test_what_does_not_fit_is_refused(monkeypatch, capsys, tmp_path, arguments, message):
    files = {name: tmp_path / f"{name}.csv" for name in ("motion", "torques")}
    triangular(files["motion"])
    run("torque", "planar", "--trajectory", files["motion"], "-o", files["torques"])
    monkeypatch.chdir(tmp_path)
    given = [str(a).format(**files) for a in arguments]
    assert message in refused(monkeypatch, capsys, *given)
    assert not (tmp_path / "x.csv").exists()


def test_without_a_law_the_robots_limits_are_taken_and_named(tmp_path):
    path = tmp_path / "motion.csv"
    given = (
        "trajectory",
        "fr3",
        "--from",
        "0, 0, 0, -1, 0, 1, 0",
        "--to",
        "1, 0, 0, -2, 0, 2, 0",
        "-o",
        path,
    )
    assert "timing law: trapezoidal, by the robot's limits of velocity and acceleration\n" in run(*given)
    by_cycle = {"start": [0, 0, 0, -1, 0, 1, 0], "move": [{"to": [1, 0, 0, -2, 0, 2, 0]}]}
    assert "0.643679 s" in run(*given, "--synchronised")
    expected = load_cycle(Robot.load("fr3"), by_cycle).duration
    assert Trajectory.from_csv(path).duration == pytest.approx(expected)
    printed = run(*given, "--profile", "jerk-limited", "--max-velocity", "1")
    assert "timing law: jerk-limited, by the robot's limits of acceleration and jerk\n" in printed
    assert "warning" not in printed
    assert "timing law: quintic\n" in run(*given, "--duration", "2")


def test_limits_exceeded_are_marked_and_said(tmp_path):
    """A motion at 2.5 rad/s where 2 are allowed, in every verb that shows its speeds or torques."""
    arm, path = tmp_path / "arm.toml", tmp_path / "motion.csv"
    robot = Robot.load("planar").to_dict()
    for link in robot["link"]:
        link["limits"] |= {"velocity": 2.0, "acceleration": 20.0}
        link["motor"]["limits"] = {"velocity": 240}
    arm.write_text(Robot.from_dict(robot).to_toml(), "utf-8")
    law = ("--acceleration-time", "0.1", "--max-velocity", "2.5")
    printed = run("trajectory", arm, "--to", "1, 0", *law, "-o", path)
    assert rows(printed)[0][3:7] == ["2.5 !", "2", "25 !", "20"]
    assert rows(printed)[1][3:7] == ["0", "2", "0", "20"]
    speed = "warning: joint 1 ('link 1'): velocity 2.5 rad/s at 0.1 s, 125 % of its limit of 2 rad/s\n"
    shaft = "warning: motor 1 ('link 1'): velocity 250 rad/s at 0.1 s, 104.2 % of its limit of 240 rad/s\n"
    torque = "warning: joint 1 ('link 1'): torque "
    assert (speed in printed, shaft in printed, torque in printed) == (True, True, False)
    for verb in (("torque", arm), ("motors", arm)):
        printed = run(*verb, "--trajectory", path)
        assert (speed in printed, shaft in printed, torque in printed) == (True, True, True)
        assert " !" in rows(printed)[0][2 if verb[0] == "torque" else 5]
    printed = run("torque", arm, "--q", "0, 0", "--qd", "3, 0")
    assert "warning: joint 1 ('link 1'): velocity 3 rad/s, 150 % of its limit of 2 rad/s\n" in printed
    given = ("simulate", arm, "--torque", "3500, 0", "--duration", "0.01", "-o", tmp_path / "run.csv")
    assert "warning: joint 1 ('link 1'): torque 3500 N m at 0 s, 116.7 % of its limit" in run(*given)
    assert "warning" not in run(*given, "--limits", "ignore")


def test_a_motion_beyond_the_limits_of_position_is_told(tmp_path):
    path = tmp_path / "motion.csv"
    given = ("trajectory", "puma560", "--profile", "cubic", "--duration", "1", "-o", path)
    assert "warning" not in run(*given, "--to", "1, 1, 0, 0, 0, 0")
    printed = run(*given, "--to", "3, 1, 0, 0, 0, 0")
    assert "warning: joint 1 ('waist') leaves its range of -2.79253 to 2.79253 rad at 0.8" in printed
    assert printed.count("warning") == 1


def test_simulate_names_the_units(tmp_path):
    found = rows(run("simulate", "pr", "--duration", "0.01", "-o", tmp_path / "run.csv"))
    assert [row[-1] for row in found] == ["m, m/s, N", "rad, rad/s, N m"]


def test_simulation_that_diverges_keeps_what_it_has_and_fails(tmp_path):
    path = tmp_path / "run.csv"
    arguments = ["simulate", "planar", "--duration", "1", "--torque", "1e9, 0", "-o", str(path)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    assert "not completed: it diverged" in result.output
    assert 0 < columns(path)["t"][-1] < 1


PUMA_FALLS = ("simulate", "puma560", "--from", "0.1, 0.3, -0.2, 0.4, 0.5, 0.1", "--duration", "1.0005")
PASSED = "joint 2 ('upper arm') passes its limit of -0.785398 rad at t = 0.723263 s"


def test_simulate_tells_of_limits_passed_and_of_the_order_of_its_steps(tmp_path):
    path = tmp_path / "run.csv"
    printed = run(*PUMA_FALLS, "--method", "rk4", "-o", path)
    assert printed.count(PASSED) == 1
    assert "they are of first order" in printed
    t = columns(path)["t"]
    np.testing.assert_array_equal(t, [*np.arange(1001) * 1e-3, 1.0005])
    printed = run(*PUMA_FALLS, "--limits", "ignore", "-o", path)
    assert "passes its limit" not in printed
    assert "of first order" not in printed


def test_simulate_stops_at_a_limit(tmp_path):
    path = tmp_path / "run.csv"
    arguments = [*PUMA_FALLS, "--limits", "stop", "-o", str(path)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    assert result.output.count(PASSED) == 1
    assert columns(path)["t"][-1] == pytest.approx(0.723263, abs=1e-6)
    assert columns(path)["q2"][-1] == pytest.approx(-np.pi / 4, abs=1e-8)


def test_simulate_ends_where_its_steps_are_used_up(tmp_path):
    path = tmp_path / "run.csv"
    arguments = ["simulate", "planar", "--duration", "5", "--max-steps", "3", "-o", str(path)]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 1
    assert "not completed: max_steps (3) reached" in result.output


def test_the_help_says_what_order_fixed_steps_have():
    words = " ".join(run("simulate", "--help").replace("│", " ").split())
    assert "of first order where a joint stops, starts or reverses" in words


@pytest.mark.slow
def test_noise_in_a_file_is_one_line_of_warning(tmp_path):
    path = tmp_path / "noise.csv"
    rows = [f"{t},0.5,{t},{noise},1" for t, noise in ((0.0, 4e-16), (0.5, -4e-16), (1.0, 4e-16))]
    path.write_text("\n".join(["t,q1,q2,qd1,qd2", *rows]) + "\n", "utf-8")
    command = [sys.executable, "-m", "armdyn", "torque", "planar", "--trajectory", str(path)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        f"warning: {path}: qd1: velocities up to 4e-16 look like rounding errors of a joint"
    )


def test_a_link_in_the_place_of_the_tip(tmp_path, monkeypatch, capsys):
    """A line of the wrist's centre, and torques of a wrench on it."""
    robot, path = Robot.load("puma560"), tmp_path / "line.csv"
    start = "0.1, -0.7, 0.4, 0.2, 0.5, 0.1"
    law = ("--profile", "quintic", "--duration", "1", "-o", path)
    run("trajectory", "puma560", "--from", start, "--line", "0.02, 0.03, -0.01", "--link", "wrist 1", *law)
    motion = Trajectory.from_csv(path)
    places = robot.pose(np.array([motion(t)[0] for t in (0.0, 1.0)]), "wrist 1")[:, :3, 3]
    assert places[1] - places[0] == pytest.approx([0.02, 0.03, -0.01], abs=1e-6)
    command = ("torque", "puma560", "--q", start, "--wrench", "1, 2, 3, 0, 0, 0", "--link", "wrist 1")
    found = [float(row[2]) for row in rows(run(*command))]
    q = np.array([float(x) for x in start.split(",")])
    expected = robot.inverse_dynamics(q, 0 * q, 0 * q, {"wrist 1": [1, 2, 3, 0, 0, 0]})
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    error = refused(monkeypatch, capsys, *command[:-1], "tail")
    assert (
        error
        == "error: --link: found 'tail'; links: base, waist, upper arm, forearm, wrist 1, wrist 2, wrist 3"
    )


def test_simulations_of_loops_begin_where_the_loops_were_first_closed(tmp_path):
    """As motions do: five-bars are not closed, or jam, with all coordinates zero."""
    run("simulate", "five_bar", "-o", tmp_path / "run.csv", "--duration", 0.002)
    first = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)[0]
    assert np.allclose(first[1:3], Robot.load("five_bar").assembly.reference)
