"""Timing laws r(t), and `retime`: another law for the same path (7.119).

Laws are motions of one joint, checked and inverted, with dwells kept. Torques under another law follow from
those of the given motion (7.126).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Carried
from armdyn.motion.motion import (
    SIDES,
    Motion,
    Profile,
    Side,
    States,
    composed,
    place_among,
    snapped,
    together,
)
from armdyn.motion.torques import SpeedParts, SteadyWrench, check_timed, loaded_parts, steady_wrench
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.robot import Robot

Law: TypeAlias = Callable[[np.ndarray], Any]  # times (N,) -> r, ṙ, r̈
CHECKED = 1000  # intervals at whose ends a law is checked
AGREES = 0.01  # of the range of r and of the largest rate: how nearly they must be integrals of the others
AT_REST = 1e-13  # of the largest rate: smaller ones are set to zero, as at the ends of a cosine
MEETS = 1e-9  # of the duration: how nearly a law must begin and end where it should


def timing_law(law: Trajectory | Law, duration: float | None, end: float) -> Motion:
    """A law as it may be given, checked: `end` is the duration of the motion it times."""
    if isinstance(law, Trajectory):
        if law.n != 1 or duration is not None:
            raise MotionError("law: a trajectory of one joint, which has its own duration, is expected")
        _largest_rate(law.motion, end)
        return law.motion
    if not callable(law):
        raise MotionError(
            f"law: expected a Trajectory of one joint or a function, found {type(law).__name__}"
        )
    if duration is None:
        raise MotionError("duration: none found; a law that is a function needs one")
    T = check.positive_time("duration", duration)
    given = Motion(1, T, _OfFunction(law, 0.0).evaluate)
    top = _largest_rate(given, end)
    _check_derivatives(given, end)
    return Motion(1, T, _OfFunction(law, AT_REST * top).evaluate)


def inverse(law: Motion, r: np.ndarray) -> np.ndarray:
    """The times (N,) at which a law has the values r (N,): Newton's method within a bracket."""
    grid = np.linspace(0.0, law.duration, CHECKED + 1)
    values = law.evaluate(grid, "after")[0][:, 0]
    cell = np.searchsorted(values, r, side="right").clip(1, CHECKED)
    low, high = grid[cell - 1], grid[cell]
    t = np.interp(r, values, grid)
    for _ in range(100):
        value, rate, _ = (x[:, 0] for x in law.evaluate(t, "after"))
        low, high = np.where(value <= r, t, low), np.where(value >= r, t, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = t - (value - r) / rate
        inside = (newton >= low) & (newton <= high)
        following = np.where(inside, newton, (low + high) / 2)
        moved, t = np.abs(following - t).max(initial=0.0), following
        if moved <= 1e-15 * law.duration:
            break
    return np.where(r <= 0, 0.0, np.where(r >= values[-1], law.duration, t))


@dataclass(frozen=True)
class _OfFunction:
    """A user's function as a motion of one joint: arrays of the right shape."""

    law: Law
    least: float  # rates up to this are set to zero

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        found = self.law(t)
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise MotionError("law: the function must give three arrays: r, its rate and the rate's change")
        arrays = [check.floats("law", x, "real numbers for r, its rate and the rate's change") for x in found]
        try:
            r, rate, change = (np.broadcast_to(x, t.shape)[:, None] for x in arrays)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in arrays)
            raise MotionError(
                f"law: for times of shape {t.shape} the function gave shapes {shapes}"
            ) from None
        return r, np.where(np.abs(rate) <= self.least, 0.0, rate), change


def _on_grid(law: Motion) -> tuple[np.ndarray, ...]:
    """Times (N,) and r, ṙ, r̈ there."""
    t = np.linspace(0.0, law.duration, CHECKED + 1)
    return t, *(x[:, 0] for x in law.evaluate(t, "after"))


