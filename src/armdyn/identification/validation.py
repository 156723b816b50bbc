"""`Validation`: a fit tried on other logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import chi2

from armdyn.identification.coverage import (
    Coverage,
    Covers,
    Extent,
    Model,
    extrapolation,
)
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.log import Record
from armdyn.identification.log_set import LogSet
from armdyn.identification.regression import Factors, Problem, merged, solve
from armdyn.identification.signals import Kinematics, States, kinematics
from armdyn.remarks import Remark, notes_of, warn
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

# ------------------------------------------------------------------------------------------------------------
# Measured and predicted torques side by side, record by record.


@dataclass(frozen=True)
class Comparison:
    """A log at the joints, or a part of it, M samples, and what a fit predicts there."""

    name: str
    record: Record
    motion: Kinematics  # (M, n) each, filtered as in the fit
    predicted: np.ndarray  # (M, n) N m or N
    use: np.ndarray  # (M, n) bool: torques measured and asked for
    filtered: np.ndarray  # (M, n) measured torques of the motion, through the filter of the fit

    @property
    def residual(self) -> np.ndarray:
        """(M, n) measured minus predicted."""
        return np.asarray(self.record.tau - self.predicted)

    @property
    def filtered_residual(self) -> np.ndarray:
        """(M, n) measured minus predicted, both through the filter of the fit."""
        return np.asarray(self.filtered - self.record.tau_of_motion + self.residual)


def comparisons(
    problem: Problem, x: np.ndarray, samples: LogSet, only: int | None = None
) -> Iterator[Comparison]:
    """Comparisons of all records of these logs, or of one, for parameters x (p,)."""
    return _compared(problem, x, samples.records(problem.cutoff, only))


def _compared(problem: Problem, x: np.ndarray, records: Iterable[Record]) -> Iterator[Comparison]:
    for record in records:
        use = record.usable & record.own[:, None]
        if use.any():
            motion, filtered = kinematics(record, problem.cutoff), problem.filtered(record)
            yield Comparison(record.name, record, motion, problem.torques(record, x), use, filtered)


# ------------------------------------------------------------------------------------------------------------
# Are residuals white noise? Their autocorrelation, and the test of Ljung and Box.


LAGS = 20
_LEVEL = 0.01  # a smaller probability says that residuals are not white
_SLIGHT = 0.1  # autocorrelations up to this say little, however sure they are


def lagged_products(residual: np.ndarray, use: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ r_i r_{i+k} over pairs that are both used, and how many, for k = 0 … LAGS: (LAGS + 1, n) each."""
    r = np.where(use, residual, 0.0)
    products = np.zeros((LAGS + 1, r.shape[1]))
    pairs = np.zeros_like(products)
    for k in range(min(LAGS + 1, len(r))):
        products[k] = np.einsum("ij,ij->j", r[: len(r) - k], r[k:])
        pairs[k] = (use[: len(r) - k] & use[k:]).sum(0)
    return products, pairs


@dataclass(frozen=True)
class Whiteness:
    """A test of one joint's residuals. `correlations` (LAGS,) are those of samples 1, 2, … apart."""

    correlations: np.ndarray
    statistic: float  # of Ljung and Box, Q = N(N + 2) Σ ρ_k²/(N − k)
    probability: float  # of a Q at least this large if the residuals were white

    @staticmethod
    def of(products: np.ndarray, pairs: np.ndarray) -> Whiteness:
        """From lagged products and pairs, (LAGS + 1,) each."""
        N = float(pairs[0])
        if N == 0 or products[0] <= 0:
            return Whiteness(np.zeros(LAGS), 0.0, 1.0)
        known = pairs[1:] > 0
        rho = np.where(known, products[1:] / np.maximum(pairs[1:], 1) / (products[0] / N), 0.0)
        Q = (N + 2) * float(np.sum(np.where(known, rho**2 * pairs[1:] / N, 0.0)))
        return Whiteness(rho, Q, float(chi2.sf(Q, max(int(known.sum()), 1))))

    @property
    def verdict(self) -> str:
        """ "white", "nearly white" (clearly not, but hardly) or "not white"."""
        if self.probability >= _LEVEL:
            return "white"
        return "nearly white" if float(np.abs(self.correlations).max()) < _SLIGHT else "not white"


# ------------------------------------------------------------------------------------------------------------
# Residuals of each joint, gathered record by record.


@dataclass(frozen=True)
class Instant:
    """Where a residual is greatest."""

    residual: float  # N m or N
    time: float  # s, of the log
    log: str


@dataclass(frozen=True)
class JointResiduals:
    """Residuals that a fit leaves at one joint."""

    samples: int
    rms: float  # N m or N
    torque_rms: float  # of the measured torque, without what a wrench at the tip needs
    mean: float  # N m or N
    worst: Instant
    whiteness: Whiteness

    @property
    def relative(self) -> float:
        """The residual's part of the torque, by their root mean squares."""
        return self.rms / self.torque_rms if self.torque_rms else float("nan")


