"""Designs compared and chosen: tables of cases run, drives sized, symbols optimised.

`optimise` finds values of symbols by gradient: of `measures`, evaluated on `courses`.
"""

from armdyn.studies.cases import Cases
from armdyn.studies.courses import TipMotion
from armdyn.studies.errors import StudyError
from armdyn.studies.measures import (
    Constraint,
    Measure,
    along,
    energy,
    formula,
    isotropy,
    manipulability_measure,
    mass,
    peak_speed,
    peak_torque,
    potential_spread,
    rms_torque,
    speed,
    torque,
)
from armdyn.studies.optimise import Active, Optimum, optimise
from armdyn.studies.store import Study

__all__ = [
    "Active",
    "Cases",
    "Constraint",
    "Measure",
    "Optimum",
    "Study",
    "StudyError",
    "TipMotion",
    "along",
    "energy",
    "formula",
    "isotropy",
    "manipulability_measure",
    "mass",
    "optimise",
    "peak_speed",
    "peak_torque",
    "potential_spread",
    "rms_torque",
    "speed",
    "torque",
]
