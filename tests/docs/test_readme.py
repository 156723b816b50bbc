"""The code in README.md and docs/ runs as it stands: Python blocks, commands, robot files, pasted output."""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import armdyn
import armdyn.report
from armdyn import Robot, Trajectory, bundled_robots
from armdyn.cli import app

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from draw import draw_readme  # noqa: E402

README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
GALLERY = sorted((ROOT / "docs" / "gallery").glob("*.md"))
LIBRARIES = (  # those that some blocks need
    "pinocchio",
    "mujoco",
    "roboticstoolbox",
    "sympybotics",
    "cupy",
    "torch",
    "jax",
    "casadi",
    "dask",
    "fmpy",
)
LONG = (  # they take three seconds or more
    *("from-a-log-to-a-model.md", "reports.md", "pick-and-place.md", "tutorial.md", "command-line.md"),
    *("simulation.md", "elasticity.md", "trajectories.md", "excitation.md", "closed-chains.md", "control.md"),
    *("identification.md", "c-code.md", "drives.md", "cheat-sheet.md", "fmu.md"),
)
DRAWN_ELSEWHERE = {  # pictures that no block of their page makes
    "figures/readme.svg",  # of docs/index.md: the README's own
    "figures/inside.svg",  # of docs/inside.md: a drawing
    "figures/workbench.png",  # of docs/workbench.md: taken by docs/page_pictures.py
    "figures/study.png",  # of docs/studies.md: likewise
}
QUICK = (
    "example-7-1.md",
    "fig-7-4.md",
    "asadi-structure.md",
    "index.md",
)  # of the gallery; all others are slow
WIDEST = 116  # columns of code
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def in_its_suite(path):
    """A page as a parameter of a test: long ones and most of the gallery are slow."""
    slow = path.name not in QUICK if path in GALLERY else path.name in LONG
    return pytest.param(path, id=name_of(path), marks=[pytest.mark.slow] * slow)


def name_of(path):
    return path.relative_to(ROOT / "docs").as_posix() if path in GALLERY else path.name


def drawn_at(picture):
    """Where a page's code saves a picture: those of the gallery right where it runs."""
    return Path(picture.removeprefix("../figures/gallery/"))


def blocks(page, language):
    return [text for found, text in BLOCK.findall(page.read_text("utf-8")) if found == language]


def is_cycle(text):
    """Whether a TOML block is a cycle file."""
    return "[[move]]" in text


def is_study(text):
    """Whether a TOML block is a study file."""
    return "[cases]" in text


def is_catalogue(text):
    """Whether a TOML block is a catalogue of motors and gears; others are robot files."""
    return "[[gear]]" in text


class Page:
    """A page as its reader works through it: its blocks in order, in one folder and one Python session."""

    def __init__(self, path):
        self.path, self.namespace, self.printed = path, {"__name__": path.name}, ""

    def run(self):
        for language, text in BLOCK.findall(self.path.read_text("utf-8")):
            kinds = {
                "python": self.python,
                "text": self.text,
                "toml": self.toml,
                "xml": self.xml,
                "c": self.c,
            }
            kinds.get(language, self.shell)(text)

    def toml(self, text):
        kinds = {"my_cycle": is_cycle, "designs": is_study, "my_drives": is_catalogue}
        name = next((name for name, is_one in kinds.items() if is_one(text)), "my_arm")
        Path(f"{name}.toml").write_text(text, "utf-8")

    def xml(self, text):
        Path("my_arm.urdf").write_text(text, "utf-8")

    def c(self, text):
        """A program is saved as loop.c; any other file must compile."""
        Path("loop.c" if "int main" in text else "part.c").write_text(text, "utf-8")
        if shutil.which("cc"):
            flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
            subprocess.run(["cc", *flags, "-c", "loop.c" if "int main" in text else "part.c"], check=True)

    def python(self, text):
        """The block, unless it imports another library that is not installed."""
        self.printed = ""
        if any(f"import {name}" in text and find_spec(name) is None for name in LIBRARIES):
            return
        if "import Robot, view" in text and find_spec("viser") is None:
            return
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, f"{self.path.name}, python block", "exec"), self.namespace)
        self.printed = out.getvalue()

    def text(self, text):
        """What the block before printed."""
        if self.printed:
            assert without_times(self.printed) == without_times(text)
        self.printed = ""

    def shell(self, text):
        """Commands `armdyn …` and `… cc …`; in a console block, lines below one are among those it prints."""
        output = ""
        for line in text.splitlines():
            command = line.removeprefix("$ ").removeprefix(".venv/bin/").split("  #")[0].strip()
            if command.startswith("armdyn "):
                result = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)
                assert result.exit_code == 0, f"{command}: {result.output}"
                output = without_times(result.output)
            elif re.search(r"(^|&& )cc ", command):
                if shutil.which("cc"):
                    done = subprocess.run(command, shell=True, check=True, capture_output=True, text=True)
                    output = done.stdout
            elif output and line.strip() and line != "…":
                assert without_times(line) in output


@pytest.mark.parametrize("path", [in_its_suite(path) for path in (*PAGES, *GALLERY)])
def test_page_works_as_its_reader_works_through_it(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("figures").mkdir()
    page = Page(path)
    page.run()
    if path == README:
        Path("docs/figures").mkdir(parents=True)
        draw_readme(page.namespace["robot"], page.namespace["motion"], Path("docs/figures/readme.svg"))
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text("utf-8"))
    assert [name for name in pictures if not (path.parent / name).exists()] == []
    made_here = [name for name in pictures if name not in DRAWN_ELSEWHERE]
    assert [name for name in made_here if not drawn_at(name).exists()] == [], "made by no block of the page"


