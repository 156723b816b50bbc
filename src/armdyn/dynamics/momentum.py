"""The momenta p = B q̇ and Cᵀ q̇, with Christoffel's C: equations of motion without accelerations.

As Ḃ = C + Cᵀ, the equations (7.42) are ṗ = τ + Cᵀ q̇ − g − springs − friction. Both come from one pass of
velocities to the tips and one of momenta to the base. Let l and L be the linear momentum of all that joint i
moves, and its angular momentum about a point c of the axis. Then p_i is zᵀL, or zᵀl of a sliding joint. And
(Cᵀ q̇)_i = ∂T/∂q_i: where q_i grows, the bodies beyond see the velocities v_c and ω turned back, so that

    ∂T/∂q_i = lᵀ (v_c × z) + Lᵀ (ω × z),        lᵀ (ω × z) of a sliding joint.

Both are linear in the parameters of the bodies and rotors: see `momentum_regressor`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from armdyn.dynamics.closures import Following, inner, of_joints
from armdyn.dynamics.kinematics import JointFrame, ancestors, joint_frames, velocities
from armdyn.dynamics.newton_euler import backward
from armdyn.dynamics.regressor import UNIT_TENSORS, columns_of
from armdyn.model.friction import along
from armdyn.model.inertia import ENTRIES
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.parameters import Parameter
from armdyn.model.vector import (
    IDENTITY,
    ZERO3,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    scale,
)

Both: TypeAlias = Iterator[tuple[int, Scalar, Scalar]]  # (i, p_i, ∂T/∂q_i); a joint may come more than once
Turned: TypeAlias = tuple[
    Vector, Vector
]  # what l and L of all beyond a joint are multiplied with: v_c × z and ω × z


def momentum(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """B q̇ and Cᵀ q̇, (n) each."""
    p, d = _at_coordinates(_momentum, mechanism, q, qd)
    return p, d


def momentum_regressor(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], layout: Sequence[Parameter]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Y_p and Y_d, n×p each: Y_p π = B q̇ and Y_d π = Cᵀ q̇; zeros but for bodies and rotors."""
    columns = [_at_coordinates(_column, mechanism, q, qd, parameter) for parameter in layout]
    Y_p, Y_d = ([list(row) for row in zip(*part, strict=True)] for part in zip(*columns, strict=True))
    return Y_p, Y_d


def _at_coordinates(
    algorithm: Callable[..., list[list[Scalar]]],
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    *others: Any,
) -> list[list[Scalar]]:
    """p and ∂T/∂q by an algorithm; with closed chains x moves all positions, ẏ = S ẋ, which adds Ṡᵀp."""
    if not mechanism.loops:
        return algorithm(mechanism, q, qd, *others)
    following = Following(mechanism, q)
    yd = following.velocities(qd)
    p, d = algorithm(mechanism.without_loops(), q, yd, *others)
    n = mechanism.n
    rates = [following.rate(yd, following.velocities([int(i == j) for j in range(n)])) for i in range(n)]
    turning = [x + inner(p, rate) for x, rate in zip(following.gathered(d), rates, strict=True)]
    return [following.gathered(p), turning]


