"""Drives chosen for cycles: planted optima, all assignments tried, refusals with joint, limit, amount."""

import itertools
import json
import sys

import numpy as np
import pytest

from armdyn import Robot, Trajectory, motor_loads
from armdyn.description.source import DescriptionError
from armdyn.studies import Sizing, StudyError, load_catalogue, size_drives
from armdyn.studies.catalogue import Pair
from armdyn.studies.drive_limits import LIMITS
from arms import bundled, slowly
from golden_messages import golden_error


def random_arm(seed, n=3):
    """An arm of n turning joints whose drives sit on the links before them, and a motion to and fro."""
    rng = np.random.default_rng(seed)
    links = [
        {
            "name": f"link {i + 1}",
            "joint": "revolute",
            "origin": {"xyz": rng.uniform(-0.4, 0.4, 3).tolist(), "rpy": rng.uniform(-1.5, 1.5, 3).tolist()},
            "axis": [[0, 0, 1], [0, 1, 0], [1, 0, 0]][rng.integers(3)],
            "mass": float(rng.uniform(1, 6)),
            "com": rng.uniform(-0.3, 0.3, 3).tolist(),
            "inertia": {"xx": 0.05, "yy": 0.06, "zz": 0.07},
            "motor": {"gear": 1, "inertia": 0, "position": rng.uniform(-0.1, 0.1, 3).tolist()},
        }
        for i in range(n)
    ]
    robot = Robot.from_dict(
        {"name": f"arm {seed}", "convention": "frames", "gravity": [0, 0, "-9.81"], "link": links}
    )
    q0, q1 = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n) + 1.5
    there = Trajectory.quintic(q0, q1, duration=rng.uniform(0.5, 1))
    return robot, there.carrying(2.0) + Trajectory.quintic(q1, q0, duration=rng.uniform(0.5, 1))


def motor(name, **numbers):
    usual = {"mass": 2.0, "inertia": 2e-4, "transverse_inertia": 3e-4, "continuous_torque": 5.0}
    usual |= {"peak_torque": 15.0, "max_speed": 600.0, "torque_constant": 0.5, "resistance": 1.0}
    return {"name": name, **usual, **numbers}


def gear(name, **numbers):
    return {"name": name, "ratio": 60, "mass": 1.0, "inertia": 1e-5, "peak_torque": 300.0, **numbers}


# ---- a planted optimum -------------------------------------------------------------------------------------


def with_planted_pair(robot, cycle, seed):
    """A catalogue in which one pair is best: what is lighter breaks a limit whatever the other drives are."""
    rng = np.random.default_rng(seed)
    ratio = float(rng.uniform(40, 90))
    one = motor("planted", peak_torque=1e5, continuous_torque=1e4, max_speed=1e5, mass=rng.uniform(1.5, 3))
    through = gear("planted gear", ratio=ratio, peak_torque=1e6, efficiency=0.8)
    loose = size_drives(robot, cycle, {"motor": [one], "gear": [through]}, points=100, life=1)
    need = {key: max(row.values[key] for row in loose.best.rows) for key in loose.best.rows[0].values}
    fastest = min(row.values["motor_speed"] for row in loose.best.rows)  # what every joint needs at least
    one |= {
        "peak_torque": 1.05 * max(need["peak_torque"], need["thermal_torque"]),
        "continuous_torque": 1.02 * need["thermal_torque"],
        "max_speed": 1.02 * need["motor_speed"],
    }
    through |= {"peak_torque": 1.02 * need["gear_peak_torque"]}
    strong = {"peak_torque": 1e5, "continuous_torque": 1e4, "max_speed": 1e5}
    lighter = [
        motor("slow", **strong | {"max_speed": 0.9 * fastest}, mass=0.5),
        motor("at high voltage", **strong, voltage_constant=1000 / fastest, mass=0.4),
        motor("rubs too much", **strong | {"continuous_torque": 1.0}, coulomb=2.0, mass=0.3),
        motor("low current", **strong, coulomb=2.0, max_current=3.0, mass=0.2),
    ]
    heavier = [motor(f"strong {i}", **strong, mass=one["mass"] * x) for i, x in enumerate((1.01, 1.4, 3))]
    gears = [
        gear("slow gear", ratio=ratio, peak_torque=1e6, max_speed=0.9 * fastest, mass=0.1),
        gear("slow in the mean", ratio=ratio, peak_torque=1e6, average_speed=1e-3, mass=0.2),
        gear("heavy gear", ratio=ratio, peak_torque=1e6, mass=1.3),
    ]
    motors = [*lighter, one, *heavier]
    return {
        "motor": [motors[i] for i in rng.permutation(len(motors))],
        "gear": [[*gears, through][i] for i in rng.permutation(4)],
    }


