"""XML read as a small tree of elements that know their lines. Nothing outside the text is ever read.

Entities that a file declares are refused, so that no short text can expand to a long one; size, depth and
number of elements are bounded while the text is parsed, and no function here recurses into the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from xml.parsers import expat

from armdyn.description.foreign.tree import FilePlace, Remarks
from armdyn.description.source import DescriptionError
from armdyn.expression import Expression, ExpressionError, rational
from armdyn.names import one_line

MAX_BYTES = 10_000_000
MAX_DEPTH = 500
MAX_ELEMENTS = 200_000
_BLANKS = b" \t\r\n"
_SHOWN = 60  # characters of a name in a message


@dataclass(eq=False)
class Element:
    """One element: its name as written (with its prefix), attributes, text and children."""

    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> list[Element]:
        """The children with one of these names."""
        return [child for child in self.children if child.tag in tags]

    def walk(self, skip: tuple[str, ...] = ()) -> Iterator[Element]:
        """This element and all below it in the order of the file, but nothing of those named in `skip`."""
        left = [self]
        while left:
            element = left.pop()
            if element.tag not in skip:
                yield element
                left += reversed(element.children)

    @property
    def label(self) -> str:
        """Name of the element in messages: <link name="arm">, <inertial>."""
        name = self.attributes.get("name")
        return f"<{short(self.tag)}>" if name is None else f'<{short(self.tag)} name="{short(name)}">'

    @property
    def where(self) -> str:
        """Place of the element in messages: line and element."""
        return f"line {self.line}: {self.label}"

    def error(self, reason: str) -> DescriptionError:
        """An error that names file, line and element."""
        return DescriptionError(f"{self.source}: {self.where}: {one_line(reason)}")


def short(text: str) -> str:
    """A name or value from a file, in a message."""
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 3]}..."


def read(path: Path) -> bytes:
    """The content of a file; may raise OSError and ValueError."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


@dataclass(frozen=True)
class Document:
    """A parsed text and what had to be tolerated to parse it."""

    root: Element
    tolerated: tuple[str, ...] = ()


def parse(text: str | bytes, source: str, tolerant: bool = False) -> Document:
    """The elements of a text, or of a file's content in an encoding that it declares.

    With `tolerant`, blanks before the XML declaration and prefixes that no xmlns declares are accepted.
    """
    encoding = None
    if isinstance(text, str):
        try:
            content, encoding = text.encode("utf-8"), "utf-8"
        except UnicodeEncodeError:
            raise DescriptionError(f"{source}: the text has characters that are not Unicode") from None
    else:
        content = text
    if len(content) > MAX_BYTES:
        raise DescriptionError(f"{source}: larger than {MAX_BYTES} bytes: not the description of a robot")
    return _Parser(source, tolerant, encoding).parse(content, may_begin_with_blanks=encoding is not None)


class _Parser:
    """Expat, with handlers that build the tree and refuse what goes too far."""

    def __init__(self, source: str, tolerant: bool, encoding: str | None) -> None:
        self.source, self.tolerant = source, tolerant
        self.skipped = 0  # lines of blanks before the text
        self.root: Element | None = None
        self.open: list[Element] = []
        self.prefixes: list[frozenset[str]] = [frozenset(("xml", "xmlns"))]
        self.count = 0
        self.tolerated: dict[str, str] = {}
        self.texts: list[list[str]] = []
        expat_parser = expat.ParserCreate(encoding)
        expat_parser.buffer_text = True
        expat_parser.StartElementHandler = self._start
        expat_parser.EndElementHandler = self._end
        expat_parser.CharacterDataHandler = self._characters
        expat_parser.StartDoctypeDeclHandler = self._doctype
        expat_parser.EntityDeclHandler = self._entity
        expat_parser.ExternalEntityRefHandler = self._external
        self.expat = expat_parser

    def parse(self, content: bytes, may_begin_with_blanks: bool) -> Document:
        stripped = content.lstrip(_BLANKS)
        if stripped.startswith(b"<?xml") and len(stripped) < len(content):
            before = content[: len(content) - len(stripped)]
            if may_begin_with_blanks or self.tolerant:
                self.skipped, content = before.count(b"\n"), stripped
            if self.tolerant and not may_begin_with_blanks:
                self.tolerated["blanks"] = "blanks before the XML declaration are skipped"
        try:
            self.expat.Parse(content, True)
        except expat.ExpatError as error:
            line = error.lineno + self.skipped
            reason = expat.errors.messages.get(error.code, str(error))
            raise DescriptionError(
                f"{self.source}: line {line}, column {error.offset + 1}: malformed XML: {reason}"
            ) from None
        except DescriptionError:
            raise
        except (LookupError, ValueError) as error:  # an encoding that Python does not know or cannot use
            reason = one_line(str(error))
            raise DescriptionError(f"{self.source}: the encoding cannot be read: {reason}") from None
        assert self.root is not None  # expat refuses a text without an element
        return Document(self.root, tuple(self.tolerated.values()))

    @property
    def line(self) -> int:
        return self.expat.CurrentLineNumber + self.skipped

    def _fail(self, reason: str) -> DescriptionError:
        return DescriptionError(f"{self.source}: line {self.line}: {reason}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self._fail(f"more than {MAX_ELEMENTS} elements: not the description of a robot")
        if len(self.open) >= MAX_DEPTH:
            raise self._fail(f"elements are nested more than {MAX_DEPTH} deep")
        declared = [name[6:] for name in attributes if name.startswith("xmlns:")]
        known = self.prefixes[-1] | frozenset(declared) if declared else self.prefixes[-1]
        self.prefixes.append(known)
        element = Element(tag, attributes, self.line, self.source)
        for name in (tag, *attributes):
            prefix, colon, _ = name.partition(":")
            if colon and prefix not in known:
                self._undeclared(element, prefix)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _undeclared(self, element: Element, prefix: str) -> None:
        """A prefix without xmlns: not well-formed XML with namespaces, though some programs read it."""
        if not self.tolerant:
            raise element.error(
                f"malformed XML: the prefix '{short(prefix)}:' is not declared; "
                f'an enclosing element needs xmlns:{short(prefix)}="..." (repair=True reads on)'
            )
        text = f"{element.where}: the prefix '{short(prefix)}:' is not declared by any xmlns; read as written"
        self.tolerated.setdefault(f"prefix {prefix}", text)

    def _end(self, tag: str) -> None:
        self.prefixes.pop()
        self.open.pop().text = "".join(self.texts.pop())

    def _characters(self, data: str) -> None:
        self.texts[-1].append(data)

    def _doctype(self, name: str, system: str | None, public: str | None, has_subset: bool) -> None:
        if system or public or has_subset:
            raise self._fail(
                "a DOCTYPE that declares entities or names another file is refused; "
                "a robot's description needs none"
            )

    def _entity(self, *_: object) -> None:
        raise self._fail("declarations of entities are refused; a robot's description needs none")

    def _external(self, *_: object) -> int:
        raise self._fail("entities from other files are refused")


# ------------------------------------------------------------------------------------------------------------
# Attributes and texts of XML elements as exact numbers, with errors that name file, line and element.


UNLIMITED = 10**9  # a limit of this size or more says that there is none
_INFINITE = ("inf", "+inf", "infinity", "+infinity", "-inf", "-infinity")


def place_of(element: Element) -> FilePlace:
    return FilePlace(element.line, element.label)


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
