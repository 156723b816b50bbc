"""Rest is exact: joints that stay, ends of motions and turning points, for every maker of motions."""

from math import pi
from pathlib import Path

import numpy as np
import pytest

from armdyn import MotionWarning, Robot, retime, scale_to_limits, time_optimal
from armdyn.motion import Trajectory
from arms import assert_same
from golden_messages import golden_warning

STAY = 0.3


def stays(motion: Trajectory, joint: int = 0, position: float = STAY) -> bool:
    """Whether a joint stands still at samples and between them, at all three levels."""
    t = np.linspace(-0.1, motion.duration + 0.1, 1237)
    return all(
        (x[..., joint] == value).all()
        for states in (motion(t), motion(t, "before"), (motion.q, motion.qd, motion.qdd))
        for x, value in zip(states, (position, 0.0, 0.0), strict=True)
    )


def points() -> np.ndarray:
    """Via points (6, 3): the first joint stays."""
    found = np.random.default_rng(4).uniform(-1, 1, (6, 3))
    found[:, 0] = STAY
    return found


START, END = [STAY, 0, 1], [STAY, 1, 3]
TIMES = [0, 0.3, 0.5, 1.1, 1.7, 2.0]
SAMPLED = np.linspace(0, 1, 21)
ROWS = np.column_stack([np.full(21, STAY), np.sin(3 * SAMPLED), 0.1 * SAMPLED**3])
RATES = np.column_stack([np.zeros(21), 3 * np.cos(3 * SAMPLED), 0.3 * SAMPLED**2])

MAKERS = {
    "triangular": lambda: Trajectory.triangular(START, END, 1.0),
    "trapezoidal": lambda: Trajectory.trapezoidal(START, END, duration=1.0, acceleration_time=0.3),
    "synchronised": lambda: Trajectory.trapezoidal(
        START, END, max_velocity=2.0, max_acceleration=7.0, synchronised=True
    ),
    "cubic": lambda: Trajectory.cubic(START, END, 1.0),
    "quintic": lambda: Trajectory.quintic(START, END, 1.0),
    "jerk-limited": lambda: Trajectory.jerk_limited(START, END, 2.0, 9.0, 50.0),
    "cubic spline": lambda: Trajectory.through(points(), TIMES),
    "quintic spline": lambda: Trajectory.through(points(), TIMES, kind="quintic"),
    "least times": lambda: Trajectory.through(points(), kind="quintic", max_velocity=1.0),
    "blend": lambda: Trajectory.through(points(), TIMES, kind="blend", blend_time=0.2),
    "samples": lambda: Trajectory.from_samples(SAMPLED, ROWS),
    "samples and velocities": lambda: Trajectory.from_samples(SAMPLED, ROWS, RATES),
    "samples, rounded": lambda: Trajectory.from_samples(
        SAMPLED, np.column_stack([STAY * (1 + np.spacing(1.0) * (np.arange(21) % 2)), ROWS[:, 1:]])
    ),
}  # fmt: skip


@pytest.mark.parametrize("maker", MAKERS)
def test_a_joint_that_stays_and_exact_zeros(maker: str) -> None:
    assert stays(MAKERS[maker](), position=MAKERS[maker]().q[0, 0])


@pytest.mark.parametrize("maker", ["quintic", "cubic spline", "quintic spline"])
def test_a_joint_that_stays_and_another_timing(maker: str) -> None:
    robot, motion = Robot.load("planar3"), MAKERS[maker]()
    duration = motion.duration
    slower = Trajectory.quintic([0.0], [duration], 3.0, qd0=0.1, qd1=0.1)
    assert stays(retime(robot, motion, slower).trajectory)
    assert stays(scale_to_limits(robot, motion, torque=1000.0, faster=True).trajectory)
    assert stays(time_optimal(robot, motion, torque=1000.0).trajectory)


@pytest.mark.parametrize("maker", [name for name in MAKERS if not name.startswith("samples")])
def test_the_ends_of_motions_from_rest_to_rest(maker: str) -> None:
    motion = MAKERS[maker]()
    assert not motion([0.0, motion.duration])[1].any()
    assert not motion([0.0, motion.duration], "before")[1].any()
    robot = Robot.load("planar3")
    for other in (
        scale_to_limits(robot, motion, torque=1000.0, faster=True).trajectory,
        time_optimal(robot, motion, torque=1000.0).trajectory,
    ):
        assert not other([0.0, other.duration])[1].any()


def test_the_ends_of_a_law_that_is_a_function() -> None:
    """The cosine's slope at π is 1.2e-16, which is no speed."""
    robot = Robot.load("planar3")
    motion = Trajectory.cubic([0, 0, 0], [1, 1, 1], 1.0, qd0=1.0, qd1=1.0)

    def law(t: np.ndarray) -> tuple[np.ndarray, ...]:
        w = pi / 2
        return (1 - np.cos(w * t)) / 2, w * np.sin(w * t) / 2, w**2 * np.cos(w * t) / 2

    other = retime(robot, motion, law, 2.0).trajectory
    assert not other([0.0, 2.0])[1].any()
    assert other([1e-6, 2.0 - 1e-6])[1].all()


def test_the_end_of_a_motion_at_another_speed() -> None:
    """Scaled back, its duration may miss that of the given motion by rounding."""
    robot, rng = Robot.load("planar3"), np.random.default_rng(3)
    for given, speed, duration in rng.uniform(0.2, 3, (60, 3)):
        motion = Trajectory.cubic([0, 0, 0], [1, -1, 2], given)

        def law(t: np.ndarray, rate: float = given / duration) -> tuple[np.ndarray, ...]:
            return rate * t, np.full_like(t, rate), np.zeros_like(t)

        for other in (
            scale_to_limits(robot, motion, torque=np.inf, velocity=speed, faster=True).trajectory,
            retime(robot, motion, law, duration).trajectory,
        ):
            q, qd, _ = other(other.duration)
            assert (q == motion.q[-1]).all()
            assert not qd.any()


