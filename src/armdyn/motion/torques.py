"""The torques of a motion with its loads: all of them, by cause, and split by how they grow with its speed.

At a rate ṙ of the motion's own time, changing by r̈, the torques are those of section 7.7 with friction:
ṙ² τ_s + ṙ F_v q̇ + dry + static + r̈ B q̇, of which (7.126) has the first and the last. Other friction, such as
the cubic term and the fading of Stribeck's, is taken at ṙ times the speeds of its surfaces; load friction is
a part of the torques without friction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from armdyn.analysis import Contributions, contributions
from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Loaded
from armdyn.motion.motion import SIDES, change_between
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.robot import Robot
from armdyn.robot.friction import Curves, friction_parts, gathered, speeds_of
from armdyn.robot.functions import label

# ------------------------------------------------------------------------------------------------------------
# Torques along a motion, and checks of what they need.


SteadyWrench: TypeAlias = np.ndarray | dict[str, np.ndarray] | None  # (6,) at the tip, or by link


class RecordedMotion(Protocol):
    """A motion with its torques, such as the `Run` of a simulation."""

    @property
    def t(self) -> np.ndarray: ...  # (N,)
    @property
    def q(self) -> np.ndarray: ...  # (N, ..., n)
    @property
    def qd(self) -> np.ndarray: ...  # (N, ..., n)
    @property
    def tau(self) -> np.ndarray: ...  # (N, ..., n)


def torques_along(loaded: Loaded, at: Samples, wrench: Any = None) -> np.ndarray:
    """`inverse_dynamics` (N, n) at the samples of a motion, each with its own robot."""

    def torques(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, qd, qdd, wrench))

    return loaded.evaluate(torques, at.t, at.q, at.qd, at.qdd)


def contributions_along(
    loaded: Loaded, at: Samples, wrench: Any = None, rows: np.ndarray | None = None, **options: Any
) -> Contributions:
    """`contributions` at the samples of a motion, or at some `rows` of them, each with its own robot."""
    before = np.append(np.diff(at.t) == 0, False)
    chosen = np.arange(len(at.t)) if rows is None else rows
    found: dict[str, Any] = {}
    for mask, robot in loaded.groups(at.t[chosen], before[chosen]):
        few = chosen[mask]
        part = contributions(robot, at.q[few], at.qd[few], at.qdd[few], wrench, **options)
        for f in fields(part):
            value = getattr(part, f.name)
            if isinstance(value, np.ndarray):
                found.setdefault(f.name, np.empty((len(chosen), *value.shape[1:])))[mask] = value
            else:
                found[f.name] = value
    return Contributions(**found)


def with_torques(
    robot: Robot, motion: Trajectory | RecordedMotion, wrench: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
    """Instants, positions, velocities, accelerations and torques of a motion; of a run no accelerations."""
    check.robot(robot)
    if isinstance(motion, Trajectory):
        check_robot(robot, motion)
        at, h = motion.samples(), steady_wrench(robot, wrench)
        return at.t, at.q, at.qd, at.qdd, torques_along(motion.loaded(robot), at, h)
    if not all(hasattr(motion, name) for name in ("t", "q", "qd", "tau")):
        raise MotionError(
            f"motion: expected a Trajectory or a Run of simulate, found {type(motion).__name__}"
        )
    if wrench is not None:
        raise MotionError("wrench: it goes with a Trajectory; the torques of a run include it")
    return motion.t, getattr(motion, "positions", motion.q), motion.qd, None, motion.tau


def check_robot(robot: Robot, trajectory: Trajectory) -> None:
    """Refuse a trajectory that is not one of this robot's."""
    check.robot(robot)
    if not isinstance(trajectory, Trajectory):
        raise MotionError(f"trajectory: expected a Trajectory, found {type(trajectory).__name__}")
    if trajectory.n != robot.n:
        raise MotionError(f"trajectory: it moves {trajectory.n} joints, but {robot.name} has {robot.n}")


def check_timed(robot: Robot, trajectory: Trajectory) -> None:
    """The same, and refuse robots on some of whose coordinates no torque acts."""
    check.robot(robot)
    if robot.model.elastic:
        name = robot.model.elastic[0].joint_label
        raise MotionError(
            f"{robot.name}: no torque acts on the links of elastic joints ('{name}'), so a path of all "
            "coordinates cannot be timed by limits of torque; elastic_feedforward gives the torques for a "
            "motion of the links, and robot.with_rigid_joints() can be timed"
        )
    if robot.drives.passive:
        name = robot.coordinates[robot.drives.passive[0]]
        raise MotionError(
            f"{robot.name}: nothing drives '{name}' (actuated = false), so a path of all coordinates cannot "
            "be timed by limits of torque; the robot with this joint locked can be timed"
        )
    check_robot(robot, trajectory)


