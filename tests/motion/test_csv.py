"""Trajectories in files: what is written is what is read, and wrong files are named with the line."""

import time
from math import pi
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion import MotionError, Trajectory
from armdyn.motion.csv_files import read_torques
from arms import assert_same
from golden_messages import golden_error

START, END = np.array([0.1, -2.0, 0.7]), np.array([1.3, 1.0 / 3.0, 0.7])


@pytest.mark.parametrize(
    "trajectory",
    [
        Trajectory.triangular(START, END, [0.5, 0.6, 0.7]),
        Trajectory.trapezoidal(START, END, acceleration_time=0.15, max_velocity=5.0),
        Trajectory.quintic(START, END, 0.5, qd0=1.0, qdd1=3.0),
        Trajectory.jerk_limited(START, END, 3.0, 20.0, 300.0, synchronised=True),
        Trajectory.through([START, START + 0.3, END], [0, 1 / 7, 0.5]),
        Trajectory.through([START, START + 0.3, END], [0, 1 / 7, 0.5], kind="quintic"),
    ],
    ids=lambda trajectory: trajectory.motion.label,
)
def test_a_file_gives_back_the_motion_and_the_same_file(trajectory: Trajectory, tmp_path: Path) -> None:
    trajectory.to_csv(tmp_path / "one.csv")
    found = Trajectory.from_csv(tmp_path / "one.csv")
    assert found.duration == trajectory.duration
    assert found.jumps.tolist() == trajectory.jumps.tolist()
    samples, again = trajectory.samples(), found.samples()
    assert again.t.tolist() == samples.t.tolist()
    for name in ("q", "qd", "qdd"):  # bit by bit at the rows of the file
        assert np.array_equal(getattr(again, name), getattr(samples, name))
    t = np.random.default_rng(0).uniform(0, trajectory.duration, 500)
    for k, tolerance in enumerate((1e-14, 1e-10, 1e-7)):  # rounding of q over a step squared
        assert_same(found(t)[k], trajectory(t)[k], tolerance)
    found.to_csv(tmp_path / "two.csv")
    assert (tmp_path / "two.csv").read_bytes() == (tmp_path / "one.csv").read_bytes()


def test_joints_each_for_itself_in_a_file(tmp_path: Path) -> None:
    """A knot next to a sample takes its place, so rows agree to rounding rather than bit by bit."""
    one = Trajectory.jerk_limited(START, END, 3.0, 20.0, 300.0)
    one.to_csv(tmp_path / "one.csv")
    other = Trajectory.from_csv(tmp_path / "one.csv")
    assert other.duration == one.duration
    for name, tolerance in (("q", 1e-15), ("qd", 1e-14), ("qdd", 1e-14)):
        assert_same(getattr(other.samples(), name), getattr(one.samples(), name), tolerance)
    t = np.random.default_rng(0).uniform(0, one.duration, 500)
    for k, tolerance in enumerate((1e-14, 1e-10, 1e-7)):
        assert_same(other(t)[k], one(t)[k], tolerance)


def test_columns_and_instants_that_stand_twice(tmp_path: Path) -> None:
    Trajectory.triangular([0, 1], [1, -1], 1.0).to_csv(tmp_path / "x.csv", step=0.25)
    lines = (tmp_path / "x.csv").read_text("utf-8").splitlines()
    assert lines[0] == "t,q1,q2,qd1,qd2,qdd1,qdd2"
    assert [float(line.split(",")[0]) for line in lines[1:]] == [0, 0.25, 0.5, 0.5, 0.75, 1.0]
    assert [line.split(",")[5] for line in lines[3:5]] == ["4.0", "-4.0"]


def test_a_line_of_the_tip_in_a_file(tmp_path: Path) -> None:
    robot = Robot.load("planar")
    one = Trajectory.line(robot, [-1.2, 2.1], displacement=[0.3, 0, 0], acceleration_time=0.1, max_velocity=1)
    one.to_csv(tmp_path / "line.csv")
    other = Trajectory.from_csv(tmp_path / "line.csv")
    t = np.linspace(0.0003, one.duration, 300)
    for k, tolerance in enumerate((1e-14, 1e-11, 1e-7)):
        assert_same(other(t)[k], one(t)[k], tolerance)


