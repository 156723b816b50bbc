"""Triangular factors: what least squares needs of any number of samples, in a few numbers.

The factor R of [Y τ] has RᵀR = [Y τ]ᵀ[Y τ]. Factors of parts of the data, stacked and factored again, give
the factor of all of them: so logs are taken in block by block, on as many workers as there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce

import numpy as np
from scipy.linalg import qr

from armdyn.identification.errors import on_one_thread
from armdyn.identification.log import Record
from armdyn.identification.signals import (
    Kinematics,
    States,
    effective_cutoff,
    low_pass,
    on_grid,
    segments_of,
    states,
)
from armdyn.identification.template import Surfaces, Template
from armdyn.model.friction import TERMS
from armdyn.robot.friction import friction_parts

# ------------------------------------------------------------------------------------------------------------
# Least squares from a triangular factor: estimates, what they leave open and how sure they are.


RANK = 1e-8  # of the greatest singular value of scaled columns: below, the data say nothing
ROUNDING = 1e-11  # of the longest column: a shorter one is zero but for rounding


@dataclass(frozen=True)
class Solution:
    """x that minimises ‖A x − b‖² + λ ‖D (x − prior)‖², D the lengths of A's columns.

    What A does not determine stays as near to the prior as it can, measured by D.
    """

    x: np.ndarray  # (p,)
    rank: int
    singular_values: np.ndarray  # of A with columns of length 1
    open: np.ndarray  # (p, k): directions of x that A does not determine, their greatest entry 1
    gain: np.ndarray  # (p, p): x − prior = gain @ (Aᵀ b')


def solve(R: np.ndarray, prior: np.ndarray, damping: float = 0.0, free: np.ndarray | None = None) -> Solution:
    """From the factor R of [A b]; parameters that are not `free` (p,) bool keep their prior values."""
    p = len(prior)
    free = np.ones(p, bool) if free is None else free
    A, b = R[:, :p][:, free], R[:, p] - R[:, :p] @ prior
    D = column_scales(np.sqrt(np.square(A).sum(0)))
    U, s, Vt = np.linalg.svd(A / D, full_matrices=True)
    s = np.pad(s, (0, A.shape[1] - len(s)))
    kept = s > RANK * max(s.max(initial=0.0), 1e-300)
    V = Vt.T / D[:, None]
    inverse = s[kept] / (s[kept] ** 2 + damping)
    half = V[:, kept] * inverse
    x = prior.copy()
    x[free] += half @ (U.T[: len(s)][kept[: U.shape[1]]] @ b)
    return Solution(
        x=x,
        rank=int(kept.sum()),
        singular_values=s,
        open=_rows(V[:, ~kept] / np.abs(V[:, ~kept]).max(axis=0), free),
        gain=_square(V[:, kept] / (s[kept] ** 2 + damping) @ V[:, kept].T, free),
    )


def column_scales(lengths: np.ndarray) -> np.ndarray:
    """Divisors of columns of these lengths; those that are only rounding stay short."""
    greatest = float(lengths.max(initial=0.0))
    return np.where(lengths > ROUNDING * greatest, lengths, greatest or 1.0)


def _square(C: np.ndarray, free: np.ndarray) -> np.ndarray:
    full = np.zeros((len(free), len(free)))
    full[np.ix_(free, free)] = C
    return full


def _rows(V: np.ndarray, free: np.ndarray) -> np.ndarray:
    full = np.zeros((len(free), V.shape[1]))
    full[free] = V
    return full


def joint_scales(squares: np.ndarray, rows: np.ndarray, parameters: int, floor: np.ndarray) -> np.ndarray:
    """Standard deviation of each joint's residual, at least `floor`; the joints share the parameters."""
    freedom = np.maximum(rows - parameters / max(len(rows), 1), 1.0)
    return np.asarray(np.maximum(np.sqrt(squares / freedom), floor))


# ------------------------------------------------------------------------------------------------------------
# Triangular factors: what least squares needs of any number of samples, in a few numbers.


def triangular(A: np.ndarray) -> np.ndarray:
    """The triangular factor (at most (p, p)) of A (rows, p)."""
    if len(A) <= A.shape[1]:
        return A
    return np.asarray(qr(A, mode="r", check_finite=False)[0][: A.shape[1]])


@dataclass(frozen=True)
class Factors:
    """For each of the n joints, the factor of its rows [Y_j τ_j] and how many they were."""

    R: tuple[np.ndarray, ...]  # n of (at most p + 1, p + 1)
    rows: np.ndarray  # (n,)

    @staticmethod
    def of(Y: np.ndarray, tau: np.ndarray, use: np.ndarray, weights: np.ndarray | None = None) -> Factors:
        """Factors of Y (M, n, p) and τ (M, n) where `use` (M, n) allows; `weights` (M, n) multiply rows."""
        R = []
        for j in range(tau.shape[1]):
            at = use[:, j]
            A = np.column_stack([Y[at, j], tau[at, j]])
            if weights is not None:
                A *= weights[at, j, None]
            R.append(_factor_of_some_columns(A))
        return Factors(tuple(R), use.sum(0))

    def __add__(self, other: Factors) -> Factors:
        """Factors of the data of both."""
        pairs = zip(self.R, other.R, strict=True)
        return Factors(tuple(triangular(np.vstack(pair)) for pair in pairs), self.rows + other.rows)

    def weighted(self, scale: np.ndarray) -> np.ndarray:
        """The factor of all joints together, each divided by its `scale` (n,)."""
        return triangular(np.vstack([R / s for R, s in zip(self.R, scale, strict=True)]))

    def squares(self, x: np.ndarray) -> np.ndarray:
        """‖Y_j x − τ_j‖² of each joint, (n,)."""
        minus = np.append(x, -1.0)
        return np.array([float(np.square(R @ minus).sum()) for R in self.R])

    def sizes(self) -> np.ndarray:
        """RMS of each joint's torques, (n,); joints without torques, or with zeros only, have the largest."""
        found = np.sqrt(self.squares(np.zeros(self.R[0].shape[1] - 1)) / np.maximum(self.rows, 1))
        return np.where(found > 0, found, found.max() or 1.0)


