"""Newton–Euler with rotors: the recursive algorithm (7.107)–(7.114).

Deviations from the book: inertia is used in the form linear in the parameters, moments and tensors about
the frame's origin (7.71), so the centre of mass of (7.110) is not needed; gravity enters as p̈_0 − g_0; the
base may move; rotors may sit on any body with any transmission row; links may branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.friction import friction_torques, has_load
from armdyn.dynamics.kinematics import JointFrame, joint_frames, wrenches_on_bodies
from armdyn.dynamics.springs import spring_torques, strut_wrenches, with_springs
from armdyn.model.friction import along
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import (
    ZERO3,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    scale,
    sub,
)


@dataclass(frozen=True)
class BaseMotion:
    """Motion of a moving base: ω_0 [rad/s], ω̇_0 [rad/s²], p̈_0 [m/s²].

    In world axes, which are the base's unless the description places it elsewhere; p̈_0 is that of the base
    frame's origin.
    Three scalars each, or for a robot's `inverse_dynamics` and `forward_dynamics` arrays (..., 3). Gravity is
    the robot's own and not part of p̈_0.
    """

    angular_velocity: Any = ZERO3
    angular_acceleration: Any = ZERO3
    linear_acceleration: Any = ZERO3


@dataclass
class NewtonEuler:
    """The recursion's quantities, body by body, in body axes; rotors in their carrier's axes."""

    joints: list[JointFrame]
    w: list[Vector]  # ω_i (7.107)
    dw: list[Vector]  # ω̇_i (7.108)
    a: list[Vector]  # p̈_i, gravity included (7.109)
    dw_m: list[Vector]  # ω̇_m of each rotor (7.111)
    f: list[Vector]  # force on body i from its parent (7.112)
    mu: list[Vector]  # moment on it, about the joint's place on the parent (7.113)
    tau: list[Scalar]  # (7.114)


def newton_euler(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> NewtonEuler:
    """Torques for a motion of the joints, without friction, and every quantity computed on the way.

    Springs are left out: `with_springs` adds their torques, `joint_wrenches` what they do to the joints.

    `wrench` is h_e: force over moment that the tip exerts on its surroundings, world axes; or what each of
    `mechanism.places` exerts, one after the other.
    """
    base = in_base_axes(mechanism, base or BaseMotion())
    joints = joint_frames(mechanism, q)
    w, dw, a = _forward(mechanism, joints, qd, qdd, base)
    rotors = _rotor_motions(mechanism, w, dw, qd, qdd, base)
    f, n = _inertial_wrenches(mechanism, w, dw, a)
    for rotor, motion in zip(mechanism.rotors, rotors, strict=True):
        if rotor.carrier != FIXED_BASE:
            n[rotor.carrier] = add(n[rotor.carrier], motion.momentum_rate)
    if wrench is not None:
        _add_wrenches(mechanism, joints, wrench, f, n)
    mu, tau = backward(mechanism, joints, f, n)
    for rotor, motion in zip(mechanism.rotors, rotors, strict=True):
        for j, k in rotor.row:
            tau[j] = tau[j] + k * motion.torque
    return NewtonEuler(joints, w, dw, a, [motion.acceleration for motion in rotors], f, mu, tau)


def in_base_axes(mechanism: Mechanism, base: BaseMotion) -> BaseMotion:
    """A motion of the base in its own axes."""
    motion = (base.angular_velocity, base.angular_acceleration, base.linear_acceleration)
    return BaseMotion(*(apply_transposed(mechanism.R_base, x) for x in motion))


def _forward(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base: BaseMotion,
) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """ω_i, ω̇_i, p̈_i (7.107)–(7.109)."""
    w: list[Vector] = []
    dw: list[Vector] = []
    a: list[Vector] = []
    a_0 = sub(base.linear_acceleration, mechanism.gravity)
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        if body.parent == FIXED_BASE:
            w_p, dw_p, a_p = base.angular_velocity, base.angular_acceleration, a_0
        else:
            w_p, dw_p, a_p = w[body.parent], dw[body.parent], a[body.parent]
        a_joint = add(a_p, point_acceleration(w_p, dw_p, body.p_before))
        w_i, dw_i, a_i = (apply_transposed(joint.R, x) for x in (w_p, dw_p, a_joint))
        if body.joint == "revolute":
            dw_i = add(dw_i, scale(qdd[i], joint.z), cross(w_i, scale(qd[i], joint.z)))
            w_i = add(w_i, scale(qd[i], joint.z))
        else:
            a_i = add(a_i, scale(qdd[i], joint.z), cross(w_i, scale(2 * qd[i], joint.z)))
        w.append(w_i)
        dw.append(dw_i)
        a.append(add(a_i, point_acceleration(w_i, dw_i, joint.r)))
    return w, dw, a


def point_acceleration(w: Vector, dw: Vector, r: Vector) -> Vector:
    """ω̇ × r + ω × (ω × r)."""
    return add(cross(dw, r), cross(w, cross(w, r)))


def carrier_motion(
    carrier: int, w: Sequence[Vector], dw: Sequence[Vector], base: BaseMotion
) -> tuple[Vector, Vector]:
    """ω and ω̇ of the body that carries a motor, or of the base."""
    if carrier == FIXED_BASE:
        return base.angular_velocity, base.angular_acceleration
    return w[carrier], dw[carrier]


@dataclass(frozen=True)
class RotorMotion:
    """Motion of a rotor, and the torques that it takes."""

    acceleration: Vector  # ω̇_m = ω̇ + θ̈ z_m + θ̇ ω × z_m (7.111)
    momentum_rate: Vector  # d/dt (Im θ̇ z_m), the last terms of (7.113)
    torque: Scalar  # Im ω̇_mᵀ z_m of (7.114), on the motor's side


def _rotor_motions(
    mechanism: Mechanism,
    w: Sequence[Vector],
    dw: Sequence[Vector],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    base: BaseMotion,
) -> list[RotorMotion]:
    result = []
    for rotor in mechanism.rotors:
        w_c, dw_c = carrier_motion(rotor.carrier, w, dw, base)
        speed, acceleration = along(rotor.row, qd), along(rotor.row, qdd)
        rate = add(scale(acceleration, rotor.axis), scale(speed, cross(w_c, rotor.axis)))
        torque = rotor.inertia * (acceleration + dot(rotor.axis, dw_c))
        result.append(RotorMotion(add(dw_c, rate), scale(rotor.inertia, rate), torque))
    return result


def body_wrench(inertia: Inertia, w: Vector, dw: Vector, a: Vector) -> tuple[Vector, Vector]:
    """Force and moment about the frame's origin that move a body: Newton and Euler, linear in parameters."""
    f = add(scale(inertia.mass, a), point_acceleration(w, dw, inertia.moment))
    n = add(apply(inertia.matrix, dw), cross(w, apply(inertia.matrix, w)), cross(inertia.moment, a))
    return f, n


