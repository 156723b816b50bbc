"""A constant delay of torques behind positions, found with the robot's model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import svd
from scipy.ndimage import minimum_filter1d
from scipy.optimize import minimize_scalar

from armdyn.identification.errors import IdentificationError, check, on_one_thread
from armdyn.identification.log import Log, Record
from armdyn.identification.regression import RANK, Factors, Problem, merged
from armdyn.identification.signals import States, states
from armdyn.identification.template import make_template
from armdyn.robot import Robot

MOST = 0.1  # s: longer delays are not looked for
CUTOFFS, SHARE = (20.0, 10.0, 5.0, 2.5), 1 / 8  # Hz, and of the rate at most: low-passes that are tried
BETTER = 0.05  # of the misfit: what taking a delay out has to gain to be clear
SURE = 3.0  # uncertainties that a clear delay is at least
INSTANTS = 8_000  # that are enough
SLOW = 0.1  # of a joint's greatest speed: slower, friction sticks and turns as no model says,
REACH = 0.25  # 1/cut-off: and so far that reaches through the low-pass
_ROUNDING = 1e-14  # of the largest column
_EACH_SIDE = 20  # delays that torques are taken at, before and after; a spline is between them
_BEND = 3e-3  # s: over which the misfit's curvature is taken


@dataclass(frozen=True)
class Delay:
    """The delay by which torques were recorded later than positions, and how well the model fits with it."""

    seconds: float
    samples: float  # the same in samples
    before: float  # ‖τ − Yπ̂‖/‖τ‖ of a least-squares fit, torques by joint scaled to their noise
    after: float  # the same with the delay taken out
    at_end: bool  # the best is at the end of the range that was looked at
    uncertainty: float  # s: standard error of the delay

    @property
    def clear(self) -> bool:
        """Whether there is a delay of half a sample or more, surely, without which the model fits better."""
        sure = abs(self.samples) >= 0.5 and abs(self.seconds) >= SURE * self.uncertainty
        return not self.at_end and sure and self.after < (1 - BETTER) * self.before

    def __str__(self) -> str:
        fits = f"the model then fits to {100 * self.after:.2f} % instead of {100 * self.before:.2f} %"
        unsure = "" if self.at_end else f" ± {1e3 * self.uncertainty:.1g}"
        return (
            f"the torques are {1e3 * self.seconds:.3g}{unsure} ms ({self.samples:.2f} samples) late: {fits}"
        )


@on_one_thread
def estimate_delay(robot: Robot, log: Log, most: float = MOST) -> Delay:
    """The delay of the torques with which the robot's model, its parameters fitted, fits best.

    `most` [s]: what is looked at, before and after. The model has rotors, viscous and Coulomb friction and
    offsets, also where the description has none. It and the torques are low-passed alike, at 2.5 to 20 Hz:
    the cut-off with the least uncertainty counts. Joints count where they are not slow, as dry friction near
    rest looks like a delay. A model that lacks something may fit better with a delay that is none.
    """
    check.positive_time("most", most)
    if not isinstance(log, Log):
        raise IdentificationError(f"log: expected a Log, found {type(log).__name__}")
    record = log.at_joints(check.robot(robot))
    with check.computable():
        return delay_of(robot, record, most)


def delay_of(robot: Robot, record: Record, most: float = MOST) -> Delay:
    """`estimate_delay` of a record."""
    found = delay_of_records(robot, [record], most)
    if found is None:
        raise IdentificationError(f"{record.name}: too short to find a delay of up to {most:g} s in it")
    return found


def delay_note(robot: Robot, records: Sequence[Record]) -> list[str]:
    """Notes about a delay that records clearly show, if they do."""
    found = delay_of_records(robot, records)
    if found is None or not found.clear:
        return []
    given = {record.delay for record in records}
    how = f"delay={found.seconds + min(given):.3g}"
    return [f"{found}; Log(…, {how}) and Log.load(…, {how}) take it out"]


def delay_of_records(robot: Robot, records: Sequence[Record], most: float = MOST) -> Delay | None:
    """The delay of the torques in records of one robot; None where they are too short."""
    if not records:
        return None
    problem, sampling = Problem(make_template(robot)), records[0].rate
    fastest = SHARE * min(record.rate for record in records)
    found = []
    for cutoff in dict.fromkeys(min(x, fastest) for x in CUTOFFS):
        parts = [part for record in records for part in states(record, cutoff)]
        # Where nothing was filtered, because the log has accelerations, it is now: noise that is not filtered
        # is less between samples than at them, and would look like a delay.
        parts = [replace(part, cutoff=cutoff) for part in parts]
        delay = _delay(problem, parts, sampling, most)
        found += [] if delay is None else [delay]
    if not found:
        return None
    best = min(found, key=lambda delay: delay.uncertainty)
    if not np.isfinite(best.uncertainty):
        return best
    # Where estimates differ by more than they should, the uncertainty grows with them.
    sure = [delay for delay in found if np.isfinite(delay.uncertainty)]
    misses = [(delay.seconds - best.seconds) / delay.uncertainty for delay in sure]
    excess = float(np.sqrt(np.square(misses).sum() / max(len(misses) - 1, 1)))
    return replace(best, uncertainty=best.uncertainty * max(excess, 1.0))


def _delay(problem: Problem, parts: Sequence[States], sampling: float, most: float) -> Delay | None:
    """The delay as one low-pass shows it, where the states are enough.

    `sampling` are the log's samples per second.
    """
    delays = most / _EACH_SIDE * np.arange(-_EACH_SIDE, _EACH_SIDE + 1)
    needed = 4 * len(problem.template.prior)
    factors = _factors(problem, [_moving(problem, part) for part in parts], delays)
    if factors is None or factors.rows.sum() < needed:
        factors = _factors(problem, parts, delays)
    if factors is None or factors.rows.sum() < needed:
        return None
    misfit = _Misfit.of(factors, delays)
    values = [misfit(d) for d in delays]
    before, k = values[_EACH_SIDE], int(np.argmin(values))
    if k in (0, len(delays) - 1):
        return Delay(float(delays[k]), float(delays[k]) * sampling, before, values[k], True, np.inf)
    best = minimize_scalar(misfit, bounds=(delays[k - 1], delays[k + 1]), method="bounded")
    seconds, after = float(best.x), float(best.fun)
    beside = [misfit(seconds + sign * min(_BEND, most / _EACH_SIDE)) ** 2 for sign in (-1, 1)]
    bend = (sum(beside) / 2 - after**2) / min(_BEND, most / _EACH_SIDE) ** 2
    independent = factors.rows.sum() * min(1.0, max(2 * (part.cutoff or 0) / part.rate for part in parts))
    variance = after**2 / max(independent - misfit.U.shape[1], 1.0) / max(bend, 1e-300)
    return Delay(seconds, seconds * sampling, before, after, False, float(np.sqrt(variance)))


def _moving(problem: Problem, part: States) -> States:
    """Without the instants of joints that are slow, and those that the low-pass mixes with them."""
    assert part.cutoff is not None
    surfaces = problem.surfaces
    speed = np.abs(surfaces.speeds(part.motion.q, part.motion.qd))[:, surfaces.own]
    if not len(speed):
        return part
    near = 2 * int(np.ceil(REACH * part.rate / part.cutoff)) + 1
    slow = minimum_filter1d(speed, near, axis=0) < SLOW * np.quantile(speed, 0.999, axis=0)
    return replace(part, use=part.use & ~slow)


def _factors(problem: Problem, parts: Sequence[States], delays: np.ndarray) -> Factors | None:
    """Factors of [Y τ(t + d₁) τ(t + d₂) …], at blocks of instants spread over all parts.

    Only instants whose torques within reach may all be used enter.
    """
    spans = [(part, start, stop) for part in _inner(parts, delays[-1]) for start, stop in part.blocks]
    spans = [(part, start, stop) for part, start, stop in spans if part.use[start:stop].any()]
    total = sum(stop - start for _, start, stop in spans)
    found = []
    for part, start, stop in spans[:: max(1, round(total / INSTANTS))]:
        t = np.arange(len(part)) / part.rate
        tau, known = CubicSpline(t, part.seen(part.tau + part.contact)), part.seen(part.contact)[start:stop]
        late = [(tau(t[start:stop] + d) - known)[..., None] for d in delays]  # the wrench is not late
        wide = np.concatenate([part.seen_between(problem, start, stop), *late[:-1]], axis=-1)
        found.append(Factors.of(wide, late[-1][..., 0], part.use[start:stop]))
    return merged(found) if found else None


def _inner(parts: Sequence[States], most: float) -> Iterator[States]:
    """Without instants that have a torque within `most` [s] which may not be used."""
    for part in parts:
        near = 2 * int(np.ceil(most * part.rate)) + 3
        yield replace(part, use=minimum_filter1d(part.use, near, axis=0, mode="constant", cval=0))


@dataclass(frozen=True)
class _Misfit:
    """‖τ − Yπ̂‖/‖τ‖ as a function of the delay."""

    late: CubicSpline  # of the delay: the torques, in the rows of a triangular factor
    U: np.ndarray  # what the model can say there, orthonormal

    @staticmethod
    def of(factors: Factors, delays: np.ndarray) -> _Misfit:
        p = factors.R[0].shape[1] - len(delays)
        R = factors.weighted(_scale(factors, p, p + len(delays) // 2))
        sizes = np.linalg.norm(R[:, :p], axis=0)
        shown = sizes > _ROUNDING * sizes.max(initial=0.0)  # what a column of rounding points at is chance
        U, s, _ = svd(R[:, :p][:, shown] / sizes[shown], full_matrices=False, lapack_driver="gesvd")
        return _Misfit(CubicSpline(delays, R[:, p:], axis=1), U[:, s > RANK * s.max(initial=0.0)])

    def __call__(self, delay: float) -> float:
        y = self.late(delay)
        return float(np.linalg.norm(y - self.U @ (self.U.T @ y)) / np.maximum(np.linalg.norm(y), 1e-300))


def _scale(factors: Factors, p: int, now: int) -> np.ndarray:
    """(n,) what a fit with all joints alike leaves unexplained of the torques in column `now`."""
    R = factors.weighted(np.ones(len(factors.R)))
    x = np.linalg.lstsq(R[:, :p], R[:, now], rcond=RANK)[0]
    left = [float(np.square(R_j[:, :p] @ x - R_j[:, now]).sum()) for R_j in factors.R]
    sizes = [float(np.square(R_j[:, now]).sum()) for R_j in factors.R]
    least = 1e-12 * max(*sizes, 1e-24)
    return np.asarray(np.sqrt(np.maximum(left, least) / np.maximum(factors.rows, 1)))
