"""Motions put together: they meet, keep their loads and dwells, and stay values."""

import pickle

import numpy as np
import pytest

from armdyn import MotionError, Robot, Trajectory, box
from armdyn.motion.loads import Load
from arms import slowly

PUMA = Robot.load("puma560")
HOME = np.array([-0.0822, 0.5, -2.9, 0.3, -0.75, 2.0])
LAW = {"max_velocity": 0.5, "max_acceleration": 2.0}
PART, GRIPPER = Load.of(2.0, [0, 0, 0.1]), Load.of(box(0.5, [0.1, 0.1, 0.1]))


def moves(rng, count, n=3):
    """Random motions of n joints, from rest to rest, each beginning where the one before it ends."""
    q, found = rng.normal(size=n), []
    for _ in range(count):
        goal = q + rng.normal(size=n) * (rng.random(n) < 0.7)  # some joints stand still
        kind = rng.choice(["trapezoidal", "each", "cubic", "quintic", "jerk", "rest", "spline"])
        time = float(rng.uniform(0.2, 2.0))
        if kind == "trapezoidal":
            made = Trajectory.trapezoidal(q, goal, duration=time, acceleration_time=time / 4)
        elif kind == "each":
            made = Trajectory.trapezoidal(q, goal, max_velocity=rng.uniform(0.5, 2, n), max_acceleration=3.0)
        elif kind in ("cubic", "quintic"):
            made = getattr(Trajectory, kind)(q, goal, time)
        elif kind == "jerk":
            made = Trajectory.jerk_limited(q, goal, 1.0, 4.0, 30.0)
        elif kind == "rest":
            made = Trajectory.resting(q, time)
        else:
            made = Trajectory.through([q, goal, q + 0.1], [0, time, 2 * time])
        if rng.random() < 0.4:
            made = made.carrying(PART if rng.random() < 0.5 else GRIPPER)
        found.append(made)
        q = made(made.duration)[0]
    return found


def instants(motion):
    """Instants of a motion: random ones, its knots, and beside these."""
    knots = np.concatenate([motion.motion.knots, [0.0, motion.duration]])
    beside = np.concatenate([knots, knots - 1e-7, knots + 1e-7, np.linspace(0, motion.duration, 997)])
    return np.unique(beside.clip(0, motion.duration))


def carried_at(motion, t):
    """What is carried just after t, as a list of loads that does not depend on order."""
    return sorted((one.load.body.mass for one in motion.loads if one.start <= t < one.end), key=float)


@pytest.mark.parametrize("seed", [0, 1, *map(slowly, range(2, 6))])
def test_a_sequence_is_its_motions_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    parts = moves(rng, int(rng.integers(2, 7)))
    whole = Trajectory.sequence(parts)
    starts = np.cumsum([0.0, *(one.duration for one in parts)])
    assert whole.duration == pytest.approx(starts[-1], rel=1e-14)
    for start, part in zip(starts[:-1], parts, strict=True):
        t = np.linspace(0.0, part.duration, 301)[1:-1]
        t = t[np.abs(t[:, None] - np.append(part.jumps, -1)).min(1) > 1e-9]
        for x, y in zip(whole(start + t), part(t), strict=True):
            assert x == pytest.approx(y, abs=1e-9)
        assert carried_at(whole, start + part.duration / 2) == carried_at(part, part.duration / 2)
    rests = sum(b - a for one in parts for a, b in one.dwells)
    assert sum(b - a for a, b in whole.dwells) == pytest.approx(rests, abs=1e-12)
    for a, b in whole.dwells:
        assert np.all(whole(np.linspace(a, b, 50)[1:-1])[1] == 0)


