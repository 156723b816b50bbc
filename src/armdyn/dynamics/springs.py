"""Springs: the torques that hold a robot against them, their energy, and the columns of their parameters.

A spring at a joint, or in the transmission of an elastic joint, has the energy ½ k e² − m e along
e = Σ k_j q_j + shift, with m = k·rest. A strut, the spring between points a and b of two bodies, has
½ k l² − P l with its length l = |d|, d = p_b − p_a, and P = k·rest − force. So its torques are

    ∂U/∂q_j = (k − P/l) σ_j,    σ_j = dᵀ ∂d/∂q_j.

They act on the joints between the two bodies alone, and all is seen from the last body that carries both.
Where the points meet, a strut with a preload has no direction: 0/0 there. Without a preload it needs no
length: its torques k σ_j are polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.kinematics import JointFrame, ancestors, joint_frames
from armdyn.expression.functions import half, sqrt
from armdyn.model.mechanism import Mechanism, Spring, Strut
from armdyn.model.parameters import Parameter, symbol
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
)

Shares = list[tuple[int, Scalar]]  # (j, x): joint j bears x


@of_joints(1, "torques")
def spring_torques(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Scalar]:
    """∂U/∂q of all springs, (n) [N m or N]: the torques that hold the robot against them."""
    tau: list[Scalar] = [0] * len(mechanism.bodies)
    for spring in mechanism.springs:
        torque = spring.stiffness * spring.along(q) - spring.moment
        for j, k in spring.row:
            tau[j] = tau[j] + k * torque
    for strut, stretch in _stretches(mechanism, q):
        pull = stretch.pull(strut) if stretch.slopes else 0  # none within one body, whatever its length
        for j, slope in stretch.slopes:
            tau[j] = tau[j] + pull * slope
    return tau


def with_springs(mechanism: Mechanism, q: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Torques and, where there are springs, those that hold against them."""
    if not (mechanism.springs or mechanism.struts):
        return list(tau)
    return [t + s for t, s in zip(tau, spring_torques(mechanism, q), strict=True)]


def strut_wrenches(
    mechanism: Mechanism, joints: Sequence[JointFrame]
) -> Iterator[tuple[int, Vector, Vector]]:
    """(body, force, moment about its origin) that bodies exert on struts, in body axes."""
    for strut in mechanism.struts:
        if strut.tied[0] == strut.tied[1]:
            continue  # no joint bears what it does within a body
        stretch = _stretch(mechanism, joints, strut)
        force = scale(stretch.pull(strut), stretch.span)  # the strut pulls the first point by it
        for body, point, R, f in zip(
            strut.tied, strut.points, stretch.turned, (neg(force), force), strict=True
        ):
            own = apply_transposed(R, f)
            yield body, own, cross(point, own)


@of_joints(1, "anything")
def spring_energies(mechanism: Mechanism, q: Sequence[Scalar]) -> dict[Parameter, Scalar]:
    """The coefficient of each spring's parameters in the potential energy."""
    beta: dict[Parameter, Scalar] = {}
    for spring in mechanism.springs:
        e = spring.along(q)
        beta[Parameter(symbol(spring.part, "stiffness"), spring.joint)] = half(e * e)
        if spring.part == "spring":
            beta[Parameter(symbol("spring", "moment"), spring.joint)] = -e
    for strut, stretch in _stretches(mechanism, q):
        beta[Parameter(symbol("strut", "stiffness"), strut.number)] = half(stretch.square)
        if not _is_zero(strut.preload):
            beta[Parameter(symbol("strut", "preload"), strut.number)] = -stretch.length
    return beta


def spring_columns(
    mechanism: Mechanism, q: Sequence[Scalar], layout: Sequence[Parameter]
) -> dict[tuple[str, int, str], Shares]:
    """Torques at the joints where one parameter is 1 and the others 0, by its part, number and entry.

    Preloads that the layout does not have are left out: exact scalars have no length.
    """
    found: dict[tuple[str, int, str], Shares] = {}
    for spring in mechanism.springs:
        found |= _of_spring(spring, spring.along(q))
    for strut, stretch in _stretches(mechanism, q):
        found["strut", strut.number, "stiffness"] = stretch.slopes
        if Parameter(symbol("strut", "preload"), strut.number) in layout:
            found["strut", strut.number, "preload"] = stretch.by_preload
    return found


def _of_spring(spring: Spring, e: Scalar) -> dict[tuple[str, int, str], Shares]:
    return {
        (spring.part, spring.joint, "stiffness"): [(j, k * e) for j, k in spring.row],
        (spring.part, spring.joint, "moment"): [(j, -k) for j, k in spring.row],
    }


@dataclass(frozen=True)
class _Stretch:
    """A strut in a posture, in the axes of the last body that carries both of its ends."""

    span: Vector  # d, from its first point to its second
    turned: tuple[Matrix, Matrix]  # the axes of its two bodies
    slopes: Shares  # σ_j

    @property
    def square(self) -> Scalar:
        """l²."""
        return dot(self.span, self.span)

    @property
    def length(self) -> Scalar:
        return sqrt(self.square)

    def pull(self, strut: Strut) -> Scalar:
        """Force of the strut over its length, k − P/l."""
        return strut.stiffness if _is_zero(strut.preload) else strut.stiffness - strut.preload / self.length

    @property
    def by_preload(self) -> Shares:
        """−σ_j/l."""
        length = self.length
        return [(j, -slope / length) for j, slope in self.slopes]


def _is_zero(x: Scalar) -> bool:
    """True for the integer 0, which stands for zero in any scalar."""
    return type(x) is int and x == 0


def _stretches(mechanism: Mechanism, q: Sequence[Scalar]) -> Iterator[tuple[Strut, _Stretch]]:
    if mechanism.struts:
        joints = joint_frames(mechanism, q)
        for strut in mechanism.struts:
            yield strut, _stretch(mechanism, joints, strut)


def _stretch(mechanism: Mechanism, joints: Sequence[JointFrame], strut: Strut) -> _Stretch:
    first, second = (ancestors(mechanism, body) for body in strut.tied)
    shared = set(first) & set(second)
    ends = []
    for path, point in zip((first, second), strut.points, strict=True):
        ends.append(_end(mechanism, joints, [j for j in reversed(path) if j not in shared], point))
    (p_a, R_a, axes_a), (p_b, R_b, axes_b) = ends
    span = sub(p_b, p_a)
    slopes: Shares = []
    for sign, p, axes in ((-1, p_a, axes_a), (1, p_b, axes_b)):
        for j, z, c in axes:
            turning = mechanism.bodies[j].joint == "revolute"
            slope = dot(span, cross(z, sub(p, c)) if turning else z)
            slopes.append((j, slope if sign > 0 else -slope))
    return _Stretch(span, (R_a, R_b), slopes)


def _end(
    mechanism: Mechanism, joints: Sequence[JointFrame], path: Sequence[int], point: Vector
) -> tuple[Vector, Matrix, list[tuple[int, Vector, Vector]]]:
    """A point, its body's axes, and axis and place of every joint on the way to it."""
    R, p = IDENTITY, ZERO3
    axes = []
    for j in path:
        c = add(p, apply(R, mechanism.bodies[j].p_before))
        R = multiply(R, joints[j].R)
        axes.append((j, apply(R, joints[j].z), c))
        p = add(c, apply(R, joints[j].r))
    return add(p, apply(R, point)), R, axes
