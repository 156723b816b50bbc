"""Friction of each joint: what the rest of the model leaves of the measured torque, over its speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.regression.columns import of_term, smooth_sign
from armdyn.identification.validation.comparison import Comparison

_POINTS = 401  # of a curve


@dataclass(frozen=True)
class FrictionCurve:
    """Of one joint: measured points, and the fitted curve."""

    joint: int  # coordinate, counted from 0
    speed: np.ndarray  # (K,) rad/s or m/s of the measured points
    torque: np.ndarray  # (K,) measured torque minus all of the model but this joint's friction
    grid: np.ndarray  # (G,) speeds of the curve
    curve: np.ndarray  # (G,) N m or N
    coefficients: tuple[tuple[str, float], ...]  # by name


def friction_curves(fit: Fit, data: Sequence[Comparison]) -> list[FrictionCurve]:
    return [_curve(fit, data, j) for j in range(fit.robot.n)]


def _curve(fit: Fit, data: Sequence[Comparison], joint: int) -> FrictionCurve:
    template, problem = fit.model.problem.template, fit.model.problem
    moving = template.robot.model.moving
    number = moving.index(template.robot.model.coordinates[joint])
    own = [p for p, x in enumerate(template.layout) if x.kind.part == "joint" and x.joint == number]
    rest = fit.x.copy()
    rest[own] = 0.0
    speeds, torques = [], []
    for found in data:
        at = found.use[:, joint]
        speeds.append(found.motion.qd[at, joint])
        torques.append((found.record.tau - problem.torques(found.record, rest))[at, joint])
    speed = np.concatenate(speeds)
    greatest = float(np.abs(speed).max(initial=0.0)) or 1.0
    grid = np.linspace(-greatest, greatest, _POINTS)
    surface = problem.columns.surfaces.of[number]
    direction = smooth_sign(grid, float(problem.width[number]))
    curve = sum(
        (fit.x[p] * of_term(surface, template.layout[p].kind.entry, grid, direction) for p in own),
        np.zeros(_POINTS),
    )
    named = tuple((template.layout[p].name, float(fit.x[p])) for p in own)
    return FrictionCurve(joint, speed, np.concatenate(torques), grid, np.asarray(curve), named)