class Gathered:
    """Sums over records, from which the residuals of n joints follow."""

    def __init__(self, n: int) -> None:
        self.count = np.zeros(n)
        self.total = np.zeros(n)
        self.torques = np.zeros(n)  # squares
        self.filtered = np.zeros(2)  # squares of residuals and torques through the filter, of all joints
        self.products = np.zeros((LAGS + 1, n))
        self.pairs = np.zeros((LAGS + 1, n))
        self.worst = [Instant(0.0, 0.0, "")] * n

    def add(self, found: Comparison) -> None:
        residual, use, tau = found.residual, found.use, found.record.tau_of_motion
        self.count += use.sum(0)
        self.total += np.where(use, residual, 0.0).sum(0)
        self.torques += np.square(np.where(use, tau, 0.0)).sum(0)
        self.filtered += [np.square(x[use]).sum() for x in (found.filtered_residual, found.filtered)]
        for part in found.record.segments:
            products, pairs = lagged_products(residual[part], use[part])
            self.products += products
            self.pairs += pairs
        sizes = np.where(use, np.abs(residual), -1.0)
        for j, i in enumerate(sizes.argmax(0)):
            if sizes[i, j] > abs(self.worst[j].residual):
                self.worst[j] = Instant(float(residual[i, j]), float(found.record.t[i]), found.name)

    @property
    def error(self) -> float:
        """‖τ − τ̂‖/‖τ‖ over all joints, τ as recorded."""
        size = self.torques.sum()
        return float(np.sqrt(self.products[0].sum() / size)) if size else float("nan")

    @property
    def filtered_error(self) -> float:
        """‖τ − τ̂‖/‖τ‖ over all joints, τ through the filter of the fit, as τ̂ is."""
        wrong, size = self.filtered
        return float(np.sqrt(wrong / size)) if size else float("nan")

    def joints(self) -> tuple[JointResiduals, ...]:
        found = []
        for j, count in enumerate(np.maximum(self.count, 1)):
            found.append(
                JointResiduals(
                    samples=int(self.count[j]),
                    rms=float(np.sqrt(self.products[0, j] / count)),
                    torque_rms=float(np.sqrt(self.torques[j] / count)),
                    mean=float(self.total[j] / count),
                    worst=self.worst[j],
                    whiteness=Whiteness.of(self.products[:, j], self.pairs[:, j]),
                )
            )
        return tuple(found)


def gathered(problem: Problem, x: np.ndarray, samples: LogSet) -> Gathered:
    """What parameters x (p,) leave of all torques of these logs."""
    found = Gathered(samples.robot.n)
    for one in comparisons(problem, x, samples):
        found.add(one)
    return found


def filtered_error(problem: Problem, x: np.ndarray, records: Iterable[Record]) -> float:
    """‖τ − τ̂‖/‖τ‖ of parameters x (p,) over all joints of these records, τ through the filter as τ̂ is."""
    found = Gathered(problem.template.robot.n)
    for one in _compared(problem, x, records):
        found.add(one)
    return found.filtered_error


# ------------------------------------------------------------------------------------------------------------
# `Validation`: a fit tried on other logs.


_OVERLAP = 0.05  # of the samples: more of them from the training data make the test no test
_HARDLY = 0.1  # of the speeds or of the span in training


