"""The part of an MJCF file that says how the robot moves, as a text that names no other file.

Included files are put in their place. Assets, sensors, contacts, key frames and what is only seen are left
out, so that no mesh, texture or library is looked for. Lines stay where they are, for MuJoCo's messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from armdyn.description.foreign.xml_text import Element, parse, read, short
from armdyn.description.source import MAX_LINKS

_SECTIONS = ("compiler", "option", "default", "worldbody", "equality", "tendon", "actuator")
_ACTING = ("equality", "tendon", "actuator")
_SEEN = ("light", "camera", "site", "material", "mesh", "pair", "texture", "hfield", "skin")
_LOADED = ("meshdir", "texturedir", "assetdir", "strippath", "fusestatic", "discardvisual", "usethread")
_REFUSED = {
    "attach": "parts of other models are not read; save the whole model in one file first",
    "composite": "composite objects are not read, as they are not rigid links of an arm",
    "flexcomp": "soft bodies are not read; a robot here has rigid links",
    "flex": "soft bodies are not read; a robot here has rigid links",
    "plugin": "plugins are not read; remove it, or what it does is missing",
}
_MOST_FILES = 50
_MOST_ELEMENTS = 10_000
_NAN = re.compile(r"(?i)(?<!\S)[+-]?nan\b")  # MuJoCo reads on with it
_TURNS = {"quat": 4, "axis": 3, "axisangle": 3, "xyaxes": 3, "zaxis": 3}  # entries of the vectors in them
_SHORTEST, _LONGEST = 1e-10, 1e100  # of a vector: MuJoCo normalises others to nonsense


@dataclass
class MjcfSource:
    """A document with its included files."""

    root: Element
    folder: Path | None  # None for a text
    included: list[str] = field(default_factory=list)

    def element(self, tag: str, name: str) -> Element | None:
        """The first element of this kind and name below the world."""
        return self._named.get((tag, name))

    def __post_init__(self) -> None:
        _include(self)
        for element in self.root.walk():
            if element.tag in _REFUSED and _matters(element):
                raise element.error(_REFUSED[element.tag])
            for key, value in element.attributes.items():
                if key != "name" and _NAN.search(value):
                    raise element.error(f'{key}="{short(value)}": expected numbers')
                if (key in _TURNS or key == "euler") and element.tag not in ("camera", "light"):
                    _check_turn(element, key, value)
        _refuse_many(self.root)
        self._named: dict[tuple[str, str], Element] = {}
        for section in self.root.all("worldbody"):
            for element in section.walk():
                name = element.attributes.get("name")
                tag = "joint" if element.tag == "freejoint" else element.tag
                if name is not None:
                    self._named.setdefault((tag, name), element)

    @property
    def name(self) -> str:
        return self.root.attributes.get("model", "").strip() or "MuJoCo model"

    def tendon_joints(self) -> list[list[str]]:
        """The joints of each tendon, in the order of the file."""
        sections = [tendon for section in self.root.all("tendon") for tendon in section.children]
        return [[x.attributes.get("joint", "") for x in tendon.all("joint")] for tendon in sections]

    def tendon_sites(self) -> list[tuple[str, str] | None]:
        """The two sites between which each tendon is straight; None for any other."""
        found: list[tuple[str, str] | None] = []
        for tendon in (tendon for section in self.root.all("tendon") for tendon in section.children):
            names = [x.attributes.get("site", "") for x in tendon.children if x.tag == "site"]
            straight = tendon.tag == "spatial" and len(names) == len(tendon.children) == 2
            found.append((names[0], names[1]) if straight else None)
        return found

    def tied_sites(self) -> set[str]:
        """The sites that say where equalities and tendons hold; no others are needed."""
        found = {name for pair in self.tendon_sites() if pair for name in pair}
        for section in self.root.all("equality"):
            for equality in section.children:
                found |= {
                    equality.attributes[key] for key in ("site1", "site2") if key in equality.attributes
                }
        return found

    def body_of_site(self, name: str) -> str:
        """The body that a site belongs to; what messages call the site where that is not known."""
        left = [(section, "world") for section in self.root.all("worldbody")]
        while left:
            element, body = left.pop()
            if element.tag == "site" and element.attributes.get("name") == name:
                return body or f"site {name}"
            if element.tag == "body":
                body = element.attributes.get("name", "")
            left += [(child, body) for child in element.children]
        return f"site {name}"

    def text(self, whole: bool = True) -> str:
        """The text that MuJoCo reads; not `whole`: the bodies alone, without what acts on them."""
        lines = _Lines(keep=not self.included)
        lines.open(self.root)
        compilers = self.root.all("compiler")
        always = any(x.attributes.get("inertiafromgeom") == "true" for x in compilers)
        tied = self.tied_sites()
        for section in self.root.children:
            if section.tag in _SECTIONS and (whole or section.tag not in _ACTING):
                _write(section, lines, always, tied)
        lines.close(self.root)
        return "".join(lines.parts)


def _check_turn(element: Element, key: str, value: str) -> None:
    """Refuse directions that are too short or too long to be normalised; zeros are refused by MuJoCo."""
    try:
        numbers = [abs(float(x)) for x in value.split()]
    except ValueError:
        return  # MuJoCo says what is wrong
    numbers = numbers[:3] if key == "axisangle" else numbers
    count = _TURNS.get(key, 1)
    least = _SHORTEST if key in _TURNS else 0.0
    for size in (max(numbers[i : i + count]) for i in range(0, len(numbers), count)):
        if size and not least <= size <= _LONGEST:
            allowed = f"between {least:g} and {_LONGEST:g}"
            raise element.error(f'{key}="{short(value)}": expected numbers, the largest of a size {allowed}')


def _matters(element: Element) -> bool:
    """Plugins are declared in <extension> and may drive actuators; only those in bodies act by themselves."""
    return element.tag != "plugin" or "plugin_in_body" in element.attributes


def _include(source: MjcfSource) -> None:
    """Put the children of included files in the place of <include>; mark plugins that bodies have."""
    left: list[tuple[Element, bool]] = [(source.root, False)]
    while left:
        element, in_body = left.pop()
        children: list[Element] = []
        waiting = list(reversed(element.children))
        while waiting:
            child = waiting.pop()
            if child.tag == "include":
                waiting += reversed(_included(source, child))
            else:
                children.append(child)
        element.children = children
        for child in children:
            if child.tag == "plugin" and in_body:
                child.attributes["plugin_in_body"] = ""
            left.append((child, in_body or child.tag in ("worldbody", "body")))


def _included(source: MjcfSource, element: Element) -> list[Element]:
    file = element.attributes.get("file", "").strip()
    if not file:
        raise element.error("the attribute file is missing")
    if source.folder is None:
        raise element.error(f'file="{short(file)}": a text cannot include files; load it from its own file')
    path = _beside(source.folder, file, element)
    _check_place(source, element, file, path)
    if str(path) in source.included:
        raise element.error(f'file="{short(file)}": it is included twice')
    if len(source.included) >= _MOST_FILES:
        raise element.error(f"more than {_MOST_FILES} files are included")
    source.included.append(str(path))
    try:
        content = read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise element.error(f'file="{short(file)}": cannot read it ({reason})') from None
    return parse(content, str(path)).root.children


def _beside(folder: Path, file: str, element: Element) -> Path:
    """Path of an included file, as for MuJoCo: beside the main file, or else beside the one that asks."""
    path = folder / file
    near = Path(element.source).parent / file
    try:
        return near if not path.exists() and near.exists() else path
    except (OSError, ValueError):  # a name that is too long or has odd characters
        return path


def _check_place(source: MjcfSource, element: Element, file: str, path: Path) -> None:
    """Refuse what is no file, and files outside the main file's folder: a file must not tell of others.

    Links count as what they lead to. The main file may be a link itself, as in folders that tools make of
    links: its own folder counts, too.
    """
    try:
        main = Path(source.root.source)
        folders = (main.parent.resolve(), main.resolve().parent)
        inside = any(path.resolve().is_relative_to(folder) for folder in folders)
        other = path.exists() and not path.is_file()
    except (OSError, ValueError, RuntimeError):  # no name of a file, or links in a circle: reading says so
        return
    if not inside or Path(file).is_absolute():
        raise element.error(
            f'file="{short(file)}": outside the folder of the main file; only files in it and in the folders '
            "below it are included, by paths from there on"
        )
    if other:
        raise element.error(f'file="{short(file)}": cannot read it (it is no file, but a folder or a pipe)')


def _refuse_many(root: Element) -> None:
    """Bound bodies, the copies that <replicate> makes, and all elements: MuJoCo takes minutes over many."""
    bodies = elements = 0
    left = [(root, 1)]
    while left:
        element, copies = left.pop()
        if element.tag == "replicate":
            text = element.attributes.get("count", "").strip()
            count = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
            copies *= count
            if not 0 < copies <= MAX_LINKS:
                raise element.error(f'count="{short(text)}": a whole number up to {MAX_LINKS} is allowed')
        elif element.tag == "body":
            bodies += copies
            if bodies > MAX_LINKS:
                raise element.error(f"more than {MAX_LINKS} bodies; that many are allowed")
        elements += copies
        if elements > _MOST_ELEMENTS:
            raise element.error(f"more than {_MOST_ELEMENTS} elements; that many are allowed")
        left += [(child, copies) for child in element.children if child.tag != "asset"]


class _Lines:
    """Text in which every element of the main file stands in its own line, as there."""

    def __init__(self, keep: bool) -> None:
        self.parts: list[str] = []
        self.line = 1
        self.keep = keep

    def open(self, element: Element, end: str = ">") -> None:
        if self.keep and element.line > self.line:
            self.parts.append("\n" * (element.line - self.line))
            self.line = element.line
        attributes = "".join(
            f" {name}={quoteattr(value, {chr(10): ' ', chr(13): ' ', chr(9): ' '})}"
            for name, value in element.attributes.items()
            if ":" not in name and name != "material" and not (element.tag == "compiler" and name in _LOADED)
        )
        self.parts.append(f"<{element.tag}{attributes}{end}")

    def close(self, element: Element) -> None:
        self.parts.append(f"</{element.tag}>")


def _write(section: Element, lines: _Lines, from_geoms: bool, tied: set[str]) -> None:
    """Writes a section without what is only seen, and without geometry that no inertia needs."""
    left = [(section, False, False, section.tag == "worldbody")]
    while left:
        element, closing, moves, drop = left.pop()
        if closing:
            lines.close(element)
            continue
        if element.tag == "body":
            moves = moves or _has(element, "joint", "freejoint")
            drop = not moves or (not from_geoms and _has(element, "inertial"))
        lines.open(element)
        left.append((element, True, moves, drop))
        if element.tag not in ("compiler", "plugin"):
            left += [
                (child, False, moves, drop)
                for child in reversed(element.children)
                if (child.tag not in _SEEN or _is_tied(child, section, tied))
                and not (drop and child.tag == "geom")
            ]


def _is_tied(child: Element, section: Element, tied: set[str]) -> bool:
    """True for a site that something is tied to, its default, or what a tendon goes through."""
    if child.tag != "site" or not tied:
        return False
    return section.tag in ("default", "tendon") or child.attributes.get("name") in tied


def _has(body: Element, *tags: str) -> bool:
    """True if a body has a child of these kinds, also in frames."""
    return any(x.tag in tags for child in body.children for x in child.walk(skip=("body",)))
