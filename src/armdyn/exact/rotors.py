"""Rotors beside the two diagonal models: where what these leave out is zero, they are exact.

A rotor of axial inertia a and transverse inertia b that spins with θ̇ on a carrier of angular velocity ω has
the energy ½ a θ̇² + a θ̇ (zᵀω) + ½ a (zᵀω)² + ½ b (|ω|² − (zᵀω)²), beside that of its mass. The reflected
model of armdyn has the first term alone. The paper's diagonal model has the last two as well, in the
augmented link that the locked rotor belongs to; so zᵀω = 0 is enough there, and not here.

Whether something is zero is decided by numbers, at random postures, speeds and values of the symbols, which
is fast for any number of joints. The formula of zᵀω is made only where few joints lie below the carrier.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from armdyn.dynamics.closures import joint_values
from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.exact.basis import Basis
from armdyn.exact.form import Entry
from armdyn.exact.ring import MAX_JOINTS
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.parts import Link
from armdyn.model.robot_model import Converter, RobotModel, idlers, lower, places_of
from armdyn.model.vector import ZERO3, Vector, apply, dot

_STATES = 3
_ROUNDING = 1e-11  # of a speed, against the joints' speeds; of an energy, against the inertia times such
_WRITTEN = 7  # joints below a carrier whose speed is written out


@dataclass(frozen=True)
class RotorCoupling:
    """A motor and the link that carries it: what diagonal rotor models leave out of its energy.

    `diagonal_is_exact`: the reflected model, `with_rotors("reflected")`, leaves out nothing of this motor. It
    has Kᵀ diag(Im) K and the rotor's mass, no tensor of a rotor anywhere. `uncoupled`: z_mᵀω = 0, the
    criterion of Sciavicco, Siciliano and Villani (1994, section 4), whose diagonal model counts the tensor of
    the locked rotor in the link that carries it. Both hold for any values of the symbols; they are decided
    at random states, to rounding.
    """

    link: str  # the link the motor drives
    carrier: str
    diagonal_is_exact: bool
    uncoupled: bool
    speed: Entry | None  # z_mᵀω in closed form; None where it is too long, or the arm for any equation


def rotor_couplings(basis: Basis) -> list[RotorCoupling]:
    """The motors, each with its carrier: whether that turns about the motor's axis, and what it misses."""
    if basis.model.rotors == "none":
        return []
    if basis.model.rotors == "reflected":
        basis = Basis(replace(basis.model, rotors="exact"))
    numbers = random.Random(7)
    states = [_at_random(basis, numbers) for _ in range(_STATES)]
    found = []
    for i, (link, *seen) in enumerate(zip(_motored(basis.model), *states, strict=True)):
        assert link.motor is not None
        exact, uncoupled = (not any(x[k] for x in seen) for k in range(2))
        speed = _speed(basis, i, uncoupled)
        found.append(RotorCoupling(link.name, link.motor.carrier, exact, uncoupled, speed))
    return found


def _motored(model: RobotModel) -> list[Link]:
    """The links with motors: of joints that move, of fixed ones that others spin, of those that stand."""
    fixed = [link for link in model.links if link.joint == "fixed" and link.motor is not None]
    spinning = idlers(model)
    standing = [link for link in fixed if link not in spinning]
    return [*(link for link in model.moving if link.motor is not None), *spinning, *standing]


class _Seen(NamedTuple):
    """What a motor shows in one state."""

    misses: bool  # whether the reflected model leaves out a part of its energy
    couples: bool  # whether its carrier turns about its axis


def _at_random(basis: Basis, numbers: random.Random) -> Iterator[_Seen]:
    """Each motor at a random state, joint speeds about 1."""
    model = basis.model
    symbols = {name: numbers.uniform(0.5, 1.5) for name, _ in model.symbols}
    convert = Converter(lambda x: x.value(symbols))
    mechanism, places = lower(model, convert.scalar), places_of(model, convert)
    q = joint_values(mechanism, [numbers.uniform(-3.0, 3.0) for _ in range(basis.n)])
    qd = joint_values(mechanism, [numbers.uniform(0.5, 1.5) for _ in range(basis.n)])
    w, _ = velocities(mechanism, joint_frames(mechanism, q), qd)
    spins = [sum(k * qd[j] for j, k in rotor.row) for rotor in mechanism.rotors]
    for i, link in enumerate(_motored(model)):
        motor = link.motor
        assert motor is not None
        carrier, T = places[motor.carrier]
        omega: Vector = ZERO3 if carrier == FIXED_BASE else w[carrier]
        along = float(dot(apply(T.R, convert.vector(motor.axis)), omega))
        spin = float(spins[i]) if i < len(spins) else 0.0
        a, b = float(convert(motor.axial)), float(convert(motor.transverse))
        across = float(dot(omega, omega)) - along**2
        missed = a * along * (spin + along / 2) + b * across / 2
        yield _Seen(
            abs(missed) > _ROUNDING * basis.n**2 * (abs(a) + abs(b)) * (1 + abs(spin)),
            abs(along) > _ROUNDING * basis.n,
        )


def _is_short(basis: Basis, rotor: Rotor) -> bool:
    joints, body = 0, rotor.carrier
    while body != FIXED_BASE:
        joints, body = joints + 1, basis.exact.bodies[body].parent
    return joints <= _WRITTEN


def _speed(basis: Basis, i: int, uncoupled: bool) -> Entry | None:
    """z_mᵀω over the ring, where it is short; not that of a motor whose joint stands."""
    if basis.n > MAX_JOINTS:
        return None
    ring = basis.kinematic
    if uncoupled:
        return Entry(basis, ring.zero)
    if i >= len(basis.exact.rotors) or not _is_short(basis, basis.exact.rotors[i]):
        return None
    below = _turning(basis.mechanism(), i)
    rotor, count = below.rotors[0], len(below.bodies)
    q, qd = (joint_values(below, x)[:count] for x in ring.joint_variables()[:2])
    w, _ = velocities(below, joint_frames(below, q), qd)
    return Entry(basis, ring.zero + dot(rotor.axis, w[rotor.carrier]))


def _turning(mechanism: Mechanism, i: int) -> Mechanism:
    """Bodies up to the carrier of rotor i, without lengths, which do not change how it turns."""
    rotor = mechanism.rotors[i]
    bodies = mechanism.bodies[: rotor.carrier + 1]
    return replace(
        mechanism,
        bodies=tuple(replace(body, p_before=ZERO3, p_after=ZERO3) for body in bodies),
        rotors=(rotor,),
    )