@dataclass(frozen=True)
class Validation:
    """Errors of a fit on logs, and whether they are a test of it."""

    error: float  # ‖τ − τ̂‖/‖τ‖ over all joints and logs, τ as recorded
    filtered_error: float  # the same with τ through the filter of the fit, as τ̂ is
    errors: dict[str, float]  # of each log
    joints: tuple[JointResiduals, ...] = field(repr=False)
    covers: Covers = field(repr=False)  # how these logs lie beside the training data
    overlap: float  # part of the samples that were in the training data, or touch them
    remarks: tuple[Remark, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The texts of the remarks: why this is no test of the fit."""
        return notes_of(self.remarks)

    def summary(self) -> str:
        """A line for each joint, and what to beware of."""
        lines = [f"error {100 * self.error:.2f} % of the recorded torques, {_filtered(self.filtered_error)}"]
        lines += [f"  {name}: {100 * error:.2f} %" for name, error in self.errors.items()]
        lines += [
            f"  joint {j + 1}: RMS {x.rms:.3g} ({100 * x.relative:.1f} % of the torque's), worst "
            f"{x.worst.residual:.3g} at {x.worst.time:.3f} s of {x.worst.log}; {x.whiteness.verdict}"
            for j, x in enumerate(self.joints)
        ]
        return "\n".join([*lines, *(f"  beware: {text}" for text in self.warnings)])

    def __str__(self) -> str:
        return self.summary()


def _filtered(error: float) -> str:
    return f"{100 * error:.2f} % of the filtered ones"


def validate(model: Model, samples: LogSet) -> Validation:
    """Try a model on logs; warn where these are no test."""
    robot, training = samples.robot, model.training
    every = Gathered(robot.n)
    each: dict[str, Gathered] = {}
    extent: Extent | None = None
    shared = count = 0
    for k, log in enumerate(samples.logs):
        name = log.name if log.name not in each else f"{log.name} ({k + 1})"
        own = each[name] = Gathered(robot.n)
        for found in comparisons(model.problem, model.x, samples, k):
            every.add(found)
            own.add(found)
            here = _extent(model, found)
            extent = here if extent is None else extent + here
            used = np.asarray(found.use.any(1))
            shared += training.shared(found.record, used)
            count += int(used.sum())
    if extent is None:
        raise IdentificationError("validation: no sample of these logs has a torque to compare with")
    overlap = shared / count
    covers = Covers.of(robot, extent, training)
    texts = (*_overlap(overlap), *_standstill(robot, covers.here, covers.training), *extrapolation(covers))
    remarks = tuple(Remark(text, "warning", "validation") for text in texts)
    warn(remarks, IdentificationWarning, 3)
    errors = {name: own.error for name, own in each.items()}
    return Validation(every.error, every.filtered_error, errors, every.joints(), covers, overlap, remarks)


def _extent(model: Model, found: Comparison) -> Extent:
    record = found.record
    torque = found.predicted if record.contact is None else found.predicted - record.contact
    return Extent.of(model, found.name, record.t, found.motion, torque, found.use)


def _overlap(overlap: float) -> list[str]:
    if overlap <= _OVERLAP:
        return []
    text = f"{100 * overlap:.0f} % of the samples are in the training data or next to samples that are: "
    return [f"{text}the error is no test of the fit there"]


def _standstill(robot: Robot, here: Coverage, training: Coverage) -> list[str]:
    """Joints that moved in training and hardly do here."""
    found = []
    for kind, own, theirs, rate in (
        ("RMS speed", here.rms_speed, training.rms_speed, "/s"),
        ("range", here.span, training.span, ""),
    ):
        for j in np.flatnonzero((own < _HARDLY * theirs) & (theirs > 0)):
            unit = joint_units(robot, int(j)).position + rate
            found.append(f"joint {j + 1} ({kind} {own[j]:.2g} {unit}, {theirs[j]:.2g} {unit} in training)")
    if not found:
        return []
    return [f"these logs hardly move {', '.join(found)}: the error says little about them"]


# ------------------------------------------------------------------------------------------------------------
# Cross-validation: the fit repeated without a part of its data, and tried on that part.


@dataclass(frozen=True)
class CrossValidation:
    """Errors on parts of the data, each by the fit to the others: stretches of time, one after the other."""

    errors: np.ndarray  # (folds,) ‖τ − τ̂‖/‖τ‖
    joints: np.ndarray = field(repr=False)  # (folds, n) RMS of the residuals [N m or N]
    parameters: np.ndarray = field(repr=False)  # (folds, p) of the fits to the others
    error: float  # of all folds together

    def __str__(self) -> str:
        each = ", ".join(f"{100 * x:.2f}" for x in self.errors)
        return f"error {100 * self.error:.2f} % in {len(self.errors)} folds ({each})"


def cross_validate(
    problem: Problem,
    samples: LogSet,
    scale: np.ndarray,
    damping: float,
    free: np.ndarray,
    folds: int,
) -> CrossValidation:
    """Refits of weighted least squares with the joints' scales (n,) and the damping of a fit.

    What is not `free` (p,) bool keeps the description's value, as in the fit.
    """
    factors = _of_folds(problem, samples, folds)
    prior = problem.template.prior
    errors, joints, parameters = (
        np.zeros(folds),
        np.zeros((folds, samples.robot.n)),
        np.zeros((folds, len(prior))),
    )
    wrong = size = 0.0
    for k, own in enumerate(factors):
        others = merged(other for i, other in enumerate(factors) if i != k)
        x = parameters[k] = solve(others.weighted(scale), prior, damping, free).x
        squares, whole = own.squares(x), own.squares(np.zeros_like(x)).sum()
        joints[k] = np.sqrt(squares / np.maximum(own.rows, 1))
        errors[k] = np.sqrt(squares.sum() / whole) if whole else np.nan
        wrong, size = wrong + squares.sum(), size + whole
    return CrossValidation(errors, joints, parameters, float(np.sqrt(wrong / size)))


def _of_folds(problem: Problem, samples: LogSet, folds: int) -> list[Factors]:
    """The factors of each fold; folds have equally many instants."""

    def parts() -> Iterator[States]:
        return (part for record in samples.records(problem.cutoff) for part in problem.states(record))

    total = sum(len(part) for part in parts())
    if total < 2 * folds:
        raise IdentificationError(f"folds: {total} instants are too few for {folds} folds")
    found: list[list[Factors]] = [[] for _ in range(folds)]
    start = 0
    for part in parts():
        for Y, some in problem.regressors(part):
            fold = (start + np.arange(len(some))) * folds // total
            start += len(some)
            for k in np.unique(fold):
                at = fold == k
                found[k].append(Factors.of(Y[at], some.tau[at], some.use[at]))
    if not all(found):
        raise IdentificationError(f"folds: {folds} folds are more than these logs allow")
    return [merged(parts) for parts in found]
