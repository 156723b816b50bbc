"""The page of a study: what it says is what the study has, and the mouse finds it in a browser."""

import re
from html import unescape

import numpy as np
import pytest

from armdyn import Robot
from armdyn.drawing.errors import ReportError
from armdyn.report import write_study_report
from armdyn.report.study import failures, page_data
from armdyn.studies import Cases, Study, StudyError
from armdyn.studies.findings import best_rows, pareto_front, sobol_indices
from arms import quietly
from golden_messages import golden_error

RANGES = {"a1": (0.6, 1.4), "a2": (0.5, 1.5), "ml1": (20, 80), "payload.mass": (0, 20)}
NASTY = "</script><b>x</b>\u202e"


def study_of(cases, robot="planar", own=()):
    """Torques at rest as formulas; arms that are too long failed."""
    col, n = cases.columns, len(cases)
    reach = col["a1"] + col["a2"]
    torque = 9.81 * (col["ml1"] * 0.5 + (50 + col["payload.mass"]) * reach)
    cost = 100 / torque + (col["a1"] - 1) ** 2 + np.random.default_rng(2).random(n) / 50
    results = {"peak_torque.link 1": torque, "reach": reach, "cost": cost}
    reasons = np.full(n, "", "<U60")
    far = reach > 2.7
    reasons[far] = [f"target out of reach by {x:.4f} m" for x in reach[far]]
    heavy = (col["payload.mass"] > 19.5) & ~far
    reasons[heavy] = f"too heavy {NASTY}"
    for x in results.values():
        x[far | heavy] = np.nan
    return Study(col, results, reasons, None if robot is None else Robot.load(robot), own, cases.design)


@pytest.fixture(scope="module")
def small():
    return study_of(Cases.draw(RANGES, 400, "latin"))


