"""A study: one table whoever runs it, in whatever pieces, and what is recorded of cases that fail."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

from armdyn import (
    ComputedTorque,
    Log,
    Robot,
    Trajectory,
    manipulability,
    motor_loads,
    simulate,
    study,
    time_optimal,
)
from armdyn.expression import ArmdynError
from armdyn.motion.loads import Carried, Load
from armdyn.studies import Study, StudyError
from golden_messages import golden_error
from study_cases import CASES, same, weight, weights

MOTION = Trajectory.quintic([-0.4, -0.2, -1.2, 0, 0.4, 0], [-2.6, 0.9, -2.0, 0.8, 0.5, 1], 1.0, step=0.02)


@pytest.fixture(scope="module")
def puma():
    return Robot.load("puma560")


def gravity(robot, row):
    """Numbers of the case's robot, and one drawn for the case."""
    g = robot.gravity(np.ones(6))
    return {"shoulder": g[1], "elbow": g[2], "drawn": row.rng().random(), "case": row.case}


def picky(row):
    if row["x"] == 3:
        raise ValueError("three is too many")
    return {"y": 2 * row["x"]} if row["x"] != 5 else {"y": "five"}


def picky_many(rows):
    if (rows["x"] == 3).any():
        raise ValueError("three is too many")
    return {"y": 2 * rows["x"]}


# ---- one table, whoever runs it ----------------------------------------------------------------------------


def test_every_case_equals_its_robot_changed_by_hand(puma):
    found = study(weight, CASES, robot=puma)
    for k in (0, 17, 39):
        a2, d4, mass = (x[k] for x in CASES.columns.values())
        g = puma.with_symbols(a2=a2, d4=d4).with_payload(mass).gravity(np.ones(6))
        assert found.results["elbow"][k] == pytest.approx(g[2], rel=1e-12)
    assert len(set(found.results["drawn"][~found.failed])) == 38


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_threads_and_pools_of_threads_give_one_table_in_any_pieces(puma, batch):
    alone = study(weight, CASES, robot=puma, workers=1)
    assert same(study(weight, CASES, robot=puma, workers=3, batch=batch), alone)
    with ThreadPoolExecutor(2) as pool:
        assert same(study(weight, CASES, robot=puma, executor=pool), alone)
    once = study(weights, CASES, robot=puma, vectorised=True)
    assert same(study(weights, CASES, robot=puma, vectorised=True, batch=batch, workers=2), once)
    for name, x in once.results.items():
        np.testing.assert_allclose(x[~alone.failed], alone.results[name][~alone.failed], rtol=1e-12)


def test_another_seed_draws_other_numbers_and_nothing_else_changes(puma):
    one, other = (study(weight, CASES, robot=puma, seed=seed).results for seed in (0, 1))
    assert not np.isin(one["drawn"], other["drawn"]).any()  # NaN is in no array
    np.testing.assert_array_equal(one["elbow"], other["elbow"])


# ---- what fails --------------------------------------------------------------------------------------------


def test_cases_that_fail_have_their_reason_and_the_rest_goes_on():
    found = study(picky, {"x": np.arange(8.0)})
    assert found.reasons[3] == "ValueError: three is too many"
    assert found.reasons[5] == "result 'y' is 'five'; a number is expected"
    np.testing.assert_array_equal(found.results["y"], [0, 2, 4, np.nan, 8, np.nan, 12, 14])
    many = study(picky_many, {"x": np.arange(8.0)}, vectorised=True)
    np.testing.assert_array_equal(many.results["y"], [0, 2, 4, np.nan, 8, 10, 12, 14])
    assert many.failed.tolist() == [k == 3 for k in range(8)]


def test_values_that_no_robot_has_are_reasons(puma):
    """Whether cases are run one by one or together."""
    columns = {"payload.mass": [1.0, -1.0, 1.0, 0.0], "payload.xx": [0.0, 0.0, -1.0, 0.1]}
    one_by_one = study(weight, columns, robot=puma)
    together = study("torques", columns, robot=puma, motion=MOTION)
    assert one_by_one.reasons.tolist() == together.reasons.tolist()
    assert ["mass: found" in x for x in together.reasons] == [False, True, False, False]
    assert ["principal moments" in x for x in together.reasons] == [False, False, True, False]
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.05)
    found = study("motor_loads", {"Im2": [0.01, -0.01], "ml1": [50, 50]}, robot=robot, motion=motion)
    assert "motor.inertia: found -0.01" in found.reasons[1]
    assert not found.reasons[0]


WRONG = {  # beside bodies; of the PUMA with symbols for all numbers
    "Fp1": -5.0,
    "Fn1": 5.0,
    "Fvm1": -1.0,
    "Im1": -1.0,
    "kr1": 0.0,
    "limits.waist.torque": -1.0,
    "limits.waist.velocity": -1.0,
}


