"""A motion, the torques it needs, and what causes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.analysis.contributions import Contributions, RotorPart
from armdyn.expression import shown
from armdyn.motion.timing.exceeded import exceeded, sentences
from armdyn.motion.torques import contributions_along
from armdyn.motion.trajectories.trajectory import Samples
from armdyn.report.errors import ReportError
from armdyn.report.findings.drawn.skeleton import Skeleton, skeleton
from armdyn.report.findings.drawn.views import View, plane_normal, view_of
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot

ROUNDING = 1e-9  # of the largest torque: smaller parts are rounding


# ---- the motion ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class JointCurves:
    """Samples of the joints and their torques (N, n)."""

    robot: Robot
    samples: Samples
    torque: np.ndarray

    @property
    def peak(self) -> tuple[int, float, float]:
        """The joint, counted from 0, with the largest torque, that torque, and when."""
        size = np.abs(self.torque)
        sample, joint = np.unravel_index(int(size.argmax()), size.shape)
        return int(joint), float(size[sample, joint]), float(self.samples.t[sample])


def joint_curves(subject: Subject) -> JointCurves:
    return JointCurves(subject.robot, subject.samples, subject.torque)


@dataclass(frozen=True)
class TipCurves:
    """Position, velocity and acceleration (N, 3) of the tip over time, world axes."""

    t: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    axes: tuple[int, ...]  # the world axes along which it can move: those of its plane for a planar arm

    @property
    def path(self) -> float:
        """How far the tip moves [m]."""
        return float(np.linalg.norm(np.diff(self.position, axis=0), axis=1).sum())

    def peak(self, curve: np.ndarray) -> tuple[float, float]:
        """The largest norm of one of the curves (N, 3), and when."""
        size = np.linalg.norm(curve, axis=1)
        return float(size.max()), float(self.t[int(size.argmax())])


def tip_curves(subject: Subject) -> TipCurves:
    """The tip along the motion: J q̇ and J q̈ + J̇ q̇."""
    robot, at = subject.robot, subject.samples
    J = np.asarray(robot.jacobian(at.q))[:, :3]
    J_dot = np.asarray(robot.jacobian_dot(at.q, at.qd))[:, :3]
    position = np.asarray(robot.pose(at.q))[:, :3, 3]
    velocity = np.einsum("tij,tj->ti", J, at.qd)
    acceleration = np.einsum("tij,tj->ti", J, at.qdd) + np.einsum("tij,tj->ti", J_dot, at.qd)
    normal = plane_normal(skeleton(robot, at.q[0]))
    axes = tuple(k for k in range(3) if normal is None or abs(normal[k]) < 1 - 1e-9)
    return TipCurves(at.t, position, velocity, acceleration, axes)


@dataclass(frozen=True)
class Strobe:
    """The arm at equal intervals of time, and the path (N, 3) of its tip."""

    arms: tuple[Skeleton, ...]
    path: np.ndarray
    interval: float  # [s]
    view: View


def find_strobe(subject: Subject, postures: int = 7) -> Strobe:
    if postures % 1 or postures < 1:
        raise ReportError(f"postures: found {shown(postures)}; a whole number from 1 on is expected")
    robot, motion = subject.robot, subject.trajectory
    times = np.linspace(0, motion.duration, int(postures))
    arms = tuple(skeleton(robot, q) for q in motion(times)[0])
    fine = motion(np.linspace(0, motion.duration, 200))[0]
    path = np.asarray(robot.pose(fine))[:, :3, 3]
    return Strobe(arms, path, motion.duration / max(len(arms) - 1, 1), view_of(robot, arms[len(arms) // 2]))


@dataclass(frozen=True)
class MotionFinding:
    """A motion: the arm, its joints and its tip over time."""

    text: str  # which motion it is
    beyond: tuple[str, ...]  # which limits of position, velocity, acceleration and jerk it exceeds
    pressing: bool  # whether the tip exerts a wrench
    strobe: Strobe
    joints: JointCurves
    tip: TipCurves


def find_motion(subject: Subject) -> MotionFinding:
    at = subject.samples
    beyond = exceeded(subject.robot, at.t, at.q, at.qd, at.qdd)
    return MotionFinding(
        subject.text,
        tuple(sentences([one for one in beyond if not one.of_motor])),
        subject.wrench is not None,
        find_strobe(subject),
        joint_curves(subject),
        tip_curves(subject),
    )


# ---- its torques -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TorqueCurves:
    """Torques (N, n) and what causes them, over time."""

    robot: Robot
    t: np.ndarray
    total: np.ndarray
    parts: Contributions
    causes: dict[str, np.ndarray]  # cause -> (N, n); those that are only rounding are left out

    @property
    def least(self) -> float:
        """Smaller torques are rounding."""
        return float(ROUNDING * np.abs(self.total).max())


def torque_curves(subject: Subject, rotors: RotorPart = "separate") -> TorqueCurves:
    """`rotors`: whether the coupling of rotors and links is a part of its own, as for `contributions`."""
    at = subject.samples
    loaded = subject.trajectory.loaded(subject.robot)
    parts = contributions_along(loaded, at, subject.wrench, rotors=rotors)
    least = ROUNDING * np.abs(subject.torque).max()
    causes = {name: part for name, part in parts.parts.items() if np.abs(part).max() > least}
    return TorqueCurves(subject.robot, at.t, subject.torque, parts, causes)


@dataclass(frozen=True)
class JointPeaks:
    """The largest magnitudes of one joint's motion."""

    velocity: float
    acceleration: float
    torque: float
    time: float  # of the largest torque [s]
    rms: float  # of the torque
    limit: float  # of the torque; infinite where there is none


@dataclass(frozen=True)
class TorquesFinding:
    """Torques over time, their peaks by joint, and the largest magnitude of each cause (n,)."""

    curves: TorqueCurves
    peaks: tuple[JointPeaks, ...]
    largest: dict[str, np.ndarray]
    beyond: tuple[str, ...]  # which limits of torque are exceeded

    @property
    def limited(self) -> bool:
        return any(np.isfinite(peak.limit) for peak in self.peaks)

    @property
    def main(self) -> tuple[str, int, float] | None:
        """The cause of the largest part, at which joint (counted from 0), and its size; None without any."""
        if not self.largest:
            return None
        name = max(self.largest, key=lambda x: float(self.largest[x].max()))
        joint = int(self.largest[name].argmax())
        return name, joint, float(self.largest[name][joint])


def find_torques(subject: Subject) -> TorquesFinding:
    curves, at = torque_curves(subject), subject.samples
    sizes = {name: np.abs(part).max(0) for name, part in curves.causes.items()}
    largest = {name: np.where(x > curves.least, x, 0.0) for name, x in sizes.items()}
    total = np.where(np.abs(curves.total).max(0) > curves.least, curves.total, 0.0)
    worst = np.abs(total).argmax(0)
    rms = np.sqrt(np.trapezoid(total**2, at.t, axis=0) / at.t[-1])
    peaks = tuple(
        JointPeaks(
            float(np.abs(at.qd[:, i]).max()),
            float(np.abs(at.qdd[:, i]).max()),
            float(abs(total[worst[i], i])),
            float(at.t[worst[i]]),
            float(rms[i]),
            float(subject.limits.torque[i]),
        )
        for i in range(subject.robot.n)
    )
    beyond = [one for one in exceeded(subject.robot, at.t, tau=curves.total) if one.kind == "torque"]
    return TorquesFinding(curves, peaks, largest, tuple(sentences(beyond)))
