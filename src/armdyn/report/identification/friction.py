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
    """A curve for each coordinate. Its own friction acts on no other one, so all are taken out together."""
    template, problem = fit.model.problem.template, fit.model.problem
    model = template.robot.model
    numbers = [model.moving.index(link) for link in model.coordinates]
    own = [
        [p for p, x in enumerate(template.layout) if x.kind.part == "joint" and x.joint == number]
        for number in numbers
    ]
    rest = fit.x.copy()
    rest[[p for each in own for p in each]] = 0.0
    left = [found.record.tau - problem.torques(found.record, rest) for found in data]
    curves = []
    for j, (number, terms) in enumerate(zip(numbers, own, strict=True)):
        speed = np.concatenate([found.motion.qd[found.use[:, j], j] for found in data])
        torque = np.concatenate([x[found.use[:, j], j] for x, found in zip(left, data, strict=True)])
        grid, curve = _curve(fit, number, terms, float(np.abs(speed).max(initial=0.0)) or 1.0)
        named = tuple((template.layout[p].name, float(fit.x[p])) for p in terms)
        curves.append(FrictionCurve(j, speed, torque, grid, curve, named))
    return curves


def _curve(fit: Fit, number: int, terms: Sequence[int], greatest: float) -> tuple[np.ndarray, np.ndarray]:
    """Speeds and the friction of a joint there."""
    problem = fit.model.problem
    grid = np.linspace(-greatest, greatest, _POINTS)
    direction = smooth_sign(grid, float(problem.width[number]))
    surface, curve = problem.columns.surfaces.of[number], np.zeros(_POINTS)
    for p in terms:
        curve = curve + fit.x[p] * of_term(surface, problem.template.layout[p].kind.entry, grid, direction)
    return grid, curve
