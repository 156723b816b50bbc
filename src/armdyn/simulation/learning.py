"""`learn_torques`: inverse dynamics by repeated trials, without the right model (De Luca, slide 4).

Trial k follows the motion under the torque learned so far and a feedback, τ_k = u_k + B̂ (2ω ė + ω² e); the
next torque is what acted, and what the acceleration was short of, times the inertia that is believed in:

    u_{k+1} = P (τ_k + B̂ (q̈_d − q̈_k))

Where the arm is B δq̈ = δτ near the motion, the error of the torque becomes (1 − B̂ B⁻¹) times itself at high
frequencies, and less at those that the feedback holds down: with masses that are 20 % wrong, a fifth or less.

P is the filter. It takes least-squares splines of third degree, whose knots are 1/(2 band) apart. What such a
spline can follow passes with gain one; the rest, which samples cannot tell from noise, is taken out. It
is a projection, so it never makes an error larger. Measured positions are fitted by splines of fifth degree
with the same knots; their second derivatives, the q̈_k, are exact for what P lets pass. Where torques jump
the splines are cut, and at cuts and ends they are fitted from one side: there are no end effects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_lsq_spline

from armdyn.kernels.arrays import array
from armdyn.motion.motion import sample_times
from armdyn.motion.trajectory import Trajectory
from armdyn.progress import Update, progress_bar
from armdyn.remarks import Remark, notes_of, warn
from armdyn.robot import Robot
from armdyn.simulation.controller import Arrays, Controller, check_driven, follows
from armdyn.simulation.errors import SimulationError, SimulationWarning, check
from armdyn.simulation.integrand import check_friction
from armdyn.simulation.laws import Given, Scalars, dot
from armdyn.simulation.run import Run
from armdyn.simulation.simulation import simulate

NEAR = 0.001  # of the largest torque: learned
STILL = 1e-9  # of the largest speed: at rest
LEAST = 12  # samples of the shortest piece: a spline of fifth degree needs six


@dataclass(frozen=True, eq=False)
class LearnedTorques:
    """Torques (N, n) that trials have learned, at instants `t` (N,) of the motion.

    `history` (trials + 1, N, n): the torque before the first trial, and after each; `torques` is the last of
    them. `true` (N, n) is what inverse dynamics of the robot gives, NaN where dry friction of a joint at rest
    leaves it open. `torque_errors` (trials + 1, n) are the largest differences from it, `position_errors`
    (trials, n) the largest ones of each trial from the motion [rad or m].
    """

    robot: Robot = field(repr=False)
    motion: Trajectory = field(repr=False)
    t: np.ndarray = field(repr=False)
    history: np.ndarray = field(repr=False)
    true: np.ndarray = field(repr=False)
    position_errors: np.ndarray = field(repr=False)
    remarks: tuple[Remark, ...] = field(default=(), repr=False)

    @property
    def torques(self) -> np.ndarray:
        """Torques (N, n) after the last trial [N m or N]."""
        return np.asarray(self.history[-1])

    @property
    def torque_errors(self) -> np.ndarray:
        """Largest differences (trials + 1, n) from inverse dynamics [N m or N]."""
        return np.asarray(np.nan_to_num(np.abs(self.history - self.true)).max(axis=1))

    @property
    def relative_errors(self) -> np.ndarray:
        """The largest difference of each torque (trials + 1,), in parts of the largest true torque."""
        largest = float(np.abs(np.nan_to_num(self.true)).max()) or 1.0
        return np.asarray(self.torque_errors.max(axis=-1) / largest)

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks."""
        return notes_of(self.remarks)

    def __repr__(self) -> str:
        count, off = len(self.position_errors), self.relative_errors[-1]
        return f"<LearnedTorques of '{self.robot.name}', {count} trials: within {100 * off:.2g} %>"


