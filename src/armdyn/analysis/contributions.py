"""The torques of a motion taken apart, as in figures 7.6, 7.8 and 7.11.

τ_i = Σ_j b_ij q̈_j + Σ_j c_ijj q̇_j² + Σ_{j<k} 2 c_ijk q̇_j q̇_k + g_i + springs_i
      + friction_i + rotor coupling_i + (Jᵀ h_e)_i
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from armdyn.analysis.errors import AnalysisError, check
from armdyn.dynamics import CAUSES
from armdyn.expression import shown
from armdyn.robot import Robot

RotorPart = Literal["separate", "within"]


@dataclass(frozen=True)
class Contributions:
    """Torques by cause, for n joints and any leading axes [N m, or N for a prismatic joint].

    `rotors` says where the coupling of rotors and links is: "separate", in `rotor_coupling` alone, or
    "within", in `inertia`, `centrifugal` and `coriolis_pairs`, which then are those of `robot.inertia` and
    `robot.coriolis`. In both cases the parts add up to `total`.
    """

    inertia: np.ndarray  # (..., n, n): at joint i by the acceleration of joint j, b_ij q̈_j
    centrifugal: np.ndarray  # (..., n, n): at joint i by the speed of joint j, c_ijj q̇_j²
    coriolis_pairs: np.ndarray  # (..., n, n, n): at joint i by joints j < k, 2 c_ijk q̇_j q̇_k; else zero
    gravity: np.ndarray  # (..., n)
    springs: np.ndarray  # (..., n)
    viscous: np.ndarray  # (..., n): friction that grows with speed, cubic friction included
    dry: np.ndarray  # (..., n): Coulomb, Stribeck and load friction, and offset
    rotor_coupling: np.ndarray  # (..., n): exact minus reflected rotors
    tip_wrench: np.ndarray  # (..., n): Jᵀ h_e, of all wrenches given
    rotors: RotorPart

    @property
    def coriolis(self) -> np.ndarray:
        """Coriolis torques (..., n), the sum over pairs of joints."""
        return np.asarray(self.coriolis_pairs.sum((-2, -1)))

    @property
    def friction(self) -> np.ndarray:
        """Friction torques (..., n), viscous and dry."""
        return np.asarray(self.viscous + self.dry)

    @property
    def parts(self) -> dict[str, np.ndarray]:
        """Torques (..., n) by name, in a fixed order; their sum is `total`."""
        return {
            "inertia": self.inertia.sum(-1),
            "centrifugal": self.centrifugal.sum(-1),
            "Coriolis": self.coriolis,
            "gravity": self.gravity,
            "springs": self.springs,
            "viscous friction": self.viscous,
            "dry friction": self.dry,
            "rotor coupling": self.rotor_coupling,
            "tip wrench": self.tip_wrench,
        }

    @property
    def total(self) -> np.ndarray:
        """Total torques (..., n), those of `robot.inverse_dynamics`."""
        return np.asarray(sum(self.parts.values()))

    def at(self, joint: int) -> Iterator[tuple[str, np.ndarray]]:
        """Name and torque (...) of each curve of one joint (counted from 0); zero curves are left out.

        Inertia and centrifugal torques one by one as in figure 7.6, Coriolis by pairs of joints.
        """
        n = self.gravity.shape[-1]
        if joint not in range(n):
            raise AnalysisError(f"joint: found {shown(joint)}; allowed: 0 to {n - 1}")
        i, joints = int(joint), range(n)
        curves = [(f"inertia, joint {j + 1}", self.inertia[..., i, j]) for j in joints]
        curves += [(f"centrifugal, joint {j + 1}", self.centrifugal[..., i, j]) for j in joints]
        curves += [
            (f"Coriolis, joints {j + 1} and {k + 1}", self.coriolis_pairs[..., i, j, k])
            for j in joints
            for k in range(j + 1, n)
        ]
        curves += [(name, part[..., i]) for name, part in list(self.parts.items())[3:]]
        return ((name, curve) for name, curve in curves if curve.any())


@np.errstate(over="ignore", invalid="ignore")  # infinite or huge states give such torques without a warning
def contributions(
    robot: Robot,
    q: Any,
    qd: Any,
    qdd: Any,
    wrench: Any = None,
    *,
    rotors: RotorPart = "separate",
    parameters: Any = None,
) -> Contributions:
    """The named parts of the torque (7.42) at states (..., n); they add up to `robot.inverse_dynamics`.

    `wrench` (..., 6) is h_e, what the tip exerts on its surroundings, world axes, or {link: (..., 6)} what
    links exert at the origins of their frames. With rotors="separate",
    inertia, centrifugal and Coriolis torques are those of the diagonal rotor model (k_r² I_m at the joint,
    the rotor's mass on its carrier), and what the exact model adds is the part `rotor_coupling`. With
    rotors="within" they are those of the full matrices B and C, as the book draws them (its b_12 has
    k_r2 I_m2), and `rotor_coupling` is zero. The two differ only for a robot whose rotors are "exact".
    `parameters` (p,) take the place of `robot.parameters`: the parts are those of
    `robot.with_parameters(parameters)`, and nothing is compiled anew.
    """
    check.one_of("rotors", rotors, "separate", "within")
    q, qd, qdd = check.beside_wrenches(robot, wrench, *check.joint_arrays(robot, q=q, qd=qd, qdd=qdd))
    parameters = _checked(robot, parameters)
    plain, plain_parameters = robot, parameters
    coupling = np.zeros(q.shape)
    if rotors == "separate" and robot.model.rotors == "exact":
        plain, plain_parameters = _reflected(robot), _reflected_parameters(robot, parameters)
        coupling = _rotor_coupling((robot, parameters), (plain, plain_parameters), q, qd, qdd)
    products = christoffel(plain, q, plain_parameters) * (qd[..., None, :, None] * qd[..., None, None, :])
    causes = np.asarray(robot.contributions(q, qd, qdd, wrench, parameters=parameters))
    by_cause = dict(zip(CAUSES, np.moveaxis(causes, -2, 0), strict=True))
    return Contributions(
        inertia=np.asarray(plain.inertia(q, parameters=plain_parameters)) * qdd[..., None, :],
        centrifugal=np.einsum("...ijj->...ij", products).copy(),
        coriolis_pairs=2 * np.triu(products, 1),
        gravity=by_cause["gravity"],
        springs=by_cause["springs"],
        viscous=by_cause["viscous friction"],
        dry=by_cause["dry friction"],
        rotor_coupling=coupling,
        tip_wrench=by_cause["tip wrench"],
        rotors=rotors,
    )


def _checked(robot: Robot, parameters: Any) -> np.ndarray | None:
    if parameters is None:
        return None
    found, p = check.numbers("parameters", parameters), len(robot.parameter_names)
    if found.shape != (p,):
        raise AnalysisError(f"parameters: expected ({p},), as robot.parameter_names, found {found.shape}")
    return found


@lru_cache(maxsize=16)  # a new robot has its kernels to prepare, which takes longer than all the rest
def _reflected(robot: Robot) -> Robot:
    return robot.with_rotors("reflected")


def _reflected_parameters(robot: Robot, parameters: np.ndarray | None) -> np.ndarray | None:
    return None if parameters is None else _in_order_of(_reflected(robot), robot, tuple(parameters.tolist()))


@lru_cache(maxsize=8)
def _in_order_of(plain: Robot, robot: Robot, parameters: tuple[float, ...]) -> np.ndarray:
    """(p,): parameters of the exact model as the diagonal one takes them; it may lack some that are zero.

    They are not the same: in the exact model, tensors of rotors are part of the links that carry them.
    """
    described = _reflected(robot.with_parameters(parameters))
    found = dict(zip(described.parameter_names, described.parameters, strict=True))
    values = np.array([found.get(name, 0.0) for name in plain.parameter_names])
    values.flags.writeable = False
    return values


def spring_torques(robot: Robot, q: np.ndarray, parameters: Any = None) -> np.ndarray:
    """Torques (..., n) that hold against springs; zeros, without being computed, where there are none."""
    has_springs = robot.mechanism.springs or robot.mechanism.struts
    return np.asarray(robot.springs(q, parameters=parameters)) if has_springs else np.zeros(q.shape)


def christoffel(robot: Robot, q: Any, parameters: Any = None) -> np.ndarray:
    """c_ijk of (7.45), (..., n, n, n), symmetric in j and k.

    C is linear in q̇, so its values at the n unit velocities are the symbols: c_ij = Σ_k c_ijk q̇_k (7.44).
    """
    (q,) = check.joint_arrays(robot, q=q)
    unit = np.asarray(
        robot.coriolis(q[..., None, :], np.eye(robot.n), parameters=parameters)
    )  # (..., k, i, j)
    symbols = np.moveaxis(unit, -3, -1)
    return np.asarray((symbols + symbols.swapaxes(-1, -2)) / 2)


def _rotor_coupling(
    exact: tuple[Robot, Any], reflected: tuple[Robot, Any], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """(B − B_r) q̈ + (C − C_r) q̇; gravity, springs and friction are the same in both models.

    The two are robots with their parameters, None for their own.
    """
    B, B_r = (np.asarray(x.inertia(q, parameters=p)) for x, p in (exact, reflected))
    C, C_r = (np.asarray(x.coriolis(q, qd, parameters=p)) for x, p in (exact, reflected))
    return np.asarray(((B - B_r) @ qdd[..., None] + (C - C_r) @ qd[..., None])[..., 0])
