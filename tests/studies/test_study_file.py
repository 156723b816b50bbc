"""Study files: what they say is what `study` is called with; what is wrong is named with its key."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, load_cycle, study
from armdyn.studies import Cases, Study, StudyError, StudyFile
from arms import quietly
from golden_messages import golden_error

pytest.importorskip("pyarrow")
CYCLE = """
[compute.cycle]
start = [-0.5, 1.0]
defaults.joints = { max_velocity = 2, max_acceleration = 8 }
move = [{ to = [0.6, -0.4] }, { to = "start" }]
"""
CASES = """
[cases]
kind = "latin"
n = 12
[cases.columns]
a1 = ["3/5", 1.2]
ml1 = { normal = [50, 5] }
"payload.mass" = { truncated = [5, 2, 0, 10] }
"""
WHOLE = f"""
robot = "planar"
minimise = "energy"
maximise = ["payload.mass"]
seed = 3
workers = 1
{CASES}
[compute]
verb = "motor_loads"
wrench = [0, -20, 0, 0, 0, "pi"]
{CYCLE}
"""
OWN = """
def mean(robot, row):
    return {"g": float(robot.gravity([0.1, 0.2])[0]), "twice": 2 * row["x"]}


def many(rows):
    return {"sum": rows["x"] + rows["y"]}
"""


def written(folder, text, name="designs.toml"):
    path = folder / name
    path.write_text(text)
    return path


def assert_equal(found, expected):
    assert found.outputs == expected.outputs
    for name in expected.results:
        np.testing.assert_array_equal(found.results[name], expected.results[name])


def test_a_file_does_what_the_call_does(tmp_path):
    given = StudyFile.load(written(tmp_path, WHOLE))
    assert (given.minimise, given.maximise) == (("energy",), ("payload.mass",))
    assert given.folder == tmp_path / "designs"
    found = given.run()
    robot = Robot.load("planar")
    a1, ml1, load = (given.cases.columns[name] for name in ("a1", "ml1", "payload.mass"))
    assert ((a1 > 0.6) & (a1 < 1.2) & (load > 0) & (load < 10)).all()
    assert abs(ml1.mean() - 50) < 1
    cycle = {
        "start": [-0.5, 1.0],
        "defaults": {"joints": {"max_velocity": 2, "max_acceleration": 8}},
        "move": [{"to": [0.6, -0.4]}, {"to": "start"}],
    }
    motion = load_cycle(robot, cycle)
    wrench = [0, -20, 0, 0, 0, np.pi]
    assert_equal(
        found, study("motor_loads", given.cases, robot=robot, motion=motion, wrench=wrench, workers=1)
    )
    assert_equal(Study.load(tmp_path / "designs"), found)
    again = given.run(workers=2)  # goes on with what is there: nothing
    assert_equal(again, found)


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        (
            'kind = "product"\n[cases.columns]\na1 = [0.5, "2/3"]\nml1 = { from = 40, to = 60, n = 3 }',
            lambda: Cases.product({"a1": [0.5, 2 / 3], "ml1": [40.0, 50.0, 60.0]}),
        ),
        (
            'kind = "sobol"\nn = 8\nseed = 5\n[cases.columns]\na1 = { uniform = [0.5, 1] }',
            lambda: Cases.draw({"a1": (0.5, 1)}, 8, "sobol", seed=5),
        ),
        (
            'kind = "saltelli"\nn = 4\n[cases.columns]\na1 = [0.5, 1]\nml1 = [40, 60]',
            lambda: Cases.saltelli({"a1": (0.5, 1), "ml1": (40, 60)}, 4, seed=2),
        ),
        ('file = "table.csv"', lambda: Cases({"a1": np.array([0.5, 0.75])})),
    ],
)
def test_tables_are_those_of_cases(cases, expected, tmp_path):
    written(tmp_path, "a1\n0.5\n0.75\n", "table.csv")
    text = f'robot = "planar"\nseed = 2\n[compute]\nverb = "manipulability"\nq = [0.1, 0.9]\n[cases]\n{cases}'
    found = StudyFile.load(written(tmp_path, text)).cases
    assert found.design == expected().design
    for name, x in expected().columns.items():
        np.testing.assert_allclose(found.columns[name], x, rtol=1e-15)


def test_distributions_have_the_numbers_that_they_name(tmp_path):
    text = """
