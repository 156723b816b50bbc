"""`elastic_feedforward`: the torques and motions of motors with which elastic links move as wanted.

For the reduced model (rotors spin about their own axes only). Without damping θ = q + W N/K is algebraic in
four derivatives of the link motion: θ̈ has d²N/dt² in it (Spong 1987; De Luca and Book, Springer Handbook of
Robotics, chapter on flexible elements). With damping, θ follows from a stable first-order equation. The
torques are inverse dynamics of links and motors together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from types import MethodType
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.legendre import leggauss

from armdyn.dynamics import friction_torques
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.kernels import Kernel
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.parts import Link
from armdyn.model.robot_model import idlers
from armdyn.model.vector import ZERO3
from armdyn.motion.errors import MotionError, check
from armdyn.motion.motion import SIDES, Motion, Profile, Side, States, hermite
from armdyn.motion.trajectory import Trajectory
from armdyn.program import Program, record, time_derivative
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name

# ------------------------------------------------------------------------------------------------------------
# The deflection δ = θ − q of a damped transmission: D δ̇ + K δ = N along a motion of the links.
#
# This first-order equation is stable, and its solution follows N after a few times D/K. Over one interval N
# is taken as the quintic through values and two derivatives at both ends; of that the solution is exact, for
# any D/K.


_ENDS = (  # the quintics on [0, 1] with one of: value, slope, second derivative at 0, the same at 1
    Polynomial([1, 0, 0, -10, 15, -6]),
    Polynomial([0, 1, 0, -6, 8, -3]),
    Polynomial([0, 0, 0.5, -1.5, 1.5, -0.5]),
    Polynomial([0, 0, 0, 10, -15, 6]),
    Polynomial([0, 0, 0, -4, 7, -3]),
    Polynomial([0, 0, 0, 0.5, -1, 0.5]),
)
_SLOW = 4.0  # of an interval over D/K: beyond it, the solution that has forgotten its start is computed
_PLACES, _WEIGHTS = leggauss(12)


def deflection_instants(duration: float, knots: np.ndarray, step: float, times: np.ndarray) -> np.ndarray:
    """Instants of the deflection: every `step`, at knots, and close after these for short D/K."""
    count = int(np.ceil(duration / step))
    breaks = np.concatenate([[0.0], knots])
    found = [np.linspace(0.0, duration, count + 1), knots]
    for time in times[times < 4 * step]:
        after = np.arange(1, 121) * (time / 4)
        found.append((breaks[:, None] + after[after < step]).ravel())
    every = np.unique(np.concatenate(found))
    every = every[every <= duration]
    apart = np.append(np.diff(every) > 1e-12 * duration, True)
    return np.asarray(every[apart | np.isin(every, breaks)])


def follow(t: np.ndarray, time: float, first: list[np.ndarray], last: list[np.ndarray]) -> np.ndarray:
    """δ (m + 1,) at instants t of time·δ̇ + δ = N/K, at rest in the beginning: δ̇ = 0.

    `first` are value, slope and second derivative of N/K (m,) where the m intervals begin, `last` those where
    they end.
    """
    h = np.diff(t)
    gained = np.zeros(len(h))
    powers = [h**0, h, h * h]
    for weight, x, power in zip(_weights(h / time), [*first, *last], powers * 2, strict=True):
        gained += weight * power * x
    decay = np.exp(-h / time)
    found = np.empty(len(t))
    found[0] = first[0][0]
    for i in range(len(h)):
        found[i + 1] = decay[i] * found[i] + gained[i]
    return found


def _weights(z: np.ndarray) -> list[np.ndarray]:
    """z ∫ e^(−z (1 − u)) H(u) du over [0, 1] for the six quintics H."""
    found = []
    u = (1 + _PLACES) / 2
    fading = z[:, None] * np.exp(-z[:, None] * (1 - u)) * _WEIGHTS / 2
    slow = np.maximum(z, _SLOW)
    for quintic in _ENDS:
        # p − e^(−z) p(0) with p + p'/z = H.
        exact = sum((-1 / slow) ** k * (_at(quintic, k, 1)) for k in range(6))
        start = sum((-1 / slow) ** k * (_at(quintic, k, 0)) for k in range(6))
        found.append(np.where(z < _SLOW, fading @ quintic(u), exact - np.exp(-slow) * start))
    return found


def _at(p: Polynomial, order: int, u: float) -> float:
    """A derivative of a polynomial."""
    return float((p.deriv(order) if order else p)(u))


# ------------------------------------------------------------------------------------------------------------
# The elastic joints of a robot as arrays, and the torques of their springs in a motion of the links.
#
# With all springs locked, the motors would have to give their gears x with Mᵀ x = N(q, q̇, q̈), where M is
# the transmission of the rigid arm and N is what the links need: inertia, Coriolis, gravity, springs and
# smooth friction. The rotors of elastic joints are left out of N, and in the reduced model their
# accelerations are not part of it. A rotor turns freely but for its spring and its gears, so that the same x
# acts there:
#
#     D (θ̇ − q̇) + K (θ − q) = k x = W N(q, q̇, q̈)    of each elastic joint, with k its gear
#
# Where no motor is coupled to the link of an elastic joint, W N is just the N of that link. The derivatives
# of W N by time are those of the recorded program.


ORDERS = ("q", "qd", "qdd", "jerk", "snap", "crackle")
SHORTEST = 1e-6  # s, D/K: below it, a damper's motion is computed as a series in D/K


@dataclass(frozen=True)
class Transmissions:
    """The e elastic joints of a robot whose rotors spin about their own axes only."""

    robot: Robot

    def __post_init__(self) -> None:
        check_reduced(self.robot)

    @cached_property
    def stiffness(self) -> np.ndarray:
        """K (e,) [N m/rad or N/m]."""
        springs = self.robot.mechanism.springs
        return np.array([spring.stiffness for spring in springs if spring.part == "elastic"])

    @cached_property
    def damping(self) -> np.ndarray:
        """D (e,) [N m s/rad or N s/m]."""
        mechanism = self.robot.mechanism
        found = {f.joint: f["viscous"] for f in mechanism.friction if f.part == "damper"}
        joints = [spring.joint for spring in mechanism.springs if spring.part == "elastic"]
        return np.array([found.get(j, 0.0) for j in joints])

    @cached_property
    def lags(self) -> np.ndarray:
        """D/K (e,) [s]: the time constant of a damped joint."""
        return np.asarray(self.damping / self.stiffness)

    @cached_property
    def remembering(self) -> np.ndarray:
        """True (e,) where deflections follow from an equation in time; elsewhere from N at once."""
        return np.asarray(self.lags >= SHORTEST)

    @cached_property
    def links(self) -> np.ndarray:
        """Indices (e,) of the coordinates that are elastic links."""
        return elastic_coordinates(self.robot)

    @property
    def own(self) -> int:
        """Number of coordinates that belong to links; those of the motors come after these."""
        return self.robot.n - len(self.links)

    def needed(self, motion: list[np.ndarray]) -> np.ndarray:
        """W N (N, e) of q, q̇, q̈; of more derivatives of the motion, its derivative by time."""
        return np.asarray(self._kernels[len(motion) - 3](*motion))

    def deflections(self, motion: list[np.ndarray]) -> list[np.ndarray]:
        """δ, δ̇ and δ̈ (N, e) of joints that do not remember, from five derivatives, or four without damping.

        With N for W N, D δ̇ + K δ = N has the solution N/K − (D/K) Ṅ/K, but for (D/K)², which is nothing here.
        """
        found = [self.needed(motion[: 3 + k]) / self.stiffness for k in range(len(motion) - 2)]
        if len(found) == 3:
            return found
        lags = np.where(self.remembering, 0.0, self.lags)
        return [x - lags * rate for x, rate in pairwise(found)]

    @cached_property
    def order(self) -> int:
        """Number of derivatives of a motion that `deflections` needs."""
        return 5 if (self.lags[~self.remembering] > 0).any() else 4

    @cached_property
    def _kernels(self) -> list[Kernel]:
        found = [self._program]
        for order in range(3, self.order + 1):
            rates = dict(pairwise(ORDERS[: order + 1]))
            found.append(time_derivative(found[-1], rates))
        return [Kernel.of(f"elastic_torques_{k}", program) for k, program in enumerate(found)]

    @cached_property
    def _program(self) -> Program:
        """W N over positions, velocities and accelerations of the links."""
        mechanism, motors = without_transmissions(self.robot), [0] * len(self.links)
        W = spring_shares(self.robot)

        def torques(q: Any, qd: Any, qdd: Any) -> Any:
            q, qd, qdd = ([*x, *motors] for x in (q, qd, qdd))
            rigid, friction = rigid_torques(mechanism, q, qd, qdd), friction_torques(mechanism, qd)
            needed = [a + b for a, b in zip(rigid, friction, strict=True)]
            return weighted(W, needed[: self.own])

        inputs = [(name, self.own) for name in ORDERS[:3]]
        return record(torques, inputs, [("torques", (len(self.links),))])


def elastic_coordinates(robot: Robot) -> np.ndarray:
    """Indices (e,) of the coordinates that are elastic links, in the order of the motors' coordinates."""
    names = [link.name for link in robot.model.coordinates]
    return np.array([names.index(link.name) for link in robot.model.elastic], int)


