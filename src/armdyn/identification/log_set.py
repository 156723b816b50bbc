"""`LogSet`: all that a fit may use of logs, as records that fit in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import file_digest, sha256
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, NothingUsableError
from armdyn.identification.log import DERIVATIVES, POSITIONS, TORQUES, Log, Record
from armdyn.identification.log_files import LogFile
from armdyn.identification.signals import TAIL
from armdyn.robot import Robot

BLOCK = 100_000  # samples of a file in memory at a time, without the overlaps
SLOWEST = 1.0  # Hz: the lowest cut-off that is tried
_FILTERS = 2  # one after the other: positions, then regressors
_OF_OVERLAP = 2  # a part of a file has at least so many times as many samples as the overlap on a side


@dataclass(frozen=True)
class LogDigest:
    """A log by which a fit can say what it was made from."""

    name: str
    samples: int
    sha256: str  # of its channels, in memory as little-endian floats; of a log in a file, of its bytes


@dataclass(frozen=True)
class LogSet:
    """Logs of a robot, in memory or in files, and which of their samples may enter a fit."""

    robot: Robot
    logs: tuple[Log | LogFile, ...]
    masks: tuple[np.ndarray | None, ...]  # (samples of the log,) bool each; None: all
    _seen: dict[int, Record] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def of(robot: Robot, logs: Any, samples: Any = None) -> LogSet:
        """One log or a sequence of them, with one mask or a sequence of masks."""
        found = _logs(logs)
        masks = [None] * len(found) if samples is None else _masks(samples, len(found))
        checked = tuple(_mask(log, mask) for log, mask in zip(found, masks, strict=True))
        return LogSet(robot, tuple(found), checked)

    def rest(self) -> LogSet:
        """The samples that the masks leave out."""
        left = [
            (log, ~m) for log, m in zip(self.logs, self.masks, strict=True) if m is not None and not m.all()
        ]
        if not left:
            raise IdentificationError(
                'validate: "rest" are the samples that samples= leaves out of the fit, and it leaves out none'
            )
        return LogSet(self.robot, tuple(log for log, _ in left), tuple(mask for _, mask in left))

    @property
    def digests(self) -> tuple[LogDigest, ...]:
        """Names, sizes and SHA-256 of the logs."""
        return tuple(LogDigest(log.name, len(log), _digest(log)) for log in self.logs)

    # ---- all of them -----------------------------------------------------------------------------------

    def records(self, cutoff: float | None = None, only: int | None = None) -> Iterator[Record]:
        """Records of all logs, or of one, in the order of time.

        `cutoff` [Hz] is the lowest of the filters that they will see.
        """
        for k in range(len(self.logs)) if only is None else (only,):
            for log in self.parts(k, cutoff):
                try:
                    yield self.record(k, log)
                except NothingUsableError as reason:
                    left_out(log, reason)

    def parts(self, k: int, cutoff: float | None = None) -> Iterator[Log]:
        """A log, or the logs that its file is read as, one after the other."""
        log = self.logs[k]
        if isinstance(log, Log):
            yield log
        else:
            overlap = reach(log.rate, cutoff)
            yield from log.parts(max(BLOCK, _OF_OVERLAP * overlap), overlap)

    def record(self, k: int, log: Log) -> Record:
        """A part of log k at the joints; a log in memory is looked over once."""
        if log is not self.logs[k]:
            return record_of(self.robot, log, self.mask(k, log))
        if k not in self._seen:
            self._seen[k] = record_of(self.robot, log, self.masks[k])
        return self._seen[k]

    def mask(self, k: int, log: Log) -> np.ndarray | None:
        """Which samples of a part of log k may enter the fit."""
        mask = self.masks[k]
        return mask if mask is None or log is self.logs[k] else mask[log.first : log.first + len(log)]

    # ---- some of them ----------------------------------------------------------------------------------

    def allowed(self, k: int) -> int:
        """How many samples of log k may enter the fit."""
        mask = self.masks[k]
        return len(self.logs[k]) if mask is None else int(mask.sum())

    def row(self, k: int, number: int) -> int:
        """The row, counted from the log's first one, of an allowed sample."""
        number, mask = min(max(number, 0), self.allowed(k) - 1), self.masks[k]
        return number if mask is None else int(np.flatnonzero(mask)[number])

    def span(self, k: int, start: int, stop: int, around: int) -> list[Record]:
        """Some rows, with `around` more on both sides for the filters; none if nothing there can be used."""
        log = self.logs[k]
        if isinstance(log, Log):
            return self.record(k, log).span(start, stop, around)
        try:
            return [self.record(k, log.part(start, stop, around))] if stop - start > 1 else []
        except NothingUsableError:
            return []


