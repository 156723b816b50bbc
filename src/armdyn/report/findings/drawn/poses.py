"""Where the bodies of a robot are, as arrays: what moves the solids that are fixed to them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from armdyn.dynamics.constraints.relations import joint_values
from armdyn.dynamics.kinematics import base_frames, joint_frames
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import Floats
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, record
from armdyn.report.errors import ReportError
from armdyn.robot import Robot


def body_poses(robot: Robot, q: Any) -> Floats:
    """Homogeneous world poses (..., bodies + 1, 4, 4) of all moving links at q (..., n), the base last.

    Bodies are those behind moving joints, in the order of `robot.model.moving`: joints that follow others,
    by relations or loops, are where they have to be. Index -1 is the base, as in `FIXED_BASE`.
    """
    if np.shape(q)[-1:] not in _sizes(robot):
        raise ReportError(f"q: expected (..., {robot.n}), found {np.shape(q)}")
    positions = robot.assembly(q) if robot.mechanism.loops else q
    found = np.asarray(_kernel(robot)(positions))
    return found.reshape(*found.shape[:-1], 4, 4)


def _sizes(robot: Robot) -> tuple[tuple[int], ...]:
    """With loops, all positions can be given as well."""
    return (robot.n,), (robot.mechanism.positions,)


@lru_cache(maxsize=64)
def _kernel(robot: Robot) -> Kernel:
    return Kernel.of("body poses", poses_program(robot.mechanism))


def poses_program(mechanism: Mechanism) -> Program:
    """`body_poses` as a program of all positions: (bodies + 1, 16), each pose row by row."""
    count = mechanism.joints + 1

    def function(y: Any) -> Any:
        frames = base_frames(mechanism, joint_frames(mechanism, joint_values(mechanism, y)))
        poses = [(frame.R, frame.p) for frame in frames[: mechanism.joints]]
        poses.append((mechanism.R_base, mechanism.p_base))
        return [[*((*R[i], p[i]) for i in range(3)), (0, 0, 0, 1)] for R, p in poses]

    return record(function, [("q", mechanism.positions)], [("poses", (count, 16))])
