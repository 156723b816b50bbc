"""Controllers: torques from the state and a target, by a model of the robot.

A controller is called as controller(t, q, qd) and broadcasts like the methods of `Robot`. Its law is written
over scalars, so that `simulate` records it with the dynamics and compiles both together. The model may be
another robot than the one simulated. Gains and set points may differ from arm to arm: (..., n).

`rate` is the number of samples a second at which `simulate` evaluates the law; its torques are held in
between. None: the law acts continuously. "auto": 1000 where the law compensates dry friction or has a memory,
otherwise None. (A sign of speed that acts without delay may contradict the friction it compensates.)

A law may have a memory: numbers that it is given, and that it changes, at every sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from functools import cached_property
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np

from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.kernels.arrays import like
from armdyn.model import Mechanism
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.integrand import Sizes, law_program, split, without_dry_friction
from armdyn.simulation.laws import CARRIED, FOLLOWERS, POSITIONS, Given, Scalars, at_least, clipped, dot

# ------------------------------------------------------------------------------------------------------------
# Messages about mistakes that users may make in a controller of their own.


TAKEN = ("q", "qd", "memory")  # names of what a law is given besides constants and signals
ALLOWED = (
    "a law is recorded: it may use + - * / and abs, and of its scalars the methods .sin() .cos() .sqrt() "
    ".exp() .tanh() .sign() .minimum(x) .maximum(x), and .select(a, b), a where the scalar is positive, "
    "instead of if"
)


def arrays(where: str, given: Any, loops: bool = False) -> dict[str, np.ndarray]:
    """Constants or signals by name, as arrays of floats (..., size)."""
    if not isinstance(given, Mapping):
        raise SimulationError(f"{where}: expected arrays by name, found {type(given).__name__}")
    taken = (*TAKEN, FOLLOWERS, POSITIONS) if loops else TAKEN
    for name in given:
        if not isinstance(name, str) or name in taken:
            raise SimulationError(f"{where}: found the name {shown(name)}; {', '.join(taken)} are taken")
    return {name: columns(f"{where}: {name}", x) for name, x in given.items()}


def columns(where: str, x: Any) -> np.ndarray:
    """Finite floats (..., size)."""
    found = check.numbers(where, x)
    if not found.ndim:
        raise SimulationError(f"{where}: expected (..., size), found one number; write [{found:g}]")
    return found


def results(where: str, found: Any, n: int, m: int) -> tuple[Scalars, Scalars]:
    """Torques (n) and the next memory (m) from what a law returns, both as lists."""
    try:
        lists = [list(part) for part in (found if m else (found,))]
    except TypeError:
        lists = []
    nested = any(isinstance(x, list | tuple | np.ndarray) for one in lists for x in one)
    sizes = [] if nested else [len(one) for one in lists]
    if sizes != ([n, m] if m else [n]):
        wanted = f"{n} torques and {m} numbers of the next memory" if m else f"{n} torques"
        text = " and ".join(map(str, sizes)) if sizes else type(found).__name__
        raise SimulationError(f"{where}: expected {wanted}, found {text}")
    return lists[0], lists[1] if m else []


def explain(where: str, error: TypeError | KeyError, given: Given) -> NoReturn:
    """Raise an error with words for what cannot be recorded and for names that were not given."""
    name = error.args[0] if error.args else None
    if isinstance(error, KeyError) and name not in given:
        raise SimulationError(f"{where}: found no {shown(name)}; given: {', '.join(given)}") from error
    if "Recorder" in str(error):
        raise SimulationError(f"{where}: {error}; {ALLOWED}") from error
    raise error


# ------------------------------------------------------------------------------------------------------------
# Torques within the limits of the joints and of the motors.
#
# Motors that turn with one joint each limit the torque of that joint, to |k| times that of the shaft. Joints
# that share motors (a coupled wrist) are treated together: (1) each joint torque is clipped at its own
# limit, (2) the motor torques K⁻ᵀ τ are clipped at theirs, and τ is Kᵀ times what is left, (3) where that
# exceeds the limit of a joint again, the torques of the group are made smaller by one factor. So the result
# is within both. Where more motors than joints share the torques by least squares, one factor takes the
# place of clipping: clipped torques would be shared anew. The link of an elastic joint gets what motors
# coupled to it give after that.


LEAST = 1e-300  # for a joint whose limit is zero: nothing is divided by zero


def within_limits(robot: Robot, tau: Scalars) -> Scalars:
    """Torques over any scalar, within the limits of torque of a robot's joints and motors."""
    joints, shafts = joint_limits(robot).torque, robot.drives.limits.torque
    elastic = list(robot.drives.elastic)
    coupled = bool(elastic) and bool(robot.transmission[:, elastic].any())
    if coupled and len(shafts) == robot.n - len(elastic):  # the limits are those of their motors
        joints = np.where(np.isin(np.arange(robot.n), elastic), np.inf, joints)
    if not coupled and not np.isfinite(shafts).any():
        return [clipped(x, float(most)) for x, most in zip(tau, joints, strict=True)]
    K, P = robot.transmission, robot.drives.to_motors
    found = list(tau)
    for motors, together in groups(K):
        if len(together) == 1 and len(motors) == 1:
            most = min(joints[together[0]], abs(K[motors[0], together[0]]) * shafts[motors[0]])
            found[together[0]] = clipped(tau[together[0]], float(most))
            continue
        at = np.ix_(motors, together)
        shared = _group([tau[j] for j in together], K[at], P[at], joints[together], shafts[motors])
        for j, x in zip(together, shared, strict=True):
            found[j] = x
    return found