def without_transmissions(robot: Robot) -> Mechanism:
    """Links on their own: without springs, dampers and rotors of elastic joints, and without dry friction."""
    mechanism, first = robot.mechanism, len(robot.model.moving)
    motors = {i for i, _ in _motors(robot)}
    return replace(
        mechanism,
        rotors=tuple(rotor for rotor in mechanism.rotors if all(j < first for j, _ in rotor.row)),
        springs=tuple(spring for spring in mechanism.springs if spring.part != "elastic"),
        friction=tuple(
            f.smooth for f in mechanism.friction if f.part == "joint" or not motors & {i for i, _ in f.row}
        ),
    )


def spring_shares(robot: Robot) -> np.ndarray:
    """W (e, n − e): elastic transmissions give W N where the links need N."""
    links, elastic = robot.n - len(robot.model.elastic), elastic_coordinates(robot)
    K = robot.transmission
    if not K[:, elastic].any():
        return np.asarray(np.eye(links)[elastic])
    W = K[:, links:].T @ np.linalg.pinv(_locked(robot).T)
    return np.asarray(np.where(np.abs(W) < 1e-14 * np.abs(W).max(), 0.0, W))


def _locked(robot: Robot) -> np.ndarray:
    """M (m, n − e): how the motors turn with the links where θ = q."""
    K, links = robot.transmission, robot.n - len(robot.model.elastic)
    M = K[:, :links].copy()
    M[:, elastic_coordinates(robot)] += K[:, links:]
    return np.asarray(M)


