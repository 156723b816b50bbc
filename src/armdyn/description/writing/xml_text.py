"""XML as text: numbers, rotations and indented lines; names that XML cannot hold are refused."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from fractions import Fraction

from armdyn.description.frames import by_quaternion, whole_ratios
from armdyn.description.source import DescriptionError
from armdyn.description.writing import Export
from armdyn.expression import Expression, decimal_places, exact_float
from armdyn.model.vector import Matrix, Scalar, Vector
from armdyn.names import one_line, quoted
from armdyn.remarks import Remark

# ------------------------------------------------------------------------------------------------------------
# Exact numbers as the decimals of a file, so that reading them again gives equal numbers wherever it can.
#
# Decimals up to 40 digits are written in full. Anything else becomes the shortest decimal that reads as the
# same double. Directions keep their ratios, so that a reader makes the same unit vector of them.


_MOST_DIGITS = 40
_DIRECTION_DIGITS = 25  # enough to find the point of the grid that `unit_vector` took


def number_text(x: Scalar) -> str:
    """A number without symbols."""
    found = Expression.of(x)
    exact = found.number
    return _decimal(exact) if exact is not None else _shortest(found.value())


def numbers_text(v: Iterable[Scalar]) -> str:
    """Numbers with blanks between them."""
    return " ".join(number_text(x) for x in v)


def direction_text(u: Vector) -> str:
    """A unit vector; its length is one to 17 digits, its ratios are exact where they are short."""
    entries = [Expression.of(x) for x in u]
    if whole := whole_ratios(entries):
        length = math.sqrt(sum(n * n for n in whole))
        scale = Fraction(repr(1 / length))
        root = math.isqrt(sum(n * n for n in whole))
        if root * root == sum(n * n for n in whole):
            exact = [Fraction(n, root) for n in whole]
            if all(_digits(x) is not None for x in exact):
                return " ".join(map(_decimal, exact))
        return " ".join(_decimal(n * scale) for n in whole)
    return " ".join(_rounded(x) for x in entries)


def _decimal(x: Fraction) -> str:
    return _digits(x) or _shortest(float(x))


def _digits(x: Fraction) -> str | None:
    """A rational as a decimal, if it is one of not too many digits."""
    short = exact_float(x)
    if short is not None:
        return _shortest(short)
    places = decimal_places(x)
    if places is None:
        return None
    whole = abs(x.numerator) * 10**places // x.denominator
    if len(str(whole)) > _MOST_DIGITS:
        return None
    return f"{'-' if x < 0 else ''}{whole}" + (f"e-{places}" if places else "")


def _shortest(x: float) -> str:
    text = repr(x + 0.0)  # no minus zero
    return text.removesuffix(".0")


def _rounded(x: Expression) -> str:
    """Decimal with more digits than a double has."""
    exact = x.number
    if exact is None:
        return number_text(x)
    scale = 10**_DIRECTION_DIGITS
    return _decimal(Fraction(round(exact * scale), scale))


# ------------------------------------------------------------------------------------------------------------
# Rotations as quaternions.


_NEAR = 1e-9


def quaternion_text(R: Matrix) -> str:
    """w x y z; in whole numbers where they are small, as readers normalise them."""
    exact = [[Expression.of(x) for x in row] for row in R]
    q = _quaternion([[x.value() for x in row] for row in exact])
    near = [Fraction(x / max(map(abs, q))).limit_denominator(6) for x in q]
    whole = whole_ratios([Expression.of(x) for x in near])
    if whole and [list(row) for row in by_quaternion(near)] == exact:
        return " ".join(map(str, whole))
    return numbers_text(q)


def _quaternion(M: list[list[float]]) -> list[float]:
    """w x y z of length one; the first of them that is not zero but for rounding is positive."""
    from scipy.spatial.transform import Rotation  # not loaded with the package

    x, y, z, w = Rotation.from_matrix(M).as_quat().tolist()
    q = [w, x, y, z]
    first = next(v for v in q if abs(v) > _NEAR)
    return [v if first > 0 else -v for v in q]


# ------------------------------------------------------------------------------------------------------------
# The lines of a file.


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


def document(root: ET.Element, notes: tuple[str, ...]) -> Export:
    """The whole file, with a comment that lists what it does not say, each a remark too."""
    lines = ["Written by armdyn."]
    if notes:
        lines += ["What the robot has and this format cannot say:", *(f"  {note}" for note in notes)]
    comment = "\n".join(f"  {_FORBIDDEN.sub('?', _comment_line(line))}" for line in lines)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    text = f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'
    return Export(text, tuple(Remark(note, "warning") for note in notes))


def _comment_line(line: str) -> str:
    """A line of a comment, which may not hold two hyphens in a row."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + re.sub("--+", "—", one_line(line)).rstrip("-")
