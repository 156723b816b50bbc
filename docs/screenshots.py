"""Pictures of the built site, to be looked at: python docs/screenshots.py [PAGE …]

Six pages, or those named, on a phone (390 px) and on a desk (1440 px), light and dark, into
build/screenshots. Says which pages are wider than their window. Needs `make docs` first, Playwright, and
Chromium ($CHROMIUM, or the one in the path).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
TARGET = ROOT / "build" / "screenshots"
PAGES = ("index", "tutorial", "functions", "benchmarks", "inside", "reference/robot")
WIDTHS = (390, 1440)
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def take(browser: Browser, page: str, width: int, scheme: str) -> int:
    """One picture; gives by how many pixels the page is wider than the window."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab = context.new_page()
    tab.goto((SITE / f"{page}.html").as_uri())
    tab.wait_for_timeout(300)
    tab.screenshot(path=TARGET / f"{page.replace('/', '-')}-{width}-{scheme}.png")
    wider = tab.evaluate(WIDER)
    context.close()
    return wider


def main(pages: list[str]) -> int:
    TARGET.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    wide = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium)
        for page in pages or PAGES:
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    over = take(browser, page, width, scheme)
                    wide += over > 0
                    print(f"{page} {width} {scheme}" + (f": {over} px too wide" if over > 0 else ""))
        browser.close()
    return wide > 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
