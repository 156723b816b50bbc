"""∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ of rigid bodies, by a recursion that is O(n²).

Joint j changes the accelerations of all bodies that it carries. Joint i bears the wrench which this change
takes, summed over the bodies that i carries too. If i comes later in the chain, these are the composite body
of i. Otherwise they are the composite body of j, and this one also turns with all forces on it. So a pair of
joints takes one product of vectors, and the vectors of a joint go from body to body towards the base.

Rotors, exact as in (7.111)–(7.114): the spin Im θ̇ z_m is part of the composite body of the carrier. What a
motor bears, Im (θ̈ + z_mᵀω̇), and the moment Im (θ̈ z_m + θ̇ ω × z_m) on the carrier make vectors at the carrier
that go towards the base like those of the joints.

Facts about the derivatives of rigid bodies: J. Carpentier, N. Mansard, Analytical derivatives of rigid body
dynamics algorithms, RSS 2018; S. Singh, R. P. Russell, P. M. Wensing, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.kinematics import JointFrame, ancestors, joint_frames, wrench_at_body
from armdyn.expression.functions import cos, half, sin
from armdyn.model.friction import along
from armdyn.model.inertia import Inertia, matrix_tensor
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Place, Rotor
from armdyn.model.vector import (
    IDENTITY,
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
    sub,
    transpose,
    vector,
)

# ------------------------------------------------------------------------------------------------------------
# A mechanism with its bodies in the axes of their joints.
#
# The frame of a body may be turned against its joint, by the angle α of a DH table, say. In the axes of the
# joint, z is what the description says, most often one of them.


def in_joint_axes(mechanism: Mechanism) -> Mechanism:
    """The same bodies, rotors and loaded places; the tip and all that is not moved by joints are left out."""
    turns = [body.R_after for body in mechanism.bodies]

    def turned(body: int, v: Vector) -> Vector:
        return v if body == FIXED_BASE else apply(turns[body], v)

    def moved(body: Body, own: Matrix) -> Body:
        R = body.R_before if body.parent == FIXED_BASE else multiply(turns[body.parent], body.R_before)
        p = turned(body.parent, body.p_before)
        return Body(
            body.parent, body.joint, R, p, body.axis, IDENTITY, body.p_after, body.inertia.rotated(own)
        )

    def carried(rotor: Rotor) -> Rotor:
        return replace(rotor, axis=turned(rotor.carrier, rotor.axis))

    return replace(
        mechanism,
        bodies=tuple(moved(body, own) for body, own in zip(mechanism.bodies, turns, strict=True)),
        rotors=tuple(carried(rotor) for rotor in mechanism.rotors),
        places=tuple(Place(place.body, turned(place.body, place.p)) for place in mechanism.loaded),
    )


# ------------------------------------------------------------------------------------------------------------
# Second moments ∫ x yᵀ dm of bodies as 3×3 matrices, turned by a joint.


def plus(*matrices: Matrix) -> Matrix:
    return vector(add(*rows) for rows in zip(*matrices, strict=True))


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return vector(vector(x * y for y in b) for x in a)


def without_trace(M: Matrix) -> Matrix:
    """tr(M) 1 − M: an inertia tensor from ∫ p pᵀ dm."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = M
    return ((yy + zz, -xy, -xz), (-yx, xx + zz, -yz), (-zx, -zy, xx + yy))


