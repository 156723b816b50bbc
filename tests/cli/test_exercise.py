"""`armdyn exercise`: the files of so many seeds, what its help says, and what is refused."""

import re

from armdyn import Robot
from armdyn.report import exercise, random_arm
from armdyn.report.exercises import DEFAULT, QUESTIONS
from commands import refused, run


def test_files_of_two_seeds_are_those_of_python(tmp_path):
    folder = tmp_path / "class"
    said = run("exercise", "random", "--seed", 3, "--count", 2, "--questions", "g, torques", "-o", folder)
    assert said.count("wrote ") == len(list(folder.iterdir())) == 10
    for seed in (3, 4):
        found = exercise(random_arm(seed), ["g", "torques"], seed)
        assert (folder / f"exercise-{seed}.html").read_text("utf-8") == found.sheet.html()
        text = (folder / f"exercise-{seed}-solution.md").read_text("utf-8")
        assert text == found.solution.markdown(f"exercise-{seed}.svg")


def test_robot_with_its_options_and_its_variant(tmp_path):
    run("exercise", "planar", "--rotors", "none", "--questions", "B", "-o", tmp_path)
    found = exercise(Robot.load("planar").with_rotors("none"), ["B"])
    assert (tmp_path / "exercise-0-solution.html").read_text("utf-8") == found.solution.html()


def test_help_and_table_of_questions():
    words = " ".join(run("exercise", "--help").split())
    listed, default = re.search(r"commas: ([\w, -]+) \[default: ([\w, -]+)\]", words).groups()
    assert listed.split(", ") == list(QUESTIONS)
    assert tuple(default.split(", ")) == DEFAULT


def test_what_is_refused(monkeypatch, capsys, tmp_path):
    def error(*arguments):
        return refused(monkeypatch, capsys, "exercise", *arguments)

    assert "--questions: found 'x'" in error("planar", "--questions", "B,x", "-o", tmp_path)
    assert "takes no options" in error("random", "--payload", 2, "-o", tmp_path)
    assert "--count" in error("random", "--count", 0, "-o", tmp_path)
    assert "there is no folder" in error("planar", "-o", tmp_path / "a" / "b")
    (tmp_path / "file").write_text("")
    assert "it is not a folder" in error("planar", "-o", tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
