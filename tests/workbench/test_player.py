"""The player keeps time, stops for a hand, carries the loads of a motion; without a browser."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Trajectory
from armdyn.motion.loads import Carried, Load
from armdyn.workbench.player import Clip, Player, of_samples


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def still(opened, monkeypatch):
    """A bench and a player on it whose thread does nothing: `step` is called by hand."""

    def make(*arguments, **options):
        bench, clock = opened(*arguments, **options), Clock()
        player = Player(bench, bench.player.clip, clock)
        monkeypatch.setattr(player, "_run", lambda: None)
        player.seek(0.0)
        return bench, player, clock

    return make


MOTION = Trajectory.quintic([0.0, 0.0], [1.0, -1.0], 2.0)


def test_the_player_keeps_real_time_at_its_speed(still):
    bench, player, clock = still("planar", MOTION)
    player.speed = 0.5
    player.play()
    for step in (0.1, 0.7, 0.2):  # frames are skipped, time is not
        clock.now += step
        assert player.step()
    assert bench.moment.time == pytest.approx(0.5, abs=1e-12)
    for found, wanted in zip(
        (bench.moment.q, bench.moment.qd, bench.moment.qdd), MOTION(bench.moment.time), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_a_short_motion_takes_two_seconds_until_somebody_chooses(still):
    short = Trajectory.quintic([0.0, 0.0], [1.0, -1.0], 0.4)
    bench, player, clock = still("planar", short)
    assert player.speed == 0.2
    player.play()
    clock.now += 1.0
    assert player.step()
    assert bench.moment.time == pytest.approx(0.2)
    player.speed = 1.0
    clock.now += 0.1
    assert player.step()
    assert bench.moment.time == pytest.approx(0.3)
    player.show(replace(player.clip, duration=0.1))
    assert player.speed == 1.0


def test_it_repeats_or_stops_at_the_end(still):
    bench, player, clock = still("planar", MOTION)
    player.play()
    clock.now += 2.5
    assert player.step()
    assert bench.moment.time == pytest.approx(0.5)
    player.loop = False
    clock.now += 5
    assert not player.step()
    assert bench.moment.time == 2.0
    player.play()  # from the beginning again
    assert bench.moment.time == 0.0


def test_a_hand_on_a_slider_stops_it(still):
    bench, player, clock = still("planar", MOTION)
    player.play()
    clock.now += 0.3
    assert player.step()
    bench.move("q", 0, 0.77)
    clock.now += 0.3
    assert not player.step()
    assert bench.moment.time is None
    assert bench.moment.q[0] == 0.77


def test_samples_are_hit_and_lines_between():
    t = np.array([3.0, 3.5, 4.5])
    x = np.array([[0.0], [1.0], [5.0]])
    at = of_samples(t, x, 2 * x, 3 * x)
    assert [float(at(s)[0][0]) for s in (0.0, 0.25, 0.5, 1.0, 1.5, 9.0)] == [0, 0.5, 1, 3, 5, 5]
    assert float(at(1.0)[2][0]) == 9
    assert Clip("x", 1.5, at).loads == ()


def test_loads_of_a_motion_count_at_their_time_and_only_then(opened):
    load = Carried(0.5, 1.2, Load.of(30.0, [0.1, 0.0, 0.0]))
    motion = Trajectory(replace(MOTION.motion, loads=(load,)))
    bench = opened("planar", motion)
    robot = bench.robot
    for time in (0.0, 0.3, 0.5, 0.9, 1.2, 1.9, 2.0):
        bench.player.seek(time)
        carrying = load.load.on(robot) if 0.5 <= time < 1.2 else robot
        np.testing.assert_allclose(bench.moment.tau, carrying.inverse_dynamics(*motion(time)), rtol=1e-12)
        assert bench.robot is robot
    bench.player.seek(0.9)
    assert bench.moment.robot is not robot
    lines = {}
    exec(bench.python(), lines)
    np.testing.assert_allclose(lines["tau"], bench.moment.tau, rtol=1e-12)
    # Edited meanwhile: the load stays. Posed by hand: it is put down.
    heavier = robot.with_payload(10.0)
    bench.change(subject=bench.moment.subject.changed(heavier))
    bench.player.follow(bench.moment)
    assert bench.robot is heavier
    expected = load.load.on(heavier).inverse_dynamics(*motion(0.9))
    np.testing.assert_allclose(bench.moment.tau, expected, rtol=1e-12)
    bench.move("q", 0, 0.1)
    bench.player.follow(bench.moment)
    assert bench.moment.robot is heavier


@pytest.mark.slow
def test_a_bundled_cycle_is_played_with_its_loads(opened):
    bench = opened("puma560", "puma560_pick_and_place")
    robot, motion = bench.robot, bench.motion
    own = motion.loaded(robot)
    for time in np.linspace(0, motion.duration, 37):
        bench.player.seek(float(time))
        carrying = own.robots[int(own.index(np.array([time]))[0])]
        np.testing.assert_allclose(
            bench.moment.tau, carrying.inverse_dynamics(*motion(time)), rtol=1e-9, atol=1e-9
        )
    lines = {}
    exec(bench.python(), lines)
    assert lines["motion"] == motion
