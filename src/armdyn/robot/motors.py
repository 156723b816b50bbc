"""A robot's motors: how they turn with the joints, θ_m = K q (7.22), and what their shafts bear.

The rows of K are those of the motors, in the order of the moving joints. A joint without a motor counts as
driven directly, by a motor of gear 1; a joint that follows others and has no motor has no row. The motor of
an elastic joint turns with its own coordinate, so that the link's column is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel
from armdyn.robot.related import Related


@dataclass(frozen=True)
class ShaftLimits:
    """Limits at the m shafts, (m,) each, of magnitudes; infinite where the description gives none."""

    torque: np.ndarray  # N m (N where a joint that slides has no motor); that of the current included
    velocity: np.ndarray  # rad/s (m/s)
    current: np.ndarray  # A

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return bool(np.isfinite([self.torque, self.velocity, self.current]).any())


def driven_links(model: RobotModel) -> tuple[Link, ...]:
    """The links of the rows of K."""
    own = {link.name for link in model.coordinates}
    return tuple(link for link in model.moving if link.motor is not None or link.name in own)


def transmission(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """K (m, n) and a shift (m,) with θ_m = K q + shift; the shift is zero unless joints follow others."""
    K, shift = by_position(model)
    if model.choice is None:
        return K, shift
    free = list(model.choice.free)
    for row, link in zip(np.delete(K, free, 1), driven_links(model), strict=True):
        if row.any():
            own = ", ".join(x.joint_label for x in model.coordinates)
            raise ModelError(
                f"{model.name}: the motor of '{link.joint_label}' turns with a joint that follows others by "
                "a loop, so its angle and torque depend on the posture; motors are supported whose joints, "
                f"and those they are coupled with, are coordinates: {own}"
            )
    return K[:, free], shift


def by_position(model: RobotModel) -> tuple[np.ndarray, np.ndarray]:
    """The same with all positions in the place of q: with loops, those that follow are among them."""
    related, links = Related.of(model), driven_links(model)
    place = {link.name: j for j, link in enumerate(model.moving)}
    K = np.zeros((len(links), len(place)))
    for row, link in zip(K, links, strict=True):
        row[place[link.name]] = 1.0 if link.motor is None else model.number(link.motor.gear)
        for name, factor in () if link.motor is None else link.motor.coupling:
            row[place[name]] += model.number(factor)
    S, s0 = related.S.copy(), related.s0.copy()
    for e, link in enumerate(model.elastic):  # a motor's position takes the place of the link's
        S[place[link.name]], s0[place[link.name]] = 0.0, 0.0
        S[place[link.name], len(model.positions) - len(model.elastic) + e] = 1.0
    return K @ S, K @ s0


def driven_coordinates(model: RobotModel) -> list[int]:
    """The coordinates that torques may act on: all but the links of elastic joints."""
    loose = {link.name for link in model.elastic}
    if not loose:
        return list(range(model.n))
    moved = np.asarray(transmission(model)[0].any(axis=0))
    return [i for i, link in enumerate(model.coordinates) if moved[i] or link.name not in loose]


def to_motors(model: RobotModel) -> np.ndarray:
    """P (m, n) with τ_m = P τ and Kᵀ P = 1: what the motors have to give for joint torques τ.

    As many motors as joints: P = K⁻ᵀ. More of them (joints that follow others and have motors too): of all
    motor torques that add up to τ, those with the least sum of squares. No torque acts on the links of
    elastic joints: their columns are zero.
    """
    driven = driven_coordinates(model)
    K = transmission(model)[0][:, driven]
    m, n = K.shape
    rank = int(np.linalg.matrix_rank(K))
    if rank < n:
        raise ModelError(
            f"{model.name}: its {m} motors drive only {rank} of {n} joints independently (K is singular), "
            "so their torques do not follow from those of the joints"
        )
    P = np.zeros((m, model.n))
    P[:, driven] = np.linalg.inv(K).T if m == n else np.linalg.pinv(K.T)
    return P


def torque_constants(model: RobotModel) -> np.ndarray:
    """N m/A (m,); NaN where there is no motor."""
    motors = [link.motor for link in driven_links(model)]
    return np.array([np.nan if m is None else model.number(m.torque_constant) for m in motors])


def shaft_limits(model: RobotModel) -> ShaftLimits:
    """The limits of a description's motors; a limit of current also limits torque, by the torque constant."""
    motors = [link.motor for link in driven_links(model)]

    def magnitudes(key: str) -> np.ndarray:
        given = [None if m is None else getattr(m.limits, key) for m in motors]
        return np.array([np.inf if x is None else model.number(x) for x in given])

    current = magnitudes("current")
    by_current = np.where(np.isfinite(current), current * np.abs(torque_constants(model)), np.inf)
    return ShaftLimits(np.minimum(magnitudes("torque"), by_current), magnitudes("velocity"), current)
