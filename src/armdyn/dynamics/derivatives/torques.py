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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from armdyn.dynamics.coordinates import of_joints
from armdyn.dynamics.derivatives.axes import in_joint_axes
from armdyn.dynamics.derivatives.composites import Composite, composites
from armdyn.dynamics.derivatives.motion import Change, Moving, moving_bodies
from armdyn.dynamics.kinematics import ancestors, wrench_at_body
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Scalar, Vector, add, apply, cross, dot, scale

SquareMatrix = list[list[Scalar]]


@dataclass(frozen=True)
class Vectors:
    """What goes from body to body towards the base: joint i bears fᵀA + μᵀΩ + yᵀδω of a change there, and tᵀz
    of wrenches from outside as a joint turns there about z."""

    f: Vector = ZERO3
    mu: Vector = ZERO3  # about the reference point
    y: Vector = ZERO3
    t: Vector = ZERO3

    def __add__(self, other: Vectors) -> Vectors:
        return Vectors(
            add(self.f, other.f), add(self.mu, other.mu), add(self.y, other.y), add(self.t, other.t)
        )

    def by(self, change: Change) -> Scalar:
        """What they make of a change of the accelerations that a joint before causes."""
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

    `wrench` is that of `newton_euler`. It is not for loops: there S depends on q.
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
        """What joint i bears as joints before it change, and its own motors as those before carriers do."""
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
        """What joint i and those before it bear as joint i changes, and what carriers' joints bear."""
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
    """(j, the sum of what started at body j or beyond); what comes `later` counts from the parent on."""
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
            y = cross(bodies[rotor.carrier].motion.w, axis)
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
