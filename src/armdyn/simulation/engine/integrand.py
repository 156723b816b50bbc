"""What is integrated, recorded for one robot and one way of driving it: q̈, powers, and sticking joints.

Dry friction at the joints is carried by modes: +1 and −1 slide that way, 0 sticks. A joint that sticks has
q̈ = 0, and `held` is the friction torque that takes; as long as it lies between the levels the joint stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from armdyn.dynamics import (
    articulated_is_possible,
    forward_dynamics,
    forward_dynamics_articulated,
    friction_torques,
    inertia_matrix,
    jacobian,
)
from armdyn.dynamics.forward import solve
from armdyn.dynamics.newton_euler import newton_euler
from armdyn.expression.functions import sign
from armdyn.kernels.loops.integrator import Integrator
from armdyn.kernels.loops.integrator_layout import Layout, Programs, Watch
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, record
from armdyn.simulation.control.laws import Given, Scalars, dot

Law: TypeAlias = Callable[[Scalars, Scalars, Given], Scalars]  # q, q̇, constants and signals -> τ
Sizes: TypeAlias = Sequence[tuple[str, int]]

WORKS = ("torque", "wrench", "friction")


@dataclass(frozen=True)
class Drive:
    """How a robot is driven: the law of its torques and what the law and the dynamics are given.

    `law` None: no torques. A constant or signal "wrench" (6) acts at the tip.
    """

    law: Law | None
    constants: Sizes = ()
    signals: Sizes = ()

    @property
    def has_wrench(self) -> bool:
        return "wrench" in [name for name, _ in (*self.constants, *self.signals)]


def tau_as_given(q: Scalars, qd: Scalars, given: Given) -> Scalars:
    """The law of torques that are not computed: they are the input "tau"."""
    return given["tau"]


def dry_joints(mechanism: Mechanism) -> list[int]:
    """The joints at which dry friction differs with direction."""
    return [f.joint for f in mechanism.friction if f.coulomb]


def without_dry_friction(mechanism: Mechanism) -> Mechanism:
    """Viscous friction and offsets stay."""
    return replace(mechanism, friction=tuple(f.smooth for f in mechanism.friction))


def works_of(mechanism: Mechanism, drive: Drive) -> tuple[str, ...]:
    """The kinds of work there are."""
    rubs = any(f.viscous or f.offset or any(f.levels) for f in mechanism.friction)
    there = {"torque": drive.law is not None, "wrench": drive.has_wrench, "friction": rubs}
    return tuple(name for name in WORKS if there[name])


def make_integrator(mechanism: Mechanism, drive: Drive, watch: Watch) -> Integrator:
    """The integrator of a robot: quadratures are the works of `works_of`, modes those of dry joints."""
    joints, works = dry_joints(mechanism), works_of(mechanism, drive)
    n, e = mechanism.n, len(joints)
    constants, signal = (sum(size for _, size in sizes) for sizes in (drive.constants, drive.signals))
    layout = Layout(n, e, len(works), constants, signal, watch)
    inputs = [("q", n), ("qd", n), ("modes", e), *drive.constants, *drive.signals]
    outputs = [("qdd", (n,)), ("held", (e,)), ("powers", (len(works),))]
    inputs = [(name, size) for name, size in inputs if size]
    outputs = [(name, shape) for name, shape in outputs if shape != (0,)]
    if not joints:
        return Integrator(Programs(_smooth(mechanism, drive, works, inputs, outputs)), layout)

    def function(*columns: Scalars) -> Any:
        given = dict(zip([name for name, _ in inputs], columns, strict=True))
        parts = _with_modes(mechanism, drive, joints, works, given)
        return parts if works else parts[:2]

    return Integrator(
        Programs(record(function, inputs, outputs), _decide(mechanism, joints), _settle(n, joints)), layout
    )


def _smooth(
    mechanism: Mechanism, drive: Drive, works: Sequence[str], inputs: Sizes, outputs: Sequence[Any]
) -> Program:
    """Without modes: factorised inertia or articulated bodies, whichever has fewer operations."""
    mechanism = without_modes(mechanism)

    def program(algorithm: Callable[..., Any]) -> Program:
        def function(*columns: Scalars) -> Any:
            given = dict(zip([name for name, _ in inputs], columns, strict=True))
            q, qd = given["q"], given["qd"]
            tau = [0] * mechanism.n if drive.law is None else drive.law(q, qd, given)
            qdd = algorithm(mechanism, q, qd, tau, given.get("wrench"))
            friction = friction_torques(mechanism, qd)
            powers = _powers(mechanism, works, given, tau, friction)
            return (qdd, powers) if works else qdd

        return record(function, inputs, outputs)

    factorised = program(forward_dynamics)
    if not articulated_is_possible(mechanism):
        return factorised
    articulated = program(forward_dynamics_articulated)
    return articulated if articulated.operations < factorised.operations else factorised


def without_modes(mechanism: Mechanism) -> Mechanism:
    """Without the dry friction that modes stand for; a joint whose two levels are equal has an offset."""
    friction = tuple(
        replace(f.smooth, offset=f.offset + (0 if f.coulomb else f.asymmetry)) for f in mechanism.friction
    )
    return replace(mechanism, friction=friction)


def _powers(
    mechanism: Mechanism, works: Sequence[str], given: Given, tau: Scalars, friction: Scalars
) -> Scalars:
    """Power of the torques and of the wrench on the arm, and power lost to friction."""
    q, qd = given["q"], given["qd"]
    powers = []
    for work in works:
        if work == "wrench":
            tip = [dot(row, qd) for row in jacobian(mechanism, q)]
            powers.append(-dot(tip, given["wrench"]))
        else:
            powers.append(dot(qd, tau if work == "torque" else friction))
    return powers


def _with_modes(
    mechanism: Mechanism, drive: Drive, joints: Sequence[int], works: Sequence[str], given: Given
) -> tuple[Scalars, Scalars, Scalars]:
    """q̈, held, powers. Sticking joints are left out of B q̈ = τ − bias − friction."""
    q, qd, modes = given["q"], given["qd"], given["modes"]
    n = mechanism.n
    tau = [0] * n if drive.law is None else drive.law(q, qd, given)
    bias = newton_euler(mechanism, q, qd, [0] * n, given.get("wrench"), friction=False).tau
    friction = friction_torques(without_modes(mechanism), qd)
    free: Scalars = [1] * n
    for j, s in zip(joints, modes, strict=True):
        f = mechanism.friction[j]
        friction[j] = friction[j] + f.coulomb * s + f.asymmetry * (s * s)
        free[j] = s * s
    net = [t - b - f for t, b, f in zip(tau, bias, friction, strict=True)]
    B = inertia_matrix(mechanism, q)
    (qdd,) = solve(B, [net], free)
    held = [net[j] - dot(B[j], qdd) for j in joints]
    return qdd, held, _powers(mechanism, works, given, tau, friction)


# ---- modes -------------------------------------------------------------------------------------------------


def _positive(x: Any) -> Any:
    """1 where x > 0, else 0."""
    return x.select(1, 0)


def _decide(mechanism: Mechanism, joints: Sequence[int]) -> Program:
    """The modes of joints at rest that contradict their q̈ or friction, exchanged.

    A sticking joint that needs more friction than there is slides that way; one that is to slide but would
    go the other way sticks. Exchanging all at once settles in a round or two; when it does not, changing
    only the first (Murty's least-index rule, input `late`) ends after finitely many rounds, because the
    inverse of B is positive definite.
    """
    n, e = mechanism.n, len(joints)
    levels = [f.levels for f in mechanism.friction]

    def function(qd: Scalars, modes: Scalars, qdd: Scalars, held: Scalars, late: Scalars) -> Any:
        changed: Any = 0
        new: Scalars = []
        for j, s, f in zip(joints, modes, held, strict=True):
            forward, backward = levels[j]
            released = _positive(f - forward) - _positive(backward - f)
            sliding = s * (1 - _positive(-(s * qdd[j])))
            speed = sign(qd[j])
            wanted = (1 - speed * speed).select((1 - s * s).select(released, sliding), s)
            differs = (wanted - s) * (wanted - s)
            allowed = differs * (1 - late[0] * changed)
            new.append(allowed.select(wanted, s))
            changed = 1 - (1 - changed) * (1 - allowed)
        return new, [changed]

    inputs = [("qd", n), ("modes", e), ("qdd", n), ("held", e), ("late", 1)]
    return record(function, inputs, [("modes", (e,)), ("changed", (1,))])


def _settle(n: int, joints: Sequence[int]) -> Program:
    """After a step: a joint that has come to move against its mode has passed zero; it sticks there."""

    def function(qd: Scalars, modes: Scalars) -> Any:
        speeds, new = list(qd), []
        for j, s in zip(joints, modes, strict=True):
            passed = -(s * qd[j])
            speeds[j] = passed.select(0, qd[j])
            new.append(passed.select(0, s))
        return speeds, new

    e = len(joints)
    return record(function, [("qd", n), ("modes", e)], [("qd", (n,)), ("modes", (e,))])
