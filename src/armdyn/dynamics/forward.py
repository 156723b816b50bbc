"""Forward dynamics q̈ = B⁻¹(τ − τ') (7.115)–(7.116), as in section 7.6, also with surfaces that stick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from armdyn.dynamics.friction import has_load, rigid_of
from armdyn.dynamics.inertia_matrix import inertia_matrix
from armdyn.dynamics.kinematics import JointFrame, joint_frames, wrenches_on_bodies
from armdyn.dynamics.newton_euler import BaseMotion, in_base_axes, inverse_dynamics, rigid_torques
from armdyn.dynamics.springs import spring_torques
from armdyn.expression.functions import select
from armdyn.model import ModelError
from armdyn.model.friction import Row, along
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
    scale,
    sub,
    transpose,
    vector,
)


def forward_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """Joint accelerations under torques: τ' is Newton–Euler with q̈ = 0, friction and tip wrench included.

    Load friction depends on the torque without friction, not on τ': it is divided out of τ first.
    """
    still = [0] * mechanism.n
    if has_load(mechanism):
        tau, bias = rigid_of(mechanism, qd, tau, q), rigid_torques(mechanism, q, qd, still, wrench, base)
    else:
        bias = inverse_dynamics(mechanism, q, qd, still, wrench, base)
    (qdd,) = solve(inertia_matrix(mechanism, q), [[t - b for t, b in zip(tau, bias, strict=True)]])
    return qdd


def over_inertia(x: Scalar, inertia: Scalar, joint: int) -> Scalar:
    """x / inertia; an inertia that is the number zero is refused."""
    try:
        return x / inertia
    except ZeroDivisionError:
        raise ModelError(
            f"joint {joint + 1} moves no inertia: its acceleration under a torque is not determined"
        ) from None


def solve(
    B: list[list[Scalar]],
    columns: Sequence[Sequence[Scalar]],
    free: Sequence[Scalar] | None = None,
    least: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Solve B x = b for symmetric positive definite B and several b by LᵀDL, without pivoting.

    From the last row to the first: joints stand after those that carry them, so that zeros between the
    branches of a tree stay zero. With `free`, only rows where it is 1 are solved; where it is 0, x is: such a
    row, its 1/d being zero, neither gives nor takes in the elimination. With `least`, so are rows whose pivot
    d is not greater: B may be semidefinite then.
    """
    factors = factorised(B, free, least)
    return [substituted(*factors, column) for column in columns]