def _largest_rate(law: Motion, end: float) -> float:
    """The largest rate of a law; one that does not begin, end or increase as it must is refused."""
    t, r, rate, change = _on_grid(law)
    for name, values in (("r", r), ("its rate", rate), ("the rate's change", change)):
        if not np.isfinite(values).all():
            raise MotionError(f"law: {name} is not finite at t = {t[~np.isfinite(values)][0]:.6g} s")
    for found, expected, where in ((r[0], 0.0, "begin"), (r[-1], end, "end")):
        if abs(found - expected) > MEETS * end:
            raise MotionError(f"law: r must {where} with {expected:.9g} s, found {found:.9g} s")
    falling = np.flatnonzero(np.diff(r) <= 0)
    still = np.flatnonzero(rate[1:-1] <= 0) + 1
    wrong = np.concatenate([falling, still])
    if wrong.size:
        raise MotionError(f"law: r must increase strictly, but does not at t = {t[wrong.min()]:.6g} s")
    return float(rate.max())


def _check_derivatives(law: Motion, end: float) -> None:
    """Refuse a function whose rates are not derivatives: the torques would not belong to any real motion."""
    t, r, rate, change = _on_grid(law)
    for name, integral, of, size in (
        ("its rate is not the derivative of r", r, rate, end),
        ("the rate's change is not the derivative of the rate", rate, change, np.abs(rate).max()),
    ):
        sums = np.append(0.0, np.cumsum((of[1:] + of[:-1]) / 2) * t[1])
        differs = np.abs(integral - integral[0] - sums) > AGREES * size + t[1] * np.abs(of).max()
        if differs.any():
            raise MotionError(f"law: {name}; they differ from t = {t[differs][0]:.6g} s on")


# ------------------------------------------------------------------------------------------------------------
# Dwells, the rests that timing keeps: laws r(t) on which they last as long as they did.


RESTS = 1e-9  # of the top speed: slower is at rest
Instants = Callable[[np.ndarray], np.ndarray]


def checked_dwells(trajectory: Trajectory) -> np.ndarray:
    """Starts and ends (D, 2) of the dwells [s]; refuse those on which the arm moves, or that overlap."""
    dwells = np.array(trajectory.dwells, float).reshape(-1, 2)
    if not len(dwells):
        return dwells
    t = dwells[:, :1] + np.diff(dwells) * np.linspace(0.0, 1.0, 9)
    top = np.abs(trajectory(np.linspace(0.0, trajectory.duration, 1001))[1]).max()
    before, after = (np.abs(trajectory(x, side)[1]).max((1, 2)) for x, side in _sides(t))
    for (start, end), speed in zip(dwells, np.maximum(before, after), strict=True):
        if not 0 <= start < end <= trajectory.duration * (1 + 1e-12):
            raise MotionError(
                f"dwells: found one from {start:g} to {end:g} s; the motion lasts from 0 to "
                f"{trajectory.duration:g} s"
            )
        if speed > RESTS * top:
            raise MotionError(f"dwells: found one from {start:g} to {end:g} s, on which the arm moves")
    if (np.diff(dwells.ravel()) < 0).any():
        raise MotionError("dwells: they overlap or are not in the order of time")
    return dwells


def _sides(t: np.ndarray) -> tuple[tuple[np.ndarray, Side], tuple[np.ndarray, Side]]:
    """Instants (D, k) of dwells, from their inside: the first ones after, the last ones before."""
    return (t[:, 1:], "before"), (t[:, :-1], "after")


def stretched(trajectory: Trajectory, factor: float) -> tuple[Motion, Instants]:
    """A law on which a motion takes `factor` times as long but for its dwells, and when it is at given r."""
    r, rests = _stretches(trajectory)
    t = np.append(0.0, np.cumsum(np.where(rests, 1.0, factor) * np.diff(r)))
    slope = np.where(rests, 1.0, 1 / factor)
    law = together([Profile(t, t[:-1], np.column_stack([r[:-1], slope]))], "law")
    if not rests.any():
        return law, lambda given: factor * given
    return replace(law, jumps=t[1:-1]), lambda given: np.interp(given, r, t)


