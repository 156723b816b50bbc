"""The integrand, recorded for one robot and one way of driving it: q̈, powers, and what sticks.

Dry friction acts on surfaces: joints, or motors that turn with several joints. The speed of a surface is
a_e · q̇, its friction f_e enters the joint torques as a_e f_e. A mode is +1 or −1 where a surface slides, with
f_e at that level, and 0 where it sticks: then a_e · q̈ = 0, and `held` is the friction f_e that this takes. It
sticks as long as f_e lies between the levels: those of dry friction at rest. Load friction
widens them by Fl |τ_r|, which changes; there `held` is f_e in parts of them, and the levels are ±1. Fixed and
variable steps use the same three programs:

- `rate`: q, q̇, modes, what is given → q̈, held, powers;
- `decide`: q̇, modes, q̈, held → modes that do not contradict q̈ and held, for surfaces at rest;
- `settle`: q, q̇, modes after a step → q̇, modes, surfaces that have passed zero speed brought to rest.

With closed chains `rate` and `settle` are also given the positions that follow, and `rate` gives their
velocities. These are integrated too; every step ends with one step of Newton's method that closes the chains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from armdyn.dynamics import (
    articulated_is_possible,
    forward_dynamics,
    forward_dynamics_articulated,
    friction_torques,
    inertia_matrix,
)
from armdyn.dynamics.closures import Following, placed
from armdyn.dynamics.forward import constrained
from armdyn.dynamics.friction import has_load, load_factors
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.dynamics.tip import loaded_jacobian
from armdyn.expression.functions import select, sign
from armdyn.kernels.arrays import array, like, zeros
from armdyn.model.friction import Surface
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, record
from armdyn.robot import Robot
from armdyn.robot.functions import NUMBERS, PAYLOAD
from armdyn.robot.joints import joint_name
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.laws import CARRIED, FOLLOWERS, POSITIONS, Given, Scalars, dot

# ------------------------------------------------------------------------------------------------------------
# Robots with closed chains: the positions that follow from the coordinates, in states and in programs.
#
# They are integrated beside the coordinates. Every step ends with one step of Newton's method that closes
# the chains, and with the side on which the state is of postures in which joints stop following.


SINGULAR = 1e-8  # squared sine: nearer than this to the others, a joint's column is no column of its own
LOST, APART = 2, 3  # the side of an arm that was stopped there, or that came apart; no squared sine
FAR = 0.1  # rad or m: chains that a step opens further cannot be trusted to close again
NEAR, FALL = 1e-2, 0.25  # a squared sine that falls to so little, and to this part in a step, may pass zero


def all_positions(mechanism: Mechanism, given: Given) -> Scalars:
    """Positions: those of coordinates, and in closed chains those that follow."""
    return placed(mechanism, given["q"], given[FOLLOWERS]) if mechanism.loops else given["q"]


def with_positions(mechanism: Mechanism, given: Mapping[str, Scalars]) -> Given:
    """Inputs of a law, by name: with closed chains, all positions too."""
    return {**given, POSITIONS: all_positions(mechanism, given)} if mechanism.loops else given


def following(mechanism: Mechanism, y: Scalars, qd: Scalars) -> Scalars:
    """The velocities of the positions that follow."""
    if not mechanism.loops:
        return []
    found = Following(mechanism, y)
    yd = found.velocities(qd)
    return [yd[d] for d in found.dependent]


def closed(mechanism: Mechanism, q: Scalars, followers: Scalars) -> tuple[Scalars, Any]:
    """The positions that follow with the chains closed, and the side (`Following.side`)."""
    found = Following(mechanism, placed(mechanism, q, followers))
    return found.closed(), found.side


def split(robot: Robot, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (..., n) and the positions that follow (..., d), from all positions (..., n + d)."""
    free = list(robot.mechanism.free)
    if not free:
        return y, y[..., :0]
    others = [i for i in range(y.shape[-1]) if i not in free]
    return y[..., free], y[..., others]


def joined(robot: Robot, q: np.ndarray, followers: np.ndarray) -> np.ndarray:
    """All positions (..., n + d) from coordinates and those that follow."""
    free = list(robot.mechanism.free)
    if not free:
        return q
    y = zeros(q, (*q.shape[:-1], q.shape[-1] + followers.shape[-1]))
    y[..., free] = q
    y[..., [i for i in range(y.shape[-1]) if i not in free]] = followers
    return y