def second_moment(inertia: Inertia) -> Matrix:
    """∫ p pᵀ dm = ½ tr(I) 1 − I."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.matrix
    return (
        (half(yy + zz - xx), -xy, -xz),
        (-xy, half(xx + zz - yy), -yz),
        (-xz, -yz, half(xx + yy - zz)),
    )


def turned(R: Matrix, M: Matrix) -> Matrix:
    """R M Rᵀ."""
    return multiply(multiply(R, M), transpose(R))


def symmetric(M: Matrix) -> Matrix:
    """A symmetric matrix by its upper half: the lower one is computed no second time."""
    xx, xy, xz, yy, yz, zz = matrix_tensor(M)
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


class Turn:
    """The turn of a joint, for matrices in body axes: R M Rᵀ has them in the parent's axes.

    About an axis of the joint's frame this takes few operations: the plane's part of M is turned by

        t = s (M_aa − M_bb) + c (M_ab + M_ba):  M_aa − s t,  M_bb + s t,  c t − M_ba,  c t − M_ab.
    """

    def __init__(self, body: Body, joint: JointFrame, q: Scalar) -> None:
        self._body, self._R = body, joint.R
        self._k = along_axis(body.axis) if body.joint == "revolute" else None
        if self._k is not None:
            self._c, self._s = cos(q), body.axis[self._k] * sin(q)

    def __call__(self, M: Matrix) -> Matrix:
        if self._k is None:
            return turned(self._R, M)
        return turned(self._body.R_before, self._in_plane(turned(self._body.R_after, M), self._k))

    def _in_plane(self, M: Matrix, k: int) -> Matrix:
        c, s = self._c, self._s
        a, b = (k + 1) % 3, (k + 2) % 3
        t = s * (M[a][a] - M[b][b]) + c * (M[a][b] + M[b][a])
        found = [list(row) for row in M]
        found[a][a], found[b][b] = M[a][a] - s * t, M[b][b] + s * t
        found[a][b], found[b][a] = c * t - M[b][a], c * t - M[a][b]
        found[a][k], found[b][k] = c * M[a][k] - s * M[b][k], s * M[a][k] + c * M[b][k]
        found[k][a], found[k][b] = c * M[k][a] - s * M[k][b], s * M[k][a] + c * M[k][b]
        return vector(vector(row) for row in found)


def along_axis(v: Vector) -> int | None:
    """Index of the axis of its frame that a vector lies along; None where the numbers do not show it."""
    found = [k for k, x in enumerate(v) if not (isinstance(x, (int, float)) and x == 0)]
    return found[0] if len(found) == 1 else None


# ------------------------------------------------------------------------------------------------------------
# Reference points and masses of the bodies, chosen so that few operations are needed.
#
# Torques do not change when a joint's reference point slides along its axis, nor when a part of a body that
# its joint does not move goes over to the parent: of a revolute joint the masses on its axis, of a prismatic
# one what only turns. So a body on a revolute joint keeps no mass, no first moment and no ∫ z² dm along the
# axis, one on a prismatic joint no tensor. These are the usual regroupings that lead to base parameters.
# Parts that go over to the base do not move, and are dropped.


ZERO33: Matrix = (ZERO3, ZERO3, ZERO3)


@dataclass(frozen=True)
class Mass:
    """∫ dm, ∫ p dm and ∫ p pᵀ dm, about a body's reference point, in body axes."""

    m: Scalar = 0
    h: Vector = ZERO3
    J: Matrix = ZERO33

    def __add__(self, other: Mass) -> Mass:
        return Mass(self.m + other.m, add(self.h, other.h), plus(self.J, other.J))

    def __sub__(self, other: Mass) -> Mass:
        J = (sub(a, b) for a, b in zip(self.J, other.J, strict=True))
        return Mass(self.m - other.m, sub(self.h, other.h), vector(J))

    def placed(self, R: Matrix, d: Vector) -> Mass:
        """The same mass turned by R, then moved by d."""
        h = apply(R, self.h)
        moved = (symmetric(turned(R, self.J)), outer(h, d), outer(d, h), outer(scale(self.m, d), d))
        return Mass(self.m, add(h, scale(self.m, d)), symmetric(plus(*moved)))


@dataclass(frozen=True)
class Placed:
    """A body seen from its reference point, which is fixed to it and on the axis of a revolute joint."""

    d: Vector  # from the parent's reference point to this one where a prismatic joint is at 0, parent axes
    r: Vector  # from the reference point to the origin of the body's frame, body axes
    mass: Mass