def learn_torques(
    robot: Robot,
    motion: Trajectory,
    trials: int = 20,
    *,
    model: Robot | None = None,
    bandwidth: float = 50.0,
    band: float = 50.0,
    step: float = 1e-3,
    noise: float = 0.0,
    seed: int = 0,
    progress: bool | Update | None = None,
) -> LearnedTorques:
    """Torques of a motion, learned from the errors of repeated trials on the robot, which is simulated.

    `model` is the robot that is believed in: its inverse dynamics is the first torque, its inertia matrix
    along the motion weighs feedback and corrections. It may be wrong: errors shrink as long as its inertias
    are less than twice the true ones. None: no model. The first torque is zero, and all that is known is one
    inertia for each joint, the mean of B's diagonal along the motion.

    `bandwidth` ω [1/s] is that of the feedback. `band` [Hz] is the highest frequency that is learned: the
    filter is splines with knots 1/(2 band) apart, with gain one for all that is slower. Positions are
    recorded every `step` seconds. `noise` is the standard deviation of recorded positions [rad or m], a
    number or (n,), drawn from the `seed`: learning sees it, the feedback does not. It stays in the torques,
    in every trial anew; a lower `band` makes it less.

    Torques may jump where the motion's acceleration does and, with dry friction, where a joint turns round.
    Where a joint rests in dry friction, several torques hold it, and one of them is learned. Limits of
    positions and torques are not regarded; robots with elastic or passive joints are refused.

    The law and the filter: `simulation/learning.py`.
    """
    check.robot(robot)
    check_friction(robot)
    _check_motion(robot, motion)
    count = check.whole_number("trials", trials, least=1)
    believed = _believed(robot, model)
    learner = _Learner(robot, motion, believed, check.positive("band", band), check.positive("step", step))
    trial = _Trial(robot, motion, learner, check.positive("bandwidth", bandwidth))
    spread = _noise(robot, noise)
    rng = np.random.default_rng(check.whole_number("seed", seed, least=0))
    u, history, errors = learner.first(), [], []
    with progress_bar(f"learning torques of {robot.name}", progress) as update:
        for k in range(count):
            history.append(learner.values(u, learner.t))
            run = simulate(
                robot, learner.q[0], learner.qd[0], motion.duration, trial.playing(u), output=learner.step,
                limits="ignore", rtol=1e-9, progress=False,
            )  # fmt: skip
            if not run.completed:
                raise SimulationError(f"trial {k + 1}: {run.message}")
            errors.append(np.abs(run.q - learner.q).max(axis=0))
            u = learner.next(run, run.q + spread * rng.standard_normal(run.q.shape))
            update((k + 1) / count)
    history.append(learner.values(u, learner.t))
    found = LearnedTorques(robot, motion, learner.t, np.array(history), learner.true(), np.array(errors))
    remarks = _remarks(found, bool(np.any(spread)))
    warn(remarks, SimulationWarning, 2)
    return replace(found, remarks=remarks)


def _check_motion(robot: Robot, motion: Any) -> None:
    if not isinstance(motion, Trajectory):
        raise SimulationError(f"motion: expected a Trajectory, found {type(motion).__name__}")
    follows(robot, motion)
    if motion.loads:
        raise SimulationError("motion: it carries loads; give them to the robot: robot.with_payload(…)")
    if robot.model.elastic:
        name = robot.model.elastic[0].joint_label
        raise SimulationError(f"robot: '{name}' is elastic; torques are learned of arms with rigid joints")
    if robot.drives.passive:
        name = robot.coordinates[robot.drives.passive[0]]
        raise SimulationError(
            f"robot: nothing drives '{name}' (actuated = false); torques are learned on driven joints alone"
        )


def _believed(robot: Robot, model: Any) -> Robot | None:
    if model is None:
        return None
    if not isinstance(model, Robot):
        raise SimulationError(f"model: expected a Robot or None, found {type(model).__name__}")
    if model.n != robot.n:
        raise SimulationError(f"model: it has {model.n} joints, the robot has {robot.n}")
    return model


def _noise(robot: Robot, noise: Any) -> np.ndarray:
    found = check.numbers("noise", check.wide("noise", noise, robot.n))
    if found.shape != (robot.n,) or (found < 0).any():
        raise SimulationError("noise: expected a number or (n,), zero or positive")
    return found


