"""Blends: the corner is rounded off within its radius, without a stop, at continuous velocity."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume
from scipy.spatial import cKDTree

from armdyn import MotionError, Robot, Trajectory
from armdyn.motion.loads import Load
from arms import generators, law, robots, slowly
from golden_messages import golden_error

PUMA = Robot.load("puma560")
HOME = np.array([-0.0822, 0.5, -2.9, 0.3, -0.75, 2.0])
LAW = {"max_velocity": 0.5, "max_acceleration": 2.0}


def lines(law=LAW):
    """Up, aside, an arc, and joint-wise back."""
    up = Trajectory.line(PUMA, HOME, displacement=[0, 0, 0.15], **law)
    aside = Trajectory.line(PUMA, up.q[-1], displacement=[0, 0.3, 0], **law)
    tip = PUMA.pose(aside.q[-1])[:3, 3]
    arc = Trajectory.circle(PUMA, aside.q[-1], tip - [0.1, 0, 0], [0, 0, 1], 1.5, **law)
    back = Trajectory.trapezoidal(arc.q[-1], HOME, max_velocity=2, max_acceleration=6, synchronised=True)
    return [up, aside, arc, back]


def tips(robot, motion, t):
    return robot.pose(motion(t)[0])[:, :3, 3]


def check_blended(robot, parts, radius):
    """The blended motion: on the paths outside of the balls, within these inside, and smooth."""
    stops, motion = (Trajectory.sequence(parts, blend=r, robot=robot) for r in (None, radius))
    assert motion.duration < stops.duration
    corners = np.array([robot.pose(one.q[0])[:3, 3] for one in parts[1:]])
    t = np.linspace(0, motion.duration, 4001)
    x, path = tips(robot, motion, t), tips(robot, stops, np.linspace(0, stops.duration, 20001))
    away = np.linalg.norm(x[:, None] - corners, axis=2).min(1)
    off = cKDTree(path).query(x)[0]
    coarse = np.linalg.norm(np.diff(path, axis=0), axis=1).max()
    assert off[away > radius * (1 + 1e-6)].max() < coarse  # outside of the balls it is the path itself
    assert off.max() <= radius + coarse
    assert (away < 0.9 * radius).sum() > 3  # the motion does pass through the balls
    chain = motion.motion.evaluate.__self__
    for k, part in enumerate(chain.excerpts):
        if part.motion.label != "blend":
            continue
        inside = tips(robot, motion, np.linspace(chain.starts[k], chain.starts[k + 1], 300))
        distance = np.linalg.norm(inside[:, None] - corners, axis=2).min(1)
        assert distance.max() <= radius * (1 + 1e-6)
        assert distance[[0, -1]] == pytest.approx(radius, rel=1e-6)
        _, qd, _ = motion(np.linspace(chain.starts[k], chain.starts[k + 1], 300))
        assert (np.abs(qd).max(1) > 0).all()
        for seam in chain.starts[[k, k + 1]]:
            for before, after in zip(motion(seam, "before"), motion(seam, "after"), strict=True):
                assert before == pytest.approx(after, abs=1e-7)
    return motion


@pytest.mark.parametrize("radius", [slowly(0.005), 0.03, slowly(0.07)])
@pytest.mark.parametrize(
    "law",
    [LAW, {"profile": "quintic", "duration": 0.8}, {"profile": "jerk_limited", **LAW, "max_jerk": 30.0}],
)
def test_corners_of_lines_arcs_and_joint_moves(radius, law):
    motion = check_blended(PUMA, lines(law), radius)
    speed = np.linalg.norm(np.einsum("kij,kj->ki", PUMA.jacobian(motion.q)[:, :3], motion.qd), axis=1)
    inner = (motion.t > 0.05) & (motion.t < motion.duration - 0.3)
    assert speed[inner].min() > 0.01  # no stop on the way


@law(robots((2, 4)), generators(), examples=2, thorough=12)
def test_random_arms_and_joint_moves(robot, rng):
    points = rng.normal(size=(4, robot.n))
    parts = [Trajectory.trapezoidal(a, b, duration=1.0, acceleration_time=0.25) for a, b in pairwise(points)]
    rooms = [
        np.linalg.norm(robot.pose(one.q)[:, :3, 3] - robot.pose(end)[:3, 3], axis=1).max()
        for one in parts
        for end in (one.q[0], one.q[-1])
    ]
    assume(min(rooms) > 1e-2)  # the tip of some is on a link that no joint moves
    radius = 0.2 * min(rooms)
    whole = Trajectory.sequence(parts, blend=radius, robot=robot)
    assert whole.duration < 3.0
    t = np.linspace(0, whole.duration, 3001)
    h = 1e-6
    smooth = t[(np.abs(t[:, None] - whole.motion.knots).min(1) > 2 * h) & (t > h) & (t < t[-1] - h)]
    for k in (0, 1):
        slope = (whole(smooth + h)[k] - whole(smooth - h)[k]) / (2 * h)
        size = np.abs(whole(smooth)[k + 1]).max()
        assert slope == pytest.approx(whole(smooth)[k + 1], abs=1e-4 * size)
    chain = whole.motion.evaluate.__self__
    blends = [k for k, part in enumerate(chain.excerpts) if part.motion.label == "blend"]
    assert len(blends) == 2
    for k, corner in zip(blends, points[1:-1], strict=True):
        inside = tips(robot, whole, np.linspace(chain.starts[k], chain.starts[k + 1], 300))
        assert np.linalg.norm(inside - robot.pose(corner)[:3, 3], axis=1).max() <= radius * (1 + 1e-6)


def test_without_a_robot_the_radius_is_that_of_the_joints():
    a = Trajectory.trapezoidal([0.0, 0.0], [1.0, 0.0], max_velocity=1.0, max_acceleration=4.0)
    b = Trajectory.trapezoidal([1.0, 0.0], [1.0, 2.0], max_velocity=1.0, max_acceleration=4.0)
    whole = Trajectory.sequence([a, b], blend=0.2)
    chain = whole.motion.evaluate.__self__
    t = np.linspace(*chain.starts[1:3], 200)
    distance = np.abs(whole(t)[0] - [1.0, 0.0]).max(1)
    assert distance.max() <= 0.2 * (1 + 1e-9)
    assert distance[[0, -1]] == pytest.approx(0.2)
    assert whole.t[-1] < a.duration + b.duration


def test_from_speed_to_the_same_speed_a_blend_takes_the_time_of_the_parabola():
    """At a right angle: T = 2 r/v; the quintic passes the corner at 3/16 √2 r, with 1.5 √2 v/T at most."""
    a = Trajectory.trapezoidal([0.0, 0.0], [1.0, 0.0], max_velocity=1.0, max_acceleration=10.0)
    b = Trajectory.trapezoidal([1.0, 0.0], [1.0, 1.0], max_velocity=1.0, max_acceleration=10.0)
    whole = Trajectory.sequence([a, b], blend=0.2)
    _, start, end, _ = whole.motion.evaluate.__self__.starts
    assert end - start == pytest.approx(0.4)
    t = np.linspace(start, end, 500)
    nearest = np.linalg.norm(whole(t)[0] - [1.0, 0.0], axis=1).min()
    assert nearest == pytest.approx(3 / 16 * 2**0.5 * 0.2, rel=1e-3)
    largest = np.linalg.norm(whole(t)[2], axis=1).max()
    assert largest == pytest.approx(1.5 * 2**0.5 / 0.4, rel=1e-3)
    assert whole.jumps == pytest.approx([0.1, whole.duration - 0.1])  # the blend adds none


def test_a_blend_mends_a_jump_of_the_velocity():
    a = Trajectory.cubic([0.0, 0.0], [1.0, 0.0], 1.0, qd0=[1, 0], qd1=[1, 0])
    b = Trajectory.cubic([1.0, 0.0], [1.0, 1.0], 1.0, qd0=[0, 1], qd1=[0, 1])
    with golden_error(MotionError):
        a + b
    whole = Trajectory.sequence([a, b], blend=0.3)
    for seam in whole.motion.knots:
        assert whole(seam, "before")[1] == pytest.approx(whole(seam)[1], abs=1e-9)


def test_each_corner_has_its_radius_and_zero_is_a_stop():
    parts = lines()
    whole = Trajectory.sequence(parts, blend=[0.02, None, 0.0], robot=PUMA)
    labels = [part.motion.label for part in whole.motion.evaluate.__self__.excerpts]
    assert labels == ["line", "blend", "line", "circle", "trapezoidal"]


def test_loads_are_carried_through_a_blend():
    load = Load.of(1.5, [0, 0, 0.1])
    up, aside, arc, _ = lines()
    whole = Trajectory.sequence([up.carrying(load), aside.carrying(load), arc], blend=[0.03, 0], robot=PUMA)
    (one,) = whole.loads
    assert (one.start, one.load) == (0.0, load)
    assert one.end == pytest.approx(whole.duration - arc.duration)
    rest = Trajectory.sequence([up.rest(0.2) + aside, arc], blend=0.03, robot=PUMA)
    assert rest.dwells == pytest.approx(np.array([[up.duration, up.duration + 0.2]]))


def test_what_cannot_be_rounded_is_refused_with_the_largest_radius():
    up, aside, arc, _ = lines()
    heavy = aside.carrying(2.0)
    wrist = Trajectory.quintic(up.q[-1], up.q[-1] + [0, 0, 0, 0, 0, 1.0], 1.0)
    turned = Trajectory.quintic(wrist.q[-1], up.q[-1], 1.0)
    for parts, radius, message in (
        (
            [up, aside],
            0.2,
            "motions 1 and 2: blend: found a radius of 0.2 m, but the motion before",
        ),
        ([up, aside], 0.1500001, "has room only for less than 0.15 m"),
        ([aside, arc], 0.2, "the motion after the corner has room only for less than 0.136"),
        ([up, aside, arc], [0.14, 0.17], "motions 2 and 3: blend: found a radius of 0.17 m"),
        ([up.rest(0.1), aside], 0.01, "a dwell is at this corner, and a dwell is a stop; only 0 is possible"),
        ([up, Trajectory.resting(up.q[-1], 1.0)], 0.01, "a dwell is at this corner"),
        ([up, heavy], 0.01, "a load is taken up at this corner, at rest; only 0 is possible"),
        ([up.carrying(1.0), aside], 0.01, "a load is put down at this corner"),
        ([wrist, turned], 0.01, "the motion before the corner does not move the tip"),
        ([up, aside], 1e-300, "found a radius of 1e-300 m; less than 1e-12 m are lost in rounding"),
        ([up, arc], 0.01, "motions 1 and 2: joint"),
    ):
        with pytest.raises(MotionError) as error:
            Trajectory.sequence(parts, blend=radius, robot=PUMA)
        assert message in str(error.value), error.value
    assert Trajectory.sequence([up, aside], blend=0.14, robot=PUMA).duration < up.duration + aside.duration
    one = Trajectory.sequence([up, aside], blend=np.array(0.14), robot=PUMA)  # a number as an array
    assert one == Trajectory.sequence([up, aside], blend=0.14, robot=PUMA)
