"""`elastic_feedforward`: the torques and motions of motors with which elastic links move as wanted.

For the reduced model (rotors spin about their own axes only). Without damping θ = q + W N/K is algebraic in
four derivatives of the link motion: θ̈ has d²N/dt² in it (Spong 1987; De Luca and Book, Springer Handbook of
Robotics, chapter on flexible elements). With damping, θ follows from a stable first-order equation. The
torques are inverse dynamics of links and motors together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from types import MethodType
from typing import Any

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.elastic import deflections
from armdyn.motion.elastic.transmissions import Transmissions
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.motion import Motion, Side, States
from armdyn.motion.trajectories.piecewise import Profile, hermite
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name
from armdyn.robot.motors import given_by_motors

NAMES = ("position", "velocity", "acceleration", "jerk")
FINEST = 1e-3  # s: deflections of damped joints are computed at least as closely


@dataclass(frozen=True)
class ElasticMotion:
    """Links that move by a profile, and the motors that make them do so."""

    robot: Robot
    links: Profile
    deflection: Profile | None  # of damped joints, in their order

    @cached_property
    def _transmissions(self) -> Transmissions:
        return Transmissions(self.robot)

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        """Positions, velocities and accelerations (N, n) of links, then motors."""
        tied = self._transmissions
        integrated = tied.remembering
        motion = self.links.derivatives(t, side, 2 if integrated.all() else tied.order)
        if integrated.all():
            found = [np.empty((len(t), len(integrated))) for _ in range(3)]
        else:
            found = tied.deflections(motion)
        if self.deflection is not None:
            for x, y in zip(found, self.deflection.derivatives(t, side, 2), strict=True):
                x[:, integrated] = y
        pairs = zip(motion, found, strict=False)
        q, qd, qdd = (np.concatenate([x, x[:, tied.links] + bent], axis=1) for x, bent in pairs)
        return q, qd, qdd


@dataclass(frozen=True, eq=False)
class ElasticFeedforward:
    """Torques and motions of all coordinates: links first, then motors of elastic joints.

    `trajectory` can be simulated from and tracked; `feedforward(t)` are the torques (..., n) at any time.
    """

    robot: Robot = field(repr=False)
    trajectory: Trajectory
    links: Trajectory = field(repr=False)  # the motion that was given

    @property
    def duration(self) -> float:
        """[s]"""
        return self.trajectory.duration

    @property
    def t(self) -> np.ndarray:
        """The instants of the samples (N,) [s]."""
        return self.trajectory.t

    @cached_property
    def torques(self) -> np.ndarray:
        """(N, n) at `t` [N m or N]; on the links of elastic joints what motors coupled to them give, or 0."""
        found = self(self.t)
        found.flags.writeable = False
        return found

    @property
    def motor_positions(self) -> np.ndarray:
        """θ (N, e) of the elastic joints, joint side, at `t` [rad or m]."""
        return self.trajectory.q[:, self.links.n :]

    @property
    def motor_velocities(self) -> np.ndarray:
        """θ̇ (N, e) at `t`."""
        return self.trajectory.qd[:, self.links.n :]

    @property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities (n,) at the beginning, from which a simulation starts."""
        q, qd, _ = self.trajectory(0.0)
        return q, qd

    def __call__(self, t: Any, q: Any = None, qd: Any = None) -> np.ndarray:
        """Torques (..., n) at times t (...), also as a `torque` of `simulate`: the state does not matter."""
        return np.asarray(self.robot.inverse_dynamics(*self.trajectory(t)) @ self._given.T)

    @cached_property
    def _given(self) -> np.ndarray:
        return given_by_motors(self.robot.model)


