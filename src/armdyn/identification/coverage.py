"""Where the data of a fit were, and whether another motion lies there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

import numpy as np
from scipy.ndimage import maximum_filter1d

from armdyn.identification.errors import IdentificationError
from armdyn.identification.intervals import Evidence, Scatter, noise_bounds, rows_of
from armdyn.identification.log import Record
from armdyn.identification.log_set import LogSet
from armdyn.identification.regression import Problem
from armdyn.identification.signals import Kinematics, kinematics
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import Units, joint_name, joint_units

# ------------------------------------------------------------------------------------------------------------
# How far and how fast the joints moved in some data, and under which torques.


_GREATEST = 0.999  # the share of samples that stay below what is called the greatest: one spike is no motion


@dataclass(frozen=True)
class Coverage:
    """Where n joints moved, (n,) each. Greatest values are those that one sample in a thousand exceeds."""

    samples: np.ndarray
    lowest: np.ndarray  # rad or m
    highest: np.ndarray
    squared_speeds: np.ndarray  # sums
    forward: np.ndarray  # greatest speed toward larger positions, zero or more [rad/s or m/s]
    backward: np.ndarray  # and toward smaller ones, zero or more
    greatest_acceleration: np.ndarray
    least_torque: np.ndarray  # predicted, of the motion [N m or N]
    greatest_torque: np.ndarray

    @staticmethod
    def of(motion: Kinematics, torque: np.ndarray, use: np.ndarray) -> Coverage:
        """The coverage of M samples with their predicted torques (M, n), where `use` (M, n) allows."""
        n = use.shape[1]
        at = [use[:, j] if use[:, j].any() else use.any(1) for j in range(n)]
        q, qd, qdd, tau = (
            [x[at[j], j] for j in range(n)] for x in (motion.q, motion.qd, np.abs(motion.qdd), torque)
        )
        forward, backward = ([np.maximum(sign * x, 0) for x in qd] for sign in (1, -1))
        return Coverage(
            samples=use.sum(0),
            lowest=np.array([x.min() for x in q]),
            highest=np.array([x.max() for x in q]),
            squared_speeds=np.array([float(x @ x) / len(x) for x in qd]) * use.sum(0),
            forward=_quantiles(forward, _GREATEST),
            backward=_quantiles(backward, _GREATEST),
            greatest_acceleration=_quantiles(qdd, _GREATEST),
            least_torque=_quantiles(tau, 1 - _GREATEST),
            greatest_torque=_quantiles(tau, _GREATEST),
        )

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.samples + other.samples,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            self.squared_speeds + other.squared_speeds,
            np.maximum(self.forward, other.forward),
            np.maximum(self.backward, other.backward),
            np.maximum(self.greatest_acceleration, other.greatest_acceleration),
            np.minimum(self.least_torque, other.least_torque),
            np.maximum(self.greatest_torque, other.greatest_torque),
        )

    @property
    def span(self) -> np.ndarray:
        """(n,) from the least to the greatest position [rad or m]."""
        return np.asarray(self.highest - self.lowest)

    @property
    def greatest_speed(self) -> np.ndarray:
        """(n,) of both directions [rad/s or m/s]."""
        return np.asarray(np.maximum(self.forward, self.backward))

    @property
    def rms_speed(self) -> np.ndarray:
        """(n,) [rad/s or m/s]"""
        return np.asarray(np.sqrt(self.squared_speeds / np.maximum(self.samples, 1)))


def _quantiles(values: Sequence[np.ndarray], share: float) -> np.ndarray:
    return np.array([np.quantile(x, share) for x in values])


# ------------------------------------------------------------------------------------------------------------
# What is kept of the training data to judge other data by: where they moved, and which samples they were.


SLOW = 0.1  # of a joint's greatest speed: below, a joint is slow
_POSTURES, _ASIDE = 8, 1e-2  # where the regressor is tried, and how far aside [rad or m]
_ROUNDING = 1e-9  # of the regressor's entries
_ODD = np.uint64(0x9E3779B97F4A7C15)  # an odd number near 2⁶⁴ over the golden ratio: it spreads bits
_SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Training:
    """A summary of the data of a fit (of very long files, of as much as its choices were made on)."""

    coverage: Coverage
    slow: np.ndarray  # (n,) the share of samples at less than a tenth of the joint's greatest speed
    leverage: np.ndarray  # (n,) that one sample in a thousand exceeds
    matters: np.ndarray  # (n,) bool: whether torques depend on the joint's position
    keys: np.ndarray = field(repr=False)  # of samples in the fit and those that the filter mixes with them
    logs: tuple[str, ...] = ()

    @staticmethod
    def of(records: Sequence[Record], problem: Problem, x: np.ndarray, evidence: Evidence) -> Training:
        """Of the records that parameters x (p,) were found from."""
        used = [(record, record.usable & record.own[:, None]) for record in records]
        used = [(record, use) for record, use in used if use.any()]
        motions = [kinematics(record, problem.cutoff) for record, _ in used]
        found, keys = [], []
        for (record, use), motion in zip(used, motions, strict=True):
            found.append(Coverage.of(motion, own_torques(problem, record, x), use))
            keys.append(sample_keys(record)[_near(use.any(1), record, problem.cutoff)])
        coverage = reduce(add, found)
        leverage = np.concatenate(
            [evidence.leverage(rows_of(problem, thinned(x), coverage.greatest_speed)) for x in motions]
        )
        return Training(
            coverage=coverage,
            slow=_slow(motions, [use for _, use in used], coverage.greatest_speed),
            leverage=np.quantile(leverage, _GREATEST, axis=0, method="lower"),
            matters=_matters(problem, motions[0]),
            keys=np.unique(np.concatenate(keys)),
            logs=tuple(dict.fromkeys(record.name for record in records)),
        )

    def shared(self, record: Record, use: np.ndarray) -> int:
        """How many of the samples of a record, where `use` (M,) allows, entered the fit or touch it."""
        return int(np.isin(sample_keys(record)[use], self.keys).sum())


def own_torques(problem: Problem, record: Record, x: np.ndarray) -> np.ndarray:
    """Predicted torques (samples, n) of the motion, without what a wrench needs."""
    found = problem.torques(record, x)
    return found if record.contact is None else found - record.contact


def _slow(motions: Sequence[Kinematics], use: Sequence[np.ndarray], greatest: np.ndarray) -> np.ndarray:
    """(n,) the share of samples that are slow."""
    pairs = zip(motions, use, strict=True)
    slow = sum((at & (np.abs(motion.qd) < SLOW * greatest)).sum(0) for motion, at in pairs)
    return np.asarray(slow / np.maximum(sum(at.sum(0) for at in use), 1))


_THIN = 4_000  # samples of a record whose rows of the regressor are looked at, evenly spread


def thinned(motion: Kinematics) -> Kinematics:
    """Some of the states, evenly spread."""
    return motion.at(slice(None, None, step_between(len(motion.q))))


def step_between(count: int) -> int:
    return max(1, -(-count // _THIN))


def _matters(problem: Problem, motion: Kinematics) -> np.ndarray:
    """(n,) bool: whether the regressor changes where a joint alone is moved a little."""
    some = motion.at(slice(None, None, max(1, len(motion.q) // _POSTURES)))
    Y = problem(some)
    found = []
    for step in _ASIDE * np.eye(Y.shape[1]):
        change = np.abs(problem(Kinematics(some.q + step, some.qd, some.qdd)) - Y)
        found.append(bool(change.max() > _ROUNDING * np.abs(Y).max()))
    return np.array(found)


def sample_keys(record: Record) -> np.ndarray:
    """(M,) a number for each sample that only samples with the same positions and torques have."""
    values = np.ascontiguousarray(np.hstack([record.q, record.tau]) + 0.0).view(np.uint64)
    key = np.zeros(len(values), np.uint64)
    for column in values.T:
        key = (key ^ column) * _ODD
        key ^= key >> _SHIFT
    return key


def _near(use: np.ndarray, record: Record, cutoff: float | None) -> np.ndarray:
    """Samples within half a period of the cut-off of one that is used."""
    if cutoff is None or record.qdd is not None:
        return use
    reach = int(np.ceil(0.5 * record.rate / cutoff))
    return np.asarray(maximum_filter1d(use, 2 * reach + 1))


# ------------------------------------------------------------------------------------------------------------
# How far a motion goes, beside the training data.


_WIDER = 0.25  # of what was seen: what goes farther beyond it lies outside
_SMALL = 0.05  # of a joint's greatest speed: less in a direction is no motion
_TWICE = 4.0  # times the leverage seen: noise enters the prediction twice as much
_FASTER = 2.0  # times the speed seen: friction there is anybody's guess
_NO_MATTER = 0.01  # of the torques seen: less noise counts as so much
_ONE = 0.6827  # the share of normal noise within one standard deviation
_SELDOM = 0.01  # of the samples: so many with a greater leverage do not count
_TOLD = 3  # of what lies outside, in a warning
_HARDLY, _OFTEN = 0.02, 0.1  # shares of slow samples: what so few in training show, and how many need it


@dataclass(frozen=True)
class Model:
    """What a fit knows: what it predicts, how well, and where its data were."""

    problem: Problem
    x: np.ndarray  # (p,)
    evidence: Evidence
    scatter: Scatter
    training: Training

    def doubt(self, Y: np.ndarray, motion: Kinematics) -> np.ndarray:
        """(M, n) the standard deviation that comes with the parameters over that of the noise."""
        seen = self.training.coverage
        noise = noise_bounds(self.problem, self.x, self.scatter, motion, _ONE)
        least = _NO_MATTER * (seen.greatest_torque - seen.least_torque)
        return np.asarray(np.sqrt(self.evidence.variance(Y)) / np.maximum(noise, np.maximum(least, 1e-300)))


@dataclass(frozen=True)
class Extent:
    """How far a motion of n joints goes, and where."""

    coverage: Coverage
    slow: np.ndarray  # (n,) samples at less than a tenth of the greatest speed in training
    leverage: np.ndarray  # (n,) that one sample in a hundred exceeds; 1: the greatest in training
    doubt: np.ndarray  # (n,) that one sample in a hundred exceeds
    times: np.ndarray  # (8, n) s: where each of `reaches` is
    logs: np.ndarray  # (8, n) names of the logs of these times

    @staticmethod
    def of(
        model: Model, name: str, t: np.ndarray, motion: Kinematics, torque: np.ndarray, use: np.ndarray
    ) -> Extent:
        """Of M states at times t (M,) with predicted torques (M, n), where `use` (M, n) allows."""
        training, some = model.training, thinned(motion)
        Y = rows_of(model.problem, some, training.coverage.greatest_speed)
        leverage = model.evidence.leverage(Y) / np.where(training.leverage > 0, training.leverage, 1.0)
        slow = use & (np.abs(motion.qd) < SLOW * training.coverage.greatest_speed)
        signed = (-motion.q, motion.q, -motion.qd, motion.qd, np.abs(motion.qdd), -torque, torque)
        times = [t[np.where(use, x, -np.inf).argmax(0)] for x in signed]
        times.append(t[:: step_between(len(t))][leverage.argmax(0)])
        return Extent(
            coverage=Coverage.of(motion, torque, use),
            slow=slow.sum(0),
            leverage=_exceeded(leverage),
            doubt=_exceeded(model.doubt(Y, some)),
            times=np.array(times),
            logs=np.full((len(times), use.shape[1]), name, dtype=object),
        )

    def __add__(self, other: Extent) -> Extent:
        farther = other.reaches > self.reaches
        return Extent(
            self.coverage + other.coverage,
            self.slow + other.slow,
            np.maximum(self.leverage, other.leverage),
            np.maximum(self.doubt, other.doubt),
            np.where(farther, other.times, self.times),
            np.where(farther, other.logs, self.logs),
        )

    @property
    def reaches(self) -> np.ndarray:
        """(8, n) of positions, speeds and torques down and up, acceleration and leverage; more is farther."""
        return np.vstack([_reaches(self.coverage), self.leverage])


def _exceeded(x: np.ndarray) -> np.ndarray:
    """(n,) what one in a hundred of x (M, n) exceeds."""
    return np.asarray(np.quantile(x, 1 - _SELDOM, axis=0, method="lower"))


def _reaches(x: Coverage) -> np.ndarray:
    """(7, n) of positions, backward and forward speed, acceleration, torques down and up."""
    speeds = x.backward, x.forward
    return np.array(
        [-x.lowest, x.highest, *speeds, x.greatest_acceleration, -x.least_torque, x.greatest_torque]
    )


def extent_of_record(model: Model, record: Record, motion: Kinematics, tau: np.ndarray) -> Extent | None:
    """Of a record with its motion and predicted torques, where samples are its own; None where none are."""
    if not record.own.any():
        return None
    torque = tau if record.contact is None else tau - record.contact
    use = np.repeat(record.own[:, None], record.n, axis=1)
    return Extent.of(model, record.name, record.t, motion, torque, use)


def extent_of_logs(model: Model, samples: LogSet) -> Extent:
    """Of all records of logs."""
    found = []
    for record in samples.records(model.problem.cutoff):
        motion = kinematics(record, model.problem.cutoff)
        found.append(extent_of_record(model, record, motion, model.problem.torques(record, model.x)))
    if not (known := [extent for extent in found if extent is not None]):
        raise IdentificationError("covers: no sample of these logs can be used")
    return reduce(add, known)


def extent_of_trajectory(model: Model, trajectory: Trajectory) -> Extent:
    """Of a motion as it is planned."""
    if trajectory.n != model.problem.template.robot.n:
        n = model.problem.template.robot.n
        raise IdentificationError(f"covers: expected a motion of {n} joints, found {trajectory.n}")
    if trajectory.loads:
        raise IdentificationError(
            "covers: this motion carries a load, which the fit does not know; leave it out to see the motion"
        )
    motion = Kinematics(trajectory.q, trajectory.qd, trajectory.qdd)
    torque, use = model.problem.unfiltered_torques(motion, model.x), np.ones(motion.q.shape, bool)
    return Extent.of(model, "", trajectory.t, motion, torque, use)


# ------------------------------------------------------------------------------------------------------------
# `Covers`: whether a motion lies where the training data were.


@dataclass(frozen=True)
class Outside:
    """A quantity of a joint that goes farther than in the training data."""

    joint: int  # counted from 0
    quantity: str  # "position", "speed", "acceleration", "torque", "leverage" or "slow"
    here: float  # rad, N m and so on; of "leverage" 1 is the greatest in training, of "slow" a share
    seen: float
    time: float  # s: where it goes farthest; NaN for "slow"
    log: str  # that has this time
    text: str  # what, of which joint, how far and where


@dataclass(frozen=True)
class Covers:
    """How a motion lies beside the training data of a fit; printed, a table.

    `inside` says whether all of it lies where the data were; `outside` what does not, and where.
    """

    joints: tuple[str, ...]  # as messages call them
    units: tuple[Units, ...] = field(repr=False)
    here: Coverage = field(repr=False)
    training: Coverage = field(repr=False)
    slow: np.ndarray  # (n,) share of samples at less than a tenth of the greatest speed in training
    slow_in_training: np.ndarray  # (n,)
    leverage: np.ndarray  # (n,) that one sample in a hundred exceeds; 1: the greatest in training
    doubt: np.ndarray  # (n,) that one sample in a hundred exceeds: uncertain parameters over noise
    outside: tuple[Outside, ...]

    @staticmethod
    def of(robot: Robot, extent: Extent, training: Training) -> Covers:
        """Of a motion of the robot."""
        slow = extent.slow / np.maximum(extent.coverage.samples, 1)
        names = tuple(joint_name(robot, j) for j in range(robot.n))
        units = tuple(joint_units(robot, j) for j in range(robot.n))
        found = Covers(
            joints=names,
            units=units,
            here=extent.coverage,
            training=training.coverage,
            slow=slow,
            slow_in_training=training.slow,
            leverage=extent.leverage,
            doubt=extent.doubt,
            outside=(),
        )
        farther = zip(*np.nonzero((extent.reaches > _allowed(training)).T), strict=True)
        outside = [found._beyond(int(j), int(k), extent) for j, k in farther]
        seldom = (training.slow < _HARDLY) & (slow > _OFTEN)
        outside += [found._slow(int(j)) for j in np.flatnonzero(seldom)]
        return replace(found, outside=tuple(sorted(outside, key=lambda x: x.joint)))

    def _beyond(self, j: int, k: int, extent: Extent) -> Outside:
        """What reaches too far: row k of `reaches`."""
        quantity, sign, unit = _ROWS[k]
        here = sign * float(extent.reaches[k, j])
        seen = sign * float(_reaches(self.training)[k, j]) if unit else 1.0
        time, log = float(extent.times[k, j]), str(extent.logs[k, j])
        where = f" (at {time:.2f} s{f' of {log}' if log else ''})"
        if not unit:
            what = (
                "what the training data do not show"
                if np.isinf(here)
                else f"{here:.2g} times the leverage seen"
            )
            text = f"{self.joints[j]} needs parameters as the data do not show them: {what}"
        else:
            to = "up to" if sign > 0 else "down to"
            text = f"{quantity} of {self.joints[j]} {to} {here:.3g} {getattr(self.units[j], unit)}, "
            text += f"seen {to} {seen:.3g}"
        return Outside(j, quantity, here, seen, time, log, text + where)

    def _slow(self, j: int) -> Outside:
        bound = f"{SLOW * self.training.greatest_speed[j]:.2g} {self.units[j].velocity}"
        shares = [100 * float(x[j]) for x in (self.slow, self.slow_in_training)]
        text = f"{self.joints[j]} is slower than {bound} in {shares[0]:.0f} % of the samples, "
        text += f"in {shares[1]:.2g} % in training"
        return Outside(j, "slow", shares[0] / 100, shares[1] / 100, np.nan, "", text)

    @property
    def inside(self) -> bool:
        """Whether the motion lies where the training data were, in every respect."""
        return not self.outside

    @property
    def inside_of(self) -> np.ndarray:
        """(n,) bool: the joints of which nothing lies outside."""
        found = np.ones(len(self.joints), bool)
        found[[x.joint for x in self.outside]] = False
        return found

    def is_fast(self, x: Outside) -> bool:
        """Whether it is a speed of more than twice those seen, in either direction."""
        return x.quantity == "speed" and abs(x.here) > _FASTER * self.training.greatest_speed[x.joint]

    def summary(self) -> str:
        """Two rows for each joint, here and in training; then what lies outside, and where."""
        rows = [["", "position", "speed", "acceleration", "torque", "slow", "leverage"]]
        for j, (name, unit) in enumerate(zip(self.joints, self.units, strict=True)):
            each = (self.here, self.slow[j], self.leverage[j]), (self.training, self.slow_in_training[j], 1.0)
            for title, (x, slow, leverage) in zip((name, "  in training"), each, strict=True):
                rows.append(
                    [
                        title,
                        f"{x.lowest[j]:.2f} … {x.highest[j]:.2f} {unit.position}",
                        f"{-x.backward[j]:.2f} … {x.forward[j]:.2f} {unit.velocity}",
                        f"{x.greatest_acceleration[j]:.3g} {unit.acceleration}",
                        f"{x.least_torque[j]:.3g} … {x.greatest_torque[j]:.3g} {unit.torque}",
                        f"{100 * slow:.0f} %",
                        f"{leverage:.2g}",
                    ]
                )
        told = [f"outside: {x.text}" for x in self.outside]
        return "\n".join(
            [*columns(rows), *(told or ["inside: the motion lies where the training data were"])]
        )

    def __str__(self) -> str:
        return self.summary()


# Of each row of `reaches`: what it is of, its sign, and what its unit is that of; leverage has none.
_ROWS = (
    ("position", -1, "position"),
    ("position", 1, "position"),
    ("speed", -1, "velocity"),
    ("speed", 1, "velocity"),
    ("acceleration", 1, "acceleration"),
    ("torque", -1, "torque"),
    ("torque", 1, "torque"),
    ("leverage", 1, ""),
)


def _allowed(training: Training) -> np.ndarray:
    """(8, n) up to where `reaches` lie inside; positions that torques do not depend on have no bound."""
    seen = training.coverage
    torques = seen.greatest_torque - seen.least_torque
    speed = _WIDER * np.array([seen.backward, seen.forward]) + _SMALL * seen.greatest_speed
    position = np.where(training.matters, _WIDER * seen.span, np.inf)
    more = [position, position, *speed, _WIDER * seen.greatest_acceleration, *(2 * [_WIDER * torques])]
    return np.vstack([_reaches(seen) + more, np.full(len(torques), _TWICE)])


def extrapolation(covers: Covers) -> list[str]:
    """A sentence on what lies so far outside that it makes predictions worse; nothing where nothing does.

    Of joints whose uncertain parameters outweigh the noise, and speeds of more than twice those seen.
    """
    found = [x for x in covers.outside if covers.doubt[x.joint] > 1 or covers.is_fast(x)]
    if not found:
        return []
    more = len(found) - _TOLD
    rest = f"; and {more} more, which fit.covers lists" if more > 0 else ""
    return [f"predictions extrapolate: {'; '.join(x.text for x in found[:_TOLD])}{rest}"]


def columns(rows: list[list[str]]) -> list[str]:
    """Cells in columns: the first to the left, numbers to the right, words to the left."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    numeric = [k > 0 and any(c.isdecimal() for row in rows[1:] for c in row[k]) for k in range(len(widths))]
    return [
        "  ".join(
            f"{cell:>{w}}" if right else f"{cell:<{w}}"
            for cell, w, right in zip(row, widths, numeric, strict=True)
        )
        for row in rows
    ]
