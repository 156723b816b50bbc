"""Which tests run elsewhere, too; pages of a browser, for the tests of any folder."""

import gc
from collections import Counter
from importlib.util import find_spec

import pytest

from browsers import launched

collect_ignore = [] if find_spec("resource") else ["fuzz"]  # these limit what a child may take


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Mark as `portable` a tenth of the quick tests: the first of every file, then each twelfth."""
    seen = Counter()
    for item in items:
        if item.get_closest_marker("slow") is None:
            if seen[item.path] % 12 == 0:
                item.add_marker("portable")
            seen[item.path] += 1


def pytest_collection_finish():
    """Thousands of tests and what they import stay to the end: no search for garbage goes through them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a module."""
    with launched() as found:
        yield found


class Tab:
    """A page of the browser, with what it said and what it asked for."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.messages, self.requests = [], []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path):
        self.page.goto(path.as_uri())
        return self.page

    @property
    def asked(self):
        """Addresses beside that of the page itself."""
        return [url for url in self.requests if not url.startswith(("file:", "data:"))]


@pytest.fixture
def tab(browser):
    tabs = []

    def make(**options):
        tabs.append(Tab(browser, **options))
        return tabs[-1]

    yield make
    for one in tabs:
        one.context.close()
