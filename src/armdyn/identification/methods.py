"""Methods of estimation: what minimises which error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.interpolate import CubicSpline

from armdyn.identification.errors import IdentificationError
from armdyn.identification.log import Log, Record
from armdyn.identification.log_files import LogFile
from armdyn.identification.log_set import LogSet
from armdyn.identification.regression import (
    RANK,
    Factors,
    Problem,
    Solution,
    column_scales,
    joint_scales,
    merge,
    merged,
    solve,
)
from armdyn.identification.selection import Chosen, weighted
from armdyn.identification.signals import (
    Kinematics,
    Motion,
    Segment,
    States,
    at_rest,
    on_grid,
    smoothed,
    states,
)

# ------------------------------------------------------------------------------------------------------------
# Methods of estimation: what minimises which error.


FLOOR = 1e-6  # of a joint's torques: the least scale


@dataclass(frozen=True)
class Estimate:
    """Estimates, and how the noise e_j in the rows of joint j enters them.

    The error of `x` is Σ_j gains_j Z_jᵀ e_j, with Z_jᵀZ_j = moments_j and e_j of variance noise_j². `factors`
    and `scale` are those of the least-squares problem that was solved, for what comes after it.
    """

    x: np.ndarray  # (p,)
    open: np.ndarray  # (p, k) directions that the data do not show
    singular_values: np.ndarray
    factors: Factors
    scale: np.ndarray  # (n,) N m or N
    noise: np.ndarray  # (n,) N m or N
    gains: tuple[np.ndarray, ...]  # n of (p, p)
    moments: tuple[np.ndarray, ...]  # n of (p, p)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class EstimationData:
    """Data that a method works on; `factors` are those of all samples with equal weights."""

    logs: LogSet
    chosen: Chosen
    factors: Factors
    free: np.ndarray  # (p,) bool: what is estimated
    instruments: Sequence[Given] | None = None

    @property
    def prior(self) -> np.ndarray:
        return self.chosen.problem.template.prior


def _weighted(data: EstimationData) -> Estimate:
    """(7.86), each joint's rows divided by what it leaves unexplained; "damped" differs in its damping."""
    damping = data.chosen.damping
    _, scale = weighted(data.factors, data.prior, damping, data.free)
    solution = solve(data.factors.weighted(scale), data.prior, damping, data.free)
    return _of_solution(solution, data.factors, scale, scale)


def _ordinary(data: EstimationData) -> Estimate:
    """(7.86) as it stands: all rows count alike, N m and N, large joints and small ones."""
    same = np.ones(len(data.factors.R))
    found = solve(data.factors.weighted(same), data.prior, data.chosen.damping, data.free)
    squares, rows = data.factors.squares(found.x), data.factors.rows
    scale = same * np.sqrt(squares.sum() / max(int(rows.sum()) - found.rank, 1))
    scale = scale if scale.any() else same
    solution = solve(data.factors.weighted(scale), data.prior, data.chosen.damping, data.free)
    noise = joint_scales(squares, rows, found.rank, _floor(data.factors))
    return _of_solution(solution, data.factors, scale, noise)


def _of_solution(solution: Solution, factors: Factors, scale: np.ndarray, noise: np.ndarray) -> Estimate:
    gains = tuple(solution.gain / s**2 for s in scale)
    values = solution.singular_values
    return Estimate(solution.x, solution.open, values, factors, scale, noise, gains, _moments(factors))


def _moments(factors: Factors) -> tuple[np.ndarray, ...]:
    return tuple(R[:, :-1].T @ R[:, :-1] for R in factors.R)


def _floor(factors: Factors) -> np.ndarray:
    """(n,) a millionth of the joints' torques."""
    return FLOOR * factors.sizes()


# ------------------------------------------------------------------------------------------------------------
# Robust estimates: least squares again and again, each sample weighted by how well it fitted before.
#
# The weights are Huber's until they settle (from there the start does not matter), then Tukey's, which leave
# out what cannot belong to the noise. The unit of each joint is the robust scale of its residuals, 1.4826
# times the median of their sizes.


