"""Errors about descriptions, and bounds on their size."""

from armdyn.expression import ArmdynError

MAX_LINKS = 500
MAX_PRODUCTS = 300_000  # of terms, to multiply out all of a description


class DescriptionError(ArmdynError):
    """A robot description is wrong; the message names file, key, finding and what is allowed."""


class BadNumber(str):
    """A literal that is a float to TOML but not a finite number: nan, inf, 1e999."""


class ExportWarning(UserWarning):
    """A file says less than the robot: its format has no words for something."""
