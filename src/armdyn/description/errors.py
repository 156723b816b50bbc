"""What is wrong with a description."""

from armdyn.expression import ArmdynError


class DescriptionError(ArmdynError):
    """A robot description is wrong; the message names file, key, finding and what is allowed."""


class BadNumber(str):
    """A literal that is a float to TOML but not a finite number: nan, inf, 1e999."""


class ExportWarning(UserWarning):
    """A file says less than the robot: its format has no words for something."""
