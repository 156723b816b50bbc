"""Controllers: compensation, PD, computed torque, operational space, elastic joints, adaptive control."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from armdyn.analysis.task import at_link, tip_freedom
from armdyn.dynamics import adaptive_regressor, friction_torques, holding_torques
from armdyn.dynamics.friction import has_load, rows_of_friction
from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.model.friction import along
from armdyn.model.mechanism import Mechanism, unchanged
from armdyn.model.parameters import Layout, layout, mechanism_with
from armdyn.motion.elastic import (
    ElasticFeedforward,
    check_elastic,
    elastic_coordinates,
    spring_shares,
    weighted,
    without_transmissions,
)
from armdyn.motion.profiles import quintic
from armdyn.motion.trajectory import Trajectory
from armdyn.program import record
from armdyn.robot import Robot
from armdyn.simulation import laws
from armdyn.simulation.controller import (
    Array,
    Arrays,
    Controller,
    Rate,
    Target,
    check_controller,
    check_driven,
    critical,
    follows,
    gains_of,
    place_of,
)
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.integrand import without_dry_friction
from armdyn.simulation.laws import LEAST, Given, Scalars, dot, friction_apart, posture, smooth_sign

if TYPE_CHECKING:
    from armdyn.robot.base_parameters import BaseParameters


# ------------------------------------------------------------------------------------------------------------
# Controllers that compensate gravity and friction. Under their sum an arm can be guided by hand.


@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """The torques that hold the model against gravity: τ = fraction · g(q).

    Those that hold it against springs at joints and between points are part of g here; elastic transmissions,
    which carry the arm, are not.

    `fraction` is a number or (..., n).
    """

    robot: Robot
    fraction: Array = 1.0
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_driven(self)
        self.constants()

    def constants(self) -> Arrays:
        return gains_of(self.robot.n, fraction=self.fraction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        model = self.carrying(self._mechanism, given)
        held = holding_torques(model, posture(model, q, given))
        return [k * g for k, g in zip(given["fraction"], held, strict=True)]


@dataclass(frozen=True, eq=False)
class FrictionCompensation(Controller):
    """The friction of the model: τ = fraction · (viscous, dry and all other friction at q̇).

    A sign that jumps with a measured speed would make joints tremble. So dry friction goes by a smooth sign
    v/√(v² + v₀²) with v₀ = `smoothing` [rad/s or m/s], a number or (..., n). With a `target`, a trajectory,
    it goes by the sign of the target's velocity instead, as in `ComputedTorque`. Motors that turn with
    several joints have the largest smoothing of these, times what they turn. Load friction is that of the
    torques that hold the arm. `fraction`, a number or (..., n), is below 1 where friction must not be
    overcompensated. At rest a smooth sign is zero: a joint that sticks still has to be pushed free.
    """

    robot: Robot
    fraction: Array = 1.0
    smoothing: Array = 0.05
    target: Trajectory | None = None
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_driven(self)
        target: Any = self.target
        if target is not None and not isinstance(target, Trajectory):
            found = type(target).__name__
            raise SimulationError(f"target: expected a Trajectory or None, found {found}")
        if target is not None:
            follows(self.robot, target)
        if not (self.constants()["smoothing"] >= LEAST).all():
            found = shown(self.smoothing)
            raise SimulationError(f"smoothing: found {found}; speeds of at least {LEAST:g} are expected")

    def constants(self) -> Arrays:
        return gains_of(self.robot.n, fraction=self.fraction, smoothing=self.smoothing)

    def signals(self, t: np.ndarray) -> Arrays:
        return {} if self.target is None else {"target_velocity": self.target(t)[1]}

    @property
    def jumps(self) -> np.ndarray:
        return np.zeros(0) if self.target is None else np.array([*self.target.jumps, self.target.duration])

    @property
    def compensates_dry_friction(self) -> bool:
        return self.target is not None and any(f.sticks for f in self.robot.mechanism.friction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        mechanism = self.carrying(self.robot.mechanism, given)
        y = posture(mechanism, q, given)
        rigid = holding_torques(mechanism, y) if has_load(mechanism) else None
        if self.target is None:
            rows = zip(mechanism.friction, rows_of_friction(mechanism, y), strict=True)
            directions = [
                None if surface.is_rounded else smooth_sign(along(row, qd), row, given["smoothing"])
                for surface, row in rows
            ]
            friction = friction_torques(mechanism, qd, directions, rigid, y)
        else:
            friction = friction_apart(mechanism, y, qd, given["target_velocity"], rigid)
        return [k * f for k, f in zip(given["fraction"], friction, strict=True)]


# ------------------------------------------------------------------------------------------------------------
# Targets for the tip: a point, or a straight line from rest to rest; with a rotation to keep, if wanted.


class TipTarget(ABC):
    """Target of the tip over time, world axes."""

    rotation: Any  # (3, 3) or None: orientation is left free

    @abstractmethod
    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration, (N, 3) each."""

    def at(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """Inputs of the law at times (N,), by name."""
        names = ("position", "position_velocity", "position_acceleration")
        found = dict(zip(names, self.position(t), strict=True))
        if self.rotation is not None:
            found["rotation"] = np.broadcast_to(np.asarray(self.rotation, float).ravel(), (len(t), 9))
        return found


@dataclass(frozen=True, eq=False)
class TipPoint(TipTarget):
    """A place (3,) to go to and stay [m]."""

    place: Any
    rotation: Any = None

    def __post_init__(self) -> None:
        check.point("place", self.place)
        _check_rotation(self)

    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        still = np.zeros((len(t), 3))
        return still + np.asarray(self.place, float), still, still


@dataclass(frozen=True, eq=False)
class TipLine(TipTarget):
    """A straight line (3,) to (3,) in `duration` seconds, quintic from rest to rest; then the end."""

    start: Any
    end: Any
    duration: float
    rotation: Any = None

    def __post_init__(self) -> None:
        check.point("start", self.start)
        check.point("end", self.end)
        check.positive_time("duration", self.duration)
        _check_rotation(self)

    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        start, way = np.asarray(self.start, float), np.subtract(self.end, self.start, dtype=float)
        s, speed, acceleration = (x[:, None] for x in quintic(0.0, 1.0, self.duration).evaluate(t))
        return start + s * way, speed * way, acceleration * way


def _check_rotation(target: TipTarget) -> None:
    if target.rotation is not None:
        check.rotation("rotation", target.rotation)


# ------------------------------------------------------------------------------------------------------------
# PD on the motors of elastic joints, with gravity compensation or with feed-forward torques.


At: TypeAlias = Literal["target", "motor"]


@dataclass(frozen=True, eq=False)
class MotorPD(Controller):
    """PD on the motors of an arm with elastic joints: τ = g + K_P (θ_d − θ) + K_D (θ̇_d − θ̇), of the motors.

    `target` are positions q_d of the links (..., n − e): θ_d = q_d + K⁻¹ g(q_d), with K the stiffness of the
    transmissions. The gravity torques g are g(q_d), which stays (gravity="target": Tomei, "A simple PD
    controller for robots with elastic joints", IEEE Trans. Automatic Control 36, 1991), or those at the motor
    positions g(θ − K⁻¹ g(q_d)) (gravity="motor": De Luca, Siciliano, Zollo, "PD control with on-line gravity
    compensation for robots with elastic joints", Automatica 41, 2005). Both are stable where transmissions
    and gains are stiff against gravity. Springs at joints and between points count as gravity does. Of a link
    that other motors are coupled to, these bear a part of the weight; g is what the spring bears.

    Or `target` is an `ElasticFeedforward`: τ is its torque and feedback of its motor positions and
    velocities; without gains it acts alone.

    `stiffness` K_P [N m/rad or N/m] and `damping` K_D [N m s/rad or N s/m], at the joint's side, are
    numbers or (..., n − e): one for each coordinate of the links. Of rigid joints the own positions count.
    """

    robot: Robot
    target: ElasticFeedforward | Array
    stiffness: Array
    damping: Array
    gravity: At = "target"
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_controller(self)
        check_elastic(self.robot)
        check.one_of("gravity", self.gravity, "target", "motor")
        plan = self._plan
        if plan is not None:
            if plan.robot.n != self.robot.n:
                found = f"the feed-forward is for {plan.robot.n} coordinates, the robot has {self.robot.n}"
                raise SimulationError(f"target: {found}")
            if self.gravity != "target":
                raise SimulationError("gravity: found 'motor'; a feed-forward has its own, leave it out")
        self.constants()

    @property
    def _plan(self) -> ElasticFeedforward | None:
        return self.target if isinstance(self.target, ElasticFeedforward) else None

    def constants(self) -> Arrays:
        gains = gains_of(self._links, stiffness=self.stiffness, damping=self.damping)
        if self._plan is not None:
            return gains
        target = place_of("target", self.target, self._links)
        held = np.asarray(self._holding(target))
        bent = np.zeros_like(held)
        elastic = elastic_coordinates(self.robot)
        bent[..., elastic] = held[..., elastic] / self._stiffness
        given = {"held": held} if self.gravity == "target" else {"bent": bent}
        return {"target": target + bent, **given, **gains}

    def signals(self, t: np.ndarray) -> Arrays:
        plan = self._plan
        if plan is None:
            return {}
        q, qd, _ = plan.trajectory(t)
        motors = self._motors
        found = {"target": q, "target_velocity": qd, "held": plan(t)}
        return {name: np.ascontiguousarray(x[:, motors]) for name, x in found.items()}

    @property
    def jumps(self) -> np.ndarray:
        plan = self._plan
        return np.zeros(0) if plan is None else np.array([*plan.trajectory.jumps, plan.duration])

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        motors = self._motors
        at, speed = [q[i] for i in motors], [qd[i] for i in motors]
        if "held" in given:
            held = given["held"]
        else:
            held = self._held([x - bent for x, bent in zip(at, given["bent"], strict=True)])
        tau: Scalars = [0] * self.robot.n
        for i, g, f in zip(motors, held, laws.feedback(at, speed, given), strict=True):
            tau[i] = g + f
        coupled = weighted(self._coupled, [tau[i] for i in motors])
        for i, x in zip(elastic_coordinates(self.robot).tolist(), coupled, strict=True):
            tau[i] = x
        return tau

    # ---- the model -------------------------------------------------------------------------------------

    @cached_property
    def _motors(self) -> list[int]:
        """Coordinate of the motor for each coordinate of the links: itself, where the joint is rigid."""
        found = list(range(self._links))
        for e, i in enumerate(elastic_coordinates(self.robot).tolist()):
            found[i] = self._links + e
        return found

    @property
    def _links(self) -> int:
        """Number of coordinates that belong to links."""
        return self.robot.n - len(self.robot.model.elastic)

    @cached_property
    def _stiffness(self) -> np.ndarray:
        """Stiffness of the transmissions (e,)."""
        springs = self.robot.mechanism.springs
        return np.array([spring.stiffness for spring in springs if spring.part == "elastic"])

    @cached_property
    def _loose(self) -> Mechanism:
        return without_transmissions(self.robot)

    @cached_property
    def _coupled(self) -> np.ndarray:
        """(e, n − e): torques that coupled motors give on elastic links, per torque of each motor."""
        K = self.robot.transmission
        return np.asarray(K[:, elastic_coordinates(self.robot)].T @ np.linalg.pinv(K[:, self._motors].T))

    def _held(self, links: Scalars) -> Scalars:
        """Torques that hold links against gravity and springs: at rigid joints, and behind elastic ones."""
        motors = [0] * (self.robot.n - self._links)
        found = holding_torques(self._loose, [*links, *motors])[: self._links]
        behind = weighted(spring_shares(self.robot), found)
        for i, x in zip(elastic_coordinates(self.robot).tolist(), behind, strict=True):
            found[i] = x
        return found

    @cached_property
    def _holding(self) -> Kernel:
        size = self._links
        found: Any = record(self._held, [("q", size)], [("held", (size,))])
        return Kernel.of("held", found)


# ------------------------------------------------------------------------------------------------------------
# Feedback of joints and of the tip.


class JointControl(Controller):
    """Feedback of joint positions and velocities, to a set point or along a trajectory."""

    target: Target
    stiffness: Array
    damping: Array
    followed: ClassVar[tuple[str, ...]]  # what of a trajectory the law is given
    everywhere: ClassVar[bool] = True  # whether the law needs a torque on every joint

    def __post_init__(self) -> None:
        check_driven(self, self.everywhere)
        if isinstance(self.target, Trajectory):
            follows(self.robot, self.target)
        self.constants()

    def constants(self) -> Arrays:
        return self.set_point() | gains_of(self.robot.n, stiffness=self.stiffness, damping=self._damping)

    def set_point(self) -> Arrays:
        """The target, if it stays."""
        if isinstance(self.target, Trajectory):
            return {}
        return {"target": place_of("target", self.target, self.robot.n)}

    @property
    def _damping(self) -> Any:
        return self.damping

    def signals(self, t: np.ndarray) -> Arrays:
        if not isinstance(self.target, Trajectory):
            return {}
        return dict(zip(self.followed, self.target(t), strict=False))

    @property
    def jumps(self) -> np.ndarray:
        target = self.target
        return np.array([*target.jumps, target.duration] if isinstance(target, Trajectory) else [])


@dataclass(frozen=True, eq=False)
class PDGravity(JointControl):
    """PD with gravity compensation: τ = g(q) + K_P (q_d − q) + K_D (q̇_d − q̇).

    What holds the arm against springs is part of g, as in `GravityCompensation`.

    `stiffness` K_P [N m/rad or N/m] and `damping` K_D [N m s/rad or N s/m] are numbers or (..., n).
    """

    robot: Robot
    target: Target
    stiffness: Array
    damping: Array
    saturated: bool = False
    rate: Rate = "auto"
    followed = ("target", "target_velocity")
    everywhere = False

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        feedback = laws.feedback(q, qd, given)
        model = self.carrying(self._mechanism, given)
        held = holding_torques(model, laws.posture(model, q, given))
        return [g + f for g, f in zip(held, feedback, strict=True)]


@dataclass(frozen=True, eq=False)
class ComputedTorque(JointControl):
    """Inverse dynamics control: τ = B(q) (q̈_d + K_D (q̇_d − q̇) + K_P (q_d − q)) + C q̇ + F_v q̇ + g.

    `stiffness` K_P [1/s²] and `damping` K_D [1/s] are numbers or (..., n); damping None: critical, 2√K_P.
    With `friction` the model's dry friction is compensated, by the sign of the *target's* velocity.
    """

    robot: Robot
    target: Target
    stiffness: Array = 100.0
    damping: Array = None
    friction: bool = True
    saturated: bool = False
    rate: Rate = "auto"
    followed = ("target", "target_velocity", "target_acceleration")

    @property
    def _damping(self) -> Any:
        return critical(self.stiffness) if self.damping is None else self.damping

    @property
    def compensates_dry_friction(self) -> bool:
        moving = self.friction and isinstance(self.target, Trajectory)
        return moving and any(f.sticks for f in self.robot.mechanism.friction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        full = self.robot.mechanism if self.friction else None
        return laws.computed_torque(self.carrying(self._mechanism, given), full, q, qd, given)


@dataclass(frozen=True, eq=False)
class OperationalControl(Controller):
    """Operational-space control of the tip: τ = Jᵀ Λ (ẍ_c − J̇ q̇) + C q̇ + F_v q̇ + g + null-space torques.

    ẍ_c = ẍ_d + K_D (ẋ_d − ẋ) + K_P e with e the error of position and, if the target has a `rotation`, of
    orientation, ½ Σ axis × target axis in world axes. An error of position longer than `furthest` [m] counts
    as that long: a target far away does not tear at the arm. Λ = (J B⁻¹ Jᵀ)⁻¹; near a singularity the
    inverse is damped, by up to `damped` of its mean. Directions in which the tip can never move are left out.
    Freedom that the tip leaves is braked with `null_damping` [1/s] and drawn to `posture` (..., n) with
    `null_stiffness` [1/s²], without moving the tip. Gains as in `ComputedTorque`, for all directions alike.
    With `link` the frame of that link takes the place of the tip.
    """

    robot: Robot
    target: TipTarget
    stiffness: Array = 100.0
    damping: Array = None
    posture: Array = None
    null_stiffness: Array = 0.0
    null_damping: Array = 10.0
    furthest: float = 0.2
    damped: float = 0.2
    saturated: bool = False
    rate: Rate = "auto"
    link: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.target, TipTarget):
            raise SimulationError(
                f"target: found {type(self.target).__name__}; operational control takes a TipPoint or TipLine"
            )
        check_driven(self, every=True)
        m, n = len(self._rows), self.robot.n
        if m > n:
            cure = "" if self.target.rotation is None else "; leave out the rotation"
            raise SimulationError(f"target: {n} joints cannot control {m} directions of the tip{cure}")
        gains_of(1, damped=self.damped)
        if not check.number("furthest", self.furthest) > 0:
            raise SimulationError(f"furthest: found {shown(self.furthest)}; a positive length is expected")
        if self.posture is None and gains_of(n, null_stiffness=self.null_stiffness)["null_stiffness"].any():
            raise SimulationError(
                f"null_stiffness: found {shown(self.null_stiffness)} without a posture; give posture= too"
            )
        self.constants()

    def constants(self) -> Arrays:
        m, n = len(self._rows), self.robot.n
        damping = critical(self.stiffness) if self.damping is None else self.damping
        found = gains_of(m, stiffness=self.stiffness, damping=damping)
        found |= gains_of(n, null_damping=self.null_damping)
        if self.posture is not None:
            found["posture"] = place_of("posture", self.posture, n)
            found |= gains_of(n, null_stiffness=self.null_stiffness)
        return found

    def signals(self, t: np.ndarray) -> Arrays:
        return self.target.at(t)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        threshold = 2e-2 if self.target.rotation is None else 2e-3  # ordinary postures are not damped
        model = self.carrying(self._mechanism, given)
        return laws.operational(model, q, qd, given, self._rows, float(self.furthest), self.damped, threshold)

    @cached_property
    def _rows(self) -> list[int]:
        """The directions controlled: those of the target in which the tip can move."""
        wanted = 3 if self.target.rotation is None else 6
        return [k for k in tip_freedom(self._at_link).rows if k < wanted]

    @cached_property
    def _at_link(self) -> Robot:
        return at_link(self.robot, self.link)

    @cached_property
    def _mechanism(self) -> Mechanism:
        return without_dry_friction(self._at_link.mechanism)


# ------------------------------------------------------------------------------------------------------------
# Adaptive control of Slotine and Li (On the adaptive control of robot manipulators, IJRR 6(3), 1987).


INSTANTS = 1000  # of the target, for the usual adaptation
TINY = 1e-12  # of the largest: what a motion shows of a parameter by rounding alone


@dataclass(frozen=True, eq=False)
class AdaptiveControl(JointControl):
    """Control that learns parameters while it moves: τ = Y(q, q̇, q̇_r, q̈_r) π̂ − K_D s, dπ̂/dt = −Γ Yᵀ s.

    s = q̇ − q̇_r with the reference q̇_r = q̇_d − Λ (q − q_d). `parameters` are the names of those that are
    estimated, or base parameters (`robot.base_parameters(friction=True)`); others keep the values of the
    model. `estimates` (..., m) are the values at the start, by default the model's. They are the controller's
    memory, and change at every sample by the sampling period times −Γ Yᵀ s.

    `bandwidth` Λ [1/s] and `damping` K_D [N m s/rad or N s/m] are numbers or (..., n); by default K_D is Λ
    times the mean of B's diagonal along the target. `adaptation` is the diagonal of Γ, a number or (..., m),
    in the unit of the parameter squared per joule. By default 1/Γ is the mean of Yᵀ K_D⁻¹ Y along the target:
    an estimate that alone is wrong loses its error within seconds. Where the target shows nothing of a
    parameter, its Γ is zero. Dry friction goes by the sign of the *target's* velocity. Load friction, in
    which torques are not linear, is left out.
    """

    robot: Robot
    target: Target
    parameters: Sequence[str] | BaseParameters
    adaptation: Array = None
    bandwidth: Array = 10.0
    damping: Array = None
    estimates: Array = None
    saturated: bool = False
    rate: Rate = "auto"
    followed = ("target", "target_velocity", "target_acceleration")

    def __post_init__(self) -> None:
        self._check_parameters()
        super().__post_init__()
        _ = self.memory, self.period

    def _check_parameters(self) -> None:
        check.robot(self.robot)
        if self._base is not None:
            if _geometry(self._base.robot.mechanism) != _geometry(self.robot.mechanism):
                raise SimulationError("parameters: these base parameters are those of another robot")
            return
        known, given = self.robot.parameter_names, self.names
        for name in given:
            if name not in known:
                raise SimulationError(f"parameters: no parameter {shown(name)}; allowed: {', '.join(known)}")
            if self._layout[known.index(name)].kind.entry == "load":
                raise SimulationError(f"parameters: torques are not linear in {name}; it cannot be estimated")
        if len(set(given)) < len(given):
            raise SimulationError(f"parameters: found {shown(list(given))}; each name once is expected")

    # ---- what is estimated -----------------------------------------------------------------------------

    @cached_property
    def _base(self) -> BaseParameters | None:
        """The base parameters; None where parameters are given by name."""
        given: Any = self.parameters
        if isinstance(given, list | tuple) and given:
            return None
        from armdyn.robot.base_parameters import BaseParameters  # brings FLINT: only when asked for

        if not isinstance(given, BaseParameters):
            raise SimulationError(
                f"parameters: found {shown(given)}; a list of names or base parameters are expected"
            )
        return given

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the estimates, (m): parameters, or how base parameters are written in them."""
        given: Any = self.parameters if self._base is None else self._base.combinations
        return tuple(given)

    @cached_property
    def memory(self) -> np.ndarray:
        """The estimates at the start, (..., m)."""
        if self.estimates is None:
            return np.asarray(self._matrix @ self.robot.parameters)
        return place_of("estimates", self.estimates, len(self.names))

    def by_name(self, memory: Any) -> dict[str, np.ndarray]:
        """Estimates by name, (...) each, from those side by side (..., m), as `run.memory` has them."""
        found = check.wide("memory", memory, len(self.names))
        return {name: found[..., k] for k, name in enumerate(self.names)}

    def learnt(self, memory: Any) -> Robot:
        """The robot with estimates (m,), such as `run.memory[-1]`; what is not estimated is the model's."""
        found = check.numbers("memory", memory)
        if found.shape != (len(self.names),):
            raise SimulationError(f"memory: expected ({len(self.names)},), found {found.shape}")
        known = self.robot.parameters
        return self.robot.with_parameters(known + self._spread @ (found - self._matrix @ known))

    @cached_property
    def _matrix(self) -> np.ndarray:
        """(m, p): the estimated combinations of all parameters."""
        if self._base is not None:
            return self._base.matrix
        return self._spread.T

    @cached_property
    def _spread(self) -> np.ndarray:
        """(p, m): parameters that have given estimates; `_matrix` times this is the identity."""
        if self._base is not None:
            return self._base.right_inverse
        known = self.robot.parameter_names
        return np.eye(len(known))[:, [known.index(name) for name in self.names]]

    @cached_property
    def _layout(self) -> Layout:
        return layout(self.robot.model)

    @cached_property
    def _columns(self) -> Layout:
        """The parameters whose columns of the regressor the estimates have, (m)."""
        return tuple(self._layout[int(p)] for p in np.argmax(self._spread, axis=0))

    @cached_property
    def _known(self) -> Mechanism:
        """The model with zeros in the place of estimated parameters."""
        estimated = np.abs(self._matrix).max(axis=0) > 0
        values = [0 if e else float(x) for e, x in zip(estimated, self.robot.parameters, strict=True)]
        return mechanism_with(self.robot.mechanism, values, self._layout)

    # ---- the law ---------------------------------------------------------------------------------------

    def constants(self) -> Arrays:
        found = self.set_point() | gains_of(self.robot.n, bandwidth=self.bandwidth, damping=self._damping)
        found |= gains_of(len(self.names), adaptation=self._adaptation)
        return found | {"period": np.array([self.period])}

    @cached_property
    def _along(self) -> tuple[np.ndarray, ...]:
        """The target and its derivatives at some instants, (N, ..., n) each."""
        if isinstance(self.target, Trajectory):
            return self.target(np.linspace(0.0, self.target.duration, INSTANTS))
        place = self.set_point()["target"][None]
        return place, 0 * place, 0 * place

    @property
    def _damping(self) -> Any:
        """K_D, by default Λ times the mean of the diagonal of B: then s fades as fast as the error."""
        if self.damping is not None:
            return self.damping
        inertias = np.diagonal(self.robot.inertia(self._along[0]), axis1=-2, axis2=-1)
        return check.floats("bandwidth", self.bandwidth) * inertias.mean(axis=0)

    @cached_property
    def _adaptation(self) -> Any:
        """Γ, by default such that with s ≈ K_D⁻¹ Y (π̂ − π) each estimate's own rate is 1/s."""
        if self.adaptation is not None:
            return self.adaptation
        damping = gains_of(self.robot.n, damping=self._damping)["damping"]
        if not (damping > 0).all():
            raise SimulationError("damping: found zeros; without adaptation= positive numbers are expected")
        q, qd, qdd = self._along
        Y = self.robot.adaptive_regressor(q, qd, qd, qdd) @ self._spread  # (N, ..., n, m)
        seen = np.einsum("...ij,...i->...j", np.mean(Y**2, axis=0), 1 / damping)
        return np.divide(1.0, seen, out=np.zeros_like(seen), where=seen > TINY * seen.max(initial=TINY))

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> tuple[Scalars, Scalars]:
        estimates, v, a = given["memory"], *laws.reference(q, qd, given)
        s = [x - r for x, r in zip(qd, v, strict=True)]
        sliding = given.get("target_velocity", [0] * len(q))
        y = laws.posture(self.robot.mechanism, q, given)
        Y = adaptive_regressor(self.robot.mechanism, y, qd, v, a, self._columns, sliding)
        tau = laws.reference_torques(self._known, y, qd, v, a, sliding)
        tau = [t + dot(row, estimates) for t, row in zip(tau, Y, strict=True)]
        tau = [t - k * x for t, k, x in zip(tau, given["damping"], s, strict=True)]
        (period,) = given["period"]
        slopes = [dot(column, s) for column in zip(*Y, strict=True)]
        rates = zip(estimates, given["adaptation"], slopes, strict=True)
        return tau, [pi - period * gamma * slope for pi, gamma, slope in rates]


def _geometry(mechanism: Mechanism) -> Mechanism:
    """What base parameters depend on: the mechanism without its parameters."""
    return replace(mechanism.map(unchanged, lambda _: 0), places=())