def weighted(W: np.ndarray, x: Any) -> list[Any]:
    """W x over any scalar."""
    return [sum(x[i] if w == 1 else w * x[i] for i, w in enumerate(row) if w) for row in W.tolist()]


# ---- what is possible --------------------------------------------------------------------------------------


def check_elastic(robot: Robot) -> None:
    """Refuse robots without elastic joints, with closed chains, or whose links do not tell the springs."""
    model = robot.model
    if not model.elastic:
        raise MotionError(f"{robot.name}: it has no elastic joint; inverse_dynamics gives its torques")
    if model.loops:
        raise MotionError(
            f"{robot.name}: it has loops beside elastic joints; feed-forward torques and MotorPD are for "
            "robots without loops"
        )
    if robot.drives.passive:
        name = robot.coordinates[robot.drives.passive[0]]
        raise MotionError(
            f"{robot.name}: nothing drives '{name}' (actuated = false) beside its elastic joints; "
            "feed-forward torques and MotorPD need a motor for every joint"
        )
    names = {link.name for link in model.coordinates}
    tied = [link.name for link in model.elastic if link.name not in names]
    if not tied:
        K, M = robot.transmission[:, robot.n - len(model.elastic) :], _locked(robot)
        if np.linalg.matrix_rank(M) < M.shape[1]:
            raise MotionError(
                f"{robot.name}: its couplings let the motors drive only {np.linalg.matrix_rank(M)} of "
                f"{M.shape[1]} joints independently where the springs are locked; then the motion of the "
                "links does not determine the motors'"
            )
        off = np.abs(spring_shares(robot) @ M.T - K.T).max(axis=1)
        tied = [link.name for link, x in zip(model.elastic, off, strict=True) if x > 1e-9 * np.abs(K).max()]
    for name in tied:
        raise MotionError(
            f"link '{name}': a closure ties its elastic joint to joints with motors; then the motion of the "
            "links does not determine its motor's"
        )