def record_of(robot: Robot, log: Log, mask: np.ndarray | None) -> Record:
    """The log at the joints; what the mask does not allow does not enter a fit."""
    record = log.at_joints(robot)
    if record.turned and log.positions == "motor_position" and log.core is not None:
        raise IdentificationError(
            f"{log.name}: motor_position jumps by whole turns; parts of a log do not show how many. "
            "Take the turns out before, or read the log whole with Log.load"
        )
    if mask is None:
        return record
    allowed = mask[record.rows]
    return replace(record, usable=record.usable & allowed[:, None], own=record.own & allowed)


def left_out(log: Log, reason: NothingUsableError) -> str:
    """A note on a part of a file of which nothing can be used; a whole log is refused."""
    if log.core is None:
        raise reason
    first = log.first + log.core.start
    return f"rows {first} to {log.first + log.core.stop - 1}: left out: {reason}"


def reach(rate: float, cutoff: float | None) -> int:
    """Samples beside a part of a file that its filters see."""
    return int(np.ceil(_FILTERS * TAIL * rate / (cutoff or SLOWEST))) if np.isfinite(rate) else 0


def _digest(log: Log | LogFile) -> str:
    if isinstance(log, LogFile):
        with log.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    found = sha256()
    for channel in ("t", *POSITIONS, *TORQUES, *DERIVATIVES, "wrench"):
        if (x := getattr(log, channel)) is not None:
            found.update(f"{channel}{x.shape}".encode() + np.asarray(x, "<f8").tobytes())
    return found.hexdigest()


# ---- what callers give -------------------------------------------------------------------------------------


def _logs(logs: Any) -> list[Log | LogFile]:
    found = [logs] if isinstance(logs, Log | LogFile) else logs
    if not isinstance(found, Sequence) or isinstance(found, str) or not len(found):
        raise IdentificationError(f"logs: expected a Log or a list of them, found {shown(logs)}")
    for log in found:
        if not isinstance(log, Log | LogFile):
            raise IdentificationError(f"logs: expected a Log, found {shown(log)}; Log.load reads files")
    return list(found)


def _masks(samples: Any, count: int) -> list[Any]:
    if count == 1 and not (isinstance(samples, list | tuple) and len(samples) == 1):
        return [samples]
    if not isinstance(samples, list | tuple) or len(samples) != count:
        text = f"{len(samples)} of them" if isinstance(samples, list | tuple) else type(samples).__name__
        raise IdentificationError(f"samples: expected a list of {count} masks, one a log, found {text}")
    return list(samples)


def _mask(log: Log | LogFile, samples: Any) -> np.ndarray | None:
    if samples is None:
        return None
    expected = f"samples: expected ({len(log)},) True or False"
    try:
        mask = np.asarray(samples)
    except ValueError:  # rows of different lengths
        raise IdentificationError(f"{expected}, found {shown(samples)}") from None
    if mask.dtype != bool or mask.shape != (len(log),):
        raise IdentificationError(f"{expected}, found {mask.shape} {mask.dtype}")
    if not mask.any():
        raise IdentificationError(
            f"samples: no sample of {log.name} is allowed into the fit; leave such a log out"
        )
    return mask
