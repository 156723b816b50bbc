"""The live part of a report as HTML: data, scripts, and the policy that lets these scripts alone run."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from armdyn.expression import ArmdynError
from armdyn.report.live.finding import LiveFinding
from armdyn.report.page.markup import Markup, tag, warning
from armdyn.report.page.page import POLICY, Live

_SCRIPTS = ("model.js", "camera.js", "solids.js", "bars.js", "chart.js", "live.js")
TITLE = "The arm, live"


def write_live(found: LiveFinding) -> Live:
    """A section that is hidden until its script shows it."""
    script = script_text(found.functions)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    body = tag(
        "section",
        tag("h2", TITLE),
        tag("div", id="live-part"),
        tag("script", json_markup(found.data), type="application/json", id="live-data"),
        tag("script", Markup(script)),
        id="live",
        hidden="",
    )
    link = tag("p", tag("a", TITLE, href="#live"), id="live-link", hidden="")
    style = files("armdyn.report.live").joinpath("live.css").read_text("utf-8")
    return Live(link, body, f"{POLICY}; script-src 'sha256-{digest}'", style)


def without_live(problem: ArmdynError) -> Live:
    """What a page says where a live part is not possible."""
    return Live(Markup(), warning(f"A live part is not possible here: {problem}."), POLICY, "")


def script_text(functions: str) -> str:
    """The script of a page. Nothing in it comes from names: these are data."""
    here = files("armdyn.report.live")
    parts = [functions, *(here.joinpath(name).read_text("utf-8") for name in _SCRIPTS)]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "})();\n"


def json_markup(data: Any) -> Markup:
    """Data as JSON that no name can end: every < is written as an escape."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))
