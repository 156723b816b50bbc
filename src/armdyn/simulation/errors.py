"""Errors and warnings about simulations."""

from armdyn.expression import ArmdynError
from armdyn.robot.checks import Checks


class SimulationError(ArmdynError):
    """A simulation that cannot be set up; the message says what was found and what is allowed."""


class SimulationWarning(UserWarning):
    """A simulated motion stopped early, cannot be right, or passes limits of positions or of motor speeds."""


check = Checks(SimulationError)
