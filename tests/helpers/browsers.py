"""The system's Chromium, driven by Playwright."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((path for name in NAMES if (path := shutil.which(name))), None)
# Software rendering, and nothing that Chromium would fetch for itself.
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@contextmanager
def launched():
    """A browser; without one the test is skipped. Until it is closed, an event loop runs in this thread."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome on this machine")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
        yield found
        found.close()