compute = "manipulability"
robot = "planar"
[cases]
kind = "halton"
n = 4000
[cases.columns]
a1 = { lognormal = [0.7, 0.2] }
a2 = { triangular = [0.2, 0.3, 0.8] }
ml1 = { normal = [50, 4] }
"""
    columns = StudyFile.load(written(tmp_path, text)).cases.columns
    assert abs(np.median(columns["a1"]) - 0.7) < 0.01
    assert abs(np.log(columns["a1"]).std() - 0.2) < 0.01
    assert abs(columns["a2"].mean() - 1.3 / 3) < 0.01
    assert columns["a2"].min() > 0.2
    assert columns["a2"].max() < 0.8
    assert abs(columns["ml1"].std() - 4) < 0.1


def test_the_robot_is_changed_as_the_table_says(tmp_path):
    Robot.load("puma560").save(tmp_path / "arm.toml")
    text = """
[robot]
file = "arm.toml"
lock = { "wrist roll" = "pi/2" }
symbols = { a2 = 0.5 }
rotors = "reflected"
payload = { mass = 2, com = [0, 0, 0.1] }
[cases]
kind = "product"
columns = { a2 = [0.4] }
[compute]
verb = "manipulability"
q = [0, 0, 1, 0, 1]
"""
    names = list(Robot.load("puma560").joints)
    text = text.replace("wrist roll", names[-1])
    found = StudyFile.load(written(tmp_path, text)).robot
    by_hand = quietly(lambda: Robot.load(tmp_path / "arm.toml", lock={names[-1]: np.pi / 2}))
    by_hand = by_hand.with_rotors("reflected").with_symbols(a2=0.5).with_payload(2, [0, 0, 0.1])
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5))
    expected = by_hand.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(found.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12)
    inline = text.replace(
        text[text.index("[robot]") : text.index("[cases]")], "[robot]\nname = 'p'\n" + ROBOT
    )
    inline = inline.replace("[0, 0, 1, 0, 1]", "[0]").replace("a2 = [0.4]", "m = [1, 2]")
    assert StudyFile.load(written(tmp_path, inline)).robot.name == "p"
    free = '[robot]\nfile = "rmit2r"\nsymbolic = true\n[cases]\nkind = "product"\ncolumns.l1 = [1]\n'
    free += '[compute]\nverb = "manipulability"\nq = [0, 1]'
    assert len(StudyFile.load(written(tmp_path, free)).robot.symbols) > 2


ROBOT = """convention = "dh"
gravity = [0, -9.81, 0]
symbols = { m = 1 }
[[robot.link]]
name = "rod"
joint = "revolute"
a = 1
alpha = 0
d = 0
theta = 0
mass = "m"
"""


def test_paths_of_logs_begin_at_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    cases = '[cases]\nkind = "product"\nown = ["log"]\ncolumns.log = ["one.csv", "/two.csv"]\n'
    path = written(tmp_path, f'robot = "planar"\n{cases}[compute]\nverb = "identification"\n')
    given = StudyFile.load(path.relative_to(tmp_path.parent)).cases.columns["log"]
    assert given.tolist() == [str(tmp_path.resolve() / "one.csv"), "/two.csv"]


def test_functions_of_a_file_run_in_threads_and_processes(tmp_path):
    written(tmp_path, OWN, "mine.py")
    text = """
