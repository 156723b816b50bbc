"""Where measures of a design are evaluated: states along a motion, and how they follow the free symbols.

A joint motion and postures are the same in every design. A motion of the tip is not: where the lengths of
links change, the joints move otherwise to take the tip along the same path. In every design the joint motion
is found anew from

    x(q, s) = x_k,  J q̇ = v_k,  J q̈ + J̇ q̇ = a_k

for poses, velocities and accelerations of the tip that stay the same. Its derivatives by the symbols s come
from the implicit functions of these equations, one after the other, in reverse: with λ the derivatives of a
measure by q̈, q̇ and q,

    Jᵀ μ₃ = λ_q̈,  Jᵀ μ₂ = λ_q̇ − ∂(μ₃ᵀ a)/∂q̇,  Jᵀ μ₁ = λ_q − ∂(μ₃ᵀ a + μ₂ᵀ v)/∂q,

and −∂(μ₁ᵀ x + μ₂ᵀ v + μ₃ᵀ a)/∂s is what the motion adds. Each is one reverse sweep of a program over all
samples, however many symbols there are. The samples of q are no unknowns of the optimiser: there are as many
unknowns as symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.analysis.task import tip_freedom
from armdyn.expression import Expression, shown
from armdyn.expression.functions import over_scalars
from armdyn.kernels import Kernel
from armdyn.kernels.derivatives import adjoint_of
from armdyn.motion.inverse_kinematics import tip_task
from armdyn.motion.trajectory import Trajectory
from armdyn.program import record
from armdyn.robot import Robot
from armdyn.robot.functions import SYMBOLS
from armdyn.studies.errors import StudyError, check

STATE = ("q", "qd", "qdd")
Pull: TypeAlias = Callable[[np.ndarray], np.ndarray]  # derivatives by what was computed -> by symbols


# ------------------------------------------------------------------------------------------------------------
# The robots that differ in the values of some symbols, and their functions with these as an input.


class Family:
    """The robots that differ in the values of the free symbols. Their functions are recorded once."""

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        if robot.model.elastic:
            raise StudyError(
                f"{robot.name}: motions of links do not tell those of motors behind elastic joints; "
                "robot.with_rigid_joints() can be optimised"
            )
        self.robot, self.names = robot, tuple(names)
        self._kernels: dict[Any, Any] = {}
        self._courses: dict[
            int, tuple[Any, Course | TipFollower]
        ] = {}  # with what they are of, which so lives

    def kernel(self, function: str, optional: Sequence[str] = (), links: Sequence[str] = ()) -> Kernel:
        """The kernel of a function whose last input are values of the free symbols."""
        key = (function, *optional, *links)
        if key not in self._kernels:
            program = self.robot.program(function, [*optional, *self.names], links)
            self._kernels[key] = Kernel.of(f"{function} by symbols", program)
        kernel: Kernel = self._kernels[key]
        return kernel

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """What is made once for all designs."""
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]

    def of_symbols(self, key: Any, entries: Sequence[Any]) -> Kernel:
        """The kernel of expressions, as a function of the free symbols; others have their values."""
        if key not in self._kernels:
            number = self.robot.model.number_in
            left = [number(self.names, x) if isinstance(x, Expression) else x for x in entries]
            self._refuse_free(left)

            def function(values: Any) -> list[Any]:
                at = dict(zip(self.names, values, strict=True))
                return [over_scalars(x, at) if isinstance(x, Expression) else x for x in left]

            program = record(function, [(SYMBOLS, len(self.names))], [("values", (len(left),))])
            self._kernels[key] = Kernel.of("expressions of symbols", program)
        kernel: Kernel = self._kernels[key]
        return kernel

    def course(self, where: Any) -> Course:
        """The samples of a motion, of postures or of what the tip does."""
        found = self._once(where)
        return found.course if isinstance(found, TipFollower) else found

    def states(self, where: Any, values: np.ndarray) -> CourseStates:
        """The states there in a design; `OutOfReach` where the tip cannot go along."""
        found = self._once(where)
        return found.states(values) if isinstance(found, TipFollower) else CourseStates(found)

    def _once(self, where: Any) -> Course | TipFollower:
        if id(where) not in self._courses:
            follows = isinstance(where, TipMotion)
            made = TipFollower(self, where) if follows else Course.of(self.robot, where)
            self._courses[id(where)] = where, made
        return self._courses[id(where)][1]

    def _refuse_free(self, entries: Sequence[Any]) -> None:
        used = {name for x in entries if isinstance(x, Expression) for name in x.symbols()}
        if missing := sorted(used - {*self.names}):
            raise StudyError(f"symbol {shown(missing[0])} has no value; with_symbols gives it one")


# ------------------------------------------------------------------------------------------------------------
# Where: a motion, postures, or what the tip does.


class TipMotion:
    """The tip's motion along a joint motion of the robot; in other designs the joints follow the tip.

    `orientation`: whether the tip also keeps how it is turned at each instant; by default it does where the
    joints can do so in all directions. `TipMotion.at(points, near)` are places of the tip, at rest.
    """

    def __init__(self, motion: Trajectory, orientation: bool | None = None) -> None:
        if not isinstance(motion, Trajectory):
            raise StudyError(f"motion: expected a Trajectory, found {shown(motion)}")
        self.motion: Trajectory | None = motion
        self.orientation = orientation
        self.points = self.near = np.zeros(0)

    @classmethod
    def at(cls, points: Any, near: Any) -> TipMotion:
        """Points (N, 3), or poses (N, 4, 4), of the tip at rest, in the world.

        `near`, one posture (n,) or one for each point (N, n), says which of an arm's postures is meant: the
        robot as it is given reaches each point in a posture close to it.
        """
        found = cls.__new__(cls)
        found.motion = None
        x = check.numbers("points", points)
        x = x[None] if x.shape in ((3,), (4, 4)) else x
        if not len(x) or x.shape[1:] not in ((3,), (4, 4)):
            raise StudyError(f"points: expected (N, 3) or poses (N, 4, 4), found {x.shape}")
        found.points, found.orientation = x, x.ndim == 3
        found.near = check.numbers("near", near)
        return found

    def __repr__(self) -> str:
        if self.motion is not None:
            return f"<TipMotion of {self.motion!r}>"
        return f"<TipMotion at {len(self.points)} {'poses' if self.orientation else 'points'}>"


Where: TypeAlias = "Trajectory | TipMotion | np.ndarray | Sequence[Any]"


@dataclass(frozen=True, eq=False)
class Course:
    """CourseStates of the robot as it is given, and how they count."""

    label: str
    t: np.ndarray | None  # (N,) instants; None for postures and points
    q: np.ndarray  # (N, n)
    qd: np.ndarray
    qdd: np.ndarray
    payload: np.ndarray | None  # (N, 10): what the tip carries

    @cached_property
    def weights(self) -> np.ndarray:
        """Parts (N,) of the whole that samples stand for: of the time by the trapezoidal rule."""
        if self.t is None:
            return np.full(len(self.q), 1 / len(self.q))
        half = np.diff(self.t) / (2 * (self.t[-1] - self.t[0]))
        return np.asarray(np.append(half, 0.0) + np.append(0.0, half))

    def name(self, k: int) -> str:
        """Sample k in messages."""
        return f"{self.label} {k}" if self.t is None else f"{self.t[k]:.4g} s"

    @classmethod
    def of(cls, robot: Robot, where: Any) -> Course:
        """Along a trajectory, or at postures (N, n)."""
        if isinstance(where, Trajectory):
            if where.n != robot.n:
                raise StudyError(f"motion: it moves {where.n} joints, but {robot.name} has {robot.n}")
            at = where.samples()
            return cls("sample", at.t, at.q, at.qd, at.qdd, _payload(robot, where, at.t))
        q = np.atleast_2d(check.numbers("postures", where))
        if q.ndim != 2 or q.shape[1] != robot.n or not len(q):
            raise StudyError(
                f"where: found an array {np.shape(where)}; a Trajectory, a TipMotion or postures "
                f"(N, {robot.n}) are expected"
            )
        return cls("posture", None, q, np.zeros_like(q), np.zeros_like(q), None)


def _payload(robot: Robot, motion: Trajectory, t: np.ndarray) -> np.ndarray | None:
    """(N, 10): what the tip carries at instants of a motion."""
    if not motion.loads:
        return None
    loaded = motion.loaded(robot)
    if other := [link for link in loaded.links if link is not None]:
        raise StudyError(
            f"motion: it carries a load on {shown(other[0])}; loads of the tip are supported, and with_tip "
            "makes a link the tip"
        )
    return np.asarray(loaded.payloads[loaded.index(t)])


# ------------------------------------------------------------------------------------------------------------
# CourseStates in one design, and how they depend on the symbols.


class CourseStates:
    """Positions, velocities and accelerations (N, n), the same in every design."""

    moving = False

    def __init__(self, course: Course) -> None:
        self.q, self.qd, self.qdd = course.q, course.qd, course.qdd

    def pull(self, bars: dict[str, np.ndarray]) -> np.ndarray | float:
        """Σ λᵀ ∂state/∂s (..., N, symbols) for derivatives λ (..., N, n) of something by q, q̇ and q̈."""
        return 0.0


class OutOfReach(Exception):
    """The tip cannot go where it has to in this design: at which sample, and by how much."""

    def __init__(self, sample: int, why: str) -> None:
        super().__init__(why)
        self.sample, self.why = sample, why


NEWTON = 40  # iterations
STRIDE = 0.5  # rad, or parts of the arm's length: how far joints may move from one design to the next
SHORTEST = 2.0**-10  # of the way between two designs
MISSED = 1e-9  # of the arm's length: the tip is where it has to be


class TipFollower:
    """The joints of a robot that take its tip along a course of poses in every design.

    They are found by Newton's method from those of the design before. Where the joints would have to move far
    at once, the way between the two designs is halved: so a posture stays on its branch.
    """

    def __init__(self, family: Family, where: TipMotion) -> None:
        robot = family.robot
        if robot.model.loops:
            raise StudyError(
                f"{robot.name}: its loops are closed with numbers, so lengths are no free symbols and the "
                "joints' motion stays the same; give the Trajectory itself"
            )
        self.family = family
        freedom = tip_freedom(robot)
        keeps = freedom.keeps_orientation if where.orientation is None else where.orientation
        self.task = task = tip_task(robot, keeps)
        if task.redundant:
            raise StudyError(
                f"{robot.name}: {int(task.active.sum())} joints move the tip and its "
                f"{'pose' if keeps else 'position'} takes {task.rank}, so the joints do not follow from the "
                "tip; give a Trajectory, or lock joints"
            )
        self.start = self.values = start_values(family)
        self.course = self._start(where, keeps)
        self.signs = self._signs(self.family.kernel("jacobian")(self.course.q, self.values))
        self.q = self.course.q

    def _start(self, where: TipMotion, keeps: bool) -> Course:
        """The states of the robot as it is given, and with them poses and motion of the tip."""
        robot, rows = self.family.robot, self.task.m
        if where.motion is not None:
            course = Course.of(robot, where.motion)
            J, Jdot = robot.jacobian(course.q), robot.jacobian_dot(course.q, course.qd)
            v = _apply(J, course.qd)[:, :rows]
            self.targets, self.v = np.asarray(robot.pose(course.q)), v
            self.a = (_apply(J, course.qdd) + _apply(Jdot, course.qd))[:, :rows]
            return course
        N = len(where.points)
        if where.near.shape not in ((robot.n,), (N, robot.n)):
            raise StudyError(f"near: expected ({robot.n},) or ({N}, {robot.n}), found {where.near.shape}")
        self.targets = np.tile(np.eye(4), (N, 1, 1))
        if keeps:
            self.targets[:] = where.points
        else:
            self.targets[:, :3, 3] = where.points
        self.v = self.a = np.zeros((N, rows))
        near = np.broadcast_to(where.near, (N, robot.n))
        zero = np.zeros((N, robot.n))
        course = Course("point", None, near, zero, zero, None)
        self.course, self.signs = course, np.zeros(N)
        q = self._newton(self.values, near, np.inf)
        return Course("point", None, q, zero, zero, None)

    # ---- the joints in a design ------------------------------------------------------------------------

    def states(self, values: np.ndarray) -> FollowedStates:
        """The states in a design; `OutOfReach` where the tip cannot go along.

        The way there begins at the design before; where that leads nowhere, as from the edge of what the arm
        reaches, at the robot as it is given.
        """
        try:
            q = self._carried(self.q, self.values, values)
        except OutOfReach:
            if np.array_equal(self.values, self.start):
                raise
            q = self._carried(self.course.q, self.start, values)
        self.q, self.values = q, values.copy()
        return FollowedStates(self, values, q)

    def _carried(self, q: np.ndarray, before: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The postures (N, n) of a design, from those of another."""
        done, step = 0.0, 1.0
        while done < 1.0:
            ahead = min(done + step, 1.0)
            try:
                q = self._newton(before + ahead * (values - before), q, STRIDE)
            except OutOfReach:
                if step <= SHORTEST:
                    raise
                step /= 2
                continue
            done, step = ahead, 2 * step
        return q

    def _newton(self, values: np.ndarray, guess: np.ndarray, stride: float) -> np.ndarray:
        """The postures (N, n) whose tip is at the targets, none further than `stride` from the guess."""
        q, task = guess, self.task
        pose, jacobian = self.family.kernel("pose"), self.family.kernel("jacobian")
        moved = np.inf
        for _ in range(NEWTON):
            missing = self._missing(pose(q, values))
            step = _apply(self.inverse(jacobian(q, values)[:, : task.m]), missing)
            size = np.abs(step * task.weights)
            if not np.isfinite(size).all():
                self._refuse(~np.isfinite(size).all(1), "the posture is singular")
            q = q + step / np.maximum(size.max(1, keepdims=True) / 1.0, 1.0)
            if (far := np.abs((q - guess) * task.weights).max(1) > stride).any():
                self._refuse(far, "the joints would have to leave their branch")
            before, moved = moved, float(size.max())
            if moved < 1e-12 or (moved < 1e-8 and moved >= before / 2):
                break
        length = self.task.length
        off = np.abs(self._missing(pose(q, values))).max(1)
        if (far := ~(off <= MISSED * length)).any():
            self._refuse(far, "the tip does not reach its place")
        signs = self._signs(jacobian(q, values))
        if (far := signs * self.signs < 0).any():
            self._refuse(far, "the joints would have to pass a singular posture")
        return np.asarray(q)

    def _missing(self, pose: np.ndarray) -> np.ndarray:
        """The way (N, m) that the tip still has to go; turning in radians."""
        off = self.targets[:, :3, 3] - pose[:, :3, 3]
        if not self.task.turns:
            return np.asarray(off)
        turn = Rotation.from_matrix(self.targets[:, :3, :3] @ pose[:, :3, :3].swapaxes(1, 2)).as_rotvec()
        return np.concatenate([off, turn], axis=1)

    def inverse(self, J: np.ndarray) -> np.ndarray:
        """J⁺ (N, n, m), NaN where J is singular."""
        if J.shape[-1] == J.shape[-2]:
            try:
                return np.linalg.inv(J)
            except np.linalg.LinAlgError:
                return np.full(J.shape, np.nan)
        if not np.isfinite(J).all():
            return np.full((*J.shape[:-2], J.shape[-1], J.shape[-2]), np.nan)
        return np.asarray(np.linalg.pinv(J))

    def _signs(self, J: np.ndarray) -> np.ndarray:
        """The signs (N,) of det J where J is square: they change where a posture leaves its branch."""
        J = J[:, : self.task.m]
        return np.sign(np.linalg.det(J)) if J.shape[1] == J.shape[2] else np.zeros(len(J))

    def _refuse(self, where: np.ndarray, why: str) -> None:
        k = int(where.argmax())
        raise OutOfReach(k, f"{self.course.name(k)}: {why}")


