"""`DriveLoads`: what cycles ask of every gear's output, as a function of all motors and gears chosen.

The joint torques are linear in the parameters of the robot, τ = Y π (7.81), and π is linear in what a choice
brings: with x = (m, J, J_t) for the mass of a drive and the moments of its rotor about its axis and across,
and N turns of the motor for one of the gear's output, the torques without friction are

    y = Û⁻ᵀ τ,    y_k = base_k + Σ_j C_kj φ_j,    φ_j = (m_j, J_j, J_t,j, N_j J_j, N_j² J_j),

where the gears' outputs turn by Û q̇: Û is the robot's transmission with the gear ratios left out, so that
K = diag(N) Û. The columns C come from the regressor, evaluated once; every assignment is then a few products
of arrays. The fourth column is the coupling of the spinning rotor with its carrier (7.62), linear in the
ratio; the last, of the rotor's own spin, acts at its own output alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.expression import Expression
from armdyn.model.edit import by_joint
from armdyn.model.friction import TERMS
from armdyn.model.parameters import layout
from armdyn.model.parts import Link, RotorModel
from armdyn.motion.torques import SteadyWrench, check_robot
from armdyn.motion.trajectory import Trajectory
from armdyn.names import listed, quoted
from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts
from armdyn.studies.catalogue import Pair
from armdyn.studies.errors import StudyError, check

FEATURES = 5  # of φ
_TRACE = 2.0**-30  # what the reference motors have of everything: nothing, but parameters of all kinds
_LEAST = 100  # samples of a cycle, however long its own step is
_POSTURES = 60  # of each cycle, in which inertias and holding torques are looked at


def features(mass: Any, inertia: Any, transverse: Any, ratio: Any) -> np.ndarray:
    """φ (..., 5) of drives."""
    columns = mass, inertia, transverse, ratio * inertia, ratio * ratio * inertia
    return np.stack(np.broadcast_arrays(*map(np.asarray, columns)), -1).astype(float)


# ------------------------------------------------------------------------------------------------------------
# The robot whose drives are chosen.


@dataclass(frozen=True)
class Reference:
    """A robot with motors of ratio 1 at the joints whose drives are chosen, and next to nothing in them.

    `stages` are turns of the gear's output for one unit of each joint [1, or rad/m where it slides], with the
    sign that the motor had.
    """

    robot: Robot
    links: tuple[Link, ...]
    stages: tuple[float, ...]
    places: tuple[int, ...]  # of these motors among the rows of the transmission

    @classmethod
    def of(cls, robot: Robot, joints: Sequence[str] | None, stages: Mapping[str, Any] | None) -> Reference:
        """The drives of these joints, by default of all that motors can drive."""
        model = robot.model
        if model.elastic:
            raise StudyError(
                f"{robot.name}: its joints are elastic, and drives are sized on rigid ones; "
                "robot.with_rigid_joints() has them"
            )
        if robot.drives.passive:
            name = robot.coordinates[robot.drives.passive[0]]
            raise StudyError(f"{robot.name}: nothing drives {quoted(name)}; drives cannot be sized")
        drives = robot.drives
        if len(drives) != robot.n:
            raise StudyError(
                f"{robot.name}: {len(drives)} motors drive {robot.n} coordinates; drives are sized where "
                "there is one motor for each"
            )
        chosen = {link.name for link in drives.links}
        if joints is not None:
            names = [joints] if isinstance(joints, str) else joints
            chosen = set(by_joint(model, dict.fromkeys(names), "joints"))
            if other := sorted(chosen - {link.name for link in drives.links}):
                raise StudyError(
                    f"joints: {quoted(other[0])} has no drive of its own; those that have: "
                    f"{listed(drives.names)}"
                )
        if not chosen:
            raise StudyError("joints: found none; name one or more")
        links = tuple(link for link in drives.links if link.name in chosen)
        given = by_joint(model, stages or {}, "stages")
        if unknown := sorted(set(given) - chosen):
            raise StudyError(f"stages: no drive of {quoted(unknown[0])} is sized")
        factors = tuple(_stage(link, given.get(link.name), robot) for link in links)
        places = tuple(i for i, link in enumerate(drives.links) if link.name in chosen)
        bare = cls(robot, links, factors, places)
        return cls(bare.with_drives([_TRACES] * len(links)), links, factors, places)

    def with_drives(self, drives: Sequence[Drive]) -> Robot:
        """The robot with these drives, each where the motor was."""
        tables = {
            link.name: self._table(link, stage, drive)
            for link, stage, drive in zip(self.links, self.stages, drives, strict=True)
        }
        rotors: RotorModel = "reflected" if self.robot.model.rotors == "reflected" else "exact"
        return self.robot.with_motors(tables, rotors=rotors)

    def _table(self, link: Link, stage: float, drive: Drive) -> dict[str, Any]:
        table: dict[str, Any] = {
            "gear": stage * drive.ratio,
            "inertia": {"axial": drive.inertia, "transverse": drive.transverse},
            "mass": drive.mass,
            "friction": {"viscous": drive.viscous, "coulomb": drive.coulomb},
            "torque_constant": drive.torque_constant,
            "limits": {key: x for key, x in drive.limits.items() if np.isfinite(x)},
        }
        if link.motor is not None and link.motor.coupling:
            number = self.robot.model.number
            old = number(link.motor.gear)
            scale = stage * drive.ratio / old
            table["coupling"] = {name: number(k) * scale for name, k in link.motor.coupling}
        return table

    @property
    def names(self) -> tuple[str, ...]:
        """The joints (k)."""
        return tuple(link.joint_label for link in self.links)

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What a unit of each number of the drives adds to the parameters.

        Of mass, axial tensor, transverse tensor and the inertia that spins (k, 4, p); of Coulomb friction at
        the shaft (k, p); of one unit of everything at all joints (p,).
        """
        plain, k = self.robot.parameters, len(self.links)
        spins = np.array([x[:2] == "Im" and x[2:].isdigit() for x in self.robot.parameter_names])
        units, dry, everything = np.empty((k, 4, len(plain))), np.empty((k, len(plain))), np.zeros(len(plain))
        for j in range(k):
            keys = ("mass", "inertia", "transverse", "viscous", "coulomb")
            one = {key: self._with_unit(j, key) - plain for key in keys}
            tensor, spinning = np.where(spins, 0.0, one["inertia"]), np.where(spins, one["inertia"], 0.0)
            units[j] = one["mass"], tensor, one["transverse"], spinning
            dry[j] = one["coulomb"]
            everything += sum(one.values())
        return units, dry, everything

    def _with_unit(self, j: int, key: str) -> np.ndarray:
        """Parameters with one unit more of a number of drive j."""
        drives = [_TRACES] * len(self.links)
        drives[j] = Drive(**(vars(_TRACES) | {key: getattr(_TRACES, key) + 1.0}))
        return self.with_drives(drives).parameters