@of_joints(2, "columns")
def _momentum(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    joints = joint_frames(mechanism, q)
    w, v = velocities(mechanism, joints, qd)
    f: list[Vector] = []
    n: list[Vector] = []
    for body, w_i, v_i in zip(mechanism.bodies, w, v, strict=True):
        m, h = body.inertia.mass, body.inertia.moment
        f.append(add(scale(m, v_i), cross(w_i, h)))
        n.append(add(apply(body.inertia.matrix, w_i), cross(h, v_i)))
    spins = [_spin(rotor, w, qd) for rotor in mechanism.rotors]
    for rotor, (speed, _) in zip(mechanism.rotors, spins, strict=True):
        if rotor.carrier != FIXED_BASE:
            own = scale(rotor.inertia * speed, rotor.axis)
            n[rotor.carrier] = add(n[rotor.carrier], own)
    L, p = backward(mechanism, joints, f, n)
    turned = zip(f, L, _turned(mechanism, joints, w, v), strict=True)
    d = [dot(f_i, a) + dot(L_i, b) for f_i, L_i, (a, b) in turned]
    for rotor, (_, whole) in zip(mechanism.rotors, spins, strict=True):
        for j, k in rotor.row:
            p[j] = p[j] + k * (rotor.inertia * whole)
    return [p, d]


@of_joints(2, "columns")
def _column(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], parameter: Parameter
) -> list[list[Scalar]]:
    """The columns of a parameter in Y_p and Y_d, by joint."""
    joints = joint_frames(mechanism, q)
    w, v = velocities(mechanism, joints, qd)
    turned = _turned(mechanism, joints, w, v)

    def of_body(body: int, entry: str) -> Both:
        own = _unit_momenta(w[body], v[body])[ENTRIES.index(entry)]
        return _felt(mechanism, joints, turned, body, *own)

    def of_rotor(rotor: Rotor) -> Both:
        speed, whole = _spin(rotor, w, qd)
        yield from _felt(mechanism, joints, turned, rotor.carrier, ZERO3, scale(speed, rotor.axis))
        for j, k in rotor.row:
            yield j, k * whole, 0

    def columns(which: int) -> list[Scalar]:
        Y = columns_of(
            mechanism,
            [parameter],
            lambda body, entry: ((x[0], x[which]) for x in of_body(body, entry)),
            lambda rotor: ((x[0], x[which]) for x in of_rotor(rotor)),
            {},
        )
        return [y for (y,) in Y]

    return [columns(1), columns(2)]


def _unit_momenta(w: Vector, v: Vector) -> list[tuple[Vector, Vector]]:
    """Linear and angular momentum about the origin of a body with one parameter 1 and the others 0."""
    found = [(v, ZERO3)]
    found += [(cross(w, e), cross(e, v)) for e in IDENTITY]
    return found + [(ZERO3, apply(U, w)) for U in UNIT_TENSORS]


def _felt(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    turned: Sequence[Turned],
    body: int,
    f: Vector,
    m: Vector,
) -> Both:
    """(i, p_i, ∂T/∂q_i) of momenta about a body's origin, at the joints from the body to the base."""
    for i in ancestors(mechanism, body):
        joint, (a, b) = joints[i], turned[i]
        mu = add(m, cross(joint.r, f))
        revolute = mechanism.bodies[i].joint == "revolute"
        yield i, dot(joint.z, mu if revolute else f), dot(f, a) + dot(mu, b)
        f = apply(joint.R, f)
        m = add(apply(joint.R, mu), cross(mechanism.bodies[i].p_before, f))


def _turned(
    mechanism: Mechanism, joints: Sequence[JointFrame], w: Sequence[Vector], v: Sequence[Vector]
) -> list[Turned]:
    """v_c × z and ω × z of each joint; of one that slides ω × z and 0."""
    found = []
    for body, joint, w_i in zip(mechanism.bodies, joints, w, strict=True):
        turning = cross(w_i, joint.z)
        if body.joint != "revolute":
            found.append((turning, ZERO3))
            continue
        w_p, v_p = (ZERO3, ZERO3) if body.parent == FIXED_BASE else (w[body.parent], v[body.parent])
        v_c = apply_transposed(joint.R, add(v_p, cross(w_p, body.p_before)))
        found.append((cross(v_c, joint.z), turning))
    return found


def _spin(rotor: Rotor, w: Sequence[Vector], qd: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """Speed of a rotor against its carrier, and its whole speed about its axis."""
    speed = along(rotor.row, qd)
    carrier = ZERO3 if rotor.carrier == FIXED_BASE else w[rotor.carrier]
    return speed, speed + dot(rotor.axis, carrier)
