"""The pages of the site before it is built: links, navigation, reference, and the way from the first page."""

import json
import posixpath
import re
import sys
import tomllib
from pathlib import Path

import pytest

from armdyn import Robot
from commands import run
from golden_messages import golden_error

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import measured  # noqa: E402
from website import navigation, reference  # noqa: E402
from website.links import anchors, is_external, links, rewritten, slug  # noqa: E402
from website.maths import with_maths  # noqa: E402
from website.notebooks import converted  # noqa: E402
from website.pages import Page, Pages, SiteError, collect, place_of, with_large_pictures, with_sources  # noqa: E402
from website.typeset import MARK, typeset  # noqa: E402

SOURCES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
TASKS = {  # a task: the page that shows how, and what it must show
    "derive an arm's equations": ("tutorial.md", "armdyn derive my_arm.toml"),
    "import a URDF": ("your-urdf.md", 'Robot.load("my_arm.urdf"'),
    "identify from a log": ("from-a-log-to-a-model.md", "identify(robot, "),
    "run on a GPU": ("gpu.md", "import cupy"),
}


@pytest.fixture(scope="module")
def pages():
    return collect()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_in_the_repository_lead_to_files_and_headings(path):
    """As a forge shows the pages: relative to the file, with its names of headings."""
    faults = []
    for target in links(path.read_text("utf-8")):
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        if is_external(target):
            continue
        if not there.exists() or (anchor and anchor not in anchors(there.read_text("utf-8"))):
            faults.append(target)
    assert faults == []


def test_links_in_the_site_lead_to_pages_and_headings(pages):
    assert pages.faults() == []


PRINTING = """# Here

```python
from armdyn import Robot

equations = Robot.load("planar").equations()
print("for planar, b12 =", equations.B[0, 1])
print("B =", equations.B)
print("two joints")
```

{mark}```text
as a forge shows it
```
"""


def test_formulas_that_a_page_prints_are_typeset_where_it_says_so():
    left_alone = PRINTING.format(mark="")
    assert typeset(left_alone) == left_alone
    page = typeset(PRINTING.format(mark="<!-- typeset -->\n"))
    assert "as a forge shows it" not in page
    entry, matrix = re.findall(r'<div class="typeset">(.*?)</div>', page, re.DOTALL)
    assert "<span>for planar, </span>" in entry
    assert "<msub><mi>b</mi><mn>12</mn></msub></mtd><mtd><mo>=</mo>" in entry
    assert matrix.count("<mtr>") == 2
    assert matrix.startswith('<math display="block"><mi>B</mi><mo>=</mo>')
    assert page.rstrip().endswith("```text\ntwo joints\n```")


def test_only_what_a_page_prints_is_typeset():
    """The mark stands right above a block of text."""
    for path in SOURCES:
        text = path.read_text("utf-8")
        assert text.count(f"{MARK}\n```text\n") == text.count(f"\n{MARK}\n"), path.name


def test_navigation_has_every_page_once(pages):
    text = navigation.settings(pages)
    navigation.check(pages, text)
    assert navigation.navigation(text)[0] == "index.md"


def test_a_page_outside_the_navigation_is_named(pages):
    more = Pages({**pages.pages, "lonely.md": Page("lonely.md", "# Lonely")}, pages.files)
    with golden_error(SiteError):
        navigation.check(more, navigation.settings(more))


def test_a_folder_in_the_navigation_has_its_pages_in_the_order_of_its_index(pages):
    folder = {
        "gallery/a.md": Page("gallery/a.md", "# A"),
        "gallery/b.md": Page("gallery/b.md", "# B"),
        "gallery/index.md": Page("gallery/index.md", "# Gallery\n\n[B](b.md), [home](../index.md)"),
    }
    others = {place: page for place, page in pages.pages.items() if not place.startswith("gallery/")}
    found = navigation.navigation(navigation.settings(Pages({**others, **folder}, {})))
    start = found.index("gallery/index.md")
    assert found[start : start + 3] == ["gallery/index.md", "gallery/b.md", "gallery/a.md"]


