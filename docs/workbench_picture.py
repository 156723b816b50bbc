"""Take the picture of the workbench, docs/figures/workbench.png, in headless Chromium. Needs playwright."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from armdyn import Robot, view

FIGURE = Path(__file__).resolve().parent / "figures" / "workbench.png"
SIZE = {"width": 1280, "height": 760}
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
LARGEST = 250_000  # bytes
NOTE = "#webgl-software-rendering"  # viser's warning of slow drawing, which is not of interest here


def take() -> bytes:
    """The page as PNG: an arm that moves, its torques at the left, its sliders at the right."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with view(Robot.load("puma560"), port=0, browser=False) as bench, sync_playwright() as driver:
        bench._bench.change(q=[-0.9, -0.5, 0.4, 0.3, 0.6, 0.0], qd=[0.8, -1.0, 1.2, 0.5, 0.4, 1.0])
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.goto(bench.url)
        page.wait_for_selector("[data-armdyn=torques]", timeout=120_000)
        page.add_style_tag(content=f"{NOTE} {{ display: none }}")
        page.wait_for_timeout(5000)
        found = page.screenshot(timeout=120_000)
        browser.close()
    return found


def small(picture: bytes) -> bytes:
    """As PNG files go: without an alpha channel, packed as well as it can be."""
    out = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    content = small(take())
    if len(content) > LARGEST:
        raise SystemExit(f"{len(content)} bytes: more than {LARGEST}")
    FIGURE.write_bytes(content)
    print(f"wrote {FIGURE}: {len(content)} bytes")
