"""Cycle files: what they say is what the arm does, and what is wrong is said with file and key."""

from itertools import pairwise

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, Trajectory, bundled_cycles, load_cycle
from armdyn.motion.inverse_kinematics import tip_task
from armdyn.motion.torques import contributions_along, torques_along
from armdyn.robot.joints import joint_limits
from arms import slowly
from golden_messages import golden_error

PLANAR, PUMA = Robot.load("planar"), Robot.load("puma560")
NAME = "puma560_pick_and_place"
START = [0.3, 0.9]
MOVE = {"to": [0.6, 0.4], "duration": 0.5}
PART = {"mass": 3, "com": [0.1, 0, 0], "inertia": {"zz": "1/50"}}


def cycle(*moves, **top):
    return load_cycle(PLANAR, {"start": START, "move": list(moves), **top})


@pytest.fixture(scope="module")
def bundled():
    return load_cycle(PUMA, NAME)


# ---- the bundled cycles ------------------------------------------------------------------------------------


def test_the_bundled_motions_of_example_7_2_and_those_of_closed_formulas():
    near, far = (np.array([-np.arccos(x / 2), 2 * np.arccos(x / 2)]) for x in (0.2, 1.8))
    ramp = {"acceleration_time": 0.15, "max_velocity": 5.0}
    expected = {
        "planar_triangular": Trajectory.triangular(near, near + np.pi / 2, 0.5),
        "planar_trapezoidal": Trajectory.trapezoidal(near, far, **ramp),
        "planar_line": Trajectory.line(PLANAR, near, end=[1.8, 0, 0], **ramp),
    }
    for name, motion in expected.items():
        found, known = load_cycle(PLANAR, name).samples(), motion.samples()
        for a, b in zip(vars(found).values(), vars(known).values(), strict=True):
            assert a == pytest.approx(b, abs=1e-9)


def test_postures_by_where_the_tip_is_and_moves_by_angles():
    down = [[1, 0, 0], [0, -1, 0], [0, 0, -1]]
    table = {"start": {"tip": [0.5, 0.2, 0.3], "orientation": down, "near": [0, 0.5, -3, 0, -0.6, 0]}}
    made = load_cycle(PUMA, table | {"move": [{"by": [0.1, 0, 0, 0, 0, "pi/9"], "duration": 1}]})
    pose = PUMA.pose(made.q[0])
    assert pose[:3, 3] == pytest.approx([0.5, 0.2, 0.3])
    assert pose[:3, :3] == pytest.approx(np.array(down), abs=1e-9)
    assert made.q[-1] - made.q[0] == pytest.approx([0.1, 0, 0, 0, 0, np.pi / 9])


AT = {"tip": [1, 0, 0], "near": [0, 1]}


@pytest.mark.parametrize(
    "start", [AT | {"tip": [3, 0, 0]}, {"tip": [1, 0, 0]}, {"near": [0, 1]}, AT | {"at": 1}], ids=str
)
def test_postures_that_are_not_there_are_refused(start):
    with golden_error(ArmdynError):
        cycle(MOVE, start=start)


def test_a_motion_of_a_robot_of_another_size_is_refused():
    with golden_error(ArmdynError):
        load_cycle(PUMA, "planar_line")


def test_the_bundled_cycle_has_two_lines_an_arc_two_dwells_and_a_load(bundled):
    assert bundled_cycles() == ["planar_line", "planar_trapezoidal", "planar_triangular", NAME]
    labels = [part.motion.label for part in bundled.motion.evaluate.__self__.excerpts]
    assert labels == ["line", "rest", "circle", "rest", "line", "blend", "trapezoidal"]
    assert [b - a for a, b in bundled.dwells] == pytest.approx([0.3, 0.3])
    gripper, part = bundled.loads
    assert (gripper.start, gripper.end) == (0, bundled.duration)
    assert (part.start, part.end) == (bundled.dwells[0][1], bundled.dwells[1][1])
    assert (float(gripper.load.body.mass), float(part.load.body.mass)) == (0.7, 1.7)
    assert 2 < bundled.duration < 5


def test_the_bundled_cycle_ends_where_it_begins_within_all_limits(bundled):
    assert bundled(0.0)[0].tolist() == bundled(bundled.duration)[0].tolist()
    assert not bundled(bundled.duration)[1].any()
    limits, samples = joint_limits(PUMA), bundled.samples()
    assert (samples.q > limits.lower).all()
    assert (samples.q < limits.upper).all()
    assert tip_task(PUMA, True).ratio(samples.q).min() > 0.1  # singular at 0
    tau = torques_along(bundled.loaded(PUMA), samples)
    assert (np.abs(tau) < 0.7 * limits.torque).all()
    assert not bundled.qd[:, 3].any()  # wrist 1 stands exactly still
    twice = bundled.repeated(2)
    assert twice.duration == pytest.approx(2 * bundled.duration)