def steady_wrench(robot: Robot, wrench: Any) -> SteadyWrench:
    """h_e (6,) as an array, or by link as arrays; None where none is given."""
    found = check.wrenches(robot, wrench, None)
    for link, h in found.items():
        if h.shape != (6,):
            name = "wrench" if link is None else label(link)
            raise MotionError(
                f"{name}: found shape {h.shape}; six numbers, force and then moment, the same all along, "
                "are expected"
            )
    if None in found:
        return found[None]
    return {link: h for link, h in found.items() if link is not None} or None


# ------------------------------------------------------------------------------------------------------------
# Directions of dry friction just before and just after a joint starts, stops or reverses.


Speeds = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of surfaces (..., E) at q and q̇ (..., n)
INSIDE = 1e-3  # of the interval between samples: how far beside an instant directions are taken


@dataclass(frozen=True)
class Beside:
    """A motion just before or after instants: its states, and the signs of friction surfaces' speeds."""

    samples: Samples
    signs: np.ndarray  # (N, E); at the instant itself the sign may be zero
    before: np.ndarray  # (N,) bool


def beside_turns(trajectory: Trajectory, samples: Samples, speeds: Speeds) -> Beside:
    """The motion on both sides of the instants at which a friction surface starts, stops or turns.

    `speeds` gives the speeds of the E surfaces. The samples next to such instants count too. There is no
    side before t = 0 and none after the end.
    """
    t, at = samples.t, np.sign(speeds(samples.q, samples.qd))
    cells = np.flatnonzero((at[1:] != at[:-1]).any(1) & (np.diff(t) > 0))
    width = INSIDE * (t[cells + 1] - t[cells])
    start, end = t[cells] + width, t[cells + 1] - width
    first, last = (np.sign(speeds(*trajectory(x)[:2])) for x in (start, end))
    cell, surface = np.nonzero(first != last)

    def unturned(t: np.ndarray) -> np.ndarray:
        speed = np.take_along_axis(speeds(*trajectory(t)[:2]), surface[:, None, None], -1)[..., 0]
        return np.asarray(np.sign(speed) == first[cell, surface][:, None])

    _, turns = change_between(unturned, start[cell], end[cell])
    instants = np.concatenate([t[cells], t[cells + 1], turns])
    widths = np.concatenate([width, width, width[cell]])
    found = []
    for side, sign in zip(SIDES, (-1.0, 1.0), strict=True):
        beside = instants + sign * widths
        inside = (beside > 0) & (beside < trajectory.duration)
        signs = np.sign(speeds(*trajectory(beside[inside])[:2]))
        which = np.full(len(signs), side == "before")
        found.append((instants[inside], *trajectory(instants[inside], side), signs, which))
    *states, signs, before = (np.concatenate(x) for x in zip(*found, strict=True))
    return Beside(Samples(*states), signs, before)


# ------------------------------------------------------------------------------------------------------------
# Parts of the torques, by how they grow with speed.