def _inertial_wrenches(
    mechanism: Mechanism, w: Sequence[Vector], dw: Sequence[Vector], a: Sequence[Vector]
) -> tuple[list[Vector], list[Vector]]:
    pairs = [
        body_wrench(body.inertia, *motion) for body, *motion in zip(mechanism.bodies, w, dw, a, strict=True)
    ]
    return [f for f, _ in pairs], [n for _, n in pairs]


def _add_wrenches(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    wrench: Sequence[Scalar],
    f: list[Vector],
    n: list[Vector],
) -> None:
    """f_{n+1}, μ_{n+1}: h_e on the bodies it acts on, about their origins."""
    for place, force, moment in wrenches_on_bodies(mechanism, joints, wrench):
        f[place.body] = add(f[place.body], force)
        n[place.body] = add(n[place.body], moment, cross(place.p, force))


def backward(
    mechanism: Mechanism, joints: Sequence[JointFrame], f: list[Vector], n: list[Vector]
) -> tuple[list[Vector], list[Scalar]]:
    """f_i, μ_i from the last body to the first (7.112)–(7.113), and the joint's share of τ_i (7.114).

    On entry f, n hold each body's own wrench about its origin; f is completed in place.
    """
    mu: list[Vector] = [ZERO3] * mechanism.n
    tau: list[Scalar] = [0] * mechanism.n
    for i in reversed(range(mechanism.n)):
        body, joint = mechanism.bodies[i], joints[i]
        mu[i] = add(n[i], cross(joint.r, f[i]))
        tau[i] = dot(joint.z, mu[i] if body.joint == "revolute" else f[i])
        if body.parent != FIXED_BASE:
            f_p = apply(joint.R, f[i])
            f[body.parent] = add(f[body.parent], f_p)
            n[body.parent] = add(n[body.parent], apply(joint.R, mu[i]), cross(body.p_before, f_p))
    return mu, tau


