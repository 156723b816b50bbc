"""What is kept of the training data to judge other data by: where they moved, and which samples they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.ndimage import maximum_filter1d

from armdyn.identification.logs.record import Record
from armdyn.identification.regression.pieces import Piece
from armdyn.identification.regression.problem import Problem
from armdyn.identification.signals.kinematics import kinematics
from armdyn.identification.validation.coverage import Coverage

_ODD = np.uint64(0x9E3779B97F4A7C15)  # an odd number near 2⁶⁴ over the golden ratio: it spreads bits
_SHIFT = np.uint64(29)


@dataclass(frozen=True)
class Training:
    """Of the data that entered a fit (of very long files, of as much as its choices were made on)."""

    coverage: Coverage
    keys: np.ndarray = field(repr=False)  # of samples in the fit and those that the filter mixes with them
    logs: tuple[str, ...] = ()

    @staticmethod
    def of(pieces: Sequence[Piece], problem: Problem) -> Training:
        found: list[Coverage] = []
        keys = []
        for piece in pieces:
            record = piece.record
            use = record.usable & piece.samples[:, None]
            if not use.any():
                continue
            found.append(Coverage.of(kinematics(record, problem.cutoff), use))
            keys.append(sample_keys(record)[_near(use.any(1), record, problem.cutoff)])
        coverage = found[0]
        for other in found[1:]:
            coverage = coverage + other
        names = tuple(dict.fromkeys(piece.record.name for piece in pieces))
        return Training(coverage, np.unique(np.concatenate(keys)), names)

    def shared(self, record: Record, use: np.ndarray) -> int:
        """How many of the samples of a record, where `use` (M,) allows, entered the fit or touch it."""
        return int(np.isin(sample_keys(record)[use], self.keys).sum())


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