robot = "planar"
[cases]
kind = "product"
own = ["x"]
columns = { a1 = [0.5, 1.0], x = [1, 2, 3] }
[compute]
python = "mine.py:mean"
"""
    found = StudyFile.load(written(tmp_path, text)).run()
    expected = [Robot.load("planar").with_symbols(a1=a1).gravity([0.1, 0.2])[0] for a1 in (0.5, 1.0)]
    np.testing.assert_allclose(found.results["g"], np.repeat(expected, 3), rtol=1e-14)
    np.testing.assert_array_equal(found.results["twice"], [2, 4, 6, 2, 4, 6])
    many = '[cases]\nkind = "product"\nown = ["x", "y"]\ncolumns = { x = [1, 2], y = [5] }\n'
    many = f'batch = 2\nfolder = "other"\n{many}[compute]\npython = "mine.py:many"\nvectorised = true'
    sums = StudyFile.load(written(tmp_path, many)).run()
    np.testing.assert_array_equal(sums.results["sum"], [6, 7])
    assert (tmp_path / "other" / "study.json").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a group of processes is interrupted otherwise there")
@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_reaches_all_processes_and_only_the_first_one_ends_by_it(tmp_path, begun):
    """Before the workers have begun, or as soon as there are results."""
    written(tmp_path, "import time\ndef f(row):\n    time.sleep(0.2)\n    return {'y': row['x']}", "mine.py")
    text = 'executor = "processes"\nworkers = 2\n[cases]\nkind = "product"\nown = ["x"]\n'
    path = written(
        tmp_path, text + 'columns.x = { from = 1, to = 900, n = 900 }\n[compute]\npython = "mine.py:f"'
    )
    command = [sys.executable, "-m", "armdyn", "study", str(path)]
    results = path.with_suffix("") / "results"
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, start_new_session=True) as running:
        while running.poll() is None and not (
            any(results.glob("*.parquet")) if begun else (path.with_suffix("") / "study.json").exists()
        ):
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        assert running.communicate(timeout=60)[1] == ""
    assert running.returncode == 130
    assert Study.load(results.parent).done.any() == begun


@pytest.mark.slow
def test_functions_of_a_file_run_in_processes_and_on_a_cluster(tmp_path):
    written(tmp_path, OWN, "mine.py")
    text = """
