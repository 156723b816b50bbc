"""Forward dynamics by articulated bodies, O(n), with rotors on their joint's parent link.

Featherstone's recursion, extended to exact rotors: the rotor of joint i on its parent p adds k Im z to what
the joint's acceleration does to the parent, and k² Im to what it does to itself. With A_p the parent's
acceleration

    q̈_i = (u − wᵀX A_p)/d     w = Iᴬs + k Im z     d = sᵀIᴬs + k² Im     u = τ_i − sᵀ(pᴬ + Iᴬc)

and the parent takes over Xᵀ(Iᴬ − w wᵀ/d)X and Xᵀ(pᴬ + Iᴬc + w u/d) + k Im q̇ ω_p × z. Spatial vectors are
linear over angular, in body axes, about the joint's place on the parent, where s has one half zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armdyn.dynamics.forward import over_inertia
from armdyn.dynamics.friction import rigid_of
from armdyn.dynamics.kinematics import JointFrame, joint_frames, wrenches_on_bodies
from armdyn.dynamics.springs import spring_torques
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    multiply,
    neg,
    scale,
    transpose,
    vector,
)

Spatial = tuple[Vector, Vector]  # (linear, angular) acceleration or (force, moment)


@dataclass(frozen=True)
class Articulated:
    """A symmetric 6×6 inertia [[M, H], [Hᵀ, J]] from (linear, angular) to (force, moment)."""

    M: Matrix
    H: Matrix
    J: Matrix

    @staticmethod
    def of(inertia: Inertia) -> Articulated:
        m, (x, y, z) = inertia.mass, inertia.moment
        H: Matrix = ((0, z, -y), (-z, 0, x), (y, -x, 0))  # the force of an angular acceleration is α × h
        return Articulated(((m, 0, 0), (0, m, 0), (0, 0, m)), H, inertia.matrix)

    def __call__(self, a: Spatial) -> Spatial:
        linear, angular = a
        force = add(apply(self.M, linear), apply(self.H, angular))
        return force, add(apply_transposed(self.H, linear), apply(self.J, angular))

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(_sum(self.M, other.M), _sum(self.H, other.H), _sum(self.J, other.J))

    def without(self, w: Spatial, factor: Scalar) -> Articulated:
        """This − factor · w wᵀ."""
        (f, n), sf, sn = w, scale(factor, w[0]), scale(factor, w[1])
        return Articulated(
            _symmetric(lambda i, j: self.M[i][j] - sf[i] * f[j]),
            vector(vector(self.H[i][j] - sf[i] * n[j] for j in range(3)) for i in range(3)),
            _symmetric(lambda i, j: self.J[i][j] - sn[i] * n[j]),
        )

    def turned(self, R: Matrix) -> Articulated:
        """In the axes of the parent."""
        RM, RJ = multiply(R, self.M), multiply(R, self.J)
        return Articulated(
            _symmetric(lambda i, j: dot(RM[i], R[j])),
            multiply(multiply(R, self.H), transpose(R)),
            _symmetric(lambda i, j: dot(RJ[i], R[j])),
        )

    def moved(self, p: Vector) -> Articulated:
        """About an origin from which the old one is at p: H + p × M, J + S H' + (S H)ᵀ with S = S(p)."""
        H = vector(add(self.H[i], cross(p, self.M[i])) for i in range(3))
        SH = [cross(p, column) for column in transpose(self.H)]  # columns
        SH_new = [cross(p, column) for column in transpose(H)]
        return Articulated(self.M, H, _symmetric(lambda i, j: self.J[i][j] + SH[i][j] + SH_new[j][i]))


def _sum(A: Matrix, B: Matrix) -> Matrix:
    return vector(add(a, b) for a, b in zip(A, B, strict=True))


def _symmetric(entry: Callable[[int, int], Scalar]) -> Matrix:
    """A symmetric matrix from its upper triangle."""
    upper = {(i, j): entry(i, j) for i in range(3) for j in range(i, 3)}
    return vector(vector(upper[min(i, j), max(i, j)] for j in range(3)) for i in range(3))


def articulated_is_possible(mechanism: Mechanism) -> bool:
    """Whether joints are independent and every motor sits on its joint's parent and turns with it alone."""
    return not (mechanism.rows or mechanism.loops) and all(
        rotor.part == "rotor"
        and rotor.carrier == mechanism.bodies[rotor.joint].parent
        and [j for j, _ in rotor.row] == [rotor.joint]
        for rotor in mechanism.rotors
    )