def _group(tau: Scalars, K: np.ndarray, P: np.ndarray, joints: np.ndarray, shafts: np.ndarray) -> Scalars:
    """The torques of joints that share motors."""
    tau = [clipped(x, float(most)) for x, most in zip(tau, joints, strict=True)]
    if len(K) == len(tau) and not np.isfinite(shafts).any():
        return tau
    motor = [dot(row.tolist(), tau) for row in P]
    if len(motor) > len(tau):
        return _smaller(tau, motor, shafts)
    motor = [clipped(x, float(most)) for x, most in zip(motor, shafts, strict=True)]
    tau = [dot(column.tolist(), motor) for column in K.T]
    return _smaller(tau, tau, joints)


def _smaller(tau: Scalars, held: Scalars, limits: np.ndarray) -> Scalars:
    """Torques times the largest factor, at most 1, with which `held` keeps to its limits."""
    factor: Any = 1.0
    for x, most in zip(held, limits, strict=True):
        if np.isfinite(most):
            largest = max(float(most), LEAST)
            factor = _lesser(factor, largest / at_least(abs(x), largest))
    return [factor * x for x in tau]


def _lesser(a: Any, b: Any) -> Any:
    for x, y in ((a, b), (b, a)):
        if hasattr(x, "minimum"):
            return x.minimum(y)
    return np.minimum(a, b)


def groups(K: np.ndarray) -> list[tuple[list[int], list[int]]]:
    """Motors and joints of K (m, n) that belong together; a joint alone with its motor is a group too."""
    left: list[tuple[set[int], set[int]]] = []
    for motor, row in enumerate(K):
        motors, joints = {motor}, set(np.flatnonzero(row).tolist())
        for group in [g for g in left if g[1] & joints]:
            left.remove(group)
            motors, joints = motors | group[0], joints | group[1]
        left.append((motors, joints))
    return [(sorted(motors), sorted(joints)) for motors, joints in left]


# ------------------------------------------------------------------------------------------------------------
# The base class.


Arrays: TypeAlias = dict[str, np.ndarray]
Array: TypeAlias = Any  # a number, or an array of them
Target: TypeAlias = Trajectory | Array  # a set point (..., n), or a motion
Rate: TypeAlias = float | Literal["auto"] | None
AUTO_RATE = 1000.0  # Hz