@pytest.mark.parametrize("seed", [0, 1, *map(slowly, range(2, 20))])
def test_a_planted_optimum_is_found(seed):
    robot, cycle = random_arm(seed, n=2 + seed % 4)
    catalogue = with_planted_pair(robot, cycle, seed)
    found = size_drives(robot, cycle, catalogue, points=100, life=1, voltage=900, count=2)
    assert {pair.name.split(" + ")[0] for pair in found.best.pairs} == {"planted"}
    assert {pair.gear.name for pair in found.best.pairs} == {"planted gear"}
    assert found.complete
    assert found.best.within
    assert found.best.objective < found.assignments[1].objective


# ---- all assignments tried ---------------------------------------------------------------------------------


def tight_catalogue(seed, motors, gears):
    """Motors and gears of which some carry some joints: heavier ones carry more."""
    rng = np.random.default_rng(1000 + seed)
    sizes = np.append(np.sort(rng.uniform(0.1, 1.5, motors - 1)), 2.0)  # the last one carries anything
    return {
        "motor": [
            motor(
                f"M{i}",
                mass=6 * s * rng.uniform(0.8, 1.2),
                inertia=8e-4 * s**2,
                continuous_torque=3 * s if s < 2 else 60,
                peak_torque=9 * s if s < 2 else 200,
                max_speed=rng.uniform(300, 900) if s < 2 else 1500,
                max_current=30 * s if s < 2 else 1000,
                torque_constant=rng.uniform(0.3, 0.6),
                thermal_time_constant=rng.uniform(0.5, 300),
                coulomb=0.02 * s,
                cost=float(rng.integers(100, 900)),
            )
            for i, s in enumerate(sizes)
        ],
        "gear": [
            gear(
                f"G{i}",
                ratio=rng.uniform(30, 120),
                mass=rng.uniform(0.3, 3),
                peak_torque=rng.uniform(50, 400) if i else 1000,
                rated_torque=rng.uniform(30, 200) if i else 500,
                rated_speed=200.0,
                rated_life=8000.0,
                efficiency=rng.uniform(0.7, 0.95),
            )
            for i in range(gears)
        ],
    }


def all_assignments(sizing):
    """Objectives and pairs of every assignment that carries the cycles, best first, without any search."""
    found = []
    pairs = [table.pairs for table in sizing.problem.tables]
    for choice in itertools.product(*pairs):
        tried = sizing.evaluate(choice)
        if tried.within:
            found.append((tried.objective, tried.pairs))
    return sorted(found, key=lambda x: x[0])


@pytest.mark.parametrize("objective", ["mass", "cost", "energy"])
@pytest.mark.parametrize("seed", [1, *map(slowly, [0, *range(2, 10)])])
def test_the_best_assignments_are_those_of_all_tried(seed, objective):
    robot, cycle = random_arm(seed)
    catalogue = tight_catalogue(seed, 3, 2)
    options = {"points": 40, "life": 3000, "voltage": 900, "inertia_ratio": 100}
    options |= {"holding": "motor", "count": 4}
    found = size_drives(robot, cycle, catalogue, objective=objective, **options)
    expected = all_assignments(found)
    assert found.complete
    objectives = [x.objective for x in found.assignments]
    assert np.allclose(objectives, [x for x, _ in expected[: len(objectives)]], rtol=1e-12)
    assert len(objectives) == min(4, len(expected))
    assert len(expected) < 6**3  # some do not carry it


def test_a_search_that_stops_early_says_how_far_it_may_be():
    robot, cycle = random_arm(1)
    catalogue = tight_catalogue(1, 5, 4)
    options = {"points": 40, "life": 3000, "objective": "energy", "count": 1}
    whole = size_drives(robot, cycle, catalogue, nodes=10_000, **options)
    assert whole.complete
    for nodes in (1, 5, 20):
        early = size_drives(robot, cycle, catalogue, nodes=nodes, **options)
        assert early.best.within
        assert early.bound <= whole.best.objective * (1 + 1e-12)
        assert early.best.objective >= whole.best.objective * (1 - 1e-12)
        assert np.isclose(early.gap, 1 - early.bound / early.best.objective)


# ---- what is found -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sized():
    robot, cycle = random_arm(3)
    return robot, cycle, size_drives(robot, cycle, points=100, holding="brake", inertia_ratio=500)