def test_a_large_folder_is_grouped_by_the_headings_of_its_index(pages):
    """All 66 pages of the gallery in one list would leave no room for anything else."""
    nav = tomllib.loads(navigation.settings(pages))["project"]["nav"]
    look = next(section["Look"] for section in nav if "Look" in section)
    gallery = next(entry["Gallery"] for entry in look if "Gallery" in entry)
    assert gallery[:2] == ["gallery/index.md", "gallery/by-equation.md"]
    groups = {title: places for entry in gallery[2:] for title, places in entry.items()}
    assert list(groups)[:2] == ["Models of simple arms", "Example 7.2"]
    assert groups["Example 7.2"][0] == "gallery/fig-7-5.md"
    assert max(len(gallery), *(len(places) for places in groups.values())) <= navigation.LARGE


@pytest.mark.parametrize("task", TASKS)
def test_each_task_is_within_three_clicks_of_the_first_page(task, pages):
    goal, shows = TASKS[task]
    assert shows in pages.pages[goal].text
    reached, clicks = {"index.md"}, 0
    while goal not in reached:
        clicks += 1
        reached |= {there for place in reached for there in linked(pages, place)}
        assert clicks <= 3
    assert clicks == 1  # the first page names all four


def linked(pages, place):
    """The pages that a page links to, in its text."""
    for target in links(pages.pages[place].text):
        there = posixpath.normpath(posixpath.join(posixpath.dirname(place), target.partition("#")[0]))
        if not is_external(target) and there in pages.pages:
            yield there


def test_reference_has_every_public_name_once():
    """If not: GROUPS in docs/website/reference.py."""
    found = [name for group in reference.GROUPS for name in group.names]
    assert sorted(found) == sorted(reference.public_names())


def test_reference_has_every_member_of_robot_once():
    """If not: ROBOT in docs/website/reference.py."""
    found = " ".join(reference.ROBOT.values()).split()
    members = {name for part in Robot.__mro__[:-1] for name in vars(part) if not name.startswith("_")}
    assert sorted(found) == sorted(members)


def test_page_of_benchmarks_has_the_kept_figures():
    """If not: python docs/measured.py"""
    page = measured.PAGE.read_text("utf-8")
    assert measured.written(page) == page
    assert (
        sorted(path.stem for path in measured.RESULTS.glob("*.json") if path.stem not in measured.ORDER) == []
    )


def test_page_of_the_workbench_names_all_tabs_in_their_order():
    opening = pytest.importorskip("armdyn.workbench.opening")
    page = (ROOT / "docs" / "workbench.md").read_text("utf-8")
    described = page.partition("## What is there")[2].partition("## Export")[0]
    rows = re.findall(r"^\| ([A-Z]\w+) \|", described, re.MULTILINE)
    assert rows == [*opening.READINGS, *opening.CONTROLS]


def test_page_of_the_workbench_names_its_options():
    page = (ROOT / "docs" / "workbench.md").read_text("utf-8")
    options = set(re.findall(r"--[a-z]+(?:-[a-z]+)*", run("view", "--help")))
    of_robots = {
        "--tip",
        "--lock",
        "--payload",
        "--gear",
        "--link",
        "--rotors",
        "--base",
        "--repair",
        "--snap",
    }
    general = {"--help", "--browser", *of_robots}  # those of every command; --no-browser is named
    assert [name for name in sorted(options - general) if f"`{name}" not in page] == []


def test_code_has_no_links_and_text_around_it_keeps_its_own():
    text = "a [`b`](c.md) `[d](e.md)`\n\n```text\n[f](g.md)\n```\n\n"
    text += "- h\n\n  ```sh\n  [i](j.md)\n  ```\n\n[k](l.md#m)\n"
    assert links(text) == ["c.md", "l.md#m"]
    assert rewritten(text, str.upper) == text.replace("c.md", "C.MD").replace("l.md#m", "L.MD#M")


def test_headings_have_the_anchors_that_forges_give_them():
    text = "# From a *table*\n## `q`, and [more](x.md)!\n## Again\n## Again\n```python\n# not one\n```\n"
    assert anchors(text) == {"from-a-table", "q-and-more", "again", "again-1"}
    assert slug("Torques from outside, collisions") == "torques-from-outside-collisions"


