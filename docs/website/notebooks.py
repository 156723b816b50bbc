"""Executed notebooks as Markdown: text, code, and what the code showed."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

PICTURES = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}


def converted(path: Path) -> tuple[str, dict[str, bytes]]:
    """The Markdown of a notebook, and its pictures by file name."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in cells:
        source = _joined(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source:
            parts.append(_fenced(source, "python"))
            parts += [_shown(output, path.stem, pictures) for output in cell["outputs"]]
    return "\n\n".join(part for part in parts if part) + "\n", pictures


def _shown(output: dict[str, Any], stem: str, pictures: dict[str, bytes]) -> str:
    """One output: a picture, a card in HTML, or text."""
    if output["output_type"] == "stream":
        return _fenced(_joined(output["text"]), "text")
    if output["output_type"] == "error":
        return _fenced(f"{output['ename']}: {output['evalue']}", "text")
    data = output["data"]
    for kind, suffix in PICTURES.items():
        if kind in data:
            name = f"{stem}-{len(pictures) + 1}.{suffix}"
            text = _joined(data[kind])
            pictures[name] = text.encode("utf-8") if suffix == "svg" else base64.b64decode(text)
            return f"![what the cell above shows]({name})"
    if "text/html" in data:
        inside = re.sub(r"\n\s*\n", "\n", _joined(data["text/html"])).strip()
        return f'<div class="output">\n{inside}\n</div>'
    if "text/latex" in data:
        return f"$$\n{_joined(data['text/latex']).strip().strip('$')}\n$$"
    return _fenced(_joined(data.get("text/plain", "")), "text")


def _fenced(text: str, language: str) -> str:
    text = text.rstrip("\n")
    if not text:
        return ""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
