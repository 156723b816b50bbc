"""What a robot's joints can do to its tip: which rows of its velocity they move, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from armdyn.robot.joints import revolute_joints
from armdyn.robot.postures import random_postures
from armdyn.robot.robot import Robot

_POSTURES = 16
_STILL = 1e-9  # of the Jacobian's largest entry: smaller ones are zero but for rounding
_RANK = 1e-8  # a singular value this small beside the largest is zero


@dataclass(frozen=True)
class TipFreedom:
    """What holds in every posture that is not singular, found in some ordinary ones.

    Rows are those of the geometric Jacobian: x, y, z (0, 1, 2), and turning about them (3, 4, 5).
    """

    rows: tuple[int, ...]  # that the joints can move at all
    active: np.ndarray  # (n,): whether a joint moves the tip at all
    length: float  # of the order of the arm's [m]; it makes angular rows comparable with linear ones
    reach: float  # of the order of the tip's coordinates [m]
    position_rank: int  # of the linear rows: of a planar arm 2
    orientation_rank: int
    pose_rank: int

    @property
    def keeps_orientation(self) -> bool:
        """Whether the tip can move in all its directions without turning: a planar 3R arm can."""
        return self.pose_rank == self.position_rank + self.orientation_rank


def at_link(robot: Robot, link: str | None) -> Robot:
    """The robot with the frame of `link` (without the tool) as its tip; None: the robot with its own tip."""
    return robot if link is None else robot.with_tip(link)


@lru_cache(maxsize=64)
def tip_freedom(robot: Robot) -> TipFreedom:
    revolute = revolute_joints(robot)
    rng = np.random.default_rng(7)
    if robot.model.loops:
        q = random_postures(robot.assembly, rng, _POSTURES)
    else:
        q = rng.uniform(-1, 1, (_POSTURES, robot.n)) * np.where(revolute, np.pi, 1.0)
    J = np.asarray(robot.jacobian(q))
    length = float(np.linalg.norm(J[:, :3], axis=1).max(0)[revolute].max(initial=0.0)) or 1.0
    scaled = np.concatenate([J[:, :3], length * J[:, 3:]], axis=1)
    largest = np.abs(J).max((0, 2))
    return TipFreedom(
        rows=tuple(int(i) for i in np.flatnonzero(largest > _STILL * largest.max())),
        active=np.abs(J).max((0, 1)) > 0,
        length=length,
        reach=length + float(np.abs(robot.pose(q)[:, :3, 3]).max()),
        position_rank=_rank(scaled[:, :3]),
        orientation_rank=_rank(scaled[:, 3:]),
        pose_rank=_rank(scaled),
    )


def _rank(J: np.ndarray) -> int:
    """The largest rank of matrices (k, m, n)."""
    sigma = np.linalg.svd(J, compute_uv=False)
    return int((sigma > _RANK * np.maximum(sigma[:, :1], 1e-300)).sum(1).max())
