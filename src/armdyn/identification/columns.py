"""The regressor of a template at many states, with a sign that may be smooth near zero speed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.identification.signals import Kinematics
from armdyn.identification.template import Template
from armdyn.model.friction import TERMS, Sliding, Surface
from armdyn.robot import Robot
from armdyn.robot.friction import speeds_of


def smooth_sign(speed: np.ndarray, width: np.ndarray | float) -> np.ndarray:
    """tanh(speed/width), which is the sign from about twice the width on; the sign itself where it is 0."""
    width = np.broadcast_to(width, speed.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(width > 0, np.tanh(speed / width), np.sign(speed)))


@dataclass(frozen=True)
class Surfaces:
    """Where friction acts: joints, then motors that turn with several."""

    robot: Robot
    of: tuple[Surface, ...]
    rows: np.ndarray  # (E, positions): of positions, which without loops are the coordinates

    @staticmethod
    def of_robot(robot: Robot) -> Surfaces:
        found = robot.mechanism.friction
        rows = np.zeros((len(found), robot.mechanism.positions))
        for e, surface in enumerate(found):
            for j, k in surface.row:
                rows[e, j] = k
        return Surfaces(robot, found, rows)

    @cached_property
    def own(self) -> np.ndarray:
        """(n,): of each coordinate, the surface that is its joint."""
        model = self.robot.model
        motors = model.positions[len(model.positions) - len(model.elastic) :]
        names = [link.name for link in (*model.moving, *motors)]
        return np.array([names.index(link.name) for link in model.coordinates])

    def at(self, q: np.ndarray) -> np.ndarray:
        """Rows over coordinates: (E, n), with loops (..., E, n) at q (..., n)."""
        return (
            self.rows
            if not self.robot.mechanism.loops
            else np.asarray(self.rows @ self.robot.assembly.rates(q))
        )

    def speeds(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(…, E) at joint velocities (…, n)."""
        return speeds_of(self.at(q), qd)


@dataclass(frozen=True)
class Columns:
    """Regressor and torques of a template. `width` (E,) is that of the sign near zero speed, per surface."""

    template: Template
    width: np.ndarray

    @cached_property
    def surfaces(self) -> Surfaces:
        return Surfaces.of_robot(self.template.robot)

    def __call__(self, motion: Kinematics) -> np.ndarray:
        """Y (M, n, p) at M states."""
        Y = np.array(self.template.robot.regressor(motion.q, motion.qd, motion.qdd))
        if self.width.any():
            self._smooth(Y, motion)
        return Y

    def _smooth(self, Y: np.ndarray, motion: Kinematics) -> None:
        """Put in the columns of friction with the smooth sign."""
        rows = self.surfaces.at(motion.q)
        speeds = speeds_of(rows, motion.qd)
        directions = smooth_sign(speeds, self.width)
        for p, e, term in self.friction:
            values = of_term(self.surfaces.of[e], term, speeds[:, e], directions[:, e])
            Y[:, :, p] = values[:, None] * rows[..., e, :]

    @cached_property
    def friction(self) -> list[tuple[int, int, str]]:
        """Column, surface and term of each parameter of friction."""
        joints = len(self.template.robot.mechanism.bodies)
        at_motor = {(s.part, s.joint): joints + k for k, s in enumerate(self.surfaces.of[joints:])}
        found = []
        for p, parameter in enumerate(self.template.layout):
            part, entry = parameter.kind.part, parameter.kind.entry
            if part in ("joint", "motor", "idler") and entry in TERMS:
                e = parameter.joint if part == "joint" else at_motor[part, parameter.joint]
                found.append((p, e, entry))
        return found


def of_term(surface: Surface, term: str, speed: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """What a coefficient of friction is multiplied with on a surface."""
    slides = Sliding(speed, direction, surface.stribeck_velocity)
    return np.broadcast_to(np.asarray(TERMS[term].of(slides), float), speed.shape)