def text_of(path):
    """The text that a reader of the page sees, without its script."""
    inside = re.sub(r"<(style|script).*?</\1>", "", path.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", inside)))


# ------------------------------------------------------------------------------------------------------------
# What stands in it.


def test_the_page_has_counts_ranges_reasons_and_correlations(small, tmp_path):
    path = write_study_report(small, tmp_path / "study.html", minimise="cost", date="2026-11-19")
    text, failed = text_of(path), int(small.failed.sum())
    assert "two-link planar arm: 400 designs" in text
    assert f"failed {failed}" in text
    kinds = failures(small)
    assert [len(cases) for _, cases in kinds] == sorted((len(x) for _, x in kinds), reverse=True)
    assert sum(len(cases) for _, cases in kinds) == failed
    assert len(kinds) == 2  # those out of reach differ in a number only
    assert small.reasons[kinds[1][1][0]] in text
    torque = small.results["peak_torque.link 1"]
    assert f"{np.nanmax(torque):.5g}" in text.replace(".0 ", " ")
    assert "peak_torque.link 1 0." in text  # a correlation
    assert (
        path.read_bytes()
        == write_study_report(small, tmp_path / "again.html", minimise="cost", date="2026-11-19").read_bytes()
    )


def test_sobol_indices_in_the_page_are_those_of_the_runs(tmp_path):
    cases = Cases.saltelli({name: RANGES[name] for name in ("a1", "a2", "ml1", "payload.mass")}, 128)
    found = study_of(cases)
    path = write_study_report(found, tmp_path / "study.html")
    runs = found.results["reach"].reshape(6, 128)
    share = sobol_indices(runs[0], runs[1], runs[2:])
    assert re.search(rf"reach {share.first[0]:.2f} .* {share.first[1]:.2f}", text_of(path))
    assert f"{share.n} of 128 groups of runs are complete" in text_of(path)


def test_a_study_without_results_robot_or_failures_has_a_page(tmp_path):
    cases = Cases.draw(RANGES, 8)
    waiting = Study(cases.columns, {}, np.full(8, "not run yet"))
    text = text_of(write_study_report(waiting, tmp_path / "none.html"))
    assert "a study: 8 designs" in text
    assert "not run yet 8" in text
    assert "There are no results" in text
    one = Study({"x": np.ones(1)}, {"y": np.ones(1)}, np.array([""]))
    assert "1 design" in text_of(write_study_report(one, tmp_path / "one.html"))


def test_names_and_texts_cannot_become_markup(tmp_path):
    cases = Cases({**Cases.draw(RANGES, 50).columns, "kind": np.array(["a", NASTY] * 25)})
    found = study_of(cases, own=("kind",))
    found.results[NASTY] = found.results.pop("reach")
    path = write_study_report(found, tmp_path / "study.html", maximise=NASTY)
    text = path.read_text("utf-8")
    assert "</script><b>" not in text
    assert "\u202e" not in text


def test_four_bytes_are_used_only_where_they_tell_designs_apart():
    x = np.linspace(0, 1, 9)
    results = {"wide": x, "narrow": 1e3 + 1e-6 * x, "none": np.full(9, np.nan)}
    data = page_data(Study({"a": x}, results, np.full(9, "")), [], [], 10)
    assert [column["single"] for column in data["columns"]] == [False, True, False, True, True]


def test_best_rows_are_the_ends_of_the_front_and_rows_between(small):
    columns = {**small.table, **small.results}
    front = pareto_front(columns, ["cost", "reach"])
    rows = best_rows(columns, ["cost", "reach"], n=5)
    assert list(rows[[0, -1]]) == list(front[[0, -1]])
    assert len(set(rows.tolist())) == 5
    assert list(best_rows(columns, ["cost", "reach"], n=10**6)) == list(front)
    assert list(best_rows(columns, ["cost", "reach"], n=1)) == list(front[:1])
    cost = small.results["cost"]
    assert list(best_rows(columns, "cost", n=3)) == list(
        np.argsort(np.where(np.isnan(cost), np.inf, cost))[:3]
    )
    assert list(best_rows(columns, maximise="cost", n=1)) == [np.nanargmax(cost)]


def test_what_is_refused(small, tmp_path):
    with golden_error(StudyError):
        write_study_report(small, tmp_path / "a.html", minimise=["cost", "weight"])
    with golden_error(ReportError):
        write_study_report(Study({}, {}, np.zeros(0, str)), tmp_path / "a.html")
    with golden_error(ReportError):
        write_study_report(small, tmp_path / "a.html", best=0)
    with golden_error(ReportError):
        write_study_report(small, tmp_path / "none" / "a.html")
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------
# In the browser, by mouse and keys.


@pytest.fixture
def opened(tab, tmp_path):
    """The page of a study in a tab."""

    def make(study, width=1280, height=1500, scheme="light", **options):
        one = tab(viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True)
        one.open(write_study_report(study, tmp_path / "study.html", **options))
        one.page.evaluate("armdyn.drawn")
        return one

    return make


def place(page, axis, part):
    """A point of an axis of the lines, 0 at its bottom and 1 at its top."""
    box = page.locator("canvas.lines").bounding_box()
    axes = page.locator("canvas.lines").get_attribute("aria-label").split(" across ")[1].split(", ")
    gap = (box["width"] - 88) / (len(axes) - 1)
    top, bottom = box["y"] + 56, box["y"] + box["height"] - 24
    return box["x"] + 44 + axes.index(axis) * gap, bottom - part * (bottom - top)


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()
    page.wait_for_timeout(400)
    drawn(page)


def inside(page):
    return page.evaluate("armdyn.inside()")


def count(page):
    """The number of designs that the page says it shows."""
    drawn(page)
    return int(re.match(r"([\d\u202f]+) of", page.locator(".said").inner_text())[1].replace("\u202f", ""))


def drawn(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def pixels(page, name):
    drawn(page)
    return page.evaluate(f"document.querySelector('canvas.{name}').toDataURL()")


def test_a_range_drawn_with_the_mouse_keeps_these_designs(small, opened):
    one = opened(small)
    page, before = one.page, pixels(one.page, "lines")
    assert count(page) == len(small)
    drag(page, place(page, "a1", 0.25), place(page, "a1", 0.75))
    a1, low, high = small.table["a1"], 0.6, 1.4
    low, high = np.quantile(a1, [0, 1])
    x = (a1 - low) / (high - low)
    kept = np.flatnonzero((x > 0.25) & (x < 0.75))
    near = np.flatnonzero((np.abs(x - 0.25) < 0.006) | (np.abs(x - 0.75) < 0.006))
    assert set(inside(page)) ^ set(kept.tolist()) <= set(near.tolist())
    assert count(page) == len(inside(page)) < len(small)
    assert pixels(page, "lines") != before
    assert one.messages == []
    assert one.asked == []


@pytest.mark.slow
def test_ranges_are_moved_stretched_and_removed(small, opened):
    page = opened(small).page
    drag(page, place(page, "a2", 0.2), place(page, "a2", 0.5))
    first = set(inside(page))
    drag(page, place(page, "a2", 0.35), place(page, "a2", 0.75))  # the whole range
    a2 = small.table["a2"]
    x = (a2 - a2.min()) / np.ptp(a2)
    assert abs(x[inside(page)].min() - 0.6) < 0.02
    assert abs(x[inside(page)].max() - 0.9) < 0.02
    assert first.isdisjoint(inside(page))
    drag(page, place(page, "a2", 0.6), place(page, "a2", 0.4))  # its lower end
    assert abs(x[inside(page)].min() - 0.4) < 0.02
    page.mouse.click(*place(page, "a2", 0.1))  # beside it, on the axis
    assert count(page) == len(small)
    drag(page, place(page, "a2", 0.2), place(page, "a2", 0.5))
    page.get_by_role("button", name="Remove the range of a2").click()
    assert count(page) == len(small)
    drag(page, place(page, "a1", 0.2), place(page, "a1", 0.8))
    drag(page, place(page, "a2", 0.2), place(page, "a2", 0.8))
    page.locator("canvas.lines").focus()
    page.keyboard.press("Escape")
    assert count(page) == len(small)


@pytest.mark.slow
def test_ranges_and_axes_by_the_keyboard(small, opened):
    page = opened(small).page
    page.get_by_text("Axes and ranges").click()
    page.get_by_label("ml1 from").fill("40")
    page.keyboard.press("Tab")
    page.keyboard.type("60.5")
    page.keyboard.press("Enter")
    ml1 = small.table["ml1"]
    assert inside(page) == np.flatnonzero((ml1 >= 40) & (ml1 <= 60.5)).tolist()
    page.get_by_label("ml1 to").fill("")
    page.keyboard.press("Enter")
    assert inside(page) == np.flatnonzero(ml1 >= 40).tolist()
    label = page.locator("canvas.lines").get_attribute
    assert "reach" in label("aria-label")
    page.get_by_label("Axis for reach").focus()
    page.keyboard.press("Space")
    pixels(page, "lines")
    assert "reach" not in label("aria-label")


@pytest.mark.slow
def test_an_axis_is_moved_by_its_name(small, opened):
    page = opened(small).page
    axes = page.locator("canvas.lines").get_attribute("aria-label").split(" across ")[1].split(", ")
    assert axes[:3] == ["a1", "a2", "ml1"]
    x, _ = place(page, "a1", 1)
    y = page.locator("canvas.lines").bounding_box()["y"] + 22
    drag(page, (x, y), (place(page, "ml1", 1)[0] + 20, y))
    moved = page.locator("canvas.lines").get_attribute("aria-label").split(" across ")[1].split(", ")
    assert moved == ["a2", "ml1", "a1", *axes[3:]]


@pytest.mark.parametrize(
    "goals",
    [
        {"minimise": ["cost", "peak_torque.link 1"]},
        pytest.param({"minimise": ["cost"]}, marks=pytest.mark.slow),
        pytest.param({"minimise": ["cost", "ml1"], "maximise": ["reach"]}, marks=pytest.mark.slow),
        pytest.param({"minimise": ["a1", "a2", "ml1"], "maximise": ["payload.mass"]}, marks=pytest.mark.slow),
    ],
)
def test_front_and_best_designs_are_those_of_python(goals, small, opened):
    page = opened(small, best=7, **goals).page
    columns = {name: x.astype(np.float32) for name, x in {**small.table, **small.results}.items()}
    done = ~small.failed  # cases of failed designs are numbers, too
    columns = {name: np.where(done, x, np.nan) for name, x in columns.items()}
    assert page.evaluate("armdyn.front()") == pareto_front(columns, **goals).tolist()
    assert list(page.evaluate("armdyn.best()")) == best_rows(columns, n=7, **goals).tolist()
    listed = [int(x) for x in page.locator(".pick").all_inner_texts()]
    assert listed == best_rows(columns, n=7, **goals).tolist()


@pytest.mark.slow
def test_objectives_are_chosen_turned_and_removed_in_the_page(small, opened):
    page = opened(small).page
    assert page.evaluate("armdyn.front()") == []
    add = page.get_by_label("Add an objective")
    add.select_option(label="least cost")
    page.get_by_label("Add an objective").select_option(label="greatest reach")
    columns = {**small.table, **small.results}
    assert page.evaluate("armdyn.front()") == pareto_front(columns, ["cost"], ["reach"]).tolist()
    drawn(page)
    front = len(pareto_front(columns, ["cost"], ["reach"]))
    assert f"; {front} on the Pareto front" in page.locator(".said").inner_text()
    page.get_by_role("button", name="Objective reach:").click()
    assert page.evaluate("armdyn.front()") == pareto_front(columns, ["cost", "reach"]).tolist()
    page.get_by_role("button", name="Remove the objective reach").click()
    assert list(page.evaluate("armdyn.best()")) == best_rows(columns, ["cost"]).tolist()
    drag(page, place(page, "a1", 0.1), place(page, "a1", 0.4))
    kept = np.isin(np.arange(len(small)), inside(page))
    within = {name: np.where(kept, x, np.nan) for name, x in columns.items()}
    assert list(page.evaluate("armdyn.best()")) == best_rows(within, ["cost"]).tolist()
    many = page.get_by_label("How many designs are listed")
    many.fill("3")
    many.press("Enter")
    assert page.locator(".pick").count() == 3


def test_a_saved_robot_file_is_the_robot_of_its_case(small, opened, tmp_path):
    page = opened(small, minimise="cost").page
    case = int(page.locator(".pick").nth(1).inner_text())
    with page.expect_download() as waiting:
        page.get_by_role("button", name=f"Robot file of case {case}").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == f"two-link_planar_arm-{case}.toml"
    assert Robot.load(path) == small.robot_of(case)
    page.locator(".pick").nth(1).click()
    assert page.locator(".picked h3").inner_text() == f"Case {case}"
    with page.expect_download() as waiting:
        page.locator(".picked").get_by_role("button", name="Robot file").click()
    waiting.value.save_as(path)
    assert Robot.load(path) == small.robot_of(case)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "four_bar"])
