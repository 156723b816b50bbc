"""Take the pictures of pages in docs/figures, in headless Chromium: python docs/page_pictures.py [NAME …]

`workbench.png` and `workbench-dark.png` are the workbench, `study.png` the page of the study in
docs/studies.md. Needs playwright.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from armdyn import Robot, view
from armdyn.report import write_study_report
from armdyn.studies import StudyFile

DOCS = Path(__file__).resolve().parent
SIZE = {"width": 1280, "height": 760}
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
LARGEST = 250_000  # bytes
NOTE = ".ad-tools span"  # that this browser draws on the processor is not of interest here


def workbench(browser: Browser, scheme: Literal["light", "dark"] = "light") -> bytes:
    """An arm that moves, its torques at the left, its sliders at the right."""
    with view(Robot.load("puma560"), port=0, browser=False) as bench:
        bench._bench.change(q=[-0.9, -0.5, 0.4, 0.3, 0.6, 0.0], qd=[0.8, -1.0, 1.2, 0.5, 0.4, 1.0])
        page = browser.new_page(viewport=SIZE, color_scheme=scheme)
        page.goto(bench.url)
        page.wait_for_selector("[data-armdyn=torques]", timeout=120_000)
        page.add_style_tag(content=f"{NOTE} {{ display: none }}")
        page.wait_for_timeout(5000)
        return page.screenshot(timeout=120_000)


def workbench_dark(browser: Browser) -> bytes:
    """The same for readers whose pages are dark."""
    return workbench(browser, "dark")


def study(browser: Browser) -> bytes:
    """The designs of the study file in docs/studies.md, with a range on an axis and one design picked."""
    found = re.search(
        r"^```toml\n(.*?)^```$", (DOCS / "studies.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found
    with TemporaryDirectory() as folder:
        path = Path(folder) / "designs.toml"
        path.write_text(found[1], "utf-8")
        given = StudyFile.load(path)
        goals = {"minimise": given.minimise, "maximise": given.maximise}
        file = write_study_report(given.run(), Path(folder) / "study.html", **goals)
        page = browser.new_page(viewport={"width": 1280, "height": 1190})
        page.goto(file.as_uri())
        page.evaluate("armdyn.keep('payload.mass', 1, 2.5)")
        page.wait_for_timeout(1000)
        page.locator(".pick").nth(1).click()
        page.wait_for_timeout(500)
        box = page.locator("#live-part").bounding_box()
        assert box
        clip = {"x": box["x"] - 16, "y": box["y"] - 8, "width": box["width"] + 24, "height": 1000}
        return page.screenshot(full_page=True, clip=clip)


def small(picture: bytes) -> bytes:
    """As PNG files go: without an alpha channel, in 256 colours where all would be too much."""
    image, out = Image.open(io.BytesIO(picture)).convert("RGB"), io.BytesIO()
    image.save(out, "PNG", optimize=True)
    if out.tell() > LARGEST:
        out = io.BytesIO()
        image.quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(names: list[str]) -> None:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for take in (workbench, workbench_dark, study):
            if names and take.__name__ not in names:
                continue
            content = small(take(browser))
            path = DOCS / "figures" / f"{take.__name__.replace('_', '-')}.png"
            if len(content) > LARGEST:
                raise SystemExit(f"{path.name}: {len(content)} bytes: more than {LARGEST}")
            path.write_bytes(content)
            print(f"wrote {path}: {len(content)} bytes")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