def _stretches(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Instants at which moving and dwelling begin, and the end (k + 1,) [s]; which are dwells (k,)."""
    dwells = checked_dwells(trajectory)
    r = np.unique(
        np.concatenate([[0.0], dwells.ravel().clip(max=trajectory.duration), [trajectory.duration]])
    )
    return r, np.isin(r[:-1], dwells[:, 0])


def timed(trajectory: Trajectory, law: Motion, label: str, when: Instants) -> Motion:
    """A motion under a law, with its dwells and loads at their new instants; `when` gives these."""
    given = trajectory.motion
    edges = np.array(given.dwells, float).ravel()
    if len(edges):  # at the ends of dwells r must be exact
        given = replace(given, knots=np.concatenate([given.knots, edges]))
    motion = composed(given, law, label, when(given.knots), when(given.jumps))
    return with_instants(motion, trajectory.motion, when)


def with_instants(motion: Motion, given: Motion, when: Instants) -> Motion:
    """A motion with the dwells and loads of the `given` one, at new instants."""
    if not (given.dwells or given.loads):
        return motion

    def at(t: float) -> float:
        return motion.duration if t >= given.duration else min(float(when(np.array([t]))[0]), motion.duration)

    return replace(
        motion,
        dwells=tuple((at(start), at(end)) for start, end in given.dwells),
        loads=tuple(moved(one, at(one.start), at(one.end)) for one in given.loads),
    )


def moved(load: Carried, start: float, end: float) -> Carried:
    """A load from another start to another end; refuse one that has no time left."""
    if start >= end:
        raise MotionError(
            f"loads: the one from {load.start:g} to {load.end:g} s is carried only while the arm rests, and "
            "this rest is not kept; declare it as a dwell"
        )
    return replace(load, start=start, end=end)


@dataclass(frozen=True)
class KeptDwells:
    """A law with dwells as long as those of the motion: on a dwell r grows as time does."""

    law: Motion
    t: np.ndarray  # (k + 1,) where stretches of moving and resting begin, and the end [s]
    law_t: np.ndarray  # (k,) the law's own time there
    r: np.ndarray  # (k,) the given motion's time there
    rests: np.ndarray  # (k,) bool

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        k = place_among(self.t[1:-1], t, side)
        late, rests = t - self.t[k], self.rests[k]
        at = (self.law_t[k] + late).clip(0.0, self.law.duration)
        r, rate, change = self.law.evaluate(at, side)
        on = self.r[k] + late
        chosen = zip((on, np.ones_like(on), np.zeros_like(on)), (r, rate, change), strict=True)
        r, rate, change = (np.where(rests[:, None], x[:, None], y) for x, y in chosen)
        return r, rate, change


def keeping_dwells(law: Motion, trajectory: Trajectory) -> Motion:
    """A law r(t) from 0 to the motion's duration, its dwells as long as they were."""
    r, rests = _stretches(trajectory)
    if not rests.any():
        return law
    law_t = inverse(law, r)
    t = np.append(0.0, np.cumsum(np.where(rests, np.diff(r), np.diff(law_t))))
    kept = KeptDwells(law, t, law_t[:-1], r[:-1], rests)

    def inside(instants: np.ndarray) -> np.ndarray:
        k = np.searchsorted(law_t[1:-1], instants, side="right")
        return np.asarray((t[k] + instants - law_t[k])[~rests[k]])

    jumps, knots = (np.append(inside(x), t[1:-1]) for x in (law.jumps, law.knots))
    return Motion(1, float(t[-1]), kept.evaluate, jumps, law.label, knots)


# ------------------------------------------------------------------------------------------------------------
# A motion under another law, and its torques.


@dataclass(frozen=True)
class MotionParts:
    """The torques of (7.126) in parts, at N instants of a motion: computed once, for any number of laws."""

    robot: Robot
    trajectory: Trajectory
    samples: Samples
    speed: SpeedParts
    push: np.ndarray  # (N, n): B q̇, torques per r̈
    wrench: SteadyWrench


@dataclass(frozen=True)
class Retimed:
    """A motion along the same path by another timing law.

    `t` are the instants at which the law reaches the samples of the given motion, and those at which r̈
    jumps; where an acceleration jumps, the instant appears twice, before and after.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (N,) [s]
    torque: np.ndarray = field(repr=False)  # (N, n) torques at t [N m or N]


def motion_parts(robot: Robot, trajectory: Trajectory, *, wrench: Any = None) -> MotionParts:
    """The parts at the trajectory's `samples()`; `wrench` as for `scale_to_limits`."""
    check_timed(robot, trajectory)
    return _parts_at(robot, trajectory, trajectory.samples(), steady_wrench(robot, wrench))


def retime(
    robot: Robot,
    trajectory: Trajectory,
    law: Trajectory | Law,
    duration: float | None = None,
    *,
    wrench: Any = None,
    parts: MotionParts | None = None,
) -> Retimed:
    """The motion q(t) = q̄(r(t)), r strictly increasing from 0 to the given motion's duration.

    The law r(t) is a `Trajectory` of one joint, or a function that takes times (N,) and gives r, ṙ, r̈, with
    its own `duration`. Torques are ṙ² τ̄_s(r) + r̈ B q̄' (7.126), with friction also ṙ F_v q̄' + dry + static
    and so on (`SpeedParts`), from parts computed at the given motion's samples: inverse dynamics is not run
    along the new motion. `parts`, from `motion_parts`, spares computing them for each of several laws.

    Declared dwells last as long as they did, whatever the law says of them; loads change where they did on
    the path.
    """
    check_timed(robot, trajectory)
    timing = keeping_dwells(timing_law(law, duration, trajectory.duration), trajectory)
    if parts is None:
        parts = motion_parts(robot, trajectory, wrench=wrench)
    elif not isinstance(parts, MotionParts):
        raise MotionError(f"parts: expected what motion_parts gives, found {type(parts).__name__}")
    elif wrench is not None or (parts.robot, parts.trajectory) != (robot, trajectory):
        raise MotionError("parts: they are those of another robot, trajectory or wrench than the one given")
    t, torque = _torques(parts, timing)
    if timing.jumps.size:
        t, torque = _with_jumps(parts, timing, t, torque)
    label = f"{trajectory.motion.label}, retimed"
    motion = timed(trajectory, timing, label, lambda r: inverse(timing, r))
    return Retimed(Trajectory(motion, trajectory.step), t, torque)


def _with_jumps(
    parts: MotionParts, timing: Motion, t: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Instants and torques with both sides of each jump of r̈, in place of samples that fall on one.

    The given motion may jump at the same instant: on each side it is the one of this side.
    """
    jumps, motion = timing.jumps, parts.trajectory.motion
    r = snapped(jumps, inverse(timing, motion.jumps), motion.jumps, timing.evaluate(jumps, "after")[0][:, 0])
    found = []
    for side in SIDES:
        at = Samples(r, *parts.trajectory(r, side))
        before = np.full(len(r), side == "before")
        few = _parts_at(parts.robot, parts.trajectory, at, parts.wrench, before)
        found.append(_torques(few, timing, jumps, side)[1])
    other = ~np.isin(snapped(t, jumps), jumps)
    t = np.concatenate([t[other], jumps, jumps])
    order = np.argsort(t, kind="stable")
    return t[order], np.concatenate([torque[other], *found])[order]


def _parts_at(
    robot: Robot,
    trajectory: Trajectory,
    at: Samples,
    wrench: SteadyWrench,
    before: np.ndarray | None = None,
) -> MotionParts:
    """The parts at instants; `before` (N,) says which side of them is meant, where loads change."""
    loaded = trajectory.loaded(robot)
    speed = loaded_parts(loaded, at.t, (at.q, at.qd, at.qdd), wrench, before)
    push = loaded.evaluate(_push, at.t, at.q, at.qd, before=before)
    return MotionParts(robot, trajectory, at, speed, push, wrench)


def _push(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("kij,kj->ki", robot.inertia(q), qd))


def _torques(
    parts: MotionParts, timing: Motion, t: np.ndarray | None = None, side: Side = "after"
) -> tuple[np.ndarray, np.ndarray]:
    """Instants and torques (7.126) at the states of `parts`."""
    if t is None:
        t = inverse(timing, parts.samples.t)
    _, rate, change = timing.evaluate(t, side)
    return t, parts.speed.torque(rate, change * parts.push)
