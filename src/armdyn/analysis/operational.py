"""The dynamic model in operational space, section 7.8.

B_A ẍ + C_A ẋ + g_A + springs_A + friction_A = γ_A − h_A (7.133), for arms with or without redundant joints.
The book leaves springs and friction out; here they are terms of their own, so that this model and
`robot.forward_dynamics` agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.analysis.contributions import spring_torques
from armdyn.analysis.errors import AnalysisError, check
from armdyn.analysis.task import (
    SINGULAR,
    SINGULAR_WHERE,
    Representation,
    TaskMotion,
    Tips,
    TipTask,
    apply,
    at_link,
    inertia_root,
    make_task,
    mobility,
    task_motion,
    whitened,
)
from armdyn.expression import shown
from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts

DAMPING = 0.01


class OperationalWarning(UserWarning):
    """A result in operational space is damped because the posture is near a singularity."""


@dataclass(frozen=True)
class Operational:
    """The dynamics of an arm at states (..., n) in the m rows of a task; other axes are those of the states.

    Where `damped`, the state is nearer to a singularity than `threshold`: singular directions of B_A, C_A ẋ,
    g_A, springs_A and the consistent inverse are damped. Torques for ẍ then give that ẍ only approximately,
    and torques of the null space move the tip a little. `acceleration` inverts no Jacobian and is exact
    except at a singularity of the angles.
    """

    task: TipTask
    x: np.ndarray  # (..., m); nan for angular rows in "geometric"
    xd: np.ndarray  # (..., m)
    J_A: np.ndarray  # (..., m, n), analytical Jacobian
    Jdot_A: np.ndarray  # (..., m, n)
    B_A: np.ndarray  # (..., m, m) (7.130)
    C_A_xd: np.ndarray  # (..., m): C_A ẋ (7.131)
    g_A: np.ndarray  # (..., m) (7.132)
    springs_A: np.ndarray  # (..., m): what holds against springs, at the tip
    friction_A: np.ndarray  # (..., m): joint friction at the tip, without load friction
    h_A: np.ndarray  # (..., m): tip wrench in the task's rows (7.128)
    consistent_inverse: np.ndarray  # (..., n, m): J̄_A = B⁻¹ J_Aᵀ B_A (7.138)
    null_space: np.ndarray  # (..., n, n): I − J_Aᵀ J̄_Aᵀ, torques that do not move the tip (7.141)
    singular_values: np.ndarray  # (..., m), descending: of J_A B^(-1/2), about 1 at ordinary postures
    angle_margin: np.ndarray  # (...): smallest singular value of T_A, 1 where no angles are used
    threshold: float
    joint: JointTerms = field(repr=False)

    @property
    def C_A(self) -> np.ndarray:
        """C_A (..., m, m) of an arm without redundant joints, Christoffel's choice: Ḃ_A − 2 C_A is skew.

        J_A⁻ᵀ C J_A⁻¹ − B_A J̇_A J_A⁻¹ (problem 7.10).
        """
        m, n = self.J_A.shape[-2:]
        if m != n:
            raise AnalysisError(
                f"C_A: the arm has {n} joints and the task {m} rows; with redundant joints C_A xd depends on "
                "the joint velocities and is given as C_A_xd only"
            )
        inverse = self.consistent_inverse
        return np.asarray(
            inverse.swapaxes(-1, -2) @ self.joint.coriolis @ inverse - self.B_A @ self.Jdot_A @ inverse
        )

    @property
    def margin(self) -> np.ndarray:
        """Smallest relative singular value (...), of the arm or of the angles; 0 at a singularity."""
        return np.asarray(np.minimum(self.singular_values[..., -1], self.angle_margin))

    @property
    def damped(self) -> np.ndarray:
        """True (...) where the results are damped."""
        return np.asarray(self.margin < self.threshold)

    @property
    def damping(self) -> np.ndarray:
        """Damping λ (...) with σ² + λ² in place of the smallest σ²; 0 where nothing is damped."""
        return np.sqrt(np.maximum(self.threshold**2 - self.margin**2, 0.0))

    @property
    def condition(self) -> np.ndarray:
        """Largest over smallest singular value (...) of the scaled J_A B^(-1/2); infinite if singular."""
        s = self.singular_values
        with np.errstate(divide="ignore"):
            return np.asarray(s[..., 0] / np.where(s[..., -1] > SINGULAR * s[..., 0], s[..., -1], 0.0))

    @property
    def rank(self) -> np.ndarray:
        """Number (...) of rows that the tip can move independently here."""
        return np.asarray((self.singular_values > 1e-9).sum(-1))

    def forces(self, xdd: Any, h_A: Any = None) -> np.ndarray:
        """γ_A (..., m) for tip accelerations ẍ (..., m) (7.133), joint friction included.

        Load friction, which depends on the joint torques, comes in with these: see `torques`.
        """
        xdd = check.numbers("xdd", xdd, self.task.m)
        h = self.h_A if h_A is None else check.numbers("h_A", h_A, self.task.m)
        check.fit_together(self.x.shape[:-1], xdd=xdd, h_A=h)
        held = self.g_A + self.springs_A + self.friction_A + h
        return np.asarray(apply(self.B_A, xdd) + self.C_A_xd + held)

    def torques(self, xdd: Any, tau0: Any = None, h_A: Any = None) -> np.ndarray:
        """τ (..., n) for tip accelerations ẍ (7.141): J_Aᵀ γ_A + (I − J_Aᵀ J̄_Aᵀ) τ_0.

        τ_0 (..., n) moves redundant joints without moving the tip; without it they are left to Coriolis,
        gravity and friction. `h_A` (..., m) replaces that of the wrench given to `operational`. Joint
        friction is included: `robot.forward_dynamics` under these torques gives back ẍ.
        """
        tau = apply(self.J_A.swapaxes(-1, -2), self.forces(xdd, h_A))
        if tau0 is not None:
            tau0 = check.numbers("tau0", tau0, self.J_A.shape[-1])
            check.fit_together(tau.shape[:-1], tau0=tau0)
            tau = tau + apply(self.null_space, tau0)
        return np.asarray(tau + self.joint.load * np.abs(tau - self.joint.friction))

    def acceleration(self, tau: Any, h_A: Any = None) -> np.ndarray:
        """Tip accelerations ẍ (..., m) under torques (..., n): direct dynamics (7.129), friction included."""
        tau = check.numbers("tau", tau, self.J_A.shape[-1])
        if h_A is None:
            contact = self.joint.wrench
        else:
            h_A = check.numbers("h_A", h_A, self.task.m)
            check.fit_together(self.x.shape[:-1], h_A=h_A)
            contact = apply(self.J_A.swapaxes(-1, -2), h_A)
        check.fit_together(contact.shape[:-1], tau=tau)
        rigid = tau - self.joint.friction
        rigid = rigid / (1 + self.joint.load * np.sign(rigid))
        rest = self.joint.velocity + self.joint.gravity + self.joint.springs + contact
        return np.asarray(apply(self.joint.mobility.swapaxes(-1, -2), rigid - rest) + self.joint.drift)


@dataclass(frozen=True)
class JointTerms:
    """The terms of the model in joint space."""

    coriolis: np.ndarray  # (..., n, n): C
    velocity: np.ndarray  # (..., n): C q̇
    gravity: np.ndarray  # (..., n)
    springs: np.ndarray  # (..., n)
    friction: np.ndarray  # (..., n), without load friction
    load: np.ndarray  # (..., n): Fl sign(q̇), load friction in parts of the torque's size without friction
    wrench: np.ndarray  # (..., n): Jᵀ h_e
    mobility: np.ndarray  # (..., n, m): B⁻¹ J_Aᵀ
    drift: np.ndarray  # (..., m): J̇_A q̇


def operational(
    robot: Robot,
    q: Any,
    qd: Any,
    *,
    link: str | Sequence[str] | None = None,
    representation: Representation = "rpy",
    rows: Sequence[int] | None = None,
    wrench: Any = None,
    damping: float | None = None,
) -> Operational:
    """The operational space model (7.130)–(7.138) at states (..., n).

    `representation`: "rpy" (roll, pitch, yaw as in the robot file), "zyz", "position" (no orientation) or
    "geometric" (angular velocity instead of the derivatives of angles). `rows` picks among x, y, z (0, 1, 2)
    and the three rows of orientation (3, 4, 5); by default those the arm can move independently, the earlier
    ones preferred: x, y of the two-link planar arm, x, y, yaw of the three-link one, x, y, z and yaw of a
    SCARA, all six of an arm with six or seven joints. `wrench` (..., 6) is h_e, what the tip exerts on its
    surroundings, or {link: (..., 6)} what links exert at the origins of their frames. With `link` the frame
    of that link takes the place of the tip; with several links, the rows of the second (from 6 on, or from 3
    in "position") follow those of the first, and a wrench is given by link.

    Near a singularity of the arm or of the angles the result is damped, marked in `damped`, and a warning is
    given; `damping` is the singular value, relative to ordinary postures, below which this happens (default
    0.01). With damping=0 nothing is damped and a singular posture is refused.
    """
    threshold = _threshold(damping)
    tips = _tips(check.robot(robot), link)
    if len(tips) > 1 and wrench is not None and not isinstance(wrench, Mapping):
        raise AnalysisError("wrench: with several links it is given by link, {link: (..., 6)}")
    robot = tips[0]
    q, qd = check.joint_arrays(robot, q=q, qd=qd)
    felt, q, qd = check.felt(robot, wrench, q, qd)
    task = make_task(tips, representation, rows)
    motion = task_motion(task, q, qd, threshold)
    model = _model(robot, task, motion, q, qd, felt, threshold)
    _report(model)
    return model


def _tips(robot: Robot, link: str | Sequence[str] | None) -> Tips:
    """The robot with its tip at the link, or one for each of several."""
    if link is None or isinstance(link, str):
        return (at_link(robot, link),)
    if not isinstance(link, (list, tuple)) or not link or len(set(map(repr, link))) != len(link):
        raise AnalysisError(f"link: found {shown(link)}; a link, or a list of different links, is expected")
    return tuple(robot.with_tip(each) for each in link)


def _threshold(damping: Any) -> float:
    if damping is None:
        return DAMPING
    if not isinstance(damping, (int, float, np.number)) or not 0 <= damping < 1:
        raise AnalysisError(f"damping: found {shown(damping)}; a number from 0 up to 1 is expected")
    return float(damping)


def _model(
    robot: Robot,
    task: TipTask,
    motion: TaskMotion,
    q: np.ndarray,
    qd: np.ndarray,
    felt: np.ndarray,
    threshold: float,
) -> Operational:
    J = motion.J
    L, D = inertia_root(robot, q), np.array(task.scale)
    A = whitened(L, J)
    U, s, _ = np.linalg.svd(A / D[:, None], full_matrices=False)
    W = U / D[:, None] / np.maximum(s, max(threshold, SINGULAR))[..., None, :]
    B_A = W @ W.swapaxes(-1, -2)
    to_joints = mobility(L, A)
    inverse = to_joints @ B_A
    back = inverse.swapaxes(-1, -2)
    C, gravity = np.asarray(robot.coriolis(q, qd)), np.asarray(robot.gravity(q))
    joint = JointTerms(
        coriolis=C,
        velocity=apply(C, qd),
        gravity=gravity,
        springs=spring_torques(robot, q),
        friction=np.asarray(robot.friction(qd, q=q)),
        load=friction_parts(robot, q).shares_of(qd),
        wrench=felt,
        mobility=to_joints,
        drift=apply(motion.Jdot, qd),
    )
    return Operational(
        task=task,
        x=motion.x,
        xd=motion.xd,
        J_A=J,
        Jdot_A=motion.Jdot,
        B_A=B_A,
        C_A_xd=apply(back, joint.velocity) - apply(B_A, joint.drift),
        g_A=apply(back, gravity),
        springs_A=apply(back, joint.springs),
        friction_A=apply(back, joint.friction),
        h_A=apply(back, joint.wrench),
        consistent_inverse=inverse,
        null_space=np.eye(robot.n) - J.swapaxes(-1, -2) @ back,
        singular_values=s,
        angle_margin=motion.margin,
        threshold=threshold,
        joint=joint,
    )


def _report(model: Operational) -> None:
    """Warn where results are damped; refuse singular states if damping is off."""
    near = np.argwhere(model.margin < max(model.threshold, SINGULAR))
    if not len(near):
        return
    where = tuple(int(i) for i in near[0])
    arm, angles = model.singular_values[where][-1], model.angle_margin[where]
    representation = model.task.representation
    kind = (
        f"of the arm in {', '.join(model.task.names)}"
        if arm <= angles
        else f"of the {representation} angles ({SINGULAR_WHERE.get(representation)})"
    )
    sample = f"sample {where}" if where else "the state"
    text = f"{sample} is near a singularity {kind}: relative singular value {min(arm, angles):.2g}"
    if model.threshold == 0:
        raise AnalysisError(f"q: {text}; with damping=0 no state may be singular")
    warnings.warn(
        f"{text}; results are damped below {model.threshold:g}, here {len(near)} of {model.margin.size} "
        "states",
        OperationalWarning,
        stacklevel=3,
    )
