"""What is wrong with a motion."""

from armdyn.expression import ArmdynError


class MotionError(ArmdynError):
    """A motion that cannot be made or cannot be executed; the message says what, where and when."""


class MotionWarning(UserWarning):
    """A motion that is used as given but looks like a mistake."""
