"""`Fit`: what identification found, what it is worth, and what it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import norm

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError, NothingUsableError
from armdyn.identification.estimation.summary import text
from armdyn.identification.estimation.table import Row, rows, to_dict
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.log_file import LogFile
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import sources
from armdyn.identification.regression.solve import RANK
from armdyn.identification.selection.model import Chosen
from armdyn.identification.validation.comparison import Comparison, comparisons
from armdyn.identification.validation.folds import CrossValidation, cross_validate
from armdyn.identification.validation.training import Training
from armdyn.identification.validation.validation import Validation, validate
from armdyn.output import Shown
from armdyn.robot import Robot
from armdyn.robot.base_parameters import BaseParameters

LEVEL = 0.99  # of the intervals
ESSENTIAL = 0.3  # relative standard deviation up to which a parameter counts as known
OPEN = 1e-6  # of a combination's size: a share in open directions from which it is not shown by the data


@dataclass(frozen=True, eq=False)
class Fit(Shown):
    """The result of `identify`.

    `parameters` (b,) are estimates of the base parameters, what torques can show at all, named by
    `names` and written out by `base.combinations`. `robot` is a full robot with them: what the data do not
    show is as in the description. `robot.parameters` are its own parameters.
    """

    robot: Robot
    described: Robot = field(repr=False)  # what `identify` was given
    x: np.ndarray = field(repr=False)  # (p,) the template's parameters
    covariance_x: np.ndarray = field(repr=False)  # (p, p)
    open: np.ndarray = field(repr=False)  # (p, k) directions that the data do not show
    model: Chosen = field(repr=False)
    method: str
    free: np.ndarray = field(repr=False)  # (p,) bool: what was estimated; the rest was known
    scale: np.ndarray = field(repr=False)  # (n,) standard deviation of the residuals [N m or N]
    repeats: np.ndarray = field(repr=False)  # (n,) samples that count as one
    factors: Factors = field(repr=False)
    singular_values: np.ndarray = field(repr=False)
    training_error: float
    consistent: bool
    notes: tuple[str, ...] = field(repr=False)
    training: Training = field(repr=False)  # where the data moved that entered the fit
    validation: Validation | None = field(default=None, repr=False)  # on the logs of `validate=`

    # ---- the base parameters ---------------------------------------------------------------------------

    @cached_property
    def base(self) -> BaseParameters:
        """The combinations that torques can show, over the parameters of the model that was fitted."""
        return self.model.problem.template.robot.base_parameters(friction=True, route="numeric")

    @property
    def names(self) -> tuple[str, ...]:
        """By their leading parameters."""
        return self.base.leading

    @property
    def parameters(self) -> np.ndarray:
        """Estimates of the base parameters (b,)."""
        return np.asarray(self.base.matrix @ self.x)

    def values_of(self, robot: Robot) -> np.ndarray:
        """The base parameters (b,) of another robot of the same structure; terms it has not are zero."""
        if check.robot(robot).n != self.robot.n:
            raise IdentificationError(
                f"robot: expected one with {self.robot.n} joints, found {robot.name} with {robot.n}"
            )
        known = dict(zip(robot.parameter_names, robot.parameters, strict=True))
        return np.asarray(self.base.matrix @ [known.get(name, 0.0) for name in self.full_names])

    @property
    def full_names(self) -> tuple[str, ...]:
        """Names of all p parameters of the model that was fitted."""
        return self.model.problem.template.names

    @cached_property
    def covariance(self) -> np.ndarray:
        """(b, b) of the base parameters, without those of `not_shown`, whose rows are infinite."""
        M = self.base.matrix
        C = M @ self.covariance_x @ M.T
        C[self.not_shown] = C[:, self.not_shown] = 0.0
        C[self.not_shown, self.not_shown] = np.inf
        return np.asarray(C)

    @cached_property
    def not_shown(self) -> np.ndarray:
        """(b,) bool: base parameters of which these data say nothing."""
        M, lengths = self.base.matrix, np.abs(self.base.matrix) @ np.ones(len(self.x))
        if not self.open.shape[1]:
            return np.zeros(len(M), bool)
        return np.asarray(np.abs(M @ self.open).max(1) > OPEN * lengths)

    @property
    def standard_errors(self) -> np.ndarray:
        """(b,)"""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = LEVEL) -> np.ndarray:
        """(b, 2): where the base parameters lie with this probability."""
        level = check.number("level", level)
        if not 0 < level < 1:
            raise IdentificationError(f"level: found {level:g}; between 0 and 1 is allowed")
        half = norm.ppf((1 + level) / 2) * self.standard_errors
        return np.stack([self.parameters - half, self.parameters + half], axis=1)

    @property
    def intervals(self) -> np.ndarray:
        """(b, 2): where the base parameters lie with a probability of 99 %."""
        return self.interval()

    @property
    def relative_errors(self) -> np.ndarray:
        """(b,) standard errors as parts of the estimates."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.standard_errors / np.abs(self.parameters))

    @property
    def correlation(self) -> np.ndarray:
        """(b, b); zero for parameters that are not shown."""
        s = self.standard_errors
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.covariance / np.outer(s, s)
        found[~np.isfinite(found)] = 0.0
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    @property
    def essential(self) -> np.ndarray:
        """(b,) bool: base parameters whose relative standard deviation is at most 30 %."""
        return np.asarray(self.relative_errors <= ESSENTIAL)

    @property
    def condition(self) -> float:
        """Condition number of the weighted regressor, columns of length 1, without what is not shown."""
        s = self.singular_values
        kept = s[s > RANK * s.max(initial=0.0)]
        return float(kept.max() / kept.min()) if len(kept) else float("inf")

    @property
    def added(self) -> tuple[str, ...]:
        """Parameters that the description does not have and that were estimated."""
        free = {name for name, is_free in zip(self.full_names, self.free, strict=True) if is_free}
        return tuple(name for name in self.model.problem.template.added if name in free)

    # ---- predictions -----------------------------------------------------------------------------------

    def predict(self, log: Log) -> np.ndarray:
        """Torques (samples, n) at the samples of a log, its positions filtered as in the fit.

        Samples that say nothing (a repeated time stamp, say) get the torques of the sample before.
        """
        if isinstance(log, LogFile):
            raise IdentificationError(
                "log: a file is predicted block by block: for rows, tau in fit.predictions(file); "
                "or read it whole with file.read()"
            )
        if not isinstance(log, Log):
            raise IdentificationError(f"log: expected a Log, found {type(log).__name__}")
        record = log.at_joints(self.described)
        return self._rows_of_log(record, self.model.problem.torques(record, self.x))

    def predictions(self, file: Log | LogFile) -> Iterator[tuple[slice, np.ndarray]]:
        """`predict` of a log block by block, in little memory: rows of the log, and their torques (rows, n).

        In a block of which nothing can be used, torques are NaN.
        """
        (source,) = sources([file])
        for part in source.parts(self.model.problem.cutoff):
            first = file.first if isinstance(file, Log) else 0
            rows = slice(part.start - first, part.stop - first)
            try:
                record = source.piece(part, self.described).record
            except NothingUsableError as reason:
                part.left_out(reason)
                yield rows, np.full((part.stop - part.start, self.robot.n), np.nan)
                continue
            tau = self._rows_of_log(record, self.model.problem.torques(record, self.x))
            yield rows, tau[part.start - record.first : part.stop - record.first]

    def _rows_of_log(self, record: Record, tau: np.ndarray) -> np.ndarray:
        before = np.searchsorted(record.rows, np.arange(record.size), side="right") - 1
        return np.asarray(tau[np.clip(before, 0, len(tau) - 1)])

    def error(self, logs: Any, samples: Any = None) -> float:
        """‖τ − τ̂‖/‖τ‖ over all joints of a log or a list of logs, where torques were measured.

        The ends of a log do not count, one period of the cut-off each: there the filter guesses what was
        before and after.
        """
        wrong = size = 0.0
        for found in comparisons(self.described, self.model.problem, self.x, sources(logs, samples)):
            wrong += float(np.square(found.residual[found.use]).sum())
            size += float(np.square(found.record.tau[found.use]).sum())
        return float(np.sqrt(wrong / size)) if size else float("nan")

    # ---- trials ----------------------------------------------------------------------------------------

    @property
    def validation_errors(self) -> tuple[float, ...]:
        """‖τ − τ̂‖/‖τ‖ of each log that `identify` was given to validate with."""
        return () if self.validation is None else tuple(self.validation.errors.values())

    def validate(self, logs: Any, samples: Any = None) -> Validation:
        """The fit tried on other logs: errors, residuals of each joint, whether they are white noise.

        Warns (`IdentificationWarning`) where the logs were in the training data or hardly move.
        """
        problem = self.model.problem
        return validate(self.described, problem, self.x, sources(logs, samples), self.training)

    def cross_validate(self, logs: Any, samples: Any = None, folds: int = 5) -> CrossValidation:
        """The fit repeated without each of `folds` stretches of its logs, and tried on what was left out.

        Filter, friction terms, what is known, weights of the joints and damping stay; the refits are least
        squares.
        """
        folds = check.whole_number("folds", folds, 2)
        train, problem = sources(logs, samples), self.model.problem
        return cross_validate(
            self.described, problem, train, self.scale, self.model.damping, self.free, folds
        )

    def compare(self, logs: Any, samples: Any = None) -> list[Comparison]:
        """Measured and predicted torques of logs, with the filtered motion, in memory: for figures."""
        return list(comparisons(self.described, self.model.problem, self.x, sources(logs, samples)))

    # ---- to read and to keep ---------------------------------------------------------------------------

    def table(self) -> tuple[Row, ...]:
        """A row for each base parameter: combination, estimate, standard error, interval, nominal value."""
        return rows(self)

    def summary(self, parameters: bool = True) -> str:
        """Errors, filter, friction and why, added terms, notes and, if wanted, every base parameter."""
        return text(self, parameters)

    def to_dict(self) -> dict[str, Any]:
        """All numbers of the fit in lists and texts, for JSON; infinite ones are None."""
        return to_dict(self)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<Fit of {self.robot.name}: {len(self.base)} base parameters, "
            f"training error {100 * self.training_error:.3g} %>"
        )
