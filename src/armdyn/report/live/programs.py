"""What a page computes, as programs: torques by what causes them, and where the bodies are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from armdyn import dynamics
from armdyn.dynamics.friction import has_load, without_friction
from armdyn.model.friction import TERMS
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import ZERO3
from armdyn.motion.timing.speed_parts import SteadyWrench
from armdyn.program import Program, record
from armdyn.robot import Robot

PARTS = (
    "inertia",
    "centrifugal",
    "Coriolis",
    "gravity",
    "springs",
    "viscous friction",
    "dry friction",
    "rotor coupling",
    "tip wrench",
)  # as in `Contributions.parts`
_GROWING = ("viscous", "cubic")


def torques_program(robot: Robot, wrench: SteadyWrench = None) -> Program:
    """Torques (9, n) by what causes them, in the order of `PARTS`, and their sum (n,) [N m or N].

    Inputs are q (all positions, loops closed), q̇ and q̈ (n). The parts are those of `contributions`, by
    inverse dynamics: it gives B q̈ at rest, and c_ijj q̇_j² where joint j moves alone.
    """
    mechanism = robot.mechanism
    reflected = robot.with_rotors("reflected") if robot.model.rotors == "exact" else robot
    felt = _Felt.of(robot, wrench)

    def function(q: Any, qd: Any, qdd: Any) -> Any:
        parts = _Parts(mechanism, reflected.mechanism, felt, q, qd, qdd)
        return parts.all, dynamics.inverse_dynamics(felt.mechanism, q, qd, qdd, felt.wrench)

    n = mechanism.n
    return record(
        function,
        [("q", mechanism.positions), ("qd", n), ("qdd", n)],
        [("parts", (len(PARTS), n)), ("total", (n,))],
    )


@dataclass(frozen=True)
class _Felt:
    """The mechanism with the places where wrenches act, and their numbers, one after the other."""

    mechanism: Mechanism
    wrench: list[float] | None

    @staticmethod
    def of(robot: Robot, wrench: SteadyWrench) -> _Felt:
        if not isinstance(wrench, dict):
            return _Felt(robot.mechanism, None if wrench is None else [float(x) for x in wrench])
        places = robot.model.places(list(wrench))
        numbers = [float(x) for h in wrench.values() for x in h]
        return (
            _Felt(replace(robot.mechanism, places=places), numbers)
            if numbers
            else _Felt(robot.mechanism, None)
        )


@dataclass(frozen=True)
class _Parts:
    """The parts of a torque, over any scalar."""

    mechanism: Mechanism
    reflected: Mechanism  # with the diagonal rotor model
    felt: _Felt
    q: Sequence[Any]
    qd: Sequence[Any]
    qdd: Sequence[Any]

    @property
    def all(self) -> list[list[Any]]:
        n = self.mechanism.n
        still = [0] * n
        bare = _bare(self.reflected)
        inertia = dynamics.inverse_dynamics(bare, self.q, still, self.qdd)
        alone = [
            dynamics.inverse_dynamics(
                bare, self.q, [x if k == j else 0 for k, x in enumerate(self.qd)], still
            )
            for j in range(n)
        ]
        centrifugal = [sum(column[i] for column in alone) for i in range(n)]
        quadratic = dynamics.inverse_dynamics(bare, self.q, self.qd, still)
        coriolis = [a - b for a, b in zip(quadratic, centrifugal, strict=True)] if n > 1 else still
        return [
            inertia,
            centrifugal,
            coriolis,
            dynamics.gravity_torques(self.mechanism, self.q),
            dynamics.spring_torques(self.mechanism, self.q),
            self._friction(_with_terms(self.mechanism, growing=True)),
            self._dry(),
            self._coupling(inertia, quadratic),
            self._wrench(),
        ]

    def _friction(self, mechanism: Mechanism) -> list[Any]:
        return dynamics.friction_torques(mechanism, self.qd, q=self.q)

    def _dry(self) -> list[Any]:
        """Dry friction, with what the load on the joints adds to it."""
        plain = self._friction(_with_terms(self.mechanism, growing=False))
        if not has_load(self.mechanism):
            return plain
        free = replace(without_friction(self.mechanism), places=self.felt.mechanism.places)
        rigid = dynamics.inverse_dynamics(free, self.q, self.qd, self.qdd, self.felt.wrench)
        return dynamics.friction_torques(
            _with_terms(self.mechanism, growing=False), self.qd, rigid=rigid, q=self.q
        )

    def _coupling(self, inertia: Sequence[Any], quadratic: Sequence[Any]) -> list[Any]:
        """What exact rotors add to reflected ones."""
        if self.mechanism is self.reflected or not self.mechanism.rotors:
            return [0] * self.mechanism.n
        exact = dynamics.inverse_dynamics(_bare(self.mechanism), self.q, self.qd, self.qdd)
        return [a - b - c for a, b, c in zip(exact, inertia, quadratic, strict=True)]

    def _wrench(self) -> list[Any]:
        still = [0] * self.mechanism.n
        if self.felt.wrench is None:
            return still
        return dynamics.inverse_dynamics(_bare(self.felt.mechanism), self.q, still, still, self.felt.wrench)


def _bare(mechanism: Mechanism) -> Mechanism:
    """Inertia alone: no gravity, springs and friction."""
    return replace(without_friction(mechanism), gravity=ZERO3, springs=(), struts=())


def _with_terms(mechanism: Mechanism, growing: bool) -> Mechanism:
    """With the friction that grows with speed, or with all other."""
    kept = [name for name in TERMS if (name in _GROWING) == growing]
    friction = tuple(
        surface.with_coefficients({name: surface.coefficients[name] for name in kept})
        for surface in mechanism.friction
    )
    return replace(mechanism, friction=friction)
