"""Names of robots, links and joints as they go into files and onto terminals."""

from __future__ import annotations

_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def one_line(text: str) -> str:
    """The text as one line of printable characters.

    Runs of white space become one blank; control, format and unpaired surrogate characters, which terminals
    and compilers may act on, become U+FFFD. What a format takes for its own syntax is escaped where that
    format is written.
    """
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else _UNPRINTABLE for c in words)