def lost(robot: Robot, state: np.ndarray, apart: bool = False) -> str:
    """Reason why an arm stops: its closed chains come `apart`, or a joint no longer follows; and where."""
    if apart:
        return "its loops come apart (steps are too long)"
    n = robot.n
    y = joined(robot, state[:n], state[2 * n : robot.mechanism.positions + n])
    where = ", ".join(f"{x:.6g}" for x in y)
    return f"it comes to a singular posture: {robot.assembly.stuck(y)} (all positions: [{where}])"


# ------------------------------------------------------------------------------------------------------------
# The integrand, recorded for one robot and one way of driving it: q̈, powers, and what sticks.


# ------------------------------------------------------------------------------------------------------------
# Surfaces with dry friction, which hold or slide.


AT_REST = 1e-12  # of the terms of its sum: a speed or an acceleration less than this is zero


def sliding(mechanism: Mechanism) -> tuple[Surface, ...]:
    """Where dry friction differs with direction, so that it can stick; rows are over coordinates."""
    found = tuple(f for f in mechanism.friction if f.sticks)
    if not mechanism.loops:
        return found
    place = {position: i for i, position in enumerate(mechanism.free)}
    return tuple(replace(f, row=tuple((place[j], k) for j, k in f.row)) for f in found)


def held_levels(surface: Surface) -> tuple[Any, Any]:
    """What `held` is when a surface begins to slide forward and backward."""
    return (1, -1) if surface.has_load else surface.levels


def in_parts(surface: Surface, f: Any, driving: Scalars) -> Any:
    """Friction f that holds a surface: where its load counts, as a part of the most that could.

    At rest τ_r is what drives the joint less f. The last term is for a joint without load and level.
    """
    if not surface.has_load:
        return f
    ((i, _),) = surface.row
    beyond = f - surface.middle
    most = surface.reach + surface.share * abs(driving[i] - f)
    return beyond / (most + (1e-12 * abs(beyond) + 1e-300))


def divided_by_load(surfaces: Sequence[Surface], modes: Scalars, driving: Scalars) -> Scalars:
    """τ_r of the torques τ_r + Fl |τ_r| s, where surfaces slide in the directions s."""
    rigid = list(driving)
    for surface, s in zip(surfaces, modes, strict=True):
        if surface.has_load:
            ((i, _),) = surface.row
            rigid[i] = driving[i] / (1 + surface.share * (s * sign(driving[i])))
    return rigid


def without_modes(mechanism: Mechanism) -> Mechanism:
    """Without the dry friction that modes stand for; a joint whose two levels are equal has an offset.

    A surface with a width keeps its friction: it has no modes.
    """

    def smooth(f: Surface) -> Surface:
        offset = f["offset"] + (0 if f.sticks else f.middle)
        return f.smooth.with_coefficients({**f.smooth.coefficients, "offset": offset})

    return replace(mechanism, friction=tuple(smooth(f) for f in mechanism.friction))


def along(surface: Surface, x: Scalars) -> Any:
    """The speed or acceleration of a surface; zero where a sum leaves only rounding."""
    total = surface.speed(x)
    if len(surface.row) == 1:
        return total
    size: Any = 0
    for j, k in surface.row:
        size = size + abs(k * x[j])
    return select(abs(total) - AT_REST * size, total, 0)


def surface_name(robot: Robot, surface: Surface) -> str:
    if len(surface.row) == 1:
        return joint_name(robot, surface.row[0][0])
    joints = ", ".join(str(j + 1) for j, _ in surface.row)
    if surface in robot.mechanism.joint_friction:
        return f"'{robot.model.moving[surface.joint].joint_label}', which moves with joints {joints}"
    return f"the motor that turns with joints {joints}"


