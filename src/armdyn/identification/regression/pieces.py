"""Logs as pieces that fit in memory: a record, and which of its samples may enter the fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.log_file import LogFile
from armdyn.identification.logs.record import Record
from armdyn.robot import Robot

BLOCK = 200_000  # samples of a file in memory at a time
OVERLAP = 4_000  # samples beside a block, for the filters


@dataclass(frozen=True)
class Piece:
    """Part of a log at the joints; `samples` (samples,) bool are those that may enter the fit."""

    record: Record
    samples: np.ndarray


@dataclass(frozen=True)
class Source:
    """A log, in memory or in a file, and the samples of it that may enter the fit (None: all)."""

    log: Log | LogFile
    samples: np.ndarray | None

    @property
    def name(self) -> str:
        return self.log.name if isinstance(self.log, Log) else self.log.path.name

    def pieces(self, robot: Robot) -> Iterator[Piece]:
        """In the order of time."""
        if isinstance(self.log, Log):
            record = self.log.at_joints(robot)
            yield Piece(record, _of_record(record, self.samples))
            return
        for block in self.log.blocks(BLOCK, OVERLAP):
            record = block.log.at_joints(robot)
            own = np.zeros(len(block.log), bool)
            if self.samples is None:
                own[block.core] = True
            else:
                length = block.core.stop - block.core.start
                own[block.core] = self.samples[block.first : block.first + length]
            yield Piece(record, _of_record(record, own))


def _of_record(record: Record, samples: np.ndarray | None) -> np.ndarray:
    return np.ones(len(record.t), bool) if samples is None else samples[record.rows]


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
    mask = np.asarray(samples)
    if mask.dtype != bool or mask.shape != (len(log),):
        raise IdentificationError(
            f"samples: expected ({len(log)},) True or False, found {mask.shape} {mask.dtype}"
        )
    if not mask.any():
        raise IdentificationError("samples: no sample is allowed into the fit")
    return mask