def _stage(link: Link, given: Any, robot: Robot) -> float:
    sign = 1.0 if link.motor is None else float(np.sign(robot.model.number(link.motor.gear)))
    if given is not None:
        stage = check.number(f"stages: {quoted(link.joint_label)}", given)
        if not np.isfinite(stage) or stage == 0:
            raise StudyError(
                f"stages: {quoted(link.joint_label)}: found {stage:g}; a number but 0 is expected"
            )
        return stage
    if link.joint == "prismatic":
        raise StudyError(
            f"joint {quoted(link.joint_label)} slides: stages={{{link.joint_label!r}: …}} has to say how far "
            "the gear's output turns for a metre [rad/m]: 1/radius of a pinion, 2π/lead of a screw"
        )
    return sign


@dataclass(frozen=True)
class Drive:
    """The numbers of a drive as a robot file has them."""

    ratio: float
    mass: float
    inertia: float
    transverse: float
    viscous: float
    coulomb: float
    torque_constant: float
    limits: Mapping[str, float]

    @classmethod
    def of(cls, pair: Pair) -> Drive:
        """Those of a pair; limits are what motor and gear bear for a short time."""
        motor, gear = pair.motor, pair.gear
        limits = {
            "torque": min(motor.peak_torque, gear.peak_torque / gear.ratio / gear.efficiency),
            "velocity": min(motor.max_speed, gear.max_speed),
            "current": motor.max_current,
        }
        data = pair.ratio, pair.mass, pair.inertia, motor.transverse_inertia, pair.viscous, pair.coulomb
        return cls(*data, motor.torque_constant, limits)


_TRACES = Drive(1.0, _TRACE, _TRACE, _TRACE, _TRACE, _TRACE, 1.0, {})


# ------------------------------------------------------------------------------------------------------------
# The cycles.