def check_friction(robot: Robot) -> None:
    """Refuse dry friction that would push, and load friction beside dry friction of several joints.

    With closed chains, also dry friction of joints that follow: how much of it acts on the coordinates
    changes with the posture, and so does what holds them.
    """
    _check_followers(robot)
    mechanism = robot.mechanism
    surfaces, place = sliding(mechanism), list(mechanism.free if mechanism.loops else range(mechanism.n))
    loaded = {place.index(f.row[0][0]) for f in mechanism.friction if f.has_load}
    for surface in surfaces:
        for j, _ in surface.row if len(surface.row) > 1 else ():
            if j in loaded:
                raise SimulationError(
                    f"friction of {joint_name(robot, j)}: load friction cannot be simulated here, because "
                    f"dry friction of {surface_name(robot, surface)} acts on the same joint"
                )
    for surface in surfaces:
        forward, backward = surface.levels
        if forward < backward:
            raise SimulationError(
                f"friction of {surface_name(robot, surface)}: found {forward:g} forward and {backward:g} "
                "backward; the first must not be less than the second"
            )


def _check_followers(robot: Robot) -> None:
    mechanism, names = robot.mechanism, [link.joint_label for link in robot.model.positions]
    for surface in mechanism.friction if mechanism.loops else ():
        moved = [j for j, _ in surface.row if j not in mechanism.free]
        if moved and surface.sticks:
            allowed = ", ".join(f"'{names[i]}'" for i in mechanism.free)
            raise SimulationError(
                f"friction of '{names[moved[0]]}': its joint follows others in a loop, where dry friction "
                f"cannot be simulated; joints that may have it: {allowed}. Viscous friction may be anywhere"
            )


# ------------------------------------------------------------------------------------------------------------
# The programs.


Law: TypeAlias = Callable[[Scalars, Scalars, Given], Any]  # q, q̇, constants, signals -> τ (and memory)
Sizes: TypeAlias = Sequence[tuple[str, int]]

WORKS = ("torque", "wrench", "friction")


@dataclass(frozen=True)
class SampledLaw:
    """A law that is sampled: its torques are held from one sample to the next, and so is its memory."""

    law: Law
    constants: Sizes
    signals: Sizes
    memory: int = 0  # its size


@dataclass(frozen=True)
class Drive:
    """The way a robot is driven: the law of its torques, and the inputs of law and dynamics.

    `law` None: no torques. `constants` stay, `signals` change with time, what is `asked` only Python knows. A
    "wrench" (6) among them acts at the tip; with `links`, wrench_1, wrench_2, … act on these. With `held`,
    the torques are those of a sampled law. A constant "numbers" has those of the robot: then all robots of
    its structure share the programs.
    """

    law: Law | None
    constants: Sizes = ()
    signals: Sizes = ()
    asked: Sizes = ()
    held: SampledLaw | None = None
    links: tuple[str, ...] = ()

    @property
    def wrenches(self) -> tuple[str, ...]:
        """The names of the wrenches, in the order in which the dynamics take them."""
        return wrench_names(self.links)

    def loaded(self, robot: Robot) -> Mechanism:
        """The mechanism of a robot, with the places where the wrenches act."""
        mechanism = robot.mechanism
        return replace(mechanism, places=robot.model.places(self.links)) if self.links else mechanism

    def given(self, n: int) -> Sizes:
        """All that the rates are given, in order."""
        held = (("tau", n),) if self.held is not None else ()
        return (*self.constants, *held, *self.signals, *self.asked)


def wrench_names(links: Sequence[str]) -> tuple[str, ...]:
    """Names of the wrenches on links among the inputs; without links there is one, at the tip."""
    return tuple(f"wrench_{k + 1}" for k in range(len(links))) or ("wrench",)


def tau_as_given(q: Scalars, qd: Scalars, given: Given) -> Scalars:
    """The law of torques that are not computed: they are the input "tau"."""
    return given["tau"]


def without_dry_friction(mechanism: Mechanism) -> Mechanism:
    """The mechanism with smooth friction alone: what grows with speed, and offsets."""
    return replace(mechanism, friction=tuple(f.smooth for f in mechanism.friction))


