"""Parameters from data: logs, excitation, estimates and what they are worth.

From a log to its fit: `log` (`Log`, `Record`; in files `log_files`), `looking_over` (a log at the joints),
`log_set` (all records of a fit), `mistakes` (what logs probably have wrong, delays too), `signals` (filters,
derivatives, states), `template` (the robot whose parameters are sought), `regression` (the regressor,
triangular factors, least squares), `selection` (filter, friction, damping), `methods` (estimates),
`consistency` (bodies that can exist), `shown` (what data show), `coverage` (where a fit holds), `intervals`
(how well it predicts), `validation`, `fit`, `identify`. `look` judges logs before a fit, `fit_file` keeps
fits, `drift` compares them. `payload` uses the same parts; `online` fits while the arm moves; `excitation`
plans motions.

Order: errors, consistency, template, excitation/, log, log_files, signals, regression, mistakes,
looking_over, log_set, selection, methods, payload, intervals, coverage, validation, shown, fit_file, fit,
look, online, drift, identify.
"""

from armdyn.identification.consistency import Consistent, consistent
from armdyn.identification.coverage import Covers
from armdyn.identification.drift import Drift, drift
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.fit import Fit
from armdyn.identification.identify import identify, identify_fleet
from armdyn.identification.intervals import Prediction
from armdyn.identification.log import Log, Record
from armdyn.identification.log_files import LogFile
from armdyn.identification.look import Look, look
from armdyn.identification.mistakes import Delay, estimate_delay
from armdyn.identification.online import Estimates, OnlineFit, online_source
from armdyn.identification.selection import Friction

__all__ = [
    "Consistent",
    "Covers",
    "Delay",
    "Drift",
    "Estimates",
    "Fit",
    "Friction",
    "IdentificationError",
    "IdentificationWarning",
    "Log",
    "LogFile",
    "Look",
    "OnlineFit",
    "Prediction",
    "Record",
    "consistent",
    "drift",
    "estimate_delay",
    "identify",
    "identify_fleet",
    "look",
    "online_source",
]
