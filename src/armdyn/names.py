"""Names and values as they go into messages, into files and onto terminals."""

from __future__ import annotations

import functools
import math
import re
import reprlib
import warnings
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from typing import Any, TypeVar

Called = TypeVar("Called", bound=Callable[..., Any])

_UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
_LONGEST = 60  # characters of a file's name
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # not files, on Windows

MATLAB_KEYWORDS = frozenset(
    """
    break case catch classdef continue do else elseif end endfor endfunction endif endwhile enumeration events
    for function global if methods otherwise parfor persistent properties return spmd switch try until while
    """.split()  # noqa: SIM905
)  # Octave's too


def one_line(text: str) -> str:
    """The text as one line of printable characters.

    Runs of white space become one blank; control, format and unpaired surrogate characters, which terminals
    and compilers may act on, become U+FFFD. What a format takes for its own syntax is escaped where that
    format is written.
    """
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else _UNPRINTABLE for c in words)


def unused(name: str, taken: Collection[str]) -> str:
    """A name that is not taken: with "_" behind it, as often as that needs."""
    while name in taken:
        name += "_"
    return name


def file_stem(text: str, otherwise: str = "robot") -> str:
    """A name that is safe in the name of a file, on every system: letters, digits, ". _ -" of ASCII.

    Everything else becomes "_", in a row one; it does not begin with a point or a dash.
    """
    stem = re.sub(r"[^A-Za-z0-9.-]+", "_", text)[:_LONGEST].strip("._-")
    return f"{stem}_" if _DEVICES.fullmatch(stem) else stem or otherwise


# ------------------------------------------------------------------------------------------------------------
# Values and names as messages quote them.


class _Short(reprlib.Repr):
    """Makes only the beginning of a text: a small list can stand in others very many times."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 20
        self.maxstring = self.maxlong = 400

    def repr_Fraction(self, x: Fraction, level: int) -> str:
        """The number as it stood in a file: numbers are read as exact rationals."""
        try:
            decimal = repr(float(x))
        except OverflowError:
            return "a number larger than 1e300"
        return decimal if Fraction(decimal) == x else str(x)

    def repr_instance(self, x: object, level: int) -> str:
        return repr(x)


_SHORT = _Short()


def shown(value: object) -> str:
    """A value as quoted in a message: short, and safe even where printing the value fails."""
    if isinstance(value, int) and value.bit_length() > 1000:  # Python prints no integer of too many digits
        return f"an integer of {int(value.bit_length() * math.log10(2)) + 1} digits or so"
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:  # a list that is too deep or holds such an integer, or a class whose repr fails
        return f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else text[:57] + "..."


def quoted(name: str) -> str:
    """A name as it stands in messages: one line, not too long."""
    text = one_line(name)
    return f"'{text}'" if len(text) <= 60 else f"'{text[:57]}...'"


def listed(names: Sequence[str]) -> str:
    """Names separated by commas; the first fifty of very many, and the beginnings of very long ones."""
    text = ", ".join(one_line(name)[:60] for name in names[:50])
    return f"{text}, … ({len(names)} in all)" if len(names) > 50 else text


# ------------------------------------------------------------------------------------------------------------
# Public names that have a successor.


def deprecated(instead: str, gone: str) -> Callable[[Called], Called]:
    """Decorate a public function or method that has a successor: each call warns, and works as before.

        >>> @deprecated("Robot.poses", gone="2.0")
        ... def all_poses(robot, q): ...

    The docstring gets the same sentence. `gone` is the version that no longer has it.
    """

    def decorate(old: Called) -> Called:
        text = f"{old.__qualname__} is deprecated and goes with armdyn {gone}; use {instead}"

        @functools.wraps(old)
        def called(*args: Any, **named: Any) -> Any:
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return old(*args, **named)

        called.__doc__ = f"{old.__doc__ or ''}\n\nDeprecated: {text}.".lstrip()
        return called  # type: ignore[return-value]

    return decorate
