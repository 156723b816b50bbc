"""What goes wrong in identification."""

from armdyn.expression import ArmdynError


class IdentificationError(ArmdynError):
    """A log, a motion or a request from which nothing can be identified."""


class NothingUsableError(IdentificationError):
    """A log, or a part of one, of which no sample can be used."""


class IdentificationWarning(UserWarning):
    """An estimate that deserves a second look."""
