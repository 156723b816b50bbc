"""Designs compared and chosen: tables of cases run, drives sized, symbols optimised.

`study` runs a function for every case of a table. `optimise` finds values of symbols by gradient: of
`measures`, evaluated on `courses`.
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
from armdyn.studies.study import Row, Rows, study

__all__ = [
    "Active",
    "Cases",
    "Constraint",
    "Measure",
    "Optimum",
    "Row",
    "Rows",
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
    "study",
    "torque",
]