def test_torques_of_a_cycle_have_the_load_of_their_time(bundled):
    samples, loaded = bundled.samples(0.02), bundled.loaded(PUMA)
    tau = torques_along(loaded, samples)
    arms = dict.fromkeys((0.0, 0.7), PUMA)
    for one in bundled.loads:
        assert one.load.link is None
    arms[0.7] = PUMA.with_payload(0.7, [0, 0, 0.06], {"xx": 0.001, "yy": 0.001, "zz": 0.0005})
    moment = 1.7 * 0.06**2 / 6
    both = arms[0.7].with_payload(1.7, [0, 0, 0.14], {"xx": moment, "yy": moment, "zz": moment})
    begin, end = bundled.loads[1].start, bundled.loads[1].end
    twice = np.append(np.diff(samples.t) == 0, False)
    holds = ((samples.t > begin) & (samples.t < end)) | ((samples.t == begin) & ~twice)
    holds |= (samples.t == end) & twice
    state = samples.q, samples.qd, samples.qdd
    expected = np.where(holds[:, None], both.inverse_dynamics(*state), arms[0.7].inverse_dynamics(*state))
    assert tau == pytest.approx(expected, abs=1e-10)
    assert contributions_along(loaded, samples).total == pytest.approx(expected, abs=1e-9)
    rows = np.array([5, 60, 7])
    assert contributions_along(loaded, samples, None, rows).total == pytest.approx(expected[rows], abs=1e-9)


# ---- what a file says --------------------------------------------------------------------------------------


def test_moves_are_those_of_trajectory():
    law = {"max_velocity": 0.5, "max_acceleration": 2.0}
    made = cycle(
        {"line": {"displacement": [-0.1, -0.2, 0]}, **law},
        {"circle": {"offset": [0, -0.2, 0], "axis": [0, 0, 1], "angle": "-pi/3"}, **law},
        {"rest": "1/4"},
        {"to": "start", "max_velocity": [1, 2], "max_acceleration": 3, "synchronised": False},
    )
    line = Trajectory.line(PLANAR, START, displacement=[-0.1, -0.2, 0], **law)
    centre = PLANAR.pose(line.q[-1])[:3, 3] - [0, 0.2, 0]
    arc = Trajectory.circle(PLANAR, line.q[-1], centre, [0, 0, 1], -np.pi / 3, **law)
    back = Trajectory.trapezoidal(arc.q[-1], START, max_velocity=[1, 2], max_acceleration=3)
    t = np.linspace(0, made.duration, 500)
    by_hand = line + arc.rest(0.25) + back
    for x, y in zip(made(t), by_hand(t), strict=True):
        assert x == pytest.approx(y, abs=1e-12)
    assert made.dwells == by_hand.dwells
    point = (PLANAR.pose(START)[:3, 3] + [-0.1, -0.2, 0]).tolist()
    same = cycle(
        {"line": {"to": point}, **law},
        {"circle": {"centre": centre.tolist(), "axis": [0, 0, 1], "angle": "-pi/3"}, **law},
    )
    assert same(same.duration)[0] == pytest.approx(arc.q[-1], abs=1e-12)


def test_defaults_and_what_takes_their_place():
    defaults = {
        "tip": {"max_velocity": 0.5, "max_acceleration": 2},
        "joints": {"max_velocity": 1, "max_acceleration": 4},
        "blend": 0.05,
    }
    up = {"line": {"displacement": [0, 0.2, 0]}}
    home = {"to": "start"}
    made = cycle(
        up,
        home,
        {**MOVE, "pick": PART},
        {"to": "start", "max_velocity": 2, "blend": 0},
        up,
        defaults=defaults,
    )
    labels = [part.motion.label for part in made.motion.evaluate.__self__.excerpts]
    # The default rounds corners without a stop: not where a load is picked up, nor where a blend of 0 is.
    assert labels == ["line", "blend", "trapezoidal", "blend", "quintic", "trapezoidal", "line"]
    quick = made.motion.evaluate.__self__.excerpts[5].motion
    assert np.abs(quick.evaluate(np.linspace(0, quick.duration, 99), "after")[1]).max() <= 2


