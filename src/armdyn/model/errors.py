"""What is raised and what is warned of about a robot that is no robot."""

from __future__ import annotations

from armdyn.expression import ArmdynError


class ModelError(ArmdynError):
    """The parts do not make a robot."""


class PhysicsWarning(UserWarning):
    """The numbers can be computed with, but describe no possible body or are in the wrong units."""
