"""How far and how fast the joints moved in some data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.signals.kinematics import Kinematics

_GREATEST = 0.999  # the share of samples that stay below what is called the greatest: one spike is no motion


@dataclass(frozen=True)
class Coverage:
    """Of n joints, (n,) each: samples, least and greatest position, speeds and accelerations."""

    samples: np.ndarray
    lowest: np.ndarray  # rad or m
    highest: np.ndarray
    squared_speeds: np.ndarray  # sums
    greatest_speed: np.ndarray  # rad/s or m/s, that one sample in a thousand exceeds
    greatest_acceleration: np.ndarray

    @staticmethod
    def of(motion: Kinematics, use: np.ndarray) -> Coverage:
        """Of M samples, where `use` (M, n) allows."""
        n = use.shape[1]
        at = [use[:, j] if use[:, j].any() else use.any(1) for j in range(n)]
        q, qd, qdd = (
            [x[at[j], j] for j in range(n)] for x in (motion.q, np.abs(motion.qd), np.abs(motion.qdd))
        )
        return Coverage(
            samples=use.sum(0),
            lowest=np.array([x.min() for x in q]),
            highest=np.array([x.max() for x in q]),
            squared_speeds=np.array([float(x @ x) / len(x) for x in qd]) * use.sum(0),
            greatest_speed=np.array([np.quantile(x, _GREATEST) for x in qd]),
            greatest_acceleration=np.array([np.quantile(x, _GREATEST) for x in qdd]),
        )

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(
            self.samples + other.samples,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            self.squared_speeds + other.squared_speeds,
            np.maximum(self.greatest_speed, other.greatest_speed),
            np.maximum(self.greatest_acceleration, other.greatest_acceleration),
        )

    @property
    def span(self) -> np.ndarray:
        """(n,) from the least to the greatest position [rad or m]."""
        return np.asarray(self.highest - self.lowest)

    @property
    def rms_speed(self) -> np.ndarray:
        """(n,) [rad/s or m/s]"""
        return np.asarray(np.sqrt(self.squared_speeds / np.maximum(self.samples, 1)))