class Controller(ABC):
    """A controller as `simulate` uses it; `robot` is the model it computes with."""

    robot: Robot
    saturated: bool
    rate: Rate = "auto"

    @abstractmethod
    def constants(self) -> Arrays:
        """Gains and set points by name, (..., size) each."""

    def signals(self, t: np.ndarray) -> Arrays:
        """Numbers that change with time, by name: (N, size) each for times (N,)."""
        return {}

    @abstractmethod
    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars | tuple[Scalars, Scalars]:
        """The law over any scalar, before saturation; `given` has constants and signals by name.

        Where the model has closed chains, given["positions"] are all positions: what its algorithms take as
        q. With a memory, that is given["memory"], and the law returns torques and the next memory.
        """

    @property
    def memory(self) -> np.ndarray:
        """Memory of the law at the start: (..., m). Without a memory, m is 0."""
        return np.zeros(0)

    @property
    def jumps(self) -> np.ndarray:
        """Instants at which the torques jump by themselves [s]."""
        return np.zeros(0)

    @property
    def compensates_dry_friction(self) -> bool:
        """True if the torques follow the sign of a speed."""
        return False

    # ---- the same for all ------------------------------------------------------------------------------

    @cached_property
    def period(self) -> float | None:
        """The time for which torques are held [s]; None: the law acts continuously."""
        check_rate(self.rate)
        if self.rate is None and self.remembered:
            raise SimulationError("rate: found None; with a memory a positive number or 'auto' is expected")
        sampled = self.compensates_dry_friction or self.remembered
        if self.rate is None or (self.rate == "auto" and not sampled):
            return None
        return 1 / (AUTO_RATE if self.rate == "auto" else self.rate)

    @cached_property
    def remembered(self) -> int:
        """The size of the memory, m."""
        return int(self.first_memory.shape[-1])

    @property
    def _loops(self) -> bool:
        return bool(self.robot.model.loops)

    @cached_property
    def checked_constants(self) -> Arrays:
        """The constants, checked."""
        return arrays(f"{type(self).__name__}.constants", self.constants(), self._loops)

    @cached_property
    def first_memory(self) -> np.ndarray:
        """The memory at the start, checked."""
        return columns("memory", self.memory)

    def checked_torques(self, q: Scalars, qd: Scalars, given: Given) -> tuple[Scalars, Scalars]:
        """Torques before saturation, and the next memory; [] without one."""
        where = f"{type(self).__name__}.torques"
        try:
            found = self.torques(q, qd, given)
        except (TypeError, KeyError) as error:
            explain(where, error, given)
        return results(where, found, self.robot.n, self.remembered)

    def law(self, q: Scalars, qd: Scalars, given: Given) -> Any:
        """The law over any scalar, within the torque limits of joints and motors if `saturated`.

        Of passive joints, which nothing drives, the torques are zero whatever the law says.
        """
        tau, memory = self.checked_torques(q, qd, given)
        for i in self.robot.drives.passive:
            tau[i] = 0
        if self.saturated:
            tau = within_limits(self.robot, tau)
        return (tau, memory) if self.remembered else tau

    def __call__(self, t: Array, q: Array, qd: Array, memory: Array = None) -> Any:
        """Torques (..., n) at times t (...) in states q, qd (..., n).

        With a memory, torques and the next memory; it is given one (..., m), or that of the start. Where the
        model has closed chains, q may be all positions (..., positions): of another assembly mode, say.
        """
        times, q, qd = (check.floats(name, x) for name, x in (("t", t), ("q", q), ("qd", qd)))
        targets = self.targets(times.ravel())
        if memory is not None:
            if not self.remembered:
                raise SimulationError(f"memory: {type(self).__name__} has none; leave it out")
            memory = check.numbers("memory", check.wide("memory", memory, self.remembered))
        followers = None
        if self._loops:
            q, followers = split(self.robot, self.robot.assembly(q))
        targets = targets.reshape(*times.shape, targets.shape[-1])
        return self.evaluate(self._gains, targets, q, qd, memory, followers)

    def __add__(self, other: Controller) -> Controller:
        """The controller whose torques are the sum of both."""
        return added(self, other)

    @cached_property
    def _gains(self) -> np.ndarray:
        """The constants side by side, (..., columns)."""
        return side_by_side(self.checked_constants.values())

    def targets(self, t: np.ndarray) -> np.ndarray:
        """The signals side by side, (N, columns) at times (N,)."""
        if not self.sizes[1]:
            return np.zeros((len(t), 0))
        return np.concatenate(list(self.signals(frozen(t)).values()), axis=-1)

    def evaluate(
        self,
        gains: np.ndarray,
        targets: np.ndarray,
        q: Array,
        qd: Array,
        memory: np.ndarray | None = None,
        followers: np.ndarray | None = None,
    ) -> Any:
        """Torques of constants and signals side by side; with a memory, torques and the next memory.

        Where the model has closed chains, `followers` (..., d) are the positions that follow.
        """
        given = [x for x in (gains, targets, self.first_memory if memory is None else memory) if x.shape[-1]]
        if self._loops:
            given.insert(0, like(q, followers))
        return self.kernel(*(like(q, x) for x in (q, qd, *given)))

    @cached_property
    def sizes(self) -> tuple[Sizes, Sizes]:
        """Names and sizes of constants and signals."""
        where = f"{type(self).__name__}.signals"
        moving = arrays(where, self.signals(np.zeros(1)), self._loops)
        for name, x in moving.items():
            if name in self.checked_constants:
                raise SimulationError(f"{where}: found the name '{name}', which is that of a constant")
            if x.shape != (1, x.shape[-1]):
                raise SimulationError(f"{where}: {name}: expected (1, size) for one instant, found {x.shape}")
        constants, signals = (
            tuple((name, x.shape[-1]) for name, x in given.items())
            for given in (self.checked_constants, moving)
        )
        return constants, signals

    @cached_property
    def kernel(self) -> Kernel:
        """The law as a function of q, q̇, followers (if any), constants and signals side by side, memory."""
        return Kernel.of("torques", law_program(self.robot, self.law, *self.sizes, self.remembered))

    def carrying(self, mechanism: Mechanism, given: Given) -> Mechanism:
        """The mechanism with the payload at the robot's tip that the law is given, if it is given one."""
        if CARRIED not in given:
            return mechanism
        return replace(mechanism, bodies=self.robot.mechanism.carrying(given[CARRIED]).bodies)

    @cached_property
    def _mechanism(self) -> Mechanism:
        """The model without dry friction: a law that knew the sign of q̇ would jump where joints stick."""
        return without_dry_friction(self.robot.mechanism)