def test_numbers_of_an_assignment_are_those_of_motor_loads_without_gear_losses():
    """Peak torque, rms, speed, current, voltage by the robot file's motors; and a gear that loses nothing."""
    robot, cycle = random_arm(3)
    table = {"motor": [motor("M", coulomb=0.05, viscous=1e-4)], "gear": [gear("G", peak_torque=1e4)]}
    found = size_drives(robot, cycle, table, points=100, life=1, voltage=500)
    step = max(cycle.step, cycle.duration / 100)
    loads = motor_loads(Robot.from_toml(found.robot.to_toml()), cycle.with_step(step))
    volts = loads.torque / 0.5 * 1.0 + 0.5 * loads.speed
    for i, row in enumerate(found.best.rows):
        assert np.isclose(row.values["peak_torque"], loads.peak_torque[i], rtol=1e-10)
        assert np.isclose(row.values["thermal_torque"], loads.rms_torque[i], rtol=1e-10)
        assert np.isclose(row.values["motor_speed"], loads.peak_speed[i], rtol=1e-10)
        assert np.isclose(row.values["current"], loads.peak_torque[i] / 0.5, rtol=1e-10)
        assert np.isclose(row.values["voltage"], np.abs(volts[:, i]).max(), rtol=1e-10)
    assert loads.within_limits
    assert found.best.within


def test_the_robot_has_the_motors_chosen(sized):
    _, _, found = sized
    motors = [link.motor for link in found.robot.model.moving]
    for made, pair in zip(motors, found.best.pairs, strict=True):
        assert pair.brake
        assert float(made.mass.value()) == pytest.approx(pair.mass)
        assert float(made.axial.value()) == pytest.approx(pair.inertia)
        assert abs(float(made.gear.value())) == pytest.approx(pair.ratio)


def test_verdicts_say_what_rules_a_pair_out(sized):
    _, _, found = sized
    for joint, row in zip(found.joints, found.best.rows, strict=True):
        verdicts = found.verdicts(joint)
        assert len(verdicts) == len(found.problem.tables[0])
        own = next(x for x in verdicts if x.pair == row.pair)
        assert own.within
        assert own.values == pytest.approx(row.values)
        out = [x for x in verdicts if not x.within]
        assert out
        assert all(x.reasons and max(x.use.values()) > 1 for x in out)


def test_one_size_down_breaks_a_limit(sized):
    _, _, found = sized
    down = found.next_down()
    assert down
    for one in down:
        assert one.saves > 0
        assert one.row.reasons or not one.together.within, str(one)


def test_least_time_under_the_chosen_drives_is_no_longer_than_the_cycle(sized):
    _, cycle, found = sized
    assert found.least_time().duration <= cycle.duration


def test_tables_in_text_markdown_and_json(sized):
    _, _, found = sized
    assert all(pair.motor.name in str(found) for pair in found.best.pairs)
    assert found.markdown().count("\n| ") >= len(found.joints)
    data = json.loads(found.to_json())
    assert [x["motor"] for x in data["assignments"][0]["drives"]] == [x.motor.name for x in found.best.pairs]
    assert set(data["assignments"][0]["drives"][0]["limits"]) == {limit.key for limit in LIMITS}


def test_feedback_matters_for_a_bundled_arm():
    """Chosen by hand, without the masses and rotors of one another, the drives do not carry the cycle."""
    robot, there = bundled("planar3"), Trajectory.quintic([0, 0, 0], [1, -1, 0.5], duration=1.5)
    cycle = (there + Trajectory.quintic([1, -1, 0.5], [0, 0, 0], duration=1.5)).carrying(1.0, [0, 0, 0.05])
    with_it = size_drives(robot, cycle, points=200, count=1)
    by_hand = size_drives(robot, cycle, points=200, count=1, feedback=False)
    assert by_hand.best.pairs != with_it.best.pairs
    assert by_hand.best.mass < with_it.best.mass
    assert by_hand.best.within
    assert not by_hand.evaluate(by_hand.best.pairs).within


def test_the_shortest_time_is_at_a_limit():
    robot, cycle = random_arm(4, 2)
    catalogue = tight_catalogue(3, 3, 2)
    found = size_drives(robot, cycle, catalogue, objective="time", points=40, life=100, count=1)
    assert max(max(row.use.values()) for row in found.best.rows) > 0.97
    assert found.durations[0] == pytest.approx(cycle.duration / found.rate)
    everything = all_assignments(found)
    quicker = size_drives(robot, cycle.with_step(cycle.step), catalogue, points=40, life=100, count=1)
    assert everything
    assert found.rate < 1 or quicker.best.within