def regrouped(mechanism: Mechanism) -> list[Placed]:
    """The bodies with the reference points and masses that need the fewest operations."""
    joints = joint_frames(mechanism, [0] * mechanism.n)
    places = _places(mechanism)
    masses = []
    for body, (_, r) in zip(mechanism.bodies, places, strict=True):
        own = Mass(body.inertia.mass, body.inertia.moment, second_moment(body.inertia))
        masses.append(own.placed(IDENTITY, r))
    for i in reversed(range(mechanism.n)):
        body, z = mechanism.bodies[i], joints[i].z
        still = _on_axis(masses[i], z) if body.joint == "revolute" else Mass(J=masses[i].J)
        masses[i] = masses[i] - still
        if body.parent != FIXED_BASE:
            masses[body.parent] = masses[body.parent] + still.placed(joints[i].R, places[i][0])
    return [Placed(d, r, mass) for (d, r), mass in zip(places, masses, strict=True)]


def _on_axis(mass: Mass, z: Vector) -> Mass:
    """Masses on the axis z that have its mass, and first and second moment along the axis."""
    along = scale(dot(z, mass.h), z)
    return Mass(mass.m, along, symmetric(outer(scale(dot(z, apply(mass.J, z)), z), z)))


def _places(mechanism: Mechanism) -> list[tuple[Vector, Vector]]:
    """d and r of each body.

    On a revolute axis along one of the parent's axes the reference point is the one next to the parent's:
    this makes an entry of d zero. That of a prismatic joint is the parent's when the joint is at 0.
    """
    found: list[tuple[Vector, Vector]] = []
    for body in mechanism.bodies:
        d = body.p_before if body.parent == FIXED_BASE else add(found[body.parent][1], body.p_before)
        r = apply_transposed(body.R_after, body.p_after)
        axis = apply(body.R_before, body.axis)
        if body.joint == "revolute":
            slid = dot(axis, d) if along_axis(axis) is not None else 0
            d, r = sub(d, scale(slid, axis)), add(r, scale(slid, apply_transposed(body.R_after, body.axis)))
        else:
            before = apply_transposed(body.R_after, apply_transposed(body.R_before, d))
            d, r = ZERO3, add(r, before)
        found.append((d, r))
    return found


# ------------------------------------------------------------------------------------------------------------
# Motion of the bodies, and how the accelerations of their points change with each joint.
#
# A joint j moves all that it carries. Seen from axes that move along, the points p carried, with velocities
# u, then have accelerations that change by
#
#     A + Ω × p + 2 δω × u,
#
# because only the motion of the joint's parent changes its components. With the reference point on the axis
# of a revolute joint, its velocity v and acceleration a, and ω̇ × p + ω × (ω × p) = D p,
#
#     revolute     A                  Ω         δω          prismatic    A          Ω    δω
#     ∂/∂q_j       a × z − δω × 2v    D z       ω × z                    D z        0    0
#     ∂/∂q̇_j       2v × z             2 ω × z   z                        2 ω × z    0    0
#     ∂/∂q̈_j       0                  z         0                        z          0    0


@dataclass(frozen=True)
class Variation:
    """A + Ω × p + 2 δω × u, in body axes; p from the body's reference point."""

    A: Vector = ZERO3
    Omega: Vector = ZERO3
    w: Vector = ZERO3


@dataclass(frozen=True)
class BodyMotion:
    """ω, ω̇, S(ω̇) + S(ω)², and acceleration (gravity included) and twice the velocity of a reference point."""

    w: Vector
    dw: Vector
    D: Matrix
    a: Vector
    v2: Vector

    @property
    def w2(self) -> Vector:
        """2 ω."""
        return scale(2, self.w)


