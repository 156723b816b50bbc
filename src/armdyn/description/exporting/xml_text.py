"""XML as text: indented, and refused where a name has characters that XML cannot hold."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from armdyn.description.errors import DescriptionError
from armdyn.model.robot_model import quoted
from armdyn.output import one_line

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def add(parent: ET.Element, tag: str, **attributes: str | None) -> ET.Element:
    """A new element in another one; attributes that are None are left out."""
    element = ET.SubElement(parent, tag)
    for key, text in attributes.items():
        if text is not None:
            name(element, key.rstrip("_"), text)
    return element


def name(element: ET.Element, key: str, text: str) -> None:
    """Set an attribute that may hold any text."""
    if found := _FORBIDDEN.search(text):
        raise DescriptionError(
            f"{element.tag} {key} {quoted(text)}: XML cannot hold the character U+{ord(found[0]):04X}; "
            "rename it"
        )
    element.set(key, text)


def document(root: ET.Element, notes: tuple[str, ...]) -> str:
    """The whole file, with a comment that lists what it does not say."""
    lines = ["Written by armdyn."]
    if notes:
        lines += ["What the robot has and this format cannot say:", *(f"  {note}" for note in notes)]
    comment = "\n".join(f"  {_FORBIDDEN.sub('?', _comment_line(line))}" for line in lines)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    return f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'


def _comment_line(line: str) -> str:
    """A line of a comment, which may not hold two hyphens in a row."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + re.sub("--+", "—", one_line(line)).rstrip("-")