@dataclass(frozen=True)
class Samples:
    """States of all cycles in a row, the time that each has, and postures in which the arm may rest."""

    cycle: np.ndarray  # (R,) the number of the cycle
    t: np.ndarray  # (R,) [s], from the beginning of the cycle
    weight: np.ndarray  # (R,) [s], that add up to the duration of each cycle (trapezoidal rule)
    durations: np.ndarray  # (cycles,) [s]
    shares: np.ndarray  # (cycles,) of the operating time
    q: np.ndarray  # (R, n)
    qd: np.ndarray
    qdd: np.ndarray
    still: np.ndarray  # (S,) rows of the postures

    @classmethod
    def of(
        cls, robot: Robot, cycles: Sequence[Trajectory], shares: np.ndarray, points: int, rate: float
    ) -> Samples:
        """Up to about `points` samples of each cycle, `rate` times as fast."""
        parts, still, first = [], [], 0
        for i, motion in enumerate(cycles):
            check_robot(robot, motion)
            own = min(motion.step, motion.duration / _LEAST)
            at = motion.samples(max(own, motion.duration / points))
            t, dt = at.t / rate, np.diff(at.t) / rate
            weight = (np.append(dt, 0) + np.append(0, dt)) / 2
            parts.append((np.full(len(t), i), t, weight, at.q, at.qd * rate, at.qdd * rate**2))
            every = max(1, len(t) // _POSTURES)
            still.append(np.unique(np.append(np.arange(0, len(t), every), len(t) - 1)) + first)
            first += len(t)
        cycle, t, weight, q, qd, qdd = (np.concatenate(x) for x in zip(*parts, strict=True))
        durations = np.array([motion.duration / rate for motion in cycles])
        return cls(cycle, t, weight, durations, shares, q, qd, qdd, np.concatenate(still))

    @cached_property
    def operating(self) -> np.ndarray:
        """(R,): the part of the operating time that each sample stands for; they add up to 1."""
        return np.asarray(self.weight * (self.shares / self.durations)[self.cycle])


# ------------------------------------------------------------------------------------------------------------
# The loads.


class DriveLoads:
    """Torques at the outputs of k gears over R samples of the cycles and S postures at rest; inertias there.

    Arrays of rows have R + 2 S of them: torques of the cycles [N m], torques that hold the postures [N m],
    and the inertia about each output in these postures, without what spins of the output's own motor [kg m²].
    """

    def __init__(
        self,
        reference: Reference,
        cycles: Sequence[Trajectory],
        shares: np.ndarray,
        *,
        wrench: SteadyWrench = None,
        points: int = 1000,
        rate: float = 1.0,
        feedback: bool = True,
    ) -> None:
        self.reference, self.cycles, self.rate = reference, tuple(cycles), rate
        robot, self.k = reference.robot, len(reference.links)
        self.at = Samples.of(robot, cycles, shares, points, rate)
        self.feedback = feedback
        places = list(reference.places)
        U = robot.transmission
        self._P = robot.drives.to_motors[places]  # y = P τ
        self._outputs = np.linalg.inv(U)[:, places]  # q̇ of a unit speed of one output
        self.speed = (self.at.qd @ U[places].T).T  # (k, R) of the outputs [rad/s]
        self.acceleration = (self.at.qdd @ U[places].T).T
        self._refuse_shared_load_friction(robot)
        self._evaluate(robot, wrench)
        self.turning = self._turning(robot)

    # ---- torques, inertias -----------------------------------------------------------------------------

    def _evaluate(self, robot: Robot, wrench: SteadyWrench) -> None:
        """`base` (k, rows), `columns` (k, k, rows, 5), and friction at the outputs (k, R)."""
        at, k, R, S = self.at, self.k, len(self.at.t), len(self.at.still)
        parameters, (units, dry, _) = self._parameters(robot), self.reference.units
        rubs = np.array([x.kind.entry in TERMS for x in layout(robot.model)])
        still = np.zeros((S, robot.n))
        q = at.q[at.still]
        Y = self._P @ robot.regressor(at.q, at.qd, at.qdd)  # (R, k, p)
        held = self._P @ robot.regressor(q, still, still)
        self.base = np.empty((k, R + 2 * S))
        self.columns = np.zeros((k, k, R + 2 * S, FEATURES))
        index = self._payloads(robot, at.t)
        frictionless = np.where(rubs, 0.0, parameters)
        rows: list[np.ndarray] = [Y, held]
        self.base[:, :R] = np.einsum("rkp,rp->kr", Y, frictionless[index])
        self.base[:, R : R + S] = np.einsum("rkp,rp->kr", held, frictionless[index[at.still]])
        accelerated = np.empty(held.shape)
        for i in range(k):
            qdd = np.broadcast_to(self._outputs[:, i], q.shape)
            accelerated[:, i] = (self._P[i] @ robot.regressor(q, still, qdd)) - held[:, i]
        rows.append(accelerated)
        self.base[:, R + S :] = np.einsum("rkp,rp->kr", accelerated, frictionless[index[at.still]])
        self.base[:, :R] += self._wrench(robot, wrench)
        ends = np.cumsum([0, R, S, S])
        for part, first, last in zip(rows, ends, ends[1:], strict=False):
            # (k outputs, k drives, rows, mass | axial | transverse | spinning)
            found = np.einsum("rkp,jcp->kjrc", part, units)
            self.columns[:, :, first:last, :4] = found
        for i in range(k):  # the rotor's own spin: known, and taken out of the coupling
            self.columns[i, i, :R, 4] = self.acceleration[i]
            self.columns[i, i, R + S :, 4] = 1.0
        self.columns[..., 3] -= self.columns[..., 4]
        for i in range(k):  # the inertia of the load is without the motor's own spin
            self.columns[i, i, R + S :, 4] = 0.0
        if not self.feedback:
            own_spin = self.columns[range(k), range(k), :, 4].copy()
            self.columns[:] = 0.0
            self.columns[range(k), range(k), :, 4] = own_spin
        base_friction = np.where(rubs, parameters, 0.0)
        self.friction = np.einsum("rkp,rp->kr", Y, base_friction[index])
        self.dry = np.einsum("rkp,kp->kr", Y, dry)  # of a Coulomb torque of 1 N m at the shaft, ratio 1
        parts = friction_parts(robot, at.q if robot.model.loops else None)
        share = parts.shares_of(at.qd) if parts.load.any() else np.zeros((R, robot.n))
        self.share = (share @ np.sign(self._P).T).T  # load friction in parts of |y|; no joints share motors

    def _parameters(self, robot: Robot) -> np.ndarray:
        """Parameters (loads, p) without the drives, for each of the loads that the arm carries."""
        everything = _TRACE * self.reference.units[2]
        loaded = [motion.loaded(robot) for motion in self.cycles]
        return np.array([one.parameters - everything for each in loaded for one in each.robots])

    def _payloads(self, robot: Robot, t: np.ndarray) -> np.ndarray:
        """(R,): which of the loaded robots each sample has."""
        found, first = [], 0
        for i, motion in enumerate(self.cycles):
            loaded = motion.loaded(robot)
            found.append(loaded.index(t[self.at.cycle == i] * self.rate) + first)
            first += len(loaded.robots)
        return np.concatenate(found)

    def _wrench(self, robot: Robot, wrench: SteadyWrench) -> np.ndarray:
        """(k, R) torques at the outputs of a steady wrench."""
        if wrench is None:
            return np.zeros((self.k, len(self.at.t)))
        torques, *_ = check.felt(robot, wrench, self.at.q)
        return np.asarray(self._P @ torques.T)

    def _turning(self, robot: Robot) -> np.ndarray:
        """(k, R): how the carrier of each motor turns up about the motor's axis, z·ω̇ [rad/s²]."""
        at, found = self.at, np.zeros((self.k, len(self.at.t)))
        if robot.model.rotors != "exact":
            return found
        for j, link in enumerate(self.reference.links):
            motor = robot.model.links[robot.model.index[link.name]].motor
            assert motor is not None
            if motor.carrier == robot.model.root:
                continue
            z = [robot.model.number(Expression.of(x)) for x in motor.axis]
            axis = robot.pose(at.q, motor.carrier)[..., :3, :3] @ np.array(z)
            J, dJ = (
                robot.jacobian(at.q, motor.carrier),
                robot.jacobian_dot(at.q, at.qd, motor.carrier),
            )
            alpha = np.einsum("rij,rj->ri", J[:, 3:], at.qdd) + np.einsum("rij,rj->ri", dJ[:, 3:], at.qd)
            found[j] = np.einsum("ri,ri->r", axis, alpha)
        return found if self.feedback else np.zeros_like(found)

    def _refuse_shared_load_friction(self, robot: Robot) -> None:
        """Load friction is of a joint's torque; of joints that share motors no interval of it is known."""
        mixed = (np.abs(self._P) > 1e-12 * np.abs(self._P).max()).sum(1) > 1
        if robot.model.loops:
            loaded = friction_parts(robot, self.at.q).load.any()
        else:
            loaded = friction_parts(robot).load.any()
        if loaded and (mixed.any() or robot.model.loops):
            raise StudyError(
                f"{robot.name}: its joints have load friction and share motors; drives are sized without it: "
                "with_friction takes it away"
            )

    # ---- what follows of a choice ----------------------------------------------------------------------

    @cached_property
    def depends(self) -> np.ndarray:
        """(k, k): whether the torques at output i depend on what is chosen for j."""
        size = np.abs(self.columns).max(2).max(2)
        scale = np.abs(self.columns).max()
        return np.asarray((size > 1e-13 * scale) | np.eye(self.k, dtype=bool))

    def by_drive(self, i: int, j: int, phi: np.ndarray) -> np.ndarray:
        """(..., rows): what drives of features φ (..., 5) at j add to the torques at output i."""
        return np.asarray(phi @ self.columns[i, j].T)
