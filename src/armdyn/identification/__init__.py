"""Parameters from data: logs, excitation, estimates and what they are worth."""

from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.logs.delay import Delay, estimate_delay
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.log_file import LogFile
from armdyn.identification.logs.record import Record

__all__ = [
    "Delay",
    "IdentificationError",
    "IdentificationWarning",
    "Log",
    "LogFile",
    "Record",
    "estimate_delay",
]
