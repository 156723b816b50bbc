"""What a log probably has wrong: signs, orders, units, zeros and delays that its own data contradict.

Torques of the other sign fit as well as the right ones, with bodies of negative mass: the inertia that the
arm shows along its motion tells. Joints that are swapped, angles in degrees and wrong zeros leave a model
without its explanation: where it fits badly, the log is read in other ways, and one that halves the misfit is
told. Torques that are late fit better once they are taken earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import svd
from scipy.ndimage import minimum_filter1d
from scipy.optimize import minimize_scalar

from armdyn.identification.errors import IdentificationError, check, on_one_thread
from armdyn.identification.log import Log, Record
from armdyn.identification.regression import RANK, Factors, Problem, column_scales, merged, triangular
from armdyn.identification.signals import Kinematics, States, cutoff_of_motion, states
from armdyn.identification.template import make_template
from armdyn.model.friction import TERMS
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, revolute_joints

INSTANTS = 400  # of the motion that are looked at
BLOCKS = 10  # of them, left out in turn to see how sure a sign is
CUTOFF = 10.0  # Hz, at most: slower than noise, faster than most motions of arms
BAD = 0.08  # of the torques: a model that leaves more unexplained has the log read in other ways
AS_GOOD = 1.1  # times the misfit of the best reading: of such ones the first counts, which is the simplest
STEP = 0.7  # of the misfit: what another reading must reach
GOOD, HALF = (
    0.003,
    0.5,
)  # a model that leaves less is right; above it, one joint's torques turned must reach half
SURE = 6.0  # standard errors: what is so far below zero is below it
ALONE = 1.1  # times the misfit: one joint's torques may be turned for no more than this
MOST = 10  # joints: of more, there are too many ways to read a log
SCALES = {"mNm": 1e3, "Ncm": 1e2, "kNm": 1e-3}  # units that torques may be in, and how many N m look like
ALIKE, NEAR = 0.9, 1.5  # cosine with the description's torques that says the same, and ratio, of a unit
_ZEROS = (45, 90, 135, 180, -135, -90, -45)  # degrees
_FINER = (20, 10, 5, 2, 1)  # steps from there [degrees]


@dataclass(frozen=True)
class Mistake:
    """What is probably wrong, as a sentence; `certain` where the data allow nothing else."""

    text: str
    certain: bool = False


@dataclass(frozen=True)
class Sample:
    """Instants of a motion and their torques, (M, n) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    use: np.ndarray  # bool

    @staticmethod
    def of(records: Sequence[Record]) -> Sample | None:
        """Some instants of records, evenly spread."""
        parts = [
            (part.motion, part.seen(part.tau), part.use)
            for record in records
            for part in states(record, min(cutoff_of_motion(record) or CUTOFF, CUTOFF))
        ]
        if not parts:
            return None
        q, qd, qdd = (np.concatenate([getattr(x[0], name) for x in parts]) for name in ("q", "qd", "qdd"))
        tau, use = (np.concatenate([x[k] for x in parts]) for k in (1, 2))
        at = np.flatnonzero(use.any(1))
        at = at[np.linspace(0, len(at) - 1, min(INSTANTS, len(at))).astype(int)] if len(at) else at
        return Sample(q[at], qd[at], qdd[at], tau[at], use[at]) if len(at) else None

    @property
    def motion(self) -> Kinematics:
        return Kinematics(self.q, self.qd, self.qdd)

    def moved(self, scale: np.ndarray | float = 1.0, shift: np.ndarray | float = 0.0) -> Sample:
        """With positions multiplied and then shifted."""
        return replace(self, q=self.q * scale + shift, qd=self.qd * scale, qdd=self.qdd * scale)

    def turned(self, signs: np.ndarray) -> Sample:
        """With torques of other signs (n,)."""
        return replace(self, tau=self.tau * signs)

    def ordered(self, order: np.ndarray, channels: str) -> Sample:
        """With the columns of q, of tau, or of "q and tau" in another order."""
        found = self
        if channels != "tau":
            found = replace(found, q=self.q[:, order], qd=self.qd[:, order], qdd=self.qdd[:, order])
        if channels != "q":
            found = replace(found, tau=self.tau[:, order], use=self.use[:, order])
        return found


# ---- the model's misfit, and the signs of what it finds ----------------------------------------------------