@pytest.mark.parametrize("column", WRONG)
def test_values_that_no_robot_has_have_one_reason_however_they_are_run(column, puma):
    robot = puma.symbolic()
    columns = {column: [20.0, WRONG[column], 30.0]} if column != "Fn1" else {column: [-20.0, 5.0, -30.0]}
    alone = study(weight, columns, robot=robot)
    assert alone.failed.tolist() == [False, True, False]
    for verb in ("torques", "motor_loads"):
        assert study(verb, columns, robot=robot, motion=MOTION).reasons.tolist() == alone.reasons.tolist()
    assert study(weights, columns, robot=robot, vectorised=True).reasons.tolist() == alone.reasons.tolist()


def test_springs_and_motor_limits_that_cannot_be_have_one_reason_however_they_are_run():
    table = Robot.load("planar").to_dict()
    table["symbols"] |= {"k": 10, "most": 3, "kt": 0.1, "v": 0.1, "c": 5}
    one, two = table["link"]
    one["spring"] = {"stiffness": "k"}
    one["motor"] |= {"limits": {"torque": "most", "current": 5}, "torque_constant": "kt"}
    two["friction"] = {"coulomb": 1, "stribeck": {"level": "c", "velocity": "v"}}
    robot = Robot.from_dict(table)
    motion = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.05)
    for column, wrong in {"k": -1.0, "most": -1.0, "kt": 0.0, "v": 0.0}.items():
        found = study("motor_loads", {column: [1.0, wrong]}, robot=robot, motion=motion)
        alone = study(lambda robot, row: {"x": 1.0}, {column: [1.0, wrong]}, robot=robot)
        assert alone.failed.tolist() == [False, True]
        assert found.reasons.tolist() == alone.reasons.tolist()


REFUSED = {
    "no symbol": lambda r: study(weight, {"a7": [1.0]}, robot=r),
    "no finite number": lambda r: study(weight, {"a2": [0.4, np.nan]}, robot=r),
    "no cases": lambda r: study(weight, {"a2": []}, robot=r),
    "no function": lambda r: study(3, CASES, robot=r),
    "no verb": lambda r: study("torque", CASES, robot=r),
    "no dictionary": lambda r: study(lambda robot, row: 3.0, CASES, robot=r, workers=1),
    "a result named like a column": lambda r: study(
        lambda robot, row: {"a2": 1.0}, CASES, robot=r, workers=1
    ),
    "a result named like a column of the folder": lambda r: study(gravity, CASES, robot=r),
    "a column of another length": lambda r: study(
        lambda robot, rows: {"x": np.zeros(3)}, CASES, robot=r, vectorised=True
    ),
    "text in a column": lambda r: study(
        lambda robot, rows: {"x": ["a"] * 40}, CASES, robot=r, vectorised=True
    ),
    "an option without a verb": lambda r: study(weight, CASES, robot=r, motion=MOTION),
    "an option unknown": lambda r: study("torques", CASES, robot=r, motion=MOTION, grid=3),
    "an option missing": lambda r: study("torques", CASES, robot=r),
    "a verb without a robot": lambda r: study("torques", CASES, own=list(CASES.columns), motion=MOTION),
    "a verb of another robot": lambda r: study(
        "torques", {"a1": [1.0]}, robot=Robot.load("planar"), motion=MOTION
    ),
    "a verb vectorised": lambda r: study("torques", CASES, robot=r, motion=MOTION, vectorised=True),
    "a duration for least time": lambda r: study(
        "least_time", {"motion.duration": [1.0]}, robot=r, motion=MOTION
    ),
    "no executor": lambda r: study(weight, CASES, robot=r, executor=4),
    "no workers": lambda r: study(weight, CASES, robot=r, workers=0),
    "no logs": lambda r: study("identification", CASES, robot=r),
    "nothing to simulate": lambda r: study("simulation", CASES, robot=r),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, puma):
    with golden_error(ArmdynError):
        REFUSED[what](puma)


# ---- verbs -------------------------------------------------------------------------------------------------


def test_torques_at_the_motors_equal_motor_loads_case_by_case(puma):
    columns = {"a2": [0.4, 0.45, 0.5], "payload.mass": [0.0, 1.0, 2.0], "motion.duration": [1.0, 1.5, 0.8]}
    found = study("motor_loads", columns, robot=puma, motion=MOTION)
    for k in range(3):
        motion = Trajectory.quintic(
            MOTION.q[0],
            MOTION.q[-1],
            columns["motion.duration"][k],
            step=0.02 * columns["motion.duration"][k],
        )
        loads = motor_loads(found.robot_of(k), motion)
        for name in ("peak_torque", "rms_torque", "peak_speed", "peak_power"):
            ours = [found.results[f"{name}.{motor}"][k] for motor in loads.names]
            np.testing.assert_allclose(ours, getattr(loads, name), rtol=1e-9)
        for ours, theirs in (("energy", loads.total_energy), ("bus_energy", loads.bus_energy)):
            assert found.results[ours][k] == pytest.approx(float(theirs), rel=1e-9)


