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
    rows = _at_coordinates(_momentum, mechanism, q, qd)
    return [p for p, _ in rows], [d for _, d in rows]


def momentum_regressor(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], layout: Sequence[Parameter]
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Y_p and Y_d, n×p each: Y_p π = B q̇ and Y_d π = Cᵀ q̇; zeros but for bodies and rotors."""
    rows = _at_coordinates(_columns, mechanism, q, qd, layout)
    size = len(layout)
    return [row[:size] for row in rows], [row[size:] for row in rows]


def _at_coordinates(
    algorithm: Callable[..., list[list[Scalar]]],
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    *others: Any,
) -> list[list[Scalar]]:
    """Rows of momenta, then of ∂T/∂q; with closed chains x moves all positions, ẏ = S ẋ, which adds Ṡᵀp."""
    if not mechanism.loops:
        return algorithm(mechanism, q, qd, *others)
    following, n = Following(mechanism, q), mechanism.n
    yd = following.velocities(qd)
    rates = [following.rate(yd, following.velocities([int(i == j) for j in range(n)])) for i in range(n)]
    columns = list(zip(*algorithm(mechanism.without_loops(), q, yd, *others), strict=True))
    half = len(columns) // 2
    found = [following.gathered(column) for column in columns]
    for k, p in enumerate(columns[:half]):
        pairs = zip(found[half + k], rates, strict=True)
        found[half + k] = [d + inner(p, rate) for d, rate in pairs]
    return [list(row) for row in zip(*found, strict=True)]


@of_joints(2, "torques")
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
    return [list(pair) for pair in zip(p, d, strict=True)]


@of_joints(2, "torques")
def _columns(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], layout: Sequence[Parameter]
) -> list[list[Scalar]]:
    """Rows of Y_p, then of Y_d."""
    joints = joint_frames(mechanism, q)
    w, v = velocities(mechanism, joints, qd)
    turned = _turned(mechanism, joints, w, v)
    unit = [_unit_momenta(*of_body) for of_body in zip(w, v, strict=True)]

    def of_body(body: int, entry: str) -> Both:
        return _felt(mechanism, joints, turned, body, *unit[body][ENTRIES.index(entry)])

    def of_rotor(rotor: Rotor) -> Both:
        speed, whole = _spin(rotor, w, qd)
        yield from _felt(mechanism, joints, turned, rotor.carrier, ZERO3, scale(speed, rotor.axis))
        for j, k in rotor.row:
            yield j, k * whole, 0

    def columns(which: int) -> list[list[Scalar]]:
        return columns_of(
            mechanism,
            layout,
            lambda body, entry: ((x[0], x[which]) for x in of_body(body, entry)),
            lambda rotor: ((x[0], x[which]) for x in of_rotor(rotor)),
            {},
        )

    return [p + d for p, d in zip(columns(1), columns(2), strict=True)]


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
