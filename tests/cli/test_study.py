"""`armdyn study`: run, gone on with, shown; robot files of the best designs; what is refused."""

import re

import numpy as np
import pytest

from armdyn import Robot
from armdyn.studies import Study, best_rows
from commands import refused, rows, run

pytest.importorskip("pyarrow")
TEXT = """
robot = "planar"
minimise = ["torque"]
[cases]
kind = "latin"
n = 30
own = ["x"]
[cases.columns]
a1 = [0.6, 1.2]
x = [0, 1]
[compute]
python = "mine.py:f"
"""
OWN = """
from armdyn import ArmdynError


def f(robot, row):
    if row["x"] > 0.8:
        raise ArmdynError(f"x is {row['x']:.4f}, too much")
    return {"torque": robot.gravity([0, 0])[0] + 1000 * row["x"], "x2": row["x"] ** 2}
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    path = tmp_path / "designs.toml"
    path.write_text(TEXT)
    return path


def test_a_study_is_run_gone_on_with_and_shown(file, tmp_path):
    said = run("study", file)
    found = Study.load(tmp_path / "designs")
    failed = int(found.failed.sum())
    assert 5 <= failed <= 7
    assert re.match(rf"two-link planar arm: 30 designs, {failed} failed in .*designs \([\d.]+ s\)", said)
    assert f"armdyn study show {file}" in said
    best = best_rows({**found.table, **found.results}, "torque", n=5)
    tables = rows(said)
    assert tables[0][:2] == [str(failed), found.reasons[found.failed][0]]
    assert [row[0] for row in tables[1:]] == [str(case) for case in best]
    assert tables[1][1] == f"{found.results['torque'][best[0]]:.6g}"
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "designs" / "results").iterdir()}
    assert rows(run("study", file, "--workers", 1, "--best", 2))[1:] == tables[1:3]
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "designs" / "results").iterdir()}
    page, robots = tmp_path / "page.html", tmp_path / "best"
    said = run("study", "show", file, "-o", page, "--robots", robots, "--best", 3)
    assert said.endswith(f"wrote {page}\n")
    paths = [robots / f"two-link_planar_arm-{case}.toml" for case in best[:3]]
    assert sorted(robots.iterdir()) == sorted(paths)
    for case, path in zip(best, paths, strict=False):
        assert Robot.load(path) == found.robot_of(int(case))
    assert '"goals":[[2,1]]' in page.read_text("utf-8")


def test_objectives_are_given_with_the_folder(file, tmp_path):
    run("study", "run", file)
    found = Study.load(tmp_path / "designs")
    columns = {**found.table, **found.results}
    page = tmp_path / "page.html"
    shown = run("study", "show", tmp_path / "designs", "-o", page, "--maximise", "x2", "--minimise", "torque")
    front = best_rows(columns, ["torque"], ["x2"])
    assert [int(row[0]) for row in rows(shown)[1:]] == front.tolist()
    assert "greatest x2" in shown
    plain = run("study", "show", tmp_path / "designs", "-o", page)
    assert "no objectives: --minimise" in plain
    assert len(rows(plain)) == 1
    other = run("study", "show", file, "-o", page, "--minimise", "x2")
    assert rows(other)[1][0] == str(np.nanargmin(found.results["x2"]))


def test_where_all_designs_fail_it_says_why(file, tmp_path):
    file.write_text(TEXT.replace("x = [0, 1]", "x = [0.9, 1]"))
    said = run("study", file)
    assert "30 failed" in said
    assert rows(said)[0][0] == "30"
    assert "too much" in said
    assert "no design has a result" in said
    assert "no design has a result" in run("study", "show", file, "-o", tmp_path / "page.html")


def test_the_command_that_shows_a_study_can_be_typed(file, tmp_path):
    spaced = tmp_path / "my designs.toml"
    spaced.write_text(TEXT)
    assert f"armdyn study show '{spaced}'" in run("study", spaced)


def test_help_says_both_commands():
    said = " ".join(run("study", "--help").split())
    assert "run Run a study, or go on with it." in said
    assert "show Write a page about a study." in said
    assert "--robots" in run("study", "show", "--help")


def test_what_is_refused(file, monkeypatch, capsys, tmp_path):
    def error(*arguments):
        return refused(monkeypatch, capsys, "study", *arguments)

    assert "cannot read" in error(tmp_path / "none.toml")
    assert "is no folder of a study" in error("show", tmp_path, "-o", tmp_path / "a.html")
    assert "there is no folder" in error("show", file, "-o", tmp_path / "x" / "a.html")
    assert "--output: " in error("show", file, "-o", file)
    assert "--robots: " in error(file, "--robots", tmp_path / "x" / "y")
    assert "--best" in error(file, "--best", 0)
    assert "designs.toml: cases.n: " in bad(error, file, "n = 30", "n = 0")
    assert "no symbol of" in bad(error, file, "a1", "b1")
    assert not (tmp_path / "designs").exists()
    run("study", file)
    assert "--minimise: no column 'y'; there are a1, x, torque, x2" in error(
        "show", tmp_path / "designs", "-o", tmp_path / "a.html", "--minimise", "y"
    )
    assert "designs.toml: minimise: no column 'y'" in error(
        "show", bad(None, file, '["torque"]', '["y"]'), "-o", tmp_path / "a.html"
    )
    assert "another" in bad(error, file, "seed = 1", "seed = 2")
    assert not (tmp_path / "a.html").exists()


def bad(error, file, before, after):
    """What is said of the file with something else in it; without a verb, that file."""
    path = file.with_name(file.name)
    text = TEXT.replace(before, after) if before in TEXT else f"{after}\n{TEXT}"
    path.write_text(text)
    if error is None:
        return path
    said = error(path)
    path.write_text(TEXT)
    return said
