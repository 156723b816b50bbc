"""The subject of a report about a fit: the fit, its logs with what it predicts there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.drawing.errors import ReportError
from armdyn.identification.fit import Fit
from armdyn.identification.log import Log
from armdyn.identification.log_set import LogSet
from armdyn.identification.validation import Comparison, comparisons


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


_ENOUGH = 200_000  # samples for figures; more of a long log show nothing new


@dataclass(frozen=True)
class FitSubject:
    """A fit and, where its logs are given, measured and predicted torques."""

    fit: Fit
    training: tuple[Comparison, ...]
    validation: tuple[Comparison, ...]
    log: Log | None  # the first in memory, for what the filters did
    cut: bool  # whether logs are longer than what the figures show

    @staticmethod
    def of(fit: Any, logs: Any = None, samples: Any = None, validate: Any = None) -> FitSubject:
        """`logs` and `samples` as in `identify`; `validate` other logs, or "rest"."""
        fit = check_fit(fit)
        none = LogSet(fit.described, (), ())
        train = none if logs is None else LogSet.of(fit.described, logs, samples)
        if isinstance(validate, str) and validate == "rest":
            other = train.rest()
        else:
            other = none if validate is None else LogSet.of(fit.described, validate)
        own, own_cut = _some(fit, train)
        theirs, their_cut = _some(fit, other)
        log = next((log for log in (*train.logs, *other.logs) if isinstance(log, Log)), None)
        return FitSubject(fit, own, theirs, log, own_cut or their_cut)

    @property
    def shown(self) -> tuple[Comparison, ...]:
        """What residuals are shown of: the validation where there is one."""
        return self.validation or self.training


def _some(fit: Fit, samples: LogSet) -> tuple[tuple[Comparison, ...], bool]:
    found: list[Comparison] = []
    count = 0
    for comparison in comparisons(fit.model.problem, fit.x, samples):
        if count > _ENOUGH:
            return tuple(found), True
        found.append(comparison)
        count += len(comparison.record.t)
    return tuple(found), False


def one_after_the_other(data: Sequence[Comparison]) -> tuple[list[np.ndarray], list[float]]:
    """Times of several pieces on one axis, from zero, and where one ends and the next begins [s]."""
    times, edges, end = [], [], 0.0
    for found in data:
        t = found.record.t - found.record.t[0] + end
        times.append(t)
        end = float(t[-1])
        edges.append(end)
    return times, edges[:-1]
