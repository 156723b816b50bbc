"""The regressor Y(q, q̇, q̈) with τ = Y π (7.80)–(7.81): Newton–Euler's backward pass with unit parameters."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.kinematics import JointFrame, ancestors
from armdyn.dynamics.newton_euler import newton_euler, point_acceleration
from armdyn.expression.functions import sign
from armdyn.model.friction import TERMS, along
from armdyn.model.inertia import tensor_matrix
from armdyn.model.mechanism import FIXED_BASE, Extra, Mechanism
from armdyn.model.vector import IDENTITY, ZERO3, Scalar, Vector, add, apply, cross, dot, scale

PER_JOINT = 13
_UNIT_TENSORS = [
    tensor_matrix(row)
    for row in (
        (1, 0, 0, 0, 0, 0),
        (0, 1, 0, 0, 0, 0),
        (0, 0, 1, 0, 0, 0),
        (0, 0, 0, 1, 0, 0),
        (0, 0, 0, 0, 1, 0),
        (0, 0, 0, 0, 0, 1),
    )
]


def regressor(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    further: Sequence[Extra] = (),
) -> list[list[Scalar]]:
    """Y, n×p: 13 columns a joint (ten of the augmented link, Im, Fv, Fs), then one per extra parameter."""
    n = mechanism.n
    Y: list[list[Scalar]] = [[0] * (PER_JOINT * n + len(further)) for _ in range(n)]
    motion = newton_euler(mechanism, q, qd, qdd, friction=False)
    for j in range(n):
        for k, (f, m) in enumerate(_unit_wrenches(motion.w[j], motion.dw[j], motion.a[j])):
            _spread(mechanism, motion.joints, j, f, m, Y, PER_JOINT * j + k)
        Y[j][PER_JOINT * j + 11] = qd[j]
        Y[j][PER_JOINT * j + 12] = sign(qd[j])
    for rotor in mechanism.rotors:
        column = PER_JOINT * rotor.joint + 10
        speed, acceleration = along(rotor.row, qd), along(rotor.row, qdd)
        w_c, dw_c = (
            (ZERO3, ZERO3)
            if rotor.carrier == FIXED_BASE
            else (motion.w[rotor.carrier], motion.dw[rotor.carrier])
        )
        rate = add(scale(acceleration, rotor.axis), scale(speed, cross(w_c, rotor.axis)))
        _spread(mechanism, motion.joints, rotor.carrier, ZERO3, rate, Y, column)
        for j, k_j in rotor.row:
            Y[j][column] = Y[j][column] + k_j * (acceleration + dot(rotor.axis, dw_c))
    for i, extra in enumerate(further):
        _extra_column(mechanism, extra, qd, Y, PER_JOINT * n + i)
    return Y


def _unit_wrenches(w: Vector, dw: Vector, a: Vector) -> list[tuple[Vector, Vector]]:
    """Force and moment about the origin of a body with one of its ten parameters 1 and the others 0."""
    wrenches = [(a, ZERO3)]
    wrenches += [(point_acceleration(w, dw, e), cross(e, a)) for e in IDENTITY]
    wrenches += [(ZERO3, add(apply(U, dw), cross(w, apply(U, w)))) for U in _UNIT_TENSORS]
    return wrenches


def _spread(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    body: int,
    f: Vector,
    m: Vector,
    Y: list[list[Scalar]],
    column: int,
) -> None:
    """Carry a wrench about a body's origin to the base, noting what each joint feels."""
    for i in ancestors(mechanism, body):
        joint = joints[i]
        mu = add(m, cross(joint.r, f))
        felt = dot(joint.z, mu if mechanism.bodies[i].joint == "revolute" else f)
        Y[i][column] = Y[i][column] + felt
        f = apply(joint.R, f)
        m = add(apply(joint.R, mu), cross(mechanism.bodies[i].p_before, f))


def _extra_column(
    mechanism: Mechanism, extra: Extra, qd: Sequence[Scalar], Y: list[list[Scalar]], column: int
) -> None:
    surface = mechanism.friction[extra.joint]
    if extra.kind.startswith("motor_"):
        surface = next(f for f in mechanism.coupled_friction if f.joint == extra.joint)
    speed = surface.speed(qd)
    for j, k in surface.row:
        Y[j][column] = k * TERMS[extra.kind.removeprefix("motor_")](speed, sign(speed))
