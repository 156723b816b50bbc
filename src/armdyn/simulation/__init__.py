"""Direct dynamics over time: `simulate`, controllers, observers, and runs."""

from armdyn.simulation.controller import Controller
from armdyn.simulation.controllers import (
    AdaptiveControl,
    ComputedTorque,
    FrictionCompensation,
    GravityCompensation,
    MotorPD,
    OperationalControl,
    PDGravity,
    TipLine,
    TipPoint,
)
from armdyn.simulation.errors import SimulationError, SimulationWarning
from armdyn.simulation.export import controller_source, observer_source, steps_source
from armdyn.simulation.learning import LearnedTorques, learn_torques
from armdyn.simulation.observer import Collision, MomentumObserver, Observation
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
    "LearnedTorques",
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
    "learn_torques",
    "observer_source",
    "simulate",
    "steps_source",
]