def test_gears_that_differ_case_by_case_are_those_of_the_motors():
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0, 0], [1, -1], 1.0, step=0.01)
    columns = {"kr2": [50.0, 80.0, 120.0], "Im2": [0.01, 0.02, 0.03]}
    found = study("motor_loads", columns, robot=robot, motion=motion)
    for k in range(3):
        loads = motor_loads(found.robot_of(k), motion)
        for name in ("peak_torque", "rms_torque", "peak_speed"):
            ours = [found.results[f"{name}.{motor}"][k] for motor in loads.names]
            np.testing.assert_allclose(ours, getattr(loads, name), rtol=1e-9)


def test_loads_picked_up_on_the_way_count(puma):
    motion = Trajectory(replace(MOTION.motion, loads=(Carried(0.3, 0.7, Load.of(2.0)),)), 0.02)
    joints = study("torques", {"a2": [0.4, 0.5]}, robot=puma, motion=motion)
    motors = study("motor_loads", {"a2": [0.4, 0.5]}, robot=puma, motion=motion)
    for k in range(2):
        loads = motor_loads(joints.robot_of(k), motion)
        ours = [motors.results[f"rms_torque.{name}"][k] for name in loads.names]
        np.testing.assert_allclose(ours, loads.rms_torque, rtol=1e-9)
        ours = [joints.results[f"peak_torque.{name}"][k] for name in puma.coordinates]
        np.testing.assert_allclose(ours, abs(loads.joint_torque).max(axis=0), rtol=1e-9)


@pytest.mark.parametrize("verb", ["torques", "motor_loads"])
def test_a_verb_gives_one_table_in_any_batches(puma, verb):
    columns = {**CASES.columns, "motion.duration": np.linspace(0.8, 1.2, 40)}
    whole = study(verb, columns, robot=puma, motion=MOTION, wrench=[1, 2, 3, 0, 0, 1])
    for batch in (1, 3, 16):
        assert same(
            study(verb, columns, robot=puma, motion=MOTION, wrench=[1, 2, 3, 0, 0, 1], batch=batch), whole
        )


def test_least_time_and_manipulability_equal_their_functions(puma):
    columns = {"a2": [0.4, 0.45], "limits.upper arm.torque": [300.0, 250.0]}
    found = study("least_time", columns, robot=puma, motion=MOTION, grid=100)
    for k in range(2):
        assert found.results["duration"][k] == time_optimal(found.robot_of(k), MOTION, grid=100).duration
    q = np.random.default_rng(0).uniform(-1, 1, (5, 6))
    found = study("manipulability", {"a2": [0.4, 0.45]}, robot=puma, q=q)
    for k in range(2):
        assert found.results["manipulability"][k] == manipulability(found.robot_of(k), q).min()


def test_a_simulation_gives_its_end_and_how_far_it_was_from_its_motion():
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0, 0], [1, -1], 0.5, step=0.01)
    control = ComputedTorque(robot, motion)
    found = study("simulation", {"ml2": [50.0, 60.0]}, robot=robot, torque=control, method="rk4", step=5e-3)
    assert not found.reasons.any()
    exact, heavy = found.results["largest_error.link 1"]
    assert exact < 1e-6 < heavy
    run = simulate(found.robot_of(1), [0, 0], 0.0, 0.5, control, method="rk4", step=5e-3)
    assert found.results["q.link 2"][1] == run.q[-1, 1]
    free = study("simulation", {"ml2": [50.0]}, robot=robot, q0=[0.1, 0.2], duration=0.1)
    assert free.results["q.link 1"][0] == simulate(robot, [0.1, 0.2], 0.0, 0.1).q[-1, 0]


def test_a_fleet_of_logs_is_identified_log_by_log(tmp_path):
    robot = Robot.load("planar")
    for k in range(2):
        motion = Trajectory.through(np.random.default_rng(k).uniform(-1, 1, (12, 2)), np.linspace(0, 6, 12))
        Log.from_trajectory(robot, motion).save(tmp_path / f"{k}.npz")
    paths = [str(tmp_path / name) for name in ("0.npz", "1.npz", "none.npz")]
    found = study("identification", {"log": paths}, robot=robot, own=["log"], friction="given")
    assert found.results["error"][0] < 1e-3
    assert "there is no such file" in found.reasons[2]


