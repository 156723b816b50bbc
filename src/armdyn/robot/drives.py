"""`Drives`: a robot's motors as arrays: how they turn with the joints, θ_m = K q (7.22), what they bear."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel
from armdyn.names import quoted
from armdyn.robot.assembly import Related
from armdyn.robot.joints import UNITS, Units


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


@dataclass(frozen=True)
class Drives:
    """The m motors of a robot, in the order of the moving joints; arrays are read-only.

    A joint without a motor counts as driven directly, by a motor of gear 1; a joint that follows others and
    has no motor has no row. The motor of an elastic joint turns with its own coordinate; the link's column
    has what other motors are coupled to it by.
    """

    model: RobotModel = field(repr=False)

    # ---- what there is ---------------------------------------------------------------------------------

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """The links whose joints the motors drive (m)."""
        own = {link.name for link in self.model.coordinates}
        return tuple(link for link in self.model.moving if link.motor is not None or link.name in own)

    @property
    def names(self) -> tuple[str, ...]:
        """The joints that the motors drive (m)."""
        return tuple(link.joint_label for link in self.links)

    @property
    def geared(self) -> tuple[bool, ...]:
        """Whether there is a motor in the description (m); otherwise it is the joint's own torque."""
        return tuple(link.motor is not None for link in self.links)

    @property
    def units(self) -> tuple[Units, ...]:
        """Of angle, speed and torque at each shaft (m)."""
        return tuple(UNITS["revolute" if link.motor else link.joint] for link in self.links)

    def __len__(self) -> int:
        """m."""
        return len(self.links)

    def __repr__(self) -> str:
        return f"<Drives of {quoted(self.model.name)}: {', '.join(map(quoted, self.names))}>"

    # ---- how they turn with the joints -----------------------------------------------------------------

    @cached_property
    def transmission(self) -> np.ndarray:
        """K (m, n): angles are θ_m = K q + `shift`, and joint torques Kᵀ τ_m (7.22), (7.23)."""
        choice, K = self.model.choice, self.by_position
        if choice is None:
            return K
        free = list(choice.free)
        for row, name in zip(np.delete(K, free, 1), self.names, strict=True):
            if row.any():
                own = ", ".join(x.joint_label for x in self.model.coordinates)
                raise ModelError(
                    f"{self.model.name}: the motor of '{name}' turns with a joint that follows others by a "
                    "loop, so its angle and torque depend on the posture; motors are supported whose joints, "
                    f"and those they are coupled with, are coordinates: {own}"
                )
        return _read_only(K[:, free])

    @cached_property
    def by_position(self) -> np.ndarray:
        """K (m, positions): the same over all positions: with loops, those that follow are among them."""
        model = self.model
        first = len(model.positions) - len(model.elastic)
        own = {link.name: first + e for e, link in enumerate(model.elastic)}
        at_motors = np.zeros((len(self), len(model.positions)))
        for i, link in enumerate(self.links):
            if link.name in own:  # the motor's position takes the place of the link's
                at_motors[i, own[link.name]] = self._gear(link)
        return _read_only(self._coupled @ Related.of(model).S + at_motors)

    @cached_property
    def shift(self) -> np.ndarray:
        """(m,): θ_m at q = 0; zero unless joints follow others."""
        return _read_only(self._coupled @ Related.of(self.model).s0)

    @cached_property
    def _coupled(self) -> np.ndarray:
        """(m, joints): θ_m over the joints of links."""
        place = {link.name: j for j, link in enumerate(self.model.moving)}
        elastic = {link.name for link in self.model.elastic}
        found = np.zeros((len(self), len(place)))
        for i, link in enumerate(self.links):
            if link.name not in elastic:
                found[i, place[link.name]] = self._gear(link)
            for name, factor in () if link.motor is None else link.motor.coupling:
                found[i, place[name]] += self.model.number(factor)
        return found

    def _gear(self, link: Link) -> float:
        return 1.0 if link.motor is None else self.model.number(link.motor.gear)

    # ---- whose torques are whose -----------------------------------------------------------------------

    @cached_property
    def to_motors(self) -> np.ndarray:
        """P (m, n) with τ_m = P τ, so that Kᵀ τ_m = τ: what the motors have to give for joint torques τ.

        As many motors as joints: P = K⁻ᵀ. More of them (joints that follow others and have motors too): of
        all motor torques that add up to τ, those with the least sum of squares. With elastic joints the
        torques at the motors' coordinates and at rigid joints tell those of the motors, and what these give
        on links that they are coupled to follows (`given`); the links' columns are zero.
        """
        K, n = self.transmission, self.model.n
        m, own = len(K), np.delete(np.arange(n), list(self.elastic))
        rank = int(np.linalg.matrix_rank(K[:, own]))
        if rank < len(own):
            raise ModelError(
                f"{self.model.name}: its {m} motors drive only {rank} of {len(own)} joints independently (K "
                "is singular), so their torques do not follow from those of the joints"
            )
        used = own if m == len(own) else np.flatnonzero(K.any(axis=0))
        P = np.zeros((m, n))
        P[:, used] = np.linalg.inv(K[:, used]).T if m == len(used) else np.linalg.pinv(K[:, used].T)
        return _read_only(P)

    @cached_property
    def given(self) -> np.ndarray:
        """R (n, n) with R τ = τ for torques that motors can give, and only for these.

        Without elastic and passive joints these are all. On the link of an elastic joint and on a passive
        joint the motors give Kᵀ τ_m by their couplings: nothing, where there is none.
        """
        if len(self.loose) == len(self.elastic) + len(self.passive):
            R = np.eye(self.model.n)
            R[list(self.loose)] = 0.0
            return _read_only(R)
        if self.passive:
            K = self.transmission[[link.actuated for link in self.links]]
            return _read_only(np.linalg.pinv(K) @ K)
        return _read_only(self.transmission.T @ self.to_motors)

    @cached_property
    def elastic(self) -> tuple[int, ...]:
        """The coordinates of links of elastic joints."""
        names = {link.name for link in self.model.elastic}
        return tuple(i for i, link in enumerate(self.model.coordinates) if link.name in names)

    @cached_property
    def passive(self) -> tuple[int, ...]:
        """The coordinates of passive joints (`actuated = false`), which have no drive of their own.

        A closure is solved for passive joints first, so these are none that driven joints move.
        """
        return tuple(i for i, link in enumerate(self.model.coordinates) if not link.actuated)

    @cached_property
    def loose(self) -> tuple[int, ...]:
        """The coordinates that no torque acts on: links of elastic joints and passive joints, to which no
        motor is coupled.
        """
        undriven = (*self.elastic, *self.passive)
        if not undriven:
            return ()
        K = self.transmission[[link.actuated for link in self.links]]
        return tuple(i for i in sorted(undriven) if not K[:, i].any())

    # ---- what they bear --------------------------------------------------------------------------------

    @cached_property
    def torque_constant(self) -> np.ndarray:
        """N m/A (m,); NaN where there is no motor. A description that says none means 1 N m/A."""
        motors = [link.motor for link in self.links]
        found = [np.nan if m is None else self.model.number(m.torque_constant) for m in motors]
        return _read_only(np.array(found))

    @property
    def constant_given(self) -> np.ndarray:
        """(m,): whether currents mean something: a torque constant other than 1, or a limit of current."""
        told = (self.torque_constant != 1) | np.isfinite(self.limits.current)
        return np.asarray(told & np.isfinite(self.torque_constant) & (self.torque_constant != 0))

    @cached_property
    def limits(self) -> ShaftLimits:
        """What the shafts bear; a limit of current also limits torque, by the torque constant."""
        torque, velocity, current = map(self._magnitudes, ("torque", "velocity", "current"))
        by_current = np.where(np.isfinite(current), current * np.abs(self.torque_constant), np.inf)
        return ShaftLimits(_read_only(np.minimum(torque, by_current)), velocity, current)

    def _magnitudes(self, key: str) -> np.ndarray:
        given = [None if link.motor is None else getattr(link.motor.limits, key) for link in self.links]
        return _read_only(np.array([np.inf if x is None else self.model.number(x) for x in given]))


def _read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x
