"""Direct dynamics over time: `simulate`, controllers, and what a run gives."""

from armdyn.simulation.controllers import ComputedTorque, Controller, OperationalControl, PDGravity
from armdyn.simulation.errors import SimulationError, SimulationWarning
from armdyn.simulation.run import Event, LimitPassed, Run
from armdyn.simulation.simulation import simulate
from armdyn.simulation.targets import TipLine, TipPoint

__all__ = [
    "ComputedTorque",
    "Controller",
    "Event",
    "LimitPassed",
    "OperationalControl",
    "PDGravity",
    "Run",
    "SimulationError",
    "SimulationWarning",
    "TipLine",
    "TipPoint",
    "simulate",
]
