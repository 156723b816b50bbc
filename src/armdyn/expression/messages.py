"""Values as they are quoted in messages."""

import math


def shown(value: object) -> str:
    """A value as quoted in a message: short, and safe even where printing the value fails."""
    if isinstance(value, int) and value.bit_length() > 1000:  # Python prints no integer of too many digits
        return f"an integer of {int(value.bit_length() * math.log10(2)) + 1} digits or so"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a list that is too deep or holds such an integer, or a class whose repr fails
        return f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else text[:57] + "..."
