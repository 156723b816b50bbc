"""Designs compared and chosen: tables of cases run, drives sized, symbols optimised.

`study` runs a function for every case of a table, `StudyFile` does what a file says. `size_drives` chooses
motors and gears of a catalogue for duty cycles. `optimise` finds values of symbols by gradient: of
`measures`, evaluated on `courses`.
"""

from armdyn.studies.cases import Cases
from armdyn.studies.catalogue import Catalogue, Pair, bundled_catalogues, load_catalogue
from armdyn.studies.courses import TipMotion
from armdyn.studies.errors import StudyError
from armdyn.studies.findings import (
    RankCorrelations,
    SobolIndices,
    best_rows,
    pareto_front,
    rank_correlations,
    sobol_indices,
)
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
from armdyn.studies.size_drives import DriveAssignment, DriveRow, NextDown, Sizing, size_drives
from armdyn.studies.store import Study
from armdyn.studies.study import Row, Rows, study
from armdyn.studies.study_file import StudyFile

__all__ = [
    "Active",
    "Cases",
    "Catalogue",
    "Constraint",
    "DriveAssignment",
    "DriveRow",
    "Measure",
    "NextDown",
    "Optimum",
    "Pair",
    "RankCorrelations",
    "Row",
    "Rows",
    "Sizing",
    "SobolIndices",
    "Study",
    "StudyError",
    "StudyFile",
    "TipMotion",
    "along",
    "best_rows",
    "bundled_catalogues",
    "energy",
    "formula",
    "isotropy",
    "load_catalogue",
    "manipulability_measure",
    "mass",
    "optimise",
    "pareto_front",
    "peak_speed",
    "peak_torque",
    "potential_spread",
    "rank_correlations",
    "rms_torque",
    "size_drives",
    "sobol_indices",
    "speed",
    "study",
    "torque",
]
