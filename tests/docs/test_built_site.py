"""The site as it is built: without warnings, complete in itself, usable in a browser without a network."""

import os
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

pytestmark = pytest.mark.slow
SIX = ("index", "tutorial", "functions", "benchmarks", "inside", "reference/robot")
CUT = """[...document.querySelectorAll("article pre > code")]
    .filter(code => code.scrollWidth > code.clientWidth + 1).map(code => code.innerText.slice(0, 60))"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built afresh: a warning is an error there."""
    pytest.importorskip("zensical", reason='the site is built by Zensical: pip install "armdyn[docs]"')
    from make_site import build

    folder = tmp_path_factory.mktemp("docs")
    printed = build(folder)
    assert "No issues found" in printed
    return folder / "site"


class Found(HTMLParser):
    """Names and links of an HTML page, and what it loads by itself."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loaded, self.silent = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag in ("a", "link") and given.get("href"):
            (self.links if tag == "a" else self.loaded).append(given["href"])
        if tag == "img" and not given.get("alt"):
            self.silent.append(given.get("src"))
        if given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def found(site):
    """Its pages; 404.html stands alone, and reports are what armdyn writes."""
    apart = {"404.html", "live.html", "puma560.html"}
    return {path: Found(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name not in apart}


def test_every_page_has_become_one(site, found):
    from website.pages import collect

    made = {path.relative_to(site).with_suffix(".md").as_posix() for path in found}
    assert made == set(collect().pages)


def test_links_and_files_of_the_built_pages_are_there(found):
    faults = []
    for path, page in found.items():
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            mark = unquote(parts.fragment)
            if not there.is_file() or (mark and there in found and mark not in found[there].names):
                faults.append(f"{path.name}: {target}")
    assert faults == []


def test_pages_load_nothing_from_elsewhere(site, found):
    elsewhere = re.compile(r"^(https?:)?//")
    assert {target for page in found.values() for target in page.loaded if elsewhere.match(target)} == set()
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//[^)\"']+", styles) == []


def test_reference_shows_signatures_and_inherited_members(site, found):
    page = found[site / "reference" / "robot.html"]
    assert {"armdyn.Robot.inverse_dynamics", "armdyn.Robot.with_payload", "armdyn.Robot.load"} <= page.names
    text = re.sub(r"<[^>]+>", "", (site / "reference" / "robot.html").read_text("utf-8"))
    assert re.search(r"inverse_dynamics\(\s*q: Numbers,\s*qd: Numbers,\s*qdd: Numbers", text)
    assert "by Newton–Euler (7.107)–(7.114)" in text


def test_reference_has_each_member_once_and_none_that_is_private(site):
    for path in (site / "reference").glob("*.html"):
        marks = re.findall(r'id="(armdyn\.[^"]+)"', path.read_text("utf-8"))
        assert [mark for mark in marks if "._" in mark] == [], path.name
        assert sorted(mark for mark in set(marks) if marks.count(mark) > 1) == [], path.name


def test_reference_leads_to_every_public_name(site, found):
    from website.reference import GROUPS

    names = {name for group in GROUPS for name in group.names}
    marks = {urlsplit(target).fragment for target in found[site / "reference" / "index.html"].links}
    assert names <= marks


def test_a_link_that_leads_nowhere_ends_the_build(tmp_path, monkeypatch):
    """A second check beside our own: Zensical's, which knows what it made of the pages."""
    pytest.importorskip("zensical", reason='the site is built by Zensical: pip install "armdyn[docs]"')
    import make_site

    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Here\n\n[there](gone.md)\n", "utf-8")
    settings = tmp_path / "zensical.toml"
    settings.write_text('[project]\nsite_name = "x"\ndocs_dir = "pages"\nsite_dir = "site"\n', "utf-8")
    monkeypatch.setattr(make_site, "assemble", lambda folder: settings)
    with pytest.raises(make_site.SiteError, match="page does not exist"):
        make_site.build(tmp_path)


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no Chromium in the path")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    """A tab in which nothing may fail: requests elsewhere and errors of scripts are collected."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.trouble = []
    page.on("request", lambda r: r.url.startswith(("file:", "data:", "blob:")) or page.trouble.append(r.url))
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.trouble.append(said.text))
    yield page
    context.close()
    assert page.trouble == []


def test_search_finds_urdf_without_a_server(site, tab):
    tab.goto((site / "index.html").as_uri())
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.keyboard.press("Control+k")
    tab.keyboard.type("URDF", delay=20)
    found = tab.locator("dialog a")
    found.first.wait_for(timeout=20_000)
    assert tab.locator("dialog input").input_value() == "URDF"
    assert found.count() > 5
    assert all("urdf" in text.lower() for text in found.all_inner_texts())
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/your-urdf.html*")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_follow_the_readers_colours(site, tab, scheme):
    tab.emulate_media(color_scheme=scheme)
    for name in SIX:
        tab.goto((site / f"{name}.html").as_uri())
        assert tab.evaluate(WIDER) <= 0, name
        colours = tab.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgba()").split(",")
        assert (sum(map(float, colours[:3])) > 384) == (scheme == "light"), name


def test_formulas_that_pages_print_are_typeset(site, found):
    from website.pages import collect
    from website.typeset import MARK

    marked = [place for place, page in collect().pages.items() if f"\n{MARK}\n" in page.text]
    plain = [
        place for place in marked if "<math" not in (site / place).with_suffix(".html").read_text("utf-8")
    ]
    assert (len(marked) > 30, plain) == (True, [])


def test_no_code_is_cut_on_a_desk(site, found, tab):
    tab.set_viewport_size({"width": 1440, "height": 900})
    cut = {}
    for path in found:
        tab.goto(path.as_uri())
        cut[path.relative_to(site).as_posix()] = tab.evaluate(CUT)
    assert {page: code for page, code in cut.items() if code} == {}


def test_pictures_say_what_they_show(found):
    assert [path.name for path, page in found.items() if page.silent] == []


def test_first_page_begins_with_an_arm_that_moves(site, tab):
    """Installing it is above the fold; the report in the page draws its arm and follows a slider."""
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto((site / "index.html").as_uri())
    install = tab.locator("article pre").first.bounding_box()
    assert install["y"] + install["height"] < 450
    assert tab.locator("iframe.live").bounding_box()["y"] < 450
    frame = tab.frame_locator("iframe.live")
    torque = frame.locator(".torque").first
    before = torque.inner_text()
    assert re.search(r"N m", before)
    frame.locator("input[type=range]").nth(2).fill("1.2")
    assert torque.inner_text() != before


def test_cheat_sheet_prints_on_one_sheet(site, tab):
    tab.goto((site / "cheat-sheet.html").as_uri())
    assert tab.pdf(format="A4").count(b"/Type /Page\n") == 1


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("From a table to equations", "From a table to a report"),
        ("Your URDF in ten minutes", "Your URDF in ten minutes"),
        ("From a log to a model", "From a log to a model"),
        ("On a GPU", "On a GPU"),
    ],
)
def test_a_click_on_the_first_page_leads_to_each_task(site, tab, words, title):
    tab.goto((site / "index.html").as_uri())
    tab.locator("article").get_by_role("link", name=words, exact=True).click()
    assert tab.locator("article h1").inner_text().startswith(title)