# ---- in a folder -------------------------------------------------------------------------------------------

parquet = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")


class Interrupted:
    """Progress that stops the study, as Ctrl-C does, when a part of it is done."""

    def __init__(self, part):
        self.part = part

    def __call__(self, part):
        if part > self.part:
            raise KeyboardInterrupt


@parquet
@pytest.mark.parametrize("vectorised", [False, True])
def test_an_interrupted_study_goes_on_where_it_stopped(puma, tmp_path, vectorised):
    f = weights if vectorised else weight
    given = {"robot": puma, "vectorised": vectorised, "batch": 3}
    alone = study(f, CASES, **given)
    for part in (0.2, 0.5):
        with pytest.raises(KeyboardInterrupt):
            study(f, CASES, **given, folder=tmp_path, progress=Interrupted(part))
        done = Study.load(tmp_path).done
        assert part < done.mean() < 1
    found = study(f, CASES, **given, folder=tmp_path)
    assert same(found, alone)
    assert same(Study.load(tmp_path), alone)
    files = {path: path.read_bytes() for path in (tmp_path / "results").iterdir()}
    assert same(study(f, CASES, **given, folder=tmp_path), alone)  # nothing is left to do
    assert files == {path: path.read_bytes() for path in (tmp_path / "results").iterdir()}


@parquet
def test_what_failed_stays_so_when_a_study_goes_on(tmp_path):
    first = study(picky, {"x": np.arange(8.0)}, own=["x"], folder=tmp_path)
    assert same(study(picky, {"x": np.arange(8.0)}, own=["x"], folder=tmp_path), first)


OTHERS = {
    "another table": lambda f, r: study(weight, {"a2": [0.4]}, robot=r, folder=f),
    "another function": lambda f, r: study(weights, CASES, robot=r, folder=f),
    "another argument": lambda f, r: study(partial(weight), CASES, robot=r, folder=f),
    "another robot": lambda f, r: study(weight, CASES, robot=r.with_gravity([0, 0, -1.6]), folder=f),
    "another seed": lambda f, r: study(weight, CASES, robot=r, seed=1, folder=f),
    "no path": lambda f, r: study(weight, CASES, robot=r, folder=3),
}


@parquet
def test_another_study_in_the_same_folder_is_refused(puma, tmp_path):
    study(weight, CASES, robot=puma, folder=tmp_path)
    for call in OTHERS.values():
        with golden_error(StudyError):
            call(tmp_path, puma)


@parquet
def test_a_study_goes_on_though_its_controller_was_used_meanwhile(tmp_path):
    """A controller remembers what it has worked out; it is the same controller."""
    robot = Robot.load("planar")
    control = ComputedTorque(robot, Trajectory.quintic([0, 0], [1, -1], 0.1))
    given = {"robot": robot, "torque": control, "folder": tmp_path}
    first = study("simulation", {"a1": [0.9, 1.0]}, **given)
    simulate(robot, [0, 0], 0.0, 0.1, torque=control, progress=False)
    assert same(study("simulation", {"a1": [0.9, 1.0]}, **given), first)
    stiffer = replace(control, stiffness=50.0)
    with pytest.raises(StudyError, match="its function is another"):
        study("simulation", {"a1": [0.9, 1.0]}, **given | {"torque": stiffer})


@parquet
def test_a_folder_with_other_things_stays_as_it_is(puma, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StudyError, match=r"has other files \(mine.txt\)"):
        study(weight, CASES, robot=puma, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@parquet
def test_a_folder_that_was_changed_by_hand(puma, tmp_path):
    whole = study(weight, CASES, robot=puma, folder=tmp_path)
    for path in (tmp_path / "results").iterdir():
        path.unlink()
    (tmp_path / "results").rmdir()
    assert same(study(weight, CASES, robot=puma, folder=tmp_path), whole)
    manifest = tmp_path / "study.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"cases": 40', '"cases": 41'))
    with pytest.raises(StudyError, match=r"cases\.parquet: this is not the table that study\.json tells of"):
        Study.load(tmp_path)
    manifest.write_text('{"format": 1}')
    with pytest.raises(StudyError, match="'robot' is missing: somebody has changed this file"):
        Study.load(tmp_path)


@parquet
def test_a_second_study_in_a_folder_is_refused_while_the_first_runs(puma, tmp_path):
    go, began = threading.Event(), threading.Event()

    def slow(robot, row):
        began.set()
        go.wait(30)
        return {"x": 1.0}

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(study, slow, CASES, robot=puma, folder=tmp_path)
        began.wait(30)
        with pytest.raises(StudyError, match="another study, of this process, is writing to"):
            study(slow, CASES, robot=puma, folder=tmp_path)
        go.set()
        assert first.result().done.all()
