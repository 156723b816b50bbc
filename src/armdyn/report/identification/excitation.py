"""How far and how fast each joint moved in the training data, against its limits; and how well that shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.validation.coverage import Coverage
from armdyn.report.identification.subject import FitSubject
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits, joint_units

_LITTLE = 0.3  # of a limit
_PART = 0.35  # of a direction: parameters with a smaller part in it are not named


@dataclass(frozen=True)
class ExcitationFinding:
    """The motion of the training data, and the conditioning that follows from it."""

    fit: Fit
    coverage: Coverage
    limits: JointLimits
    idle: tuple[str, ...]  # joints that moved slowly or not far, in words
    weakest: tuple[str, ...]  # base parameters of the direction that shows least
    logs: tuple[str, ...]


def find_excitation(subject: FitSubject) -> ExcitationFinding:
    fit = subject.fit
    coverage, limits = fit.training.coverage, joint_limits(fit.described)
    idle = tuple(
        text for j in range(fit.robot.n) if (text := _idle(fit.described, j, coverage, limits)) is not None
    )
    return ExcitationFinding(fit, coverage, limits, idle, _weakest(fit), fit.training.logs)


def _idle(robot: Robot, j: int, found: Coverage, limits: JointLimits) -> str | None:
    """A joint that used little of its limits, or that hardly moved where it has none."""
    units, speed, span = joint_units(robot, j), found.greatest_speed[j], found.span[j]
    shares = []
    if np.isfinite(limits.velocity[j]) and speed < _LITTLE * limits.velocity[j]:
        share = 100 * speed / limits.velocity[j]
        shares.append(f"was never faster than {speed:.2g} {units.velocity}, {share:.0f} % of its limit")
    room = limits.upper[j] - limits.lower[j]
    if np.isfinite(room) and span < _LITTLE * room:
        shares.append(f"moved through {span:.2g} {units.position}, {100 * span / room:.0f} % of its range")
    if not shares and speed < 1e-3:
        shares.append("stood still")
    return f"joint {j + 1} {' and '.join(shares)}" if shares else None


def _weakest(fit: Fit) -> tuple[str, ...]:
    """Of the base regressor with columns of length 1: the parameters in its least singular direction."""
    A = fit.factors.weighted(fit.scale)[:, :-1] @ fit.base.right_inverse
    lengths = np.sqrt(np.square(A).sum(0))
    at = np.flatnonzero((lengths > 1e-11 * lengths.max(initial=0.0)) & ~fit.not_shown)
    if len(at) < 2:
        return ()
    direction = np.abs(np.linalg.svd(A[:, at] / lengths[at], full_matrices=False)[2][-1])
    order = [k for k in np.argsort(-direction, kind="stable") if direction[k] > _PART]
    return tuple(fit.names[at[k]] for k in order)
