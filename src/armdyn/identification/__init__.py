"""Parameters from data: logs, excitation, estimates and what they are worth.

From a log to its fit: `log` (`Log`, `LogFile`, `Record`; `channels` says which columns are what),
`looking_over` (a log at the joints), `log_set` (all records of a fit), `signals` (filters, derivatives,
states), `template` (the robot whose parameters are sought), `regression` (columns, triangular factors, least
squares),
`selection` (filter, friction, damping), `methods` (estimates), `consistency` and `pseudo_inertia` (bodies
that can exist), `validation`, `fit`, `identify`. `delay` and `payload` use the same parts; `excitation` plans
motions.

Order: errors, channels, pseudo_inertia, consistency, template, excitation/, log, signals,
regression, delay, looking_over, log_set, selection, methods, payload, validation, fit, identify.
"""

from armdyn.identification.consistency import Consistent, consistent
from armdyn.identification.delay import Delay, estimate_delay
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.fit import Fit
from armdyn.identification.identify import identify, identify_fleet
from armdyn.identification.log import Log, LogFile, Record
from armdyn.identification.selection import Friction

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
