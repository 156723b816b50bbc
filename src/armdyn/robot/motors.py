"""A robot's motors: how they turn with the joints, θ_m = K q (7.22), and what their shafts bear.

The rows of K are those of the motors, in the order of the moving joints. A joint without a motor counts as
driven directly, by a motor of gear 1; a joint that follows others and has no motor has no row. The motor of
an elastic joint turns with its own coordinate; the link's column has what other motors are coupled to it by.
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
    first = len(model.positions) - len(model.elastic)
    own = {link.name: first + e for e, link in enumerate(model.elastic)}
    coupled, at_motors = np.zeros((len(links), len(place))), np.zeros((len(links), len(model.positions)))
    for i, link in enumerate(links):
        gear = 1.0 if link.motor is None else model.number(link.motor.gear)
        if link.name in own:  # the motor's position takes the place of the link's
            at_motors[i, own[link.name]] = gear
        else:
            coupled[i, place[link.name]] = gear
        for name, factor in () if link.motor is None else link.motor.coupling:
            coupled[i, place[name]] += model.number(factor)
    return coupled @ related.S + at_motors, coupled @ related.s0


def driven_coordinates(model: RobotModel) -> list[int]:
    """The coordinates that torques act on: all but links of elastic joints to which no motor is coupled."""
    if not model.elastic:
        return list(range(model.n))
    loose = set(elastic_links(model))
    moved = np.asarray(transmission(model)[0].any(axis=0))
    return [i for i in range(model.n) if moved[i] or i not in loose]


def elastic_links(model: RobotModel) -> list[int]:
    """The coordinates of links of elastic joints."""
    names = {link.name for link in model.elastic}
    return [i for i, link in enumerate(model.coordinates) if link.name in names]


def to_motors(model: RobotModel) -> np.ndarray:
    """P (m, n) with τ_m = P τ, so that Kᵀ τ_m = τ: what the motors have to give for joint torques τ.

    As many motors as joints: P = K⁻ᵀ. More of them (joints that follow others and have motors too): of all
    motor torques that add up to τ, those with the least sum of squares. With elastic joints the torques at
    the motors' coordinates and at rigid joints tell those of the motors, and what these give on links that
    they are coupled to follows (`given_by_motors`); the links' columns are zero.
    """
    K = transmission(model)[0]
    m = len(K)
    own = np.delete(np.arange(model.n), elastic_links(model))
    rank = int(np.linalg.matrix_rank(K[:, own]))
    if rank < len(own):
        raise ModelError(
            f"{model.name}: its {m} motors drive only {rank} of {len(own)} joints independently (K is "
            "singular), so their torques do not follow from those of the joints"
        )
    used = own if m == len(own) else np.flatnonzero(K.any(axis=0))
    P = np.zeros((m, model.n))
    P[:, used] = np.linalg.inv(K[:, used]).T if m == len(used) else np.linalg.pinv(K[:, used].T)
    return P


def given_by_motors(model: RobotModel) -> np.ndarray:
    """R (n, n) with R τ = τ for torques that motors can give, and only for these.

    Without elastic joints these are all. On the link of an elastic joint the motors give Kᵀ τ_m by their
    couplings: nothing, where there is none.
    """
    loose = [i for i in range(model.n) if i not in driven_coordinates(model)]
    if len(loose) == len(elastic_links(model)):
        R = np.eye(model.n)
        R[loose] = 0.0
        return R
    return np.asarray(transmission(model)[0].T @ to_motors(model))


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