@dataclass(frozen=True)
class Sketch:
    """A quick fit of all parameters to a sample, torques by the root of their joint's size."""

    robot: Robot
    problem: Problem

    @staticmethod
    def of(robot: Robot) -> Sketch:
        return Sketch(robot, Problem(make_template(robot)))

    def rows(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """Weighted rows [Y τ] (M, n, p + 1), zero where a torque may not be used; lengths of Y's columns."""
        size = np.sqrt(np.square(sample.tau).mean(0))
        weight = 1 / np.sqrt(np.maximum(size, 1e-3 * size.max()))
        A = np.concatenate([self.problem(sample.motion), sample.tau[..., None]], axis=-1) * weight[:, None]
        A[~sample.use] = 0.0
        lengths = column_scales(np.sqrt(np.square(A[..., :-1]).sum((0, 1))))
        A[..., :-1] /= lengths
        return A, lengths

    def misfit(self, sample: Sample) -> float:
        """What the model leaves unexplained of the torques, relative."""
        A = self.rows(sample)[0]
        R = triangular(A.reshape(-1, A.shape[-1]))
        x = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=RANK)[0]
        return float(np.linalg.norm(R[:, -1] - R[:, :-1] @ x) / max(float(np.linalg.norm(R[:, -1])), 1e-300))

    def certainty(self, sample: Sample, forms: np.ndarray) -> np.ndarray:
        """(k,) estimates of combinations `forms` (k, p) in standard errors, by leaving out blocks in turn.

        Zero where the sample does not show a combination.
        """
        A, lengths = self.rows(sample)
        parts = [triangular(x.reshape(-1, A.shape[-1])) for x in np.array_split(A, BLOCKS)]
        found = []
        for k in range(BLOCKS):
            R = np.vstack([part for i, part in enumerate(parts) if i != k])
            found.append(np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=RANK)[0])
        values = np.array(found) @ (forms / lengths).T
        spread = np.sqrt((BLOCKS - 1) * values.var(0))
        s, Vt = np.linalg.svd(np.vstack(parts)[:, :-1], full_matrices=False)[1:]
        seen = Vt[s > RANK * s.max(initial=0.0)]
        scaled = forms / lengths
        hidden = np.linalg.norm(scaled - scaled @ seen.T @ seen, axis=1) > 1e-3 * np.linalg.norm(
            scaled, axis=1
        )
        return np.where(
            hidden, 0.0, values.mean(0) / np.maximum(spread, 1e-12 * np.abs(values).max(initial=1e-300))
        )

    def inertias(self, sample: Sample) -> np.ndarray:
        """(n + 1, p) forms that are positive for bodies that exist: Σ q̈ᵀ B(q) q̈, and each Σ B_jj(q)."""
        zero = np.zeros_like(sample.q)
        still = self.problem(Kinematics(sample.q, zero, zero))
        B = self.problem(Kinematics(sample.q, zero, sample.qdd)) - still
        found = [np.einsum("mj,mjp->p", sample.qdd, B)]
        for j in range(sample.q.shape[1]):
            unit = zero.copy()
            unit[:, j] = 1.0
            found.append((self.problem(Kinematics(sample.q, zero, unit)) - still)[:, j].sum(0))
        return np.array(found)

    def powers(self, sample: Sample) -> np.ndarray:
        """(n + 1, p) forms that are positive where friction brakes: its power in all joints, and in each."""
        columns = [p for p, _, term in self.problem.friction if TERMS[term].brakes]
        Y = np.zeros((*sample.q.shape, len(self.problem.template.prior)))
        Y[..., columns] = self.problem(sample.motion)[..., columns]
        each = np.einsum("mj,mjp->jp", sample.qd, Y)
        return np.vstack([each.sum(0), each])


# ---- what is told ------------------------------------------------------------------------------------------


@on_one_thread
def mistakes(robot: Robot, records: Sequence[Record]) -> list[Mistake]:
    """What is probably wrong in records, the certain first."""
    sample = Sample.of(records)
    if sample is None:
        return []
    sketch = Sketch.of(robot)
    if sample.use.sum() < 4 * len(sketch.problem.template.prior) or not sample.tau.any():
        return []
    before = sketch.misfit(sample)
    readings: list[OtherReading] = []
    if before > GOOD and robot.n <= MOST:
        readings = _better_readings(sketch, sample, before)
        for reading in readings:
            sample = reading.sample
    turned, certain = _turned(sketch, sample)
    signs = np.prod([turned, *(reading.signs for reading in readings if reading.signs is not None)], axis=0)
    found = [_reversed(robot, signs, certain)] if (signs < 0).any() else []
    if told := [reading.text for reading in readings if reading.signs is None]:
        after = f"the model then fits to {100 * sketch.misfit(sample):.2g} % instead of {100 * before:.2g} %"
        found.append(Mistake(f"{'; '.join(told)}: {after}"))
    return found + _unit_of_torques(robot, sample.turned(turned))


