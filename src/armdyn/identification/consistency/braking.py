"""Friction that brakes, rotors with inertia and springs that pull back, as linear inequalities.

Stiffness, viscous friction, and Coulomb friction in both directions, are not negative. Terms such as
Stribeck's and the cubic one may be, as long as the whole friction drives the joint at no speed up to the
greatest measured. Offsets are free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from armdyn.model.friction import TERMS, Surface
from armdyn.model.parameters import Kind, Layout, Parameter, layout
from armdyn.robot import Robot

SPEEDS = 24  # speeds per direction at which friction may not drive
GREATEST_LOAD = 0.99  # friction by load stays below the load
_SIGNED = ("viscous", "coulomb", "asymmetry", "offset")  # have rules of their own
_NEVER = ("load",)  # in no sum over speeds


def braking_rows(robot: Robot, speeds: np.ndarray | None) -> np.ndarray:
    """C (rows, p + 1) with C [π, 1] ≥ 0; `speeds` (n,) are the greatest of the coordinates."""
    wanted = layout(robot.model)
    index = {parameter: i for i, parameter in enumerate(wanted)}
    found: list[np.ndarray] = []

    def row(entries: dict[Parameter, float], constant: float = 0.0) -> None:
        values = np.zeros(len(wanted) + 1)
        values[-1] = constant
        for parameter, x in entries.items():
            values[index[parameter]] = x
        found.append(values)

    for parameter in wanted:
        if parameter.kind.entry == "load":
            row({parameter: 1.0})
            row({parameter: -1.0}, GREATEST_LOAD)
        elif parameter.kind.entry in ("viscous", "stiffness", "inertia"):
            row({parameter: 1.0})
    for part, surface in _surfaces(robot):
        terms = _terms(wanted, part, surface.joint)
        level = {terms[name]: x for name, x in (("coulomb", 1.0), ("asymmetry", 1.0)) if name in terms}
        for direction in (1.0, -1.0) if "asymmetry" in terms else (1.0,):
            row({p: x * (direction if p.kind.entry == "asymmetry" else 1.0) for p, x in level.items()})
        if speeds is None and "cubic" in terms:  # at any speed: the highest power decides
            row({terms["cubic"]: 1.0})
        if any(name not in _SIGNED for name in terms):
            for entries in _at_speeds(surface, terms, speeds):
                row(entries)
    return np.array(found).reshape(-1, len(wanted) + 1)


def _surfaces(robot: Robot) -> Iterator[tuple[str, Surface]]:
    mechanism = robot.mechanism
    yield from (("joint", surface) for surface in mechanism.joint_friction)
    for surface in mechanism.coupled_friction:
        yield "idler" if surface.part == "idler" else "motor", surface


def _terms(wanted: Layout, part: str, joint: int) -> dict[str, Parameter]:
    """The friction of a surface that is in the vector, by term."""

    def belongs(kind: Kind) -> bool:
        return kind.part == part and kind.entry in TERMS and kind.entry not in _NEVER

    return {p.kind.entry: p for p in wanted if p.joint == joint and belongs(p.kind)}


def _at_speeds(
    surface: Surface, terms: dict[str, Parameter], speeds: np.ndarray | None
) -> Iterator[dict[Parameter, float]]:
    """Braking at speeds in both directions; where no greatest speed is known, at those of any size."""
    greatest = np.inf if speeds is None else sum(abs(float(k)) * speeds[i] for i, k in surface.row)
    if greatest == 0:
        grid = np.array([1e-9])
    elif np.isfinite(greatest):
        grid = greatest * np.linspace(0.0, 1.0, SPEEDS + 1) ** 2  # dense near rest, where Stribeck's acts
        grid[0] = 1e-9 * greatest
    else:
        grid = np.geomspace(1e-6, 1e6, 4 * SPEEDS + 1)
    for direction in (1.0, -1.0):
        for speed in grid:
            torques = {
                p: direction * _alone(surface, name).torque(direction * speed, direction)
                for name, p in terms.items()
                if name != "offset"
            }
            size = max(1.0, *(abs(x) for x in torques.values()))
            yield {p: float(x) / size for p, x in torques.items()}


def _alone(surface: Surface, name: str) -> Surface:
    """The surface with one coefficient, which is one."""
    coefficients: dict[str, Any] = {other: 1.0 if other == name else 0.0 for other in TERMS}
    return replace(surface, **coefficients)