def test_faults_are_links_to_what_is_not_there():
    pages = {
        "a.md": Page("a.md", "# A\n[x](b.md) [y](b.md#there) [z](b.md#gone) [w](c.md) [v](#a) [u](f/d.svg)"),
        "b.md": Page("b.md", "## There", "docs/b.md"),
    }
    assert Pages(pages, {"f/d.svg": Path("d.svg")}).faults() == ["a.md: b.md#gone", "a.md: c.md"]


def test_files_of_the_repository_have_their_places_in_the_site():
    assert place_of("README.md") == "index.md"
    assert place_of("docs/gallery/one.md") == "gallery/one.md"
    assert place_of("examples/own_arm.py") == "examples/own_arm.md"
    assert place_of("examples/first.ipynb") == "notebooks/first.md"
    assert place_of("examples") == "examples/index.md"
    assert place_of("src/armdyn/__init__.py") is None
    assert place_of("docs/draw.py") is None


def test_pictures_that_stand_alone_lead_to_themselves():
    text = "![a](f/a.svg)\n\nin a line ![b](b.svg)\n"
    front = with_large_pictures(Pages({"index.md": Page("index.md", text)}, {})).pages["index.md"]
    assert front.text == "[![a](f/a.svg)](f/a.svg)\n\nin a line ![b](b.svg)\n"


def test_a_picture_may_have_another_for_the_dark():
    pages = Pages({"a.md": Page("a.md", "![a](f/a.png)\n\n![b](f/b.png)\n")}, {"f/a-dark.png": ROOT})
    light, dark = "[![a](f/a.png#only-light)](f/a.png)", "[![a](f/a-dark.png#only-dark)](f/a-dark.png)"
    assert with_large_pictures(pages).pages["a.md"].text == f"{light} {dark}\n\n[![b](f/b.png)](f/b.png)\n"


def test_pages_lead_to_their_sources():
    pages = Pages({"gallery/index.md": Page("gallery/index.md", "# G\n", "docs/gallery/index.md")}, {})
    page = with_sources(pages).pages["gallery/index.md"]
    assert 'href="../sources/docs/gallery/index.md.txt"' in page.text
    assert page.files["sources/docs/gallery/index.md.txt"].startswith(b"# ")


def test_formulas_are_drawn_by_the_browser_and_code_keeps_its_signs():
    pytest.importorskip(
        "latex2mathml", reason='the site has formulas by latex2mathml: pip install "armdyn[docs]"'
    )
    text = with_maths("where $c_2$ is\n\n$$\n\\cos q_2\n$$\n\n`$HOME` or $ make, `a$b$`\n")
    assert re.sub(r"<(/?\w+)[^>]*>", r"<\1>", text).split() == [
        *("where", "<math><mrow><msub><mi>c</mi><mn>2</mn></msub></mrow></math>", "is"),
        "<div><math><mrow><mi>cos</mi><mo>&#x2061;</mo><msub><mi>q</mi><mn>2</mn></msub></mrow></math></div>",
        *("`$HOME`", "or", "$", "make,", "`a$b$`"),
    ]


def test_a_notebook_becomes_text_code_and_pictures(tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>", "text/plain": "<Figure>"}},
        {"output_type": "execute_result", "data": {"text/html": ["<b>x</b>\n", "\n", "<i>y</i>"]}},
        {"output_type": "display_data", "data": {"text/latex": "$\\displaystyle x$", "text/plain": "x"}},
        {"output_type": "execute_result", "data": {"text/plain": "```"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": ["print(1)\n", "print(2)"], "outputs": outputs},
    ]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}), "utf-8")
    text, pictures = converted(path)
    assert text == (
        "# Title\ntext\n\n```python\nprint(1)\nprint(2)\n```\n\n```text\n1\n2\n```\n\n"
        "![what the cell above shows](one-1.svg)\n\n"
        '<div class="output">\n<b>x</b>\n<i>y</i>\n</div>\n\n'
        "$$\n\\displaystyle x\n$$\n\n````text\n```\n````\n"
    )
    assert pictures == {"one-1.svg": b"<svg/>"}