def factorised(
    B: list[list[Scalar]], free: Sequence[Scalar] | None = None, least: Sequence[Scalar] | None = None
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """L and 1/d with B = L D Lᵀ; L is upper triangular with ones on the diagonal, which are left out.

    Sums end with what was found last, so that a processor can begin them before it is known.
    """
    n = len(B)
    L: list[list[Scalar]] = [[0] * n for _ in range(n)]
    D: list[Scalar] = [0] * n
    for i in reversed(range(n)):
        LD: list[Scalar] = [0] * n  # L_ij d_j
        for j in reversed(range(i + 1, n)):
            LD[j] = B[i][j]
            for k in reversed(range(j + 1, n)):
                LD[j] = LD[j] - LD[k] * L[j][k]
            L[i][j] = LD[j] * D[j]
        pivot = B[i][i]
        for k in reversed(range(i + 1, n)):
            pivot = pivot - L[i][k] * LD[k]
        one = 1 if free is None else free[i]
        if least is not None:
            one = select(pivot - least[i], one, 0)
            pivot = select(one, pivot, 1)
        D[i] = over_inertia(one, pivot, i)
    return L, D


def substituted(L: list[list[Scalar]], D: list[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """x with L D Lᵀ x = b, from what `factorised` gives: L and 1/d."""
    n = len(b)
    x: list[Scalar] = list(b)
    for i in reversed(range(n)):
        for k in reversed(range(i + 1, n)):
            x[i] = x[i] - L[i][k] * x[k]
    x = [x_i * d for x_i, d in zip(x, D, strict=True)]
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[k][i] * x[k]
    return x


# ------------------------------------------------------------------------------------------------------------
# Accelerations under constraints: surfaces that stick, over any scalar.
#
# Where a surface with the row a_e sticks, its speed a_e · q̇ stays 0, and its friction f_e is what this
# takes:
#
#     B q̈ = net − Σ a_e f_e,    a_e · q̈ = 0 where surface e sticks,    f_e = 0 where it does not.
#
# A row with one entry is a joint: where it sticks, the joint is left out of the elimination of B, and its
# friction follows from its line of the equation. The other rows A remain. With B⁻¹ that of the joints left,
#
#     q̈ = a₀ − Z f,    a₀ = B⁻¹ net,    Z = B⁻¹ Aᵀ,    G f = A a₀,    G = A Z,
#
# for the rows that stick. A row that depends on others that stick (a motor, all of whose joints stick) has a
# pivot of zero in the elimination of G; it is left out, and its friction counts as zero. The mask is made of
# numbers, so that all of this can be recorded.


DEPENDENT = 1e-10  # of a row's size in G: a pivot less than this is zero
ROUNDING = 1e-12  # of the terms of a sum: a sum less than this is zero


def constrained(
    B: list[list[Scalar]], net: Sequence[Scalar], rows: Sequence[Row], sticks: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """q̈ (n) and f (one a row); `sticks` is 1 where a row sticks, else 0. Elsewhere f is zero by rounding."""
    n = len(B)
    free: list[Scalar] = [1] * n
    for row, stick in zip(rows, sticks, strict=True):
        if len(row) == 1:
            free[row[0][0]] = 1 - stick
    several = {e: [dict(row).get(j, 0) for j in range(n)] for e, row in enumerate(rows) if len(row) > 1}
    qdd, *Z = solve(B, [net, *several.values()], free)
    rest = list(net)  # what joints that stick hold
    forces: dict[int, Scalar] = {}
    if several:
        G = [[along(rows[e], column) for column in Z] for e in several]
        least = [DEPENDENT * sum(k * k / B[j][j] for j, k in rows[e]) for e in several]
        (found,) = solve(G, [[along(rows[e], qdd) for e in several]], [sticks[e] for e in several], least)
        forces = dict(zip(several, found, strict=True))
        qdd = [less(x, [z[j] * f for z, f in zip(Z, found, strict=True)]) for j, x in enumerate(qdd)]
        for e, f in forces.items():
            rest = [x - a * f for x, a in zip(rest, several[e], strict=True)]
    for e, row in enumerate(rows):
        if len(row) == 1:
            ((j, k),) = row
            held = rest[j] - along(tuple(enumerate(B[j])), qdd)
            forces[e] = held if k == 1 else held / k
    return qdd, [forces[e] for e in range(len(rows))]


def less(x: Scalar, terms: Sequence[Scalar]) -> Scalar:
    """x minus the terms; zero where only rounding is left."""
    total, size = x, abs(x)
    for term in terms:
        total, size = total - term, size + abs(term)
    return select(abs(total) - ROUNDING * size, total, 0)


# ------------------------------------------------------------------------------------------------------------
# Forward dynamics by articulated bodies, O(n), with rotors on their joint's parent link.
#
# Featherstone's recursion, extended to exact rotors: the rotor of joint i on its parent p adds k Im z to
# what the joint's acceleration does to the parent, and k² Im to what it does to itself. With A_p the
# parent's acceleration
#
#     q̈_i = (u − wᵀX A_p)/d     w = Iᴬs + k Im z     d = sᵀIᴬs + k² Im     u = τ_i − sᵀ(pᴬ + Iᴬc)
#
# and the parent takes over Xᵀ(Iᴬ − w wᵀ/d)X and Xᵀ(pᴬ + Iᴬc + w u/d) + k Im q̇ ω_p × z. Spatial vectors are
# linear over angular, in body axes, about the joint's place on the parent, where s has one half zero.


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
        """The inertia less factor · w wᵀ."""
        (f, n), sf, sn = w, scale(factor, w[0]), scale(factor, w[1])
        return Articulated(
            _symmetric(lambda i, j: self.M[i][j] - sf[i] * f[j]),
            vector(vector(self.H[i][j] - sf[i] * n[j] for j in range(3)) for i in range(3)),
            _symmetric(lambda i, j: self.J[i][j] - sn[i] * n[j]),
        )

    def turned(self, R: Matrix) -> Articulated:
        """The same inertia in the axes of the parent."""
        RM, RJ = multiply(R, self.M), multiply(R, self.J)
        return Articulated(
            _symmetric(lambda i, j: dot(RM[i], R[j])),
            multiply(multiply(R, self.H), transpose(R)),
            _symmetric(lambda i, j: dot(RJ[i], R[j])),
        )

    def moved(self, p: Vector) -> Articulated:
        """The same about an origin from which the old one is at p: H + p × M, J + S H' + (S H)ᵀ, S = S(p)."""
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
    """True if joints are independent and every motor sits on its joint's parent and turns with it alone."""
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
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """Joint accelerations under torques, as (7.115), without the inertia matrix."""
    base = in_base_axes(mechanism, base or BaseMotion())
    joints = joint_frames(mechanism, q)
    places = _places(mechanism, joints)
    w, c = _velocities(mechanism, joints, places, qd, base.angular_velocity)
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
    foot = (sub(base.linear_acceleration, mechanism.gravity), base.angular_acceleration)
    return _forward(mechanism, joints, places, c, solved, foot)


def _places(mechanism: Mechanism, joints: Sequence[JointFrame]) -> list[Vector]:
    """Vectors from the parent's joint to each joint, parent axes."""
    return [
        body.p_before if body.parent == FIXED_BASE else add(joints[body.parent].r, body.p_before)
        for body in mechanism.bodies
    ]


def _velocities(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    places: Sequence[Vector],
    qd: Sequence[Scalar],
    w_0: Vector,
) -> tuple[list[Vector], list[Spatial]]:
    """ω_i and the accelerations c_i that speed alone brings about; ω_0 is that of the base."""
    w: list[Vector] = []
    c: list[Spatial] = []
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        w_p = w_0 if body.parent == FIXED_BASE else w[body.parent]
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
    """Numbers of a joint for the forward sweep: q̈ = (u − wᵀ X A_p)/d."""

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
    """The sweep from the tips to the base; `inertia` and `bias` gather what each joint carries."""
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
    foot: Spatial,
) -> list[Scalar]:
    """Accelerations q̈ (n,), by the sweep from the base to the tips; `foot` is that of the base, p̈_0 − g_0."""
    A: list[Spatial] = []
    qdd: list[Scalar] = []
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        a_p, alpha_p = foot if body.parent == FIXED_BASE else A[body.parent]
        linear = apply_transposed(joint.R, add(a_p, cross(alpha_p, places[i])))
        angular = apply_transposed(joint.R, alpha_p)
        qdd_i = (solved[i].u - _along(solved[i].w, (linear, angular))) * solved[i].inverse
        qdd.append(qdd_i)
        linear, angular = add(linear, c[i][0]), add(angular, c[i][1])
        motion = scale(qdd_i, joint.z)
        revolute = body.joint == "revolute"
        A.append((linear, add(angular, motion)) if revolute else (add(linear, motion), angular))
    return qdd
