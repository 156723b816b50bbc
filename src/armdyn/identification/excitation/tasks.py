"""Tasks from what a caller asks for."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.excitation.basis import Basis, Fourier, Quintic
from armdyn.identification.excitation.bounds import Bounds
from armdyn.identification.excitation.columns import columns_for
from armdyn.identification.excitation.criterion import CRITERIA, Criterion
from armdyn.identification.excitation.followers import followed
from armdyn.identification.excitation.search import held_posture
from armdyn.identification.excitation.task import Task
from armdyn.identification.excitation.workspace import Workspace, fence_for
from armdyn.robot import Robot
from armdyn.robot.loops.postures import can_be

Kind: TypeAlias = Literal["fourier", "quintic"]
STATES = 400  # random ones, at which base parameters are found


def basis_for(kind: str, duration: Any, harmonics: Any, points: Any) -> Basis:
    """The functions of a kind of motion."""
    check.one_of("kind", kind, "fourier", "quintic")
    length = check.positive_time("duration", duration)
    if kind == "fourier":
        return Fourier(length, check.whole_number("harmonics", harmonics, 2))
    return Quintic(length, check.whole_number("points", points, 2))


def task_for(
    robot: Robot,
    basis: Basis,
    bounds: Bounds,
    *,
    criterion: Criterion = "condition",
    parameters: Any = None,
    drives: bool = True,
    weights: Any = None,
    workspace: Workspace | None = None,
    rng: np.random.Generator,
) -> Task:
    """A search that has a posture to begin at; arguments as those of `excite`."""
    check.one_of("criterion", criterion, *CRITERIA)
    rows = np.array(check.per_joint("weights", 1.0 if weights is None else weights, robot.n))
    if not (np.isfinite(rows) & (rows > 0)).all():
        raise IdentificationError(f"weights: found {rows.tolist()}; positive numbers are expected")
    q, qd, qdd = rng.uniform(-1, 1, (3, STATES, robot.n))
    moves = bounds.reach > 0  # joints that cannot move stand still
    states = bounds.middle + bounds.reach * q, qd * moves, qdd * moves
    if robot.model.loops:
        closed = can_be(robot.assembly, states[0])
        if not closed.any():
            raise IdentificationError(
                f"position: none of {STATES} random postures in the ranges closes the loops of {robot.name}"
            )
        states = states[0][closed], states[1][closed], states[2][closed]
    columns = columns_for(robot, parameters, drives, states)
    fence = fence_for(robot, workspace, states[0])
    task = Task(robot, columns, rows, criterion, basis, bounds, fence, followed(robot, bounds.part))
    held_posture(task, rng)
    return task
