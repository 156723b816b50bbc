"""The table of a robot file's text. Size and depth are bounded before anything is parsed.

The TOML reader of Python takes time and memory that grow with the square of the length of a dotted key, and
recurses into brackets; a robot file needs five levels.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from armdyn.description.errors import BadNumber, DescriptionError
from armdyn.expression import ExpressionError, rational, shown

MAX_BYTES = 500_000
MAX_DEPTH = 16

# Strings and comments, closed or not, hold no structure. What may follow is always known from the next
# character: one pass for any text. (Possessive groups would say so, but Python 3.11.2 gets them wrong.) Up to
# two quotation marks may stand before the three that end a string.
_OPAQUE = re.compile(
    r'"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*(?:"{3,5}|\Z)'
    r"|'''[^']*+(?:'(?!'')[^']*+)*(?:'{3,5}|\Z)"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}")
_BRACKET = re.compile(r"[\[\]{}]")
_LONG_INTEGER = re.compile(r"(?m)^[ \t]*([^=\n]{1,100}?)[ \t]*=[^\n]*?(?<!\w)[+-]?\d[\d_]{4000,}")


def read(path: Path, kind: str = "robot file") -> str:
    """The text of a file in UTF-8, with or without a byte-order mark; may raise OSError and ValueError."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise DescriptionError(f"{path}: not a {kind}: it is larger than {MAX_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DescriptionError(f"{path}: not a text file; a {kind} is TOML in UTF-8") from None


def parse_text(text: str) -> dict[str, Any]:
    """The table of a robot file that is given as a text."""
    if not isinstance(text, str):
        raise TypeError(f"expected the text of a robot file, found {shown(text)}")
    if len(text) > MAX_BYTES:
        raise DescriptionError(f"not a robot file: the text is longer than {MAX_BYTES} characters")
    return parse_toml(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), "robot file")


def parse_toml(text: str, source: str, kind: str = "robot file") -> dict[str, Any]:
    if _too_deep(text):
        raise DescriptionError(
            f"{source}: not a {kind}: keys, tables or lists are nested more than {MAX_DEPTH} deep"
        )
    try:
        return tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        raise DescriptionError(f"{source}: not a TOML file: {error}") from None
    except ValueError as error:  # an integer of more digits than Python reads
        found = _LONG_INTEGER.search(text)
        where = f"line {text.count(chr(10), 0, found.start(1)) + 1}: {found[1]}: " if found else ""
        reason = "expected a number between 1e-300 and 1e300, found an integer of thousands of digits"
        raise DescriptionError(f"{source}: {where}{reason if found else error}") from None


def _too_deep(text: str) -> bool:
    """True if a dotted key has too many parts, or brackets stand too deep in each other."""
    structure = _OPAQUE.sub("_", text)
    if _DEEP_KEY.search(structure):
        return True
    depth = 0
    for bracket in _BRACKET.findall(structure):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            return True
    return False


def _number(text: str) -> Any:
    """A decimal as an exact rational; others (nan, 1e999) are kept as text, to be refused with their key."""
    try:
        return rational(text)
    except ExpressionError:
        return BadNumber(text)