# ---- what enters -------------------------------------------------------------------------------------------


def frozen(x: np.ndarray) -> np.ndarray:
    """A read-only copy for a function of the user, who may keep it: it never changes."""
    own = np.array(x)
    own.setflags(write=False)
    return own


def side_by_side(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Columns next to each other, repeated over arms (and instants) where only some parts differ there."""
    found = list(parts)
    if not found:
        return np.zeros(0)
    rows = np.broadcast_shapes(*(x.shape[:-1] for x in found))
    return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in found], axis=-1)


def critical(stiffness: Any) -> np.ndarray:
    """2√K_P; negative stiffness is refused elsewhere."""
    return np.asarray(2 * np.sqrt(np.maximum(check.floats("stiffness", stiffness), 0.0)))


def place_of(name: str, x: Any, size: int) -> np.ndarray:
    """A set point (..., size)."""
    return check.numbers(name, check.wide(name, x, size))


def gains_of(size: int, **gains: Any) -> Arrays:
    """Gains (..., size) by name."""
    found = {name: check.wide(name, x, size) for name, x in gains.items()}
    for name, x in found.items():
        if not (np.isfinite(x) & (x >= 0)).all():
            raise SimulationError(f"{name}: found {shown(gains[name])}; gains are finite and not negative")
    return found


def follows(robot: Robot, target: Trajectory) -> None:
    """Refuse a trajectory of another number of joints."""
    if target.n != robot.n:
        raise SimulationError(f"target: the trajectory has {target.n} joints, the robot has {robot.n}")


def check_controller(controller: Controller) -> None:
    check.robot(controller.robot)
    saturated: Any = controller.saturated
    if not isinstance(saturated, bool | np.bool_):
        raise SimulationError(f"saturated: found {shown(saturated)}; True or False is expected")
    check_rate(controller.rate)


def check_driven(controller: Controller, every: bool = False) -> None:
    """Refuse robots with elastic joints: these laws act on every coordinate, and no torque acts on links.

    `every`: passive joints too, where the law needs a torque on every joint.
    """
    check_controller(controller)
    _check_passive(controller, every)
    if controller.robot.model.elastic:
        name = controller.robot.model.elastic[0].joint_label
        raise SimulationError(
            f"robot: {type(controller).__name__} would put torques on the links of elastic joints "
            f"('{name}'), where none act; MotorPD is for them"
        )


def _check_passive(controller: Controller, every: bool) -> None:
    """Refuse passive joints where the law needs a torque there, or where other motors act on them."""
    drives = controller.robot.drives
    name, coupled = type(controller).__name__, [i for i in drives.passive if i not in drives.loose]
    if coupled:
        joint = controller.robot.coordinates[coupled[0]]
        raise SimulationError(
            f"robot: nothing drives '{joint}' (actuated = false), but other motors are coupled to it; "
            f"{name} has no law for that"
        )
    if every and drives.passive:
        raise SimulationError(
            f"robot: {name} needs a torque on every joint, and nothing drives "
            f"'{controller.robot.coordinates[drives.passive[0]]}' (actuated = false); PDGravity, "
            "GravityCompensation and FrictionCompensation drive the other joints alone"
        )


def check_rate(rate: Any) -> None:
    """Refuse what is no number of samples a second, "auto" or None."""
    if rate is None or (isinstance(rate, str) and rate == "auto"):
        return
    number = check.floats("rate", rate, "a number of samples a second, 'auto' or None")
    if number.ndim or not 0 < number < np.inf:
        raise SimulationError(f"rate: found {shown(rate)}; expected a positive number, 'auto' or None")


# ------------------------------------------------------------------------------------------------------------
# Controllers made of others: sums, `a + b`, and the same with another model.


def added(a: Controller, b: Any) -> Controller:
    """The sum of two controllers, which may be sums."""
    if not isinstance(b, Controller):
        raise SimulationError(f"sum: expected a controller, found {type(b).__name__}")
    return Sum(tuple(part for x in (a, b) for part in (x.parts if isinstance(x, Sum) else (x,))))


@dataclass(frozen=True, eq=False)
class Sum(Controller):
    """Controllers whose torques are added. Constants and signals are called 1_name, 2_name, …

    The sum is within torque limits if one of the parts is `saturated`. Parts with rate="auto" follow the rate
    of the others. The memory is that of all parts, side by side.
    """

    parts: tuple[Controller, ...]

    def __post_init__(self) -> None:
        n = {part.robot.n for part in self.parts}
        if len(n) > 1:
            raise SimulationError(f"sum: the controllers are for {' and '.join(map(str, sorted(n)))} joints")
        if len({(part.robot.mechanism.positions, part.robot.mechanism.free) for part in self.parts}) > 1:
            raise SimulationError(
                "sum: the models of the controllers have different loops; the same are expected"
            )
        if len({part.rate for part in self.parts if part.rate != "auto"}) > 1:
            found = ", ".join(str(part.rate) for part in self.parts)
            raise SimulationError(f"sum: found controllers of rates {found}; one rate is expected")
        for part in self.parts:
            if part.remembered and part.period != self.period:
                raise SimulationError(
                    f"sum: {type(part).__name__} has a memory and samples every {part.period:g} s, the sum "
                    f"every {self.period:g} s; give both the same rate"
                )

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.parts[0].robot

    @property
    def rate(self) -> Rate:  # type: ignore[override]
        return next((part.rate for part in self.parts if part.rate != "auto"), "auto")

    @property
    def saturated(self) -> bool:  # type: ignore[override]
        return any(part.saturated for part in self.parts)

    @property
    def target(self) -> Trajectory | None:
        """The trajectory of the first part that follows one: the arm carries its loads."""
        targets = (getattr(part, "target", None) for part in self.parts)
        return next((x for x in targets if isinstance(x, Trajectory)), None)

    def constants(self) -> Arrays:
        return self._named([part.checked_constants for part in self.parts])

    def signals(self, t: np.ndarray) -> Arrays:
        return self._named([part.signals(t) for part in self.parts])

    def _named(self, given: list[Arrays]) -> Arrays:
        return {f"{k}_{name}": x for k, found in enumerate(given, 1) for name, x in found.items()}

    @cached_property
    def memory(self) -> np.ndarray:
        return side_by_side(part.first_memory for part in self.parts)

    @property
    def jumps(self) -> np.ndarray:
        return np.unique(np.concatenate([part.jumps for part in self.parts]))

    @property
    def compensates_dry_friction(self) -> bool:
        return any(part.compensates_dry_friction for part in self.parts)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars | tuple[Scalars, Scalars]:
        total: Scalars = [0] * len(q)
        memory: Scalars = []
        for k, part in enumerate(self.parts, 1):
            own = {name.removeprefix(f"{k}_"): x for name, x in given.items() if name.startswith(f"{k}_")}
            own |= {name: given[name] for name in (POSITIONS, CARRIED) if name in given}
            start = len(memory)
            if part.remembered:
                own["memory"] = given["memory"][start : start + part.remembered]
            tau, later = part.checked_torques(q, qd, own)
            total, memory = [a + b for a, b in zip(total, tau, strict=True)], memory + later
        return (total, memory) if self.remembered else total


def with_model(controller: Controller, robot: Robot) -> Controller:
    """The controller with another model.

    A controller with a memory keeps its own, which it adapts to its load. So do a controller that is not made
    of fields, and parts of a sum with another model.
    """
    if controller.remembered and not isinstance(controller, Sum):
        return controller
    if isinstance(controller, Sum):
        own = controller.robot
        return Sum(tuple(with_model(x, robot) if x.robot == own else x for x in controller.parts))
    made: Any = controller
    found: Controller = replace(made, robot=robot) if is_dataclass(type(controller)) else controller
    return found
