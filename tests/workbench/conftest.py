"""The workbench driven in headless Chromium: a page for each test.

A page fails its test if it logged an error or asked another host for anything.
"""

import re
from collections.abc import Iterator

import numpy as np
import pytest

from browsers import launched

pytest.importorskip("viser", reason='viser is not installed: pip install "armdyn[view]"')

import armdyn


class Page:
    """A page of a workbench, and what a user does in it."""

    def __init__(self, bench, page):
        self.bench, self.page = bench, page
        self.errors, self.hosts = [], set()
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda asked: self.hosts.add(re.sub(r"^(blob:|data:.*)", "", asked.url)))
        page.on("websocket", lambda line: self.hosts.add(line.url))
        page.goto(bench.url)
        page.wait_for_selector("[data-armdyn=torques]", timeout=60_000)

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click(force=True)  # frames may be rare

    def field(self, label):
        """The input that stands beside a label; of a slider, the one for its number."""
        exactly = re.compile(f"^{re.escape(label)}$")
        name = self.page.locator("label").filter(has_text=exactly).locator("visible=true").first
        row = name.locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")
        return row.locator("input[type=text], input[type=number], input[inputmode]").last

    def fill(self, label, value):
        field = self.field(label)
        field.fill(f"{value}")
        field.press("Enter")

    def pick(self, label, option):
        """An option of a dropdown, which shows another value before."""
        exactly = re.compile(f"^{re.escape(label)}$")
        name = self.page.locator("label").filter(has_text=exactly).locator("visible=true").first
        row = name.locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")
        row.locator("input:not([type=hidden])").first.evaluate("input => input.click()")
        self.page.get_by_role("option", name=option, exact=True).evaluate("option => option.click()")

    def button(self, name):
        self.page.get_by_role("button", name=name, exact=True).click(force=True)

    def torques(self):
        """(n,): the torques that the page shows, with all digits."""
        rows = self.page.eval_on_selector_all(
            "[data-armdyn=torques] [data-tau]", "rows => rows.map(row => row.dataset.tau)"
        )
        return np.array([float(x) for x in rows])

    def wait(self, condition, what="the page", seconds=20):
        """Wait until `condition()` holds, looking again and again."""
        for _ in range(int(seconds / 0.05)):
            if condition():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"waited {seconds} s in vain for {what}")

    def wait_for_torques(self, expected, tolerance=1e-9):
        scale = max(1.0, np.abs(expected).max())
        self.wait(lambda: np.abs(self.torques() - expected).max() <= tolerance * scale, "torques")

    def check(self):
        ours = self.bench.url.split("//")[1]
        foreign = {host for host in self.hosts if host and ours not in f"{host}/"}
        assert not self.errors, self.errors
        assert not foreign, foreign


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """One browser for the whole folder."""
    with launched() as found:
        yield found


@pytest.fixture
def workbench(chromium) -> Iterator:
    """`workbench(robot, …)` opens a workbench and a page of it; both are closed, and the page checked."""
    opened = []

    def open_(robot, *arguments, width=1280, height=800, **options):
        bench = armdyn.view(robot, *arguments, port=0, browser=False, **options)
        context = chromium.new_context(viewport={"width": width, "height": height})
        opened.append((bench, context, None))
        page = Page(bench, context.new_page())
        opened[-1] = (bench, context, page)
        return page

    yield open_
    for bench, context, page in opened:
        context.close()
        bench.close()
        if page is not None:
            page.check()


@pytest.fixture
def opened():
    """`opened(robot, …)`: the bench of a workbench without a browser; it is closed afterwards."""
    found = []

    def open_(*arguments, **options):
        found.append(armdyn.view(*arguments, port=0, browser=False, **options))
        return found[-1]._bench

    yield open_
    for bench in found:
        bench.close()