def test_several_cycles_each_have_to_be_carried():
    robot, cycle = random_arm(3)
    slow = Trajectory.quintic(cycle.q[0], cycle.q[0] + 0.5, duration=4.0)
    alone, both = (size_drives(robot, x, points=60, count=1) for x in (cycle, [slow, cycle]))
    for one, two in zip(alone.best.rows, both.evaluate(alone.best.pairs).rows, strict=True):
        assert two.values["peak_torque"] >= one.values["peak_torque"] * (1 - 1e-9)
        assert two.values["life"] > one.values["life"]  # half of the time it moves slowly


def test_joints_may_keep_their_motors():
    robot = bundled("manutec_r3")
    cycle = Trajectory.quintic([0, 0, 0], [1, -0.5, 0.7], duration=1.5)
    last = robot.joints[-1]
    found = size_drives(robot, cycle, joints=[last], only={last: ["S60-2", "W27"]}, points=60, count=1)
    assert found.joints == (last,)
    assert {x.motor.name for x in found.best.pairs} == {"S60-2"}
    before, after = robot.model.moving[0].motor, found.robot.model.moving[0].motor
    assert before == after


# ---- what is refused ---------------------------------------------------------------------------------------


def test_a_cycle_that_no_pair_carries():
    robot, cycle = random_arm(0)
    weak = {"motor": [motor("weak", peak_torque=0.5, continuous_torque=0.1)], "gear": [gear("G", ratio=5)]}
    with golden_error(StudyError):
        size_drives(robot, cycle, weak, points=50)
    with pytest.raises(StudyError, match=r"joint 'link \d': no pair of the catalogue carries the cycle"):
        size_drives(robot, cycle, weak, points=50, objective="cost")


def test_a_catalogue_whose_pairs_carry_no_joint_together():
    """Each joint could be carried with light drives at the others, of which there are none that do."""
    robot, cycle = random_arm(3)
    catalogue = tight_catalogue(3, 2, 2)
    found = size_drives(robot, cycle, catalogue, points=40, life=1, count=1)
    need = [row.values["gear_peak_torque"] for row in found.best.rows]
    for row in catalogue["gear"]:
        row["peak_torque"] = 0.98 * max(need)
    with pytest.raises(StudyError, match=r"joint 'link \d': no pair .* takes 1\d\d.* of the peak torque"):
        size_drives(robot, cycle, catalogue, points=40, life=1)


@pytest.mark.parametrize(
    "catalogue",
    [
        {},
        {"motor": [motor("M")]},
        {"motor": [motor("M", frame="60")], "gear": [gear("G", frames=["80"])]},
        {"motor": [motor("M") | {"mass": -1}], "gear": [gear("G")]},
        {"motor": [motor("M") | {"power": 5}], "gear": [gear("G")]},
        {"motor": [motor("M"), motor("M")], "gear": [gear("G")]},
        {"motor": [motor("M")], "gear": [gear("G", ratio=[10, 20], mass=[1, 2, 3])]},
        {"motor": [motor("M")], "gear": [gear("G", rated_life=100)]},
        "no_such_catalogue",
        [],
        {"motor": [motor("M", rated_torque=2.0)], "gear": [gear("G")]},
        {"motor": [motor("M", rated_torque=9.0, rated_speed=300)], "gear": [gear("G")]},
        {
            "motor": [motor("M")],
            "gear": [gear("G", rated_life=7000, rated_torque=9, rated_speed=0)],
        },
    ],
    ids=[
        *("empty", "no gear", "no fit", "negative", "unknown key", "twice", "lists", "half a life"),
        *("no file", "none", "half a rating", "a rating above standstill", "a life at rest"),
    ],
)
def test_catalogues_that_are_refused(catalogue):
    with golden_error(Exception):
        load_catalogue(catalogue)


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "beauty"},
        {"holding": "hand"},
        {"voltage": -1},
        {"life": 0},
        {"joints": ["nobody"]},
        {"only": {"link 1": ["X"]}},
        {"shares": [1, 2]},
        {"cycles": []},
        {"cycles": 7},
        {"stages": {"link 1": 0}},
        {"life": np.inf},
        {"objective": ["mass"]},
        {"only": ["M"]},
        {"only": {"link 1": 3}},
        {"only": {"link 1": []}},
    ],
    ids=[
        *(
            "objective",
            "holding",
            "voltage",
            "life",
            "joints",
            "only",
            "shares",
            "cycles0",
            "cycles1",
            "stages",
        ),
        *("endless life", "objectives", "only a list", "only a number", "only nothing"),
    ],
)
def test_arguments_that_are_refused(options):
    robot, cycle = random_arm(0)
    given = {"cycles": cycle, "catalogue": {"motor": [motor("M")], "gear": [gear("G")]}} | options
    with golden_error(Exception):
        size_drives(robot, **given)


