"""Checks of what figures and reports of a fit are given."""

from __future__ import annotations

from typing import Any

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.validation.comparison import Comparison
from armdyn.report.errors import ReportError


def check_fit(fit: Any) -> Fit:
    if not isinstance(fit, Fit):
        raise ReportError(f"fit: expected a Fit, which identify gives, found {type(fit).__name__}")
    return fit


def compared(fit: Any, logs: Any, samples: Any = None) -> list[Comparison]:
    """Measured and predicted torques of logs; at least one sample has both."""
    found = check_fit(fit).compare(logs, samples)
    if not found:
        raise ReportError("logs: no sample has a torque to compare with")
    return found