HUBER, TUKEY = 1.345, 4.685  # units of the scale: 95 % as efficient as least squares under normal noise
PASSES = 30  # over the data, at most
_SETTLED = 1e-3  # of the standard errors: a change of the estimates that no longer matters
_SOME = 20_000  # residuals of a record from which the median is taken
_MAD = 1.4826  # standard deviation of normal noise per median size


def huber(u: np.ndarray) -> np.ndarray:
    """Weights of residuals in units of the scale: 1 within the bound, then as bound/|u|."""
    return np.asarray(np.minimum(1.0, HUBER / np.maximum(np.abs(u), 1e-300)))


def tukey(u: np.ndarray) -> np.ndarray:
    """Weights (1 − (u/c)²)² within c, and 0 beyond."""
    return np.asarray(np.square(np.maximum(1 - np.square(u / TUKEY), 0.0)))


def _huber_slope(u: np.ndarray) -> np.ndarray:
    """dψ/du of ψ(u) = u · weight(u)."""
    return np.asarray(np.abs(u) <= HUBER, float)


def _tukey_slope(u: np.ndarray) -> np.ndarray:
    inside = np.maximum(1 - np.square(u / TUKEY), 0.0)
    return np.asarray(inside * (1 - 5 * np.square(u / TUKEY)) * (inside > 0))


RULES: dict[str, tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]] = {
    "huber": (huber, _huber_slope),
    "tukey": (tukey, _tukey_slope),
}


@dataclass(frozen=True)
class Pass:
    """The result of a pass over a record; the sums are over the samples of each joint, (n,)."""

    factors: Factors
    psi: np.ndarray  # Σ ψ²
    slope: np.ndarray  # Σ dψ/du
    out: np.ndarray  # how many samples had less than half their weight
    residuals: np.ndarray  # (some, n); NaN where a sample is not used