@pytest.mark.parametrize("seed", [0, 1, *map(slowly, range(2, 6))])
def test_positions_and_velocities_are_continuous_and_belong_together(seed):
    rng = np.random.default_rng(100 + seed)
    whole = Trajectory.sequence(moves(rng, 5))
    if seed % 2:
        whole = whole.reversed()
    if seed % 3 == 0:
        whole = whole + whole.reversed()
    t = instants(whole)
    (q, qd, qdd), left = whole(t), whole(t, side="before")
    assert left[0] == pytest.approx(q, abs=1e-9)
    assert left[1] == pytest.approx(qd, abs=1e-9)
    inner = np.isin(t, whole.jumps)
    assert left[2][~inner] == pytest.approx(qdd[~inner], abs=1e-9)  # it jumps only where it is said to
    h = 1e-5
    knots = whole.motion.knots
    away = t[(np.abs(t[:, None] - knots).min(1) > 2 * h) & (t > h) & (t < t[-1] - h)]
    for k in (0, 1):
        slope = (whole(away + h)[k] - whole(away - h)[k]) / (2 * h)
        assert slope == pytest.approx(whole(away)[k + 1], abs=1e-6 * (1 + np.abs(qdd).max()))


@pytest.mark.parametrize("seed", [0, 1, slowly(2), slowly(3)])
def test_reversed_is_the_mirror_and_twice_the_motion_itself(seed):
    motion = Trajectory.sequence(moves(np.random.default_rng(200 + seed), 4))
    back = motion.reversed()
    t = np.linspace(0, motion.duration, 777)
    (q, qd, qdd), (p, pd, pdd) = motion(motion.duration - t, side="before"), back(t)
    assert p == pytest.approx(q, abs=1e-9)
    assert pd == pytest.approx(-qd, abs=1e-9)
    smooth = np.abs(t[:, None] - np.append(back.jumps, -1)).min(1) > 1e-9
    assert pdd[smooth] == pytest.approx(qdd[smooth], abs=1e-7)
    assert back.jumps == pytest.approx((motion.duration - motion.jumps)[::-1], abs=1e-12)
    for jump in back.jumps:
        mirrored = motion.jumps[np.abs(motion.duration - jump - motion.jumps).argmin()]
        assert back(jump, "before")[2] == pytest.approx(motion(mirrored, "after")[2], abs=1e-9)
    T = motion.duration
    assert np.ravel(back.dwells) == pytest.approx(T - np.ravel(motion.dwells)[::-1], abs=1e-12)
    for at in np.linspace(0, T, 50)[1:-1]:
        assert carried_at(back, at) == carried_at(motion, T - at)
    assert back.reversed() == motion
    assert not np.signbit(back(back.duration)[1]).any()  # no −0 at rest


def test_reversed_twice_keeps_what_was_added_in_between():
    motion = Trajectory.quintic([0.0], [1.0], 1.0)
    again = motion.reversed().carrying(PART).reversed()
    assert again == motion.carrying(PART)


def test_repeated_is_the_motion_again_and_again():
    there = Trajectory.trapezoidal([0.0, 1.0], [1.0, 1.0], max_velocity=1.0, max_acceleration=4.0)
    once = there.carrying(PART).rest(0.3) + there.reversed()
    thrice = once.repeated(3)
    assert once.repeated(1) == once
    assert thrice.duration == pytest.approx(3 * once.duration)
    t = np.linspace(0, once.duration, 500)[:-1]
    for k in range(3):
        assert thrice(t + k * once.duration)[0] == pytest.approx(once(t)[0], abs=1e-9)
    assert len(thrice.dwells) == len(thrice.loads) == 3
    assert thrice.dwells[2][0] == pytest.approx(2 * once.duration + there.duration)
    assert (once + once + once).motion.evaluate.__self__.excerpts == thrice.motion.evaluate.__self__.excerpts


def test_a_rest_holds_what_the_motion_carries_at_its_end():
    there = Trajectory.quintic([0.0], [1.0], 1.0)
    (load,) = there.carrying(PART).rest(0.3).loads
    assert (load.start, load.end) == (0.0, 1.3)
    (load,) = (there.carrying(PART) + Trajectory.resting([1.0], 0.3)).rest(0.1).loads
    assert load.end == 1.0


def test_sequences_of_sequences_are_flat():
    a, b, c = (Trajectory.quintic([x], [x + 1], 0.1 * (x + 1)) for x in (0.0, 1.0, 2.0))
    assert (a + b) + c == a + (b + c)
    assert a + b != a + Trajectory.quintic([1.0], [2.0], 0.3)


