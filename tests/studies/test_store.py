"""The folder of a study: parts are put together, read again, and kept from a second writer."""

import os
import subprocess
import sys

import numpy as np
import pytest

from armdyn import Robot
from armdyn.studies import Cases, Study, StudyError
from armdyn.studies.store import FEW, Part, Store
from golden_messages import golden_error

pytest.importorskip("pyarrow")
CASES = Cases.product({"a2": [0.4, 0.45], "payload.mass": np.arange(50.0)})


def about(cases, robot):
    """A manifest, as `study` writes one."""
    same = dict.fromkeys(("table_digest", "function_digest", "robot_digest"), "")
    names = {"inputs": list(cases.columns), "own": [], "design": cases.design, "cases": len(cases)}
    return {"format": 1, "robot": robot is not None, "seed": 0, "batch": 1, **names, **same}


@pytest.fixture
def store(tmp_path):
    found = Store(tmp_path / "study")
    with found.locked():
        found.open(about(CASES, Robot.load("puma560")), CASES, Robot.load("puma560"))
        yield found


def test_what_is_read_equals_what_was_written_in_any_order(store):
    order = np.random.default_rng(0).permutation(99)
    for k in order:
        found = {"b": 2.0 * k} if k % 2 else {"a": 1.0 * k, "b": 3.0}
        store.write(Part.of([(int(k), "", found) if k != 7 else (7, "it broke", {})]))
    assert len(list(store.results.iterdir())) == 1 + 99 - FEW
    study = Study.load(store.folder)
    assert study.outputs == ("a", "b")  # case 0 has both, in this order
    expected = [np.nan if k in (7, 99) else 2.0 * k if k % 2 else 3.0 for k in range(100)]
    np.testing.assert_array_equal(study.results["b"], expected)
    assert study.reasons[7] == "it broke"
    assert study.reasons[99] == "not run yet"
    assert study.failed.sum() == 1
    assert study.done.sum() == 99
    assert study.robot == Robot.load("puma560")
    np.testing.assert_array_equal(study.table["payload.mass"], CASES.columns["payload.mass"])


def test_parts_that_were_put_together_and_not_yet_removed_change_nothing(store):
    for k in range(3):
        store.write(Part.of([(k, "", {"a": 1.0 * k})]))
    once = Study.load(store.folder).results
    store._write(1, store.read())
    np.testing.assert_array_equal(Study.load(store.folder).results["a"], once["a"])


def test_the_robot_of_a_case_is_the_robot_changed_by_hand(store):
    study = Study.load(store.folder)
    robot = Robot.load("puma560").with_symbols(a2=0.45).with_payload(3.0)
    q = np.ones(6)
    np.testing.assert_allclose(study.robot_of(53).gravity(q), robot.gravity(q), rtol=1e-12)


def test_a_second_writer_is_refused_in_this_process_and_in_another(store):
    with pytest.raises(StudyError, match="of this process, is writing"), Store(store.folder).locked():
        pass
    code = (
        "import sys; from pathlib import Path; from armdyn.studies.store import Store\n"
        "with Store(Path(sys.argv[1])).locked(): print('got it')"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, store.folder], check=False, capture_output=True, text=True
    )
    assert f"of process {os.getpid()}" in told.stderr
    assert "got it" not in told.stdout


def test_a_damaged_part_is_named(store):
    store.write(Part.of([(0, "", {"a": 1.0})]))
    (path,) = store.results.iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    with golden_error(StudyError):
        Study.load(store.folder)


def test_folders_that_are_no_study(tmp_path):
    with golden_error(StudyError):
        Study.load(tmp_path)
    (tmp_path / "study.json").write_text("{}")
    with golden_error(StudyError):
        Study.load(tmp_path)