def test_robot_files_of_any_case_load(name, opened):
    robot = Robot.load(name)
    symbols = [symbol for symbol, x in robot.symbols.items() if abs(x) > 0][:3]
    ranges = {
        symbol: tuple(sorted((robot.symbols[symbol] * 0.999, robot.symbols[symbol]))) for symbol in symbols
    }
    ranges["payload.mass"] = (0, 1e-7)  # is written with a power of ten
    cases = Cases.draw(ranges, 20)
    found = Study(cases.columns, {"y": np.arange(20.0)}, np.full(20, ""), robot)
    page = opened(found).page
    for case in range(0, 20, 5):
        text = page.evaluate(f"armdyn.robotFile({case})")
        assert quietly(lambda text=text: Robot.from_toml(text)) == found.robot_of(case)


@pytest.mark.slow
def test_the_scatter_plot_shows_the_columns_chosen_and_keeps_a_rectangle(small, opened):
    page = opened(small).page
    before = pixels(page, "scatter")
    page.get_by_label("Across", exact=True).select_option(label="a1")
    page.get_by_label("Up", exact=True).select_option(label="reach")
    assert pixels(page, "scatter") != before
    assert page.locator("canvas.scatter").get_attribute("aria-label").startswith("reach over a1")
    before = pixels(page, "scatter")
    page.get_by_label("Colour", exact=True).select_option(label="cost")
    assert pixels(page, "scatter") != before
    before = pixels(page, "scatter")
    page.get_by_label("Colour", exact=True).select_option(label="outcome")
    assert pixels(page, "scatter") != before
    assert "target out of reach" in page.locator(".scale").inner_text()
    page.locator("canvas.scatter").scroll_into_view_if_needed()
    box = page.locator("canvas.scatter").bounding_box()
    left, width, top, height = box["x"] + 58, box["width"] - 72, box["y"] + 24, box["height"] - 62
    drag(page, (left + width / 2, top + 2), (left + width - 2, top + height - 2))
    a1 = small.table["a1"]
    middle = (a1.min() + a1.max()) / 2
    assert abs(a1[inside(page)].min() - middle) < 0.01
    assert np.isfinite(small.results["reach"][inside(page)]).all()
    page.keyboard.press("Escape")
    page.locator("canvas.scatter").press("Escape")
    assert count(page) == len(small)
    reach = small.results["reach"]
    case = int(np.nanargmin(reach))  # below it there is none
    edge = [0.03 * np.ptp(a1), 0.03 * (np.nanmax(reach) - np.nanmin(reach))]
    x = left + width * (a1[case] - a1.min() + edge[0]) / (np.ptp(a1) + 2 * edge[0])
    y = top + height * (1 - edge[1] / (np.nanmax(reach) - np.nanmin(reach) + 2 * edge[1]))
    page.mouse.move(x, y + 2)
    assert f"case {case}:" in page.locator(".readout").inner_text()
    page.mouse.click(x, y + 2)
    assert page.locator(".picked h3").inner_text() == f"Case {case}"
    page.get_by_role("button", name="Close this case").click()
    assert page.locator(".picked h3").count() == 0