def test_sequences_are_values():
    motion = Trajectory.sequence(moves(np.random.default_rng(3), 5))
    for one in (motion, motion.reversed(), motion.rest(0.1), (motion + motion.reversed()).repeated(2)):
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert hash(again) == hash(one)
        assert again.dwells == one.dwells
        assert again.loads == one.loads


def test_a_load_that_is_carried_on_is_one_load():
    a, b, c = (Trajectory.quintic([x], [x + 1], 1.0) for x in (0.0, 1.0, 2.0))
    whole = Trajectory.sequence([a.carrying(PART), b.carrying(PART).carrying(GRIPPER), c.carrying(GRIPPER)])
    assert [(one.start, one.end, one.load) for one in whole.loads] == [(0, 2, PART), (1, 3, GRIPPER)]
    assert whole.jumps.tolist() == [1.0, 2.0]  # of the loads: the motions themselves are smooth there
    assert (a.carrying(PART) + b.carrying(PART)).jumps.size == 0


def test_dwells_in_a_row_are_one():
    motion = Trajectory.quintic([0.0], [1.0], 1.0).rest(0.2).rest(0.3)
    assert motion.dwells == ((1.0, 1.5),)
    assert motion(1.2)[1] == 0


def test_rest_is_exact_and_of_a_dwell_nothing_moves():
    whole = Trajectory.trapezoidal([0, 0], [1, 2], max_velocity=1.0, max_acceleration=3.0).rest(0.5)
    (start, end), t = whole.dwells[0], whole.t
    inside = (t >= start) & (t <= end)
    assert inside.sum() > 400
    assert not whole.qd[inside].any()
    assert not whole.qdd[inside & (t > start)].any()


def test_motions_that_meet_at_the_same_velocity_need_no_stop():
    a = Trajectory.cubic([0.0], [1.0], 1.0, qd1=[0.5])
    b = Trajectory.cubic([1.0], [2.0], 1.0, qd0=[0.5])
    assert (a + b)(1.0)[1] == pytest.approx([0.5])


def test_many_repetitions_stay_on_the_right_side_of_jumps():
    motion = Trajectory.triangular([0.0], [1.0], 0.3)
    many = (motion + motion.reversed()).repeated(500)
    up, down = (many(many.jumps, side)[2] for side in ("after", "before"))
    assert (np.abs(up - down) > 1).all()  # every jump is one, also after 300 s
    assert len(many.jumps) == 1000 + 0  # in the middle of each way; at its ends the acceleration is the same


@pytest.mark.parametrize("kind", ["polynomials", "tip"])
def test_files_keep_the_motion_with_its_dwells_and_loads(tmp_path, kind):
    if kind == "tip":
        line = Trajectory.line(PUMA, HOME, displacement=[0, 0, 0.1], **LAW)
        motion = line.rest(0.2) + line.carrying(2.0, [0, 0, 0.1], link="forearm").reversed()
    else:
        motion = Trajectory.sequence(moves(np.random.default_rng(17), 6))
    motion.to_csv(tmp_path / "motion.csv")
    again = Trajectory.from_csv(tmp_path / "motion.csv")
    t = np.linspace(0, motion.duration, 900)
    for x, y, near in zip(again(t), motion(t), (1e-9, 1e-7, 1e-2), strict=True):
        smooth = np.abs(t[:, None] - np.append(motion.jumps, -1)).min(1) > 1e-9
        assert x[smooth] == pytest.approx(y[smooth], abs=near)
    assert np.ravel(again.dwells) == pytest.approx(np.ravel(motion.dwells))
    assert len(again.loads) == len(motion.loads) > 0
    for one, other in zip(again.loads, motion.loads, strict=True):
        assert (one.start, one.end) == pytest.approx((other.start, other.end))
        assert list(map(float, one.load.body.entries)) == pytest.approx(
            list(map(float, other.load.body.entries))
        )
        assert one.load.link == other.load.link
    assert again.jumps == pytest.approx(motion.jumps)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("# dwell, 0.1", "line 2004: expected 2 numbers, found '0.1'"),
        ("# dwell, 0.1, x", "expected 2 numbers, found '0.1, x'"),
        ("# dwell, 0.5, 7", "found a time from 0.5 to 7 s; the motion lasts from 0 to 1 s"),
        ("# load, 0, 1, 2", "expected 12 numbers"),
        ("# load, 0.5, 0.5, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0", "a start of 0.5 s and an end of 0.5 s"),
    ],
)
def test_files_with_wrong_dwells_and_loads_are_refused(tmp_path, line, message):
    path = tmp_path / "motion.csv"
    Trajectory.cubic([0.0], [1.0], 1.0, step=0.1).to_csv(path)
    rows = len(path.read_text("utf-8").splitlines())
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")
    with pytest.raises(MotionError) as error:
        Trajectory.from_csv(path)
    assert message.replace("2004", str(rows + 1)) in str(error.value)
    path.write_text(path.read_text("utf-8").replace("# ", "# a note about "), "utf-8")
    assert Trajectory.from_csv(path).dwells == ()  # other comments say nothing