def _reversed(robot: Robot, signs: np.ndarray, certain: bool) -> Mistake:
    """The sentence on torques of these signs (n,)."""
    wrong = np.flatnonzero(signs < 0).tolist()
    factors = ", ".join("-1" if sign < 0 else "1" for sign in signs)
    if len(wrong) == robot.n:
        what, how = "the torques have the wrong sign", "units={'tau': -1}"
    else:
        names = ", ".join(joint_name(robot, j) for j in wrong)
        what, how = f"the torques of {names} have the wrong sign", f"units={{'tau': [{factors}]}}"
    why = "bodies of negative inertia" if certain else "a model that fits badly"
    why += ", or friction that drives the arm, would follow from them"
    text = f"{what}: {why}. Torques are those that the motors exert on the arm; {how} turns them"
    return Mistake(text, certain)


def _turned(sketch: Sketch, sample: Sample) -> tuple[np.ndarray, bool]:
    """(n,) −1 for joints whose torques have the other sign, and whether all have it, beyond doubt.

    it; in doubt the description's torques tell. Those of one joint are turned where its friction drives or
    its inertia is negative, the other does not speak against it, and the model fits as well.
    inertia is negative, the other does not speak against it, and the model fits as well.
    """
    n = sample.q.shape[1]
    z = sketch.certainty(sample, np.vstack([sketch.inertias(sample), sketch.powers(sample)]))
    inertia, power = z[: n + 1], z[n + 1 :]
    signs, none = np.ones(n), SURE / 3
    certain = bool(inertia[0] < -SURE and power[0] < none)
    turned = certain or bool(power[0] < -SURE and inertia[0] < none)
    if turned and not certain:
        turned = certain = _likeness(sketch.robot, sample)[0] < -ALIKE
    if turned:
        signs, inertia, power = -signs, -inertia, -power
    misfit = sketch.misfit(sample)
    doubtful = (power[1:] < -SURE) & (inertia[1:] < none)
    doubtful |= (inertia[1:] < -SURE) & (power[1:] < none)
    for j in np.flatnonzero(doubtful).tolist():
        other = np.where(np.arange(n) == j, -1.0, 1.0)
        if sketch.misfit(sample.turned(other)) < ALONE * misfit:
            signs = signs * other
    return signs, certain


