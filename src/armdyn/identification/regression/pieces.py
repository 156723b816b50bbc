"""Logs as pieces that fit in memory: a record, and which of its samples may enter the fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError, NothingUsableError
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.log_file import Block, LogFile
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.states import TAIL
from armdyn.robot import Robot

BLOCK = 100_000  # samples of a file in memory at a time, without the overlaps
SLOWEST = 1.0  # Hz: the lowest cut-off that is tried
MOVED = 1e-3  # rad or m: farther than sensors wander at rest,
SEEN = 1e-6  # and what a motion without noise must exceed
_FILTERS = 2  # one after the other: positions, then regressors
_OF_OVERLAP = 2  # a block has at least so many times as many samples as the overlap on a side


@dataclass(frozen=True)
class Piece:
    """Part of a log at the joints.

    `samples` (samples,) bool are those that may enter the fit and belong to no other piece; `allowed` are
    those which may enter it with this piece or with its neighbours.
    """

    record: Record
    samples: np.ndarray
    allowed: np.ndarray

    def between(self, start: int, stop: int, around: int) -> list[Piece]:
        """The samples of these rows of the log, as a piece with `around` more rows on both sides, or none."""
        rows = self.record.rows
        a, b = np.searchsorted(rows, [start - around, stop + around]).tolist()
        own = (rows >= start) & (rows < stop)
        if not (self.samples & own).any():
            return []
        return [Piece(self.record.between(a, b), (self.samples & own)[a:b], self.allowed[a:b])]


@dataclass(frozen=True)
class Part:
    """A part of a log, small to send to another process where it lies in a file; `piece` reads it."""

    log: Log | LogFile
    start: int  # rows of the whole log that are this part's own
    stop: int
    overlap: int
    samples: np.ndarray | None  # of rows start − overlap to stop + overlap, as far as there are some
    whole: bool  # whether this is all of the log

    @property
    def carries(self) -> bool:
        """Whether it has the samples with it."""
        return isinstance(self.log, Log)

    def piece(self, robot: Robot) -> Piece:
        """Looked over, at the joints."""
        if isinstance(self.log, LogFile):
            log = self.log.block(self.start, self.stop, self.overlap).log
        else:
            log = self.log
        record = self._refused_if_turned(log, log.at_joints(robot))
        rows = record.rows + log.first
        own = (rows >= self.start) & (rows < self.stop)
        allowed = np.ones(len(rows), bool) if self.samples is None else self.samples[record.rows]
        return Piece(record, own & allowed, allowed)

    def _refused_if_turned(self, log: Log, record: Record) -> Record:
        """How often a motor has turned before a part of a log is not known; a joint looks the same."""
        if record.turned and log.positions == "motor_position" and not self.whole:
            raise IdentificationError(
                f"{log.name}: motor_position jumps by whole turns; parts of a log do not show how many. "
                "Take the turns out before, or read the log whole with Log.load"
            )
        return record

    def left_out(self, reason: NothingUsableError) -> str:
        """A note on a part of which nothing can be used; where it is the whole log, that is refused."""
        if self.whole:
            raise reason
        return f"rows {self.start} to {self.stop - 1}: left out: {reason}"


@dataclass(frozen=True)
class Source:
    """A log, in memory or in a file, and the samples of it that may enter the fit (None: all)."""

    log: Log | LogFile
    samples: np.ndarray | None
    _seen: list[tuple[Robot, Piece]] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        return self.log.name if isinstance(self.log, Log) else str(self.log.constants["name"])

    def pieces(self, robot: Robot, cutoff: float | None = None) -> Iterator[Piece]:
        """In the order of time; `cutoff` [Hz] is the lowest of the filters that pieces will see."""
        for part in self.parts(cutoff):
            try:
                yield self.piece(part, robot)
            except NothingUsableError as reason:
                part.left_out(reason)

    def piece(self, part: Part, robot: Robot) -> Piece:
        """`part.piece`; a log in memory is looked over once."""
        if not part.whole or isinstance(part.log, LogFile):
            return part.piece(robot)
        if not self._seen or self._seen[0][0] is not robot:
            self._seen[:] = [(robot, part.piece(robot))]
        return self._seen[0][1]

    def parts(self, cutoff: float | None = None, read: bool = True) -> Iterator[Part]:
        """The log in parts, a file in blocks: read already in one go, or to be read by who needs them."""
        if isinstance(self.log, Log):
            first = self.log.first
            yield Part(self.log, first, first + len(self.log), 0, self.samples, True)
            return
        overlap = reach(self.log.rate, cutoff)
        size = max(BLOCK, _OF_OVERLAP * overlap)
        if read or not self.log.quick(size):
            for block in self.log.blocks(size, overlap):
                yield self._of_block(block, overlap)
            return
        rows = len(self.log)
        starts = list(range(0, max(rows - 1, 1), size))
        for start, stop in zip(starts, [*starts[1:], rows], strict=True):
            yield self._part(start, stop, overlap)

    def _part(self, start: int, stop: int, overlap: int) -> Part:
        """Rows of a file, which are read by whoever needs them."""
        a, b = max(start - overlap, 0), min(stop + overlap, len(self.log))
        samples = None if self.samples is None else self.samples[a:b]
        return Part(self.log, start, stop, overlap, samples, whole=start == 0 and stop == len(self.log))

    # ---- some of it ------------------------------------------------------------------------------------

    @property
    def allowed(self) -> int:
        """How many samples may enter the fit."""
        return len(self.log) if self.samples is None else int(self.samples.sum())

    def row(self, number: int) -> int:
        """The row, counted from the log's first one, of an allowed sample."""
        number = min(max(number, 0), self.allowed - 1)
        return number if self.samples is None else int(np.flatnonzero(self.samples)[number])

    def span(self, robot: Robot, start: int, stop: int, around: int) -> list[Piece]:
        """Some rows, with `around` more on both sides for the filters; none if nothing there can be used."""
        if isinstance(self.log, Log):
            (whole,) = self.pieces(robot)
            return whole.between(start, stop, around)
        try:
            return [self._part(start, stop, around).piece(robot)] if stop - start > 1 else []
        except NothingUsableError:
            return []

    def _of_block(self, block: Block, overlap: int) -> Part:
        """A block that was read."""
        log = block.log
        stop = block.first + block.core.stop - block.core.start
        samples = None if self.samples is None else self.samples[log.first : log.first + len(log)]
        whole = log.first == 0 and block.core == slice(0, len(log))
        return Part(log, block.first, stop, overlap, samples, whole)