def test_the_robots_own_limits_are_the_default_of_joint_moves():
    panda = Robot.load("panda")
    limits = joint_limits(panda)
    q = [0, -0.785, 0, -2.356, 0, 1.571, 0.785]
    table = {"start": q, "move": [{"to": [0.5, -0.5, 0, -2, 0, 1.5, 0.5]}]}
    if not np.isfinite(limits.acceleration).all():
        table["move"][0]["max_acceleration"] = 5.0
    made = load_cycle(panda, table)
    assert (np.abs(made.qd).max(0) <= limits.velocity * (1 + 1e-9)).all()
    with golden_error(ArmdynError):
        cycle({"to": [0, 0]})


def test_loads_are_carried_from_pick_to_place():
    move, back = {"to": [0.5, 0.5], "duration": 1}, {"to": "start", "duration": 1}
    made = cycle(
        move,
        {"rest": 0.5, "pick": "a"},
        {**back, "pick": ["b", "c"]},
        {**move, "place": ["a", "c"]},
        {**back, "place": True},
        move,
        payloads={"a": {"mass": 1}, "b": {"mass": 2, "link": "link 1"}, "c": {"mass": 3}, "g": PART},
        carries="g",
    )
    found = sorted((float(one.load.body.mass), one.start, one.end) for one in made.loads)
    assert found == [(1, 1.5, 3.5), (2, 2.5, 4.5), (3, 0, 5.5), (3, 2.5, 3.5)]
    assert [one.load.link for one in made.loads if float(one.load.body.mass) == 2] == ["link 1"]


def test_repetitions_names_files_and_symbols(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "up and down"\nstart = ["pi/10", 0.9]\nrepeat = 3\n[postures]\nup = ["2*pi/10", "-a1/2"]\n'
        '[[move]]\nto = "up"\nduration = 0.5\n[[move]]\nrest = 0.1\n[[move]]\nto = "start"\n'
        'duration = "1/2"\n',
        "utf-8",
    )
    made = load_cycle(PLANAR, path, step=0.01)
    assert (made.motion.label, made.step, len(made.dwells)) == ("up and down", 0.01, 3)
    assert made.duration == pytest.approx(3.3)
    a1 = float(dict(PLANAR.model.symbols)["a1"].value())
    assert made(0.55)[0] == pytest.approx([np.pi / 5, -a1 / 2])
    assert load_cycle(PLANAR, str(path), step=0.01) == made


def test_joints_that_are_at_their_goal_up_to_rounding_stand_still():
    made = cycle(MOVE, {"to": [0.6 + 1e-15, 0.9], "duration": 1.0})
    assert not made.qd[made.t > 0.5, 0].any()


@pytest.mark.parametrize("seed", [0, 1, *map(slowly, range(2, 6))])
def test_random_cycles_are_continuous_and_rest_where_they_say(seed):
    rng = np.random.default_rng(seed)
    q = np.array([-0.0822, 0.5, -2.9, 0.3, -0.75, 2.0])
    law, moves, moving = {"max_velocity": 0.4, "max_acceleration": 3}, [], []
    for _ in range(int(rng.integers(3, 7))):
        kind = rng.choice(["line", "circle", "rest", "to"])
        way = rng.uniform(-0.06, 0.06, 3)
        if kind == "line":
            moves.append({"line": {"displacement": way.tolist()}, **law})
        elif kind == "circle":
            angle = float(rng.uniform(0.5, 1.5))
            moves.append(
                {
                    "circle": {"offset": way.tolist(), "axis": rng.normal(size=3).tolist(), "angle": angle},
                    **law,
                }
            )
        elif kind == "to":
            moves.append(
                {"to": (q + rng.uniform(-0.1, 0.1, 6)).tolist(), "max_velocity": 1, "max_acceleration": 5}
            )
        else:
            moves.append({"rest": float(rng.uniform(0.1, 0.3))})
        moving.append(kind != "rest")
    for i, (a, b) in enumerate(pairwise(moving)):
        if a and b and rng.random() < 0.7:
            moves[i]["blend"] = 0.004
    made = load_cycle(PUMA, {"start": q.tolist(), "move": moves})
    for seam in made.motion.knots:
        for k in (0, 1):
            assert made(seam, "before")[k] == pytest.approx(made(seam)[k], abs=1e-8)
    t = np.linspace(0, made.duration, 2001)
    step = np.abs(np.diff(made(t)[0], axis=0)) / t[1]
    assert step.max() <= np.abs(made.qd).max() * 1.01
    for a, b in made.dwells:
        assert not made(np.linspace(a, b, 9)[1:-1])[1].any()
    assert len(made.dwells) == sum(not b and (i == 0 or moving[i - 1]) for i, b in enumerate(moving))