REVERSALS = {
    "cubic": lambda: (Trajectory.cubic([0.0], [0.0], 0.6, qd0=1.0, qd1=-1.0), 0.3),
    "quintic": lambda: (Trajectory.quintic([5.0], [5.0], 1.4, qd0=3.0, qd1=-3.0), 0.7),
    "cubic spline": lambda: (Trajectory.through([[0.1], [0.7], [0.1]], [0.0, 0.1, 0.2]), 0.1),
    "quintic spline": lambda: (
        Trajectory.through([[0.1], [0.7], [1.3], [0.7], [0.1]], [0, 0.3, 0.6, 0.9, 1.2], kind="quintic"), 0.6,
    ),
    "blend": lambda: (
        Trajectory.through([[0.1], [0.7], [0.1]], [0, 0.1, 0.2], kind="blend", blend_time=0.06), 0.13,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REVERSALS)
def test_where_a_joint_turns_it_has_no_direction(name: str) -> None:
    motion, turn = REVERSALS[name]()
    assert motion(turn)[1] == 0.0
    signs = np.sign(motion.qd[1:-1, 0])
    assert (np.diff(signs[signs != 0]) != 0).sum() == 1


def test_samples_that_rest_for_a_while() -> None:
    """A spline swings on after the last sample that moves, with another sign from sample to sample."""
    t = np.linspace(0, 2, 201)
    q = np.where(t < 1, np.sin(2 * t), np.sin(2.0))[:, None]
    motion = Trajectory.from_samples(t, q)
    rests = np.linspace(1.02, 2.0, 999)
    assert (motion(rests)[0] == np.sin(2.0)).all()
    assert not motion(rests)[1].any()
    assert not motion(rests)[2].any()


@pytest.mark.parametrize("distance", [1e6, 1e12, 1e15])
def test_a_long_way_begins_where_it_should(distance: float) -> None:
    data = {"acceleration_time": 1.0, "max_velocity": 1.0}
    for motion in (
        Trajectory.trapezoidal([0.0], [distance], **data),
        Trajectory.trapezoidal([0.0, 0.0], [distance, 2.0], **data),
    ):
        q, qd, qdd = motion([0.0, 0.5, 1.0])
        assert_same(q[:, 0], [0.0, 0.125, 0.5])
        assert_same(qd[:, 0], [0.0, 0.5, 1.0])
        assert qdd[0, 0] == pytest.approx(1.0)
        assert motion(motion.duration)[0][0] == distance
    blend = Trajectory.through([[0.0], [distance]], [0.0, distance], kind="blend", blend_time=0.5)
    assert_same(blend([0.0, 0.25, 0.5])[1][:, 0], [0.0, 0.5, 1.0])


# ---- files -------------------------------------------------------------------------------------------------


def table(path: Path, noise: float, motion: float = 1.0) -> Path:
    """A file of two joints, the first of which stands still but for noise in its velocity."""
    t = np.linspace(0, 1, 11)
    rows = np.column_stack([t, 0 * t + 0.5, motion * t, noise * (-1) ** np.arange(11), 0 * t + motion])
    path.write_text(
        "t,q1,q2,qd1,qd2\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()), "utf-8"
    )
    return path


def test_noise_in_a_file_is_read_as_it_is_and_told(tmp_path: Path) -> None:
    path = table(tmp_path / "noise.csv", 4e-16)
    with pytest.warns(MotionWarning, match=r"noise.csv: qd1: velocities up to 4e-16 look like") as found:
        motion = Trajectory.from_csv(path)
    assert len(found) == 1
    assert Path(found[0].filename) == Path(__file__)
    assert motion(0.0)[1][0] == 4e-16


@pytest.mark.parametrize("velocities", [True, False])
def test_noise_in_positions_is_told(tmp_path: Path, velocities: bool) -> None:
    """Where velocities are zero in the file they are not so between its rows."""
    path, rows = tmp_path / "noise.csv", [0.5 + k % 2 * 1e-15 for k in range(11)]
    header, zero = ("t,q1,qd1", ",0") if velocities else ("t,q1", "")
    path.write_text("\n".join([header, *(f"{k / 10},{q!r}{zero}" for k, q in enumerate(rows))]), "utf-8")
    with golden_warning(MotionWarning):
        Trajectory.from_csv(path)


def test_a_joint_that_creeps_is_not_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "creep.csv"
    path.write_text("t,q1\n" + "\n".join(f"{k},{k * 1e-9!r}" for k in range(1001)), "utf-8")
    motion = Trajectory.from_csv(path)
    np.testing.assert_allclose(motion.with_step(0.25).qd, 1e-9, rtol=1e-6)


@pytest.mark.parametrize(("noise", "motion"), [(0.0, 1.0), (1e-6, 1.0), (0.0, 0.0)])
def test_a_file_that_moves_or_rests_is_not_warned_of(tmp_path: Path, noise: float, motion: float) -> None:
    Trajectory.from_csv(table(tmp_path / "fine.csv", noise, motion))


def test_a_line_written_and_read_is_not_warned_of(tmp_path: Path) -> None:
    puma = Robot.load("puma560")
    line = Trajectory.line(
        puma, [0, pi / 4, -pi, 0, pi / 4, 0], displacement=[0, 0, -0.1], profile="quintic", duration=0.5
    )
    line.to_csv(tmp_path / "line.csv")
    read = Trajectory.from_csv(tmp_path / "line.csv")
    assert all(stays(read, joint, float(line.q[0, joint])) for joint in (0, 3, 5))