def _likeness(robot: Robot, sample: Sample) -> tuple[float, float]:
    """Cosine between the torques and those of the description, and how many times as large they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.asarray(robot.inverse_dynamics(sample.q, sample.qd, sample.qdd))[sample.use]
    found = sample.tau[sample.use]
    sizes = float(np.linalg.norm(expected)), float(np.linalg.norm(found))
    if not np.isfinite(sizes).all() or min(sizes) <= 0:
        return 0.0, 1.0
    return float(expected @ found) / (sizes[0] * sizes[1]), sizes[1] / sizes[0]


def _unit_of_torques(robot: Robot, sample: Sample) -> list[Mistake]:
    """A unit of the torques in which they would be about those of the description."""
    alike, ratio = _likeness(robot, sample)
    for unit, scale in SCALES.items():
        if alike > ALIKE and 1 / NEAR < ratio / scale < NEAR:
            text = f"the torques are {ratio:.3g} times those of the description: are they in {unit}?"
            return [Mistake(f"{text} Then give units={{'tau': '{unit}'}}")]
    return []


# ---- other readings of the log -----------------------------------------------------------------------------


@dataclass(frozen=True)
class OtherReading:
    """A log read in another way: what was wrong then, and the sample as it should be."""

    text: str
    sample: Sample
    signs: np.ndarray | None = None  # (n,) where torques are turned


def _better_readings(sketch: Sketch, sample: Sample, misfit: float) -> list[OtherReading]:
    """Other readings, one upon the other, while each is clearly better; of a fair fit only other signs."""
    found: list[OtherReading] = []
    while misfit > GOOD and len(found) < sample.q.shape[1]:
        now, bad = found[-1].sample if found else sample, misfit > BAD
        tried = list(_readings(sketch, now) if bad else _turns(now))
        misfits = [sketch.misfit(reading.sample) for reading in tried]
        if (least := min(misfits)) > (STEP if bad else HALF) * misfit:
            break
        k = next(k for k, x in enumerate(misfits) if x <= AS_GOOD * least)
        found.append(tried[k])
        misfit = misfits[k]
    return found


def _turns(sample: Sample) -> Iterator[OtherReading]:
    """The sample with the torques of one joint turned."""
    for sign in 1 - 2 * np.eye(sample.q.shape[1]):
        yield OtherReading("", sample.turned(sign), sign)


def _readings(sketch: Sketch, sample: Sample) -> Iterator[OtherReading]:
    """The sample as it would be if one thing were wrong."""
    robot, n = sketch.robot, sample.q.shape[1]
    names = [joint_name(robot, j) for j in range(n)]
    turning = revolute_joints(robot)
    degrees = np.where(turning, np.pi / 180, 1.0)
    if turning.any():
        yield OtherReading("the angles are in degrees (units={'q': 'deg'})", sample.moved(degrees))
        text = "the angles are in radians, and were taken for degrees"
        yield OtherReading(text, sample.moved(1 / degrees))
    for j in range(n):
        other = np.where(np.arange(n) == j, -1.0, 1.0)
        yield OtherReading("", sample.turned(other), other)
        yield OtherReading(f"{names[j]} counts its position the other way", sample.moved(other))
        both = f"{names[j]} counts its position and its torque the other way"
        yield OtherReading(both, sample.moved(other).turned(other))
        if turning[j]:
            yield _zero(sketch, sample, j)
    for i, k in combinations(range(n), 2):
        order = np.arange(n)
        order[[i, k]] = k, i
        for channels in ("q and tau", "q", "tau"):
            text = f"{names[i]} and {names[k]} are swapped in {channels}"
            yield OtherReading(text, sample.ordered(order, channels))


def _zero(sketch: Sketch, sample: Sample, j: int) -> OtherReading:
    """The best zero of a joint that turns."""

    def shifted(angle: int) -> Sample:
        return sample.moved(shift=np.where(np.arange(sample.q.shape[1]) == j, np.radians(angle), 0.0))

    def misfit(angle: int) -> float:
        return sketch.misfit(shifted(angle))

    best: int = min(_ZEROS, key=misfit)
    now = misfit(best)
    for step in _FINER if now < STEP * sketch.misfit(sample) else ():
        near: int = min((best - step, best + step), key=misfit)
        if (there := misfit(near)) < now:
            best, now = near, there
    text = f"the zero of {joint_name(sketch.robot, j)} is off by {best:g}°"
    zeros = ", ".join(f"{np.pi / 180 * best:.4g}" if i == j else "0" for i in range(sample.q.shape[1]))
    return OtherReading(f"{text} (joint_zeros=[{zeros}])", shifted(best))


# ------------------------------------------------------------------------------------------------------------
# A constant delay of torques behind positions, found with the robot's model.


LONGEST = 0.1  # s: longer delays are not looked for
CUTOFFS, SHARE = (20.0, 10.0, 5.0, 2.5), 1 / 8  # Hz, and of the rate at most: low-passes that are tried
BETTER = 0.05  # of the misfit: what taking a delay out has to gain to be clear
CLEARLY = 3.0  # uncertainties that a clear delay is at least
ENOUGH = 8_000  # that are enough
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
        sure = abs(self.samples) >= 0.5 and abs(self.seconds) >= CLEARLY * self.uncertainty
        return not self.at_end and sure and self.after < (1 - BETTER) * self.before

    def __str__(self) -> str:
        fits = f"the model then fits to {100 * self.after:.2f} % instead of {100 * self.before:.2f} %"
        unsure = "" if self.at_end else f" ± {1e3 * self.uncertainty:.1g}"
        return (
            f"the torques are {1e3 * self.seconds:.3g}{unsure} ms ({self.samples:.2f} samples) late: {fits}"
        )


@on_one_thread
def estimate_delay(robot: Robot, log: Log, most: float = LONGEST) -> Delay:
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


def delay_of(robot: Robot, record: Record, most: float = LONGEST) -> Delay:
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


def delay_of_records(robot: Robot, records: Sequence[Record], most: float = LONGEST) -> Delay | None:
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
    for part, start, stop in spans[:: max(1, round(total / ENOUGH))]:
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
