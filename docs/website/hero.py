"""The first page begins with the live part of a report, which is made when the site is built."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

from website.pages import Pages

PICTURE = re.compile(r"^!\[(?P<title>[^\]]+)\]\(figures/readme\.svg\)$", re.MULTILINE)
FRAME = """<iframe class="live" src="live.html" title="{title}"></iframe>
<script>
const frame = document.querySelector("iframe.live");
const tell = () => frame.contentWindow.postMessage(document.body.dataset.mdColorScheme === "slate", "*");
addEventListener("message", event => {{
  if (event.source !== frame.contentWindow) return;
  frame.style.height = event.data;
  tell();
}});
new MutationObserver(tell).observe(document.body, {{ attributeFilter: ["data-md-color-scheme"] }});
</script>
<p class="caption">Made by <code>write_report(robot, "puma560.html", motion, live=True)</code>:
one file, no server.
<a href="puma560.html">The whole report</a> · <a href="reports.html">how to make one of your arm</a></p>"""
STYLE = """<style>
html { font-size: 87.5% }
header, nav { display: none !important }
.page { display: block !important; max-width: none !important; padding: 0 1rem 0.5rem !important }
#live h2 { margin-top: 0.6rem !important }
#live .legend { margin-bottom: 0.6rem }
@media (max-width: 40rem) {
  #live-part > p, .chart, .chart-title { display: none }
}
</style>"""
# Pages opened as files may not look into each other, but may send messages: the frame says how high its
# content is (where its picture stays in view while the rest moves, nothing), and gets the site's colours.
SCRIPT = """
const night = matchMedia("(prefers-color-scheme: dark)");
const chosen = new EventTarget();
chosen.matches = night.matches;
window.matchMedia = () => chosen;
const rules = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules])
  .filter(rule => rule.media && rule.media.mediaText === night.media);
addEventListener("message", event => {
  if (event.source !== parent || event.data === chosen.matches) return;
  chosen.matches = event.data;
  for (const rule of rules) rule.media.mediaText = chosen.matches ? "all" : "not all";
  document.documentElement.style.colorScheme = chosen.matches ? "dark" : "light";
  chosen.dispatchEvent(new Event("change"));
});
addEventListener("DOMContentLoaded", () => {
  const page = document.querySelector(".page"), grid = document.querySelector(".live-grid");
  new ResizeObserver(() => {
    const whole = getComputedStyle(grid).display === "grid";
    parent.postMessage(whole ? `${Math.ceil(page.getBoundingClientRect().bottom + scrollY)}px` : "", "*");
  }).observe(page);
});
"""


def with_live_report(pages: Pages) -> Pages:
    """The pages with a live report of the README's arm and motion where the first page has their picture."""
    front = pages.pages["index.md"]
    text, count = PICTURE.subn(lambda found: FRAME.format(title=found["title"]), front.text)
    assert count == 1, "docs/index.md shows figures/readme.svg once, alone on its line"
    text = f"---\nhide: [toc]\n---\n\n{text}"  # the report takes the width of the list of headings
    found = replace(front, text=text, files={name: text.encode() for name, text in reports().items()})
    return replace(pages, pages={**pages.pages, "index.md": found})


def reports() -> dict[str, str]:
    """The report, and its live part alone."""
    from armdyn import Robot, Trajectory
    from armdyn.report.page import Page
    from armdyn.report.report import report
    from armdyn.report.sections.live import write_live
    from armdyn.report.subject import Subject

    robot = Robot.load("puma560")
    start, end = [-0.4, -0.2, -1.2, 0, 0.4, 0], [-2.6, 0.9, -2.0, 0.8, 0.5, 1]
    motion = Trajectory.quintic(start, end, duration=1.0)
    live = write_live(Subject.of(robot, motion, None))
    digest = b64encode(sha256(SCRIPT.encode()).digest()).decode()
    live = replace(live, policy=f"{live.policy} 'sha256-{digest}'")
    inside = f"{STYLE}<script>{SCRIPT}</script></head>"
    return {
        "puma560.html": report(robot, motion, live=True),
        "live.html": Page(robot.name, "", live=live).html().replace("</head>", inside, 1),
    }
