"""What is not known, and which motion would show it.

Motions that may be added are tried on the regressor: one joint after the other moving as far and as fast as
it may while the others hold still in many postures, and all of them together. What the estimates' standard
errors would then be follows from the information that such a recording adds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.estimation.fit import ESSENTIAL, Fit
from armdyn.identification.signals.kinematics import Kinematics
from armdyn.report.identification.subject import FitSubject
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.robot.loops.postures import can_be

_STATES = 400  # of a motion that is tried: as many independent samples
_SPEED = {"revolute": 1.0, "prismatic": 0.5}  # per s, where neither limits nor the log say more
_WORSE = 1.5  # times what all joints together reach: one joint that reaches this is enough


@dataclass(frozen=True)
class Advice:
    """A base parameter that these data do not show well, and what would."""

    name: str
    shown: bool
    size: float  # the greater of estimate and description
    now: float  # standard error; infinite where not shown
    then: float  # after the motion
    joint: int | None  # that should move; None: all of them

    @property
    def helps(self) -> bool:
        """Whether the motion shows it to 30 % or, where nothing was known, at all."""
        if not self.shown and not self.size:
            return bool(np.isfinite(self.then))
        return self.then <= ESSENTIAL * self.size


@dataclass(frozen=True)
class UnknownFinding:
    """By structure, and by these data."""

    fit: Fit
    absent: tuple[str, ...]
    combined: tuple[str, ...]
    advice: tuple[Advice, ...]
    speeds: np.ndarray  # (n,) up to which the joints move in the motions that were tried
    units: tuple[str, ...]

    def motion(self, joint: int | None) -> str:
        """The motion in words."""
        if joint is None:
            return "all joints moving together"
        return f"joint {joint + 1} moving up to {self.speeds[joint]:.2g} {self.units[joint]}, others at rest"


def find_unknown(subject: FitSubject) -> UnknownFinding:
    fit = subject.fit
    units = tuple(joint_units(fit.described, j).velocity for j in range(fit.robot.n))
    return UnknownFinding(fit, fit.base.absent, fit.base.combined, advice(fit), _reach(fit)[2], units)


def advice(fit: Fit) -> tuple[Advice, ...]:
    """For every base parameter that is not shown or known worse than to 30 % of its size."""
    rows = fit.table()
    sizes = [max(abs(row.estimate), abs(row.nominal)) for row in rows]
    poor = [k for k, row in enumerate(rows) if not row.standard_error <= ESSENTIAL * sizes[k]]
    if not poor:
        return ()
    motions: tuple[int | None, ...] = (None, *range(fit.robot.n))
    own = _own_information(fit)
    after = {joint: _errors(own + _added(fit, joint)) for joint in motions}
    found = []
    for k in poor:
        single = min(range(fit.robot.n), key=lambda j: float(after[j][k]))
        enough = after[single][k] <= _WORSE * after[None][k]
        joint = single if enough else None
        row, then = rows[k], float(after[joint][k])
        found.append(Advice(row.name, row.shown, sizes[k], row.standard_error, then, joint))
    return tuple(found)


def _own_information(fit: Fit) -> np.ndarray:
    """(b, b) of the training data: the inverse of the covariance they give."""
    own = [
        R[:, :-1] / (s * np.sqrt(r)) for R, s, r in zip(fit.factors.R, fit.scale, fit.repeats, strict=True)
    ]
    A = np.vstack(own) @ fit.base.right_inverse
    return np.asarray(A.T @ A)


def _reach(fit: Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lowest and highest positions, speeds and accelerations that a motion may have, (n,) each."""
    seen, limits = fit.training.coverage, joint_limits(fit.described)
    kinds = [link.joint for link in fit.described.model.coordinates]
    middle = (seen.lowest + seen.highest) / 2
    half = np.maximum(seen.span / 2, [np.pi / 2 if kind == "revolute" else 0.0 for kind in kinds])
    low = np.where(np.isfinite(limits.lower), limits.lower, middle - half)
    high = np.where(np.isfinite(limits.upper), limits.upper, middle + half)
    usual = np.maximum(seen.greatest_speed, [_SPEED[kind] for kind in kinds])
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, usual)
    sharp = np.maximum(seen.greatest_acceleration, 3 * speed)
    return low, high, speed, np.where(np.isfinite(limits.acceleration), limits.acceleration, sharp)


def _added(fit: Fit, joint: int | None) -> np.ndarray:
    """(b, b) the information of a recording in which this joint moves, or all."""
    rng = np.random.default_rng(0 if joint is None else joint + 1)
    low, high, speed, acceleration = _reach(fit)
    moves = np.ones(fit.robot.n) if joint is None else np.eye(fit.robot.n)[joint]
    q = rng.uniform(low, high, (_STATES, fit.robot.n))
    if fit.robot.model.loops:
        q = q[can_be(fit.robot.assembly, q)]
    qd, qdd = (moves * x * rng.uniform(-1, 1, q.shape) for x in (speed, acceleration))
    Y = fit.model.problem.columns(Kinematics(q, qd, qdd)) / fit.scale[:, None]
    A = Y.reshape(-1, Y.shape[2]) @ fit.base.right_inverse
    return np.asarray(A.T @ A)


def _errors(information: np.ndarray) -> np.ndarray:
    """(b,) standard errors; infinite where the information is none."""
    D = np.sqrt(np.maximum(np.diag(information), 0.0))
    D = np.where(D > 0, D, 1.0)
    values, V = np.linalg.eigh(information / np.outer(D, D))
    kept = values > 1e-13 * values.max(initial=0.0)
    spread = np.square(V[:, kept]) @ (1 / values[kept])
    lost = np.square(V[:, ~kept]).sum(1) > 1e-6
    return np.asarray(np.where(lost, np.inf, np.sqrt(spread) / D))