def test_dwells_and_loads_in_files_that_a_spreadsheet_has_written(tmp_path):
    path = tmp_path / "motion.csv"
    motion = (Trajectory.cubic([0.0], [1.0], 1.0, step=0.1).rest(0.2)).carrying(2.0, link="link 1")
    motion.to_csv(path)
    text = path.read_text("utf-8").replace("link 1", "link 1,,,")
    path.write_text(text.replace("# dwell, 1.0, 1.2", "#dwell,1,1.2,,,"), "utf-8")
    again = Trajectory.from_csv(path)
    assert again.dwells == motion.dwells == ((1.0, 1.2),)
    assert again.loads == motion.loads


A, B = Trajectory.quintic([0.0, 0.5], [1.0, 0.5], 1.0), Trajectory.quintic([1.0, 0.7], [2.0, 0.7], 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: A + B, "motions 1 and 2: joint 2 ends at 0.5 and goes on from 0.7, 0.2 apart"),
        (lambda: Trajectory.sequence([A, A.reversed(), B]), "motions 2 and 3: joint 1 ends at 0 and"),
        (lambda: A + Trajectory.quintic([1.0], [2.0], 1.0), "the first moves 2 joints, the second 1"),
        (
            lambda: A + Trajectory.cubic([1.0, 0.5], [2.0, 0.5], 1.0, qd0=[0, 0.1]),
            "motions 1 and 2: the velocity of joint 2 jumps from 0 to 0.1",
        ),
        (lambda: Trajectory.cubic([0.0], [1.0], 1.0, qd1=[0.5]).rest(0.1), "velocity of joint 1 jumps"),
        (lambda: A.repeated(2), "motions 1 and 2: joint 1 ends at 1 and goes on from 0, 1 apart"),
        (lambda: A.repeated(0), "times: found 0; a whole number, 1 or more, is expected"),
        (lambda: A.repeated(10**9), "times: found 1000000000; at most 100000"),
        (lambda: A.rest(0.0), "duration: found 0 s; a positive time is expected"),
        (lambda: A.rest(float("nan")), "duration: found nan s"),
        (lambda: A.rest(1e-17), "found 1e-17 s of 'rest' at t = 1 s; so short a time is lost in rounding"),
        (lambda: Trajectory.resting([], 1.0), "q: expected (n,)"),
        (lambda: Trajectory.sequence([]), "sequence: expected a list of trajectories, found []"),
        (lambda: Trajectory.sequence(3), "sequence: expected a list of trajectories, found 3"),
        (lambda: Trajectory.sequence([A, 3]), "sequence: expected a list of trajectories"),
        (lambda: Trajectory.sequence([A, A.reversed()], blend=-0.1), "blend: found -0.1; a radius is zero"),
        (lambda: Trajectory.sequence([A, A.reversed()], blend=[0.1, 0.1]), "or 1, one for each corner"),
        (lambda: Trajectory.sequence([A, A.reversed()], robot=PUMA), "move 2 joints, but PUMA 560 has 6"),
        (lambda: Trajectory.sequence([A, A.reversed()], blend="big"), "blend: expected one number"),
    ],
)
def test_what_does_not_fit_together_is_refused(make, message):
    with pytest.raises(MotionError) as error:
        make()
    assert message in str(error.value)


def test_other_things_are_not_added():
    with pytest.raises(TypeError):
        A + 1
