"""From a log to a record: looked over, mended where that is safe, and brought to the joints."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError, IdentificationWarning, NothingUsableError
from armdyn.identification.logs import transmission
from armdyn.identification.logs.delay import shifted
from armdyn.identification.logs.doubts import doubts, remarks
from armdyn.identification.logs.log import DERIVATIVES, Log
from armdyn.identification.logs.positions import Positions, look_at_positions, lost_rows
from armdyn.identification.logs.record import Record
from armdyn.identification.logs.times import bridged, look_at_times, segments, without_infinities
from armdyn.identification.logs.torques import look_at_torques, moving
from armdyn.identification.logs.wording import counted, rows_text
from armdyn.robot import Robot
from armdyn.robot.joints import revolute_joints

GREATEST = 1e50  # in SI units, and one over it for torques: beyond, squares of sums overflow
SHORTEST = 8  # samples of a segment that is kept


def look_over(log: Log, robot: Robot, delay: float | str = 0.0) -> Record:
    """`Log.at_joints`."""
    check.robot(robot)
    with check.computable():
        record = _look_over(log, robot, delay)
        known = [x for x in (record.q, record.qd, record.qdd, record.tau) if x is not None]
        if not all(np.abs(x).max(initial=0.0) <= GREATEST for x in known):
            raise OverflowError
        if 0 < np.abs(record.tau).max(initial=0.0) < 1 / GREATEST:
            raise OverflowError
        return record


def _look_over(log: Log, robot: Robot, delay: float | str) -> Record:
    transmission.check_kinds(log, robot)
    to_q, to_tau = transmission.positions(log, robot), transmission.torques(log, robot)
    recorded = _recorded(log, robot)
    y, used = look_at_torques(
        log.torques, recorded.t, recorded.torques, moving(recorded.positions), recorded.rows, recorded.notes
    )
    used &= ~recorded.doubtful[:, None]
    tau = to_tau(y)
    _refuse_without_torques(log, tau, used)
    known = {
        name: transmission.derivatives(log, robot).derivative(x) for name, x in recorded.derivatives.items()
    }
    record = Record(
        t=recorded.t,
        q=to_q(recorded.positions),
        tau=tau,
        usable=to_tau.usable(used),
        segments=tuple(segments(recorded.t, recorded.breaks, recorded.notes, recorded.rows)),
        rows=recorded.rows - log.first,
        size=len(log),
        qd=known.get("qd"),
        qdd=known.get("qdd"),
        notes=(*log.notes, *recorded.notes),
        name=log.name,
        filled=recorded.filled,
        first=log.first,
        turned=recorded.turned,
    )
    record = _without_short_segments(log, record)
    record = replace(record, notes=(*record.notes, *remarks(robot, record)))
    for doubt in doubts(robot, record):
        warnings.warn(f"{log.name}: {doubt}", IdentificationWarning, stacklevel=4)
        record = replace(record, notes=(*record.notes, doubt))
    return _aligned(robot, record, delay)


@dataclass
class _Recorded:
    """Rows that are kept, before they are brought to the joints; `rows` count in the file."""

    t: np.ndarray
    rows: np.ndarray
    positions: np.ndarray
    torques: np.ndarray
    derivatives: dict[str, np.ndarray]
    doubtful: np.ndarray  # (samples,) torques not to be used
    filled: np.ndarray
    breaks: np.ndarray
    turned: bool
    notes: list[str]


def _recorded(log: Log, robot: Robot) -> _Recorded:
    """Times and positions looked over."""
    times = look_at_times(log)
    channels = {name: without_infinities(getattr(log, name))[times.rows] for name in log.channels[1:]}
    states = [log.positions, *(name for name in DERIVATIVES if name in channels)]
    most = bridged(float(np.median(np.diff(times.t))))
    lost = np.zeros(len(times.rows), bool)
    for name in states:
        lost |= lost_rows(channels[name], most)
    notes = times.notes
    if lost.any():
        where = rows_text(times.rows[lost] + log.first)
        notes.append(
            f"{' or '.join(states)}: no numbers in {where}, too many in a row to interpolate; left out"
        )
    kept = ~lost
    if kept.sum() < 4:
        raise NothingUsableError(
            f"{log.name}: {counted(int(kept.sum()), 'row')} with positions; four are needed"
        )
    t, rows = times.t[kept], times.rows[kept] + log.first
    filled, breaks = np.zeros(len(t), bool), np.zeros(len(t), bool)
    x = {name: channels[name][kept].copy() for name in states}
    turned = False
    for name in states:
        found = Positions(name, x[name], rows, filled, breaks, notes)
        turning = (
            _turning(log, robot, x[name].shape[1])
            if name == log.positions
            else np.zeros(x[name].shape[1], bool)
        )
        try:
            if name == log.positions:
                turned = look_at_positions(t, found, turning)
            else:
                found.fill_missing(t)
        except IdentificationError as problem:
            raise IdentificationError(f"{log.name}: {problem}") from None
    position, rest = x[states[0]], {name: x[name] for name in states[1:]}
    doubtful = times.doubtful[kept] | filled
    torques = channels[log.torques][kept]
    return _Recorded(t, rows, position, torques, rest, doubtful, filled, breaks, turned, notes)


def _turning(log: Log, robot: Robot, width: int) -> np.ndarray:
    """(columns,) bool: which positions are angles."""
    if log.positions == "motor_position":
        return np.ones(width, bool)
    if width == robot.n:
        return revolute_joints(robot)
    return np.array([link.joint == "revolute" for link in robot.model.moving])


def _refuse_without_torques(log: Log, tau: np.ndarray, used: np.ndarray) -> None:
    if not used.any():
        raise NothingUsableError(f"{log.name}: {log.torques}: no torque in the log can be used")
    if not tau.any():
        raise NothingUsableError(f"{log.name}: {log.torques}: all torques are zero")


def _without_short_segments(log: Log, record: Record) -> Record:
    """Leave out segments in which nothing can be differentiated."""
    shortest = SHORTEST if record.qd is None or record.qdd is None else 1
    long = [part for part in record.segments if part.stop - part.start >= shortest]
    if len(long) == len(record.segments):
        return record
    if not long:
        most = max(part.stop - part.start for part in record.segments)
        raise NothingUsableError(
            f"{log.name}: the longest stretch without a gap has {counted(most, 'sample')}; "
            f"{SHORTEST} are needed"
        )
    kept = np.concatenate([np.arange(part.start, part.stop) for part in long])
    rows = np.setdiff1d(record.rows, record.rows[kept]) + log.first
    ends = np.cumsum([part.stop - part.start for part in long]).tolist()
    parts = tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))
    note = f"{rows_text(rows)}: stretches of less than {SHORTEST} samples between gaps; left out"
    arrays = {
        name: x[kept]
        for name in ("t", "q", "tau", "usable", "rows", "qd", "qdd", "filled")
        if (x := getattr(record, name)) is not None
    }
    return replace(record, **arrays, segments=parts, notes=(*record.notes, note))


def _aligned(robot: Robot, record: Record, delay: float | str) -> Record:
    if isinstance(delay, str):
        from armdyn.identification.regression.delay import delay_of

        check.one_of("delay", delay, "estimate")
        found = delay_of(robot, record)
        if not found.clear:
            return replace(record, notes=(*record.notes, f"{found}; not taken out"))
        return shifted(record, found.seconds)
    seconds = check.number("delay", delay)
    if not np.isfinite(seconds):
        raise IdentificationError(
            f"delay: found {shown(delay)}; a number of seconds or 'estimate' is expected"
        )
    return shifted(record, seconds) if seconds else record