def inverse_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """τ of (7.42)."""
    tau = rigid_torques(mechanism, q, qd, qdd, wrench, base)
    return [t + t_f for t, t_f in zip(tau, friction_torques(mechanism, qd, None, tau, q), strict=True)]


@of_joints(3, "torques")
def rigid_torques(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
    base: BaseMotion | None = None,
) -> list[Scalar]:
    """τ of (7.42) without friction, springs included."""
    return with_springs(mechanism, q, newton_euler(mechanism, q, qd, qdd, wrench, base).tau)


@of_joints(3, "anything")
def joint_wrenches(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """f_i over μ_i for every moving joint of a link, six each, in body axes (7.112)–(7.113)."""
    result = newton_euler(mechanism, q, qd, qdd, wrench)
    f, mu = result.f, result.mu
    if mechanism.struts:
        f, mu = _with_struts(mechanism, result)
    return [[*f_i, *mu_i] for f_i, mu_i in zip(f, mu, strict=True)][: mechanism.joints]


def _with_struts(mechanism: Mechanism, motion: NewtonEuler) -> tuple[list[Vector], list[Vector]]:
    """f_i, μ_i with the forces of springs between points; springs at a joint act within it."""
    f: list[Vector] = [ZERO3] * len(mechanism.bodies)
    n: list[Vector] = [ZERO3] * len(mechanism.bodies)
    for body, force, moment in strut_wrenches(mechanism, motion.joints):
        if body != FIXED_BASE:
            f[body], n[body] = add(f[body], force), add(n[body], moment)
    mu, _ = backward(mechanism, motion.joints, f, n)
    return (
        [add(a, b) for a, b in zip(motion.f, f, strict=True)],
        [add(a, b) for a, b in zip(motion.mu, mu, strict=True)],
    )


def gravity_torques(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Scalar]:
    """g(q): the torques that hold the arm still (7.39), without springs."""
    still = [0] * mechanism.n
    return rigid_torques(replace(mechanism, springs=(), struts=()), q, still, still)


def holding_torques(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Scalar]:
    """The torques that hold the arm still against gravity and springs.

    Elastic transmissions are left out: they carry the arm.
    """
    still = [0] * mechanism.n
    own = tuple(spring for spring in mechanism.springs if spring.part != "elastic")
    return rigid_torques(replace(mechanism, springs=own), q, still, still)


# ------------------------------------------------------------------------------------------------------------
# Torques by what causes them: the terms of (7.42), by inverse dynamics of mechanisms with one of them each.
#
# Inverse dynamics at rest gives B q̈, and c_ijj q̇_j² where coordinate j moves alone; Coriolis torques are what
# velocities cause beyond that. So the causes add up to the torque of the motion.


CAUSES = (
    "inertia",
    "centrifugal",
    "Coriolis",
    "gravity",
    "springs",
    "viscous friction",  # what grows with speed, cubic friction included
    "dry friction",  # Coulomb, Stribeck and load friction, and offsets
    "tip wrench",  # what the wrenches given are at the joints, those of links too
)


def contributions(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Torques (8, n) of a motion by cause, in the order of `CAUSES`; rotors are part of the first three."""
    n = mechanism.n
    still: list[Scalar] = [0] * n
    bare = replace(mechanism, gravity=ZERO3, springs=(), struts=())
    growing = replace(mechanism, friction=tuple(x.only(lambda term: term.grows) for x in mechanism.friction))
    others = replace(
        mechanism, friction=tuple(x.only(lambda term: not term.grows) for x in mechanism.friction)
    )
    loaded = rigid_torques(mechanism, q, qd, qdd, wrench) if has_load(mechanism) else None
    moving = rigid_torques(bare, q, qd, still)
    alone = [rigid_torques(bare, q, [qd[j] if k == j else 0 for k in range(n)], still) for j in range(n)]
    centrifugal = [sum(column[i] for column in alone) for i in range(n)]
    return [
        rigid_torques(bare, q, still, qdd),
        centrifugal,
        [a - b for a, b in zip(moving, centrifugal, strict=True)] if n > 1 else still,
        gravity_torques(mechanism, q),
        spring_torques(mechanism, q),
        friction_torques(growing, qd, q=q),
        friction_torques(others, qd, rigid=loaded, q=q),
        still if wrench is None else rigid_torques(bare, q, still, still, wrench),
    ]
