"""What is integrated, recorded for one robot and one way of driving it: q̈, powers, and what sticks.

Dry friction acts on surfaces: joints, or motors that turn with several joints. The speed of a surface is
a_e · q̇, its friction f_e enters the joint torques as a_e f_e. A mode is +1 or −1 where a surface slides, with
f_e at that level, and 0 where it sticks: then a_e · q̈ = 0, and `held` is the friction f_e that this takes. It
sticks as long as f_e lies between the levels. Fixed and adaptive steps use the same three programs:

- `rate`: q, q̇, modes, what is given → q̈, held, powers;
- `decide`: q̇, modes, q̈, held → modes that do not contradict q̈ and held, for surfaces at rest;
- `settle`: q, q̇, modes after a step → q̇, modes, surfaces that have passed zero speed brought to rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    jacobian,
)
from armdyn.dynamics.constrained import constrained
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression.functions import select, sign
from armdyn.model.friction import Surface
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, record
from armdyn.robot import Robot
from armdyn.robot.functions import NUMBERS
from armdyn.robot.joints import joint_name
from armdyn.simulation.control.laws import Given, Scalars, dot
from armdyn.simulation.errors import SimulationError

Law: TypeAlias = Callable[[Scalars, Scalars, Given], Scalars]  # q, q̇, constants and signals -> τ
Sizes: TypeAlias = Sequence[tuple[str, int]]

WORKS = ("torque", "wrench", "friction")
AT_REST = 1e-12  # of the terms of its sum: a speed or an acceleration less than this is zero


@dataclass(frozen=True)
class Held:
    """A law that is sampled: its torques are held from one sample to the next."""

    law: Law
    constants: Sizes
    signals: Sizes


@dataclass(frozen=True)
class Drive:
    """How a robot is driven: the law of its torques and what the law and the dynamics are given.

    `law` None: no torques. `constants` stay, `signals` change with time, what is `asked` only Python knows. A
    "wrench" (6) among them acts at the tip. With `held`, the torques are those of a sampled law. A constant
    "numbers" has those of the robot: then all robots of its structure share the programs.
    """

    law: Law | None
    constants: Sizes = ()
    signals: Sizes = ()
    asked: Sizes = ()
    held: Held | None = None

    def given(self, n: int) -> Sizes:
        """All that the rates are given, in order."""
        held = (("tau", n),) if self.held is not None else ()
        return (*self.constants, *held, *self.signals, *self.asked)


def tau_as_given(q: Scalars, qd: Scalars, given: Given) -> Scalars:
    """The law of torques that are not computed: they are the input "tau"."""
    return given["tau"]


def without_dry_friction(mechanism: Mechanism) -> Mechanism:
    """Viscous friction and offsets stay."""
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
        """With the robot's numbers in the programs: the fewest operations."""
        return Integrand(robot, drive, robot.mechanism.with_friction_by_coordinate())

    @staticmethod
    def shared(robot: Robot, drive: Drive) -> Integrand:
        """With the robot's numbers as the first constants: all robots of its structure share the programs."""
        structure, numbers = robot.mechanism.with_friction_by_coordinate().opened()
        if numbers:
            drive = replace(drive, constants=((NUMBERS, len(numbers)), *drive.constants))
        return Integrand(robot, drive, structure, tuple(numbers))

    @property
    def n(self) -> int:
        return self.robot.n

    @cached_property
    def mechanism(self) -> Mechanism:
        return self.robot.mechanism.with_friction_by_coordinate()

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        return _sliding(self.mechanism)

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
        """Friction (E,) at negative and at positive speed."""
        pairs = np.array([f.levels for f in self.surfaces], float).reshape(-1, 2)
        return pairs[:, 1], pairs[:, 0]

    def directions(self, qd: np.ndarray) -> np.ndarray:
        """In which direction (..., E) surfaces slide at velocities (..., n); 0 at rest."""
        speeds, sizes = qd @ self.rows.T, np.abs(qd) @ np.abs(self.rows).T
        return np.asarray(np.sign(speeds) * (np.abs(speeds) > AT_REST * sizes))

    @cached_property
    def works(self) -> tuple[str, ...]:
        """The kinds of work there are."""
        rubs = any(any(f.coefficients.values()) for f in self.mechanism.friction)
        wrench = "wrench" in [name for name, _ in self.drive.given(self.n)]
        there = {"torque": self.drive.law is not None, "wrench": wrench, "friction": rubs}
        return tuple(name for name in WORKS if there[name])

    # ---- programs --------------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> Sizes:
        """Of `rate`, in order; those of size zero left out."""
        inputs = [("q", self.n), ("qd", self.n), ("modes", len(self.surfaces)), *self.drive.given(self.n)]
        return [(name, size) for name, size in inputs if size]

    @cached_property
    def programs(self) -> dict[str, Program]:
        sizes = [("qdd", self.n), ("held", len(self.surfaces)), ("powers", len(self.works))]
        outputs = [(name, (size,)) for name, size in sizes if size]
        found: dict[str, Program] = {}
        if (held := self.drive.held) is not None:
            found["law"] = law_program(self.n, held.law, held.constants, held.signals)
        if not self.surfaces:
            return found | {"rate": self._smooth(outputs)}

        def function(*columns: Scalars) -> Any:
            given = dict(zip([name for name, _ in self.inputs], columns, strict=True))
            return self._with_modes(given, self._recorded(given.get(NUMBERS)))

        return found | {
            "rate": record(function, self.inputs, outputs),
            "decide": self._decide(),
            "settle": self._settle(),
        }

    def _recorded(self, numbers: Scalars | None) -> Mechanism:
        """The mechanism that programs are recorded with."""
        return self.structure if numbers is None else self.structure.filled(numbers)

    @property
    def numbers(self) -> Sizes:
        """The input with the robot's numbers, if programs are shared."""
        return [(name, size) for name, size in self.inputs if name == NUMBERS]

    def _torques(self, given: Given) -> Scalars:
        law = self.drive.law
        return [0] * self.n if law is None else law(given["q"], given["qd"], given)

    def _smooth(self, outputs: Sequence[Any]) -> Program:
        """Without modes: factorised inertia or articulated bodies, whichever has fewer operations."""

        def program(algorithm: Callable[..., Any]) -> Program:
            def function(*columns: Scalars) -> Any:
                given = dict(zip([name for name, _ in self.inputs], columns, strict=True))
                mechanism = _without_modes(self._recorded(given.get(NUMBERS)))
                tau = self._torques(given)
                qdd = algorithm(mechanism, given["q"], given["qd"], tau, given.get("wrench"))
                powers = self._powers(mechanism, given, tau, friction_torques(mechanism, given["qd"]))
                return (qdd, powers) if powers else qdd

            return record(function, self.inputs, outputs)

        algorithms = [forward_dynamics]
        if articulated_is_possible(self.mechanism):
            algorithms.append(forward_dynamics_articulated)
        return min((program(algorithm) for algorithm in algorithms), key=lambda made: made.operations)

    def _powers(self, mechanism: Mechanism, given: Given, tau: Scalars, friction: Scalars) -> Scalars:
        """Power of the torques and of the wrench on the arm, and power lost to friction."""
        q, qd = given["q"], given["qd"]
        powers = []
        for work in self.works:
            if work == "wrench":
                tip = [dot(row, qd) for row in jacobian(mechanism, q)]
                powers.append(-dot(tip, given["wrench"]))
            else:
                powers.append(dot(qd, tau if work == "torque" else friction))
        return powers

    def _with_modes(self, given: Given, mechanism: Mechanism) -> Any:
        """q̈, held, powers: B q̈ = τ − bias − friction, with what sticks constrained."""
        q, qd, modes = given["q"], given["qd"], given["modes"]
        tau = self._torques(given)
        bias = rigid_torques(mechanism, q, qd, [0] * self.n, given.get("wrench"))
        friction = friction_torques(_without_modes(mechanism), qd)
        surfaces = _sliding(mechanism)
        for surface, s in zip(surfaces, modes, strict=True):
            dry = surface.dry.torque(0, s)
            for j, k in surface.row:
                friction[j] = friction[j] + k * dry
        net = [t - b - f for t, b, f in zip(tau, bias, friction, strict=True)]
        rows, sticks = [f.row for f in surfaces], [1 - s * s for s in modes]
        qdd, held = constrained(inertia_matrix(mechanism, q), net, rows, sticks)
        return qdd, held, self._powers(mechanism, given, tau, friction)

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
            surfaces = _sliding(self._recorded(*numbers or (None,)))
            new: Scalars = []
            late = select(done[0] - (together - 0.5), 1, 0)
            for surface, s, f in zip(surfaces, modes, held, strict=True):
                forward, backward = surface.levels
                released = select(f - forward, 1, 0) - select(backward - f, 1, 0)
                sliding = s * (1 - select(-(s * _along(surface, qdd)), 1, 0))
                direction = sign(_along(surface, qd))
                wanted = select(1 - s * s, released, select(1 - direction * direction, sliding, s))
                differs = (wanted - s) * (wanted - s)
                allowed = differs * (1 - late * changed)
                new.append(select(allowed, wanted, s))
                changed = 1 - (1 - changed) * (1 - select(allowed, 1, 0))
            return new, [changed], [done[0] + 1]

        n, e = self.n, len(self.surfaces)
        inputs = [("qd", n), ("modes", e), ("qdd", n), ("held", e), ("rounds", 1), *self.numbers]
        return record(function, inputs, [("modes", (e,)), ("changed", (1,)), ("rounds", (1,))])

    def _settle(self) -> Program:
        """After a step: a surface that has come to move against its mode has passed zero; it sticks there.

        The speed of a joint is set to zero. Where motors turn with several joints, the speeds of what sticks
        are removed with the least change x − q̇ measured by B: B x = B q̇ − Σ a_e λ_e, a_e · x = 0.
        """
        n, e = self.n, len(self.surfaces)

        def function(q: Scalars, qd: Scalars, modes: Scalars, *numbers: Scalars) -> Any:
            mechanism = self._recorded(*numbers or (None,))
            surfaces = _sliding(mechanism)
            passed = [-(s * _along(f, qd)) for f, s in zip(surfaces, modes, strict=True)]
            new = [select(x, 0, s) for x, s in zip(passed, modes, strict=True)]
            if all(len(f.row) == 1 for f in surfaces):
                speeds = list(qd)
                for f, x in zip(surfaces, passed, strict=True):
                    ((j, _),) = f.row
                    speeds[j] = select(x, 0, qd[j])
                return speeds, new
            B = inertia_matrix(mechanism, q)
            rows, sticks = [f.row for f in surfaces], [1 - s * s for s in new]
            stopped, _ = constrained(B, [dot(row, qd) for row in B], rows, sticks)
            some: Any = 0
            for x in passed:
                some = select(x, 1, some)
            return [select(some, x, v) for x, v in zip(stopped, qd, strict=True)], new

        inputs = [("q", n), ("qd", n), ("modes", e), *self.numbers]
        return record(function, inputs, [("qd", (n,)), ("modes", (e,))])


