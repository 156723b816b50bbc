"""What descriptions are read from: options and errors, the text of a robot file, the bundled robots.

Nothing here needs NumPy: a list of robots does not wait for it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armdyn.expression import ArmdynError, ExpressionError, rational, shown

if TYPE_CHECKING:
    from armdyn.model.robot_model import RobotModel

MAX_LINKS = 500
MAX_PRODUCTS = 300_000  # of terms, to multiply out all of a description


class DescriptionError(ArmdynError):
    """A robot description is wrong; the message names file, key, finding and what is allowed."""


class BadNumber(str):
    """A literal that is a float to TOML but not a finite number: nan, inf, 1e999."""


class ExportWarning(UserWarning):
    """A file says less than the robot: its format has no words for something."""


@dataclass(frozen=True)
class Options:
    """Options of a caller who reads a file; see `Robot.load`. For robot files, `tip` and `lock` alone."""

    base: str | None = None
    tip: str | None = None
    lock: Mapping[str, object] | None = None
    repair: bool = False
    snap: bool = False

    def __post_init__(self) -> None:
        for name in ("base", "tip"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name}: expected the name of a link, found {shown(value)}")
        if self.lock is not None and not isinstance(self.lock, Mapping):
            raise TypeError(f"lock: expected a table such as {{'joint': position}}, found {shown(self.lock)}")
        for name in ("repair", "snap"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}: expected True or False, found {shown(getattr(self, name))}")

    def shaped(self, model: RobotModel, source: str, lock: Mapping[str, object] | None = None) -> RobotModel:
        """The robot that was read, with the tip and the locked joints wanted; errors name the file."""
        lock = self.lock if lock is None else lock
        if self.tip is None and not lock:
            return model
        from armdyn.model.edit import chain_to, locked  # seldom asked for

        try:
            return locked(model, lock) if self.tip is None else chain_to(model, self.tip, lock)
        except ArmdynError as error:
            option, colon, reason = str(error).partition(": ")
            known = colon and option in ("lock", "tip")
            raise DescriptionError(
                f"{option}: {source}: {reason}" if known and not reason.startswith("joint ") else str(error)
            ) from None


# ------------------------------------------------------------------------------------------------------------
# The table of a robot file's text. Size and depth are bounded before anything is parsed.
#
# The TOML reader of Python takes time and memory that grow with the square of the length of a dotted key, and
# recurses into brackets; a robot file needs five levels.


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


def read_text(path: Path, kind: str = "robot file") -> str:
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


# ------------------------------------------------------------------------------------------------------------
# The robots that come with the package, as tables, and what kinds of robots they are.


# Kind of robot -> its names, each with a few words. Every file in robots/ stands here once.
KINDS: dict[str, dict[str, str]] = {
    "textbook arms": {
        "pendulum": "a pendulum driven through a gear",
        "cartesian": "two sliding joints at a right angle",
        "cartesian45": "the same at 45 degrees",
        "planar": "two links in a vertical plane",
        "planar3": "three links in a plane",
        "pr": "a slider and an arm, horizontal plane",
        "pr_vertical": "a slide and a link, vertical plane",
        "rp": "an arm and a slider, vertical plane",
        "rmit2r": "two links with point masses, modified DH",
        "scara": "three vertical turns and a quill",
        "elbow": "rotors not parallel to their joints",
        "elastic_link": "a link driven through a spring",
    },
    "closed chains": {
        "parallelogram": "two links driven from the base",
        "palletizer": "parallelograms keep its hand level",
        "four_bar": "a crank and a rocker",
        "five_bar": "two driven arms, one pen",
        "delta": "three arms, a platform that never turns",
        "gripper": "two jaws on parallelograms, one motor",
    },
    "industrial and research arms": {
        "stanford": "the Stanford arm, with a sliding boom",
        "puma560": "the most measured arm, with friction",
        "manutec_r3": "three joints, with exact rotors",
        "irb120": "ABB's small six-joint arm",
        "tx40": "Staubli's, coupled wrist, friction",
    },
    "collaborative and lightweight arms": {
        "ur10": "Universal Robots, 10 kg",
        "ur5e": "Universal Robots, 5 kg, with armatures",
        "panda": "Franka, as identified",
        "fr3": "Franka Research 3, armatures, friction",
        "gen3": "Kinova, seven joints, four without end",
        "xarm7": "UFACTORY, seven joints",
        "lwr4": "KUKA's lightweight robot, exact rotors",
    },
    "desktop arms": {
        "so101": "3D-printed, hobby servos, gripper",
    },
}


def bundled_robots() -> list[str]:
    """The names of the robots that come with the package."""
    folder = resources.files("armdyn.description") / "robots"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def bundled_table(name: str) -> dict[str, Any]:
    """The robot file of a bundled robot."""
    return parse_toml(bundled_text(name), name)


def bundled_text(name: str) -> str:
    """The same as text, with its comments."""
    return (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")


def bundled_sources(name: str) -> list[str]:
    """Paragraphs about where the numbers of a bundled robot come from: what its file begins with."""
    lines = [x[1:].strip() for x in takewhile(lambda x: x.startswith("#"), bundled_text(name).splitlines())]
    return [" ".join(some) for filled, some in groupby(lines, bool) if filled]