def forward_dynamics_articulated(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Joint accelerations under torques, as (7.115), without the inertia matrix."""
    joints = joint_frames(mechanism, q)
    places = _places(mechanism, joints)
    w, c = _velocities(mechanism, joints, places, qd)
    inertia = [
        Articulated.of(body.inertia.translated(joint.r))
        for body, joint in zip(mechanism.bodies, joints, strict=True)
    ]
    bias = [
        _bias(body.inertia.translated(joint.r), w_i)
        for body, joint, w_i in zip(mechanism.bodies, joints, w, strict=True)
    ]
    if wrench is not None:
        for place, force, moment in wrenches_on_bodies(mechanism, joints, wrench):
            arm = add(joints[place.body].r, place.p)
            f, n = bias[place.body]
            bias[place.body] = (add(f, force), add(n, moment, cross(arm, force)))
    applied = rigid_of(mechanism, qd, tau, q)
    if mechanism.springs or mechanism.struts:
        applied = [t - s for t, s in zip(applied, spring_torques(mechanism, q), strict=True)]
    solved = _backward(mechanism, joints, places, w, c, qd, applied, inertia, bias)
    return _forward(mechanism, joints, places, c, solved)


def _places(mechanism: Mechanism, joints: Sequence[JointFrame]) -> list[Vector]:
    """From the parent's joint to the joint, parent axes."""
    return [
        body.p_before if body.parent == FIXED_BASE else add(joints[body.parent].r, body.p_before)
        for body in mechanism.bodies
    ]


def _velocities(
    mechanism: Mechanism, joints: Sequence[JointFrame], places: Sequence[Vector], qd: Sequence[Scalar]
) -> tuple[list[Vector], list[Spatial]]:
    """ω_i and the accelerations c_i that speed alone brings about."""
    w: list[Vector] = []
    c: list[Spatial] = []
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        w_p = ZERO3 if body.parent == FIXED_BASE else w[body.parent]
        turned = apply_transposed(joint.R, w_p)
        centripetal = apply_transposed(joint.R, cross(w_p, cross(w_p, places[i])))
        motion = scale(qd[i], joint.z)
        if body.joint == "revolute":
            w.append(add(turned, motion))
            c.append((centripetal, cross(turned, motion)))
        else:
            w.append(turned)
            c.append((add(centripetal, scale(2, cross(turned, motion))), ZERO3))
    return w, c


def _bias(inertia: Inertia, w: Vector) -> Spatial:
    """Force and moment of a body that only turns: ω × (ω × h), ω × Îω."""
    return cross(w, cross(w, inertia.moment)), cross(w, apply(inertia.matrix, w))


@dataclass(frozen=True)
class _Solved:
    """What the forward sweep needs of a joint: q̈ = (u − wᵀ X A_p)/d."""

    w: Spatial
    u: Scalar
    inverse: Scalar  # 1/d


def _backward(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    places: Sequence[Vector],
    w: Sequence[Vector],
    c: Sequence[Spatial],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    inertia: list[Articulated],
    bias: list[Spatial],
) -> list[_Solved]:
    """From the tips to the base; `inertia` and `bias` gather what each joint carries."""
    rotors = {rotor.joint: rotor for rotor in mechanism.rotors}
    solved: list[_Solved] = [_Solved((ZERO3, ZERO3), 0, 0)] * mechanism.n
    for i in reversed(range(mechanism.n)):
        body, joint = mechanism.bodies[i], joints[i]
        carried = inertia[i](c[i])
        p: Spatial = (add(bias[i][0], carried[0]), add(bias[i][1], carried[1]))
        s: Spatial = (ZERO3, joint.z) if body.joint == "revolute" else (joint.z, ZERO3)
        column = inertia[i](s)
        d, u = _along(s, column), tau[i] - _along(s, p)
        gyroscopic = ZERO3
        if i in rotors:
            rotor = rotors[i]
            ((_, k),) = rotor.row
            momentum = scale(k * rotor.inertia, rotor.axis)
            column = (column[0], add(column[1], apply_transposed(joint.R, momentum)))
            d = d + rotor.inertia * (k * k)
            if body.parent != FIXED_BASE:
                gyroscopic = scale(qd[i], cross(w[body.parent], momentum))
        solved[i] = _Solved(column, u, over_inertia(1, d, i))
        if body.parent != FIXED_BASE:
            rest = inertia[i].without(column, solved[i].inverse).turned(joint.R).moved(places[i])
            inertia[body.parent] = inertia[body.parent] + rest
            share = u * solved[i].inverse
            f = apply(joint.R, add(p[0], scale(share, column[0])))
            n = apply(joint.R, add(p[1], scale(share, column[1])))
            f_p, n_p = bias[body.parent]
            bias[body.parent] = (add(f_p, f), add(n_p, n, cross(places[i], f), gyroscopic))
    return solved


def _along(s: Spatial, f: Spatial) -> Scalar:
    return dot(s[0], f[0]) + dot(s[1], f[1])


def _forward(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    places: Sequence[Vector],
    c: Sequence[Spatial],
    solved: Sequence[_Solved],
) -> list[Scalar]:
    """From the base to the tips: accelerations, gravity included as p̈_0 = −g_0."""
    A: list[Spatial] = []
    qdd: list[Scalar] = []
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        a_p, alpha_p = (neg(mechanism.gravity), ZERO3) if body.parent == FIXED_BASE else A[body.parent]
        linear = apply_transposed(joint.R, add(a_p, cross(alpha_p, places[i])))
        angular = apply_transposed(joint.R, alpha_p)
        qdd_i = (solved[i].u - _along(solved[i].w, (linear, angular))) * solved[i].inverse
        qdd.append(qdd_i)
        linear, angular = add(linear, c[i][0]), add(angular, c[i][1])
        motion = scale(qdd_i, joint.z)
        revolute = body.joint == "revolute"
        A.append((linear, add(angular, motion)) if revolute else (add(linear, motion), angular))
    return qdd