@pytest.mark.slow
def test_designs_that_are_not_run_yet_are_counted_and_not_shown(small, opened):
    waiting = np.arange(400) % 4 == 0
    reasons = np.where(waiting, "not run yet", small.reasons)
    results = {name: np.where(waiting, np.nan, x) for name, x in small.results.items()}
    page = opened(Study(small.table, results, reasons, small.robot)).page
    assert inside(page) == np.flatnonzero(~waiting).tolist()
    assert page.locator(".said").inner_text() == "300 of 300 designs; 100 not run yet"


@pytest.mark.slow
def test_failing_designs_can_be_hidden_and_a_click_on_a_line_finds_it(small, opened):
    page = opened(small).page
    before = pixels(page, "lines")
    page.get_by_label(re.compile("failing designs")).uncheck()
    assert pixels(page, "lines") != before
    x0, y0 = place(page, "a1", 1.0)
    x1, _ = place(page, "a2", 1.0)
    page.mouse.click((x0 + x1) / 2, y0 + 30)
    case = int(page.locator(".picked h3").inner_text().removeprefix("Case "))
    parts = [(small.table[k][case] - small.table[k].min()) / np.ptp(small.table[k]) for k in ("a1", "a2")]
    span = place(page, "a1", 0)[1] - y0
    assert abs(span * (1 - np.mean(parts)) - 30) < 8


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024, 1280])
def test_nothing_is_wider_than_the_window_and_nothing_is_asked_of_the_network(width, scheme, small, opened):
    one = opened(small, width, 800, scheme, minimise=["cost", "reach"])
    root = "document.documentElement"
    assert one.page.evaluate(f"{root}.scrollWidth - {root}.clientWidth") <= 0
    assert one.messages == []
    assert one.asked == []
    unnamed = one.page.evaluate(
        """() => [...document.querySelectorAll("#live :is(input, select, button, canvas)")].filter(x =>
        !(x.getAttribute("aria-label") || (x.closest("label") ?? x).textContent.trim())).length"""
    )
    assert unnamed == 0


@pytest.mark.slow
def test_a_hundred_thousand_designs_are_drawn_and_answer_the_mouse(opened):
    found = study_of(Cases.draw(RANGES, 100_000, "latin"))
    one = opened(found, minimise=["cost", "reach"])
    page = one.page
    columns = {
        name: np.where(found.failed, np.nan, x.astype(np.float32)) for name, x in found.results.items()
    }
    assert page.evaluate("armdyn.front()") == pareto_front(columns, ["cost", "reach"]).tolist()
    drag(page, place(page, "a1", 0.25), place(page, "a1", 0.75))
    assert 49_000 < count(page) < 51_000
    took = [page.evaluate(f"armdyn.keep('a1', 0.8, {1 + 0.02 * k})") for k in range(8)]
    assert np.median(took) < 2000  # [ms], of which it computes for some 20
    kept = (found.table["a1"] >= 0.8) & (found.table["a1"] <= 1.14)
    assert count(page) == kept.sum()
    assert one.messages == []
    assert one.asked == []
    assert (page.context.pages[0].url).startswith("file:")