def check_reduced(robot: Robot) -> None:
    """Refuse robots whose motors' torques do not follow from the motion of the links."""
    check_elastic(robot)
    motors = {coordinate: link.name for coordinate, link in _motors(robot)}
    own = dict(zip(elastic_coordinates(robot).tolist(), motors.values(), strict=True))
    shared = set(np.flatnonzero(spring_shares(robot).any(axis=0)).tolist())
    for rotor in robot.mechanism.rotors:
        _check_rotor(robot, rotor)
    for f in robot.mechanism.friction:
        for i, _ in f.row if f.is_dry else ():
            if name := motors.get(i, own.get(i)):
                raise MotionError(
                    f"link '{name}': its elastic joint or that joint's motor has dry friction, whose torque "
                    "jumps where a speed changes its sign and is not determined at rest; smooth friction is "
                    "allowed (viscous, cubic, offset)"
                )
            if i in shared:
                raise MotionError(
                    f"{joint_name(robot, i)}: it or its motor has dry friction, and a coupling brings that "
                    "to a spring: the torque jumps where a speed changes its sign and is not determined at "
                    "rest; smooth friction is allowed (viscous, cubic, offset)"
                )


def _motors(robot: Robot) -> Iterator[tuple[int, Link]]:
    """The coordinates of motors of elastic joints, and the links that these drive."""
    return enumerate(robot.model.elastic, start=robot.n - len(robot.model.elastic))


def _check_rotor(robot: Robot, rotor: Rotor) -> None:
    """Refuse a motor that the links turn: its acceleration enters the equations of the links."""
    mechanism, first = robot.mechanism, len(robot.model.moving)
    spins = any(j >= first for j, _ in rotor.row)
    links = robot.model.moving if rotor.part == "rotor" else idlers(robot.model)
    name = links[rotor.joint].name
    if spins and rotor.axis != ZERO3 and _turns(mechanism, rotor.carrier):
        raise MotionError(
            f"link '{name}': its motor is carried by a link that turns, and "
            "with exact rotors the motor's acceleration enters the equations of the links: its torque is not "
            "algebraic in their motion. The reduced model is robot.with_rotors('reflected')"
        )


def _turns(mechanism: Mechanism, body: int) -> bool:
    while body != FIXED_BASE:
        if mechanism.bodies[body].joint == "revolute":
            return True
        body = mechanism.bodies[body].parent
    return False


# ------------------------------------------------------------------------------------------------------------
# The motion and the torques of the motors.


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
        """Duration of the motion [s]."""
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
        return np.asarray(self.robot.inverse_dynamics(*self.trajectory(t)) @ self.robot.drives.given.T)


def elastic_feedforward(robot: Robot, trajectory: Trajectory) -> ElasticFeedforward:
    """Motions and torques of the motors of elastic joints with which the links follow a trajectory.

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
    before, after = (links.derivatives(knots, side, highest) for side in SIDES)
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
    t = deflection_instants(links.duration, links.knots, step, D / K)
    sides: tuple[tuple[np.ndarray, Side], ...] = ((t[:-1], "after"), (t[1:], "before"))
    ends = []
    for instants, side in sides:
        motion = links.derivatives(instants, side, 4)
        ends.append([tied.needed(motion[:k])[:, damped] / K for k in (3, 4, 5)])
    first, last = ends
    columns = [
        follow(t, D[e] / K[e], [x[:, e] for x in first], [x[:, e] for x in last]) for e in range(len(K))
    ]
    bent = np.stack(columns, axis=1)
    rate = K / D
    states = []
    for x, (value, slope, _) in ((bent[:-1], first), (bent[1:], last)):
        speed = rate * (value - x)
        states.append((x, speed, rate * (slope - speed)))
    return hermite(t, *states)
