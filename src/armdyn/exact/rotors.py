"""Where the diagonal rotor model is exact: z_mᵀω of the link that carries the motor (section 4 of 002)."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.exact.basis import Basis
from armdyn.exact.form import Entry
from armdyn.model.mechanism import FIXED_BASE
from armdyn.model.vector import ZERO3, dot


@dataclass(frozen=True)
class RotorCoupling:
    """The speed z_mᵀω of a motor's carrier about the rotor's axis; zero means no coupling."""

    link: str  # the link the motor drives
    carrier: str
    speed: Entry

    @property
    def diagonal_is_exact(self) -> bool:
        return not self.speed.poly


def rotor_couplings(basis: Basis) -> list[RotorCoupling]:
    """For each motor of an exact rotor model, z_mᵀω in closed form."""
    ring = basis.kinematic
    mechanism = basis.mechanism()
    q, qd, _ = ring.joint_variables()
    w, _ = velocities(mechanism, joint_frames(mechanism, q), qd)
    found = []
    for rotor in mechanism.rotors:
        link = basis.model.moving[rotor.joint]
        w_c = ZERO3 if rotor.carrier == FIXED_BASE else w[rotor.carrier]
        assert link.motor is not None
        found.append(
            RotorCoupling(link.name, link.motor.carrier, Entry(basis, ring.zero + dot(rotor.axis, w_c)))
        )
    return found