@pytest.mark.parametrize("path", [*PAGES, *GALLERY], ids=name_of)
def test_code_of_the_page_is_no_wider_than_its_column(path):
    """As wide as the site has room for (test_built_site.py); what is printed goes on in the next line."""
    lines = [
        line
        for language in ("python", "toml", "xml", "c")
        for text in blocks(path, language)
        for line in text.splitlines()
    ]
    assert [line for line in lines if len(line) > WIDEST] == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_blocks_for_other_libraries_run(library):
    """They run with their page, by the test above, where the library is installed; here is said where not."""
    assert any(f"import {library}" in text for page in PAGES for text in blocks(page, "python"))
    pytest.importorskip(library, reason=f"{library} is not installed: its blocks in docs/ were left out")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_robot_files_of_the_page_load(page, tmp_path):
    for text in blocks(page, "toml"):
        if is_cycle(text) or is_study(text) or is_catalogue(text):  # it runs with its page
            continue
        path = tmp_path / "robot.toml"
        path.write_text(text, "utf-8")
        robot = Robot.load(path)
        assert robot.name == tomllib.loads(text)["name"]
        assert robot.warnings == []


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=name_of)
def test_links_of_the_page_lead_somewhere(page):
    targets = [t for t in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")) if "://" not in t]
    assert [t for t in targets if not (page.parent / t).exists()] == []


def test_readme_is_read_in_two_minutes():
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 80
    assert len(text.split()) <= 670
    apart = text.partition("## What sets it apart\n")[2].partition("\n## ")[0]
    assert 0 < len(apart.split("\n- ")) - 1 == len(apart.strip().splitlines()) <= 8


def test_readme_begins_with_the_two_commands_that_do_everything():
    first = BLOCK.search(README.read_text("utf-8"))[2]
    commands = [line.split("  #")[0].strip() for line in first.splitlines()]
    assert commands == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert [name for name in commands if f"\n{name.removeprefix('make ')}: " not in makefile] == []


def test_front_page_leads_to_every_page_and_example():
    front = ROOT / "docs" / "index.md"
    text = front.read_text("utf-8")
    assert [page.name for page in PAGES[1:] if page != front and f"({page.name})" not in text] == []
    examples = [path.name for kind in ("*.py", "*.ipynb") for path in (ROOT / "examples").glob(kind)]
    assert [name for name in examples if f"(../examples/{name})" not in text] == []


def test_gallery_leads_to_every_page_and_shows_every_picture():
    text = (ROOT / "docs" / "gallery" / "index.md").read_text("utf-8")
    assert [page.name for page in GALLERY if f"({page.name})" not in text and page.name != "index.md"] == []
    kept = {path.name for path in (ROOT / "docs" / "figures" / "gallery").iterdir()}
    shown = re.findall(
        r"\(\.\./figures/gallery/([^)]+)\)", "".join(page.read_text("utf-8") for page in GALLERY)
    )
    assert kept == set(shown)
    small = re.findall(r'<img src="\.\./figures/gallery/([^"]+)"', text)
    assert set(small) <= kept


def test_pages_of_the_gallery_have_one_skeleton():
    """A title, the source and what it says, code and its output, the comparison, and where to go on."""
    for page in GALLERY:
        if page.name in ("index.md", "by-equation.md"):
            continue
        text = page.read_text("utf-8")
        assert re.match(r"# [^\n]+\n\n\*[^*]+\.\* ", text), page.name
        blocks = [found for found, _ in BLOCK.findall(text)]
        assert blocks, page.name
        assert blocks == ["python", "text"] * (len(blocks) // 2), page.name
        assert re.search(r"^\*\*Compared with the (book|source|paper)\.\*\* ", text, re.MULTILINE), page.name
        assert re.search(r"^\[Gallery\]\(index\.md\) · ", text, re.MULTILINE), page.name


def test_pages_name_every_public_method_and_function():
    text = "".join((ROOT / "docs" / name).read_text("utf-8") for name in ("overview.md", "functions.md"))
    methods = [name for part in Robot.__mro__[:-1] for name in vars(part) if not name.startswith("_")]
    assert [name for name in methods if not re.search(rf"`([Rr]obot)?\.?{name}\b", text)] == []
    functions = [
        name
        for module in (armdyn, armdyn.report)
        for name in module.__all__
        if name.islower() and callable(getattr(module, name))
    ]
    motions = [
        name for name in vars(Trajectory) if not name.startswith("_") and callable(getattr(Trajectory, name))
    ]
    assert [name for name in (*functions, *motions) if not re.search(rf"\b{name}\b", text)] == []


def test_table_of_bundled_robots_agrees_with_their_files():
    text = (ROOT / "docs" / "robots.md").read_text("utf-8")
    rows = {row[0]: row[1:] for row in re.findall(r"^\| `(\w+)` \| (\w+) \| (yes|no) \|", text, re.MULTILINE)}
    assert sorted(rows) == bundled_robots()
    for name, (joints, motors) in rows.items():
        moving = Robot.load(name).model.moving
        assert joints == "".join({"revolute": "R", "prismatic": "P"}[link.joint] for link in moving), name
        assert (motors == "yes") == any(link.motor is not None for link in moving), name


def without_times(text):
    """Seconds differ from run to run."""
    return re.sub(r"\d+\.\d+ s\)", "… s)", text).strip()