@dataclass(frozen=True)
class SpeedParts:
    """Parts of the torques (N, n) at N states; at the motion's own speed they add up to inverse dynamics."""

    squared: np.ndarray  # B q̈ + C q̇, τ_s of (7.123): grows with the square of the rate
    linear: np.ndarray  # F_v q̇: grows with the rate
    dry: np.ndarray  # dry friction near rest: depends only on the direction
    static: np.ndarray  # gravity, offsets, wrenches
    offset: np.ndarray  # the part of `static` that is friction
    load: np.ndarray  # Fl s: load friction in parts of |τ_r|, the torque without friction
    slowness: np.ndarray  # w/|v| of load friction with a width, whose part is Fl tanh(ṙ v/w); else 0
    speeds: np.ndarray  # (N, K) of the surfaces of K curves
    rows: np.ndarray  # (N, K, n) of these surfaces
    curves: Curves  # friction that depends on the rate in any other way

    @property
    def is_parabola(self) -> bool:
        """Whether torques are parabolas in the rate."""
        return not (self.speeds.any() or self.load.any())

    def curved(self, rate: Any) -> np.ndarray:
        """Friction (N, n) of the curves at a rate, or at one per state (N, 1)."""
        return gathered(self.rows, self.curves.at(rate * self.speeds, np.sign(self.speeds)))

    def loaded(self, rate: Any) -> np.ndarray:
        """Load friction (N, n) in parts of |τ_r| at a rate, or at one per state (N, 1)."""
        return share_at(self.load, self.slowness, rate)

    def slope(self, rate: Any) -> np.ndarray:
        """Its derivative (N, n) by the rate."""
        slopes = self.curves.slope(rate * self.speeds, np.sign(self.speeds))
        return gathered(self.rows, slopes * self.speeds)

    def map(self, f: Callable[[np.ndarray], np.ndarray]) -> SpeedParts:
        """With all arrays through f: at other states."""
        arrays: dict[str, Any] = {name: f(x) for name, x in vars(self).items() if name != "curves"}
        return replace(self, **arrays)

    def torque(self, rate: Any = 1.0, further: Any = 0.0) -> np.ndarray:
        """Torques (N, n) at a constant rate, or one per state (N, 1), of the motion's own time.

        `further` (N, n) is what a changing rate adds to τ_r.
        """
        if self.is_parabola:
            total = rate * (rate * self.squared + self.linear) + self.dry + self.static
            return np.asarray(total + further)
        rigid = rate * rate * self.squared + self.static - self.offset + further
        friction = rate * self.linear + self.dry + self.offset + self.loaded(rate) * np.abs(rigid)
        return np.asarray(rigid + friction + self.curved(rate))


def share_at(load: np.ndarray, slowness: np.ndarray, rate: Any) -> np.ndarray:
    """What part of |τ_r| load friction is at a rate: with a width it fades with the speed."""
    if not slowness.any():
        return load
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(load * np.where(slowness > 0, np.tanh(rate / slowness), 1.0))


def speed_parts(robot: Robot, q: Any, qd: Any, qdd: Any, wrench: SteadyWrench = None) -> SpeedParts:
    """The parts at states (N, n), `wrench` being what the arm exerts on its surroundings all along."""
    friction = friction_parts(robot, q)
    zero = np.zeros_like(q)
    static = np.asarray(robot.inverse_dynamics(q, zero, zero, wrench))
    # Friction as in inverse dynamics: where a surface hardly moves, rounding decides its direction.
    rubbing = np.asarray(robot.friction(qd, q=q)) - friction.offset
    linear = friction.linear(qd)
    dry = rubbing - linear - friction.curves.torque(qd)
    loaded = np.asarray(robot.inverse_dynamics(q, qd, qdd, wrench)) - rubbing - friction.offset
    squared = friction.rigid(loaded, qd) - (static - friction.offset)
    offset, load = np.broadcast_to(friction.offset, q.shape), friction.shares(friction.speed(qd))
    speeds = speeds_of(friction.curves.rows, qd)
    rows = np.broadcast_to(friction.curves.rows, (*speeds.shape, q.shape[-1]))
    slow = friction.slowness(qd)
    return SpeedParts(squared, linear, dry, static, offset, load, slow, speeds, rows, friction.curves)


def loaded_parts(
    loaded: Loaded,
    t: np.ndarray,
    states: tuple[np.ndarray, np.ndarray, np.ndarray],
    wrench: SteadyWrench,
    before: np.ndarray | None = None,
) -> SpeedParts:
    """The parts at states (N, …, n) of instants t (N,), with the loads at these instants.

    `before` (N,) says which side of an instant is meant, as for `Loaded.index`.
    """
    if not loaded.loads or not len(t):
        return speed_parts(loaded.robot, *states, wrench)
    masks, several = [], []
    for mask, robot in loaded.groups(t, before):
        q, qd, qdd = (x[mask] for x in states)
        masks.append(np.flatnonzero(mask))
        several.append(speed_parts(robot, q, qd, qdd, wrench))
    return joined(several, np.argsort(np.concatenate(masks)))


def joined(several: Sequence[SpeedParts], order: np.ndarray) -> SpeedParts:
    """The states of several sets in one, in this order."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(parts, name) for parts in several])[order]
        for name in vars(several[0])
        if name != "curves"
    }
    return SpeedParts(**columns, curves=several[0].curves)