def _remarks(found: LearnedTorques, noisy: bool) -> tuple[Remark, ...]:
    """Whether the torques have been learned."""
    off = found.relative_errors
    if off[-1] <= NEAR:
        return ()
    text = f"after {len(off) - 1} trials the torques are {100 * off[-1]:.2g} % of the largest one off"
    why = (
        "recorded positions are noisy: a lower band helps" if noisy else "the model's inertias are too wrong"
    )
    if off[-1] >= off[0]:
        return (Remark(f"{text}, more than before: {why}", "warning"),)
    return (Remark(f"{text}; {why}" if noisy else text, "note"),)


class _Learner:
    """What is known before the trials: the motion at its samples, the inertia along it, the filter."""

    def __init__(
        self, robot: Robot, motion: Trajectory, model: Robot | None, band: float, step: float
    ) -> None:
        self.robot, self.motion, self.model, self.band = robot, motion, model, band
        self.cuts = np.array([0.0, *_cuts(robot, motion), motion.duration])
        self.step = min(step, float(np.diff(self.cuts).min()) / LEAST, 1 / (4 * band))
        self.t = sample_times(motion.duration, self.step)
        self.q, self.qd, self.qdd = motion(self.t)
        if model is None:
            diagonals = np.diagonal(array(robot.inertia(self.q)), axis1=-2, axis2=-1)
            self.rough = np.diag(diagonals.mean(axis=0))
        # A sample on a cut belongs to neither side: which torque acts there is a matter of rounding.
        inner = np.abs(self.t[:, None] - self.cuts[1:-1]).min(axis=1, initial=np.inf) > 1e-6 * self.step
        self.pieces = [
            (a, b, np.flatnonzero((self.t >= a) & (self.t <= b) & inner)) for a, b in pairwise(self.cuts)
        ]

    def inertia(self, t: np.ndarray) -> np.ndarray:
        """B̂ (N, n, n): of the model along the motion, or one number for each joint."""
        if self.model is not None:
            return array(self.model.inertia(self.motion(t)[0]))
        return np.broadcast_to(self.rough, (len(t), *self.rough.shape))

    def first(self) -> list[BSpline]:
        """The torque before the first trial."""
        if self.model is None:
            return self.filtered(np.zeros_like(self.q))
        return self.filtered(array(self.model.inverse_dynamics(*self._within())))

    def next(self, run: Run, q: np.ndarray) -> list[BSpline]:
        """The torque learned from a trial and the positions that were recorded.

        While a joint sticks that should move, its torque says nothing: that of the nearest instant at which
        it moves takes its place.
        """
        measured = self._splines(q, 5)
        qdd = self.values([spline.derivative(2) for spline in measured], self.t)
        found = run.tau + np.einsum("tij,tj->ti", self.inertia(self.t), self.qdd - qdd)
        least = STILL * np.abs(self.qd).max(axis=0)
        stuck = (np.abs(run.qd) <= least) & (np.abs(self.qd) > least)
        for _, _, rows in self.pieces:
            for j in np.flatnonzero(stuck[rows].any(axis=0)):
                moving = rows[np.abs(run.qd[rows, j]) > least[j]]
                if moving.size:
                    near = np.interp(self.t[rows], self.t[moving], found[moving, j])
                    way = np.sign(self.qd[rows, j])
                    found[rows, j] = np.where(way * near > way * found[rows, j], near, found[rows, j])
        return self.filtered(found)

    def true(self) -> np.ndarray:
        """Inverse dynamics (N, n) of the robot; NaN where dry friction of a joint at rest leaves it open."""
        tau = array(self.robot.inverse_dynamics(self.q, self.qd, self.qdd)).copy()
        for row in _rows(self.robot):
            speed = np.abs(self.qd @ row)
            tau[np.ix_(speed <= STILL * speed.max(), row != 0)] = np.nan
        return tau

    def _within(self) -> tuple[np.ndarray, ...]:
        """The motion at its samples, with velocities of ends taken from within: there friction acts."""
        qd = self.qd.copy()
        small = 1e-6 * self.qd[[1, -2]]
        qd[[0, -1]] = np.where(qd[[0, -1]] == 0, small, qd[[0, -1]])
        return self.q, qd, self.qdd

    def filtered(self, x: np.ndarray) -> list[BSpline]:
        """P x: a cubic spline for each piece."""
        return self._splines(x, 3)

    def _splines(self, x: np.ndarray, degree: int) -> list[BSpline]:
        found = []
        for a, b, rows in self.pieces:
            knots = np.linspace(a, b, 1 + max(1, min(int(2 * self.band * (b - a)), len(rows) // 2 - degree)))
            full = np.r_[[a] * degree, knots, [b] * degree]
            found.append(make_lsq_spline(self.t[rows], x[rows], full, degree))
        return found

    def values(self, splines: list[BSpline], t: np.ndarray) -> np.ndarray:
        """A function of time (N, n): on a cut, that of the piece after it; after the end, its last value."""
        t = t.clip(0.0, self.motion.duration)
        which = np.searchsorted(self.cuts[1:-1], t, side="right")
        found = np.zeros((len(t), self.robot.n))
        for k, spline in enumerate(splines):
            found[which == k] = spline(t[which == k])
        return found


def _rows(robot: Robot) -> np.ndarray:
    """Rows (m, n) of joints that turn with each place of dry friction; of closed chains, each coordinate."""
    sticking = [surface for surface in robot.mechanism.friction if surface.sticks]
    if sticking and robot.model.loops:
        return np.eye(robot.n)
    found = np.zeros((len(sticking), robot.n))
    for k, surface in enumerate(sticking):
        for j, x in surface.row:
            found[k, j] = x
    return found


def _cuts(robot: Robot, motion: Trajectory) -> list[float]:
    """Instants at which torques jump: where accelerations do and, with dry friction, where a joint turns."""
    found = list(motion.jumps)
    t = sample_times(motion.duration, motion.duration / 1000)
    qd = motion(t)[1]
    for row in _rows(robot):
        speed = qd @ row
        least = STILL * np.abs(speed).max()

        def sign(instant: float, row: np.ndarray = row, least: float = least) -> float:
            v = float(motion(np.array(instant))[1] @ row)
            return float(np.sign(v)) if abs(v) > least else 0.0

        signs = np.where(np.abs(speed) > least, np.sign(speed), 0.0)
        found += [_change(sign, t[i], t[i + 1]) for i in np.flatnonzero(np.diff(signs))]
    shortest, kept = 1e-3 * motion.duration, list[float]()
    for instant in sorted(found):
        if instant - (kept[-1] if kept else 0.0) > shortest and motion.duration - instant > shortest:
            kept.append(float(instant))
    return kept


def _change(sign: Callable[[float], float], a: float, b: float) -> float:
    """The instant between a and b at which a sign changes to that at b."""
    after = sign(b)
    for _ in range(40):
        middle = (a + b) / 2
        a, b = (a, middle) if sign(middle) == after else (middle, b)
    return b


@dataclass(frozen=True, eq=False)
class _Trial(Controller):
    """What acts in a trial: τ = u(t) + B̂ (2ω (q̇_d − q̇) + ω² (q_d − q)), with B̂ at q_d(t)."""

    robot: Robot
    motion: Trajectory
    learner: _Learner
    bandwidth: float
    learned: Any = None  # splines
    saturated: bool = False
    rate: None = None

    def __post_init__(self) -> None:
        check_driven(self)

    def playing(self, learned: list[BSpline]) -> _Trial:
        return _Trial(self.robot, self.motion, self.learner, self.bandwidth, learned)

    def constants(self) -> Arrays:
        return {"bandwidth": np.array([self.bandwidth])}

    def signals(self, t: np.ndarray) -> Arrays:
        q, qd, _ = self.motion(t)
        B = self.learner.inertia(t)
        learned = self.learner.values(self.learned, t)
        return {"target": q, "target_velocity": qd, "inertia": B.reshape(len(t), -1), "learned": learned}

    @property
    def jumps(self) -> np.ndarray:
        return self.learner.cuts[1:]

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        (w,), n = given["bandwidth"], len(q)
        pairs = zip(q, given["target"], qd, given["target_velocity"], strict=True)
        wanted = [w * w * (r - x) + 2 * w * (rd - xd) for x, r, xd, rd in pairs]
        rows = [given["inertia"][i * n : (i + 1) * n] for i in range(n)]
        return [u + dot(row, wanted) for u, row in zip(given["learned"], rows, strict=True)]
