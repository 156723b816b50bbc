"""`look`: what a log is worth before anything is fitted, and what to record next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from textwrap import wrap
from typing import Any

import numpy as np
from scipy.signal import welch

from armdyn.display import Shown
from armdyn.identification.coverage import Coverage, columns
from armdyn.identification.errors import IdentificationError, check, on_one_thread
from armdyn.identification.fit import ESSENTIAL, EstimateRow, entry, plain, printable, unit
from armdyn.identification.log import Record
from armdyn.identification.log_set import SLOWEST, LogSet
from armdyn.identification.looking_over import counted, seen_to_move
from armdyn.identification.methods import METHODS, EstimationData, covariance, repetition
from armdyn.identification.mistakes import Delay, Mistake, delay_of, mistakes
from armdyn.identification.regression import Problem
from armdyn.identification.selection import (
    FASTEST,
    NYQUIST_SHARE,
    PLAIN,
    START,
    STEP,
    Chosen,
    enough_records,
    greatest_speeds,
)
from armdyn.identification.shown import Held, coverage_of, hold, not_shown, unsure_elsewhere
from armdyn.identification.signals import Kinematics, cutoff_of_motion, kinematics, states
from armdyn.identification.template import FrictionTerms, Surfaces, free_parameters, make_template
from armdyn.progress import progress_bar, stage
from armdyn.remarks import Remark
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name, joint_units

CUTOFF = 10.0  # Hz, where the positions' spectrum says nothing
REST, SLOW = 0.01, 0.1  # of a joint's greatest speed: below, it is at rest, or slow
TURN = 0.05  # of it: a joint that turns round is faster than this on both sides
ENOUGH_TURNS = 6  # of a joint: its friction is seen in both directions, again and again
LITTLE = 0.3  # of a limit
SHORT = 5.0  # s
QUIET = 0.1  # of a joint's accelerations: noise that a filter may let through
LOUD = 0.3  # of a joint's accelerations: more noise than this hides inertia
TOO_UNSURE = (
    0.25  # of the torques of other motions; the model that identify chooses is surer than a plain one
)
RESTING = 0.5  # of the time: a log that is mostly standing still
TOLD = 8  # names in one sentence


@dataclass(frozen=True)
class Noise:
    """White noise and steps of the recorded signals, (n,) each; zero where there is none to be seen."""

    position: np.ndarray  # rad or m, standard deviation
    position_step: np.ndarray  # of the encoder
    acceleration: np.ndarray  # rad/s² or m/s²: what the noise of positions becomes behind the filter
    torque: np.ndarray  # N m or N, standard deviation
    torque_step: np.ndarray


@dataclass(frozen=True)
class Sampling:
    """When the samples were taken."""

    samples: int
    duration: float  # s
    rate: float  # Hz, the median
    jitter: float  # RMS of the steps about their median, relative
    stretches: int  # without a gap
    unusable: float  # share of the torques


@dataclass(frozen=True, eq=False)
class Look(Shown):
    """What logs are worth before a fit. `print` shows it; arrays are (n,), one entry a joint.

    `parameters` has a row for each base parameter: its value in the description, and the standard error that
    a fit is expected to give it. `unsure` is the standard error of the torques of other motions at these
    speeds and accelerations, anywhere in the range of the joints, as a part of those recorded. `advice` says
    what to mend and what to record next, the most important first.
    """

    robot: Robot
    logs: tuple[str, ...]
    sampling: Sampling
    coverage: Coverage = field(repr=False)  # positions, speeds, accelerations
    moving: np.ndarray = field(repr=False)  # bool
    rest: np.ndarray = field(repr=False)  # share of the samples, as are slow ones
    slow: np.ndarray = field(repr=False)
    turns: np.ndarray = field(repr=False)  # how often the joint turns round
    noise: Noise = field(repr=False)
    cutoff: float | None  # Hz: above, positions are noise; None where the logs have accelerations
    delay: Delay | None  # of the torques; None where the logs are too short to tell
    parameters: tuple[EstimateRow, ...] = field(repr=False)
    unsure: float
    unexplained: float  # of the torques, by a plain model
    mistakes: tuple[Mistake, ...]
    remarks: tuple[Remark, ...] = field(repr=False)
    records: tuple[Record, ...] = field(repr=False)
    motions: tuple[Kinematics, ...] = field(repr=False)  # of the records, filtered

    @property
    def advice(self) -> tuple[str, ...]:
        """What to mend and what to record next, one sentence each; empty where nothing is missing."""
        return tuple(_advice(self))

    @property
    def enough(self) -> bool:
        """Whether a model of the logs would predict other motions at all."""
        return bool(self.moving.any()) and self.unsure < TOO_UNSURE

    def summary(self) -> str:
        """Sampling, noise and motion of each joint, what can be identified, and what to record next."""
        return _text(self)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """All numbers in lists and texts, for JSON; infinite ones are None."""
        found = {
            "robot": self.robot.name,
            "logs": self.logs,
            "sampling": asdict(self.sampling),
            "cutoff": self.cutoff,
            "delay": None if self.delay is None else asdict(self.delay) | {"clear": self.delay.clear},
            "joints": [
                {"name": joint_name(self.robot, j), "moves": bool(self.moving[j])}
                | {name: float(x[j]) for name, x in _arrays(self).items()}
                for j in range(self.robot.n)
            ],
            "parameters": [asdict(row) | {"flag": row.flag} for row in self.parameters],
            "unsure": self.unsure,
            "unexplained": self.unexplained,
            "enough": self.enough,
            "mistakes": [mistake.text for mistake in self.mistakes],
            "advice": self.advice,
            "notes": [str(remark) for remark in self.remarks],
        }
        return plain(found)  # type: ignore[no-any-return]


@on_one_thread
def look(robot: Robot, logs: Any, *, progress: bool | None = None) -> Look:
    """What logs are worth before a fit: sampling, noise, motion, what can be identified, what to record next.

    `logs` is a `Log`, a `LogFile` or a list of them, which are judged together. Standard errors of parameters
    are those of a plain model (rotors, viscous and Coulomb friction, offsets) with the noise that is seen; of
    long logs they are foretold from spans of them. `progress`: whether a bar is shown; by default on a
    terminal.
    """
    robot = check.robot(robot)
    given = LogSet.of(robot, logs)
    with progress_bar("look", progress):
        with stage("looking the logs over"):
            records = enough_records(given)
        return looked(given, records)


def looked(given: LogSet, records: Sequence[Record]) -> Look:
    """The same of records that are enough of the logs."""
    robot = given.robot
    if not records:
        raise IdentificationError(f"{given.logs[0].name}: no sample can be used")
    with stage("motion and noise"):
        cutoff = _cutoff(records)
        motions = tuple(kinematics(record, cutoff) for record in records)
        noise = _noise(records, motions, cutoff)
        wrong = tuple(mistakes(robot, records))
    with stage("what can be identified"):
        parameters, unsure, unexplained = _foretold(given, records, cutoff)
    with stage("delay"):
        delay = _delay(robot, records)
    speeds = np.concatenate([motion.qd for motion in motions])
    use = np.concatenate([record.usable & record.own[:, None] for record in records])
    moved = Kinematics(*(np.concatenate([getattr(x, name) for x in motions]) for name in ("q", "qd", "qdd")))
    fastest = np.maximum(np.abs(speeds).max(0, initial=0.0), 1e-300)
    return Look(
        robot=robot,
        logs=tuple(dict.fromkeys(log.name for log in given.logs)),
        sampling=_sampling(given, records),
        coverage=Coverage.of(moved, np.concatenate([record.tau for record in records]), use),
        moving=np.any([seen_to_move(record.q[record.own]) for record in records], axis=0),
        rest=(np.abs(speeds) <= REST * fastest).mean(0),
        slow=(np.abs(speeds) <= SLOW * fastest).mean(0),
        turns=sum((_turns(motion.qd, fastest) for motion in motions), np.zeros(robot.n, int)),
        noise=noise,
        cutoff=cutoff,
        delay=delay,
        parameters=parameters,
        unsure=unsure,
        unexplained=unexplained,
        mistakes=wrong,
        remarks=tuple(dict.fromkeys(remark for record in records for remark in record.remarks)),
        records=tuple(records),
        motions=motions,
    )


# ------------------------------------------------------------------------------------------------------------
# Sampling, motion and noise.


def _sampling(given: LogSet, records: Sequence[Record]) -> Sampling:
    steps = np.concatenate([np.diff(record.t[part]) for record in records for part in record.segments])
    typical = float(np.median(steps))
    ordinary = steps[steps < 1.6 * typical]
    usable = np.concatenate([record.usable for record in records])
    return Sampling(
        samples=sum(len(log) for log in given.logs),
        duration=sum(len(log) / log.rate for log in given.logs),
        rate=1 / typical,
        jitter=float(np.sqrt(np.mean((ordinary / typical - 1) ** 2))),
        stretches=sum(len(record.segments) for record in records),
        unusable=1 - float(usable.mean()),
    )


def _cutoff(records: Sequence[Record]) -> float | None:
    """The highest at which noise of positions makes little of accelerations [Hz]; None without a filter."""
    if all(record.qdd is not None for record in records):
        return None
    record, part = _longest(records)
    rate, q = record.rate, record.q[part]
    highest = min(FASTEST, NYQUIST_SHARE * rate)
    if len(q) < 64:
        return min(highest, cutoff_of_motion(record) or CUTOFF)
    f, power = welch(q, rate, nperseg=min(len(q), max(64, int(8 * rate))), axis=0)
    accelerations = np.cumsum(power * (2 * np.pi * f[:, None]) ** 4, axis=0) * f[1]
    noise = white_noise(q, rate)
    for cutoff in highest / STEP ** np.arange(40):
        moved = np.sqrt(accelerations[np.searchsorted(f, cutoff) - 1])
        loud = noise * _acceleration_per_position(cutoff, rate) > QUIET * moved
        if cutoff < 2 * SLOWEST or not loud[moved > 0].mean() > 0.5:
            break
    return float(cutoff)


def _acceleration_per_position(cutoff: float, rate: float) -> float:
    """What white noise of positions becomes in accelerations, below a cut-off: ∫ (2πf)⁴ 2/rate df."""
    return float(np.sqrt(2 / rate * (2 * np.pi) ** 4 * min(cutoff, rate / 2) ** 5 / 5))


def _longest(records: Sequence[Record]) -> tuple[Record, slice]:
    """The longest stretch, and whose it is."""
    pairs = [(record, part) for record in records for part in record.segments]
    return max(pairs, key=lambda pair: pair[1].stop - pair[1].start)


def _turns(qd: np.ndarray, fastest: np.ndarray) -> np.ndarray:
    """(n,) how often joints turn round: from clearly one way to clearly the other."""
    found = np.zeros(qd.shape[1], int)
    for j, v in enumerate(qd.T):
        ways = np.sign(v[np.abs(v) > TURN * fastest[j]])
        found[j] = int((np.diff(ways) != 0).sum())
    return found


def _noise(records: Sequence[Record], motions: Sequence[Kinematics], cutoff: float | None) -> Noise:
    """Of the longest stretch."""
    record, part = _longest(records)
    position, torque = (white_noise(x[part], record.rate) for x in (record.q, record.tau))
    strength = 0.0 if cutoff is None else _acceleration_per_position(cutoff, record.rate)
    return Noise(
        position=position,
        position_step=steps_of(record.q[part]),
        acceleration=position * strength,
        torque=torque,
        torque_step=steps_of(record.tau[part]),
    )


def white_noise(x: np.ndarray, rate: float) -> np.ndarray:
    """(n,) standard deviation of white noise with the level of the upper half of the spectrum of x (K, n)."""
    if len(x) < 32:
        return np.zeros(x.shape[1])
    f, power = welch(np.diff(x, axis=0), rate, nperseg=min(len(x) - 1, 1024), axis=0)
    # Differences of white noise of variance s² have the one-sided spectrum 8 s²/rate sin²(πf/rate).
    level = np.median(power[f > rate / 4] / np.sin(np.pi * f[f > rate / 4] / rate)[:, None] ** 2, axis=0)
    return np.asarray(np.sqrt(level * rate / 8))


def steps_of(x: np.ndarray) -> np.ndarray:
    """(n,) the step of which all changes of x (K, n) are multiples; zero where there is none."""
    found = np.zeros(x.shape[1])
    for j, changes in enumerate(np.abs(np.diff(x, axis=0)).T):
        changes = changes[changes > 1e-12 * max(float(np.abs(x[:, j]).max()), 1e-300)]
        if len(changes) > 8:
            levels = changes / changes.min()
            whole = np.abs(levels - np.rint(levels)) < 0.02
            found[j] = changes.min() if whole.mean() > 0.95 and np.median(levels) < 1e5 else 0.0
    return found


def _delay(robot: Robot, records: Sequence[Record]) -> Delay | None:
    longest = max(records, key=lambda record: len(record.t))
    try:
        return delay_of(robot, longest)
    except IdentificationError:  # too short
        return None


# ------------------------------------------------------------------------------------------------------------
# What can be identified.


def _foretold(
    given: LogSet, records: Sequence[Record], cutoff: float | None
) -> tuple[tuple[EstimateRow, ...], float, float]:
    """Rows of the base parameters with the standard errors of a plain fit; `unsure`, and what it leaves."""
    robot = given.robot
    template = make_template(robot, FrictionTerms.plain(robot.n))
    parts = [part for record in records for part in states(record, cutoff)]
    if not any(part.use.any() for part in parts):
        raise IdentificationError(f"{given.logs[0].name}: no sample is left: all stretches are too short")
    greatest = greatest_speeds(Surfaces.of_robot(template.robot), parts)
    problem = Problem(template.with_widths(START * greatest), cutoff)
    factors = problem.factors(parts)
    assert factors is not None
    free = free_parameters(robot, None, template).mask(problem.template)
    chosen = Chosen(problem, (PLAIN,) * robot.n, 0.0, (), (), (), greatest)
    found = METHODS["weighted"](EstimationData(given, chosen, factors, free))
    residuals = [part.tau - problem.seen_torques(part, found.x) for part in parts]
    repeats = repetition(residuals, [part.use for part in parts], int(free.sum()) - found.open.shape[1])
    share = sum(int(record.own.sum()) for record in records) / max(sum(map(len, given.logs)), 1)
    C = min(share, 1.0) * covariance(found, repeats)
    base = problem.template.base
    hidden = not_shown(base, found.open)
    errors = np.sqrt(np.maximum(np.einsum("kp,pq,kq->k", base.matrix, C, base.matrix), 0.0))
    held = hold(problem.template, factors, Held.none(base, found.x, C), found.open)
    hidden |= held.which
    moved = coverage_of(parts)
    unsure = unsure_elsewhere(problem.template, moved, held.of_data, factors)
    left = factors.squares(found.x).sum() / max(float(factors.squares(0 * found.x).sum()), 1e-300)
    rows = _rows(robot, problem, base, found.x, np.where(hidden, np.inf, errors))
    return rows, unsure, float(np.sqrt(left))


def _rows(
    robot: Robot, problem: Problem, base: Any, x: np.ndarray, errors: np.ndarray
) -> tuple[EstimateRow, ...]:
    estimates, nominal = base.matrix @ x, base.matrix @ problem.template.prior
    leading = [base.grouping.layout[p] for p in base.grouping.leading]
    labels = base.labels()
    return tuple(
        EstimateRow(
            name=parameter.name,
            label=labels[k],
            combination=base.combinations[k],
            joint=parameter.joint + 1,
            unit=unit(problem.template.robot, parameter),
            estimate=float(estimates[k]),
            standard_error=float(errors[k]),
            low=float(estimates[k] - 2.576 * errors[k]),
            high=float(estimates[k] + 2.576 * errors[k]),
            nominal=float(nominal[k]),
            shown=bool(np.isfinite(errors[k])),
            essential=bool(errors[k] <= ESSENTIAL * max(abs(estimates[k]), abs(nominal[k]))),
        )
        for k, parameter in enumerate(leading)
    )


# ------------------------------------------------------------------------------------------------------------
# What to mend, and what to record next.


def _advice(seen: Look) -> Iterator[str]:
    robot, sampling = seen.robot, seen.sampling
    for mistake in seen.mistakes:
        yield f"mend the log first: {mistake.text}"
    if not seen.moving.any():
        yield "nothing moves: record a motion of all joints, to and fro, slow and fast"
        return
    if seen.delay is not None and seen.delay.clear:
        yield f"{seen.delay}; delay={seen.delay.seconds:.3g} takes it out"
    if sampling.duration < SHORT:
        text = "record 10 to 30 s, in which every joint turns round again and again"
        yield f"{sampling.duration:.2g} s are short: {text}"
    if (resting := seen.rest[seen.moving].min()) > RESTING:
        yield f"all joints stand still for {100 * resting:.0f} % of the time or more: leave out the pauses"
    if still := np.flatnonzero(~seen.moving).tolist():
        without = _some([name for j in still for name in _hidden(seen, j)])
        names = _joined([joint_name(robot, j) for j in still])
        never = "never moves: move it" if len(still) == 1 else "never move: move them"
        yield f"{names} {never} to and fro, slow and fast; this hides {without}"
    for j in np.flatnonzero(seen.moving).tolist():
        if said := list(_of_joint(seen, j)):
            poorly = _hidden(seen, j)
            hides = f"; this hides {_some(poorly)}" if poorly else ""
            yield f"{joint_name(robot, j)} {'; it '.join(said)}{hides}"
    few = [j for j in range(robot.n) if seen.moving[j] and seen.turns[j] < ENOUGH_TURNS and _hidden(seen, j)]
    if few and sampling.duration >= SHORT:
        times = sorted({int(seen.turns[j]) for j in few})
        often = f"{times[0]} to {times[-1]} times" if len(times) > 1 else counted(times[0], "time")
        names = _joined([joint_name(robot, j) for j in few])
        them = "it" if len(few) == 1 else "them"
        yield f"{names} turned round {often}: let {them} go to and fro more often, at several speeds"
    if hidden := [row.name for row in seen.parameters if not row.shown]:
        text = "excite (armdyn excite) finds a motion within the limits that shows all parameters"
        yield f"nothing, or less than the description, is shown of {_some(hidden)}: {text}"


def _of_joint(seen: Look, j: int) -> Iterator[str]:
    """What is missing of the motion of a joint, and what to record."""
    units, moved, limits = joint_units(seen.robot, j), seen.coverage, joint_limits(seen.robot)
    limit, fast, noise = limits.velocity[j], moved.greatest_speed[j], seen.noise.acceleration[j]
    hidden = _hidden(seen, j)
    if fast < LITTLE * limit < np.inf:
        of_limit = f"{100 * fast / limit:.0f} % of its limit"
        wanted = f"{2 * LITTLE * limit:.2g} {units.velocity}"
        yield f"never moves faster than {fast:.2g} {units.velocity}, {of_limit}: record it up to {wanted}"
    elif any(name[0] == "I" for name in hidden) and LOUD * _acceleration(seen, j) < noise:
        found = f"{_acceleration(seen, j):.2g} {units.acceleration} (RMS)"
        yield f"accelerates with {found}, of which noise makes {noise:.2g}: accelerate it more"
    room, span = limits.upper[j] - limits.lower[j], moved.span[j]
    if hidden and span < LITTLE * room < np.inf:
        share = f"{100 * span / room:.0f} % of its range"
        yield f"moves through {span:.2g} {units.position}, {share}: let it go farther"


def _hidden(seen: Look, j: int) -> list[str]:
    """Base parameters of a joint that are shown poorly or not at all."""
    return [row.name for row in seen.parameters if row.joint == j + 1 and row.flag]


def _acceleration(seen: Look, j: int) -> float:
    return float(np.sqrt(np.mean(np.concatenate([m.qdd[:, j] for m in seen.motions]) ** 2)))


def _some(names: Sequence[str]) -> str:
    more = f" and {counted(len(names) - TOLD, 'other')}" if len(names) > TOLD else ""
    return ", ".join(names[:TOLD]) + more


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


# ------------------------------------------------------------------------------------------------------------
# As text.


def _arrays(seen: Look) -> dict[str, np.ndarray]:
    moved, noise = seen.coverage, seen.noise
    return {
        "lowest": moved.lowest,
        "highest": moved.highest,
        "rms_speed": moved.rms_speed,
        "greatest_speed": moved.greatest_speed,
        "greatest_acceleration": moved.greatest_acceleration,
        "rest": seen.rest,
        "slow": seen.slow,
        "turns": seen.turns,
        "position_noise": noise.position,
        "position_step": noise.position_step,
        "acceleration_noise": noise.acceleration,
        "torque_rms": torque_rms(seen),
        "torque_noise": noise.torque,
        "torque_step": noise.torque_step,
    }


def torque_rms(seen: Look) -> np.ndarray:
    """(n,) of the recorded torques."""
    return np.asarray(np.sqrt(np.mean(np.concatenate([record.tau for record in seen.records]) ** 2, axis=0)))


def _text(seen: Look) -> str:
    lines = [f"{seen.robot.name}: {', '.join(seen.logs)}", ""]
    for title, texts in findings(seen):
        lines += entry(title, texts)
    lines += ["", *columns(motion_rows(seen)), "", *columns(noise_rows(seen)), ""]
    advice = seen.advice or ("nothing is missing: identify it",)
    lines += ["what to record next", *(line for text in advice for line in _item(text)), ""]
    lines += entry("notes", [str(remark) for remark in seen.remarks])
    return "\n".join(printable(line.rstrip()) for line in lines)


def _item(text: str) -> list[str]:
    """Lines of one entry of a list."""
    return wrap(text, 100, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)


def findings(seen: Look) -> list[tuple[str, list[str]]]:
    """Titles and sentences."""
    return [
        ("sampling", [_sampled(seen.sampling)]),
        ("filter", [_filtered(seen)]),
        ("delay", [_late(seen.delay)]),
        ("shows", _shows(seen)),
    ]


def _sampled(found: Sampling) -> str:
    parts = [f"{found.samples} samples, {found.duration:.4g} s at {found.rate:.4g} Hz"]
    parts.append(f"steps vary by {100 * found.jitter:.2g} %" if found.jitter > 1e-3 else "even steps")
    if found.stretches > 1:
        parts.append(f"{found.stretches} stretches with gaps between them")
    if found.unusable > 0:
        parts.append(f"{100 * found.unusable:.2g} % of the torques cannot be used")
    return "; ".join(parts)


def _filtered(seen: Look) -> str:
    if seen.cutoff is None:
        return "none: the logs have accelerations"
    text = f"up to {seen.cutoff:.3g} Hz the noise of positions is little of the accelerations"
    return f"{text}; a fit filters there or lower"


def _late(delay: Delay | None) -> str:
    if delay is None:
        return "too short to tell whether torques are late"
    return str(delay) if delay.clear else "none that is clear between positions and torques"


def _shows(seen: Look) -> list[str]:
    rows = seen.parameters
    hidden, poorly = (sum(row.flag == flag for row in rows) for flag in ("not shown", "poorly"))
    well = len(rows) - hidden - poorly
    texts = [
        f"{well} of {len(rows)} base parameters to 30 % or better, {poorly} poorly, {hidden} not at all",
        "these are of a plain model: viscous, Coulomb, an offset, a rotor; identify counts its own",
        f"of these torques a plain model leaves {100 * seen.unexplained:.2g} %",
    ]
    if seen.moving.any():
        worth = (
            f"would be uncertain by {100 * seen.unsure:.2g} %"
            if seen.unsure < 1
            else "would not be known at all"
        )
        texts.append(f"torques of other motions, as fast, anywhere in the joints' range, {worth}")
    if not seen.enough:
        texts.append("this is too little for a model")
    return texts


def motion_rows(seen: Look) -> list[list[str]]:
    """How the joints moved: headings, then a row for each."""
    limits, moved = joint_limits(seen.robot), seen.coverage
    rows = [
        [
            "joint",
            "from",
            "to",
            "of range",
            "speed",
            "greatest",
            "of limit",
            "unit",
            "accel.",
            "rest",
            "slow",
            "turns",
        ]
    ]
    for j in range(seen.robot.n):
        room = limits.upper[j] - limits.lower[j]
        rows.append(
            [
                str(j + 1),
                f"{moved.lowest[j]:.3g}",
                f"{moved.highest[j]:.3g}",
                _share(moved.span[j], room),
                f"{moved.rms_speed[j]:.2g}",
                f"{moved.greatest_speed[j]:.2g}",
                _share(moved.greatest_speed[j], limits.velocity[j]),
                joint_units(seen.robot, j).velocity,
                f"{moved.greatest_acceleration[j]:.2g}",
                f"{100 * seen.rest[j]:.0f} %",
                f"{100 * seen.slow[j]:.0f} %",
                str(int(seen.turns[j])),
            ]
        )
    return rows


def noise_rows(seen: Look) -> list[list[str]]:
    """What the signals of the joints are worth: headings, then a row for each."""
    found, sizes = seen.noise, torque_rms(seen)
    rows = [["joint", "noise: position", "steps", "acceleration", "torque", "steps", "torque RMS", "unit"]]
    for j in range(seen.robot.n):
        steps = [f"{x[j]:.2g}" if x[j] else "–" for x in (found.position_step, found.torque_step)]
        rows.append(
            [
                str(j + 1),
                f"{found.position[j]:.2g}",
                steps[0],
                f"{found.acceleration[j]:.2g}",
                f"{found.torque[j]:.2g}",
                steps[1],
                f"{sizes[j]:.3g}",
                joint_units(seen.robot, j).torque,
            ]
        )
    return rows


def _share(x: float, limit: float) -> str:
    return f"{100 * x / limit:.0f} %" if np.isfinite(limit) and limit > 0 else "–"
