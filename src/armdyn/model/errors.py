"""Errors and warnings about the parts of a robot."""

from __future__ import annotations

from armdyn.expression import ArmdynError


class ModelError(ArmdynError):
    """The parts do not fit together, or one of them is impossible."""


class PhysicsWarning(UserWarning):
    """The numbers are valid but look wrong: a body that cannot exist, wrong units, missing inertia."""
