"""∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ of rigid bodies, by a recursion that is O(n²).

Joint j changes the accelerations of all it carries (`motion.py`); joint i bears the wrench that this takes of
all that i carries. If i is the later one, that is the composite body of i, and the change is that of joint j.
Otherwise it is the composite body of j, which moreover turns with all forces on it. So a pair of joints takes
one product of vectors, and the vectors of a joint go from body to body towards the base.

Rotors, exact as in (7.111)–(7.114): the spin Im θ̇ z_m is part of the composite body of the carrier. What a
motor bears, Im (θ̈ + z_mᵀω̇), and the moment Im (θ̈ z_m + θ̇ ω × z_m) on the carrier make vectors at the carrier
that go towards the base like those of the joints.

Facts about the derivatives of rigid bodies: J. Carpentier, N. Mansard, Analytical derivatives of rigid body
dynamics algorithms, RSS 2018; S. Singh, R. P. Russell, P. M. Wensing, IEEE RA-L 7(2), 2022.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from armdyn.dynamics.coordinates import of_joints
from armdyn.dynamics.derivatives.composites import Composite, composites
from armdyn.dynamics.derivatives.motion import Moving, moving_bodies
from armdyn.dynamics.kinematics import ancestors, wrench_at_body
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Scalar, Vector, add, apply, cross, dot, scale

SquareMatrix = list[list[Scalar]]


@dataclass(frozen=True)
class Vectors:
    """Vectors at a body that go towards the base: a force, a moment about the reference point, two free ones."""

    f: Vector = ZERO3
    mu: Vector = ZERO3
    y: Vector = ZERO3
    t: Vector = ZERO3

    def __add__(self, other: Vectors) -> Vectors:
        return Vectors(
            add(self.f, other.f), add(self.mu, other.mu), add(self.y, other.y), add(self.t, other.t)
        )

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

    `wrench` is that of `newton_euler`. Loops are not for this recursion: S then depends on q.
    """
    n = mechanism.n
    bodies = moving_bodies(mechanism, q, qd, qdd)
    total = composites(mechanism, bodies, qd, qdd)
    outside = _outside(mechanism, bodies, wrench)
    motors = _motors(mechanism, bodies)
    by_q, by_qd, B = ([[0] * n for _ in range(n)] for _ in range(3))  # type: tuple[SquareMatrix, ...]
    for i, (body, composite) in enumerate(zip(bodies, total, strict=True)):
        lever, turning = outside.get(i, (ZERO3, ZERO3))
        f, mu = composite.wrench(body.by_qdd)
        own = Vectors(f, mu, composite.along(body), turning)
        B[i][i] = B[i][i] + body.felt(f, mu)
        for j, x in _towards_base(bodies, motors[i], {i: own}):
            change, rate = bodies[j].by_q, bodies[j].by_qd
            by_q[i][j] = by_q[i][j] + dot(x.f, change.A) + dot(x.mu, change.O) + dot(x.y, change.w)
            by_qd[i][j] = by_qd[i][j] + dot(x.f, rate.A) + dot(x.mu, rate.O) + dot(x.y, rate.w)
            if bodies[j].revolute:
                by_q[i][j] = by_q[i][j] + dot(x.t, bodies[j].joint.z)
            felt = bodies[j].felt(x.f, x.mu)
            B[i][j], B[j][i] = B[i][j] + felt, B[j][i] + felt if i != j else B[i][i] + 2 * felt
        f, mu = _turned_with(body, composite)
        for j, x in _towards_base(bodies, {i: Vectors(f, add(mu, lever))}):
            by_q[j][i] = by_q[j][i] + bodies[j].felt(x.f, x.mu)
        rates = {c: Vectors(mu=x.y) for c, x in motors[i].items()}
        for j, x in _towards_base(bodies, _sum(rates, {i: Vectors(*composite.wrench(body.by_qd))})):
            by_qd[j][i] = by_qd[j][i] + bodies[j].felt(x.f, x.mu)
    for rotor in mechanism.rotors:
        for i, k in rotor.row:
            for j, k_j in rotor.row:
                B[i][j] = B[i][j] + rotor.inertia * (k * k_j)
    return by_q, by_qd, B


def _turned_with(body: Moving, composite: Composite) -> tuple[Vector, Vector]:
    """The change of the wrench on a composite body as its joint moves, in the parent's sight."""
    z, (f, mu) = body.joint.z, composite.wrench(body.by_q)
    if body.revolute:
        return add(f, cross(z, composite.f)), add(mu, cross(z, composite.n))
    return f, add(mu, cross(z, composite.f))


def _towards_base(
    bodies: Sequence[Moving],
    sources: Mapping[int, Vectors],
    later: Mapping[int, Vectors] | None = None,
) -> Iterator[tuple[int, Vectors]]:
    """(j, the sum of the vectors that started at body j or beyond); those `later` count from the parent on."""
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
    """By joint, the vectors at carriers of the motors that turn with it: k Im z_m and k Im ω × z_m."""
    found: list[dict[int, Vectors]] = [{} for _ in bodies]
    for rotor in mechanism.rotors:
        if rotor.carrier != FIXED_BASE:
            axis = scale(rotor.inertia, rotor.axis)
            y = cross(bodies[rotor.carrier].w, axis)
            for i, k in rotor.row:
                own = {rotor.carrier: Vectors(mu=scale(k, axis), y=scale(k, y))}
                found[i] = _sum(found[i], own)
    return found


def _outside(
    mechanism: Mechanism, bodies: Sequence[Moving], wrench: Sequence[Scalar] | None
) -> dict[int, tuple[Vector, Vector]]:
    """By joint i, of the wrenches beyond it: s_i × F, and z_i × M + s_i × F; s_i = ∂p/∂q_i of their places.

    The joints before i feel the first as a moment when q_i changes. When one of them turns, about z, joint i
    feels zᵀ times the second, as F and M keep their directions.
    """
    found: dict[int, tuple[Vector, Vector]] = {}
    for k, place in enumerate(mechanism.loaded if wrench is not None else ()):
        p = place.p if place.body == FIXED_BASE else add(bodies[place.body].r, place.p)
        for i in ancestors(mechanism, place.body):
            body, z = bodies[i], bodies[i].joint.z
            joints = [x.joint for x in bodies]
            F, M = wrench_at_body(mechanism, joints, i, wrench[6 * k : 6 * k + 6])
            lever = cross(cross(z, p) if body.revolute else z, F)
            turning = add(cross(z, M), lever) if body.revolute else lever
            before = found.get(i, (ZERO3, ZERO3))
            found[i] = (add(before[0], lever), add(before[1], turning))
            p = add(apply(body.joint.R, p), body.d)
    return found