def _factor_of_some_columns(A: np.ndarray) -> np.ndarray:
    """The factor of A, most of whose columns may be zero: a joint feels only the links beyond it."""
    at = np.flatnonzero(A.any(0))
    found = np.zeros((min(len(A), len(at)), A.shape[1]))
    if len(at):
        found[:, at] = triangular(A[:, at])
    return found


def merged(parts: Iterable[Factors]) -> Factors:
    """Factors of all parts, in their order."""
    return reduce(lambda a, b: a + b, parts)


def merge(total: Factors | None, more: Factors | None) -> Factors | None:
    if total is None or more is None:
        return total if more is None else more
    return total + more


# ------------------------------------------------------------------------------------------------------------
# The least-squares problem of a fit, and torques as a fit predicts them.


_ROWS = 4_000  # states whose regressor is in memory at a time


@dataclass(frozen=True)
class Problem:
    """The regressor of a template and the filter through which it is seen; picklable.

    Load friction Fl |τ_r| s is Fl s sgn(τ_r) Y_r π, Y_r the columns without friction: it is linear in π where
    Fl and the signs of τ_r are known. Fl is the template's; the signs are those that `loads` gives.
    """

    template: Template
    cutoff: float | None = None  # Hz
    loads: np.ndarray | None = None  # (p,) parameters; None: without load friction
    slow: np.ndarray | None = None  # (n,) rad/s or m/s: slower joints may stick; their torques are not fitted

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces.of_robot(self.template.robot)

    def __call__(self, motion: Kinematics) -> np.ndarray:
        """Y (M, n, p) at M states."""
        robot = self.template.robot
        Y = np.array(robot.regressor(motion.q, motion.qd, motion.qdd))
        if self.loads is not None:
            shares = friction_parts(robot, motion.q).shares_of(motion.qd)
            share = np.sign(Y[:, :, self.rigid] @ self.loads[self.rigid]) * shares
            Y[:, :, self.rigid] *= (1 + share)[:, :, None]
        return Y

    @cached_property
    def rigid(self) -> np.ndarray:
        """(p,) bool: the columns that are not friction."""
        return np.array([parameter.kind.entry not in TERMS for parameter in self.template.layout])

    def loaded_by(self, x: np.ndarray) -> Problem:
        """The same where torques without friction have the signs that parameters x (p,) give them."""
        return self if self.loads is None else replace(self, loads=x)

    @property
    def width(self) -> np.ndarray:
        """(E,) of the sign near zero speed, per surface [rad/s or m/s]."""
        return self.surfaces.widths

    @cached_property
    def friction(self) -> list[tuple[int, int, str]]:
        """Column, surface and term of each parameter of friction."""
        return self.surfaces.columns(self.template.layout)

    def states(self, record: Record) -> Iterator[States]:
        """States of a record that may enter the fit, segment by segment."""
        return (self.sliding(part) for part in states(record, self.cutoff))

    def sliding(self, part: States) -> States:
        """The same states without the torques of joints that may stick."""
        if self.slow is None:
            return part
        return replace(part, use=part.use & (np.abs(part.motion.qd) >= self.slow))

    def regressors(self, part: States) -> Iterator[tuple[np.ndarray, States]]:
        """Y as the low-pass shows it, some of the states at a time."""
        for start, stop in part.blocks:
            yield part.seen_between(self, start, stop), part.between(start, stop)

    @on_one_thread
    def factors(self, parts: Iterable[States]) -> Factors | None:
        """Factors of states; None where none of them may enter the fit."""
        found: Factors | None = None
        for part in parts:
            for at, Y in part.seen_by(self):
                found = merge(found, Factors.of(Y, part.tau[at], part.use[at]))
        return found

    def seen_torques(self, part: States, x: np.ndarray) -> np.ndarray:
        """Y x (M, n) as the low-pass shows it, at all states of a part."""
        return part.seen(self.unfiltered_torques(part.motion, x))

    def torques(self, record: Record, x: np.ndarray) -> np.ndarray:
        """(samples of the record, n) for parameters x, filtered as in the fit, and what a wrench needs."""
        found = np.zeros_like(record.q)
        for segment in segments_of(record):
            motion = on_grid(record, segment, effective_cutoff(record, self.cutoff))
            tau = low_pass(
                self.unfiltered_torques(motion, x), effective_cutoff(record, self.cutoff), segment.rate
            )
            found[segment.part] = segment.sampled(tau)
        return found if record.contact is None else found + record.contact

    def filtered(self, record: Record) -> np.ndarray:
        """Measured torques (samples, n) of the motion through the filter that predicted ones pass."""
        found = record.tau_of_motion.copy()
        cutoff = effective_cutoff(record, self.cutoff)
        for segment in segments_of(record) if cutoff is not None else ():
            tau = low_pass(segment.gridded(record.tau_of_motion), cutoff, segment.rate)
            found[segment.part] = segment.sampled(tau)
        return found

    def unfiltered_torques(self, motion: Kinematics, x: np.ndarray) -> np.ndarray:
        """Y x without the filter, (K, n)."""
        starts = range(0, len(motion.q), _ROWS)
        return np.concatenate([self(motion.at(slice(start, start + _ROWS))) @ x for start in starts])
