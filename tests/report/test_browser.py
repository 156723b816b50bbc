"""The report in a real browser: no messages, nothing asked of the network, every picture there."""

import json
import re
import subprocess
from html import escape

import pytest

from armdyn import Robot
from armdyn.report import write_report
from armdyn.report.page import POLICY
from browsers import BROWSER

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    "--v=0",
    "--virtual-time-budget=10000",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the browser's own wishes stay unheard
]
INLINE = "'unsafe-inline'"
COUNT = """<script>
const pictures = [...document.images].filter(x => x.complete && x.naturalWidth > 100).length;
const formula = document.querySelector('math[display=block]').getBoundingClientRect();
const table = document.querySelector('mtable mtr').children;
document.title = JSON.stringify({
  pictures, width: formula.width, height: formula.height,
  aligned: table[0].getBoundingClientRect().right <= table[1].getBoundingClientRect().left + 1,
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
</script>"""


NARROW = """<script>
addEventListener("load", () => {
  const root = document.documentElement;
  parent.document.title = JSON.stringify({
    width: innerWidth, overflow: root.scrollWidth - root.clientWidth,
    clipped: [...document.querySelectorAll(".table")].filter(x => x.scrollWidth > x.clientWidth + 1).length,
    beyond: [...document.querySelectorAll(".table, .picture, .note")].filter(
      x => x.getBoundingClientRect().right > root.clientWidth).length,
    font: [...document.fonts].some(x => x.family.includes("Armdyn Maths") && x.status === "loaded"),
  });
});
</script>"""


def browse(page, folder, *options):
    """What a browser makes of a page: its DOM, its messages, the addresses it asked for."""
    log = folder / "net.json"
    arguments = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}", *options]
    run = subprocess.run(
        [*arguments, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    messages = [line for line in run.stderr.splitlines() if ":CONSOLE" in line]
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    pages = [x for x in events if x.get("initiator", "not an origin") != "not an origin"]  # not the browser's
    asked = {x["url"] for x in pages if not x["url"].startswith(("file:", "data:"))}
    return run.stdout, messages, asked


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
@pytest.mark.parametrize("width", [1200, 500])
@pytest.mark.parametrize("name", ["planar", "puma560"])
def test_report_opens_without_messages_requests_or_missing_pictures(name, width, tmp_path):
    page = write_report(Robot.load(name), tmp_path / "report.html")
    text = page.read_text("utf-8")
    page.write_text(with_script(page, COUNT), "utf-8")
    dom, messages, asked = browse(page, tmp_path, f"--window-size={width},900")
    assert messages == []
    assert asked == set()
    found = json.loads(re.search(r"<title>(.*?)</title>", dom)[1])
    assert found["pictures"] == text.count("<img ") > 8
    assert found["width"] > 100
    assert found["height"] > 20
    assert found["aligned"]
    assert found["overflow"] <= 0, "the page is wider than the window"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
@pytest.mark.parametrize("name", ["planar", "stanford", "puma560", "panda"])
def test_tables_use_the_margin_before_they_scroll_and_a_telephone_shows_no_overflow(name, tmp_path):
    text = with_script(write_report(Robot.load(name), tmp_path / "report.html"), NARROW)
    for width in (390, 1265):
        page = tmp_path / f"{width}.html"
        frame = f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{escape(text)}"></iframe>'
        page.write_text(f"<!doctype html><title></title>{frame}", "utf-8")
        dom, _, _ = browse(page, tmp_path, "--window-size=1400,1000")
        found = json.loads(re.search(r"<title>(.*?)</title>", dom)[1])
        assert found["width"] == width
        assert found["overflow"] <= 0
        assert found["beyond"] == 0
        assert found["font"], "the maths font was not loaded"
        assert width < 1000 or found["clipped"] == 0


def with_script(page, script):
    """The text of a report that may run a script, which it has at its end."""
    text = page.read_text("utf-8")
    allowed = text.replace(escape(POLICY), f"{escape(POLICY)}; script-src {escape(INLINE)}")
    assert allowed != text
    return allowed.replace("</body>", f"{script}</body>")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium or Chrome on this machine")
def test_this_test_would_see_a_message_a_request_and_a_missing_picture(tmp_path):
    page = tmp_path / "bad.html"
    formula = "<math display='block'><mtable><mtr><mtd>a</mtd><mtd>b</mtd></mtr></mtable></math>"
    picture = "<img src='http://127.0.0.1:9/x.png'>"
    script = "<script>console.error('no')</script>"
    page.write_text(f"<!doctype html><body>{picture}{formula}{script}{COUNT}</body>")
    dom, messages, asked = browse(page, tmp_path)
    assert len(messages) >= 1
    assert any("127.0.0.1:9" in address for address in asked)
    assert json.loads(re.search(r"<title>(.*?)</title>", dom)[1])["pictures"] == 0