def test_what_a_sizing_is_asked_for_and_does_not_have(sized):
    _, _, found = sized
    with golden_error(StudyError):
        found.evaluate(None)
    with golden_error(StudyError):
        found.least_time(cycle=2)


def test_a_motion_much_shorter_than_its_step_is_seen():
    """Its own samples are its two ends, where it rests."""
    robot, _ = random_arm(0)
    quick = Trajectory.quintic([0, 0, 0], [1, 1, 1], duration=0.001)
    assert len(quick.samples().t) == 2
    catalogue = {"motor": [motor("M")], "gear": [gear("G")]}
    with pytest.raises(StudyError, match="no pair of the catalogue carries the cycle"):
        size_drives(robot, quick, catalogue)
    of_one = size_drives(robot, Trajectory.quintic([0, 0, 0], [0.1, 0, 0], 1, step=1), catalogue, life=1)
    fine = size_drives(robot, Trajectory.quintic([0, 0, 0], [0.1, 0, 0], 1), catalogue, life=1)
    for one, other in zip(of_one.best.rows, fine.best.rows, strict=True):
        assert np.allclose([*one.values.values()], [*other.values.values()], rtol=1e-3)


def test_ranges_of_large_catalogues_are_those_of_small_pieces(monkeypatch):
    robot, cycle = random_arm(1)
    catalogue = tight_catalogue(1, 4, 3)
    found = size_drives(robot, cycle, catalogue, points=40, life=1)
    monkeypatch.setattr(sys.modules[Sizing.__module__], "AT_ONCE", 5)
    again = size_drives(robot, cycle, catalogue, points=40, life=1)
    assert [x.pairs for x in again.assignments] == [x.pairs for x in found.assignments]
    assert again.nodes == found.nodes


def test_a_joint_may_be_named_alone(sized):
    robot, cycle, _ = sized
    assert size_drives(robot, cycle, joints="link 3", points=20).joints == ("link 3",)


@pytest.mark.parametrize("name", ["elastic_link", "scara"])
def test_robots_that_are_refused(name):
    robot = bundled(name)
    with golden_error(StudyError):
        size_drives(robot, Trajectory.resting(np.zeros(robot.n), 1.0))


# ---- catalogues --------------------------------------------------------------------------------------------


def test_a_catalogue_in_csv_is_that_in_toml(tmp_path):
    path = tmp_path / "drives.csv"
    path.write_text(
        "# makers' numbers\n"
        "kind,name,frame,frames,mass,inertia,continuous_torque,peak_torque,max_speed,torque_constant,ratio\n"
        "motor,A,60,,1.5,2e-5,1.2,4,3000*pi/30,0.4,\n"
        "gear,G,,60 80,0.5,1e-6,,30,,,50\n"
        "gear,G,,60 80,0.5,1e-6,,40,,,100\n",
        encoding="utf-8",
    )
    shaft = {"mass": 1.5, "inertia": 2e-5, "continuous_torque": 1.2, "peak_torque": 4}
    shaft |= {"max_speed": "3000*pi/30", "torque_constant": 0.4}
    through = {"mass": 0.5, "inertia": 1e-6, "peak_torque": [30, 40], "ratio": [50, 100]}
    table = {
        "motor": [{"name": "A", "frame": "60", **shaft}],
        "gear": [{"name": "G", "frames": ["60", "80"], **through}],
    }
    found, expected = load_catalogue(path), load_catalogue(table)
    assert (found.motors, found.gears) == (expected.motors, expected.gears)
    assert [pair.ratio for pair in found.pairs] == [50, 100]
    with golden_error(StudyError):
        load_catalogue([path, path])


def test_a_catalogue_in_csv_has_each_column_once(tmp_path):
    path = tmp_path / "drives.csv"
    path.write_text("kind,name,mass,mass\nmotor,M,1,2\n")
    with pytest.raises(DescriptionError, match="there are two columns 'mass'; one is expected"):
        load_catalogue(path)


def test_catalogues_may_be_tables_in_a_list():
    one = {"motor": [motor("M")], "gear": [gear("G")]}
    both = load_catalogue([one, {"gear": [gear("H")]}, "example_drives"])
    assert [x.name for x in both.gears][:2] == ["G", "H"]


def test_the_bundled_catalogue_says_that_it_is_made_up():
    from armdyn.studies.catalogue import bundled_catalogues

    assert bundled_catalogues() == ["example_drives"]
    found = load_catalogue("example_drives")
    assert (len(found.motors), len(found.gears), found.voltage) == (9, 44, 300)
    assert all(isinstance(pair, Pair) for pair in found.pairs)
