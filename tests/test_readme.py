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


def blocks(page, language):
    return [text for found, text in BLOCK.findall(page.read_text("utf-8")) if found == language]


class Page:
    """A page as its reader works through it: its blocks in order, in one folder and one Python session."""

    def __init__(self, path):
        self.path, self.namespace, self.printed = path, {"__name__": path.name}, ""

    def run(self):
        for language, text in BLOCK.findall(self.path.read_text("utf-8")):
            {"python": self.python, "text": self.text, "toml": self.toml}.get(language, self.shell)(text)

    def toml(self, text):
        Path("my_arm.toml").write_text(text, "utf-8")

    def python(self, text):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, f"{self.path.name}, python block", "exec"), self.namespace)
        self.printed = out.getvalue()

    def text(self, text):
        """What the block before printed."""
        if self.printed:
            assert without_times(self.printed) == without_times(text)
        self.printed = ""

    def shell(self, text):
        """Commands `armdyn …`; in a console block, lines below one are among those it prints."""
        output = ""
        for line in text.splitlines():
            command = line.removeprefix("$ ").removeprefix(".venv/bin/").split("  #")[0].strip()
            if command.startswith("armdyn "):
                result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
                assert result.exit_code == 0, f"{command}: {result.output}"
                output = without_times(result.output)
            elif output and line.strip() and line != "…":
                assert line.rstrip() in output


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_works_as_its_reader_works_through_it(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("figures").mkdir()
    Page(path).run()
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text("utf-8"))
    assert [name for name in pictures if not (path.parent / name).exists()] == []
    assert [name for name in pictures if not Path(name).exists()] == [], "made by no block of the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_robot_files_of_the_page_load(page, tmp_path):
    for text in blocks(page, "toml"):
        path = tmp_path / "robot.toml"
        path.write_text(text, "utf-8")
        robot = Robot.load(path)
        assert robot.name == tomllib.loads(text)["name"]
        assert robot.warnings == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_page_lead_somewhere(page):
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_readme_names_every_bundled_robot_and_every_public_method():
    text = PAGES[0].read_text("utf-8")
    methods = [name for name in vars(Robot) if not name.startswith("_")]
    assert [
        name for name in (*bundled_robots(), *methods) if f"`{name}" not in text and name not in text
    ] == []


def without_times(text):
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d+ s\)", "… s)", text).strip()
