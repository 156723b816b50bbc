"""Links and anchors of Markdown text, found outside code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

FENCE = re.compile(  # a block of code, indented or not
    r"^(?P<indent> *)(?P<fence>```+|~~~+)[^\n]*\n.*?^(?P=indent)(?P=fence) *$", re.MULTILINE | re.DOTALL
)
SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r'\]\(\s*<?(?P<target>[^)\s>]+)>?(?:\s+"[^"\n]*")?\s*\)')
ATTRIBUTE = re.compile(r'<(?:a|img)\b[^>]*?\b(?:href|src)="(?P<target>[^"]+)"')
HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *#*$", re.MULTILINE)
NAMED = re.compile(r'\b(?:id|name)="(?P<anchor>[^"]+)"')


def without_code(text: str) -> str:
    """The text with blanks in the place of code, so that every place in it stays where it is."""
    for pattern in (FENCE, SPAN):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def targets(text: str) -> Iterator[tuple[int, int]]:
    """Where the targets of links and pictures begin and end, those of HTML too."""
    plain = without_code(text)
    found = [match.span("target") for pattern in (LINK, ATTRIBUTE) for match in pattern.finditer(plain)]
    return iter(sorted(found))


def links(text: str) -> list[str]:
    """All targets, as they are written."""
    return [text[start:end] for start, end in targets(text)]


def is_external(target: str) -> bool:
    return re.match(r"[a-z][a-z+.-]*:|//", target) is not None


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text with each internal target changed."""
    pieces, done = [], 0
    for start, end in targets(text):
        if is_external(text[start:end]):
            continue
        pieces += [text[done:start], change(text[start:end])]
        done = end
    return "".join(pieces) + text[done:]


def anchors(text: str) -> set[str]:
    """What `#…` may lead to: the headings, by the names that forges give them, and named elements."""
    plain = FENCE.sub("", text)
    found: set[str] = set()
    for match in HEADING.finditer(plain):
        name = first = slug(match["title"])
        count = 0
        while name in found:
            count += 1
            name = f"{first}-{count}"
        found.add(name)
    return found | {match["anchor"] for match in NAMED.finditer(plain)}


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Headings below the first level, each with the text up to the next one; "" before them."""
    plain = without_code(text)
    starts = [match for match in HEADING.finditer(plain) if match[0].startswith("##")]
    ends = [*(match.start() for match in starts), len(text)]
    yield "", text[: ends[0]]
    for match, end in zip(starts, ends[1:], strict=True):
        yield text[match.start("title") : match.end("title")], text[match.end() : end]


def slug(title: str) -> str:
    """The anchor of a heading: lower case, no punctuation, hyphens for blanks."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", title)
    shown = re.sub(r"<[^>]+>|[`*]", "", shown)
    return re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")


def title(text: str) -> str | None:
    """The first heading of the first level."""
    found = re.search(r"^# +(.+)$", FENCE.sub("", text), re.MULTILINE)
    return found[1].strip() if found else None
