"""`armdyn` alone says where to start, and every line of it that can be copied works."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from armdyn.cli import START, VERBS
from commands import run

ROOT = Path(__file__).parent.parent.parent
COMMANDS = re.findall(r"(?:^  |`)(armdyn [\w -./]*?)(?=  |`|$)", START, re.MULTILINE)
NOT_HERE = ("armdyn --help", "armdyn COMMAND --help", "armdyn new my_arm.toml", "armdyn view puma560")
URDF = """<robot name="one"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="2"/></joint></robot>"""


def test_armdyn_alone_prints_where_to_start():
    assert run() == START


def test_the_module_alone_prints_the_same_with_exit_code_0():
    found = subprocess.run(
        [sys.executable, "-m", "armdyn"], capture_output=True, encoding="utf-8", check=True
    )
    assert (found.stdout, found.stderr) == (START, "")


def test_the_text_fits_a_small_terminal_and_is_plain():
    lines = START.splitlines()
    assert len(lines) <= 23  # and the prompt below
    assert max(map(len, lines)) <= 80
    assert START.isascii()


def test_help_still_lists_all_commands():
    lines = run("--help").splitlines()
    assert [verb for verb in VERBS if not any(line.startswith(f"  {verb} ") for line in lines)] == []


def test_every_line_to_copy_is_found():
    assert len(COMMANDS) == len(set(COMMANDS)) == START.count("armdyn ") - 1  # the first line is a sentence
    assert set(NOT_HERE) <= set(COMMANDS)


@pytest.mark.parametrize(
    "command",
    [pytest.param(c, marks=[pytest.mark.slow] * ("report" in c)) for c in COMMANDS if c not in NOT_HERE],
)
def test_every_line_to_copy_works(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("my_arm.urdf").write_text(URDF)
    said = run(*shlex.split(command)[1:])
    assert said or "-o" in command
    assert [name for name in re.findall(r"-o (\S+)", command) if not Path(name).stat().st_size] == []


@pytest.mark.slow
def test_the_file_of_the_question_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answers = "\n1\n\n0.5 0 0 0\n\n\n\n"
    command = [sys.executable, "-m", "armdyn", "new", "my_arm.toml"]
    subprocess.run(command, input=answers, encoding="utf-8", check=True, capture_output=True)
    assert "link 1" in run("show", "my_arm.toml")


def test_the_command_for_the_browser_and_its_extra_are_there():
    """It is tried in tests/workbench."""
    assert "view" in VERBS
    assert "Open the workbench" in run("view", "--help")
    (extra,) = re.findall(r"armdyn\[(\w+)\]", START)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert extra in project["optional-dependencies"]


def test_the_help_of_any_command_is_there():
    assert all("Usage:" in run(verb, "--help") for verb in ("robots", "derive", "report", "show", "new"))


def test_the_pages_named_are_in_the_repository():
    assert [name for name in ("docs", "README.md") if name not in START or not (ROOT / name).exists()] == []
    assert "://" not in START