@dataclass(frozen=True)
class Integrand:
    """A robot and its drive, and the programs of a step. Those with the same programs are equal.

    Programs are recorded with `structure`: the robot's mechanism or, where they are given its `values`, that
    with None in their place.
    """

    robot: Robot = field(compare=False)
    drive: Drive
    structure: Mechanism = field(repr=False)
    values: tuple[float, ...] = field(default=(), compare=False, repr=False)

    @staticmethod
    def of(robot: Robot, drive: Drive) -> Integrand:
        """The integrand with the robot's numbers in the programs: the fewest operations."""
        return Integrand(robot, drive, drive.loaded(robot).with_friction_by_coordinate())

    @staticmethod
    def shared(robot: Robot, drive: Drive) -> Integrand:
        """The integrand with the robot's numbers as constants; robots of one structure share programs."""
        structure, numbers = drive.loaded(robot).with_friction_by_coordinate().opened()
        if numbers:
            drive = replace(drive, constants=((NUMBERS, len(numbers)), *drive.constants))
        return Integrand(robot, drive, structure, tuple(numbers))

    @property
    def n(self) -> int:
        return self.robot.n

    @cached_property
    def followers(self) -> int:
        """Number of positions that follow from the coordinates in closed chains."""
        return self.robot.mechanism.positions - self.n

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.robot.mechanism.with_friction_by_coordinate()

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        return sliding(self.mechanism)

    @cached_property
    def names(self) -> list[str]:
        return [surface_name(self.robot, surface) for surface in self.surfaces]

    @cached_property
    def rows(self) -> np.ndarray:
        """The surfaces' rows (E, n)."""
        rows = np.zeros((len(self.surfaces), self.n))
        for e, surface in enumerate(self.surfaces):
            rows[e, [j for j, _ in surface.row]] = [k for _, k in surface.row]
        return rows

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Values (E,) of `held` at which surfaces begin to slide backward and forward."""
        pairs = np.array([held_levels(f) for f in self.surfaces], float).reshape(-1, 2)
        return pairs[:, 1], pairs[:, 0]

    def directions(self, qd: np.ndarray) -> np.ndarray:
        """Directions (..., E) in which surfaces slide at velocities (..., n); 0 at rest."""
        if not self.surfaces:
            return qd[..., :0]
        rows = like(qd, self.rows)
        speeds, sizes = qd @ rows.T, np.abs(qd) @ np.abs(rows).T
        return array(np.sign(speeds) * (np.abs(speeds) > AT_REST * sizes))

    @cached_property
    def works(self) -> tuple[str, ...]:
        """The kinds of work there are."""
        rubs = any(any(f.coefficients.values()) for f in self.mechanism.friction)
        wrench = self.drive.wrenches[0] in [name for name, _ in self.drive.given(self.n)]
        there = {"torque": self.drive.law is not None, "wrench": wrench, "friction": rubs}
        return tuple(name for name in WORKS if there[name])

    # ---- programs --------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Sizes:
        """Inputs of `rate`, in order; those of size zero left out."""
        state = [("q", self.n), ("qd", self.n), (FOLLOWERS, self.followers), ("modes", len(self.surfaces))]
        inputs = [*state, *self.drive.given(self.n)]
        return [(name, size) for name, size in inputs if size]

    @cached_property
    def programs(self) -> dict[str, Program]:
        sizes = [("qdd", self.n), ("following", self.followers)]
        sizes += [("held", len(self.surfaces)), ("powers", len(self.works))]
        outputs = [(name, (size,)) for name, size in sizes if size]
        found: dict[str, Program] = {}
        if (held := self.drive.held) is not None:
            sizes_of_law = (held.constants, held.signals, held.memory)
            found["law"] = law_program(self.robot, held.law, *sizes_of_law)
        if not self.surfaces:
            return found | {"rate": self._smooth(outputs)}

        def function(*columns: Scalars) -> Any:
            given, mechanism = self._given(columns)
            return self._with_modes(given, mechanism)

        return found | {
            "rate": record(function, self.inputs, outputs),
            "decide": self._decide(),
            "settle": self._settle(),
        }

    def _given(self, columns: Sequence[Scalars]) -> tuple[Given, Mechanism]:
        """Inputs of `rate`, by name, and the mechanism it is recorded with."""
        given = dict(zip([name for name, _ in self.inputs], columns, strict=True))
        mechanism = self.recorded(given.get(NUMBERS))
        return with_positions(mechanism, given), mechanism

    def recorded(self, numbers: Scalars | None) -> Mechanism:
        """The mechanism that programs are recorded with."""
        return self.structure if numbers is None else self.structure.filled(numbers)

    @property
    def numbers(self) -> Sizes:
        """The input with the robot's numbers, if programs are shared."""
        return [(name, size) for name, size in self.inputs if name == NUMBERS]

    def _torques(self, given: Given) -> Scalars:
        law = self.drive.law
        tau: Scalars = [0] * self.n if law is None else law(given["q"], given["qd"], given)
        return tau

    def _wrench(self, given: Given) -> Scalars | None:
        """The wrenches one after the other; None where there are none."""
        return [x for name in self.drive.wrenches for x in given.get(name, ())] or None

    def _smooth(self, outputs: Sequence[Any]) -> Program:
        """Program without modes: factorised inertia or articulated bodies, whichever has fewer operations."""

        def program(algorithm: Callable[..., Any]) -> Program:
            def function(*columns: Scalars) -> Any:
                given, mechanism = self._given(columns)
                mechanism, y, qd = without_modes(mechanism), all_positions(mechanism, given), given["qd"]
                tau = self._torques(given)
                qdd = algorithm(mechanism, y, qd, tau, self._wrench(given))
                powers = self._powers(mechanism, given, tau, friction_torques(mechanism, qd, q=y))
                found = [x for x in (qdd, following(mechanism, y, qd), powers) if x]
                return tuple(found) if len(found) > 1 else qdd

            return record(function, self.inputs, outputs)

        algorithms = [forward_dynamics]
        if articulated_is_possible(self.mechanism):
            algorithms.append(forward_dynamics_articulated)
        return min((program(algorithm) for algorithm in algorithms), key=lambda made: made.operations)

    def _powers(self, mechanism: Mechanism, given: Given, tau: Scalars, friction: Scalars) -> Scalars:
        """Power of the torques and of the wrench on the arm, and power lost to friction."""
        q, qd = all_positions(mechanism, given), given["qd"]
        powers = []
        for work in self.works:
            if work == "wrench":
                speeds = [dot(row, qd) for row in loaded_jacobian(mechanism, q)]
                powers.append(-dot(speeds, self._wrench(given) or []))
            else:
                powers.append(dot(qd, tau if work == "torque" else friction))
        return powers

    def _with_modes(self, given: Given, mechanism: Mechanism) -> Any:
        """q̈, held, powers: B q̈ = τ − bias − friction, with what sticks constrained."""
        q, qd, modes = all_positions(mechanism, given), given["qd"], given["modes"]
        tau = self._torques(given)
        bias = rigid_torques(mechanism, q, qd, [0] * self.n, self._wrench(given))
        smooth = without_modes(mechanism)
        friction = friction_torques(smooth, qd, q=q)
        surfaces = sliding(mechanism)
        for surface, s in zip(surfaces, modes, strict=True):
            dry = surface.dry.torque(surface.speed(qd), s)
            for j, k in surface.row:
                friction[j] = friction[j] + k * dry
        driving = [t - f for t, f in zip(tau, friction, strict=True)]  # τ_r and load friction
        rigid = divided_by_load(surfaces, modes, driving)
        if has_load(smooth):  # of surfaces with a width
            rigid = [x / k for x, k in zip(rigid, load_factors(smooth, qd, rigid), strict=True)]
        net = [t - b for t, b in zip(rigid, bias, strict=True)]
        rows, sticks = [f.row for f in surfaces], [1 - s * s for s in modes]
        qdd, held = constrained(inertia_matrix(mechanism, q), net, rows, sticks)
        held = [in_parts(f, x, driving) for f, x in zip(surfaces, held, strict=True)]
        lost = [f + d - r for f, d, r in zip(friction, driving, rigid, strict=True)]
        found = (qdd, following(mechanism, q, qd), held, self._powers(mechanism, given, tau, lost))
        return tuple(x for x in found if x)

    def _decide(self) -> Program:
        """The modes of surfaces at rest that contradict q̈ or friction, exchanged.

        A sticking surface that needs more friction than there is slides that way; one that is to slide but
        would go the other way sticks. Exchanging all at once settles in a round or two; when it does not,
        changing only the first (Murty's least-index rule, after E + 2 rounds) ends after finitely many
        rounds, because the inverse of B is positive definite.
        """
        together = len(self.surfaces) + 2

        def function(
            qd: Scalars, modes: Scalars, qdd: Scalars, held: Scalars, done: Scalars, *numbers: Scalars
        ) -> Any:
            changed: Any = 0
            surfaces = sliding(self.recorded(*numbers or (None,)))
            new: Scalars = []
            late = select(done[0] - (together - 0.5), 1, 0)
            for surface, s, f in zip(surfaces, modes, held, strict=True):
                forward, backward = held_levels(surface)
                released = select(f - forward, 1, 0) - select(backward - f, 1, 0)
                onward = s * (1 - select(-(s * along(surface, qdd)), 1, 0))
                direction = sign(along(surface, qd))
                wanted = select(1 - s * s, released, select(1 - direction * direction, onward, s))
                differs = (wanted - s) * (wanted - s)
                allowed = differs * (1 - late * changed)
                new.append(select(allowed, wanted, s))
                changed = 1 - (1 - changed) * (1 - select(allowed, 1, 0))
            return new, [changed], [done[0] + 1]

        n, e = self.n, len(self.surfaces)
        inputs = [("qd", n), ("modes", e), ("qdd", n), ("held", e), ("rounds", 1), *self.numbers]
        return record(function, inputs, [("modes", (e,)), ("changed", (1,)), ("rounds", (1,))])

    def _settle(self) -> Program:
        """Program `settle`, after a step: a surface that moves against its mode has passed zero; it sticks.

        The speed of a joint is set to zero. Where motors turn with several joints, the speeds of what sticks
        are removed with the least change x − q̇ measured by B: B x = B q̇ − Σ a_e λ_e, a_e · x = 0.
        """
        n, e = self.n, len(self.surfaces)

        def function(*columns: Scalars) -> Any:
            given = dict(zip([name for name, _ in inputs], columns, strict=True))
            qd, modes = given["qd"], given["modes"]
            mechanism = self.recorded(given.get(NUMBERS))
            surfaces = sliding(mechanism)
            passed = [-(s * along(f, qd)) for f, s in zip(surfaces, modes, strict=True)]
            new = [select(x, 0, s) for x, s in zip(passed, modes, strict=True)]
            if all(len(f.row) == 1 for f in surfaces):
                speeds = list(qd)
                for f, x in zip(surfaces, passed, strict=True):
                    ((j, _),) = f.row
                    speeds[j] = select(x, 0, qd[j])
                return speeds, new
            B = inertia_matrix(mechanism, all_positions(mechanism, given))
            rows, sticks = [f.row for f in surfaces], [1 - s * s for s in new]
            stopped, _ = constrained(B, [dot(row, qd) for row in B], rows, sticks)
            some: Any = 0
            for x in passed:
                some = select(x, 1, some)
            return [select(some, x, v) for x, v in zip(stopped, qd, strict=True)], new

        state = [("q", n), ("qd", n), (FOLLOWERS, self.followers), ("modes", e)]
        inputs = [*(x for x in state if x[1]), *self.numbers]
        return record(function, inputs, [("qd", (n,)), ("modes", (e,))])


def law_program(
    robot: Robot, law: Law, constants: Sizes, signals: Sizes, memory: int = 0, payload: int = 0
) -> Program:
    """A law of torques by itself: q, q̇, constants and signals, each side by side, and memory → τ, memory.

    With closed chains the positions that follow come after q̇. With `payload` the law knows the tip's
    load.
    """
    n, mechanism = robot.n, robot.mechanism
    state = [("q", n), ("qd", n), (FOLLOWERS, mechanism.positions - n)][: 2 + bool(mechanism.loops)]
    names = [*state, *constants, *signals, (CARRIED, payload), ("memory", memory)]

    def function(*columns: Scalars) -> Any:
        flat = iter([x for column in columns for x in column])
        given = {name: list(islice(flat, size)) for name, size in names if size or name != CARRIED}
        return law(given["q"], given["qd"], with_positions(mechanism, given))

    blocks = [*state, ("constants", width(constants)), ("signals", width(signals))]
    blocks += [(PAYLOAD, payload), ("memory", memory)]
    outputs = [("tau", (n,)), ("memory", (memory,))][: 1 + bool(memory)]
    return record(function, [b for b in blocks if b[1]], outputs)


def width(sizes: Sizes) -> int:
    return sum(size for _, size in sizes)
