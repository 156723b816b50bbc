"""Attributes and texts of XML elements as exact numbers, with errors that name file, line and element."""

from __future__ import annotations

from functools import lru_cache

from armdyn.description.importing.tree import Place, Remarks
from armdyn.description.importing.xml_text import Element, short
from armdyn.expression import Expression, ExpressionError, rational

UNLIMITED = 10**9  # a limit of this size or more says that there is none
_INFINITE = ("inf", "+inf", "infinity", "+infinity", "-inf", "-infinity")


def place_of(element: Element) -> Place:
    return Place(element.line, element.label)


def one(element: Element, tag: str, remarks: Remarks) -> Element | None:
    """The child of this name, if there is one; of several the first, as in other programs, with a warning."""
    found = element.all(tag)
    if len(found) > 1:
        where = f"{found[1].where}: {element.label} has <{tag}> twice"
        remarks.warn(f"{where}: the first, in line {found[0].line}, is taken")
    return found[0] if found else None


def needed(element: Element, tag: str, remarks: Remarks) -> Element:
    """The same for a child that must be there."""
    child = one(element, tag, remarks)
    if child is None:
        raise element.error(f"<{tag}> is missing")
    return child


def name_of(element: Element, attribute: str = "name") -> str:
    """An attribute that names something."""
    value = element.attributes.get(attribute)
    if value is None:
        raise element.error(f"the attribute {attribute} is missing")
    if not value.strip():
        raise element.error(f"the attribute {attribute} is empty")
    return value


def number(element: Element, attribute: str, default: Expression | None = None) -> Expression:
    """An attribute that is one number."""
    value = element.attributes.get(attribute)
    if value is None:
        if default is None:
            raise element.error(f"the attribute {attribute} is missing; a number is expected")
        return default
    return _number(element, attribute, value.strip())


def numbers(element: Element, attribute: str, default: list[Expression] | None = None) -> list[Expression]:
    """An attribute that is three numbers with blanks between them."""
    value = element.attributes.get(attribute)
    if value is None:
        if default is None:
            raise element.error(f"the attribute {attribute} is missing; three numbers are expected")
        return default
    parts = value.split()
    if len(parts) != 3:
        found = f'{attribute}="{short(value)}"'
        raise element.error(f"{found}: expected three numbers with blanks between them, found {len(parts)}")
    return [_number(element, attribute, part) for part in parts]


def written(element: Element) -> Expression:
    """The number that an element is about: its text, or its attribute `value`."""
    if "value" in element.attributes:
        return number(element, "value")
    return _number(element, "text", element.text.strip())


def bound(element: Element, attribute: str) -> Expression | None:
    """A limit; None where it is not given or infinite."""
    value = element.attributes.get(attribute)
    if value is None or value.strip().lower() in _INFINITE:
        return None
    return number(element, attribute)


def _number(element: Element, attribute: str, text: str) -> Expression:
    try:
        return _exact(text)
    except ExpressionError:
        found = f'{attribute}="{short(text)}"' if attribute != "text" else f'found "{short(text)}"'
        raise element.error(
            f"{found}: expected a decimal number whose size is 0 or between 1e-300 and 1e300"
        ) from None


@lru_cache(4096)
def _exact(text: str) -> Expression:
    """The decimal as an exact number."""
    if "_" in text or not text.isascii():
        raise ExpressionError("no decimal")
    return Expression.of(rational(text))
