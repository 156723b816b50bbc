"""Couplings z_mᵀω of motors with the links that carry them: where zero, the diagonal rotor model is exact.

Whether it is zero is decided numerically at random postures, speeds and values of the symbols, which is fast
for any number of joints. Its formula is made only where few joints lie between the base and the carrier.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from armdyn.dynamics.closures import joint_values
from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.exact.basis import Basis
from armdyn.exact.form import Entry
from armdyn.exact.ring import MAX_JOINTS
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.robot_model import idlers, lower
from armdyn.model.vector import ZERO3, dot

_STATES = 3
_ROUNDING = 1e-11  # of a speed, against the joints' speeds
_WRITTEN = 7  # joints below a carrier whose speed is written out


@dataclass(frozen=True)
class RotorCoupling:
    """The speed z_mᵀω of a motor's carrier about the rotor's axis; zero means no coupling."""

    link: str  # the link the motor drives
    carrier: str
    diagonal_is_exact: bool
    speed: Entry | None  # z_mᵀω in closed form; None where it is too long


def rotor_couplings(basis: Basis) -> list[RotorCoupling]:
    """Couplings of the motors of an exact rotor model: whether carriers turn about motor axes, how fast."""
    couples = _coupled(basis)
    found = []
    for i, rotor in enumerate(basis.exact.rotors):
        links = basis.model.moving if rotor.part == "rotor" else idlers(basis.model)
        link = links[rotor.joint]
        assert link.motor is not None
        speed = _speed(basis, i, couples[i]) if _is_short(basis, rotor) else None
        found.append(RotorCoupling(link.name, link.motor.carrier, not couples[i], speed))
    return found


def _coupled(basis: Basis) -> list[bool]:
    """True for each rotor whose z_mᵀω is other than zero at any of some random states."""
    numbers = random.Random(7)
    states = [_speeds_at_random(basis, numbers) for _ in range(_STATES)]
    return [any(abs(x) > _ROUNDING * basis.n for x in speeds) for speeds in zip(*states, strict=True)]


def _speeds_at_random(basis: Basis, numbers: random.Random) -> list[float]:
    """z_mᵀω of every rotor, joint speeds about 1."""
    symbols = {name: numbers.uniform(0.5, 1.5) for name, _ in basis.model.symbols}
    mechanism = lower(basis.model, lambda x: x.value(symbols))
    q = joint_values(mechanism, [numbers.uniform(-3.0, 3.0) for _ in range(basis.n)])
    qd = joint_values(mechanism, [numbers.uniform(0.5, 1.5) for _ in range(basis.n)])
    w, _ = velocities(mechanism, joint_frames(mechanism, q), qd)
    return [
        0.0 if rotor.carrier == FIXED_BASE else float(dot(rotor.axis, w[rotor.carrier]))
        for rotor in mechanism.rotors
    ]


def _is_short(basis: Basis, rotor: Rotor) -> bool:
    joints, body = 0, rotor.carrier
    while body != FIXED_BASE:
        joints, body = joints + 1, basis.exact.bodies[body].parent
    return basis.n <= MAX_JOINTS and joints <= _WRITTEN


def _speed(basis: Basis, i: int, couples: bool) -> Entry:
    """z_mᵀω over the ring."""
    ring = basis.kinematic
    if not couples:
        return Entry(basis, ring.zero)
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