def moves(pieces: Iterable[Piece]) -> bool:
    """Whether a joint is seen to move among the samples that may enter the fit.

    A joint that stays within `MOVED` is seen to if it goes farther than `SEEN` and its neighbouring samples
    are more alike than distant ones: what differs from sample to sample is noise.
    """
    low, high = np.array(np.inf), np.array(-np.inf)
    for piece in pieces:
        q = piece.record.q[piece.samples]
        if len(q):
            low, high = np.minimum(low, q.min(0)), np.maximum(high, q.max(0))
            alike = np.square(np.diff(q, axis=0)).sum(0) < np.square(q - q.mean(0)).sum(0)
            if ((high - low > MOVED) | (alike & (np.ptp(q, axis=0) > SEEN))).any():
                return True
    return False


def reach(rate: float, cutoff: float | None) -> int:
    """Samples beside a block that its filters see."""
    return int(np.ceil(_FILTERS * TAIL * rate / (cutoff or SLOWEST))) if np.isfinite(rate) else 0


def sources(logs: Any, samples: Any = None) -> tuple[Source, ...]:
    """One log or a sequence of them, with one mask or a sequence of masks."""
    found = _logs(logs)
    masks = [None] * len(found) if samples is None else _masks(samples, len(found))
    return tuple(Source(log, _mask(log, mask)) for log, mask in zip(found, masks, strict=True))


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
    try:
        mask = np.asarray(samples)
    except ValueError:  # rows of different lengths
        raise IdentificationError(
            f"samples: expected ({len(log)},) True or False, found {shown(samples)}"
        ) from None
    if mask.dtype != bool or mask.shape != (len(log),):
        raise IdentificationError(
            f"samples: expected ({len(log)},) True or False, found {mask.shape} {mask.dtype}"
        )
    if not mask.any():
        name = Source(log, None).name
        raise IdentificationError(
            f"samples: no sample of {name} is allowed into the fit; leave such a log out"
        )
    return mask