# ---- what is refused ---------------------------------------------------------------------------------------

LINE = {"line": {"displacement": [-0.1, 0, 0]}, "duration": 1}


@pytest.mark.parametrize(
    ("moves", "top", "message"),
    [
        ([], {}, "cycle: move: expected one or more tables [[move]], found []"),
        ([3], {}, "cycle: move[1]: expected a table, found 3"),
        ([{}], {}, "cycle: move[1]: expected one of to, by, line, circle, rest, found none of them"),
        (
            [{**MOVE, "rest": 1}],
            {},
            "cycle: move[1]: expected one of to, by, line, circle, rest, found to and rest",
        ),
        ([{"rest": 0}], {}, "cycle: move[1].rest: found 0; a positive number is expected"),
        ([{"rest": 1, "duration": 1}], {}, "cycle: move[1].duration: unknown key; allowed here: blend"),
        ([{"to": "up", "duration": 1}], {}, "cycle: move[1].to: no posture 'up'; there are start"),
        ([{"to": [1], "duration": 1}], {}, "cycle: move[1].to: expected a list of 2 numbers, found [1]"),
        ([{"to": [1, "x"], "duration": 1}], {}, "cycle: move[1].to[1]: unknown symbol 'x'"),
        ([{**MOVE, "speed": 1}], {}, "cycle: move[1].speed: unknown key; allowed here:"),
        ([{**MOVE, "profile": "fast"}], {}, "cycle: move[1].profile: found 'fast'; allowed: \"trapezoidal\""),
        ([{**MOVE, "duration": -1}], {}, "cycle: move[1].duration: found -1; a positive number is expected"),
        (
            [{**MOVE, "profile": "cubic", "max_jerk": 1}],
            {},
            "max_jerk: a cubic profile does not take it, but duration",
        ),
        ([{"to": [0, 0], "profile": "cubic"}], {}, "cycle: move[1]: a cubic profile needs duration"),
        (
            [{"to": [0, 0], "profile": "cubic"}],
            {"defaults": {"joints": {"max_velocity": 1, "max_acceleration": 2}}},
            "cycle: move[1]: a cubic profile needs duration",
        ),
        (
            [MOVE],
            {"postures": {"start": [0, 0]}},
            "cycle: postures.start: this name is that of the key start",
        ),
        (
            [MOVE],
            {"payloads": {"part": {"mass": 1, "inertia": {"xx": -1}}}},
            "cycle: payloads.part: inertia: principal moments -1, 0, 0",
        ),
        (
            [MOVE],
            {"payloads": {"part": PART}, "carries": ["part", "part"]},
            "cycle: carries: found ['part', 'part']; a payload can be named only once",
        ),
        ([{**MOVE, "synchronised": True}], {}, "synchronised: a quintic profile does not take it"),
        (
            [{"line": {}, "duration": 1}],
            {},
            "cycle: move[1].line: expected either to, a point, or displacement",
        ),
        (
            [{"line": {"to": [1, 0]}, "duration": 1}],
            {},
            "cycle: move[1].line.to: expected a list of 3 numbers",
        ),
        ([{**LINE, "orientation": "up"}], {}, "cycle: move[1].orientation: found 'up'; allowed: \"auto\""),
        (
            [{**LINE, "orientation": [1, 2, 3]}],
            {},
            "cycle: move[1].orientation[0]: expected a list of 3 numbers",
        ),
        ([{"line": {"to": [9, 0, 0]}, "duration": 1}], {}, "cycle: move[1]: line: sample "),
        ([{"line": {"displacement": [0.1, 0, 0]}}], {}, "cycle: move[1]: a trapezoidal profile takes two of"),
        (
            [{"circle": {"centre": [0, 0, 0], "axis": [0, 0, 1e300], "angle": 1}, "duration": 1}],
            {},
            "cycle: move[1].circle.axis: found 1e+300; a number up to 1e+09 is expected",
        ),
        ([{"circle": {"axis": [0, 0, 1], "angle": 1}}], {}, "expected either centre, a point, or offset"),
        ([{"circle": {"centre": [0, 0, 0], "axis": [0, 0, 1]}}], {}, "cycle: move[1].circle.angle: missing"),
        ([{**MOVE, "pick": "a"}, MOVE], {}, "cycle: move[1].pick: no payload 'a'; there are none"),
        ([{**MOVE, "pick": {"mass": -1}}, MOVE], {}, "cycle: move[1].pick.mass: found -1; a positive number"),
        ([{**MOVE, "pick": {"mass": 1, "size": 1}}, MOVE], {}, "cycle: move[1].pick.size: unknown key"),
        ([{**MOVE, "pick": PART}], {}, "cycle: move[1]: pick: this is the last move"),
        ([{**MOVE, "pick": PART}, {**LINE, "pick": PART}, MOVE], {}, "move[2]: pick: 'pick' is held already"),
        ([{**MOVE, "place": True}], {}, "cycle: move[1]: place: nothing has been picked up"),
        (
            [{**MOVE, "pick": "a"}, {**LINE, "place": "b"}],
            {"payloads": {"a": PART, "b": PART}},
            "cycle: move[2]: place: 'b' has not been picked up; held: a",
        ),
        (
            [{**MOVE, "pick": {**PART, "link": "tail"}}, LINE],
            {},
            "move[1].pick.link: no link 'tail'; links:",
        ),
        ([{**MOVE, "blend": 0.1}], {}, "cycle: move[1]: blend: this is the last move"),
        ([{**MOVE, "blend": -1}, LINE], {}, "cycle: move[1].blend: found -1; zero or a positive number"),
        (
            [{**MOVE, "blend": 5}, LINE],
            {},
            "cycle: moves 1 and 2: blend: found a radius of 5 m, but the motion",
        ),
        (
            [{**MOVE, "blend": 0.1}, {"rest": 1}],
            {},
            "cycle: moves 1 and 2: blend: found a radius of 0.1 m, but a dwell",
        ),
        ([{**MOVE, "pick": PART, "blend": 0.1}, LINE], {}, "a load is taken up at this corner"),
        (
            [MOVE],
            {"repeat": 2},
            "cycle: repeat: motions 1 and 2: joint 2 ends at 0.4 and goes on from 0.9, 0.5 apart",
        ),
        ([MOVE], {"repeat": 0}, "cycle: repeat: found 0; a whole number, 1 or more, is expected"),
        (
            [{**MOVE, "pick": PART}, {"to": "start", "duration": 1}],
            {"repeat": 2},
            "cycle: repeat: found 2, but the cycle ends with pick in hand and begins without",
        ),
        ([MOVE], {"start": [1, 2, 3]}, "cycle: start: expected a list of 2 numbers, found [1, 2, 3]"),
        (
            [MOVE],
            {"defaults": {"speed": 1}},
            "cycle: defaults.speed: unknown key; allowed here: blend, joints, tip",
        ),
        ([MOVE], {"defaults": {"tip": {"blend": 1}}}, "cycle: defaults.tip.blend: unknown key"),
        ([MOVE], {"carries": "g"}, "cycle: carries: no payload 'g'; there are none"),
        ([MOVE], {"moves": []}, "cycle: moves: unknown key; allowed here: carries, check_limits, defaults"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(moves, top, message):
    with pytest.raises(ArmdynError) as error:
        cycle(*moves, **top)
    assert message in str(error.value), error.value


def test_joints_beyond_their_limits_are_refused_unless_allowed():
    table = {"start": [0, 0, -1.5, 0, 0.5, 0], "move": [{"to": [3.0, 0, -1.5, 0, 0.5, 0], "duration": 1}]}
    with golden_error(ArmdynError):
        load_cycle(PUMA, table)
    assert load_cycle(PUMA, {**table, "check_limits": False}).duration == 1


@pytest.mark.parametrize("given", ["nosuch.toml", 3])
def test_files_that_are_not_there_are_refused(given):
    with golden_error(ArmdynError):
        load_cycle(PLANAR, given)


def test_files_that_are_not_toml_are_refused(tmp_path):
    (tmp_path / "c.toml").write_bytes(b"\xff")
    with golden_error(ArmdynError):
        load_cycle(PLANAR, tmp_path / "c.toml")
    with pytest.raises(
        ArmdynError, match=r"start: expected a list of 2 numbers, found \[-0\.0822, 0\.5072, "
    ):
        load_cycle(PLANAR, NAME)  # that of another robot
    (tmp_path / "c.toml").write_text("start = [", "utf-8")
    with golden_error(ArmdynError):
        load_cycle(PLANAR, tmp_path / "c.toml")