def test_only_times_and_positions_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "# made by hand\n tau1, q2 ,t,q1\n\nx,1,5,0\n,2,6,1\n7,1,7.5,pi\n".replace("pi", str(pi)), "utf-8"
    )
    trajectory = Trajectory.from_csv(path)
    assert trajectory.n == 2
    assert trajectory.duration == 2.5
    assert_same(trajectory(1.0)[0], [1, 2])
    assert_same(trajectory(2.5)[0], [pi, 1])
    path.write_text("t,q1,qd1\n0,0,1\n1,1,1\n", "utf-8-sig")
    assert_same(Trajectory.from_csv(path)(0.5)[0], [0.5])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; a line of column names is expected"),
        ("# nothing\n\n", "the file is empty"),
        ("0,1\n1,2\n", "line 1: columns t, q1 … qn are expected, found 0, 1"),
        ("time,q1\n0,1\n1,2\n", "line 1: columns t, q1 … qn are expected, found time, q1"),
        ("t;q1\n0;1\n", "line 1: columns t, q1 … qn are expected, found t;q1"),
        ("t,q1,q3\n0,1,2\n", "line 1: column q2 is missing for 2 joints, found t, q1, q3"),
        ("t,q1,q2,qd1\n0,1,2,3\n", "line 1: column qd2 is missing for 2 joints"),
        ("t,q1,qd1,qd2\n0,1,2,3\n", "line 1: column qd2 is for none of the 1 joints"),
        ("t,q1,q1\n0,1,2\n", "line 1: column 'q1' appears twice"),
        ("t,q1\n0,1\n1\n", "line 3: 2 columns are expected, found 1"),
        ("t,q1\n0,1\n\n1,two\n", "line 4: column q1: found 'two'; a number is expected"),
        ("t,q1\n0,1\n1,nan\n", "line 3: column q1: found 'nan'; a number is expected"),
        ("t,q1\n0,\n1,2\n", "line 2: column q1: found ''; a number is expected"),
        ('t,q1\n0,"0\n1,1\n', "line 2: unexpected end of data"),
        ("t,q1,qdd1\n0,0,1\n1,1,2\n", "qdd: accelerations without velocities; give qd too"),
        ("t,q1\n0,1\n", "1 rows of numbers; a motion has two or more"),
        ("t,q1\n0,1\n#\n2,1\n1,1\n", "line 5: t = 1 s comes after 2 s; times must not go back"),
        ("t,q1\n0,1\n1,1\n1,1\n2,1\n", "line 4: the time stamp t = 1 s is repeated"),
    ],
)
def test_wrong_files_are_refused_with_the_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(MotionError) as caught:
        Trajectory.from_csv(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    with golden_error(MotionError):
        Trajectory.from_csv(tmp_path / "nothing.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00t")
    with golden_error(MotionError):
        Trajectory.from_csv(tmp_path / "binary.csv")
    with golden_error(MotionError):
        Trajectory.triangular(0, 1, 1).to_csv(tmp_path / "binary.csv" / "x.csv")


def test_files_with_very_many_columns(tmp_path: Path) -> None:
    """Time and messages do not grow with the square of what is in them."""
    path, n = tmp_path / "wide.csv", 20_000
    names = [f"q{i + 1}" for i in range(n)]
    rows = "".join(f"{t}{',0' * n}\n" for t in range(2))
    begin = time.process_time()
    path.write_text(f"t,{','.join(names)}\n{rows}")
    assert Trajectory.from_csv(path).n == n
    path.write_text(f"t,{','.join(names).replace('q', 'tau')}\n{rows}")
    assert read_torques(path).tau.shape == (2, n)
    path.write_text(f"t,{','.join(names)},q{n}\n")
    with golden_error(MotionError):
        Trajectory.from_csv(path)
    assert time.process_time() - begin < 5
    path.write_text(f"x,{','.join(names)}\n")
    with pytest.raises(MotionError) as caught:
        Trajectory.from_csv(path)
    assert len(str(caught.value)) < 600


def test_a_path_that_no_file_has() -> None:
    with golden_error(MotionError):
        Trajectory.from_csv("a\0b")


def test_no_folder_is_made_for_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "x.csv"
    with golden_error(MotionError):
        Trajectory.triangular(0, 1, 1).to_csv(path)
    assert not (tmp_path / "new").exists()


def test_torques_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tau.csv"
    path.write_text("t,q1,q2,tau2,tau1\n1,7,8,20,10\n2,0,0,40,30\n2,0,0,0,0\n", "utf-8")
    found = read_torques(path)
    assert found.t.tolist() == [0, 1, 1]
    assert found.tau.tolist() == [[10, 20], [30, 40], [0, 0]]
    assert (found.q0.tolist(), found.qd0.tolist()) == ([7, 8], [0, 0])
    assert found.at(0.5).tolist() == [20, 30]
    assert found.at(9.0).tolist() == [0, 0]
    path.write_text("t,tau1\n1,0\n0.5,0\n", "utf-8")
    with pytest.raises(MotionError, match=r"line 3: time runs backwards, to 0\.5 s"):
        read_torques(path)
    path.write_text("t,tau2\n1,0\n2,0\n", "utf-8")
    with golden_error(MotionError):
        read_torques(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_device_is_not_read():
    with golden_error(MotionError):
        Trajectory.from_csv("/dev/zero")