robot = "planar"
executor = "processes"
workers = 2
folder = "by_processes"
[cases]
kind = "product"
own = ["x"]
columns = { a1 = [0.5, 1.0], x = [1, 2, 3] }
[compute]
python = "mine.py:mean"
"""
    found = StudyFile.load(written(tmp_path, text)).run()
    threads = StudyFile.load(written(tmp_path, text.replace("processes", "threads"))).run()
    assert_equal(found, threads)
    assert not found.failed.any()
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        here = text.replace('"processes"', f'"{cluster.scheduler_address}"').replace("by_proc", "by_dask")
        with pytest.raises(StudyError, match="workers: the executor has its own"):
            StudyFile.load(written(tmp_path, here)).run()
        assert_equal(StudyFile.load(written(tmp_path, here.replace("workers = 2\n", ""))).run(), threads)


COMPUTE = '[compute]\nverb = "manipulability"\nq = [0, 1]\n'
WRONG = {
    "no file": None,
    "no TOML": "robot = planar",
    "unknown key": 'robots = "planar"\n' + COMPUTE + CASES,
    "unknown key of cases": 'robot = "planar"\n' + COMPUTE + CASES.replace("n = 12", "n = 12\nstep = 2"),
    "unknown robot": 'robot = "planer"\n' + COMPUTE + CASES,
    "robot without file": "robot = { tip = 'x' }\n" + COMPUTE + CASES,
    "unknown symbol of the robot": "robot = { file = 'planar', symbols = { z = 1 } }\n" + COMPUTE + CASES,
    "unknown key of the robot": "robot = { file = 'planar', mass = 1 }\n" + COMPUTE + CASES,
    "payload": "robot = { file = 'planar', payload = { mass = 1, com = [0, 0] } }\n" + COMPUTE + CASES,
    "no cases": 'robot = "planar"\n' + COMPUTE,
    "kind": 'robot = "planar"\n' + COMPUTE + CASES.replace('"latin"', '"grid"'),
    "no n": 'robot = "planar"\n' + COMPUTE + CASES.replace("n = 12", ""),
    "n of a product": 'robot = "planar"\n' + COMPUTE + '[cases]\nkind = "product"\nn = 4\ncolumns.a1 = [1]',
    "a Sobol sequence of 12": 'robot = "planar"\n' + COMPUTE + CASES.replace("latin", "sobol"),
    "no columns": 'robot = "planar"\n' + COMPUTE + '[cases]\nkind = "random"\nn = 4',
    "range": 'robot = "planar"\n' + COMPUTE + CASES.replace('["3/5", 1.2]', "[1.2, 0.6]"),
    "distribution": 'robot = "planar"\n' + COMPUTE + CASES.replace("normal", "gauss"),
    "numbers of a distribution": 'robot = "planar"\n' + COMPUTE + CASES.replace("[50, 5]", "[50]"),
    "deviation": 'robot = "planar"\n' + COMPUTE + CASES.replace("[50, 5]", "[50, -5]"),
    "ends of a distribution": 'robot = "planar"\n' + COMPUTE + CASES.replace("0, 10]", "10, 0]"),
    "value": 'robot = "planar"\n' + COMPUTE + '[cases]\nkind = "product"\ncolumns.a1 = 3',
    "expression": 'robot = "planar"\n' + COMPUTE + CASES.replace("3/5", "3/b"),
    "file and kind": 'robot = "planar"\n' + COMPUTE + '[cases]\nfile = "a.csv"\nkind = "latin"',
    "no table": 'robot = "planar"\n' + COMPUTE + '[cases]\nfile = "a.csv"',
    "nothing to compute": 'robot = "planar"\n' + CASES,
    "no verb": 'robot = "planar"\n' + CASES + "[compute]\nq = [0, 1]",
    "verb": 'robot = "planar"\n' + CASES + '[compute]\nverb = "torque"',
    "option": 'robot = "planar"\n' + CASES + '[compute]\nverb = "manipulability"\nposture = [0, 1]',
    "no robot": CASES + COMPUTE,
    "no motion": 'robot = "planar"\n' + CASES + '[compute]\nverb = "torques"',
    "motion": 'robot = "planar"\n' + CASES + '[compute]\nverb = "torques"\ncycle = "none.toml"',
    "motion in the cycle": 'robot = "planar"\n'
    + CASES
    + '[compute]\nverb = "torques"\ncycle = { start = [0] }',
    "no function": "[compute]\npython = 'mine.py:least'\n" + CASES,
    "no file of Python": "[compute]\npython = 'yours.py:mean'\n" + CASES,
    "no name": "[compute]\npython = 'mine.py'\n" + CASES,
    "broken Python": "[compute]\npython = 'broken.py:f'\n" + CASES,
    "seed": 'robot = "planar"\nseed = -1\n' + COMPUTE + CASES,
    "workers": 'robot = "planar"\nworkers = 0\n' + COMPUTE + CASES,
    "executor": 'robot = "planar"\nexecutor = "cluster"\n' + COMPUTE + CASES,
    "batch": 'robot = "planar"\nbatch = 4\n' + COMPUTE + CASES,
    "objectives": 'robot = "planar"\nminimise = 3\n' + COMPUTE + CASES,
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_file_and_key(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, OWN, "mine.py")
    written(tmp_path, "1 / 0", "broken.py")
    if WRONG[case] is not None:
        written(tmp_path, WRONG[case])
    with golden_error(ArmdynError) as caught:
        StudyFile.load(Path("designs.toml"))
    assert "designs.toml" in str(caught.value)


def test_what_the_study_refuses_names_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'robot = "planar"\n' + COMPUTE + CASES.replace("ml1", "m9")
    with golden_error(ArmdynError):
        StudyFile.load(written(Path(), text)).run()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = 'executor = "tcp://127.0.0.1:1"\nrobot = "planar"\n' + COMPUTE + CASES
    given = StudyFile.load(written(Path(), text))
    with golden_error(ArmdynError):
        given.run()