def reweighting(problem: Problem, x: np.ndarray, scale: np.ndarray, rule: str, record: Record) -> Pass | None:
    """A pass over a record with the weights that estimates x and scales (n,) give."""
    weight, slope = RULES[rule]
    found: Factors | None = None
    psi, slopes, out, some = 0.0, 0.0, 0.0, []
    for part in problem.states(record):
        for Y, at in problem.regressors(part):
            r = at.tau - Y @ x
            u, use = r / scale, at.use
            w = weight(u)
            found = merge(found, Factors.of(Y, at.tau, use, np.sqrt(w)))
            psi = psi + np.where(use, np.square(u * w), 0).sum(0)
            slopes = slopes + np.where(use, slope(u), 0).sum(0)
            out = out + (use & (w < 0.5)).sum(0)
            some.append(np.where(use, r, np.nan))
    if found is None:
        return None
    residuals = np.concatenate(some)
    step = -(-len(residuals) // _SOME)
    return Pass(found, np.asarray(psi), np.asarray(slopes), np.asarray(out), residuals[::step])


def _robust(data: EstimationData) -> Estimate:
    """From weighted least squares on, until the weights settle.

    What stands for the standard deviation of noise in the standard errors is the robust scale times
    √mean ψ² / mean ψ'.
    """
    prior, damping, free, floor = data.prior, data.chosen.damping, data.free, _floor(data.factors)
    x, _ = weighted(data.factors, prior, damping, free)
    n, rule = data.logs.robot.n, "huber"
    before = _one_pass(data, x, np.full(n, np.inf), rule)  # all weights 1
    for k in range(PASSES):
        scale = np.maximum(_median_scale(before), floor)
        found = _one_pass(data, x, scale, rule)
        R = found.factors.weighted(scale)
        solution = solve(R, prior, damping, free)
        moved = R[:, :-1] @ (solution.x - x)
        x, before = solution.x, found
        settled = float(moved @ moved) <= _SETTLED**2 * max(solution.rank, 1)
        if settled and rule == "tukey":
            break
        if settled or k == PASSES // 2:
            rule = "tukey"
    rows = np.maximum(found.factors.rows, 1)
    effective = scale * np.sqrt(found.psi / rows) / np.maximum(found.slope / rows, 1e-3)
    freedom = np.sqrt(rows / np.maximum(rows - solution.rank / n, 1.0))
    noise = np.maximum(effective * freedom, floor)
    share = found.out.sum() / max(int(data.factors.rows.sum()), 1)
    # The covariance is that of least squares without weights, whose noise is the effective one.
    plain = _of_solution(
        solve(data.factors.weighted(noise), prior, damping, free), data.factors, noise, noise
    )
    return replace(
        plain,
        x=x,
        open=solution.open,
        singular_values=solution.singular_values,
        factors=found.factors,
        scale=scale,
        notes=(f"robust: {100 * share:.2g} % of the torques have less than half their weight",),
    )


def _one_pass(data: EstimationData, x: np.ndarray, scale: np.ndarray, rule: str) -> Pass:
    problem = data.chosen.problem
    every = (reweighting(problem, x, scale, rule, record) for record in data.logs.records(problem.cutoff))
    found = [one for one in every if one is not None]
    if not found:
        raise IdentificationError("no sample is left for the fit")
    return Pass(
        merged(one.factors for one in found),
        np.sum([one.psi for one in found], axis=0),
        np.sum([one.slope for one in found], axis=0),
        np.sum([one.out for one in found], axis=0),
        np.concatenate([one.residuals for one in found]),
    )


def _median_scale(found: Pass) -> np.ndarray:
    """(n,) 1.4826 times the median size of the residuals; 0 for joints without samples."""
    r = np.abs(found.residuals)
    empty = np.isnan(r).all(0)
    r[:, empty] = 0.0
    return np.asarray(_MAD * np.nanmedian(r, axis=0))


# ------------------------------------------------------------------------------------------------------------
# The sequential procedure of section 7.4: parameters joint by joint, from the last to the first.
#
# The regressor (7.80) is block triangular: a joint feels the links beyond it only. The torque of the last
# joint is solved for the parameters that it shows; they are held while the joint before it is solved for
# what it shows beyond them, and so on. Errors are handed on to the joints before: the covariance counts
# that, too.


def _sequential(data: EstimationData) -> Estimate:
    """From the last joint to the first, each with what those after it have found."""
    factors, prior, free = data.factors, data.prior, data.free
    p, n = len(prior), len(factors.R)
    x, gains, shown = prior.copy(), [np.zeros((p, p))] * n, [0] * n
    unknown = np.eye(p)[:, free] / _lengths(factors)[free]
    for j in reversed(range(n)):
        A = factors.R[j][:, :p]
        residual = factors.R[j][:, p] - A @ x
        U, s, Vt = np.linalg.svd(A @ unknown, full_matrices=True)
        s = np.pad(s, (0, unknown.shape[1] - len(s)))
        kept = s > RANK * max(float(s.max(initial=0.0)), 1e-300)
        found = unknown @ Vt[kept].T
        x = x + found @ ((U[:, : kept.sum()].T @ residual) / s[kept])
        gain = (found / s[kept] ** 2) @ found.T
        gains = [old - gain @ (A.T @ (A @ old)) for old in gains]
        gains[j] = gain
        unknown, shown[j] = unknown @ Vt[~kept].T, int(kept.sum())
    rank = int(free.sum()) - unknown.shape[1]
    noise = joint_scales(factors.squares(x), factors.rows, rank, _floor(factors))
    values = solve(factors.weighted(noise), prior, 0.0, free).singular_values
    note = f"sequential: combinations found from each joint's torque, first to last: {shown}"
    return Estimate(x, unknown, values, factors, noise, noise, tuple(gains), _moments(factors), (note,))


def _lengths(factors: Factors) -> np.ndarray:
    """Lengths of the columns, all joints together; 1 for those that are zero."""
    squares = sum(np.square(R[:, :-1]).sum(0) for R in factors.R)
    return np.asarray(np.where(squares > 0, np.sqrt(np.maximum(squares, 1e-300)), 1.0))


# ------------------------------------------------------------------------------------------------------------
# Instrumental variables: estimates that noise in the positions does not pull toward zero.
#
# Least squares solves YᵀY π = Yᵀτ. Noise in Y makes YᵀY too large, so that estimates come out too small. With
# instruments Z that follow the true motion but not its noise, ZᵀY π = Zᵀτ has no such error.
#
# Instruments that are given (`instruments=`) are noise-free motions at the samples of the logs: the motion of
# the model, simulated under the robot's controller and references (Janot, Vandanjon and Gautier, 2014), or
# the references themselves. A log does not hold controller and references. Without them, each sample of the
# positions serves one side only: Y₁ from every other sample, Y₂ from those between, both seen through the
# same filter. White noise of the one is independent of that of the other, so that each is the other's
# instrument: (Y₁ᵀY₂ + Y₂ᵀY₁) π = (Y₁ + Y₂)ᵀ τ.


LEAST = 0.1  # of a direction's moment: if noise is more than the rest, instruments are too weak for it


@dataclass(frozen=True)
class InstrumentMoments:
    """Moments of each joint's rows: ZᵀY (p, p), Zᵀτ (p,) and ZᵀZ (p, p)."""

    ZY: np.ndarray  # (n, p, p)
    Ztau: np.ndarray  # (n, p)
    ZZ: np.ndarray  # (n, p, p)

    def __add__(self, other: InstrumentMoments) -> InstrumentMoments:
        return InstrumentMoments(self.ZY + other.ZY, self.Ztau + other.Ztau, self.ZZ + other.ZZ)


@dataclass(frozen=True)
class Half:
    """The motion from every other sample of the grid, from `first` on, at all instants of the grid."""

    first: int

    def __call__(self, record: Record, segment: Segment, cutoff: float | None) -> Kinematics:
        if cutoff is None or len(segment.grid) < 16:
            return on_grid(record, segment, cutoff)
        qd = None if record.qd is None else self._half(segment, record.qd)
        found = smoothed(self._half(segment, record.q), cutoff, segment.rate, qd)
        return at_rest(segment.gridded(record.q), found)

    def _half(self, segment: Segment, x: np.ndarray) -> np.ndarray:
        some = slice(self.first, None, 2)
        return np.asarray(CubicSpline(segment.grid[some], segment.gridded(x)[some])(segment.grid))


@dataclass(frozen=True)
class Given:
    """The motion of the instruments (N, n) that belong to the log of a record."""

    log: Log

    def __call__(self, record: Record, segment: Segment, cutoff: float | None) -> Kinematics:
        def rows(x: np.ndarray | None) -> np.ndarray | None:
            return None if x is None else x[record.rows]

        assert self.log.q is not None
        own = replace(record, q=self.log.q[record.rows], qd=rows(self.log.qd), qdd=rows(self.log.qdd))
        return on_grid(own, segment, cutoff)


def moments_of(problem: Problem, given: Given | None, record: Record) -> Iterator[InstrumentMoments]:
    """The moments of a record, some of its states at a time."""
    pair: tuple[Motion, Motion] = (Half(0), Half(1)) if given is None else (on_grid, given)
    seen = (states(record, problem.cutoff, motion=motion) for motion in pair)
    both = zip(*(map(problem.sliding, parts) for parts in seen), strict=True)
    for one, two in both:
        for (Y, some), (Z, _) in zip(problem.regressors(one), problem.regressors(two), strict=True):
            yield _moments_of_states(Y, Z, some, symmetric=given is None)


def _moments_of_states(Y: np.ndarray, Z: np.ndarray, some: States, symmetric: bool) -> InstrumentMoments:
    ZY, Ztau, ZZ = [], [], []
    for j in range(some.tau.shape[1]):
        at = some.use[:, j]
        y, z, tau = Y[at, j], Z[at, j], some.tau[at, j]
        crossed = z.T @ y
        if symmetric:
            crossed, z = (crossed + crossed.T) / 2, (y + z) / 2
        ZY.append(crossed)
        Ztau.append(z.T @ tau)
        ZZ.append(z.T @ z)
    return InstrumentMoments(np.array(ZY), np.array(Ztau), np.array(ZZ))


def _instrumental(data: EstimationData) -> Estimate:
    """Directions that least squares does not show stay as known."""
    problem, factors, prior = data.chosen.problem, data.factors, data.prior
    if problem.cutoff is None and data.instruments is None:
        note = "instrumental: the logs have accelerations, used as they are; this is weighted least squares"
        return replace(_weighted(data), notes=(note,))
    _, scale = weighted(factors, prior, 0.0, data.free)
    R = factors.weighted(scale)
    solution = solve(R, prior, 0.0, data.free)
    moments = _all_moments(data)
    by = 1 / np.square(scale)
    ZY, Ztau = np.tensordot(by, moments.ZY, 1), by @ moments.Ztau
    basis = basis_of(R[:, : len(prior)], data.free)
    inverse, weak = _inverse(basis.T @ ZY @ basis)  # of the unit matrix, were there no noise
    gain = basis @ inverse @ basis.T
    x = prior + gain @ (Ztau - ZY @ prior)
    note = f"instrumental: noise outweighs the motion in {weak} combinations of parameters"
    return Estimate(
        x,
        solution.open,
        solution.singular_values,
        factors,
        scale,
        joint_scales(factors.squares(x), factors.rows, solution.rank, _floor(factors)),
        tuple(gain / s**2 for s in scale),
        tuple(moments.ZZ),
        (note,) if weak else (),
    )


def _all_moments(data: EstimationData) -> InstrumentMoments:
    found = []
    for k in range(len(data.logs.logs)):
        given = data.instruments[k] if data.instruments else None
        records = data.logs.records(data.chosen.problem.cutoff, k)
        each = (list(moments_of(data.chosen.problem, given, record)) for record in records)
        found += [reduce(add, some) for some in each if some]
    return reduce(add, found)


def basis_of(A: np.ndarray, free: np.ndarray) -> np.ndarray:
    """(p, r): what A determines, each direction of a size that A makes 1."""
    D = column_scales(np.sqrt(np.square(A[:, free]).sum(0)))
    _, s, Vt = np.linalg.svd(A[:, free] / D, full_matrices=False)
    kept = s > max(RANK * s.max(initial=0.0), 1e-300)
    found = np.zeros((len(free), int(kept.sum())))
    found[free] = (Vt[kept] / s[kept, None]).T / D[:, None]
    return found


def _inverse(inner: np.ndarray) -> tuple[np.ndarray, int]:
    """The inverse of nearly the unit matrix; directions with less than `LEAST` left count as `LEAST`."""
    U, s, Vt = np.linalg.svd(inner)
    # A symmetric matrix has −s where an eigenvalue is negative: noise is then more than all there is.
    signs = np.where(np.einsum("ij,ji->i", Vt, U) < 0, -1.0, 1.0)
    weak = (signs * s) < LEAST
    U = U * np.where(weak, signs, 1.0)
    return (Vt.T / np.where(weak, LEAST, s)) @ U.T, int(weak.sum())


def check_instruments(instruments: Any, logs: Sequence[Log | LogFile]) -> list[Given] | None:
    """One log of noise-free motion for each log, at the same instants."""
    if instruments is None:
        return None
    found = [instruments] if isinstance(instruments, Log) else instruments
    if not isinstance(found, Sequence) or len(found) != len(logs):
        raise IdentificationError(f"instruments: expected {len(logs)}, one Log for each log")
    for k, (motion, log) in enumerate(zip(found, logs, strict=True)):
        if not isinstance(log, Log):
            raise IdentificationError("instruments: possible for logs in memory; read the file with Log.load")
        if not isinstance(motion, Log) or motion.q is None:
            raise IdentificationError(f"instruments: expected a Log with q, found {type(motion).__name__}")
        same = motion.q.shape == (len(log), log.n)
        if not same or not np.allclose(motion.t, log.t, rtol=0, atol=1e-6):
            raise IdentificationError(f"instruments: number {k + 1} is not at the instants of its log")
        for name in ("q", "qd", "qdd"):
            x = getattr(motion, name)
            if x is not None and not np.isfinite(x).all():
                raise IdentificationError(f"instruments: number {k + 1}: {name} has NaN or infinity")
    return [Given(motion) for motion in found]


METHODS: dict[str, Callable[[EstimationData], Estimate]] = {
    "weighted": _weighted,
    "ordinary": _ordinary,
    "robust": _robust,
    "damped": _weighted,
    "sequential": _sequential,
    "instrumental": _instrumental,
}


# ------------------------------------------------------------------------------------------------------------
# What estimates are worth: standard errors that know how alike neighbouring residuals are.


_SIGNIFICANT = 3.0  # standard deviations of the autocorrelation of white noise
_LAGS = 0.1  # of a segment: the longest lag
_LEFT = 0.25  # of the slow noise: residuals keep at least this much


def repetition(residuals: Sequence[np.ndarray], use: Sequence[np.ndarray], parameters: int = 0) -> np.ndarray:
    """(n,) how many samples say as much as one independent sample would: 1 for white noise.

    1 + 2 Σ ρ_k over the lags up to the first whose autocorrelation ρ_k is not clearly above zero, and what a
    decay at the same rate adds beyond it. Samples that are not used count as zero. Estimates of `parameters`
    follow slow noise, which residuals then lack: of L lags, each is too small by about (2 L + 1) times the
    joint's share of the parameters per sample.
    """
    n = residuals[0].shape[1]
    found = np.ones(n)
    for j in range(n):
        series = [np.where(u[:, j], r[:, j], 0.0) for r, u in zip(residuals, use, strict=True)]
        count = sum(int(u[:, j].sum()) for u in use)
        rho = _correlation(series, count)
        if len(rho):
            decay = rho[-1] ** (1 / len(rho))
            tail = rho[-1] * decay / (1 - decay) if decay < 1 else 0.0
            lost = (2 * len(rho) + 1) * parameters / n / count
            found[j] = (1 + 2 * (rho.sum() + tail)) / max(1 - lost, _LEFT)
    return found


def _correlation(series: Sequence[np.ndarray], count: int) -> np.ndarray:
    """ρ_1, ρ_2, … as long as they are clearly above zero."""
    power = sum(float(x @ x) for x in series)
    if count < 16 or power == 0:
        return np.zeros(0)
    clear = _SIGNIFICANT / np.sqrt(count)
    rho = _products(series, max(2, int(_LAGS * max(len(x) for x in series)))) / power
    return np.asarray(rho[: np.argmax(np.append(rho, -np.inf) < clear)])


def _products(series: Sequence[np.ndarray], lags: int) -> np.ndarray:
    """Σ x_i x_{i+k} for k = 1 … lags − 1, over all series; by Fourier transforms, since lags may be many."""
    found = np.zeros(lags)
    for x in series:
        size = next_fast_len(len(x) + min(lags, len(x)), real=True)
        some = min(lags, len(x))
        found[:some] += irfft(np.square(np.abs(rfft(x, size))), size)[:some]
    return found[1:]


def covariance(found: Estimate, repeats: np.ndarray) -> np.ndarray:
    """(p, p) of the estimates: Σ_j repeats_j noise_j² gain_j (Z_jᵀZ_j) gain_jᵀ."""
    parts = zip(found.gains, found.moments, found.noise, repeats, strict=True)
    return np.asarray(sum(r * s**2 * (G @ M @ G.T) for G, M, s, r in parts))