@dataclass(frozen=True)
class Moving:
    """A body in motion, in its own axes."""

    parent: int
    revolute: bool
    joint: JointFrame
    turn: Turn
    d: Vector  # from the parent's reference point to this one, parent axes
    r: Vector  # from the reference point to the origin of the body's frame
    mass: Mass
    motion: BodyMotion
    by_q: Variation
    by_qd: Variation
    by_qdd: Variation

    def felt(self, f: Vector, mu: Vector) -> Scalar:
        """Torque at the joint of a force and of a moment about the reference point."""
        return dot(self.joint.z, mu if self.revolute else f)


def moving_bodies(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[Moving]:
    """All bodies, from the base on, as (7.107)–(7.109) say."""
    found: list[Moving] = []
    joints, places = joint_frames(mechanism, q), regrouped(mechanism)
    for i, (body, joint, place) in enumerate(zip(mechanism.bodies, joints, places, strict=True)):
        revolute, d = body.joint == "revolute", place.d
        if not revolute:
            d = add(d, scale(q[i], apply(body.R_before, body.axis)))
        at_base = body.parent == FIXED_BASE
        before = BodyMotion(ZERO3, ZERO3, ZERO33, neg(mechanism.gravity), ZERO3)
        if not at_base:
            before = found[body.parent].motion
        make = _turning if revolute else _sliding
        motion, *changes = make(joint, _brought(before, joint, d), qd[i], qdd[i], at_base)
        turn = Turn(body, joint, q[i])
        found.append(Moving(body.parent, revolute, joint, turn, d, place.r, place.mass, motion, *changes))
    return found


def _brought(parent: BodyMotion, joint: JointFrame, d: Vector) -> tuple[Vector, ...]:
    """ω, ω̇, a and 2v of the parent at the point d of it, in the axes of the next body."""
    a, v2 = add(parent.a, apply(parent.D, d)), add(parent.v2, cross(parent.w2, d))
    return tuple(apply_transposed(joint.R, x) for x in (parent.w, parent.dw, a, v2))


def _turning(
    joint: JointFrame, brought: tuple[Vector, ...], qd: Scalar, qdd: Scalar, at_base: bool
) -> tuple[BodyMotion, Variation, Variation, Variation]:
    """The motion behind a revolute joint, and its changes with the joint; on the base D z = 0."""
    z, (w, dw, a, v2) = joint.z, brought
    e = cross(w, z)
    dw = add(dw, scale(qdd, z), scale(qd, e))
    w = add(w, scale(qd, z))
    motion = BodyMotion(w, dw, _centripetal(w, dw), a, v2)
    by_q = Variation(sub(cross(a, z), cross(e, v2)), ZERO3 if at_base else apply(motion.D, z), e)
    return motion, by_q, Variation(cross(v2, z), scale(2, e), z), Variation(Omega=z)


def _sliding(
    joint: JointFrame, brought: tuple[Vector, ...], qd: Scalar, qdd: Scalar, _: bool
) -> tuple[BodyMotion, Variation, Variation, Variation]:
    """The motion behind a prismatic joint, and its changes with the joint."""
    z, (w, dw, a, v2) = joint.z, brought
    e2 = scale(2, cross(w, z))
    a, v2 = add(a, scale(qdd, z), scale(qd, e2)), add(v2, scale(2 * qd, z))
    motion = BodyMotion(w, dw, _centripetal(w, dw), a, v2)
    return motion, Variation(apply(motion.D, z)), Variation(e2), Variation(z)


def _centripetal(w: Vector, dw: Vector) -> Matrix:
    """S(ω̇) + S(ω)²."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (
        (-(yy + zz), xy - dw[2], xz + dw[1]),
        (xy + dw[2], -(xx + zz), yz - dw[0]),
        (xz - dw[1], yz + dw[0], -(xx + yy)),
    )


# ------------------------------------------------------------------------------------------------------------
# Composite bodies (each body with all it carries): the wrench that a change of their motion takes.


@dataclass(frozen=True)
class Composite:
    """Integrals over a body and all it carries, about its reference point, in body axes.

    Velocities are counted twice, as the accelerations 2 δω × u have them.
    """

    inertia: Inertia
    P: Vector  # ∫ 2u dm
    H: Matrix  # tr(G) 1 − G with G = ∫ 2u pᵀ dm; the spin of rotors adds −S(Im θ̇ z_m)
    f: Vector  # ∫ a dm
    n: Vector  # ∫ p × a dm

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.inertia + other.inertia,
            add(self.P, other.P),
            plus(self.H, other.H),
            add(self.f, other.f),
            add(self.n, other.n),
        )

    def on_parent(self, body: Moving) -> Composite:
        """The same about the parent's reference point, in its axes."""
        R, d = body.joint.R, body.d
        tensor = matrix_tensor(body.turn(self.inertia.matrix))
        inertia = Inertia(self.inertia.mass, apply(R, self.inertia.moment), tensor).translated(d)
        P, f = apply(R, self.P), apply(R, self.f)
        H = plus(body.turn(self.H), without_trace(outer(P, d)))
        return Composite(inertia, P, H, f, add(apply(R, self.n), cross(d, f)))

    def wrench(self, change: Variation) -> tuple[Vector, Vector]:
        """Force and moment that a change of all accelerations takes: ∫ δa dm and ∫ p × δa dm."""
        m, h = self.inertia.mass, self.inertia.moment
        f = add(scale(m, change.A), cross(change.Omega, h), cross(change.w, self.P))
        n = add(cross(h, change.A), apply(self.inertia.matrix, change.Omega), apply(self.H, change.w))
        return f, n

    def along(self, body: Moving) -> Vector:
        """y with which the joint of this body bears yᵀδω of the accelerations 2 δω × u."""
        z = body.joint.z
        return apply_transposed(self.H, z) if body.revolute else cross(self.P, z)


def composites(
    mechanism: Mechanism, bodies: Sequence[Moving], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> Iterator[tuple[int, Composite]]:
    """(i, the composite of body i with the rotors on it), from the last body to the first."""
    carried: dict[int, Composite] = {}
    for i in reversed(range(len(bodies))):
        body, total = bodies[i], _own(bodies[i])
        for rotor in mechanism.rotors:
            if rotor.carrier == i:
                spin, rate = (scale(rotor.inertia * along(rotor.row, x), rotor.axis) for x in (qd, qdd))
                moment = add(rate, cross(body.motion.w, spin))
                total = replace(total, H=plus(total.H, _minus_cross(spin)), n=add(total.n, moment))
        if i in carried:
            total = total + carried.pop(i)
        yield i, total
        if body.parent != FIXED_BASE:
            moved = total.on_parent(body)
            carried[body.parent] = carried[body.parent] + moved if body.parent in carried else moved


def _own(body: Moving) -> Composite:
    """A body alone: its points have the accelerations a + D p and the velocities v + ω × p."""
    m, h, J, x = body.mass.m, body.mass.h, body.mass.J, body.motion
    P = add(scale(m, x.v2), cross(x.w2, h))
    turning = transpose(vector(cross(column, x.w2) for column in J))  # −S(2ω) J, which has no trace
    H = plus(without_trace(outer(x.v2, h)), turning)
    K = multiply(x.D, J)  # ∫ D p pᵀ dm
    about = (K[2][1] - K[1][2], K[0][2] - K[2][0], K[1][0] - K[0][1])
    f, n = add(scale(m, x.a), apply(x.D, h)), add(about, cross(h, x.a))
    return Composite(Inertia(m, h, matrix_tensor(without_trace(J))), P, H, f, n)


def _minus_cross(a: Vector) -> Matrix:
    """−S(a)."""
    return ((0, a[2], -a[1]), (-a[2], 0, a[0]), (a[1], -a[0], 0))


# ------------------------------------------------------------------------------------------------------------
# The recursion: pairs of joints, towards the base.


SquareMatrix = list[list[Scalar]]


@dataclass(frozen=True)
class Vectors:
    """Vectors that go from body to body towards the base.

    Joint i bears fᵀA + μᵀΩ + yᵀδω of a change of accelerations there. Where a joint turns about z, it bears
    tᵀz of the wrenches from outside.
    """

    f: Vector = ZERO3
    mu: Vector = ZERO3  # about the reference point
    y: Vector = ZERO3
    t: Vector = ZERO3

    def __add__(self, other: Vectors) -> Vectors:
        return Vectors(
            add(self.f, other.f), add(self.mu, other.mu), add(self.y, other.y), add(self.t, other.t)
        )

    def by(self, change: Variation) -> Scalar:
        """Torque fᵀA + μᵀΩ + yᵀδω of a change of accelerations that an earlier joint causes."""
        return dot(self.f, change.A) + dot(self.mu, change.Omega) + dot(self.y, change.w)

    def on_parent(self, body: Moving) -> Vectors:
        f, mu, y, t = (apply(body.joint.R, x) for x in (self.f, self.mu, self.y, self.t))
        return Vectors(f, add(mu, cross(body.d, f)), y, t)


@of_joints(3, "squares")
def torque_derivatives(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> tuple[SquareMatrix, SquareMatrix, SquareMatrix]:
    """∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ = B, (n, n) each, of τ without friction and springs.

    `wrench` is that of `newton_euler`. Not for closed chains: there S depends on q.
    """
    mechanism = in_joint_axes(mechanism)
    bodies = moving_bodies(mechanism, q, qd, qdd)
    outside = _outside(mechanism, bodies, wrench)
    motors = _motors(mechanism, bodies)
    found = _Slopes(bodies)
    for i, composite in composites(mechanism, bodies, qd, qdd):
        lever, turning = outside.get(i, (ZERO3, ZERO3))
        found.later_by_earlier(i, composite, turning, motors[i])
        found.earlier_by_later(i, composite, lever, motors[i])
    for rotor in mechanism.rotors:
        for i, k in rotor.row:
            for j, k_j in rotor.row:
                found.B[i][j] = found.B[i][j] + rotor.inertia * (k * k_j)
    return found.by_q, found.by_qd, found.B


class _Slopes:
    """The matrices, as they are filled joint by joint."""

    def __init__(self, bodies: Sequence[Moving]) -> None:
        self._bodies, n = bodies, len(bodies)
        self.by_q, self.by_qd, self.B = ([[0] * n for _ in range(n)] for _ in range(3))

    def later_by_earlier(
        self, i: int, composite: Composite, turning: Vector, motors: Mapping[int, Vectors]
    ) -> None:
        """Adds slopes of the torque at joint i, by joints before it and before its motors' carriers."""
        f, mu = composite.wrench(self._bodies[i].by_qdd)
        own = Vectors(f, mu, composite.along(self._bodies[i]), turning)
        self._add(self.B, i, i, self._bodies[i].felt(f, mu))
        for j, x in _towards_base(self._bodies, motors, {i: own}):
            body = self._bodies[j]
            slope, rate = x.by(body.by_q), x.by(body.by_qd)
            self._add(self.by_q, i, j, slope + dot(x.t, body.joint.z) if body.revolute else slope)
            self._add(self.by_qd, i, j, rate)
            felt = body.felt(x.f, x.mu)
            self._add(self.B, i, j, felt)
            self._add(self.B, j, i, felt)

    def earlier_by_later(
        self, i: int, composite: Composite, lever: Vector, motors: Mapping[int, Vectors]
    ) -> None:
        """Adds slopes by joint i of the torques at joint i, at joints before it and before carriers."""
        f, mu = _turned_with(self._bodies[i], composite)
        for j, x in _towards_base(self._bodies, {i: Vectors(f, add(mu, lever))}):
            self._add(self.by_q, j, i, self._bodies[j].felt(x.f, x.mu))
        rates = {carrier: Vectors(mu=x.y) for carrier, x in motors.items()}
        own = {i: Vectors(*composite.wrench(self._bodies[i].by_qd))}
        for j, x in _towards_base(self._bodies, _sum(rates, own)):
            self._add(self.by_qd, j, i, self._bodies[j].felt(x.f, x.mu))

    @staticmethod
    def _add(matrix: SquareMatrix, i: int, j: int, x: Scalar) -> None:
        matrix[i][j] = matrix[i][j] + x


def _turned_with(body: Moving, composite: Composite) -> tuple[Vector, Vector]:
    """The change of the wrench on a composite body as its joint moves, in axes fixed to the parent."""
    z, (f, mu) = body.joint.z, composite.wrench(body.by_q)
    if body.revolute:
        return add(f, cross(z, composite.f)), add(mu, cross(z, composite.n))
    return f, add(mu, cross(z, composite.f))


def _towards_base(
    bodies: Sequence[Moving],
    sources: Mapping[int, Vectors],
    later: Mapping[int, Vectors] | None = None,
) -> Iterator[tuple[int, Vectors]]:
    """(j, sum of the vectors that start at body j or beyond); those of `later` count from the parent on."""
    at, later = dict(sources), later or {}
    for j in reversed(range(1 + max((*at, *later)))):
        if j in at:
            yield j, at[j]
        if j in later:
            at[j] = at[j] + later[j] if j in at else later[j]
        parent = bodies[j].parent
        if j in at and parent != FIXED_BASE:
            moved = at[j].on_parent(bodies[j])
            at[parent] = at[parent] + moved if parent in at else moved


def _sum(*parts: Mapping[int, Vectors]) -> dict[int, Vectors]:
    found: dict[int, Vectors] = {}
    for body, x in ((body, x) for part in parts for body, x in part.items()):
        found[body] = found[body] + x if body in found else x
    return found


def _motors(mechanism: Mechanism, bodies: Sequence[Moving]) -> list[dict[int, Vectors]]:
    """Vectors k Im z_m and k Im ω × z_m at the carriers of motors, by the joint that the motors turn with."""
    found: list[dict[int, Vectors]] = [{} for _ in bodies]
    for rotor in mechanism.rotors:
        if rotor.carrier != FIXED_BASE:
            axis = scale(rotor.inertia, rotor.axis)
            y = cross(bodies[rotor.carrier].motion.w, axis)
            for i, k in rotor.row:
                own = {rotor.carrier: Vectors(mu=scale(k, axis), y=scale(k, y))}
                found[i] = _sum(found[i], own)
    return found


def _outside(
    mechanism: Mechanism, bodies: Sequence[Moving], wrench: Sequence[Scalar] | None
) -> dict[int, tuple[Vector, Vector]]:
    """Sums s_i × F, and z_i × M + s_i × F, over the wrenches beyond joint i; s_i = ∂p/∂q_i of their places.

    The joints before i feel the first as a moment when q_i changes. When one of them turns, about z, joint i
    feels zᵀ times the second, as F and M keep their directions.
    """
    found: dict[int, tuple[Vector, Vector]] = {}
    if wrench is None:
        return found
    joints = [body.joint for body in bodies]
    for k, place in enumerate(mechanism.loaded):
        path = ancestors(mechanism, place.body)
        p = add(bodies[path[0]].r, place.p) if path else ZERO3
        for i in path:
            z, revolute = joints[i].z, bodies[i].revolute
            F, M = wrench_at_body(mechanism, joints, i, wrench[6 * k : 6 * k + 6])
            lever = cross(cross(z, p) if revolute else z, F)
            turning = add(cross(z, M), lever) if revolute else lever
            before = found.get(i, (ZERO3, ZERO3))
            found[i] = (add(before[0], lever), add(before[1], turning))
            p = add(apply(joints[i].R, p), bodies[i].d)
    return found
