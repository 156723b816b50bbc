"""How soon the workbench's page answers, and how often it shows new torques while a slider is dragged.

    python benchmarks/workbench.py [ROBOT] [SECONDS]

The page runs in headless Chromium with software rendering. In a fresh browser a script presses the second
slider as soon as the page shows it, and waits for other torques, three times. Then a script drags that
slider, 60 moves a second as browsers tell them; an observer counts the different torques that the page
shows. Then the server changes the state 60 times a second, as when a motion is played. Both are measured in
a window of 1280 by 800 pixels, and in a small one where drawing costs little. Needs the extra `view` and
playwright with Chromium.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import armdyn
from armdyn import Robot

ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WINDOWS = ((1280, 800), (1000, 300))  # pixels; panels take 760 of the width

# Drags the second slider to and fro, as gravity does not act at the first joint; counts different torques,
# frames and moves.
MEASURE = """seconds => new Promise(done => {
  const label = [...document.querySelectorAll("label")].find(e => /^2 /.test(e.textContent));
  const slider = document.getElementById(label.htmlFor).querySelector(".mantine-Slider-track");
  const box = slider.getBoundingClientRect(), y = box.y + box.height / 2;
  const said = () => [...document.querySelectorAll("[data-armdyn=torques] [data-tau]")]
    .map(row => row.dataset.tau).join();
  let last = said(), updates = 0, frames = 0, moves = 0;
  const watcher = new MutationObserver(() => { if (said() !== last) { updates++; last = said(); } });
  watcher.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
  const frame = () => { frames++; if (!over) requestAnimationFrame(frame); };
  const event = (name, x) => new MouseEvent(name, { clientX: x, clientY: y, bubbles: true, buttons: 1 });
  let over = false;
  const start = performance.now();
  slider.dispatchEvent(event("mousedown", box.x + box.width / 2));
  const timer = setInterval(() => {
    const t = (performance.now() - start) / 1000;
    document.dispatchEvent(event("mousemove", box.x + box.width * (0.5 + 0.35 * Math.sin(2 * t))));
    moves++;
    if (t >= seconds) {
      clearInterval(timer);
      document.dispatchEvent(event("mouseup", box.x));
      over = true;
      watcher.disconnect();
      done({ updates: updates / t, frames: frames / t, moves: moves / t });
    }
  }, 1000 / 60);
  requestAnimationFrame(frame);
})"""

# Presses the second slider as soon as the page has it; when that was, and how long other torques took [ms].
FIRST = """() => new Promise(done => {
  const said = () => [...document.querySelectorAll("[data-armdyn=torques] [data-tau]")]
    .map(row => row.dataset.tau).join();
  const press = () => {
    const label = [...document.querySelectorAll("label")].find(e => /^2 /.test(e.textContent));
    const track = label && document.getElementById(label.htmlFor)?.querySelector(".mantine-Slider-track");
    if (!track || !said()) return setTimeout(press, 20);
    const shown = performance.now(), before = said(), box = track.getBoundingClientRect();
    const x = box.x + 0.3 * box.width, y = box.y + box.height / 2;
    const at = { clientX: x, clientY: y, bubbles: true, buttons: 1 };
    track.dispatchEvent(new MouseEvent("mousedown", at));
    for (const name of ["mousemove", "mouseup"]) document.dispatchEvent(new MouseEvent(name, at));
    const look = () => said() === before ? setTimeout(look, 5)
      : requestAnimationFrame(() => done({ shown, answer: performance.now() - shown }));
    look();
  };
  press();
})"""
TRIALS = 3

# Until the page is drawn: sixty frames.
WARM = """() => new Promise(done => {
  let frames = 0;
  const frame = () => (++frames < 60 ? requestAnimationFrame(frame) : done());
  requestAnimationFrame(frame);
})"""

# Counts different torques while the server changes the state.
WATCH = MEASURE.replace('slider.dispatchEvent(event("mousedown", box.x + box.width / 2));', "").replace(
    "document.dispatchEvent(event", "void (event"
)


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "panda"
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    robot = Robot.load(name)
    print(f"server: {1000 * cost(robot):.2f} ms a state")
    print(f"{robot.name}: {robot.n} joints; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as driver:
        for _ in range(TRIALS):
            browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
            _first(browser, robot)
            browser.close()
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for size in WINDOWS:
            _measure(browser, robot, size, seconds)
        browser.close()
    print(f"load at the end: {os.getloadavg()[0]:.1f}")


def cost(robot: Robot, states: int = 200) -> float:
    """Seconds of CPU that the server takes for a new state: torques by cause, their bars, poses of bodies."""
    with armdyn.view(robot, port=0, browser=False) as opened:
        bench = opened._bench
        moments = [replace(bench.moment, q=bench.moment.q + 1e-3 * k) for k in range(states)]
        start = time.process_time()
        for moment in moments:
            for listener in bench._listeners:
                listener(moment)
        return (time.process_time() - start) / states


def _first(browser: Any, robot: Robot) -> None:
    with armdyn.view(robot, port=0, browser=False) as bench:
        page = browser.new_page(viewport={"width": WINDOWS[0][0], "height": WINDOWS[0][1]})
        page.goto(bench.url, wait_until="commit")
        page.wait_for_selector("#root", state="attached")
        found = page.evaluate(FIRST)
        print(f"shown after {found['shown'] / 1000:.2f} s, first answer {found['answer'] / 1000:.2f} s later")


def _measure(browser: Any, robot: Robot, size: tuple[int, int], seconds: float) -> None:
    with armdyn.view(robot, port=0, browser=False) as bench:
        context = browser.new_context(viewport={"width": size[0], "height": size[1]})
        page = context.new_page()
        page.goto(bench.url)
        page.wait_for_selector("[data-armdyn=torques]", timeout=120_000)
        page.evaluate(WARM)
        _say(size, "dragged", page.evaluate(MEASURE, seconds))
        _say(size, "played", _played(page, bench, seconds))
        context.close()


def _played(page: Any, bench: Any, seconds: float) -> dict[str, float]:
    """With states that come from the server, 60 a second, as when a motion is played."""
    over = threading.Event()

    def play() -> None:
        start = time.perf_counter()
        q = bench.q
        while not over.wait(1 / 60):
            bench.q = q + 0.3 * np.sin(2 * (time.perf_counter() - start))

    player = threading.Thread(target=play)
    player.start()
    try:
        return dict(page.evaluate(WATCH, seconds))
    finally:
        over.set()
        player.join()


def _say(size: tuple[int, int], how: str, found: dict[str, float]) -> None:
    rates = ", ".join(f"{rate:.1f} {name}/s" for name, rate in found.items())
    print(f"{size[0]}x{size[1]}, {how}: {rates}")


if __name__ == "__main__":
    main()
