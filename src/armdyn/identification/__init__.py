"""Parameters from data: logs, excitation, estimates and what they are worth."""

from armdyn.identification.consistency import Consistent, consistent
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.estimation.fit import Fit
from armdyn.identification.estimation.fleet import identify_fleet
from armdyn.identification.estimation.identify import identify
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.log_file import LogFile
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.delay import Delay, estimate_delay
from armdyn.identification.selection.choice import Friction

__all__ = [
    "Consistent",
    "Delay",
    "Fit",
    "Friction",
    "IdentificationError",
    "IdentificationWarning",
    "Log",
    "LogFile",
    "Record",
    "consistent",
    "estimate_delay",
    "identify",
    "identify_fleet",
]
