"""between and at: the two links that something ties, and where on each."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.description.reader import Reader
from armdyn.expression import shown
from armdyn.model.arguments import plain


def read_between(reader: Reader) -> tuple[str, str]:
    """The names of two links."""
    value = reader.raw("between", example='the names of two links, such as ["base", "link 2"]')
    if (
        not isinstance(value, (list, tuple))
        or len(value) != 2
        or not all(isinstance(name, str) for name in value)
    ):
        reader.fail("between", f"expected the names of two links, found {shown(value)}")
    return (value[0], value[1])


def two_ends(reader: Reader, example: str) -> Sequence[object]:
    """The two entries of `at`, one for each link of `between`."""
    value = plain(reader.raw("at", example=example))
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        reader.fail("at", f"expected {example}, one for each link of between, found {shown(value)}")
    return value
