"""The model of a robot: frozen data with exact numbers, and its form over any scalar."""

from armdyn.model.bodies import impossible_bodies, impossible_inertia
from armdyn.model.closures import Relation
from armdyn.model.errors import ModelError, PhysicsWarning
from armdyn.model.friction import FrictionCoefficients
from armdyn.model.inertia import (
    Inertia,
    box,
    cylinder,
    hollow_cylinder,
    point_mass,
    rod,
    sphere,
    steiner,
)
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Rotor
from armdyn.model.parts import Limits, Link, Motor, MotorLimits, Transform
from armdyn.model.robot_model import BASE, RobotModel, lower

__all__ = [
    "BASE",
    "FIXED_BASE",
    "Body",
    "FrictionCoefficients",
    "Inertia",
    "Limits",
    "Link",
    "Mechanism",
    "ModelError",
    "Motor",
    "MotorLimits",
    "PhysicsWarning",
    "Relation",
    "RobotModel",
    "Rotor",
    "Transform",
    "box",
    "cylinder",
    "hollow_cylinder",
    "impossible_bodies",
    "impossible_inertia",
    "lower",
    "point_mass",
    "rod",
    "sphere",
    "steiner",
]
