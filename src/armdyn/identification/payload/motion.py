"""A log as states to fit: filtered as `identify` does, with a cut-off from the positions' spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.record import Record
from armdyn.identification.regression.states import States, states
from armdyn.identification.signals.cutoff import cutoff_of_motion
from armdyn.robot import Robot

SLOW = 0.02  # of a joint's greatest speed: below, the direction of its friction is not sure
STILL = 1e-3  # rad/s or m/s: a joint that is never faster does not move
LEAST_SAMPLES = 20


@dataclass(frozen=True)
class Block:
    """Some instants of a stretch of a log."""

    states: States
    start: int
    stop: int


def record_of(robot: Robot, log: Any, name: str) -> Record:
    """A log at the joints, or a record as it is."""
    record = log.at_joints(robot) if hasattr(log, "at_joints") else log
    if not isinstance(record, Record):
        raise IdentificationError(f"{name}: expected a Log, found {type(log).__name__}")
    if record.n != robot.n:
        raise IdentificationError(
            f"{name}: it has {record.n} joints, but {robot.name} has {robot.n} coordinates"
        )
    if len(record.t) < LEAST_SAMPLES:
        found = f"found {len(record.t)}"
        raise IdentificationError(f"{name}: at least {LEAST_SAMPLES} samples are needed, {found}")
    return record


def states_of(record: Record, cutoff: float | None, name: str) -> list[States]:
    """The states of a record; without a cut-off [Hz], that of its motion."""
    cutoff = cutoff_of_motion(record) if cutoff is None else check.positive("cutoff", cutoff)
    found = list(states(record, np.ones(len(record.t), bool), cutoff))
    return _some_left(found, f"{name}: no sample is left of {len(record.t)}: the log is too short")


def sliding(parts: Sequence[States], name: str) -> list[States]:
    """Without instants in which the direction of a joint's friction is not sure.

    Of a joint that never moves all instants stay.
    """
    fastest = np.max([np.abs(part.motion.qd).max(axis=0) for part in parts], axis=0)
    sure = [(np.abs(part.motion.qd) >= SLOW * fastest) | (fastest < STILL) for part in parts]
    found = [replace(part, use=part.use & ok) for part, ok in zip(parts, sure, strict=True)]
    return _some_left(found, f"{name}: no sample is left: all joints are slow")


def blocks_of(parts: Sequence[States]) -> list[Block]:
    """All of them, some thousands of instants at a time."""
    return [Block(part, start, stop) for part in parts for start, stop in part.blocks]


def _some_left(parts: list[States], message: str) -> list[States]:
    if not any(part.use.any() for part in parts):
        raise IdentificationError(message)
    return parts
