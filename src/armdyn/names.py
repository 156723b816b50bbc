"""Names of robots, links and joints as they go into files and onto terminals."""

from __future__ import annotations

import re

_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
_LONGEST = 60  # characters of a file's name
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # not files, on Windows


def one_line(text: str) -> str:
    """The text as one line of printable characters.

    Runs of white space become one blank; control, format and unpaired surrogate characters, which terminals
    and compilers may act on, become U+FFFD. What a format takes for its own syntax is escaped where that
    format is written.
    """
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else _UNPRINTABLE for c in words)


def file_stem(text: str, otherwise: str = "robot") -> str:
    """A name that is safe in the name of a file, on every system: letters, digits, ". _ -" of ASCII.

    Everything else becomes "_", in a row one; it does not begin with a point or a dash.
    """
    stem = re.sub(r"[^A-Za-z0-9.-]+", "_", text)[:_LONGEST].strip("._-")
    return f"{stem}_" if _DEVICES.fullmatch(stem) else stem or otherwise
