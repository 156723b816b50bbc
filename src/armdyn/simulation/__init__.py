"""Direct dynamics over time: `simulate`, controllers, and what a run gives."""

from armdyn.simulation.control.adaptive import AdaptiveControl
from armdyn.simulation.control.compensation import FrictionCompensation, GravityCompensation
from armdyn.simulation.control.controller import Controller
from armdyn.simulation.control.controllers import ComputedTorque, OperationalControl, PDGravity
from armdyn.simulation.control.elastic import MotorPD
from armdyn.simulation.control.targets import TipLine, TipPoint
from armdyn.simulation.errors import SimulationError, SimulationWarning
from armdyn.simulation.export import controller_source, steps_source
from armdyn.simulation.observer.export import observer_source
from armdyn.simulation.observer.observer import Collision, MomentumObserver, Observation
from armdyn.simulation.run import Event, LimitPassed, Run
from armdyn.simulation.simulation import simulate

__all__ = [
    "AdaptiveControl",
    "Collision",
    "ComputedTorque",
    "Controller",
    "Event",
    "FrictionCompensation",
    "GravityCompensation",
    "LimitPassed",
    "MomentumObserver",
    "MotorPD",
    "Observation",
    "OperationalControl",
    "PDGravity",
    "Run",
    "SimulationError",
    "SimulationWarning",
    "TipLine",
    "TipPoint",
    "controller_source",
    "observer_source",
    "simulate",
    "steps_source",
]
