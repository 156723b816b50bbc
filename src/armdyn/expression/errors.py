"""The errors that the package raises about what it was given, and values as messages quote them."""

import math
import reprlib
from collections.abc import Sequence
from fractions import Fraction

# ------------------------------------------------------------------------------------------------------------
# Values and names as they are quoted in messages.


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


def listed(names: Sequence[str]) -> str:
    """Names separated by commas; the first fifty of very many, and the beginnings of very long ones."""
    text = ", ".join(name[:60] for name in names[:50])
    return f"{text}, … ({len(names)} in all)" if len(names) > 50 else text


# ------------------------------------------------------------------------------------------------------------
# The family of errors.


class ArmdynError(ValueError):
    """Something given to armdyn is wrong; the message says what, where, and what is allowed."""


class ExpressionError(ArmdynError):
    """A text that should be a number or an expression is not one."""


class MissingValueError(ArmdynError):
    """A number is needed, but a symbol in it has no value."""
