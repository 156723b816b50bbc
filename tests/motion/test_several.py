"""Several motions timed in one call, and one after the other."""

import numpy as np
import pytest

import armdyn
from armdyn import Robot, Trajectory, scale_to_limits, set_threads, time_optimal
from armdyn.kernels import threads as threads_of_kernels
from armdyn.kernels.kernel import get_backend
from armdyn.kernels.threads import get_threads
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.several import of_several
from armdyn.robot.assembly import LoopError
from closed_chains import five_bar
from golden_messages import golden_error


@pytest.fixture
def threads():
    yield set_threads
    set_threads(None)


def motions(robot, count, seed=0, **more):
    rng = np.random.default_rng(seed)
    ends = rng.uniform(-1, 1, (count, 2, robot.n))
    return [Trajectory.quintic(a, b, duration=rng.uniform(0.05, 1), **more) for a, b in ends]


def same(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        assert type(a) is type(b)
        assert abs(a.trajectory.duration - b.trajectory.duration) <= 1e-12 * b.trajectory.duration
        np.testing.assert_allclose(a.torque, b.torque, rtol=0, atol=1e-12 * np.abs(b.torque).max())
        at = np.linspace(0, b.trajectory.duration, 7)
        for x, y in zip(a.trajectory(at), b.trajectory(at), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1, np.abs(y).max()))


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", ["planar", "puma560"])
def test_several_and_one_after_the_other(name, count, threads):
    robot = Robot.load(name)
    given = motions(robot, 9)
    threads(count)
    same(time_optimal(robot, given, grid=30), [time_optimal(robot, x, grid=30) for x in given])
    same(scale_to_limits(robot, tuple(given)), [scale_to_limits(robot, x) for x in given])
    more = {"velocity": 0.7, "faster": True}
    same(scale_to_limits(robot, given, **more), [scale_to_limits(robot, x, **more) for x in given])


@pytest.mark.slow
def test_ten_thousand_paths(threads):
    robot = Robot.load("planar")
    given = motions(robot, 10_000, seed=3)
    threads(4)
    found = time_optimal(robot, given, grid=20)
    same(found, [time_optimal(robot, x, grid=20) for x in given])
    same(scale_to_limits(robot, given[:1000]), [scale_to_limits(robot, x) for x in given[:1000]])


def test_none_and_one():
    robot = Robot.load("planar")
    assert time_optimal(robot, []) == []
    assert scale_to_limits(robot, ()) == []
    assert [type(x).__name__ for x in time_optimal(robot, motions(robot, 1))] == ["TimeOptimal"]


def test_the_backend_goes_with_them(threads):
    threads(3)
    backends = of_several(lambda robot, trajectory: get_backend())
    with armdyn.backend("evaluator"):
        assert backends(None, [1] * 20) == ["evaluator"] * 20
    assert backends(None, [1] * 20) == ["compiled"] * 20


@pytest.mark.parametrize("count", [1, 3])
def test_the_first_that_is_refused_is_named(count, threads):
    threads(count)
    robot = Robot.load("planar")
    given = motions(robot, 40)
    for bad in (robot, None, Trajectory.quintic([0, 0, 0], [1, 1, 1], 1.0), [given[0]]):
        with golden_error(MotionError):
            time_optimal(robot, [*given[:7], bad, *given, bad], grid=20)
    with golden_error(MotionError):
        time_optimal(robot, given, torque=1.0)  # too weak to hold the arm
    with golden_error(MotionError):
        scale_to_limits(robot, (x for x in given))


def test_a_motion_whose_loops_cannot_be_closed_is_named(threads):
    threads(3)
    robot = five_bar()
    here = robot.assembly.reference
    given = [Trajectory.quintic(here, end, duration=1.0) for end in (here + 0.1, [3.0, 0.0], [3.0, 0.1])]
    limits = {"velocity": 3.0, "torque": 50.0, "acceleration": 30.0}
    for function in (time_optimal, scale_to_limits):
        with pytest.raises(LoopError) as alone:
            function(robot, given[1], **limits)
        with pytest.raises(LoopError) as among:
            function(robot, given, **limits)
        assert str(among.value) == f"motion 1 of 3: {alone.value}"


def test_calls_side_by_side_use_one_thread_each(monkeypatch):
    monkeypatch.setattr(threads_of_kernels.os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    counts = of_several(lambda robot, trajectory: get_threads())
    assert get_threads() == 3
    assert counts(None, [1] * 9) == [1] * 9


def test_what_is_no_refusal_is_raised_as_it_is(threads):
    threads(2)

    def fails(robot, trajectory):
        raise ZeroDivisionError(trajectory)

    with pytest.raises(ZeroDivisionError):
        of_several(fails)(None, [1, 2, 3])
