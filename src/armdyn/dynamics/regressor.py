"""The regressor Y(q, q̇, q̈) with τ = Y π (7.80)–(7.81): Newton–Euler's backward pass with unit parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from armdyn.dynamics.closures import Following, of_joints
from armdyn.dynamics.kinematics import JointFrame, ancestors
from armdyn.dynamics.newton_euler import (
    BaseMotion,
    NewtonEuler,
    carrier_motion,
    newton_euler,
    point_acceleration,
)
from armdyn.dynamics.springs import Shares, spring_columns
from armdyn.model.friction import TERMS, Surface, along
from armdyn.model.inertia import ENTRIES, TENSOR_KEYS, tensor, tensor_matrix
from armdyn.model.mechanism import Mechanism, Rotor
from armdyn.model.parameters import Parameter
from armdyn.model.vector import IDENTITY, ZERO3, Scalar, Vector, add, apply, cross, dot, scale

Column = Iterator[tuple[int, Scalar]]  # (i, y): joint i feels y; a joint may come more than once
UNIT_TENSORS = [tensor_matrix(tensor(int(k == key) for k in TENSOR_KEYS)) for key in TENSOR_KEYS]


def regressor(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    layout: Sequence[Parameter],
) -> list[list[Scalar]]:
    """Y, n×p: a column for each parameter of the layout, the torques where it is 1 and the others 0.

    So the columns of load friction, whose torque is a product of parameters, are zero: Y π is the torque
    without it.
    """
    return with_friction(_of_inertias(mechanism, q, qd, qdd, layout), mechanism, layout, q, qd)


def with_friction(
    Y: list[list[Scalar]],
    mechanism: Mechanism,
    layout: Sequence[Parameter],
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    sliding: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Y with the columns of friction at velocities q̇; of dry friction at velocities `sliding`, if given."""
    following = Following(mechanism, q) if mechanism.loops else None
    if following is not None:
        qd = following.velocities(qd)
        sliding = None if sliding is None else following.velocities(sliding)
    surfaces = {(surface.part, surface.joint): surface for surface in mechanism.friction}
    for p, parameter in enumerate(layout):
        joint, part, term = parameter.joint, parameter.kind.part, parameter.kind.entry
        if part in ("joint", "motor", "idler", "damper") and term in TERMS:
            surface = surfaces[part, joint]
            jumps = TERMS[term].jumps and not surface.is_rounded
            velocities = sliding if sliding is not None and jumps else qd
            felt_there: list[Scalar] = [0] * mechanism.positions
            for i, y in _of_friction(surface, term, velocities):
                felt_there[i] = felt_there[i] + y
            for i, y in enumerate(felt_there if following is None else following.gathered(felt_there)):
                Y[i][p] = Y[i][p] + y
    return Y


@of_joints(3, "torques")
def _of_inertias(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    layout: Sequence[Parameter],
) -> list[list[Scalar]]:
    """Y with zeros in the columns of friction."""
    motion = newton_euler(mechanism, q, qd, qdd)
    wrenches = [
        dict(zip(ENTRIES, _unit_wrenches(*of_body), strict=True))
        for of_body in zip(motion.w, motion.dw, motion.a, strict=True)
    ]
    return columns_of(
        mechanism,
        layout,
        lambda body, entry: felt(mechanism, motion.joints, body, *wrenches[body][entry]),
        lambda rotor: _of_rotor(mechanism, motion, rotor, qd, qdd),
        spring_columns(mechanism, q, layout),
    )


def columns_of(
    mechanism: Mechanism,
    layout: Sequence[Parameter],
    of_body: Callable[[int, str], Column],
    of_rotor: Callable[[Rotor], Column],
    of_springs: Mapping[tuple[str, int, str], Shares],
) -> list[list[Scalar]]:
    """Y by columns: of bodies and springs by their entries, of rotors; zeros for what is not there."""
    rotors: dict[tuple[str, int], Rotor] = {(rotor.part, rotor.joint): rotor for rotor in mechanism.rotors}
    Y: list[list[Scalar]] = [[0] * len(layout) for _ in range(mechanism.n)]
    for p, parameter in enumerate(layout):
        joint = parameter.joint
        column: Column = iter(())
        match parameter.kind.part:
            case "body":
                column = of_body(joint, parameter.kind.entry)
            case part if parameter.kind.entry == "inertia" and (part, joint) in rotors:
                column = of_rotor(rotors[part, joint])
            case part if (part, joint, parameter.kind.entry) in of_springs:
                column = iter(of_springs[part, joint, parameter.kind.entry])
        for i, y in column:
            Y[i][p] = Y[i][p] + y
    return Y


def _unit_wrenches(w: Vector, dw: Vector, a: Vector) -> list[tuple[Vector, Vector]]:
    """Force and moment about the origin of a body with one of its parameters 1 and the others 0."""
    wrenches = [(a, ZERO3)]
    wrenches += [(point_acceleration(w, dw, e), cross(e, a)) for e in IDENTITY]
    wrenches += [(ZERO3, add(apply(U, dw), cross(w, apply(U, w)))) for U in UNIT_TENSORS]
    return wrenches


def felt(mechanism: Mechanism, joints: Sequence[JointFrame], body: int, f: Vector, m: Vector) -> Column:
    """Torques (i, τ_i) of a wrench about a body's origin, at the joints from the body to the base."""
    for i in ancestors(mechanism, body):
        joint = joints[i]
        mu = add(m, cross(joint.r, f))
        yield i, dot(joint.z, mu if mechanism.bodies[i].joint == "revolute" else f)
        f = apply(joint.R, f)
        m = add(apply(joint.R, mu), cross(mechanism.bodies[i].p_before, f))


def _of_rotor(
    mechanism: Mechanism,
    motion: NewtonEuler,
    rotor: Rotor,
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
) -> Column:
    """A rotor with inertia 1: its momentum's rate on its carrier, its torque on the joints of its row."""
    w, dw = carrier_motion(rotor.carrier, motion.w, motion.dw, BaseMotion())
    speed, acceleration = along(rotor.row, qd), along(rotor.row, qdd)
    rate = add(scale(acceleration, rotor.axis), scale(speed, cross(w, rotor.axis)))
    yield from felt(mechanism, motion.joints, rotor.carrier, ZERO3, rate)
    for j, k in rotor.row:
        yield j, k * (acceleration + dot(rotor.axis, dw))


def _of_friction(surface: Surface, term: str, qd: Sequence[Scalar]) -> Column:
    speed = surface.speed(qd)
    for j, k in surface.row:
        yield j, k * TERMS[term].of(surface.sliding(speed))
