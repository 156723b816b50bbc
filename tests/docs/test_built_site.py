"""The site as it is built: without warnings, complete in itself, usable in a browser without a network."""

import os
import re
import shutil
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import armdyn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

pytestmark = pytest.mark.slow
SIX = ("index", "tutorial", "functions", "benchmarks", "inside", "reference/robot")
CUT = """[...document.querySelectorAll("article pre > code")]
    .filter(code => code.innerText && code.scrollWidth > code.clientWidth + 1)
    .map(code => code.innerText.slice(0, 60))"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
HIGHER = "document.documentElement.scrollHeight - document.documentElement.clientHeight"


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
    for member, page in {
        "inverse_dynamics": "dynamics",
        "with_payload": "change-it",
        "load": "make-one",
    }.items():
        assert f"armdyn.Robot.{member}" in found[site / "reference" / f"robot-{page}.html"].names
        target = f"robot-{page}.html#armdyn.Robot.{member}"
        assert target in found[site / "reference" / "robot.html"].links
    text = re.sub(r"<[^>]+>", "", (site / "reference" / "robot-dynamics.html").read_text("utf-8"))
    assert re.search(r"inverse_dynamics\(\s*q,\s*qd,\s*qdd,", text)
    assert "by Newton–Euler (7.107)–(7.114)" in text


def test_reference_has_each_member_once_and_none_that_is_private(site):
    for path in (site / "reference").glob("*.html"):
        marks = re.findall(r'id="(armdyn\.[^"]+)"', path.read_text("utf-8"))
        assert [mark for mark in marks if "._" in mark] == [], path.name
        assert sorted(mark for mark in set(marks) if marks.count(mark) > 1) == [], path.name


def test_reference_leads_to_every_public_name(site, found):
    from website.reference import GROUPS, identifier

    names = {identifier(name) for group in GROUPS for name in group.names}
    index = site / "reference" / "index.html"
    marks = {urlsplit(target).fragment for target in found[index].links}
    pages = {urlsplit(target).path for target in found[index].links}
    classes = {name for group in GROUPS for name in group.names if group.has_page_for(name)}
    assert names - classes <= marks
    for group in GROUPS:
        for name in classes & set(group.names):
            place = group.file_of(name).replace(".md", ".html")
            assert place in pages
            assert name in found[index.parent / place].names


def test_reference_has_tables_of_parameters_results_and_errors(site):
    text = (site / "reference" / "motion.html").read_text("utf-8")
    own = text[text.index('id="armdyn.inverse_kinematics"') : text.index('id="armdyn.load_cycle"')]
    tables = [
        re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", t))
        for t in re.findall(r"<table>.*?</table>", own, re.DOTALL)
    ]
    taken, given, refused = tables
    assert "Name Type Description Default" in taken
    assert "tolerance is how much may be missing" in taken
    assert "Joint positions (n,) that bring the tip" in given
    assert "MotionError A target out of reach is an error." in refused


def test_pages_of_the_reference_can_be_overlooked(site, tab):
    """Classes have pages of their own; what stands beside them is short."""
    tab.set_viewport_size({"width": 1440, "height": 900})
    heights = {}
    for path in (site / "reference").glob("*.html"):
        tab.goto(path.as_uri())
        heights[path.stem] = tab.evaluate("document.body.scrollHeight")
    tall = {name for name, height in heights.items() if height > 18_000}
    assert tall <= {"equations-equations", "report"}


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


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("forward kinematics", "kinematics"),
        ("inverse kinematics", "kinematics"),
        ("degrees", "units"),
        ("units", "units"),
        ("export C", "c-code"),
        ("install", "install"),
        ("cheat sheet", "cheat-sheet"),
    ],
)
def test_search_finds_the_page_for_what_people_ask(site, tab, words, place):
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto((site / "index.html").as_uri())
    tab.keyboard.press("Control+k")
    tab.keyboard.type(words, delay=20)
    from playwright.sync_api import expect

    expect(tab.locator("dialog a").first).to_have_attribute(
        "href", re.compile(rf"/{place}\.html"), timeout=20_000
    )


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


class MissingPages(SimpleHTTPRequestHandler):
    """Serves a folder, 404.html in the place of what is not there, as hosts of sites do."""

    def send_error(self, code, message=None, explain=None):
        if code != 404:
            return super().send_error(code, message, explain)
        text = (Path(self.directory) / "armdyn" / "latest" / "404.html").read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        return self.command == "HEAD" or self.wfile.write(text)

    def log_message(self, *_):
        pass


def test_a_page_that_is_not_there_leads_home_under_any_path(site, browser, tmp_path):
    (tmp_path / "armdyn").mkdir()
    (tmp_path / "armdyn" / "latest").symlink_to(site)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(MissingPages, directory=tmp_path))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    home = f"http://127.0.0.1:{server.server_port}/armdyn/latest/"
    tab = browser.new_page()
    for lost in ("gone.html", "gallery/gone.html", "a/b/c"):
        tab.goto(home + lost)
        tab.wait_for_function("document.querySelector('a').href.endsWith('index.html')")
        hrefs = tab.eval_on_selector_all("a", "links => links.map(link => link.href)")
        assert hrefs == [home + name for name in ("index.html", "overview.html", "reference/index.html")]
    tab.locator("a").first.click()
    assert tab.locator("article h1").inner_text().startswith("armdyn")
    tab.close()
    server.shutdown()
    server.server_close()


def test_pages_say_version_and_source(site, found):
    for name in ("tutorial", "gallery/fig-7-4", "notebooks/first_look", "examples/rotors"):
        assert any("sources/" in target for target in found[site / f"{name}.html"].links), name
    text = (site / "index.html").read_text("utf-8")
    assert f"armdyn {armdyn.__version__}" in text
    assert "assets/icon.svg" in text


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


def test_report_of_the_first_page_has_the_colours_and_the_height_that_the_page_gives_it(site, tab):
    """Nothing is cut on a desk; on a phone its picture stays in view, and the sliders scroll below it."""
    tab.set_viewport_size({"width": 1440, "height": 900})
    tab.goto((site / "index.html").as_uri())
    inside = tab.frames[1]
    tab.wait_for_function("document.querySelector('iframe.live').style.height")
    assert inside.evaluate(HIGHER) <= 0
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = []
    for _ in range(3):  # the system's choice, which is light; light; dark
        seen.append(inside.evaluate(paper))
        tab.locator("header label:not([hidden])[for^=__palette]").click()
        tab.wait_for_timeout(200)
    assert seen[0] == seen[1] != seen[2]
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_function("!document.querySelector('iframe.live').style.height")
    assert inside.evaluate(HIGHER) > 0
    slider = tab.frame_locator("iframe.live").locator("input[type=range]").nth(1).bounding_box()
    whole = tab.locator("iframe.live").bounding_box()
    assert slider["y"] + slider["height"] < whole["y"] + whole["height"]


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
