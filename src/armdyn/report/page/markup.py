"""HTML elements that escape what they are given."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"img", "meta", "br"})


class Markup(str):
    """Text that is HTML already; any other text is escaped when it enters an element."""


def tag(name: str, /, *children: str, **attributes: str) -> Markup:
    """An element; `class_` stands for class, `aria_label` for aria-label."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    listed = "".join(f' {names[key]}="{_escaped(value)}"' for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{listed}>")
    return Markup(f"<{name}{listed}>{join(children)}</{name}>")


def join(children: Iterable[str], separator: str = "") -> Markup:
    found = (child if isinstance(child, Markup) else _text(child) for child in children)
    return Markup(separator.join(found))


def _text(text: str) -> str:
    """Plain text; a percent sign stays with its number."""
    return _escaped(text).replace(" %", "\u00a0%")


def _escaped(text: str) -> str:
    """Text that cannot become markup, nor change the writing direction of what follows it."""
    return escape("".join(c if c.isprintable() or c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text))


def paragraph(*children: str) -> Markup:
    return tag("p", *children)


def code(text: str) -> Markup:
    return tag("code", text)


def items(entries: Iterable[str]) -> Markup:
    return tag("ul", *(tag("li", entry) for entry in entries))


def warning(*children: str) -> Markup:
    return tag("div", paragraph(*children), class_="warning")


def scrolling(*children: str) -> Markup:
    """What may be wider than a small screen."""
    return tag("div", *children, class_="scroll", tabindex="0")


def folded(summary: str, *children: str) -> Markup:
    """What only some readers want, behind a line they can open."""
    return tag("details", tag("summary", summary), *children)


def facts(entries: Iterable[tuple[str, str]]) -> Markup:
    """Names and values side by side."""
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in entries), class_="facts"
    )
