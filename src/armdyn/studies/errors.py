"""Errors about studies."""

from armdyn.expression import ArmdynError


class StudyError(ArmdynError):
    """A study that cannot be run, read or judged; the message says what, where, and what is allowed."""