def _sliding(mechanism: Mechanism) -> tuple[Surface, ...]:
    """Where dry friction differs with direction, so that it can stick."""
    return tuple(f for f in mechanism.friction if not _is_zero(f.coulomb))


def _is_zero(x: Any) -> bool:
    return isinstance(x, int | float) and x == 0


def _without_modes(mechanism: Mechanism) -> Mechanism:
    """Without the dry friction that modes stand for; a joint whose two levels are equal has an offset."""
    friction = tuple(
        replace(f.smooth, offset=f.offset + (f.asymmetry if _is_zero(f.coulomb) else 0))
        for f in mechanism.friction
    )
    return replace(mechanism, friction=friction)


def law_program(n: int, law: Law, constants: Sizes, signals: Sizes) -> Program:
    """A law of torques by itself: q, q̇, and constants and signals, each side by side → τ."""
    names = [("q", n), ("qd", n), *constants, *signals]

    def function(*columns: Scalars) -> Scalars:
        flat = iter([x for column in columns for x in column])
        given = {name: list(islice(flat, size)) for name, size in names}
        return law(given["q"], given["qd"], given)

    blocks = [("constants", width(constants)), ("signals", width(signals))]
    return record(function, [("q", n), ("qd", n), *(b for b in blocks if b[1])], [("tau", (n,))])


def width(sizes: Sizes) -> int:
    return sum(size for _, size in sizes)


def _along(surface: Surface, x: Scalars) -> Any:
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
        return f"'{robot.model.moving[surface.joint].name}', which moves with joints {joints}"
    return f"the motor that turns with joints {joints}"


def check_friction(robot: Robot) -> None:
    """Refuse dry friction that would push."""
    for surface in robot.mechanism.friction:
        forward, backward = surface.levels
        if forward < backward:
            raise SimulationError(
                f"friction of {surface_name(robot, surface)}: found {forward:g} forward and {backward:g} "
                "backward; the first must not be less than the second"
            )
