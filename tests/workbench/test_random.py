"""Random interactions: whatever is clicked, dragged, typed or uploaded, the workbench goes on and is right.

The test knows nothing of the panels: it looks for what can be clicked, filled or dragged in two pages.
$ARMDYN_SEED chooses other interactions.
"""

import logging
import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot

# Chooses one thing that can be used, brings it into view and says what and where it is. Options of an open
# list come first. viser's own settings (an icon) are left alone: they have the server's address.
CHOOSE = """chance => {
  const usable = e => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.type !== "hidden"
    && !e.closest(".mantine-ActionIcon-root") && e.getAttribute("aria-disabled") !== "true";
  const all = query => [...document.querySelectorAll(query)].filter(usable);
  const options = all("[role=option]"), things = "button, [role=button], [role=tab], [role=slider], input";
  const found = options.length ? options : all(things + ", textarea, canvas");
  if (!found.length) return null;
  const e = found[Math.floor(chance * found.length)];
  e.scrollIntoView({ block: "nearest" });
  const { x, y, width, height } = e.getBoundingClientRect(), role = e.getAttribute("role");
  const typed = e.tagName === "INPUT" && !e.readOnly && !["checkbox", "file", "radio"].includes(e.type);
  const kind = e.tagName === "CANVAS" ? "canvas" : role === "slider" ? "slider"
    : e.tagName === "TEXTAREA" || typed ? "text" : "click";
  return { kind, x, y, width, height, what: e.textContent || role || e.type };
}"""

TEXTS = ["0", "1", "-1", "0.25", "1e3", "-1e9", "1e308", "nan", "inf", "1,5", "1 2 3", "", " ", "x", "--"]
TEXTS += ["<script>alert(1)</script>", "'; drop", "\u202e\u0000", "9" * 60, "[1, 2]", "é漢字", "../../x"]
FILES = [b"", b"t,q1\n0,x\n", bytes(range(256)), b"t,q1,q2\n0,0,0\n1,1,1\n"]
KEYS = ["ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "Escape", "Tab", "Enter", "Space"]


class Hands:
    """What a restless user does in a page, by chance."""

    def __init__(self, page, chance):
        self.page, self.chance, self.done = page, chance, []

    def act(self):
        found = self.page.evaluate(CHOOSE, self.chance.random())
        if found is None:
            return
        self.done.append((found["kind"], str(found["what"])[:40]))
        getattr(self, found["kind"])(found)

    def upload(self):
        """Garbage for one of the fields that take files."""
        fields = self.page.locator("input[type=file]")
        if count := fields.count():
            name = self.chance.choice(["x.csv", "x.toml", "x.urdf", "<b>.csv", "x"])
            content = self.chance.choice(FILES)
            file = {"name": name, "mimeType": "text/csv", "buffer": content}
            fields.nth(self.chance.randrange(count)).set_input_files([file])
            self.done.append(("file", name))

    def _within(self, box):
        at = (self.chance.uniform(0.05, 0.95), self.chance.uniform(0.05, 0.95))
        return box["x"] + at[0] * box["width"], box["y"] + at[1] * box["height"]

    def click(self, box):
        self.page.mouse.click(*self._within(box))

    def text(self, box):
        self.page.mouse.click(*self._within(box), click_count=3)
        text = self.chance.choice(TEXTS)
        if text.isascii() and text.isprintable():
            self.page.keyboard.type(text)  # key by key
        else:
            self.page.keyboard.insert_text(text)
        self.page.keyboard.press(self.chance.choice(["Enter", "Tab", "Escape"]))

    def slider(self, box):
        x, y = self._within(box)
        if self.chance.random() < 0.3:
            self.page.mouse.click(x, y)
            self.page.keyboard.press(self.chance.choice(KEYS))
            return
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + self.chance.uniform(-150, 150), y, steps=4)
        self.page.mouse.up()

    def canvas(self, box):
        """Looking around; and whatever lies in the middle, such as the tip's handle, is dragged."""
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        x, y = x + self.chance.gauss(0, box["width"] / 10), y + self.chance.gauss(0, box["height"] / 10)
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x + self.chance.uniform(-60, 60), y + self.chance.uniform(-60, 60), steps=4)
        self.page.mouse.up()


def settled(page):
    """Whether the page shows the torques of the state; not if that changes while we look."""
    moment = page.bench._bench.moment
    robot = moment.robot
    tau = robot.inverse_dynamics(moment.q, moment.qd, moment.qdd, moment.wrench)
    shown = page.torques()
    same = page.bench._bench.moment is moment and shown.shape == tau.shape
    return same and np.abs(shown - tau).max() <= 1e-9 * max(1.0, np.abs(tau).max())


def stop(bench):
    """Give up a simulation: one of ten minutes may have been asked for."""
    for handle in list(bench.gui._gui_input_handle_from_uuid.values()):
        if getattr(handle, "label", None) == "Stop" and handle.visible:
            for call in handle._impl.update_cb:
                call(None)


def at_joints(bench):
    """Torques at the joints, if somebody chose the motors."""
    for handle in list(bench.gui._gui_input_handle_from_uuid.values()):
        if getattr(handle, "label", None) == "Torques at":
            handle.value = "Joints"


def torques_of_the_lines(page):
    """What the Python lines compute, where the file that can be read lies, and the torques of the state."""
    found = {"print": lambda *_: None}
    for name in ("x.csv", "<b>.csv"):
        Path(name).write_bytes(FILES[-1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(page.bench.python, found)
    return found["tau"], page.bench._bench.moment.tau


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count"),
    [("planar", 100), ("five_bar", 100), ("planar", 1000), ("five_bar", 1000)],
    ids=lambda x: f"{x}",
)
def test_random_interactions(workbench, chromium, caplog, capfd, tmp_path, monkeypatch, name, count):
    monkeypatch.chdir(tmp_path)  # the Python lines read the file that was sent from here
    chance = random.Random(int(os.environ.get("ARMDYN_SEED", "1")))
    page = workbench(Robot.load(name), width=1000, height=500)
    context = chromium.new_context(viewport={"width": 1000, "height": 500})
    try:
        other = type(page)(page.bench, context.new_page())
        both = [Hands(page.page, chance), Hands(other.page, chance)]
        for k in range(count):
            hands = both[chance.random() < 0.2]
            if chance.random() < 0.03:
                hands.upload()
            else:
                hands.act()
            if k % 100 == 99:
                other.page.reload()
                other.page.wait_for_selector("[data-armdyn=torques]", timeout=300_000)
        assert len({kind for kind, _ in both[0].done}) >= 3, both[0].done
        bench = page.bench._bench
        bench.player.pause()
        stop(bench)
        page.wait(lambda: not bench._job.locked(), "the last computation", 300)
        bench.player.pause()  # a run that was simulated is played
        at_joints(bench)
        for shown in (page, other):  # as they were: another tab may hide the torques
            shown.page.reload()
            shown.page.wait_for_selector("[data-armdyn=torques]", timeout=300_000)
        page.wait(lambda: settled(page), f"the torques of the state after {both[0].done[-20:]}", 60)
        page.wait(lambda: settled(other), "the torques in the other page", 120)
        lines, shown = torques_of_the_lines(page)
        assert np.abs(lines - shown).max() <= 1e-9 * max(1.0, np.abs(shown).max()), page.bench.python
        other.check()
    finally:
        context.close()
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not errors, errors
    assert "Traceback" not in capfd.readouterr().err