class FollowedStates(CourseStates):
    """CourseStates (N, n) in a design that follow the tip."""

    moving = True

    def __init__(self, follow: TipFollower, values: np.ndarray, q: np.ndarray) -> None:
        family, m = follow.family, follow.task.m
        self.family, self.m, self.values, self.q = family, m, values, q
        self.J = np.asarray(family.kernel("jacobian")(q, values))
        self.inverse = follow.inverse(self.J[:, :m])
        active = follow.task.active
        self.qd = np.where(active, _apply(self.inverse, follow.v), follow.course.qd)
        self.still = not self.qd.any() and not follow.a.any()
        self.Jdot = np.zeros_like(self.J)
        if not self.still:
            self.Jdot = np.asarray(family.kernel("jacobian_dot")(q, self.qd, values))
        lacking = follow.a - _apply(self.Jdot, self.qd)[:, :m]
        self.qdd = np.where(active, _apply(self.inverse, lacking), follow.course.qdd)

    def pull(self, bars: dict[str, np.ndarray]) -> np.ndarray:
        """Σ λᵀ ∂state/∂s (..., N, symbols) for derivatives λ (..., N, n) of something by q, q̇ and q̈."""
        q, qd, qdd, s = self.q, self.qd, self.qdd, self.values
        by_q = np.array(bars["q"])
        by_s: Any = 0.0
        if not self.still:
            mu = self._solved(bars["qdd"])  # of the accelerations
            pull = adjoint_of(self.family.kernel("jacobian_dot"), ["q", "qd", SYMBOLS])
            more_q, more_qd, more_s = pull(q, qd, s, _outer(mu, qd))
            by_q, by_s = by_q - more_q, by_s - more_s
            by_qd = bars["qd"] - more_qd - _apply(self.Jdot.swapaxes(-1, -2), mu)
            pull = adjoint_of(self.family.kernel("jacobian"), ["q", SYMBOLS])
            both = _outer(mu, qdd) + _outer(self._solved(by_qd), qd)  # and of the velocities
            more_q, more_s = pull(q, s, both)
            by_q, by_s = by_q - more_q, by_s - more_s
        pull = adjoint_of(self.family.kernel("pose"), [SYMBOLS])
        return np.asarray(by_s - pull(q, s, self._of_pose(self._solved(by_q))))

    def _solved(self, bar: np.ndarray) -> np.ndarray:
        """μ (..., N, 6) with Jᵀ μ = λ (..., N, n); rows that are not of the task are zero."""
        found = np.zeros((*bar.shape[:-1], 6))
        found[..., : self.m] = _apply(self.inverse.swapaxes(-1, -2), bar)
        return found

    def _of_pose(self, mu: np.ndarray) -> np.ndarray:
        """Factors (..., N, 16) of the pose's entries that give μᵀ of the tip's displacement and turn.

        A turn δφ changes R by [δφ]× R, and ½ [μ]× R, entry by entry, times that is μᵀ δφ.
        """
        R = np.asarray(self.family.kernel("pose")(self.q, self.values))[:, :3, :3]
        found = np.zeros((*mu.shape[:-1], 4, 4))
        found[..., :3, 3] = mu[..., :3]
        found[..., :3, :3] = np.cross(mu[..., 3:, None], R, axisa=-2, axisb=-2, axisc=-2) / 2
        return found.reshape(*mu.shape[:-1], 16)


def start_values(family: Family) -> np.ndarray:
    """The values of the free symbols in the robot as it is given."""
    values = family.robot.model.values
    return np.array([values[name] for name in family.names])


def _apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrix (..., m, n) times vector (..., n)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a bᵀ, flat: (..., 6 n)."""
    found = a[..., :, None] * b[..., None, :]
    return np.asarray(found.reshape(*found.shape[:-2], -1))
