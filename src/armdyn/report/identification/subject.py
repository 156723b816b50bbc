"""The subject of a report about a fit: the fit, and its logs with what it predicts there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.logs.log import Log
from armdyn.identification.regression.pieces import Source, sources
from armdyn.identification.validation.comparison import Comparison, comparisons
from armdyn.identification.validation.validation import rest
from armdyn.report.identification.checks import check_fit

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
        train = () if logs is None else sources(logs, samples)
        other: tuple[Source, ...] = ()
        if validate is not None:
            other = rest(train) if isinstance(validate, str) and validate == "rest" else sources(validate)
        own, own_cut = _some(fit, train)
        theirs, their_cut = _some(fit, other)
        log = next((x.log for x in (*train, *other) if isinstance(x.log, Log)), None)
        return FitSubject(fit, own, theirs, log, own_cut or their_cut)

    @property
    def shown(self) -> tuple[Comparison, ...]:
        """What residuals are shown of: the validation where there is one."""
        return self.validation or self.training


def _some(fit: Fit, logs: tuple[Source, ...]) -> tuple[tuple[Comparison, ...], bool]:
    found: list[Comparison] = []
    count = 0
    for comparison in comparisons(fit.described, fit.model.problem, fit.x, logs):
        if count > _ENOUGH:
            return tuple(found), True
        found.append(comparison)
        count += len(comparison.record.t)
    return tuple(found), False
