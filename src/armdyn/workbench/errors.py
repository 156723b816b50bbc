"""What the workbench refuses."""

from __future__ import annotations

from armdyn.expression import ArmdynError


class ViewError(ArmdynError):
    """A robot, a motion or an address that the workbench cannot show or listen at."""
