"""The code in README.md and docs/ runs as it stands: Python blocks, commands, robot files, pasted output."""

import contextlib
import io
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from armdyn import Robot, bundled_robots
from armdyn.cli import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, *languages):
    return [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language in languages]


def commands():
    """(page, command) for each `armdyn …` in a console or sh block."""
    for page in PAGES:
        for block in blocks(page, "console", "sh"):
            for line in block.splitlines():
                command = line.removeprefix("$ ").removeprefix(".venv/bin/").split("  #")[0].strip()
                if command.startswith("armdyn "):
                    yield pytest.param(page, command, id=f"{page.name}: {command}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_of_the_page_runs_and_prints_what_is_pasted(page, tmp_path, monkeypatch):
    """Blocks share a namespace, in order; a text block that follows one is what it printed."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.name}
    printed = ""
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(text, f"{page.name}, python block", "exec"), namespace)
            printed = out.getvalue()
        elif language == "text" and printed:
            assert without_times(printed) == without_times(text)
            printed = ""


@pytest.mark.parametrize(("page", "command"), list(commands()))
def test_command_of_the_page_succeeds(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for text in blocks(page, "toml"):
        Path("my_arm.toml").write_text(text, "utf-8")
    result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_output_after_a_command_is_what_it_prints(page, tmp_path, monkeypatch):
    """In a console block, the lines below `$ armdyn …` are (the beginning of) its output."""
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "console"):
        for part in block.split("$ ")[1:]:
            command, _, pasted = part.partition("\n")
            if command.startswith("armdyn ") and pasted.strip():
                result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
                assert without_times(result.output).startswith(without_times(pasted).removesuffix("\n…"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_robot_files_of_the_page_load(page, tmp_path):
    for text in blocks(page, "toml"):
        path = tmp_path / "robot.toml"
        path.write_text(text, "utf-8")
        robot = Robot.load(path)
        assert robot.name == tomllib.loads(text)["name"]
        assert robot.warnings == []


def test_links_of_the_readme_lead_somewhere():
    text = PAGES[0].read_text("utf-8")
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in t]
    assert targets
    assert [t for t in targets if not (ROOT / t).exists()] == []


def test_readme_names_every_bundled_robot_and_every_public_method():
    text = PAGES[0].read_text("utf-8")
    methods = [name for name in vars(Robot) if not name.startswith("_")]
    assert [
        name for name in (*bundled_robots(), *methods) if f"`{name}" not in text and name not in text
    ] == []


def without_times(text):
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d+ s\)", "… s)", text).strip()