def elastic_feedforward(robot: Robot, trajectory: Trajectory) -> ElasticFeedforward:
    """What the motors of elastic joints have to do so that the links follow a trajectory of theirs.

    `trajectory` has the n − e coordinates of the links, as polynomials. Without damping in every joint its
    jerk is continuous, so that the motors' speeds are (`Trajectory.smooth`, and `Trajectory.through` with
    kind="quintic"); where all elastic joints are damped, its acceleration. Where D/K is below 1e-6 s, damping
    does not count there. A motion that begins or ends with a jerk (acceleration) that is not zero needs
    motors that move at that instant already. A damped transmission is at rest in the beginning: δ̇ = 0.

    Rotors are "reflected", or carried by links that do not turn. With exact rotors on links that turn, the
    motor's acceleration enters the equations of the links: these robots are refused, as is dry friction.

        >>> plan = elastic_feedforward(robot, Trajectory.smooth([0], [1], duration=0.5))
        >>> run = simulate(robot, *plan.start, plan.duration, plan)
    """
    check.robot(robot)
    tied = Transmissions(robot)
    links = _profile(robot, tied, trajectory)
    integrated = tied.remembering
    _check_joins(robot, links, 2 if integrated.all() else 3)
    deflection = _deflection(tied, links, min(trajectory.step, FINEST)) if integrated.any() else None
    moves = ElasticMotion(robot, links, deflection)
    motion = Motion(
        n=robot.n,
        duration=links.duration,
        evaluate=moves.evaluate,
        jumps=links.knots,
        label=f"elastic, {trajectory.motion.label}",
        knots=links.knots,
    )
    return ElasticFeedforward(robot, Trajectory(motion, trajectory.step), trajectory)


def _profile(robot: Robot, tied: Transmissions, trajectory: Trajectory) -> Profile:
    """The polynomials of a trajectory of the links."""
    given: Any = trajectory
    if not isinstance(given, Trajectory):
        raise MotionError(f"trajectory: expected a Trajectory, found {type(given).__name__}")
    if trajectory.n != tied.own:
        raise MotionError(
            f"trajectory: it has {trajectory.n} joints; {robot.name} has links with {tied.own} coordinates "
            "(motors of elastic joints are not part of it)"
        )
    if trajectory.loads:
        raise MotionError(
            "trajectory: it carries a load; give robot.with_payload(…) and the motion without it"
        )
    made = trajectory.motion.evaluate
    profile = made.__self__ if isinstance(made, MethodType) else None
    if not isinstance(profile, Profile):
        raise MotionError(
            f"trajectory: a {trajectory.motion.label} motion is not known by its polynomials, so it has no "
            "fourth derivative; Trajectory.smooth, .quintic and .through are allowed"
        )
    return profile


def _check_joins(robot: Robot, links: Profile, highest: int) -> None:
    """Refuse a motion in which a derivative jumps that the motors' speeds depend on."""
    knots = links.knots
    if not len(knots):
        return
    sides: tuple[Side, Side] = ("before", "after")
    before, after = (links.derivatives(knots, side, highest) for side in sides)
    for k, (x, y) in enumerate(zip(before, after, strict=True)):
        size = np.maximum(np.abs(x), np.abs(y)).max(axis=0)
        wrong = np.argwhere(np.abs(x - y) > 1e-7 * size)
        if len(wrong):
            i, j = wrong[0]
            why = (
                "elastic joints without damping (or with D/K below 1e-6 s)"
                if highest == 3
                else "elastic joints"
            )
            raise MotionError(
                f"trajectory: the {NAMES[k]} of {joint_name(robot, int(j))} jumps at {knots[i]:g} s from "
                f"{x[i, j]:g} to {y[i, j]:g}, and so would the motors' speeds; {why} need motions that are "
                f"continuous up to the {NAMES[highest]}: Trajectory.smooth, or .through with kind='quintic'"
            )


def _deflection(tied: Transmissions, links: Profile, step: float) -> Profile:
    """δ of the damped joints along the motion, with δ̇ and δ̈ at all instants of a grid."""
    damped = tied.remembering
    K, D = tied.stiffness[damped], tied.damping[damped]
    t = deflections.instants(links.duration, links.knots, step, D / K)
    sides: tuple[tuple[np.ndarray, Side], ...] = ((t[:-1], "after"), (t[1:], "before"))
    ends = []
    for instants, side in sides:
        motion = links.derivatives(instants, side, 4)
        ends.append([tied.needed(motion[:k])[:, damped] / K for k in (3, 4, 5)])
    first, last = ends
    columns = [
        deflections.follow(t, D[e] / K[e], [x[:, e] for x in first], [x[:, e] for x in last])
        for e in range(len(K))
    ]
    bent = np.stack(columns, axis=1)
    rate = K / D
    states = []
    for x, (value, slope, _) in ((bent[:-1], first), (bent[1:], last)):
        speed = rate * (value - x)
        states.append((x, speed, rate * (slope - speed)))
    return hermite(t, *states)
