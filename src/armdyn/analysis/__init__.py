"""Analyses of a robot at a state: torques by cause, operational space, manipulability, rotors."""

from armdyn.analysis.contributions import Contributions, contributions
from armdyn.analysis.errors import AnalysisError
from armdyn.analysis.linearization import DiscreteSystem, LinearSystem, linearize
from armdyn.analysis.manipulability import (
    Ellipsoid,
    dynamic_manipulability,
    force_ellipsoid,
    manipulability,
    velocity_ellipsoid,
)
from armdyn.analysis.operational import Operational, OperationalWarning, operational
from armdyn.analysis.rotor_error import RotorError, RotorErrorRow, rotor_error
from armdyn.robot.joints import JointLimits, joint_limits

__all__ = [
    "AnalysisError",
    "Contributions",
    "DiscreteSystem",
    "Ellipsoid",
    "JointLimits",
    "LinearSystem",
    "Operational",
    "OperationalWarning",
    "RotorError",
    "RotorErrorRow",
    "contributions",
    "dynamic_manipulability",
    "force_ellipsoid",
    "joint_limits",
    "linearize",
    "manipulability",
    "operational",
    "rotor_error",
    "velocity_ellipsoid",
]
